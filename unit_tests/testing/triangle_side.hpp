// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Triangles in the host's memory, for rows that tests work on by hand.
#include <gtest/gtest.h>
#include <prekond/core/views.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <vector>

namespace prekond::testing {

template <class T>
auto view_of(std::vector<T>& x) {
  return VectorView<T, Kokkos::DefaultHostExecutionSpace>(x.data(), x.size());
}

/// A pattern with ascending columns, and the values of rows there.
struct Side {
  std::vector<std::size_t> row_ptrs = {0};
  std::vector<int> cols;
  std::vector<double> values;

  Side(const std::vector<std::vector<int>>& pattern, const std::vector<std::map<int, long double>>& rows) {
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      for (const int j : pattern[i]) {
        cols.push_back(j);
        values.push_back(rows[i].count(j) ? static_cast<double>(rows[i].at(j)) : 0.0);
      }
      row_ptrs.push_back(cols.size());
    }
  }

  void expect_equal(const std::vector<std::map<int, long double>>& expected, double tolerance) const {
    for (std::size_t i = 0; i + 1 < row_ptrs.size(); ++i)
      for (std::size_t k = row_ptrs[i]; k < row_ptrs[i + 1]; ++k) {
        const long double wanted = expected[i].count(cols[k]) ? expected[i].at(cols[k]) : 0.0L;
        ASSERT_NEAR(values[k], wanted, tolerance * std::max(1.0L, std::abs(wanted)))
            << "row " << i << ", column " << cols[k];
      }
  }
};

}  // namespace prekond::testing
