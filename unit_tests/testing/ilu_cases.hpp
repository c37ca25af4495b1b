// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Common parts of the tests of the incomplete factorisations.
#include "testing/multicolor_cases.hpp"
#include "testing/reference_ilu.hpp"

#include <prekond/precond/ic.hpp>
#include <prekond/precond/ilu.hpp>

#include "precond/factorization/ilu/numeric.hpp"

#include <map>
#include <string>
#include <vector>

namespace prekond::testing {

/// Factors by rows, as they are kept.
template <class Scalar>
struct HostFactors {
  std::vector<std::map<int, Scalar>> lower, upper;
  std::vector<Scalar> pivots, row_scale;
  bool operator==(const HostFactors&) const = default;
};

template <class Matrix>
auto rows_of(const Matrix& device) {
  const auto a = to_host(device);
  std::vector<std::map<int, typename decltype(a.values)::value_type>> rows(a.num_rows);
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) rows[i][a.col_idxs[k]] = a.values[k];
  return rows;
}

template <class Scalar, class Space>
HostFactors<Scalar> factored(IncompleteFactorization<Scalar, Space>& m, const HostMatrix<Scalar>& host,
                             const Space& space = {}) {
  m.keep_factors();
  m.numeric(space, to_device<Space>(host));
  return {rows_of(m.factor_lower()), rows_of(m.factor_upper()), to_vector(m.pivots()),
          to_vector(m.row_scale())};
}

/// (I + L) D (I + U)
inline Dense product_of(const HostFactors<double>& f) {
  const auto n = f.pivots.size();
  Dense product(n, std::vector<double>(n, 0));
  for (std::size_t i = 0; i < n; ++i) {
    auto lower = f.lower[i];
    lower[static_cast<int>(i)] = 1;
    for (const auto& [k, l] : lower) {
      product[i][k] += l / f.pivots[k];
      for (const auto& [j, u] : f.upper[k]) product[i][j] += l / f.pivots[k] * u;
    }
  }
  return product;
}

template <class Scalar>
void expect_triangle(const std::vector<std::map<int, Scalar>>& found,
                     const std::vector<std::map<int, long double>>& expected,
                     const std::vector<std::vector<int>>& pattern, double tolerance) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].size(), pattern[i].size()) << "row " << i;
    long double size = 1;
    for (const auto& [j, value] : expected[i]) size = std::max(size, std::abs(value));
    for (const int j : pattern[i]) {
      ASSERT_EQ(found[i].count(j), 1u) << "row " << i << ", column " << j;
      const long double wanted = expected[i].count(j) ? expected[i].at(j) : 0.0L;
      ASSERT_LE(std::abs(found[i].at(j) - wanted), tolerance * size) << "row " << i << ", column " << j;
    }
  }
}

inline ReferenceKind reference_kind(const IluOptions&) {
  return ReferenceKind::ilu;
}
inline ReferenceKind reference_kind(const IcOptions& options) {
  if (options.kind == IncompleteKind::ic) return ReferenceKind::ic;
  return options.kind == IncompleteKind::mic_robert ? ReferenceKind::mic_robert
                                                    : ReferenceKind::mic_gustafsson;
}

/// Rows without a diagonal entry, which take another in its place.
template <class Scalar>
int without_diagonal(const HostMatrix<Scalar>& a) {
  int count = 0;
  for (std::int64_t i = 0; i < a.num_rows; ++i) count += a(i, i) == Scalar(0) ? 1 : 0;
  return count;
}

/// Pattern, factors, what is counted, and M^-1 b, against the textbook's.
template <template <class, class> class Method, class Scalar, class Space>
void check_factors(const Case& test, const typename Method<Scalar, Space>::options_type& options,
                   double tolerance) {
  const ReferenceKind kind = reference_kind(options);
  const int level = options.level;
  SCOPED_TRACE(test.name + ", level " + std::to_string(level) + ", schedule " +
               std::to_string(int(options.schedule())));
  const auto host = convert<Scalar>(test.matrix);
  Method<Scalar, Space> m(options);
  const auto found = factored<Scalar, Space>(m, host);
  const ReferenceIlu expected = reference_ilu(host, level, kind, options.shift.value_or(0));
  const ReferenceFill fill = reference_fill(host, level);
  EXPECT_EQ(m.report().breakdowns.count, expected.replaced + without_diagonal(host));
  ASSERT_NO_FATAL_FAILURE(expect_triangle(found.lower, expected.lower, fill.lower, tolerance));
  ASSERT_NO_FATAL_FAILURE(expect_triangle(found.upper, expected.upper, fill.upper, tolerance));
  for (std::size_t i = 0; i < found.pivots.size(); ++i)
    ASSERT_NEAR(found.pivots[i] * expected.pivots[i], 1,
                tolerance * std::max(1.0L, std::abs(1 / expected.pivots[i])))
        << "row " << i;
  std::vector<std::vector<Scalar>> b(2, std::vector<Scalar>(host.num_rows));
  for (int v = 0; v < 2; ++v) {
    const auto wave = waves_of(host.num_rows, v);
    b[v].assign(wave.begin(), wave.end());
  }
  // With A's row sums, which may nearly be 0, M is worse conditioned.
  const double growth = kind == ReferenceKind::mic_gustafsson ? 100 : 10;
  const auto y = applied_to<Scalar, Space>(m, b);
  for (int v = 0; v < 2; ++v)
    EXPECT_LE(relative_difference(y[v], solve(expected, b[v])), growth * tolerance) << "column " << v;
}

/// Awkward patterns, on whose diagonals some entries are missing, with small entries next to them.
inline std::vector<Case> awkward_ilu_matrices() {
  std::vector<Case> cases;
  for (auto [name, a] : awkward_patterns<double>()) {
    if (a.num_rows == 0) continue;
    for (std::int64_t i = 0; i < a.num_rows; ++i)
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
        if (a.col_idxs[k] == i) a.values[k] = (i % 3 == 1 ? -1 : 1) * (3 + std::abs(a.values[k]));
    cases.push_back({name, a});
  }
  return cases;
}

}  // namespace prekond::testing
