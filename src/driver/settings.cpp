// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "settings.hpp"

#include <prekond/batched/options.hpp>

#include <algorithm>
#include <map>

#include "matched_rows.hpp"
#include "near_null_space.hpp"
#include "ordering.hpp"
#include "partition_choice.hpp"
#include "spmv_choice.hpp"

namespace prekond::driver {
namespace {

/// The settings that are numbers, with their ranges.
struct Numbers {
  StoppingOptions stopping;
  std::int64_t repeat = 1;
  std::int64_t devices = 1;
  bool scale = false;
  bool quiet = false;
  bool condition = false;

  template <class Visitor>
  void describe(Visitor& visit) {
    stopping.describe(visit);
    visit("repeat", repeat, std::int64_t(1), std::int64_t(1000000), "times to set up and solve");
    visit("devices", devices, std::int64_t(1), std::int64_t(1000), "devices that share a setup");
    visit("scale", scale, "set the preconditioner up for the scaled matrix");
    visit("quiet", quiet, "print nothing but errors");
    visit("condition", condition, "measure the extreme eigenvalues of M^-1 A");
  }
};

std::map<std::string, std::string*> text_targets(Settings& s) {
  return {{"matrix", &s.matrix},
          {"generate", &s.generate},
          {"rhs", &s.rhs},
          {"x0", &s.x0},
          {"solver", &s.solver},
          {"precond", &s.precond},
          {"spmv", &s.spmv},
          {"order", &s.order},
          {"match", &s.match},
          {"report", &s.report},
          {"history", &s.history},
          {"solution", &s.solution},
          {"partition", &s.partition},
          {"near_null_space", &s.near_null_space},
          {"coordinates", &s.coordinates},
          {"pattern", &s.pattern},
          {"values", &s.values},
          {"format", &s.format}};
}

/// A name that is none of the keywords and does not look like a file is a slip, not a missing file.
void check_vector_source(const std::string& key, const std::string& value,
                         const std::vector<std::string>& words) {
  if (std::find(words.begin(), words.end(), value) != words.end()) return;
  if (value.find_first_of("./") != std::string::npos) return;
  std::string all;
  for (const auto& word : words) all += word + ", ";
  throw OptionError("--" + key + " takes " + all + "or a FILE.mtx, not '" + value + "'");
}

void check_batch(const Settings& settings) {
  if (settings.values.empty() == settings.generate.empty())
    throw OptionError(settings.values.empty()
                          ? "no systems: give --values FILE.mtx,...|FOLDER, or --pattern MATRIX.mtx --values "
                            "perturb:N, or --generate NAME:SIZE,batch=N (see 'prekond batch --help')"
                          : "both --values and --generate: leave one out");
  if (!settings.pattern.empty() && settings.values.empty())
    throw OptionError("--pattern is for --values: leave it out with --generate");
  at_origin(settings.origins, "rhs", [&] {
    const std::vector<std::string> words = {"a_ones", "ones", "files"};
    if (std::find(words.begin(), words.end(), settings.rhs) == words.end())
      throw OptionError("--rhs takes a_ones, ones or files, not '" + settings.rhs + "'");
  });
}

void check_consistent(const Settings& settings, const std::string& command) {
  if (command == "batch") return check_batch(settings);
  if (settings.matrix.empty() == settings.generate.empty()) {
    throw OptionError(settings.matrix.empty()
                          ? "no matrix: give a MATRIX.mtx[.gz] or --generate NAME:SIZE (see 'prekond " +
                                command + " --help')"
                          : "both a matrix file and --generate: leave one out");
  }
  at_origin(settings.origins, "spmv", [&] { check_spmv_name(settings.spmv); });
  at_origin(settings.origins, "order", [&] { check_order(settings.order); });
  at_origin(settings.origins, "match", [&] { check_match(settings.match); });
  at_origin(settings.origins, "partition", [&] { check_partition(settings.partition); });
  at_origin(settings.origins, "rhs", [&] {
    check_vector_source("rhs", settings.rhs, {"a_ones", "ones", "random"});
  });
  if (!settings.coordinates.empty())
    at_origin(settings.origins, "coordinates",
              [&] { check_vector_source("coordinates", settings.coordinates, {"grid"}); });
  check_near_null_space(settings);
  at_origin(settings.origins, "x0", [&] { check_vector_source("x0", settings.x0, {"zero", "precond"}); });
}

/// \throws OptionError
std::string to_text(const std::string& key, const OptionValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr || text->empty())
    throw OptionError("'" + key + "' takes a text that is not empty, not '" + to_string(value) + "'");
  return *text;
}

std::vector<SettingKey> batch_setting_keys() {
  return {
      {"pattern", "MATRIX.mtx[.gz]", "a Matrix Market file: the pattern of all systems"},
      {"values", "FILE.mtx,...|FOLDER|perturb:N[,spread=0.2]",
       "the systems: files; those of a folder, FOLDER/*.mtx or FOLDER/*/A.mtx; or N systems with the "
       "pattern's "
       "values, off the diagonal multiplied by 1 - spread u, u uniform in [0, 1)"},
      {"generate", "NAME:SIZE[,key=value...],batch=N[,spread=0.2]",
       "likewise N systems of a model problem ('prekond list generators'; stencil3 is tridiagonal)"},
      {"rhs", "a_ones|ones|files",
       "b; a_ones: b = A*1; files: b.mtx beside A.mtx, or NAME_b.mtx beside "
       "NAME.mtx (default a_ones)"},
      {"solver", "NAME", "cg, bicgstab, gmres, idr or richardson (default bicgstab)"},
      {"precond", "NAME",
       "none, jacobi, block_jacobi, ilu0, ic0, par_ilu, isai, fsai or ilu_isai (default jacobi)"},
      {"format", "csr|ell|dense|banded", "of the matrices (default csr)"},
      {"rtol", "NUMBER", "stop a system at ||b - A x|| <= max(rtol ||b||, atol) (default 1e-6)"},
      {"atol", "NUMBER", "(default 0)"},
      {"max_iters", "NUMBER", "(default 1000)"},
      {"repeat", "NUMBER", "set up and solve so many times, and report medians (default 1)"},
      {"report", "FILE.json", "write what was done and measured"},
      {"quiet", "", "print nothing but errors"},
  };
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

std::vector<SettingKey> setting_keys(const std::string& command) {
  if (command == "batch") return batch_setting_keys();
  const std::vector<SettingKey> problem = {
      {"matrix", "MATRIX.mtx[.gz]", "a Matrix Market file, plain or gzip"},
      {"generate", "NAME:SIZE[,key=value...]", "a model problem instead ('prekond list generators')"},
  };
  const std::vector<SettingKey> method = {
      {"rhs", "a_ones|ones|random|FILE.mtx", "b; a_ones: b = A*1 (default a_ones)"},
      {"x0", "zero|precond|FILE.mtx", "initial vector; precond: x0 = M^-1 b (default zero)"},
      {"solver", "NAME", "see 'prekond list solvers' (default cg)"},
      {"precond", command == "compare" ? "NAME[:key=value...],..." : "NAME",
       command == "compare" ? "preconditioners, one row of the table each; options behind colons, as in "
                              "none,jacobi,adaptive_fsai:max_steps=10:tolerance=0.01"
                            : "see 'prekond list preconditioners' (default none)"},
      {"spmv", spmv_names(), "format and kernel of A's product (default auto)"},
      {"rtol", "NUMBER", "stop at ||b - A x|| <= max(rtol ||b||, atol) (default 1e-6)"},
      {"atol", "NUMBER", "(default 0)"},
      {"max_iters", "NUMBER", "(default 10000)"},
      {"repeat", "NUMBER", "set up and solve so many times, and report medians (default 1)"},
  };
  std::vector<SettingKey> keys = problem;
  if (command == "info")
    keys.push_back({"precond", "NAME", "M of --condition (default none)"});
  else
    keys.insert(keys.end(), method.begin(), method.end());
  keys.push_back({"order", order_names(),
                  command == "info"
                      ? "measure the matrix in this order of its rows and columns too; auto: what it would "
                        "be for an incomplete factorisation (default none)"
                      : "order of the rows and columns of A, undone in x; auto: rcm for incomplete "
                        "factorisations where it makes the bandwidth smaller by a quarter (default none)"});
  keys.push_back(
      {"match", "[=" + match_names() + "]",
       "permute the rows of A so that the product of the diagonal is largest, and scale it for the "
       "preconditioner; auto: where the diagonal is weak (default none, without a value product)",
       "product"});
  if (command != "info") {
    keys.push_back(
        {"near_null_space", "FILE.mtx",
         "vectors that A nearly annihilates, one a column, for amg (an array file of rows x vectors)"});
    keys.push_back({"coordinates", "FILE.mtx|grid",
                    "of the nodes, rows x 2 or 3: the near null space is the rigid body modes, a node's "
                    "displacements are its unknowns; grid: those of --generate elasticity3d"});
    keys.push_back({"scale", "", "scale rows and columns of A for the preconditioner, by powers of two"});
    keys.push_back(
        {"devices", "N",
         "share the setup of the preconditioner out over N devices of this host: fsai, adaptive_fsai, "
         "nonsymmetric_fsai, spai and isai (default 1)"});
    keys.push_back(
        {"partition", "rows|metis|zoltan|FILE.mtx",
         "which rows each process has under mpirun: blocks of as many; parts with few entries between them, "
         "found by METIS on one rank, or with few vector entries exchanged, by Zoltan on all; or the rank of "
         "each row in a vector file (default rows)"});
  }
  if (command != "compare")
    keys.push_back({"condition", "", "also the extreme eigenvalues of M^-1 A, by Lanczos's method"});
  keys.push_back({"report", "FILE.json", "write what was done and measured"});
  if (command == "solve") {
    keys.push_back({"history", "FILE.csv", "write iteration, residual norm and relative residual"});
    keys.push_back({"solution", "FILE.mtx[.gz]", "write x"});
  }
  keys.push_back({"quiet", "", "print nothing but errors"});
  return keys;
}

bool takes_solver_options(const std::string& command) {
  return command != "info";
}
bool takes_precond_options(const std::string& command) {
  return command == "solve" || command == "info" || command == "batch";
}

bool names_vector_file(const std::string& source) {
  const std::vector<std::string> words = {"a_ones", "ones", "random", "files", "zero", "precond"};
  return std::find(words.begin(), words.end(), source) == words.end();
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void add_pair(OptionMap& options, const std::string& pair, const std::string& flag) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string::npos || equals == 0)
    throw OptionError(flag + " takes key=value, not '" + pair + "'");
  options[pair.substr(0, equals)] = pair.substr(equals + 1);
}

RawSettings laid_over(const RawSettings& over, RawSettings under) {
  const auto renamed = [&](const std::string& key) {
    return over.keys.count(key) != 0 && under.keys.count(key) != 0 && over.keys.at(key) != under.keys.at(key);
  };
  const auto forget = [&](const std::string& prefix) {
    std::erase_if(under.origins, [&](const auto& origin) { return origin.first.rfind(prefix, 0) == 0; });
  };
  if (renamed("solver")) {
    under.solver_options.clear();
    forget("solver_options.");
  }
  if (renamed("precond")) {
    under.precond_options.clear();
    forget("precond_options.");
  }
  // The matrix comes from one place: the one named last.
  if (over.keys.count("matrix") != 0) under.keys.erase("generate");
  if (over.keys.count("values") != 0) under.keys.erase("generate");
  if (over.keys.count("generate") != 0)
    for (const char* key : {"matrix", "pattern", "values"}) under.keys.erase(key);
  const auto lay = [&](OptionMap& values, const OptionMap& others, const std::string& prefix) {
    for (const auto& [key, value] : others) {
      values[key] = value;
      under.origins.erase(prefix + key);
    }
  };
  lay(under.keys, over.keys, "");
  lay(under.solver_options, over.solver_options, "solver_options.");
  lay(under.precond_options, over.precond_options, "precond_options.");
  return under;
}

Settings to_settings(const RawSettings& raw, const std::string& command) {
  Settings settings;
  settings.origins = raw.origins;
  auto texts = text_targets(settings);
  Numbers numbers;
  if (command == "batch") {
    settings.solver = "bicgstab";
    settings.precond = "jacobi";
    numbers.stopping = BatchedOptions().stopping;
  }
  for (const auto& [key, value] : raw.keys) {
    const auto target = texts.find(key);
    at_origin(raw.origins, key, [&, &name = key, &written = value] {
      if (target == texts.end())
        OptionFields::of(numbers).set({{name, written}}, command);
      else
        *target->second = to_text(name, written);
    });
  }
  settings.stopping = numbers.stopping;
  settings.repeat = numbers.repeat;
  settings.devices = numbers.devices;
  settings.scale = numbers.scale;
  settings.quiet = numbers.quiet;
  settings.condition = numbers.condition;
  settings.solver_options = raw.solver_options;
  settings.precond_options = raw.precond_options;
  check_consistent(settings, command);
  return settings;
}

}  // namespace prekond::driver
