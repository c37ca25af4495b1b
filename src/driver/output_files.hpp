// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/stat.h>

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "command_line.hpp"
#include "failure.hpp"
#include "processes.hpp"

namespace prekond::driver {

/// The files that one run of `solve`, `compare`, `info` or `batch` writes.
///
/// They are no input of the run and differ from each other, which is checked before the work. Each is written
/// if it can be, even where another cannot. A run that fails or is interrupted leaves no report of an earlier
/// one: where one exists, it is replaced by one that says so. An older history or solution stays; the report
/// says what was written.
class OutputFiles {
 public:
  using Json = nlohmann::ordered_json;

  /// Collective. From now on an interrupt replaces an older report.
  /// \throws OptionError for a file that is an input as well, or another output; InputError for one that
  /// cannot be written
  OutputFiles(const CommandLine& line, const Processes& processes);
  ~OutputFiles();
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;

  /// Write the files that the user asked for; an error is kept for finish(). The report is the last, because
  /// it says what was written.
  void write_history(const std::string& text);
  void write_solution(const std::function<void(const std::string&)>& write);
  void write_report(Json report);

  /// \throws Failure for the run's own, with the files that could not be written, or for these
  void finish(const std::optional<Failure>& own = std::nullopt) const;

  /// Replaces an older report by one that says that the run failed. Returns what to add to the error:
  /// nothing, or that the report could not be replaced.
  std::string replace_report(const Failure& failure);

 private:
  bool attempt(const std::function<void()>& write);

  const CommandLine& m_line;
  std::optional<struct stat> m_older;   ///< the report that was there when the work began
  std::atomic<bool> m_reported{false};  ///< this run's report is written
  bool m_has_history = false;
  bool m_has_solution = false;
  std::optional<Failure> m_error;  ///< the first file that could not be written
  std::string m_errors;            ///< all of them
};

}  // namespace prekond::driver
