// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Single rows of a matrix, of one by compressed rows and of one by blocks alike.
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>
#include <prekond/matrix/bcsr_matrix.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include "core/row_teams.hpp"

#include "precond/scaling/diagonal.hpp"

#include <cstdint>

namespace prekond::impl {

/// A matrix of b x b blocks without padding, as kernels take it. Entry (p, q) of block k stands at values(k
/// b^2
/// + p row_stride + q column_stride).
template <class Scalar, class Space>
struct BlockEntries {
  BlockEntries() = default;
  explicit BlockEntries(const BcsrView<Scalar, Space>& blocks)
      : num_rows(blocks.num_rows()),
        block_size(blocks.block_size),
        row_stride(blocks.order == BlockOrder::by_rows ? blocks.block_size : 1),
        column_stride(blocks.order == BlockOrder::by_rows ? 1 : blocks.block_size),
        row_ptrs(blocks.row_ptrs),
        col_idxs(blocks.col_idxs),
        values(blocks.values) {}

  /// Where the block columns >= `col` of a block row begin. A binary search.
  KOKKOS_FUNCTION std::size_t first_from(std::int64_t row, int col) const {
    std::size_t begin = row_ptrs(row), end = row_ptrs(row + 1);
    while (begin < end) {
      const std::size_t middle = begin + (end - begin) / 2;
      if (col_idxs(middle) < col)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }

  std::int64_t num_rows = 0;  ///< single ones
  int block_size = 1;         ///< b
  int row_stride = 1, column_stride = 1;
  VectorView<const std::size_t, Space> row_ptrs;  ///< of block rows
  VectorView<const int, Space> col_idxs;          ///< of blocks
  VectorView<const Scalar, Space> values;
};

/// The same matrix with other values, in the same places.
template <class Scalar, class Space>
CsrView<Scalar, Space> with_values(const CsrView<Scalar, Space>& a, VectorView<const Scalar, Space> values) {
  return CsrView<Scalar, Space>(a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, values);
}
template <class Scalar, class Space>
BlockEntries<Scalar, Space> with_values(BlockEntries<Scalar, Space> a,
                                        VectorView<const Scalar, Space> values) {
  a.values = values;
  return a;
}

/// A lane's entries of a row: number `lane`, `lane + width` and so on of it, columns ascending.
template <class Matrix>
class RowCursor {
 public:
  KOKKOS_FORCEINLINE_FUNCTION RowCursor(const Matrix& a, std::int64_t row, int lane, int width)
      : m_a(a), m_place(a.row_ptrs(row) + lane), m_end(a.row_ptrs(row + 1)), m_width(width) {}

  KOKKOS_FORCEINLINE_FUNCTION bool is_done() const { return m_place >= m_end; }
  KOKKOS_FORCEINLINE_FUNCTION void advance() { m_place += m_width; }
  KOKKOS_FORCEINLINE_FUNCTION std::size_t place() const { return m_place; }  ///< in the matrix's values
  KOKKOS_FORCEINLINE_FUNCTION int col() const { return m_a.col_idxs(m_place); }
  KOKKOS_FORCEINLINE_FUNCTION auto value() const { return m_a.values(m_place); }

 private:
  const Matrix& m_a;
  std::size_t m_place, m_end;
  int m_width;
};

template <class Scalar, class Space>
class RowCursor<BlockEntries<Scalar, Space>> {
 public:
  using Matrix = BlockEntries<Scalar, Space>;
  KOKKOS_FORCEINLINE_FUNCTION RowCursor(const Matrix& a, std::int64_t row, int lane, int width)
      : m_a(a),
        m_row(static_cast<int>(row % a.block_size) * a.row_stride),
        m_block(a.row_ptrs(row / a.block_size) + lane / a.block_size),
        m_end(a.row_ptrs(row / a.block_size + 1)),
        m_col(lane % a.block_size),
        m_blocks(width / a.block_size),
        m_cols(width % a.block_size) {}

  KOKKOS_FORCEINLINE_FUNCTION bool is_done() const { return m_block >= m_end; }
  KOKKOS_FORCEINLINE_FUNCTION void advance() {
    m_block += m_blocks;
    m_col += m_cols;
    if (m_col < m_a.block_size) return;
    m_col -= m_a.block_size;
    ++m_block;
  }
  KOKKOS_FORCEINLINE_FUNCTION std::size_t place() const {
    return m_block * m_a.block_size * m_a.block_size + m_row + m_col * m_a.column_stride;
  }
  KOKKOS_FORCEINLINE_FUNCTION int col() const { return m_a.col_idxs(m_block) * m_a.block_size + m_col; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar value() const { return m_a.values(place()); }

 private:
  const Matrix& m_a;
  int m_row;  ///< of the blocks, times its stride
  std::size_t m_block, m_end;
  int m_col;             ///< within the block
  int m_blocks, m_cols;  ///< of a step
};

/// Entries of a row, columns of other ranks included.
template <class Matrix>
KOKKOS_FORCEINLINE_FUNCTION std::size_t row_length(const Matrix& a, std::int64_t row) {
  return a.row_ptrs(row + 1) - a.row_ptrs(row);
}
template <class Scalar, class Space>
KOKKOS_FORCEINLINE_FUNCTION std::size_t row_length(const BlockEntries<Scalar, Space>& a, std::int64_t row) {
  const std::int64_t k = row / a.block_size;
  return (a.row_ptrs(k + 1) - a.row_ptrs(k)) * a.block_size;
}

/// The parts of a row that a kernel of RowTeams gives to its lanes.
template <class Space>
inline constexpr int parts_of_row = is_host_space<Space> ? 1 : 32;

/// A row's diagonal entry and the size of its largest entry.
template <class Scalar>
struct RowSizes {
  using Real = real_type_t<Scalar>;
  Scalar diagonal = 0;  ///< 0 where it is missing or not finite
  Real largest = 0;

  KOKKOS_FUNCTION RowSizes& operator+=(const RowSizes& other) {  // of other entries
    diagonal += other.diagonal;
    if (other.largest > largest) largest = other.largest;
    return *this;
  }
};

/// The sizes of row i, by a vector of lanes. Entries not finite or from column `num_cols` on are left out.
template <class Scalar, class Member, class Matrix>
KOKKOS_FUNCTION RowSizes<Scalar> measure_row(const Member& team, const Matrix& a, std::int64_t i,
                                             std::int64_t num_cols) {
  constexpr int parts = parts_of_row<typename Member::execution_space>;
  RowSizes<Scalar> sizes;
  Kokkos::parallel_reduce(
      Kokkos::ThreadVectorRange(team, parts),
      [&](int part, RowSizes<Scalar>& mine) {
        for (RowCursor<Matrix> entry(a, i, part, parts); !entry.is_done(); entry.advance()) {
          const int col = entry.col();
          const Scalar value = entry.value();
          if (col >= num_cols || !is_finite(value)) continue;
          const auto size = Kokkos::abs(value);
          if (size > mine.largest) mine.largest = size;
          if (col == i) mine.diagonal = value;
        }
      },
      sizes);
  return sizes;
}

/// An entry of a matrix by blocks, as find_entry has it: zero where its block is not stored; `place` is
/// beyond all values then.
template <class Scalar, class Space>
KOKKOS_FUNCTION Scalar find_entry(const BlockEntries<Scalar, Space>& a, std::int64_t row, std::int64_t col,
                                  std::size_t& place) {
  const int b = a.block_size;
  const std::int64_t i = row / b;
  const int j = static_cast<int>(col / b);
  const std::size_t k = a.first_from(i, j);
  if (k == a.row_ptrs(i + 1) || a.col_idxs(k) != j) {
    place = a.values.extent(0);
    return Scalar(0);
  }
  place = k * b * b + (row % b) * a.row_stride + (col % b) * a.column_stride;
  return a.values(place);
}

/// Is the entry that find_entry looked for stored?
template <class Matrix>
KOKKOS_FORCEINLINE_FUNCTION bool is_stored(const Matrix& a, std::int64_t row, std::size_t place) {
  return place < a.row_ptrs(row + 1);
}
template <class Scalar, class Space>
KOKKOS_FORCEINLINE_FUNCTION bool is_stored(const BlockEntries<Scalar, Space>& a, std::int64_t,
                                           std::size_t place) {
  return place < a.values.extent(0);
}

/// The diagonal of the matrix by single rows, see diagonal.hpp.
template <class Scalar, class Space>
DiagonalRange<Scalar> extract_diagonal(const Space& space, const BlockEntries<Scalar, Space>& a,
                                       VectorView<real_type_t<Scalar>, Space> diagonal);

}  // namespace prekond::impl
