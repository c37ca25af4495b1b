// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_graph.hpp"
#include "testing/host_matrix.hpp"
#include "testing/reference_adaptive_fsai.hpp"
#include "testing/spaces.hpp"
#include "testing/spd_matrices.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/fsai.hpp>
#include <prekond/precond/registry.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Enough for every row to reach all columns that it can.
constexpr int all_steps = 1000;

FsaiOptions in_single(int power = 1) {
  FsaiOptions options;
  options.power = power;
  options.setup_scalar = Precision::single_precision;
  return options;
}

FsaiOptions in_double(int power = 1) {
  FsaiOptions options = in_single(power);
  options.setup_scalar = Precision::double_precision;
  return options;
}

std::vector<FsaiOptions> both_precisions(int power = 1) {
  return {in_single(power), in_double(power)};
}

HostMatrix<double> generated(const std::string& spec) {
  return to_host(generate<double>(Kokkos::DefaultHostExecutionSpace(), spec));
}

template <class Space, class Scalar>
HostMatrix<Scalar> factor(const HostMatrix<Scalar>& a, const FsaiOptions& options, Report* report = nullptr,
                          const HostGraph* pattern = nullptr) {
  const Space space;
  const auto device = to_device<Space>(a);
  Fsai<Scalar, Space> fsai(options);
  if (pattern) fsai.set_pattern(space, graph_of<Space>(*pattern, a.num_rows));
  fsai.symbolic(space, device);
  fsai.numeric(space, device);
  if (report) *report = fsai.report();
  return to_host(fsai.factor());
}

HostGraph lower(const HostGraph& s) {
  HostGraph rows(s.size());
  for (int i = 0; i < static_cast<int>(s.size()); ++i) {
    for (int j : s[i])
      if (j < i) rows[i].push_back(j);
    rows[i].push_back(i);
  }
  return rows;
}

/// The lower triangle of the k-th power, by products of dense Boolean matrices.
HostGraph dense_power(const HostGraph& s, int k) {
  const std::size_t n = s.size();
  using Boolean = std::vector<std::vector<bool>>;
  Boolean factor(n, std::vector<bool>(n)), power(n, std::vector<bool>(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (int j : s[i])
      if (j < static_cast<int>(n)) factor[i][j] = true;
    factor[i][i] = power[i][i] = true;
  }
  for (int step = 0; step < k; ++step) {
    Boolean next(n, std::vector<bool>(n));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t l = 0; power[i][j] && l < n; ++l)
          if (factor[j][l]) next[i][l] = true;
    if (next == power) break;
    power = next;
  }
  HostGraph rows(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      if (power[i][j]) rows[i].push_back(static_cast<int>(j));
  return rows;
}

HostGraph prefiltered(const HostMatrix<double>& a, double tau) {
  HostGraph rows(a.num_rows);
  for (int i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const int j = a.col_idxs[k];
      if (i == j || std::abs(a.values[k]) > tau * std::sqrt(a(i, i) * a(j, j))) rows[i].push_back(j);
    }
  return rows;
}

/// The row of G is the minimiser on its own columns. Errors are in units of the row's largest |g_ij|
/// sqrt(a_jj).
void expect_minimiser(const Dense& a, const HostMatrix<double>& g, int i, double tolerance) {
  const std::size_t begin = g.row_ptrs[i], last = g.row_ptrs[i + 1] - 1;
  const ReferenceRow reference = solve_row(a, i, {g.col_idxs.begin() + begin, g.col_idxs.begin() + last});
  const double root = std::sqrt(reference.psi);
  ASSERT_NEAR(g.values[last] * root, 1, tolerance) << "row " << i;
  double largest = std::sqrt(a[i][i]);
  for (std::size_t p = 0; p < reference.g.size(); ++p)
    largest = std::max(largest,
                       std::abs(reference.g[p]) * std::sqrt(a[reference.pattern[p]][reference.pattern[p]]));
  for (std::size_t p = 0; p < reference.g.size(); ++p) {
    const int j = reference.pattern[p];
    ASSERT_NEAR((g.values[begin + p] * root - reference.g[p]) * std::sqrt(a[j][j]) / largest, 0, tolerance)
        << "row " << i << " column " << j;
  }
}

void expect_minimisers(const HostMatrix<double>& a, const HostMatrix<double>& g, double tolerance) {
  const Dense dense = to_dense(a);
  for (int i = 0; i < a.num_rows; ++i) expect_minimiser(dense, g, i, tolerance);
}

/// |psi / psi_reference - 1| of every row on its own columns.
void expect_psi(const HostMatrix<double>& a, const HostMatrix<double>& g, double tolerance) {
  const Dense dense = to_dense(a);
  for (int i = 0; i < a.num_rows; ++i) {
    const std::size_t begin = g.row_ptrs[i], last = g.row_ptrs[i + 1] - 1;
    const ReferenceRow reference =
        solve_row(dense, i, {g.col_idxs.begin() + begin, g.col_idxs.begin() + last});
    ASSERT_NEAR(psi_of(g, i) / reference.psi, 1, tolerance) << "row " << i;
  }
}

void expect_finite(const HostMatrix<double>& g) {
  for (double value : g.values) ASSERT_TRUE(std::isfinite(value));
  for (std::int64_t i = 0; i < g.num_rows; ++i) ASSERT_GT(g.values[g.row_ptrs[i + 1] - 1], 0) << "row " << i;
}

/// G A G^T = I, in long double.
void expect_inverse(const HostMatrix<double>& a, const HostMatrix<double>& g, double tolerance) {
  const std::int64_t n = a.num_rows;
  const Dense factor = to_dense(g);
  for (std::int64_t i = 0; i < n; ++i) {
    std::vector<long double> ga(n, 0);
    for (std::int64_t k = 0; k <= i; ++k)
      for (std::size_t e = a.row_ptrs[k]; e < a.row_ptrs[k + 1]; ++e)
        ga[a.col_idxs[e]] += static_cast<long double>(factor[i][k]) * a.values[e];
    for (std::int64_t j = 0; j <= i; ++j) {
      long double entry = 0;
      for (std::int64_t k = 0; k <= j; ++k) entry += ga[k] * factor[j][k];
      ASSERT_NEAR(static_cast<double>(entry), i == j ? 1 : 0, tolerance)
          << "entry (" << i << ", " << j << ")";
    }
  }
}

struct Filtered {
  HostMatrix<double> g;
  int unclear = 0;  ///< entries too near the limit to say
};

/// The documented postfilter, from the factor without one: what is dropped, and the rest scaled so that g A
/// g^T = 1.
Filtered postfiltered(const HostMatrix<double>& a, const HostMatrix<double>& g, double delta) {
  Filtered result;
  result.g.num_rows = result.g.num_cols = g.num_rows;
  for (std::int64_t i = 0; i < g.num_rows; ++i) {
    const std::size_t begin = g.row_ptrs[i], last = g.row_ptrs[i + 1] - 1;
    std::vector<double> weight;
    double sum = 0;
    for (std::size_t k = begin; k <= last; ++k) {
      weight.push_back(std::abs(g.values[k] / g.values[last]) * std::sqrt(a(g.col_idxs[k], g.col_idxs[k])));
      sum += weight.back() * weight.back();
    }
    const double least = delta * std::sqrt(sum);
    for (std::size_t k = begin; k <= last; ++k) {
      if (k < last && std::abs(weight[k - begin] - least) <= 1e-12 * least) ++result.unclear;
      if (k < last && weight[k - begin] < least) continue;
      result.g.col_idxs.push_back(g.col_idxs[k]);
      result.g.values.push_back(g.values[k]);
    }
    result.g.row_ptrs.push_back(result.g.nnz());
  }
  const Dense dense = to_dense(a);
  for (std::int64_t i = 0; i < g.num_rows; ++i) {
    const double psi = unit_diagonal(dense, result.g, i);
    for (std::size_t k = result.g.row_ptrs[i]; k < result.g.row_ptrs[i + 1]; ++k)
      result.g.values[k] /= std::sqrt(psi);
  }
  return result;
}

template <class Space>
class FsaiTest : public ::testing::Test {};
TYPED_TEST_SUITE(FsaiTest, TestSpaces, SpaceNames);

TYPED_TEST(FsaiTest, EveryRowIsTheMinimiserOnTheLowerTriangleOfThePower) {
  for (const Case& test : small_matrices()) {
    for (int power = 0; power <= 3; ++power) {
      SCOPED_TRACE(test.name + ", power " + std::to_string(power));
      const HostGraph expected = dense_power(pattern_of(test.matrix), power);
      Report report;
      const HostMatrix<double> g = factor<TypeParam>(test.matrix, in_double(power), &report);
      ASSERT_EQ(pattern_of(g), expected);
      EXPECT_EQ(g.num_cols, test.matrix.num_rows);
      expect_sound(test.matrix, g, 1e-10);
      expect_minimisers(test.matrix, g, 1e-9);
      EXPECT_EQ(report.breakdowns.count, 0);
      EXPECT_EQ(report.breakdowns.first_row, -1);
      EXPECT_THAT(report.notes, IsEmpty());
      EXPECT_EQ(report.nnz, static_cast<std::int64_t>(g.nnz()));
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(FsaiTest, SinglePrecisionIsAsGoodAsItsBits) {
  for (const Case& test : small_matrices()) {
    for (int power = 0; power <= 3; ++power) {
      SCOPED_TRACE(test.name + ", power " + std::to_string(power));
      Report report;
      const HostMatrix<double> g = factor<TypeParam>(test.matrix, in_single(power), &report);
      ASSERT_EQ(pattern_of(g), dense_power(pattern_of(test.matrix), power));
      expect_sound(test.matrix, g, 1e-10);  // the scaling is in double
      expect_psi(test.matrix, g, 1e-3);
      EXPECT_EQ(report.breakdowns.count, 0);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(FsaiTest, TheFullLowerTriangleGivesTheInverse) {
  const std::vector<Case> cases = {{"dense:41", random_spd(41, 1.0, 3)},
                                   {"random:129", random_spd(129, 0.15, 136)},
                                   {"random:300", random_spd(300, 0.05, 17)},
                                   {"gram:24", random_gram(24, 30, 0.01, 18)},
                                   {"gram:200", random_gram(200, 250, 0.01, 19)}};
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    const HostMatrix<double> g = factor<TypeParam>(test.matrix, in_double(all_steps));
    const std::size_t n = test.matrix.num_rows;
    ASSERT_EQ(g.nnz(), n * (n + 1) / 2);
    expect_inverse(test.matrix, g, 1e-8);
    expect_inverse(test.matrix, factor<TypeParam>(test.matrix, in_single(all_steps)), 1e-2);
  }
}

/// Row i has min(i + 1, length(i)) columns, spread over those before i.
template <class Length>
HostGraph rows_of_lengths(int n, const Length& length) {
  HostGraph rows(n);
  for (int i = 0; i < n; ++i) {
    const int others = std::min(i + 1, length(i)) - 1;
    for (int p = 0; p < others; ++p) rows[i].push_back(static_cast<int>(std::int64_t(p) * i / others));
    rows[i].push_back(i);
  }
  return rows;
}

TYPED_TEST(FsaiTest, RowsOfEveryLength) {
  const int n = 720;
  const HostMatrix<double> a = random_gram(n, n + 80, 0.05, 23);
  const HostGraph pattern = rows_of_lengths(n, [](int i) {
    if (i == 310 || i == 640) return 300;
    return i == 700 || i == 719 ? 700 : i * 37 % 140 + 1;
  });
  std::set<std::size_t> lengths;
  for (const auto& row : pattern) lengths.insert(row.size());
  for (std::size_t length = 1; length <= 140; ++length) ASSERT_TRUE(lengths.count(length)) << length;
  ASSERT_TRUE(lengths.count(300) && lengths.count(700));
  const Dense dense = to_dense(a);
  for (const FsaiOptions& options : both_precisions()) {
    Report report;
    const HostMatrix<double> g = factor<TypeParam>(a, options, &report, &pattern);
    ASSERT_EQ(pattern_of(g), pattern);
    EXPECT_EQ(report.breakdowns.count, 0);
    expect_sound(a, g, 1e-10);
    const double tolerance = options.setup_scalar == Precision::double_precision ? 1e-10 : 1e-3;
    for (int i = 0; i < n; ++i) ASSERT_NO_FATAL_FAILURE(expect_minimiser(dense, g, i, tolerance));
  }
}

TYPED_TEST(FsaiTest, RowsOfOneLengthAroundTheEdgesOfEveryBin) {
  std::vector<int> lengths = {1, 7};
  for (int edge : {8, 16, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256}) {
    lengths.push_back(edge);
    lengths.push_back(edge + 1);
  }
  for (int length : lengths) {
    SCOPED_TRACE(length);
    const int n = length + 5;
    const HostMatrix<double> a = random_gram(n, n + 10, 0.1, 1000u + length);
    const HostGraph pattern = rows_of_lengths(n, [&](int) { return length; });
    const Dense dense = to_dense(a);
    const HostMatrix<double> g = factor<TypeParam>(a, in_double(), nullptr, &pattern);
    const HostMatrix<double> single = factor<TypeParam>(a, in_single(), nullptr, &pattern);
    ASSERT_EQ(pattern_of(g), pattern);
    for (int i : {length - 1, length, n - 1}) {
      ASSERT_NO_FATAL_FAILURE(expect_minimiser(dense, g, i, 1e-11));
      ASSERT_NO_FATAL_FAILURE(expect_minimiser(dense, single, i, 1e-3));
    }
  }
}

TYPED_TEST(FsaiTest, ThePrefilterOnlyShapesThePattern) {
  const std::vector<Case> cases = {{"random:129", random_spd(129, 0.15, 31)},
                                   {"scaled:80", random_spd(80, 0.2, 32, 8)},
                                   {"elasticity3d:4", generated("elasticity3d:4,contrast=1")}};
  for (const Case& test : cases) {
    for (double tau : {0.02, 0.1, 1.0}) {
      for (int power : {1, 2}) {
        SCOPED_TRACE(test.name + ", tau " + std::to_string(tau) + ", power " + std::to_string(power));
        const HostGraph s = prefiltered(test.matrix, tau);
        FsaiOptions options = in_double(power);
        options.prefilter = tau;
        const HostMatrix<double> g = factor<TypeParam>(test.matrix, options);
        ASSERT_EQ(pattern_of(g), dense_power(s, power));
        expect_minimisers(test.matrix, g, 1e-9);
        if (tau < 1) {
          const std::size_t unfiltered = factor<TypeParam>(test.matrix, in_double(power)).nnz();
          if (power == 1) {
            EXPECT_LT(g.nnz(), unfiltered);
          } else {
            EXPECT_LE(g.nnz(), unfiltered) << "products fill the gaps of a mesh's blocks again";
          }
          EXPECT_GT(g.nnz(), std::size_t(test.matrix.num_rows));
        } else {
          EXPECT_EQ(g.nnz(), std::size_t(test.matrix.num_rows))
              << "|a_ij| < sqrt(a_ii a_jj) in an SPD matrix";
        }
      }
    }
  }
}

TYPED_TEST(FsaiTest, ThePostfilterDropsTheEntriesOfItsRule) {
  const std::vector<Case> cases = {{"random:129", random_spd(129, 0.15, 41)},
                                   {"scaled:80", random_spd(80, 0.2, 42, 8)},
                                   {"gram:70", random_gram(70, 90, 0.05, 43)}};
  for (const Case& test : cases) {
    for (FsaiOptions options : both_precisions(2)) {
      const HostMatrix<double> unfiltered = factor<TypeParam>(test.matrix, options);
      for (double delta : {0.005, 0.02, 0.08}) {
        SCOPED_TRACE(test.name + ", delta " + std::to_string(delta));
        options.postfilter = delta;
        const Filtered expected = postfiltered(test.matrix, unfiltered, delta);
        ASSERT_EQ(expected.unclear, 0);
        ASSERT_LT(expected.g.nnz(), unfiltered.nnz());
        ASSERT_GT(expected.g.nnz(), std::size_t(test.matrix.num_rows));
        Report report;
        const HostMatrix<double> g = factor<TypeParam>(test.matrix, options, &report);
        ASSERT_EQ(pattern_of(g), pattern_of(expected.g));
        for (std::size_t k = 0; k < g.nnz(); ++k) ASSERT_NEAR(g.values[k] / expected.g.values[k], 1, 1e-10);
        expect_sound(test.matrix, g, 1e-10);
        EXPECT_EQ(report.nnz, static_cast<std::int64_t>(g.nnz()));
        EXPECT_EQ(report.breakdowns.count, 0);
        EXPECT_THAT(report.notes, ElementsAre("G had " + std::to_string(unfiltered.nnz()) +
                                              " entries before the postfilter"));
      }
    }
  }
}

TYPED_TEST(FsaiTest, APostfilterOfOneLeavesTheDiagonal) {
  for (const char* spec : {"tridiagonal:37", "elasticity3d:3"}) {
    const HostMatrix<double> a = generated(spec);
    FsaiOptions options = in_single(2);
    options.postfilter = 1;
    const HostMatrix<double> g = factor<TypeParam>(a, options);
    ASSERT_EQ(g.nnz(), std::size_t(a.num_rows));
    for (int i = 0; i < a.num_rows; ++i) {
      EXPECT_EQ(g.col_idxs[i], i);
      EXPECT_DOUBLE_EQ(g.values[i], 1 / std::sqrt(a(i, i)));
    }
  }
}

TYPED_TEST(FsaiTest, APatternOfTheUsersIsObeyed) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(90, 0.2, 51);
  // Not symmetric, entries above the diagonal, most diagonal entries missing, columns where A has no entry.
  HostGraph pattern = pattern_of(random_entries<double>(90, 90, 0.08, 52));
  pattern[40].clear();
  pattern[41].clear();
  pattern[0] = {89};
  for (FsaiOptions options : {in_double(), in_double(0), in_double(3)}) {
    options.prefilter = options.power == 3 ? 0.3 : 0;  // neither counts
    Fsai<double, TypeParam> fsai(options);
    auto graph = graph_of<TypeParam>(pattern, 90);
    fsai.set_pattern(space, graph);
    Kokkos::deep_copy(graph.col_idxs, 0);  // it was copied
    Kokkos::deep_copy(graph.row_ptrs, std::size_t(0));
    const auto device = to_device<TypeParam>(a);
    fsai.symbolic(space, device);
    fsai.numeric(space, device);
    const HostMatrix<double> g = to_host(fsai.factor());
    ASSERT_EQ(pattern_of(g), lower(pattern));
    expect_minimisers(a, g, 1e-9);
    expect_sound(a, g, 1e-10);
    fsai.set_pattern(space, device);  // a matrix's
    fsai.symbolic(space, device);
    fsai.numeric(space, device);
    EXPECT_TRUE(to_host(fsai.factor()) == factor<TypeParam>(a, in_double(1)));
  }
}

TYPED_TEST(FsaiTest, ItsPatternDoesNotGrow) {
  FsaiOptions options;
  options.reuse = Reuse::extend;
  EXPECT_THROW((Fsai<double, TypeParam>(options)), OptionError);
}

TYPED_TEST(FsaiTest, APatternTakesEffectWithTheNextSymbolic) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(50, 0.3, 53);
  const auto device = to_device<TypeParam>(a);
  const HostGraph pattern(50);
  for (double tau : {0.0, 0.01}) {
    for (Reuse reuse : {Reuse::pattern, Reuse::none}) {
      SCOPED_TRACE("prefilter " + std::to_string(tau) +
                   (reuse == Reuse::none ? ", reuse none" : ", reuse pattern"));
      FsaiOptions options = in_double();
      options.prefilter = tau;
      options.reuse = reuse;
      const HostMatrix<double> without = factor<TypeParam>(a, options);
      Fsai<double, TypeParam> fsai(options);
      fsai.symbolic(space, device);
      fsai.set_pattern(space, graph_of<TypeParam>(pattern, 50));
      fsai.numeric(space, device);
      EXPECT_TRUE(to_host(fsai.factor()) == without) << "between symbolic and numeric";
      fsai.numeric(space, device);
      EXPECT_EQ(pattern_of(to_host(fsai.factor())), pattern_of(without)) << "between two numeric phases";
      fsai.symbolic(space, device);
      fsai.numeric(space, device);
      EXPECT_EQ(fsai.report().nnz, 50) << "after the next symbolic";
    }
  }
}

TYPED_TEST(FsaiTest, RefusesPatternsThatDoNotFit) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(random_spd(6, 0.5, 54));
  Fsai<double, TypeParam> fsai;
  EXPECT_THAT(message_of<InputError>([&] {
                fsai.set_pattern(space, graph_of<TypeParam>({{0}, {1}, {2}}, 4));
              }),
              AllOf(HasSubstr("fsai"), HasSubstr("the pattern is 3 x 4"), HasSubstr("it has to be square")));
  fsai.symbolic(space, a);
  fsai.numeric(space, a);
  const auto before = to_host(fsai.factor());
  fsai.set_pattern(space, graph_of<TypeParam>(HostGraph(5), 5));
  EXPECT_THAT(message_of<InputError>([&] { fsai.symbolic(space, a); }),
              HasSubstr("fsai: the pattern has 5 rows, the matrix 6"));
  EXPECT_TRUE(before == to_host(fsai.factor()));
  fsai.set_pattern(space, graph_of<TypeParam>(HostGraph(6), 6));
  fsai.symbolic(space, a);
  fsai.numeric(space, a);
  EXPECT_EQ(fsai.report().nnz, 6);
}

TYPED_TEST(FsaiTest, RefusesPatternsWithColumnsOutOfRange) {
  const TypeParam space;
  Fsai<double, TypeParam> fsai;
  EXPECT_THROW(fsai.set_pattern(space, graph_of<TypeParam>({{0}, {0, 1, 3}, {2}}, 3)), InputError);
  EXPECT_THROW(fsai.set_pattern(space, graph_of<TypeParam>({{0}, {-1, 1}, {2}}, 3)), InputError);
}

TYPED_TEST(FsaiTest, ASingularRowFallsBackToItsDiagonal) {
  // The graph Laplacian of a path: all its pivots are 1, but the last is 0.
  HostMatrix<double> path = generated("tridiagonal:40");
  path.values.front() = path.values.back() = 1;
  for (const FsaiOptions& options : both_precisions(all_steps)) {
    Report report;
    const HostMatrix<double> g = factor<TypeParam>(path, options, &report);
    ASSERT_EQ(g.nnz(), 40u * 41 / 2);
    for (int i = 0; i < 40; ++i)
      for (int j = 0; j <= i; ++j) ASSERT_NEAR(g(i, j), i == 39 && j < 39 ? 0 : 1, 1e-13);
    EXPECT_EQ(report.breakdowns.count, 1);
    EXPECT_EQ(report.breakdowns.first_row, 39);
    EXPECT_EQ(report.breakdowns.first_pivot, 0);
    EXPECT_THAT(report.breakdowns.action,
                AllOf(HasSubstr("0 rows kept"), HasSubstr("1 fell back to the diagonal")));
  }
}

TYPED_TEST(FsaiTest, ARepeatedColumnIsLeftOutOfTheRow) {
  // Rows 0 and 1 are the same; the rows after them want both.
  HostMatrix<double> once = random_gram(30, 40, 0.05, 61);
  Dense a = to_dense(once);
  for (int j = 0; j < 30; ++j) a[1][j] = a[0][j];
  for (int i = 0; i < 30; ++i) a[i][1] = a[i][0];
  for (const FsaiOptions& options : both_precisions()) {
    Report report;
    const HostMatrix<double> g = factor<TypeParam>(sparse(a), options, &report);
    expect_finite(g);
    EXPECT_EQ(g(1, 0), 0);
    EXPECT_DOUBLE_EQ(g(1, 1), 1 / std::sqrt(a[1][1]));
    for (int i = 2; i < 30; ++i) {
      ASSERT_EQ(g(i, 1), 0) << "row " << i;
      std::vector<int> others = {0};
      for (int j = 2; j < i; ++j) others.push_back(j);
      const ReferenceRow reference = solve_row(a, i, others);
      // These rows are done again in double whatever the setup's precision.
      for (std::size_t p = 0; p < others.size(); ++p)
        ASSERT_NEAR(g(i, others[p]) * std::sqrt(reference.psi), reference.g[p], 1e-10) << "row " << i;
      ASSERT_NEAR(g(i, i) * std::sqrt(reference.psi), 1, 1e-10) << "row " << i;
    }
    EXPECT_EQ(report.breakdowns.count, 29);
    EXPECT_EQ(report.breakdowns.first_row, 1);
    EXPECT_THAT(report.breakdowns.action,
                AllOf(HasSubstr("28 rows kept"), HasSubstr("1 fell back to the diagonal")));
  }
}

// Columns 0 and 1 differ by what leaves a pivot of 4 rounding errors, or of 64.
TYPED_TEST(FsaiTest, APivotOfAFewRoundingErrorsIsLeftOut) {
  const auto matrix = [](double delta) {
    return sparse<double>({{1, 1 - delta, .5}, {1 - delta, 1, .5}, {.5, .5, 1}});
  };
  for (const FsaiOptions& options : both_precisions()) {
    Report report;
    const HostMatrix<double> few = factor<TypeParam>(matrix(0x1p-51), options, &report);
    EXPECT_EQ(report.breakdowns.count, 2);
    EXPECT_EQ(report.breakdowns.first_row, 1);
    EXPECT_NEAR(report.breakdowns.first_pivot, 0x1p-50, 0x1p-60);
    EXPECT_EQ(few(1, 0), 0);
    EXPECT_EQ(few(1, 1), 1);
    EXPECT_NEAR(few(2, 0), -.5 / std::sqrt(.75), 1e-15);
    EXPECT_EQ(few(2, 1), 0);
    const HostMatrix<double> enough = factor<TypeParam>(matrix(0x1p-47), options, &report);
    EXPECT_EQ(report.breakdowns.count, 0);
    EXPECT_NEAR(enough(1, 1) / 0x1p23, 1, 1e-6) << "1 / sqrt(2 delta)";
  }
}

TYPED_TEST(FsaiTest, ALowRankMatrixGivesFiniteRows) {
  for (const FsaiOptions& options : both_precisions()) {
    for (int n : {40, 200}) {
      Report report;
      const HostMatrix<double> g = factor<TypeParam>(random_gram(n, 6, 0, 62), options, &report);
      expect_finite(g);
      EXPECT_GE(report.breakdowns.count, 1);
      EXPECT_LE(report.breakdowns.count, n - 6);
      EXPECT_GE(report.breakdowns.first_row, 6);
    }
  }
}

TYPED_TEST(FsaiTest, IndefiniteMatricesGiveFiniteRows) {
  for (const FsaiOptions& options : both_precisions()) {
    Report report;
    const HostMatrix<double> g =
        factor<TypeParam>(sparse<double>({{4, 8, 0}, {8, 4, 0}, {0, 0, 1}}), options, &report);
    EXPECT_EQ(report.breakdowns.count, 1);
    EXPECT_EQ(report.breakdowns.first_row, 1);
    EXPECT_THAT(report.breakdowns.action, HasSubstr("1 fell back to the diagonal"));
    EXPECT_EQ(g(1, 1), 0.5);
    EXPECT_EQ(g(1, 0), 0);
    // Row 2 keeps column 0 of the two that it wants.
    const HostMatrix<double> a = sparse<double>({{1, 2, .5}, {2, 1, .4}, {.5, .4, 1}});
    const HostMatrix<double> h = factor<TypeParam>(a, options, &report);
    EXPECT_EQ(report.breakdowns.count, 2);
    EXPECT_EQ(report.breakdowns.first_row, 1);
    EXPECT_THAT(report.breakdowns.action,
                AllOf(HasSubstr("1 rows kept"), HasSubstr("1 fell back to the diagonal")));
    EXPECT_NEAR(h(2, 0), -.5 / std::sqrt(.75), 1e-15);
    EXPECT_EQ(h(2, 1), 0);
    EXPECT_NEAR(h(2, 2), 1 / std::sqrt(.75), 1e-15);
    // Far too large for single precision, and for a square in double.
    const HostMatrix<double> huge =
        factor<TypeParam>(sparse<double>({{1, 1e200, .1}, {1e200, 1, .1}, {.1, .1, 1}}), options, &report);
    expect_finite(huge);
    EXPECT_EQ(huge(1, 1), 1);
    EXPECT_EQ(report.breakdowns.first_row, 1);
  }
}

TYPED_TEST(FsaiTest, TheReportTellsTheFirstBadPivot) {
  for (const FsaiOptions& options : both_precisions()) {
    for (double scale : {1.0, 3.0, 0x1p-299, 0x1p301}) {
      const HostMatrix<double> a =
          sparse<double>({{4 * scale, 8 * scale, 0}, {8 * scale, 4 * scale, scale}, {0, scale, 4 * scale}});
      Report report;
      factor<TypeParam>(a, options, &report);
      EXPECT_EQ(report.breakdowns.first_row, 1);
      EXPECT_NEAR(report.breakdowns.first_pivot, -3, 1e-6) << "(4 - 64 / 4) / 4 times " << scale;
      // Row 2's pivot of column 1, where row 1 wants nothing.
      const HostGraph pattern = {{}, {}, {0, 1}};
      factor<TypeParam>(a, options, &report, &pattern);
      EXPECT_EQ(report.breakdowns.count, 1);
      EXPECT_EQ(report.breakdowns.first_row, 2);
      EXPECT_NEAR(report.breakdowns.first_pivot, -3, 1e-6);
      EXPECT_THAT(report.breakdowns.action,
                  AllOf(HasSubstr("1 rows kept"), HasSubstr("0 fell back to the diagonal")));
    }
  }
}

/// Symmetric, with ones on the diagonal and far too large entries off it.
HostMatrix<double> indefinite(int n, unsigned seed) {
  std::mt19937_64 engine(seed);
  Dense a(n, std::vector<double>(n));
  for (int i = 0; i < n; ++i) {
    a[i][i] = 1;
    for (int j = 0; j < i; ++j) a[i][j] = a[j][i] = static_cast<double>(engine() >> 11) * 0x1p-52 - 1;
  }
  return sparse(a);
}

TYPED_TEST(FsaiTest, EveryRowThatBreaksDownIsCountedOnce) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const HostMatrix<double> a = indefinite(60, seed);
    const Dense dense = to_dense(a);
    for (FsaiOptions options : both_precisions()) {
      Report report;
      const HostMatrix<double> g = factor<TypeParam>(a, options, &report);
      expect_finite(g);
      std::set<int> broken;
      for (int i = 0; i < 60; ++i) {
        bool zero = false;
        for (int j = 0; j < i; ++j) zero = zero || g(i, j) == 0;
        if (zero) broken.insert(i);
        ASSERT_NEAR(unit_diagonal(dense, g, i), 1, 1e-8) << "row " << i;
      }
      ASSERT_FALSE(broken.empty());
      EXPECT_EQ(report.breakdowns.count, static_cast<std::int64_t>(broken.size()));
      EXPECT_EQ(report.breakdowns.first_row, *broken.begin());

      options.postfilter = 0.3;
      const HostMatrix<double> filtered = factor<TypeParam>(a, options, &report);
      expect_finite(filtered);
      for (int i = 0; i < 60; ++i) ASSERT_NEAR(unit_diagonal(dense, filtered, i), 1, 1e-8) << "row " << i;
      // The part of A that a row keeps is positive definite, and so is any part of that: no other row falls
      // back.
      EXPECT_EQ(report.breakdowns.count, static_cast<std::int64_t>(broken.size())) << "with the postfilter";
    }
  }
}

TYPED_TEST(FsaiTest, RowsThatSinglePrecisionCannotSolveAreDoneInDouble) {
  Dense hilbert(9, std::vector<double>(9));
  for (int i = 0; i < 9; ++i)
    for (int j = 0; j < 9; ++j) hilbert[i][j] = 1.0 / (i + j + 1);
  struct Test {
    HostMatrix<double> matrix;
    int first;  ///< the rows from here on have pivots far below single precision's rounding errors
  };
  const std::vector<Test> tests = {
      {sparse(hilbert), 7}, {random_gram(60, 20, 1e-9, 71), 21}, {random_gram(150, 20, 1e-9, 72), 21}};
  for (const Test& test : tests) {
    Report report;
    const HostMatrix<double> g = factor<TypeParam>(test.matrix, in_single(), &report);
    EXPECT_EQ(report.breakdowns.count, 0);
    EXPECT_EQ(report.breakdowns.first_row, -1);
    EXPECT_EQ(report.breakdowns.action, "");
    const HostMatrix<double> h = factor<TypeParam>(test.matrix, in_double(), &report);
    EXPECT_EQ(report.breakdowns.count, 0);
    ASSERT_EQ(g.col_idxs, h.col_idxs);
    for (std::size_t k = h.row_ptrs[test.first]; k < h.nnz(); ++k)
      ASSERT_NEAR(g.values[k] / h.values[k], 1, 1e-12);
    EXPECT_FALSE(g == h) << "the first rows are in single precision";
    const Dense dense = to_dense(test.matrix);
    for (int i = test.first; i < test.matrix.num_rows; ++i) {
      std::vector<int> others(i);
      for (int j = 0; j < i; ++j) others[j] = j;
      ASSERT_NEAR(psi_of(g, i) / solve_row(dense, i, others).psi, 1, 1e-3) << "row " << i;
    }
  }
}

TYPED_TEST(FsaiTest, ScalesOfAnySizeChangeNoBit) {
  const HostMatrix<double> a = random_spd(60, 0.2, 81);
  for (FsaiOptions options : both_precisions(2)) {
    for (double delta : {0.0, 0.05}) {
      options.postfilter = delta;
      options.prefilter = delta;
      const HostMatrix<double> plain = factor<TypeParam>(a, options);
      const std::size_t notes = delta > 0 ? 1 : 0;  // the postfilter's
      Report report;
      for (int exponent : {-300, 300}) {
        HostMatrix<double> scaled = a;
        for (double& value : scaled.values) value = std::ldexp(value, exponent);
        const HostMatrix<double> g = factor<TypeParam>(scaled, options, &report);
        ASSERT_EQ(g.col_idxs, plain.col_idxs);
        for (std::size_t k = 0; k < g.nnz(); ++k)
          ASSERT_EQ(std::ldexp(g.values[k], exponent / 2), plain.values[k]);
        EXPECT_EQ(report.breakdowns.count, 0);
        EXPECT_EQ(report.notes.size(), notes);
      }
      for (int step : {4, -4}) {  // a diagonal from 2^-240 to 2^240
        const HostMatrix<double> g = factor<TypeParam>(widened(a, step), options, &report);
        ASSERT_EQ(g.col_idxs, plain.col_idxs);
        for (std::size_t k = 0; k < g.nnz(); ++k)
          ASSERT_EQ(std::ldexp(g.values[k], step * (g.col_idxs[k] - 30)), plain.values[k]);
        EXPECT_EQ(report.breakdowns.count, 0);
        EXPECT_EQ(report.notes.size(), notes);
      }
    }
  }
}

TYPED_TEST(FsaiTest, TheWidestDiagonalsOfFloatAndDouble) {
  for (FsaiOptions options : both_precisions(2)) {
    options.prefilter = options.postfilter = 0.01;
    Report report;
    const HostMatrix<double> a = random_spd(60, 0.2, 82);
    const HostMatrix<double> plain = factor<TypeParam>(a, options);
    for (int step : {16, -16}) {  // 2^-960 to 2^960
      const HostMatrix<double> g = factor<TypeParam>(widened(a, step), options, &report);
      EXPECT_EQ(report.breakdowns.count, 0);
      ASSERT_EQ(pattern_of(g), pattern_of(plain));
      for (std::size_t k = 0; k < g.nnz(); ++k)
        ASSERT_EQ(std::ldexp(g.values[k], step * (g.col_idxs[k] - 30)), plain.values[k]);
    }
    const HostMatrix<float> b = convert<float>(random_spd(50, 0.2, 83));
    const HostMatrix<float> plain_float = factor<TypeParam>(b, options);
    for (int step : {2, -2}) {  // 2^-100 to 2^100
      const HostMatrix<float> wide = convert<float>(widened(convert<double>(b), step));
      const HostMatrix<float> g = factor<TypeParam>(wide, options, &report);
      EXPECT_EQ(report.breakdowns.count, 0);
      ASSERT_EQ(pattern_of(g), pattern_of(plain_float));
      for (std::size_t k = 0; k < g.nnz(); ++k)
        ASSERT_EQ(std::ldexp(g.values[k], step * (g.col_idxs[k] - 25)), plain_float.values[k]);
    }
  }
}

TYPED_TEST(FsaiTest, ASecondNumericSolvesOnThePatternFound) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(150, 0.1, 91);
  const HostMatrix<double> changed = with_larger_diagonal(a, 1);
  for (Reuse reuse : {Reuse::pattern, Reuse::none}) {
    for (double tau : {0.0, 0.05}) {
      for (double delta : {0.0, 0.05}) {
        SCOPED_TRACE("tau " + std::to_string(tau) + ", delta " + std::to_string(delta));
        FsaiOptions options = in_double(2);
        options.reuse = reuse;
        options.prefilter = tau;
        options.postfilter = delta;
        Fsai<double, TypeParam> fsai(options);
        fsai.symbolic(space, to_device<TypeParam>(a));
        fsai.numeric(space, to_device<TypeParam>(a));
        EXPECT_FALSE(fsai.report().pattern_kept);
        const auto first = to_host(fsai.factor());
        fsai.numeric(space, to_device<TypeParam>(a));
        EXPECT_EQ(fsai.report().pattern_kept, reuse == Reuse::pattern);
        const auto again = to_host(fsai.factor());
        ASSERT_EQ(first.col_idxs, again.col_idxs);
        // The solves on a filtered pattern are better than the entries left of others.
        if (delta == 0 || reuse == Reuse::none) {
          EXPECT_TRUE(first == again);
        }
        fsai.numeric(space, to_device<TypeParam>(changed));
        EXPECT_EQ(fsai.report().pattern_kept, reuse == Reuse::pattern);
        const auto second = to_host(fsai.factor());
        expect_sound(changed, second, 1e-10);
        if (reuse == Reuse::none) {
          EXPECT_TRUE(second == factor<TypeParam>(changed, options));
          continue;
        }
        ASSERT_EQ(pattern_of(first), pattern_of(second));
        EXPECT_THAT(fsai.report().notes, IsEmpty()) << "nothing is filtered";
        expect_minimisers(changed, second, 1e-9);
        if (tau + delta > 0) {
          EXPECT_NE(pattern_of(second), pattern_of(factor<TypeParam>(changed, options)));
        }
        const auto transposed = to_host(fsai.factor_transposed());
        ASSERT_EQ(transposed.nnz(), second.nnz());
        for (int i = 0; i < a.num_rows; ++i)
          for (std::size_t k = second.row_ptrs[i]; k < second.row_ptrs[i + 1]; ++k)
            ASSERT_EQ(transposed(second.col_idxs[k], i), second.values[k]);
        fsai.symbolic(space, to_device<TypeParam>(changed));
        fsai.numeric(space, to_device<TypeParam>(changed));
        EXPECT_FALSE(fsai.report().pattern_kept);
        EXPECT_TRUE(to_host(fsai.factor()) == factor<TypeParam>(changed, options)) << "symbolic begins anew";
      }
    }
  }
}

TYPED_TEST(FsaiTest, AFailedNumericLeavesGAsItWas) {
  const TypeParam space;
  const auto a = random_spd(20, 0.5, 92);
  for (Reuse reuse : {Reuse::pattern, Reuse::none}) {
    FsaiOptions options;
    options.reuse = reuse;
    Fsai<double, TypeParam> fsai(options);
    fsai.symbolic(space, to_device<TypeParam>(a));
    fsai.numeric(space, to_device<TypeParam>(a));
    const auto before = to_host(fsai.factor());
    const auto transposed = to_host(fsai.factor_transposed());
    EXPECT_THAT(
        message_of<InputError>([&] { fsai.numeric(space, to_device<TypeParam>(random_spd(21, 0.5, 1))); }),
        HasSubstr("fsai: numeric was given 21 rows, symbolic 20; call symbolic again"));
    for (double entry : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
      auto bad = a;
      for (std::size_t k = bad.row_ptrs[7]; k < bad.row_ptrs[8]; ++k)
        if (bad.col_idxs[k] == 7) bad.values[k] = entry;
      EXPECT_THAT(message_of<InputError>([&] { fsai.numeric(space, to_device<TypeParam>(bad)); }),
                  HasSubstr("fsai: the diagonal entry of row 8 is missing or not positive"));
    }
    EXPECT_TRUE(before == to_host(fsai.factor()));
    EXPECT_TRUE(transposed == to_host(fsai.factor_transposed()));
    EXPECT_EQ(fsai.report().nnz, static_cast<std::int64_t>(before.nnz()));
    fsai.numeric(space, to_device<TypeParam>(a));
    EXPECT_TRUE(before == to_host(fsai.factor()));
  }
}

TYPED_TEST(FsaiTest, RefusesBadInput) {
  const TypeParam space;
  const auto refuse = [&](const HostMatrix<double>& a) {
    return message_of<InputError>([&] { factor<TypeParam>(a, FsaiOptions()); });
  };
  EXPECT_THAT(refuse(sparse<double>({{1, 0}, {0, -2}})),
              HasSubstr("fsai: the diagonal entry of row 2 is missing or not positive"));
  EXPECT_THAT(refuse(sparse<double>({{0, 1}, {1, 2}})), HasSubstr("row 1"));
  EXPECT_THAT(refuse(sparse<double>({{1}, {2}})), HasSubstr("2 rows but only 1 columns"));
  Fsai<double, TypeParam> fsai;
  const auto a = to_device<TypeParam>(random_spd(10, 0.5, 1));
  fsai.symbolic(space, a);
  MultiVector<double, TypeParam> x("x", 10, 2), y("y", 10, 2);
  auto workspace = fsai.make_workspace(space, 1);
  EXPECT_THAT(message_of<std::logic_error>([&] { fsai.apply(space, x, y, *workspace); }),
              HasSubstr("fsai: apply before numeric"));
  fsai.numeric(space, a);
  EXPECT_THROW(fsai.apply(space, x, y, *workspace), std::logic_error) << "a workspace for one vector";
}

TYPED_TEST(FsaiTest, NumericMakesUpForAMissingSymbolic) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(40, 0.2, 93);
  Fsai<double, TypeParam> fsai;
  fsai.numeric(space, to_device<TypeParam>(a));
  EXPECT_TRUE(to_host(fsai.factor()) == factor<TypeParam>(a, FsaiOptions()));
}

TYPED_TEST(FsaiTest, SameBitsTwiceAndInSlabsOfAnySize) {
  for (const HostMatrix<double>& a : {generated("elasticity3d:6"), random_gram(330, 400, 0.05, 101)}) {
    for (FsaiOptions options : both_precisions(2)) {
      options.prefilter = 0.01;
      options.postfilter = 0.02;
      const HostMatrix<double> once = factor<TypeParam>(a, options);
      EXPECT_TRUE(once == factor<TypeParam>(a, options));
      options.workspace_budget = 1 << 19;  // one of the longest rows
      EXPECT_TRUE(once == factor<TypeParam>(a, options));
    }
  }
}

TYPED_TEST(FsaiTest, APatternBeyondItsBudgetIsRefused) {
  const TypeParam space;
  const HostMatrix<double> a = generated("poisson2d:20");
  const HostGraph pattern = dense_power(pattern_of(a), 3);
  std::size_t nnz = 0;
  for (const auto& row : pattern) nnz += row.size();
  const std::int64_t bytes =
      static_cast<std::int64_t>((pattern.size() + 1) * sizeof(std::size_t) + nnz * sizeof(int));
  FsaiOptions options = in_double(3);
  options.memory_budget = bytes;
  EXPECT_EQ(pattern_of(factor<TypeParam>(a, options)), pattern);
  options.memory_budget = bytes - 1;
  const auto names_both =
      AllOf(HasSubstr(std::to_string(nnz) + " entries"), HasSubstr(std::to_string(bytes - 1)));
  Fsai<double, TypeParam> fsai(options);
  EXPECT_THAT(message_of<InputError>([&] { fsai.symbolic(space, to_device<TypeParam>(a)); }), names_both);

  // With a threshold the values decide: a numeric phase finds out, and leaves G as it was.
  options.prefilter = 0.1;  // entries are -1 and 4
  options.reuse = Reuse::none;
  HostMatrix<double> few = a;
  for (int i = 0; i < few.num_rows; ++i)
    for (std::size_t k = few.row_ptrs[i]; k < few.row_ptrs[i + 1]; ++k)
      if (few.col_idxs[k] == i) few.values[k] = 100;
  Fsai<double, TypeParam> filtered(options);
  filtered.symbolic(space, to_device<TypeParam>(few));
  filtered.numeric(space, to_device<TypeParam>(few));
  EXPECT_EQ(filtered.report().nnz, 400);
  const auto before = to_host(filtered.factor());
  EXPECT_THAT(message_of<InputError>([&] { filtered.numeric(space, to_device<TypeParam>(a)); }), names_both);
  EXPECT_TRUE(before == to_host(filtered.factor()));
}

TYPED_TEST(FsaiTest, ColumnsOfOtherRanksAreSkipped) {
  const HostMatrix<double> a = random_spd(80, 0.1, 111);
  const HostMatrix<double> wide = with_columns_of_other_ranks(a);
  for (int power = 0; power <= 3; ++power) {
    for (double tau : {0.0, 0.05}) {
      for (FsaiOptions options : both_precisions(power)) {
        options.prefilter = tau;
        options.postfilter = tau;
        EXPECT_TRUE(factor<TypeParam>(a, options) == factor<TypeParam>(wide, options)) << power << " " << tau;
      }
    }
  }
  const HostGraph pattern = pattern_of(random_entries<double>(80, 80, 0.1, 112));
  EXPECT_TRUE(factor<TypeParam>(a, in_double(), nullptr, &pattern) ==
              factor<TypeParam>(wide, in_double(), nullptr, &pattern));
}

TYPED_TEST(FsaiTest, TakesARankWithoutRows) {
  const TypeParam space;
  for (FsaiOptions options : {in_single(1), in_double(3), in_double(0)}) {
    options.prefilter = options.power == 3 ? 0.1 : 0;
    options.postfilter = options.prefilter;
    for (Reuse reuse : {Reuse::pattern, Reuse::none}) {
      options.reuse = reuse;
      for (bool user : {false, true}) {
        HostMatrix<double> a;
        a.num_cols = 3;
        Fsai<double, TypeParam> fsai(options);
        if (user) fsai.set_pattern(space, graph_of<TypeParam>({}, 0));
        fsai.symbolic(space, to_device<TypeParam>(a));
        fsai.numeric(space, to_device<TypeParam>(a));
        fsai.numeric(space, to_device<TypeParam>(a));
        EXPECT_EQ(fsai.num_rows(), 0);
        EXPECT_EQ(fsai.report().nnz, 0);
        EXPECT_EQ(fsai.factor().nnz(), 0);
        const MultiVector<double, TypeParam> x("x", 0, 2), y("y", 0, 2);
        const auto workspace = fsai.make_workspace(space, 2);
        EXPECT_NO_THROW(fsai.apply(space, x, y, *workspace));
      }
    }
  }
}

TYPED_TEST(FsaiTest, FloatMatrixInEitherPrecision) {
  for (const HostMatrix<double>& a : {random_spd(97, 0.1, 121), random_gram(60, 80, 0.1, 122)}) {
    const HostMatrix<float> a_float = convert<float>(a);
    const HostMatrix<double> rounded = convert<double>(a_float);
    for (int power : {0, 1, 2}) {
      for (const FsaiOptions& options : both_precisions(power)) {
        Report report;
        const HostMatrix<double> g = convert<double>(factor<TypeParam>(a_float, options, &report));
        ASSERT_EQ(pattern_of(g), dense_power(pattern_of(a), power));
        EXPECT_EQ(report.breakdowns.count, 0);
        expect_sound(rounded, g, 1e-5);
        expect_minimisers(rounded, g, 1e-4);
        expect_psi(rounded, g, 1e-5);
      }
    }
  }
}

TYPED_TEST(FsaiTest, TheRegistryBuildsItWithEveryOption) {
  const OptionMap options = {{"power", std::int64_t(3)},
                             {"prefilter", 0.02},
                             {"postfilter", 0.03},
                             {"setup_scalar", std::string("double")},
                             {"reuse", std::string("none")},
                             {"memory_budget", std::int64_t(1) << 30},
                             {"storage", std::string("half")},
                             {"storage_format", std::string("jad")},
                             {"block_size", std::int64_t(0)}};
  const auto built = create_preconditioner<double, TypeParam>("fsai", options);
  EXPECT_EQ(built->name(), "fsai");
  EXPECT_TRUE(built->is_symmetric());
  const auto* fsai = dynamic_cast<const Fsai<double, TypeParam>*>(built.get());
  ASSERT_TRUE(fsai);
  FsaiOptions seen = fsai->options();
  EXPECT_EQ(OptionFields::of(seen).values(), options);
  const auto refuse = [](const OptionMap& map) {
    return message_of<OptionError>([&] { create_preconditioner<double, TypeParam>("fsai", map); });
  };
  EXPECT_THAT(refuse({{"pover", std::int64_t(2)}}), AllOf(HasSubstr("pover"), HasSubstr("'power'")));
  EXPECT_THAT(refuse({{"power", std::int64_t(-1)}}), HasSubstr("power"));
  EXPECT_THAT(refuse({{"prefilter", 1.5}}), HasSubstr("prefilter"));
  EXPECT_THAT(refuse({{"postfilter", -0.5}}), HasSubstr("postfilter"));
  EXPECT_THAT(refuse({{"setup_scalar", std::string("half")}}), HasSubstr("setup_scalar"));
  EXPECT_THAT(refuse({{"memory_budget", std::int64_t(1000)}}), HasSubstr("memory_budget"));
}

TYPED_TEST(FsaiTest, EveryOptionIsUsed) {
  const TypeParam space;
  // Rows of up to 400 entries: on a device their systems do not fit into scratch.
  const HostMatrix<double> a = random_gram(400, 500, 0.05, 131);
  const auto device = to_device<TypeParam>(a);
  const auto changed = to_device<TypeParam>(with_larger_diagonal(a, 2));
  struct BreakdownCounter {
    HostMatrix<double> first, second;
    std::string error;
  };
  const auto run = [&](const OptionMap& options) {
    BreakdownCounter outcome;
    const auto fsai = create_preconditioner<double, TypeParam>("fsai", options);
    const auto& g = dynamic_cast<const FactoredInverse<double, TypeParam>&>(*fsai);
    try {
      fsai->symbolic(space, device);
      fsai->numeric(space, device);
    } catch (const InputError& error) {
      outcome.error = error.what();
      return outcome;
    }
    outcome.first = to_host(g.factor());
    fsai->numeric(space, changed);
    outcome.second = to_host(g.factor());
    return outcome;
  };
  const OptionMap base = {{"postfilter", 0.01}};
  const BreakdownCounter plain = run(base);
  const auto with = [&](const std::string& name, const OptionValue& value) {
    OptionMap options = base;
    options[name] = value;
    return run(options);
  };
  std::set<std::string> tested = {"power",         "prefilter", "postfilter", "setup_scalar",  "reuse",
                                  "memory_budget", "storage",   "block_size", "storage_format"};
  FsaiOptions all;
  for (const auto& field : OptionFields::of(all).list())
    EXPECT_EQ(tested.erase(field.name), 1u) << field.name;
  EXPECT_THAT(tested, IsEmpty());
  EXPECT_EQ(with("power", std::int64_t(0)).first.nnz(), 400u);
  EXPECT_LT(with("prefilter", 0.1).first.nnz(), plain.first.nnz());
  EXPECT_LT(with("postfilter", 0.1).first.nnz(), plain.first.nnz());
  EXPECT_NE(with("setup_scalar", std::string("double")).first.values, plain.first.values);
  EXPECT_TRUE(with("storage", std::string("single")).first.values.empty());
  EXPECT_TRUE(with("storage_format", std::string("jad")).first.values.empty());
  EXPECT_NE(with("reuse", std::string("none")).second.col_idxs, plain.second.col_idxs);
  EXPECT_EQ(with("reuse", std::string("pattern")).second.col_idxs, plain.second.col_idxs);
  EXPECT_THAT(with("memory_budget", std::int64_t(1) << 10).error, HasSubstr("1024"));
  // The 400 rows are all alike.
  const auto entries_in_blocks = [&](std::int64_t size) {
    return run({{"power", std::int64_t(0)}, {"block_size", size}}).first.nnz();
  };
  EXPECT_EQ(entries_in_blocks(4), 1000u);
  EXPECT_EQ(entries_in_blocks(0), 3400u);
}

TYPED_TEST(FsaiTest, CountsItsOperationsAndBytes) {
  const TypeParam space;
  Dense dense(5, std::vector<double>(5, 1));
  for (int i = 0; i < 5; ++i) dense[i][i] = 10;
  const auto a = to_device<TypeParam>(sparse(dense));
  FsaiOptions options;
  options.postfilter = 1;
  Fsai<double, TypeParam> fsai(options);
  fsai.symbolic(space, a);
  fsai.numeric(space, a);
  EXPECT_DOUBLE_EQ(fsai.report().numeric_flops, (1 + 8 + 27 + 64 + 125) / 3.0 + (1 + 4 + 9 + 16 + 25))
      << "of the rows before the postfilter";
  ASSERT_EQ(fsai.report().nnz, 5);
  EXPECT_EQ(fsai.report().apply_flops, 4 * 5);
  EXPECT_EQ(fsai.report().bytes,
            std::int64_t(2 * (6 * sizeof(std::size_t) + 5 * (sizeof(int) + sizeof(double)))));
  fsai.numeric(space, a);
  EXPECT_DOUBLE_EQ(fsai.report().numeric_flops, 5 / 3.0 + 5) << "on the kept pattern";
}

TYPED_TEST(FsaiTest, EveryKernelAndViewIsLabelled) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(random_spd(300, 0.1, 141));
  FsaiOptions options = in_single(2);
  options.prefilter = 0.001;
  options.postfilter = 0.01;
  Fsai<double, TypeParam> fsai(options);
  const ToolEvents events;
  fsai.symbolic(space, a);
  fsai.numeric(space, a);
  for (const auto& labels : {events.kernels(), events.allocations()})
    for (const auto& label : labels)
      EXPECT_THAT(label,
                  ::testing::AnyOf(::testing::StartsWith("prekond::"), ::testing::StartsWith("Kokkos::")));
  for (const char* label : {"prekond::fsai::numeric::solve_rows", "prekond::fsai::numeric::scale_rows"})
    EXPECT_THAT(events.kernels(), ::testing::Contains(label));
}

TYPED_TEST(FsaiTest, AppliesGTransposeG) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(211, 0.05, 151);
  FsaiOptions options = in_single(2);
  options.postfilter = 0.01;
  Fsai<double, TypeParam> fsai(options);
  fsai.symbolic(space, to_device<TypeParam>(a));
  fsai.numeric(space, to_device<TypeParam>(a));
  const Dense g = to_dense(to_host(fsai.factor()));
  std::vector<double> x(211), gx(211, 0), expected(211, 0);
  for (int i = 0; i < 211; ++i) x[i] = std::sin(1.0 + i);
  for (int i = 0; i < 211; ++i)
    for (int j = 0; j <= i; ++j) gx[i] += g[i][j] * x[j];
  for (int i = 0; i < 211; ++i)
    for (int j = 0; j <= i; ++j) expected[j] += g[i][j] * gx[i];
  const auto x_device = to_device<TypeParam>(x);
  const Vector<double, TypeParam> y("y", 211);
  const auto workspace = fsai.make_workspace(space, 1);
  fsai.apply(space, as_multivector(VectorView<const double, TypeParam>(x_device)), as_multivector(y),
             *workspace);
  space.fence();
  const auto result = to_vector(y);
  for (int i = 0; i < 211; ++i) ASSERT_NEAR(result[i], expected[i], 1e-12);
}

TYPED_TEST(FsaiTest, NeedsFewerIterationsThanTheDiagonal) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(generated("elasticity3d:6"));
  std::vector<double> rhs(a.num_rows);
  for (std::size_t i = 0; i < rhs.size(); ++i) rhs[i] = std::sin(1.0 + 3.0 * double(i));
  const auto b = to_device<TypeParam>(rhs);
  const auto iterations = [&](const std::string& name, const OptionMap& options) {
    const auto m = create_preconditioner<double, TypeParam>(name, options);
    m->symbolic(space, a);
    m->numeric(space, a);
    const Vector<double, TypeParam> x("x", a.num_rows);
    StoppingOptions stopping;
    stopping.rtol = 1e-8;
    const SolveResult result =
        Cg<double, TypeParam>().solve(space, CsrOperator<double, TypeParam>(a), m.get(), b, x, stopping);
    EXPECT_TRUE(result.converged) << name << ": " << to_string(result.reason);
    EXPECT_LE(result.true_relative_residual, 1e-7) << name;
    return result.iterations;
  };
  const auto jacobi = iterations("jacobi", {});
  for (const char* scalar : {"single", "double"}) {
    const auto once = iterations("fsai", {{"power", std::int64_t(1)}, {"setup_scalar", std::string(scalar)}});
    const auto twice =
        iterations("fsai", {{"power", std::int64_t(2)}, {"setup_scalar", std::string(scalar)}});
    EXPECT_LT(once, jacobi * 3 / 4);
    EXPECT_LT(twice, once * 3 / 4);
  }
}

}  // namespace
}  // namespace prekond::testing
