// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_graph.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gtest/gtest.h>
#include "matrix/filter_entries.hpp"

namespace prekond::testing {
namespace {

template <class Scalar, class Keep>
HostMatrix<Scalar> sequential_filter(const HostMatrix<Scalar>& a, const Keep& keep) {
  HostMatrix<Scalar> result;
  result.num_rows = a.num_rows;
  result.num_cols = a.num_cols;
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      if (!keep(i, k)) continue;
      result.col_idxs.push_back(a.col_idxs[k]);
      result.values.push_back(a.values[k]);
    }
    result.row_ptrs.push_back(result.nnz());
  }
  return result;
}

/// Rules by number, the same for device views and for standard vectors.
template <class Cols, class Values>
struct Rule {
  int number;
  const Cols cols;
  const Values values;

  KOKKOS_FUNCTION bool operator()(std::int64_t row, std::size_t k) const {
    switch (number) {
      case 0:
        return false;
      case 1:
        return true;
      case 2:
        return cols[k] <= row;
      case 3:
        return values[k] != 0 && values[k] < 0.25;
      case 4:
        return (static_cast<unsigned>(k) * 2654435761u >> 16) % 3 == 0;
      default:
        return row % 7 == 3;
    }
  }
};

template <class Scalar, class Space>
void check_filter(const HostMatrix<Scalar>& a) {
  const Space space;
  const auto device = to_device<Space>(a);
  for (int number = 0; number <= 5; ++number) {
    SCOPED_TRACE("rule " + std::to_string(number));
    const Rule<const int*, const Scalar*> rule{number, device.col_idxs.data(), device.values.data()};
    const auto kept = filter_entries<Scalar, Space>(space, device, rule);
    const auto again = filter_entries<Scalar, Space>(space, device, rule);
    space.fence();
    const Rule<const int*, const Scalar*> host_rule{number, a.col_idxs.data(), a.values.data()};
    EXPECT_TRUE(to_host(kept) == sequential_filter(a, host_rule));
    EXPECT_TRUE(to_host(again) == to_host(kept)) << "other bits in the second run";
  }
  EXPECT_TRUE(to_host(device) == a) << "the matrix itself changed";
}

template <class Space>
class FilterEntriesTest : public ::testing::Test {};
TYPED_TEST_SUITE(FilterEntriesTest, TestSpaces, SpaceNames);

TYPED_TEST(FilterEntriesTest, EqualsTheSequentialOne) {
  for (const auto& [name, a] : awkward_patterns<double>()) {
    SCOPED_TRACE(name);
    check_filter<double, TypeParam>(a);
  }
  for (const auto& [name, a] : awkward_patterns<float>()) {
    SCOPED_TRACE(name + ", float");
    check_filter<float, TypeParam>(a);
  }
  check_filter<double, TypeParam>(random_entries<double>(3, 4001, 0.9, 8));
  check_filter<double, TypeParam>(random_entries<double>(5003, 40, 0.02, 9));
}

// A function of its own: device lambdas may not stand in a test's body, which is private.
template <class Space>
CsrMatrix<double, int, std::size_t, typename Space::memory_space> without_diagonal(
    const Space& space, const CsrView<double, Space>& a) {
  return filter_entries(
      space, a, KOKKOS_LAMBDA(std::int64_t row, std::size_t k) { return a.col_idxs(k) != row; });
}

TYPED_TEST(FilterEntriesTest, TakesALambda) {
  const TypeParam space;
  const auto a = sparse<double>({{1, 2, 0, 5}, {0, 3, 0, 0}, {4, 0, 6, 7}});
  const auto result = to_host(without_diagonal<TypeParam>(space, to_device<TypeParam>(a)));
  EXPECT_TRUE(result == sparse<double>({{0, 2, 0, 5}, {0, 0, 0, 0}, {4, 0, 0, 7}}));
}

TYPED_TEST(FilterEntriesTest, KernelsAndArraysHaveLabels) {
  const TypeParam space;
  const auto device = to_device<TypeParam>(random_entries<double>(50, 50, 0.3, 1));
  const ToolEvents events;
  without_diagonal<TypeParam>(space, device);
  for (const auto& labels : {events.kernels(), events.allocations()}) {
    EXPECT_FALSE(labels.empty());
    for (const auto& label : labels)
      EXPECT_TRUE(label.find("prekond::filter_entries::") == 0 || label.find("Kokkos::") == 0) << label;
  }
}

}  // namespace
}  // namespace prekond::testing
