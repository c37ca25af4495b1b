// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/complexity.hpp>
#include <prekond/matrix/io/matrix_market.hpp>

#include <optional>

#include "commands.hpp"
#include "device_choice.hpp"
#include "report.hpp"
#include "run_files.hpp"
#include "spmv_choice.hpp"
#include "table.hpp"

namespace prekond::driver {
namespace {

std::string median_note(const Settings& settings, const Measurements& outcome) {
  if (settings.repeat == 1) return "";
  return format("; median of %lld, the first %s", static_cast<long long>(settings.repeat),
                seconds_text(outcome.first_setup_seconds).c_str());
}

/// "Serial, 1 threads, 4 processes"
std::string computed_on(const Processes& processes) {
  const std::string device = device_name();
  const std::string threads = format("%d threads", host_threads());
  return std::string(Space::name()) + ", " + (device.empty() ? threads : device) +
         (processes.alone() ? "" : format(", %d processes", processes.size()));
}

const char* symmetry_text(bool complex, bool symmetric) {
  if (complex) return symmetric ? "complex, Hermitian" : "complex, not Hermitian";
  return symmetric ? "symmetric" : "not symmetric";
}

void print_matrix(const ProblemFacts& problem) {
  const Source& source = problem.source;
  print_line("matrix", format("%s: %lld rows, %lld entries, %s", source.name.c_str(),
                              static_cast<long long>(source.num_rows), static_cast<long long>(source.nnz),
                              symmetry_text(source.complex, problem.symmetric)));
  if (problem.match.name != "none") print_line("match", match_text(problem.match));
  if (problem.order.any()) print_line("order", order_text(problem.order));
  if (problem.near_null_space.num_vectors > 0)
    print_line("near null", near_null_space_text(problem.near_null_space));
}

void print_product(const ProductFacts& product) {
  std::string text = "by " + product.format;
  if (!product.reason.empty()) text += " (" + product.reason + ")";
  print_line("product", text + format(", ready in %s", seconds_text(product.seconds).c_str()));
}

void print_breakdowns(const Breakdowns& b) {
  if (b.count == 0) return;
  print_line("  breakdowns", format("%lld rows; the first is %lld (from 0), pivot %.3g%s%s",
                                    static_cast<long long>(b.count), static_cast<long long>(b.first_row),
                                    b.first_pivot, b.action.empty() ? "" : ": ", b.action.c_str()));
}

void print_levels(const std::vector<LevelReport>& levels) {
  if (levels.empty()) return;
  print_line("  levels", format("%zu, operator complexity %.2f, grid complexity %.2f", levels.size(),
                                operator_complexity(levels), grid_complexity(levels)));
  for (std::size_t l = 0; l < levels.size(); ++l)
    print_line(format("    %zu", l),
               format("%lld rows, %lld entries, %s of %lld (damping %.3g), %s",
                      static_cast<long long>(levels[l].num_rows), static_cast<long long>(levels[l].nnz),
                      levels[l].method.c_str(), static_cast<long long>(levels[l].method_nnz),
                      levels[l].damping, seconds_text(levels[l].setup_seconds).c_str()));
}

/// A line for each device of a setup that several share.
void print_devices(const Measurements& outcome) {
  const auto& devices = outcome.setup.devices;
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const DeviceReport& device = devices[k];
    const std::string name = k < outcome.device_names.size() ? outcome.device_names[k] : "";
    print_line(format("  device %zu", k),
               (name.empty() ? "" : name + ": ") +
                   format("%lld rows from %lld (from 0), %lld read; copied in %s, symbolic %s, numeric %s",
                          static_cast<long long>(device.num_rows), static_cast<long long>(device.first_row),
                          static_cast<long long>(device.rows_read), seconds_text(device.copy_seconds).c_str(),
                          seconds_text(device.symbolic_seconds).c_str(),
                          seconds_text(device.numeric_seconds).c_str()));
  }
  if (!devices.empty()) print_line("  gathered", seconds_text(outcome.setup.gather_seconds));
}

void print_preconditioner(const ProblemFacts& problem, const MethodFacts& method, const Settings& settings,
                          const Measurements& outcome) {
  const Report& report = outcome.setup;
  const std::string options = options_text(method.precond_options);
  print_line("preconditioner", method.precond_name + (options.empty() ? "" : ": ") + options);
  if (problem.match.done)
    print_line("  scaled", "by the matching, the entries of the diagonal to [1/2, 2]");
  else if (settings.scale)
    print_line("  scaled", scaling_of(method) == ScalingKind::diagonal
                               ? "to a diagonal in [1, 4)"
                               : "to a largest entry in [1, 4) of every row and column");
  print_line("  setup",
             format("%s (symbolic %s, numeric %s%s)", seconds_text(outcome.setup_seconds).c_str(),
                    seconds_text(outcome.symbolic_seconds).c_str(),
                    seconds_text(outcome.numeric_seconds).c_str(), median_note(settings, outcome).c_str()));
  print_devices(outcome);
  print_line("  stores",
             format("%lld entries, density %.3f, %s; an application takes %s",
                    static_cast<long long>(report.nnz), density(problem, outcome),
                    bytes_text(report.bytes).c_str(), seconds_text(outcome.apply_seconds).c_str()));
  if (report.foreign_columns > 0)
    print_line("  left out", format("%lld columns of other processes, with %lld entries",
                                    static_cast<long long>(report.foreign_columns),
                                    static_cast<long long>(report.foreign_entries)));
  else if (report.foreign_entries > 0)
    print_line("  left out", format("%lld entries beyond the rows of other processes that the setup reads",
                                    static_cast<long long>(report.foreign_entries)));
  print_levels(report.levels);
  print_breakdowns(report.breakdowns);
  for (const auto& note : report.notes) print_line("  note", note);
}

void print_solver(const MethodFacts& method, const Settings& settings, const Measurements& outcome) {
  const SolveResult& result = outcome.solve;
  OptionMap options = method.solver_options;
  StoppingOptions stopping = settings.stopping;
  options.merge(OptionFields::of(stopping).values());
  print_line("solver", method.solver_name + ": " + options_text(options));
  print_line("  ended", format("%s (%s) after %lld iterations, %lld products with A",
                               result.converged ? "converged" : "NOT CONVERGED",
                               to_string(result.reason).c_str(), static_cast<long long>(result.iterations),
                               static_cast<long long>(result.matrix_products)));
  if (result.reason != StopReason::nan)
    print_line("  residual", format("%.3e of ||b||, the true one %.3e", result.relative_residual,
                                    result.true_relative_residual));
  print_line("  solve", seconds_text(result.seconds));
  print_line("total", seconds_text(outcome.setup_seconds + result.seconds));
}

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
bool has_solution(const Settings& settings, const Measurements& outcome) {
  const StopReason reason = outcome.solve.reason;
  return !settings.solution.empty() && reason != StopReason::nan && reason != StopReason::out_of_range;
}

template <class Scalar>
void write_files(const Processes& processes, const ProblemFacts& problem, const MethodFacts& method,
                 const Settings& settings, const Measurements& outcome, const Vector<Scalar, Space>& solution,
                 RunFiles& files) {
  files.write_history(history_text(outcome.history, problem.norm_b));
  if (has_solution(settings, outcome)) {
    files.write_solution([&](const std::string& path) {
      const auto x = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), solution);
      write_vector_market(path, x, "prekond solve " + problem.source.name);
    });
  }
  files.write_report(run_report(processes, problem, method, settings, outcome));
}

/// Behind the advice for what went wrong.
std::string singular_note(const SolveResult& result) {
  return result.looks_singular
             ? "; the matrix looks singular: ||A v|| is negligible beside ||A|| ||v|| for a vector v"
             : "";
}

std::string failure_text(const MethodFacts& method, const Settings& settings, const SolveResult& result) {
  const std::string iterations = format("%lld iteration%s", static_cast<long long>(result.iterations),
                                        result.iterations == 1 ? "" : "s");
  const std::string residual = format("relative residual %.2e", result.true_relative_residual);
  switch (result.reason) {
    case StopReason::max_iters:
      return format(
                 "%s has not converged in %s (%s, rtol %g): raise --max-iters, or choose a stronger "
                 "preconditioner "
                 "('prekond list preconditioners')",
                 method.solver_name.c_str(), iterations.c_str(), residual.c_str(), settings.stopping.rtol) +
             singular_note(result);
    case StopReason::breakdown_not_spd:
      return method.solver_name + " broke down after " + iterations +
             " (breakdown_not_spd): the matrix is not positive definite; choose a solver for other matrices, "
             "such as gmres or bicgstab ('prekond list solvers')";
    case StopReason::breakdown_preconditioner_not_spd:
      return method.solver_name + " broke down after " + iterations +
             " (breakdown_preconditioner_not_spd): " + method.precond_name +
             " is not positive definite here; choose another preconditioner or other options";
    case StopReason::breakdown_rho:
    case StopReason::breakdown_pivot:
    case StopReason::breakdown_omega:
      return method.solver_name + " broke down after " + iterations + " (" + to_string(result.reason) + ", " +
             residual +
             "), also when it had started again; choose another solver, such as gmres ('prekond list "
             "solvers'), or another "
             "preconditioner" +
             singular_note(result);
    case StopReason::breakdown_singular:
      return method.solver_name + " ended after " + iterations + " (breakdown_singular, " + residual +
             "): the matrix looks singular, ||A v|| is negligible beside ||A|| ||v|| for a vector v, and b "
             "is not in its range "
             "(or too far from it for rounding errors); repair the matrix, or take what A does not reach out "
             "of b";
    case StopReason::divergence:
      return method.solver_name + " diverged (" + residual + " after " + iterations +
             "): choose another solver or another preconditioner" + singular_note(result);
    case StopReason::out_of_range:
      return method.solver_name + " ended after " + iterations +
             " (out_of_range): entries of the solution are too large or too small for a " +
             "double; scale the unknowns (the columns of the matrix) or the right-hand side";
    case StopReason::breakdown_arnoldi:
      return method.solver_name + " broke down after " + iterations + " (breakdown_arnoldi, " + residual +
             "): the matrix is singular, at least where the right-hand side leads to; choose another "
             "right-hand side or "
             "--x0, or repair the matrix";
    case StopReason::stagnation:
      return method.solver_name + " stagnated after " + iterations + " (" + residual +
             "): rounding errors keep the true residual above the tolerance; raise --rtol, or scale the "
             "system";
    case StopReason::nan:
      return method.solver_name + " met a value that is not finite after " + iterations +
             " (nan): scale the matrix and the right-hand side, or choose another preconditioner";
    default:
      return method.solver_name + " broke down after " + iterations + " (" + to_string(result.reason) + ")";
  }
}

/// What the run's end means for the command; nothing where it converged.
std::optional<Failure> failure_of_run(const MethodFacts& method, const Settings& settings,
                                      const Measurements& outcome) {
  const SolveResult& result = outcome.solve;
  if (result.converged) return std::nullopt;
  std::string text = failure_text(method, settings, result);
  if (settings.match == "none" && outcome.setup.breakdowns.count > 0 && !method.needs_spd())
    text += "; rows broke down in the setup: --match brings large entries to the diagonal";
  return Failure(exit_code(result), text);
}

template <class Scalar>
Method<Scalar> chosen_method(const Settings& settings) {
  return choose_method<Scalar>(settings, settings.precond, settings.precond_options);
}

template <class Scalar>
void solve(const CommandLine& line, const Processes& processes, const Devices* devices, MatrixInput& input,
           RunFiles& files) {
  const Settings& settings = line.settings;
  Method<Scalar> method;
  processes.together([&] {
    method = chosen_method<Scalar>(settings);
    check_combination(method);
    check_condition(settings, line.command, method.precond_properties);
    check_devices(devices, method);
  });
  const Space space;
  const RunOptions options{settings.x0,    settings.stopping,  settings.repeat, !settings.history.empty(),
                           settings.scale, settings.condition, devices};
  Problem<Scalar> problem;
  Outcome<Scalar> outcome;
  {
    Progress progress(!settings.quiet && processes.first());
    const MethodNeeds needs{method.needs_spd() ? SpdCheck::require : SpdCheck::none,
                            method.precond_properties.factors_in_order};
    problem = make_problem<Scalar>(space, processes, settings, input, needs, progress);
    processes.only_first([&] {
      if (settings.condition) check_condition_of(problem.source.name, problem.symmetric);
    });
    outcome = run_method<Scalar>(space, processes, problem, method, options, progress);
  }
  Vector<Scalar, Space> solution;
  if (has_solution(settings, outcome)) solution = all_parts<Scalar>(space, processes, problem.a, outcome.x);
  processes.only_first([&] {
    if (solution.extent(0) > 0) solution = in_original_order<Scalar>(space, problem.ordering, solution);
    write_files<Scalar>(processes, problem, method, settings, outcome, solution, files);
    if (!settings.quiet) {
      print_matrix(problem);
      print_product(problem.product);
      print_line("computed on", computed_on(processes));
      if (!processes.alone()) print_line("distributed", distribution_text(problem.distribution));
      print_preconditioner(problem, method, settings, outcome);
      print_solver(method, settings, outcome);
      if (outcome.condition) print_condition(*outcome.condition);
    }
    files.finish(failure_of_run(method, settings, outcome));
  });
}

}  // namespace

void solve_command(const CommandLine& line, const Processes& processes) {
  const Settings& settings = line.settings;
  RunFiles files(line);
  files.during(processes, [&] {
    // What the command line asks for is checked before the matrix is looked at.
    Method<double> method;
    processes.together([&] {
      method = chosen_method<double>(settings);
      check_match(settings, method);
      check_devices(settings, processes);
      check_spmv(settings.spmv, processes);
    });
    const Session session(line.kokkos, processes);
    std::unique_ptr<const Devices> devices;
    processes.together([&] {
      check_combination(method);
      devices = choose_devices(settings);
      check_devices(devices.get(), method);
      check_condition(settings, line.command, method.precond_properties);
    });
    MatrixInput input = open_matrix(settings, processes);
    if (input.complex)
      solve<Complex>(line, processes, devices.get(), input, files);
    else
      solve<double>(line, processes, devices.get(), input, files);
  });
}

}  // namespace prekond::driver
