// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

#include <cstdint>
#include <type_traits>

namespace prekond {

/// A sparse matrix by compressed rows: row i has the columns `col_idxs(k)` and values `values(k)`,
/// `row_ptrs(i) <= k < row_ptrs(i + 1)`, columns ascending and unique.
///
/// It is three views and owns what they own. `num_cols >= num_rows`: a rank's local matrix has columns of
/// other ranks after its own; preconditioner setup skips them. A matrix of non-const managed views converts
/// to one of const or unmanaged views, which is what kernels take.
template <class Scalar, class Ordinal = int, class Offset = std::size_t,
          class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space,
          class Traits = Kokkos::MemoryTraits<0>>
struct CsrMatrix {
  using scalar_type = std::remove_const_t<Scalar>;
  using ordinal_type = std::remove_const_t<Ordinal>;
  using offset_type = std::remove_const_t<Offset>;
  using memory_space = MemorySpace;
  template <class T>
  using view = Kokkos::View<T*, Kokkos::LayoutLeft, MemorySpace, Traits>;

  CsrMatrix() = default;

  CsrMatrix(std::int64_t rows, std::int64_t cols, view<Offset> ptrs, view<Ordinal> idxs, view<Scalar> vals)
      : num_rows(rows), num_cols(cols), row_ptrs(ptrs), col_idxs(idxs), values(vals) {}

  template <class S, class O, class P, class T>
  requires(!std::is_same_v<CsrMatrix<S, O, P, MemorySpace, T>, CsrMatrix>)
      CsrMatrix(const CsrMatrix<S, O, P, MemorySpace, T>& other)
      : num_rows(other.num_rows),
        num_cols(other.num_cols),
        row_ptrs(other.row_ptrs),
        col_idxs(other.col_idxs),
        values(other.values) {}

  std::int64_t nnz() const { return static_cast<std::int64_t>(col_idxs.extent(0)); }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(row_ptrs.span() * sizeof(Offset) + col_idxs.span() * sizeof(Ordinal) +
                                     values.span() * sizeof(Scalar));
  }

  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  view<Offset> row_ptrs;   ///< num_rows + 1
  view<Ordinal> col_idxs;  ///< nnz
  view<Scalar> values;     ///< nnz
};

/// The argument of kernels and preconditioners: const values, nothing owned.
template <class Scalar, class Space, class Ordinal = int, class Offset = std::size_t>
using CsrView = CsrMatrix<const Scalar, const Ordinal, const Offset, typename Space::memory_space,
                          Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// A copy of the matrix in another memory space (the same views where it is the same space).
template <class ToSpace, class Matrix>
auto copy_to(const Matrix& a) {
  using Scalar = typename Matrix::scalar_type;
  using Ordinal = typename Matrix::ordinal_type;
  using Offset = typename Matrix::offset_type;
  auto ptrs = Kokkos::create_mirror_view_and_copy(typename ToSpace::memory_space{}, a.row_ptrs);
  auto idxs = Kokkos::create_mirror_view_and_copy(typename ToSpace::memory_space{}, a.col_idxs);
  auto vals = Kokkos::create_mirror_view_and_copy(typename ToSpace::memory_space{}, a.values);
  return CsrMatrix<const Scalar, const Ordinal, const Offset, typename ToSpace::memory_space>(
      a.num_rows, a.num_cols, ptrs, idxs, vals);
}

}  // namespace prekond
