// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>

#include <algorithm>
#include <cstdio>

#include "commands.hpp"
#include "files.hpp"
#include "report.hpp"
#include "spmv_choice.hpp"
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
template <class Scalar>
struct Row {
  std::string label;
  Method<Scalar> method;
  std::string error;  ///< why there is no outcome
  Outcome<Scalar> outcome;
};

/// `a,b:key=value:key=value` \throws OptionError
template <class Scalar>
std::vector<Row<Scalar>> parse_rows(const Settings& settings) {
  std::vector<Row<Scalar>> rows;
  for (const auto& text : split(settings.precond, ',')) {
    const auto parts = split(text, ':');
    OptionMap options;
    for (std::size_t k = 1; k < parts.size(); ++k) add_pair(options, parts[k], "--precond NAME:");
    Row<Scalar> row;
    row.label = text;
    row.method = choose_method<Scalar>(settings.solver, settings.solver_options, parts.front(), options);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// The row's outcome, or its error. Whatever happens to one preconditioner, the others have their turn.
template <class Scalar>
void fill(const Space& space, const Processes& processes, const Problem<Scalar>& problem,
          const Settings& settings, Row<Scalar>& row, Progress& progress) {
  try {
    // Where the solver is for all matrices, only the rows whose preconditioner is not must refuse this one.
    processes.only_first([&] {
      if (row.method.precond_needs_spd && !problem.not_spd.empty()) throw InputError(problem.not_spd);
    });
    const RunOptions options{settings.x0, settings.stopping, settings.repeat, false};
    row.outcome = run_method<Scalar>(space, processes, problem, row.method, options, progress);
    row.outcome.x = {};
  } catch (const Failure& failure) {
    row.error = failure.what();
  } catch (...) {
    if (!processes.alone()) throw;  // the others do not know of it
    row.error = failure_of(std::current_exception()).what();
  }
}

/// What the solver needs of the matrix, or else some preconditioner.
template <class Scalar>
SpdCheck spd_check(const std::vector<Row<Scalar>>& rows) {
  if (rows.front().method.solver_needs_spd) return SpdCheck::require;
  const auto needs_spd = [](const Row<Scalar>& row) { return row.method.precond_needs_spd; };
  return std::any_of(rows.begin(), rows.end(), needs_spd) ? SpdCheck::report : SpdCheck::none;
}

template <class Scalar>
std::vector<std::string> cells(const ProblemFacts& problem, const Row<Scalar>& row) {
  if (!row.error.empty()) return {row.label, "-", "-", "-", "-", "-", "error: " + row.error};
  const Measurements& o = row.outcome;
  return {row.label,
          format("%.4f", o.setup_seconds),
          format("%lld", static_cast<long long>(o.solve.iterations)),
          format("%.4f", o.solve.seconds),
          format("%.4f", o.setup_seconds + o.solve.seconds),
          format("%.3f", density(problem, o)),
          to_string(o.solve.reason) + (o.solve.converged ? "" : " (not converged)")};
}

std::string title_of(const ProblemFacts& problem, const Settings& settings) {
  return format("%s: %lld rows, %lld entries; %s, rtol %g", problem.source.name.c_str(),
                static_cast<long long>(problem.source.num_rows), static_cast<long long>(problem.source.nnz),
                settings.solver.c_str(), settings.stopping.rtol);
}

template <class Scalar>
void compare(const CommandLine& line, const Processes& processes) {
  const Settings& settings = line.settings;
  std::vector<Row<Scalar>> rows;
  processes.together([&] { rows = parse_rows<Scalar>(settings); });
  const Session session(line.kokkos, processes);
  const Space space;
  Json reports = Json::array();
  std::vector<std::vector<std::string>> table = {
      {"preconditioner", "setup s", "iterations", "solve s", "total s", "density", "reason"}};
  std::string title;
  {
    Progress progress(!settings.quiet && processes.first());
    const Problem<Scalar> problem =
        make_problem<Scalar>(space, processes, settings, spd_check<Scalar>(rows), progress);
    title = title_of(problem, settings);
    for (auto& row : rows) {
      fill<Scalar>(space, processes, problem, settings, row, progress);
      table.push_back(cells(problem, row));
      reports.push_back(row.error.empty()
                            ? run_report(processes, problem, row.method, settings, row.outcome)
                            : failed_report(processes, problem, row.method, settings, row.error));
    }
  }
  processes.only_first([&] {
    if (!settings.quiet) {
      std::printf("%s\n\n", title.c_str());
      print_table(table);
    }
    write_report(settings.report, reports);
  });
}

}  // namespace

void compare_command(const CommandLine& line, const Processes& processes) {
  const Settings& settings = line.settings;
  processes.together([&] {
    parse_rows<double>(settings);  // what the command line asks for is checked before the matrix is looked at
    check_spmv(settings.spmv, processes);
  });
  processes.only_first([&] { check_writable(settings.report); });
  if (check_scalar(settings, processes))
    compare<Complex>(line, processes);
  else
    compare<double>(line, processes);
}

}  // namespace prekond::driver
