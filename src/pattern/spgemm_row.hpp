// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A row of a sparse product by a vector of lanes.
#include <prekond/core/levels.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include <prekond/pattern/column_set.hpp>
#include <prekond/pattern/spgemm.hpp>

#include <cstdint>

namespace prekond::impl::spgemm {

/// C = A B.
template <class Scalar, class Space>
struct Product {
  CsrView<Scalar, Space> a, b;
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> c;
  ProductBlocks blocks = {};
};

/// c_i = sum_k a_ik b_k by one thread, for rows with at most `most` entries: those of B's sorted rows and of
/// C's are passed through side by side.
template <int most, class Scalar, class Space>
KOKKOS_FUNCTION void sum_short_row(const Product<Scalar, Space>& product, int i) {
  const auto &a = product.a, &b = product.b;
  const auto& c = product.c;
  const std::size_t begin = c.row_ptrs(i);
  const int length = static_cast<int>(c.row_ptrs(i + 1) - begin);
  int cols[most];
  Scalar sums[most];
  for (int p = 0; p < length; ++p) {
    cols[p] = c.col_idxs(begin + p);
    sums[p] = Scalar(0);
  }
  for (std::size_t e = a.row_ptrs(i); e < a.row_ptrs(i + 1); ++e) {
    const int k = a.col_idxs(e);
    const Scalar a_ik = a.values(e);
    int p = 0;
    for (std::size_t q = b.row_ptrs(k); q < b.row_ptrs(k + 1); ++q) {
      const int col = b.col_idxs(q);
      while (cols[p] < col) ++p;
      sums[p] += a_ik * b.values(q);
    }
  }
  for (int p = 0; p < length; ++p) c.values(begin + p) = sums[p];
}

/// A block row of C, all of whose operands have whole blocks: A of `rows` x `inner`, B of `inner` x `cols`.
/// The rows of a block row have the same columns and lie one behind the other, so that a block of B is looked
/// up and read once for all of them. `Inner`: `inner`, or 0 for any.
template <class Scalar, class Space, int Inner>
class SumBlockRow {
  using Set = HashedColumnSet<std::uint16_t>;

 public:
  /// Scratch for block rows of up to `capacity` blocks.
  KOKKOS_FUNCTION static std::size_t bytes(int capacity, const ProductBlocks& blocks) {
    const std::size_t all =
        static_cast<std::size_t>(capacity) * (blocks.rows * blocks.cols * sizeof(Scalar) + sizeof(int)) +
        sizeof(int) + Set::num_buckets(capacity) * sizeof(Set::bucket_type);
    return (all + 15) / 16 * 16;
  }

  KOKKOS_FUNCTION SumBlockRow(const Product<Scalar, Space>& product, void* scratch, int capacity)
      : m_product(product),
        m_sums(static_cast<Scalar*>(scratch)),
        m_set(list_of(capacity), reinterpret_cast<std::uint16_t*>(behind_sums(capacity) + capacity + 1),
              Set::num_buckets(capacity)),
        m_reciprocal((std::uint64_t(1) << 32) / product.blocks.cols + 1) {}

  template <class Level>
  KOKKOS_FUNCTION void operator()(const Level& level, std::int64_t block_row) const {
    const auto& a = m_product.a;
    const auto& c = m_product.c;
    const ProductBlocks& blocks = m_product.blocks;
    const std::int64_t i = block_row * blocks.rows;
    const std::size_t begin = c.row_ptrs(i), of_a = a.row_ptrs(i);
    const int length = static_cast<int>(c.row_ptrs(i + 1) - begin);
    const int length_of_a = static_cast<int>(a.row_ptrs(i + 1) - of_a);
    load(level, begin, length);
    for (int e = 0; e < length_of_a; e += inner())
      add(level, of_a + e, length_of_a, a.col_idxs(of_a + e), length);
    level.region([&](int lane) {
      for (int p = lane; p < length * blocks.rows; p += Level::width) c.values(begin + p) = m_sums[p];
    });
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION int inner() const { return Inner > 0 ? Inner : m_product.blocks.inner; }
  KOKKOS_FUNCTION int* behind_sums(int capacity) const {
    return reinterpret_cast<int*>(m_sums + static_cast<std::size_t>(capacity) * m_product.blocks.rows *
                                               m_product.blocks.cols);
  }
  KOKKOS_FUNCTION impl::ColumnList list_of(int capacity) const {
    int* cols = behind_sums(capacity);
    return {cols, nullptr, cols + capacity, capacity};
  }

  /// The blocks of C's row, each in the slot of its place in the row. All are in the list before one is
  /// filed: a lane that looks for a free bucket compares with columns that are there.
  template <class Level>
  KOKKOS_FUNCTION void load(const Level& level, std::size_t begin, int length) const {
    m_set.clear(level);
    const int cols = m_product.blocks.cols, num_blocks = length / cols;
    level.region([&](int lane) {
      for (int p = lane; p < num_blocks; p += Level::width)
        m_set.cols[p] = m_product.c.col_idxs(begin + p * cols);
      for (int p = lane; p < length * m_product.blocks.rows; p += Level::width) m_sums[p] = Scalar(0);
    });
    level.region([&](int lane) {
      for (int p = lane; p < num_blocks; p += Level::width) {
        const int col = m_set.cols[p];
        m_set.file(col, p, m_set.find(col), [](unsigned* word, unsigned expected, unsigned desired) {
          return Kokkos::atomic_compare_exchange(word, expected, desired);
        });
      }
    });
  }

  /// The block of A that begins at `entry`, of rows of `length_of_a` entries, times B's block row from k on.
  /// The columns of that row are distinct, so no two lanes add to one sum.
  template <class Level>
  KOKKOS_FUNCTION void add(const Level& level, std::size_t entry, int length_of_a, int k, int length) const {
    const auto& b = m_product.b;
    const int cols = m_product.blocks.cols, rows = m_product.blocks.rows;
    const Scalar* const a = m_product.a.values.data() + entry;
    const std::size_t begin = b.row_ptrs(k);
    const auto length_of_b = static_cast<unsigned>(b.row_ptrs(k + 1) - begin);
    for (unsigned from = 0; from < length_of_b; from += Level::width)
      level.region([&](int lane) {
        const unsigned q = from + lane;
        if (q >= length_of_b) return;
        const unsigned first = static_cast<unsigned>(q * m_reciprocal >> 32) * cols;
        const Scalar* const b_q = b.values.data() + begin + q;
        Scalar* sum = m_sums + m_set.find(b.col_idxs(begin + first)).slot * cols + (q - first);
        if constexpr (Inner > 0) {
          Scalar column[Inner];
          for (int s = 0; s < Inner; ++s) column[s] = b_q[s * length_of_b];
          for (int r = 0; r < rows; ++r, sum += length) {
            Scalar mine = *sum;
            for (int s = 0; s < Inner; ++s) mine += a[r * length_of_a + s] * column[s];
            *sum = mine;
          }
        } else {
          for (int r = 0; r < rows; ++r, sum += length)
            for (int s = 0; s < inner(); ++s) *sum += a[r * length_of_a + s] * b_q[s * length_of_b];
        }
      });
  }

  const Product<Scalar, Space>& m_product;
  Scalar* m_sums;
  Set m_set;
  std::uint64_t m_reciprocal;
};

}  // namespace prekond::impl::spgemm
