// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Config files: what is no config ends the command with code 2 and a line that has file, line, column and
// key.
#include <gmock/gmock.h>

#include "driver_fixture.hpp"

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct ConfigCase {
  const char* name;
  std::string config;
  std::vector<std::string> texts;  ///< parts of the message
};

void PrintTo(const ConfigCase& config, std::ostream* out) {
  *out << config.name;
}

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int k = 0; k < count; ++k) all += text;
  return all;
}

class ConfigErrorTest : public DriverTest, public ::testing::WithParamInterface<ConfigCase> {};

TEST_P(ConfigErrorTest, ExitsWithCodePlaceAndKey) {
  write("c.json", GetParam().config);
  const Result result = run({"solve", "--config", "c.json"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, StartsWith("prekond: error: c.json"));
  EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
  EXPECT_LE(result.err.size(), 600u);
  EXPECT_THAT(result.err, Not(HasSubstr("json.exception")));
  for (const auto& text : GetParam().texts) EXPECT_THAT(result.err, HasSubstr(text));
}

/// Settings that are in order, on the first line; what follows stands on the second, from column 1.
std::string after_good(const std::string& text) {
  return "{\"generate\": \"poisson2d:5\",\n" + text;
}

const std::vector<ConfigCase> nesting = {
    {"arrays",
     after_good("\"rtol\": " + repeated("[", 20000)),
     {"c.json:2:72: 'rtol': nested more than 64 levels"}},
    {"closed_arrays",
     after_good("\"rtol\": " + repeated("[", 20000) + repeated("]", 20000) + "}"),
     {"c.json:2:72: 'rtol': nested more than 64 levels"}},
    {"objects", after_good(repeated("\"p\":{", 20000)), {"c.json:2:", "nested more than 64 levels"}},
    {"nothing_else", repeated("[", 100000), {"c.json:1:65: nested more than 64 levels"}},
    {"as_deep_as_may_be",
     "{\"generate\": \"poisson2d:5\", \"p\": " + repeated("{\"a\":", 62) + "{\"b\": 1}" + repeated("}", 62) +
         "}",
     {"c.json:1:345: ", "a.a.a.b'"}},
    {"arrays_as_deep_as_may_be",
     after_good("\"rtol\": " + repeated("[", 63) + repeated("]", 63) + "}"),
     {"c.json:2:1: 'rtol' takes true, false, a number or a text, not an array"}},
};

const std::vector<ConfigCase> numbers = {
    {"too_large", after_good(" \"rtol\": 1e999}"), {"c.json:2:10: 'rtol': the number 1e999 is too large"}},
    {"too_large_at_the_end",
     after_good("\"atol\":-1e999"),
     {"c.json:2:8: 'atol': the number -1e999 is too large"}},
    {"too_small", after_good("\"rtol\": 1e-999}"), {"c.json:2:9: 'rtol': the number 1e-999 is too small"}},
    {"two_to_63",
     after_good("\"max_iters\": 9223372036854775808}"),
     {"c.json:2:14: 'max_iters': the whole number 9223372036854775808 does not fit in 64 bits"}},
    {"two_to_64_less_one",
     after_good("\"repeat\": 18446744073709551615}"),
     {"c.json:2:11: 'repeat': the whole number 18446744073709551615 does not fit"}},
    {"two_to_64",
     after_good("\"repeat\": 18446744073709551616 }"),
     {"c.json:2:11: 'repeat': the whole number 18446744073709551616 does not fit"}},
    {"many_digits",
     after_good("\"rtol\": 1" + repeated("0", 100000) + "}"),
     {"c.json:2:9: 'rtol': the whole number"}},
    {"below_the_least",
     after_good("\"repeat\": -9223372036854775809}"),
     {"c.json:2:11: 'repeat': the whole number -9223372036854775809 does not fit"}},
    {"least", after_good("\"repeat\": -9223372036854775808}"), {"c.json:2:1: option 'repeat'", "range"}},
    {"in_options",
     after_good("\"s\": {\"restart\": 1e400}}"),
     {"c.json:2:18: 's.restart': the number 1e400"}},
};

const std::vector<ConfigCase> duplicates = {
    {"twice",
     after_good("\"rtol\": 1e-3,\n  \"rtol\": 1e-3}"),
     {"c.json:3:3: 'rtol': this key stands in the same object twice, first in line 2"}},
    {"twice_escaped", after_good("\"rtol\": 1e-3,\"rt\\u006fl\": 1e-3}"), {"c.json:2:14: 'rtol': this key"}},
    {"in_options", after_good("\"s\": {\"a\": 1, \"a\": 2}}"), {"c.json:2:15: 's.a': this key"}},
    {"in_what_is_not_read",
     after_good("\"rtol\": [{\"a\": 1, \"a\": 2}]}"),
     {"c.json:2:19: 'rtol.a': this key"}},
    {"dash_and_underscore",
     after_good("\"max-iters\": 5,\n\"max_iters\": 5}"),
     {"c.json:3:1: 'max_iters' sets 'max_iters' a second time, first set in line 2"}},
    {"both_names",
     after_good("\"s\": {\"restart\": 1},\n\"solver_options\": {\"restart\": 1}}"),
     {"c.json:3:20: 'restart' sets 'solver_options.restart' a second time, first set in line 2"}},
    {"dots_and_nesting",
     after_good("\"p\": {\"a.b\": 1, \"a\": {\"b\": 2}}}"),
     {"c.json:2:23: 'b' sets 'precond_options.a.b' a second time"}},
};

const std::vector<ConfigCase> values = {
    {"null",
     after_good("\"rtol\": null}"),
     {"c.json:2:1: 'rtol' takes true, false, a number or a text, not null"}},
    {"array", after_good("\"precond\": [\"fsai\"]}"), {"c.json:2:1: 'precond' takes", "not an array"}},
    {"object", after_good("\"rtol\": {}}"), {"c.json:2:1: 'rtol' takes", "not an object"}},
    {"option_null",
     after_good("\"p\": {\"power\": null}}"),
     {"c.json:2:7: 'precond_options.power' takes", "not null"}},
    {"options_no_object", after_good("\"p\": 3}"), {"c.json:2:1: 'p' takes an object of options"}},
    {"not_a_number",
     after_good("\"rtol\": \"abc\"}"),
     {"c.json:2:1: option 'rtol' takes a number, not 'abc'"}},
    {"out_of_range",
     after_good("\"rtol\": 1e-3,\n\"repeat\": 0}"),
     {"c.json:3:1: option 'repeat' = 0 is out of its range"}},
    {"devices",
     after_good("\"precond\": \"fsai\",\n\"devices\": 999}"),
     {"c.json:3:1: --devices: 999 devices were asked for"}},
    {"no_text",
     after_good("\"solver\": 5}"),
     {"c.json:2:1: 'solver' takes a text that is not empty, not '5'"}},
    {"empty_text", after_good("\"report\": \"\"}"), {"c.json:2:1: 'report' takes a text that is not empty"}},
    {"nul", after_good("\"report\": \"a\\u0000b\"}"), {"c.json:2:11: 'report': a text has no NUL"}},
    {"solver_name", after_good("\"solver\": \"gg\"}"), {"c.json:2:1: there is no solver 'gg'"}},
    {"precond_name",
     after_good("\"precond\": \"jacoby\"}"),
     {"c.json:2:1: there is no preconditioner 'jacoby'"}},
    {"solver_option", after_good("\"s\": {\"restart\": 3}}"), {"c.json:2:7: ", "'restart'"}},
    {"precond_option",
     after_good("\"precond\": \"fsai\",\n \"p\": {\"power\": -1}}"),
     {"c.json:3:8: option 'power' = -1"}},
    {"rhs", after_good("\"rhs\": \"one\"}"), {"c.json:2:1: --rhs takes"}},
    {"spmv", after_good("\"spmv\": \"fast\"}"), {"c.json:2:1: --spmv takes"}},
    {"generate", "{\n  \"generate\": \"poisson2e:5\"}", {"c.json:2:3: ", "'poisson2e'"}},
    {"generate_size", "{\n  \"generate\": \"poisson2d:many\"}", {"c.json:2:3: ", "'many'"}},
    {"long_key",
     after_good("\"" + repeated("long", 10000) + "\": 1}"),
     {"c.json:2:1: 'solve' has no key 'longlong", "long...'; did you mean"}},
    {"long_key_of_a_bad_value",
     after_good("\"" + repeated("long", 10000) + "\": 1e999}"),
     {"c.json:2:", "long...': the number 1e999"}},
    {"unknown_key",
     after_good("\"slver\": \"cg\"}"),
     {"c.json:2:1: 'solve' has no key 'slver'; did you mean 'solver'?"}},
};

const std::vector<ConfigCase> texts = {
    {"byte_order_mark", "\xef\xbb\xbf{\"slver\": 1}", {"c.json:1:2: 'solve' has no key 'slver'"}},
    {"carriage_returns", "{\r\"rtol\": 1,\r  \"slver\": 1}", {"c.json:3:3: 'solve' has no key 'slver'"}},
    {"utf_16", "\xff\xfe{", {"c.json: is UTF-16 text; convert it with 'iconv"}},
    {"empty", "", {"c.json:1:1: not valid JSON"}},
    {"array", "\n [1]", {"c.json:2:2: a config file holds one JSON object"}},
    {"number", "7", {"c.json:1:1: a config file holds one JSON object"}},
    {"comment", after_good("// no comment\n\"rtol\": 1}"), {"c.json:2:1: not valid JSON"}},
    {"nul_byte",
     after_good(std::string("\"rtol\": 0\0"
                            "5}",
                            12)),
     {"c.json:2:10: not valid JSON: there is a NUL"}},
    {"mark", after_good("\"rtol\": \xef\xbb\xbf\x31}"), {"c.json:2:9: 'rtol': not valid JSON: a value"}},
    {"no_value", after_good("\"rtol\": }"), {"c.json:2:9: 'rtol': not valid JSON"}},
    {"more_behind", "{\"generate\": \"poisson2d:5\"}\n{}", {"c.json:2:1: not valid JSON"}},
    {"cut_off", after_good("\"rtol\": 1e-3"), {"c.json:2:", "not valid JSON"}},
    {"not_utf8", after_good("\"report\": \"\xff\xfe\"}"), {"c.json:2:12: 'report': not valid JSON"}},
    {"endless_text",
     after_good("\"report\": \"" + repeated("x", 50000)),
     {"c.json:2:", "'report': not valid JSON", "..."}},
    {"binary", std::string("\x00\x01\x02", 3), {"c.json:1:1: not valid JSON"}},
    {"too_long", repeated(" ", 1 << 20) + "{}", {"c.json: has more than 1048576 bytes"}},
};

std::string case_name(const ::testing::TestParamInfo<ConfigCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Nesting, ConfigErrorTest, ::testing::ValuesIn(nesting), case_name);
INSTANTIATE_TEST_SUITE_P(Numbers, ConfigErrorTest, ::testing::ValuesIn(numbers), case_name);
INSTANTIATE_TEST_SUITE_P(Duplicates, ConfigErrorTest, ::testing::ValuesIn(duplicates), case_name);
INSTANTIATE_TEST_SUITE_P(Values, ConfigErrorTest, ::testing::ValuesIn(values), case_name);
INSTANTIATE_TEST_SUITE_P(Texts, ConfigErrorTest, ::testing::ValuesIn(texts), case_name);

class ConfigTest : public DriverTest {};

TEST_F(ConfigTest, EndlessFilesAreRefused) {
  const Result result = run({"solve", "--config", "/dev/zero"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("/dev/zero: has more than 1048576 bytes"));
}

TEST_F(ConfigTest, TakesWhatIsInOrder) {
  write("c.json",
        "\xef\xbb\xbf{\"generate\": \"poisson2d:9\", \"max-iters\": 77, \"rtol\": 1, \"atol\": 0.0,\n"
        " \"precond\": \"fsai\", \"p\": {\"power\": 2.0}, \"solver\": \"cg\", \"solver_options\": "
        "{\"single_reduction\": "
        "\"true\"}}");
  const Json report = report_of({"solve", "--config", "c.json", "--rtol", "1e-7"});
  EXPECT_EQ(report["solver"]["options"]["max_iters"], 77);
  EXPECT_EQ(report["solver"]["options"]["rtol"], 1e-7);
  EXPECT_EQ(report["solver"]["options"]["single_reduction"], true);
  EXPECT_EQ(report["preconditioner"]["options"]["power"], 2);
  // A text of nearly as many bytes as there may be.
  write("c.json", "{\"generate\":\n\"poisson2d:9\"" + std::string((1 << 20) - 30, ' ') + "}");
  EXPECT_EQ(run({"solve", "--config", "c.json"}).code, 0);
  // Several preconditioners, by name or in an array.
  write("c.json", "{\"generate\": \"poisson2d:9\", \"precond\": [\"none\", \"fsai:power=2\"]}");
  EXPECT_EQ(report_of({"compare", "--config", "c.json"}).size(), 2u);
  write("c.json", "{\"generate\": \"poisson2d:9\", \"precond\": [\"none\", null]}");
  EXPECT_THAT(run({"compare", "--config", "c.json"}).err, HasSubstr("c.json:1:49: 'precond' takes"));
}

TEST_F(ConfigTest, TheCommandLineIsToBlameForItsOwn) {
  // An error of the command line does not name the file, though the file has another value.
  write("c.json",
        "{\"generate\": \"poisson2d:9\", \"rtol\": 1e-3, \"precond\": \"fsai\", \"p\": {\"power\": 2}}");
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--rtol", "abc"},
                                                {"-p", "power=many"},
                                                {"--precond", "jacoby"},
                                                {"--generate", "p:3"}}) {
    std::vector<std::string> arguments = {"solve", "--config", "c.json"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, Not(HasSubstr("c.json"))) << wrong.back();
  }
}

/// The settings that the command prints.
Json printed_config(const Result& result) {
  EXPECT_EQ(result.code, 0) << result.err;
  return Json::parse(result.out, nullptr, false);
}

TEST_F(ConfigTest, ConfigPrintsAllSettingsAndWhereTheyAreFrom) {
  write("some.json",
        "{\"generate\": \"poisson2d:12\",\n \"precond\": \"adaptive_fsai\","
        " \"p\": {\"Max-Steps\": 3}}");
  const Json config = printed_config(
      run({"config", "--config", "some.json", "--solver", "gmres", "-s", "restart=7", "--rtol", "1e-4"}));
  EXPECT_EQ(config["generate"], "poisson2d:12");
  EXPECT_EQ(config["rtol"], 1e-4);
  EXPECT_EQ(config["rhs"], "random");
  EXPECT_EQ(config["solver_options"]["restart"], 7);
  EXPECT_EQ(config["precond_options"]["max_steps"], 3);
  EXPECT_EQ(config["precond_options"]["step_size"], 2);
  EXPECT_FALSE(config.contains("matrix"));
  EXPECT_FALSE(config.contains("budget")) << "that is for auto";
  const Json& origins = config["origins"];
  EXPECT_EQ(origins["generate"], "some.json:1:2");
  EXPECT_EQ(origins["precond_options.max_steps"], "some.json:2:36");
  EXPECT_EQ(origins["precond_options.step_size"], "default");
  EXPECT_EQ(origins["solver_options.restart"], "command line");
  EXPECT_EQ(origins["rtol"], "command line");
  EXPECT_EQ(origins["rhs"], "default");
  const Json any = printed_config(run({"config", "spd.mtx"}));
  EXPECT_EQ(any["precond"], "auto");
  EXPECT_EQ(any["budget"], 0.25);
  EXPECT_FALSE(any.contains("precond_options"));
}

TEST_F(ConfigTest, ConfigRefusesWhatSolveRefusesAndLeavesReports) {
  write("older.json", "older");
  const Result slip =
      run({"config", "spd.mtx", "--precond", "jacobi", "-p", "blok=2", "--report", "older.json"});
  EXPECT_EQ(slip.code, 2);
  EXPECT_THAT(slip.err, HasSubstr("'jacobi' has no option 'blok'"));
  EXPECT_EQ(read_file(file("older.json")), "older");
}

TEST_F(ConfigTest, ThePrintedConfigOfEveryMethodIsTheSameAgain) {
  std::vector<std::vector<std::string>> all = {
      {"--precond", "auto", "--solves", "3"},
      {"--precond", "amg", "-p", "smoother=fsai", "smoother.power=2"}};
  for (const auto& line : lines_of(run({"list", "preconditioners"}).out))
    all.push_back({"--solver", "fgmres", "--precond", line.substr(0, line.find(' '))});
  for (const auto& line : lines_of(run({"list", "solvers"}).out))
    all.push_back({"--precond", "none", "--solver", line.substr(0, line.find(' '))});
  EXPECT_GT(all.size(), 20u);
  for (auto arguments : all) {
    arguments.insert(arguments.begin(), {"config", "spd.mtx", "--match=auto", "--quiet"});
    Json first = printed_config(run(arguments));
    write("again.json", first.dump());
    Json second = printed_config(run({"config", "--config", "again.json"}));
    for (Json* config : {&first, &second}) config->erase("origins");
    EXPECT_EQ(first, second) << ::testing::PrintToString(arguments);
  }
}

}  // namespace
}  // namespace prekond::testing
