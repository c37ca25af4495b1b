// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// What `solve`, `compare`, `info` and `batch` were asked to do. The command line and a config file speak of
/// the same keys; both are read into RawSettings, laid over each other, and checked once.
#include <prekond/core/options.hpp>
#include <prekond/krylov/stopping.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace prekond::driver {

/// Where the settings that came from a config file were written, "PATH:LINE:COLUMN", by key; options by
/// "solver_options.NAME" and "precond_options.NAME".
using Origins = std::map<std::string, std::string>;

/// Does `check`, whose OptionError, if `key` came from a config file, begins with the place there.
void at_origin(const Origins& origins, const std::string& key, const std::function<void()>& check);

struct Settings {
  std::string matrix;          ///< path of a Matrix Market file; empty if `generate` says what to make
  std::string generate;        ///< NAME:SIZE[,key=value...]
  std::string pattern;         ///< batch: path of the Matrix Market file whose pattern all systems have
  std::string values;          ///< batch: where their values come from, see batch_input.hpp
  std::string format = "csr";  ///< batch: of its matrices
  std::string rhs = "a_ones";
  std::string x0 = "zero";
  std::string solver = "cg";
  std::string precond = "none";
  std::string spmv = "auto";       ///< format and kernel of A's product, see spmv_choice.hpp
  std::string order = "none";      ///< of the rows, see ordering.hpp
  std::string match = "none";      ///< rows permuted before that, see matched_rows.hpp
  std::string partition = "rows";  ///< of the rows over processes, see partition_choice.hpp
  std::string near_null_space;     ///< path of a file of vectors, see near_null_space.hpp
  std::string coordinates;         ///< likewise of the nodes' coordinates, or `grid`
  bool scale = false;              ///< is the preconditioner one of the scaled matrix?
  OptionMap solver_options;
  OptionMap precond_options;
  StoppingOptions stopping;
  std::int64_t repeat = 1;
  std::int64_t devices = 1;  ///< that share the preconditioner's setup
  std::string report;
  std::string history;
  std::string solution;
  bool quiet = false;
  bool condition = false;  ///< measure the extreme eigenvalues of M^-1 A
  std::string config;      ///< the config file, empty without one
  Origins origins;
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
  std::string name;
  std::string placeholder;  ///< what stands for the value in --help; empty: a flag
  std::string doc;
  std::string bare = {};  ///< a flag that also takes a value behind '=': what it means without one
};

/// The keys that a command knows, in the order of its --help. A key without a placeholder
/// is a flag; "matrix" is the positional argument.
std::vector<SettingKey> setting_keys(const std::string& command);

/// Does the command take -s and -p? (`compare` has options behind each name instead of -p)
bool takes_solver_options(const std::string& command);
bool takes_precond_options(const std::string& command);

/// Is a value of rhs or x0 a path, none of the words?
bool names_vector_file(const std::string& source);

/// The parts of a text between separators, empty ones included.
std::vector<std::string> split(const std::string& text, char separator);

/// Splits `key=value`. \throws OptionError where there is no '=' or no key
void add_pair(OptionMap& options, const std::string& pair, const std::string& flag);

/// `over` laid over `under`, key by key. Options belong to the solver or preconditioner that they were
/// written beside: where `over` names another one, those of `under` are dropped.
RawSettings laid_over(const RawSettings& over, RawSettings under);

/// Converts and checks everything that can be checked without the data. \throws OptionError
Settings to_settings(const RawSettings& raw, const std::string& command);

}  // namespace prekond::driver
