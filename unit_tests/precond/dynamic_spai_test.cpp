// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/matrices.hpp"
#include "testing/one_thread.hpp"
#include "testing/preconditioned_iterations.hpp"
#include "testing/reference_spai.hpp"
#include "testing/spaces.hpp"
#include "testing/spd_matrices.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/precond/dynamic_spai.hpp>
#include <prekond/precond/registry.hpp>

#include <limits>
#include <random>
#include <set>
#include <tuple>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Random entries and 2.5 to 3 on the diagonal: no two candidates gain the same.
HostMatrix<double> random_without_ties(int n, double density, unsigned seed) {
  std::mt19937 random(seed);
  Dense dense(n, std::vector<double>(n, 0.0));
  for (auto& row : dense)
    for (double& value : row)
      if (double(random()) < density * 0x1p32) value = double(random()) * 0x1p-31 - 1;
  for (int i = 0; i < n; ++i) dense[i][i] = (i % 3 == 1 ? -1 : 1) * (2.5 + double(random()) * 0x1p-33);
  return sparse(dense);
}

template <class Space, class Scalar>
HostMatrix<Scalar> invert(const HostMatrix<Scalar>& a, const DynamicSpaiOptions& options,
                          Report* report = nullptr, const HostGraph* pattern = nullptr) {
  const Space space;
  const auto device = to_device<Space>(a);
  DynamicSpai<Scalar, Space> spai(options);
  if (pattern) spai.set_pattern(space, graph_of<Space>(*pattern, a.num_rows));
  spai.symbolic(space, device);
  spai.numeric(space, device);
  if (report) *report = spai.report();
  return to_host(spai.inverse());
}

/// Column k as the algorithm says, with a new dense least-squares problem in each step. `b` is A^T by rows,
/// `bt` is A.
std::vector<int> reference_pattern(const HostMatrix<double>& b, const HostMatrix<double>& bt, int k,
                                   std::vector<int> cols, const DynamicSpaiOptions& options,
                                   double* residual) {
  const int n = static_cast<int>(b.num_rows);
  for (int step = 0;; ++step) {
    const LocalProblem problem = local_problem(b, k, cols);
    const LeastSolution solution = least_squares(problem.matrix, problem.rhs);
    *residual = static_cast<double>(solution.residual);
    if (*residual <= options.epsilon || *residual <= 64 * 0x1p-52 || step == options.max_steps ||
        static_cast<int>(cols.size()) >= options.max_fill)
      return cols;
    std::vector<long double> r(n, 0);
    for (std::size_t i = 0; i < problem.rows.size(); ++i) {
      r[problem.rows[i]] = problem.rhs[i];
      for (std::size_t c = 0; c < cols.size(); ++c)
        r[problem.rows[i]] -= problem.matrix[i][c] * solution.x[c];
    }
    std::set<int> candidates;
    for (int i = 0; i < n; ++i)
      for (std::size_t e = bt.row_ptrs[i]; std::abs(r[i]) > 1e-10 * *residual && e < bt.row_ptrs[i + 1]; ++e)
        if (bt.col_idxs[e] < n) candidates.insert(bt.col_idxs[e]);
    for (const int col : cols) candidates.erase(col);
    std::vector<std::pair<long double, int>> gains;
    long double mean = 0;
    for (const int j : candidates) {
      long double dot = 0, square = 0;
      for (std::size_t e = b.row_ptrs[j]; e < b.row_ptrs[j + 1]; ++e) {
        if (b.col_idxs[e] >= n) continue;
        dot += b.values[e] * r[b.col_idxs[e]];
        square += static_cast<long double>(b.values[e]) * b.values[e];
      }
      gains.push_back({square > 0 ? -dot * dot / square : 0, j});
      mean += gains.back().first / static_cast<long double>(candidates.size());
    }
    std::sort(gains.begin(), gains.end());
    const std::size_t before = cols.size();
    for (const auto& [gain, j] : gains) {
      const std::size_t taken = cols.size() - before;
      if (taken == std::size_t(options.step_size) || cols.size() == std::size_t(options.max_fill)) break;
      if (gain > mean * (1 - 1e-14L) || -gain <= 1e-14L * *residual * *residual) break;
      cols.push_back(j);
    }
    if (cols.size() == before) return cols;
  }
}

/// Patterns and residuals are the reference's.
void expect_reference(const HostMatrix<double>& a, const HostMatrix<double>& m,
                      const DynamicSpaiOptions& options, const HostGraph& start = {}) {
  const bool right = options.side == Side::right;
  const HostMatrix<double> at = transposed(a);
  HostMatrix<double> square_at = at;
  const HostMatrix<double>&b = right ? square_at : a, &bt = right ? a : square_at;
  const HostMatrix<double> lists = right ? transposed(m) : m;
  for (int k = 0; k < lists.num_rows; ++k) {
    double expected = 0;
    auto cols =
        reference_pattern(b, bt, k, start.empty() ? std::vector<int>{k} : start[k], options, &expected);
    std::sort(cols.begin(), cols.end());
    const std::vector<int> found(lists.col_idxs.begin() + lists.row_ptrs[k],
                                 lists.col_idxs.begin() + lists.row_ptrs[k + 1]);
    ASSERT_EQ(found, cols) << "column " << k;
    const std::vector<double> values(lists.values.begin() + lists.row_ptrs[k],
                                     lists.values.begin() + lists.row_ptrs[k + 1]);
    ASSERT_NEAR(static_cast<double>(residual_of(local_problem(b, k, cols), values)), expected, 1e-10)
        << "column " << k;
  }
}

template <class Space>
class DynamicSpaiTest : public ::testing::Test {};
TYPED_TEST_SUITE(DynamicSpaiTest, TestSpaces, SpaceNames);

TYPED_TEST(DynamicSpaiTest, EveryColumnGrowsAsTheReferenceDoes) {
  for (int n : {1, 2, 5, 33, 120}) {
    const HostMatrix<double> a = random_without_ties(n, n > 50 ? 0.06 : 0.2, 11u + n);
    for (Side side : {Side::right, Side::left}) {
      for (const auto& [epsilon, max_steps, step_size, max_fill] :
           std::vector<std::tuple<double, int, int, int>>{{0.4, 5, 5, 50},
                                                          {0.1, 3, 2, 50},
                                                          {0.0, 4, 1, 50},
                                                          {0.2, 10, 8, 21},
                                                          {0.05, 3, 11, 40},
                                                          {0.3, 0, 5, 50}}) {
        SCOPED_TRACE(std::to_string(n) + ", epsilon " + std::to_string(epsilon) + ", step " +
                     std::to_string(step_size));
        DynamicSpaiOptions options;
        options.side = side;
        options.epsilon = epsilon;
        options.max_steps = max_steps;
        options.step_size = step_size;
        options.max_fill = max_fill;
        Report report;
        const auto m = invert<TypeParam>(a, options, &report);
        ASSERT_NO_FATAL_FAILURE(expect_reference(a, m, options));
        EXPECT_EQ(report.breakdowns.count, 0);
        EXPECT_EQ(report.nnz, static_cast<std::int64_t>(m.nnz()));
        EXPECT_THAT(report.notes,
                    ElementsAre(HasSubstr(" of " + std::to_string(n) + " columns reached epsilon")));
      }
    }
  }
}

TYPED_TEST(DynamicSpaiTest, StartsFromTheUsersPattern) {
  const HostMatrix<double> a = random_without_ties(70, 0.05, 31);
  DynamicSpaiOptions options;
  options.epsilon = 0.1;
  const HostGraph of_a = pattern_of(a), of_columns = pattern_of(transposed(a));
  ASSERT_NO_FATAL_FAILURE(
      expect_reference(a, invert<TypeParam>(a, options, nullptr, &of_a), options, of_columns));
  HostGraph pattern(70), columns(70);
  for (int i = 0; i < 70; ++i) {
    for (int j = i % 7; j <= i; j += 7) pattern[i].push_back(j);
    if (pattern[i].empty() || pattern[i].back() != i) pattern[i].push_back(i);
    for (int j : pattern[i]) columns[j].push_back(i);
  }
  options.max_fill = 12;  // some begin with more
  ASSERT_NO_FATAL_FAILURE(
      expect_reference(a, invert<TypeParam>(a, options, nullptr, &pattern), options, columns));
  options.side = Side::left;
  ASSERT_NO_FATAL_FAILURE(
      expect_reference(a, invert<TypeParam>(a, options, nullptr, &pattern), options, pattern));
}

// More rows and candidates than the smallest workspace has.
TYPED_TEST(DynamicSpaiTest, WorkspacesGrow) {
  const HostMatrix<double> a = random_without_ties(420, 0.25, 41);
  DynamicSpaiOptions options;
  options.epsilon = 0.2;
  options.max_steps = 2;
  options.step_size = 3;
  options.workspace_budget = 1 << 16;
  const auto m = invert<TypeParam>(a, options);
  const HostMatrix<double> b = transposed(a), lists = transposed(m);
  for (int k : {0, 17, 419}) {
    double expected = 0;
    auto cols = reference_pattern(b, a, k, {k}, options, &expected);
    std::sort(cols.begin(), cols.end());
    EXPECT_EQ(std::vector<int>(lists.col_idxs.begin() + lists.row_ptrs[k],
                               lists.col_idxs.begin() + lists.row_ptrs[k + 1]),
              cols);
  }
  options.memory_budget = 1 << 16;
  EXPECT_THAT(message_of<InputError>([&] { invert<TypeParam>(a, options); }),
              AllOf(HasSubstr("dynamic_spai: "), HasSubstr("memory_budget = 65536")));
}

TYPED_TEST(DynamicSpaiTest, SinglePrecisionReachesEpsilonToo) {
  const HostMatrix<double> a = random_without_ties(120, 0.05, 51);
  DynamicSpaiOptions options;
  options.epsilon = 0.3;
  options.max_steps = 20;
  Report in_double, in_single;
  const auto m = invert<TypeParam>(a, options, &in_double);
  options.setup_scalar = Precision::single_precision;
  const auto s = invert<TypeParam>(a, options, &in_single);
  EXPECT_EQ(in_single.notes, in_double.notes);
  EXPECT_NEAR(static_cast<double>(s.nnz()), static_cast<double>(m.nnz()),
              0.02 * static_cast<double>(m.nnz()));
  const HostMatrix<double> b = transposed(a), lists = transposed(s);
  for (int k = 0; k < 120; ++k) {
    const std::vector<int> cols(lists.col_idxs.begin() + lists.row_ptrs[k],
                                lists.col_idxs.begin() + lists.row_ptrs[k + 1]);
    const LocalProblem problem = local_problem(b, k, cols);
    const std::vector<double> values(lists.values.begin() + lists.row_ptrs[k],
                                     lists.values.begin() + lists.row_ptrs[k + 1]);
    ASSERT_NEAR(static_cast<double>(residual_of(problem, values) -
                                    least_squares(problem.matrix, problem.rhs).residual),
                0, 1e-5);
  }
  const auto f = invert<TypeParam>(convert<float>(a), options);
  EXPECT_NEAR(static_cast<double>(f.nnz()), static_cast<double>(m.nnz()),
              0.02 * static_cast<double>(m.nnz()));
}

TYPED_TEST(DynamicSpaiTest, ASecondNumericSolvesOnThePatternFound) {
  const TypeParam space;
  const HostMatrix<double> a = random_without_ties(100, 0.05, 61), changed = with_larger_diagonal(a, 1);
  for (Reuse reuse : {Reuse::pattern, Reuse::none}) {
    for (Side side : {Side::right, Side::left}) {
      DynamicSpaiOptions options;
      options.side = side;
      options.reuse = reuse;
      options.epsilon = 0.1;
      DynamicSpai<double, TypeParam> spai(options);
      spai.numeric(space, to_device<TypeParam>(a));
      const auto first = to_host(spai.inverse());
      EXPECT_FALSE(spai.report().pattern_kept);
      spai.numeric(space, to_device<TypeParam>(changed));
      EXPECT_EQ(spai.report().pattern_kept, reuse == Reuse::pattern);
      const auto second = to_host(spai.inverse());
      if (reuse == Reuse::none) {
        EXPECT_TRUE(second == invert<TypeParam>(changed, options));
        continue;
      }
      ASSERT_EQ(pattern_of(first), pattern_of(second));
      spai.numeric(space, to_device<TypeParam>(a));
      const auto again = to_host(spai.inverse());
      for (std::size_t k = 0; k < first.nnz(); ++k) ASSERT_NEAR(again.values[k], first.values[k], 1e-12);
      EXPECT_THAT(message_of<InputError>(
                      [&] { spai.numeric(space, to_device<TypeParam>(random_without_ties(7, 1, 1))); }),
                  HasSubstr("dynamic_spai: numeric was given 7 rows, symbolic 100; call symbolic again"));
      EXPECT_TRUE(again == to_host(spai.inverse()));
    }
  }
  DynamicSpaiOptions extend;
  extend.reuse = Reuse::extend;
  EXPECT_THROW((DynamicSpai<double, TypeParam>(extend)), OptionError);
}

TYPED_TEST(DynamicSpaiTest, SameBitsTwiceInChunksOfAnySizeAndOnFewerThreads) {
  const HostMatrix<double> a = generated("convection_diffusion3d:11");
  for (Precision precision : {Precision::single_precision, Precision::double_precision}) {
    DynamicSpaiOptions options;
    options.epsilon = 0.2;
    options.setup_scalar = precision;
    const auto once = invert<TypeParam>(a, options);
    EXPECT_TRUE(once == invert<TypeParam>(a, options));
    options.workspace_budget = 1 << 16;
    EXPECT_TRUE(once == invert<TypeParam>(a, options));
    const TypeParam one_thread = of_one_thread<TypeParam>();
    DynamicSpai<double, TypeParam> spai(options);
    spai.numeric(one_thread, to_device<TypeParam>(a));
    one_thread.fence();
    EXPECT_TRUE(once == to_host(spai.inverse()));
  }
}

TYPED_TEST(DynamicSpaiTest, AwkwardMatricesGiveFiniteInverses) {
  for (const auto& test : awkward_patterns<double>()) {
    for (Side side : {Side::right, Side::left}) {
      for (Precision precision : {Precision::single_precision, Precision::double_precision}) {
        SCOPED_TRACE(test.name);
        DynamicSpaiOptions options;
        options.side = side;
        options.setup_scalar = precision;
        options.epsilon = 0.01;
        Report report;
        const auto m = invert<TypeParam>(test.matrix, options, &report);
        const auto lists = side == Side::right ? transposed(m) : m;
        for (std::int64_t k = 0; k < lists.num_rows; ++k) {
          double largest = 0;
          for (std::size_t p = lists.row_ptrs[k]; p < lists.row_ptrs[k + 1]; ++p) {
            ASSERT_TRUE(std::isfinite(lists.values[p]));
            largest = std::max(largest, std::abs(lists.values[p]));
          }
          ASSERT_GT(largest, 0) << "column " << k;
        }
        EXPECT_EQ(report.breakdowns.count > 0, report.breakdowns.first_row >= 0);
        EXPECT_LE(report.breakdowns.count, test.matrix.num_rows);
      }
    }
  }
  HostMatrix<double> bad = random_without_ties(20, 0.3, 3);
  for (double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    bad.values[7] = value;
    const auto m = invert<TypeParam>(bad, DynamicSpaiOptions());
    for (const double entry : m.values) ASSERT_TRUE(std::isfinite(entry));
  }
}

TYPED_TEST(DynamicSpaiTest, ColumnsOfOtherRanksAreSkipped) {
  const HostMatrix<double> a = random_without_ties(80, 0.08, 71), wide = with_columns_of_other_ranks(a);
  for (Side side : {Side::right, Side::left}) {
    DynamicSpaiOptions options;
    options.side = side;
    options.epsilon = 0.1;
    EXPECT_TRUE(invert<TypeParam>(a, options) == invert<TypeParam>(wide, options));
  }
  const TypeParam space;
  HostMatrix<double> none;
  none.num_cols = 3;
  DynamicSpai<double, TypeParam> spai;
  spai.numeric(space, to_device<TypeParam>(none));
  EXPECT_EQ(spai.report().nnz, 0);
}

TYPED_TEST(DynamicSpaiTest, TheRegistryBuildsItWithEveryOption) {
  const OptionMap options = {{"epsilon", 0.2},
                             {"max_steps", std::int64_t(7)},
                             {"step_size", std::int64_t(3)},
                             {"max_fill", std::int64_t(30)},
                             {"side", std::string("left")},
                             {"setup_scalar", std::string("single")},
                             {"reuse", std::string("none")},
                             {"memory_budget", std::int64_t(1) << 30},
                             {"storage", std::string("half")},
                             {"storage_format", std::string("jad")}};
  const auto built = create_preconditioner<double, TypeParam>("dynamic_spai", options);
  EXPECT_EQ(built->name(), "dynamic_spai");
  EXPECT_TRUE(built->is_nonsymmetric());
  const auto* spai = dynamic_cast<const DynamicSpai<double, TypeParam>*>(built.get());
  ASSERT_TRUE(spai);
  DynamicSpaiOptions seen = spai->options();
  EXPECT_EQ(OptionFields::of(seen).values(), options);
  const auto refuse = [](const OptionMap& map) {
    return message_of<OptionError>([&] { create_preconditioner<double, TypeParam>("dynamic_spai", map); });
  };
  EXPECT_THAT(refuse({{"epsilom", 0.1}}), AllOf(HasSubstr("epsilom"), HasSubstr("'epsilon'")));
  EXPECT_THAT(refuse({{"epsilon", -1.0}}), HasSubstr("epsilon"));
  EXPECT_THAT(refuse({{"step_size", std::int64_t(0)}}), HasSubstr("step_size"));
  EXPECT_THAT(refuse({{"max_fill", std::int64_t(0)}}), HasSubstr("max_fill"));
}

TYPED_TEST(DynamicSpaiTest, EveryKernelAndViewIsLabelled) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(random_without_ties(200, 0.05, 141));
  DynamicSpaiOptions options;
  options.setup_scalar = Precision::single_precision;
  options.workspace_budget = 1 << 16;
  DynamicSpai<double, TypeParam> spai(options);
  const ToolEvents events;
  spai.symbolic(space, a);
  spai.numeric(space, a);
  for (const auto& labels : {events.kernels(), events.allocations()})
    for (const auto& label : labels)
      EXPECT_THAT(label,
                  ::testing::AnyOf(::testing::StartsWith("prekond::"), ::testing::StartsWith("Kokkos::")));
  EXPECT_THAT(events.kernels(), ::testing::Contains("prekond::dynamic_spai::numeric::grow_columns"));
}

TYPED_TEST(DynamicSpaiTest, NeedsFewerIterationsThanTheDiagonal) {
  const HostMatrix<double> a = generated("convection_diffusion3d:12,peclet=1000");
  const auto jacobi = iterations<TypeParam>(a, "jacobi", {}, 300);
  ASSERT_LE(jacobi, 300);
  const auto loose = iterations<TypeParam>(a, "dynamic_spai", {{"epsilon", 0.4}}, 300);
  const auto close =
      iterations<TypeParam>(a, "dynamic_spai", {{"epsilon", 0.2}, {"max_steps", std::int64_t(10)}}, 300);
  EXPECT_LT(loose, jacobi);
  EXPECT_LT(close, loose);
}

TEST(DynamicSpaiRealMatrices, NeedsFewerIterationsThanTheDiagonal) {
  using Space = Kokkos::DefaultExecutionSpace;
  for (const auto& file : matrices_named({"general/convection_diffusion2d.mtx", "general/convection.mtx"},
                                         {"general/orsirr_1.mtx.gz", "general/sherman4.mtx.gz",
                                          "general/pde900.mtx.gz", "general/jpwh_991.mtx"})) {
    const HostMatrix<double> a = to_host(read_matrix_market<double>(file.string()));
    EXPECT_LT(iterations<Space>(a, "dynamic_spai", {{"epsilon", 0.3}}, 2000),
              iterations<Space>(a, "jacobi", {}, 2000))
        << file;
  }
}

}  // namespace
}  // namespace prekond::testing
