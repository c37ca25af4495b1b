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
};

/// c_i = sum_k a_ik b_k, its columns in a hash table and its sums beside it, in scratch.
template <class Scalar, class Space>
class SumRow {
  using Set = HashedColumnSet<std::uint16_t>;

 public:
  /// Scratch for rows of up to `capacity` entries.
  KOKKOS_FUNCTION static std::size_t bytes(int capacity) {
    const std::size_t all = static_cast<std::size_t>(capacity) * (sizeof(Scalar) + sizeof(int)) +
                            sizeof(int) + Set::num_buckets(capacity) * sizeof(Set::bucket_type);
    return (all + 15) / 16 * 16;
  }

  KOKKOS_FUNCTION SumRow(const Product<Scalar, Space>& product, void* scratch, int capacity)
      : m_product(product),
        m_sums(static_cast<Scalar*>(scratch)),
        m_set(list_of(m_sums + capacity, capacity),
              reinterpret_cast<std::uint16_t*>(reinterpret_cast<int*>(m_sums + capacity) + capacity + 1),
              Set::num_buckets(capacity)) {}

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
  KOKKOS_FUNCTION static impl::ColumnList list_of(void* behind_sums, int capacity) {
    int* cols = static_cast<int*>(behind_sums);
    return {cols, nullptr, cols + capacity, capacity};
  }

  /// The columns of C's row, each in the slot of its place in the row. All are in the list before one is
  /// filed: a lane that looks for a free bucket compares with columns that are there.
  template <class Level>
  KOKKOS_FUNCTION void load(const Level& level, std::size_t begin, int length) const {
    m_set.clear(level);
    level.region([&](int lane) {
      for (int p = lane; p < length; p += Level::width) {
        m_set.cols[p] = m_product.c.col_idxs(begin + p);
        m_sums[p] = Scalar(0);
      }
    });
    level.region([&](int lane) {
      for (int p = lane; p < length; p += Level::width) {
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
    const std::size_t end = b.row_ptrs(k + 1);
    for (std::size_t from = b.row_ptrs(k); from < end; from += Level::width)
      level.region([&](int lane) {
        const std::size_t q = from + lane;
        if (q < end) m_sums[m_set.find(b.col_idxs(q)).slot] += a_ik * b.values(q);
      });
  }

  const Product<Scalar, Space>& m_product;
  Scalar* m_sums;
  Set m_set;
};

}  // namespace prekond::impl::spgemm
