// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/impl/multiply_add.hpp>

#include "core/instantiate.hpp"
#include "precond/triangular/solve.hpp"
#include "precond/triangular/stored_values.hpp"

namespace prekond::impl::triangular {
namespace {

/// y_i = s_i x_i - sum_j n_ij y_j for the rows of a block, one after another.
template <class Value, class Scalar, class Space, bool backward>
struct SolveBlock {
  CsrGraphView<Space> n;
  VectorView<const Value, Space> values;
  VectorView<const Scalar, Space> scale;
  VectorView<const int, Space> bounds;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;

  KOKKOS_FUNCTION void operator()(int block) const {
    const int begin = bounds(block), end = bounds(block + 1);
    for (std::size_t v = 0; v < y.extent(1); ++v) {
      const Scalar* const xv = &x(0, v);
      Scalar* const yv = &y(0, v);
      if constexpr (backward)
        for (int i = end; i-- > begin;) solve_row(i, xv, yv);
      else
        for (int i = begin; i < end; ++i) solve_row(i, xv, yv);
    }
  }

  /// The latest row's y_j is the last term: the next row waits for one operation with it.
  KOKKOS_FORCEINLINE_FUNCTION void solve_row(int i, const Scalar* xv, Scalar* yv) const {
    Scalar rest = scale.extent(0) > 0 ? scale(i) * xv[i] : xv[i];
    const std::size_t first = n.row_ptrs(i), end = n.row_ptrs(i + 1);
    const auto subtract = [&](std::size_t k) {
      const int col = n.col_idxs(k);
      if (col < n.num_rows) rest = multiply_add(-static_cast<Scalar>(values(k)), yv[col], rest);
    };
    if constexpr (backward)
      for (std::size_t k = end; k-- > first;) subtract(k);
    else
      for (std::size_t k = first; k < end; ++k) subtract(k);
    yv[i] = rest;
  }
};

/// In one precision of N.
template <class Value, class Scalar, class Space>
class BlockSolve : public Solve<Scalar, Space> {
 public:
  BlockSolve(const Space& space, const Factor<Scalar, Space>& factor, const levels::RowBlocks<Space>& blocks,
             Storage storage, std::vector<std::string>& notes)
      : m_factor(factor), m_blocks(blocks) {
    sweeps::Lost lost;
    m_values = sweeps::stored<Value>(space, factor.values, lost);
    sweeps::note_lost(factor.owner, lost, notes);
    if (storage != Storage::full) m_factor.values = {};
  }

  std::unique_ptr<Workspace> make_workspace(const Space&, int) const override {
    return std::make_unique<Workspace>();
  }

  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace&) const override {
    if (m_factor.which == Triangle::upper)
      solve<true>(space, x, y);
    else
      solve<false>(space, x, y);
  }

  std::int64_t bytes() const override {
    return m_factor.values.span() > 0 ? 0 : static_cast<std::int64_t>(m_values.span() * sizeof(Value));
  }
  double flops() const override {
    return 2.0 * double(m_values.extent(0)) + 2.0 * double(m_factor.graph.num_rows);
  }

 private:
  template <bool backward>
  void solve(const Space& space, MultiVectorView<const Scalar, Space> x,
             MultiVectorView<Scalar, Space> y) const {
    using Blocks = Kokkos::RangePolicy<Space, Kokkos::Schedule<Kokkos::Dynamic>, int>;
    Kokkos::parallel_for(
        "prekond::triangular::apply::blocks", Blocks(space, 0, m_blocks.count, Kokkos::ChunkSize(1)),
        SolveBlock<Value, Scalar, Space, backward>{CsrGraphView<Space>(m_factor.graph), m_values,
                                                   m_factor.scale, m_blocks.bounds, x, y});
  }

  Factor<Scalar, Space> m_factor;
  levels::RowBlocks<Space> m_blocks;
  Vector<Value, Space> m_values;
};

}  // namespace

template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_block_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                             const levels::RowBlocks<Space>& blocks, Storage storage,
                                             std::vector<std::string>& notes) {
  if constexpr (is_host_space<Space>) {
    using Result = SolvePointer<Scalar, Space>;
    return sweeps::with_stored_type<Scalar>(storage, [&]<class Value>(std::type_identity<Value>) -> Result {
      return std::make_shared<const BlockSolve<Value, Scalar, Space>>(space, factor, blocks, storage, notes);
    });
  } else {
    return nullptr;
  }
}

#define PREKOND_BLOCK_SOLVE(Scalar, Space)                                                  \
  template SolvePointer<Scalar, Space> make_block_solve<Scalar, Space>(                     \
      const Space&, const Factor<Scalar, Space>&, const levels::RowBlocks<Space>&, Storage, \
      std::vector<std::string>&);
PREKOND_INSTANTIATE(PREKOND_BLOCK_SOLVE)

}  // namespace prekond::impl::triangular
