// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/generate.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace prekond::generators {

/// \throws OptionError unless size >= min_size and `rows(size)` (in double: it may not fit an integer) fits
/// an int.
void check_size(const std::string& name, std::int64_t size, std::int64_t min_size, double (*rows)(double));

template <class Space>
using RowPolicy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// \throws std::logic_error where there are no such rows
inline RowRange chosen_rows(const ChooseRows& choose, std::int64_t num_rows) {
  if (!choose) return {0, num_rows};
  const RowRange rows = choose(num_rows);
  if (rows.begin < 0 || rows.begin > rows.end || rows.end > num_rows)
    throw std::logic_error("rows " + std::to_string(rows.begin) + " to " + std::to_string(rows.end) +
                           " of a generated matrix that has " + std::to_string(num_rows));
  return rows;
}

template <class RowLength>
struct LengthFrom {
  RowLength row_length;
  std::int64_t first;
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t i) const { return row_length(first + i); }
};

/// Rows of a matrix with as many columns, with their row pointers; the columns and values are not
/// initialised. `row_length` counts in the whole matrix.
template <class Scalar, class Space, class RowLength>
GeneratedMatrix<Scalar, Space> make_rows(const Space& space, const std::string& label, const RowRange& rows,
                                         std::int64_t num_cols, const RowLength& row_length) {
  const std::int64_t num_rows = rows.end - rows.begin;
  const auto [row_ptrs, nnz] =
      impl::scan_row_lengths(space, label, num_rows, LengthFrom<RowLength>{row_length, rows.begin});
  return GeneratedMatrix<Scalar, Space>(num_rows, num_cols, row_ptrs,
                                        allocate<Vector<int, Space>>(space, label + "::col_idxs", nnz),
                                        allocate<Vector<Scalar, Space>>(space, label + "::values", nnz));
}

}  // namespace prekond::generators
