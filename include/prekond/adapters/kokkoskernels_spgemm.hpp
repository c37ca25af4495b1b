// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/error.hpp>
#include <prekond/matrix/sort_rows.hpp>
#include <prekond/sparse_product/spgemm.hpp>

#include <KokkosKernels_Handle.hpp>
#include <KokkosSparse_spgemm.hpp>
#include <cstdint>
#include <limits>
#include <string>

namespace prekond::kokkoskernels {

/// C = A B by KokkosSparse::spgemm_symbolic and spgemm_numeric, with sorted rows: the pattern is that of
/// prekond::spgemm.
///
/// Cost: the library's, and a sort of C's rows. Memory: C, and what the library allocates. Fences `space` and
/// the default instance, on which the library works. Bits are Kokkos Kernels' business: on devices its hash
/// tables add products in an order that is not fixed. \throws InputError where a size does not fit an int
/// \pre A's columns are as many as B's rows
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> spgemm(const Space& space,
                                                                         const CsrView<Scalar, Space>& a,
                                                                         const CsrView<Scalar, Space>& b) {
  using Memory = typename Space::memory_space;
  using Handle =
      KokkosKernels::Experimental::KokkosKernelsHandle<std::size_t, int, Scalar, Space, Memory, Memory>;
  constexpr std::int64_t largest = std::numeric_limits<int>::max();
  for (const std::int64_t size : {a.num_rows, a.num_cols, b.num_cols})
    if (size > largest)
      throw InputError("prekond::kokkoskernels::spgemm: " + std::to_string(size) +
                       " rows or columns, the ordinal holds at most " + std::to_string(largest));
  const auto row_ptrs = allocate_zero<Vector<std::size_t, Space>>(
      space, "prekond::kokkoskernels::spgemm::row_ptrs", a.num_rows + 1);
  CsrMatrix<Scalar, int, std::size_t, Memory> c(a.num_rows, b.num_cols, row_ptrs, {}, {});
  if (a.nnz() == 0 || b.nnz() == 0) return c;
  const auto rows = static_cast<int>(a.num_rows), inner = static_cast<int>(a.num_cols),
             cols = static_cast<int>(b.num_cols);
  space.fence("prekond::kokkoskernels::spgemm");
  Handle handle;
  handle.create_spgemm_handle(KokkosSparse::SPGEMM_KK);
  KokkosSparse::spgemm_symbolic(&handle, rows, inner, cols, a.row_ptrs, a.col_idxs, false, b.row_ptrs,
                                b.col_idxs, false, c.row_ptrs);
  const std::size_t nnz = handle.get_spgemm_handle()->get_c_nnz();
  c.col_idxs = allocate<Vector<int, Space>>(space, "prekond::kokkoskernels::spgemm::col_idxs", nnz);
  c.values = allocate<Vector<Scalar, Space>>(space, "prekond::kokkoskernels::spgemm::values", nnz);
  KokkosSparse::spgemm_numeric(&handle, rows, inner, cols, a.row_ptrs, a.col_idxs, a.values, false,
                               b.row_ptrs, b.col_idxs, b.values, false, c.row_ptrs, c.col_idxs, c.values);
  Space().fence("prekond::kokkoskernels::multiplied");
  handle.destroy_spgemm_handle();
  sort_rows(space, c);
  return c;
}

}  // namespace prekond::kokkoskernels
