// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_graph.hpp>
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

/// A square matrix with these row pointers; the columns and values are not initialised.
template <class Scalar, class Space, class RowLength>
GeneratedMatrix<Scalar, Space> make_rows(const Space& space, const std::string& label, std::int64_t num_rows,
                                         const RowLength& row_length) {
  const auto [row_ptrs, nnz] = impl::scan_row_lengths(space, label, num_rows, row_length);
  return GeneratedMatrix<Scalar, Space>(num_rows, num_rows, row_ptrs,
                                        allocate<Vector<int, Space>>(space, label + "::col_idxs", nnz),
                                        allocate<Vector<Scalar, Space>>(space, label + "::values", nnz));
}

}  // namespace prekond::generators
