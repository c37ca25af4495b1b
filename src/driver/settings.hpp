// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The settings of `solve`, `compare`, `info` and `batch`. The command line and a config file have the same
/// keys; both are read into RawSettings, laid over each other, and checked once.
#include <prekond/core/error.hpp>
#include <prekond/core/options.hpp>
#include <prekond/core/stopping.hpp>
#include <prekond/precond/linear_solver_options.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace prekond::driver {

/// A value as it was written.
struct Given {
  OptionValue value;
  std::string origin = {};  ///< "PATH:LINE:COLUMN" in the config file; empty: the command line
};

/// By key; of options by "solver_options.NAME" and "precond_options.NAME".
using RawSettings = std::map<std::string, Given>;

/// "PATH:LINE:COLUMN: " of a key that came from a config file; else nothing.
std::string place_of(const RawSettings& given, const std::string& key);

/// Does the work, whose OptionError begins with the place of the key in the config file.
template <class Work>
auto at_origin(const RawSettings& given, const std::string& key, const Work& work) {
  try {
    return work();
  } catch (const OptionError& error) {
    throw OptionError(place_of(given, key) + error.what());
  }
}

/// The name of a solver or a preconditioner that is chosen by the matrix.
inline constexpr const char* automatic = "auto";

struct Settings {
  std::string matrix;          ///< path of a Matrix Market file; empty if `generate` says what to make
  std::string generate;        ///< NAME:SIZE[,key=value...]
  std::string pattern;         ///< batch: path of the Matrix Market file whose pattern all systems have
  std::string values;          ///< batch: the source of their values, see batch.hpp
  std::string format = "csr";  ///< batch: of its matrices
  std::string rhs = "random";
  std::string x0 = "zero";
  std::string solver = "cg";
  std::string precond = "none";
  std::string spmv = "auto";       ///< format and kernel of A's product, see product.hpp
  std::string order = "none";      ///< of the rows, see ordering.hpp
  std::string match = "none";      ///< rows permuted before that, see ordering.hpp
  std::string partition = "rows";  ///< of the rows over processes, see partition.hpp
  std::string near_null_space;     ///< path of a file of vectors, see near_null_space.hpp
  std::string coordinates;         ///< path of a file of the nodes' coordinates, or `grid`
  std::string report;
  std::string table;  ///< compare: CSV or Markdown, by the end of its name
  std::string history;
  std::string solution;
  std::string config;  ///< the config file, empty without one
  StoppingOptions stopping;
  AutoSolverOptions choice;
  std::int64_t repeat = 1;
  double patience = 20;  ///< compare: times the least total so far
  std::int64_t devices = 1;
  std::int64_t monitor = 0;  ///< iterations from one line of residuals to the next; 0: no lines
  bool scale = false;
  bool condition = false;
  bool profile = false;
  bool quiet = false;
  bool verbose = false;
  OptionMap solver_options;
  OptionMap precond_options;
  RawSettings given;

  /// The name of the matrix or of the batch, as given.
  const std::string& source() const {
    for (const std::string* path : {&matrix, &pattern, &values})
      if (!path->empty()) return *path;
    return generate;
  }

  /// The settings that are numbers or flags.
  template <class Visitor>
  void describe(Visitor& visit) {
    stopping.describe(visit);
    choice.describe(visit);
    visit("repeat", repeat, std::int64_t(1), std::int64_t(1000000),
          "number of times to set up and solve; more make the reported medians steadier");
    visit(
        "patience", patience, 0.0, 1e9,
        "multiple of the least total of the rows before it that have converged, and a second, after which a "
        "row's solve ends; raise it to see how slow a method is; 0: only --max-iters ends it. It has no "
        "effect under mpirun");
    visit(
        "devices", devices, std::int64_t(1), std::int64_t(1000),
        "number of devices of this host that share the setup of fsai, adaptive_fsai, nonsymmetric_fsai, spai "
        "or isai where that is faster than one");
    visit("scale", scale, "scaling of the rows and columns of A for the preconditioner, by powers of two");
    visit("condition", condition, "measurement of the extreme eigenvalues of M^-1 A, by Lanczos's method");
    visit("profile", profile,
          "seconds of kernels by label, and memory by step; each kernel is fenced, so that all times are "
          "longer");
    visit("monitor", monitor, std::int64_t(0), std::int64_t(1000000000),
          "number of iterations from one line with the relative residual, on standard error, to the next; "
          "without a value 1, each of them");
    visit("quiet", quiet, "no output but errors");
    visit("verbose", verbose,
          "all options in force, and details of the product, the setup, the levels and the candidates");
  }

  /// \throws OptionError with the place of the key in the config file, if it came from one
  [[noreturn]] void refuse(const std::string& key, const std::string& message) const;

  bool has_near_null_space() const { return !near_null_space.empty() || !coordinates.empty(); }
};

/// A key of the config file; the option of the command line is "--" and the key, with '-' for '_'.
struct SettingKey {
  std::string commands;  ///< that know it
  std::string name;      ///< "matrix" is the positional argument
  /// For the value in --help; empty: a flag. Words with '|' between are all the values that there are, but
  /// for files where FILE.mtx is one. "[=...]": a flag that may have a value.
  std::string placeholder;
  std::string doc = {};                   ///< with the default; of a number or a flag see Settings::describe
  std::string Settings::*text = nullptr;  ///< null: a number or a flag
  std::string bare = {};                  ///< of a flag that may have a value: its value without one
  std::string group = {};                 ///< the heading in --help
};

/// The option of the command line: "--max-iters" of max_iters.
std::string option_name(const std::string& key);

/// The command whose settings a command has: `config` has those of `solve`.
std::string settings_of(const std::string& command);

/// The words, or the names of methods, that the value of a key may be; empty where it is something else.
std::vector<std::string> known_words(const std::string& command, const SettingKey& key);

/// The keys that a command knows, in the order of its --help.
std::vector<SettingKey> setting_keys(const std::string& command);

/// Does the command take -s and -p? (`compare` has options after each name instead of -p)
bool takes_solver_options(const std::string& command);
bool takes_precond_options(const std::string& command);

/// Is a value that may be a file one, rather than one of the words?
bool names_file(const std::string& value);

/// Adds `key=value`. \throws OptionError where there is no '=' or no key, and for a key that is there already
void add_pair(OptionMap& options, const std::string& pair, const std::string& flag);

/// `over` laid over `under`, key by key. Options belong to the solver or preconditioner that they were
/// written with: where `over` names another one, those of `under` are dropped.
RawSettings laid_over(RawSettings over, RawSettings under, const std::string& command);

/// Converts and checks everything that can be checked without the data. \throws OptionError
Settings to_settings(const RawSettings& raw, const std::string& command);

}  // namespace prekond::driver
