// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The two solves that a factorisation is applied by.
#include <prekond/pattern/fill.hpp>
#include <prekond/precond/triangular_solver.hpp>

#include <memory>
#include <stdexcept>
#include <string>

namespace prekond::impl::triangular {

/// y = (I + U)^-1 S_U (I + L)^-1 S_L x
template <class Scalar, class Space>
class SolvePair {
 public:
  using Solver = TriangularSolver<Scalar, Space>;

  SolvePair(const std::string& owner, const TriangularOptions& options)
      : m_owner(owner), m_lower(owner, Triangle::lower, options), m_upper(owner, Triangle::upper, options) {}

  Solver& lower() { return m_lower; }
  Solver& upper() { return m_upper; }
  const Solver& lower() const { return m_lower; }

  /// `levels` are those of L, and in reverse those of U where the pattern is symmetric. Fences.
  void symbolic(const Space& space, const FillPattern<Space>& pattern, const LevelSchedule<Space>& levels,
                const BlockShape& blocks = {}) {
    m_lower.symbolic(space, pattern.lower, levels, blocks);
    if (pattern.is_symmetric)
      m_upper.symbolic(space, pattern.upper, reversed_levels<Space>(space, levels), blocks);
    else
      m_upper.symbolic(space, pattern.upper, blocks);
  }
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const {
    auto workspace = std::make_unique<Own>();
    workspace->between = allocate<MultiVector<Scalar, Space>>(space, "prekond::triangular::between",
                                                              m_lower.num_rows(), num_vectors);
    workspace->lower = m_lower.make_workspace(space, num_vectors);
    workspace->upper = m_upper.make_workspace(space, num_vectors);
    return workspace;
  }
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const {
    auto* own = dynamic_cast<Own*>(&workspace);
    if (!own || own->between.extent(0) != x.extent(0) || own->between.extent(1) < x.extent(1))
      throw std::logic_error(m_owner + ": the workspace was made for another matrix or fewer vectors");
    const MultiVectorView<Scalar, Space> between(own->between.data(), x.extent(0), x.extent(1));
    m_lower.apply(space, x, between, *own->lower);
    m_upper.apply(space, between, y, *own->upper);
  }
  std::int64_t bytes() const { return m_lower.bytes() + m_upper.bytes(); }
  double flops() const { return m_lower.flops() + m_upper.flops(); }

 protected:
  std::string m_owner;
  Solver m_lower, m_upper;

 private:
  struct Own : Workspace {
    MultiVector<Scalar, Space> between;
    std::unique_ptr<Workspace> lower, upper;
  };
};

}  // namespace prekond::impl::triangular
