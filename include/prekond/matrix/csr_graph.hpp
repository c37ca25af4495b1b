// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_matrix.hpp>

#include <string>
#include <type_traits>
#include <utility>

namespace prekond {

/// The pattern of a sparse matrix by compressed rows: row i has the columns `col_idxs(k)`,
/// `row_ptrs(i) <= k < row_ptrs(i + 1)`, ascending and unique. It is two views and owns what they own.
template <class Space>
struct CsrGraph {
  std::int64_t nnz() const { return static_cast<std::int64_t>(col_idxs.extent(0)); }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(row_ptrs.span() * sizeof(std::size_t) + col_idxs.span() * sizeof(int));
  }

  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  Vector<std::size_t, Space> row_ptrs;  ///< num_rows + 1
  Vector<int, Space> col_idxs;          ///< nnz
};

namespace impl {
template <class Ordinal, class Offset>
inline constexpr bool has_graph_types =
    std::is_same_v<const Ordinal, const int>&& std::is_same_v<const Offset, const std::size_t>;
}  // namespace impl

/// The argument of kernels and functions: a pattern that owns nothing, of a CsrGraph or of a matrix in the
/// same memory.
template <class Space>
struct CsrGraphView {
  CsrGraphView() = default;

  CsrGraphView(const CsrGraph<Space>& graph)
      : num_rows(graph.num_rows),
        num_cols(graph.num_cols),
        row_ptrs(graph.row_ptrs),
        col_idxs(graph.col_idxs) {}

  template <class Scalar, class Ordinal, class Offset, class Traits>
  requires impl::has_graph_types<Ordinal, Offset> CsrGraphView(
      const CsrMatrix<Scalar, Ordinal, Offset, typename Space::memory_space, Traits>& a)
      : num_rows(a.num_rows), num_cols(a.num_cols), row_ptrs(a.row_ptrs), col_idxs(a.col_idxs) {}

  std::int64_t nnz() const { return static_cast<std::int64_t>(col_idxs.extent(0)); }

  /// Where the entries of a row with columns >= `col` begin. A binary search.
  KOKKOS_FUNCTION std::size_t first_from(std::int64_t row, std::int64_t col) const {
    std::size_t begin = row_ptrs(row);
    std::size_t end = row_ptrs(row + 1);
    while (begin < end) {
      const std::size_t middle = begin + (end - begin) / 2;
      if (col_idxs(middle) < col)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }

  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<const int, Space> col_idxs;
};

namespace impl {

template <class Space, class RowLength>
struct ScanRowLengths {
  using value_type = std::size_t;
  VectorView<std::size_t, Space> row_ptrs;
  RowLength row_length;
  std::int64_t num_rows;

  KOKKOS_FUNCTION void operator()(std::int64_t i, std::size_t& sum, bool final) const {
    if (final) row_ptrs(i) = sum;
    if (i < num_rows) sum += static_cast<std::size_t>(row_length(i));
  }
};

/// Row pointers of rows with `row_length(i)` entries each (a functor or a view), and their total. Fences.
template <class Space, class RowLength>
std::pair<Vector<std::size_t, Space>, std::size_t> scan_row_lengths(const Space& space,
                                                                    const std::string& label,
                                                                    std::int64_t num_rows,
                                                                    const RowLength& row_length) {
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  auto row_ptrs = allocate<Vector<std::size_t, Space>>(space, label + "::row_ptrs", num_rows + 1);
  std::size_t nnz = 0;
  Kokkos::parallel_scan(label + "::scan", Policy(space, 0, num_rows + 1),
                        ScanRowLengths<Space, RowLength>{row_ptrs, row_length, num_rows}, nnz);
  return {row_ptrs, nnz};
}

// The scans of stored lengths are compiled once, in the matrix layer.
#define PREKOND_SCAN_ROW_LENGTHS(PREFIX, Space)                                        \
  PREFIX template std::pair<Vector<std::size_t, Space>, std::size_t> scan_row_lengths( \
      const Space&, const std::string&, std::int64_t, const VectorView<const int, Space>&);
PREKOND_SCAN_ROW_LENGTHS(extern, Kokkos::DefaultExecutionSpace)
PREKOND_SCAN_ROW_LENGTHS(extern, Kokkos::DefaultHostExecutionSpace)

}  // namespace impl
}  // namespace prekond
