// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The sweeps of Gauss-Seidel by blocks.
#include <prekond/precond/multicolor.hpp>
#include <prekond/precond/triangular_solver.hpp>
#include "matrix/bcsr_operator.hpp"

#include "precond/relaxation/block_gs_kernels.hpp"
#include "precond/triangular/diagonal_blocks.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace prekond::impl::block_gs {

template <class Scalar, class Space>
struct SweepWorkspace : Workspace {
  MultiVector<Scalar, Space> source, rest, other;
  std::unique_ptr<Workspace> forward, backward;
};

/// The sweeps, as half sweeps in turn: x <- (I + D^-1 L)^-1 (D^-1 b - D^-1 U x), or with L and U exchanged.
template <class Scalar, class Space>
class Sweeps {
 public:
  using Blocks = BcsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  using Const = MultiVectorView<const Scalar, Space>;
  using Vectors = MultiVectorView<Scalar, Space>;

  Sweeps(const Space& space, const std::string& owner, const Pattern<Space>& pattern,
         const MulticolorBlockGsOptions& options, const Vector<Scalar, Space>& inverse,
         const Vector<Scalar, Space>& lower, const Vector<Scalar, Space>& upper)
      : m_forward(owner, Triangle::lower, by_levels()), m_backward(owner, Triangle::upper, by_levels()) {
    const int b = pattern.block_size;
    const auto blocks = [&](const CsrGraph<Space>& graph, const Vector<Scalar, Space>& values) {
      Blocks result(b, BlockOrder::by_columns, graph.num_rows, graph.num_rows, graph.row_ptrs, graph.col_idxs,
                    values, pattern.padding);
      result.longest_row = pattern.longest_row;
      return result;
    };
    m_lower = blocks(pattern.lower, lower);
    m_upper = blocks(pattern.upper, upper);
    m_scale = triangular::diagonal_blocks(space, m_lower);
    m_scale.values = inverse;
    Report unused;
    const BlockShape shape{b, pattern.padding};
    m_forward.symbolic(space, pattern.lower, pattern.forward, shape);
    m_forward.numeric(space, lower, {}, unused);
    m_backward.symbolic(space, pattern.upper, pattern.backward, shape);
    m_backward.numeric(space, upper, {}, unused);
    for (int sweep = 0; sweep < options.sweeps; ++sweep) {
      if (options.direction != SweepDirection::backward) m_halves.push_back(true);
      if (options.direction != SweepDirection::forward) m_halves.push_back(false);
    }
  }

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const {
    using Owned = MultiVector<Scalar, Space>;
    const std::int64_t n = m_lower.num_rows();
    auto workspace = std::make_unique<SweepWorkspace<Scalar, Space>>();
    const bool further = m_halves.size() > 1;
    workspace->source = allocate<Owned>(space, "prekond::block_gs::apply::source", n, num_vectors);
    workspace->rest = allocate<Owned>(space, "prekond::block_gs::apply::rest", further ? n : 0, num_vectors);
    workspace->other =
        allocate<Owned>(space, "prekond::block_gs::apply::other", further ? n : 0, num_vectors);
    workspace->forward = m_forward.make_workspace(space, num_vectors);
    workspace->backward = m_backward.make_workspace(space, num_vectors);
    return workspace;
  }

  void apply(const Space& space, Const x, Vectors y, Workspace& workspace) const {
    auto& own = static_cast<SweepWorkspace<Scalar, Space>&>(workspace);
    if (own.source.extent(0) != x.extent(0) || own.source.extent(1) < x.extent(1))
      throw std::logic_error("multicolor_block_gs: the workspace was made for " +
                             std::to_string(own.source.extent(1)) + " vectors of " +
                             std::to_string(own.source.extent(0)) + " rows; there are " +
                             std::to_string(x.extent(1)) + " of " + std::to_string(x.extent(0)));
    const auto columns = [&](const MultiVector<Scalar, Space>& all) {
      return Vectors(all.data(), all.extent(0), x.extent(1));
    };
    const Vectors source = columns(own.source);
    bcsr_recurrence<Scalar, Space>(space, {}, m_scale, x, {}, source);
    Const last{};
    const int halves = static_cast<int>(m_halves.size());
    for (int k = 0; k < halves; ++k) {
      const bool is_forward = m_halves[k];
      const Vectors to = (halves - 1 - k) % 2 == 0 ? y : columns(own.other);
      Const from = source;
      if (k > 0) {
        const Vectors rest = columns(own.rest);
        bcsr_recurrence<Scalar, Space>(space, {.product = -1, .source = 1}, is_forward ? m_upper : m_lower,
                                       last, source, rest);
        from = rest;
      }
      if (is_forward)
        m_forward.apply(space, from, to, *own.forward);
      else
        m_backward.apply(space, from, to, *own.backward);
      last = to;
    }
  }

  std::int64_t bytes() const {
    return static_cast<std::int64_t>((m_lower.values.span() + m_upper.values.span()) * sizeof(Scalar)) +
           m_scale.bytes() + m_forward.bytes() + m_backward.bytes();
  }
  double flops() const {
    double sum = 2.0 * static_cast<double>(m_scale.values.extent(0));
    for (std::size_t k = 0; k < m_halves.size(); ++k)
      sum += m_halves[k] ? m_forward.flops() + (k > 0 ? m_backward.flops() : 0)
                         : m_backward.flops() + (k > 0 ? m_forward.flops() : 0);
    return sum;
  }

 private:
  static TriangularOptions by_levels() { return {.method = TriangularMethod::levels}; }

  Blocks m_lower, m_upper, m_scale;
  TriangularSolver<Scalar, Space> m_forward, m_backward;
  std::vector<bool> m_halves;  ///< forward?
};

}  // namespace prekond::impl::block_gs
