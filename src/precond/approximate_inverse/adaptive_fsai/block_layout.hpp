// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The workspace of a block of rows of the adaptive FSAI.
#include "precond/approximate_inverse/adaptive_fsai/layout.hpp"

#include <cstddef>

namespace prekond::impl::adaptive_fsai {

/// Sizes of a block's workspace and where its arrays begin, in bytes.
template <class Real, class Slot, class Set>
struct BlockLayout {
  int max_members;  ///< columns left of the block that there is room for
  int capacity;     ///< columns it has slots for
  int pool;         ///< entries of A's rows it can remember
  int block;        ///< rows

  std::size_t rows, psi, gradient, factor, y, step, column, l, s, c, scale, weight, start_psi, cols,
      member_cols, member_slots, buckets, num_buckets, slots, count, bytes;

  /// Numbers from one slot's gradients to the next one's: on the host those of whole vector registers.
  KOKKOS_FUNCTION static constexpr int stride(int rows) {
    return Set::shared_insertion || rows <= 2 ? rows : (rows + 3) / 4 * 4;
  }

  /// Columns whose gradients 31 bits can index.
  static constexpr std::int64_t capacity_limit(int rows) {
    return ((std::int64_t(1) << 31) - 64) / stride(rows) - 1;
  }

  static constexpr std::size_t pool_bytes = 0;  ///< the pool is in the workspace

  BlockLayout() = default;
  BlockLayout(int members, int columns, int entries, int block_rows)
      : max_members(members), capacity(columns), pool(entries), block(block_rows) {
    std::size_t end = 0;
    const auto place = [&end](std::size_t n, std::size_t size) {
      const std::size_t begin = (end + size - 1) / size * size;
      end = begin + n * size;
      return begin;
    };
    const std::size_t m = static_cast<std::size_t>(members), b = static_cast<std::size_t>(block_rows);
    rows = place(m + b, sizeof(RememberedRow));
    psi = place(b, sizeof(double));
    gradient = place((static_cast<std::size_t>(capacity) + 1) * stride(block_rows), sizeof(Real));
    factor = place(InverseFactor<Real>::size(m), sizeof(Real));
    y = place(m * b, sizeof(Real));
    step = place(m * b, sizeof(Real));
    column = place(m, sizeof(Real));
    l = place(m > b ? m : b, sizeof(Real));
    s = place(InverseFactor<Real>::size(b), sizeof(Real));
    c = place(InverseFactor<Real>::size(b), sizeof(Real));
    scale = place(b, sizeof(Real));
    weight = place(stride(block_rows), sizeof(Real));
    start_psi = place(b, sizeof(Real));
    cols = place(static_cast<std::size_t>(capacity), sizeof(int));
    member_cols = place(m, sizeof(int));
    member_slots = place(m, sizeof(int));
    count = place(1, sizeof(int));
    num_buckets = 0;
    buckets = end;
    if constexpr (Set::shared_insertion) {
      num_buckets = Set::num_buckets(capacity);
      buckets = place(num_buckets * sizeof(typename Set::bucket_type) / sizeof(unsigned), sizeof(unsigned));
    }
    slots = place(static_cast<std::size_t>(pool), sizeof(Slot));
    bytes = (end + 15) / 16 * 16;
  }
};

}  // namespace prekond::impl::adaptive_fsai
