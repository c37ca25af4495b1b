// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The static and the adaptive FSAI on Hermitian matrices.
#include "precond/approximate_inverse/adaptive_fsai/numeric.hpp"
#include "precond/approximate_inverse/adaptive_fsai/setup.hpp"
#include "testing/hermitian_matrices.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/adaptive_fsai.hpp>
#include <prekond/precond/fsai.hpp>
#include <prekond/precond/jacobi.hpp>
#include <prekond/precond/registry.hpp>

#include <limits>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using SingleComplex = Kokkos::complex<float>;

struct Method {
  std::string name;
  OptionMap options;
};

std::string describe(const Method& method) {
  std::string text = method.name;
  for (const auto& [key, value] : method.options) text += " " + key + "=" + to_string(value);
  return text;
}

/// Grown in double, unless the options say otherwise.
template <class Space, class Scalar>
std::unique_ptr<MatrixPreconditioner<Scalar, Space>> computed(const HostMatrix<Scalar>& a, Method method) {
  method.options.emplace("setup_scalar", "double");
  auto m = create_preconditioner<Scalar, Space>(method.name, method.options);
  const auto device = to_device<Space>(a);
  m->symbolic(Space(), device);
  m->numeric(Space(), device);
  return m;
}

template <class Space, class Scalar>
HostMatrix<Scalar> factor_of(const MatrixPreconditioner<Scalar, Space>& m) {
  return to_host(dynamic_cast<const FactoredInverse<Scalar, Space>&>(m).factor());
}

template <class Space, class Scalar>
HostMatrix<Scalar> factor(const HostMatrix<Scalar>& a, const Method& method, Report* report = nullptr) {
  const auto m = computed<Space>(a, method);
  if (report) *report = m->report();
  return factor_of(*m);
}

std::vector<NamedMatrix<Complex>> hermitian_matrices() {
  const Kokkos::DefaultHostExecutionSpace host;
  std::vector<NamedMatrix<Complex>> cases;
  for (int n : {1, 2, 3, 17, 33, 67, 129})
    cases.push_back({"random:" + std::to_string(n), random_hermitian(n, 0.15, 7u + n)});
  cases.push_back({"dense:41", random_hermitian(41, 1.0, 3)});
  cases.push_back({"scaled:65", random_hermitian(65, 0.2, 4, 12)});
  for (const char* spec : {"tridiagonal:37", "poisson2d:9", "poisson3d:5", "circuit:9"})
    cases.push_back({spec, with_random_phases(to_host(generate<double>(host, spec)), 5)});
  const auto elasticity = to_host(generate<double>(host, "elasticity3d:4"));
  cases.push_back({"elasticity3d:4", rotated(elasticity, random_phases(elasticity.num_rows, 6))});
  return cases;
}

/// Row i of G on the pattern it has, by dense algebra.
void expect_minimal(const ComplexDense& a, const HostMatrix<Complex>& g, int i, double tolerance) {
  const std::size_t last = g.row_ptrs[i + 1] - 1;
  const std::vector<int> pattern(g.col_idxs.begin() + g.row_ptrs[i], g.col_idxs.begin() + last);
  const HermitianRow expected = solve_row(a, i, pattern);
  ASSERT_NEAR(psi_of(g, i) / expected.psi, 1, tolerance) << "row " << i;
  for (std::size_t p = 0; p < pattern.size(); ++p) {
    const LongComplex found(g.values[g.row_ptrs[i] + p].real(), g.values[g.row_ptrs[i] + p].imag());
    ASSERT_LE(std::abs(found / LongComplex(g.values[last].real()) - expected.g[p]),
              10 * tolerance * (1 + std::abs(expected.g[p])))
        << "row " << i << " column " << pattern[p];
  }
}

template <class Space>
class ComplexFsaiTest : public ::testing::Test {};
TYPED_TEST_SUITE(ComplexFsaiTest, TestSpaces, SpaceNames);

TYPED_TEST(ComplexFsaiTest, RowsMinimisePsiOnTheirPatterns) {
  const std::vector<Method> methods = {
      {"fsai", {}},
      {"fsai", {{"power", "3"}}},
      {"fsai", {{"prefilter", 0.1}, {"power", "2"}}},
      {"adaptive_fsai", {}},
      {"adaptive_fsai", {{"initial_power", "2"}, {"step_size", "3"}}},
      {"adaptive_fsai", {{"gradient", "marker"}, {"step_size", "2"}}},
      {"adaptive_fsai", {{"gradient", "merge"}, {"step_size", "2"}}},
      {"adaptive_fsai",
       {{"max_steps", "25"}, {"step_size", "2"}, {"step_tolerance", 0.0}, {"tolerance", 0.0}}}};
  for (const auto& test : hermitian_matrices()) {
    const ComplexDense dense = to_dense(test.matrix);
    for (const Method& method : methods) {
      SCOPED_TRACE(test.name + ", " + describe(method));
      const HostMatrix<Complex> g = factor<TypeParam>(test.matrix, method);
      expect_sound(test.matrix, g, 1e-10);
      for (int i = 0; i < test.matrix.num_rows; ++i) expect_minimal(dense, g, i, 1e-9);
      // In single precision the scaling is double all the same.
      Method single = method;
      single.options["setup_scalar"] = "single";
      expect_sound(test.matrix, factor<TypeParam>(test.matrix, single), 1e-10);
    }
  }
}

/// Algorithm 1 of Bernaschi et al. (2019) for row i, the gradient over all columns in every step.
HermitianRow grow_row(const ComplexDense& a, int i, const ReferenceAdaptiveFsai& parameters,
                      const std::vector<int>& start = {}) {
  HermitianRow row = solve_row(a, i, start);
  const double psi_0 = row.psi;
  for (int k = 0; k < parameters.k_max; ++k) {
    std::vector<int> pattern = row.pattern;
    std::vector<double> size(i);
    for (int j = 0; j < i; ++j) {
      LongComplex r = a[i][j];
      for (std::size_t p = 0; p < row.pattern.size(); ++p) r += row.g[p] * a[row.pattern[p]][j];
      size[j] = static_cast<double>(std::abs(r));
    }
    for (int t = 0; t < parameters.s; ++t) {
      int best = -1;
      for (int j = 0; j < i; ++j) {
        if (std::find(pattern.begin(), pattern.end(), j) != pattern.end()) continue;
        if (!(size[j] > parameters.floor * std::sqrt(static_cast<double>(a[i][i].real() * a[j][j].real()))))
          continue;
        if (best < 0 || size[j] > size[best]) best = j;
      }
      if (best < 0) break;
      pattern.push_back(best);
    }
    if (pattern.size() == row.pattern.size()) break;
    const double psi_before = row.psi;
    row = solve_row(a, i, pattern);
    if (row.psi <= parameters.epsilon * psi_0) break;
    if (parameters.step_tolerance > 0 && psi_before - row.psi <= parameters.step_tolerance * psi_before)
      break;
  }
  return row;
}

TYPED_TEST(ComplexFsaiTest, PatternsGrowAsTheDenseAlgorithmSays) {
  std::vector<ReferenceAdaptiveFsai> sets(6);
  sets[1].k_max = 3;
  sets[2].s = 2;
  sets[3].s = 5, sets[3].k_max = 3;
  sets[4].epsilon = 0, sets[4].k_max = 60;
  sets[5].step_tolerance = 0.01;
  for (const auto& set : sets) {
    const Method method{"adaptive_fsai",
                        {{"max_steps", std::to_string(set.k_max)},
                         {"step_size", std::to_string(set.s)},
                         {"tolerance", set.epsilon},
                         {"step_tolerance", set.step_tolerance}}};
    for (const int n : {40, 130}) {
      const HostMatrix<Complex> a = random_hermitian(n, 0.15, 60u + unsigned(n));
      const HostMatrix<Complex> g = factor<TypeParam>(a, method);
      const ComplexDense dense = to_dense(a);
      for (int i = 0; i < n; ++i) {
        HermitianRow expected = grow_row(dense, i, set);
        std::sort(expected.pattern.begin(), expected.pattern.end());
        const std::vector<int> found(g.col_idxs.begin() + g.row_ptrs[i],
                                     g.col_idxs.begin() + g.row_ptrs[i + 1] - 1);
        ASSERT_EQ(found, expected.pattern) << describe(method) << " row " << i;
        ASSERT_NEAR(psi_of(g, i) / expected.psi, 1, 1e-10);
      }
    }
  }
}

TYPED_TEST(ComplexFsaiTest, RotatedMatrixHasTheRotatedFactor) {
  // G of D^H A D is D^H G D: every conjugation, in every option.
  const std::vector<Method> methods = {
      {"fsai", {}},
      {"fsai", {{"power", "0"}}},
      {"fsai", {{"power", "3"}, {"prefilter", 0.05}, {"postfilter", 0.02}}},
      {"adaptive_fsai", {}},
      {"adaptive_fsai", {{"max_steps", "0"}}},
      {"adaptive_fsai", {{"step_size", "4"}, {"max_steps", "5"}}},
      {"adaptive_fsai", {{"initial_power", "1"}, {"step_size", "3"}}},
      {"adaptive_fsai", {{"prefilter", 0.05}}},
      {"adaptive_fsai",
       {{"postfilter", 0.02}, {"max_steps", "25"}, {"step_size", "1"}, {"step_tolerance", 0.0}}},
      {"adaptive_fsai", {{"prefilter", 0.05}, {"postfilter", 0.02}, {"initial_power", "2"}}},
      {"adaptive_fsai", {{"gradient", "marker"}, {"step_size", "3"}}},
      {"adaptive_fsai", {{"gradient", "merge"}, {"step_size", "3"}}},
      {"adaptive_fsai", {{"gradient", "merge"}, {"initial_power", "1"}}},
      {"adaptive_fsai",
       {{"gradient", "merge"},
        {"max_steps", "25"},
        {"step_size", "2"},
        {"step_tolerance", 0.0},
        {"postfilter", 0.02}}},
      {"adaptive_fsai", {{"max_steps", "120"}, {"tolerance", 0.0}, {"workspace_budget", "65536"}}}};
  const HostMatrix<double> a = random_spd(140, 0.12, 71);
  const std::vector<Complex> d = random_phases(140, 72);
  const HostMatrix<Complex> h = rotated(a, d);
  for (const Method& method : methods) {
    SCOPED_TRACE(describe(method));
    Report real_report, report;
    const HostMatrix<double> real = factor<TypeParam>(a, method, &real_report);
    const HostMatrix<Complex> g = factor<TypeParam>(h, method, &report);
    ASSERT_EQ(g.row_ptrs, real.row_ptrs);
    ASSERT_EQ(g.col_idxs, real.col_idxs);
    for (int i = 0; i < 140; ++i) {
      for (std::size_t k = g.row_ptrs[i]; k < g.row_ptrs[i + 1]; ++k) {
        const Complex expected = Kokkos::conj(d[i]) * d[g.col_idxs[k]] * real.values[k];
        ASSERT_LE(Kokkos::abs(g.values[k] - expected), 1e-11 * (1 + std::abs(real.values[k]))) << "row " << i;
      }
    }
    EXPECT_EQ(report.notes, real_report.notes);
    EXPECT_EQ(report.breakdowns.count, 0);
    EXPECT_DOUBLE_EQ(report.numeric_flops, 4 * real_report.numeric_flops);
    EXPECT_EQ(report.apply_flops, 16.0 * static_cast<double>(g.nnz()));
  }
}

template <class Space, class Scalar>
SolveResult solve(const HostMatrix<Scalar>& a, const std::vector<Scalar>& b, const Method& method) {
  const auto m = computed<Space>(a, method);
  const auto x = to_device<Space>(std::vector<Scalar>(b.size()));
  return Cg<Scalar, Space>().solve(Space(), CsrOperator<Scalar, Space>(to_device<Space>(a)), m.get(),
                                   to_device<Space>(b), x, StoppingOptions{});
}

TYPED_TEST(ComplexFsaiTest, CgTakesTheRealMatrixsIterations) {
  const HostMatrix<double> a = random_spd(500, 0.02, 9);
  const std::vector<Complex> d = random_phases(500, 8);
  std::vector<Complex> b;
  for (const Complex& phase : d) b.push_back(Kokkos::conj(phase));
  for (const char* name : {"fsai", "adaptive_fsai"}) {
    for (const char* storage : {"full", "single", "half", "bfloat16"}) {
      for (const char* setup : {"single", "double"}) {
        const Method method{name, {{"storage", storage}, {"setup_scalar", setup}}};
        const SolveResult real = solve<TypeParam>(a, std::vector<double>(500, 1), method);
        const SolveResult complex = solve<TypeParam>(rotated(a, d), b, method);
        ASSERT_TRUE(complex.converged) << describe(method);
        // The rotated numbers round differently.
        EXPECT_NEAR(complex.iterations, real.iterations,
                    std::string(storage) == "full" && std::string(setup) == "double" ? 0 : 1)
            << describe(method);
      }
    }
  }
}

TYPED_TEST(ComplexFsaiTest, ASecondNumericKeepsThePattern) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(150, 0.1, 41);
  const std::vector<Complex> d = random_phases(150, 42);
  const HostMatrix<Complex> first = rotated(a, d), second = rotated(with_larger_diagonal(a, 1), d);
  for (const Method& method : {Method{"fsai", {{"postfilter", 0.01}}},
                               Method{"adaptive_fsai", {{"step_size", "2"}, {"postfilter", 0.01}}}}) {
    const auto m = computed<TypeParam>(first, method);
    const HostMatrix<Complex> before = factor_of(*m);
    m->numeric(space, to_device<TypeParam>(second));
    EXPECT_TRUE(m->report().pattern_kept);
    const HostMatrix<Complex> after = factor_of(*m);
    EXPECT_EQ(before.col_idxs, after.col_idxs);
    expect_sound(second, after, 1e-10);
    const ComplexDense dense = to_dense(second);
    for (int i = 0; i < 150; ++i) expect_minimal(dense, after, i, 1e-9);
    // Not Hermitian any more on the diagonal: refused, and the factor stays.
    HostMatrix<Complex> bad = second;
    bad.values[0] = Complex(1, 1e-3);
    EXPECT_THROW(m->numeric(space, to_device<TypeParam>(bad)), InputError);
    EXPECT_TRUE(factor_of(*m) == after);
  }
}

template <class Space>
std::vector<Complex> applied(const Preconditioner<Complex, Space>& m, const std::vector<Complex>& x) {
  const Vector<Complex, Space> from = to_device<Space>(x), to("to", x.size());
  const auto workspace = m.make_workspace(Space(), 1);
  m.apply(Space(), as_multivector(Vector<const Complex, Space>(from)), as_multivector(to), *workspace);
  Kokkos::fence();
  return to_vector(to);
}

Complex inner_product(const std::vector<Complex>& x, const std::vector<Complex>& y) {
  Complex sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += Kokkos::conj(x[i]) * y[i];
  return sum;
}

TYPED_TEST(ComplexFsaiTest, AnApplicationIsHermitianInEveryStorage) {
  const HostMatrix<Complex> a = random_hermitian(211, 0.05, 71, 4);
  const std::vector<Complex> x = random_complex(211, 1), y = random_complex(211, 2);
  for (const char* name : {"fsai", "adaptive_fsai"}) {
    const HostMatrix<Complex> g = factor<TypeParam>(a, {name, {}});
    const std::vector<Complex> expected = multiply_adjoint(g, multiply(g, x));
    const double size = std::sqrt(inner_product(expected, expected).real());
    for (const auto& [storage, error] : std::vector<std::pair<std::string, double>>{
             {"full", 1e-14}, {"single", 1e-6}, {"half", 1e-2}, {"bfloat16", 5e-2}}) {
      SCOPED_TRACE(std::string(name) + ", storage " + storage);
      const auto m = computed<TypeParam>(a, {name, {{"storage", storage}}});
      EXPECT_TRUE(m->is_symmetric());
      const std::vector<Complex> mx = applied<TypeParam>(*m, x), my = applied<TypeParam>(*m, y);
      double difference = 0;
      for (int i = 0; i < 211; ++i) difference += abs2(mx[i] - expected[i]);
      EXPECT_LE(std::sqrt(difference), error * size);
      EXPECT_LE(Kokkos::abs(inner_product(y, mx) - Kokkos::conj(inner_product(x, my))), 1e-12 * size);
      EXPECT_GT(inner_product(x, mx).real(), 0);
      EXPECT_NEAR(inner_product(x, mx).imag(), 0, 1e-12 * size);
    }
    const auto full = computed<TypeParam>(a, {name, {{"storage", "full"}}}),
               half = computed<TypeParam>(a, {name, {{"storage", "half"}}});
    EXPECT_GT(2 * full->report().bytes, 3 * half->report().bytes) << "4 bytes an entry instead of 16";
  }
}

TYPED_TEST(ComplexFsaiTest, SingleComplexMatrices) {
  const auto a = to_single(random_hermitian(97, 0.1, 5));
  for (const char* name : {"fsai", "adaptive_fsai"})
    for (const char* setup : {"single", "double"})
      for (const char* storage : {"full", "single"})
        expect_sound(to_double(a),
                     to_double(factor<TypeParam>(a, {name, {{"setup_scalar", setup}, {"storage", storage}}})),
                     1e-4);
}

template <class Fsai, class Space>
void check_bits(const HostMatrix<Complex>& a) {
  const auto device = to_device<Space>(a);
  for (const Precision precision : {Precision::single_precision, Precision::double_precision}) {
    typename Fsai::options_type options;
    options.setup_scalar = precision;
    const auto found = [&] {
      Fsai m(options);
      m.numeric(Space(), device);
      return to_host(m.factor());
    };
    const HostMatrix<Complex> once = found();
    EXPECT_TRUE(once == found());
    options.workspace_budget = 65536;
    EXPECT_TRUE(once == found());
  }
}

TYPED_TEST(ComplexFsaiTest, SameBitsTwiceAndInChunksOfAnySize) {
  const HostMatrix<Complex> a = random_hermitian(1500, 0.01, 7);
  check_bits<Fsai<Complex, TypeParam>, TypeParam>(a);
  check_bits<AdaptiveFsai<Complex, TypeParam>, TypeParam>(a);
}

TYPED_TEST(ComplexFsaiTest, ThePortableLaneGroupGivesTheSameFactor) {
  namespace inner = impl::adaptive_fsai;
  const TypeParam space;
  const HostMatrix<Complex> a = random_hermitian(203, 0.08, 31);
  const auto device = to_device<TypeParam>(a);
  const Vector<double, TypeParam> diagonal("diagonal", a.num_rows);
  impl::extract_diagonal<Complex, TypeParam>(space, device, diagonal);
  const auto root = inner::square_roots<double, TypeParam>(space, diagonal);
  const auto representatives = equal_row_representatives<TypeParam>(space, device.row_ptrs, device.col_idxs);
  const inner::Matrix<Complex, double> matrix{device.row_ptrs.data(), device.col_idxs.data(),
                                              device.values.data(),   device.values.data(),
                                              diagonal.data(),        root.data(),
                                              representatives.data(), a.num_rows};
  const inner::Parameters parameters{20, 10, 2, 2, 1e-3, 0, 1e-12, 1e-15};
  const auto native = to_host(
      inner::Setup<Complex, double, TypeParam, false>(space, matrix, a.nnz(), parameters, 1 << 24).grow());
  const auto portable = to_host(
      inner::Setup<Complex, double, TypeParam, true>(space, matrix, a.nnz(), parameters, 1 << 24).grow());
  ASSERT_EQ(native.col_idxs, portable.col_idxs);
  for (std::size_t k = 0; k < native.nnz(); ++k)
    ASSERT_LE(Kokkos::abs(native.values[k] - portable.values[k]), 1e-12);
}

TYPED_TEST(ComplexFsaiTest, BreakdownsAreSafeAndReported) {
  const Complex i(0, 1);
  for (const char* name : {"fsai", "adaptive_fsai"}) {
    for (const char* setup : {"single", "double"}) {
      Report report;
      // Indefinite with a positive diagonal.
      const auto g = factor<TypeParam>(sparse<Complex>({{1, 2.0 * i, 0}, {-2.0 * i, 1, 0}, {0, 0, 1}}),
                                       {name, {{"setup_scalar", setup}}}, &report);
      EXPECT_EQ(report.breakdowns.count, 1);
      EXPECT_EQ(report.breakdowns.first_row, 1);
      EXPECT_LT(report.breakdowns.first_pivot, 0);
      EXPECT_EQ(g(1, 1), Complex(1));
      // Two rows that are i times each other.
      const auto h = factor<TypeParam>(sparse<Complex>({{1, i, .5}, {-i, 1, -.5 * i}, {.5, .5 * i, 1}}),
                                       {name, {{"setup_scalar", setup}}}, &report);
      EXPECT_GE(report.breakdowns.count, 1);
      for (const Complex& value : h.values) ASSERT_TRUE(is_finite(value));
    }
  }
}

TYPED_TEST(ComplexFsaiTest, ExtremeScales) {
  const HostMatrix<double> a = random_spd(60, 0.2, 61);
  const std::vector<Complex> d = random_phases(60, 3);
  for (const char* setup : {"single", "double"}) {
    const Method method{"adaptive_fsai", {{"setup_scalar", setup}}};
    const auto plain = factor<TypeParam>(rotated(a, d), method);
    for (const double scale : {0x1p-300, 0x1p300}) {
      HostMatrix<Complex> scaled = rotated(a, d);
      for (Complex& value : scaled.values) value *= scale;
      const auto g = factor<TypeParam>(scaled, method);
      ASSERT_EQ(g.col_idxs, plain.col_idxs);
      for (std::size_t k = 0; k < g.nnz(); ++k)
        ASSERT_LE(Kokkos::abs(g.values[k] * std::sqrt(scale) - plain.values[k]),
                  1e-12 * Kokkos::abs(plain.values[k]));
    }
    for (const char* name : {"fsai", "adaptive_fsai"}) {
      Report report;
      const HostMatrix<Complex> wide = rotated(widened(a, 8), d);
      expect_sound(wide, factor<TypeParam>(wide, {name, {{"setup_scalar", setup}}}, &report), 1e-10);
    }
  }
}

TYPED_TEST(ComplexFsaiTest, RefusesADiagonalThatIsNotReal) {
  const Complex i(0, 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const char* name : {"fsai", "adaptive_fsai"}) {
    const auto refusal = [&](const HostMatrix<Complex>& a) {
      return message_of<InputError>([&] { factor<TypeParam>(a, {name, {}}); });
    };
    EXPECT_THAT(refusal(sparse<Complex>({{1, 0}, {0, 2.0 + i}})),
                HasSubstr("the diagonal entry of row 2 is missing, not positive or not real; the matrix has "
                          "to be Hermitian"));
    EXPECT_THAT(refusal(sparse<Complex>({{-1, 0}, {0, 2}})), HasSubstr("row 1"));
    EXPECT_THAT(refusal(sparse<Complex>({{1, 0}, {0, Complex(1, nan)}})), HasSubstr("row 2"));
    EXPECT_THAT(refusal(sparse<Complex>({{1, i}, {-i, 0}})), HasSubstr("row 2"));
  }
}

TYPED_TEST(ComplexFsaiTest, TheRegistryNamesTheMethodsForRealMatricesOnly) {
  EXPECT_THAT(
      message_of<OptionError>([] { create_preconditioner<Complex, TypeParam>("nonsymmetric_fsai", {}); }),
      AllOf(HasSubstr("there is no preconditioner 'nonsymmetric_fsai'"),
            HasSubstr("(none, jacobi, fsai, adaptive_fsai, polynomial, ls_polynomial, chebyshev, neumann)")));
}

TYPED_TEST(ComplexFsaiTest, JacobiIsHermitianWhereTheDiagonalIsReal) {
  const Complex i(0, 1);
  const TypeParam space;
  Jacobi<Complex, TypeParam> jacobi;
  jacobi.numeric(space, to_device<TypeParam>(sparse<Complex>({{2, i}, {-i, 4}})));
  EXPECT_TRUE(jacobi.is_symmetric());
  EXPECT_EQ(applied<TypeParam>(jacobi, {2.0 * i, 4})[0], i);
  jacobi.numeric(space, to_device<TypeParam>(sparse<Complex>({{2, i}, {-i, 4.0 * i}})));
  EXPECT_FALSE(jacobi.is_symmetric());
  EXPECT_LE(Kokkos::abs(applied<TypeParam>(jacobi, {1, 4})[1] + i), 1e-15);
  EXPECT_EQ(jacobi.report().breakdowns.count, 0);
}

}  // namespace
}  // namespace prekond::testing
