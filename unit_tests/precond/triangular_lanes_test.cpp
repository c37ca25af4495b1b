// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/triangular/solve_row.hpp"
#include "testing/general_matrices.hpp"
#include "testing/lane_threads.hpp"
#include "testing/reference_triangular.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

/// Rows of a solve by the lanes of a vector, each a thread of the host's, while other vectors solve the rows
/// that they need: the code for GPUs where there is none.
namespace prekond::testing {
namespace {

using namespace impl;
using namespace impl::triangular;
using Space = Kokkos::DefaultHostExecutionSpace;

/// A factor, and what a solve with it has.
struct Problem {
  HostMatrix<double> n;
  std::vector<double> scale, b;
  std::vector<WordOf<double>> y;
  SyncFreeProgress progress{0, 0};

  template <int Lanes>
  SolveRow<double, double, Space, Lanes> row(std::int64_t max_polls) {
    const auto rows = n.num_rows;
    const VectorView<const std::size_t, Space> ptrs(n.row_ptrs.data(), rows + 1);
    const VectorView<const int, Space> cols(n.col_idxs.data(), n.nnz());
    const VectorView<const double, Space> values(n.values.data(), n.nnz()), s(scale.data(), rows);
    return {ptrs,
            cols,
            values,
            s,
            MultiVectorView<const double, Space>(b.data(), rows, 2),
            MultiVectorView<WordOf<double>, Space>(y.data(), rows, 2),
            {},
            {VectorView<SyncFreeProgress, Space>(&progress, 1), max_polls},
            2,
            static_cast<int>(rows)};
  }
};

/// A lower triangle whose last rows have many entries.
Problem problem_of(int rows) {
  Problem p;
  Dense dense(rows, std::vector<double>(rows, 0));
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < i; ++j)
      if (i > rows / 2 || (i + j) % 5 == 0) dense[i][j] = std::sin(i + 3.0 * j) / (i + 1);
  p.n = sparse(dense);
  for (int i = 0; i < rows; ++i) p.scale.push_back(1 + i % 4);
  for (int k = 0; k < 2 * rows; ++k) p.b.push_back(std::cos(k));
  p.y.assign(2 * rows, missing_word<double>);
  return p;
}

void expect_solved(const Problem& p) {
  const auto rows = static_cast<std::size_t>(p.n.num_rows);
  for (std::size_t v = 0; v < 2; ++v) {
    const std::vector<double> b(p.b.begin() + v * rows, p.b.begin() + (v + 1) * rows);
    const Substitution expected = substitute(p.n, Triangle::lower, p.scale, b);
    for (std::size_t i = 0; i < rows; ++i) {
      const auto y = Kokkos::bit_cast<double>(p.y[v * rows + i]);
      EXPECT_LE(std::abs(y - expected.y[i]), 1e-14 * expected.magnitudes[i]) << i;
    }
  }
}

/// Two vectors, of which one has the odd rows and waits for the other one's.
template <int Width>
void check_lanes(int rows) {
  Problem p = problem_of(rows);
  const auto row = p.row<Width>(std::int64_t(1) << 40);
  LaneThreads<Width> even, odd;
  const auto solve = [&](int first) {
    return [&row, first, rows](const auto& level) {
      for (int i = first; i < rows; i += 2) row.solve(level, i, -1);
    };
  };
  std::thread other([&] { odd.run(solve(1)); });
  even.run(solve(0));
  other.join();
  EXPECT_EQ(p.progress.gave_up, 0);
  expect_solved(p);
}

TEST(TriangularLanesTest, VectorsWaitForEachOther) {
  for (const int rows : {1, 2, 31, 33, 70}) {
    check_lanes<2>(rows);
    check_lanes<8>(rows);
  }
  check_lanes<32>(45);
}

TEST(TriangularLanesTest, ARowThatGivesUpWaitingRaisesTheFlag) {
  Problem p = problem_of(20);
  const auto row = p.row<8>(7);
  LaneThreads<8>().run([&](const auto& level) { row.solve(level, 19, -1); });
  EXPECT_EQ(p.progress.gave_up, 1);
  EXPECT_NE(p.y[19], missing_word<double>) << "others need not wait for it";
  // Once it is said, those that would wait for long stop soon.
  const auto patient = p.row<8>(std::int64_t(1) << 60);
  LaneThreads<8>().run([&](const auto& level) { patient.solve(level, 18, -1); });
  // One team that solves all rows does not look at the flag.
  Problem again = problem_of(20);
  again.progress.gave_up = 1;
  const auto alone = again.row<8>(-1);
  LaneThreads<8>().run([&](const auto& level) {
    for (int i = 0; i < 20; ++i) alone.solve(level, i, -1);
  });
  expect_solved(again);
}

}  // namespace
}  // namespace prekond::testing
