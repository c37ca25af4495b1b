// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/general_matrices.hpp"
#include "testing/host_matrix.hpp"

#include <prekond/distributed/impl/part_of_columns.hpp>
#include "distributed/select_entries.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace prekond::testing {
namespace {

using Space = Kokkos::DefaultExecutionSpace;
using Rows = std::vector<std::map<int, double>>;

/// Row r of the result is row rows[r], with the columns c for which columns[c] is not negative, by that
/// number.
Rows selected(const HostMatrix<double>& a, const std::vector<int>& rows, const std::vector<int>& columns) {
  Rows result(rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t k = a.row_ptrs[rows[r]]; k < a.row_ptrs[rows[r] + 1]; ++k)
      if (columns[a.col_idxs[k]] >= 0) result[r][columns[a.col_idxs[k]]] = a.values[k];
  return result;
}

template <class Matrix>
void expect_rows(const Matrix& found, const Rows& expected) {
  const auto row_ptrs = to_vector(found.row_ptrs);
  const auto col_idxs = to_vector(found.col_idxs);
  const auto values = to_vector(found.values);
  ASSERT_EQ(row_ptrs.size(), expected.size() + 1);
  for (std::size_t r = 0; r < expected.size(); ++r) {
    std::vector<int> cols;
    std::vector<double> of_row;
    for (const auto& [col, value] : expected[r]) cols.push_back(col), of_row.push_back(value);
    const auto begin = static_cast<std::ptrdiff_t>(row_ptrs[r]),
               end = static_cast<std::ptrdiff_t>(row_ptrs[r + 1]);
    EXPECT_EQ(std::vector<int>(col_idxs.begin() + begin, col_idxs.begin() + end), cols) << "row " << r;
    EXPECT_EQ(std::vector<double>(values.begin() + begin, values.begin() + end), of_row) << "row " << r;
  }
  EXPECT_EQ(static_cast<std::size_t>(found.col_idxs.extent(0)), row_ptrs.back());
}

std::vector<int> numbers(std::int64_t n) {
  std::vector<int> all(n);
  for (std::int64_t i = 0; i < n; ++i) all[i] = static_cast<int>(i);
  return all;
}

TEST(PartsOfRows, EntriesAreSelectedByRowsAndColumns) {
  const Space space;
  // One row, a team of rows less one, as many and one more; rows of up to 60 entries.
  for (const int n : {1, 31, 32, 33, 257}) {
    SCOPED_TRACE(n);
    const HostMatrix<double> a = random_general(n, n < 100 ? 0.6 : 0.2, 5);
    const auto on_device = to_device<Space>(a);
    std::vector<int> columns(n), rows;
    for (int c = 0; c < n; ++c) columns[c] = c % 3 == 1 ? -1 : (n - 1 - c) % 4 == 0 ? n + c : n - 1 - c;
    for (int i = n - 1; i >= 0; i -= 2) rows.push_back(i);
    const auto of = [&](const std::vector<int>& chosen) {
      return select_entries<double, Space>(
          space, "test", on_device, static_cast<std::int64_t>(chosen.empty() ? a.num_rows : chosen.size()),
          to_device<Space>(chosen), to_device<Space>(columns), 2 * n);
    };
    expect_rows(of(rows), selected(a, rows, columns));
    expect_rows(of({}), selected(a, numbers(n), columns));
  }
  const auto none = select_entries<double, Space>(space, "test", to_device<Space>(random_general(4, 0.5, 1)),
                                                  0, {}, to_device<Space>(numbers(4)), 4);
  EXPECT_EQ(none.nnz(), 0);
}

TEST(PartsOfRows, OwnColumnsAndOthersAreApart) {
  const Space space;
  for (const int n : {1, 32, 33, 300}) {
    const HostMatrix<double> a = random_general(n, n < 100 ? 0.5 : 0.1, 3);
    const auto on_device = to_device<Space>(a);
    for (const int num_own : {n, n / 2, 0}) {
      SCOPED_TRACE(std::to_string(n) + ", own " + std::to_string(num_own));
      std::vector<int> own(n), others(n);
      for (int c = 0; c < n; ++c) own[c] = c < num_own ? c : -1, others[c] = c < num_own ? -1 : c - num_own;
      const auto part = [&](bool is_own) {
        return impl::part_of_columns<double, Space>(space, "test", on_device, num_own, is_own);
      };
      expect_rows(part(true), selected(a, numbers(n), own));
      expect_rows(part(false), selected(a, numbers(n), others));
    }
  }
}

}  // namespace
}  // namespace prekond::testing
