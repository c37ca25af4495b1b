// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sparse_product/wanted_rows.hpp"

#include "core/instantiate.hpp"

namespace prekond {
namespace {

/// Which entries stay.
template <class Space>
struct IsWanted {
  VectorView<const unsigned char, Space> wanted;
  bool by_columns;
  KOKKOS_FUNCTION bool operator()(std::int64_t row, int col) const {
    return col == row || wanted(by_columns ? col : static_cast<int>(row)) != 0;
  }
};

template <class Space>
struct WantedLength {
  CsrGraphView<Space> pattern;
  IsWanted<Space> is_wanted;
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t row) const {
    std::size_t length = 0;
    for (std::size_t k = pattern.row_ptrs(row); k < pattern.row_ptrs(row + 1); ++k)
      length += is_wanted(row, pattern.col_idxs(k));
    return length;
  }
};

template <class Space>
struct CopyWanted {
  CsrGraphView<Space> pattern;
  IsWanted<Space> is_wanted;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    std::size_t to = row_ptrs(row);
    for (std::size_t k = pattern.row_ptrs(row); k < pattern.row_ptrs(row + 1); ++k)
      if (is_wanted(row, pattern.col_idxs(k))) col_idxs(to++) = pattern.col_idxs(k);
  }
};

template <class Space>
CsrGraph<Space> keep(const Space& space, const CsrGraph<Space>& pattern,
                     const VectorView<const unsigned char, Space>& wanted, bool by_columns) {
  if (wanted.extent(0) == 0) return pattern;
  const IsWanted<Space> is_wanted{wanted, by_columns};
  const auto [row_ptrs, nnz] = impl::scan_row_lengths(space, "prekond::wanted_rows", pattern.num_rows,
                                                      WantedLength<Space>{pattern, is_wanted});
  const auto col_idxs = allocate<Vector<int, Space>>(space, "prekond::wanted_rows::col_idxs", nnz);
  Kokkos::parallel_for(
      "prekond::wanted_rows::copy",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, pattern.num_rows),
      CopyWanted<Space>{pattern, is_wanted, row_ptrs, col_idxs});
  return {pattern.num_rows, pattern.num_cols, row_ptrs, col_idxs};
}

}  // namespace

template <class Space>
CsrGraph<Space> keep_wanted_rows(const Space& space, const CsrGraph<Space>& pattern,
                                 const VectorView<const unsigned char, Space>& wanted) {
  return keep(space, pattern, wanted, false);
}

template <class Space>
CsrGraph<Space> keep_wanted_columns(const Space& space, const CsrGraph<Space>& pattern,
                                    const VectorView<const unsigned char, Space>& wanted) {
  return keep(space, pattern, wanted, true);
}

#define PREKOND_WANTED_ROWS(Space)                                                          \
  template CsrGraph<Space> keep_wanted_rows(const Space&, const CsrGraph<Space>&,           \
                                            const VectorView<const unsigned char, Space>&); \
  template CsrGraph<Space> keep_wanted_columns(const Space&, const CsrGraph<Space>&,        \
                                               const VectorView<const unsigned char, Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_WANTED_ROWS)

}  // namespace prekond
