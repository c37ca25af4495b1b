// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/pattern/impl/threshold.hpp>
#include <prekond/precond/spai.hpp>
#include "pattern/power.hpp"
#include "sparse_product/wanted_rows.hpp"

#include "core/instantiate.hpp"
#include "precond/approximate_inverse/spai/least_on_pattern.hpp"

namespace prekond {

template <class Scalar, class Space>
CsrGraph<Space> Spai<Scalar, Space>::make_pattern(const Space& space, const matrix_source& source) {
  const matrix_view& a = source.csr();
  if (this->has_user_pattern()) return this->user_pattern(a);
  CsrGraph<Space> filtered;
  if (m_options.prefilter > 0) filtered = threshold<Scalar, Space>(space, a, m_options.prefilter);
  const CsrGraphView<Space> s =
      m_options.prefilter > 0 ? CsrGraphView<Space>(filtered) : CsrGraphView<Space>(a);
  const auto all =
      power<Space>(space, s, m_options.power, m_options.memory_budget, m_options.workspace_budget);
  return m_options.side == Side::right ? keep_wanted_columns<Space>(space, all, source.wanted_rows())
                                       : keep_wanted_rows<Space>(space, all, source.wanted_rows());
}

template <class Scalar, class Space>
void Spai<Scalar, Space>::find_inverse(const Space& space, const matrix_source& source, Report& report) {
  const matrix_view& a = source.csr();
  const CsrGraph<Space> pattern = this->numeric_pattern(space, source);
  const matrix_type m = impl::spai::least_on_pattern<Scalar, Space>(
      space, a, pattern, source.wanted_rows(), m_options, name(),
      [&](const std::string& note) { this->tell(note, report); }, report);
  this->store_inverse(space, m, {m_options.storage, m_options.storage_format}, report);
}

#define PREKOND_SPAI(Scalar, Space) template class Spai<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_SPAI)

}  // namespace prekond
