// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/precond/multicolor_gs.hpp>
#include <prekond/precond/multicolor_ssor.hpp>

#include "core/instantiate.hpp"
#include "precond/triangular/color_sweeps.hpp"

namespace prekond {
namespace {

/// The same relaxation as symmetric sweeps of MulticolorGs, once the options are checked by their own name.
MulticolorGsOptions symmetric_options(const MulticolorSsorOptions& options) {
  refuse_growing_pattern(MulticolorSsorOptions::name, options.reuse);
  const MulticolorSsorOptions checked = resolved(options);
  MulticolorGsOptions result;
  static_cast<MulticolorOptions&>(result) = checked;
  result.sweeps = checked.sweeps;
  result.omega = checked.omega;
  result.direction = SweepDirection::symmetric;
  return result;
}

}  // namespace

template <class Scalar, class Space>
MulticolorGs<Scalar, Space>::MulticolorGs(const MulticolorGsOptions& options)
    : Multicolor<Scalar, Space>(MulticolorGsOptions::name, options), m_options(resolved(options)) {}

template <class Scalar, class Space>
typename MulticolorGs<Scalar, Space>::Factors MulticolorGs<Scalar, Space>::find_factors(
    const Space& space, const matrix_view& a, const Pattern& pattern, Report& report) const {
  report.numeric_flops = 3.0 * double(pattern.lower.nnz() + pattern.upper.nnz());
  return impl::relaxation::fill_triangles<Scalar, Space>(space, a, pattern,
                                                         static_cast<Scalar>(m_options.omega), report);
}

template <class Scalar, class Space>
std::vector<impl::relaxation::HalfSweep> MulticolorGs<Scalar, Space>::half_sweeps() const {
  if (m_options.direction == SweepDirection::symmetric)
    return impl::relaxation::symmetric_sweeps(m_options.sweeps, m_options.omega);
  return impl::relaxation::one_way_sweeps(m_options.direction == SweepDirection::forward, m_options.sweeps,
                                          m_options.omega);
}

template <class Scalar, class Space>
MulticolorSsor<Scalar, Space>::MulticolorSsor(const MulticolorSsorOptions& options)
    : MulticolorGs<Scalar, Space>(symmetric_options(options)), m_options(resolved(options)) {}

#define PREKOND_MULTICOLOR_GS(Scalar, Space)  \
  template class MulticolorGs<Scalar, Space>; \
  template class MulticolorSsor<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_MULTICOLOR_GS)

}  // namespace prekond
