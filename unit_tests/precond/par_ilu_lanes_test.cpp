// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/general_matrices.hpp"
#include "testing/lane_threads.hpp"
#include "testing/reference_par_ilu.hpp"
#include "testing/triangle_side.hpp"

#include <gtest/gtest.h>

#include "precond/factorization/par_ilu/sweep_kernels.hpp"

#include <cstring>
#include <utility>
#include <vector>

/// Sweeps by the lanes of a vector, each a thread of the host's, and the products that they are made of.
namespace prekond::testing {
namespace {

using namespace impl;
using namespace impl::par_ilu;
using Space = Kokkos::DefaultHostExecutionSpace;

CsrGraphView<Space> graph_of(Side& side) {
  CsrGraphView<Space> result;
  result.num_rows = result.num_cols = static_cast<std::int64_t>(side.row_ptrs.size()) - 1;
  result.row_ptrs = view_of(side.row_ptrs);
  result.col_idxs = view_of(side.cols);
  return result;
}

struct Values {
  std::vector<double> lower, columns, pivots;
  SweepValues<double, Space> view() { return {view_of(lower), view_of(columns), view_of(pivots)}; }
};

template <int Width, template <class, class> class Entries>
void check_lanes(const HostMatrix<double>& a, int level, int sweeps, bool symmetric) {
  SCOPED_TRACE("rows " + std::to_string(a.num_rows) + ", width " + std::to_string(Width));
  using LaneGroup = typename LaneThreads<Width>::LaneGroup;
  using Kind = Entries<double, Space>;
  const ReferenceFill fill = reference_fill(a, level);
  LongVector scale;
  const auto rows = scaled_rows(a, scale);
  const auto n = static_cast<std::size_t>(a.num_rows);
  const auto expected =
      reference_par_ilu(a, level, symmetric ? ReferenceKind::ic : ReferenceKind::ilu, sweeps);
  std::vector<std::vector<int>> of_columns(n);
  std::vector<int> places;
  for (std::size_t i = 0; i < n; ++i)
    for (const int j : fill.upper[i]) {
      places.push_back(static_cast<int>(of_columns[j].size()));
      of_columns[j].push_back(static_cast<int>(i));
    }
  Side lower(fill.lower, rows), upper(fill.upper, rows), columns(of_columns, rows);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t k = columns.row_ptrs[j]; k < columns.row_ptrs[j + 1]; ++k)
      columns.values[k] =
          static_cast<double>(rows[columns.cols[k]].count(int(j)) ? rows[columns.cols[k]].at(int(j)) : 0);
  const SweepMatrix<double, Space> matrix{graph_of(lower),
                                          graph_of(upper),
                                          graph_of(columns),
                                          view_of(places),
                                          view_of(lower.values),
                                          view_of(upper.values),
                                          1};
  Values now{lower.values, columns.values, std::vector<double>(n, 1)}, next = now;
  std::vector<double> found(n, 1), norms(n, -1), pivots(n, -1), l(lower.values.size(), -1),
      u(upper.values.size(), 0);
  std::vector<BreakdownCounter> outcome(1);
  std::memset(outcome.data(), 0, sizeof(BreakdownCounter));
  LaneThreads<Width> lanes;
  lanes.run([&](const LaneGroup& level_of_lane) {
    for (int k = 0; k < sweeps; ++k) {
      auto &from = k % 2 == 0 ? now : next, &to = k % 2 == 0 ? next : now;
      const SweepRow<Kind, double, Space, LaneGroup> sweep{
          {{matrix}}, from.view(), to.view(), view_of(found)};
      for (std::size_t i = 0; i < n; ++i) sweep(level_of_lane, i);
    }
    auto& last = sweeps % 2 == 0 ? now : next;
    const ResidualRow<Kind, double, Space, LaneGroup> residual{{{matrix}}, last.view(), view_of(norms)};
    const EndRow<Kind, double, Space, LaneGroup> end{{{matrix}},       last.view(), view_of(found),
                                                     view_of(l),       view_of(u),  view_of(pivots),
                                                     view_of(outcome), 1e300};
    for (std::size_t i = 0; i < n; ++i) residual(level_of_lane, i);
    for (std::size_t i = 0; i < n; ++i) end(level_of_lane, i);
  });
  double rest = 0, size = 0;
  for (std::size_t i = 0; i < n; ++i) {
    rest += norms[i] * norms[i];
    for (const auto& [j, value] : rows[i]) size += static_cast<double>(value * value);
    ASSERT_NEAR(pivots[i] * static_cast<double>(expected.factors.pivots[i]), 1, 1e-10) << "row " << i;
  }
  EXPECT_NEAR(std::sqrt(rest / size), expected.after, 1e-10 + 1e-10 * expected.after);
  EXPECT_EQ(outcome[0].diagonals, expected.factors.replaced);
  lower.values = l;
  upper.values = u;
  ASSERT_NO_FATAL_FAILURE(lower.expect_equal(expected.factors.lower, 1e-10));
  if (!symmetric) upper.expect_equal(expected.factors.upper, 1e-10);
}

class ParIluLanes : public LanesTest {};

TEST_F(ParIluLanes, Sweeps) {
  for (const char* spec : {"poisson2d:4", "convection_diffusion3d:3"})
    for (const int sweeps : {0, 1, 2}) check_lanes<4, IluEntries>(generated(spec), 1, sweeps, false);
  check_lanes<4, IluEntries>(random_general(37, 0.3, 5), 0, 3, false);
  check_lanes<16, IluEntries>(random_general(17, 0.3, 5), 0, 1, false);
}

TEST_F(ParIluLanes, SweepsOfCholesky) {
  for (const char* spec : {"poisson2d:4", "elasticity3d:2"})
    for (const int sweeps : {0, 2}) check_lanes<4, IcEntries>(generated(spec), 1, sweeps, true);
}

TEST_F(ParIluLanes, PivotsThatBreakDown) {
  const auto a = sparse<double>({{1, 1, 2, 0}, {1, 1, 1, 1}, {3, 1, 5, 1}, {0, 1, 1, 1}});
  check_lanes<4, IluEntries>(a, 0, 1, false);
}

TEST(SparseDot, AllLengths) {
  std::mt19937_64 engine(5);
  for (const int of_x : {0, 1, 2, 3, 7, 8, 9, 31, 100, 1000})
    for (const int of_y : {0, 1, 2, 3, 7, 8, 9, 31, 100, 1000})
      for (const int range : {1, 3, 40}) {
        const auto list = [&](int length) {
          std::map<int, double> result;
          for (int k = 0; k < length; ++k)
            result[static_cast<int>(engine() % (static_cast<unsigned>(range) * (length + 1)))] =
                1 + double(k);
          return result;
        };
        const auto x = list(of_x), y = list(of_y);
        std::vector<int> cols[2];
        std::vector<double> values[2];
        for (const auto& [j, value] : x) cols[0].push_back(j), values[0].push_back(value);
        for (const auto& [j, value] : y) cols[1].push_back(j), values[1].push_back(value);
        double expected = 0;
        for (const auto& [j, value] : x) expected += y.count(j) ? value * y.at(j) : 0;
        const SparseList<double> a{cols[0].data(), values[0].data(), static_cast<int>(x.size())};
        const SparseList<double> b{cols[1].data(), values[1].data(), static_cast<int>(y.size())};
        ASSERT_EQ(sparse_dot(a, b), expected) << of_x << ", " << of_y;
        ASSERT_EQ(sparse_dot(b, a), expected) << of_x << ", " << of_y;
      }
}

}  // namespace
}  // namespace prekond::testing
