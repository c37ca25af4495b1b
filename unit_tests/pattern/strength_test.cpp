// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/general_matrices.hpp"
#include "testing/reference_aggregation.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/matrix/generate.hpp>
#include "precond/multigrid/strength.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace prekond::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The first rows and columns, as many as blocks take.
template <class Scalar>
HostMatrix<Scalar> whole_nodes(const HostMatrix<Scalar>& a, int d) {
  HostMatrix<Scalar> result;
  result.num_rows = a.num_rows / d * d;
  result.num_cols = a.num_cols - (a.num_rows - result.num_rows);
  for (std::int64_t i = 0; i < result.num_rows; ++i) {
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      if (a.col_idxs[k] >= result.num_cols) continue;
      result.col_idxs.push_back(a.col_idxs[k]);
      result.values.push_back(a.values[k]);
    }
    result.row_ptrs.push_back(result.nnz());
  }
  return result;
}

/// Each entry becomes a full block of rows x cols.
HostMatrix<double> of_blocks(const HostMatrix<double>& nodes, int rows, int cols) {
  HostMatrix<double> result;
  result.num_rows = nodes.num_rows * rows, result.num_cols = nodes.num_cols * cols;
  for (std::int64_t i = 0; i < result.num_rows; ++i) {
    for (std::size_t k = nodes.row_ptrs[i / rows]; k < nodes.row_ptrs[i / rows + 1]; ++k)
      for (int c = 0; c < cols; ++c) result.col_idxs.push_back(nodes.col_idxs[k] * cols + c);
    result.row_ptrs.push_back(result.col_idxs.size());
  }
  result.values.resize(result.col_idxs.size(), 1.0);
  return result;
}

template <class Scalar, class Space>
void check_strength(const HostMatrix<Scalar>& matrix) {
  const Space space;
  for (const int d : {1, 2, 3, 7}) {
    const HostMatrix<Scalar> a = whole_nodes(matrix, d);
    const auto device = to_device<Space>(a);
    for (const double theta : {0.0, 1e-300, 1e-3, 0.08, 0.26, 0.51, 1.03, 1e300}) {
      SCOPED_TRACE("d " + std::to_string(d) + ", theta " + std::to_string(theta));
      const CsrGraph<Space> graph = strong_connections<Scalar, Space>(space, device, d, theta);
      EXPECT_EQ(graph.num_rows, a.num_rows / d);
      EXPECT_EQ(graph.num_cols, a.num_rows / d);
      EXPECT_EQ(to_host(graph), sequential_strength(a, d, theta));
    }
    EXPECT_TRUE(to_host(device) == a) << "the matrix itself changed";
  }
}

template <class Space>
class StrengthTest : public ::testing::Test {};
TYPED_TEST_SUITE(StrengthTest, TestSpaces, SpaceNames);

TYPED_TEST(StrengthTest, EqualsTheDefinition) {
  for (const auto& [name, a] : awkward_patterns<double>()) {
    SCOPED_TRACE(name);
    check_strength<double, TypeParam>(a);
  }
  for (const auto& [name, a] : awkward_patterns<float>()) {
    SCOPED_TRACE(name + ", float");
    check_strength<float, TypeParam>(a);
  }
}

/// The strong couplings of single rows with the diagonal, and whether A has them all.
template <class Scalar, class Space>
void check_strong_rows(const HostMatrix<Scalar>& a, double theta) {
  HostGraph expected = sequential_strength(a, 1, theta);
  bool is_part = true;
  for (int i = 0; i < int(expected.size()); ++i) {
    expected[i].insert(std::lower_bound(expected[i].begin(), expected[i].end(), i), i);
    for (const int j : expected[i])
      is_part = is_part && std::find(a.col_idxs.begin() + std::ptrdiff_t(a.row_ptrs[i]),
                                     a.col_idxs.begin() + std::ptrdiff_t(a.row_ptrs[i + 1]),
                                     j) != a.col_idxs.begin() + std::ptrdiff_t(a.row_ptrs[i + 1]);
  }
  const auto found = strong_rows<Scalar, Space>(Space(), to_device<Space>(a), theta);
  EXPECT_EQ(found.pattern.num_cols, a.num_rows);
  EXPECT_EQ(to_host(found.pattern), expected);
  // An entry without a mirror among the strong ones may still be stored.
  EXPECT_TRUE(is_part || !found.is_part);
}

TYPED_TEST(StrengthTest, StrongRowsHaveTheirDiagonal) {
  for (const double theta : {0.0, 1e-3, 0.26, 1.03}) {
    SCOPED_TRACE("theta " + std::to_string(theta));
    for (const auto& [name, a] : awkward_patterns<double>()) {
      SCOPED_TRACE(name);
      check_strong_rows<double, TypeParam>(a, theta);
    }
  }
  const auto is_part = [](const HostMatrix<double>& a, double theta) {
    return strong_rows<double, TypeParam>(TypeParam(), to_device<TypeParam>(a), theta).is_part;
  };
  const HostMatrix<double> poisson = to_host(generate<double>(TypeParam(), "poisson2d:20"));
  EXPECT_TRUE(is_part(poisson, 0.08));
  EXPECT_TRUE(is_part(poisson, 0.9));
  EXPECT_FALSE(is_part(sparse<double>({{4, 1}, {0, 4}}), 0.1));                   // (1, 0) is not stored
  EXPECT_FALSE(is_part(sparse<double>({{4, 1, 0}, {1, 4, 1}, {0, 1, 0}}), 0.1));  // nor (2, 2)
}

/// All of a matrix's nodes with entries between them, and whether these are whole blocks.
void expect_nodes(const HostMatrix<double>& a, int d, const HostGraph& nodes, bool whole) {
  bool expected_whole = true;
  for (std::int64_t node = 0; node < a.num_rows / d; ++node) {
    std::map<int, int> count;
    for (std::size_t k = a.row_ptrs[node * d]; k < a.row_ptrs[(node + 1) * d]; ++k)
      ++count[a.col_idxs[k] / d];
    std::vector<int> cols;
    for (const auto& [col, entries] : count) {
      cols.push_back(col);
      if (entries != d * d) expected_whole = false;
    }
    EXPECT_EQ(nodes[node], cols) << "node " << node;
  }
  EXPECT_EQ(whole, expected_whole);
}

TYPED_TEST(StrengthTest, NodesOfMatricesWithWholeBlocksAndOfOthers) {
  const TypeParam space;
  HostMatrix<double> holes = to_host(generate<double>(TypeParam(), "elasticity3d:3"));
  HostMatrix<double> full = holes, moved = holes;
  const auto drop = [](HostMatrix<double>& a, std::int64_t row, std::size_t k) {
    a.col_idxs.erase(a.col_idxs.begin() + std::ptrdiff_t(a.row_ptrs[row] + k));
    a.values.erase(a.values.begin() + std::ptrdiff_t(a.row_ptrs[row] + k));
    for (std::size_t i = row + 1; i < a.row_ptrs.size(); ++i) --a.row_ptrs[i];
  };
  drop(holes, 4, 0);
  for (int r = 0; r < 3; ++r)  // rows of a node of the same length, of other nodes
    for (int c = 0; c < 3; ++c) drop(moved, r, r == 1 ? 3 : moved.row_ptrs[r + 1] - moved.row_ptrs[r] - 1);
  for (const auto& [a, d] :
       {std::pair(full, 3), std::pair(holes, 3), std::pair(moved, 3), std::pair(full, 1)}) {
    SCOPED_TRACE(std::to_string(a.nnz()) + " entries, d " + std::to_string(d));
    const auto found = node_connections<double, TypeParam>(space, to_device<TypeParam>(a), d, 0.1);
    expect_nodes(a, d, to_host(found.all), found.whole);
    EXPECT_EQ(to_host(found.strong), sequential_strength(a, d, 0.1));
    const auto nodes = nodes_of_whole_blocks<TypeParam>(space, to_device<TypeParam>(a), d);
    EXPECT_EQ(nodes.num_rows, found.whole ? a.num_rows / d : 0);
    if (!found.whole) continue;
    EXPECT_EQ(to_host(nodes), to_host(found.all));
    const auto again = node_connections<double, TypeParam>(space, to_device<TypeParam>(a), d, 0.1, nodes);
    EXPECT_TRUE(again.whole);
    EXPECT_EQ(again.all.col_idxs.data(), nodes.col_idxs.data());
    EXPECT_EQ(to_host(again.strong), to_host(found.strong));
  }
}

template <class Space>
HostGraph strong(const HostMatrix<double>& a, int d, double theta) {
  return to_host(strong_connections<double, Space>(Space(), to_device<Space>(a), d, theta));
}

TYPED_TEST(StrengthTest, TheConditionIsStrictAndEitherDirectionDoes) {
  // Entry (0, 1) is exactly 0.25 of its scale, (1, 0) is less; row 2 has no diagonal; column 3 is another's.
  const HostMatrix<double> a = sparse<double>({{4, 1, 1e-20, 5}, {0.5, 4, 0, 5}, {0, 1.01, 0, 5}});
  EXPECT_THAT(strong<TypeParam>(a, 1, 0.25), ElementsAre(ElementsAre(2), ElementsAre(2), ElementsAre(0, 1)));
  EXPECT_THAT(strong<TypeParam>(a, 1, 0.2),
              ElementsAre(ElementsAre(1, 2), ElementsAre(0, 2), ElementsAre(0, 1)));
  // Norms 5 of (0, 1), 10 and 40 of the diagonal: 5 is 0.25 sqrt(10 * 40).
  const HostMatrix<double> b = sparse<double>({{6, 8, 3, 0}, {0, 0, 0, 4}, {0, 0, 24, 0}, {0, 0, 32, 0}});
  EXPECT_THAT(strong<TypeParam>(b, 2, 0.25), ElementsAre(IsEmpty(), IsEmpty()));
  EXPECT_THAT(strong<TypeParam>(b, 2, std::nextafter(0.25, 0)), ElementsAre(ElementsAre(1), ElementsAre(0)));
}

TYPED_TEST(StrengthTest, StoredZerosAreNeverStrong) {
  HostMatrix<double> a = sparse<double>({{1, 2, 3, 4}, {4, 5, 6, 1}, {7, 8, 9, 1}, {1, 1, 1, 1}});
  a.values = {0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0};
  for (const double theta : {0.0, 0.5})
    EXPECT_THAT(strong<TypeParam>(a, 1, theta),
                ElementsAre(ElementsAre(2), IsEmpty(), ElementsAre(0), IsEmpty()));
  EXPECT_THAT(strong<TypeParam>(a, 2, 0), ElementsAre(ElementsAre(1), ElementsAre(0)));
  a.values[2] = 0;
  EXPECT_THAT(strong<TypeParam>(a, 2, 0), ElementsAre(IsEmpty(), IsEmpty()));
}

TYPED_TEST(StrengthTest, NormsNeitherOverflowNorUnderflow) {
  for (const double scale : {1e300, 1e200, 1.0, 1e-200, 1e-300}) {
    SCOPED_TRACE(scale);
    HostMatrix<double> a = sparse<double>({{2, 1, 1, 0}, {1, 2, 1, 1}, {1, 1, 2, 1}, {0, 1, 1, 2}});
    for (double& x : a.values) x *= scale;
    // Norms sqrt(10) and sqrt(3): 0.5477 of the scale.
    EXPECT_THAT(strong<TypeParam>(a, 2, 0.54), ElementsAre(ElementsAre(1), ElementsAre(0)));
    EXPECT_THAT(strong<TypeParam>(a, 2, 0.55), ElementsAre(IsEmpty(), IsEmpty()));
    EXPECT_THAT(strong<TypeParam>(a, 1, 0.51), ElementsAre(IsEmpty(), IsEmpty(), IsEmpty(), IsEmpty()));
    EXPECT_THAT(strong<TypeParam>(a, 1, 0.49), ElementsAre(ElementsAre(1, 2), ElementsAre(0, 2, 3),
                                                           ElementsAre(0, 1, 3), ElementsAre(1, 2)));
  }
}

TYPED_TEST(StrengthTest, ColumnsOfOthersNeedNotBeWholeNodes) {
  const HostMatrix<double> a = random_entries<double>(42, 47, 0.2, 9);
  EXPECT_EQ(strong<TypeParam>(a, 3, 0.1), sequential_strength(a, 3, 0.1));
}

TYPED_TEST(StrengthTest, RefusesWhatItCannotTake) {
  const auto a = to_device<TypeParam>(sparse<double>({{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}));
  const auto refused = [&](int d, double theta) {
    return message_of<InputError>([&] { strong_connections<double, TypeParam>(TypeParam(), a, d, theta); });
  };
  for (const double theta : {-1e-9, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THAT(refused(1, theta), HasSubstr("it must be 0 or larger"));
  EXPECT_THAT(refused(0, 0.1), HasSubstr("must be from 1 to 32"));
  EXPECT_THAT(refused(33, 0.1), HasSubstr("must be from 1 to 32"));
  EXPECT_THAT(refused(2, 0.1), HasSubstr("must divide the rows"));
}

TYPED_TEST(StrengthTest, WholeBlocksOfAnySizeGiveTheirPattern) {
  const TypeParam space;
  const HostMatrix<double> nodes = random_general(41, 0.1, 5);
  const auto blocks_of = [&](const HostMatrix<double>& a, int rows, int cols) {
    return whole_blocks<TypeParam>(space, to_device<TypeParam>(a), rows, cols);
  };
  const auto of_nodes = to_device<TypeParam>(nodes);
  const CsrGraph<TypeParam> expected{of_nodes.num_rows, of_nodes.num_cols, of_nodes.row_ptrs,
                                     of_nodes.col_idxs};
  for (const auto& [rows, cols] : {std::pair(1, 4), {2, 3}, {3, 6}, {6, 3}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(cols));
    const HostMatrix<double> a = of_blocks(nodes, rows, cols);
    EXPECT_EQ(to_host(blocks_of(a, rows, cols)), to_host(expected));
    EXPECT_EQ(blocks_of(a, rows + 6, cols).num_rows, 0) << "41 blocks of rows are no larger ones";
    HostMatrix<double> shifted = a;
    for (auto& col : shifted.col_idxs) ++col;
    shifted.num_cols += cols;
    EXPECT_EQ(blocks_of(shifted, rows, cols).num_rows, 0) << "blocks begin within a block";
    HostMatrix<double> wide = a;
    ++wide.num_cols;
    EXPECT_EQ(blocks_of(wide, rows, cols).num_rows, 0) << "a column is left";
    // The last entry of all moves: its row has as many, but not those of a block.
    HostMatrix<double> moved = a;
    moved.num_cols += cols;
    ++moved.col_idxs.back();
    EXPECT_EQ(blocks_of(moved, rows, cols).num_rows, 0) << "an entry outside its block";
  }
  // The second row of a block has another block than the first.
  HostMatrix<double> differing = of_blocks(nodes, 2, 3);
  differing.num_cols += 3;
  for (int c = 1; c <= 3; ++c)
    differing.col_idxs[differing.col_idxs.size() - c] = static_cast<int>(differing.num_cols) - c;
  EXPECT_EQ(blocks_of(differing, 2, 3).num_rows, 0);
}

TYPED_TEST(StrengthTest, KernelsAndArraysHaveLabels) {
  const TypeParam space;
  const auto device = to_device<TypeParam>(whole_nodes(awkward_patterns<double>().back().matrix, 3));
  const ToolEvents events;
  for (const int d : {1, 3}) strong_connections<double, TypeParam>(space, device, d, 0.1);
  for (const auto& labels : {events.kernels(), events.allocations()}) {
    EXPECT_FALSE(labels.empty());
    for (const auto& label : labels)
      EXPECT_TRUE(label.find("prekond::") == 0 || label.find("Kokkos::") == 0) << label;
  }
}

}  // namespace
}  // namespace prekond::testing
