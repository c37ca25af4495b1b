// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The agreement of the processes of the command; every rank runs these tests.
#include "driver/processes.hpp"

#include <prekond/core/error.hpp>

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace prekond::driver {
namespace {

/// The failure that `work` leaves on this process; code `done` where there is none.
template <class Work>
Failure failure_of_work(const Work& work) {
  try {
    work();
  } catch (...) {
    return failure_of(std::current_exception());
  }
  return {done, ""};
}

std::string named(const Processes& processes, int rank, const std::string& text) {
  if (processes.is_serial()) return text;
  return "rank " + std::to_string(rank) + " of " + std::to_string(processes.size()) + ": " + text;
}

TEST(Processes, WorkThatSucceedsIsDoneByEveryRank) {
  const Processes processes;
  int done_here = 0;
  processes.collective([&] { ++done_here; });
  EXPECT_EQ(done_here, 1);
  int done_by_first = 0;
  processes.on_root([&] { ++done_by_first; });
  EXPECT_EQ(done_by_first, processes.is_root() ? 1 : 0);
}

TEST(Processes, OneFailureIsEverybodysWhateverItsType) {
  const Processes processes;
  const int last = processes.size() - 1;
  const auto fails = [&](const auto& error) {
    return failure_of_work([&] {
      processes.collective([&] {
        if (processes.rank() == last) throw error;
      });
    });
  };
  const Failure option = fails(OptionError("no such option"));
  EXPECT_EQ(option.code(), bad_command_line);
  EXPECT_EQ(option.what(), named(processes, last, "no such option"));
  const Failure input = fails(InputError("zero diagonal"));
  EXPECT_EQ(input.code(), bad_input);
  EXPECT_EQ(input.what(), named(processes, last, "zero diagonal"));
  EXPECT_EQ(fails(Failure(breakdown, "broke down")).code(), breakdown);
  EXPECT_EQ(fails(std::runtime_error("strange")).code(), other_error);
  const std::string memory = fails(std::bad_alloc()).what();
  EXPECT_NE(memory.find("not enough memory"), std::string::npos) << memory;
  EXPECT_EQ(fails(42).code(), other_error);
}

TEST(Processes, TheLowestRankThatFailsSpeaks) {
  const Processes processes;
  const int lowest = processes.size() / 2;
  const Failure failure = failure_of_work([&] {
    processes.collective([&] {
      if (processes.rank() >= lowest) throw InputError("row " + std::to_string(processes.rank()));
    });
  });
  EXPECT_EQ(failure.what(), named(processes, lowest, "row " + std::to_string(lowest)));
}

TEST(Processes, NoRankIsNamedWhereAllFailAlikeOrOnlyTheFirstWorks) {
  const Processes processes;
  const Failure alike =
      failure_of_work([&] { processes.collective([] { throw OptionError("no such option"); }); });
  EXPECT_EQ(alike.code(), bad_command_line);
  EXPECT_STREQ(alike.what(), "no such option");
  const Failure first = failure_of_work([&] { processes.on_root([] { throw InputError("no such file"); }); });
  EXPECT_EQ(first.code(), bad_input);
  EXPECT_STREQ(first.what(), "no such file");
}

TEST(Processes, TheLargestOfAll) {
  const Processes processes;
  EXPECT_EQ(processes.max(processes.rank()), processes.size() - 1);
  EXPECT_EQ(processes.max(-1.5), -1.5);
  EXPECT_EQ(processes.min(processes.rank() + 3), 3);
  EXPECT_EQ(processes.sum(processes.rank() + 1), processes.size() * (processes.size() + 1) / 2);
}

TEST(Processes, TheTextOfTheSmallestKeyIsKnownToAll) {
  const Processes processes;
  const int last = processes.size() - 1;
  EXPECT_EQ(processes.text_of_least(last - processes.rank(), processes.name()),
            "rank " + std::to_string(last) + " of " + std::to_string(processes.size()));
  // Among equal keys, the lowest rank's text.
  EXPECT_EQ(processes.text_of_least(7, std::to_string(processes.rank())), "0");
  EXPECT_EQ(processes.text_of_least(Processes::no_key, "none"), "");
  EXPECT_EQ(processes.text_of_least(processes.is_root() ? Processes::no_key : 5, "others"),
            processes.is_serial() ? "" : "others");
}

}  // namespace
}  // namespace prekond::driver
