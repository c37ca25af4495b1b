// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A row of a sparse product by a vector of lanes.
#include <prekond/core/levels.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include <prekond/pattern/column_set.hpp>

#include <cstdint>

namespace prekond::impl::spgemm {

/// C = A B.
template <class Scalar, class Space>
struct Product {
  CsrView<Scalar, Space> a, b;
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> c;
  int block = 1;  ///< B's and C's rows have whole blocks of so many neighbouring columns
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

/// c_i = sum_k a_ik b_k, its columns in a hash table and its sums beside it, in scratch. Of blocks of columns
/// the first ones are in the table.
template <class Scalar, class Space>
class SumRow {
  using Set = HashedColumnSet<std::uint16_t>;

 public:
  /// Scratch for rows of up to `capacity` blocks of entries.
  KOKKOS_FUNCTION static std::size_t bytes(int capacity, int block) {
    const std::size_t all = static_cast<std::size_t>(capacity) * (block * sizeof(Scalar) + sizeof(int)) +
                            sizeof(int) + Set::num_buckets(capacity) * sizeof(Set::bucket_type);
    return (all + 15) / 16 * 16;
  }

  KOKKOS_FUNCTION SumRow(const Product<Scalar, Space>& product, void* scratch, int capacity)
      : m_product(product),
        m_sums(static_cast<Scalar*>(scratch)),
        m_set(list_of(behind_sums(capacity), capacity),
              reinterpret_cast<std::uint16_t*>(static_cast<int*>(behind_sums(capacity)) + capacity + 1),
              Set::num_buckets(capacity)),
        m_reciprocal((std::uint64_t(1) << 32) / product.block + 1) {}

  template <class Level>
  KOKKOS_FUNCTION void operator()(const Level& level, int i) const {
    const auto& a = m_product.a;
    const std::size_t begin = m_product.c.row_ptrs(i);
    const int length = static_cast<int>(m_product.c.row_ptrs(i + 1) - begin);
    load(level, begin, length);
    for (std::size_t e = a.row_ptrs(i); e < a.row_ptrs(i + 1); ++e) add(level, a.values(e), a.col_idxs(e));
    level.region([&](int lane) {
      for (int p = lane; p < length; p += Level::width) m_product.c.values(begin + p) = m_sums[p];
    });
  }

 private:
  KOKKOS_FUNCTION void* behind_sums(int capacity) const {
    return m_sums + static_cast<std::size_t>(capacity) * m_product.block;
  }
  KOKKOS_FUNCTION static impl::ColumnList list_of(void* behind_sums, int capacity) {
    int* cols = static_cast<int*>(behind_sums);
    return {cols, nullptr, cols + capacity, capacity};
  }

  /// p / block, exact for p * block < 2^32.
  KOKKOS_FORCEINLINE_FUNCTION int block_of(unsigned p) const {
    return static_cast<int>(p * m_reciprocal >> 32);
  }

  /// The blocks of C's row, each in the slot of its place in the row. All are in the list before one is
  /// filed: a lane that looks for a free bucket compares with columns that are there.
  template <class Level>
  KOKKOS_FUNCTION void load(const Level& level, std::size_t begin, int length) const {
    m_set.clear(level);
    const int block = m_product.block, blocks = length / block;
    level.region([&](int lane) {
      for (int p = lane; p < blocks; p += Level::width)
        m_set.cols[p] = m_product.c.col_idxs(begin + p * block);
      for (int p = lane; p < length; p += Level::width) m_sums[p] = Scalar(0);
    });
    level.region([&](int lane) {
      for (int p = lane; p < blocks; p += Level::width) {
        const int col = m_set.cols[p];
        m_set.file(col, p, m_set.find(col), [](unsigned* word, unsigned expected, unsigned desired) {
          return Kokkos::atomic_compare_exchange(word, expected, desired);
        });
      }
    });
  }

  /// a_ik b_k: its columns are distinct, so no two lanes add to one sum.
  template <class Level>
  KOKKOS_FUNCTION void add(const Level& level, const Scalar& a_ik, int k) const {
    const auto& b = m_product.b;
    const int block = m_product.block;
    const std::size_t begin = b.row_ptrs(k);
    const auto length = static_cast<unsigned>(b.row_ptrs(k + 1) - begin);
    for (unsigned from = 0; from < length; from += Level::width)
      level.region([&](int lane) {
        const unsigned q = from + lane;
        if (q >= length) return;
        const unsigned first = block == 1 ? q : block_of(q) * block;
        m_sums[m_set.find(b.col_idxs(begin + first)).slot * block + (q - first)] +=
            a_ik * b.values(begin + q);
      });
  }

  const Product<Scalar, Space>& m_product;
  Scalar* m_sums;
  Set m_set;
  std::uint64_t m_reciprocal;
};

}  // namespace prekond::impl::spgemm
