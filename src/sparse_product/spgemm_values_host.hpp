// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The values of a sparse product on a host.
#include <prekond/sparse_product/spgemm.hpp>
#include "core/concurrency.hpp"

#include "sparse_product/spgemm_row.hpp"

#include <algorithm>
#include <cstdint>

namespace prekond::impl::spgemm {

inline constexpr int rows_per_fetch = 64;  ///< of a host thread

/// Block rows by threads, each with the place of every column in the row at hand. `Cols` and `Inner`: those
/// of the blocks, or 0 for any.
template <class Scalar, class Space, int Cols, int Inner>
struct SumRowsByThread {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  Product<Scalar, Space> product;
  VectorView<int, Space> places;  ///< b.num_cols a thread
  VectorView<std::int64_t, Space> next;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    int* place = places.data() +
                 static_cast<std::size_t>(team.league_rank()) * static_cast<std::size_t>(product.b.num_cols);
    const ProductBlocks& blocks = product.blocks;
    const std::int64_t block_rows = product.a.num_rows / blocks.rows;
    constexpr std::int64_t group = rows_per_fetch;
    while (true) {
      const std::int64_t first = Kokkos::atomic_fetch_add(&next(0), group);
      if (first >= block_rows) break;
      for (std::int64_t row = first; row < first + group && row < block_rows; ++row)
        if (Cols == 1 && Inner == 1 && blocks.rows == 1)
          do_row(place, row);
        else
          do_block_row(place, row * blocks.rows);
    }
  }

  KOKKOS_FUNCTION void do_row(int* place, std::int64_t i) const {
    const auto &a = product.a, &b = product.b;
    const auto& c = product.c;
    const std::size_t begin = c.row_ptrs(i);
    const auto length = static_cast<int>(c.row_ptrs(i + 1) - begin);
    const int* const cols = c.col_idxs.data() + begin;
    Scalar* const sums = c.values.data() + begin;
    for (int p = 0; p < length; ++p) {
      place[cols[p]] = p;
      sums[p] = Scalar(0);
    }
    for (std::size_t e = a.row_ptrs(i); e < a.row_ptrs(i + 1); ++e) {
      const int k = a.col_idxs(e);
      const Scalar a_ik = a.values(e);
      for (std::size_t q = b.row_ptrs(k); q < b.row_ptrs(k + 1); ++q)
        sums[place[b.col_idxs(q)]] += a_ik * b.values(q);
    }
  }

  KOKKOS_FUNCTION int cols_of_block() const { return Cols > 0 ? Cols : product.blocks.cols; }

  /// The rows from i on, which have the same columns: of a block of B only the first one is looked up.
  KOKKOS_FUNCTION void do_block_row(int* place, std::int64_t i) const {
    const auto& a = product.a;
    const auto& c = product.c;
    const ProductBlocks& blocks = product.blocks;
    const std::size_t begin = c.row_ptrs(i), of_a = a.row_ptrs(i);
    const std::size_t length = c.row_ptrs(i + 1) - begin, length_of_a = a.row_ptrs(i + 1) - of_a;
    for (std::size_t p = 0; p < length; p += cols_of_block())
      place[c.col_idxs(begin + p)] = static_cast<int>(p);
    for (std::size_t p = 0; p < length * blocks.rows; ++p) c.values(begin + p) = Scalar(0);
    for (std::size_t e = 0; e < length_of_a; e += blocks.inner)
      add_block(place, of_a + e, length_of_a, c.values.data() + begin, length);
  }

  /// The block of A that begins at `entry`, of rows of `length_of_a` entries, times B's block row.
  KOKKOS_FUNCTION void add_block(const int* place, std::size_t entry, std::size_t length_of_a, Scalar* sums,
                                 std::size_t length) const {
    const auto& b = product.b;
    const int rows = product.blocks.rows, inner = product.blocks.inner, cols = cols_of_block();
    const int k = product.a.col_idxs(entry);
    const std::size_t begin = b.row_ptrs(k), length_of_b = b.row_ptrs(k + 1) - begin;
    const Scalar* const of_a = product.a.values.data() + entry;
    for (std::size_t q = 0; q < length_of_b; q += cols) {
      const Scalar* const of_b = b.values.data() + begin + q;
      Scalar* const to = sums + place[b.col_idxs(begin + q)];
      for (int r = 0; r < rows; ++r)
        add_row(of_a + r * length_of_a, inner, of_b, length_of_b, to + r * length);
    }
  }

  /// sum_c += sum_s a_s b_sc, in the order of s.
  KOKKOS_FUNCTION void add_row(const Scalar* a, int inner, const Scalar* b, std::size_t length_of_b,
                               Scalar* to) const {
    if constexpr (Cols > 0 && Inner > 0) {
      Scalar sums[Cols];
      for (int c = 0; c < Cols; ++c) sums[c] = to[c];
      for (int s = 0; s < Inner; ++s)
        for (int c = 0; c < Cols; ++c) sums[c] += a[s] * b[s * length_of_b + c];
      for (int c = 0; c < Cols; ++c) to[c] = sums[c];
    } else {
      for (int s = 0; s < inner; ++s)
        for (int c = 0; c < cols_of_block(); ++c) to[c] += a[s] * b[s * length_of_b + c];
    }
  }
};

template <int Cols, int Inner, class Scalar, class Space>
void sum_rows_by_threads(const Space& space, const Product<Scalar, Space>& product) {
  const std::int64_t block_rows = product.a.num_rows / product.blocks.rows;
  const int threads =
      static_cast<int>(std::min<std::int64_t>(concurrency(space), block_rows / rows_per_fetch + 1));
  const auto places = allocate<Vector<int, Space>>(space, "prekond::spgemm::places",
                                                   static_cast<std::size_t>(threads) * product.b.num_cols);
  const auto next = allocate_zero<Vector<std::int64_t, Space>>(space, "prekond::spgemm::next", 1);
  using Kernel = SumRowsByThread<Scalar, Space, Cols, Inner>;
  Kokkos::parallel_for("prekond::spgemm::sum_rows", typename Kernel::Policy(space, threads, 1),
                       Kernel{product, places, next});
  space.fence("prekond::spgemm::sum_rows");  // the arrays go away
}

template <class Scalar, class Space>
void sum_rows_on_host(const Space& space, const Product<Scalar, Space>& product) {
  const auto are = [&](int cols, int inner) {
    return product.blocks.cols == cols && product.blocks.inner == inner;
  };
  if (are(1, 1)) return sum_rows_by_threads<1, 1>(space, product);
  if (are(3, 3)) return sum_rows_by_threads<3, 3>(space, product);
  if (are(6, 3)) return sum_rows_by_threads<6, 3>(space, product);
  if (are(6, 6)) return sum_rows_by_threads<6, 6>(space, product);
  sum_rows_by_threads<0, 0>(space, product);
}

}  // namespace prekond::impl::spgemm
