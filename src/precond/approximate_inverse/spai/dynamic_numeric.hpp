// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The phases of DynamicSpai.
#include <prekond/matrix/sort_rows.hpp>
#include <prekond/precond/dynamic_spai.hpp>
#include "pattern/power.hpp"
#include "sparse_product/transpose.hpp"

#include "precond/approximate_inverse/spai/dynamic_setup.hpp"
#include "precond/approximate_inverse/spai/least_on_pattern.hpp"
#include "precond/setup/breakdown_counter.hpp"

namespace prekond {

namespace impl::dynamic_spai {

/// M from a start pattern, and what the report says of it.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> grow_from(const Space& space,
                                                                            const CsrView<Scalar, Space>& a,
                                                                            const CsrGraph<Space>& pattern,
                                                                            const DynamicSpaiOptions& options,
                                                                            Report& report) {
  using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  const bool right = options.side == Side::right;
  const Matrix transposed = transpose<Scalar, Space>(space, a);
  // The columns' start patterns; values that are not looked at.
  Matrix start(a.num_rows, a.num_rows, pattern.row_ptrs, pattern.col_idxs, {});
  if (right) {
    start.values =
        allocate_zero<Vector<Scalar, Space>>(space, "prekond::dynamic_spai::numeric::start", start.nnz());
    start = transpose<Scalar, Space>(space, start);
    start.values = {};
  }
  const CsrView<Scalar, Space> of_a = a, of_transposed = transposed;
  Setup<Scalar, Space> setup(space, right ? of_transposed : of_a, right ? of_a : of_transposed, start,
                             options);
  Matrix m = setup.grow();
  report.breakdowns =
      impl::spai::breakdowns_of(setup.outcome(), "were solved without entries that depend on others");
  report.numeric_flops = setup.flops();
  report.notes.push_back(std::to_string(setup.reached()) + " of " + std::to_string(a.num_rows) +
                         " columns reached epsilon");
  if (right) {
    m = transpose<Scalar, Space>(space, m);
  } else {
    sort_rows(space, m);
  }
  return m;
}

}  // namespace impl::dynamic_spai

template <class Scalar, class Space>
CsrGraph<Space> DynamicSpai<Scalar, Space>::make_pattern(const Space& space, const matrix_source& source) {
  const matrix_view& a = source.csr();
  if (this->has_user_pattern()) return this->user_pattern(a);
  return power<Space>(space, a, 0, m_options.memory_budget, m_options.workspace_budget);
}

template <class Scalar, class Space>
void DynamicSpai<Scalar, Space>::find_inverse(const Space& space, const matrix_source& source,
                                              Report& report) {
  const matrix_view& a = source.csr();
  const CsrGraph<Space> pattern = this->numeric_pattern(space, source);
  matrix_type m;
  if (this->keeps_pattern()) {
    SpaiOptions options;
    static_cast<StaticSetupOptions&>(options) = m_options;
    options.side = m_options.side;
    m = impl::spai::least_on_pattern<Scalar, Space>(
        space, a, pattern, {}, options, name(), [&](const std::string& note) { this->tell(note, report); },
        report);
  } else {
    m = impl::dynamic_spai::grow_from<Scalar, Space>(space, a, pattern, m_options, report);
  }
  this->store_inverse(space, m, {m_options.storage, m_options.storage_format}, report);
}

}  // namespace prekond
