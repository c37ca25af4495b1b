// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_graph.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/pattern/impl/threshold.hpp>

#include <cmath>
#include <limits>

namespace prekond::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Every place of the square part, by the definition.
template <class Scalar>
HostGraph sequential_threshold(const HostMatrix<Scalar>& a, double tau) {
  HostGraph rows(a.num_rows);
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    std::vector<char> stored(a.num_cols, 0);
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) stored[a.col_idxs[k]] = 1;
    for (int j = 0; j < a.num_rows; ++j) {
      const double scale =
          static_cast<double>(std::sqrt(std::abs(static_cast<long double>(a(i, i)) * a(j, j))));
      const bool large = stored[j] && (tau == 0 || std::abs(double(a(i, j))) > tau * scale);
      if (i == j || large) rows[i].push_back(j);
    }
  }
  return rows;
}

HostGraph sequential_lower_triangle(HostGraph rows) {
  for (int i = 0; i < int(rows.size()); ++i) {
    auto& row = rows[i];
    row.erase(std::lower_bound(row.begin(), row.end(), i), row.end());
    row.push_back(i);
  }
  return rows;
}

template <class Scalar, class Space>
void check_threshold(const HostMatrix<Scalar>& a) {
  const Space space;
  const auto device = to_device<Space>(a);
  for (double tau : {0.0, 1e-300, 1e-3, 0.05, 0.25, 0.5, 1.0, 2.0, 1e300}) {
    SCOPED_TRACE("tau " + std::to_string(tau));
    const CsrGraph<Space> graph = threshold<Scalar, Space>(space, device, tau);
    const CsrGraph<Space> again = threshold<Scalar, Space>(space, device, tau);
    space.fence();
    const HostGraph expected = sequential_threshold(a, tau);
    EXPECT_EQ(graph.num_rows, a.num_rows);
    EXPECT_EQ(graph.num_cols, a.num_rows);
    EXPECT_EQ(to_host(graph), expected);
    EXPECT_EQ(to_vector(graph.row_ptrs), to_vector(again.row_ptrs));
    EXPECT_EQ(to_vector(graph.col_idxs), to_vector(again.col_idxs));
    std::size_t nnz = 0;
    for (const auto& row : expected) nnz += row.size();
    EXPECT_EQ(graph.nnz(), std::int64_t(nnz));
    EXPECT_EQ(graph.bytes(), std::int64_t(8 * (a.num_rows + 1) + 4 * nnz));
  }
  EXPECT_TRUE(to_host(device) == a) << "the matrix itself changed";
}

template <class Space>
class ThresholdTest : public ::testing::Test {};
TYPED_TEST_SUITE(ThresholdTest, TestSpaces, SpaceNames);

TYPED_TEST(ThresholdTest, EqualsTheDefinition) {
  for (const auto& [name, a] : awkward_patterns<double>()) {
    SCOPED_TRACE(name);
    check_threshold<double, TypeParam>(a);
  }
  for (const auto& [name, a] : awkward_patterns<float>()) {
    SCOPED_TRACE(name + ", float");
    check_threshold<float, TypeParam>(a);
  }
}

TYPED_TEST(ThresholdTest, TheConditionIsStrictAndTheDiagonalStays) {
  // Entry (0, 1) is exactly 0.25 of its scale; row 2 has no diagonal; column 3 is another rank's.
  const HostMatrix<double> a = sparse<double>({{4, 1, 1e-20, 5}, {1, 4, 0, 5}, {0, 1.01, 0, 5}});
  const auto device = to_device<TypeParam>(a);
  const auto rows = [&](double tau) {
    return to_host(threshold<double, TypeParam>(TypeParam(), device, tau));
  };
  EXPECT_THAT(rows(0.25), ElementsAre(ElementsAre(0, 2), ElementsAre(1), ElementsAre(1, 2)));
  EXPECT_THAT(rows(0.2), ElementsAre(ElementsAre(0, 1, 2), ElementsAre(0, 1), ElementsAre(1, 2)));
}

TYPED_TEST(ThresholdTest, ZeroKeepsStoredZeros) {
  HostMatrix<double> a = sparse<double>({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}});
  a.values = {0, 0, 3, 0, 0, 0, 7, 0, 9};
  const auto device = to_device<TypeParam>(a);
  EXPECT_EQ(to_host(threshold<double, TypeParam>(TypeParam(), device, 0)), pattern_of(a));
  EXPECT_THAT(to_host(threshold<double, TypeParam>(TypeParam(), device, 1e-9)),
              ElementsAre(ElementsAre(0, 2), ElementsAre(1), ElementsAre(0, 2)));
}

TYPED_TEST(ThresholdTest, ScalesNeitherOverflowNorUnderflow) {
  const HostMatrix<double> a = sparse<double>(
      {{1e300, 0.5e300, 0, 0}, {0.5e300, 1e300, 0, 0}, {0, 0, 1e-300, 0.5e-300}, {0, 0, 0.5e-300, 1e-300}});
  const auto device = to_device<TypeParam>(a);
  const auto rows = [&](double tau) {
    return to_host(threshold<double, TypeParam>(TypeParam(), device, tau));
  };
  EXPECT_THAT(rows(0.49),
              ElementsAre(ElementsAre(0, 1), ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(2, 3)));
  EXPECT_THAT(rows(0.51), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2), ElementsAre(3)));
}

TYPED_TEST(ThresholdTest, IsTheSameForEveryPowerOfTwoTimesTheMatrix) {
  // Entries that are tau times their scale, to the last bit, are not above it.
  for (const double diagonal : {2.0, 3.0, 5.0, 10.0, 11.0}) {
    for (const int k : {-1000, -565, -100, -1, 0, 1, 2, 100, 565, 1000}) {
      const double large = std::ldexp(diagonal, k), small = large / 4;
      const auto a = to_device<TypeParam>(sparse<double>({{large, small}, {small, large}}));
      EXPECT_THAT(to_host(threshold<double, TypeParam>(TypeParam(), a, 0.25)),
                  ElementsAre(ElementsAre(0), ElementsAre(1)))
          << diagonal << " 2^" << k;
      EXPECT_THAT(to_host(threshold<double, TypeParam>(TypeParam(), a, std::nextafter(0.25, 0))),
                  ElementsAre(ElementsAre(0, 1), ElementsAre(0, 1)))
          << diagonal << " 2^" << k;
    }
  }
}

TYPED_TEST(ThresholdTest, TheDiagonalMayBeLargeAndSmall) {
  const auto a = to_device<TypeParam>(
      sparse<double>({{0x1p1000, 0.5, 0x1p700}, {0.5, 0x1p-1000, 0x1p-300}, {0x1p700, 0x1p-300, 0x1p400}}));
  const auto rows = [&](double tau) { return to_host(threshold<double, TypeParam>(TypeParam(), a, tau)); };
  EXPECT_THAT(rows(0.49), ElementsAre(ElementsAre(0, 1, 2), ElementsAre(0, 1, 2), ElementsAre(0, 1, 2)));
  EXPECT_THAT(rows(0.5), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 2), ElementsAre(0, 1, 2)));
  EXPECT_THAT(rows(1), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
}

TYPED_TEST(ThresholdTest, RefusesABadTau) {
  const auto device = to_device<TypeParam>(sparse<double>({{1}}));
  for (double tau : {-1e-9, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(message_of<InputError>([&] { threshold<double, TypeParam>(TypeParam(), device, tau); }),
                HasSubstr("it must be 0 or larger"));
  }
}

TYPED_TEST(ThresholdTest, LowerTriangle) {
  const TypeParam space;
  for (const auto& [name, a] : awkward_patterns<double>()) {
    SCOPED_TRACE(name);
    const auto device = to_device<TypeParam>(a);
    const CsrGraph<TypeParam> lower = lower_triangle(space, device);
    EXPECT_EQ(lower.num_rows, a.num_rows);
    EXPECT_EQ(lower.num_cols, a.num_rows);
    const HostGraph expected = sequential_lower_triangle(pattern_of(a));
    EXPECT_EQ(to_host(lower), expected);
    // The same from a graph, and from the views of a matrix.
    const CsrGraph<TypeParam> graph{a.num_rows, a.num_cols, device.row_ptrs, device.col_idxs};
    EXPECT_EQ(to_host(lower_triangle(space, graph)), expected);
    EXPECT_EQ(to_host(lower_triangle(space, CsrView<double, TypeParam>(device))), expected);
    EXPECT_EQ(to_host(lower_triangle(space, lower)), expected) << "of the triangle itself";
  }
}

TYPED_TEST(ThresholdTest, UpperTriangle) {
  const TypeParam space;
  for (const auto& [name, a] : awkward_patterns<double>()) {
    SCOPED_TRACE(name);
    HostGraph expected(a.num_rows);
    for (int i = 0; i < a.num_rows; ++i) {
      expected[i].push_back(i);
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
        if (a.col_idxs[k] > i && a.col_idxs[k] < a.num_rows) expected[i].push_back(a.col_idxs[k]);
    }
    const CsrGraph<TypeParam> upper = upper_triangle(space, to_device<TypeParam>(a));
    EXPECT_EQ(upper.num_rows, a.num_rows);
    EXPECT_EQ(upper.num_cols, a.num_rows);
    EXPECT_EQ(to_host(upper), expected);
    EXPECT_EQ(to_host(upper_triangle(space, upper)), expected) << "of the triangle itself";
  }
}

TYPED_TEST(ThresholdTest, AUnitDiagonalMakesThemAbsolute) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(sparse<double>({{9, 0.5, 0}, {0.25, 0, 1}, {0, -2, 100}}));
  EXPECT_EQ(to_host(threshold<double, TypeParam>(space, a, 0.5, true)), (HostGraph{{0}, {1, 2}, {1, 2}}));
}

TYPED_TEST(ThresholdTest, KernelsAndArraysHaveLabels) {
  const TypeParam space;
  const auto device = to_device<TypeParam>(awkward_patterns<double>().back().matrix);
  const ToolEvents events;
  lower_triangle(space, threshold<double, TypeParam>(space, device, 0.1));
  for (const auto& labels : {events.kernels(), events.allocations()}) {
    EXPECT_FALSE(labels.empty());
    for (const auto& label : labels) {
      const bool known = label.find("prekond::threshold::") == 0 ||
                         label.find("prekond::lower_triangle::") == 0 || label.find("Kokkos::") == 0;
      EXPECT_TRUE(known) << label;
    }
  }
}

}  // namespace
}  // namespace prekond::testing
