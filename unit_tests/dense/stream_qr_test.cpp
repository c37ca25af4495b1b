// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/lane_threads.hpp"
#include "testing/reference_qr.hpp"

#include <gtest/gtest.h>
#include "dense/stream_qr.hpp"

#include <limits>
#include <string>

/// By lanes that are threads of the host's.
namespace prekond::testing {
namespace {

struct alignas(16) Bytes {
  char bytes[16];
};

template <class Real>
struct Streamed {
  std::vector<Real> x;
  std::vector<Real> diagonal;  ///< of R
};

/// Appends the rows of [a, b] block by block, from the first column that is not zero, and solves.
template <class Real, int Width, int Sets, int Rows, bool Far>
Streamed<Real> stream(const LongMatrix& a, const std::vector<long double>& b) {
  using LaneGroup = typename LaneThreads<Width>::LaneGroup;
  using System = StreamQr<Real, Rows, Sets, LaneGroup, Far>;
  const int n1 = int(b.size()), n2 = int(a[0].size());
  std::vector<Bytes> memory((System::Layout::shown_bytes + System::Layout::r_bytes(n2)) / sizeof(Bytes));
  std::fill_n(reinterpret_cast<char*>(memory.data()), memory.size() * sizeof(Bytes), char(-1));
  Streamed<Real> found{std::vector<Real>(std::size_t(n2)), std::vector<Real>(std::size_t(n2))};
  LaneThreads<Width> lanes;
  lanes.run([&](const LaneGroup& lane_group) {
    char* const base = reinterpret_cast<char*>(memory.data());
    const System system(lane_group, base, base + System::Layout::shown_bytes, n2);
    system.clear();
    const auto entry = [&](int i, int c) {
      if (i >= n1 || c > n2) return Real(0);
      return static_cast<Real>(c == n2 ? b[i] : a[i][c]);
    };
    for (int i = 0; i < n1; i += Rows) {
      typename System::Block block;
      int first = n2;
      for (int r = 0; r < Rows; ++r)
        for (int c = n2; c-- > 0;)
          if (entry(i + r, c) != 0 && c < first) first = c;
      for (int s = 0; s < Sets; ++s)
        for (int r = 0; r < Rows; ++r)
          block.entries[s][r] = entry(i + r, lane_group.lane() + s * lane_group.size());
      system.append(block, first);
    }
    Real x[Sets];
    system.solve(x);
    for (int s = 0; s < Sets; ++s) {
      const int c = lane_group.lane() + s * lane_group.size();
      if (c >= n2) continue;
      found.x[c] = x[s];
      found.diagonal[c] = system(c, c);
    }
  });
  return found;
}

/// Random entries, with bands of zeros in the lower left.
LongMatrix staircase(int n1, int n2, unsigned seed) {
  LongMatrix a = random_matrix(n1, n2, seed);
  for (int i = 0; i < n1; ++i)
    for (int j = 0; j < n2; ++j)
      if (j * n1 < (i - n1 / 3) * n2) a[i][j] = 0;
  for (int j = 0; j < n2; ++j) a[j][j] += 5;
  return a;
}

template <class Real, int Width, int Sets, int Rows, bool Far = false>
void expect_least(int n1, int n2, double tolerance) {
  SCOPED_TRACE(std::to_string(n1) + " x " + std::to_string(n2) + " by " + std::to_string(Width) + " lanes");
  const LongMatrix a = staircase(n1, n2, 3u + unsigned(n1 * n2));
  const auto b = unit(n1, n1 / 2);
  const LeastSolution expected = least_squares(a, b);
  const auto found = stream<Real, Width, Sets, Rows, Far>(a, b);
  for (int j = 0; j < n2; ++j)
    ASSERT_NEAR(found.x[std::size_t(j)], double(expected.x[std::size_t(j)]), tolerance) << "unknown " << j;
}

TEST(StreamQr, SolvesLeastSquares) {
  for (const int n2 : {1, 3, 6, 7})
    for (const int more : {0, 1, 25, 60}) {
      ASSERT_NO_FATAL_FAILURE((expect_least<double, 8, 1, 16>(n2 + more, n2, 1e-13)));
      ASSERT_NO_FATAL_FAILURE((expect_least<float, 8, 1, 32, true>(n2 + more, n2, 1e-5)));
    }
  for (const int n2 : {8, 15}) {
    ASSERT_NO_FATAL_FAILURE((expect_least<double, 8, 2, 16>(n2 + 20, n2, 1e-13)));
    ASSERT_NO_FATAL_FAILURE((expect_least<double, 8, 2, 32, true>(n2 + 50, n2, 1e-13)));
  }
  ASSERT_NO_FATAL_FAILURE((expect_least<double, 8, 3, 16>(61, 23, 1e-13)));
  ASSERT_NO_FATAL_FAILURE((expect_least<double, 16, 3, 16>(90, 46, 1e-13)));
  ASSERT_NO_FATAL_FAILURE((expect_least<float, 16, 4, 16>(90, 63, 1e-4)));
  ASSERT_NO_FATAL_FAILURE((expect_least<double, 32, 2, 32, true>(70, 31, 1e-13)));
}

TEST(StreamQr, AColumnThatDependsOnOthersLeavesLittle) {
  LongMatrix a = random_matrix(40, 6, 5);
  for (auto& row : a) row[4] = row[1] - 2 * row[3];
  const auto b = unit(40, 7);
  const auto found = stream<double, 8, 1, 16, false>(a, b);
  EXPECT_LT(std::abs(found.diagonal[4]), 1e-14);
  for (const int j : {0, 1, 2, 3, 5}) EXPECT_GT(std::abs(found.diagonal[std::size_t(j)]), 0.1);
}

TEST(StreamQr, ANanIsSeenInR) {
  for (const long double value :
       {std::numeric_limits<long double>::quiet_NaN(), std::numeric_limits<long double>::infinity()}) {
    LongMatrix a = random_matrix(40, 6, 5);
    a[33][2] = value;
    const auto b = unit(40, 7);
    const auto found = stream<double, 8, 1, 16, false>(a, b);
    EXPECT_TRUE(std::isfinite(found.diagonal[1]));
    EXPECT_FALSE(std::isfinite(found.diagonal[2]));
  }
}

TEST(StreamQr, ColumnsOfAnySize) {
  LongMatrix a = random_matrix(40, 21, 9);
  for (auto& row : a)
    for (int j = 0; j < 21; ++j) row[j] *= std::ldexp(1.0L, 3 * j - 30);
  const auto b = unit(40, 11);
  const LeastSolution expected = least_squares(a, b);
  const auto found = stream<double, 32, 1, 16, false>(a, b);
  for (int j = 0; j < 21; ++j)
    ASSERT_NEAR(double(std::ldexp(found.x[std::size_t(j)] - expected.x[std::size_t(j)], 3 * j - 30)), 0,
                1e-13);
}

}  // namespace
}  // namespace prekond::testing
