// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The phases of Spai.
#include <prekond/pattern/power.hpp>
#include <prekond/pattern/threshold.hpp>
#include <prekond/pattern/transpose.hpp>
#include <prekond/precond/spai.hpp>

#include "precond/common/breakdown_counter.hpp"
#include "precond/spai/setup.hpp"

namespace prekond {

namespace impl::spai {
/// `found`: what columns of rank-deficient systems got.
inline Breakdowns breakdowns_of(const BreakdownCounter& outcome, const std::string& found) {
  Breakdowns breakdowns = prekond::impl::breakdowns_of(outcome, "");
  if (breakdowns.count > 0)
    breakdowns.action = std::to_string(outcome.pivots) + " columns " + found + ", " +
                        std::to_string(outcome.diagonals) + " fell back to the diagonal";
  return breakdowns;
}

/// M on a pattern, and what the report says of it. `listener` is told before, where it takes long.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> least_on_pattern(
    const Space& space, const CsrView<Scalar, Space>& a, const CsrGraph<Space>& pattern,
    const SpaiOptions& options, const std::string& name, const CostListener& listener, Report& report,
    MemoryMeter& meter) {
  using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  const bool right = options.side == Side::right;
  // The right inverse is found by the rows of A^T, and as M^T, whose values come into the place of these
  // zeros.
  Matrix m(a.num_rows, a.num_rows, pattern.row_ptrs, pattern.col_idxs,
           allocate_zero<Vector<Scalar, Space>>(space, "prekond::spai::values", pattern.nnz()));
  Matrix transposed;
  MemoryMeter::Holding held;
  if (right) {
    m = transpose<Scalar, Space>(space, m);
    transposed = transpose<Scalar, Space>(space, a);
    held = meter.hold(m.row_ptrs, m.col_idxs, m.values, transposed.row_ptrs, transposed.col_idxs,
                      transposed.values);
  }
  {
    const CsrView<Scalar, Space> b = right ? CsrView<Scalar, Space>(transposed) : a;
    Setup<Scalar, Space> setup(space, b, m, options, name, listener, meter);
    setup.solve(m.values);
    report.notes.push_back(setup.note());
    report.breakdowns = spai::breakdowns_of(
        setup.outcome(),
        "of rank-deficient systems have the solution of the least norm, as far as rounding tells their rank");
    report.numeric_flops = setup.flops();
  }
  transposed = {};
  if (!right) return m;
  return transpose<Scalar, Space>(space, m);
}

}  // namespace impl::spai

template <class Scalar, class Space>
CsrGraph<Space> Spai<Scalar, Space>::make_pattern(const Space& space, const matrix_source& source) {
  const matrix_view& a = source.csr();
  if (this->has_user_pattern()) return this->user_pattern(a);
  CsrGraph<Space> filtered;
  if (m_options.prefilter > 0) filtered = threshold<Scalar, Space>(space, a, m_options.prefilter);
  const CsrGraphView<Space> s =
      m_options.prefilter > 0 ? CsrGraphView<Space>(filtered) : CsrGraphView<Space>(a);
  return power<Space>(space, s, m_options.power, m_options.pattern_bytes, m_options.slab_bytes);
}

template <class Scalar, class Space>
void Spai<Scalar, Space>::find_inverse(const Space& space, const matrix_source& source, Report& report) {
  const matrix_view& a = source.csr();
  impl::MemoryMeter meter;
  const CsrGraph<Space> pattern = this->numeric_pattern(space, source);
  const matrix_type m = impl::spai::least_on_pattern<Scalar, Space>(
      space, a, pattern, m_options, name(), [&](const std::string& note) { this->tell(note, report); },
      report, meter);
  this->store_inverse(space, m, m_options.storage, report, meter);
}

}  // namespace prekond
