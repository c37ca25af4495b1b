// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Growth row by row, for the units that instantiate it.
#include "core/instantiate.hpp"
#include "precond/approximate_inverse/adaptive_fsai/grow.hpp"
#include "precond/approximate_inverse/adaptive_fsai/setup.hpp"

namespace prekond::impl::adaptive_fsai {

template <Gradient gradient, class Real, class Scalar, class Space>
void grow_rows(const Space& space, const Matrix<Scalar, Real>& a, std::int64_t nnz,
               const Parameters& parameters, const Sources<Space>& sources,
               CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& g, Report& report) {
  Setup<Scalar, Real, Space, false, gradient> setup(space, a, nnz, parameters, sources.workspace_budget);
  if (sources.kept)
    setup.solve(g);
  else
    g = setup.grow(sources.start);
  setup.report_to(report);
}

#define PREKOND_GROW_ROWS_IN(gradient, Real, Scalar, Space)                                              \
  template void grow_rows<gradient, Real, Scalar, Space>(                                                \
      const Space&, const Matrix<Scalar, Real>&, std::int64_t, const Parameters&, const Sources<Space>&, \
      CsrMatrix<Scalar, int, std::size_t, Space::memory_space>&, Report&);
#define PREKOND_GROW_ROWS(gradient, Scalar, Space)     \
  PREKOND_GROW_ROWS_IN(gradient, float, Scalar, Space) \
  PREKOND_GROW_ROWS_IN(gradient, double, Scalar, Space)

}  // namespace prekond::impl::adaptive_fsai
