// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstdio>
#include <optional>

#include "commands.hpp"
#include "measured_solve.hpp"
#include "report.hpp"
#include "text.hpp"

namespace prekond::driver {
namespace {

/// The needs of all methods, which have one solver, and one order for all rows of the table.
template <class Scalar>
MethodNeeds needs_of(const std::vector<Method<Scalar>>& methods) {
  MethodNeeds needs;
  for (const auto& method : methods) {
    needs.factors_in_order |= method.precond_properties.factors_in_order;
    if (method.precond_properties.needs_spd) needs.check = SpdCheck::report;
  }
  if (methods.front().solver_properties.needs_spd) needs.check = SpdCheck::require;
  return needs;
}

/// The rows of the table, their reports, and the failures.
class Table {
 public:
  explicit Table(std::size_t num_rows) : m_num_rows(num_rows) {}

  void add(const ProblemFacts& problem, const MethodFacts& method, const Measurements& o) {
    add_failure(method.label, exit_code(o.solve), to_string(o.solve.reason));
    m_cells.push_back({method.label, format("%.4f", o.setup_seconds), concat(o.solve.iterations),
                       format("%.4f", o.solve.seconds), format("%.4f", o.setup_seconds + o.solve.seconds),
                       format("%.3f", density(problem, o)),
                       to_string(o.solve.reason) + (o.solve.converged ? "" : " (not converged)")});
  }
  void add(const MethodFacts& method, const Failure& error) {
    add_failure(method.label, error.code(), error.what());
    m_cells.push_back({method.label, "-", "-", "-", "-", "-", std::string("error: ") + error.what()});
  }

  void print() const { print_table(m_cells); }

  /// The largest exit code of the rows, with the reasons of all that have no solution.
  std::optional<Failure> failure() const {
    if (m_failed == 0) return std::nullopt;
    return Failure(m_worst, concat(m_failed, " of ", m_num_rows,
                                   " preconditioners did not lead to a solution: ", m_failures));
  }

 private:
  void add_failure(const std::string& label, ExitCode code, const std::string& reason) {
    if (code == done) return;
    m_worst = std::max(m_worst, code);
    m_failures += (m_failed++ == 0 ? "" : "; ") + label + ": " + reason;
  }

  std::size_t m_num_rows;
  std::vector<std::vector<std::string>> m_cells = {
      {"preconditioner", "setup s", "iterations", "solve s", "total s", "density", "reason"}};
  ExitCode m_worst = done;
  int m_failed = 0;
  std::string m_failures;
};

std::string title_of(const Processes& processes, const ProblemFacts& problem, const Settings& settings) {
  std::string title =
      concat(problem.source.name, ": ", problem.source.num_rows, " rows, ", problem.source.nnz, " entries; ",
             settings.solver, ", rtol ", settings.stopping.rtol, "\n");
  if (problem.match.is_asked()) title += "match " + match_text(problem.match) + "\n";
  if (problem.order.is_asked()) title += "order " + order_text(problem.order) + "\n";
  if (!processes.is_serial()) title += distribution_text(problem.distribution) + "\n";
  return title;
}

template <class Scalar>
void compare(const Processes& processes, const Settings& settings, const std::vector<Method<Scalar>>& methods,
             const Devices* devices, MatrixInput& input, OutputFiles& files) {
  const Space space;
  Json reports = Json::array();
  Table table(methods.size());
  std::string title;
  {
    Progress progress(!settings.quiet && processes.is_root());
    const Problem<Scalar> problem =
        make_problem<Scalar>(space, processes, settings, input, needs_of<Scalar>(methods), progress);
    title = title_of(processes, problem, settings);
    for (std::size_t k = 0; k < methods.size(); ++k) {
      const Method<Scalar>& method = methods[k];
      progress.row(k + 1, methods.size(), method.label);
      try {
        // With a solver for all matrices, only the rows whose preconditioner is not must refuse this one.
        processes.on_root([&] {
          if (method.precond_properties.needs_spd && !problem.not_spd.empty())
            throw InputError(problem.not_spd);
        });
        const Outcome<Scalar> outcome =
            measured_solve<Scalar>(space, processes, problem, method, settings, devices, progress);
        table.add(problem, method, outcome);
        reports.push_back(run_report(processes, problem, method, settings, outcome));
      } catch (...) {
        // The others have their turn, unless only this process knows of the failure.
        const Failure failure = failure_of(std::current_exception());
        if (!failure.is_agreed() && !processes.is_serial()) throw;
        table.add(method, failure);
        reports.push_back(failed_report(processes, problem, method, settings, failure.what()));
      }
    }
  }
  processes.on_root([&] {
    files.write_report(reports);
    if (!settings.quiet) {
      std::printf("%s\n", title.c_str());
      table.print();
    }
    files.finish(table.failure());
  });
}

}  // namespace

void compare_command(const CommandLine& line, const Processes& processes, OutputFiles& files) {
  with_methods(line, processes, [&](const auto& methods, const Devices* devices, MatrixInput& input) {
    compare(processes, line.settings, methods, devices, input, files);
  });
}

}  // namespace prekond::driver
