// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The incomplete sparse approximate inverse of a triangle of blocks.
#include <prekond/core/impl/multiply_add.hpp>

#include "core/row_teams.hpp"
#include "precond/triangular/solve.hpp"

namespace prekond::impl::triangular {

/// N' on N's pattern S, with ((I - N') (I + N))_ij = I_ij for all blocks (i, j) in S, a vector of lanes a
/// block row. From the diagonal outwards, n'_ij = n_ij - sum_k n'_ik n_kj over the k between i and j with (i,
/// k) in S; `inverse` begins as N.
template <class Scalar, class Space>
struct InvertBlockRows {
  using Rows = RowTeams<Space>;
  CsrGraphView<Space> graph;
  int b;
  bool is_lower;
  VectorView<const Scalar, Space> n;
  VectorView<Scalar, Space> inverse;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{graph.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t first = graph.row_ptrs(i), end = graph.row_ptrs(i + 1);
      for (std::size_t step = 0; step < end - first; ++step)
        subtract(team, i, is_lower ? end - 1 - step : first + step);
    });
  }

  /// n'_ij -= n'_ik n_kj for the columns j of row k, `own` being the place of (i, k).
  KOKKOS_FUNCTION void subtract(const typename Rows::Member& team, std::int64_t i, std::size_t own) const {
    const int k = graph.col_idxs(own), entries = b * b;
    const std::size_t first = graph.row_ptrs(k);
    const int length = static_cast<int>(graph.row_ptrs(k + 1) - first);
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, length * entries), [&](int e) {
      const std::size_t other = first + static_cast<std::size_t>(e / entries);
      const std::size_t place = graph.first_from(i, graph.col_idxs(other));
      if (place == graph.row_ptrs(i + 1) || graph.col_idxs(place) != graph.col_idxs(other)) return;
      const int p = e % b, q = e % entries / b;
      Scalar sum = inverse(place * entries + q * b + p);
      for (int r = 0; r < b; ++r)
        sum = multiply_add(-inverse(own * entries + r * b + p), n(other * entries + q * b + r), sum);
      inverse(place * entries + q * b + p) = sum;
    });
  }
};

/// The factor I + N' whose first sweep is the product with the approximate inverse I - N' of I + N.
template <class Scalar, class Space>
Factor<Scalar, Space> block_isai(const Space& space, const Factor<Scalar, Space>& factor) {
  Factor<Scalar, Space> result = factor;
  result.values =
      allocate<Vector<Scalar, Space>>(space, "prekond::triangular::block_isai", factor.values.extent(0));
  result.owns_values = true;
  Kokkos::deep_copy(space, result.values, factor.values);
  Kokkos::parallel_for(
      "prekond::triangular::numeric::block_isai",
      RowTeams<Space>::policy(space, factor.graph.num_rows, factor.graph.nnz() * factor.blocks.entries()),
      InvertBlockRows<Scalar, Space>{factor.graph, factor.blocks.size, factor.which == Triangle::lower,
                                     factor.values, result.values});
  return result;
}

/// Null, with the reason in `refusal`, where the inverse is not finite. Fences.
template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_block_isai_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                                  std::string& refusal) {
  const auto solve =
      make_jacobi_solve<Scalar, Space>(space, block_isai(space, factor), {.sweeps = 1}, refusal);
  if (!solve) refusal = "isai was refused: the inverse is not finite";
  return solve;
}

}  // namespace prekond::impl::triangular
