// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/general_matrices.hpp"
#include "testing/lane_threads.hpp"
#include "testing/reference_ilu.hpp"
#include "testing/stars.hpp"
#include "testing/triangle_side.hpp"

#include <gtest/gtest.h>

#include "precond/factorization/ilu/kernels.hpp"

#include <cstring>
#include <thread>
#include <vector>

/// Rows of incomplete factorisations by the lanes of a vector, each a thread of the host's: the code for GPUs
/// where there is none.
namespace prekond::testing {
namespace {

using namespace impl;
using namespace impl::ilu;
using Space = Kokkos::DefaultHostExecutionSpace;

FactorTriangle<double, Space> triangle_of(Side& side) {
  return {view_of(side.row_ptrs), view_of(side.cols), view_of(side.values)};
}

/// The memory of the second of three threads, or of a vector of lanes.
template <int Width>
auto scratch_at(void* base, int capacity) {
  constexpr int chunk = 5, steps = 6;
  if constexpr (Width == 1)
    return capacity > 0 ? LaneMemory<double>(base, capacity, steps, 1, 3) : LaneMemory<double>();
  else
    return capacity > 0 ? RowMemory<double>(base, capacity, chunk, Width) : RowMemory<double>();
}

template <int Width, template <class, class, class> class Kind>
void check_lanes(const HostMatrix<double>& a, int level, int capacity, ReferenceKind kind) {
  SCOPED_TRACE("rows " + std::to_string(a.num_rows) + ", level " + std::to_string(level) + ", room for " +
               std::to_string(capacity) + ", width " + std::to_string(Width));
  using LaneGroup = typename LaneThreads<Width>::LaneGroup;
  const ReferenceIlu expected = reference_ilu(a, level, kind);
  const ReferenceFill fill = reference_fill(a, level);
  LongVector scale;
  const auto rows = scaled_rows(a, scale);
  Side lower(fill.lower, rows), upper(fill.upper, rows);
  std::vector<double> pivots(a.num_rows, missing_value<double>()), row_scale(scale.begin(), scale.end());
  std::vector<double> row_sums(a.num_rows, missing_value<double>());
  std::vector<BreakdownCounter> outcome(1);
  std::memset(outcome.data(), 0, sizeof(BreakdownCounter));
  auto& others = kind == ReferenceKind::ic ? lower : upper;
  std::vector<double> finished(others.values.size(), missing_value<double>());
  std::vector<int> stalled(1, 0);
  Kind<double, Space, LaneGroup> row{};
  row.lower = triangle_of(lower);
  row.upper = triangle_of(upper);
  row.finished = triangle_of(others);
  row.finished.values = view_of(finished);
  row.pivots = view_of(pivots);
  row.outcome = view_of(outcome);
  row.positive = kind != ReferenceKind::ilu;
  row.row_scale = view_of(row_scale);
  row.row_sums = view_of(row_sums);
  row.by_size = kind == ReferenceKind::mic_robert;
  // Even rows and odd ones at the same time: each waits for values of the other's.
  const auto every_other = [&](std::int64_t first) {
    std::vector<std::size_t> memory(4096, ~std::size_t(0));
    LaneThreads<Width> lanes;
    lanes.run([&](const LaneGroup& level_of_lane) {
      const auto scratch = scratch_at<Width>(memory.data(), capacity);
      for (std::int64_t i = first; i < a.num_rows; i += 2)
        row(level_of_lane, i, scratch, AwaitedValues{view_of(stalled), std::int64_t(1) << 40});
    });
  };
  std::thread odd([&] { every_other(1); });
  every_other(0);
  odd.join();
  EXPECT_EQ(stalled[0], 0);
  others.values = finished;
  for (std::size_t i = 0; i < pivots.size(); ++i)
    ASSERT_NEAR(pivots[i] * static_cast<double>(expected.pivots[i]), 1, 1e-10) << "row " << i;
  EXPECT_EQ(outcome[0].diagonals, expected.replaced);
  ASSERT_NO_FATAL_FAILURE(lower.expect_equal(expected.lower, 1e-10));
  if (kind == ReferenceKind::ilu) upper.expect_equal(expected.upper, 1e-10);
}

template <class Scalar, class Space, class LaneGroup>
struct ShortIluRow : IluRowOf<Scalar, Space, LaneGroup, false, false> {};
template <class Scalar, class Space, class LaneGroup>
struct ShortLumpingIluRow : IluRowOf<Scalar, Space, LaneGroup, true, false> {};
template <class Scalar, class Space, class LaneGroup>
struct ShortIcRow : IcRowOf<Scalar, Space, LaneGroup, false> {};

void check_lumping(const HostMatrix<double>& a, int level, int capacity) {
  for (const ReferenceKind kind : {ReferenceKind::mic_gustafsson, ReferenceKind::mic_robert}) {
    SCOPED_TRACE("kind " + std::to_string(int(kind)));
    check_lanes<8, LumpingIluRow>(a, level, capacity, kind);
    check_lanes<1, LumpingIluRow>(a, level, capacity, kind);
  }
}

class IluLanes : public LanesTest {};

TEST_F(IluLanes, RowsInScratchAndWhereTheyAreStored) {
  for (const char* spec : {"poisson2d:6", "elasticity3d:2", "convection_diffusion3d:3"})
    for (const int capacity : {0, 7, 24, 96}) {
      check_lanes<8, IluRow>(generated(spec), 1, capacity, ReferenceKind::ilu);
      check_lanes<32, IluRow>(generated(spec), 0, capacity, ReferenceKind::ilu);
      check_lanes<1, IluRow>(generated(spec), 1, capacity, ReferenceKind::ilu);
    }
  for (const int capacity : {0, 12, 96}) {
    check_lanes<8, IluRow>(random_general(57, 0.3, 5), 0, capacity, ReferenceKind::ilu);
    check_lanes<1, IluRow>(random_general(57, 0.3, 5), 0, capacity, ReferenceKind::ilu);
  }
}

TEST_F(IluLanes, RowsThatGiveToTheirDiagonals) {
  for (const char* spec : {"poisson2d:6", "elasticity3d:2"})
    for (const int capacity : {0, 24, 96}) check_lumping(generated(spec), 0, capacity);
  for (const int capacity : {0, 96}) check_lumping(random_spd(57, 0.3, 5), 0, capacity);
}

TEST_F(IluLanes, RowsOfLAlone) {
  for (const char* spec : {"poisson2d:6", "elasticity3d:2"})
    for (const int capacity : {0, 7, 24, 96}) {
      check_lanes<8, IcRow>(generated(spec), 1, capacity, ReferenceKind::ic);
      check_lanes<1, IcRow>(generated(spec), 1, capacity, ReferenceKind::ic);
    }
  check_lanes<32, IcRow>(generated("poisson2d:6"), 1, 0, ReferenceKind::ic);
  for (const int capacity : {0, 96}) {
    check_lanes<32, IcRow>(random_spd(57, 0.3, 5), 0, capacity, ReferenceKind::ic);
    check_lanes<8, IcRow>(random_spd(57, 0.3, 5), 0, capacity, ReferenceKind::ic);
    check_lanes<1, IcRow>(random_spd(57, 0.3, 5), 0, capacity, ReferenceKind::ic);
  }
}

TEST_F(IluLanes, RowsThatNeverLookUp) {
  const auto general = random_general(57, 0.3, 5), definite = random_spd(57, 0.3, 5);
  for (const int capacity : {0, 12, 96}) {
    check_lanes<32, ShortIluRow>(general, 0, capacity, ReferenceKind::ilu);
    check_lanes<1, ShortIluRow>(general, 0, capacity, ReferenceKind::ilu);
    for (const ReferenceKind kind : {ReferenceKind::mic_gustafsson, ReferenceKind::mic_robert}) {
      check_lanes<8, ShortLumpingIluRow>(definite, 0, capacity, kind);
      check_lanes<1, ShortLumpingIluRow>(definite, 0, capacity, kind);
    }
    check_lanes<32, ShortIcRow>(definite, 0, capacity, ReferenceKind::ic);
    check_lanes<1, ShortIcRow>(definite, 0, capacity, ReferenceKind::ic);
  }
}

TEST_F(IluLanes, RowsThatMeetLongOnes) {
  for (const Case& test : stars(101))
    for (const int capacity : {0, 24}) {
      SCOPED_TRACE(test.name);
      check_lanes<8, IluRow>(test.matrix, 0, capacity, ReferenceKind::ilu);
      check_lanes<1, IluRow>(test.matrix, 0, capacity, ReferenceKind::ilu);
      check_lumping(test.matrix, 0, capacity);
      check_lanes<8, IcRow>(test.matrix, 0, capacity, ReferenceKind::ic);
      check_lanes<32, IcRow>(test.matrix, 0, capacity, ReferenceKind::ic);
      check_lanes<1, IcRow>(test.matrix, 0, capacity, ReferenceKind::ic);
    }
}

TEST_F(IluLanes, PivotsThatBreakDown) {
  for (const int capacity : {0, 24})
    check_lanes<1, IluRow>(sparse<double>({{1, 1, 2, 0}, {1, 1, 1, 1}, {3, 1, 5, 1}, {0, 1, 1, 1}}), 0,
                           capacity, ReferenceKind::ilu);
  for (const int capacity : {0, 24})
    check_lanes<8, IluRow>(sparse<double>({{1, 1, 2, 0}, {1, 1, 1, 1}, {3, 1, 5, 1}, {0, 1, 1, 1}}), 0,
                           capacity, ReferenceKind::ilu);
}

}  // namespace
}  // namespace prekond::testing
