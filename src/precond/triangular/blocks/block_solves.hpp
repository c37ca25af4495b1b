// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The two solves that a block factorisation is applied by.
#include <prekond/precond/block_triangular_solver.hpp>

#include <memory>
#include <stdexcept>
#include <string>

namespace prekond::impl::block_triangular {

/// y = (I + U)^-1 (I + N)^-1 S x
template <class Scalar, class Space>
class BlockSolves {
 public:
  using Solver = BlockTriangularSolver<Scalar, Space>;

  BlockSolves(const std::string& owner, const BlockTriangularOptions& options)
      : m_owner(owner), m_lower(owner, Triangle::lower, options), m_upper(owner, Triangle::upper, options) {}

  Solver& lower() { return m_lower; }
  Solver& upper() { return m_upper; }
  const Solver& lower() const { return m_lower; }

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const {
    auto workspace = std::make_unique<Own>();
    workspace->between = allocate<MultiVector<Scalar, Space>>(space, "prekond::block_triangular::between",
                                                              m_lower.num_rows(), num_vectors);
    workspace->lower = m_lower.make_workspace(space, num_vectors);
    workspace->upper = m_upper.make_workspace(space, num_vectors);
    return workspace;
  }
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const {
    auto& own = static_cast<Own&>(workspace);
    if (own.between.extent(0) != x.extent(0) || own.between.extent(1) < x.extent(1))
      throw std::logic_error(m_owner + ": the workspace was made for " +
                             std::to_string(own.between.extent(1)) + " vectors of " +
                             std::to_string(own.between.extent(0)) + " rows; there are " +
                             std::to_string(x.extent(1)) + " of " + std::to_string(x.extent(0)));
    const MultiVectorView<Scalar, Space> between(own.between.data(), x.extent(0), x.extent(1));
    m_lower.apply(space, x, between, *own.lower);
    m_upper.apply(space, between, y, *own.upper);
  }
  std::int64_t bytes() const { return m_lower.bytes() + m_upper.bytes(); }
  double flops() const { return m_lower.flops() + m_upper.flops(); }

 private:
  struct Own : Workspace {
    MultiVector<Scalar, Space> between;
    std::unique_ptr<Workspace> lower, upper;
  };

  std::string m_owner;
  Solver m_lower, m_upper;
};

}  // namespace prekond::impl::block_triangular
