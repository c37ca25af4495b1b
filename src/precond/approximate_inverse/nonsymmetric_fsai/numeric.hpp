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
#include "precond/scaling/weak_diagonal.hpp"
#include "precond/setup/breakdown_counter.hpp"

namespace prekond {

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
  matrix_type lower = values_of("prekond::nonsymmetric_fsai::lower_values");
  matrix_type upper = values_of("prekond::nonsymmetric_fsai::upper_values");
  {  // the setup's arrays make way for the transposition's
    impl::nonsymmetric_fsai::Setup<Scalar, Space> setup(space, a, source.wanted_rows(),
                                                        m_options.workspace_limits(), name());
    const impl::LongestRow longest = setup.check_rows(pattern);
    report.numeric_flops = 2 * impl::fsai::count_flops<Space>(
                                   space, "prekond::nonsymmetric_fsai::numeric::count_flops", pattern, {});
    const auto length = static_cast<double>(longest.length);
    this->tell(
        impl::cost_note(space, name(), report.numeric_flops, 2 * length * length * length / 3, longest),
        report);
    setup.solve(lower, upper, m_options.setup_scalar == Precision::single_precision);
    if (!kept && m_options.postfilter > 0) setup.postfilter(lower, upper, m_options.postfilter, report);
    setup.scale(lower, upper);
    report.breakdowns = impl::breakdowns_of(setup.outcome(), "fewer columns, without those of bad pivots");
  }
  this->store_factors(space, lower, upper, {m_options.storage, m_options.storage_format}, report);
}

}  // namespace prekond
