// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Completion in a shell, and the manual page: both are made of what the command line knows.
#include <gmock/gmock.h>

#include <cstdio>

#include "driver_fixture.hpp"

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class CompletionTest : public DriverTest {
 protected:
  /// The words that bash would offer for the last one.
  static std::vector<std::string> offered(const std::vector<std::string>& words) {
    write("completion.bash", run({"completion", "bash"}).out);
    std::string line;
    for (const auto& word : words) line += "'" + word + "' ";
    const std::string script = "source completion.bash; COMP_WORDS=(" + line +
                               "); COMP_CWORD=" + std::to_string(words.size() - 1) +
                               "; _prekond; printf '%s\\n' \"${COMPREPLY[@]}\"";
    write("ask.bash", script);
    std::FILE* const pipe = popen(("cd '" + file("").string() + "' && bash ask.bash").c_str(), "r");
    std::string text;
    char part[4096];
    for (std::size_t n; pipe != nullptr && (n = std::fread(part, 1, sizeof part, pipe)) > 0;)
      text.append(part, n);
    EXPECT_EQ(pipe == nullptr ? -1 : pclose(pipe), 0);
    auto lines = lines_of(text);
    std::erase(lines, "");
    return lines;
  }
};

TEST_F(CompletionTest, BashIsOfferedCommandsOptionsAndNames) {
  EXPECT_THAT(offered({"prekond", "so"}), ElementsAre("solve"));
  EXPECT_THAT(offered({"./build/prekond", "comp"}), ElementsAre("compare", "completion"));
  EXPECT_THAT(offered({"prekond", "help", "inf"}), ElementsAre("info"));
  EXPECT_THAT(offered({"prekond", "solve", "--max"}), ElementsAre("--max-iters"));
  EXPECT_THAT(offered({"prekond", "batch", "a.mtx", "--for"}), ElementsAre("--format"));
  EXPECT_THAT(offered({"prekond", "info", "--max"}), IsEmpty());
  EXPECT_THAT(offered({"prekond", "solve", "a.mtx", "--precond", "adap"}), ElementsAre("adaptive_fsai"));
  EXPECT_THAT(offered({"prekond", "config", "--solver", "f"}), ElementsAre("fgmres"));
  EXPECT_THAT(offered({"prekond", "solve", "--solver", "a"}), ElementsAre("auto"));
  EXPECT_THAT(offered({"prekond", "batch", "--solver", ""}), Contains("richardson"));
  EXPECT_THAT(offered({"prekond", "solve", "--rhs", ""}), ElementsAre("random", "a_ones", "ones"));
  EXPECT_THAT(offered({"prekond", "solve", "--match", "=", "a"}), ElementsAre("auto"));
  EXPECT_THAT(offered({"prekond", "solve", "--match", "="}), Contains("product"));
  EXPECT_THAT(offered({"prekond", "list", "so"}), ElementsAre("solvers"));
  EXPECT_THAT(offered({"prekond", "solve", "mat"}), IsEmpty()) << "a name of a file";
}

TEST_F(CompletionTest, EveryOptionOfTheHelpIsOffered) {
  for (const std::string command : {"solve", "compare", "info", "batch", "generate"}) {
    const auto words = offered({"prekond", command, "--"});
    std::istringstream help(run({command, "--help"}).out);
    for (std::string word; help >> word;)
      if (word.starts_with("--") && word.find_first_of("[]{}',.:;") == word.npos) {
        EXPECT_THAT(words, Contains(word)) << command;
      }
  }
}

TEST_F(CompletionTest, ZshAndTheManualPage) {
  EXPECT_THAT(run({"completion", "zsh"}).out,
              AllOf(StartsWith("autoload -U +X bashcompinit"), HasSubstr("complete -o default -F _prekond")));
  const Result other = run({"completion", "fish"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("bash and zsh, not for 'fish'"));
  const Result man = run({"man"});
  EXPECT_EQ(man.code, 0);
  EXPECT_THAT(man.out, AllOf(StartsWith(".TH PREKOND 1 "), HasSubstr("\n.SH prekond solve\n"),
                             HasSubstr("\\fB\\-\\-max\\-iters\\fR NUMBER\n"), HasSubstr("Exit code: 0 ")));
}

}  // namespace
}  // namespace prekond::testing
