// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/instantiate.hpp"
#include "precond/approximate_inverse/adaptive_fsai/block_setup.hpp"
#include "precond/approximate_inverse/adaptive_fsai/grow.hpp"

namespace prekond::impl::adaptive_fsai {

template <class Real, class Scalar, class Space>
void grow_blocks(const Space& space, const Matrix<Scalar, Real>& a, std::int64_t nnz,
                 const Parameters& parameters, const Sources<Space>& sources,
                 CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& g, Report& report,
                 MemoryMeter& meter) {
  BlockSetup<Scalar, Real, Space> setup(space, a, nnz, parameters, sources.slab_bytes, sources.supernodes);
  g = setup.grow(sources.start);
  setup.report_to(report, meter);
}

#define PREKOND_GROW_BLOCKS_IN(Real, Scalar, Space)                                                      \
  template void grow_blocks<Real, Scalar, Space>(                                                        \
      const Space&, const Matrix<Scalar, Real>&, std::int64_t, const Parameters&, const Sources<Space>&, \
      CsrMatrix<Scalar, int, std::size_t, Space::memory_space>&, Report&, MemoryMeter&);
#define PREKOND_GROW_BLOCKS(Scalar, Space)     \
  PREKOND_GROW_BLOCKS_IN(float, Scalar, Space) \
  PREKOND_GROW_BLOCKS_IN(double, Scalar, Space)
PREKOND_INSTANTIATE(PREKOND_GROW_BLOCKS)

}  // namespace prekond::impl::adaptive_fsai
