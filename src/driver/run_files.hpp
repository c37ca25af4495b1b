// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/stat.h>

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "failure.hpp"
#include "processes.hpp"

namespace prekond::driver {

/// The files of one run of `solve`, `compare`, `info` or `batch`: what they may be, and what becomes of them.
///
/// They are no input of the run and differ from each other, which is checked before the work. What can be
/// written is written, whatever happens to the others. A run that fails or is interrupted leaves no report of
/// an earlier one: where one stands, it is replaced by one that says so. An older history or solution stays;
/// the report says what was written.
class RunFiles {
 public:
  using Json = nlohmann::ordered_json;

  explicit RunFiles(const CommandLine& line);
  ~RunFiles();
  RunFiles(const RunFiles&) = delete;
  RunFiles& operator=(const RunFiles&) = delete;

  /// \throws OptionError for a file that is an input as well, or another output; InputError for one that
  /// cannot be written
  void check() const;

  /// All processes: check(), which the first does, and then the work, after whose failure an older report is
  /// replaced.
  void during(const Processes& processes, const std::function<void()>& work);

  /// Write what was asked for; an error is kept for finish(). The report, the last, also says what was
  /// written.
  void write_history(const std::string& text);
  void write_solution(const std::function<void(const std::string&)>& write);
  void write_report(Json report);

  /// \throws Failure for the run's own, which names in the same line what could not be written, or else for
  /// that
  void finish(const std::optional<Failure>& own = std::nullopt) const;

 private:
  struct File {
    const char* flag;
    std::string path;
  };
  std::vector<File> outputs() const;
  std::vector<File> inputs() const;
  bool attempt(const std::function<void()>& write);
  void arm();
  std::string replace_report(const Failure& failure);

  const CommandLine& m_line;
  std::optional<struct stat> m_older;   ///< the report that stood there when the work began
  std::atomic<bool> m_reported{false};  ///< this run's report is written
  bool m_has_history = false;
  bool m_has_solution = false;
  std::optional<Failure> m_error;  ///< the first file that could not be written
  std::string m_errors;            ///< all of them
};

}  // namespace prekond::driver
