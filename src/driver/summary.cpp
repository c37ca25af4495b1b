// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "summary.hpp"

#include "advice.hpp"
#include "condition.hpp"
#include "ordering.hpp"
#include "profile.hpp"

namespace prekond::driver {
namespace {

void print_problem(const Json& report, bool verbose) {
  const Json& matrix = report.at("matrix");
  const bool is_complex = matrix.at("field") == "complex", is_symmetric = matrix.at("symmetric");
  print_line("matrix", text_of(matrix.at("source"), ": ", matrix.at("rows"), " rows, ", matrix.at("nnz"),
                               " entries, ", is_complex ? "complex, " : "", is_symmetric ? "" : "not ",
                               is_complex ? "Hermitian" : "symmetric"));
  for (const auto& [name, text] : order_texts(report)) print_line(name, text);
  const Json& near = report.at("near_null_space");
  if (near.at("vectors") > 0)
    print_line("near null", text_of(near.at("vectors"), " vectors of ", near.at("name"), ", ",
                                    near.at("unknowns_per_node"), " unknowns a node"));
  const Json& product = report.at("product");
  const std::string reason = product.at("reason");
  if (verbose)
    print_line("product", text_of("by ", product.at("format"), reason.empty() ? "" : " (" + reason + ")",
                                  ", ready in ", seconds_text(product.at("seconds"))));
  for (const std::string note : report.at("notes")) print_line("  note", note);
}

void print_levels(const Json& precond) {
  const Json& levels = precond.at("levels");
  if (levels.empty()) return;
  print_line("  levels", format("%zu, operator complexity %.2f, grid complexity %.2f", levels.size(),
                                precond.at("operator_complexity").get<double>(),
                                precond.at("grid_complexity").get<double>()));
  for (std::size_t l = 0; l < levels.size(); ++l)
    print_line(text_of("    ", l),
               text_of(levels[l].at("num_rows"), " rows, ", levels[l].at("nnz"), " entries, ",
                       levels[l].at("method"), " of ", levels[l].at("method_nnz"),
                       format(" (damping %.3g), ", levels[l].at("damping").get<double>()),
                       seconds_text(levels[l].at("setup_seconds"))));
}

/// A line for each device of a setup that several share.
void print_devices(const Json& precond) {
  const Json& devices = precond.at("devices");
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const Json& device = devices[k];
    print_line(text_of("  device ", k), text_of(device.at("name"), ": ", device.at("rows"), " rows from ",
                                                device.at("first_row"), " (from 0), ", device.at("rows_read"),
                                                " read; copied in ", seconds_text(device.at("copy_seconds")),
                                                ", symbolic ", seconds_text(device.at("symbolic_seconds")),
                                                ", numeric ", seconds_text(device.at("numeric_seconds"))));
  }
  if (!devices.empty()) print_line("  gathered", seconds_text(precond.at("gather_seconds")));
}

void print_left_out(const Json& precond) {
  const Json &columns = precond.at("foreign_columns"), &entries = precond.at("foreign_entries");
  if (columns > 0)
    print_line("  left out", text_of(columns, " columns of other processes, with ", entries, " entries"));
  else if (entries > 0)
    print_line("  left out",
               text_of(entries, " entries beyond the rows of other processes that the setup reads"));
}

void print_breakdowns(const Json& found) {
  if (found.at("count") == 0) return;
  const std::string action = found.at("action");
  print_line("  breakdowns", text_of(found.at("count"), " rows; the first is ", found.at("first_row"),
                                     format(" (from 0), pivot %.3g", found.at("first_pivot").get<double>()),
                                     action.empty() ? "" : ": ", action));
}

std::int64_t num_tried(const Json& candidates) {
  return std::count_if(candidates.begin(), candidates.end(),
                       [](const Json& candidate) -> bool { return candidate.at("tried"); });
}

/// The outcome of each candidate of an automatic method, but those for other kinds of matrices; without
/// `verbose` of those that were tried, where these are several.
void print_candidates(const Json& candidates, bool verbose) {
  if (!verbose && num_tried(candidates) < 2) return;
  for (const Json& candidate : candidates) {
    const std::string outcome = candidate.at("outcome");
    const Json& work = candidate.at("expected_products");
    if ((work.is_null() && outcome.empty()) || !(verbose || candidate.at("tried"))) continue;
    std::string options;
    for (const auto& [name, value] : candidate.at("options").items())
      options += (options.empty() ? " (" : ", ") + name + "=" +
                 (value.is_string() ? value.get<std::string>() : value.dump());
    print_line(
        candidate.at("tried") ? "tried" : "not tried",
        text_of(candidate.at("preconditioner"), options, options.empty() ? "" : ")", " with ",
                candidate.at("solver"), ": ",
                outcome.empty() ? format("%.3g products with A expected", work.get<double>()) : outcome));
  }
}

/// Why an automatic method took the one of a solve, in a few words.
void print_choice(const Json& candidates) {
  const std::int64_t tried = num_tried(candidates);
  int listed = 0;
  const Json* next = nullptr;  // of those that were not tried
  for (const Json& candidate : candidates) {
    const Json& work = candidate.at("expected_products");
    const bool was_tried = candidate.at("tried");
    listed += was_tried || !work.is_null();
    if (!was_tried && !work.is_null() && (next == nullptr || work < next->at("expected_products")))
      next = &candidate;
  }
  if (tried == 0) return;
  std::string text = text_of("chose from ", listed, " methods by expected work");
  if (tried > 1) text += text_of(" (", tried, " tried)");
  if (next != nullptr)
    text += text_of("; next ", next->at("preconditioner").get<std::string>(), " with ",
                    next->at("solver").get<std::string>(),
                    format(", %.3g products", next->at("expected_products").get<double>()));
  print_line("auto", text);
}

/// A method, with its options in force where the user asks for all.
void print_method(const std::string& label, const std::string& name, const OptionMap& options, bool verbose) {
  print_line(label, name + (verbose && !options.empty() ? ": " + options_text(options) : ""));
}

void print_preconditioner(const Json& report, const MethodFacts& method, bool verbose) {
  const Json& precond = report.at("preconditioner");
  print_method("preconditioner", method.precond_name, method.precond_options, verbose);
  if (report.at("match").value("done", false))
    print_line("  scaled", "by the matching, the entries of the diagonal to [1/2, 2]");
  else if (report.at("scale"))
    print_line("  scaled", method.scaling() == ScalingKind::diagonal
                               ? "to a diagonal in [1, 4)"
                               : "to a largest entry in [1, 4) of every row and column");
  std::string setup = text_of(seconds_text(precond.at("setup_seconds")), " (symbolic ",
                              seconds_text(precond.at("symbolic_seconds")), ", numeric ",
                              seconds_text(precond.at("numeric_seconds")));
  if (report.at("repeat") > 1)
    setup += text_of("; median of ", report.at("repeat"), ", the first ",
                     seconds_text(precond.at("first_setup_seconds")));
  print_line("  setup", setup + ")");
  if (verbose) print_devices(precond);
  const Json& apply = precond.at("apply_seconds");
  const std::string application = apply.is_null() ? "" : "; an application takes " + seconds_text(apply);
  print_line("  stores", text_of(precond.at("nnz"),
                                 format(" entries, density %.3f, ", precond.at("density").get<double>()),
                                 bytes_text(precond.at("bytes")), application));
  print_left_out(precond);
  if (verbose) print_levels(precond);
  print_breakdowns(precond.at("breakdowns"));
  for (const std::string note : precond.at("notes")) print_line("  note", note);
}

/// The end of the solve, which comes first.
void print_answer(const Json& solver) {
  print_line("ended", text_of(solver.at("converged") ? "converged" : "NOT CONVERGED", " (",
                              solver.at("reason"), ") after ", solver.at("iterations"), " iterations, ",
                              solver.at("matrix_products"), " products with A"));
  if (solver.at("relative_residual").is_number())
    print_line("  residual",
               format("%.3e of ||b||, the true one %.3e", solver.at("relative_residual").get<double>(),
                      solver.at("true_relative_residual").get<double>()));
  if (solver.at("went_back"))
    print_line("  x",
               "of the cycle with the least residual, or the initial one: the residual had grown since");
}

/// A matrix that a solve failed with.
struct Matrix {
  std::int64_t num_rows;
  bool is_complex;
};

/// Up to this number of rows a dense inverse of the whole matrix takes about a second.
constexpr std::int64_t rows_of_dense_inverse = 1000;

/// A preconditioner that is nearer to A's inverse than the method's. A complex matrix has fewer to choose
/// from.
std::string stronger_text(const MethodFacts& method, const Matrix& matrix) {
  if (matrix.is_complex) return "another preconditioner ('prekond list preconditioners')";
  if (matrix.num_rows <= rows_of_dense_inverse && method.precond_name != "block_jacobi")
    return text_of("--precond block_jacobi -p block_size=", matrix.num_rows,
                   ", the inverse of a matrix of this size");
  if (method.precond_name == "ilut") return "a larger p and a smaller tau of ilut";
  return "a denser factorisation, such as --precond ilut -p p=100 -p tau=1e-6";
}

std::string options_of_text(const MethodFacts& method) {
  return text_of("other options of it ('prekond list preconditioners ", method.precond_name, "')");
}

/// A breakdown of a method that divides by products with A and M, in view of the matrix and of M.
std::string blame_text(const MethodFacts& method, const SolveResult& result, const Matrix& matrix) {
  if (result.looks_singular)
    return "the matrix looks singular: ||A v|| is negligible compared with ||A|| ||v|| for a vector v; "
           "choose "
           "another right-hand side or --x0, or repair the matrix";
  if (method.precond_name == "none")
    return "the matrix may be singular, at least where the right-hand side leads to; choose another "
           "right-hand side or --x0, or repair the matrix";
  return text_of("the preconditioner ", method.precond_name,
                 " may be singular or useless here, as the matrix itself does not look singular; choose ",
                 options_of_text(method), ", or ", stronger_text(method, matrix),
                 ", or --precond none, which shows whether the matrix is to blame");
}

/// The next step where a short recurrence fails; GMRES has none.
std::string without_recurrence_text(const MethodFacts& method, const Matrix& matrix) {
  const bool is_gmres = method.solver_name == "gmres" || method.solver_name == "fgmres";
  return text_of("choose ", is_gmres ? "" : "--solver gmres, or ", stronger_text(method, matrix));
}

/// The end of an automatic method that has tried several ones: the last one is not to blame.
std::string failure_text_of_auto(const MethodFacts& method, const SolveResult& result, std::int64_t num_tried,
                                 bool has_better) {
  return text_of(
      "auto ended after ", result.iterations, " iterations with ", num_tried, " methods, the last ",
      method.precond_name, " with ", method.solver_name, " (", to_string(result.reason),
      format(", relative residual %.2e)", result.true_relative_residual),
      has_better ? "" : ": none of them solves the system; a direct solver with pivots from all rows may");
}

/// Does the end of a solve depend on nothing but the system and the settings?
bool ends_any_method(const SolveResult& result) {
  return result.looks_singular || result.reason == StopReason::max_iters ||
         result.reason == StopReason::breakdown_singular || result.reason == StopReason::out_of_range;
}

/// The end of the solver, and the cure; more iterations are one unless another method is better.
std::string failure_text(const MethodFacts& method, const Settings& settings, const SolveResult& result,
                         const Matrix& matrix, bool has_better) {
  const std::string &solver = method.solver_name, reason = to_string(result.reason),
                    iterations = text_of(result.iterations, " iteration", result.iterations == 1 ? "" : "s"),
                    residual = format("relative residual %.2e", result.true_relative_residual),
                    broke_down = solver + " broke down after " + iterations + " (" + reason,
                    singular = result.looks_singular ? "; the matrix looks singular: ||A v|| is negligible "
                                                       "compared with ||A|| ||v|| for a vector v"
                                                     : "";
  switch (result.reason) {
    case StopReason::max_iters:
      return text_of(
          solver, " has not converged in ", iterations, " (", residual, ", rtol ", settings.stopping.rtol,
          ")",
          has_better ? ""
          : settings.precond == automatic
              ? ": raise --max-iters, or take a direct solver"
              : ": raise --max-iters, or choose a stronger preconditioner ('prekond list preconditioners')",
          singular);
    case StopReason::breakdown_not_spd:
      return text_of(broke_down, "): p . A p <= 0, so the matrix is not positive definite, and ",
                     method.precond_name, " is not to blame; choose --solver gmres with ",
                     stronger_text(method, matrix));
    case StopReason::breakdown_preconditioner_not_spd:
      return text_of(broke_down, "): r . M^-1 r <= 0, so the preconditioner ", method.precond_name,
                     " is not positive definite here; choose ", options_of_text(method),
                     ", or --solver gmres with ", stronger_text(method, matrix));
    case StopReason::breakdown_rho:
    case StopReason::breakdown_pivot:
    case StopReason::breakdown_omega:
      return text_of(broke_down, ", ", residual,
                     "), also when it had started again, with the preconditioner ", method.precond_name, "; ",
                     without_recurrence_text(method, matrix), singular);
    case StopReason::breakdown_singular:
      return solver + " ended after " + iterations + " (" + reason + ", " + residual +
             "): the matrix looks singular, ||A v|| is negligible compared with ||A|| ||v|| for a vector v, "
             "and "
             "b is not in its range (or too far from it for rounding errors); repair the matrix, or take the "
             "part that A does not reach out of b";
    case StopReason::divergence:
      return solver + " diverged (" + residual + " after " + iterations + ") with the preconditioner " +
             method.precond_name + ": " + without_recurrence_text(method, matrix) + singular;
    case StopReason::out_of_range:
      return solver + " ended after " + iterations + " (" + reason +
             "): entries of the solution are too large or too small for a double; scale the unknowns (the "
             "columns of the matrix) or the right-hand side";
    case StopReason::breakdown_arnoldi:
      return broke_down + ", " + residual + "): " + blame_text(method, result, matrix);
    case StopReason::stagnation:
      return solver + " stagnated after " + iterations + " (" + residual + ")" +
             (has_better ? ""
                         : ": rounding errors keep the true residual above the tolerance; raise --rtol, or "
                           "scale the system");
    case StopReason::nan:
      return solver + " met a value that is not finite after " + iterations +
             " (nan): scale the matrix and the right-hand side, or choose another preconditioner";
    default:
      return broke_down + ")";
  }
}

}  // namespace

void print_environment(const Json& report) {
  const Json &prekond = report.at("prekond"), &processes = prekond.at("processes");
  const std::string device = prekond.at("device");
  print_line("computed on", text_of(prekond.at("backend"), ", ",
                                    device.empty() ? text_of(prekond.at("threads"), " threads") : device,
                                    processes == 1 ? "" : text_of(", ", processes, " processes")));
}

std::string distribution_text(const Json& report) {
  const Json& facts = report.at("distribution");
  return text_of(facts.at("ranks"), " ranks, ", facts.at("partition"), ": ", facts.at("cut_entries"),
                 " entries cut, ", facts.at("exchanged_entries"), " vector entries exchanged, ",
                 facts.at("fewest_rows"), " to ", facts.at("most_rows"), " rows a rank, at most ",
                 facts.at("most_neighbors"), " neighbours; read by ", facts.at("read_by"));
}

void print_summary(const Json& report, const MethodFacts& method, bool verbose) {
  const Json& solver = report.at("solver");
  print_answer(solver);
  print_line("total", seconds_text(report.at("total_seconds")));
  print_choice(report.at("candidates"));
  print_candidates(report.at("candidates"), verbose);
  print_method("solver", method.solver_name, method.solver_options, verbose);
  print_line("  solve", seconds_text(solver.at("seconds")));
  print_preconditioner(report, method, verbose);
  print_problem(report, verbose);
  print_environment(report);
  if (verbose && report.at("prekond").at("processes") > 1)
    print_line("distributed", distribution_text(report));
  print_condition(report);
  print_profile(report);
  if (solver.at("converged")) print_tries(report);  // else the error has it
}

bool asks_for_advice(const MethodFacts& method, const Settings& settings, const SolveResult& result,
                     const Json& report) {
  const bool has_breakdowns = report.at("preconditioner").at("breakdowns").at("count") > 0;
  return !result.converged && settings.match == "none" && settings.precond != automatic && has_breakdowns &&
         !method.needs_spd();
}

std::optional<Failure> failure_of_solve(const MethodFacts& method, const Settings& settings,
                                        const SolveResult& result, const Json& report,
                                        const std::string& advice) {
  if (result.converged) return std::nullopt;
  const Json& tries = report.at("try");
  const std::int64_t tried = num_tried(report.at("candidates"));
  const Json& matrix = report.at("matrix");
  std::string text = tried > 1 && !ends_any_method(result)
                         ? failure_text_of_auto(method, result, tried, !tries.empty())
                         : failure_text(method, settings, result,
                                        {matrix.at("rows"), matrix.at("field") == "complex"}, !tries.empty());
  if (!advice.empty()) text += "; rows broke down in the setup: " + advice;
  for (const Json& entry : tries) text += text_of("; ", entry.at("reason"), "; try: ", entry.at("command"));
  return Failure(exit_code(result, 0), text);
}

Failure failure_of_signal(const MethodFacts& method, const SolveResult& result, int signal,
                          const std::string& solution) {
  return Failure(exit_code(result, signal),
                 text_of("interrupted in the step '", method.solver_name, " with ", method.precond_name,
                         "' after ", result.iterations, " iterations",
                         format(" (relative residual %.2e): ", result.true_relative_residual),
                         solution.empty() ? "with --solution FILE.mtx the last x is kept"
                                          : "--x0 " + solution + " goes on from there"));
}

}  // namespace prekond::driver
