// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A row of a sparse product by a vector of lanes.
#include <prekond/matrix/csr_matrix.hpp>
#include <prekond/sparse_product/spgemm.hpp>
#include "core/lane_group.hpp"

#include "sparse_product/column_table.hpp"

#include <cstdint>
#include <limits>

namespace prekond::impl::spgemm {

/// C = A B.
template <class Scalar, class Space>
struct Product {
  CsrView<Scalar, Space> a, b;
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> c;
  ProductBlocks blocks = {};
  /// Rows for which A has more entries are done by sum_long_rows.
  std::size_t most_of_a = std::numeric_limits<std::size_t>::max();

  KOKKOS_FUNCTION bool leaves_out(std::int64_t i) const {
    return a.row_ptrs(i + 1) - a.row_ptrs(i) > most_of_a;
  }
};

/// c_i = sum_k a_ik b_k by one thread, for rows with at most `most` entries: each product's column is
/// compared with all of C's, so that these and the sums have fixed places, in registers.
template <int most, class Scalar, class Space>
KOKKOS_FUNCTION void sum_few(const Product<Scalar, Space>& product, int i, int length) {
  const auto &a = product.a, &b = product.b;
  const auto& c = product.c;
  const std::size_t begin = c.row_ptrs(i);
  int cols[most];
  Scalar sums[most];
  for (int p = 0; p < most; ++p) {
    cols[p] = p < length ? c.col_idxs(begin + p) : -1;
    sums[p] = Scalar(0);
  }
  for (std::size_t e = a.row_ptrs(i); e < a.row_ptrs(i + 1); ++e) {
    const int k = a.col_idxs(e);
    const Scalar a_ik = a.values(e);
    for (std::size_t q = b.row_ptrs(k); q < b.row_ptrs(k + 1); ++q) {
      const int col = b.col_idxs(q);
      const Scalar b_kj = b.values(q);
      for (int p = 0; p < most; ++p)
        if (cols[p] == col) sums[p] += a_ik * b_kj;
    }
  }
  for (int p = 0; p < most; ++p)
    if (p < length) c.values(begin + p) = sums[p];
}

/// The same for up to 16 entries, in as many places as the row needs.
template <class Scalar, class Space>
KOKKOS_FUNCTION void sum_short_row(const Product<Scalar, Space>& product, int i) {
  const int length = static_cast<int>(product.c.row_ptrs(i + 1) - product.c.row_ptrs(i));
  if (length <= 4)
    sum_few<4>(product, i, length);
  else if (length <= 10)
    sum_few<10>(product, i, length);
  else
    sum_few<16>(product, i, length);
}

/// A block row of C, all of whose operands have whole blocks: A of `rows` x `inner`, B of `inner` x `cols`.
/// The rows of a block row have the same columns and follow one another, so that a block of B is looked
/// up and read once for all of them. `Inner`, `Cols`: those of the blocks, or 0 for any.
///
/// A few blocks of A's row at a time are brought to scratch, with where B's rows begin, and B's entries for
/// several of them are under way at once: else each block would wait for three reads, one after the other.
template <class Scalar, class Space, int Inner, int Cols>
class SumBlockRow {
  static constexpr int batch = Inner == 1 ? 16 : 8;  ///< blocks of A in scratch

 public:
  /// Scratch for block rows of up to `capacity` blocks.
  KOKKOS_FUNCTION static std::size_t bytes(int capacity, const ProductBlocks& blocks) {
    const std::size_t all = (num_sums(capacity, blocks) + num_staged(blocks)) * sizeof(Scalar) +
                            batch * (sizeof(std::size_t) + sizeof(unsigned)) +
                            ColumnTable::num_buckets(capacity) * (sizeof(int) + sizeof(std::uint16_t));
    return (all + 15) / 16 * 16;
  }

  KOKKOS_FUNCTION SumBlockRow(const Product<Scalar, Space>& product, void* scratch, int capacity)
      : m_product(product),
        m_begins(static_cast<std::size_t*>(scratch)),
        m_sums(reinterpret_cast<Scalar*>(m_begins + batch)),
        m_staged(m_sums + num_sums(capacity, product.blocks)),
        m_lengths(reinterpret_cast<unsigned*>(m_staged + num_staged(product.blocks))),
        m_table(reinterpret_cast<int*>(m_lengths + batch), ColumnTable::num_buckets(capacity)),
        m_slots(reinterpret_cast<std::uint16_t*>(m_table.end())) {}

  template <class LaneGroup>
  KOKKOS_FUNCTION void operator()(const LaneGroup& lane_group, std::int64_t block_row) const {
    const auto& c = m_product.c;
    const int rows = m_product.blocks.rows;
    const std::int64_t i = block_row * rows;
    const std::size_t begin = c.row_ptrs(i), of_a = m_product.a.row_ptrs(i);
    const int length = static_cast<int>(c.row_ptrs(i + 1) - begin);
    const int length_of_a = static_cast<int>(m_product.a.row_ptrs(i + 1) - of_a);
    load(lane_group, begin, length);
    for (int e = 0; e < length_of_a; e += batch * inner()) {
      const int left = (length_of_a - e) / inner(), count = left < batch ? left : batch;
      stage(lane_group, of_a + e, length_of_a, count);
      add(lane_group, count, length);
    }
    lane_group.region([&](int lane) {
      for (int p = lane; p < length * rows; p += LaneGroup::width) c.values(begin + p) = m_sums[p];
    });
  }

 private:
  /// The share of a lane in a block row of B: a column of one of its blocks.
  struct Entry {
    int block = 0;  ///< of the batch
    int col = -1;   ///< of the block, -1: none
    int shift = 0;  ///< of the column from that
    std::size_t place = 0;
    Scalar column[Inner > 0 ? Inner : 1];
  };

  KOKKOS_FUNCTION static std::size_t num_sums(int capacity, const ProductBlocks& blocks) {
    return static_cast<std::size_t>(capacity) * blocks.rows * blocks.cols;
  }
  KOKKOS_FUNCTION static std::size_t num_staged(const ProductBlocks& blocks) {
    return static_cast<std::size_t>(batch) * blocks.rows * blocks.inner;
  }
  KOKKOS_FORCEINLINE_FUNCTION int inner() const { return Inner > 0 ? Inner : m_product.blocks.inner; }
  KOKKOS_FORCEINLINE_FUNCTION int cols() const { return Cols > 0 ? Cols : m_product.blocks.cols; }

  /// The blocks of C's row, each with the number of its place in the row; and sums of zero.
  template <class LaneGroup>
  KOKKOS_FUNCTION void load(const LaneGroup& lane_group, std::size_t begin, int length) const {
    lane_group.region([&](int lane) {
      for (int b = lane; b < m_table.size(); b += LaneGroup::width) m_table.clear(b);
      for (int p = lane; p < length * m_product.blocks.rows; p += LaneGroup::width) m_sums[p] = Scalar(0);
    });
    lane_group.region([&](int lane) {
      for (int p = lane; p * cols() < length; p += LaneGroup::width) {
        unsigned bucket = 0;
        m_table.insert(m_product.c.col_idxs(begin + p * cols()), bucket);
        m_slots[bucket] = static_cast<std::uint16_t>(p);
      }
    });
  }

  /// The `count` blocks of A from `entry` on, of rows of `length_of_a` entries, and where B's rows are.
  template <class LaneGroup>
  KOKKOS_FUNCTION void stage(const LaneGroup& lane_group, std::size_t entry, int length_of_a,
                             int count) const {
    const auto& b = m_product.b;
    const Scalar* const a = m_product.a.values.data() + entry;
    lane_group.region([&](int lane) {
      for (int t = lane; t < count; t += LaneGroup::width) {
        const int k = m_product.a.col_idxs(entry + t * inner());
        m_begins[t] = b.row_ptrs(k);
        m_lengths[t] = static_cast<unsigned>(b.row_ptrs(k + 1) - m_begins[t]);
      }
      for (int r = 0; r < m_product.blocks.rows; ++r)
        for (int p = lane; p < count * inner(); p += LaneGroup::width)
          m_staged[r * batch * inner() + p] = a[r * length_of_a + p];
    });
  }

  /// The staged blocks times B's block rows, one after the other: several rows under way where each lane has
  /// one column of them at most, else several parts of a row. The columns of a row are distinct, so that no
  /// two lanes add to one sum; a barrier stands between rows.
  template <class LaneGroup>
  KOKKOS_FUNCTION void add(const LaneGroup& lane_group, int count, int length) const {
    constexpr bool runs_on = LaneGroup::keeps_registers || LaneGroup::width == 1;
    constexpr int ahead = !runs_on || Inner == 0 ? 1 : Inner > 3 ? 2 : 4;
    constexpr unsigned width = LaneGroup::width;
    for (int t = 0; t < count;) {
      bool are_short = true;
      for (int u = t; u < t + ahead && u < count; ++u) are_short = are_short && m_lengths[u] <= width;
      const unsigned end = are_short ? width : m_lengths[t], step = are_short ? 0 : width;
      for (unsigned from = 0; from < end; from += ahead * width)
        lane_group.region([&](int lane) {
          Entry entries[ahead];
          for (int u = 0; u < ahead; ++u) {
            const int block = are_short ? t + u : t;
            if (block < count) read(entries[u], block, from + u * step + lane);
          }
          for (int u = 0; u < ahead; ++u)
            if (entries[u].col >= 0) entries[u].shift += m_slots[m_table.find(entries[u].col)] * cols();
          for (int u = 0; u < ahead; ++u) {
            if constexpr (LaneGroup::keeps_registers)
              if (u > 0) lane_group.barrier();
            if (entries[u].col >= 0) multiply(entries[u], m_sums + entries[u].shift, length);
          }
        });
      t += are_short ? ahead : 1;
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void read(Entry& entry, int t, unsigned q) const {
    const unsigned stride = m_lengths[t];
    if (q >= stride) return;
    const unsigned first = q / static_cast<unsigned>(cols()) * static_cast<unsigned>(cols());
    const std::size_t begin = m_begins[t];
    entry.block = t;
    entry.col = m_product.b.col_idxs(begin + first);
    entry.shift = static_cast<int>(q - first);
    entry.place = begin + q;
    if constexpr (Inner > 0)
      for (int s = 0; s < Inner; ++s) entry.column[s] = m_product.b.values(entry.place + s * stride);
  }

  KOKKOS_FORCEINLINE_FUNCTION void multiply(const Entry& entry, Scalar* sum, int length) const {
    const Scalar* a = m_staged + entry.block * inner();
    for (int r = 0; r < m_product.blocks.rows; ++r, sum += length, a += batch * inner()) {
      Scalar mine = *sum;
      if constexpr (Inner > 0) {
        for (int s = 0; s < Inner; ++s) mine += a[s] * entry.column[s];
      } else {
        const Scalar* const column = m_product.b.values.data() + entry.place;
        for (int s = 0; s < inner(); ++s) mine += a[s] * column[s * m_lengths[entry.block]];
      }
      *sum = mine;
    }
  }

  const Product<Scalar, Space>& m_product;
  std::size_t* m_begins;  ///< of B's rows, of the batch
  Scalar* m_sums;
  Scalar* m_staged;  ///< A's blocks: rows of `batch` blocks
  unsigned* m_lengths;
  ColumnTable m_table;
  std::uint16_t* m_slots;  ///< by bucket
};

template <int Inner, int Cols>
struct BlockSizes {};

/// f(BlockSizes<Inner, Cols>()): those of the blocks where SumBlockRow is compiled for them, else 0 and 0.
template <class F>
auto with_sizes(const ProductBlocks& blocks, const F& f) {
  const auto are = [&](int inner, int cols) { return blocks.inner == inner && blocks.cols == cols; };
  if (are(1, 1)) return f(BlockSizes<1, 1>());
  if (are(3, 3)) return f(BlockSizes<3, 3>());
  if (are(3, 6)) return f(BlockSizes<3, 6>());
  if (are(6, 6)) return f(BlockSizes<6, 6>());
  return f(BlockSizes<0, 0>());
}

template <class Scalar, class Space>
std::size_t bytes_of_block_row(int capacity, const ProductBlocks& blocks) {
  return with_sizes(blocks, [&]<int Inner, int Cols>(BlockSizes<Inner, Cols>) {
    return SumBlockRow<Scalar, Space, Inner, Cols>::bytes(capacity, blocks);
  });
}

struct BlockRowTuning {
  static constexpr std::size_t bytes_of_vector = 12 * 1024;  ///< with more, too few vectors are resident
  static constexpr std::int64_t enough_vectors = 8192;       ///< twice what is resident
};

/// How many rows of a block row a vector has, in a product of `num_rows` rows with `nnz` entries: fewer than
/// all of them where the vectors are few or their sums take much scratch.
template <class Scalar, class Space>
int rows_of_vector(std::int64_t num_rows, std::int64_t nnz, ProductBlocks blocks) {
  const std::int64_t row = num_rows * blocks.cols, mean = row > 0 ? nnz / row : 0;
  const int capacity = static_cast<int>(mean + mean / 2 + 1);
  while (blocks.rows > 1 &&
         (num_rows / blocks.rows < BlockRowTuning::enough_vectors ||
          bytes_of_block_row<Scalar, Space>(capacity, blocks) > BlockRowTuning::bytes_of_vector)) {
    int parts = 2;
    while (blocks.rows % parts != 0) ++parts;
    blocks.rows /= parts;
  }
  return blocks.rows;
}

}  // namespace prekond::impl::spgemm
