// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "advice.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "report.hpp"

namespace prekond::driver {
namespace {

constexpr std::size_t most_tries = 3;
/// Commands after the first are shown up to this multiple of its work.
constexpr double worth_a_try = 2;

/// A word of a command, as a shell reads it.
std::string quoted(const std::string& word) {
  const auto is_plain = [](unsigned char c) {
    return c < 128 && (std::isalnum(c) != 0 || std::strchr("_./:,=+@%-", c) != nullptr);
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string text;
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return "'" + text + "'";
}

/// A setting as an argument.
std::string argument_of(const SettingKey& key, const std::string& value) {
  if (key.name == "matrix") return " " + quoted(value.starts_with('-') ? "./" + value : value);
  const std::string flag = " --" + key.name;
  return flag + (value.starts_with('-') ? "=" : " ") + quoted(value);
}

/// "prekond solve a.mtx --precond amg --solver cg"
std::string command_of(const Settings& settings, const Candidate& candidate) {
  std::string text = "prekond solve";
  for (const SettingKey& key : setting_keys("solve")) {
    const auto given = settings.given.find(key.name);
    if ((key.name == "matrix" || key.name == "generate") && given != settings.given.end())
      text += argument_of(key, to_string(given->second.value));
  }
  text += " --precond " + candidate.preconditioner.name;
  for (const auto& [name, value] : candidate.preconditioner.options)
    text += " -p " + quoted(name + "=" + to_string(value));
  text += " --solver " + candidate.solver.name;
  for (const auto& [name, value] : candidate.solver.options)
    text += " -s " + quoted(name + "=" + to_string(value));
  return text;
}

Json try_json(const Candidate& candidate, const std::string& command, const std::string& reason) {
  return {{"command", command},
          {"preconditioner", candidate.preconditioner.name},
          {"options", to_json(candidate.preconditioner.options)},
          {"solver", candidate.solver.name},
          {"expected_products", candidate.work()},
          {"reason", reason}};
}

}  // namespace

Json tries_for(const Settings& settings, const MatrixStatistics& facts, bool is_complex) {
  Json tries = Json::array();
  const std::vector<Candidate> candidates =
      by_expected_work(candidates_for(facts, !is_host_space<Space>, is_complex));
  for (const Candidate& candidate : candidates) {
    if (tries.size() == most_tries || candidate.work() > worth_a_try * candidates.front().work()) break;
    const std::string kind = candidate.needs_spd ? "A is symmetric and its diagonal positive; "
                             : facts.symmetric_values
                                 ? "A is symmetric, but not all of its diagonal is positive; "
                                 : "A is not symmetric; ";
    tries.push_back(try_json(
        candidate, command_of(settings, candidate),
        kind + format("the work of about %.3g products with A is expected, %.3g for the setup and %.3g for "
                      "each of %.3g iterations",
                      candidate.work(), candidate.setup, candidate.iteration, candidate.iterations)));
  }
  return tries;
}

void print_tries(const Json& report) {
  bool is_first = true;
  for (const Json& entry : report.at("try")) {
    std::printf("%-15s %s\n", is_first ? "try:" : "", entry.at("command").get<std::string>().c_str());
    print_line("", entry.at("reason").get<std::string>());
    is_first = false;
  }
}

}  // namespace prekond::driver
