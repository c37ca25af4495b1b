// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "advice.hpp"

#include <prekond/krylov/solver.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/registry.hpp>

#include <algorithm>
#include <cmath>

#include "precond/choice/work.hpp"
#include "report.hpp"
#include "right_hand_side.hpp"

namespace prekond::driver {
namespace {

/// The methods of the list that a reason names.
constexpr std::size_t most_named = 4;
/// A solve that converges in as many iterations is left in peace.
constexpr std::int64_t few_iterations = 200;
/// The rate of this number of iterations promises an end within that multiple of them.
constexpr std::int64_t enough_iterations = 20;
constexpr double most_times = 20;
/// Beyond that multiple the residual does not fall.
constexpr double on_a_plateau = 1000;
/// A limit is this multiple of what is expected: the rate may fall, and a solve ends when it has converged.
constexpr double spare = 5;
/// A solve that stagnates above this relative residual may have met the wrong method, not rounding errors.
constexpr double not_by_rounding = 1e-2;
/// The steps of CG that look for a direction in which A is not positive definite; no more than the solve
/// took.
constexpr std::int64_t steps_of_cg = 100;

/// A setting as an argument; nothing for a flag that is off.
std::string argument_of(const SettingKey& key, const std::string& value) {
  if (key.name == "matrix") return " " + quoted(value.starts_with('-') ? "./" + value : value);
  std::string flag = " --" + key.name;
  std::replace(flag.begin() + 1, flag.end(), '_', '-');
  if (key.placeholder.empty()) return find_name(value, {"false", "off", "0"}) ? "" : flag;
  return flag + (key.bare.empty() && !value.starts_with('-') ? " " : "=") + quoted(value);
}

/// " --precond amg -p cycle=w --solver cg"; nothing for `auto`, the default.
std::string words_of(const MethodChoice& preconditioner, const MethodChoice& solver) {
  std::string text;
  const auto add = [&](const std::string& flag, const std::string& option, const MethodChoice& choice) {
    if (choice.name != automatic) text += flag + choice.name;
    for (const auto& [name, value] : choice.options) text += option + quoted(name + "=" + to_string(value));
  };
  add(" --precond ", " -p ", preconditioner);
  add(" --solver ", " -s ", solver);
  return text;
}

std::string words_of(const Candidate& candidate) {
  return words_of(candidate.preconditioner, candidate.solver);
}

/// "prekond solve a.mtx --rtol 1e-8" and the words of a method, with the settings that were given. --devices
/// is for a few preconditioners only.
std::string command_of(const Settings& settings, const std::string& method) {
  std::string text = "prekond solve";
  for (const SettingKey& key : setting_keys("solve")) {
    const auto given = settings.given.find(key.name);
    if (given == settings.given.end() || key.name == "solver" || key.name == "precond" ||
        key.name == "devices")
      continue;
    text += argument_of(key, to_string(given->second.value));
  }
  return text + method;
}

Json try_json(const std::string& command, const MethodChoice& preconditioner, const std::string& solver,
              const Json& work, const std::string& reason) {
  return {{"command", command},
          {"preconditioner", preconditioner.name},
          {"options", to_json(preconditioner.options)},
          {"solver", solver},
          {"expected_products", work},
          {"reason", reason}};
}

/// "amg with cg 318, ic0 with cg 402": the work that is expected of the first ones.
std::string expected_text(const std::vector<Candidate>& candidates) {
  std::string text;
  for (std::size_t k = 0; k < std::min(most_named, candidates.size()); ++k)
    text += text_of(k == 0 ? "" : ", ", to_string(candidates[k]), format(" %.0f", candidates[k].work()));
  return text;
}

/// The first of the list may need more iterations than were allowed; then the default's, if they are more.
Json by_auto(Settings settings, const std::vector<Candidate>& candidates) {
  const std::int64_t most = settings.stopping.max_iters;
  if (most < StoppingOptions().max_iters && spare * candidates.front().iterations > static_cast<double>(most))
    settings.given.erase("max_iters");
  return try_json(
      command_of(settings, ""), {automatic, {}}, automatic, candidates.front().work(),
      "auto goes from method to method as they turn out; at first it expects, in products with A: " +
          expected_text(candidates));
}

/// A factorisation with nearly all of its fill, for what no method of the list solves.
MethodChoice last_resort() {
  return {"ilut", {{"p", last_resort_p}, {"tau", last_resort_tau}}};
}

Json by_last_resort(Settings settings) {
  settings.given["match"].value = "auto";
  settings.given["order"].value = "auto";
  settings.given["scale"].value = true;
  return try_json(
      command_of(settings, words_of(last_resort(), {"gmres", {{"restart", last_resort_restart}}})),
      last_resort(), "gmres", Json(),
      "where no method of auto's list gets further, nearly all of the fill in another order may");
}

bool is_last_resort(const Settings& settings) {
  const auto fill = settings.precond_options.find("p");
  return settings.precond == last_resort().name && fill != settings.precond_options.end() &&
         to_string(fill->second) == to_string(last_resort().options.at("p"));
}

/// The same with more iterations.
Json with_more_iterations(const Settings& settings, const SolveResult& result, double factor, double work,
                          bool is_automatic) {
  const double expected = factor * static_cast<double>(result.iterations);
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(spare * expected)) - 1));
  Settings more = settings;
  more.given["max_iters"].value = static_cast<std::int64_t>(unit * std::ceil(spare * expected / unit));
  const MethodChoice preconditioner{settings.precond, settings.precond_options};
  return try_json(
      command_of(more, words_of(preconditioner, {settings.solver, settings.solver_options})), preconditioner,
      settings.solver, factor * work,
      format("at its rate it takes about %.0f iterations", expected) +
          (is_automatic ? "" : ", and no other method is expected to take less than half of that work"));
}

/// The same with a tolerance that it has reached, with some room.
Json with_reached_tolerance(const Settings& settings, const SolveResult& result) {
  const double reached = result.true_relative_residual, unit = std::pow(10, std::floor(std::log10(reached)));
  Settings more = settings;
  more.given["rtol"].value = unit * std::ceil(2 * reached / unit);
  const MethodChoice preconditioner{settings.precond, settings.precond_options};
  return try_json(
      command_of(more, words_of(preconditioner, {settings.solver, settings.solver_options})), preconditioner,
      settings.solver, Json(),
      format("rounding errors keep the true residual near %.1e of ||b||; a tolerance that it reaches",
             reached));
}

/// Has auto tried a factorisation with all of the fill, after a matching? In another order it has as much.
bool has_tried_complete(const Json& candidates) {
  return std::any_of(candidates.begin(), candidates.end(), [](const Json& candidate) {
    return candidate.at("tried") &&
           candidate.at("options").value("inner.p", std::int64_t(0)) >= complete_rows;
  });
}

/// Is the end of a solve one that another method may do without?
bool depends_on_method(const SolveResult& result) {
  switch (result.reason) {
    case StopReason::max_iters:
      return true;
    case StopReason::breakdown_arnoldi:
    case StopReason::breakdown_not_spd:
    case StopReason::breakdown_preconditioner_not_spd:
    case StopReason::breakdown_rho:
    case StopReason::breakdown_pivot:
    case StopReason::breakdown_omega:
    case StopReason::divergence:
      return !result.looks_singular;
    case StopReason::stagnation:
      return !result.looks_singular && result.true_relative_residual > not_by_rounding;
    default:
      return false;
  }
}

/// The iterations of a solve over those that it has done, by the rate of their second half; infinity where it
/// does not end.
template <class Scalar>
double still_to_come(const Outcome<Scalar>& outcome, double target) {
  const SolveResult& result = outcome.solve;
  if (result.converged) return 1;
  if (result.reason != StopReason::max_iters || result.iterations < 1)
    return std::numeric_limits<double>::infinity();
  const double factor = 1 + iterations_left(outcome.history, target) / static_cast<double>(result.iterations);
  return factor > on_a_plateau ? std::numeric_limits<double>::infinity() : factor;
}

/// A candidate as `solve` would take it from the command line; nothing where the other settings exclude it.
template <class Scalar>
std::optional<Method<Scalar>> method_by_command(const Settings& settings, const Candidate& candidate) {
  CommandLine line;
  line.command = "solve";
  line.settings = settings;
  line.settings.devices = 1;
  line.settings.precond = candidate.preconditioner.name;
  line.settings.precond_options = candidate.preconditioner.options;
  line.settings.solver = candidate.solver.name;
  line.settings.solver_options = candidate.solver.options;
  try {
    return std::move(choose_methods<Scalar>(line).front());
  } catch (const OptionError&) {
    return std::nullopt;
  }
}

/// \returns whether CG with Jacobi's preconditioner meets no direction p with p . A p <= 0 in a few steps
/// from a random vector: an indefinite matrix mostly shows itself before. Where that fails, nothing is known
template <class Scalar>
bool looks_definite(const Context& context, const Problem<Scalar>& problem, std::int64_t most_steps) try {
  context.progress.phase("definiteness of " + problem.name);
  const auto& a = problem.rows;
  const auto b = allocate<Vector<Scalar, Space>>(context.space, "prekond::driver::b", a.num_rows);
  const auto x = allocate_zero<Vector<Scalar, Space>>(context.space, "prekond::driver::x", a.num_rows);
  fill_rhs<Scalar>(context.space, "random", b);
  const auto jacobi = create_preconditioner<Scalar, Space>("jacobi", {});
  jacobi->numeric(context.space, a);
  StoppingOptions stopping;
  stopping.max_iters = std::min(most_steps, steps_of_cg);
  const SolveResult result = create_solver<Scalar, Space>("cg", {})->solve(
      context.space, CsrOperator<Scalar, Space>(a), jacobi.get(), b, x, stopping);
  return result.reason != StopReason::breakdown_not_spd;
} catch (const std::exception&) {
  return false;
}

template <class Scalar>
bool needs_spd(const std::string& solver_name) {
  const auto& solvers = solver_registry<Scalar, Space>();
  const auto solver = std::find_if(solvers.begin(), solvers.end(),
                                   [&](const auto& entry) { return entry.name == solver_name; });
  return solver != solvers.end() && solver->properties.needs_spd;
}

/// The candidates that may follow the method of a solve, the least expected work first. `iterations`: that it
/// took or would take.
template <class Scalar>
std::vector<Candidate> successors(const Settings& settings, const Outcome<Scalar>& outcome,
                                  std::vector<Candidate> candidates, double iterations) {
  const MethodFacts& last = outcome.method;
  const bool is_indefinite = outcome.solve.reason == StopReason::breakdown_not_spd;
  std::optional<Candidate> like;  // one of the same preconditioner, with any solver
  for (Candidate& candidate : candidates) {
    const auto method = method_by_command<Scalar>(settings, candidate);
    if (!method) candidate.outcome = "the other settings exclude it";
    if (!method || method->precond_name != last.precond_name ||
        method->precond_options != last.precond_options)
      continue;
    const bool was_tried = method->solver_name == last.solver_name;
    if (!like || was_tried) like = candidate;
    if (was_tried || is_indefinite) candidate.outcome = "it was tried";
  }
  const bool for_general = is_indefinite || (!outcome.solve.converged && like && !like->needs_spd);
  for (Candidate& candidate : candidates) {
    if (for_general) candidate.is_out = candidate.needs_spd;
    candidate.is_out |= !candidate.outcome.empty();
    if (like && !is_indefinite) candidate.is_out |= candidate.of_jacobis >= like->of_jacobis;
  }
  // As in AutoSolver, half of what experience makes of them.
  const bool is_jacobi = !like || like->preconditioner.name == "jacobi";
  const double jacobis = is_jacobi ? iterations : iterations / (2 * like->of_jacobis);
  const double least = candidates.empty() || (is_jacobi && iterations > 0) ? 0 : candidates.front().jacobis;
  return by_expected_work(std::move(candidates), std::max(jacobis, least));
}

/// The work of an iteration of the method of a solve, in products with A: of one that is not in the list
/// without its preconditioner's.
double work_of_iteration_of(const MethodFacts& method, const MatrixStatistics& facts,
                            const std::vector<Candidate>& candidates) {
  for (const Candidate& candidate : candidates)
    if (candidate.preconditioner.name == method.precond_name && candidate.solver.name == method.solver_name)
      return candidate.iteration;
  return work_of_iteration(method.solver_name, 0, facts.num_rows, facts.nnz,
                           launch_of_product(facts.num_rows, facts.nnz, !is_host_space<Space>));
}

/// The methods of auto for a named one that stagnates far above the rounding errors of a product; else, and
/// after auto, a tolerance that has been reached.
Json after_stagnation(const Settings& settings, const SolveResult& result, bool is_automatic,
                      const std::vector<Candidate>& list) {
  constexpr double of_rounding = 1e-12;
  const std::vector<Candidate> candidates = by_expected_work(list);
  if (is_automatic || candidates.empty() || result.true_relative_residual <= of_rounding)
    return Json::array({with_reached_tolerance(settings, result)});
  return Json::array({by_auto(settings, candidates)});
}

}  // namespace

Json tries_for(const Settings& settings, const MatrixStatistics& facts, bool is_complex) {
  const std::vector<Candidate> candidates = by_expected_work(
      candidates_for(facts, !is_host_space<Space>, is_complex, settings.has_near_null_space()));
  if (candidates.empty()) return Json::array();
  Settings matrix;
  for (const auto& [key, given] : settings.given)
    if (key == "matrix" || key == "generate") matrix.given[key] = given;
  Json solve = by_auto(matrix, candidates), compare = solve;
  const std::string command = solve.at("command");
  compare["command"] = "prekond compare" + command.substr(std::string("prekond solve").size());
  compare["reason"] = "it measures each method of the list, for a solve that is repeated";
  return Json::array({solve, compare});
}

bool may_be_worse(const SolveResult& result) {
  return !result.converged || result.iterations > few_iterations;
}

template <class Scalar>
Json better_than(const Context& context, const Problem<Scalar>& problem, const Outcome<Scalar>& outcome,
                 bool is_automatic, const MatrixStatistics& facts) {
  const SolveResult& result = outcome.solve;
  const Settings& settings = context.settings;
  const StoppingOptions& stopping = settings.stopping;
  Settings unnamed = settings;
  unnamed.solver = unnamed.precond = automatic;
  const auto list = candidates_of(unnamed, facts, is_complex<Scalar>, context.processes.size());
  if (result.reason == StopReason::stagnation && !result.looks_singular && !problem.is_singular &&
      result.true_relative_residual > stopping.rtol && result.true_relative_residual <= not_by_rounding)
    return after_stagnation(settings, result, is_automatic, list);
  if (result.converged ? is_automatic || !may_be_worse(result)
                       : problem.is_singular || !depends_on_method(result))
    return Json::array();
  const double factor = still_to_come(outcome, std::max(stopping.rtol * problem.norm_b, stopping.atol));
  const bool ends = std::isfinite(factor);
  const auto iterations = static_cast<double>(result.iterations);
  const double work = iterations * work_of_iteration_of(outcome.method, facts, list);
  if (!is_automatic && !is_last_resort(settings)) {
    const auto best_of = [&](const std::vector<Candidate>& candidates) -> std::optional<Candidate> {
      for (const Candidate& candidate :
           successors<Scalar>(settings, outcome, candidates, iterations * (ends ? factor : 1)))
        if (candidate.iterations <= static_cast<double>(stopping.max_iters))
          return !ends || 2 * candidate.work() <= factor * work ? std::optional(candidate) : std::nullopt;
      return std::nullopt;
    };
    std::optional<Candidate> best = best_of(list);
    // A solve by a method for general matrices has not shown that A is definite.
    if (best && best->needs_spd && !needs_spd<Scalar>(outcome.method.solver_name) &&
        !(context.processes.is_serial() && looks_definite<Scalar>(context, problem, result.iterations))) {
      std::vector<Candidate> general = list;
      leave_definite(general, "");
      best = best_of(general);
    }
    if (best) {
      std::string taken = format("this solve took that of %.0f", work);
      if (!result.converged)
        taken += ends ? format(" and would take about %.0f at its rate", factor * work) : " and failed";
      return Json::array({try_json(
          command_of(settings, words_of(*best)), best->preconditioner, best->solver.name, best->work(),
          format("the work of about %.0f products with A is expected of ", best->work()) + to_string(*best) +
              ", and " + taken)});
    }
  }
  if (result.converged) return Json::array();
  Json tries = Json::array();
  if (ends && factor <= most_times && result.iterations >= enough_iterations)
    tries.push_back(with_more_iterations(settings, result, factor, work, is_automatic));
  const std::vector<Candidate> all = by_expected_work(list);
  if (is_last_resort(settings) || all.empty()) return tries;
  const Json again = by_auto(settings, all);
  const bool was_auto = settings.precond == automatic && settings.solver == automatic &&
                        again.at("command") == command_of(settings, "");
  const bool is_plain = settings.match == "none" && settings.order == "none" && !settings.scale;
  if (!was_auto && tries.empty()) tries.push_back(again);
  if (was_auto && is_plain && !is_complex<Scalar> && facts.num_rows <= last_resort_rows &&
      !(context.processes.is_serial() && has_tried_complete(outcome.report.at("candidates"))))
    tries.push_back(by_last_resort(settings));
  return tries;
}

void print_tries(const Json& report) {
  bool is_first = true;
  for (const Json& entry : report.at("try")) {
    std::printf("%-15s %s\n", is_first ? "try:" : "", entry.at("command").get<std::string>().c_str());
    print_line("", entry.at("reason").get<std::string>());
    is_first = false;
  }
}

#define PREKOND_DRIVER_BETTER_THAN(Scalar)                                                                \
  template Json better_than<Scalar>(const Context&, const Problem<Scalar>&, const Outcome<Scalar>&, bool, \
                                    const MatrixStatistics&);
PREKOND_DRIVER_BETTER_THAN(double)
PREKOND_DRIVER_BETTER_THAN(Complex)

}  // namespace prekond::driver
