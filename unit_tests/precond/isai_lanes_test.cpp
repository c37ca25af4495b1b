// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/approximate_inverse/isai/general_row.hpp"
#include "precond/approximate_inverse/isai/triangular_row.hpp"
#include "testing/general_matrices.hpp"
#include "testing/lane_threads.hpp"
#include "testing/reference_isai.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

/// Rows of the ISAI by the lanes of a vector, each a thread of the host's: the code for GPUs where there is
/// none.
namespace prekond::testing {
namespace {

using namespace impl::isai;
using Space = Kokkos::DefaultHostExecutionSpace;

CsrView<double, Space> view_of(const HostMatrix<double>& a) {
  return {a.num_rows, a.num_cols, VectorView<const std::size_t, Space>(a.row_ptrs.data(), a.row_ptrs.size()),
          VectorView<const int, Space>(a.col_idxs.data(), a.col_idxs.size()),
          VectorView<const double, Space>(a.values.data(), a.values.size())};
}

struct alignas(16) Block {
  char bytes[16];
};

/// Runs solve(lane group, base) on the lanes of a row with `bytes` of memory, which begins as no number; lane
/// 0 takes the values.
template <int Width, class MakeRow, class Solve>
std::vector<double> by_lanes(std::size_t bytes, std::size_t length, const MakeRow& make_row,
                             const Solve& solve) {
  std::vector<Block> memory(bytes / sizeof(Block) + 1);
  std::fill_n(reinterpret_cast<char*>(memory.data()), memory.size() * sizeof(Block), char(-1));
  std::vector<double> values(length);
  LaneThreads<Width> lanes;
  lanes.run([&](const typename LaneThreads<Width>::LaneGroup& lane_group) {
    const auto row = make_row(lane_group, reinterpret_cast<char*>(memory.data()));
    const RowResult result = solve(row);
    EXPECT_FALSE(result.dropped);
    EXPECT_FALSE(result.last);
    for (std::size_t k = static_cast<std::size_t>(lane_group.lane()); k < length; k += Width)
      values[k] = row.value(int(k));
  });
  return values;
}

/// Some of 0 .. n - 1, `own` among them.
std::vector<int> some_columns(int n, int own, int stride) {
  std::vector<int> cols;
  for (int j = 0; j < n; ++j)
    if (j == own || j % stride != 1) cols.push_back(j);
  return cols;
}

void expect_row(const Dense& a, int own, const std::vector<int>& cols, const std::vector<double>& found,
                double tolerance) {
  const std::vector<double> expected = reference_isai_row(a, own, cols);
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t k = 0; k < cols.size(); ++k)
    ASSERT_NEAR(found[k], expected[k], tolerance * largest) << "row " << own << ", column " << cols[k];
}

template <class Real, int Width>
void check_general(int n, double tolerance) {
  using SolvedRow = GeneralRow<double, Real, Space, typename LaneThreads<Width>::LaneGroup>;
  const HostMatrix<double> a = random_general(n, 0.4, 3u + unsigned(n), 0);
  const auto view = view_of(a);
  const std::vector<double> ones(std::size_t(n), 1.0);
  const VectorView<const double, Space> scale(ones.data(), ones.size());
  for (const int own : {0, n / 2, n - 1}) {
    const std::vector<int> cols = some_columns(n, own, 5);
    const int length = int(cols.size());
    const int place = int(std::find(cols.begin(), cols.end(), own) - cols.begin());
    const auto found = by_lanes<Width>(
        SolvedRow::bytes(length), cols.size(),
        [&](const auto& lane_group, char* base) { return SolvedRow(lane_group, view, scale, base, length); },
        [&](const SolvedRow& row) { return row.solve(cols.data(), place, Real(1e-6), Pivoting::rows); });
    ASSERT_NO_FATAL_FAILURE(expect_row(to_dense(a), own, cols, found, tolerance));
  }
}

class IsaiLanes : public LanesTest {};

TEST_F(IsaiLanes, RowsOfAGeneralMatrix) {
  for (const int n : {1, 9, 30, 70}) {
    ASSERT_NO_FATAL_FAILURE((check_general<double, 8>(n, 1e-11)));
    ASSERT_NO_FATAL_FAILURE((check_general<double, 32>(n, 1e-11)));
    ASSERT_NO_FATAL_FAILURE((check_general<float, 32>(n, 1e-3)));
  }
}

template <int Width>
void check_triangle(int n, bool upper, bool unit_diagonal) {
  using SolvedRow = TriangularRow<double, Space, typename LaneThreads<Width>::LaneGroup>;
  const HostMatrix<double> a = random_general(n, 0.4, 5u + unsigned(n), 0);
  const Dense triangle = triangle_of(to_dense(a), upper, unit_diagonal);
  const auto view = view_of(a);
  for (const int own : {0, n / 2, n - 1}) {
    std::vector<int> cols;
    for (const int j : some_columns(n, own, 5))
      if (upper ? j >= own : j <= own) cols.push_back(j);
    const int length = int(cols.size());
    const auto found = by_lanes<Width>(
        SolvedRow::bytes(length), cols.size(),
        [&](const auto& lane_group, char* base) {
          return SolvedRow(lane_group, view, Triangle{upper, unit_diagonal}, base, length, nullptr);
        },
        [&](const SolvedRow& row) { return row.solve(cols.data()); });
    ASSERT_NO_FATAL_FAILURE(expect_row(triangle, own, cols, found, 1e-11));
  }
}

TEST_F(IsaiLanes, RowsOfATriangle) {
  for (const int n : {1, 9, 30, 70}) {
    for (const bool upper : {false, true}) {
      for (const bool unit_diagonal : {false, true}) {
        ASSERT_NO_FATAL_FAILURE(check_triangle<8>(n, upper, unit_diagonal));
        ASSERT_NO_FATAL_FAILURE(check_triangle<32>(n, upper, unit_diagonal));
      }
    }
  }
}

}  // namespace
}  // namespace prekond::testing
