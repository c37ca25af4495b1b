// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The phases of NonsymmetricFsai.
#include <prekond/pattern/impl/symmetrize.hpp>
#include <prekond/pattern/impl/threshold.hpp>
#include <prekond/precond/nonsymmetric_fsai.hpp>
#include "pattern/power.hpp"
#include "sparse_product/wanted_rows.hpp"

#include "precond/approximate_inverse/fsai/flops.hpp"
#include "precond/approximate_inverse/nonsymmetric_fsai/setup.hpp"
#include "precond/scaling/stand_in.hpp"
#include "precond/scaling/weak_diagonal.hpp"
#include "precond/setup/breakdown_counter.hpp"

namespace prekond {

namespace impl::nonsymmetric_fsai {

/// G_L and G_U^T of a try: A's, or where rows of these break down, and some have no usable diagonal entry,
/// those of A with stand-ins for such entries.
template <class Scalar, class Space>
struct Factors {
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> lower, upper;
  BreakdownCounter outcome;
  Report report;  ///< its operations and notes
  BreakdownCounter stand_ins{};

  long long num_breakdowns() const { return outcome.pivots + outcome.diagonals; }
  void replace_by_better(const Factors& other, const BreakdownCounter& stand_ins_of_other) {
    const double flops = report.numeric_flops + other.report.numeric_flops;
    if (other.num_breakdowns() < num_breakdowns()) {
      *this = other;
      stand_ins = stand_ins_of_other;
    }
    report.numeric_flops = flops;
  }
  /// The report has the larger one of two counts, as a row may have a stand-in and break down.
  Breakdowns breakdowns() const {
    const Breakdowns of_rows = breakdowns_of(outcome, "fewer columns, without those of bad pivots");
    Breakdowns replaced = breakdowns_of(stand_ins, "");
    if (replaced.count == 0) return of_rows;
    replaced.action = std::to_string(replaced.count) +
                      " rows without a usable diagonal entry took their largest entry in its place";
    Breakdowns result = replaced.count < of_rows.count ? of_rows : replaced;
    result.action = replaced.action;
    if (of_rows.count > 0) result.action += ", " + std::to_string(of_rows.count) + " have " + of_rows.action;
    return result;
  }
};

}  // namespace impl::nonsymmetric_fsai

template <class Scalar, class Space>
CsrGraph<Space> NonsymmetricFsai<Scalar, Space>::make_pattern(const Space& space,
                                                              const matrix_source& source) {
  return keep_wanted_rows<Space>(space, pattern_of(space, source.csr()), source.wanted_rows());
}

template <class Scalar, class Space>
CsrGraph<Space> NonsymmetricFsai<Scalar, Space>::pattern_of(const Space& space, const matrix_view& a) const {
  if (this->has_user_pattern()) return this->user_pattern(a);
  CsrGraph<Space> filtered;
  if (m_options.prefilter > 0) filtered = threshold<Scalar, Space>(space, a, m_options.prefilter);
  const CsrGraphView<Space> s =
      m_options.prefilter > 0 ? CsrGraphView<Space>(filtered) : CsrGraphView<Space>(a);
  if (m_options.power == 0)
    return lower_power<Space>(space, s, 0, m_options.memory_budget, m_options.workspace_budget);
  return lower_power<Space>(space, symmetrize<Space>(space, s), m_options.power, m_options.memory_budget,
                            m_options.workspace_budget);
}

template <class Scalar, class Space>
void NonsymmetricFsai<Scalar, Space>::find_inverse(const Space& space, const matrix_source& source,
                                                   Report& report) {
  const auto strong = impl::zero_weak_diagonal<Scalar, Space>(space, source.csr());
  const matrix_view& a = strong.matrix;
  const bool kept = this->keeps_pattern();
  const CsrGraph<Space> pattern = this->numeric_pattern(space, source);
  const auto values_of = [&](const char* label) {
    return matrix_type(a.num_rows, a.num_rows, pattern.row_ptrs, pattern.col_idxs,
                       allocate<Vector<Scalar, Space>>(space, label, pattern.nnz()));
  };
  using Factors = impl::nonsymmetric_fsai::Factors<Scalar, Space>;
  const auto factors_of = [&](const matrix_view& matrix) {
    Factors own{values_of("prekond::nonsymmetric_fsai::lower_values"),
                values_of("prekond::nonsymmetric_fsai::upper_values"),
                {},
                {}};
    impl::nonsymmetric_fsai::Setup<Scalar, Space> setup(space, matrix, source.wanted_rows(),
                                                        m_options.workspace_limits(), name());
    const impl::LongestRow longest = setup.check_rows(pattern);
    own.report.numeric_flops =
        2 * impl::fsai::count_flops<Space>(space, "prekond::nonsymmetric_fsai::numeric::count_flops", pattern,
                                           {});
    const auto length = static_cast<double>(longest.length);
    this->tell(
        impl::cost_note(space, name(), own.report.numeric_flops, 2 * length * length * length / 3, longest),
        own.report);
    setup.solve(own.lower, own.upper, m_options.setup_scalar == Precision::single_precision);
    if (!kept && m_options.postfilter > 0)
      setup.postfilter(own.lower, own.upper, m_options.postfilter, own.report);
    setup.scale(own.lower, own.upper);
    own.outcome = setup.outcome();
    return own;
  };
  Factors best = factors_of(a);
  if (best.num_breakdowns() > 0) {
    impl::BreakdownCounter stand_ins{};
    const matrix_type filled = impl::fill_diagonal<Scalar, Space>(space, a, source.wanted_rows(), stand_ins);
    if (filled.num_rows > 0) best.replace_by_better(factors_of(filled), stand_ins);
  }
  report.numeric_flops = best.report.numeric_flops;
  report.notes.insert(report.notes.end(), best.report.notes.begin(), best.report.notes.end());
  report.breakdowns = best.breakdowns();
  this->store_factors(space, best.lower, best.upper, {m_options.storage, m_options.storage_format}, report);
}

}  // namespace prekond
