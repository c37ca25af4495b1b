// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The triangles that factorisations work on.
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_graph.hpp>

#include <cstdint>

#include "core/packed.hpp"

namespace prekond::impl::ilu {

/// A triangle's pattern and the values that become a factor's.
template <class Scalar, class Space>
struct FactorTriangle {
  PackedVector<const std::size_t> row_ptrs;
  PackedVector<const int> col_idxs;
  PackedVector<Scalar> values;

  KOKKOS_FORCEINLINE_FUNCTION std::size_t begin(std::int64_t i) const { return row_ptrs(i); }
  KOKKOS_FORCEINLINE_FUNCTION int length(std::int64_t i) const {
    return static_cast<int>(row_ptrs(i + 1) - row_ptrs(i));
  }
  /// Where column `col` stands among the entries [first, end); `end` where it does not.
  KOKKOS_FUNCTION std::size_t find(std::size_t first, std::size_t end, int col) const {
    const std::size_t none = end;
    while (first < end) {
      const std::size_t middle = first + (end - first) / 2;
      if (col_idxs(middle) < col)
        first = middle + 1;
      else
        end = middle;
    }
    return first < none && col_idxs(first) == col ? first : none;
  }
};

template <class Scalar, class Space>
FactorTriangle<Scalar, Space> triangle_of(const CsrGraph<Space>& pattern,
                                          const Vector<Scalar, Space>& values) {
  return {pattern.row_ptrs, pattern.col_idxs, values};
}

/// U = L^T, of IC; counts the entries of U that L does not have.
template <class Scalar, class Space>
struct TransposeLower {
  FactorTriangle<Scalar, Space> lower, upper;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& missing) const {
    for (std::size_t k = upper.row_ptrs(i); k < upper.row_ptrs(i + 1); ++k) {
      const int row = upper.col_idxs(k);
      const std::size_t end = lower.row_ptrs(row + 1);
      const std::size_t place = lower.find(lower.row_ptrs(row), end, static_cast<int>(i));
      if (place < end)
        upper.values(k) = lower.values(place);
      else
        ++missing;
    }
  }
};

/// Gives U = L^T its values. \returns the number of U's entries that L does not have. Fences.
template <class Scalar, class Space>
std::int64_t transpose_lower(const Space& space, const char* label,
                             const FactorTriangle<Scalar, Space>& lower,
                             const FactorTriangle<Scalar, Space>& upper, std::int64_t num_rows) {
  std::int64_t missing = 0;
  Kokkos::parallel_reduce(label,
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, num_rows),
                          TransposeLower<Scalar, Space>{lower, upper}, missing);
  return missing;
}

}  // namespace prekond::impl::ilu
