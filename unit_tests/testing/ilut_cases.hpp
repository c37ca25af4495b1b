// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Common parts of the tests of the threshold factorisations.
#include "testing/ilu_cases.hpp"
#include "testing/reference_ilut.hpp"

#include <prekond/precond/ilut.hpp>

#include <gtest/gtest.h>

#include "precond/factorization/ilut/numeric.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace prekond::testing {

/// Rounding decides which of nearly equal entries is kept: of these no two are.
template <class Scalar>
HostMatrix<Scalar> tie_free(HostMatrix<Scalar> a, bool symmetric) {
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const std::int64_t j = a.col_idxs[k];
      const double row = static_cast<double>(symmetric ? std::min(i, j) : i);
      const double col = static_cast<double>(symmetric ? std::max(i, j) : j);
      if (i != j) a.values[k] *= static_cast<Scalar>(1 - 0.05 * (1 + std::sin(12.9898 * row + 78.233 * col)));
    }
  return a;
}

/// The factors that impl::ilut::factor makes of a matrix.
template <class Scalar>
struct Made {
  HostFactors<Scalar> factors;
  std::int64_t breakdowns = 0, cut_rows = 0;
  int launches = 0;
  bool stalled = false;
};

template <class Scalar, class Space>
Made<Scalar> made(const HostMatrix<Scalar>& host, const impl::ilut::ThresholdRules<Space>& rules,
                  const Space& space = {}) {
  const auto a = to_device<Space>(host);
  const auto pattern = fill_pattern<Space>(space, a, 0, std::int64_t(1) << 40, true);
  Report report;
  const auto scaled = impl::sweeps::fill_triangles<Scalar, Space>(space, a, pattern, Scalar(1), report);
  impl::ilu::Outcome outcome;
  const auto result = impl::ilut::factor<Scalar, Space>(space, pattern, scaled, rules, outcome);
  const auto rows = [&](const CsrGraph<Space>& graph, const Vector<Scalar, Space>& values) {
    const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> matrix(
        host.num_rows, host.num_rows, graph.row_ptrs, graph.col_idxs, values);
    const auto on_host = to_host(matrix);
    for (std::int64_t i = 0; i < host.num_rows; ++i)
      EXPECT_TRUE(std::is_sorted(on_host.col_idxs.begin() + on_host.row_ptrs[i],
                                 on_host.col_idxs.begin() + on_host.row_ptrs[i + 1]))
          << "row " << i;
    return rows_of(matrix);
  };
  return {{rows(result.pattern.lower, result.factors.lower), rows(result.pattern.upper, result.factors.upper),
           to_vector(result.factors.pivots), to_vector(result.factors.row_scale)},
          outcome.breakdowns.pivots + outcome.breakdowns.diagonals,
          result.cut_rows,
          result.launches,
          result.stalled};
}

template <class Scalar, class Space>
ReferenceIlut reference_of(const HostMatrix<Scalar>& host, const impl::ilut::ThresholdRules<Space>& rules) {
  return rules.symmetric ? reference_ict(host, rules.p, rules.tau, rules.alpha)
                         : reference_ilut(host, rules.p, rules.tau, rules.alpha);
}

/// The same columns, and nearly the same values.
template <class Scalar>
void expect_same_rows(const std::vector<std::map<int, Scalar>>& found,
                      const std::vector<std::map<int, long double>>& expected, double tolerance) {
  std::vector<std::vector<int>> columns(expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (const auto& entry : expected[i]) columns[i].push_back(entry.first);
  ASSERT_EQ(found.size(), expected.size());
  expect_triangle(found, expected, columns, tolerance);
}

/// Pattern, factors and what is counted, against the textbook's.
template <class Scalar, class Space>
void check_threshold(const Case& test, const impl::ilut::ThresholdRules<Space>& rules, double tolerance) {
  SCOPED_TRACE(test.name + ", p " + std::to_string(rules.p) + ", tau " + std::to_string(rules.tau) +
               (rules.symmetric ? ", symmetric" : ""));
  const auto host = tie_free(convert<Scalar>(test.matrix), rules.symmetric);
  if (host.num_rows == 0) return;
  const auto found = made<Scalar, Space>(host, rules);
  const ReferenceIlut expected = reference_of(host, rules);
  EXPECT_EQ(found.breakdowns, expected.replaced);
  EXPECT_EQ(found.cut_rows, expected.cut_rows);
  ASSERT_NO_FATAL_FAILURE(expect_same_rows(found.factors.lower, expected.lower, tolerance));
  ASSERT_NO_FATAL_FAILURE(expect_same_rows(found.factors.upper, expected.upper, tolerance));
  for (std::size_t i = 0; i < expected.pivots.size(); ++i)
    ASSERT_NEAR(found.factors.pivots[i] * expected.pivots[i], 1,
                tolerance * std::max(1.0L, std::abs(1 / expected.pivots[i])))
        << "row " << i;
}

/// p and tau by themselves.
inline IlutOptions with(const std::pair<int, double>& p_and_tau) {
  IlutOptions options;
  options.p = p_and_tau.first;
  options.tau = p_and_tau.second;
  return options;
}

}  // namespace prekond::testing
