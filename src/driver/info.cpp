// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/matrix_format.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/matrix/statistics.hpp>

#include "precond/scaling/weak_diagonal.hpp"

#include "advice.hpp"
#include "commands.hpp"
#include "condition.hpp"
#include "method.hpp"
#include "ordering.hpp"
#include "report.hpp"
#include "right_hand_side.hpp"

namespace prekond::driver {
namespace {

Json advice_json(const FormatAdvice& advice) {
  return {{"format", to_string(advice.format)}, {"reason", advice.reason},
          {"csr_bytes", advice.csr_bytes},      {"sell_bytes", advice.sell_bytes},
          {"dia_bytes", advice.dia_bytes},      {"diagonals", advice.num_diagonals}};
}

Json statistics_json(const MatrixStatistics& s) {
  return {{"symmetric", s.symmetric_values},
          {"row_length",
           {{"min", s.row_length_min},
            {"max", s.row_length_max},
            {"mean", s.row_length_mean},
            {"empty", s.empty_rows}}},
          {"symmetric_pattern", s.symmetric_pattern},
          {"max_asymmetry", s.max_asymmetry},
          {"diagonal",
           {{"missing", s.diagonal_missing},
            {"zero", s.diagonal_zero},
            {"negative", s.diagonal_negative},
            {"positive", s.diagonal_positive},
            {"min_abs", s.diagonal_min_abs},
            {"max_abs", s.diagonal_max_abs}}},
          {"bandwidth", {{"lower", s.lower_bandwidth}, {"upper", s.upper_bandwidth}}},
          {"diagonally_dominant_rows", s.diagonally_dominant_rows},
          {"frobenius_norm", s.frobenius_norm},
          {"max_abs", s.max_abs}};
}

void print_info(const Json& report, std::int64_t bytes) {
  const Json& matrix = report.at("matrix");
  const auto number = [](const Json& value) { return value.get<double>(); };
  const auto yes_no = [](const Json& is_so) { return is_so ? "yes" : "no"; };
  print_line("matrix",
             text_of(matrix.at("source"),
                     matrix.at("field") == "complex" ? ", complex: symmetric is said of conjugates" : ""));
  print_line("size", text_of(matrix.at("rows"), " rows, ", matrix.at("cols"), " columns, ", matrix.at("nnz"),
                             " entries, ", bytes_text(bytes)));
  const Json& length = matrix.at("row_length");
  print_line("row lengths",
             text_of(length.at("min"), " to ", length.at("max"),
                     format(", mean %.2f, ", number(length.at("mean"))), length.at("empty"), " empty rows"));
  print_line("symmetry", text_of("pattern ", yes_no(matrix.at("symmetric_pattern")), ", values ",
                                 yes_no(matrix.at("symmetric")),
                                 format(", largest asymmetry %.3g", number(matrix.at("max_asymmetry")))));
  const Json& diagonal = matrix.at("diagonal");
  print_line("diagonal", text_of(diagonal.at("positive"), " positive, ", diagonal.at("negative"),
                                 " negative, ", diagonal.at("zero"), " zero, ", diagonal.at("missing"),
                                 format(" missing; |a_ii| from %.4g to %.4g", number(diagonal.at("min_abs")),
                                        number(diagonal.at("max_abs")))));
  if (diagonal.at("weak") > 0)
    print_line("  weak", text_of(diagonal.at("weak"),
                                 " that are not zero are so compared with their rows and columns"));
  if (report.contains("advice")) print_line("  note", report.at("advice").get<std::string>());
  print_line("bandwidth", text_of("lower ", matrix.at("bandwidth").at("lower"), ", upper ",
                                  matrix.at("bandwidth").at("upper"), "; profile ", matrix.at("profile")));
  print_line("levels", text_of(matrix.at("levels"), " of the lower triangle"));
  for (const std::string note : report.at("notes")) print_line("note", note);
  for (const auto& [name, text] : order_texts(report)) print_line(name, text);
  print_line("dominance", text_of(matrix.at("diagonally_dominant_rows"), " rows are diagonally dominant"));
  print_line("norms", format("Frobenius %.6g, largest |a_ij| %.6g", number(matrix.at("frobenius_norm")),
                             number(matrix.at("max_abs"))));
  const Json& product = matrix.at("product");
  print_line("formats",
             text_of("csr ", bytes_text(product.at("csr_bytes")), ", sell about ",
                     bytes_text(product.at("sell_bytes")), ", dia ", bytes_text(product.at("dia_bytes")),
                     " by ", product.at("diagonals"), " diagonals"));
  print_line("--spmv auto", text_of(product.at("format"), ": ", product.at("reason")));
  print_condition(report);
  print_tries(report);
}

/// The method's M^-1 A, with A in the order that was asked for, which most preconditioners depend on.
template <class Scalar>
Json condition_of(const Context& context, const Problem<Scalar>& problem, const Method<Scalar>& method) {
  std::unique_ptr<AnyPreconditioner<Scalar>> m;
  if (method.precond_name != "none") {
    context.progress.phase("setup of " + method.precond_name);
    m = method.precond->build();
    try {
      m->numeric(context.space, problem.whole);
    } catch (const OptionError&) {
      throw;
    } catch (const InputError& error) {
      throw problem.in_order(error);
    }
  }
  context.progress.phase("eigenvalues of " + problem.name + " with " + method.precond_name);
  return measure_condition<Scalar>(context, CsrOperator<Scalar, Space>(problem.whole), m.get(),
                                   Reducer<Scalar, Space>(), static_cast<double>(problem.num_rows));
}

/// The diagonal entries that are weak though they are not zero, and what to do about these and zeros.
template <class Scalar>
void look_at_diagonal(const Space& space, const Matrix<Scalar>& a, Json& matrix, Json& report) {
  Json& diagonal = matrix["diagonal"];
  diagonal["weak"] = 0;
  if (a.num_rows == 0 || a.num_rows != a.num_cols) return;
  const CsrView<Scalar, Space> view(a);
  diagonal["weak"] = impl::zero_weak_diagonal<Scalar, Space>(space, view).num_weak;
  if (diagonal["weak"] > 0 || diagonal["zero"] > 0 || diagonal["missing"] > 0)
    report["advice"] = advice_for(diagonal_facts<Scalar>(space, view));
}

template <class Scalar>
void info(const Context& context, const Method<Scalar>& method, MatrixInput& input, OutputFiles& files) {
  const Settings& settings = context.settings;
  Problem<Scalar> problem(settings);
  problem.load(context, input);
  context.progress.phase("measuring " + problem.name);
  const MatrixStatistics measured = statistics<Scalar, Space>(context.space, problem.whole);
  Json& matrix = problem.facts["matrix"];
  matrix.update(statistics_json(measured));
  Json advice = Json::object();
  look_at_diagonal<Scalar>(context.space, problem.whole, matrix, advice);
  matrix["product"] =
      advice_json(advise_format<Space>(context.space, CsrView<Scalar, Space>(problem.whole), sizeof(Scalar)));
  const std::int64_t bytes = problem.whole.bytes();
  const bool is_square = problem.num_rows == problem.num_cols;
  const std::int64_t zero_row = first_zero_row<Scalar>(context.space, problem.whole);
  if (zero_row >= 0 && is_square) problem.add_note(zero_row_text(zero_row));
  if (zero_row < 0 && is_square && measured.symmetric_values &&
      rows_sum_to_zero<Scalar>(context.space, problem.whole))
    problem.add_note(note_of_own_zero_sums);
  if (is_square && !measured.symmetric_values)
    problem.note_zero_column(first_zero_column<Scalar>(context.space, problem.whole));
  if (settings.condition) {
    check_condition_of(problem.name, measured.symmetric_values);
    if (method.precond_properties.needs_spd)
      problem.take_symmetry({.check = SpdCheck::require},
                            symmetry_of<Scalar>(context.space, problem.whole, SpdCheck::require));
  }
  if (settings.match != "none") problem.match(context);
  if (settings.order != "none") problem.put_in_order(context);
  const Json& order = problem.facts.at("order");
  const Json before =
      order.contains("before") ? order.at("before") : order_facts(context.space, problem.whole);
  for (const char* key : {"profile", "levels"}) matrix[key] = before.at(key);
  Json report = {{"prekond", environment(1)},
                 {"matrix", matrix},
                 {"match", problem.facts.at("match")},
                 {"order", order},
                 {"notes", problem.facts.at("notes")}};
  report.update(advice);
  report["try"] = is_square && problem.num_rows > 0 && zero_row < 0
                      ? tries_for(settings, measured, is_complex<Scalar>)
                      : Json::array();
  if (settings.condition) report["condition"] = condition_of<Scalar>(context, problem, method);
  context.progress.end();
  files.write_report(report);
  if (!settings.quiet) print_info(report, bytes);
  files.finish();
}

}  // namespace

void info_command(const CommandLine& line, const Processes& processes, OutputFiles& files) {
  with_methods(line, processes, [&](const Context& context, const auto& methods, MatrixInput& input) {
    processes.on_root([&] { info(context, methods.front(), input, files); });
  });
}

}  // namespace prekond::driver
