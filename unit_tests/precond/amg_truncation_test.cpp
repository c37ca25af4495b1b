// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Prolongators of aggregation whose rows are cut.
#include "testing/amg_cases.hpp"
#include "testing/one_thread.hpp"
#include "testing/reference_amg.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/core/complexity.hpp>

#include "precond/amg/hierarchy.hpp"
#include "precond/amg/node_patterns.hpp"
#include "precond/amg/truncation.hpp"

#include <algorithm>
#include <cmath>

namespace prekond::testing {
namespace {

using namespace impl::amg;

template <class Space>
class AmgTruncationTest : public ::testing::Test {};
TYPED_TEST_SUITE(AmgTruncationTest, TestSpaces, SpaceNames);

/// A tentative prolongator of aggregates of three nodes and W with blocks in `nodes`, random.
template <class Space>
struct Pieces {
  HostMatrix<double> nodes, w, q;
  MultiVector<double, Space> r;
  int unknowns, vectors;
};

/// Of the hub, node 0, all aggregates; of other nodes their own one and some others. The last node is in
/// none.
template <class Space>
Pieces<Space> pieces_of(int num_nodes, int unknowns, int vectors) {
  Pieces<Space> result;
  result.unknowns = unknowns;
  result.vectors = vectors;
  const int aggregates = (num_nodes - 1 + 2) / 3;
  std::vector<std::vector<double>> nodes(num_nodes, std::vector<double>(aggregates, 0.0));
  for (int i = 0; i + 1 < num_nodes; ++i)
    for (int g = 0; g < aggregates; ++g)
      if (g == i / 3 || i == 0 || (5 * i + 3 * g) % 7 < 2) nodes[i][g] = 1;
  result.nodes = sparse(nodes);
  result.nodes.num_cols = aggregates;
  std::vector<std::vector<double>> near;
  for (int c = 0; c < vectors; ++c) near.push_back(random_vector(num_nodes * unknowns, 20 + c));
  std::vector<int> part;
  for (int i = 0; i < num_nodes; ++i) part.push_back(i + 1 < num_nodes ? i / 3 : -1);
  if (vectors > 1)  // the second vector depends on the first in aggregate 1
    for (int i = 0; i < num_nodes * unknowns; ++i)
      if (part[i / unknowns] == 1) near[1][i] = 2 * near[0][i];
  Aggregates<Space> found;
  found.count = aggregates;
  found.part = to_device<Space>(part);
  const auto tentative =
      tentative_prolongator<double, Space>(Space(), found, membership<Space>(Space(), found), unknowns,
                                           MultiVectorView<const double, Space>(to_columns<Space>(near)));
  result.q = to_host(tentative.q);
  result.r = tentative.near_null_space;
  result.w.num_rows = std::int64_t(num_nodes) * unknowns;
  result.w.num_cols = std::int64_t(aggregates) * vectors;
  for (std::int64_t i = 0; i < result.w.num_rows; ++i) {
    const std::int64_t node = i / unknowns;
    for (std::size_t k = result.nodes.row_ptrs[node]; k < result.nodes.row_ptrs[node + 1]; ++k)
      for (int c = 0; c < vectors; ++c) {
        const int col = result.nodes.col_idxs[k] * vectors + c;
        result.w.col_idxs.push_back(col);
        // Several blocks of the hub are equally large; some blocks are zero.
        const double size = node == 0 ? 1.0 / (1 + col / vectors / 4) : std::cos(double(3 * i + 7 * col));
        result.w.values.push_back((i + col / vectors) % 6 == 5 && node > 0 ? 0.0 : size);
      }
    result.w.row_ptrs.push_back(result.w.nnz());
  }
  return result;
}

/// The rule, on dense matrices: the columns' blocks that each node keeps.
template <class Space>
std::vector<std::vector<int>> kept_blocks(const Pieces<Space>& p, int most) {
  std::vector<std::vector<int>> result;
  for (std::int64_t node = 0; node < p.nodes.num_rows; ++node) {
    std::vector<std::pair<double, int>> sizes;
    const std::int64_t first = node * p.unknowns;
    const bool has_own = p.q.row_ptrs[first] < p.q.row_ptrs[first + 1];
    const int own = has_own ? p.q.col_idxs[p.q.row_ptrs[first]] / p.vectors : -1;
    for (std::size_t k = p.nodes.row_ptrs[node]; k < p.nodes.row_ptrs[node + 1]; ++k) {
      const int g = p.nodes.col_idxs[k];
      double sum = 0;
      for (int r = 0; r < p.unknowns; ++r)
        for (int c = 0; c < p.vectors; ++c) sum += std::pow(p.w(first + r, g * p.vectors + c), 2);
      if (g == own) sum = HUGE_VAL;
      if (sum > 0) sizes.emplace_back(-std::sqrt(sum), g);
    }
    std::sort(sizes.begin(), sizes.end());
    std::vector<int> kept;
    for (int k = 0; k < std::min<int>(most, int(sizes.size())); ++k) kept.push_back(sizes[k].second);
    std::sort(kept.begin(), kept.end());
    result.push_back(kept);
  }
  return result;
}

TYPED_TEST(AmgTruncationTest, TheLargestBlocksAreKeptAndTheRestGoesToTheOwnOne) {
  const TypeParam space;
  for (const auto& [unknowns, vectors] :
       {std::pair(1, 1), std::pair(1, 2), std::pair(2, 3), std::pair(3, 6), std::pair(3, 3)})
    for (const int num_nodes : {5, 71})
      for (const int most : {1, 2, 4, 100}) {
        SCOPED_TRACE(std::to_string(unknowns) + " unknowns, " + std::to_string(vectors) + " vectors, " +
                     std::to_string(num_nodes) + " nodes, at most " + std::to_string(most));
        const auto p = pieces_of<TypeParam>(num_nodes, unknowns, vectors);
        const auto w = to_device<TypeParam>(p.w), q = to_device<TypeParam>(p.q);
        const CsrGraph<TypeParam> nodes =
            largest_aggregates<double, TypeParam>(space, w, to_device<TypeParam>(p.nodes), q, most);
        const auto expected = kept_blocks(p, most);
        const auto row_ptrs = to_vector(nodes.row_ptrs);
        const auto col_idxs = to_vector(nodes.col_idxs);
        DenseMatrix on(p.w.num_rows, std::vector<double>(p.w.num_cols, 0.0));
        for (std::size_t node = 0; node < expected.size(); ++node) {
          ASSERT_EQ(
              std::vector<int>(col_idxs.begin() + row_ptrs[node], col_idxs.begin() + row_ptrs[node + 1]),
              expected[node])
              << node;
          for (const int g : expected[node])
            for (int r = 0; r < unknowns; ++r)
              for (int c = 0; c < vectors; ++c) on[node * unknowns + r][g * vectors + c] = 1;
        }
        const auto cut = to_device<TypeParam>(sparse(on));
        Kokkos::deep_copy(cut.values, std::nan(""));
        truncate<double, TypeParam>(space, w, q, MultiVectorView<const double, TypeParam>(p.r), cut);
        const HostMatrix<double> result = to_host(cut);
        const auto r_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, p.r);
        for (std::int64_t i = 0; i < p.w.num_rows; ++i) {
          const bool has_own = p.q.row_ptrs[i] < p.q.row_ptrs[i + 1];
          const int own = has_own ? p.q.col_idxs[p.q.row_ptrs[i]] : -1;
          for (std::size_t k = result.row_ptrs[i]; k < result.row_ptrs[i + 1]; ++k) {
            const int col = result.col_idxs[k];
            const bool is_own = has_own && col >= own && col < own + vectors;
            if (!is_own) {
              ASSERT_EQ(result.values[k], p.w(i, col)) << i << ", " << col;
            }
          }
          if (!has_own) continue;
          for (int c = 0; c < vectors; ++c) {  // P R = W R where R_J has this column
            double before = 0, after = 0;
            for (int col = 0; col < p.w.num_cols; ++col) {
              before += p.w(i, col) * r_host(col, c);
              after += result(i, col) * r_host(col, c);
            }
            if (r_host(own + c, c) != 0)
              ASSERT_NEAR(after, before, 1e-10) << i << ", vector " << c;
            else
              ASSERT_EQ(result(i, own + c), p.w(i, own + c)) << "nothing is added where Q is zero";
          }
        }
      }
}

/// The largest number of aggregates in a row of P.
std::int64_t most_in_a_row(const HostMatrix<double>& p) {
  std::size_t most = 0;
  for (std::int64_t i = 0; i < p.num_rows; ++i) most = std::max(most, p.row_ptrs[i + 1] - p.row_ptrs[i]);
  return static_cast<std::int64_t>(most);
}

AmgOptions options_of(int most, int unknowns) {
  AmgOptions options;
  options.max_interpolation = most;
  options.coarse_size = 20;
  options.unknowns_per_node = unknowns;
  options.storage = AmgStorage::full;
  return options;
}

TYPED_TEST(AmgTruncationTest, LevelsAreGalerkinsOfTheCutProlongator) {
  const TypeParam space;
  for (const auto& [spec, unknowns, most] : {std::tuple("circuit:20", 1, 3), std::tuple("poisson2d:20", 1, 2),
                                             std::tuple("elasticity3d:5", 3, 2)}) {
    SCOPED_TRACE(spec);
    const auto a = to_device<TypeParam>(problem(spec));
    Report report;
    const Hierarchy<double, TypeParam> cut(space, options_of(most, unknowns), a, nullptr, report);
    const Hierarchy<double, TypeParam> whole(space, options_of(1000, unknowns), a, nullptr, report);
    ASSERT_GT(cut.levels().size(), 1u);
    const HostMatrix<double> w = to_host(whole.levels()[0].transfer.prolongator);
    const int vectors = static_cast<int>(cut.levels()[0].transfer.near_null_space.extent(1));
    EXPECT_GT(most_in_a_row(w), most * vectors) << "there is something to cut";
    for (std::size_t l = 0; l + 1 < cut.levels().size(); ++l) {
      const auto& transfer = cut.levels()[l].transfer;
      const HostMatrix<double> p = to_host(transfer.prolongator);
      EXPECT_LE(most_in_a_row(p), most * vectors);
      const DenseMatrix fine = dense(to_host(cut.levels()[l].matrix)), of_p = dense(p);
      const DenseMatrix expected = dense_product(of_p, dense_product(fine, of_p, false), true);
      const HostMatrix<double> coarse = to_host(cut.levels()[l + 1].matrix);
      for (std::size_t i = 0; i < expected.size(); ++i)
        for (std::size_t j = 0; j < expected.size(); ++j)
          ASSERT_NEAR(coarse(i, j), expected[i][j], 1e-11 * fine[0][0]) << l << ": " << i << ", " << j;
    }
    // The same near null space in both ranges.
    const auto near =
        Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, cut.levels()[0].transfer.near_null_space);
    const HostMatrix<double> p = to_host(cut.levels()[0].transfer.prolongator);
    for (int c = 0; c < vectors; ++c) {
      std::vector<double> column(near.extent(0));
      for (std::size_t i = 0; i < column.size(); ++i) column[i] = near(i, c);
      const auto one = multiply(p, column), other = multiply(w, column);
      for (std::size_t i = 0; i < one.size(); ++i) ASSERT_NEAR(one[i], other[i], 1e-11);
    }
  }
}

TYPED_TEST(AmgTruncationTest, NumericAgainKeepsWhatIsCut) {
  const TypeParam space;
  for (const auto& [spec, unknowns] :
       {std::pair("circuit:20", 1), std::pair("elasticity3d:5,contrast=2", 3)}) {
    SCOPED_TRACE(spec);
    const HostMatrix<double> first = problem(spec);
    HostMatrix<double> second = first;  // the same order of entries by size
    for (double& value : second.values) value *= 2;
    const auto create = [&](const char* reuse) {
      return create_preconditioner<double, TypeParam>("amg", {{"max_interpolation", std::int64_t(2)},
                                                              {"coarse_size", std::int64_t(20)},
                                                              {"unknowns_per_node", std::int64_t(unknowns)},
                                                              {"reuse", std::string(reuse)}});
    };
    const auto anew = create("pattern");
    anew->numeric(space, to_device<TypeParam>(second));
    const auto x = random_vector(first.num_rows);
    for (const char* reuse : {"pattern", "none"}) {
      const auto m = create(reuse);
      m->numeric(space, to_device<TypeParam>(first));
      m->numeric(space, to_device<TypeParam>(second));
      EXPECT_EQ(m->report().pattern_kept, reuse == std::string("pattern"));
      EXPECT_EQ(applied_to<TypeParam>(*m, x), applied_to<TypeParam>(*anew, x)) << reuse;
    }
  }
}

TYPED_TEST(AmgTruncationTest, LongRowsDoNotFillTheLevels) {
  const TypeParam space;
  const HostMatrix<double> a = problem("circuit:60");
  const auto complexity = [&](int most) {
    const auto m =
        create_preconditioner<double, TypeParam>("amg", {{"max_interpolation", std::int64_t(most)}});
    m->numeric(space, to_device<TypeParam>(a));
    const auto solved = solve_with<double, TypeParam>({"cg", {}}, operator_of<TypeParam>(a), m.get(),
                                                      random_vector(a.num_rows), stop_at(1e-8, 200));
    EXPECT_EQ(solved.result.reason, StopReason::rtol);
    EXPECT_LE(solved.result.iterations, 40);
    return operator_complexity(m->report().levels);
  };
  EXPECT_LT(complexity(3), 0.8 * complexity(1000));
  EXPECT_EQ(AmgOptions().interpolation_limit(), 12);
}

TYPED_TEST(AmgTruncationTest, TheSameBitsForAnyNumberOfThreads) {
  if constexpr (is_host_space<TypeParam>) {
    const auto a = to_device<TypeParam>(problem("elasticity3d:7"));
    Report report;
    const Hierarchy<double, TypeParam> all(TypeParam(), options_of(2, 3), a, nullptr, report);
    const Hierarchy<double, TypeParam> one(of_one_thread<TypeParam>(), options_of(2, 3), a, nullptr, report);
    ASSERT_EQ(all.levels().size(), one.levels().size());
    for (std::size_t l = 0; l + 1 < all.levels().size(); ++l)
      EXPECT_TRUE(to_host(all.levels()[l].transfer.prolongator) ==
                  to_host(one.levels()[l].transfer.prolongator));
  }
}

}  // namespace
}  // namespace prekond::testing
