// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The standard error while the command works: a live line on a terminal, elsewhere only notes.
#include "driver/progress.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace prekond::driver {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using std::chrono::milliseconds;

/// Standard error, caught in a pipe or a terminal.
class Caught {
 public:
  explicit Caught(bool terminal) : m_saved(dup(STDERR_FILENO)) {
    int write_end = -1;
    if (terminal) {
      m_read_end = posix_openpt(O_RDWR | O_NOCTTY);
      EXPECT_EQ(grantpt(m_read_end), 0);
      EXPECT_EQ(unlockpt(m_read_end), 0);
      write_end = open(ptsname(m_read_end), O_RDWR | O_NOCTTY);
    } else {
      int ends[2];
      EXPECT_EQ(pipe(ends), 0);
      m_read_end = ends[0];
      write_end = ends[1];
    }
    dup2(write_end, STDERR_FILENO);
    close(write_end);
  }
  ~Caught() {
    dup2(m_saved, STDERR_FILENO);
    close(m_saved);
    close(m_read_end);
  }
  /// Waits until `text` is there; all that came up to it.
  std::string until(const std::string& text) {
    while (m_text.find(text) == std::string::npos && read_more()) continue;
    return m_text;
  }
  /// All, when nobody will write more.
  std::string rest() {
    for (pollfd ready{m_read_end, POLLIN, 0}; poll(&ready, 1, 0) > 0 && read_more();) continue;
    return m_text;
  }

 private:
  bool read_more() {
    constexpr int long_enough = 30000;  // milliseconds; for what never comes
    pollfd wanted{m_read_end, POLLIN, 0};
    poll(&wanted, 1, long_enough);
    if ((wanted.revents & POLLIN) == 0) return false;
    char part[256];
    const ssize_t got = read(m_read_end, part, sizeof part);
    if (got > 0) m_text.append(part, static_cast<std::size_t>(got));
    return got > 0;
  }
  int m_saved;
  int m_read_end = -1;
  std::string m_text;
};

constexpr milliseconds soon{1}, never{3600000};

TEST(Progress, PaintsALineOnATerminal) {
  Caught caught(true);
  {
    Progress progress(true, {soon, soon});
    EXPECT_TRUE(progress.live());
    progress.phase("reading a\nb\x1b.mtx");
    EXPECT_THAT(caught.until(" s of "), HasSubstr("\rreading a?b?.mtx ("));
    progress.row(2, 5, "isai:power=2");
    progress.phase("setup of isai");
    const std::string setup = "row 2 of 5 (isai:power=2): setup of isai (";
    EXPECT_THAT(caught.until(setup), HasSubstr(setup));
    progress.iteration(17, 0.25);
    const std::string iteration = "iteration 17, relative residual 2.5e-01 (";
    EXPECT_THAT(caught.until(iteration), HasSubstr(iteration));
    progress.phase(std::string(500, 'x'));
    EXPECT_THAT(caught.until("xxx... ("), HasSubstr("xxx... ("));
  }
  const std::string text = caught.rest();
  EXPECT_EQ(text.substr(text.size() - 4), "\r\x1b[K");  // it is gone
  EXPECT_THAT(text, Not(HasSubstr("\n")));
  EXPECT_THAT(text, Not(HasSubstr("note")));
  for (std::size_t begin = 0, end = 0; (end = text.find("\x1b[K", begin)) != std::string::npos;
       begin = end + 3)
    EXPECT_LE(end - begin, 79u) << text.substr(begin, end - begin);
}

TEST(Progress, IsSilentForASecondOnATerminal) {
  Caught caught(true);
  {
    Progress progress(true, {never, soon});
    progress.phase("reading");
    progress.row(1, 2, "none");
  }
  EXPECT_EQ(caught.rest(), "");
}

TEST(Progress, SaysNothingElsewhere) {
  Caught caught(false);
  {
    Progress progress(true, {soon, soon});
    EXPECT_FALSE(progress.live());
    progress.row(1, 2, "none");
    progress.phase("setup of none");
    usleep(5000);
  }
  EXPECT_EQ(caught.rest(), "");
  EXPECT_EQ(Progress::Times().silent, milliseconds(1000));
}

TEST(Progress, NotesAreSaidEverywhereButWhereItIsQuiet) {
  Caught caught(false);
  Progress(false, {soon, soon}).note("not this one");
  Progress(true, {soon, soon}).note("minutes");
  EXPECT_EQ(caught.rest(), "prekond: note: minutes\n");
}

TEST(Progress, MonitorsIterationsWhereItIsAskedFor) {
  Caught caught(false);
  Progress quiet(false, {soon, soon}), progress(true, {soon, soon});
  for (Progress* each : {&quiet, &progress}) {
    each->iteration(0, 1);
    each->monitor(2);
    for (const int number : {0, 1, 2}) each->iteration(number, 0.5);
  }
  EXPECT_EQ(caught.rest(),
            "prekond: iteration 0, relative residual 5.000000e-01\n"
            "prekond: iteration 2, relative residual 5.000000e-01\n");
}

}  // namespace
}  // namespace prekond::driver
