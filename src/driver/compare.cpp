// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "commands.hpp"
#include "device_choice.hpp"
#include "report.hpp"
#include "run_files.hpp"
#include "spmv_choice.hpp"
#include "table.hpp"

namespace prekond::driver {
namespace {

/// One row of the table: what was asked for, and what came of it.
template <class Scalar>
struct Row {
  std::string label;
  Method<Scalar> method;
  std::optional<Failure> error;  ///< why there is no outcome
  Outcome<Scalar> outcome;

  ExitCode code() const { return error ? error->code() : exit_code(outcome.solve); }
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
    row.method = choose_method<Scalar>(settings, parts.front(), options);
    rows.push_back(std::move(row));
  }
  return rows;
}

template <class Scalar>
void check_combinations(const std::vector<Row<Scalar>>& rows) {
  for (const auto& row : rows) check_combination(row.method);
}

/// The row's outcome, or its error. Whatever happens to one preconditioner, the others have their turn.
template <class Scalar>
void fill(const Space& space, const Processes& processes, const Problem<Scalar>& problem,
          const Settings& settings, const Devices* devices, Row<Scalar>& row, Progress& progress) {
  try {
    // Where the solver is for all matrices, only the rows whose preconditioner is not must refuse this one.
    processes.only_first([&] {
      if (row.method.precond_properties.needs_spd && !problem.not_spd.empty())
        throw InputError(problem.not_spd);
    });
    const RunOptions options{settings.x0, settings.stopping, settings.repeat, false, settings.scale, false,
                             devices};
    row.outcome = run_method<Scalar>(space, processes, problem, row.method, options, progress);
    row.outcome.x = {};
  } catch (const Failure& failure) {
    row.error = failure;
  } catch (...) {
    if (!processes.alone()) throw;  // the others do not know of it
    row.error = failure_of(std::current_exception());
  }
}

/// What the solver needs of the matrix, or else some preconditioner.
template <class Scalar>
SpdCheck spd_check(const std::vector<Row<Scalar>>& rows) {
  if (rows.front().method.solver_properties.needs_spd) return SpdCheck::require;
  const auto needs_spd = [](const Row<Scalar>& row) { return row.method.precond_properties.needs_spd; };
  return std::any_of(rows.begin(), rows.end(), needs_spd) ? SpdCheck::report : SpdCheck::none;
}

/// One order for all rows of the table.
template <class Scalar>
MethodNeeds needs_of(const std::vector<Row<Scalar>>& rows) {
  const auto factors = [](const Row<Scalar>& row) { return row.method.precond_properties.factors_in_order; };
  return {spd_check<Scalar>(rows), std::any_of(rows.begin(), rows.end(), factors)};
}

template <class Scalar>
std::vector<std::string> cells(const ProblemFacts& problem, const Row<Scalar>& row) {
  if (row.error) return {row.label, "-", "-", "-", "-", "-", std::string("error: ") + row.error->what()};
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

/// The largest exit code of the rows, with what became of each that has no solution.
template <class Scalar>
std::optional<Failure> failure_of_rows(const std::vector<Row<Scalar>>& rows) {
  ExitCode worst = done;
  int failed = 0;
  std::string text;
  for (const auto& row : rows) {
    if (row.code() == done) continue;
    worst = std::max(worst, row.code());
    const std::string reason = row.error ? row.error->what() : to_string(row.outcome.solve.reason);
    text += (failed++ == 0 ? "" : "; ") + row.label + ": " + reason;
  }
  if (failed == 0) return std::nullopt;
  return Failure(
      worst, format("%d of %zu preconditioners did not lead to a solution: ", failed, rows.size()) + text);
}

template <class Scalar>
void compare(const CommandLine& line, const Processes& processes, const Devices* devices, MatrixInput& input,
             RunFiles& files) {
  const Settings& settings = line.settings;
  std::vector<Row<Scalar>> rows;
  processes.together([&] {
    rows = parse_rows<Scalar>(settings);
    check_combinations(rows);
    for (const auto& row : rows) check_devices(devices, row.method);
  });
  const Space space;
  Json reports = Json::array();
  std::vector<std::vector<std::string>> table = {
      {"preconditioner", "setup s", "iterations", "solve s", "total s", "density", "reason"}};
  std::string title, order;
  {
    Progress progress(!settings.quiet && processes.first());
    const Problem<Scalar> problem =
        make_problem<Scalar>(space, processes, settings, input, needs_of<Scalar>(rows), progress);
    title = title_of(problem, settings);
    if (problem.match.name != "none") order = "match " + match_text(problem.match) + "\n";
    if (problem.order.any()) order += "order " + order_text(problem.order) + "\n";
    if (!processes.alone()) order += distribution_text(problem.distribution) + "\n";
    for (std::size_t k = 0; k < rows.size(); ++k) {
      Row<Scalar>& row = rows[k];
      progress.row(k + 1, rows.size(), row.label);
      fill<Scalar>(space, processes, problem, settings, devices, row, progress);
      table.push_back(cells(problem, row));
      reports.push_back(row.error ? failed_report(processes, problem, row.method, settings, row.error->what())
                                  : run_report(processes, problem, row.method, settings, row.outcome));
    }
  }
  processes.only_first([&] {
    files.write_report(reports);
    if (!settings.quiet) {
      std::printf("%s\n%s\n", title.c_str(), order.c_str());
      print_table(table);
    }
    files.finish(failure_of_rows(rows));
  });
}

}  // namespace

void compare_command(const CommandLine& line, const Processes& processes) {
  const Settings& settings = line.settings;
  RunFiles files(line);
  files.during(processes, [&] {
    // What the command line asks for is checked before the matrix is looked at.
    std::vector<Row<double>> rows;
    processes.together([&] {
      rows = parse_rows<double>(settings);
      for (const auto& row : rows) check_match(settings, row.method);
      check_devices(settings, processes);
      check_spmv(settings.spmv, processes);
    });
    const Session session(line.kokkos, processes);
    std::unique_ptr<const Devices> devices;
    processes.together([&] {
      check_combinations(rows);
      devices = choose_devices(settings);
      for (const auto& row : rows) check_devices(devices.get(), row.method);
    });
    MatrixInput input = open_matrix(settings, processes);
    if (input.complex)
      compare<Complex>(line, processes, devices.get(), input, files);
    else
      compare<double>(line, processes, devices.get(), input, files);
  });
}

}  // namespace prekond::driver
