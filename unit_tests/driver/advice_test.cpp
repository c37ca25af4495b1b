// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/driver_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The commands that `info` proposes.
class AdviceTest : public DriverTest {
 protected:
  /// Runs a line that begins with "prekond", as a shell reads it.
  static Result paste(const std::string& line) {
    EXPECT_TRUE(line.starts_with("prekond ")) << line;
    const std::string command =
        "cd '" + file("").string() + "' && '" PREKOND_DRIVER_PATH "'" + line.substr(7) + " >stdout 2>stderr";
    const int status = std::system(command.c_str());
    return {WEXITSTATUS(status), read_file(file("stdout")), read_file(file("stderr"))};
  }

  static void expect_sorted_and_sound(const Json& tries) {
    EXPECT_GE(tries.size(), 1u);
    EXPECT_LE(tries.size(), 3u);
    double work = 0;
    for (const Json& entry : tries) {
      EXPECT_GE(entry["expected_products"], work);
      work = entry["expected_products"];
      EXPECT_THAT(entry["reason"], HasSubstr("products with A is expected"));
      EXPECT_EQ(paste(entry["command"]).code, 0) << entry["command"];
    }
  }
};

TEST_F(AdviceTest, InfoEndsWithCommandsThatCanBePasted) {
  const std::string name = "it's $HOME;a.mtx";
  ASSERT_EQ(run({"generate", "poisson2d:40", "-o", name}).code, 0);
  const Json report = report_of({"info", name});
  expect_sorted_and_sound(report["try"]);
  const Json& first = report["try"][0];
  EXPECT_EQ(first["solver"], "cg");
  EXPECT_THAT(first["reason"], HasSubstr("A is symmetric and its diagonal positive"));
  const std::vector<std::string> lines = lines_of(run({"info", name}).out);
  const std::string last = report["try"].back()["command"];
  const auto shown =
      std::find(lines.begin(), lines.end(), "try:            " + first["command"].get<std::string>());
  ASSERT_NE(shown, lines.end());
  for (auto line = shown; line != lines.end(); ++line)
    EXPECT_TRUE(line == shown || line->starts_with(std::string(16, ' '))) << *line;
  EXPECT_NE(std::find_if(shown, lines.end(), [&](const auto& line) { return line.ends_with(last); }),
            lines.end());
  EXPECT_EQ(run({"info", name, "--quiet"}).out, "");
}

TEST_F(AdviceTest, InfoProposesMethodsForTheKindOfTheMatrix) {
  const Json general = report_of({"info", "--generate", "convection_diffusion3d:8,peclet=40"})["try"];
  expect_sorted_and_sound(general);
  for (const Json& entry : general) {
    EXPECT_NE(entry["solver"], "cg");
    EXPECT_THAT(entry["command"], HasSubstr("--generate convection_diffusion3d:8,peclet=40 --precond"));
    EXPECT_THAT(entry["reason"], HasSubstr("A is not symmetric"));
  }
  expect_sorted_and_sound(report_of({"info", "--generate", "magnetic3d:6"})["try"]);
  EXPECT_THAT(report_of({"info", "zero_diagonal.mtx"})["try"], ::testing::IsEmpty()) << "a row of zeros";
  EXPECT_THAT(report_of({"info", "rectangular.mtx"})["try"], ::testing::IsEmpty());
  EXPECT_THAT(run({"info", "rectangular.mtx"}).out, Not(HasSubstr("try:")));
}

}  // namespace
}  // namespace prekond::testing
