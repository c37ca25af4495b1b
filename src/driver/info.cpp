// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/matrix_format.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/matrix/statistics.hpp>

#include <optional>

#include "commands.hpp"
#include "condition.hpp"
#include "method.hpp"
#include "report.hpp"
#include "text.hpp"

namespace prekond::driver {
namespace {

void print_statistics(const ProblemFacts& problem, std::int64_t bytes, const MatrixStatistics& s) {
  const OrderStatistics& order = problem.order.before;
  print_line("matrix", problem.source.name +
                           (problem.source.complex ? ", complex: symmetric is said of conjugates" : ""));
  print_line("size",
             concat(s.num_rows, " rows, ", s.num_cols, " columns, ", s.nnz, " entries, ", bytes_text(bytes)));
  print_line("row lengths", concat(s.row_length_min, " to ", s.row_length_max,
                                   format(", mean %.2f, ", s.row_length_mean), s.empty_rows, " empty rows"));
  const auto yes_no = [](bool is_so) { return is_so ? "yes" : "no"; };
  print_line("symmetry",
             concat("pattern ", yes_no(s.symmetric_pattern), ", values ", yes_no(s.symmetric_values),
                    format(", largest asymmetry %.3g", s.max_asymmetry)));
  print_line("diagonal",
             concat(s.diagonal_positive, " positive, ", s.diagonal_negative, " negative, ", s.diagonal_zero,
                    " zero, ", s.diagonal_missing,
                    format(" missing; |a_ii| from %.4g to %.4g", s.diagonal_min_abs, s.diagonal_max_abs)));
  print_line("bandwidth",
             concat("lower ", s.lower_bandwidth, ", upper ", s.upper_bandwidth, "; profile ", order.profile));
  print_line("levels", concat(order.levels, " of the lower triangle"));
  if (problem.match.is_asked()) print_line("match", match_text(problem.match));
  if (problem.order.is_asked()) print_line("order", order_text(problem.order));
  print_line("dominance", concat(s.diagonally_dominant_rows, " rows are diagonally dominant"));
  print_line("norms", format("Frobenius %.6g, largest |a_ij| %.6g", s.frobenius_norm, s.max_abs));
}

/// The rule by which --spmv auto chooses, and the sizes that it goes by.
void print_advice(const FormatAdvice& advice) {
  print_line("formats",
             concat("csr ", bytes_text(advice.csr_bytes), ", sell about ", bytes_text(advice.sell_bytes),
                    ", dia ", bytes_text(advice.dia_bytes), " by ", advice.num_diagonals, " diagonals"));
  print_line("--spmv auto", to_string(advice.format) + ": " + advice.reason);
}

void check_square(const Source& source, const std::string& what, const std::string& option) {
  if (source.num_rows != source.num_cols)
    throw InputError(concat(source.name, ": ", what, " is for a square matrix, this one has ",
                            source.num_rows, " rows and ", source.num_cols, " columns; leave ", option,
                            " out"));
}

/// The method's M^-1 A, with A in the order that was asked for, which most preconditioners depend on.
template <class Scalar>
Condition condition_of(const Space& space, const Problem<Scalar>& problem, const Method<Scalar>& method,
                       Progress& progress) {
  const std::string& name = method.precond_name;
  const Reducer<Scalar, Space> serial;
  const CsrOperator<Scalar, Space> a(problem.whole);
  const double rows = static_cast<double>(problem.whole.num_rows);
  if (name == "none") {
    progress.phase("eigenvalues of " + problem.source.name);
    return measure_condition<Scalar>(space, a, nullptr, serial, rows);
  }
  progress.phase("setup of " + name);
  const auto m = method.precond->build();
  try {
    m->numeric(space, problem.whole);
  } catch (const OptionError&) {
    throw;
  } catch (const InputError& error) {
    throw problem.in_order(error);
  }
  progress.phase("eigenvalues with " + name);
  return measure_condition<Scalar>(space, a, m.get(), serial, rows);
}

template <class Scalar>
void info(const Settings& settings, const Method<Scalar>& method, MatrixInput& input, OutputFiles& files) {
  const Space space;
  Problem<Scalar> problem;
  const Source& source = problem.source;
  MatrixStatistics measured;
  FormatAdvice advice;
  std::int64_t bytes = 0;
  std::optional<Condition> condition;
  {
    Progress progress(!settings.quiet);
    problem.whole = load_matrix<Scalar>(space, settings, input, progress, problem.source);
    bytes = problem.whole.bytes();
    progress.phase("measuring " + source.name);
    measured = statistics<Scalar, Space>(space, problem.whole);
    advice = advise_format<Space>(space, CsrView<Scalar, Space>(problem.whole), sizeof(Scalar));
    if (settings.condition) {
      check_condition_of(source.name, measured.symmetric_values);
      if (method.precond_properties.needs_spd) check_spd<Scalar>(space, source.name, problem.whole);
    }
    if (settings.match != "none") {
      check_square(source, "a matching", "--match");
      match_problem<Scalar>(space, settings.match, problem);
    }
    if (settings.order != "none") {
      progress.phase("ordering " + source.name);
      check_square(source, "an order", "--order");
      order_problem<Scalar>(space, settings.order, problem);
    } else {
      problem.order.before = order_statistics<Space>(space, problem.whole);
    }
    if (settings.condition) condition = condition_of<Scalar>(space, problem, method, progress);
  }
  files.write_report(info_report(problem, measured, advice, condition));
  if (!settings.quiet) {
    print_statistics(problem, bytes, measured);
    print_advice(advice);
    if (condition) print_condition(*condition);
  }
  files.finish();
}

}  // namespace

void info_command(const CommandLine& line, const Processes& processes, OutputFiles& files) {
  with_methods(line, processes, [&](const auto& methods, const Devices*, MatrixInput& input) {
    processes.on_root([&] { info(line.settings, methods.front(), input, files); });
  });
}

}  // namespace prekond::driver
