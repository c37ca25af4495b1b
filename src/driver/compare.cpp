// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>
#include <utility>

#include "commands.hpp"
#include "interrupts.hpp"
#include "measured_solve.hpp"
#include "ordering.hpp"
#include "report.hpp"
#include "summary.hpp"

namespace prekond::driver {
namespace {

/// A row of the table; without a solve it has no numbers.
struct Row {
  std::string label, solver, reason;
  bool was_solved = false;
  bool converged = false;
  std::int64_t iterations = 0;
  double setup = 0, solve = 0, total = 0;  ///< seconds
  double density = 0;
  bool is_fastest = false;

  /// `exact`: for a program that reads them.
  std::vector<std::string> cells(bool exact) const {
    const std::string none = exact ? "" : "-";
    if (!was_solved) return {label, solver, none, none, none, none, none, reason};
    const auto seconds = [&](double value) { return exact ? format("%.9g", value) : format("%.4f", value); };
    return {label,
            solver,
            seconds(setup),
            text_of(iterations),
            seconds(solve),
            seconds(total),
            exact ? format("%.9g", density) : format("%.3f", density),
            reason + (is_fastest && !exact ? " (fastest)" : "")};
  }
};

/// A cell as CSV has it, or Markdown.
std::string csv_cell(const std::string& cell) {
  if (cell.find_first_of(",\"\n") == cell.npos) return cell;
  std::string text;
  for (const char c : cell) text += c == '"' ? "\"\"" : std::string(1, c);
  return "\"" + text + "\"";
}
std::string markdown_cell(const std::string& cell) {
  std::string text;
  for (const char c : cell) text += c == '|' ? "\\|" : std::string(1, c == '\n' ? ' ' : c);
  return text;
}

/// The rows of the table, the least setup and `solves` solves first, and the failures.
class Table {
 public:
  Table(std::size_t num_rows, std::int64_t solves)
      : m_num_rows(num_rows), m_more_solves(static_cast<double>(solves - 1)) {}

  template <class Scalar>
  void add(const MethodFacts& method, const Outcome<Scalar>& outcome) {
    const Json &report = outcome.report, &precond = report.at("preconditioner"),
               &solver = report.at("solver");
    const SolveResult& result = outcome.solve;
    const std::string reason = outcome.is_late ? "ended by --patience" : solver.at("reason");
    add_failure(method.label, exit_code(result, outcome.signal), reason);
    const double solve = solver.at("seconds"), once = report.at("total_seconds");
    if (result.converged) m_least = std::min(m_least, once);
    m_rows.push_back({.label = method.label,
                      .solver = method.solver_name,
                      .reason = reason + (result.converged ? "" : " (not converged)"),
                      .was_solved = true,
                      .converged = result.converged,
                      .iterations = result.iterations,
                      .setup = precond.at("setup_seconds"),
                      .solve = solve,
                      .total = once + m_more_solves * solve,
                      .density = precond.at("density")});
  }
  /// The seconds that a row may take: `patience` times the least setup and solve so far, and one.
  double most_seconds(double patience) const {
    return patience > 0 ? 1 + patience * m_least : std::numeric_limits<double>::infinity();
  }

  /// On all processes, where only the root adds rows.
  void see(const SolveResult& result) {
    m_is_indefinite |= result.reason == StopReason::breakdown_not_spd;
    m_is_solved |= result.converged;
    m_others_may |= !result.converged && result.reason != StopReason::max_iters;
    m_blaming += result.reason == StopReason::stagnation || result.reason == StopReason::breakdown_singular;
  }
  /// Did a method end because A is not positive definite?
  bool is_indefinite() const { return m_is_indefinite; }
  /// Has a row converged?
  bool is_solved() const { return m_is_solved; }
  /// May other methods do what these did not? As for AutoSolver, not where the iterations were too few for
  /// all, or two rows ended for reasons of the system.
  bool others_may_solve() const { return !m_is_solved && m_others_may && m_blaming < 2; }
  void expect(std::size_t num_more) { m_num_rows += num_more; }

  void add(const MethodFacts& method, const Failure& error) {
    add_failure(method.label, error.code(), error.what());
    m_others_may = true;
    m_rows.push_back({.label = method.label,
                      .solver = method.solver_name,
                      .reason = std::string("error: ") + error.what()});
  }

  /// Puts the rows in order, those that converged first, and marks the fastest of several.
  void sort() {
    std::stable_sort(m_rows.begin(), m_rows.end(), [](const Row& a, const Row& b) {
      return a.converged != b.converged ? a.converged : a.converged && a.total < b.total;
    });
    if (m_rows.size() > 1 && m_rows.front().converged) m_rows.front().is_fastest = true;
  }

  void print() const {
    std::vector<std::vector<std::string>> cells = {
        {"preconditioner", "solver", "setup s", "iterations", "solve s", "total s", "density", "reason"}};
    for (const Row& row : m_rows) cells.push_back(row.cells(false));
    print_table(cells);
  }

  /// The table for a file, which is Markdown or CSV.
  std::string text(bool markdown) const {
    std::string text =
        markdown
            ? "| preconditioner | solver | setup s | iterations | solve s | total s | density | reason |\n"
              "|---|---|--:|--:|--:|--:|--:|---|\n"
            : "preconditioner,solver,setup_seconds,iterations,solve_seconds,total_seconds,density,reason\n";
    for (const Row& row : m_rows) {
      std::string line;
      for (const std::string& cell : row.cells(!markdown))
        line += markdown ? "| " + markdown_cell(cell) + " " : csv_cell(cell) + ",";
      text += markdown ? line + "|\n" : line.substr(0, line.size() - 1) + "\n";
    }
    return text;
  }

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
  double m_more_solves;
  double m_least = std::numeric_limits<double>::infinity();  ///< setup and solve of a row that converged
  std::vector<Row> m_rows;
  ExitCode m_worst = done;
  int m_failed = 0;
  bool m_is_indefinite = false, m_is_solved = false, m_others_may = false;
  int m_blaming = 0;
  std::string m_failures;
};

void print_title(const Json& row, const Settings& settings) {
  const Json& matrix = row.at("matrix");
  std::printf("%s\n", text_of(matrix.at("source"), ": ", matrix.at("rows"), " rows, ", matrix.at("nnz"),
                              " entries; rtol ", settings.stopping.rtol)
                          .c_str());
  if (settings.choice.solves > 1)
    std::printf("totals of one setup and %lld solves\n", static_cast<long long>(settings.choice.solves));
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
    if (!method.refusal.empty()) throw Failure(bad_command_line, method.refusal);
    context.processes.on_root([&] {
      if (method.needs_spd() && !problem.not_spd.empty()) throw InputError(problem.not_spd);
    });
    Outcome<Scalar> outcome =
        measured_solve<Scalar>(context, problem, method, table.most_seconds(context.settings.patience));
    table.see(outcome.solve);
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

/// A part of AutoSolver's list.
enum class Part { usual, for_general, last_resorts };

/// Collective. The methods of AutoSolver's list that fit the matrix, the least expected work first. \throws
/// Failure where the usual ones are none
template <class Scalar>
std::vector<Method<Scalar>> methods_of_list(const Context& context, const Problem<Scalar>& problem,
                                            Part part = Part::usual) {
  const Settings& settings = context.settings;
  std::vector<Method<Scalar>> methods;
  std::string reasons;
  std::vector<Candidate> candidates = candidates_of(settings, statistics_of_all<Scalar>(context, problem),
                                                    is_complex<Scalar>, context.processes.size());
  if (part == Part::for_general) leave_definite(candidates, "");
  if (part == Part::last_resorts)
    for (Candidate& one : candidates)
      one.is_out = !std::exchange(one.is_last_resort, false) || !one.outcome.empty();
  for (const Candidate& candidate : by_expected_work(candidates)) {
    try {
      Method<Scalar>& method = methods.emplace_back(method_of<Scalar>(settings, candidate));
      for (const auto& [name, value] : candidate.preconditioner.options)
        method.label += ":" + name + "=" + to_string(value);
    } catch (const OptionError& error) {  // the solver of the settings does not take it
      reasons = error.what();
    }
  }
  for (const Candidate& candidate : candidates)
    if (reasons.empty()) reasons = candidate.outcome;
  if (methods.empty() && part == Part::usual)
    throw Failure(bad_input, problem.name + ": no method of the list of --precond auto fits the matrix (" +
                                 reasons + "); name some with --precond");
  return methods;
}

template <class Scalar>
void compare(const Context& context, const std::vector<Method<Scalar>>& named, MatrixInput& input,
             OutputFiles& files) {
  const Problem<Scalar> problem = make_problem<Scalar>(context, needs_of(named), input);
  std::vector<Method<Scalar>> listed;
  if (named.front().is_automatic) listed = methods_of_list(context, problem);
  const std::vector<Method<Scalar>>& methods = listed.empty() ? named : listed;
  Json reports = Json::array();
  Table table(methods.size(), context.settings.choice.solves);
  const auto compare_all = [&](const std::vector<Method<Scalar>>& rows) {
    for (std::size_t k = 0; k < rows.size() && Interrupts::requested() == 0; ++k) {
      context.progress.row(k + 1, rows.size(), rows[k].label);
      reports.push_back(compared(context, problem, rows[k], table));
    }
  };
  compare_all(methods);
  const auto add_rows = [&](Part part) {
    const std::vector<Method<Scalar>> more = methods_of_list(context, problem, part);
    table.expect(more.size());
    compare_all(more);
  };
  const auto is_spd = [](const Method<Scalar>& method) { return method.solver_properties.needs_spd; };
  if (table.is_indefinite() && context.settings.solver == automatic && Interrupts::requested() == 0 &&
      std::all_of(listed.begin(), listed.end(), is_spd)) {
    add_rows(Part::for_general);
  }
  if (!listed.empty() && table.others_may_solve() && Interrupts::requested() == 0)
    add_rows(Part::last_resorts);
  table.sort();
  context.processes.on_root([&] {
    context.progress.end();
    const std::string& path = context.settings.table;
    files.write("table", path,
                [&](const std::string& name) { write_text(name, table.text(path.ends_with(".md"))); });
    files.write_report(reports);
    if (!context.settings.quiet) {
      print_title(reports.front(), context.settings);
      table.print();
    }
    // Nobody has named the methods of the list.
    const bool is_done = !listed.empty() && table.is_solved() && Interrupts::requested() == 0;
    files.finish(is_done ? std::nullopt : table.failure());
  });
}

}  // namespace

void compare_command(const CommandLine& line, const Processes& processes, OutputFiles& files) {
  with_methods(line, processes, [&](const Context& context, const auto& methods, MatrixInput& input) {
    compare(context, methods, input, files);
  });
}

}  // namespace prekond::driver
