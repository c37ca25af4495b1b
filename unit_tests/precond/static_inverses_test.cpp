// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The common tests of the approximate inverses on a pattern that is given, a power of A or the user's.
#include "testing/approximate_inverses.hpp"
#include "testing/matrices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/precond/registry.hpp>

#include <limits>
#include <numeric>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Enough for every row to reach all columns that it can.
constexpr int all_steps = 1000;

template <class Type>
class StaticInverseTest : public ::testing::Test {};
using StaticMethods = OnTestSpaces<FsaiCases, NonsymmetricFsaiCases, SpaiCases, IsaiCases>;
TYPED_TEST_SUITE(StaticInverseTest, StaticMethods, MethodNames);

TYPED_TEST(StaticInverseTest, EqualsTheReferenceOnEveryPatternInEitherPrecision) {
  using Cases = typename TypeParam::Cases;
  for (const auto& options : settings<Cases>({0, 1, 2, 3})) {
    if (options.power > Cases::largest_power) continue;
    for (const Case& test : Cases::small_samples(options)) {
      SCOPED_TRACE(test.name + ", " + text_of(options));
      Report report;
      const auto m = invert<Cases, typename TypeParam::Space>(test.matrix, options, &report);
      ASSERT_EQ(pattern_of(m[0]), expected_pattern<Cases>(pattern_of(test.matrix), options.power, options));
      EXPECT_EQ(m[0].num_cols, test.matrix.num_rows);
      ASSERT_NO_FATAL_FAILURE(
          Cases::expect_reference(test.matrix, m, options, arithmetic_of(options.setup_scalar)));
      EXPECT_EQ(report.breakdowns.count, 0);
      EXPECT_EQ(report.breakdowns.first_row, -1);
      EXPECT_EQ(report.notes.size(), Cases::num_notes);
      EXPECT_EQ(report.nnz, nnz_of(m, options));
    }
  }
}

TYPED_TEST(StaticInverseTest, RowsOfOneLengthAroundTheEdgesOfEveryBin) {
  using Cases = typename TypeParam::Cases;
  std::vector<int> lengths = {1, 2, 7, 20, 31, 110, 300};
  for (const int edge : {8, 16, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256})
    lengths.insert(lengths.end(), {edge, edge + 1});
  for (const auto& options : settings<Cases>({1})) {
    const double tolerance = options.setup_scalar == Precision::double_precision ? 1e-11 : 1e-3;
    for (const int length : lengths) {
      if (length > Cases::longest_row) continue;
      SCOPED_TRACE(text_of(options) + ", length " + std::to_string(length));
      const int n = length + 5;
      const HostMatrix<double> a = Cases::dense_sample(n, 1000u + length, options);
      const HostGraph pattern = Cases::rows_of(n, length, options);
      const auto m = invert<Cases, typename TypeParam::Space>(a, options, nullptr, &pattern);
      ASSERT_EQ(pattern_of(m[0]), Cases::part_of(pattern, options));
      for (const int i : {n / 2, length - 1, length, n - 1})
        ASSERT_LE(pattern[i].size(), std::size_t(length));
      ASSERT_EQ(pattern[n - 1].size(), std::size_t(length));
      ASSERT_NO_FATAL_FAILURE(
          Cases::expect_rows(a, m, options, tolerance, {0, n / 2, length - 1, length, n - 1}));
    }
  }
}

/// The first matrix times A times the second one, where there is one, is the identity.
void expect_exact(const Dense& a, const Inverse<double>& m, double tolerance) {
  const std::size_t n = a.size();
  const Dense left = to_dense(m.front()), right = to_dense(m.back());
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<long double> row(n, 0), product(n, 0);
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = 0; left[i][k] != 0 && j < n; ++j)
        row[j] += static_cast<long double>(left[i][k]) * a[k][j];
    for (std::size_t k = 0; m.size() > 1 && k < n; ++k)
      for (std::size_t j = 0; j < n; ++j) product[j] += row[k] * right[k][j];
    for (std::size_t j = 0; j < n; ++j)
      ASSERT_NEAR(double(m.size() > 1 ? product[j] : row[j]), i == j ? 1 : 0, tolerance)
          << "entry (" << i << ", " << j << ")";
  }
}

TYPED_TEST(StaticInverseTest, TheFullPatternGivesTheInverse) {
  using Cases = typename TypeParam::Cases;
  for (const auto& options : settings<Cases>({all_steps})) {
    for (const Case& test : Cases::full_samples(options)) {
      const HostMatrix<double>& a = test.matrix;
      HostGraph full(a.num_rows, std::vector<int>(a.num_rows));
      for (auto& row : full) std::iota(row.begin(), row.end(), 0);
      for (const HostGraph* given : std::vector<const HostGraph*>{nullptr, &full}) {
        SCOPED_TRACE(test.name + ", " + text_of(options));
        const auto m = invert<Cases, typename TypeParam::Space>(a, options, nullptr, given);
        const HostGraph pattern = expected_pattern<Cases>(given ? full : pattern_of(a), all_steps, options);
        ASSERT_EQ(pattern_of(m[0]), pattern);
        if (pattern != Cases::part_of(full, options)) continue;  // not all of a sparse triangle is reached
        const bool in_double = options.setup_scalar == Precision::double_precision;
        ASSERT_NO_FATAL_FAILURE(
            expect_exact(Cases::target(a, options), m, in_double ? Cases::full_error : 1e-2));
      }
    }
  }
}

TYPED_TEST(StaticInverseTest, ThePrefilterOnlyShapesThePattern) {
  using Space = typename TypeParam::Space;
  using Cases = typename TypeParam::Cases;
  for (const double tau : {0.02, 0.05, 0.1, 0.2, 1.0}) {
    for (auto options : Cases::variants()) {
      for (const Case& test : Cases::matrices_to_filter(options)) {
        const HostGraph s = prefiltered(test.matrix, tau);
        for (const int power : {0, 1, 2}) {
          options = chosen(options, {.power = power});
          const std::size_t unfiltered = invert<Cases, Space>(test.matrix, options)[0].nnz();
          options.prefilter = tau;
          SCOPED_TRACE(test.name + ", " + text_of(options));
          const auto m = invert<Cases, Space>(test.matrix, options);
          ASSERT_EQ(pattern_of(m[0]), expected_pattern<Cases>(s, power, options));
          ASSERT_NO_FATAL_FAILURE(Cases::expect_reference(test.matrix, m, options, Arithmetic::in_double));
          // Products fill the gaps of a mesh's blocks again.
          if (power == 1) {
            EXPECT_LT(m[0].nnz(), unfiltered);
          } else {
            EXPECT_LE(m[0].nnz(), unfiltered);
          }
          if (power > 0 && tau <= 0.1) {
            EXPECT_GT(m[0].nnz(), std::size_t(test.matrix.num_rows));
          } else if (power == 0 || (tau == 1 && options.properties().needs_spd)) {
            EXPECT_EQ(m[0].nnz(), std::size_t(test.matrix.num_rows))
                << "|a_ij| < sqrt(a_ii a_jj) in an SPD matrix";
          }
        }
      }
    }
  }
}

TYPED_TEST(StaticInverseTest, APatternOfTheUsersIsObeyed) {
  using Space = typename TypeParam::Space;
  using Cases = typename TypeParam::Cases;
  const Space space;
  // Not symmetric, with entries in both triangles, most diagonal entries missing, columns where A has no
  // entry.
  HostGraph pattern = pattern_of(random_entries<double>(90, 90, 0.08, 52));
  pattern[40].clear();
  pattern[41].clear();
  pattern[0] = {89};
  for (auto options : settings<Cases>({0, 1, 3})) {
    options.prefilter = options.power == 3 ? 0.3 : 0;  // neither counts
    SCOPED_TRACE(text_of(options));
    const HostMatrix<double> a = Cases::sample(90, 0.2, 51, options);
    typename Cases::template Method<double, Space> m(options);
    auto graph = graph_of<Space>(pattern, 90);
    m.set_pattern(space, graph);
    Kokkos::deep_copy(graph.col_idxs, 0);  // it was copied
    Kokkos::deep_copy(graph.row_ptrs, std::size_t(0));
    m.symbolic(space, to_device<Space>(a));
    m.numeric(space, to_device<Space>(a));
    const Inverse<double> inverse = Cases::inverse_of(m);
    ASSERT_EQ(pattern_of(inverse[0]), Cases::part_of(reference_power(pattern, 1), options));
    ASSERT_NO_FATAL_FAILURE(
        Cases::expect_reference(a, inverse, options, arithmetic_of(options.setup_scalar)));
    const HostMatrix<double> spd = random_spd(90, 0.2, 51);
    const auto device = to_device<Space>(spd);
    m.set_pattern(space, device);  // a matrix's
    m.symbolic(space, device);
    m.numeric(space, device);
    options.power = 1;
    options.prefilter = 0;
    EXPECT_TRUE((Cases::inverse_of(m) == invert<Cases, Space>(spd, options)));
  }
}

TYPED_TEST(StaticInverseTest, RefusesPatternsThatDoNotFit) {
  using Space = typename TypeParam::Space;
  using Cases = typename TypeParam::Cases;
  const Space space;
  for (const auto& options : Cases::variants()) {
    SCOPED_TRACE(text_of(options));
    const auto a = to_device<Space>(Cases::sample(6, 0.5, 54, options));
    typename Cases::template Method<double, Space> m(options);
    const auto refusal = [&](const HostGraph& pattern, int num_cols) {
      return message_of<InputError>([&] { m.set_pattern(space, graph_of<Space>(pattern, num_cols)); });
    };
    EXPECT_THAT(refusal({{0}, {1}, {2}}, 4),
                HasSubstr(m.name() + ": the pattern is 3 x 4; it has to be square"));
    EXPECT_THAT(refusal({{0}, {0, 1, 3}, {2}}, 3), HasSubstr(m.name() + ": the pattern has the column 4"));
    EXPECT_THAT(refusal({{0}, {-1, 1}, {2}}, 3), HasSubstr(m.name() + ": the pattern has the column 0"));
    const std::string wrong_size = m.name() + ": the pattern has 5 rows, the matrix 6";
    m.set_pattern(space, graph_of<Space>(HostGraph(5), 5));
    EXPECT_THAT(message_of<InputError>([&] { m.numeric(space, a); }), HasSubstr(wrong_size));
    m.set_pattern(space, graph_of<Space>({{0}, {1}, {2}, {3}, {4}, {5}}, 6));
    m.symbolic(space, a);
    m.numeric(space, a);
    const Inverse<double> before = Cases::inverse_of(m);
    m.set_pattern(space, graph_of<Space>(HostGraph(5), 5));
    EXPECT_THAT(message_of<InputError>([&] { m.symbolic(space, a); }), HasSubstr(wrong_size));
    EXPECT_TRUE(before == Cases::inverse_of(m));
    m.set_pattern(space, graph_of<Space>(HostGraph(6), 6));
    m.symbolic(space, a);
    m.numeric(space, a);
    EXPECT_EQ(Cases::inverse_of(m)[0].nnz(), 6u);
  }
}

TYPED_TEST(StaticInverseTest, AFailedNumericLeavesTheInverseAsItWas) {
  using Space = typename TypeParam::Space;
  using Cases = typename TypeParam::Cases;
  const Space space;
  for (const auto& variant : Cases::variants()) {
    SCOPED_TRACE(text_of(variant));
    Failing test = Cases::failing(variant);
    test.choice.reuse = Reuse::none;
    auto options = chosen(variant, test.choice);
    options.memory_budget = test.memory_budget;
    const int n = static_cast<int>(test.matrix.num_rows);
    HostMatrix<double> diagonal = test.matrix;
    for (int i = 0; i < n; ++i)
      for (std::size_t k = diagonal.row_ptrs[i]; k < diagonal.row_ptrs[i + 1]; ++k)
        if (diagonal.col_idxs[k] == i) diagonal.values[k] = 1e6;
    const auto m = set_up<Cases::template Method, Space>(diagonal, options);
    const Inverse<double> before = Cases::inverse_of(*m);
    const std::int64_t nnz = m->report().nnz;
    const std::vector<double> y = applied<Space>(*m, sines(n));
    ASSERT_EQ(before[0].nnz(), std::size_t(n));
    const std::string message =
        message_of<InputError>([&] { m->numeric(space, to_device<Space>(test.matrix)); });
    for (const std::string& word : test.words) EXPECT_THAT(message, HasSubstr(word));
    EXPECT_THAT(message_of<InputError>(
                    [&] { m->numeric(space, to_device<Space>(Cases::sample(21, 0.5, 1, options))); }),
                HasSubstr(m->name() + ": numeric was given 21 rows, symbolic " + std::to_string(n) +
                          "; call symbolic again"));
    EXPECT_TRUE(before == Cases::inverse_of(*m));
    EXPECT_EQ(m->report().nnz, nnz);
    EXPECT_EQ(applied<Space>(*m, sines(n)), y);
    // Without a threshold the symbolic phase finds out.
    options = chosen(variant, {.power = 3});
    options.memory_budget = 8000;
    EXPECT_THAT(
        message_of<InputError>([&] { invert<Cases, Space>(Cases::sample(120, 0.3, 92, options), options); }),
        HasSubstr("8000"));
  }
}

TYPED_TEST(StaticInverseTest, RowsThatSinglePrecisionCannotSolveAreDoneInDouble) {
  using Space = typename TypeParam::Space;
  using Cases = typename TypeParam::Cases;
  for (const auto& variant : Cases::variants()) {
    const auto in_single = chosen(variant, {.precision = Precision::single_precision});
    SCOPED_TRACE(text_of(variant));
    for (const auto& [a, first_row] : Cases::ill_conditioned(variant)) {
      Report report;
      const auto single = invert<Cases, Space>(a, in_single, &report);
      EXPECT_EQ(report.breakdowns.count, 0);
      EXPECT_EQ(report.breakdowns.first_row, -1);
      EXPECT_EQ(report.breakdowns.action, "");
      const auto in_double = invert<Cases, Space>(a, chosen(variant, {}), &report);
      EXPECT_EQ(report.breakdowns.count, 0);
      EXPECT_EQ(single == in_double, first_row == 0) << "the rows before are in single precision";
      std::vector<int> rows;
      for (int i = first_row; i < a.num_rows; ++i) rows.push_back(i);
      const double error = variant.properties().needs_spd ? 1e-12 : 0;
      for (std::size_t f = 0; f < single.size(); ++f) {
        ASSERT_EQ(pattern_of(single[f]), pattern_of(in_double[f]));
        for (std::size_t k = single[f].row_ptrs[first_row]; k < single[f].nnz(); ++k)
          ASSERT_NEAR(single[f].values[k] / in_double[f].values[k], 1, error);
      }
      ASSERT_NO_FATAL_FAILURE(Cases::expect_rows(a, single, in_single, 1e-3, rows));
    }
  }
}

TYPED_TEST(StaticInverseTest, ItsPatternDoesNotGrow) {
  using Cases = typename TypeParam::Cases;
  using Method = typename Cases::template Method<double, typename TypeParam::Space>;
  for (auto options : Cases::variants()) {
    options.reuse = Reuse::extend;
    EXPECT_THAT(message_of<OptionError>([&] { Method m(options); }),
                HasSubstr(std::string(Cases::Options::name) + ": reuse = extend"));
  }
}

TYPED_TEST(StaticInverseTest, TheRegistryBuildsItWithEveryOption) {
  using Space = typename TypeParam::Space;
  using Cases = typename TypeParam::Cases;
  const std::string name = Cases::Options::name;
  OptionMap options = {{"power", std::int64_t(3)},       {"prefilter", 0.02},
                       {"reuse", std::string("none")},   {"memory_budget", std::int64_t(1) << 30},
                       {"storage", std::string("half")}, {"storage_format", std::string("jad")}};
  options.merge(Cases::own_options());
  const auto built = create_preconditioner<double, Space>(name, options);
  EXPECT_EQ(built->name(), name);
  EXPECT_EQ(built->is_symmetric(), Cases::is_symmetric);
  EXPECT_EQ(built->is_nonsymmetric(), !Cases::is_symmetric);
  const auto* m = dynamic_cast<const typename Cases::template Method<double, Space>*>(built.get());
  ASSERT_TRUE(m);
  typename Cases::Options seen = m->options(), defaults;
  EXPECT_EQ(OptionFields::of(seen).values(), options);
  for (const auto& [key, value] : OptionFields::of(defaults).values()) EXPECT_NE(options[key], value) << key;
  std::vector<Refusal> refusals = {{{{"pover", std::int64_t(2)}}, {"pover", "'power'"}},
                                   {{{"power", std::int64_t(-1)}}, {"power"}},
                                   {{{"prefilter", 1.5}}, {"prefilter"}},
                                   {{{"setup_scalar", std::string("half")}}, {"setup_scalar"}},
                                   {{{"memory_budget", std::int64_t(1000)}}, {"memory_budget"}}};
  for (const Refusal& refusal : Cases::own_refusals()) refusals.push_back(refusal);
  for (const Refusal& refusal : refusals) {
    const std::string message =
        message_of<OptionError>([&] { create_preconditioner<double, Space>(name, refusal.options); });
    for (const std::string& word : refusal.words) EXPECT_THAT(message, HasSubstr(word));
  }
}

TYPED_TEST(StaticInverseTest, NeedsFewerIterationsThanTheDiagonal) {
  using Space = typename TypeParam::Space;
  using Cases = typename TypeParam::Cases;
  for (const char* spec : Cases::problems()) {
    const HostMatrix<double> a = generated(spec);
    const auto jacobi = Cases::template iterations_with<Space>(a, "jacobi", {});
    ASSERT_LE(jacobi, 300);
    for (const auto& improvements : Cases::improvements()) {
      auto least = jacobi;
      for (const auto& [options, ratio] : improvements) {
        const auto found = Cases::template iterations_with<Space>(a, Cases::Options::name, options);
        EXPECT_LT(found, static_cast<std::int64_t>(ratio * double(least))) << spec;
        least = found;
      }
    }
  }
}

// ------------------------------------------------------------------------------- methods for general
// matrices

template <class Type>
class GeneralInverseTest : public ::testing::Test {};
using GeneralMethods = OnTestSpaces<NonsymmetricFsaiCases, SpaiCases, IsaiCases>;
TYPED_TEST_SUITE(GeneralInverseTest, GeneralMethods, MethodNames);

/// Without the variants for SPD matrices.
template <class Cases>
std::vector<typename Cases::Options> general_settings(const std::vector<int>& powers) {
  auto all = settings<Cases>(powers);
  std::erase_if(all, [](const auto& options) { return options.properties().needs_spd; });
  return all;
}

/// It is finite, and the report says whether rows broke down.
template <class Cases, class Space>
Inverse<double> finite_inverse(const HostMatrix<double>& a, const typename Cases::Options& options,
                               Report& report) {
  SCOPED_TRACE(text_of(options));
  const Inverse<double> m = invert<Cases, Space>(a, options, &report);
  Cases::expect_finite_inverse(m, options);
  EXPECT_EQ(report.breakdowns.count > 0, report.breakdowns.first_row >= 0);
  EXPECT_LE(report.breakdowns.count, a.num_rows);
  return m;
}

TYPED_TEST(GeneralInverseTest, AwkwardMatricesGiveFiniteInverses) {
  using Space = typename TypeParam::Space;
  using Cases = typename TypeParam::Cases;
  Report report;
  for (const auto& test : awkward_patterns<double>()) {
    SCOPED_TRACE(test.name);
    for (auto options : general_settings<Cases>({2})) {
      finite_inverse<Cases, Space>(test.matrix, options, report);
      if constexpr (requires { options.postfilter; }) {
        options.postfilter = 0.05;
        finite_inverse<Cases, Space>(test.matrix, options, report);
      }
    }
  }
  for (const auto& options : general_settings<Cases>({1, all_steps})) {
    const HostMatrix<double> good = Cases::sample(20, 0.5, 3, options);
    for (const double value : {std::nan(""), std::numeric_limits<double>::infinity(), 1e-320}) {
      for (const std::size_t k : {std::size_t(0), good.nnz() / 2, good.nnz() - 1}) {
        HostMatrix<double> a = good;
        a.values[k] = value;
        finite_inverse<Cases, Space>(a, options, report);
        bool is_finite = true;
        for (const auto& row : Cases::target(a, options))
          for (const double entry : row) is_finite = is_finite && std::isfinite(entry);
        EXPECT_TRUE(is_finite || report.breakdowns.count > 0) << text_of(options) << ", " << value;
      }
    }
  }
}

TYPED_TEST(GeneralInverseTest, ConjugateGradientsRefuseIt) {
  using Space = typename TypeParam::Space;
  using Cases = typename TypeParam::Cases;
  const auto a = to_device<Space>(generated("poisson2d:5"));
  typename Cases::template Method<double, Space> m;
  m.numeric(Space(), a);
  const Vector<double, Space> b("b", 25), x("x", 25);
  EXPECT_THAT(message_of<InputError>(
                  [&] { Cg<double, Space>().solve(Space(), CsrOperator<double, Space>(a), &m, b, x, {}); }),
              AllOf(HasSubstr("cg"), HasSubstr(m.name() + " is not symmetric"), HasSubstr("adaptive_fsai"),
                    HasSubstr("bicgstab")));
}

template <class Type>
class InverseOfRealMatricesTest : public ::testing::Test {};
using OnDefaultSpace = ::testing::Types<On<Kokkos::DefaultExecutionSpace, NonsymmetricFsaiCases>,
                                        On<Kokkos::DefaultExecutionSpace, SpaiCases>,
                                        On<Kokkos::DefaultExecutionSpace, IsaiCases>>;
TYPED_TEST_SUITE(InverseOfRealMatricesTest, OnDefaultSpace, MethodNames);

TYPED_TEST(InverseOfRealMatricesTest, NeedsFewerIterationsThanTheDiagonal) {
  using Space = typename TypeParam::Space;
  const RealMatrices tests = TypeParam::Cases::real_matrices();
  for (const auto& file : matrices_named(tests.own, tests.collection)) {
    const HostMatrix<double> a = to_host(read_matrix_market<double>(file.string()));
    const auto jacobi = iterations<Space>(a, "jacobi", {}, 2000);
    const auto found = iterations<Space>(a, TypeParam::Cases::Options::name, tests.options, 2000);
    EXPECT_LT(found, static_cast<std::int64_t>(tests.ratio * double(jacobi))) << file;
  }
}

/// Every matrix of the collection ends with a finite inverse; an ISAI is one on its pattern where no row
/// broke down.
TYPED_TEST(InverseOfRealMatricesTest, IsFinite) {
  using Space = typename TypeParam::Space;
  using Cases = typename TypeParam::Cases;
  int seen = 0;
  for (const auto& file : matrices_of_kind("general", Cases::largest_file)) {
    const HostMatrix<double> a = to_host(read_matrix_market<double>(file.string()));
    if (a.num_cols != a.num_rows) continue;
    SCOPED_TRACE(file.string());
    for (const auto& options : general_settings<Cases>({1})) {
      Report report;
      const auto m = finite_inverse<Cases, Space>(a, options, report);
      if (this->HasFatalFailure()) return;
      if constexpr (requires { options.kind; })
        if (report.breakdowns.count == 0 && options.setup_scalar == Precision::double_precision) {
          ASSERT_NO_FATAL_FAILURE(expect_inverse_on_pattern(part_of(a, options.kind), m[0], 1e-6));
        }
    }
    ++seen;
  }
  EXPECT_GE(seen, has_collection() ? 30 : 8);
}

}  // namespace
}  // namespace prekond::testing
