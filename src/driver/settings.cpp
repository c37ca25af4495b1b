// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "settings.hpp"

#include <prekond/batched/options.hpp>
#include <prekond/krylov/solver.hpp>
#include <prekond/matrix/matrix_format.hpp>
#include <prekond/precond/registry.hpp>

#include <algorithm>
#include <utility>

#include "near_null_space.hpp"
#include "ordering.hpp"
#include "partition.hpp"
#include "text.hpp"

namespace prekond::driver {
namespace {

Settings default_settings(const std::string& command) {
  Settings settings;
  if (command == "solve") settings.solver = settings.precond = automatic;
  if (command == "compare") settings.precond = automatic;
  if (command != "batch") return settings;
  settings.solver = "bicgstab";
  settings.precond = "jacobi";
  settings.rhs = "a_ones";
  settings.stopping = BatchedOptions().stopping;
  return settings;
}

constexpr const char *most = "solve compare info", *methods = "solve compare",
                     *all = "solve compare info batch", *measured = "solve compare batch";

std::vector<SettingKey> problem_keys() {
  using S = Settings;
  return {
      {"batch", "pattern", "MATRIX.mtx[.gz]", "Matrix Market file with the pattern of all systems",
       &S::pattern},
      {"batch", "values", "FILE.mtx,...|FOLDER|perturb:N[,spread=0.2]",
       "the systems: files; those of a folder, FOLDER/*.mtx or FOLDER/*/A.mtx; or N systems with the values "
       "of the pattern, off the diagonal multiplied by 1 - spread u, u uniform in [0, 1)",
       &S::values},
      {"batch", "generate", "NAME:SIZE[,key=value...],batch=N[,spread=0.2]",
       "N systems of a model problem instead ('prekond list generators'; stencil3 is tridiagonal)",
       &S::generate},
      {"batch", "rhs", "a_ones|ones|files",
       "right-hand sides: b = A*1, ones, or the files b.mtx next to A.mtx and NAME_b.mtx next to NAME.mtx",
       &S::rhs},
      {"batch", "format", "csr|ell|dense|banded", "format of the matrices", &S::format},
      {most, "matrix", "MATRIX.mtx[.gz]", "Matrix Market file, plain or gzip", &S::matrix},
      {most, "generate", "NAME:SIZE[,key=value...]", "a model problem instead ('prekond list generators')",
       &S::generate},
      {methods, "rhs", "random|a_ones|ones|FILE.mtx",
       "right-hand side; a_ones is b = A*1; random is the same in every run, less its mean where A is "
       "symmetric "
       "and its rows sum to zero",
       &S::rhs},
      {methods, "x0", "zero|precond|FILE.mtx", "initial vector; precond is x0 = M^-1 b", &S::x0},
      {methods, "near_null_space", "FILE.mtx",
       "vectors that A nearly annihilates, for amg: an array file of rows x vectors", &S::near_null_space},
      {methods, "coordinates", "grid|FILE.mtx",
       "coordinates of the nodes, rows x 2 or 3: the near null space is the rigid body modes, and a node's "
       "displacements are its unknowns; grid: those of --generate elasticity3d",
       &S::coordinates},
  };
}

std::vector<SettingKey> method_keys() {
  using S = Settings;
  return {
      {"batch", "solver", "NAME", "cg, bicgstab, gmres, idr or richardson", &S::solver},
      {"batch", "precond", "NAME", "none, jacobi, block_jacobi, ilu0, ic0, par_ilu, isai, fsai or ilu_isai",
       &S::precond},
      {methods, "solver", "NAME",
       "one of 'prekond list solvers', also with options as in "
       "gmres:restart=50; of solve also auto, chosen by the matrix",
       &S::solver},
      {"solve", "precond", "NAME",
       "one of 'prekond list preconditioners', also with options as in "
       "iluk:level=2, or auto, chosen by the matrix",
       &S::precond},
      {"compare", "precond", "NAME[:key=value...],...",
       "preconditioners, one row of the table each; options after colons, as in "
       "none,jacobi,adaptive_fsai:max_steps=10:tolerance=0.01; auto: those of its list that fit the matrix, "
       "each with its own solver where --solver names none",
       &S::precond},
      {"info", "precond", "NAME", "M of --condition", &S::precond},
      {methods, "solves", "N"},
      {"solve", "budget", "NUMBER"},
      {"solve", "probe", ""},
      {most, "order", order_names(),
       "order of the rows and columns of A, undone in x; auto takes rcm for incomplete factorisations where "
       "it makes the bandwidth smaller by a quarter. info measures A in this order too",
       &S::order},
      {most, "match", "[=none|auto|product]",
       "rows of A permuted so that the product of the diagonal is largest, and scaled for the "
       "preconditioner; auto does it where the diagonal is weak. Without a value it is product",
       &S::match, "product"},
      {methods, "scale", ""},
  };
}

std::vector<SettingKey> execution_keys() {
  using S = Settings;
  std::string formats;
  for (const auto& choice : matrix_format_choices()) formats += choice.first + "|";
  return {
      {methods, "spmv", formats + "native|csr_scalar|csr_vector|kokkoskernels",
       "format and kernel of A's product; csr_scalar and csr_vector are csr on a host", &S::spmv},
      {measured, "repeat", "NUMBER"},
      {methods, "devices", "N"},
      {methods, "partition", "rows|metis|FILE.mtx",
       "rows of each process under mpirun: blocks of as many; parts with few entries between them, by METIS "
       "on one rank; or the rank of each row in a vector file",
       &S::partition},
  };
}

std::vector<SettingKey> output_keys() {
  using S = Settings;
  return {
      {"solve info", "condition", ""},
      {"solve", "profile", ""},
      {all, "report", "FILE.json", "file for what was done and measured", &S::report},
      {"compare", "table", "FILE.{csv,md}", "file for the table, as CSV or as Markdown", &S::table},
      {"solve", "history", "FILE.csv", "file for iteration, residual norm and relative residual",
       &S::history},
      {"solve", "solution", "FILE.mtx[.gz]", "file for x", &S::solution},
      {"batch", "solution", "FILE.mtx[.gz]", "file for the solutions, a column a system", &S::solution},
      {"solve", "monitor", "[=N]", "", nullptr, "1"},
      {all, "quiet", ""},
      {"solve", "verbose", ""},
  };
}

/// Without a text, the doc is that of Settings::describe.
std::vector<SettingKey> all_keys() {
  const std::vector<SettingKey> stopping = {
      {measured, "rtol", "NUMBER"},
      {measured, "atol", "NUMBER"},
      {measured, "max_iters", "NUMBER"},
      {"compare", "patience", "NUMBER"},
  };
  std::vector<SettingKey> keys;
  for (const auto& [group, members] : {std::pair("Problem", problem_keys()),
                                       {"Methods", method_keys()},
                                       {"Stopping", stopping},
                                       {"Execution", execution_keys()},
                                       {"Output", output_keys()}})
    for (SettingKey key : members) {
      key.group = group;
      keys.push_back(key);
    }
  return keys;
}

/// The words of the key's placeholder; empty where the value may be any.
std::vector<std::string> words_of(const SettingKey& key) {
  std::string words = key.placeholder;
  if (words.starts_with("[=")) words = words.substr(2, words.size() - 3);
  if (words.find('|') == words.npos || words.find(',') != words.npos) return {};
  return split(words, '|');
}

/// The word of the key's placeholder that a value means, found as by `find_name`; the value itself of a key
/// that takes any. \throws OptionError for another value. Where it may be a file as well, it has to look like
/// one: else it is a slip, not a missing file.
std::string known_word(const SettingKey& key, const std::string& value) {
  std::vector<std::string> known = words_of(key);
  if (known.empty()) return value;
  const bool may_be_file = known.back() == "FILE.mtx";
  if (may_be_file) known.pop_back();
  if (const std::string* word = find_name(value, known)) return *word;
  if (may_be_file && names_file(value)) return value;
  std::string words = known.front();
  for (std::size_t k = 1; k < known.size(); ++k) words += (may_be_file ? ", " : "|") + known[k];
  throw OptionError("--" + key.name + (key.bare.empty() ? "" : "=") + " takes " + words +
                    (may_be_file ? " or a FILE.mtx" : "") + ", not '" + value + "'");
}

/// \throws OptionError
std::string to_text(const std::string& key, const OptionValue& value) {
  const auto* const text = std::get_if<std::string>(&value);
  if (text == nullptr || text->empty())
    throw OptionError("'" + key + "' takes a text that is not empty, not '" + to_string(value) + "'");
  return *text;
}

/// The names that the method of a key may have: "solver" or "precond".
std::vector<std::string> method_names(const std::string& command, const std::string& key) {
  using Space = Kokkos::DefaultExecutionSpace;
  std::vector<std::string> names;
  if (command != "batch") {
    names = key == "solver" ? registered_names(solver_registry<double, Space>())
                            : registered_names(preconditioner_registry<double, Space>());
    if (command != "info" && std::find(names.begin(), names.end(), automatic) == names.end())
      names.emplace_back(automatic);
    return names;
  }
  BatchedOptions options;
  for (const OptionField& field : OptionFields::of(options).list())
    if (field.name == key) names = split(field.range, '|');
  for (std::string& name : names) std::erase(name, ' ');
  return names;
}

/// The main name of a method; an unknown one stays, and is refused where it is looked up. `compare` has
/// several preconditioners in one text, and looks them up itself.
std::string main_name(const std::string& command, const std::string& key, const std::string& name) {
  const auto names = method_names(command, key);
  const std::string* found = find_name(name, names);
  return found ? *found : name;
}

void check_batch(const Settings& settings) {
  if (settings.values.empty() && settings.generate.empty())
    throw OptionError(
        "no systems: give --values FILE.mtx,...|FOLDER, or --pattern MATRIX.mtx --values perturb:N, or "
        "--generate NAME:SIZE,batch=N (see 'prekond batch --help')");
  if (!settings.values.empty() && !settings.generate.empty())
    throw OptionError("both --values and --generate: leave one out");
  if (!settings.pattern.empty() && settings.values.empty())
    throw OptionError("--pattern is for --values: leave it out with --generate");
}

void check_problem(const Settings& settings, const std::string& command) {
  if (settings.matrix.empty() && settings.generate.empty())
    throw OptionError("no matrix: give a MATRIX.mtx[.gz] or --generate NAME:SIZE (see 'prekond " + command +
                      " --help')");
  if (!settings.matrix.empty() && !settings.generate.empty())
    throw OptionError("both a matrix file and --generate: leave one out");
  check_order(settings);
  check_partition(settings);
  check_near_null_space(settings);
}

}  // namespace

std::string place_of(const RawSettings& given, const std::string& key) {
  const auto written = given.find(key);
  const bool is_in_file = written != given.end() && !written->second.origin.empty();
  return is_in_file ? written->second.origin + ": " : "";
}

void Settings::refuse(const std::string& key, const std::string& message) const {
  throw OptionError(place_of(given, key) + message);
}

std::string option_name(const std::string& key) {
  std::string name = key;
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

std::string settings_of(const std::string& command) {
  return command == "config" ? "solve" : command;
}

std::vector<std::string> known_words(const std::string& command, const SettingKey& key) {
  std::vector<std::string> words = words_of(key);
  if (key.name == "solver" || key.name == "precond") words = method_names(command, key.name);
  std::erase(words, "FILE.mtx");
  return words;
}

std::vector<SettingKey> setting_keys(const std::string& command) {
  Settings defaults = default_settings(command);
  const auto fields = OptionFields::of(defaults);
  std::vector<SettingKey> keys;
  for (SettingKey& key : all_keys()) {
    const auto names = split(key.commands, ' ');
    if (std::find(names.begin(), names.end(), command) == names.end()) continue;
    std::string initial = key.text ? defaults.*key.text : "";
    for (const OptionField& field : fields.list())
      if (!key.text && field.name == key.name) {
        key.doc = field.doc;
        if (field.kind != "bool") initial = to_string(field.get());
      }
    if (!initial.empty()) key.doc += " (default " + initial + ")";
    keys.push_back(key);
  }
  return keys;
}

bool takes_solver_options(const std::string& command) {
  return command != "info";
}
bool takes_precond_options(const std::string& command) {
  return command != "compare";
}

bool names_file(const std::string& value) {
  return value.find_first_of("./") != value.npos;
}

void add_pair(OptionMap& options, const std::string& pair, const std::string& flag) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string::npos || equals == 0)
    throw OptionError(flag + " takes key=value, not '" + pair + "'");
  const std::string key = pair.substr(0, equals), value = pair.substr(equals + 1);
  const auto [given, is_first] = options.emplace(key, value);
  if (!is_first)
    throw OptionError(flag + " gives '" + key + "' twice, '" + to_string(given->second) + "' and '" + value +
                      "'");
}

namespace {

/// `iluk:level=2` as compare has it: the name, and the options by themselves.
void take_options_apart(RawSettings& raw, const std::string& method) {
  const auto given = raw.find(method);
  if (given == raw.end()) return;
  const auto parts = split(to_string(given->second.value), ':');
  if (parts.size() < 2) return;
  at_origin(raw, method, [&] {
    OptionMap options;
    for (std::size_t k = 1; k < parts.size(); ++k)
      add_pair(options, parts[k], option_name(method) + " NAME:");
    for (const auto& [name, value] : options)
      if (!raw.try_emplace(method + "_options." + name, Given{value, given->second.origin}).second)
        throw OptionError("'" + name + "' is given twice, after " + option_name(method) +
                          " NAME: and by itself");
  });
  given->second.value = parts.front();
}

RawSettings with_options_apart(RawSettings raw, const std::string& command) {
  if (takes_solver_options(command)) take_options_apart(raw, "solver");
  if (takes_precond_options(command)) take_options_apart(raw, "precond");
  return raw;
}

}  // namespace

RawSettings laid_over(RawSettings over, RawSettings under, const std::string& command) {
  over = with_options_apart(std::move(over), command);
  under = with_options_apart(std::move(under), command);
  const auto name_in = [&](RawSettings& raw, const std::string& method) {
    return main_name(command, method, to_string(raw[method].value));
  };
  for (const std::string method : {"solver", "precond"})
    if (over.contains(method) && under.contains(method) && name_in(over, method) != name_in(under, method))
      std::erase_if(under, [&](const auto& given) { return given.first.starts_with(method + "_options."); });
  // The matrix comes from one place: the one named last.
  if (over.contains("matrix") || over.contains("values")) under.erase("generate");
  if (over.contains("generate"))
    for (const char* key : {"matrix", "pattern", "values"}) under.erase(key);
  over.merge(under);
  return over;
}

Settings to_settings(const RawSettings& written, const std::string& command) {
  const RawSettings raw = with_options_apart(written, command);
  Settings settings = default_settings(command);
  settings.given = raw;
  for (const auto& [key, given] : raw) {
    if (key.starts_with("solver_options.")) settings.solver_options[key.substr(15)] = given.value;
    if (key.starts_with("precond_options.")) settings.precond_options[key.substr(16)] = given.value;
  }
  const auto fields = OptionFields::of(settings);
  for (const SettingKey& key : setting_keys(command)) {
    const auto given = raw.find(key.name);
    if (given == raw.end()) continue;
    const OptionValue& value = given->second.value;
    at_origin(raw, key.name, [&] {
      if (!key.text) return fields.set({{key.name, value}}, command);
      settings.*key.text = known_word(key, to_text(key.name, value));
    });
  }
  settings.solver = main_name(command, "solver", settings.solver);
  settings.precond = main_name(command, "precond", settings.precond);
  if (command == "compare" && settings.precond == automatic && !raw.contains("solver"))
    settings.solver = automatic;
  if (command == "batch")
    check_batch(settings);
  else
    check_problem(settings, command);
  return settings;
}

}  // namespace prekond::driver
