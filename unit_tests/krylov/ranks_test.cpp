// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Solvers whose random vectors are functions of the global row numbers, on ranks in one process.
#include "krylov/random_vector.hpp"
#include "testing/krylov_solves.hpp"
#include "testing/matrix_of_rank.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/krylov/lanczos.hpp>
#include "distributed/row_partition.hpp"

#include <cmath>
#include <complex>
#include <map>

namespace prekond::testing {
namespace {

template <class Space>
class RanksTest : public ::testing::Test {};
TYPED_TEST_SUITE(RanksTest, TestSpaces, SpaceNames);

Parts equal_parts(std::int64_t num_rows, int size) {
  std::vector<std::int64_t> sizes;
  for (int rank = 0; rank < size; ++rank) sizes.push_back(RowPartition{num_rows, size}.size(rank));
  return consecutive_parts(sizes);
}

/// n rows on 1, 2, 3, 4 and 7 ranks, one after the other or dealt out, and with ranks that have none.
std::vector<Parts> all_parts(std::int64_t n) {
  std::vector<Parts> all;
  for (const int size : {1, 2, 3, 4, 7}) {
    all.push_back(equal_parts(n, size));
    all.push_back(cyclic_parts(n, size));
  }
  all.push_back(consecutive_parts({0, n - 1, 0, 1}));
  return all;
}

std::string name_of(const Parts& parts) {
  return std::to_string(parts.size()) + " ranks, the first row " +
         (parts[0].empty() ? "nobody's" : std::to_string(parts[0][0]));
}

std::vector<double> at_rows(const std::vector<double>& whole, const std::vector<std::int64_t>& rows) {
  std::vector<double> part;
  for (const std::int64_t row : rows) part.push_back(whole[row]);
  return part;
}

// ------------------------------------------------------------------------------------- the vectors
// themselves

template <class Scalar, class Space>
std::vector<Scalar> random_rows(const RowNumbers<Space>& rows, std::size_t count, std::uint64_t seed) {
  const Vector<Scalar, Space> v("v", count);
  krylov::fill_random<Scalar, Space>(Space(), v, rows, seed);
  Space().fence();
  return to_vector(v);
}

/// 0, 1, ... n - 1 in one process: what the other distributions are held to.
template <class Scalar, class Space>
std::vector<Scalar> random_whole(std::int64_t n, std::uint64_t seed) {
  return random_rows<Scalar, Space>({n, 0, {}}, n, seed);
}

template <class Scalar, class Space>
void expect_the_same_on_all_ranks(std::int64_t n) {
  const auto whole = random_whole<Scalar, Space>(n, 2026);
  for (const Parts& parts : all_parts(n))
    for (const auto& own : parts) {
      const auto listed = random_rows<Scalar, Space>({n, 0, to_device<Space>(own)}, own.size(), 2026);
      for (std::size_t i = 0; i < own.size(); ++i) ASSERT_EQ(listed[i], whole[own[i]]) << "row " << own[i];
      if (own.empty() || own.back() - own.front() != std::int64_t(own.size()) - 1) continue;
      EXPECT_EQ((random_rows<Scalar, Space>({n, own.front(), {}}, own.size(), 2026)), listed);
    }
}

TYPED_TEST(RanksTest, ARandomVectorIsAFunctionOfTheGlobalRow) {
  expect_the_same_on_all_ranks<double, TypeParam>(53);
  expect_the_same_on_all_ranks<float, TypeParam>(29);
  expect_the_same_on_all_ranks<Kokkos::complex<double>, TypeParam>(31);
}

TYPED_TEST(RanksTest, ARandomVectorDependsOnTheSeedAndTheNumberOfRows) {
  const auto v = random_whole<double, TypeParam>(1000, 1);
  double sum = 0, square = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    ASSERT_GT(v[i], -1);
    ASSERT_LE(v[i], 1);
    sum += v[i] / 1000;
    square += v[i] * v[i] / 1000;
    if (i > 0) {
      EXPECT_NE(v[i], v[i - 1]);
    }
  }
  EXPECT_NEAR(sum, 0, 0.06);
  EXPECT_NEAR(square, 1.0 / 3, 0.04);
  const auto other = random_whole<double, TypeParam>(1000, 2),
             longer = random_whole<double, TypeParam>(1001, 1);
  for (std::size_t i = 0; i < v.size(); ++i) {
    EXPECT_NE(v[i], other[i]);
    EXPECT_NE(v[i], longer[i]);
  }
}

TYPED_TEST(RanksTest, RowNumbersBeyondInt) {
  const std::int64_t far = (std::int64_t(1) << 33) + 5;
  const auto list = to_device<TypeParam>(std::vector<std::int64_t>{far, 5, far + 1});
  const auto listed = random_rows<double, TypeParam>({far + 2, 0, list}, 3, 7);
  const auto behind = random_rows<double, TypeParam>({far + 2, far, {}}, 2, 7);
  EXPECT_EQ(listed[0], behind[0]);
  EXPECT_EQ(listed[2], behind[1]);
  EXPECT_NE(listed[0], listed[1]);
}

TYPED_TEST(RanksTest, RowNumbersOfASingleProcessStartAtZero) {
  const auto a = operator_of<TypeParam>(problem("poisson2d:3"));
  const RowNumbers<TypeParam> rows = a.row_numbers(TypeParam());
  EXPECT_EQ(rows.num_global_rows, 9);
  EXPECT_EQ(rows.first, 0);
  EXPECT_EQ(rows.numbers.extent(0), 0u);
}

// ------------------------------------------------------------------------------------------------ the
// methods

/// A x = b on ranks: the result of rank 0, and x put together.
template <class Space>
Solved<> solve_on_ranks(const Variant& variant, const HostMatrix<double>& whole, const std::vector<double>& b,
                        const Parts& parts, const StoppingOptions& stopping) {
  Solved<> found;
  found.x.assign(b.size(), 0);
  run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
    const auto& own = parts[rank.rank];
    const MatrixOfRank<double, Space> a(rank, whole, parts);
    const auto mine =
        solve_with<double, Space>(variant, a.product(), nullptr, at_rows(b, own), stopping, {}, a.reducer());
    for (std::size_t i = 0; i < own.size(); ++i) found.x[own[i]] = mine.x[i];
    if (rank.rank > 0) return;
    found.result = mine.result;
    found.history = mine.history;
  });
  return found;
}

void expect_the_same_solve(const Solved<>& found, const Solved<>& alone, double tolerance) {
  EXPECT_EQ(found.result.reason, alone.result.reason);
  EXPECT_EQ(found.result.iterations, alone.result.iterations);
  ASSERT_EQ(found.history.size(), alone.history.size());
  for (std::size_t k = 0; k < alone.history.size(); ++k)
    EXPECT_NEAR(found.history[k], alone.history[k], tolerance * alone.history[0]) << "iteration " << k;
  double largest = 0;
  for (const double value : alone.x) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < alone.x.size(); ++i)
    EXPECT_NEAR(found.x[i], alone.x[i], tolerance * largest) << "row " << i;
}

/// A = tridiag(-1, 0, 1), skew-symmetric.
HostMatrix<double> skew_symmetric(std::int64_t n) {
  HostMatrix<double> a;
  a.num_rows = a.num_cols = n;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i > 0) a.col_idxs.push_back(int(i) - 1), a.values.push_back(-1);
    if (i + 1 < n) a.col_idxs.push_back(int(i) + 1), a.values.push_back(1);
    a.row_ptrs.push_back(a.nnz());
  }
  return a;
}

TYPED_TEST(RanksTest, IdrIsTheSameOnAnyNumberOfRanks) {
  const HostMatrix<double> a = uneven_matrix(53);
  const std::vector<double> b = random_vector(a.num_rows);
  for (const std::int64_t s : {1, 4}) {
    const Variant idr{"idr", {{"s", OptionValue(s)}}};
    const auto alone =
        solve_with<double, TypeParam>(idr, operator_of<TypeParam>(a), nullptr, b, stop_at(1e-8));
    ASSERT_TRUE(alone.result.converged);
    ASSERT_GE(alone.result.iterations, 10);
    for (const Parts& parts : all_parts(a.num_rows)) {
      SCOPED_TRACE(idr.name() + ", " + name_of(parts));
      expect_the_same_solve(solve_on_ranks<TypeParam>(idr, a, b, parts, stop_at(1e-8)), alone, 1e-7);
    }
  }
}

TYPED_TEST(RanksTest, BicgstabsSecondStartIsTheSameOnAnyNumberOfRanks) {
  const HostMatrix<double> a = skew_symmetric(24);
  // (r, A r) = 0 without a rounding error: the first step breaks down, and BiCGSTAB starts again with a
  // shadow residual of random numbers.
  std::vector<double> b(a.num_rows, 0.0);
  b[9] = 1;
  const Variant bicgstab{"bicgstab", {}};
  const auto alone =
      solve_with<double, TypeParam>(bicgstab, operator_of<TypeParam>(a), nullptr, b, stop_at(1e-8, 4));
  // Iteration 0, the one that breaks down, and those of the second start, from its 0 on.
  ASSERT_GE(alone.seen.size(), 3u);
  int starts = 1;
  for (std::size_t k = 1; k < alone.seen.size(); ++k) starts += alone.seen[k] == alone.seen[k - 1] ? 1 : 0;
  EXPECT_EQ(starts, 2);
  for (const Parts& parts : all_parts(a.num_rows)) {
    SCOPED_TRACE(name_of(parts));
    expect_the_same_solve(solve_on_ranks<TypeParam>(bicgstab, a, b, parts, stop_at(1e-8, 4)), alone, 1e-9);
  }
}

TYPED_TEST(RanksTest, LanczosFindsTheSameOnAnyNumberOfRanks) {
  const HostMatrix<double> a = problem("poisson2d:7");
  const LanczosOptions options{.steps = 8};
  const auto alone = lanczos<double, TypeParam>(TypeParam(), operator_of<TypeParam>(a), nullptr, options);
  for (const Parts& parts : all_parts(a.num_rows)) {
    SCOPED_TRACE(name_of(parts));
    run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
      const MatrixOfRank<double, TypeParam> of_rank(rank, a, parts);
      const auto found =
          lanczos<double, TypeParam>(TypeParam(), of_rank.product(), nullptr, options, of_rank.reducer());
      ASSERT_EQ(found.ritz_values.size(), alone.ritz_values.size());
      for (std::size_t k = 0; k < alone.ritz_values.size(); ++k)
        EXPECT_NEAR(found.ritz_values[k], alone.ritz_values[k], 1e-11);
    });
  }
}

}  // namespace
}  // namespace prekond::testing
