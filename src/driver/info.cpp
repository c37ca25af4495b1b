// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/matrix/statistics.hpp>
#include <prekond/matrix/validate.hpp>

#include <optional>

#include "commands.hpp"
#include "condition.hpp"
#include "report.hpp"
#include "run.hpp"
#include "run_files.hpp"
#include "table.hpp"

namespace prekond::driver {
namespace {

long long whole(std::int64_t value) {
  return static_cast<long long>(value);
}

void print_statistics(const Source& source, std::int64_t bytes, const MatrixStatistics& s,
                      const MatchFacts& match, const OrderFacts& order) {
  print_line("matrix", source.name + (source.complex ? ", complex: symmetric is said of conjugates" : ""));
  print_line("size", format("%lld rows, %lld columns, %lld entries, %s", whole(s.num_rows), whole(s.num_cols),
                            whole(s.nnz), bytes_text(bytes).c_str()));
  print_line("row lengths", format("%lld to %lld, mean %.2f, %lld empty rows", whole(s.row_length_min),
                                   whole(s.row_length_max), s.row_length_mean, whole(s.empty_rows)));
  print_line("symmetry",
             format("pattern %s, values %s, largest asymmetry %.3g", s.symmetric_pattern ? "yes" : "no",
                    s.symmetric_values ? "yes" : "no", s.max_asymmetry));
  print_line("diagonal",
             format("%lld positive, %lld negative, %lld zero, %lld missing; |a_ii| from %.4g to %.4g",
                    whole(s.diagonal_positive), whole(s.diagonal_negative), whole(s.diagonal_zero),
                    whole(s.diagonal_missing), s.diagonal_min_abs, s.diagonal_max_abs));
  print_line("bandwidth", format("lower %lld, upper %lld; profile %lld", whole(s.lower_bandwidth),
                                 whole(s.upper_bandwidth), whole(order.before.profile)));
  print_line("levels", format("%lld of the lower triangle", whole(order.before.levels)));
  if (match.name != "none") print_line("match", match_text(match));
  if (order.any()) print_line("order", order_text(order));
  print_line("dominance", format("%lld rows are diagonally dominant", whole(s.diagonally_dominant_rows)));
  print_line("norms", format("Frobenius %.6g, largest |a_ij| %.6g", s.frobenius_norm, s.max_abs));
}

/// The rule by which --spmv auto chooses, and what it goes by.
void print_advice(const FormatAdvice& advice) {
  print_line("formats", format("csr %s, sell about %s, dia %s by %lld diagonals",
                               bytes_text(advice.csr_bytes).c_str(), bytes_text(advice.sell_bytes).c_str(),
                               bytes_text(advice.dia_bytes).c_str(), whole(advice.num_diagonals)));
  print_line("--spmv auto", to_string(advice.format) + ": " + advice.reason);
}

/// The matrix with the rows of a matching where that is asked for.
template <class Scalar>
MatchedRows<Scalar> with_asked_rows(const Space& space, const Settings& settings,
                                    const LoadedMatrix<Scalar>& loaded) {
  if (settings.match == "none") {
    MatchedRows<Scalar> same;
    same.a = loaded.a;
    return same;
  }
  if (loaded.source.num_rows != loaded.source.num_cols)
    throw InputError(loaded.source.name + ": a matching is for a square matrix, this one has " +
                     std::to_string(loaded.source.num_rows) + " rows and " +
                     std::to_string(loaded.source.num_cols) + " columns; leave --match out");
  return match_rows<Scalar>(space, loaded.a, settings.match);
}

/// The matrix as it is, or in another order where that is asked for; measured in both.
template <class Scalar>
Reordered<Scalar> in_asked_order(const Space& space, const Settings& settings,
                                 const LoadedMatrix<Scalar>& loaded) {
  if (settings.order == "none") {
    Reordered<Scalar> same;
    same.a = loaded.a;
    same.facts.before = order_statistics<Space>(space, loaded.a);
    return same;
  }
  if (loaded.source.num_rows != loaded.source.num_cols)
    throw InputError(loaded.source.name + ": an order is for a square matrix, this one has " +
                     std::to_string(loaded.source.num_rows) + " rows and " +
                     std::to_string(loaded.source.num_cols) + " columns; leave --order out");
  return reorder<Scalar>(space, loaded.a, settings.order);
}

/// Of the method's M^-1 A, A in the order that was asked for, which most preconditioners depend on.
template <class Scalar>
Condition condition_of(const Space& space, const LoadedMatrix<Scalar>& loaded,
                       const Reordered<Scalar>& ordered, bool symmetric, const Method<Scalar>& method,
                       Progress& progress) {
  const std::string& name = loaded.source.name;
  check_condition_of(name, symmetric);
  const Reducer<Scalar, Space> alone;
  const CsrOperator<Scalar, Space> a(ordered.a);
  const double rows = static_cast<double>(ordered.a.num_rows);
  if (method.precond_name == "none") {
    progress.phase("eigenvalues of " + name);
    return measure_condition<Scalar>(space, a, nullptr, alone, rows);
  }
  if (method.precond_properties.needs_spd)
    named(name, [&] { check_spd_input<Scalar, Space>(space, loaded.a); });
  progress.phase("setup of " + method.precond_name);
  const auto m = method.precond->build();
  telling_order(ordered.facts.option(), [&] { m->numeric(space, ordered.a); });
  progress.phase("eigenvalues with " + method.precond_name);
  return measure_condition<Scalar>(space, a, m.get(), alone, rows);
}

template <class Scalar>
Method<Scalar> method_of(const Settings& settings) {
  Method<Scalar> method = choose_method<Scalar>(settings, settings.precond, settings.precond_options);
  check_condition(settings, "info", method.precond_properties);
  if (settings.match == "product" && settings.condition)
    throw OptionError(
        "--match permutes the rows of A, which takes its symmetry away; leave --match or --condition out");
  return method;
}

template <class Scalar>
void info(const CommandLine& line, MatrixInput& input, RunFiles& files) {
  const Settings& settings = line.settings;
  const Method<Scalar> method = method_of<Scalar>(settings);
  const Session session(line.kokkos);
  const Space space;
  LoadedMatrix<Scalar> loaded;
  MatrixStatistics measured;
  MatchFacts match;
  Reordered<Scalar> ordered;
  FormatAdvice advice;
  std::optional<Condition> condition;
  {
    Progress progress(!settings.quiet);
    loaded = load_matrix<Scalar>(space, settings, input, progress);
    progress.phase("measuring " + loaded.source.name);
    measured = statistics<Scalar, Space>(space, loaded.a);
    advice = advise_format<Space>(space, CsrView<Scalar, Space>(loaded.a), sizeof(Scalar));
    if (settings.order != "none") progress.phase("ordering " + loaded.source.name);
    MatchedRows<Scalar> matched = with_asked_rows<Scalar>(space, settings, loaded);
    match = matched.facts;
    ordered = in_asked_order<Scalar>(space, settings, {loaded.source, matched.a});
    if (settings.condition)
      condition = condition_of<Scalar>(space, loaded, ordered, measured.symmetric_values, method, progress);
  }
  files.write_report(info_report(loaded.source, measured, match, ordered.facts, advice, condition));
  if (!settings.quiet) {
    print_statistics(loaded.source, loaded.a.bytes(), measured, match, ordered.facts);
    print_advice(advice);
    if (condition) print_condition(*condition);
  }
  files.finish();
}

}  // namespace

void info_command(const CommandLine& line, const Processes& processes) {
  RunFiles files(line);
  files.during(processes, [&] {
    processes.only_first([&] {
      method_of<double>(line.settings);  // what the command line asks for is checked before the matrix
      MatrixInput input = open_matrix(line.settings);
      if (input.complex)
        info<Complex>(line, input, files);
      else
        info<double>(line, input, files);
    });
  });
}

}  // namespace prekond::driver
