// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/dense_matrices.hpp"
#include "testing/host_threads.hpp"
#include "testing/reference_adaptive_fsai.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/core/views.hpp>
#include "core/lane_group.hpp"
#include "dense/panel_cholesky.hpp"

#include <cmath>
#include <vector>

namespace prekond::testing {
namespace {

/// Every team factors a matrix S, solves for one of its last columns, and for z with S z = S (1, 2, 3, 1,
/// ...).
template <class Real, class Space, class LaneGroup>
struct FactorAndSolve {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  int m;
  int last;
  Real floor;
  Vector<Real, Space> matrix;  ///< m x m
  Vector<Real, Space> entries, reciprocals, y, x, z;
  Vector<DroppedPivots<Real>, Space> dropped;

  KOKKOS_FUNCTION void operator()(const Member& team) const { solve_by(LaneGroup(team)); }

  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void solve_by(const AnyLaneGroup& lane_group) const {
    const PanelCholesky<Real> system{entries.data(), reciprocals.data(), dropped.data(),
                                     PanelCholesky<Real>::padded(m)};
    system.clear(lane_group, m);
    lane_group.region([&](int lane) {
      for (int k = lane; k < m * m; k += lane_group.size())
        if (k / m >= k % m) system(k / m, k % m) = matrix(k);
    });
    system.factor(lane_group, floor);
    system.solve_transposed(lane_group, last, y.data(), x.data());
    lane_group.region([&](int lane) {
      for (int i = lane; i < system.order; i += lane_group.size()) {
        z(i) = 0;
        for (int j = 0; j < m && i < m; ++j) z(i) += matrix(i * m + j) * Real(1 + j % 3);
      }
    });
    system.solve(lane_group, z.data(), y.data());
  }
};

template <class Real>
struct Solved {
  std::vector<Real> x, z, reciprocals;
  DroppedPivots<Real> dropped;
};

template <class Kernel, class Real, class Space>
Kernel kernel_for(const LongMatrix& a, int last, Real floor) {
  const int m = static_cast<int>(a.size());
  std::vector<Real> flat;
  for (const auto& row : a)
    for (const long double value : row) flat.push_back(static_cast<Real>(value));
  const auto order = static_cast<std::size_t>(PanelCholesky<Real>::padded(m));
  const auto nan = [](const std::string& label, std::size_t n) {
    Vector<Real, Space> view(label, n);
    Kokkos::deep_copy(view, std::nan(""));
    return view;
  };
  Kernel kernel{m,
                last,
                floor,
                {},
                nan("entries", PanelCholesky<Real>::size(m)),
                nan("reciprocals", order),
                nan("y", order),
                nan("x", order),
                nan("z", order),
                Vector<DroppedPivots<Real>, Space>("dropped", 1)};
  kernel.matrix = to_device<Space>(flat);
  return kernel;
}

template <class Real, class Space, class LaneGroup>
Solved<Real> solve(const LongMatrix& a, int last, int team_size, int vector_length, Real floor = 0) {
  const auto kernel = kernel_for<FactorAndSolve<Real, Space, LaneGroup>, Real, Space>(a, last, floor);
  Kokkos::parallel_for("prekond::testing::factor", Kokkos::TeamPolicy<Space>(1, team_size, vector_length),
                       kernel);
  Kokkos::fence();
  return {to_vector(kernel.x), to_vector(kernel.z), to_vector(kernel.reciprocals),
          to_vector(kernel.dropped)[0]};
}

/// By the threads of a host, all of them and half.
template <class Real, class Space>
std::vector<Solved<Real>> solve_by_threads(const LongMatrix& a, int last, Real floor = 0) {
  std::vector<Solved<Real>> all;
  if constexpr (is_host_space<Space>) {
    using LaneGroup = HostLaneGroup<typename Kokkos::TeamPolicy<Space>::member_type>;
    for (const auto& lane_group : host_threads<Space>()) {
      const auto kernel = kernel_for<FactorAndSolve<Real, Space, LaneGroup>, Real, Space>(a, last, floor);
      kernel.solve_by(lane_group);
      all.push_back({to_vector(kernel.x), to_vector(kernel.z), to_vector(kernel.reciprocals),
                     to_vector(kernel.dropped)[0]});
    }
  }
  return all;
}

/// L^-T e_last is the last column of the inverse of the leading block, over the root of its last entry.
std::vector<double> reference(const LongMatrix& a, int last) {
  const int n = last + 1;
  LongMatrix leading(n, std::vector<long double>(n));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) leading[i][j] = a[i][j];
  std::vector<long double> unit(n, 0);
  unit[last] = 1;
  std::vector<double> x = dense_solve(leading, unit);
  const double root = std::sqrt(x[last]);
  for (double& value : x) value /= root;
  return x;
}

template <class Real>
void expect_solution(const LongMatrix& a, int last, const Solved<Real>& found) {
  const std::vector<double> expected = reference(a, last);
  double norm = 0;
  for (const double value : expected) norm = std::max(norm, std::abs(value));
  ASSERT_EQ(found.dropped.count, 0);
  const double tolerance = (sizeof(Real) == 4 ? 1e-5 : 1e-13) * static_cast<double>(a.size() + 1) * norm;
  for (std::size_t i = 0; i < found.x.size(); ++i)
    ASSERT_NEAR(found.x[i], i < expected.size() ? expected[i] : 0.0, tolerance)
        << "order " << a.size() << ", last " << last << ", entry " << i;
  for (std::size_t i = 0; i < found.z.size(); ++i)
    ASSERT_NEAR(found.z[i], i < a.size() ? 1.0 + double(i % 3) : 0.0, sizeof(Real) == 4 ? 1e-3 : 1e-11)
        << "order " << a.size() << ", unknown " << i;
}

template <class Space>
class PanelCholeskyTest : public ::testing::Test {};
TYPED_TEST_SUITE(PanelCholeskyTest, TestSpaces, SpaceNames);

template <class Real, class Space>
void check_all_levels() {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  constexpr bool host = is_host_space<Space>;
  for (const int m : {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 40, 63, 100, 131}) {
    const LongMatrix a = random_dense_spd(m, 3 + m);
    for (const int last : {0, m / 2, m - 1}) {
      expect_solution<Real>(
          a, last, solve<Real, Space, NativeLaneGroup<Space, Member, 32>>(a, last, 1, host ? 1 : 32));
      expect_solution<Real>(a, last,
                            solve<Real, Space, NativeLaneGroup<Space, Member, 8>>(a, last, 1, host ? 1 : 8));
      expect_solution<Real>(a, last,
                            solve<Real, Space, PortableLaneGroup<Member, 16>>(a, last, 1, host ? 1 : 16));
      expect_solution<Real>(
          a, last,
          solve<Real, Space, TeamLaneGroup<Member, host ? 1 : 32>>(a, last, host ? 1 : 4, host ? 1 : 32));
      const auto by_threads = solve_by_threads<Real, Space>(a, last);
      for (const auto& found : by_threads) {
        expect_solution<Real>(a, last, found);
        EXPECT_EQ(found.x, by_threads[0].x) << "the same bits";
        EXPECT_EQ(found.z, by_threads[0].z);
        EXPECT_EQ(found.reciprocals, by_threads[0].reciprocals);
      }
    }
  }
}

TYPED_TEST(PanelCholeskyTest, SolvesEqualTheReferenceInDouble) {
  check_all_levels<double, TypeParam>();
}
TYPED_TEST(PanelCholeskyTest, SolvesEqualTheReferenceInSingle) {
  check_all_levels<float, TypeParam>();
}

// An index whose pivot is under the floor: the solution is that of the system without it.
TYPED_TEST(PanelCholeskyTest, DropsAnIndexWhosePivotIsUnderTheFloor) {
  using Member = typename Kokkos::TeamPolicy<TypeParam>::member_type;
  using LaneGroup = NativeLaneGroup<TypeParam, Member, 32>;
  for (const int m : {3, 9, 20, 37}) {
    for (const int dropped : {1, m / 2}) {
      LongMatrix a = random_dense_spd(m, 11 + m);
      // The same row and column as those before it, so that its pivot is zero but for rounding.
      for (int j = 0; j < m; ++j) a[dropped][j] = a[dropped - 1][j];
      for (int i = 0; i < m; ++i) a[i][dropped] = a[i][dropped - 1];
      const auto found =
          solve<double, TypeParam, LaneGroup>(a, m - 1, 1, is_host_space<TypeParam> ? 1 : 32, 1e-10);
      LongMatrix without;
      for (int i = 0; i < m; ++i) {
        if (i == dropped) continue;
        without.emplace_back();
        for (int j = 0; j < m; ++j)
          if (j != dropped) without.back().push_back(a[i][j]);
      }
      const std::vector<double> expected = reference(without, m - 2);
      for (int i = 0; i < m; ++i)
        ASSERT_NEAR(found.x[i], i == dropped ? 0.0 : expected[i - (i > dropped)], 1e-12)
            << m << ' ' << dropped << ' ' << i;
      EXPECT_EQ(found.reciprocals[dropped], 0);
      EXPECT_EQ(found.dropped.count, 1);
      EXPECT_EQ(found.dropped.first, dropped);
      EXPECT_NEAR(found.dropped.pivot, 0, 1e-10);
    }
  }
}

TYPED_TEST(PanelCholeskyTest, TheFirstOfSeveralDroppedIsReported) {
  using Member = typename Kokkos::TeamPolicy<TypeParam>::member_type;
  using LaneGroup = NativeLaneGroup<TypeParam, Member, 32>;
  for (const auto& [first, second] : {std::pair(2, 5), std::pair(2, 19), std::pair(7, 8)}) {
    LongMatrix a = random_dense_spd(21, 31);
    for (const int dropped : {first, second}) a[dropped][dropped] = dropped == first ? -3 : -5;
    const auto found =
        solve<double, TypeParam, LaneGroup>(a, 20, 1, is_host_space<TypeParam> ? 1 : 32, 1e-10);
    EXPECT_EQ(found.dropped.count, 2);
    EXPECT_EQ(found.dropped.first, first);
    EXPECT_LE(found.dropped.pivot, -3);
    EXPECT_EQ(found.reciprocals[first], 0);
    EXPECT_EQ(found.reciprocals[second], 0);
  }
}

TYPED_TEST(PanelCholeskyTest, ANanPivotIsDropped) {
  using Member = typename Kokkos::TeamPolicy<TypeParam>::member_type;
  using LaneGroup = NativeLaneGroup<TypeParam, Member, 32>;
  LongMatrix a = random_dense_spd(12, 5);
  a[11][11] = std::nan("");
  const auto found = solve<double, TypeParam, LaneGroup>(a, 11, 1, is_host_space<TypeParam> ? 1 : 32, 1e-10);
  EXPECT_EQ(found.reciprocals[11], 0);
  EXPECT_EQ(found.dropped.first, 11);
  EXPECT_TRUE(std::isnan(found.dropped.pivot));
}

// Panels are packed: about half of the square.
TEST(PanelCholesky, SizeIsAboutHalfOfTheSquare) {
  EXPECT_EQ(PanelCholesky<double>::size(1), 8u * 12);
  EXPECT_EQ(PanelCholesky<double>::size(16), 8u * (20 + 12));
  for (const int m : {100, 1000, 100000}) {
    const double square = double(m) * m;
    EXPECT_NEAR(static_cast<double>(PanelCholesky<double>::size(m)), square / 2 + 10.0 * m, 4.0 * m + 100);
  }
}

}  // namespace
}  // namespace prekond::testing
