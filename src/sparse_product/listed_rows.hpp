// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows of a pattern that are in a list.
#include <prekond/core/impl/list_rows.hpp>
#include <prekond/matrix/csr_graph.hpp>

#include <cstdint>

namespace prekond::impl {

/// Rows whose length is not known yet, or did not fit.
template <class Space>
struct HasNoLength {
  VectorView<const int, Space> length;
  KOKKOS_FUNCTION bool operator()(std::int64_t i) const { return length(i) < 0; }
};

/// The number k with begins(k) <= place < begins(k + 1). \pre there is one
template <class Space>
KOKKOS_FUNCTION std::int64_t segment_of(const VectorView<const std::size_t, Space>& begins,
                                        std::size_t place) {
  std::int64_t low = 0, high = static_cast<std::int64_t>(begins.extent(0)) - 1;
  while (low + 1 < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (begins(middle) <= place)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/// Entries of some rows of A, one after the other.
template <class Space>
struct EntriesOfRows {
  CsrGraphView<Space> a;
  VectorView<const int, Space> rows;
  VectorView<const std::size_t, Space> begins;  ///< by row of the list, from `first` on
  std::size_t first = 0;

  /// The length of row k of the list.
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t k) const {
    return a.row_ptrs(rows(k) + 1) - a.row_ptrs(rows(k));
  }
  /// The row of the list that entry t is of.
  KOKKOS_FUNCTION std::int64_t row_of(std::int64_t t) const {
    return segment_of<Space>(begins, first + static_cast<std::size_t>(t));
  }
  /// The place in A of entry t, of row k of the list.
  KOKKOS_FUNCTION std::size_t place(std::int64_t k, std::int64_t t) const {
    return a.row_ptrs(rows(k)) + (first + static_cast<std::size_t>(t) - begins(k));
  }
};

}  // namespace prekond::impl
