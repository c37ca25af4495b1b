// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/approximate_inverse/spai/stream.hpp"
#include "testing/lane_threads.hpp"
#include "testing/reference_spai.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

/// Columns of SPAI that are streamed, by lanes that are threads of the host's: the code for GPUs where there
/// is none.
namespace prekond::testing {
namespace {

using namespace impl::spai;
using Space = Kokkos::DefaultHostExecutionSpace;

struct alignas(16) Bytes {
  char bytes[16];
};

template <class T>
VectorView<T, Space> view_of(std::vector<std::remove_const_t<T>>& values) {
  return VectorView<T, Space>(values.data(), values.size());
}

/// The rows of A and the lists, one of which is solved.
struct Problem {
  HostMatrix<double> b;
  std::vector<std::size_t> list_ptrs;
  std::vector<int> lists, n1;
  std::vector<double> scale, values;
  std::vector<unsigned char> status;

  explicit Problem(const HostMatrix<double>& matrix, const std::vector<int>& cols, int k)
      : b(matrix),
        list_ptrs(std::size_t(b.num_rows) + 1, 0),
        lists(cols),
        n1(std::size_t(b.num_rows), -1),
        scale(std::size_t(b.num_rows), 0.5),
        values(cols.size(), std::nan("")),
        status(std::size_t(b.num_rows), Status::streamed) {
    for (std::size_t i = std::size_t(k) + 1; i < list_ptrs.size(); ++i) list_ptrs[i] = cols.size();
  }

  template <class Real>
  StreamedColumns<double, Real, Space> columns() {
    const CsrView<double, Space> rows{b.num_rows, b.num_cols, view_of<const std::size_t>(b.row_ptrs),
                                      view_of<const int>(b.col_idxs), view_of<const double>(b.values)};
    CsrGraphView<Space> graph;
    graph.num_rows = graph.num_cols = b.num_rows;
    graph.row_ptrs = view_of<const std::size_t>(list_ptrs);
    graph.col_idxs = view_of<const int>(lists);
    const Real floor = sizeof(Real) == 4 ? Real(16 * 0x1p-23f) : Real(16 * 0x1p-52);
    return {rows,  view_of<const double>(scale),  graph, view_of<int>(n1), view_of<double>(values),
            floor, view_of<unsigned char>(status)};
  }
};

/// Solves column k with the rows merged, or listed as a team does.
template <class Real, int Width, int Sets, int Rows>
void solve(Problem& problem, int k, bool merged) {
  using LaneGroup = typename LaneThreads<Width>::LaneGroup;
  using System = StreamQr<Real, Rows, Sets, LaneGroup>;
  const int n2 = int(problem.lists.size());
  std::vector<Bytes> memory((System::Layout::shown_bytes + System::Layout::r_bytes(n2)) / sizeof(Bytes));
  std::fill_n(reinterpret_cast<char*>(memory.data()), memory.size() * sizeof(Bytes), char(-1));
  std::vector<int> rows;
  for (const int col : problem.lists)
    for (std::size_t e = problem.b.row_ptrs[std::size_t(col)]; e < problem.b.row_ptrs[std::size_t(col) + 1];
         ++e)
      if (problem.b.col_idxs[e] < problem.b.num_rows) rows.push_back(problem.b.col_idxs[e]);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  int minimum[2] = {0, 0};
  const auto work = problem.columns<Real>();
  LaneThreads<Width> lanes;
  lanes.run([&](const LaneGroup& lane_group) {
    char* const base = reinterpret_cast<char*>(memory.data());
    const System system(lane_group, base, base + System::Layout::shown_bytes, n2);
    if (merged) {
      MergedRows<LaneGroup> next{lane_group};
      work.do_column(lane_group, system, next, k);
    } else {
      ListedRows<LaneGroup> next{lane_group, rows.data(), int(rows.size()), minimum};
      work.do_column(lane_group, system, next, k);
    }
  });
  EXPECT_EQ(problem.n1[std::size_t(k)], int(rows.size()));
}

template <class Real, int Width, int Sets, int Rows>
void expect_least(const HostMatrix<double>& b, int k, const std::vector<int>& cols, double tolerance) {
  for (const bool merged : {true, false}) {
    SCOPED_TRACE("column " + std::to_string(k) + " of " + std::to_string(cols.size()) + " entries by " +
                 std::to_string(Width) + " lanes" + (merged ? ", merged" : ", listed"));
    Problem problem(b, cols, k);
    solve<Real, Width, Sets, Rows>(problem, k, merged);
    ASSERT_EQ(int(problem.status[std::size_t(k)]), int(Status::solved));
    const LocalProblem local = local_problem(b, k, cols);
    const LeastSolution expected = least_squares(local.matrix, local.rhs);
    ASSERT_NEAR(double(residual_of(local, problem.values) - expected.residual), 0, tolerance);
  }
}

/// Columns in other ranks' range too, which do not count.
HostMatrix<double> matrix(int n) {
  return with_columns_of_other_ranks(random_general(n, 0.2, 11u + unsigned(n), 0));
}

std::vector<int> around(int k, int length, int n) {
  std::vector<int> cols;
  for (int p = 0; p < length; ++p) cols.push_back((k + p * 7) % n);
  std::sort(cols.begin(), cols.end());
  return cols;
}

class SpaiLanes : public LanesTest {};

TEST_F(SpaiLanes, ColumnsAreTheLeastOnTheirPatterns) {
  const HostMatrix<double> b = matrix(89);
  for (const int length : {1, 4, 7}) {
    ASSERT_NO_FATAL_FAILURE((expect_least<double, 8, 1, 16>(b, 40, around(40, length, 89), 1e-12)));
    ASSERT_NO_FATAL_FAILURE((expect_least<float, 8, 1, 16>(b, 88, around(88, length, 89), 1e-5)));
  }
  for (const int length : {8, 20, 23}) {
    ASSERT_NO_FATAL_FAILURE((expect_least<double, 8, 3, 16>(b, 0, around(0, length, 89), 1e-12)));
    ASSERT_NO_FATAL_FAILURE((expect_least<double, 16, 2, 32>(b, 3, around(3, length, 89), 1e-12)));
  }
  ASSERT_NO_FATAL_FAILURE((expect_least<double, 32, 2, 32>(b, 3, around(3, 40, 89), 1e-12)));
}

TEST_F(SpaiLanes, WhatTheyCannotSolveIsLeft) {
  HostMatrix<double> b = matrix(40);
  // Two rows alike: the local matrix has two columns alike.
  Dense dense = to_dense(b);
  dense[5] = dense[9];
  const HostMatrix<double> alike = sparse(dense);
  for (const auto& [name, a, cols] :
       std::vector<std::tuple<std::string, HostMatrix<double>, std::vector<int>>>{
           {"dependent", alike, {5, 9, 12}},
           {"not a number",
            [&] {
              auto c = b;
              c.values[c.row_ptrs[12]] = std::nan("");
              return c;
            }(),
            {5, 9, 12}}}) {
    SCOPED_TRACE(name);
    for (const bool merged : {true, false}) {
      Problem problem(a, cols, 9);
      solve<double, 8, 1, 16>(problem, 9, merged);
      EXPECT_EQ(int(problem.status[9]), int(Status::again));
    }
  }
  // e_k where A(:, J) has no entry in row k: the solution is zero.
  HostMatrix<double> empty = b;
  for (std::size_t e = 0; e < empty.values.size(); ++e)
    if (empty.col_idxs[e] == 9) empty.values[e] = 0;
  Problem problem(empty, {4, 9, 12}, 9);
  solve<double, 8, 1, 16>(problem, 9, true);
  EXPECT_EQ(int(problem.status[9]), int(Status::again));
}

}  // namespace
}  // namespace prekond::testing
