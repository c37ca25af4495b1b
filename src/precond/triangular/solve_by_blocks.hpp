// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Both solves of an incomplete factorisation whose triangles are block-diagonal, on a host.
#include "pattern/levels/row_blocks.hpp"
#include "precond/triangular/solve.hpp"

#include <memory>
#include <string>
#include <vector>

namespace prekond::impl::triangular {

/// y = C (I + U)^-1 S_U (I + L)^-1 S_L x. A thread takes a block through both solves, so that the block's
/// part of the vectors, and of L where U = L^T, is still in its cache for the second one.
template <class Scalar, class Space>
class BlockwiseSolves {
 public:
  virtual ~BlockwiseSolves() = default;
  virtual void apply(const Space& space, MultiVectorView<const Scalar, Space> x,
                     MultiVectorView<Scalar, Space> y) const = 0;
  virtual std::int64_t bytes() const = 0;  ///< without the patterns' and the scales'
  virtual double flops() const = 0;        ///< of an application to one vector, without C's
};

/// `upper`: without values, U = L^T, which then needs none. The bits do not depend on that. `last_scale`: the
/// numbers whose sizes are C's diagonal; empty: C = I. On a host only.
template <class Scalar, class Space>
std::shared_ptr<const BlockwiseSolves<Scalar, Space>> make_blockwise_solves(
    const Space& space, const levels::RowBlocks<Space>& blocks, const Factor<Scalar, Space>& lower,
    const Factor<Scalar, Space>& upper, const Vector<Scalar, Space>& last_scale, Storage storage,
    std::vector<std::string>& notes);

}  // namespace prekond::impl::triangular
