// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/ilut_cases.hpp"
#include "testing/lane_threads.hpp"
#include "testing/triangle_side.hpp"

#include <gtest/gtest.h>

#include "precond/factorization/ilut/kernels.hpp"

#include <cstring>
#include <vector>

/// Rows of threshold factorisations by the lanes of a vector, each a thread of the host's: the code for GPUs
/// where there is none.
namespace prekond::testing {
namespace {

using namespace impl;
using namespace impl::ilut;
using Space = Kokkos::DefaultHostExecutionSpace;

/// A's triangles, scaled.
struct ScaledTriangle {
  std::vector<std::size_t> row_ptrs = {0};
  std::vector<int> cols;
  std::vector<double> values;

  ScaledTriangle(const std::vector<std::map<int, long double>>& rows, bool upper) {
    for (int i = 0; i < static_cast<int>(rows.size()); ++i) {
      for (const auto& [j, value] : rows[i]) {
        if (upper ? j <= i : j >= i) continue;
        cols.push_back(j);
        values.push_back(static_cast<double>(value));
      }
      row_ptrs.push_back(cols.size());
    }
  }
  ilu::FactorTriangle<double, Space> triangle() {
    return {view_of(row_ptrs), view_of(cols), view_of(values)};
  }
};

/// Rows that are done are known by their words; no other is asked for.
struct LookUp {
  VectorView<unsigned long long, Space> done;
  template <class LaneGroup>
  unsigned long long operator()(const LaneGroup& lane_group, int row) const {
    lane_group.barrier();
    EXPECT_NE(done(row), 0u) << "row " << row << " is not done";
    return done(row);
  }
};

/// The results of the rows, in memory of their own.
struct HostRows {
  std::vector<unsigned long long> done;
  std::vector<int> lower_length, upper_length, cols, signals;
  std::vector<double> pivots, values;
  std::vector<unsigned long long> used;
  std::vector<long long> cut_rows;
  std::vector<BreakdownCounter> outcome;

  HostRows(std::int64_t n, std::size_t room)
      : done(n, 0),
        lower_length(n, -1),
        upper_length(n, -1),
        cols(room),
        signals(num_signals, 0),
        pivots(n, std::nan("")),
        values(room, std::nan("")),
        used(1, 0),
        cut_rows(1, 0),
        outcome(1) {
    std::memset(outcome.data(), 0, sizeof(BreakdownCounter));
  }
  GrowingRows<double, Space> rows() {
    return {view_of(done),     view_of(lower_length), view_of(upper_length), view_of(pivots),
            view_of(cols),     view_of(values),       view_of(used),         view_of(signals),
            view_of(cut_rows), view_of(outcome)};
  }
  std::map<int, double> part(int i, bool upper) {
    const std::size_t middle = GrowingRows<double, Space>::begin_of(done[i]);
    const std::size_t begin = upper ? middle : middle - lower_length[i];
    std::map<int, double> row;
    for (std::size_t e = begin; e < begin + (upper ? upper_length : lower_length)[i]; ++e)
      row[cols[e]] = values[e];
    return row;
  }
};

template <int Width, bool symmetric>
void check_lanes(const HostMatrix<double>& host, int p, double tau, int slots, int slab_slots) {
  SCOPED_TRACE("rows " + std::to_string(host.num_rows) + ", p " + std::to_string(p) + ", tau " +
               std::to_string(tau) + ", slots " + std::to_string(slots) + ", width " + std::to_string(Width));
  using LaneGroup = typename LaneThreads<Width>::LaneGroup;
  const auto a = tie_free(host, symmetric);
  const ReferenceIlut expected = symmetric ? reference_ict(a, p, tau) : reference_ilut(a, p, tau);
  LongVector scale;
  const auto rows = scaled_rows(a, scale);
  ScaledTriangle lower(rows, false), upper(rows, true);
  HostRows made(a.num_rows, 2 * a.num_rows * std::min<std::size_t>(p, a.num_rows));
  ThresholdRow<double, Space, LaneGroup, symmetric> row{};
  row.lower = lower.triangle();
  row.upper = upper.triangle();
  row.rows = made.rows();
  row.most = p;
  row.tau = tau;
  std::vector<double> memory(impl::ilut::RowScratch<double>::bytes(slots) / 8 + 1, std::nan(""));
  std::vector<double> slab(RowTable<double>::bytes(slab_slots) / 8 + 1, std::nan(""));
  LaneThreads<Width> lanes;
  int failures = 0;
  lanes.run([&](const LaneGroup& lane_group) {
    const impl::ilut::RowScratch<double> scratch(memory.data(), slots);
    const auto table = RowTable<double>::at(slab.data(), slab_slots);
    scratch.table.clear(lane_group);
    table.clear(lane_group);
    for (int i = 0; i < static_cast<int>(a.num_rows); ++i) {
      const bool done = row(lane_group, i, scratch, table, LookUp{view_of(made.done)});
      if (!done && lane_group.lane() == 0) ++failures;
    }
  });
  ASSERT_EQ(failures, 0);
  std::vector<std::map<int, double>> found_lower, found_upper;
  for (int i = 0; i < static_cast<int>(a.num_rows); ++i) {
    found_lower.push_back(made.part(i, false));
    found_upper.push_back(made.part(i, true));
    ASSERT_NEAR(made.pivots[i] * static_cast<double>(expected.pivots[i]), 1, 1e-12) << "row " << i;
  }
  if (!symmetric) {
    ASSERT_NO_FATAL_FAILURE(expect_same_rows(found_lower, expected.lower, 1e-12));
  }
  ASSERT_NO_FATAL_FAILURE(expect_same_rows(found_upper, expected.upper, 1e-12));
  EXPECT_EQ(made.outcome[0].diagonals, expected.replaced);
  EXPECT_EQ(made.cut_rows[0], expected.cut_rows);
}

class IlutLanes : public LanesTest {};

// Small ones: each step is a handful of barriers of threads.
TEST_F(IlutLanes, RowsInScratch) {
  check_lanes<8, false>(generated("poisson2d:4"), 3, 1e-2, 256, 0);
  check_lanes<8, false>(generated("convection_diffusion3d:2"), 4, 1e-2, 256, 0);
  check_lanes<32, false>(random_general(13, 0.4, 5), 3, 1e-3, 256, 0);
  check_lanes<8, true>(generated("poisson2d:4"), 2, 1e-2, 256, 0);
  check_lanes<8, true>(generated("anisotropic2d:4"), 4, 1e-2, 256, 0);
  check_lanes<32, true>(random_spd(13, 0.4, 5), 3, 1e-3, 256, 0);
}

TEST_F(IlutLanes, RowsThatMoveToTheSlab) {
  for (const int slots : {8, 16}) {
    check_lanes<8, false>(random_general(29, 0.3, 5), 100, 0, slots, 64);
    check_lanes<8, true>(random_spd(29, 0.3, 5), 100, 0, slots, 64);
  }
}

TEST_F(IlutLanes, RowsWithoutRoom) {
  using LaneGroup = typename LaneThreads<8>::LaneGroup;
  const auto a = random_general(57, 0.3, 5);
  LongVector scale;
  const auto rows = scaled_rows(a, scale);
  ScaledTriangle lower(rows, false), upper(rows, true);
  // Too few slots for row 0, and too little room for what it keeps.
  for (const int slots : {8, 256}) {
    HostRows made(57, slots == 8 ? 1000 : 3);
    ThresholdRow<double, Space, LaneGroup, false> row{};
    row.lower = lower.triangle();
    row.upper = upper.triangle();
    row.rows = made.rows();
    row.most = 10;
    std::vector<double> memory(impl::ilut::RowScratch<double>::bytes(slots) / 8 + 1, std::nan(""));
    LaneThreads<8> lanes;
    std::vector<int> done(8, -1);
    lanes.run([&](const LaneGroup& lane_group) {
      const impl::ilut::RowScratch<double> scratch(memory.data(), slots);
      scratch.table.clear(lane_group);
      done[lane_group.lane()] = row(lane_group, 0, scratch, {}, LookUp{view_of(made.done)});
    });
    EXPECT_EQ(done, std::vector<int>(8, 0));
    EXPECT_EQ(made.done[0], 0u);
    EXPECT_EQ(made.signals[ended], 1);
    EXPECT_EQ(made.signals[out_of_room], slots == 8 ? 0 : 1);
    EXPECT_EQ(made.signals[wanted_slots], slots == 8 ? static_cast<int>(upper.row_ptrs[1]) + 1 : 0);
    EXPECT_EQ(made.cut_rows[0], 0);
  }
}

TEST_F(IlutLanes, PivotsThatBreakDown) {
  const auto host = sparse<double>({{1, 1, 2, 0}, {1, 1, 1, 1}, {3, 1, 5, 1}, {0, 1, 1, 1}});
  check_lanes<8, false>(host, 4, 1e-3, 16, 0);
}

TEST_F(IlutLanes, WordsOfLongRows) {
  using Rows = GrowingRows<double, Space>;
  std::vector<int> lengths = {(1 << 24) + 7, (1 << 24) - 1, (1 << 24) - 2, 0};
  Rows rows;
  rows.upper_length = view_of(lengths);
  for (int i = 0; i < 4; ++i)
    for (const std::size_t begin : {std::size_t(0), (std::size_t(1) << 39) + 5}) {
      const auto word = Rows::word_of(begin, lengths[i]);
      EXPECT_NE(word, 0u);
      EXPECT_EQ(Rows::begin_of(word), begin);
      EXPECT_EQ(rows.length_of(word, i), lengths[i]);
    }
}

}  // namespace
}  // namespace prekond::testing
