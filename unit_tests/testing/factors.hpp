// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Pairs of matrices to multiply, and what their product is compared by.
#include "testing/host_graph.hpp"
#include "testing/host_matrix.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace prekond::testing {

template <class Scalar>
struct Factors {
  std::string name;
  HostMatrix<Scalar> a, b;
};

template <class Scalar>
std::vector<Factors<Scalar>> awkward_factors() {
  const auto random = [](int rows, int cols, double density, unsigned seed) {
    return random_entries<Scalar>(rows, cols, density, seed);
  };
  HostMatrix<Scalar> zeros = random(9, 9, 1, 20);  // stored zeros, and sums that cancel
  for (std::size_t k = 0; k < zeros.nnz(); ++k)
    zeros.values[k] = Scalar(k % 3 == 0 ? 0 : k % 2 == 0 ? 1 : -1);
  return {{"1 x 1", random(1, 1, 1, 1), random(1, 1, 1, 2)},
          {"no entries", random(5, 7, 0, 1), random(7, 3, 0.5, 2)},
          {"no entries of B", random(5, 7, 0.5, 1), random(7, 3, 0, 2)},
          {"no rows", random(0, 7, 1, 1), random(7, 3, 0.5, 2)},
          {"no columns", random(5, 7, 1, 1), random(7, 0, 1, 2)},
          {"nothing between", random(5, 0, 1, 1), random(0, 7, 1, 2)},
          {"outer product", random(33, 1, 0.7, 3), random(1, 47, 0.7, 4)},
          {"inner product", random(1, 333, 0.6, 5), random(333, 1, 0.6, 6)},
          {"dense", random(31, 37, 1, 7), random(37, 41, 1, 8)},
          {"sparse", random(1023, 517, 0.01, 9), random(517, 771, 0.01, 10)},
          {"longer than a table", random(7, 200, 0.5, 11), random(200, 5003, 0.1, 12)},
          {"tall", random(2049, 65, 0.02, 13), random(65, 33, 0.2, 14)},
          {"rows of ten entries", random(301, 401, 0.03, 15), random(401, 450, 0.022, 16)},
          {"zeros", zeros, zeros}};
}

/// Equal but for rounding, which sums of fused products may have another of.
template <class Scalar>
void expect_near(const HostMatrix<Scalar>& found, const HostMatrix<Scalar>& expected, double relative) {
  ASSERT_EQ(found.num_rows, expected.num_rows);
  ASSERT_EQ(found.num_cols, expected.num_cols);
  ASSERT_EQ(found.row_ptrs, expected.row_ptrs);
  ASSERT_EQ(found.col_idxs, expected.col_idxs);
  for (std::size_t k = 0; k < found.nnz(); ++k)
    ASSERT_NEAR(found.values[k], expected.values[k], relative) << "entry " << k;
}

}  // namespace prekond::testing
