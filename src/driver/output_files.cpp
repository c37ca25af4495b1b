// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "output_files.hpp"

#include <prekond/core/error.hpp>

#include <vector>

#include "batch.hpp"
#include "interrupts.hpp"
#include "phase.hpp"
#include "report.hpp"

namespace prekond::driver {
namespace {

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

struct File {
  std::string flag;
  std::string path;
};

std::vector<File> outputs(const Settings& s) {
  std::vector<File> files = {
      {"--report", s.report}, {"--table", s.table}, {"--history", s.history}, {"--solution", s.solution}};
  std::erase_if(files, [](const File& file) { return file.path.empty(); });
  return files;
}

std::vector<File> inputs(const Settings& s) {
  std::vector<File> files = {{"the matrix", s.matrix}, {"--config ", s.config}};
  for (const File& vector :
       {File{"--rhs ", s.rhs}, File{"--x0 ", s.x0}, File{"--partition ", s.partition},
        File{"--near-null-space ", s.near_null_space}, File{"--coordinates ", s.coordinates}})
    if (names_file(vector.path)) files.push_back(vector);
  for (const std::string& path : batch_inputs(s)) files.push_back({"an input of the batch, ", path});
  std::erase_if(files, [](const File& file) { return file.path.empty(); });
  return files;
}

void check(const Settings& settings) {
  const std::string& table = settings.table;
  if (!table.empty() && !table.ends_with(".csv") && !table.ends_with(".md"))
    settings.refuse("table", "--table takes a FILE.csv or a FILE.md, not '" + table + "'");
  const std::vector<File> written = outputs(settings);
  for (std::size_t k = 0; k < written.size(); ++k) {
    const File& file = written[k];
    for (const File& input : inputs(settings))
      if (same_file(file.path, input.path))
        throw OptionError(file.flag + " " + file.path + " would overwrite " + input.flag +
                          (input.path == settings.matrix ? "" : input.path) + ": give it another name");
    for (std::size_t j = 0; j < k; ++j)
      if (!(names_stream(file.path) && names_stream(written[j].path)) &&
          same_file(file.path, written[j].path))
        throw OptionError(written[j].flag + " " + written[j].path + " and " + file.flag + " " + file.path +
                          " are the same file: give one another name");
  }
  for (const File& file : written) check_writable(file.path);
}

}  // namespace

OutputFiles::OutputFiles(const CommandLine& line, const Processes& processes) : m_line(line) {
  processes.on_root([&] { check(line.settings); });
  if (line.command != "config") m_older = status_of(line.settings.report);
  if (m_older && !S_ISREG(m_older->st_mode)) m_older.reset();
  Interrupts::on_interrupt([this](const Failure& failure) { replace_report(failure); });
}

OutputFiles::~OutputFiles() {
  Interrupts::on_interrupt(nullptr);
}

std::string OutputFiles::replace_report(const Failure& failure) {
  const std::string& path = m_line.settings.report;
  const auto now = status_of(path);
  // Only the report that was there before: another process of this run may have replaced it, knowing more.
  if (!m_older || !now || m_reported || !is_same(*m_older, *now)) return "";
  try {
    write_file(
        path, [&](const std::string& name) { write_text(name, report_text(error_report(m_line, failure))); });
  } catch (const std::exception& error) {
    return std::string("; the report of an earlier run stays: ") + error.what();
  }
  return "";
}

void OutputFiles::write(const std::string& kind, const std::string& path, const Writer& writer) {
  if (path.empty()) return;
  Phase::begin("writing " + path);
  try {
    write_file(path, writer);
    m_written[kind] = path;
  } catch (...) {
    const Failure failure = failure_of(std::current_exception());
    if (!m_error) m_error = failure;
    m_errors += (m_errors.empty() ? "" : "; ") + std::string(failure.what());
  }
}

void OutputFiles::write_report(Json report) {
  if (m_line.command == "solve") report["files"] = {{"history", nullptr}, {"solution", nullptr}};
  if (m_line.command == "batch") report["files"] = {{"solution", nullptr}};
  if (report.is_object() && report.contains("files")) report["files"].update(m_written);
  if (m_error && report.is_object()) report["error"] = m_errors;
  const std::string& path = m_line.settings.report;
  write("report", path, [&](const std::string& name) { write_text(name, report_text(report)); });
  m_reported = m_written.contains("report");
}

void OutputFiles::finish(const std::optional<Failure>& own) const {
  if (own && m_error) throw Failure(own->code(), std::string(own->what()) + "; moreover " + m_errors);
  if (own) throw *own;
  if (m_error) throw Failure(m_error->code(), m_errors);
}

}  // namespace prekond::driver
