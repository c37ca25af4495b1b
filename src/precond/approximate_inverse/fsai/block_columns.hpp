// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// RowColumns of a matrix by blocks, for columns P that are whole blocks: one search a block.
#include "precond/approximate_inverse/fsai/columns.hpp"
#include "precond/scaling/matrix_rows.hpp"

namespace prekond::impl::fsai {

template <class Scalar, class Space, class LaneGroup>
class RowColumns<Scalar, Space, LaneGroup, BlockEntries<Scalar, Space>> {
 public:
  using Matrix = BlockEntries<Scalar, Space>;

  /// The arrays have `length` elements each, of which as many as P has blocks are used.
  KOKKOS_FUNCTION RowColumns(const LaneGroup& lane_group, const Matrix& a, int length, std::size_t* begins,
                             int* lengths, int* cols)
      : m_lane_group(lane_group),
        m_a(a),
        m_size(a.block_size),
        m_length(length),
        m_count(length / a.block_size),
        m_begins(begins),
        m_lengths(lengths),
        m_cols(cols) {}

  /// P = cols[0 .. length), ascending, all columns of its blocks. Calls visit(k, P[k]) for each.
  template <class Visit>
  KOKKOS_FUNCTION void read(const int* cols, const Visit& visit) const {
    m_lane_group.region([&](int lane) {
      for (int k = lane; k < m_length; k += m_lane_group.size()) visit(k, cols[k]);
      for (int k = lane; k < m_count; k += m_lane_group.size()) {
        const int col = cols[k * m_size] / m_size;
        const std::size_t begin = m_a.row_ptrs(col);
        m_cols[k] = col;
        m_begins[k] = begin;
        m_lengths[k] = static_cast<int>(m_a.row_ptrs(col + 1) - begin);
      }
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION int operator[](int k) const { return m_cols[k / m_size] * m_size + k % m_size; }

  /// Calls set(k, j, entry) where row P[k] of A has an entry in column P[j], j < count(k). \pre count does
  /// not fall
  template <class Count, class Set>
  KOKKOS_FUNCTION void gather(const Count& count, const Set& set) const {
    if constexpr (LaneGroup::width == 1) {
      for_each(m_lane_group, m_count, [&](int k) { gather_blocks(k, count, set); });
    } else {
      const int group = m_lane_group.size() < 32 ? m_lane_group.size() : 32;
      int share = 1;  // lanes of a block
      while (share < group && share < m_size * m_size) share *= 2;
      m_lane_group.region([&](int lane) {
        const int part = lane % share, first = lane % group / share, step = group / share;
        for (int k = lane / group; k < m_count; k += m_lane_group.size() / group) {
          const int blocks = blocks_of(k, count);
          if (is_much_longer(m_lengths[k], blocks)) {
            for (int j = first; j < blocks; j += step) {
              const std::size_t block = find_in_row(k, m_cols[j]);
              if (block < row_end(k)) copy_part(k, j, block, part, share, count, set);
            }
          } else {
            for (int e = first; e < m_lengths[k]; e += step) {
              const std::size_t block = m_begins[k] + static_cast<std::size_t>(e);
              const int j = find_in_columns(m_a.col_idxs(block), blocks);
              if (j < blocks) copy_part(k, j, block, part, share, count, set);
            }
          }
        }
      });
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static bool is_much_longer(int longer, int shorter) {
    return longer / 32 >= shorter;
  }
  KOKKOS_FORCEINLINE_FUNCTION std::size_t row_end(int k) const {
    return m_begins[k] + static_cast<std::size_t>(m_lengths[k]);
  }
  /// Block columns that the rows of block row k look at.
  template <class Count>
  KOKKOS_FORCEINLINE_FUNCTION int blocks_of(int k, const Count& count) const {
    return (count(k * m_size + m_size - 1) + m_size - 1) / m_size;
  }

  /// By one lane.
  template <class Count, class Set>
  KOKKOS_FUNCTION void gather_blocks(int k, const Count& count, const Set& set) const {
    const int blocks = blocks_of(k, count);
    if (is_much_longer(m_lengths[k], blocks)) {
      for (int j = 0; j < blocks; ++j) {
        const std::size_t block = find_in_row(k, m_cols[j]);
        if (block < row_end(k)) copy(k, j, block, count, set);
      }
    } else if (is_much_longer(blocks, m_lengths[k])) {
      for (std::size_t block = m_begins[k]; block < row_end(k); ++block) {
        const int j = find_in_columns(m_a.col_idxs(block), blocks);
        if (j < blocks) copy(k, j, block, count, set);
      }
    } else {
      int j = 0;
      for (std::size_t block = m_begins[k]; block < row_end(k); ++block) {
        const int col = m_a.col_idxs(block);
        while (m_cols[j] < col)
          if (++j == blocks) return;
        if (m_cols[j] != col) continue;
        copy(k, j, block, count, set);
        if (++j == blocks) return;
      }
    }
  }

  /// Where block row P[k] of A has the block column; its end where it has not.
  KOKKOS_FORCEINLINE_FUNCTION std::size_t find_in_row(int k, int col) const {
    std::size_t begin = m_begins[k], end = row_end(k);
    while (begin < end) {
      const std::size_t middle = begin + (end - begin) / 2;
      if (m_a.col_idxs(middle) < col)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin < row_end(k) && m_a.col_idxs(begin) == col ? begin : row_end(k);
  }

  /// Which of P's first `blocks` block columns it is; `blocks` where none is.
  KOKKOS_FORCEINLINE_FUNCTION int find_in_columns(int col, int blocks) const {
    int begin = 0, end = blocks;
    while (begin < end) {
      const int middle = (begin + end) / 2;
      if (m_cols[middle] < col)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin < blocks && m_cols[begin] == col ? begin : blocks;
  }

  template <class Count, class Set>
  KOKKOS_FORCEINLINE_FUNCTION void copy(int k, int j, std::size_t block, const Count& count,
                                        const Set& set) const {
    const std::size_t first = block * m_size * m_size;
    for (int p = 0; p < m_size; ++p) {
      const int row = k * m_size + p, left = count(row) - j * m_size, cols = left < m_size ? left : m_size;
      for (int q = 0; q < cols; ++q)
        set(row, j * m_size + q, first + p * m_a.row_stride + q * m_a.column_stride);
    }
  }

  /// One of `share` lanes, which read the values in the order in which they stand.
  template <class Count, class Set>
  KOKKOS_FORCEINLINE_FUNCTION void copy_part(int k, int j, std::size_t block, int part, int share,
                                             const Count& count, const Set& set) const {
    const std::size_t first = block * m_size * m_size;
    for (int t = part; t < m_size * m_size; t += share) {
      const int outer = t / m_size, inner = t - outer * m_size;
      const bool by_columns = m_a.row_stride == 1;
      const int row = k * m_size + (by_columns ? inner : outer),
                col = j * m_size + (by_columns ? outer : inner);
      if (col < count(row)) set(row, col, first + t);
    }
  }

  LaneGroup m_lane_group;
  const Matrix& m_a;
  int m_size;  ///< of a block
  int m_length;
  int m_count;  ///< blocks of P
  std::size_t* m_begins;
  int* m_lengths;
  int* m_cols;  ///< of blocks
};

}  // namespace prekond::impl::fsai
