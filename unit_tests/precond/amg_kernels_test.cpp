// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Row sums and transposes of multigrid's matrices.
#include "testing/amg_cases.hpp"
#include "testing/host_graph.hpp"
#include "testing/krylov_solves.hpp"
#include "testing/one_thread.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gtest/gtest.h>
#include <prekond/precond/amg.hpp>
#include "sparse_product/transpose.hpp"

#include "precond/multigrid/prolongator.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

namespace prekond::testing {
namespace {

using namespace impl::amg;

template <class Space>
class AmgKernelsTest : public ::testing::Test {};
TYPED_TEST_SUITE(AmgKernelsTest, TestSpaces, SpaceNames);

TYPED_TEST(AmgKernelsTest, RowSumsBoundTheEigenvaluesOfDominantMatrices) {
  const TypeParam space;
  const auto sums_of = [&](const HostMatrix<double>& a) {
    return row_sums<double, TypeParam>(space, to_device<TypeParam>(a));
  };
  const RowSums laplace = sums_of(problem("poisson2d:30"));
  EXPECT_EQ(laplace.most, 2);
  EXPECT_EQ(laplace.unusable, 0);
  EXPECT_TRUE(laplace.is_dominant());
  EXPECT_FALSE(laplace.is_diagonal());
  const auto device = to_device<TypeParam>(problem("poisson2d:30"));
  const CsrOperator<double, TypeParam> products(device);
  EXPECT_EQ((largest_scaled_eigenvalue<double, TypeParam>(space, device, products, laplace)), 2);
  EXPECT_EQ(sums_of(sparse<double>({{4, 1, -1, 9}, {0, 2, 3, 9}, {0, 0, 1, 9}})).most, 2.5);  // 9: of others
  EXPECT_FALSE(sums_of(sparse<double>({{4, 1, -1}, {0, 2, 3}, {0, 0, 1}})).is_dominant());
  EXPECT_FALSE(sums_of(problem("elasticity3d:4")).is_dominant());
  EXPECT_TRUE(sums_of(sparse<double>({{4, 0}, {0, 1e-9}})).is_diagonal());
  for (const double bad : {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN()}) {
    const RowSums sums = sums_of(sparse<double>({{4, 0, 0}, {0, 1, 0}, {1, 0, bad}}));
    EXPECT_EQ(sums.unusable, 1) << bad;
    EXPECT_FALSE(sums.is_dominant() || sums.is_diagonal()) << bad;
  }
}

TYPED_TEST(AmgKernelsTest, DiagonalMatricesNeedNoLanczosSteps) {
  Amg<double, TypeParam> m{AmgOptions()};
  const auto a = to_device<TypeParam>(diagonal_matrix(std::vector<double>(1000, 3.0)));
  const ToolEvents events;
  m.numeric(TypeParam(), MatrixSource<double, TypeParam>(a));
  for (const std::string& kernel : events.kernels())
    EXPECT_EQ(kernel.find("strong"), std::string::npos) << kernel;
  EXPECT_EQ(m.report().levels.size(), 1u);
}

TYPED_TEST(AmgKernelsTest, DroppedEntriesBecomeTheMissingDiagonal) {
  const TypeParam space;
  constexpr int n = 2000;
  HostMatrix<double> a;  // row i has i - 1, the last ones after a diagonal that is not there
  a.num_rows = a.num_cols = n;
  for (int i = 0; i < n; ++i) {
    if (i > 0) {
      a.col_idxs.push_back(i - 1);
      a.values.push_back(-1.0);
    }
    a.row_ptrs.push_back(a.col_idxs.size());
  }
  std::vector<std::size_t> row_ptrs(n + 1);
  std::vector<int> rows(n);
  std::iota(row_ptrs.begin(), row_ptrs.end(), 0);
  std::iota(rows.begin(), rows.end(), 0);
  const CsrGraph<TypeParam> diagonal{n, n, to_device<TypeParam>(row_ptrs), to_device<TypeParam>(rows)};
  const auto device = to_device<TypeParam>(a);
  {
    const auto garbage = allocate<Vector<double, TypeParam>>(space, "garbage", n);  // freed for A_F's values
    Kokkos::deep_copy(space, garbage, 1e300);
    space.fence();
  }
  const auto f = to_host(filtered_matrix<double, TypeParam>(space, device, diagonal));
  for (int i = 0; i < n; ++i) ASSERT_EQ(f.values[i], i > 0 ? -1.0 : 0.0) << i;
}

TYPED_TEST(AmgKernelsTest, TransposesAreSortedForAnyNumberOfThreads) {
  for (const auto& [rows, cols, density] :
       {std::tuple(1, 1, 1.0), std::tuple(700, 9, 0.3), std::tuple(9, 700, 0.3), std::tuple(513, 257, 0.05),
        std::tuple(5, 7, 0.0)}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols));
    const HostMatrix<double> a = random_entries<double>(rows, cols, density, 1);
    const auto device = to_device<TypeParam>(a);
    const auto found = transpose<double, TypeParam>(TypeParam(), device);
    const HostMatrix<double> t = to_host(found);
    EXPECT_EQ(t.num_rows, cols);
    EXPECT_EQ(t.num_cols, rows);
    EXPECT_EQ(t.nnz(), a.nnz());
    for (int j = 0; j < cols; ++j)
      for (std::size_t k = t.row_ptrs[j]; k < t.row_ptrs[j + 1]; ++k) {
        ASSERT_TRUE(k == t.row_ptrs[j] || t.col_idxs[k - 1] < t.col_idxs[k]);
        ASSERT_EQ(t.values[k], a(t.col_idxs[k], j));
      }
    auto again = to_device<TypeParam>(a);
    Kokkos::deep_copy(again.values, 3.5);
    write_transpose<double, TypeParam>(TypeParam(), again, found);
    HostMatrix<double> expected = t;
    std::fill(expected.values.begin(), expected.values.end(), 3.5);
    EXPECT_TRUE(to_host(found) == expected);
    if constexpr (is_host_space<TypeParam>) {
      EXPECT_TRUE((to_host(transpose<double, TypeParam>(of_one_thread<TypeParam>(), device)) == t));
    }
  }
}

}  // namespace
}  // namespace prekond::testing
