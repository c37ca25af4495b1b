// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Checks of the arguments' sizes; the contents are not checked.
#include <prekond/batched/solver.hpp>
#include <prekond/core/error.hpp>

#include "batched/analysis.hpp"

#include <limits>
#include <string>

namespace prekond::impl::batched {

inline void expect(bool holds, const std::string& what) {
  if (!holds) throw InputError("batched: " + what);
}

/// Checks all formats: an int counts entries and rows of a system together.
template <class Matrix>
void check_common(const Matrix& a) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  expect(a.num_rows >= 0 && a.num_entries() + a.num_rows < most,
         "a system's rows and entries have to be fewer than 2^31 together");
  expect(a.num_systems() <= 2000000000, "there are more than 2e9 systems; solve them in several batches");
  expect(static_cast<std::int64_t>(a.values.extent(0)) >= a.stored_values(),
         "the values of a system are " + std::to_string(a.values.extent(0)) +
             " numbers, and the pattern has " + std::to_string(a.stored_values()));
}

template <class Value, class Space>
void check_sizes(const BatchedCsr<Value, Space>& a) {
  expect(static_cast<std::int64_t>(a.row_ptrs.extent(0)) == a.num_rows + 1,
         "row_ptrs has " + std::to_string(a.row_ptrs.extent(0)) + " elements; it needs num_rows + 1");
  check_common(a);
}
template <class Value, class Space>
void check_sizes(const BatchedEll<Value, Space>& a) {
  expect(static_cast<std::int64_t>(a.col_idxs.extent(0)) == a.num_rows,
         "col_idxs has " + std::to_string(a.col_idxs.extent(0)) + " rows; it needs num_rows");
  expect(a.width() == 0 || static_cast<std::int64_t>(a.col_idxs.stride(1)) == a.num_rows,
         "the columns of col_idxs have to be contiguous");
  check_common(a);
}
template <class Value, class Space>
void check_sizes(const BatchedDense<Value, Space>& a) {
  expect(a.leading >= a.num_rows, "the leading dimension is smaller than the number of rows");
  check_common(a);
}
template <class Value, class Space>
void check_sizes(const BatchedBanded<Value, Space>& a) {
  expect(a.lower >= 0 && a.upper >= 0 && (a.num_rows == 0 || (a.lower < a.num_rows && a.upper < a.num_rows)),
         "the bandwidths have to be at least 0 and below the number of rows");
  expect(a.leading > a.lower + a.upper, "the leading dimension has to be at least lower + upper + 1");
  check_common(a);
}

/// Checks that the matrix has the sizes of the analysis.
template <class Space, class Matrix>
void check_against(bool ready, const Analysis<Space>& analysis, std::int64_t num_systems, const Matrix& a) {
  expect(ready, "call symbolic before numeric and solve");
  check_sizes(a);
  expect(a.num_rows == analysis.num_rows && a.num_entries() == analysis.num_entries &&
             a.num_systems() == num_systems,
         "the matrix has other sizes than that of the last symbolic; call symbolic again");
}

template <class Scalar, class Space>
void check_vectors(std::int64_t num_rows, std::int64_t num_systems, MultiVectorView<const Scalar, Space> b,
                   MultiVectorView<Scalar, Space> x, const BatchedTolerances<Space>& tolerances) {
  const auto fits = [&](const auto& v) {
    return static_cast<std::int64_t>(v.extent(0)) == num_rows &&
           static_cast<std::int64_t>(v.extent(1)) == num_systems;
  };
  expect(fits(b) && fits(x), "b and x have to be num_rows x num_systems");
  const auto covers = [&](const auto& v) {
    return v.extent(0) == 0 || static_cast<std::int64_t>(v.extent(0)) == num_systems;
  };
  expect(covers(tolerances.rtol) && covers(tolerances.atol),
         "tolerances need an element for each system, or none");
}

}  // namespace prekond::impl::batched
