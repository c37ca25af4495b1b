// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/io/matrix_market.hpp>

#include "commands.hpp"
#include "measured_solve.hpp"
#include "report.hpp"
#include "summary.hpp"
#include "text.hpp"

namespace prekond::driver {
namespace {

std::string history_text(std::vector<double> history, double norm_b) {
  if (history.empty()) history.push_back(norm_b);  // b = 0: the solver had nothing to iterate on
  std::string text = "iteration,residual_norm,relative_residual\n";
  for (std::size_t k = 0; k < history.size(); ++k) {
    const double relative = norm_b > 0 ? history[k] / norm_b : history[k];
    text += format("%zu,%.17g,%.17g\n", k, history[k], relative);
  }
  return text;
}

/// There is no vector to write where it may have NaN in it.
bool has_solution(const Settings& settings, const SolveResult& result) {
  return !settings.solution.empty() && result.reason != StopReason::nan &&
         result.reason != StopReason::out_of_range;
}

template <class Scalar>
void solve(const Processes& processes, const Settings& settings, const Method<Scalar>& method,
           const Devices* devices, MatrixInput& input, OutputFiles& files) {
  const Space space;
  Problem<Scalar> problem;
  Outcome<Scalar> outcome;
  {
    Progress progress(!settings.quiet && processes.is_root());
    const MethodNeeds needs{method.needs_spd() ? SpdCheck::require : SpdCheck::none,
                            method.precond_properties.factors_in_order};
    problem = make_problem<Scalar>(space, processes, settings, input, needs, progress);
    processes.on_root([&] {
      if (settings.condition) check_condition_of(problem.source.name, problem.symmetric);
    });
    outcome = measured_solve<Scalar>(space, processes, problem, method, settings, devices, progress);
  }
  Vector<Scalar, Space> solution;
  if (has_solution(settings, outcome.solve))
    solution = whole_solution<Scalar>(space, processes, problem, outcome.x);
  processes.on_root([&] {
    files.write_history(history_text(outcome.history, problem.norm_b));
    if (has_solution(settings, outcome.solve))
      files.write_solution([&](const std::string& path) {
        const auto x = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), solution);
        write_vector_market(path, x, "prekond solve " + problem.source.name);
      });
    files.write_report(run_report(processes, problem, method, settings, outcome));
    if (!settings.quiet) print_summary(processes, problem, method, settings, outcome);
    files.finish(failure_of_solve(method, settings, outcome));
  });
}

}  // namespace

void solve_command(const CommandLine& line, const Processes& processes, OutputFiles& files) {
  with_methods(line, processes, [&](const auto& methods, const Devices* devices, MatrixInput& input) {
    solve(processes, line.settings, methods.front(), devices, input, files);
  });
}

}  // namespace prekond::driver
