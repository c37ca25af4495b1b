// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Prolongators of aggregation whose rows are cut.
#include "testing/amg_cases.hpp"
#include "testing/one_thread.hpp"
#include "testing/reference_amg.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/core/report.hpp>

#include "precond/multigrid/hierarchy.hpp"
#include "precond/multigrid/node_patterns.hpp"
#include "precond/multigrid/truncation.hpp"

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

/// The hub, node 0, has all aggregates; other nodes have their own one and some others. The last node is in
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
            double length = 0;
            for (int b = 0; b <= c; ++b) length = std::hypot(length, r_host(own + b, c));
            if (std::abs(r_host(own + c, c)) > 1e-3 * length)
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

template <class View>
std::vector<std::vector<double>> to_columns_of_host(const View& v) {
  std::vector<std::vector<double>> result;
  for (std::size_t c = 0; c < v.extent(1); ++c) result.push_back(column_of(v, static_cast<int>(c)));
  return result;
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
    const HostMatrix<double> p = to_host(cut.levels()[0].transfer.prolongator);
    for (const auto& column : to_columns_of_host(cut.levels()[0].transfer.near_null_space)) {
      const auto one = multiply(p, column), other = multiply(w, column);
      for (std::size_t i = 0; i < one.size(); ++i) ASSERT_NEAR(one[i], other[i], 1e-11);
    }
  }
}

/// With other values of the same couplings, so that other aggregates are the largest in some rows.
HostMatrix<double> varied(HostMatrix<double> a) {
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      a.values[k] *= 1 + 0.3 * std::sin(double(i + a.col_idxs[k]));
  return a;
}

TYPED_TEST(AmgTruncationTest, NumericAgainKeepsTheTruncation) {
  const TypeParam space;
  for (const auto& [spec, unknowns] :
       {std::pair("circuit:20", 1), std::pair("elasticity3d:5,contrast=2", 3)}) {
    SCOPED_TRACE(spec);
    const HostMatrix<double> first = problem(spec), second = varied(first);
    const AmgOptions options = options_of(2, unknowns), uncut = options_of(1000, unknowns);
    const auto a = to_device<TypeParam>(first), b = to_device<TypeParam>(second);
    Report report;
    const Hierarchy<double, TypeParam> before(space, options, a, nullptr, report);
    const Hierarchy<double, TypeParam> again(space, options, b, &before, report);
    const Hierarchy<double, TypeParam> whole_before(space, uncut, a, nullptr, report);
    const Hierarchy<double, TypeParam> whole(space, uncut, b, &whole_before, report);
    const auto& transfer = again.levels()[0].transfer;
    const HostMatrix<double> p = to_host(transfer.prolongator);
    const HostMatrix<double> old = to_host(before.levels()[0].transfer.prolongator);
    EXPECT_EQ(p.col_idxs, old.col_idxs);
    EXPECT_EQ(p.row_ptrs, old.row_ptrs);
    EXPECT_NE(p.values, old.values);
    // The new W on the old pattern, the rest added.
    const auto w = to_device<TypeParam>(to_host(whole.levels()[0].transfer.prolongator));
    const auto expected = to_device<TypeParam>(old);
    truncate<double, TypeParam>(space, w, transfer.q,
                                MultiVectorView<const double, TypeParam>(transfer.near_null_space), expected);
    EXPECT_TRUE(p == to_host(expected));
    // Found anew it would be another one.
    const Hierarchy<double, TypeParam> anew(space, options, b, nullptr, report);
    EXPECT_NE(to_host(anew.levels()[0].transfer.prolongator).col_idxs, p.col_idxs);
  }
}

TYPED_TEST(AmgTruncationTest, ReuseNoneFindsAllAnew) {
  const TypeParam space;
  const HostMatrix<double> first = problem("circuit:20"), second = varied(first);
  const auto create = [] {
    return create_preconditioner<double, TypeParam>("amg", {{"max_interpolation", std::int64_t(2)},
                                                            {"coarse_size", std::int64_t(20)},
                                                            {"reuse", std::string("none")}});
  };
  const auto m = create(), anew = create();
  m->numeric(space, to_device<TypeParam>(first));
  m->numeric(space, to_device<TypeParam>(second));
  anew->numeric(space, to_device<TypeParam>(second));
  const auto x = random_vector(first.num_rows);
  EXPECT_EQ(applied_to<TypeParam>(*m, x), applied_to<TypeParam>(*anew, x));
}

TYPED_TEST(AmgTruncationTest, TheReportCountsThePatternBeforeTruncation) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(problem("circuit:20"));
  const auto bytes = [&](const char* reuse) {
    const auto m = create_preconditioner<double, TypeParam>("amg", {{"max_interpolation", std::int64_t(2)},
                                                                    {"coarse_size", std::int64_t(20)},
                                                                    {"max_levels", std::int64_t(2)},
                                                                    {"reuse", std::string(reuse)}});
    m->numeric(space, a);
    return m->report().bytes;
  };
  AmgOptions options = options_of(2, 0);
  options.max_levels = 2;
  options.storage = AmgStorage::automatic;
  Report report;
  const Hierarchy<double, TypeParam> found(space, options, a, nullptr, report);
  const auto& transfer = found.levels()[0].transfer;
  const std::int64_t kept = transfer.q.bytes() + transfer.filtered.bytes() + transfer.smoothed.bytes() +
                            transfer.times_prolongator.bytes() + transfer.coarse_nodes.bytes() +
                            8 * static_cast<std::int64_t>(transfer.near_null_space.span());
  EXPECT_GT(transfer.smoothed.nnz(), transfer.prolongator.nnz());
  EXPECT_EQ(bytes("pattern") - bytes("none"), kept);
}

/// Rigid body modes, and two candidates of single unknowns.
TYPED_TEST(AmgTruncationTest, SeveralVectors) {
  const TypeParam space;
  struct Case {
    const char* matrix;
    int unknowns, vectors;
  };
  for (const Case& test : {Case{"elasticity3d:6", 3, 6}, Case{"circuit:20", 1, 2}}) {
    SCOPED_TRACE(std::string(test.matrix) + ", " + std::to_string(test.vectors));
    const HostMatrix<double> host = problem(test.matrix);
    const auto a = to_device<TypeParam>(host);
    MatrixSource<double, TypeParam> source(a);
    std::vector<std::vector<double>> columns;
    for (int c = 0; c < test.vectors; ++c) {
      columns.push_back(random_vector(host.num_rows, 50 + c));
      for (std::size_t i = 0; i < columns[c].size(); ++i)
        columns[c][i] = 0.2 * columns[c][i] + (int(i) % test.unknowns == c % test.unknowns ? 1 : 0);
    }
    const auto vectors = to_columns<TypeParam>(columns);
    source.set_near_null_space(vectors);
    AmgOptions options = options_of(2, test.unknowns);
    Report report;
    const Hierarchy<double, TypeParam> cut(space, options, source, nullptr, report);
    options.max_interpolation = 1000;
    const Hierarchy<double, TypeParam> whole(space, options, source, nullptr, report);
    ASSERT_GT(cut.levels().size(), 1u);
    const HostMatrix<double> p = to_host(cut.levels()[0].transfer.prolongator);
    const HostMatrix<double> w = to_host(whole.levels()[0].transfer.prolongator);
    EXPECT_LE(most_in_a_row(p), 2 * test.vectors);
    EXPECT_GT(most_in_a_row(w), 2 * test.vectors);
    const auto near = to_columns_of_host(cut.levels()[0].transfer.near_null_space);
    for (const auto& column : near) {
      const auto one = multiply(p, column), other = multiply(w, column);
      for (std::size_t i = 0; i < one.size(); ++i) ASSERT_NEAR(one[i], other[i], 1e-10);
    }
    const DenseMatrix fine = dense(host), of_p = dense(p);
    const DenseMatrix expected = dense_product(of_p, dense_product(fine, of_p, false), true);
    const HostMatrix<double> coarse = to_host(cut.levels()[1].matrix);
    for (std::size_t i = 0; i < expected.size(); ++i)
      for (std::size_t j = 0; j < expected.size(); ++j)
        ASSERT_NEAR(coarse(i, j), expected[i][j], 1e-10 * fine[0][0]) << i << ", " << j;
  }
}

TYPED_TEST(AmgTruncationTest, NearlyDependentVectorsDoNotBlowUp) {
  // R_J = (1 1; 0 tiny), and the rest of a row 0.5 of another aggregate with R_K = I.
  const TypeParam space;
  for (const double tiny : {1e-9, 1e-4, 1e-2}) {
    SCOPED_TRACE(tiny);
    const HostMatrix<double> w = sparse<double>({{1, 1, 0.5, 0.25}});
    HostMatrix<double> q = sparse<double>({{1, 1}}), kept = q;
    q.num_cols = kept.num_cols = 4;
    const auto cut = to_device<TypeParam>(kept);
    const auto r = to_columns<TypeParam>({{1, 0, 1, 0}, {1, tiny, 0, 1}});
    truncate<double, TypeParam>(space, to_device<TypeParam>(w), to_device<TypeParam>(q),
                                MultiVectorView<const double, TypeParam>(r), cut);
    space.fence();
    const HostMatrix<double> p = to_host(cut);
    EXPECT_EQ(p.values[0], 1.5);
    EXPECT_NEAR(p.values[1], tiny > 1e-3 ? 1 + (0.25 - 0.5) / tiny : 1, 1e-10);
  }
}

TYPED_TEST(AmgTruncationTest, TheOwnAggregateIsKeptAmongNonfiniteBlocks) {
  const TypeParam space;
  const double inf = HUGE_VAL, nan = std::nan("");
  HostMatrix<double> w = sparse<double>({{inf, 1e200, 1e-200, 1, 1}}), q = sparse<double>({{0, 0, 0, 1, 0}});
  w.values[4] = nan;
  const auto columns = [&](int most) {
    return to_vector(largest_aggregates<double, TypeParam>(space, to_device<TypeParam>(w),
                                                           to_device<TypeParam>(w), to_device<TypeParam>(q),
                                                           most)
                         .col_idxs);
  };
  EXPECT_EQ(columns(1), (std::vector<int>{3}));
  EXPECT_EQ(columns(2), (std::vector<int>{1, 3}));
  EXPECT_EQ(columns(3), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(columns(5), (std::vector<int>{1, 2, 3})) << "small ones are no zeros; inf and NaN are left out";
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
    const Hierarchy<double, TypeParam> whole(TypeParam(), options_of(1000, 3), a, nullptr, report);
    ASSERT_GT(all.levels().size(), 1u);
    ASSERT_LT(all.levels()[0].transfer.prolongator.nnz(), whole.levels()[0].transfer.prolongator.nnz());
    ASSERT_EQ(all.levels().size(), one.levels().size());
    for (std::size_t l = 0; l + 1 < all.levels().size(); ++l)
      EXPECT_TRUE(to_host(all.levels()[l].transfer.prolongator) ==
                  to_host(one.levels()[l].transfer.prolongator));
  }
}

}  // namespace
}  // namespace prekond::testing
