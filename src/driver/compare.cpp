// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstdio>
#include <optional>

#include "commands.hpp"
#include "interrupts.hpp"
#include "measured_solve.hpp"
#include "ordering.hpp"
#include "report.hpp"
#include "summary.hpp"

namespace prekond::driver {
namespace {

/// The rows of the table and the failures.
class Table {
 public:
  explicit Table(std::size_t num_rows) : m_num_rows(num_rows) {}

  template <class Scalar>
  void add(const MethodFacts& method, const Outcome<Scalar>& outcome) {
    const Json &report = outcome.report, &precond = report.at("preconditioner"),
               &solver = report.at("solver");
    const SolveResult& result = outcome.solve;
    const std::string reason = solver.at("reason");
    add_failure(method.label, exit_code(result, outcome.signal), reason);
    const auto seconds = [](const Json& value) { return format("%.4f", value.get<double>()); };
    m_cells.push_back({method.label, seconds(precond.at("setup_seconds")), text_of(result.iterations),
                       seconds(solver.at("seconds")), seconds(report.at("total_seconds")),
                       format("%.3f", precond.at("density").get<double>()),
                       reason + (result.converged ? "" : " (not converged)")});
  }
  void add(const MethodFacts& method, const Failure& error) {
    add_failure(method.label, error.code(), error.what());
    m_cells.push_back({method.label, "-", "-", "-", "-", "-", std::string("error: ") + error.what()});
  }

  void print() const { print_table(m_cells); }

  /// The largest exit code of the rows, with the reasons of all that have no solution; after a signal no row
  /// follows.
  std::optional<Failure> failure() const {
    if (m_failed == 0) return std::nullopt;
    return Failure(m_worst, text_of(m_failed, " of ", m_num_rows,
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

void print_title(const Json& row, const Settings& settings) {
  const Json& matrix = row.at("matrix");
  std::printf("%s\n", text_of(matrix.at("source"), ": ", matrix.at("rows"), " rows, ", matrix.at("nnz"),
                              " entries; ", settings.solver, ", rtol ", settings.stopping.rtol)
                          .c_str());
  for (const auto& [name, text] : order_texts(row)) std::printf("%s %s\n", name.c_str(), text.c_str());
  for (const std::string note : row.at("notes")) std::printf("note: %s\n", note.c_str());
  if (row.at("prekond").at("processes") > 1) std::printf("%s\n", distribution_text(row).c_str());
  std::printf("\n");
}

/// Collective. A row of the table. With a solver for all matrices, only the rows whose preconditioner is not
/// must refuse this one.
template <class Scalar>
Json compared(const Context& context, const Problem<Scalar>& problem, const Method<Scalar>& method,
              Table& table) {
  try {
    context.processes.on_root([&] {
      if (method.precond_properties.needs_spd && !problem.not_spd.empty()) throw InputError(problem.not_spd);
    });
    Outcome<Scalar> outcome = measured_solve<Scalar>(context, problem, method);
    if (context.processes.is_root()) table.add(method, outcome);
    return outcome.report;
  } catch (...) {
    // The others have their turn, unless only this process knows of the failure.
    const Failure failure = failure_of(std::current_exception());
    if (!failure.is_agreed() && !context.processes.is_serial()) throw;
    table.add(method, failure);
    Json report = frame(context, problem.facts, method);
    report["error"] = failure.what();
    return report;
  }
}

template <class Scalar>
void compare(const Context& context, const std::vector<Method<Scalar>>& methods, MatrixInput& input,
             OutputFiles& files) {
  const Problem<Scalar> problem = make_problem<Scalar>(context, needs_of(methods), input);
  Json reports = Json::array();
  Table table(methods.size());
  for (std::size_t k = 0; k < methods.size() && Interrupts::requested() == 0; ++k) {
    context.progress.row(k + 1, methods.size(), methods[k].label);
    reports.push_back(compared(context, problem, methods[k], table));
  }
  context.processes.on_root([&] {
    context.progress.end();
    files.write_report(reports);
    if (!context.settings.quiet) {
      print_title(reports.front(), context.settings);
      table.print();
    }
    files.finish(table.failure());
  });
}

}  // namespace

void compare_command(const CommandLine& line, const Processes& processes, OutputFiles& files) {
  with_methods(line, processes, [&](const Context& context, const auto& methods, MatrixInput& input) {
    compare(context, methods, input, files);
  });
}

}  // namespace prekond::driver
