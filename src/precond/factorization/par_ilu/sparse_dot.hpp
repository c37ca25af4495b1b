// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Products of a row of L and a column of U.
#include <Kokkos_Core.hpp>

namespace prekond::impl::par_ilu {

/// The ratio of lengths from which the longer list is searched; below it both lists are merged.
inline constexpr int searched_ratio = 8;

/// Values by ascending indices.
template <class Scalar>
struct SparseList {
  const int* indices;
  const Scalar* values;
  int length;
};

/// The sum over the indices of both; each of the shorter one is searched in the longer one.
template <class Scalar>
KOKKOS_FUNCTION Scalar search_dot(const SparseList<Scalar>& shorter, const SparseList<Scalar>& longer) {
  Scalar sum = 0;
  int from = 0;
  for (int k = 0; k < shorter.length; ++k) {
    const int index = shorter.indices[k];
    int end = longer.length;
    while (from < end) {
      const int middle = from + (end - from) / 2;
      if (longer.indices[middle] < index)
        from = middle + 1;
      else
        end = middle;
    }
    if (from == longer.length) break;
    if (longer.indices[from] == index) sum += shorter.values[k] * longer.values[from];
  }
  return sum;
}

/// The sum over the indices of both, in ascending order.
template <class Scalar>
KOKKOS_FUNCTION Scalar sparse_dot(const SparseList<Scalar>& x, const SparseList<Scalar>& y) {
  if (x.length / searched_ratio > y.length) return search_dot(y, x);
  if (y.length / searched_ratio > x.length) return search_dot(x, y);
  Scalar sum = 0;
  for (int a = 0, b = 0; a < x.length && b < y.length;) {
    const int of_x = x.indices[a], of_y = y.indices[b];
    if (of_x == of_y) sum += x.values[a] * y.values[b];
    a += of_x <= of_y ? 1 : 0;
    b += of_y <= of_x ? 1 : 0;
  }
  return sum;
}

}  // namespace prekond::impl::par_ilu
