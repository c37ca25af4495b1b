// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/host_threads.hpp"
#include "testing/reference_lu.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/core/views.hpp>
#include "core/lane_group.hpp"
#include "dense/panel_lu.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace prekond::testing {
namespace {

/// One team factors a matrix and solves for the last row and column of its inverse, and for the rows
/// `indices`.
template <class Real, class Space, class LaneGroup>
struct FactorAndSolve {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  int m;
  Real floor;
  Pivoting pivoting;
  Vector<Real, Space> matrix;  ///< m x m, by rows
  Vector<char, Space> workspace;
  Vector<Real, Space> left, right, work;
  Vector<int, Space> indices;
  Vector<Real, Space> rows;  ///< of the padded order each
  Vector<int, Space> is_dropped;
  Vector<DroppedPivots<Real>, Space> dropped;

  KOKKOS_FUNCTION void operator()(const Member& team) const { solve_by(LaneGroup(team)); }

  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void solve_by(const AnyLaneGroup& lane_group) const {
    const PanelLu<Real> system(workspace.data(), m);
    system.clear(lane_group);
    lane_group.region([&](int lane) {
      for (int k = lane; k < m * m; k += lane_group.size()) system(k / m, k % m) = matrix(k);
    });
    system.factor(lane_group, floor, pivoting);
    system.solve_last(lane_group, left.data(), right.data(), work.data());
    for (int r = 0; r < int(indices.extent(0)); ++r) {
      Real* const y = rows.data() + 2 * r * PanelLu<Real>::padded(m);
      system.solve_transposed(lane_group, indices(r), y + PanelLu<Real>::padded(m), y, work.data());
    }
    lane_group.once([&] {
      dropped(0) = system.dropped();
      for (int j = 0; j < m; ++j) is_dropped(j) = system.is_dropped(j);
    });
  }
};

template <class Real>
struct Solved {
  std::vector<Real> left, right;
  std::vector<std::vector<Real>> rows;
  std::vector<int> is_dropped;
  DroppedPivots<Real> dropped;
};

/// The rows of the inverse that are solved for: in each part of the first panels, and the last.
std::vector<int> some_rows(int m) {
  std::vector<int> rows;
  for (const int row : {0, 1, 7, 8, 13, m / 2, m - 1})
    if (row < m) rows.push_back(row);
  return rows;
}

/// `run` gets the kernel.
template <class Real, class Space, class LaneGroup, class Run>
Solved<Real> solve_by(const LongMatrix& a, Pivoting pivoting, Real floor, const Run& run) {
  const int m = static_cast<int>(a.size());
  std::vector<Real> flat;
  for (const auto& row : a)
    for (const long double value : row) flat.push_back(static_cast<Real>(value));
  const auto order = static_cast<std::size_t>(PanelLu<Real>::padded(m));
  const auto nan = [](const std::string& label, std::size_t n) {
    Vector<Real, Space> view(label, n);
    Kokkos::deep_copy(view, std::nan(""));
    return view;
  };
  FactorAndSolve<Real, Space, LaneGroup> kernel{m,
                                                floor,
                                                pivoting,
                                                to_device<Space>(flat),
                                                Vector<char, Space>("workspace", PanelLu<Real>::bytes(m)),
                                                nan("left", order),
                                                nan("right", order),
                                                nan("work", order),
                                                to_device<Space>(some_rows(m)),
                                                nan("rows", 2 * order * some_rows(m).size()),
                                                Vector<int, Space>("is_dropped", m),
                                                Vector<DroppedPivots<Real>, Space>("dropped", 1)};
  Kokkos::deep_copy(kernel.workspace, char(-1));  // not a number, and a negative index
  run(kernel);
  Kokkos::fence();
  Solved<Real> solved{to_vector(kernel.left),
                      to_vector(kernel.right),
                      {},
                      to_vector(kernel.is_dropped),
                      to_vector(kernel.dropped)[0]};
  const auto rows = to_vector(kernel.rows);  // each after its working memory
  for (std::size_t r = 1; r < rows.size() / order; r += 2)
    solved.rows.emplace_back(rows.begin() + static_cast<std::ptrdiff_t>(r * order),
                             rows.begin() + static_cast<std::ptrdiff_t>((r + 1) * order));
  return solved;
}

template <class Real, class Space, class LaneGroup>
Solved<Real> solve_by(const LongMatrix& a, int team_size, int vector_length, Pivoting pivoting, Real floor) {
  return solve_by<Real, Space, LaneGroup>(a, pivoting, floor, [&](const auto& kernel) {
    Kokkos::parallel_for("prekond::testing::lu", Kokkos::TeamPolicy<Space>(1, team_size, vector_length),
                         kernel);
  });
}

/// By a lane group of each kind, whose results have the same bits but for the compiler's contractions.
template <class Real, class Space>
std::vector<Solved<Real>> solve(const LongMatrix& a, Pivoting pivoting = Pivoting::rows, Real floor = 0) {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  constexpr bool host = is_host_space<Space>;
  std::vector<Solved<Real>> all = {
      solve_by<Real, Space, NativeLaneGroup<Space, Member, 32>>(a, 1, host ? 1 : 32, pivoting, floor),
      solve_by<Real, Space, NativeLaneGroup<Space, Member, 8>>(a, 1, host ? 1 : 8, pivoting, floor),
      solve_by<Real, Space, PortableLaneGroup<Member, 16>>(a, 1, host ? 1 : 16, pivoting, floor),
      solve_by<Real, Space, TeamLaneGroup<Member, host ? 1 : 32>>(a, host ? 1 : 4, host ? 1 : 32, pivoting,
                                                                  floor)};
  if constexpr (host) {
    for (const auto& lane_group : host_threads<Space>())
      all.push_back(solve_by<Real, Space, HostLaneGroup<Member>>(
          a, pivoting, floor, [&](const auto& kernel) { kernel.solve_by(lane_group); }));
    EXPECT_TRUE(all.back().left == all[all.size() - 2].left) << "the same bits, whatever the threads";
    EXPECT_TRUE(all.back().right == all[all.size() - 2].right);
    EXPECT_TRUE(all.back().rows == all[all.size() - 2].rows);
  }
  return all;
}

double norm(const std::vector<long double>& x) {
  long double largest = 0;
  for (const long double value : x) largest = std::max(largest, std::abs(value));
  return static_cast<double>(largest);
}

/// `found` is a multiple of `expected`, and `padding` zero.
template <class Real>
void expect_multiple(const std::vector<Real>& found, const std::vector<long double>& expected,
                     double tolerance) {
  std::size_t largest = 0;
  for (std::size_t k = 0; k < expected.size(); ++k)
    if (std::abs(expected[k]) > std::abs(expected[largest])) largest = k;
  const long double factor = found[largest] / expected[largest];
  ASSERT_TRUE(std::isfinite(factor) && factor != 0);
  for (std::size_t k = 0; k < found.size(); ++k)
    ASSERT_NEAR(static_cast<double>(found[k] / factor),
                k < expected.size() ? static_cast<double>(expected[k]) : 0.0, tolerance * norm(expected))
        << "order " << expected.size() << ", entry " << k;
}

template <class Real>
void expect_solution(const LongMatrix& a, const std::vector<Solved<Real>>& all, double condition) {
  const LastOfInverse expected = last_of_inverse(a);
  const double tolerance = (sizeof(Real) == 4 ? 1e-6 : 1e-15) * condition;
  for (const auto& found : all) {
    ASSERT_EQ(found.dropped.count, 0);
    ASSERT_NO_FATAL_FAILURE(expect_multiple(found.left, expected.row, tolerance));
    ASSERT_NO_FATAL_FAILURE(expect_multiple(found.right, expected.column, tolerance));
    ASSERT_NO_FATAL_FAILURE(expect_rows(a, found, tolerance));
    const double scale = norm(expected.column);
    for (std::size_t k = 0; k < a.size(); ++k)
      ASSERT_NEAR(found.right[k], static_cast<double>(expected.column[k]), tolerance * scale)
          << "right itself";
  }
}

/// The entries of A^-1 row by row, and zeros after them.
template <class Real>
void expect_rows(const LongMatrix& a, const Solved<Real>& found, double tolerance) {
  const std::vector<int> indices = some_rows(static_cast<int>(a.size()));
  ASSERT_EQ(found.rows.size(), indices.size());
  for (std::size_t r = 0; r < indices.size(); ++r) {
    std::vector<long double> unit(a.size(), 0);
    unit[static_cast<std::size_t>(indices[r])] = 1;
    const auto expected = general_solve(transposed(a), unit);
    for (std::size_t k = 0; k < found.rows[r].size(); ++k)
      ASSERT_NEAR(found.rows[r][k], k < expected.size() ? static_cast<double>(expected[k]) : 0,
                  tolerance * norm(expected))
          << "order " << a.size() << ", row " << indices[r] << ", entry " << k;
  }
}

/// Entries in [-1, 1], and `shift` added to the diagonal.
LongMatrix random_general(int n, double shift, unsigned seed) {
  std::mt19937 random(seed);
  LongMatrix a(n, std::vector<long double>(n));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      a[i][j] = static_cast<float>(double(random()) / 0x1p31 - 1 + (i == j ? shift : 0));
  return a;
}

const std::vector<int> orders = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 40, 63, 100, 131};

template <class Space>
class PanelLuTest : public ::testing::Test {};
TYPED_TEST_SUITE(PanelLuTest, TestSpaces, SpaceNames);

TYPED_TEST(PanelLuTest, SolvesDominantMatricesEitherWay) {
  for (const int m : orders) {
    const LongMatrix a = random_general(m, m, 3 + m);
    for (const Pivoting pivoting : {Pivoting::rows, Pivoting::none}) {
      ASSERT_NO_FATAL_FAILURE(expect_solution(a, solve<double, TypeParam>(a, pivoting), 100));
      ASSERT_NO_FATAL_FAILURE(expect_solution(a, solve<float, TypeParam>(a, pivoting), 100));
    }
  }
  const LongMatrix large = random_general(300, 300, 1);
  ASSERT_NO_FATAL_FAILURE(expect_solution(large, solve<double, TypeParam>(large), 1000));
  ASSERT_NO_FATAL_FAILURE(expect_solution(large, solve<float, TypeParam>(large), 1000));
}

// Rows in a random order: without exchanges the pivots are small ones.
TYPED_TEST(PanelLuTest, PivotsByRows) {
  for (const int m : orders) {
    LongMatrix a = random_general(m, m, 3 + m);
    std::shuffle(a.begin(), a.end(), std::mt19937(m));
    ASSERT_NO_FATAL_FAILURE(expect_solution(a, solve<double, TypeParam>(a), 100));
    ASSERT_NO_FATAL_FAILURE(expect_solution(a, solve<float, TypeParam>(a), 100));
  }
  for (const int m : {9, 40, 77}) {
    const LongMatrix a = random_general(m, 0, 5 + m);
    ASSERT_NO_FATAL_FAILURE(expect_solution(a, solve<double, TypeParam>(a), 1e6));
  }
}

// All leading minors but the last are zero: no factorisation without exchanges.
TYPED_TEST(PanelLuTest, VanishingLeadingMinors) {
  for (const int m : {2, 8, 9, 30, 41}) {
    LongMatrix a(m, std::vector<long double>(m, 0));
    for (int i = 0; i < m; ++i) a[i][(i + 1) % m] = i + 2;
    a[m - 1][m - 1] = 3;  // else the last entry of the inverse is zero
    a[0][0] = 0;
    ASSERT_NO_FATAL_FAILURE(expect_solution(a, solve<double, TypeParam>(a, Pivoting::rows, 1e-14), 100));
    for (const auto& found : solve<double, TypeParam>(a, Pivoting::none, 1e-14)) {
      EXPECT_GT(found.dropped.count, 0);
      EXPECT_EQ(found.dropped.first, 0);
    }
  }
}

// The last entry of the inverse's diagonal is zero where the leading block is singular.
TYPED_TEST(PanelLuTest, ALastEntryOfZeroIsFound) {
  const LongMatrix a = {{0, 2}, {4, 1}};
  for (const auto& found : solve<double, TypeParam>(a, Pivoting::rows, 1e-14)) {
    EXPECT_EQ(found.dropped.count, 0);
    EXPECT_EQ(found.left[1], 0);
    EXPECT_EQ(found.right[1], 0);
    EXPECT_NE(found.left[0], 0);
    EXPECT_EQ(found.right[0], 0.25);
  }
}

TYPED_TEST(PanelLuTest, ASingularMatrixHasASmallPivot) {
  for (const int m : {1, 3, 9, 20, 37}) {
    LongMatrix a = random_general(m, 1, 11 + m);
    for (int j = 0; j < m; ++j) a[m / 2][j] = m == 1 ? 0 : a[0][j];
    for (const auto& found : solve<double, TypeParam>(a, Pivoting::rows, 1e-13)) {
      ASSERT_EQ(found.dropped.count, 1) << m;
      EXPECT_EQ(found.dropped.first, m - 1) << m;
      EXPECT_NEAR(found.dropped.pivot, 0, 1e-13);
      EXPECT_TRUE(found.is_dropped[m - 1]);
    }
  }
}

/// The rows of the system without index `left_out`: 0 there, and all of that row.
void expect_rows_without(const LongMatrix& without, int left_out, const Solved<double>& found,
                         double tolerance) {
  const std::vector<int> indices = some_rows(static_cast<int>(without.size()) + 1);
  for (std::size_t r = 0; r < indices.size(); ++r) {
    std::vector<long double> expected(without.size(), 0);
    if (indices[r] != left_out) {
      expected[static_cast<std::size_t>(indices[r] - (indices[r] > left_out))] = 1;
      expected = general_solve(transposed(without), expected);
    }
    expected.insert(expected.begin() + left_out, 0);
    for (std::size_t k = 0; k < expected.size(); ++k)
      ASSERT_NEAR(found.rows[r][k], static_cast<double>(expected[k]), tolerance * norm(expected))
          << "row " << indices[r] << ", entry " << k;
  }
}

// An index whose pivot is too small: the solution is that of the system without it.
TYPED_TEST(PanelLuTest, WithoutPivotingAnIndexIsLeftOut) {
  for (const int m : {3, 9, 20, 37, 131}) {
    for (const int left_out : {1, m / 2}) {
      LongMatrix a = random_general(m, m, 11 + m);
      for (int j = 0; j < m; ++j) a[left_out][j] = a[left_out - 1][j];
      for (int i = 0; i < m; ++i) a[i][left_out] = a[i][left_out - 1];
      LongMatrix without;
      for (int i = 0; i < m; ++i) {
        if (i == left_out) continue;
        without.emplace_back();
        for (int j = 0; j < m; ++j)
          if (j != left_out) without.back().push_back(a[i][j]);
      }
      LastOfInverse expected = last_of_inverse(without);
      expected.row.insert(expected.row.begin() + left_out, 0);
      expected.column.insert(expected.column.begin() + left_out, 0);
      for (const auto& found : solve<double, TypeParam>(a, Pivoting::none, 1e-10)) {
        ASSERT_EQ(found.dropped.count, 1);
        EXPECT_EQ(found.dropped.first, left_out);
        EXPECT_NEAR(found.dropped.pivot, 0, 1e-10);
        EXPECT_EQ(found.left[left_out], 0);
        EXPECT_EQ(found.right[left_out], 0);
        ASSERT_NO_FATAL_FAILURE(expect_multiple(found.left, expected.row, 1e-12));
        ASSERT_NO_FATAL_FAILURE(expect_multiple(found.right, expected.column, 1e-12));
        ASSERT_NO_FATAL_FAILURE(expect_rows_without(without, left_out, found, 1e-12));
      }
    }
  }
}

TYPED_TEST(PanelLuTest, TheFloorIsRelativeToTheColumn) {
  LongMatrix a = random_general(20, 20, 5);
  for (auto& row : a) row[7] *= 1e-20L;
  for (const auto& found : solve<double, TypeParam>(a, Pivoting::rows, 1e-12))
    EXPECT_EQ(found.dropped.count, 0);
  for (auto& row : a) row[7] *= 1e-290L;
  for (const auto& found : solve<double, TypeParam>(a, Pivoting::rows, 1e-12)) {
    EXPECT_EQ(found.dropped.count, 1) << "out of range";
    EXPECT_EQ(found.dropped.first, 7);
  }
}

// The sign of the second pivot says which of two rows was the first one's.
TYPED_TEST(PanelLuTest, TheFirstRowWinsATieOfPivots) {
  const double little = 0x1p-20;
  for (const double sign : {1.0, -1.0}) {
    const LongMatrix a = {{1, 3}, {sign, sign * (3 + little)}};
    for (const auto& found : solve<double, TypeParam>(a, Pivoting::rows, 1e-4)) {
      EXPECT_EQ(found.dropped.first, 1);
      EXPECT_EQ(found.dropped.pivot, sign * little);
    }
  }
}

TYPED_TEST(PanelLuTest, TheFirstOfSeveralDroppedIsReported) {
  for (const auto& [first, second] : {std::pair(2, 5), std::pair(2, 19), std::pair(7, 8)}) {
    LongMatrix a = random_general(21, 21, 17);
    for (const int dropped : {first, second})
      for (int k = 0; k < 21; ++k) a[dropped][k] = a[k][dropped] = 0;
    for (const auto& found : solve<double, TypeParam>(a, Pivoting::none, 1e-10)) {
      EXPECT_EQ(found.dropped.count, 2);
      EXPECT_EQ(found.dropped.first, first);
      EXPECT_TRUE(found.is_dropped[first] && found.is_dropped[second]);
    }
  }
}

TYPED_TEST(PanelLuTest, ANanIsNoPivot) {
  for (const Pivoting pivoting : {Pivoting::rows, Pivoting::none}) {
    LongMatrix a = random_general(12, 12, 5);
    a[11][11] = std::nan("");
    for (const auto& found : solve<double, TypeParam>(a, pivoting, 1e-10)) {
      EXPECT_EQ(found.dropped.count, 1);
      EXPECT_EQ(found.dropped.first, 11);
      EXPECT_TRUE(std::isnan(found.dropped.pivot));
    }
  }
}

TEST(PanelLu, BytesGrowWithTheSquare) {
  for (const int m : {100, 1000, 10000}) {
    const double square = double(m) * m * sizeof(double);
    EXPECT_NEAR(static_cast<double>(PanelLu<double>::bytes(m)), square, 150.0 * m + 1000);
    EXPECT_EQ(PanelLu<double>::bytes(m) % 16, 0u);
  }
}

}  // namespace
}  // namespace prekond::testing
