// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_graph.hpp"
#include "testing/one_thread.hpp"
#include "testing/reference_ilu.hpp"
#include "testing/spaces.hpp"
#include "testing/stars.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/pattern/fill.hpp>

#include <cinttypes>
#include <cstdio>
#include <limits>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t large_slab = std::int64_t(64) << 20;

template <class Space>
class FillTest : public ::testing::Test {};
TYPED_TEST_SUITE(FillTest, TestSpaces, SpaceNames);

std::vector<NamedMatrix<double>> patterns() {
  auto all = awkward_patterns<double>();
  for (const int n : {2, 31, 32, 33, 127}) {
    all.push_back({"random of " + std::to_string(n), random_entries<double>(n, n, 3.0 / n, 40u + n)});
    all.push_back(
        {"columns behind " + std::to_string(n), random_entries<double>(n, n + 9, 3.0 / n, 90u + n)});
  }
  return all;
}

/// Where A's values go, by A's entries: each is found once, and the rest is fill. Nothing of A's own
/// triangles is kept.
template <class Space>
void check_sources(const HostMatrix<double>& a, int level, const CsrGraph<Space>& triangle,
                   const Vector<int, Space>& source, std::int64_t& fill) {
  const auto rows = to_host(triangle);
  const auto places = to_vector(source);
  if (level == 0 || a.num_rows == 0) {
    ASSERT_EQ(places.size(), 0);
    return;
  }
  std::size_t at = 0;
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (const int j : rows[i]) {
      const int place = places[at++];
      bool stored = false;
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
        if (a.col_idxs[k] == j) {
          stored = true;
          ASSERT_EQ(place, static_cast<int>(k - a.row_ptrs[i])) << "entry " << i << ", " << j;
        }
      if (stored) continue;
      ASSERT_EQ(place, -1) << "entry " << i << ", " << j;
      ++fill;
    }
  ASSERT_EQ(at, places.size());
}

TYPED_TEST(FillTest, EqualsTheTextbooksLevels) {
  const TypeParam space;
  std::int64_t most_fill = 0;
  for (const auto& [name, a] : patterns()) {
    const auto device = to_device<TypeParam>(a);
    for (int level = 0; level <= 4; ++level) {
      const ReferenceFill expected = reference_fill(a, level);
      for (const std::int64_t slab_bytes : {std::int64_t(0), std::int64_t(2000), large_slab}) {
        SCOPED_TRACE(name + ", level " + std::to_string(level) + ", slab " + std::to_string(slab_bytes));
        const auto pattern = fill_pattern<TypeParam>(space, device, level, no_limit, false, slab_bytes);
        space.fence();
        ASSERT_EQ(to_host(pattern.lower), expected.lower);
        ASSERT_EQ(to_host(pattern.upper), expected.upper);
        ASSERT_EQ(pattern.lower.num_cols, a.num_rows);
        ASSERT_EQ(pattern.nnz_of_a, static_cast<std::int64_t>(a.nnz()));
        std::int64_t fill = 0;
        check_sources<TypeParam>(a, level, pattern.lower, pattern.lower_source, fill);
        check_sources<TypeParam>(a, level, pattern.upper, pattern.upper_source, fill);
        ASSERT_EQ(pattern.added, fill);
        most_fill = std::max(most_fill, fill);
      }
    }
  }
  EXPECT_GT(most_fill, 1000);
}

TYPED_TEST(FillTest, FindsTheDiagonalAndTheForeignEntries) {
  const TypeParam space;
  for (const auto& [name, a] : patterns()) {
    SCOPED_TRACE(name);
    const auto pattern = fill_pattern<TypeParam>(space, to_device<TypeParam>(a), 0, no_limit, true);
    std::vector<int> diagonal(a.num_rows, -1);
    std::int64_t foreign = 0;
    for (int i = 0; i < static_cast<int>(a.num_rows); ++i)
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
        if (a.col_idxs[k] == i) diagonal[i] = static_cast<int>(k - a.row_ptrs[i]);
        if (a.col_idxs[k] >= a.num_rows) ++foreign;
      }
    EXPECT_EQ(to_vector(pattern.diagonal), diagonal);
    EXPECT_EQ(pattern.foreign, foreign);
    EXPECT_EQ(pattern.bytes(), 4 * (pattern.lower.nnz() + pattern.upper.nnz()) + 20 * a.num_rows + 16);
    EXPECT_EQ(pattern.added, 0);
  }
}

TYPED_TEST(FillTest, KnowsSymmetricPatterns) {
  const TypeParam space;
  for (const auto& [name, a] : patterns()) {
    SCOPED_TRACE(name);
    bool symmetric = true;
    for (int i = 0; i < static_cast<int>(a.num_rows); ++i)
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
        const int j = a.col_idxs[k];
        if (j >= a.num_rows) continue;
        const auto begin = a.col_idxs.begin() + a.row_ptrs[j], end = a.col_idxs.begin() + a.row_ptrs[j + 1];
        symmetric = symmetric && std::binary_search(begin, end, i);
      }
    const auto device = to_device<TypeParam>(a);
    EXPECT_EQ(fill_pattern<TypeParam>(space, device, 0, no_limit, true).is_symmetric, symmetric);
    EXPECT_EQ(fill_pattern<TypeParam>(space, device, 1, no_limit, false).is_symmetric, symmetric);
  }
}

TYPED_TEST(FillTest, AllLevelsAreTheWholeFactors) {
  const TypeParam space;
  const auto a = random_entries<double>(67, 67, 0.05, 12);
  const auto pattern = fill_pattern<TypeParam>(space, to_device<TypeParam>(a), 1000, no_limit, false);
  const ReferenceFill expected = reference_fill(a, 1000);
  EXPECT_EQ(to_host(pattern.lower), expected.lower);
  EXPECT_EQ(to_host(pattern.upper), expected.upper);
}

TYPED_TEST(FillTest, RefusesWhatIsTooLargeAndBadLevels) {
  const TypeParam space;
  const auto a = to_host(generate<double>(Kokkos::DefaultHostExecutionSpace(), "poisson2d:9"));
  const auto device = to_device<TypeParam>(a);
  for (const int level : {0, 1}) {
    const std::int64_t bytes = fill_pattern<TypeParam>(space, device, level, no_limit, true).bytes();
    EXPECT_EQ(fill_pattern<TypeParam>(space, device, level, bytes, true).bytes(), bytes);
    EXPECT_THAT(
        message_of<InputError>([&] { fill_pattern<TypeParam>(space, device, level, bytes - 1, true); }),
        HasSubstr("take " + std::to_string(bytes) + " bytes, more than the " + std::to_string(bytes - 1) +
                  " allowed; lower the level or raise memory_budget"));
  }
  const auto general = to_device<TypeParam>(random_entries<double>(67, 67, 0.05, 12));
  const std::int64_t bytes = fill_pattern<TypeParam>(space, general, 2, no_limit, true).bytes();
  EXPECT_NO_THROW(fill_pattern<TypeParam>(space, general, 2, bytes, true));
  EXPECT_THROW(fill_pattern<TypeParam>(space, general, 2, bytes - 1, true), InputError);
  EXPECT_THAT(message_of<InputError>([&] { fill_pattern<TypeParam>(space, device, -1, no_limit, true); }),
              HasSubstr("the level of fill is -1"));
}

/// All rows after the first fill up: the count of their 4 million entries ends where the budget is passed.
TYPED_TEST(FillTest, EndsTheCountWhereTheBudgetIsPassed) {
  const int n = 200000;  // a count of all 4 * 10^10 entries would take minutes
  const auto device = to_device<TypeParam>(star(n, {0}));
  const std::int64_t of_rows = 20 * n + 16;
  for (const bool looks_at_symmetry : {false, true})
    EXPECT_THAT(message_of<InputError>([&] {
                  fill_pattern<TypeParam>(TypeParam(), device, 1, of_rows + 80000, looks_at_symmetry);
                }),
                AllOf(HasSubstr("would have more than 40000 entries and take more than"),
                      HasSubstr("raise memory_budget")));
  for (const std::int64_t budget : {std::int64_t(1024), of_rows})
    EXPECT_THAT(
        message_of<InputError>([&] { fill_pattern<TypeParam>(TypeParam(), device, 1, budget, true); }),
        HasSubstr("more than the " + std::to_string(budget) + " allowed"));
}

TYPED_TEST(FillTest, HasTheSameBitsWithOneThread) {
  if constexpr (is_host_space<TypeParam>) {
    const auto a = to_device<TypeParam>(random_entries<double>(257, 257, 0.02, 5));
    const auto all = fill_pattern<TypeParam>(TypeParam(), a, 3, no_limit, false);
    const auto one = fill_pattern<TypeParam>(of_one_thread<TypeParam>(), a, 3, no_limit, false);
    EXPECT_EQ(to_host(all.lower), to_host(one.lower));
    EXPECT_EQ(to_host(all.upper), to_host(one.upper));
    EXPECT_EQ(to_vector(all.lower_source), to_vector(one.lower_source));
  }
}

}  // namespace
}  // namespace prekond::testing
