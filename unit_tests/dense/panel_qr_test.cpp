// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/host_threads.hpp"
#include "testing/reference_qr.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/core/views.hpp>
#include "core/lane_group.hpp"
#include "dense/panel_qr.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace prekond::testing {
namespace {

/// One team factors a matrix and solves, at once or by growths of `step` columns, which it then also undoes.
template <class Real, class Space, class LaneGroup>
struct FactorAndSolve {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  static constexpr int rows = is_host_space<Space> ? PanelQr<Real>::host_rows : 1;
  using System = PanelQr<Real, rows>;

  int n1, n2, step;
  bool buffered;
  Real floor;
  Vector<Real, Space> matrix;  ///< n1 x (n2 + 1), by rows
  Vector<char, Space> workspace, buffer;
  Vector<Real, Space> x, work, back;
  Vector<int, Space> is_dropped, rank;
  Vector<DroppedPivots<Real>, Space> dropped;

  KOKKOS_FUNCTION typename System::Shape shape() const {
    if (step == 0) return System::shape_of(n1, n2);
    return {n1, n2, (n2 / step + 1) * ((step + 7) / 8), true};
  }

  KOKKOS_FUNCTION System system_of() const {
    if (!buffered) return System(workspace.data(), shape());
    return System(workspace.data() + System::entry_bytes(shape()), workspace.data(), shape(),
                  reinterpret_cast<Real*>(buffer.data()));
  }

  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void fill(const AnyLaneGroup& lane_group, const System& system, int begin, int end) const {
    system.clear(lane_group, begin, end);
    lane_group.region([&](int lane) {
      for (int k = lane; k < n1 * (n2 + 1); k += lane_group.size()) {
        const int i = k / (n2 + 1), j = k % (n2 + 1);
        if (j == n2 && begin == 0) system.rhs(i) = matrix(k);
        if (j < n2 && j >= begin && j < end) system(i, j) = matrix(k);
      }
    });
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const { solve_by(LaneGroup(team)); }

  template <class AnyLaneGroup>
  KOKKOS_FUNCTION void solve_by(const AnyLaneGroup& lane_group) const {
    const System system = system_of();
    int found = 0;
    if (step == 0) {
      fill(lane_group, system, 0, n2);
      found = system.factor(lane_group, floor);
      system.solve(lane_group, found, x.data(), work.data());
    } else {
      int panels = 0;
      for (int begin = 0; begin < n2; begin += step) {
        const int end = begin + step < n2 ? begin + step : n2;
        fill(lane_group, system, begin, end);
        found = system.append(lane_group, panels, begin, end, found, floor);
        panels += (end - begin + 7) / 8;
      }
      system.solve(lane_group, panels, found, x.data(), work.data());
      system.apply_q(lane_group, panels, &system.rhs(0));
    }
    lane_group.region([&](int lane) {
      for (int i = lane; i < n1; i += lane_group.size()) back(i) = system.rhs(i);
    });
    lane_group.once([&] {
      rank(0) = found;
      dropped(0) = system.dropped();
      for (int j = 0; j < n2; ++j) is_dropped(j) = system.is_dropped(j);
    });
  }
};

template <class Real>
struct Solved {
  std::vector<Real> x, back;
  std::vector<int> is_dropped;
  int rank;
  DroppedPivots<Real> dropped;
};

struct How {
  int step = 0;
  bool buffered = false;
  double floor = 0;
};

/// `run` gets the kernel.
template <class Real, class Space, class LaneGroup, class Run>
Solved<Real> solve_by(const LongMatrix& a, const std::vector<long double>& b, const How& how,
                      const Run& run) {
  const int n1 = static_cast<int>(b.size()), n2 = static_cast<int>(a[0].size());
  std::vector<Real> flat;
  for (int i = 0; i < n1; ++i) {
    for (const long double value : a[i]) flat.push_back(static_cast<Real>(value));
    flat.push_back(static_cast<Real>(b[i]));
  }
  using Kernel = FactorAndSolve<Real, Space, LaneGroup>;
  Kernel kernel{};
  kernel.n1 = n1;
  kernel.n2 = n2;
  kernel.step = how.step;
  kernel.buffered = how.buffered;
  kernel.floor = static_cast<Real>(how.floor);
  kernel.matrix = to_device<Space>(flat);
  kernel.workspace = Vector<char, Space>("workspace", Kernel::System::bytes(kernel.shape()));
  kernel.buffer = Vector<char, Space>("buffer", Kernel::System::panel_bytes(n1));
  kernel.x = Vector<Real, Space>("x", n2);
  kernel.work = Vector<Real, Space>("work", n2);
  kernel.back = Vector<Real, Space>("back", n1);
  kernel.is_dropped = Vector<int, Space>("is_dropped", n2);
  kernel.rank = Vector<int, Space>("rank", 1);
  kernel.dropped = Vector<DroppedPivots<Real>, Space>("dropped", 1);
  Kokkos::deep_copy(kernel.workspace, char(-1));  // not a number, and a negative index
  Kokkos::deep_copy(kernel.buffer, char(-1));
  Kokkos::deep_copy(kernel.x, std::numeric_limits<Real>::quiet_NaN());
  run(kernel);
  Kokkos::fence();
  return {to_vector(kernel.x), to_vector(kernel.back), to_vector(kernel.is_dropped),
          to_vector(kernel.rank)[0], to_vector(kernel.dropped)[0]};
}

template <class Real, class Space, class LaneGroup>
Solved<Real> solve_by(const LongMatrix& a, const std::vector<long double>& b, int team_size,
                      int vector_length, const How& how) {
  return solve_by<Real, Space, LaneGroup>(a, b, how, [&](const auto& kernel) {
    Kokkos::parallel_for("prekond::testing::qr", Kokkos::TeamPolicy<Space>(1, team_size, vector_length),
                         kernel);
  });
}

/// By the threads of a host, all of them and half.
template <class Real, class Space>
std::vector<Solved<Real>> solve_by_threads(const LongMatrix& a, const std::vector<long double>& b,
                                           const How& how) {
  std::vector<Solved<Real>> all;
  if constexpr (is_host_space<Space>) {
    using LaneGroup = HostLaneGroup<typename Kokkos::TeamPolicy<Space>::member_type>;
    for (const auto& lane_group : host_threads<Space>())
      all.push_back(solve_by<Real, Space, LaneGroup>(
          a, b, how, [&](const auto& kernel) { kernel.solve_by(lane_group); }));
    EXPECT_TRUE(all[0].x == all[1].x || std::isnan(all[0].x[0])) << "the same bits, whatever the threads";
    EXPECT_EQ(all[0].rank, all[1].rank);
  }
  return all;
}

/// By a lane group of each kind.
template <class Real, class Space>
std::vector<Solved<Real>> solve(const LongMatrix& a, const std::vector<long double>& b, const How& how) {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  constexpr bool host = is_host_space<Space>;
  std::vector<Solved<Real>> all = {
      solve_by<Real, Space, NativeLaneGroup<Space, Member, 32>>(a, b, 1, host ? 1 : 32, how),
      solve_by<Real, Space, NativeLaneGroup<Space, Member, 8>>(a, b, 1, host ? 1 : 8, how),
      solve_by<Real, Space, PortableLaneGroup<Member, 16>>(a, b, 1, host ? 1 : 16, how),
      solve_by<Real, Space, TeamLaneGroup<Member, host ? 1 : 32>>(a, b, host ? 1 : 4, host ? 1 : 32, how)};
  for (auto& found : solve_by_threads<Real, Space>(a, b, how)) all.push_back(std::move(found));
  return all;
}

/// At once, at once with a buffer, and by growths.
std::vector<How> ways(double floor) {
  return {{0, false, floor}, {0, true, floor},  {1, false, floor},
          {3, false, floor}, {8, false, floor}, {11, false, floor}};
}

template <class Real>
long double residual(const LongMatrix& a, const std::vector<long double>& b, const std::vector<Real>& x) {
  long double square = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    long double rest = -b[i];
    for (std::size_t j = 0; j < x.size(); ++j) rest += a[i][j] * static_cast<long double>(x[j]);
    square += rest * rest;
  }
  return std::sqrt(square);
}

template <class Real, class Space>
void expect_least_squares(const LongMatrix& a, const std::vector<long double>& b, double floor,
                          double tolerance) {
  const LeastSolution expected = least_squares(a, b);
  for (const How& how : ways(floor)) {
    for (const auto& found : solve<Real, Space>(a, b, how)) {
      SCOPED_TRACE("step " + std::to_string(how.step) + (how.buffered ? ", buffered" : ""));
      ASSERT_EQ(found.rank, static_cast<int>(expected.rank));
      ASSERT_EQ(found.dropped.count, static_cast<int>(a[0].size() - expected.rank));
      ASSERT_NEAR(static_cast<double>(residual(a, b, found.x)), static_cast<double>(expected.residual),
                  tolerance);
      if (expected.rank == a[0].size()) {
        double largest = 1;
        for (const long double value : expected.x)
          largest = std::max(largest, static_cast<double>(std::abs(value)));
        for (std::size_t j = 0; j < expected.x.size(); ++j)
          ASSERT_NEAR(found.x[j], static_cast<double>(expected.x[j]), tolerance * largest) << "unknown " << j;
      }
      for (std::size_t j = 0; j < found.x.size(); ++j) ASSERT_TRUE(!found.is_dropped[j] || found.x[j] == 0);
      for (std::size_t i = 0; how.step > 0 && i < b.size(); ++i)
        ASSERT_NEAR(found.back[i], static_cast<double>(b[i]), sizeof(Real) == 4 ? 1e-5 : 1e-13)
            << "Q Q^T c = c";
    }
  }
}

template <class Space>
class PanelQrTest : public ::testing::Test {};
TYPED_TEST_SUITE(PanelQrTest, TestSpaces, SpaceNames);

TYPED_TEST(PanelQrTest, SolvesLeastSquares) {
  for (const int n2 : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 41, 66}) {
    for (const int more : {0, 1, 3, 29, 100}) {
      SCOPED_TRACE(std::to_string(n2 + more) + " x " + std::to_string(n2));
      LongMatrix a = random_matrix(n2 + more, n2, 17u + n2 + more);
      for (int j = 0; j < n2; ++j) a[j][j] += 5;
      const auto b = unit(n2 + more, n2 / 2);
      ASSERT_NO_FATAL_FAILURE((expect_least_squares<double, TypeParam>(a, b, 16 * 0x1p-52, 1e-13)));
      ASSERT_NO_FATAL_FAILURE((expect_least_squares<float, TypeParam>(a, b, 16 * 0x1p-23, 2e-5)));
    }
  }
}

TYPED_TEST(PanelQrTest, DropsColumnsThatDependOnOthers) {
  for (const int n1 : {9, 30, 50}) {
    for (const int n2 : {3, 8, 17, 30}) {
      SCOPED_TRACE(std::to_string(n1) + " x " + std::to_string(n2));
      LongMatrix a = random_matrix(n1, n2, 5u + n1 + n2);
      for (auto& row : a) {
        for (int j = 1; j < n2; j += 3) row[j] = row[j - 1] * 2;
        if (n2 > 5) row[5] = row[0] - row[2];
        if (n2 > 10) row[10] = 0;
      }
      ASSERT_NO_FATAL_FAILURE((expect_least_squares<double, TypeParam>(a, unit(n1, 1), 1e-12, 1e-11)));
    }
  }
}

TYPED_TEST(PanelQrTest, FewerRowsThanColumns) {
  for (const int n1 : {1, 5, 8, 20}) {
    const LongMatrix a = random_matrix(n1, n1 + 13, 70u + n1);
    ASSERT_NO_FATAL_FAILURE((expect_least_squares<double, TypeParam>(a, unit(n1, n1 - 1), 1e-11, 1e-8)));
  }
}

TYPED_TEST(PanelQrTest, ZeroAndNanColumns) {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  for (const How& how : ways(1e-14)) {
    for (const auto& found :
         solve<double, TypeParam>(LongMatrix(7, std::vector<long double>(3, 0)), unit(7, 2), how)) {
      EXPECT_EQ(found.rank, 0);
      EXPECT_EQ(found.dropped.count, 3);
      EXPECT_EQ(found.dropped.first, 0);
      EXPECT_EQ(found.x, std::vector<double>(3, 0.0));
    }
    LongMatrix a = random_matrix(30, 20, 3);
    a[4][3] = nan;
    a[29][12] = infinity;
    LongMatrix without = a;
    for (auto& row : without) row[3] = row[12] = 0;
    const LeastSolution expected = least_squares(without, unit(30, 7));
    for (const auto& found : solve<double, TypeParam>(a, unit(30, 7), how)) {
      EXPECT_EQ(found.rank, 18);
      EXPECT_EQ(found.dropped.first, 3);
      EXPECT_NEAR(static_cast<double>(residual(without, unit(30, 7), found.x)),
                  static_cast<double>(expected.residual), 1e-12);
    }
  }
}

// A graded matrix: reflectors of all sizes.
TYPED_TEST(PanelQrTest, ColumnsOfAnySize) {
  LongMatrix a = random_matrix(40, 21, 9);
  for (auto& row : a)
    for (int j = 0; j < 21; ++j) row[j] *= std::ldexp(1.0L, 3 * j - 30);
  const auto b = unit(40, 11);
  const LeastSolution expected = least_squares(a, b);
  for (const How& how : ways(16 * 0x1p-52))
    for (const auto& found : solve<double, TypeParam>(a, b, how))
      for (int j = 0; j < 21; ++j)
        ASSERT_NEAR(
            static_cast<double>(std::ldexp(static_cast<long double>(found.x[j]) - expected.x[j], 3 * j - 30)),
            0, 1e-13);
}

TYPED_TEST(PanelQrTest, TheFloorIsRelativeToTheColumn) {
  const auto rank_of = [](const LongMatrix& a, int rank, int first) {
    for (const How& how : ways(1e-12))
      for (const auto& found : solve<double, TypeParam>(a, unit(20, 3), how)) {
        EXPECT_EQ(found.rank, rank) << "step " << how.step;
        if (first >= 0) {
          EXPECT_EQ(found.dropped.first, first);
        }
      }
  };
  LongMatrix a = random_matrix(20, 9, 12);
  for (auto& row : a) row[4] *= 0x1p-80L;
  rank_of(a, 9, -1);
  for (auto& row : a) row[4] *= 0x1p-440L;
  rank_of(a, 8, 4);  // out of range
  // Rounding leaves more of a large column than the floor itself.
  for (auto& row : a) {
    row[4] = row[2] - 2 * row[0];
    row[6] = 0x1p90L * (row[1] + row[3]);
  }
  rank_of(a, 7, 4);
}

TYPED_TEST(PanelQrTest, SameBitsTwiceAndCloseByABuffer) {
  const LongMatrix a = random_matrix(77, 45, 21);
  const auto b = unit(77, 3);
  const auto once = solve<double, TypeParam>(a, b, {}), again = solve<double, TypeParam>(a, b, {});
  for (std::size_t k = 0; k < once.size(); ++k) EXPECT_EQ(once[k].x, again[k].x);
  // The compiler may have another loop for a panel that lies elsewhere. x is below 1; the condition number
  // about 10.
  const auto buffered = solve<double, TypeParam>(a, b, {0, true, 0});
  for (std::size_t k = 0; k < once.size(); ++k)
    for (std::size_t j = 0; j < once[k].x.size(); ++j) ASSERT_NEAR(once[k].x[j], buffered[k].x[j], 1e-13);
}

TYPED_TEST(PanelQrTest, ALargeSystem) {
  LongMatrix a = random_matrix(700, 300, 33);
  for (int j = 0; j < 300; ++j) a[j][j] += 10;
  const auto b = unit(700, 99);
  std::vector<double> x;
  for (const How& how : {How{}, How{0, true, 0}, How{5, false, 0}}) {
    for (const auto& found : solve<double, TypeParam>(a, b, how)) {
      ASSERT_EQ(found.rank, 300);
      // The residual of a least-squares solution is orthogonal to the columns.
      std::vector<long double> rest(700);
      for (int i = 0; i < 700; ++i) {
        rest[i] = -b[i];
        for (int j = 0; j < 300; ++j) rest[i] += a[i][j] * static_cast<long double>(found.x[j]);
      }
      for (int j = 0; j < 300; ++j) {
        long double sum = 0;
        for (int i = 0; i < 700; ++i) sum += a[i][j] * rest[i];
        ASSERT_NEAR(static_cast<double>(sum), 0, 1e-12) << "column " << j;
      }
    }
  }
}

}  // namespace
}  // namespace prekond::testing
