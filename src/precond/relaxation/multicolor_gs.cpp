// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/precond/multicolor.hpp>

#include "core/instantiate.hpp"
#include "precond/triangular/grouped_sweeps.hpp"

namespace prekond {
template <class Scalar, class Space>
MulticolorGs<Scalar, Space>::MulticolorGs(const MulticolorGsOptions& options)
    : Multicolor<Scalar, Space>(options), m_options(resolved(options)) {}

template <class Scalar, class Space>
typename MulticolorGs<Scalar, Space>::Factors MulticolorGs<Scalar, Space>::find_factors(
    const Space& space, const matrix_view& a, const Pattern& pattern, Report& report) const {
  report.numeric_flops = 3.0 * double(pattern.lower.nnz() + pattern.upper.nnz());
  return impl::sweeps::fill_triangles<Scalar, Space>(space, a, pattern, static_cast<Scalar>(m_options.omega),
                                                     report);
}

template <class Scalar, class Space>
std::vector<impl::sweeps::HalfSweep> MulticolorGs<Scalar, Space>::half_sweeps() const {
  if (m_options.direction == SweepDirection::symmetric)
    return impl::sweeps::symmetric_sweeps(m_options.sweeps, m_options.omega);
  return impl::sweeps::one_way_sweeps(m_options.direction == SweepDirection::forward, m_options.sweeps,
                                      m_options.omega);
}

#define PREKOND_MULTICOLOR_GS(Scalar, Space) template class MulticolorGs<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_MULTICOLOR_GS)

}  // namespace prekond
