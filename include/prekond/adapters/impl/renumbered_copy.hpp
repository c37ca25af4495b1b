// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_matrix.hpp>
#include <prekond/matrix/impl/own_columns.hpp>
#include <prekond/matrix/sort_rows.hpp>

namespace prekond::impl {

template <class Space, class Own>
struct NumberColumn {
  std::int64_t num_rows;
  VectorView<int, Space> new_index;
  Own own;
  KOKKOS_FUNCTION void operator()(std::int64_t c, std::int64_t& count, bool final) const {
    const std::int64_t row = own(c);
    if (final) new_index(c) = static_cast<int>(row >= 0 ? row : num_rows + count);
    if (row < 0) ++count;
  }
};

template <class Space>
struct RenameColumn {
  VectorView<const int, Space> old_col;
  VectorView<const int, Space> new_index;
  VectorView<int, Space> new_col;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { new_col(k) = new_index(old_col(k)); }
};

/// The columns of a rank's matrix, numbered so that its own rows come first: `own(c)` is the row that column
/// c corresponds to, or negative; columns of other ranks follow from `num_rows` on, in their order. \returns
/// their number
template <class Space, class Own>
std::int64_t number_columns(const Space& space, std::int64_t num_rows, const Vector<int, Space>& new_index,
                            const Own& own) {
  std::int64_t foreign = 0;
  Kokkos::parallel_scan(
      "prekond::tpetra::local_matrix::number_columns",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, new_index.extent(0)),
      NumberColumn<Space, Own>{num_rows, new_index, own}, foreign);
  return foreign;
}

/// A copy of `a` with column c renamed new_index(c), its rows sorted anew.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> renumbered_copy(
    const Space& space, const CsrView<Scalar, Space>& a, const Vector<int, Space>& new_index,
    std::int64_t num_cols) {
  const auto row_ptrs = allocate<Vector<std::size_t, Space>>(space, "prekond::tpetra::local_matrix::row_ptrs",
                                                             a.row_ptrs.extent(0));
  const auto col_idxs =
      allocate<Vector<int, Space>>(space, "prekond::tpetra::local_matrix::col_idxs", a.nnz());
  const auto values =
      allocate<Vector<Scalar, Space>>(space, "prekond::tpetra::local_matrix::values", a.nnz());
  Kokkos::deep_copy(space, row_ptrs, a.row_ptrs);
  Kokkos::deep_copy(space, values, a.values);
  Kokkos::parallel_for("prekond::tpetra::local_matrix::rename_columns",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.nnz()),
                       RenameColumn<Space>{a.col_idxs, new_index, col_idxs});
  const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> copy(a.num_rows, num_cols, row_ptrs,
                                                                               col_idxs, values);
  sort_rows(space, copy);
  return copy;
}

}  // namespace prekond::impl
