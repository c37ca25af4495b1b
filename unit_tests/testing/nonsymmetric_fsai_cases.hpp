// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Common parts of the tests of the nonsymmetric FSAI: expectations by dense systems of each row.
#include "testing/general_matrices.hpp"
#include "testing/host_graph.hpp"
#include "testing/reference_lu.hpp"

#include <gtest/gtest.h>
#include <prekond/precond/nonsymmetric_fsai.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace prekond::testing {

/// G_L and G_U^T, by rows.
template <class Scalar>
struct Factors {
  HostMatrix<Scalar> lower, upper;
  bool operator==(const Factors& other) const { return lower == other.lower && upper == other.upper; }
};

template <class Scalar, class Space>
Factors<Scalar> factors_of(const NonsymmetricFsai<Scalar, Space>& fsai) {
  return {to_host(fsai.lower_factor()), transposed(to_host(fsai.upper_factor()))};
}

/// The row of G_L and the column of G_U on given columns, from the inverse of A[P, P].
struct ReferencePair {
  std::vector<double> lower, upper;
};
inline ReferencePair reference_pair(const Dense& a, const std::vector<int>& cols) {
  const std::size_t m = cols.size();
  LongMatrix block(m, std::vector<long double>(m));
  for (std::size_t p = 0; p < m; ++p)
    for (std::size_t q = 0; q < m; ++q) block[p][q] = a[cols[p]][cols[q]];
  const LastOfInverse inverse = last_of_inverse(block);
  const long double pivot = 1 / inverse.row.back(), root = std::sqrt(std::abs(pivot));
  ReferencePair pair;
  for (std::size_t p = 0; p < m; ++p) {
    pair.lower.push_back(static_cast<double>(inverse.row[p] * pivot / root));
    pair.upper.push_back(static_cast<double>(inverse.column[p] * pivot / root * (pivot < 0 ? -1 : 1)));
  }
  return pair;
}

/// To the tolerance, relative to the largest entry, each weighted by the size of its row (column) of A.
inline void expect_near(const HostMatrix<double>& g, std::int64_t i, const std::vector<double>& expected,
                        const std::vector<double>& weight, double tolerance) {
  const std::size_t begin = g.row_ptrs[i];
  double largest = 0;
  for (std::size_t p = 0; p < expected.size(); ++p)
    largest = std::max(largest, std::abs(expected[p]) * weight[g.col_idxs[begin + p]]);
  for (std::size_t p = 0; p < expected.size(); ++p)
    ASSERT_NEAR((g.values[begin + p] - expected[p]) * weight[g.col_idxs[begin + p]] / largest, 0, tolerance)
        << "row " << i << " column " << g.col_idxs[begin + p];
}

/// Every row and column is the textbook's on its own columns.
inline void expect_textbook(const HostMatrix<double>& a, const Factors<double>& g, double tolerance,
                            std::vector<int> rows = {}) {
  const Dense dense = to_dense(a);
  std::vector<double> of_rows(a.num_rows, 0), of_cols(a.num_rows, 0);
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::int64_t j = 0; j < a.num_rows; ++j) of_rows[i] = std::max(of_rows[i], std::abs(dense[i][j]));
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::int64_t j = 0; j < a.num_rows; ++j)
      of_cols[j] = std::max(of_cols[j], std::abs(dense[i][j]) / of_rows[i]);
  if (rows.empty())
    for (int i = 0; i < a.num_rows; ++i) rows.push_back(i);
  for (const int i : rows) {
    const std::vector<int> cols(g.lower.col_idxs.begin() + g.lower.row_ptrs[i],
                                g.lower.col_idxs.begin() + g.lower.row_ptrs[i + 1]);
    const ReferencePair expected = reference_pair(dense, cols);
    ASSERT_NO_FATAL_FAILURE(expect_near(g.lower, i, expected.lower, of_rows, tolerance));
    ASSERT_NO_FATAL_FAILURE(expect_near(g.upper, i, expected.upper, of_cols, tolerance));
  }
}

/// Both have sorted rows that end with the diagonal, on the same pattern, and diag(G_L A G_U) = 1.
inline void expect_unit_diagonal(const HostMatrix<double>& a, const Factors<double>& g, double tolerance) {
  ASSERT_EQ(pattern_of(g.lower), pattern_of(g.upper));
  const Dense dense = to_dense(a);
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    const std::size_t begin = g.lower.row_ptrs[i], end = g.lower.row_ptrs[i + 1];
    ASSERT_GT(end, begin);
    ASSERT_EQ(g.lower.col_idxs[end - 1], i) << "the diagonal is last";
    ASSERT_NEAR(std::abs(g.upper.values[end - 1]), g.lower.values[end - 1], 1e-6 * g.lower.values[end - 1])
        << "balanced, and positive in G_L";
    long double sum = 0, magnitudes = 0;
    for (std::size_t k = begin; k < end; ++k) {
      for (std::size_t l = begin; l < end; ++l) {
        const long double term = static_cast<long double>(g.lower.values[k]) * g.upper.values[l] *
                                 dense[g.lower.col_idxs[k]][g.upper.col_idxs[l]];
        sum += term;
        magnitudes += std::abs(term);
      }
    }
    ASSERT_NEAR(static_cast<double>(sum), 1, std::max(tolerance, 1e-15 * static_cast<double>(magnitudes)))
        << "row " << i;
  }
}

inline void expect_finite(const Factors<double>& g) {
  for (const HostMatrix<double>* matrix : {&g.lower, &g.upper}) {
    for (double value : matrix->values) ASSERT_TRUE(std::isfinite(value));
    for (std::int64_t i = 0; i < matrix->num_rows; ++i)
      ASSERT_NE(matrix->values[matrix->row_ptrs[i + 1] - 1], 0) << "row " << i;
  }
}

}  // namespace prekond::testing
