// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/reordering/cuthill_mckee.hpp"
#include "testing/host_graph.hpp"
#include "testing/one_thread.hpp"
#include "testing/reference_reordering.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/pattern/coloring.hpp>
#include <prekond/pattern/reordering.hpp>
#include "matrix/counter_hash.hpp"

#include <functional>
#include <numeric>

namespace prekond::testing {
namespace {

using reordering::Search;

template <class Space>
class ReorderingTest : public ::testing::Test {};
TYPED_TEST_SUITE(ReorderingTest, TestSpaces, SpaceNames);

/// A permutation of all rows, and its inverse.
template <class Space>
void expect_ordering(const Ordering<Space>& ordering, std::int64_t num_rows) {
  EXPECT_EQ(ordering.size(), num_rows);
  std::vector<int> sorted = to_vector(ordering.permutation);
  EXPECT_EQ(to_vector(ordering.inverse), reference_inverse(sorted));
  std::sort(sorted.begin(), sorted.end());
  std::vector<int> all(static_cast<std::size_t>(num_rows));
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(sorted, all);
}

std::vector<NamedMatrix<double>> matrices() {
  auto all = awkward_patterns<double>();
  const Kokkos::DefaultHostExecutionSpace space;
  for (const char* name :
       {"irregular3d:9,mean=9,longest=300", "circuit:30", "poisson3d:8", "tridiagonal:700"})
    all.push_back({name, to_host(generate<double, Kokkos::DefaultHostExecutionSpace>(space, name))});
  // A star: its hub is far from every start, and one level has all other rows.
  HostMatrix<double> star;
  star.num_rows = star.num_cols = 2001;
  for (int i = 0; i < 2001; ++i) {
    star.col_idxs.push_back(i == 0 ? 1000 : (i == 1000 ? 0 : 1000));
    if (i == 1000)
      for (int j = 1; j < 2001; ++j) star.col_idxs.push_back(j);
    star.row_ptrs.push_back(star.col_idxs.size());
  }
  star.values.assign(star.nnz(), 1.0);
  all.push_back({"star", star});
  // Paths one after the other, numbered so that their first rows are in the middle.
  HostMatrix<double> paths;
  paths.num_rows = paths.num_cols = 300;
  for (int i = 0; i < 300; ++i) {
    const int place = i % 10, base = i - place;
    for (int j = 0; j < 10; ++j)
      if (std::abs((j * 7) % 10 - (place * 7) % 10) == 1) paths.col_idxs.push_back(base + j);
    paths.row_ptrs.push_back(paths.col_idxs.size());
  }
  paths.values.assign(paths.nnz(), 1.0);
  all.push_back({"paths", paths});
  return all;
}

TYPED_TEST(ReorderingTest, ReverseCuthillMcKeeIsTheTextbooks) {
  const TypeParam space;
  for (const auto& test : matrices()) {
    SCOPED_TRACE(test.name);
    const auto a = to_device<TypeParam>(test.matrix);
    const std::vector<int> expected = reference_rcm(pattern_of(test.matrix));
    const auto ordering = reverse_cuthill_mckee<TypeParam>(space, a);
    expect_ordering(ordering, test.matrix.num_rows);
    EXPECT_EQ(to_vector(ordering.permutation), expected);
    for (const Search search : {Search::by_levels, Search::sequential, Search::by_wide_levels})
      EXPECT_EQ(to_vector(reordering::reverse_cuthill_mckee<TypeParam>(space, a, search).permutation),
                expected)
          << "search " << static_cast<int>(search);
  }
}

TYPED_TEST(ReorderingTest, ALongChainIsLeftToTheHost) {
  const auto chain = generate<double, TypeParam>(TypeParam(), "tridiagonal:3000");
  const auto launches = [&](Search search) {
    const ToolEvents events;
    const auto ordering = reordering::reverse_cuthill_mckee<TypeParam>(TypeParam(), chain, search);
    expect_ordering(ordering, 3000);
    EXPECT_EQ(ordering.host_seconds > 0, search != Search::by_levels);
    return events.kernels().size();
  };
  EXPECT_GT(launches(Search::by_levels), 4 * 2 * 3000u);
  EXPECT_LT(launches(Search::by_wide_levels), 6 * 300u);
  EXPECT_LT(launches(Search::sequential), 20u);
}

TYPED_TEST(ReorderingTest, OneThreadAndTwoFindTheSameLevels) {
  const auto a = generate<double, TypeParam>(TypeParam(), "irregular3d:14,mean=20,longest=900");
  const auto pattern = CsrGraphView<TypeParam>(a);
  const auto all = reordering::reverse_cuthill_mckee<TypeParam>(TypeParam(), pattern, Search::by_levels);
  const TypeParam one_thread = of_one_thread<TypeParam>();
  const auto some = reordering::reverse_cuthill_mckee<TypeParam>(one_thread, pattern, Search::by_levels);
  one_thread.fence();
  EXPECT_EQ(to_vector(all.permutation), to_vector(some.permutation));
}

TYPED_TEST(ReorderingTest, ReverseCuthillMcKeeNarrowsAShuffledGrid) {
  const TypeParam space;
  const auto grid = to_host(generate<double, TypeParam>(space, "poisson2d:30"));
  const auto shuffle = to_vector(random_order<TypeParam>(space, 900).permutation);
  const auto shuffled = reference_permuted(grid, shuffle);
  const auto ordering = reverse_cuthill_mckee<TypeParam>(space, to_device<TypeParam>(shuffled));
  const auto narrow = reference_permuted(shuffled, to_vector(ordering.permutation));
  int bandwidth = 0;
  for (int i = 0; i < 900; ++i)
    for (std::size_t k = narrow.row_ptrs[i]; k < narrow.row_ptrs[i + 1]; ++k)
      bandwidth = std::max(bandwidth, std::abs(i - narrow.col_idxs[k]));
  EXPECT_LE(bandwidth, 31);
}

TYPED_TEST(ReorderingTest, AColoringsOrderGroupsItsRows) {
  const TypeParam space;
  const auto a = generate<double, TypeParam>(space, "poisson2d:5");
  const auto coloring = color_graph<TypeParam>(space, a);
  const auto ordering = make_ordering<TypeParam>(space, coloring.permutation);
  expect_ordering(ordering, 25);
  const auto colors = to_vector(coloring.colors), permutation = to_vector(ordering.permutation);
  EXPECT_TRUE(std::is_sorted(permutation.begin(), permutation.end(), [&](int i, int j) {
    return std::pair(colors[i], i) < std::pair(colors[j], j);
  }));
}

TYPED_TEST(ReorderingTest, RandomIsAFunctionOfSeedAndRow) {
  const TypeParam space;
  for (const int n : {0, 1, 2, 1000}) {
    for (const std::uint64_t seed : {1, 2}) {
      std::vector<std::pair<std::uint64_t, int>> keys;
      for (int i = 0; i < n; ++i) keys.emplace_back(impl::counter_hash(seed, i) >> 32, i);
      std::sort(keys.begin(), keys.end());
      std::vector<int> expected;
      for (const auto& [key, row] : keys) expected.push_back(row);
      const auto ordering = random_order<TypeParam>(space, n, seed);
      expect_ordering(ordering, n);
      EXPECT_EQ(to_vector(ordering.permutation), expected);
    }
  }
  EXPECT_EQ(to_vector(random_order<TypeParam>(space, 50).permutation),
            to_vector(random_order<TypeParam>(space, 50, 1).permutation));
}

template <class Space>
using Maker = std::function<Ordering<Space>(const Space&, const CsrGraphView<Space>&)>;

/// Expects the orders of both libraries: a permutation, the same twice, and less fill than the natural order.
template <class Space>
void check_fill_reducing(const Maker<Space>& make) {
  const Space space;
  for (const auto& test : matrices()) {
    SCOPED_TRACE(test.name);
    const auto a = to_device<Space>(test.matrix);
    const auto ordering = make(space, a);
    expect_ordering(ordering, test.matrix.num_rows);
    EXPECT_EQ(to_vector(make(space, a).permutation), to_vector(ordering.permutation));
  }
  for (const char* name : {"poisson2d:40", "elasticity3d:6"}) {
    const auto a = generate<double, Space>(space, name);
    const HostGraph pattern = pattern_of(to_host(a));
    std::vector<int> natural(pattern.size());
    std::iota(natural.begin(), natural.end(), 0);
    const auto permutation = to_vector(make(space, a).permutation);
    EXPECT_LT(reference_fill(pattern, permutation), 0.75 * reference_fill(pattern, natural)) << name;
    // The inverse of a fill-reducing order is none.
    EXPECT_LT(reference_fill(pattern, permutation),
              0.75 * reference_fill(pattern, reference_inverse(permutation)))
        << name;
  }
}

TYPED_TEST(ReorderingTest, MinimumDegreeMakesLittleFill) {
  const Maker<TypeParam> make = minimum_degree<TypeParam>;
  if (has_minimum_degree()) return check_fill_reducing<TypeParam>(make);
  EXPECT_EQ(message_of<OptionError>([&] { make(TypeParam(), {}); }),
            "minimum degree needs AMD of SuiteSparse, which this build does not have; install it (Debian: "
            "libsuitesparse-dev) and configure once more, or take another order");
}

TYPED_TEST(ReorderingTest, NestedDissectionMakesLittleFill) {
  const Maker<TypeParam> make = nested_dissection<TypeParam>;
  if (has_nested_dissection()) return check_fill_reducing<TypeParam>(make);
  EXPECT_EQ(
      message_of<OptionError>([&] { make(TypeParam(), {}); }),
      "nested dissection needs METIS, which this build does not have; install it (Debian: libmetis-dev) and "
      "configure once more, or take another order");
}

TYPED_TEST(ReorderingTest, OrdersTellTheSecondsOfTheHost) {
  const TypeParam space;
  const auto a = generate<double, TypeParam>(space, "poisson3d:12");
  if (has_minimum_degree()) {
    EXPECT_GT(minimum_degree<TypeParam>(space, a).host_seconds, 0);
  }
  if (has_nested_dissection()) {
    EXPECT_GT(nested_dissection<TypeParam>(space, a).host_seconds, 0);
  }
  EXPECT_EQ(random_order<TypeParam>(space, a.num_rows).host_seconds, 0);
  const auto by_levels = reordering::reverse_cuthill_mckee<TypeParam>(space, a, Search::by_levels);
  EXPECT_EQ(by_levels.host_seconds, 0);
  // A device gives up within a chain of more than 256 levels, and finishes a shorter one.
  const auto seconds_of_chain = [&](const char* spec) {
    const auto chain = generate<double, TypeParam>(space, spec);
    return reordering::reverse_cuthill_mckee<TypeParam>(space, chain, Search::by_wide_levels).host_seconds;
  };
  EXPECT_EQ(seconds_of_chain("tridiagonal:60"), 0);
  EXPECT_GT(seconds_of_chain("tridiagonal:300"), 0);
}

TYPED_TEST(ReorderingTest, EveryKernelAndViewIsLabelled) {
  const auto a = to_device<TypeParam>(random_entries<double>(50, 50, 0.1, 1));
  const ToolEvents events;
  for (const Search search : {Search::by_levels, Search::sequential})
    reordering::reverse_cuthill_mckee<TypeParam>(TypeParam(), a, search);
  random_order<TypeParam>(TypeParam(), 50);
  if (has_minimum_degree()) minimum_degree<TypeParam>(TypeParam(), a);
  if (has_nested_dissection()) nested_dissection<TypeParam>(TypeParam(), a);
  for (const auto& labels : {events.kernels(), events.allocations()})
    for (const auto& label : labels)
      EXPECT_THAT(label,
                  ::testing::AnyOf(::testing::StartsWith("prekond::"), ::testing::StartsWith("Kokkos::")));
}

}  // namespace
}  // namespace prekond::testing
