// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/matrix/validate.hpp>

#include <algorithm>
#include <cstdio>
#include <new>

#include "commands.hpp"
#include "files.hpp"
#include "report.hpp"
#include "table.hpp"

namespace prekond::driver {
namespace {

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

/// One row of the table: what was asked for, and what came of it.
struct Row {
  std::string label;
  Method method;
  std::string error;  ///< why there is no outcome
  Outcome outcome;
};

/// `a,b:key=value:key=value` \throws OptionError
std::vector<Row> parse_rows(const Settings& settings) {
  std::vector<Row> rows;
  for (const auto& text : split(settings.precond, ',')) {
    const auto parts = split(text, ':');
    OptionMap options;
    for (std::size_t k = 1; k < parts.size(); ++k) add_pair(options, parts[k], "--precond NAME:");
    Row row;
    row.label = text;
    row.method = choose_method(settings.solver, settings.solver_options, parts.front(), options);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// The row's outcome, or its error. Whatever happens to one preconditioner, the others have their turn.
void fill(const Space& space, const Problem& problem, const Settings& settings, Row& row,
          Progress& progress) {
  try {
    // Where the solver is for all matrices, only the rows whose preconditioner is not must refuse this one.
    if (row.method.precond_needs_spd && !row.method.solver_needs_spd) {
      progress.phase(row.method.precond_name + ": checking the matrix");
      check_spd_input<double, Space>(space, problem.source.a);
    }
    const RunOptions options{settings.x0, settings.stopping, settings.repeat, false};
    row.outcome = run_method(space, problem, row.method, options, progress);
    row.outcome.x = {};
  } catch (const std::bad_alloc&) {
    row.error = "not enough memory";
  } catch (const std::exception& error) {
    row.error = error.what();
  }
}

std::vector<std::string> cells(const Problem& problem, const Row& row) {
  if (!row.error.empty()) return {row.label, "-", "-", "-", "-", "-", "error: " + row.error};
  const Outcome& o = row.outcome;
  return {row.label,
          format("%.4f", o.setup_seconds),
          format("%lld", static_cast<long long>(o.solve.iterations)),
          format("%.4f", o.solve.seconds),
          format("%.4f", o.setup_seconds + o.solve.seconds),
          format("%.3f", density(problem, o)),
          to_string(o.solve.reason) + (o.solve.converged ? "" : " (not converged)")};
}

}  // namespace

void compare_command(const CommandLine& line) {
  const Settings& settings = line.settings;
  std::vector<Row> rows = parse_rows(settings);
  check_writable(settings.report);
  const Session session(line.kokkos);
  const Space space;
  Json reports = Json::array();
  std::vector<std::vector<std::string>> table = {
      {"preconditioner", "setup s", "iterations", "solve s", "total s", "density", "reason"}};
  std::string title;
  {
    Progress progress(!settings.quiet);
    const Problem problem = make_problem(space, settings, rows.front().method.solver_needs_spd, progress);
    title = format("%s: %lld rows, %lld entries; %s, rtol %g", problem.source.name.c_str(),
                   static_cast<long long>(problem.source.a.num_rows),
                   static_cast<long long>(problem.source.a.nnz()), settings.solver.c_str(),
                   settings.stopping.rtol);
    for (auto& row : rows) {
      fill(space, problem, settings, row, progress);
      table.push_back(cells(problem, row));
      reports.push_back(row.error.empty() ? run_report(problem, row.method, settings, row.outcome)
                                          : failed_report(problem, row.method, settings, row.error));
    }
  }
  if (!settings.quiet) {
    std::printf("%s\n\n", title.c_str());
    print_table(table);
  }
  write_report(settings.report, reports);
}

}  // namespace prekond::driver
