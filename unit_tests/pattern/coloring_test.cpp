// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/general_matrices.hpp"
#include "testing/host_graph.hpp"
#include "testing/matrices.hpp"
#include "testing/reference_coloring.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/pattern/coloring.hpp>

#include <limits>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

constexpr ColoringOrder orders[] = {ColoringOrder::natural, ColoringOrder::largest_first,
                                    ColoringOrder::hash};

/// The permutation is by colour, ascending within each, and the pointers say where each begins.
template <class Space>
void expect_ordered(const Coloring<Space>& coloring) {
  const auto colors = to_vector(coloring.colors);
  const auto permutation = to_vector(coloring.permutation);
  const int n = static_cast<int>(colors.size());
  std::vector<int> expected(n);
  std::iota(expected.begin(), expected.end(), 0);
  std::stable_sort(expected.begin(), expected.end(), [&](int i, int j) { return colors[i] < colors[j]; });
  EXPECT_EQ(permutation, expected);
  ASSERT_EQ(static_cast<int>(coloring.color_ptrs.size()), coloring.num_colors + 1);
  for (int c = 0; c <= coloring.num_colors; ++c) {
    const auto before = std::count_if(colors.begin(), colors.end(), [&](int color) { return color < c; });
    EXPECT_EQ(coloring.color_ptrs[c], before) << "colour " << c;
  }
}

template <class Space>
class ColoringTest : public ::testing::Test {};
TYPED_TEST_SUITE(ColoringTest, TestSpaces, SpaceNames);

TYPED_TEST(ColoringTest, EqualsTheSequentialOne) {
  const TypeParam space;
  for (const auto& test : awkward_patterns<double>()) {
    if (test.matrix.num_cols < test.matrix.num_rows) continue;
    const auto device = to_device<TypeParam>(test.matrix);
    for (const ColoringOrder order : orders)
      for (const int distance : {1, 2})
        for (const bool two : {true, false})
          for (const int max_rounds : {0, 1, 3, 2000}) {
            SCOPED_TRACE(test.name + ", order " + std::to_string(int(order)) + ", distance " +
                         std::to_string(distance) + ", rounds " + std::to_string(max_rounds));
            const ColoringOptions options{distance, order, two, max_rounds};
            const auto result = color_graph<TypeParam>(space, device, options);
            const auto expected = reference_coloring(pattern_of(test.matrix), options);
            EXPECT_EQ(to_vector(result.colors), expected.colors);
            EXPECT_EQ(result.rounds, expected.rounds);
            const int most = expected.colors.empty()
                                 ? -1
                                 : *std::max_element(expected.colors.begin(), expected.colors.end());
            EXPECT_EQ(result.num_colors, most + 1);
            EXPECT_EQ(result.num_rows(), test.matrix.num_rows);
            expect_ordered(result);
          }
  }
}

TYPED_TEST(ColoringTest, ManyColours) {
  const TypeParam space;
  // A clique of 151 takes as many; other rows are one colour.
  HostGraph clique(300);
  for (int i = 0; i < 300; ++i)
    for (int j = 0; j < (i < 151 ? 151 : 0); ++j) clique[i].push_back(j);
  for (const ColoringOrder order : orders) {
    const auto result = color_graph<TypeParam>(space, graph_of<TypeParam>(clique, 300), {1, order});
    EXPECT_EQ(result.num_colors, 151);
    EXPECT_EQ(to_vector(result.colors), reference_coloring(clique, {1, order}).colors);
    expect_ordered(result);
  }
}

TYPED_TEST(ColoringTest, LaplaciansAreRedAndBlack) {
  const TypeParam space;
  for (const char* spec : {"poisson2d:31", "poisson3d:17", "tridiagonal:2001", "anisotropic2d:20"}) {
    const auto result = color_graph<TypeParam>(space, to_device<TypeParam>(generated(spec)));
    EXPECT_EQ(result.num_colors, 2) << spec;
    EXPECT_EQ(result.rounds, 0) << spec;
  }
  // A path whose rows are numbered at random is joined in few rounds too.
  std::vector<int> at(5000);
  std::iota(at.begin(), at.end(), 0);
  std::shuffle(at.begin(), at.end(), std::mt19937(5));
  HostGraph path(at.size());
  for (std::size_t k = 1; k < at.size(); ++k) path[at[k]].push_back(at[k - 1]);
  const auto result = color_graph<TypeParam>(space, graph_of<TypeParam>(path, 5000));
  EXPECT_EQ(result.num_colors, 2);
  EXPECT_EQ(to_vector(result.colors), two_colors(neighbours(path, 1)));
}

TYPED_TEST(ColoringTest, ALongBandEndsByTheHash) {
  const TypeParam space;
  HostGraph band(4000);
  for (int i = 0; i < 4000; ++i)
    for (int j = std::max(0, i - 2); j <= std::min(3999, i + 2); ++j) band[i].push_back(j);
  ColoringOptions options;
  options.max_rounds = 100;
  const auto result = color_graph<TypeParam>(space, graph_of<TypeParam>(band, 4000), options);
  EXPECT_LT(result.rounds, 150);
  EXPECT_LE(result.num_colors, 5);
  EXPECT_EQ(to_vector(result.colors), reference_coloring(band, options).colors);
}

TYPED_TEST(ColoringTest, ColoursOfAnotherLibrary) {
  const TypeParam space;
  const auto result = coloring_of<TypeParam>(space, to_device<TypeParam>(std::vector<int>{3, 0, 0, 3, 1}));
  EXPECT_EQ(result.num_colors, 4);
  EXPECT_EQ(to_vector(result.permutation), (std::vector<int>{1, 2, 4, 0, 3}));
  EXPECT_EQ(result.color_ptrs, (std::vector<int>{0, 2, 3, 3, 5}));
  EXPECT_EQ(coloring_of<TypeParam>(space, to_device<TypeParam>(std::vector<int>{})).num_colors, 0);
  EXPECT_THAT(message_of<InputError>([&] {
                coloring_of<TypeParam>(space, to_device<TypeParam>(std::vector<int>{1, -4, 0}));
              }),
              HasSubstr("a row of colour -4"));
  for (const int huge : {3, 1 << 30, std::numeric_limits<int>::max()})
    EXPECT_THAT(message_of<InputError>([&] {
                  coloring_of<TypeParam>(space, to_device<TypeParam>(std::vector<int>{1, huge, 0}));
                }),
                HasSubstr("a row of colour " + std::to_string(huge) + "; 3 rows have colours below 3"));
}

/// The colours by the mean number of entries of their rows, as fractions; those without rows last.
std::vector<int> reference_numbers(const HostGraph& s, const std::vector<int>& colors, int num_colors) {
  std::vector<std::int64_t> entries(num_colors, 0), rows(num_colors, 0);
  for (std::size_t i = 0; i < colors.size(); ++i) {
    entries[colors[i]] += static_cast<std::int64_t>(s[i].size());
    ++rows[colors[i]];
  }
  std::vector<int> order(num_colors), numbers(num_colors);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    if (rows[a] == 0 || rows[b] == 0) return rows[a] > 0 && rows[b] == 0;
    return entries[a] * rows[b] < entries[b] * rows[a];
  });
  for (int k = 0; k < num_colors; ++k) numbers[order[k]] = k;
  return numbers;
}

TYPED_TEST(ColoringTest, ColoursByTheirRowsEntries) {
  const TypeParam space;
  std::vector<Case> cases = awkward_patterns<double>();
  for (const char* spec : {"circuit:48", "irregular3d:12", "poisson2d:57"})
    cases.push_back({spec, generated(spec)});
  for (const auto& test : cases) {
    if (test.matrix.num_cols < test.matrix.num_rows) continue;
    SCOPED_TRACE(test.name);
    const auto device = to_device<TypeParam>(test.matrix);
    const auto found = color_graph<TypeParam>(space, device, {1, ColoringOrder::hash, false});
    const auto result = renumber_by_degree<TypeParam>(space, found, device);
    std::vector<int> expected = to_vector(found.colors);
    const auto numbers = reference_numbers(pattern_of(test.matrix), expected, found.num_colors);
    for (int& color : expected) color = numbers[color];
    EXPECT_EQ(to_vector(result.colors), expected);
    EXPECT_EQ(result.num_colors, found.num_colors);
    EXPECT_EQ(result.rounds, found.rounds);
    expect_ordered(result);
  }
}

TYPED_TEST(ColoringTest, ColoursOfEqualMeansKeepTheirOrder) {
  const TypeParam space;
  // Colours 1 and 4 have rows of two entries in the mean, 3 of one, 0 of three; 2 has no row.
  const HostGraph s = {{0, 1, 2}, {0}, {0, 1, 2}, {0}, {0, 1}, {4}};
  const auto colors = to_device<TypeParam>(std::vector<int>{0, 4, 4, 3, 1, 3});
  const auto found = coloring_of<TypeParam>(space, colors);
  const auto result = renumber_by_degree<TypeParam>(space, found, graph_of<TypeParam>(s, 6));
  EXPECT_EQ(to_vector(result.colors), (std::vector<int>{3, 2, 2, 0, 1, 0}));
  EXPECT_EQ(result.color_ptrs, (std::vector<int>{0, 2, 3, 5, 6, 6}));
  EXPECT_EQ(to_vector(found.colors), to_vector(colors)) << "the given one is left alone";
  expect_ordered(result);
  EXPECT_THAT(message_of<InputError>([&] {
                renumber_by_degree<TypeParam>(space, found, graph_of<TypeParam>({{0}, {1}}, 2));
              }),
              HasSubstr("colours of 6 rows, and the pattern has 2"));
}

TYPED_TEST(ColoringTest, WhatMeansNothingIsRefused) {
  const TypeParam space;
  const auto square = to_device<TypeParam>(random_entries<double>(7, 7, 0.3, 1));
  EXPECT_THAT(message_of<InputError>([&] { color_graph<TypeParam>(space, square, {3}); }),
              HasSubstr("distance = 3; it has to be 1 or 2"));
  ColoringOptions options;
  options.max_rounds = -1;
  EXPECT_THAT(message_of<InputError>([&] { color_graph<TypeParam>(space, square, options); }),
              HasSubstr("max_rounds = -1"));
  const auto tall = to_device<TypeParam>(random_entries<double>(7, 5, 0.3, 1));
  EXPECT_THAT(message_of<InputError>([&] { color_graph<TypeParam>(space, tall); }), HasSubstr("7 x 5"));
  for (const double theta : {-0.1, 1.5, std::nan("")})
    EXPECT_THAT(message_of<InputError>([&] { color_sparsified<double, TypeParam>(space, square, {theta}); }),
                HasSubstr("threshold"));
  const auto sparsified = [&](const auto& a, const SparsifyOptions& sparsify,
                              const ColoringOptions& coloring) {
    return message_of<InputError>([&] { color_sparsified<double, TypeParam>(space, a, sparsify, coloring); });
  };
  EXPECT_THAT(sparsified(square, {0.1, 0}, {}), HasSubstr("max_colors = 0"));
  EXPECT_THAT(sparsified(square, {0.1, 2, -1}, {}), HasSubstr("max_rounds = -1"));
  EXPECT_THAT(sparsified(square, {}, {3}), HasSubstr("distance = 3"));
  EXPECT_THAT(sparsified(tall, {}, {}), HasSubstr("7 x 5"));
}

TYPED_TEST(ColoringTest, EveryKernelAndViewIsLabelled) {
  const auto a = to_device<TypeParam>(random_entries<double>(90, 90, 0.1, 1));
  const ToolEvents events;
  renumber_by_degree<TypeParam>(TypeParam(), color_graph<TypeParam>(TypeParam(), a), a);
  color_sparsified<double, TypeParam>(TypeParam(), a, {0.9});
  for (const auto& labels : {events.kernels(), events.allocations()})
    for (const auto& label : labels)
      EXPECT_THAT(label,
                  ::testing::AnyOf(::testing::StartsWith("prekond::"), ::testing::StartsWith("Kokkos::")));
}

// ---------------------------------------------------------------------------------------- sparsification

/// Sequentially, with dense weights.
ReferenceColoring reference_sparsified(const HostMatrix<double>& a, const SparsifyOptions& options,
                                       int& rounds, std::int64_t& dropped) {
  const int n = static_cast<int>(a.num_rows);
  Dense weight(n, std::vector<double>(n, 0));
  std::vector<double> largest(n, 0);
  HostGraph graph = neighbours(pattern_of(a), 1);
  std::int64_t all = 0, left = 0;
  for (int i = 0; i < n; ++i) {
    for (const int j : graph[i]) {
      weight[i][j] = std::max(std::abs(a(i, j)), std::abs(a(j, i)));
      largest[i] = std::max(largest[i], weight[i][j]);
    }
    std::erase_if(graph[i], [&](int j) { return weight[i][j] == 0; });
    all += static_cast<std::int64_t>(graph[i].size());
  }
  ReferenceColoring coloring = reference_coloring(graph, {});
  rounds = 0;
  left = all;
  for (;; ++rounds) {
    const int p = *std::max_element(coloring.colors.begin(), coloring.colors.end()) + 1;
    if (p <= options.max_colors || rounds == options.max_rounds) break;
    const HostGraph before = graph;
    const auto drops = [&](int i, int j) {
      return static_cast<int>(before[i].size()) >= p - 1 && weight[i][j] < options.threshold * largest[i];
    };
    left = 0;
    for (int i = 0; i < n; ++i) {
      std::erase_if(graph[i], [&](int j) { return drops(i, j) || drops(j, i); });
      left += static_cast<std::int64_t>(graph[i].size());
    }
    if (graph == before) break;
    coloring = reference_coloring(graph, {});
  }
  dropped = (all - left) / 2;
  return coloring;
}

TYPED_TEST(ColoringTest, SparsificationEqualsTheSequentialOne) {
  const TypeParam space;
  for (const auto& test : awkward_patterns<double>()) {
    if (test.matrix.num_rows == 0 || test.matrix.num_cols != test.matrix.num_rows) continue;
    const auto device = to_device<TypeParam>(test.matrix);
    for (const double theta : {0.0, 0.3, 0.7, 1.0})
      for (const int max_colors : {1, 3, 8})
        for (const int max_rounds : {0, 1, 10}) {
          SCOPED_TRACE(test.name + ", theta " + std::to_string(theta) + ", colours " +
                       std::to_string(max_colors) + ", rounds " + std::to_string(max_rounds));
          const SparsifyOptions options{theta, max_colors, max_rounds};
          const auto result = color_sparsified<double, TypeParam>(space, device, options);
          int rounds = 0;
          std::int64_t dropped = 0;
          const auto expected = reference_sparsified(test.matrix, options, rounds, dropped);
          EXPECT_EQ(to_vector(result.coloring.colors), expected.colors);
          EXPECT_EQ(result.rounds, rounds);
          EXPECT_EQ(result.dropped_edges, dropped);
          expect_ordered(result.coloring);
        }
  }
}

TYPED_TEST(ColoringTest, ARowOfManyWeakEdgesLosesThem) {
  // A clique of 40 with a strong ring in it: the ring is left, of 2 colours.
  Dense a(40, std::vector<double>(40, 0.01));
  for (int i = 0; i < 40; ++i) a[i][(i + 1) % 40] = a[(i + 1) % 40][i] = 1;
  for (int i = 0; i < 40; ++i) a[i][i] = 4;
  const auto device = to_device<TypeParam>(sparse(a));
  const auto result = color_sparsified<double, TypeParam>(TypeParam(), device, {0.1});
  EXPECT_EQ(result.num_colors_before, 40);
  EXPECT_EQ(result.coloring.num_colors, 2);
  EXPECT_EQ(result.dropped_edges, 40 * 39 / 2 - 40);
  EXPECT_EQ(result.rounds, 1);
  const auto single = to_device<TypeParam>(convert<float>(sparse(a)));
  EXPECT_EQ((color_sparsified<float, TypeParam>(TypeParam(), single, {0.1f}).dropped_edges),
            result.dropped_edges);
}

TYPED_TEST(ColoringTest, CircuitsComeToFewColours) {
  for (const auto& file : matrices_named({"general/circuit.mtx"}, {"general/memplus.mtx.gz"})) {
    const auto a = copy_to<TypeParam>(read_matrix_market<double>(file.string()));
    const auto result = color_sparsified<double, TypeParam>(TypeParam(), a, {0.05, 3});
    EXPECT_GT(result.num_colors_before, 15) << file;
    EXPECT_LE(result.coloring.num_colors, 3) << file;
  }
}

}  // namespace
}  // namespace prekond::testing
