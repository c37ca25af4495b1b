// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/triangular/solve_by_blocks.hpp"

#include <prekond/core/impl/multiply_add.hpp>

#include "core/instantiate.hpp"
#include "precond/triangular/stored_values.hpp"

namespace prekond::impl::triangular {
namespace {

/// One of the two factors, I + N, and the diagonal S of its right-hand side.
template <class Value, class Scalar, class Space>
struct StoredTriangle {
  CsrGraphView<Space> n;
  VectorView<const Value, Space> values;
  VectorView<const Scalar, Space> scale;  ///< empty: S = I

  KOKKOS_FORCEINLINE_FUNCTION Scalar scaled(int i, Scalar x) const {
    return scale.extent(0) > 0 ? scale(i) * x : x;
  }
  /// rest - n_k y for the entry at place k.
  KOKKOS_FORCEINLINE_FUNCTION Scalar subtract(std::size_t k, Scalar y, Scalar rest) const {
    return multiply_add(-static_cast<Scalar>(values(k)), y, rest);
  }
};

/// The solves for the rows of a block, one after another. The latest row's y_j is the last term of a row's
/// sum: the next row waits for one operation with it.
template <class Value, class Scalar, class Space, bool transposed>
struct SolveBlock {
  StoredTriangle<Value, Scalar, Space> lower, upper;
  VectorView<const Scalar, Space> last_scale;  ///< empty: C = I
  VectorView<const int, Space> bounds;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;

  KOKKOS_FUNCTION void operator()(int block) const {
    const int begin = bounds(block), end = bounds(block + 1);
    for (std::size_t v = 0; v < y.extent(1); ++v) {
      solve_lower(begin, end, &x(0, v), &y(0, v));
      if constexpr (transposed)
        solve_transposed(begin, end, &y(0, v));
      else
        solve_upper(begin, end, &y(0, v));
      if (last_scale.extent(0) == 0) continue;
      for (int i = begin; i < end; ++i) y(i, v) *= Kokkos::abs(last_scale(i));
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void solve_lower(int begin, int end, const Scalar* x_v, Scalar* y_v) const {
    for (int i = begin; i < end; ++i) {
      Scalar rest = lower.scaled(i, x_v[i]);
      for (std::size_t k = lower.n.row_ptrs(i); k < lower.n.row_ptrs(i + 1); ++k)
        rest = lower.subtract(k, y_v[lower.n.col_idxs(k)], rest);
      y_v[i] = rest;
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void solve_upper(int begin, int end, Scalar* y_v) const {
    for (int i = end; i-- > begin;) {
      Scalar rest = upper.scaled(i, y_v[i]);
      for (std::size_t k = upper.n.row_ptrs(i + 1); k-- > upper.n.row_ptrs(i);)
        rest = upper.subtract(k, y_v[upper.n.col_idxs(k)], rest);
      y_v[i] = rest;
    }
  }

  /// U = L^T by L's rows. y_i gets its terms in the order of solve_upper, from the last row to row i.
  KOKKOS_FORCEINLINE_FUNCTION void solve_transposed(int begin, int end, Scalar* y_v) const {
    for (int i = begin; i < end; ++i) y_v[i] = upper.scaled(i, y_v[i]);
    for (int j = end; j-- > begin;) {
      const Scalar known = y_v[j];
      for (std::size_t k = lower.n.row_ptrs(j); k < lower.n.row_ptrs(j + 1); ++k) {
        const int i = lower.n.col_idxs(k);
        y_v[i] = lower.subtract(k, known, y_v[i]);
      }
    }
  }
};

/// In one precision of L and U.
template <class Value, class Scalar, class Space>
class StoredBlockwiseSolves : public BlockwiseSolves<Scalar, Space> {
 public:
  StoredBlockwiseSolves(const Space& space, const levels::RowBlocks<Space>& blocks,
                        const Factor<Scalar, Space>& lower, const Factor<Scalar, Space>& upper,
                        const Vector<Scalar, Space>& last_scale, std::vector<std::string>& notes)
      : m_blocks(blocks),
        m_last_scale(last_scale),
        m_transposed(upper.values.extent(0) < static_cast<std::size_t>(upper.graph.nnz())),
        m_lower(store(space, lower, notes)),
        m_upper(store(space, upper, notes)) {}

  void apply(const Space& space, MultiVectorView<const Scalar, Space> x,
             MultiVectorView<Scalar, Space> y) const override {
    if (m_transposed)
      solve<true>(space, x, y);
    else
      solve<false>(space, x, y);
  }

  double flops() const override {
    return 2.0 * double(m_lower.graph.nnz() + m_upper.graph.nnz()) + 4.0 * double(m_lower.graph.num_rows);
  }
  std::int64_t bytes() const override {
    return static_cast<std::int64_t>((m_lower.values.span() + m_upper.values.span()) * sizeof(Value));
  }

 private:
  /// The owner of the arrays of a StoredTriangle.
  struct Stored {
    CsrGraph<Space> graph;
    Vector<Value, Space> values;
    Vector<Scalar, Space> scale;
    StoredTriangle<Value, Scalar, Space> view() const { return {graph, values, scale}; }
  };

  static Stored store(const Space& space, const Factor<Scalar, Space>& factor,
                      std::vector<std::string>& notes) {
    sweeps::Lost lost;
    Stored result{factor.graph, sweeps::stored<Value>(space, factor.values, lost), factor.scale};
    sweeps::note_lost(factor.owner, lost, notes);
    return result;
  }

  template <bool transposed>
  void solve(const Space& space, MultiVectorView<const Scalar, Space> x,
             MultiVectorView<Scalar, Space> y) const {
    using Blocks = Kokkos::RangePolicy<Space, Kokkos::Schedule<Kokkos::Dynamic>, int>;
    Kokkos::parallel_for("prekond::triangular::apply::blocks",
                         Blocks(space, 0, m_blocks.count, Kokkos::ChunkSize(1)),
                         SolveBlock<Value, Scalar, Space, transposed>{m_lower.view(), m_upper.view(),
                                                                      m_last_scale, m_blocks.bounds, x, y});
  }

  levels::RowBlocks<Space> m_blocks;
  Vector<Scalar, Space> m_last_scale;
  bool m_transposed;
  Stored m_lower, m_upper;
};

}  // namespace

template <class Scalar, class Space>
std::shared_ptr<const BlockwiseSolves<Scalar, Space>> make_blockwise_solves(
    const Space& space, const levels::RowBlocks<Space>& blocks, const Factor<Scalar, Space>& lower,
    const Factor<Scalar, Space>& upper, const Vector<Scalar, Space>& last_scale, Storage storage,
    std::vector<std::string>& notes) {
  if constexpr (is_host_space<Space>) {
    using Result = std::shared_ptr<const BlockwiseSolves<Scalar, Space>>;
    return sweeps::with_stored_type<Scalar>(storage, [&]<class Value>(std::type_identity<Value>) -> Result {
      return std::make_shared<const StoredBlockwiseSolves<Value, Scalar, Space>>(space, blocks, lower, upper,
                                                                                 last_scale, notes);
    });
  } else {
    return nullptr;
  }
}

#define PREKOND_BLOCKWISE_SOLVES(Scalar, Space)                                                        \
  template std::shared_ptr<const BlockwiseSolves<Scalar, Space>> make_blockwise_solves<Scalar, Space>( \
      const Space&, const levels::RowBlocks<Space>&, const Factor<Scalar, Space>&,                     \
      const Factor<Scalar, Space>&, const Vector<Scalar, Space>&, Storage, std::vector<std::string>&);
PREKOND_INSTANTIATE(PREKOND_BLOCKWISE_SOLVES)

}  // namespace prekond::impl::triangular
