// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/approximate_inverse/spai/bins.hpp"
#include "precond/approximate_inverse/spai/strategy.hpp"
#include "testing/matrices.hpp"
#include "testing/memory_peak.hpp"
#include "testing/one_thread.hpp"
#include "testing/preconditioned_iterations.hpp"
#include "testing/reference_spai.hpp"
#include "testing/spaces.hpp"
#include "testing/spd_matrices.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/registry.hpp>
#include <prekond/precond/spai.hpp>
#include "core/lane_group.hpp"

#include <limits>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Entries in [-1, 1] and 3 on the diagonal; the pattern is not symmetric.
HostMatrix<double> random_around_three(int n, double density, unsigned seed) {
  HostMatrix<double> a = random_entries<double>(n, n, density, seed);
  Dense dense = to_dense(a);
  for (int i = 0; i < n; ++i) dense[i][i] = i % 3 == 1 ? -3 : 3;
  return sparse(dense);
}

std::vector<Case> spai_matrices() {
  std::vector<Case> cases;
  for (const char* spec : {"tridiagonal:1", "tridiagonal:37", "poisson2d:9", "convection_diffusion3d:4",
                           "convection_diffusion3d:5,peclet=1000", "elasticity3d:3", "circuit:9"})
    cases.push_back({spec, generated(spec)});
  for (int n : {1, 2, 3, 17, 33, 67})
    cases.push_back({"random:" + std::to_string(n), random_around_three(n, 0.08, 7u + n)});
  return cases;
}

template <class Space, class Scalar>
HostMatrix<Scalar> invert(const HostMatrix<Scalar>& a, const SpaiOptions& options, Report* report = nullptr,
                          const HostGraph* pattern = nullptr) {
  const Space space;
  const auto device = to_device<Space>(a);
  Spai<Scalar, Space> spai(options);
  if (pattern) spai.set_pattern(space, graph_of<Space>(*pattern, a.num_rows));
  spai.symbolic(space, device);
  spai.numeric(space, device);
  if (report) *report = spai.report();
  return to_host(spai.inverse());
}

/// The columns of M (its rows, on the left side) are the least ones on their own patterns.
void expect_least(const HostMatrix<double>& a, const HostMatrix<double>& m, Side side, double tolerance,
                  std::vector<int> columns = {}) {
  const HostMatrix<double> b = side == Side::right ? transposed(a) : a;
  const HostMatrix<double> lists = side == Side::right ? transposed(m) : m;
  if (columns.empty())
    for (int k = 0; k < lists.num_rows; ++k) columns.push_back(k);
  for (const int k : columns) {
    const std::vector<int> cols(lists.col_idxs.begin() + lists.row_ptrs[k],
                                lists.col_idxs.begin() + lists.row_ptrs[k + 1]);
    const std::vector<double> values(lists.values.begin() + lists.row_ptrs[k],
                                     lists.values.begin() + lists.row_ptrs[k + 1]);
    const LocalProblem problem = local_problem(b, k, cols);
    const LeastSolution expected = least_squares(problem.matrix, problem.rhs);
    ASSERT_NEAR(static_cast<double>(residual_of(problem, values) - expected.residual), 0, tolerance)
        << "column " << k << " of " << problem.matrix.size() << " x " << cols.size();
  }
}

/// The pattern of (I + |A|)^k, by products of dense Boolean matrices.
HostGraph power_of(const HostGraph& s, int k) {
  const std::size_t n = s.size();
  HostGraph rows(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<bool> reached(n);
    reached[i] = true;
    for (int step = 0; step < k; ++step) {
      std::vector<bool> next = reached;
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t p = 0; reached[j] && p < s[j].size(); ++p)
          if (s[j][p] < static_cast<int>(n)) next[s[j][p]] = true;
      reached = next;
    }
    for (std::size_t j = 0; j < n; ++j)
      if (reached[j]) rows[i].push_back(static_cast<int>(j));
  }
  return rows;
}

/// And no column (row, on the left side) is zero.
void expect_finite(const HostMatrix<double>& m, Side side = Side::right) {
  for (const double value : m.values) ASSERT_TRUE(std::isfinite(value));
  const HostMatrix<double> columns = side == Side::right ? transposed(m) : m;
  for (std::int64_t k = 0; k < columns.num_rows; ++k) {
    double largest = 0;
    for (std::size_t p = columns.row_ptrs[k]; p < columns.row_ptrs[k + 1]; ++p)
      largest = std::max(largest, std::abs(columns.values[p]));
    ASSERT_GT(largest, 0) << "column " << k;
  }
}

SpaiOptions with(Side side, int power = 1, Precision precision = Precision::double_precision) {
  SpaiOptions options;
  options.side = side;
  options.power = power;
  options.setup_scalar = precision;
  return options;
}

template <class Space>
class SpaiTest : public ::testing::Test {};
TYPED_TEST_SUITE(SpaiTest, TestSpaces, SpaceNames);

// Table 3 with the predictions for E + |A| of Table 4.
TEST(SpaiStrategy, PredictsTheChoicesOfThePaper) {
  using impl::spai::choose_strategy;
  struct Line {
    const char* name;
    int n2_max;
    double n2_avg;
    Strategy predicted;
  };
  constexpr Strategy first = Strategy::constant, second = Strategy::sorted;
  for (const Line& line : {Line{"cbuckle", 600, 49.45, second}, Line{"2cubes_sphere", 31, 16.23, first},
                           Line{"offshore", 31, 16.33, first}, Line{"ASIC_320ks", 210, 4.09, second},
                           Line{"apache2", 8, 6.74, first}, Line{"G3_circuit", 6, 4.83, first},
                           Line{"power9", 627, 12.15, second}, Line{"msdoor", 77, 46.10, first},
                           Line{"thermal2", 11, 6.99, first}, Line{"Fault_639", 267, 42.65, second}})
    EXPECT_EQ(choose_strategy(Strategy::automatic, line.n2_max, line.n2_avg).strategy, line.predicted)
        << line.name;
  const auto apache2 = choose_strategy(Strategy::automatic, 8, 6.74);
  EXPECT_EQ(apache2.alpha, 3);
  EXPECT_EQ(apache2.beta, 3);
  EXPECT_EQ(choose_strategy(Strategy::automatic, 600, 49.45).alpha, 10);
  EXPECT_EQ(choose_strategy(Strategy::automatic, 600, 49.45).beta, 6);
  EXPECT_EQ(choose_strategy(Strategy::sorted, 8, 6.74).strategy, Strategy::sorted);
  EXPECT_EQ(choose_strategy(Strategy::constant, 600, 4).strategy, Strategy::constant);
}

TEST(SpaiStrategy, GroupsAreThePapers) {
  using namespace impl::spai;
  for (const auto& [n2, lanes] : std::vector<std::pair<int, int>>{{1, 8},
                                                                  {8, 8},
                                                                  {9, 16},
                                                                  {16, 16},
                                                                  {17, 32},
                                                                  {32, 32},
                                                                  {33, 64},
                                                                  {64, 64},
                                                                  {65, 128},
                                                                  {256, 256},
                                                                  {5000, 256}})
    EXPECT_EQ(group_size(device_tuning, n2), lanes) << n2;
}

TEST(SpaiStrategy, StorageFollowsTheSizes) {
  using namespace impl::spai;
  const auto launch = [](int lanes, int n1, std::size_t bytes, std::size_t near) {
    return choose_launch(device_tuning, device_tuning.solve, lanes, n1, true, bytes, near);
  };
  EXPECT_EQ(launch(8, 20, 2000, 1500).unit, Unit::vector8);
  EXPECT_EQ(launch(8, 40, 2000, 1500).unit, Unit::vector16) << "a lane has at most 4 rows";
  EXPECT_EQ(launch(16, 100, 14000, 9000).unit, Unit::vector32);
  EXPECT_EQ(launch(16, 100, 14000, 9000).vectors, 3);
  EXPECT_EQ(launch(32, 100, 30000, 9000).unit, Unit::team);
  EXPECT_EQ(launch(64, 100, 10000, 9000).unit, Unit::team);
  EXPECT_EQ(launch(64, 200, 80000, 16000).unit, Unit::apart);
  EXPECT_EQ(launch(256, 5000, 8000000, 400000).unit, Unit::slab);
  EXPECT_LE(launch(256, 5000, 8000000, 400000).vectors, 8);
  EXPECT_EQ(choose_launch(host_tuning, host_tuning.solve, 8, 20, true, 2000, 2000).unit, Unit::slab);
}

TEST(SpaiStrategy, SizeClassesAscend) {
  using impl::spai::size_class;
  int last = 0;
  for (int n = 0; n < 100000; ++n) {
    ASSERT_GE(size_class(n), last);
    ASSERT_LE(size_class(n), last + 1) << n;
    last = size_class(n);
  }
  EXPECT_EQ(size_class(8), 0);
  EXPECT_EQ(size_class(9), 1);
  EXPECT_EQ(size_class(32), 3);
  EXPECT_EQ(size_class(48), 4);
  EXPECT_EQ(size_class(64), 5);
  EXPECT_EQ(size_class(65), 6);
  EXPECT_LT(size_class(std::numeric_limits<int>::max()), impl::spai::num_size_classes);
}

TYPED_TEST(SpaiTest, ItsPatternDoesNotGrow) {
  SpaiOptions options;
  options.reuse = Reuse::extend;
  EXPECT_THROW((Spai<double, TypeParam>(options)), OptionError);
}

TYPED_TEST(SpaiTest, EveryColumnIsTheLeastOnItsPattern) {
  for (const Case& test : spai_matrices()) {
    for (const Side side : {Side::right, Side::left}) {
      for (int power = 0; power <= 2; ++power) {
        SCOPED_TRACE(test.name + ", power " + std::to_string(power) + (side == Side::left ? ", left" : ""));
        Report report;
        const auto m = invert<TypeParam>(test.matrix, with(side, power), &report);
        ASSERT_EQ(pattern_of(m), power_of(pattern_of(test.matrix), power));
        ASSERT_NO_FATAL_FAILURE(expect_least(test.matrix, m, side, 1e-10));
        EXPECT_EQ(report.breakdowns.count, 0);
        EXPECT_EQ(report.nnz, static_cast<std::int64_t>(m.nnz()));
        EXPECT_EQ(report.notes.size(), 1u);
      }
    }
  }
}

TYPED_TEST(SpaiTest, SinglePrecisionIsAsGoodAsItsBits) {
  for (const Case& test : spai_matrices()) {
    for (const Side side : {Side::right, Side::left}) {
      SCOPED_TRACE(test.name);
      Report report;
      const auto m = invert<TypeParam>(test.matrix, with(side, 2, Precision::single_precision), &report);
      ASSERT_NO_FATAL_FAILURE(expect_least(test.matrix, m, side, 1e-4));
      EXPECT_EQ(report.breakdowns.count, 0);
    }
  }
}

TYPED_TEST(SpaiTest, TheFullPatternGivesTheInverse) {
  for (const Side side : {Side::right, Side::left}) {
    const int n = 90;
    const HostMatrix<double> a = random_around_three(n, 0.3, 17);
    HostGraph full(n);
    for (auto& row : full)
      for (int j = 0; j < n; ++j) row.push_back(j);
    const Dense m = to_dense(invert<TypeParam>(a, with(side), nullptr, &full)), dense = to_dense(a);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        long double entry = 0;
        for (int k = 0; k < n; ++k) entry += static_cast<long double>(dense[i][k]) * m[k][j];
        ASSERT_NEAR(static_cast<double>(entry), i == j, 1e-10);
      }
  }
}

TYPED_TEST(SpaiTest, TheLeftInverseIsTheTransposesRightOne) {
  const HostMatrix<double> a = random_around_three(120, 0.05, 19);
  const auto left = invert<TypeParam>(a, with(Side::left, 2));
  const auto right = invert<TypeParam>(transposed(a), with(Side::right, 2));
  EXPECT_TRUE(left == transposed(right));
}

// More rows than columns, and columns of sizes that differ much.
TYPED_TEST(SpaiTest, TheLeastNormOfTallSystems) {
  const int n = 260, length = 60;
  Dense dense = to_dense(random_around_three(n, 0.5, 63));
  for (int i = 0; i < n; ++i) dense[i][11] = dense[i][3] - dense[i][7];
  HostGraph pattern(n);
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < (k < 5 ? length : 0); ++j) pattern[j].push_back(k);
  for (int j = length; j < n; ++j) pattern[j] = {j};
  for (const int spread : {0, 60}) {
    Dense scaled = dense;
    for (auto& row : scaled)
      for (int j : {20, 21}) row[j] = std::ldexp(row[j], -spread);
    const auto m = invert<TypeParam>(sparse(scaled), with(Side::right), nullptr, &pattern);
    ASSERT_NO_FATAL_FAILURE(expect_least(sparse(scaled), m, Side::right, 1e-10, {0, 1, 2, 3, 4}));
    for (int k = 0; k < 5; ++k) EXPECT_NEAR(m(11, k) - m(3, k) + m(7, k), 0, 1e-9);
  }
}

/// Column k of M has lengths[k] entries, k itself among them.
HostGraph columns_of_lengths(int n, const std::vector<int>& lengths) {
  HostGraph rows(n);
  for (int k = 0; k < n; ++k) {
    const int length = k < static_cast<int>(lengths.size()) ? lengths[k] : 1;
    for (int p = 0; p < length; ++p) rows[(k + p * 7) % n].push_back(k);
  }
  return rows;
}

TYPED_TEST(SpaiTest, SizesAroundTheEdgesOfEveryBin) {
  std::vector<int> lengths;
  for (int edge : {1, 8, 16, 24, 32, 48, 64, 96, 128}) {
    lengths.push_back(edge);
    lengths.push_back(edge + 1);
  }
  std::vector<int> columns;
  for (std::size_t k = 0; k < lengths.size(); ++k) columns.push_back(static_cast<int>(k));
  const int n = 331;  // a prime
  const HostGraph pattern = columns_of_lengths(n, lengths);
  for (double density : {0.002, 0.01, 0.2}) {
    const HostMatrix<double> a = random_around_three(n, density, 40);
    for (Strategy strategy : {Strategy::constant, Strategy::sorted}) {
      SCOPED_TRACE(density);
      SpaiOptions options = with(Side::right);
      options.strategy = strategy;
      const auto m = invert<TypeParam>(a, options, nullptr, &pattern);
      ASSERT_EQ(pattern_of(m), pattern);
      ASSERT_NO_FATAL_FAILURE(expect_least(a, m, Side::right, 1e-10, columns));
      options.setup_scalar = Precision::single_precision;
      ASSERT_NO_FATAL_FAILURE(
          expect_least(a, invert<TypeParam>(a, options, nullptr, &pattern), Side::right, 1e-3, columns));
    }
  }
}

/// A(:, J)^T (A m - e) is zero for the columns m of M.
void expect_orthogonal(const HostMatrix<double>& a, const HostMatrix<double>& m,
                       const std::vector<int>& columns, double tolerance) {
  const HostMatrix<double> b = transposed(a), lists = transposed(m);
  for (const int k : columns) {
    std::vector<double> rest(a.num_rows);
    rest[k] = -1;
    for (std::size_t p = lists.row_ptrs[k]; p < lists.row_ptrs[k + 1]; ++p)
      for (std::size_t e = b.row_ptrs[lists.col_idxs[p]]; e < b.row_ptrs[lists.col_idxs[p] + 1]; ++e)
        rest[b.col_idxs[e]] += b.values[e] * lists.values[p];
    for (std::size_t p = lists.row_ptrs[k]; p < lists.row_ptrs[k + 1]; ++p) {
      double product = 0;
      for (std::size_t e = b.row_ptrs[lists.col_idxs[p]]; e < b.row_ptrs[lists.col_idxs[p] + 1]; ++e)
        product += b.values[e] * rest[b.col_idxs[e]];
      ASSERT_NEAR(product, 0, tolerance) << "column " << k << ", entry " << lists.col_idxs[p];
    }
  }
}

// By vectors, by teams of either size, and stored, at the same time.
TYPED_TEST(SpaiTest, LongColumnsOfEveryKind) {
  const int n = 1511;  // a prime
  const std::vector<int> lengths = {3,   95,  96,  97,  107, 108, 127, 128, 200, 255, 256,
                                    257, 383, 384, 385, 400, 510, 511, 512, 513, 700};
  std::vector<int> columns;
  for (std::size_t k = 0; k < lengths.size(); ++k) columns.push_back(static_cast<int>(k));
  const HostGraph pattern = columns_of_lengths(n, lengths);
  const HostMatrix<double> a = random_around_three(n, 0.003, 77);
  for (Precision precision : {Precision::single_precision, Precision::double_precision}) {
    SpaiOptions options = with(Side::right, 1, precision);
    Report report;
    const ToolEvents events;
    const auto once = invert<TypeParam>(a, options, &report, &pattern);
    EXPECT_EQ(report.breakdowns.count, 0);
    ASSERT_NO_FATAL_FAILURE(
        expect_orthogonal(a, once, columns, precision == Precision::double_precision ? 1e-11 : 1e-3));
    EXPECT_TRUE(once == invert<TypeParam>(a, options, nullptr, &pattern));
    options.workspace_budget = 1 << 20;
    EXPECT_TRUE(once == invert<TypeParam>(a, options, nullptr, &pattern)) << "one team after the other";
    for (const char* label : {"stream_columns", "stream_long_columns", "solve_columns", "count_rows"})
      EXPECT_TRUE(!has_register_levels<TypeParam> ||
                  std::count(events.kernels().begin(), events.kernels().end(),
                             std::string("prekond::spai::numeric::") + label) > 0)
          << label;
  }
}

TYPED_TEST(SpaiTest, TheStrategiesGiveTheSameInverse) {
  for (const HostMatrix<double>& a : {generated("elasticity3d:5"), generated("circuit:40")}) {
    SpaiOptions options = with(Side::right, 1);
    Report report;
    options.strategy = Strategy::constant;
    const auto constant = invert<TypeParam>(a, options, &report);
    EXPECT_THAT(report.notes, ElementsAre(HasSubstr("strategy = constant was asked for: n2 is ")));
    options.strategy = Strategy::sorted;
    const auto sorted = invert<TypeParam>(a, options, &report);
    EXPECT_THAT(report.notes, ElementsAre(AllOf(HasSubstr("strategy = sorted was asked for"),
                                                HasSubstr("alpha = "), HasSubstr("beta = "))));
    options.strategy = Strategy::automatic;
    const auto automatic = invert<TypeParam>(a, options, &report);
    EXPECT_THAT(report.notes, ElementsAre(HasSubstr(" was chosen: ")));
    EXPECT_TRUE(automatic == constant || automatic == sorted);
    for (std::size_t k = 0; k < constant.nnz(); ++k)
      ASSERT_NEAR(constant.values[k], sorted.values[k], 1e-11 * (1 + std::abs(constant.values[k])));
    EXPECT_TRUE(constant == sorted || !is_host_space<TypeParam>);
  }
}

TYPED_TEST(SpaiTest, ThePrefilterOnlyShapesThePattern) {
  const HostMatrix<double> a = random_around_three(100, 0.1, 31);
  for (double tau : {0.05, 0.2, 1.0}) {
    HostGraph s(a.num_rows);
    for (int i = 0; i < a.num_rows; ++i)
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
        const int j = a.col_idxs[k];
        if (i == j || std::abs(a.values[k]) > tau * std::sqrt(std::abs(a(i, i) * a(j, j)))) s[i].push_back(j);
      }
    for (Side side : {Side::right, Side::left}) {
      SpaiOptions options = with(side, 2);
      options.prefilter = tau;
      const auto m = invert<TypeParam>(a, options);
      ASSERT_EQ(pattern_of(m), power_of(s, 2));
      ASSERT_NO_FATAL_FAILURE(expect_least(a, m, side, 1e-10));
    }
  }
}

TYPED_TEST(SpaiTest, APatternOfTheUsersIsObeyed) {
  const TypeParam space;
  const HostMatrix<double> a = random_around_three(90, 0.1, 51);
  HostGraph pattern = pattern_of(random_entries<double>(90, 90, 0.08, 52));
  pattern[40].clear();
  HostGraph expected = pattern;
  for (int i = 0; i < 90; ++i) {
    auto& row = expected[i];
    if (std::find(row.begin(), row.end(), i) == row.end()) row.push_back(i);
    std::sort(row.begin(), row.end());
  }
  for (Side side : {Side::right, Side::left}) {
    SpaiOptions options = with(side, 3);
    options.prefilter = 0.3;  // neither counts
    const auto m = invert<TypeParam>(a, options, nullptr, &pattern);
    ASSERT_EQ(pattern_of(m), expected);
    ASSERT_NO_FATAL_FAILURE(expect_least(a, m, side, 1e-10));
  }
  Spai<double, TypeParam> spai;
  EXPECT_THAT(message_of<InputError>([&] {
                spai.set_pattern(space, graph_of<TypeParam>({{0}, {1}, {2}}, 4));
              }),
              AllOf(HasSubstr("spai"), HasSubstr("the pattern is 3 x 4")));
  spai.numeric(space, to_device<TypeParam>(a));
  const auto before = to_host(spai.inverse());
  spai.set_pattern(space, graph_of<TypeParam>(HostGraph(5), 5));
  EXPECT_THAT(message_of<InputError>([&] { spai.symbolic(space, to_device<TypeParam>(a)); }),
              HasSubstr("spai: the pattern has 5 rows, the matrix 90"));
  EXPECT_TRUE(before == to_host(spai.inverse()));
}

TYPED_TEST(SpaiTest, ASecondNumericSolvesOnThePatternFound) {
  const TypeParam space;
  const HostMatrix<double> a = random_around_three(150, 0.05, 91), changed = with_larger_diagonal(a, 1);
  for (Reuse reuse : {Reuse::pattern, Reuse::none}) {
    for (Side side : {Side::right, Side::left}) {
      SpaiOptions options = with(side, 2);
      options.reuse = reuse;
      options.prefilter = 0.1;
      Spai<double, TypeParam> spai(options);
      spai.symbolic(space, to_device<TypeParam>(a));
      spai.numeric(space, to_device<TypeParam>(a));
      EXPECT_FALSE(spai.report().pattern_kept);
      const auto first = to_host(spai.inverse());
      spai.numeric(space, to_device<TypeParam>(changed));
      EXPECT_EQ(spai.report().pattern_kept, reuse == Reuse::pattern);
      const auto second = to_host(spai.inverse());
      ASSERT_NO_FATAL_FAILURE(expect_least(changed, second, side, 1e-10));
      if (reuse == Reuse::none) {
        EXPECT_TRUE(second == invert<TypeParam>(changed, options));
      } else {
        EXPECT_EQ(pattern_of(first), pattern_of(second));
      }
      spai.symbolic(space, to_device<TypeParam>(changed));
      spai.numeric(space, to_device<TypeParam>(changed));
      EXPECT_FALSE(spai.report().pattern_kept);
      EXPECT_TRUE(to_host(spai.inverse()) == invert<TypeParam>(changed, options)) << "symbolic begins anew";
    }
  }
}

TYPED_TEST(SpaiTest, AFailedNumericLeavesTheInverseAsItWas) {
  const TypeParam space;
  // The local system of one long column takes more than the whole pattern.
  Dense dense(60, std::vector<double>(60)), large_diagonal;
  for (int i = 0; i < 60; ++i) {
    if (i < 50) dense[i][7] = 0.5;
    dense[i][i] = 3;
  }
  large_diagonal = dense;
  for (int i = 0; i < 60; ++i) large_diagonal[i][i] = 1e6;
  const HostMatrix<double> a = sparse(dense), diagonal = sparse(large_diagonal);
  SpaiOptions options = with(Side::right, 1);
  options.reuse = Reuse::none;
  options.prefilter = 0.05;
  options.memory_budget = 3000;
  Spai<double, TypeParam> spai(options);
  spai.symbolic(space, to_device<TypeParam>(diagonal));
  spai.numeric(space, to_device<TypeParam>(diagonal));
  const auto before = to_host(spai.inverse());
  EXPECT_EQ(before.nnz(), 60u);
  EXPECT_THAT(
      message_of<InputError>([&] { spai.numeric(space, to_device<TypeParam>(a)); }),
      AllOf(HasSubstr("spai: a column with "), HasSubstr("memory_budget = 3000"), HasSubstr("prefilter")));
  EXPECT_THAT(message_of<InputError>(
                  [&] { spai.numeric(space, to_device<TypeParam>(random_around_three(21, 0.5, 1))); }),
              HasSubstr("spai: numeric was given 21 rows, symbolic 60; call symbolic again"));
  EXPECT_TRUE(before == to_host(spai.inverse()));
  EXPECT_EQ(spai.report().nnz, 60);
  options.prefilter = 0;
  options.power = 3;
  options.memory_budget = 10000;
  EXPECT_THAT(message_of<InputError>([&] { invert<TypeParam>(random_around_three(60, 0.3, 92), options); }),
              HasSubstr("10000"));
  EXPECT_THAT(message_of<InputError>([&] {
                invert<TypeParam>(sparse<double>({{1}, {2}}), options);
              }),
              HasSubstr("2 rows but only 1 columns"));
}

TYPED_TEST(SpaiTest, RefusesToApplyBeforeNumeric) {
  const TypeParam space;
  Spai<double, TypeParam> spai;
  spai.symbolic(space, to_device<TypeParam>(random_around_three(10, 0.5, 1)));
  const MultiVector<double, TypeParam> x("x", 10, 1), y("y", 10, 1);
  const auto workspace = spai.make_workspace(space, 1);
  EXPECT_THAT(message_of<std::logic_error>([&] { spai.apply(space, x, y, *workspace); }),
              HasSubstr("spai: apply before numeric"));
}

TYPED_TEST(SpaiTest, RankDeficientColumnsHaveTheLeastNorm) {
  Dense dense = to_dense(random_around_three(40, 0.4, 61));
  for (int i = 0; i < 40; ++i) {
    dense[i][1] = 2 * dense[i][0];
    dense[i][7] = dense[i][3] - dense[i][4];
  }
  HostGraph full(40);
  for (auto& row : full)
    for (int j = 0; j < 40; ++j) row.push_back(j);
  // Also where a column of A is not a number: it is left out, and takes nothing with it.
  Dense with_nan = dense;
  with_nan[5][9] = std::nan("");
  Dense without = dense;
  for (auto& row : without) row[9] = 0;
  for (Precision precision : {Precision::single_precision, Precision::double_precision}) {
    for (const Dense& matrix : {dense, with_nan}) {
      const bool has_nan = std::isnan(matrix[5][9]);
      Report report;
      const auto m = invert<TypeParam>(sparse(matrix), with(Side::right, 1, precision), &report, &full);
      EXPECT_EQ(report.breakdowns.count, 40);
      EXPECT_EQ(report.breakdowns.first_row, 0);
      EXPECT_LT(report.breakdowns.first_pivot, 1e-12);
      EXPECT_THAT(report.breakdowns.action, HasSubstr("40 columns of rank-deficient systems have the "
                                                      "solution of the least norm, as far as rounding tells "
                                                      "their rank, 0 fell back"));
      for (int k = 0; k < 40; ++k) {
        // Orthogonal to what A maps to zero.
        EXPECT_NEAR(2 * m(0, k) - m(1, k), 0, 1e-11);
        EXPECT_NEAR(m(7, k) - m(3, k) + m(4, k), 0, 1e-11);
        if (has_nan) {
          EXPECT_EQ(m(9, k), 0);
        }
      }
      std::vector<int> others;
      for (int k = 0; k < 40; ++k) others.push_back(k);
      ASSERT_NO_FATAL_FAILURE(expect_least(sparse(has_nan ? without : dense), m, Side::right, 1e-10, others));
    }
  }
}

TYPED_TEST(SpaiTest, EmptyRowsAndColumnsFallBackToTheDiagonal) {
  Dense dense = to_dense(random_around_three(30, 0.1, 71));
  for (int j = 0; j < 30; ++j) dense[4][j] = dense[j][9] = 0;
  for (Precision precision : {Precision::single_precision, Precision::double_precision}) {
    for (Side side : {Side::right, Side::left}) {
      Report report;
      const auto m = invert<TypeParam>(sparse(dense), with(side, 1, precision), &report);
      ASSERT_NO_FATAL_FAILURE(expect_finite(m, side));
      // Nothing reaches the one unit vector, and the other's own column is zero.
      const int alone = side == Side::right ? 4 : 9;
      for (int k : {4, 9})
        for (int i = 0; i < 30; ++i) EXPECT_TRUE((side == Side::right ? m(i, k) : m(k, i)) == (i == k));
      EXPECT_THAT(report.breakdowns.action, HasSubstr("2 fell back to the diagonal"));
      std::vector<int> others;
      for (int k = 0; k < 30; ++k)
        if (k != alone) others.push_back(k);
      ASSERT_NO_FATAL_FAILURE(expect_least(sparse(dense), m, side,
                                           precision == Precision::double_precision ? 1e-10 : 1e-4, others));
    }
  }
  HostMatrix<double> zero;
  zero.num_rows = zero.num_cols = 12;
  zero.row_ptrs.assign(13, 0);
  Report report;
  const auto m = invert<TypeParam>(zero, {}, &report);
  EXPECT_EQ(m.nnz(), 12u);
  EXPECT_EQ(m.values, std::vector<double>(12, 1.0));
  EXPECT_EQ(report.breakdowns.count, 12);
}

TYPED_TEST(SpaiTest, AwkwardMatricesGiveFiniteInverses) {
  for (const auto& test : awkward_patterns<double>()) {
    for (Side side : {Side::right, Side::left}) {
      SCOPED_TRACE(test.name);
      Report report;
      ASSERT_NO_FATAL_FAILURE(expect_finite(invert<TypeParam>(test.matrix, with(side, 2), &report), side));
      EXPECT_EQ(report.breakdowns.count > 0, report.breakdowns.first_row >= 0);
      EXPECT_LE(report.breakdowns.count, test.matrix.num_rows);
    }
  }
  const HostMatrix<double> good = random_around_three(20, 0.3, 3);
  for (double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    for (std::size_t k : {std::size_t(0), good.nnz() / 2, good.nnz() - 1}) {
      HostMatrix<double> a = good;
      a.values[k] = value;
      for (Precision precision : {Precision::single_precision, Precision::double_precision}) {
        Report report;
        ASSERT_NO_FATAL_FAILURE(
            expect_finite(invert<TypeParam>(a, with(Side::right, 1, precision), &report)));
        EXPECT_GT(report.breakdowns.count, 0);
      }
    }
  }
}

TYPED_TEST(SpaiTest, ScalesOfAnySize) {
  const HostMatrix<double> a = random_around_three(60, 0.1, 81);
  for (Precision precision : {Precision::single_precision, Precision::double_precision}) {
    const auto plain = invert<TypeParam>(a, with(Side::right, 1, precision));
    for (int exponent : {-300, 300}) {
      HostMatrix<double> scaled = a;
      for (double& value : scaled.values) value = std::ldexp(value, exponent);
      Report report;
      const auto m = invert<TypeParam>(scaled, with(Side::right, 1, precision), &report);
      for (std::size_t k = 0; k < m.nnz(); ++k) ASSERT_EQ(std::ldexp(m.values[k], exponent), plain.values[k]);
      EXPECT_EQ(report.breakdowns.count, 0);
    }
  }
  // Columns of A from 2^-120 to 2^120: the unknowns take it all.
  HostMatrix<double> wide = a;
  for (std::size_t k = 0; k < a.nnz(); ++k)
    wide.values[k] = std::ldexp(a.values[k], 4 * (a.col_idxs[k] - 30));
  const auto plain = invert<TypeParam>(a, with(Side::right)), m = invert<TypeParam>(wide, with(Side::right));
  for (int i = 0; i < 60; ++i)
    for (std::size_t k = m.row_ptrs[i]; k < m.row_ptrs[i + 1]; ++k)
      ASSERT_EQ(std::ldexp(m.values[k], 4 * (i - 30)), plain.values[k]);
}

TYPED_TEST(SpaiTest, ColumnsThatSinglePrecisionCannotSolveAreDoneInDouble) {
  Dense hilbert(9, std::vector<double>(9));
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 9; ++j) hilbert[i][j] = 1.0 / (i + j + 1);
  Report report;
  const auto m =
      invert<TypeParam>(sparse(hilbert), with(Side::right, 1, Precision::single_precision), &report);
  EXPECT_EQ(report.breakdowns.count, 0);
  EXPECT_TRUE(m == invert<TypeParam>(sparse(hilbert), with(Side::right)));
}

TYPED_TEST(SpaiTest, ADenseRowAndAHugeColumn) {
  const int n = 1100;
  HostMatrix<double> arrow;
  arrow.num_rows = arrow.num_cols = n;
  arrow.row_ptrs = {0};
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      if (i != j && i != 0 && j != 0) continue;
      arrow.col_idxs.push_back(j);
      arrow.values.push_back(i == j ? 4 + i % 7 : 0.01 * (1 + (i + 2 * j) % 5));
    }
    arrow.row_ptrs.push_back(arrow.nnz());
  }
  for (Side side : {Side::right, Side::left}) {
    SpaiOptions options = with(side);
    options.workspace_budget = 1 << 16;
    Report report;
    const auto m = invert<TypeParam>(arrow, options, &report);
    ASSERT_EQ(pattern_of(m), pattern_of(arrow));
    ASSERT_NO_FATAL_FAILURE(expect_least(arrow, m, side, 1e-10, {1, 500, n - 1}));
    EXPECT_THAT(report.notes,
                ElementsAre(HasSubstr("strategy = sorted was chosen: n2 is 1100 at most and 3.00 on")));
    // Column 0 (row 0) has the full pattern: its residual is zero.
    const Dense a = to_dense(arrow), inverse = to_dense(m);
    for (int i = 0; i < n; ++i) {
      double sum = 0;
      for (int k = 0; k < n; ++k)
        sum += side == Side::right ? a[i][k] * inverse[k][0] : inverse[0][k] * a[k][i];
      ASSERT_NEAR(sum, i == 0, 1e-12);
    }
  }
}

TYPED_TEST(SpaiTest, ColumnsOfThousandsOfRows) {
  const int n = 6000, dense = 37;
  HostMatrix<double> a;
  a.num_rows = a.num_cols = n;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < dense; ++j) {
      a.col_idxs.push_back(j);
      a.values.push_back(i == j ? 90 : std::sin(1.0 + i * (j + 1)));
    }
    if (i >= dense) {
      a.col_idxs.push_back(i);
      a.values.push_back(2);
    }
    a.row_ptrs.push_back(a.nnz());
  }
  HostGraph pattern(n);
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < dense && k < dense; ++i) pattern[i].push_back(k);
  for (const Precision precision : {Precision::single_precision, Precision::double_precision}) {
    SpaiOptions options = with(Side::right, 1, precision);
    options.workspace_budget = 1 << 20;
    const auto m = invert<TypeParam>(a, options, nullptr, &pattern);
    const double tolerance = precision == Precision::double_precision ? 1e-10 : 1e-4;
    ASSERT_NO_FATAL_FAILURE(expect_least(a, m, Side::right, tolerance, {0, 20, dense - 1, dense, n - 1}));
  }
}

TYPED_TEST(SpaiTest, SameBitsTwiceAndInSlabsOfAnySizeAndOnFewerThreads) {
  for (const HostMatrix<double>& a :
       {generated("convection_diffusion3d:7"), random_around_three(200, 0.1, 101)}) {
    for (Precision precision : {Precision::single_precision, Precision::double_precision}) {
      SpaiOptions options = with(Side::right, 1, precision);
      const auto once = invert<TypeParam>(a, options);
      EXPECT_TRUE(once == invert<TypeParam>(a, options));
      options.workspace_budget = 1 << 16;
      EXPECT_TRUE(once == invert<TypeParam>(a, options));
      const TypeParam one_thread = of_one_thread<TypeParam>();
      const auto device = to_device<TypeParam>(a);
      Spai<double, TypeParam> spai(options);
      spai.numeric(one_thread, device);
      one_thread.fence();
      EXPECT_TRUE(once == to_host(spai.inverse()));
    }
  }
}

TYPED_TEST(SpaiTest, ColumnsOfOtherRanksAreSkipped) {
  const HostMatrix<double> a = random_around_three(80, 0.1, 111), wide = with_columns_of_other_ranks(a);
  for (Side side : {Side::right, Side::left}) {
    for (double tau : {0.0, 0.05}) {
      SpaiOptions options = with(side, 2);
      options.prefilter = tau;
      EXPECT_TRUE(invert<TypeParam>(a, options) == invert<TypeParam>(wide, options));
    }
  }
}

TYPED_TEST(SpaiTest, TakesARankWithoutRows) {
  const TypeParam space;
  HostMatrix<double> a;
  a.num_cols = 3;
  Spai<double, TypeParam> spai;
  spai.symbolic(space, to_device<TypeParam>(a));
  spai.numeric(space, to_device<TypeParam>(a));
  spai.numeric(space, to_device<TypeParam>(a));
  EXPECT_EQ(spai.report().nnz, 0);
  const MultiVector<double, TypeParam> x("x", 0, 2), y("y", 0, 2);
  EXPECT_NO_THROW(spai.apply(space, x, y, *spai.make_workspace(space, 2)));
}

TYPED_TEST(SpaiTest, FloatMatrixInEitherPrecision) {
  const HostMatrix<float> a = convert<float>(random_around_three(97, 0.05, 121));
  for (Precision precision : {Precision::single_precision, Precision::double_precision}) {
    const auto m = invert<TypeParam>(a, with(Side::right, 1, precision));
    ASSERT_NO_FATAL_FAILURE(expect_least(convert<double>(a), convert<double>(m), Side::right, 1e-5));
  }
}

TYPED_TEST(SpaiTest, TheRegistryBuildsItWithEveryOption) {
  const OptionMap options = {{"power", std::int64_t(3)},
                             {"prefilter", 0.02},
                             {"side", std::string("left")},
                             {"setup_scalar", std::string("single")},
                             {"strategy", std::string("sorted")},
                             {"reuse", std::string("none")},
                             {"memory_budget", std::int64_t(1) << 30},
                             {"storage", std::string("half")},
                             {"storage_format", std::string("jad")}};
  const auto built = create_preconditioner<double, TypeParam>("spai", options);
  EXPECT_EQ(built->name(), "spai");
  EXPECT_FALSE(built->is_symmetric());
  EXPECT_TRUE(built->is_nonsymmetric());
  const auto* spai = dynamic_cast<const Spai<double, TypeParam>*>(built.get());
  ASSERT_TRUE(spai);
  SpaiOptions seen = spai->options();
  EXPECT_EQ(OptionFields::of(seen).values(), options);
  const auto refuse = [](const OptionMap& map) {
    return message_of<OptionError>([&] { create_preconditioner<double, TypeParam>("spai", map); });
  };
  EXPECT_THAT(refuse({{"pover", std::int64_t(2)}}), AllOf(HasSubstr("pover"), HasSubstr("'power'")));
  EXPECT_THAT(refuse({{"prefilter", 1.5}}), HasSubstr("prefilter"));
  EXPECT_THAT(refuse({{"side", std::string("middle")}}), HasSubstr("side"));
  EXPECT_THAT(refuse({{"strategy", std::string("best")}}), HasSubstr("strategy"));
  EXPECT_THAT(refuse({{"memory_budget", std::int64_t(1000)}}), HasSubstr("memory_budget"));
}

TYPED_TEST(SpaiTest, ConjugateGradientsRefuseIt) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(generated("poisson2d:5"));
  Spai<double, TypeParam> spai;
  spai.numeric(space, a);
  const Vector<double, TypeParam> b("b", 25), x("x", 25);
  EXPECT_THAT(message_of<InputError>([&] {
                Cg<double, TypeParam>().solve(space, CsrOperator<double, TypeParam>(a), &spai, b, x, {});
              }),
              AllOf(HasSubstr("cg"), HasSubstr("spai is not symmetric")));
}

TYPED_TEST(SpaiTest, CountsItsOperationsAndBytes) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(generated("tridiagonal:50"));
  Spai<double, TypeParam> spai;
  spai.numeric(space, a);
  // 2 x 3 entries with 3 x 2, 2 times 4 x 3, and 46 times 5 x 3.
  const double flops =
      2 * (2 * 3 * 4 - 2 * 8 / 3.0) + 2 * (2 * 4 * 9 - 2 * 27 / 3.0) + 46 * (2 * 5 * 9 - 2 * 27 / 3.0);
  EXPECT_NEAR(spai.report().numeric_flops, flops, 1e-9);
  EXPECT_EQ(spai.report().nnz, 148);
  EXPECT_EQ(spai.report().apply_flops, 2 * 148);
  EXPECT_EQ(spai.report().bytes,
            std::int64_t(51 * sizeof(std::size_t) + 148 * (sizeof(int) + sizeof(double))));
  const std::string sizes = " was chosen: n2 is 3 at most and 2.96 on average, alpha = 2, beta = 2";
  EXPECT_THAT(spai.report().notes,
              ElementsAre(has_register_levels<TypeParam>
                              ? "strategy = sorted" + sizes + "; the paper's rule says constant"
                              : "strategy = constant" + sizes));
}

TYPED_TEST(SpaiTest, EveryKernelAndViewIsLabelled) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(random_around_three(200, 0.05, 141));
  SpaiOptions options = with(Side::right, 2, Precision::single_precision);
  options.prefilter = 0.001;
  options.storage = Storage::half;
  Spai<double, TypeParam> spai(options);
  const ToolEvents events;
  spai.symbolic(space, a);
  spai.numeric(space, a);
  for (const auto& labels : {events.kernels(), events.allocations()})
    for (const auto& label : labels)
      EXPECT_THAT(label,
                  ::testing::AnyOf(::testing::StartsWith("prekond::"), ::testing::StartsWith("Kokkos::")));
  EXPECT_THAT(events.kernels(),
              ::testing::Contains(has_register_levels<TypeParam> ? "prekond::spai::numeric::stream_columns"
                                                                 : "prekond::spai::numeric::solve_columns"));
}

TYPED_TEST(SpaiTest, HoldsNoMoreThanItReports) {
  const TypeParam space;
  for (Side side : {Side::right, Side::left}) {
    const auto a = to_device<TypeParam>(generated("convection_diffusion3d:14"));
    SpaiOptions options = with(side, 1);
    options.workspace_budget = 1 << 20;
    Spai<double, TypeParam> spai(options);
    spai.symbolic(space, a);
    const MemoryPeak memory;
    spai.numeric(space, a);
    const auto& m = spai.inverse();
    const std::int64_t peak = memory.without({m.row_ptrs.data(), m.col_idxs.data(), m.values.data()});
    EXPECT_LE(peak, spai.report().setup_bytes * 102 / 100 + 100000);
    // A^T, M^T, and some bytes a column; a transposition's row pointers.
    EXPECT_LE(spai.report().setup_bytes, a.bytes() + m.bytes() + 40 * a.num_rows + (3 << 20));
  }
}

TYPED_TEST(SpaiTest, AppliesMInEveryStorage) {
  const TypeParam space;
  const HostMatrix<double> a = random_around_three(211, 0.03, 151);
  std::vector<double> x(211);
  for (int i = 0; i < 211; ++i) x[i] = std::sin(1.0 + i);
  const auto m = invert<TypeParam>(a, with(Side::right));
  const std::vector<double> expected = multiply(m, x);
  HostMatrix<double> magnitudes = m;
  for (double& value : magnitudes.values) value = std::abs(value);
  std::vector<double> sizes = x;
  for (double& value : sizes) value = std::abs(value);
  sizes = multiply(magnitudes, sizes);
  struct StorageCase {
    Storage storage;
    double error;
  };
  for (const auto& [storage, error] : std::vector<StorageCase>{{Storage::full, 1e-15},
                                                               {Storage::single_precision, 0x1p-24},
                                                               {Storage::half, 0x1p-11},
                                                               {Storage::bfloat16, 0x1p-8}}) {
    SpaiOptions options = with(Side::right);
    options.storage = storage;
    Spai<double, TypeParam> spai(options);
    spai.numeric(space, to_device<TypeParam>(a));
    const auto y = applied<TypeParam>(spai, x);
    for (int i = 0; i < 211; ++i) ASSERT_NEAR(y[i], expected[i], 2 * error * sizes[i]);
    EXPECT_EQ(spai.inverse().values.extent(0) == 0, storage != Storage::full);
    spai.numeric(space, to_device<TypeParam>(a));
    EXPECT_TRUE(spai.report().pattern_kept);
    EXPECT_EQ(applied<TypeParam>(spai, x), y);
  }
}

TYPED_TEST(SpaiTest, NeedsFewerIterationsThanTheDiagonal) {
  for (const char* spec : {"convection_diffusion3d:14", "convection_diffusion3d:14,peclet=1000"}) {
    const HostMatrix<double> a = generated(spec);
    const auto jacobi = iterations<TypeParam>(a, "jacobi", {}, 300);
    ASSERT_LE(jacobi, 300);
    for (const char* side : {"right", "left"}) {
      const auto with_power = [&](int k) {
        return iterations<TypeParam>(a, "spai", {{"power", std::int64_t(k)}, {"side", std::string(side)}},
                                     300);
      };
      EXPECT_LT(with_power(1), jacobi * 9 / 10) << spec;
      EXPECT_LT(with_power(2), with_power(1)) << spec;
    }
  }
}

TEST(SpaiRealMatrices, NeedsFewerIterationsThanTheDiagonal) {
  using Space = Kokkos::DefaultExecutionSpace;
  for (const auto& file :
       matrices_named({"general/convection_diffusion2d.mtx", "general/skewed_rows.mtx"},
                      {"general/orsirr_1.mtx.gz", "general/sherman4.mtx.gz", "general/pde900.mtx.gz",
                       "general/jpwh_991.mtx", "general/add32.mtx.gz"})) {
    const HostMatrix<double> a = to_host(read_matrix_market<double>(file.string()));
    const auto jacobi = iterations<Space>(a, "jacobi", {}, 2000);
    const auto spai = iterations<Space>(a, "spai", {{"power", std::int64_t(1)}}, 2000);
    EXPECT_LT(spai, jacobi) << file;
  }
}

/// Every matrix of the collection ends with a finite inverse, and says what broke down.
TEST(SpaiRealMatrices, EveryInverseIsFinite) {
  using Space = Kokkos::DefaultExecutionSpace;
  int seen = 0;
  for (const auto& file : matrices_of_kind("general", 40000)) {
    const HostMatrix<double> a = to_host(read_matrix_market<double>(file.string()));
    if (a.num_cols != a.num_rows) continue;
    Report report;
    const auto m = invert<Space>(a, with(Side::right, 1, Precision::single_precision), &report);
    ASSERT_NO_FATAL_FAILURE(expect_finite(m)) << file;
    EXPECT_EQ(report.breakdowns.count > 0, report.breakdowns.first_row >= 0) << file;
    ++seen;
  }
  EXPECT_GE(seen, has_collection() ? 30 : 8);
}

}  // namespace
}  // namespace prekond::testing
