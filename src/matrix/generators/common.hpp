// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>
#include <prekond/matrix/generate.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace prekond::generators {

/// \throws OptionError unless size >= min_size and `rows(size)` (in double: it may not fit an integer) fits
/// an int.
void check_size(const std::string& name, std::int64_t size, std::int64_t min_size, double (*rows)(double));

template <class Space>
using RowPolicy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

template <class Space, class RowLength>
struct ScanRowLengths {
  using value_type = std::size_t;
  VectorView<std::size_t, Space> row_ptrs;
  RowLength row_length;
  std::int64_t num_rows;

  KOKKOS_FUNCTION void operator()(std::int64_t i, std::size_t& sum, bool final) const {
    if (final) row_ptrs(i) = sum;
    if (i < num_rows) sum += row_length(i);
  }
};

/// Row pointers of rows with `row_length(i)` entries each, and their total number.
template <class Space, class RowLength>
std::pair<Vector<std::size_t, Space>, std::size_t> make_row_ptrs(const Space& space, const std::string& label,
                                                                 std::int64_t num_rows,
                                                                 const RowLength& row_length) {
  auto row_ptrs = allocate<Vector<std::size_t, Space>>(space, label + "::row_ptrs", num_rows + 1);
  std::size_t nnz = 0;
  Kokkos::parallel_scan(label + "::scan", RowPolicy<Space>(space, 0, num_rows + 1),
                        ScanRowLengths<Space, RowLength>{row_ptrs, row_length, num_rows}, nnz);
  return {row_ptrs, nnz};
}

/// A square matrix with these row pointers; the columns and values are not initialised.
template <class Scalar, class Space, class RowLength>
GeneratedMatrix<Scalar, Space> make_rows(const Space& space, const std::string& label, std::int64_t num_rows,
                                         const RowLength& row_length) {
  const auto [row_ptrs, nnz] = make_row_ptrs(space, label, num_rows, row_length);
  return GeneratedMatrix<Scalar, Space>(num_rows, num_rows, row_ptrs,
                                        allocate<Vector<int, Space>>(space, label + "::col_idxs", nnz),
                                        allocate<Vector<Scalar, Space>>(space, label + "::values", nnz));
}

}  // namespace prekond::generators
