// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "summary.hpp"

#include <prekond/core/report.hpp>

#include "near_null_space.hpp"
#include "text.hpp"

namespace prekond::driver {
namespace {

void print_problem(const ProblemFacts& problem) {
  const Source& source = problem.source;
  const std::string symmetry = source.complex
                                   ? problem.symmetric ? "complex, Hermitian" : "complex, not Hermitian"
                               : problem.symmetric ? "symmetric"
                                                   : "not symmetric";
  print_line("matrix",
             concat(source.name, ": ", source.num_rows, " rows, ", source.nnz, " entries, ", symmetry));
  if (problem.match.is_asked()) print_line("match", match_text(problem.match));
  if (problem.order.is_asked()) print_line("order", order_text(problem.order));
  if (problem.num_near_vectors > 0) print_line("near null", near_null_space_text(problem));
  const ProductFacts& product = problem.product;
  print_line("product", "by " + product.format + (product.reason.empty() ? "" : " (" + product.reason + ")") +
                            ", ready in " + seconds_text(product.seconds));
}

void print_levels(const std::vector<LevelReport>& levels) {
  if (levels.empty()) return;
  print_line("  levels", format("%zu, operator complexity %.2f, grid complexity %.2f", levels.size(),
                                operator_complexity(levels), grid_complexity(levels)));
  for (std::size_t l = 0; l < levels.size(); ++l)
    print_line(concat("    ", l),
               concat(levels[l].num_rows, " rows, ", levels[l].nnz, " entries, ", levels[l].method, " of ",
                      levels[l].method_nnz, format(" (damping %.3g), ", levels[l].damping),
                      seconds_text(levels[l].setup_seconds)));
}

/// A line for each device of a setup that several share.
void print_devices(const Measurements& outcome) {
  const auto& devices = outcome.setup.devices;
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const DeviceReport& device = devices[k];
    const std::string name = k < outcome.device_names.size() ? outcome.device_names[k] + ": " : "";
    print_line(
        concat("  device ", k),
        concat(name, device.num_rows, " rows from ", device.first_row, " (from 0), ", device.rows_read,
               " read; copied in ", seconds_text(device.copy_seconds), ", symbolic ",
               seconds_text(device.symbolic_seconds), ", numeric ", seconds_text(device.numeric_seconds)));
  }
  if (!devices.empty()) print_line("  gathered", seconds_text(outcome.setup.gather_seconds));
}

void print_left_out(const Report& report) {
  if (report.foreign_columns > 0)
    print_line("  left out", concat(report.foreign_columns, " columns of other processes, with ",
                                    report.foreign_entries, " entries"));
  else if (report.foreign_entries > 0)
    print_line("  left out", concat(report.foreign_entries,
                                    " entries beyond the rows of other processes that the setup reads"));
}

void print_breakdowns(const Breakdowns& b) {
  if (b.count == 0) return;
  print_line("  breakdowns",
             concat(b.count, " rows; the first is ", b.first_row,
                    format(" (from 0), pivot %.3g", b.first_pivot), b.action.empty() ? "" : ": ", b.action));
}

void print_preconditioner(const ProblemFacts& problem, const MethodFacts& method, const Settings& settings,
                          const Measurements& outcome) {
  const Report& report = outcome.setup;
  const std::string options = options_text(method.precond_options);
  print_line("preconditioner", method.precond_name + (options.empty() ? "" : ": ") + options);
  if (problem.match.done)
    print_line("  scaled", "by the matching, the entries of the diagonal to [1/2, 2]");
  else if (settings.scale)
    print_line("  scaled", method.scaling() == ScalingKind::diagonal
                               ? "to a diagonal in [1, 4)"
                               : "to a largest entry in [1, 4) of every row and column");
  const std::string median = settings.repeat == 1 ? ""
                                                  : concat("; median of ", settings.repeat, ", the first ",
                                                           seconds_text(outcome.first_setup_seconds));
  print_line("  setup", seconds_text(outcome.setup_seconds) + " (symbolic " +
                            seconds_text(outcome.symbolic_seconds) + ", numeric " +
                            seconds_text(outcome.numeric_seconds) + median + ")");
  print_devices(outcome);
  print_line("  stores", concat(report.nnz, format(" entries, density %.3f, ", density(problem, outcome)),
                                bytes_text(report.bytes), "; an application takes ",
                                seconds_text(outcome.apply_seconds)));
  print_left_out(report);
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
  print_line("  ended", concat(result.converged ? "converged" : "NOT CONVERGED", " (",
                               to_string(result.reason), ") after ", result.iterations, " iterations, ",
                               result.matrix_products, " products with A"));
  if (result.reason != StopReason::nan)
    print_line("  residual", format("%.3e of ||b||, the true one %.3e", result.relative_residual,
                                    result.true_relative_residual));
  print_line("  solve", seconds_text(result.seconds));
  print_line("total", seconds_text(outcome.setup_seconds + result.seconds));
}

/// The end of the solver, and the cure.
std::string failure_text(const MethodFacts& method, const Settings& settings, const SolveResult& result) {
  const std::string &solver = method.solver_name, reason = to_string(result.reason),
                    iterations = concat(result.iterations, " iteration", result.iterations == 1 ? "" : "s"),
                    residual = format("relative residual %.2e", result.true_relative_residual),
                    broke_down = solver + " broke down after " + iterations + " (" + reason,
                    singular = result.looks_singular ? "; the matrix looks singular: ||A v|| is negligible "
                                                       "compared with ||A|| ||v|| for a vector v"
                                                     : "";
  switch (result.reason) {
    case StopReason::max_iters:
      return concat(
          solver, " has not converged in ", iterations, " (", residual, ", rtol ", settings.stopping.rtol,
          "): raise --max-iters, or choose a stronger preconditioner ('prekond list preconditioners')",
          singular);
    case StopReason::breakdown_not_spd:
      return broke_down +
             "): the matrix is not positive definite; choose a solver for other matrices, such as gmres or "
             "bicgstab ('prekond list solvers')";
    case StopReason::breakdown_preconditioner_not_spd:
      return broke_down + "): " + method.precond_name +
             " is not positive definite here; choose another preconditioner or other options";
    case StopReason::breakdown_rho:
    case StopReason::breakdown_pivot:
    case StopReason::breakdown_omega:
      return broke_down + ", " + residual +
             "), also when it had started again; choose another solver, such as gmres ('prekond list "
             "solvers'), "
             "or another preconditioner" +
             singular;
    case StopReason::breakdown_singular:
      return solver + " ended after " + iterations + " (" + reason + ", " + residual +
             "): the matrix looks singular, ||A v|| is negligible compared with ||A|| ||v|| for a vector v, "
             "and "
             "b is not in its range (or too far from it for rounding errors); repair the matrix, or take the "
             "part that A does not reach out of b";
    case StopReason::divergence:
      return solver + " diverged (" + residual + " after " + iterations +
             "): choose another solver or another preconditioner" + singular;
    case StopReason::out_of_range:
      return solver + " ended after " + iterations + " (" + reason +
             "): entries of the solution are too large or too small for a double; scale the unknowns (the "
             "columns of the matrix) or the right-hand side";
    case StopReason::breakdown_arnoldi:
      return broke_down + ", " + residual +
             "): the matrix is singular, at least where the right-hand side leads to; choose another "
             "right-hand side or --x0, or repair the matrix";
    case StopReason::stagnation:
      return solver + " stagnated after " + iterations + " (" + residual +
             "): rounding errors keep the true residual above the tolerance; raise --rtol, or scale the "
             "system";
    case StopReason::nan:
      return solver + " met a value that is not finite after " + iterations +
             " (nan): scale the matrix and the right-hand side, or choose another preconditioner";
    default:
      return broke_down + ")";
  }
}

}  // namespace

std::string computed_on(int num_processes) {
  const std::string device = device_name();
  return concat(Space::name(), ", ", device.empty() ? concat(host_threads(), " threads") : device,
                num_processes == 1 ? "" : concat(", ", num_processes, " processes"));
}

void print_summary(const Processes& processes, const ProblemFacts& problem, const MethodFacts& method,
                   const Settings& settings, const Measurements& outcome) {
  print_problem(problem);
  print_line("computed on", computed_on(processes.size()));
  if (!processes.is_serial()) print_line("distributed", distribution_text(problem.distribution));
  print_preconditioner(problem, method, settings, outcome);
  print_solver(method, settings, outcome);
  if (outcome.condition) print_condition(*outcome.condition);
}

std::optional<Failure> failure_of_solve(const MethodFacts& method, const Settings& settings,
                                        const Measurements& outcome) {
  if (outcome.solve.converged) return std::nullopt;
  std::string text = failure_text(method, settings, outcome.solve);
  if (settings.match == "none" && outcome.setup.breakdowns.count > 0 && !method.needs_spd())
    text += "; rows broke down in the setup: --match brings large entries to the diagonal";
  return Failure(exit_code(outcome.solve), text);
}

}  // namespace prekond::driver
