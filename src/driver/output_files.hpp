// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/stat.h>

#include <atomic>
#include <optional>
#include <string>

#include "atomic_file.hpp"
#include "command_line.hpp"
#include "failure.hpp"
#include "processes.hpp"
#include "text.hpp"

namespace prekond::driver {

/// The files that one run of `solve`, `compare`, `info` or `batch` writes.
///
/// They are no input of the run and differ from each other, which is checked before the work. Each is written
/// if it can be, even where another cannot. A run that fails or is interrupted leaves no report of an earlier
/// one: where one exists, it is replaced by one that says so. An older history or solution stays; the report
/// says what was written.
class OutputFiles {
 public:
  /// Collective. From now on an interrupt replaces an older report.
  /// \throws OptionError for a file that is an input as well, or another output; InputError for one that
  /// cannot be written
  OutputFiles(const CommandLine& line, const Processes& processes);
  ~OutputFiles();
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;

  /// Writes a file that the user asked for; without a path none. An error is kept for finish().
  void write(const std::string& kind, const std::string& path, const Writer& writer);
  /// The last file, because it says which others were written: the `history` and the `solution`.
  void write_report(Json report);

  /// \throws Failure for the run's own, with the files that could not be written, or for these
  void finish(const std::optional<Failure>& own = std::nullopt) const;

  /// Replaces an older report by one that says that the run failed. Returns what to add to the error:
  /// nothing, or that the report could not be replaced.
  std::string replace_report(const Failure& failure);

 private:
  const CommandLine& m_line;
  std::optional<struct stat> m_older;   ///< the report that was there when the work began
  std::atomic<bool> m_reported{false};  ///< this run's report is written
  Json m_written = Json::object();      ///< paths by kind
  std::optional<Failure> m_error;       ///< the first file that could not be written
  std::string m_errors;                 ///< all of them
};

}  // namespace prekond::driver
