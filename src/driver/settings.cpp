// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "settings.hpp"

#include <prekond/batched/options.hpp>

#include <algorithm>

#include "matching.hpp"
#include "near_null_space.hpp"
#include "ordering.hpp"
#include "partition.hpp"
#include "product.hpp"
#include "text.hpp"

namespace prekond::driver {
namespace {

Settings default_settings(const std::string& command) {
  Settings settings;
  if (command != "batch") return settings;
  settings.solver = "bicgstab";
  settings.precond = "jacobi";
  settings.stopping = BatchedOptions().stopping;
  return settings;
}

/// A key, and the commands that know it. Without a text, the doc is that of Settings::describe.
struct KeyOfCommands {
  std::string commands;
  SettingKey key;
};

using S = Settings;
using Keys = std::vector<KeyOfCommands>;

const std::string most = "solve compare info", methods = "solve compare";

Keys batch_keys() {
  return {
      {"batch",
       {"pattern", "MATRIX.mtx[.gz]", "Matrix Market file with the pattern of all systems", "", &S::pattern}},
      {"batch",
       {"values", "FILE.mtx,...|FOLDER|perturb:N[,spread=0.2]",
        "the systems: files; those of a folder, FOLDER/*.mtx or FOLDER/*/A.mtx; or N systems with the values "
        "of the pattern, off the diagonal multiplied by 1 - spread u, u uniform in [0, 1)",
        "", &S::values}},
      {"batch",
       {"generate", "NAME:SIZE[,key=value...],batch=N[,spread=0.2]",
        "N systems of a model problem instead ('prekond list generators'; stencil3 is tridiagonal)", "",
        &S::generate}},
      {"batch",
       {"rhs", "a_ones|ones|files",
        "right-hand sides: b = A*1, ones, or the files b.mtx next to A.mtx and NAME_b.mtx next to NAME.mtx",
        "", &S::rhs}},
      {"batch", {"solver", "NAME", "cg, bicgstab, gmres, idr or richardson", "", &S::solver}},
      {"batch",
       {"precond", "NAME", "none, jacobi, block_jacobi, ilu0, ic0, par_ilu, isai, fsai or ilu_isai", "",
        &S::precond}},
      {"batch", {"format", "csr|ell|dense|banded", "format of the matrices", "", &S::format}},
  };
}

/// The problem and the methods.
Keys problem_keys() {
  return {
      {most, {"matrix", "MATRIX.mtx[.gz]", "Matrix Market file, plain or gzip", "", &S::matrix}},
      {most,
       {"generate", "NAME:SIZE[,key=value...]", "a model problem instead ('prekond list generators')", "",
        &S::generate}},
      {methods, {"rhs", "a_ones|ones|random|FILE.mtx", "right-hand side; a_ones is b = A*1", "", &S::rhs}},
      {methods, {"x0", "zero|precond|FILE.mtx", "initial vector; precond is x0 = M^-1 b", "", &S::x0}},
      {methods, {"solver", "NAME", "one of 'prekond list solvers'", "", &S::solver}},
      {"solve", {"precond", "NAME", "one of 'prekond list preconditioners'", "", &S::precond}},
      {"compare",
       {"precond", "NAME[:key=value...],...",
        "preconditioners, one row of the table each; options after colons, as in "
        "none,jacobi,adaptive_fsai:max_steps=10:tolerance=0.01",
        "", &S::precond}},
      {"info", {"precond", "NAME", "M of --condition", "", &S::precond}},
      {methods, {"spmv", spmv_names(), "format and kernel of A's product", "", &S::spmv}},
  };
}

/// The stopping test, the changes of A, and the files.
Keys run_keys() {
  return {
      {"solve compare batch", {"rtol", "NUMBER", ""}},
      {"solve compare batch", {"atol", "NUMBER", ""}},
      {"solve compare batch", {"max_iters", "NUMBER", ""}},
      {"solve compare batch", {"repeat", "NUMBER", ""}},
      {most,
       {"order", order_names(),
        "order of the rows and columns of A, undone in x; auto takes rcm for incomplete factorisations where "
        "it "
        "makes the bandwidth smaller by a quarter. info measures A in this order too",
        "", &S::order}},
      {most,
       {"match", "[=" + match_names() + "]",
        "rows of A permuted so that the product of the diagonal is largest, and scaled for the "
        "preconditioner; "
        "auto does it where the diagonal is weak. Without a value it is product",
        "product", &S::match}},
      {methods,
       {"near_null_space", "FILE.mtx",
        "vectors that A nearly annihilates, for amg: an array file of rows x vectors", "",
        &S::near_null_space}},
      {methods,
       {"coordinates", "FILE.mtx|grid",
        "coordinates of the nodes, rows x 2 or 3: the near null space is the rigid body modes, and a node's "
        "displacements are its unknowns; grid: those of --generate elasticity3d",
        "", &S::coordinates}},
      {methods, {"scale", "", ""}},
      {methods, {"devices", "N", ""}},
      {methods,
       {"partition", "rows|metis|FILE.mtx",
        "rows of each process under mpirun: blocks of as many; parts with few entries between them, by METIS "
        "on "
        "one rank; or the rank of each row in a vector file",
        "", &S::partition}},
      {"solve info", {"condition", "", ""}},
      {most + " batch", {"report", "FILE.json", "file for what was done and measured", "", &S::report}},
      {"solve",
       {"history", "FILE.csv", "file for iteration, residual norm and relative residual", "", &S::history}},
      {"solve", {"solution", "FILE.mtx[.gz]", "file for x", "", &S::solution}},
      {most + " batch", {"quiet", "", ""}},
  };
}

/// \throws OptionError
std::string to_text(const std::string& key, const OptionValue& value) {
  const auto* const text = std::get_if<std::string>(&value);
  if (text == nullptr || text->empty())
    throw OptionError("'" + key + "' takes a text that is not empty, not '" + to_string(value) + "'");
  return *text;
}

/// A name that is none of the words and does not look like a file is a slip, not a missing file.
void check_vector_source(const Settings& settings, const std::string& key, const std::string& value,
                         const std::vector<std::string>& words) {
  if (std::find(words.begin(), words.end(), value) != words.end()) return;
  if (value.find_first_of("./") != std::string::npos) return;
  std::string all;
  for (const auto& word : words) all += word + ", ";
  settings.refuse(key, "--" + key + " takes " + all + "or a FILE.mtx, not '" + value + "'");
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
  if (settings.rhs != "a_ones" && settings.rhs != "ones" && settings.rhs != "files")
    settings.refuse("rhs", "--rhs takes a_ones, ones or files, not '" + settings.rhs + "'");
}

void check_problem(const Settings& settings, const std::string& command) {
  if (settings.matrix.empty() && settings.generate.empty())
    throw OptionError("no matrix: give a MATRIX.mtx[.gz] or --generate NAME:SIZE (see 'prekond " + command +
                      " --help')");
  if (!settings.matrix.empty() && !settings.generate.empty())
    throw OptionError("both a matrix file and --generate: leave one out");
  check_spmv(settings);
  check_order(settings);
  check_match(settings);
  check_partition(settings);
  check_vector_source(settings, "rhs", settings.rhs, {"a_ones", "ones", "random"});
  if (!settings.coordinates.empty())
    check_vector_source(settings, "coordinates", settings.coordinates, {"grid"});
  check_near_null_space(settings);
  check_vector_source(settings, "x0", settings.x0, {"zero", "precond"});
}

}  // namespace

void at_origin(const Origins& origins, const std::string& key, const std::function<void()>& check) {
  const auto origin = origins.find(key);
  if (origin == origins.end()) return check();
  try {
    check();
  } catch (const OptionError& error) {
    throw OptionError(origin->second + ": " + error.what());
  }
}

void Settings::refuse(const std::string& key, const std::string& message) const {
  const auto origin = origins.find(key);
  throw OptionError(origin == origins.end() ? message : origin->second + ": " + message);
}

std::vector<SettingKey> setting_keys(const std::string& command) {
  Settings defaults = default_settings(command);
  const auto fields = OptionFields::of(defaults);
  std::vector<SettingKey> keys;
  Keys all = batch_keys();
  for (const Keys& more : {problem_keys(), run_keys()}) all.insert(all.end(), more.begin(), more.end());
  for (auto& [commands, key] : all) {
    const auto names = split(commands, ' ');
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

bool names_vector_file(const std::string& source) {
  const std::vector<std::string> words = {"a_ones", "ones", "random", "files", "zero", "precond"};
  return std::find(words.begin(), words.end(), source) == words.end();
}

void add_pair(OptionMap& options, const std::string& pair, const std::string& flag) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string::npos || equals == 0)
    throw OptionError(flag + " takes key=value, not '" + pair + "'");
  options[pair.substr(0, equals)] = pair.substr(equals + 1);
}

RawSettings laid_over(const RawSettings& over, RawSettings under) {
  const auto lay = [&](OptionMap& values, const OptionMap& others, const std::string& prefix) {
    for (const auto& [key, value] : others) {
      values[key] = value;
      under.origins.erase(prefix + key);
    }
  };
  const auto lay_options = [&](const std::string& method, OptionMap RawSettings::*options) {
    const std::string prefix = method + "_options.";
    const auto written = over.keys.find(method);
    const auto before = under.keys.find(method);
    if (written != over.keys.end() && before != under.keys.end() && written->second != before->second) {
      (under.*options).clear();
      std::erase_if(under.origins, [&](const auto& origin) { return origin.first.starts_with(prefix); });
    }
    lay(under.*options, over.*options, prefix);
  };
  lay_options("solver", &RawSettings::solver_options);
  lay_options("precond", &RawSettings::precond_options);
  // The matrix comes from one place: the one named last.
  if (over.keys.contains("matrix") || over.keys.contains("values")) under.keys.erase("generate");
  if (over.keys.contains("generate"))
    for (const char* key : {"matrix", "pattern", "values"}) under.keys.erase(key);
  lay(under.keys, over.keys, "");
  return under;
}

Settings to_settings(const RawSettings& raw, const std::string& command) {
  Settings settings = default_settings(command);
  settings.origins = raw.origins;
  settings.solver_options = raw.solver_options;
  settings.precond_options = raw.precond_options;
  const auto fields = OptionFields::of(settings);
  for (const SettingKey& key : setting_keys(command)) {
    const auto value = raw.keys.find(key.name);
    if (value == raw.keys.end()) continue;
    at_origin(raw.origins, key.name, [&] {
      if (key.text)
        settings.*key.text = to_text(key.name, value->second);
      else
        fields.set({{key.name, value->second}}, command);
    });
  }
  if (command == "batch")
    check_batch(settings);
  else
    check_problem(settings, command);
  return settings;
}

}  // namespace prekond::driver
