// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// scale_rows of a G whose rows are whole blocks of columns, up to their own, with one search a block.
#include "precond/approximate_inverse/fsai/scale.hpp"
#include "precond/scaling/matrix_rows.hpp"

namespace prekond::impl {

/// On a host its sums are in the order of ScaleRows, on a device in another one.
template <class Scalar, class Space, int Width>
struct ScaleBlockRows : ScaleRows<Scalar, Space, Width, BlockEntries<Scalar, Space>> {
  using Base = ScaleRows<Scalar, Space, Width, BlockEntries<Scalar, Space>>;
  using Base::a, Base::pattern, Base::values, Base::width;
  using typename Base::LaneGroup;
  using typename Base::Member;
  using Wide = in_precision_t<Scalar, double>;
  static constexpr int largest = largest_block_size;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    this->for_rows(team, a.num_rows, [&](const LaneGroup& lane_group, int i) {
      const std::size_t begin = pattern.row_ptrs(i);
      const int length = static_cast<int>(pattern.row_ptrs(i + 1) - begin);
      this->finish_row(lane_group, i, lane_group.template sum<double>([&](int lane) {
        double sum = 0;
        for (int j = 0; j * a.block_size < length; ++j) sum += product(begin, length, j, lane);
        return sum;
      }));
    });
  }

  /// A lane's part of g_r (a_rr g_r + 2 sum_{c < r} a_rc g_c) for the columns r of the row's block j.
  KOKKOS_FUNCTION double product(std::size_t begin, int length, int j, int lane) const {
    const int b = a.block_size, last = pattern.col_idxs(begin + j * b) / b;
    const int rows = length - j * b < b ? length - j * b : b;
    const std::size_t row_begin = a.row_ptrs(last), row_end = a.row_ptrs(last + 1);
    Wide sums[width == 1 ? largest : 1];
    for (int p = 0; width == 1 && p < rows; ++p) sums[p] = 0;
    double sum = 0;
    const auto add = [&](std::size_t block, int k) {
      for (int p = 0; p < rows; ++p) {
        Wide& of_row = sums[width == 1 ? p : 0];
        if (width > 1) of_row = 0;
        add_row(begin + k * b, block, p, k == j ? p + 1 : b, k == j, of_row);
        if (width > 1) sum += to_double(values(begin + j * b + p)) * of_row;
      }
    };
    if (row_end - row_begin >= 32 * (static_cast<std::size_t>(j) + 1)) {  // not read for each block of g
      for (int k = lane; k <= j; k += width) {
        const int col = pattern.col_idxs(begin + k * b) / b;
        const std::size_t block = a.first_from(last, col);
        if (block < row_end && a.col_idxs(block) == col) add(block, k);
      }
    } else {
      int k = 0;
      for (std::size_t block = row_begin + lane; block < row_end; block += width) {
        const int col = a.col_idxs(block);
        if (col > last) break;
        k = find_from(begin, k, j, col * b);
        if (pattern.col_idxs(begin + k * b) == col * b) add(block, k);
      }
    }
    if (width == 1)
      for (int p = 0; p < rows; ++p) sum += to_double(values(begin + j * b + p)) * sums[p];
    return sum;
  }

  /// Row p of a block of A times the places of g from `place` on.
  KOKKOS_FORCEINLINE_FUNCTION void add_row(std::size_t place, std::size_t block, int p, int cols,
                                           bool is_diagonal, Wide& sum) const {
    const std::size_t from = block * a.block_size * a.block_size + p * a.row_stride;
    for (int q = 0; q < cols; ++q)
      sum += (is_diagonal && q == p ? 1.0 : 2.0) * to_double(a.values(from + q * a.column_stride)) *
             to_double(values(place + q));
  }

  /// Which of the row's blocks k .. j is the first with columns >= col. On a host, where the blocks come in
  /// order, from block to block.
  KOKKOS_FORCEINLINE_FUNCTION int find_from(std::size_t begin, int k, int j, int col) const {
    if (width == 1) {
      while (pattern.col_idxs(begin + k * a.block_size) < col) ++k;
      return k;
    }
    while (k < j) {
      const int middle = k + (j - k) / 2;
      if (pattern.col_idxs(begin + middle * a.block_size) < col)
        k = middle + 1;
      else
        j = middle;
    }
    return k;
  }
};

/// \pre G's rows have whole blocks of columns, up to their own
template <class Scalar, class Space>
void scale_block_rows(const Space& space, const BlockEntries<Scalar, Space>& a,
                      VectorView<const real_type_t<Scalar>, Space> diagonal,
                      const CsrGraphView<Space>& pattern, VectorView<Scalar, Space> values,
                      VectorView<BreakdownCounter, Space> outcome) {
  const auto launch = [&](const auto& kernel) {
    Kokkos::parallel_for("prekond::fsai::numeric::scale_rows", kernel.policy(space, a.num_rows), kernel);
  };
  if (pattern.nnz() > 8 * a.block_size * a.num_rows)
    launch(ScaleBlockRows<Scalar, Space, 32>{{{}, a, diagonal, pattern, values, outcome}});
  else
    launch(ScaleBlockRows<Scalar, Space, 8>{{{}, a, diagonal, pattern, values, outcome}});
}

}  // namespace prekond::impl
