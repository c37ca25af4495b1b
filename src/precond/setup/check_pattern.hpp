// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Checks of the matrix and the pattern that a phase is given.
#include <prekond/core/error.hpp>
#include <prekond/matrix/csr_graph.hpp>

#include <cstdint>
#include <string>

namespace prekond::impl {

template <class Space>
struct RangeOfColumns {
  CsrGraphView<Space> pattern;
  KOKKOS_FUNCTION void operator()(std::int64_t k, int& min, int& max) const {
    if (pattern.col_idxs(k) < min) min = pattern.col_idxs(k);
    if (pattern.col_idxs(k) > max) max = pattern.col_idxs(k);
  }
};

/// Fences. \throws InputError for a pattern that is not square, or has a column out of range
template <class Space>
void check_graph(const Space& space, const CsrGraphView<Space>& pattern, const std::string& name) {
  if (pattern.num_rows != pattern.num_cols)
    throw InputError(name + ": the pattern is " + std::to_string(pattern.num_rows) + " x " +
                     std::to_string(pattern.num_cols) + "; it has to be square");
  int least = 0, most = -1;
  Kokkos::parallel_reduce(
      "prekond::check_graph",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, pattern.nnz()),
      RangeOfColumns<Space>{pattern}, Kokkos::Min<int>(least), Kokkos::Max<int>(most));
  if (pattern.nnz() == 0 || (least >= 0 && most < pattern.num_cols)) return;
  throw InputError(name + ": the pattern has the column " +
                   std::to_string(std::int64_t(least < 0 ? least : most) + 1) +
                   ", counted from 1, and its size is " + std::to_string(pattern.num_cols));
}

/// \throws InputError for a pattern of another size than the matrix
template <class Graph>
void check_pattern_rows(const Graph& pattern, std::int64_t num_rows, const std::string& name) {
  if (pattern.num_rows == num_rows) return;
  throw InputError(name + ": the pattern has " + std::to_string(pattern.num_rows) + " rows, the matrix " +
                   std::to_string(num_rows));
}

}  // namespace prekond::impl
