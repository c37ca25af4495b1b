// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/bcsr_matrix.hpp>

#include <limits>
#include <string>

namespace prekond::impl::blocks {

/// \throws InputError where the sizes of a matrix of blocks do not fit one another
template <class Matrix>
void check_sizes(const Matrix& a, const std::string& what) {
  const auto b = static_cast<std::size_t>(a.block_size);
  if (a.block_size < 1)
    throw InputError(what + ": a block size of " + std::to_string(a.block_size) + "; it is at least 1");
  const auto rows = static_cast<std::size_t>(a.num_block_rows);
  if ((rows > 0 && a.row_ptrs.extent(0) != rows + 1) || a.values.extent(0) != a.col_idxs.extent(0) * b * b)
    throw InputError(what + ": " + std::to_string(rows) + " block rows have " +
                     std::to_string(a.row_ptrs.extent(0)) + " row pointers, and " +
                     std::to_string(a.col_idxs.extent(0)) + " blocks of " + std::to_string(b) + " x " +
                     std::to_string(b) + " have " + std::to_string(a.values.extent(0)) + " values");
  if (a.padding < 0 || a.padding >= a.block_size ||
      (a.padding > 0 && (a.num_block_rows == 0 || a.num_block_rows != a.num_block_cols)))
    throw InputError(what + ": a padding of " + std::to_string(a.padding) + " in " + std::to_string(rows) +
                     " x " + std::to_string(a.num_block_cols) + " blocks of " + std::to_string(b) +
                     "; it is less than a block, of a square matrix");
  if (a.num_rows() >= std::numeric_limits<int>::max() || a.num_cols() >= std::numeric_limits<int>::max())
    throw InputError(what + ": " + std::to_string(a.num_rows()) + " rows and " +
                     std::to_string(a.num_cols()) + " columns; an int counts 2147483646 of them");
}

/// Steps from an entry to the next one of its row, and of its column.
struct BlockStrides {
  int of_rows, of_cols;

  template <class Matrix>
  explicit BlockStrides(const Matrix& a)
      : of_rows(a.order == BlockOrder::by_rows ? a.block_size : 1),
        of_cols(a.order == BlockOrder::by_rows ? 1 : a.block_size) {}
  KOKKOS_FORCEINLINE_FUNCTION int place(int p, int q) const { return p * of_rows + q * of_cols; }
};

/// With a block size known to the compiler where there is a kernel for it; complex ones have the one for all.
template <class Scalar, class Launch>
void with_block_size(int b, const Launch& launch) {
  if constexpr (!is_complex<Scalar>) {
    switch (b) {
      case 1:
        return launch.template operator()<1>();
      case 2:
        return launch.template operator()<2>();
      case 3:
        return launch.template operator()<3>();
      case 4:
        return launch.template operator()<4>();
      case 5:
        return launch.template operator()<5>();
      case 6:
        return launch.template operator()<6>();
      case 7:
        return launch.template operator()<7>();
      case 8:
        return launch.template operator()<8>();
      default:
        break;
    }
  }
  launch.template operator()<0>();
}

}  // namespace prekond::impl::blocks
