// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The phases of NonsymmetricFsai.
#include <prekond/pattern/symmetrize.hpp>
#include <prekond/precond/impl/fsai_numeric.hpp>
#include <prekond/precond/impl/nonsymmetric_fsai_setup.hpp>
#include <prekond/precond/nonsymmetric_fsai.hpp>

namespace prekond {

template <class Scalar, class Space>
void NonsymmetricFsai<Scalar, Space>::set_pattern(const Space& space, const CsrGraphView<Space>& pattern) {
  impl::check_graph(space, pattern, name());
  m_given_pattern = lower_triangle<Space>(space, pattern);
}

template <class Scalar, class Space>
CsrGraph<Space> NonsymmetricFsai<Scalar, Space>::make_pattern(const Space& space,
                                                              const matrix_view& a) const {
  if (m_user_pattern.row_ptrs.extent(0) > 0) {
    impl::check_pattern_rows(m_user_pattern, a.num_rows, name());
    return m_user_pattern;
  }
  CsrGraph<Space> filtered;
  if (m_options.prefilter > 0) filtered = threshold<Scalar, Space>(space, a, m_options.prefilter);
  const CsrGraphView<Space> s =
      m_options.prefilter > 0 ? CsrGraphView<Space>(filtered) : CsrGraphView<Space>(a);
  if (m_options.power == 0)
    return lower_power<Space>(space, s, 0, m_options.pattern_bytes, m_options.slab_bytes);
  return lower_power<Space>(space, symmetrize<Space>(space, s), m_options.power, m_options.pattern_bytes,
                            m_options.slab_bytes);
}

template <class Scalar, class Space>
void NonsymmetricFsai<Scalar, Space>::symbolic(const Space& space, const matrix_view& a) {
  Kokkos::Timer timer;
  impl::check_part(a, name());
  m_user_pattern = m_given_pattern;
  CsrGraph<Space> pattern;
  if (a.num_rows > 0 && (m_options.prefilter == 0 || m_user_pattern.row_ptrs.extent(0) > 0)) {
    pattern = make_pattern(space, a);
    space.fence("prekond::nonsymmetric_fsai::symbolic::end");
  }
  m_pattern = pattern;
  this->m_num_rows = a.num_rows;
  this->m_report = {};
  m_symbolic_done = true;
  this->forget_factor();
  this->m_report.symbolic_seconds = timer.seconds();
}

template <class Scalar, class Space>
void NonsymmetricFsai<Scalar, Space>::numeric(const Space& space, const matrix_view& a) {
  if (!m_symbolic_done) symbolic(space, a);
  impl::check_part(a, name());
  impl::check_same_rows(a.num_rows, this->m_num_rows, name());
  Kokkos::Timer timer;
  Report report;
  report.symbolic_seconds = this->m_report.symbolic_seconds;
  const bool kept = m_options.reuse == Reuse::pattern && this->has_factor();
  report.pattern_kept = kept;
  if (a.num_rows == 0) {
    this->take_empty_factor(space);
    this->m_report = report;
    return;
  }

  impl::MemoryMeter meter;
  CsrGraph<Space> pattern = m_pattern;
  if (kept) {
    pattern = {a.num_rows, a.num_rows, this->factor().row_ptrs, this->factor().col_idxs};
  } else if (pattern.row_ptrs.extent(0) == 0) {
    pattern = make_pattern(space, a);
    report.fences += 5;
  }
  const auto values_of = [&](const char* label) {
    return matrix_type(a.num_rows, a.num_rows, pattern.row_ptrs, pattern.col_idxs,
                       allocate<Vector<Scalar, Space>>(space, label, pattern.nnz()));
  };
  matrix_type lower = values_of("prekond::nonsymmetric_fsai::lower_values");
  matrix_type upper = values_of("prekond::nonsymmetric_fsai::upper_values");
  const auto held_values = meter.hold(upper.values);  // transposed in the end
  impl::nonsymmetric_fsai::Setup<Scalar, Space> setup(space, a, m_options.slab_bytes, meter);
  setup.solve(lower, upper, m_options.setup_scalar == Precision::single_precision);
  report.numeric_flops = 2 * impl::fsai::count_flops<Space>(space, pattern, {});
  if (!kept && m_options.postfilter > 0) setup.postfilter(lower, upper, m_options.postfilter, report);
  setup.scale(lower, upper);
  report.breakdowns = impl::breakdowns_of(setup.outcome(), "fewer columns, without those of bad pivots");
  report.fences += setup.fences() + 2;
  this->take_factors(space, lower, upper, m_options.storage, report, meter);
  // The pattern is the factors' own now, or another one with the next values.
  if (m_options.reuse == Reuse::pattern) m_pattern = {};
  report.numeric_seconds = timer.seconds();
  this->m_report = report;
}

}  // namespace prekond
