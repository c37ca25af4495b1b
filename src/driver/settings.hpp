// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The settings of `solve`, `compare`, `info` and `batch`. The command line and a config file have the same
/// keys; both are read into RawSettings, laid over each other, and checked once.
#include <prekond/core/options.hpp>
#include <prekond/core/stopping.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace prekond::driver {

/// The places of the settings that came from a config file, "PATH:LINE:COLUMN", by key; of options by
/// "solver_options.NAME" and "precond_options.NAME".
using Origins = std::map<std::string, std::string>;

/// Does `check`, whose OptionError, if `key` came from a config file, begins with the place there.
void at_origin(const Origins& origins, const std::string& key, const std::function<void()>& check);

struct Settings {
  std::string matrix;          ///< path of a Matrix Market file; empty if `generate` says what to make
  std::string generate;        ///< NAME:SIZE[,key=value...]
  std::string pattern;         ///< batch: path of the Matrix Market file whose pattern all systems have
  std::string values;          ///< batch: the source of their values, see batch.hpp
  std::string format = "csr";  ///< batch: of its matrices
  std::string rhs = "a_ones";
  std::string x0 = "zero";
  std::string solver = "cg";
  std::string precond = "none";
  std::string spmv = "auto";       ///< format and kernel of A's product, see product.hpp
  std::string order = "none";      ///< of the rows, see ordering.hpp
  std::string match = "none";      ///< rows permuted before that, see matching.hpp
  std::string partition = "rows";  ///< of the rows over processes, see partition.hpp
  std::string near_null_space;     ///< path of a file of vectors, see near_null_space.hpp
  std::string coordinates;         ///< path of a file of the nodes' coordinates, or `grid`
  std::string report;
  std::string history;
  std::string solution;
  std::string config;  ///< the config file, empty without one
  StoppingOptions stopping;
  std::int64_t repeat = 1;
  std::int64_t devices = 1;
  bool scale = false;
  bool condition = false;
  bool quiet = false;
  OptionMap solver_options;
  OptionMap precond_options;
  Origins origins;

  /// The settings that are numbers or flags.
  template <class Visitor>
  void describe(Visitor& visit) {
    stopping.describe(visit);
    visit("repeat", repeat, std::int64_t(1), std::int64_t(1000000),
          "number of times to set up and solve; more make the reported medians steadier");
    visit(
        "devices", devices, std::int64_t(1), std::int64_t(1000),
        "number of devices of this host that share the setup of fsai, adaptive_fsai, nonsymmetric_fsai, spai "
        "or isai where that is faster than one");
    visit("scale", scale, "scaling of the rows and columns of A for the preconditioner, by powers of two");
    visit("condition", condition, "measurement of the extreme eigenvalues of M^-1 A, by Lanczos's method");
    visit("quiet", quiet, "no output but errors");
  }

  /// \throws OptionError with the place of the key in the config file, if it came from one
  [[noreturn]] void refuse(const std::string& key, const std::string& message) const;
};

/// Values by key, as they were written.
struct RawSettings {
  OptionMap keys;
  OptionMap solver_options;
  OptionMap precond_options;
  Origins origins;
};

/// A key of the config file; the option of the command line is "--" and the key, with '-' for '_'.
struct SettingKey {
  std::string name;         ///< "matrix" is the positional argument
  std::string placeholder;  ///< for the value in --help; empty: a flag
  std::string doc;          ///< with the default
  std::string bare = {};    ///< of a flag that also takes a value after '=': its value without one
  std::string Settings::*text = nullptr;  ///< null: a number or a flag, see Settings::describe
};

/// The keys that a command knows, in the order of its --help.
std::vector<SettingKey> setting_keys(const std::string& command);

/// Does the command take -s and -p? (`compare` has options after each name instead of -p)
bool takes_solver_options(const std::string& command);
bool takes_precond_options(const std::string& command);

/// Is a value of rhs or x0 a path rather than one of the words?
bool names_vector_file(const std::string& source);

/// Splits `key=value`. \throws OptionError where there is no '=' or no key
void add_pair(OptionMap& options, const std::string& pair, const std::string& flag);

/// `over` laid over `under`, key by key. Options belong to the solver or preconditioner that they were
/// written with: where `over` names another one, those of `under` are dropped.
RawSettings laid_over(const RawSettings& over, RawSettings under);

/// Converts and checks everything that can be checked without the data. \throws OptionError
Settings to_settings(const RawSettings& raw, const std::string& command);

}  // namespace prekond::driver
