// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_graph.hpp"
#include "testing/reference_reordering.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/pattern/order_statistics.hpp>
#include <prekond/pattern/permute.hpp>

#include <limits>
#include <numeric>

namespace prekond::testing {
namespace {

template <class Space>
class PermuteTest : public ::testing::Test {};
TYPED_TEST_SUITE(PermuteTest, TestSpaces, SpaceNames);

template <class Scalar, class Space>
void check_permuted(const HostMatrix<Scalar>& matrix) {
  const Space space;
  const auto a = to_device<Space>(matrix);
  const auto ordering = random_order<Space>(space, matrix.num_rows, 7);
  const auto expected = reference_permuted(matrix, to_vector(ordering.permutation));
  const CsrView<Scalar, Space> view = a;
  const auto result = permute_symmetric<Scalar, Space>(space, view, ordering);
  EXPECT_EQ(to_host(result), expected);
  const auto again = permute_symmetric<Scalar, Space>(space, view, ordering);
  EXPECT_EQ(to_host(again), expected);
  // Other values in the structure that there is.
  const auto pattern = permute_pattern<Space>(space, view, ordering);
  EXPECT_EQ(to_host(pattern.graph), pattern_of(expected));
  HostMatrix<Scalar> other = matrix;
  for (std::size_t k = 0; k < other.values.size(); ++k) other.values[k] = Scalar(double(k) + 0.5);
  const auto values = to_device<Space>(other.values);
  Vector<Scalar, Space> permuted("permuted", values.extent(0));
  permute_values<Scalar, Space>(space, pattern.source, values, permuted);
  space.fence();
  EXPECT_EQ(to_vector(permuted), reference_permuted(other, to_vector(ordering.permutation)).values);
}

template <class Scalar>
HostMatrix<Scalar> cast(const HostMatrix<double>& a) {
  HostMatrix<Scalar> result{a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, {}};
  for (const double value : a.values) result.values.push_back(Scalar(value));
  return result;
}

TYPED_TEST(PermuteTest, EqualsTheReference) {
  for (const auto& test : awkward_patterns<double>()) {
    SCOPED_TRACE(test.name);
    check_permuted<double, TypeParam>(test.matrix);
    check_permuted<float, TypeParam>(cast<float>(test.matrix));
    check_permuted<Kokkos::complex<double>, TypeParam>(cast<Kokkos::complex<double>>(test.matrix));
  }
}

TYPED_TEST(PermuteTest, RowsAlone) {
  const TypeParam space;
  for (const auto& test : awkward_patterns<double>()) {
    SCOPED_TRACE(test.name);
    const HostMatrix<double>& a = test.matrix;
    const auto rows = random_order<TypeParam>(space, a.num_rows, 3).permutation;
    HostMatrix<double> expected;
    expected.num_rows = a.num_rows;
    expected.num_cols = a.num_cols;
    for (const int i : to_vector(rows)) {
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
        expected.col_idxs.push_back(a.col_idxs[k]);
        expected.values.push_back(a.values[k]);
      }
      expected.row_ptrs.push_back(expected.nnz());
    }
    const auto device = to_device<TypeParam>(a);
    EXPECT_EQ(to_host(permute_rows<double, TypeParam>(space, device, rows)), expected);
  }
}

TYPED_TEST(PermuteTest, LongRowsAndNotANumber) {
  auto matrix = random_entries<double>(701, 701, 0.01, 3);
  matrix.values[100] = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::vector<double>> dense(701, std::vector<double>(701, 0));
  for (int j = 0; j < 701; ++j) dense[350][j] = dense[j][j] = j + 1;
  check_permuted<double, TypeParam>(sparse(dense));
  const TypeParam space;
  const auto ordering = random_order<TypeParam>(space, 701);
  const auto result = permute_symmetric<double, TypeParam>(space, to_device<TypeParam>(matrix), ordering);
  EXPECT_EQ(to_host(result), reference_permuted(matrix, to_vector(ordering.permutation)));
}

TYPED_TEST(PermuteTest, VectorsThereAndBack) {
  const TypeParam space;
  for (const int n : {0, 1, 2, 97, 1000}) {
    for (const int columns : {1, 3}) {
      const auto ordering = random_order<TypeParam>(space, n, 5);
      const auto permutation = to_vector(ordering.permutation);
      MultiVector<double, TypeParam> x("x", n, columns), y("y", n, columns), z("z", n, columns);
      const auto host_x = Kokkos::create_mirror_view(x);
      for (int v = 0; v < columns; ++v)
        for (int i = 0; i < n; ++i) host_x(i, v) = 1000 * v + i;
      Kokkos::deep_copy(x, host_x);
      permute_vector<double, TypeParam>(space, ordering, x, y);
      restore_vector<double, TypeParam>(space, ordering, y, z);
      space.fence();
      const auto host_y = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
      const auto host_z = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), z);
      for (int v = 0; v < columns; ++v)
        for (int i = 0; i < n; ++i) {
          EXPECT_EQ(host_y(i, v), host_x(permutation[i], v));
          EXPECT_EQ(host_z(i, v), host_x(i, v));
        }
    }
  }
}

TYPED_TEST(PermuteTest, AnOrderingOfOtherSizeIsRefused) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(random_entries<double>(5, 5, 0.5, 1));
  const auto ordering = random_order<TypeParam>(space, 4);
  EXPECT_EQ(message_of<InputError>([&] { permute_symmetric<double, TypeParam>(space, a, ordering); }),
            "an ordering of 4 rows for a matrix that has 5; make it of this matrix's pattern");
}

// ------------------------------------------------------------------------------------------- statistics

OrderStatistics reference_statistics(const HostGraph& rows) {
  OrderStatistics s;
  const int n = static_cast<int>(rows.size());
  std::vector<std::int64_t> level(rows.size(), 1);
  for (int i = 0; i < n; ++i) {
    int first = i;
    for (const int j : rows[i]) {
      if (j >= n) continue;
      s.bandwidth = std::max<std::int64_t>(s.bandwidth, std::abs(i - j));
      first = std::min(first, j);
      if (j < i) level[i] = std::max(level[i], level[j] + 1);
    }
    s.profile += i - first;
    s.levels = std::max(s.levels, level[i]);
  }
  return s;
}

TYPED_TEST(PermuteTest, StatisticsEqualTheReference) {
  const TypeParam space;
  for (const auto& test : awkward_patterns<double>()) {
    SCOPED_TRACE(test.name);
    const auto a = to_device<TypeParam>(test.matrix);
    const OrderStatistics expected = reference_statistics(pattern_of(test.matrix));
    const OrderStatistics found = order_statistics<TypeParam>(space, a);
    EXPECT_EQ(found.bandwidth, expected.bandwidth);
    EXPECT_EQ(found.profile, expected.profile);
    EXPECT_EQ(found.levels, expected.levels);
    EXPECT_EQ(count_levels<TypeParam>(space, a), expected.levels);
  }
}

TYPED_TEST(PermuteTest, StatisticsOfKnownOrders) {
  const TypeParam space;
  const auto chain =
      order_statistics<TypeParam>(space, generate<double, TypeParam>(space, "tridiagonal:1000"));
  EXPECT_EQ(chain.bandwidth, 1);
  EXPECT_EQ(chain.profile, 999);
  EXPECT_EQ(chain.levels, 1000);
  // An anti-diagonal of a grid's lower triangle is a level.
  const auto grid = order_statistics<TypeParam>(space, generate<double, TypeParam>(space, "poisson3d:10"));
  EXPECT_EQ(grid.bandwidth, 100);
  EXPECT_EQ(grid.levels, 28);
}

TYPED_TEST(PermuteTest, EveryKernelAndViewIsLabelled) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(random_entries<double>(50, 50, 0.1, 1));
  const auto ordering = random_order<TypeParam>(space, 50);
  const ToolEvents events;
  const auto permuted = permute_symmetric<double, TypeParam>(space, a, ordering);
  order_statistics<TypeParam>(space, permuted);
  for (const auto& labels : {events.kernels(), events.allocations()})
    for (const auto& label : labels)
      EXPECT_THAT(label,
                  ::testing::AnyOf(::testing::StartsWith("prekond::"), ::testing::StartsWith("Kokkos::")));
}

}  // namespace
}  // namespace prekond::testing
