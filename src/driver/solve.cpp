// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/io/matrix_market.hpp>

#include "advice.hpp"
#include "commands.hpp"
#include "condition.hpp"
#include "measured_solve.hpp"
#include "ordering.hpp"
#include "profile.hpp"
#include "summary.hpp"

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

template <class Scalar>
void solve(const Context& context, const std::vector<Method<Scalar>>& methods, MatrixInput& input,
           OutputFiles& files) {
  const Settings& settings = context.settings;
  std::optional<Profile> profile;
  if (settings.profile) profile.emplace();
  const Problem<Scalar> problem = make_problem<Scalar>(context, needs_of(methods), input);
  context.processes.on_root([&] {
    if (settings.condition) check_condition_of(problem.name, problem.facts.at("matrix").at("symmetric"));
  });
  Outcome<Scalar> outcome = measured_solve<Scalar>(context, problem, methods.front());
  const MethodFacts& method = outcome.method;
  // There is no vector to write where it may have NaN in it.
  const bool is_sound = outcome.solve.went_back || (outcome.solve.reason != StopReason::nan &&
                                                    outcome.solve.reason != StopReason::out_of_range);
  const bool has_solution = !settings.solution.empty() && is_sound;
  Vector<Scalar, Space> solution;
  if (has_solution) solution = problem.whole_solution(context, outcome.x);
  if (profile) outcome.report["profile"] = profile->json();
  std::optional<MatrixStatistics> facts;
  if (outcome.signal == 0 && may_be_worse(outcome.solve)) facts = statistics_of_all<Scalar>(context, problem);
  context.processes.on_root([&] {
    files.write("history", settings.history, [&](const std::string& path) {
      write_text(path, history_text(outcome.history, problem.norm_b));
    });
    files.write("solution", has_solution ? settings.solution : "", [&](const std::string& path) {
      const auto x = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), solution);
      write_vector_market(path, x, "prekond solve " + problem.name);
    });
    Json& tries = outcome.report["try"] = Json::array();
    if (facts) tries = better_than<Scalar>(context, problem, outcome, methods.front().is_automatic, *facts);
    if (!context.processes.is_serial())
      for (Json& entry : tries)
        entry["command"] = text_of("mpirun -np ", context.processes.size(), " ",
                                   entry.at("command").template get<std::string>());
    context.progress.end();
    files.write_report(outcome.report);
    if (!settings.quiet) print_summary(outcome.report, method, settings.verbose);
    if (outcome.signal != 0)
      files.finish(
          failure_of_signal(method, outcome.solve, outcome.signal, has_solution ? settings.solution : ""));
    std::string advice;
    if (asks_for_advice(method, settings, outcome.solve, outcome.report))
      advice = advice_for(context.processes.is_serial() ? diagonal_facts<Scalar>(context.space, problem.whole)
                                                        : DiagonalFacts());
    files.finish(failure_of_solve(method, settings, outcome.solve, outcome.report, advice));
  });
}

}  // namespace

void solve_command(const CommandLine& line, const Processes& processes, OutputFiles& files) {
  with_methods(line, processes, [&](const Context& context, const auto& methods, MatrixInput& input) {
    solve(context, methods, input, files);
  });
}

}  // namespace prekond::driver
