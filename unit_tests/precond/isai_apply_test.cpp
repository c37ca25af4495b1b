// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/isai_cases.hpp"
#include "testing/matrices.hpp"
#include "testing/preconditioned_iterations.hpp"
#include "testing/reference_relaxed.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/io/matrix_market.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/isai.hpp>
#include <prekond/precond/registry.hpp>

/// The uses of an ISAI: the factored kind, applications, relaxation, the registry, reports.
namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <class Space>
class IsaiApplyTest : public ::testing::Test {};
TYPED_TEST_SUITE(IsaiApplyTest, TestSpaces, SpaceNames);

// ------------------------------------------------------------------------------------- the factored form

TYPED_TEST(IsaiApplyTest, TheFactoredKindIsTheStaticFsai) {
  const TypeParam space;
  for (const Case& test : small_matrices()) {
    for (const IsaiOptions& options : both_precisions(IsaiKind::spd, 2)) {
      SCOPED_TRACE(test.name);
      FsaiOptions same;
      same.power = 2;
      same.setup_scalar = options.setup_scalar;
      Fsai<double, TypeParam> fsai(same);
      fsai.numeric(space, to_device<TypeParam>(test.matrix));
      Isai<double, TypeParam> isai(options);
      isai.numeric(space, to_device<TypeParam>(test.matrix));
      ASSERT_TRUE(isai.factored());
      EXPECT_TRUE(to_host(isai.factored()->factor()) == to_host(fsai.factor()));
      EXPECT_EQ(isai.report().nnz, fsai.report().nnz);
      EXPECT_EQ(isai.report().bytes, fsai.report().bytes);
      EXPECT_EQ(isai.num_rows(), test.matrix.num_rows);
      const std::vector<double> x(test.matrix.num_rows, 1.0);
      EXPECT_EQ(applied<TypeParam>(isai, x), applied<TypeParam>(fsai, x));
    }
  }
  Isai<double, TypeParam> isai(of_kind(IsaiKind::spd));
  EXPECT_THAT(message_of<InputError>([&] {
                isai.numeric(space, to_device<TypeParam>(sparse<double>({{1, 0}, {0, -1}})));
              }),
              HasSubstr("isai: the diagonal entry of row 2 is missing or not positive"));
}

TYPED_TEST(IsaiApplyTest, TheFactoredKindTakesAPatternAndAThreshold) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(50, 0.3, 5);
  const HostGraph diagonal = [] {
    HostGraph rows(50);
    for (int i = 0; i < 50; ++i) rows[i].push_back(i);
    return rows;
  }();
  EXPECT_EQ(pattern_of(inverse_of<TypeParam>(a, of_kind(IsaiKind::spd), nullptr, &diagonal)), diagonal);
  IsaiOptions options = of_kind(IsaiKind::spd);
  options.prefilter = 1;
  EXPECT_EQ(pattern_of(inverse_of<TypeParam>(a, options)), diagonal);
}

TYPED_TEST(IsaiApplyTest, ConjugateGradientsTakeOnlyTheFactoredKind) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(generated("poisson2d:15"));
  const Vector<double, TypeParam> b("b", 225), x("x", 225);
  Kokkos::deep_copy(b, 1.0);
  std::int64_t plain = 0;
  for (const IsaiKind kind : all_kinds) {
    for (const int steps : {0, 2}) {
      IsaiOptions options = of_kind(kind);
      options.relaxation_steps = steps;
      Isai<double, TypeParam> isai(options);
      isai.numeric(space, a);
      EXPECT_EQ(isai.is_symmetric(), kind == IsaiKind::spd);
      EXPECT_EQ(isai.is_nonsymmetric(), kind != IsaiKind::spd);
      Kokkos::deep_copy(x, 0.0);
      const auto solve = [&] {
        return Cg<double, TypeParam>().solve(space, CsrOperator<double, TypeParam>(a), &isai, b, x, {});
      };
      if (kind != IsaiKind::spd) {
        EXPECT_THAT(message_of<InputError>(solve), HasSubstr("isai is not symmetric"));
        continue;
      }
      const auto result = solve();
      EXPECT_TRUE(result.converged);
      if (steps == 0)
        plain = result.iterations;
      else
        EXPECT_LT(result.iterations, plain * 3 / 4);
    }
  }
}

// ------------------------------------------------------------------------------------------ applications

/// L (strictly lower) and U of Gaussian elimination without fill: ILU(0), of a matrix with a diagonal.
std::pair<HostMatrix<double>, HostMatrix<double>> ilu0(const HostMatrix<double>& a) {
  Dense lu = to_dense(a);
  const HostGraph pattern = pattern_of(a);
  for (int i = 0; i < a.num_rows; ++i)
    for (const int k : pattern[i]) {
      if (k >= i) break;
      lu[i][k] /= lu[k][k];
      for (const int j : pattern[i])
        if (j > k) lu[i][j] -= lu[i][k] * lu[k][j];
    }
  Dense lower = lu;
  for (int i = 0; i < a.num_rows; ++i)
    for (int j = i; j < a.num_cols; ++j) lower[i][j] = 0;
  return {sparse(lower), sparse(triangle_of(lu, true))};
}

/// T^-1 x.
std::vector<double> substituted(const Dense& t, bool upper, std::vector<double> x) {
  const int n = static_cast<int>(x.size());
  for (int s = 0; s < n; ++s) {
    const int i = upper ? n - 1 - s : s;
    for (int j = 0; j < n; ++j)
      if (j != i) x[i] -= t[i][j] * ((upper ? j > i : j < i) ? x[j] : 0);
    x[i] /= t[i][i];
  }
  return x;
}

double distance(const std::vector<double>& x, const std::vector<double>& y) {
  double square = 0;
  for (std::size_t i = 0; i < x.size(); ++i) square += (x[i] - y[i]) * (x[i] - y[i]);
  return std::sqrt(square);
}

TYPED_TEST(IsaiApplyTest, ReplacesTheSolvesOfAnIlu) {
  const TypeParam space;
  const auto [l, u] = ilu0(generated("convection_diffusion3d:6"));
  const auto lower = to_device<TypeParam>(l);  // without its diagonal, as factorisations keep it
  std::vector<double> x(216);
  for (int i = 0; i < 216; ++i) x[i] = std::sin(1.0 + i);
  const std::vector<double> exact = substituted(triangle_of(to_dense(l), false, true), false, x);

  IsaiOptions options;
  options.kind = IsaiKind::lower;
  options.unit_diagonal = true;
  double before = distance(x, exact);
  for (options.power = 1; options.power <= 4; ++options.power) {
    Isai<double, TypeParam> solve(options);
    solve.numeric(space, lower);
    const double error = distance(applied<TypeParam>(solve, x), exact);
    EXPECT_LT(error, 0.8 * before) << options.power;
    before = error;
  }
  options = of_kind(IsaiKind::upper, 2);
  Isai<double, TypeParam> solve(options);
  solve.numeric(space, to_device<TypeParam>(u));
  const std::vector<double> solution = substituted(to_dense(u), true, x);
  EXPECT_LT(distance(applied<TypeParam>(solve, x), solution),
            0.2 * distance(std::vector<double>(216, 0.0), solution));
}

// I - M T is nilpotent: after as many steps as T has levels, less one, nothing is left to relax.
TYPED_TEST(IsaiApplyTest, RelaxationEndsWithTheTriangularSolve) {
  const TypeParam space;
  const int n = 40;
  const HostMatrix<double> a = random_general(n, 0.15, 131, 0);
  std::vector<double> x(n);
  for (int i = 0; i < n; ++i) x[i] = 1 + std::sin(7.0 * i);
  for (const IsaiKind kind : {IsaiKind::lower, IsaiKind::upper}) {
    for (const bool unit_diagonal : {false, true}) {
      const Dense part = part_of(a, kind, unit_diagonal);
      const std::vector<double> exact = substituted(part, kind == IsaiKind::upper, x);
      const double size = distance(exact, std::vector<double>(n, 0.0));
      for (const int power : {0, 1}) {
        IsaiOptions options = of_kind(kind, power);
        options.unit_diagonal = unit_diagonal;
        double first = 0;
        for (const int steps : {0, n - 1}) {
          options.relaxation_steps = steps;
          Isai<double, TypeParam> isai(options);
          isai.numeric(space, to_device<TypeParam>(a));
          const double error = distance(applied<TypeParam>(isai, x), exact);
          if (steps == 0)
            first = error;
          else
            EXPECT_LT(error, 1e-11 * (size + first)) << word_of(kind) << " " << unit_diagonal << " " << power;
        }
        EXPECT_GT(first, 1e-3 * size) << "inexact without";
      }
    }
  }
}

TYPED_TEST(IsaiApplyTest, RelaxationIsRichardsonsInEveryKindAndStorage) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(130, 0.05, 137);
  std::vector<double> x(130);
  for (int i = 0; i < 130; ++i) x[i] = std::cos(3.0 * i);
  for (const IsaiKind kind : all_kinds) {
    for (const Storage storage :
         {Storage::full, Storage::single_precision, Storage::half, Storage::bfloat16}) {
      IsaiOptions options = of_kind(kind);
      options.storage = storage;
      Isai<double, TypeParam> once(options);
      once.numeric(space, to_device<TypeParam>(a));
      options.relaxation_steps = 3;
      Isai<double, TypeParam> isai(options);
      isai.numeric(space, to_device<TypeParam>(a));
      const HostMatrix<double> part = kind == IsaiKind::spd ? a : sparse(part_of(a, kind));
      const auto expected = reference_relaxed(
          part, x, 3, [&](const std::vector<double>& r) { return applied<TypeParam>(once, r); });
      const auto found = applied<TypeParam>(isai, x);
      EXPECT_LT(distance(expected, found), 1e-12 * distance(expected, std::vector<double>(130, 0.0)))
          << word_of(kind);
      EXPECT_EQ(isai.report().bytes,
                once.report().bytes +
                    std::int64_t(131 * sizeof(std::size_t) + part.nnz() * (sizeof(int) + sizeof(double))));
      EXPECT_EQ(isai.report().apply_flops, 4 * once.report().apply_flops + 3 * double(2 * part.nnz() + 130));
    }
  }
}

TYPED_TEST(IsaiApplyTest, AppliesMInEveryStorageToSeveralVectors) {
  const TypeParam space;
  const int n = 211;
  const HostMatrix<double> a = random_general(n, 0.05, 151);
  const auto m = inverse_of<TypeParam>(a, of_kind(IsaiKind::general, 2));
  HostMatrix<double> sizes = m;
  for (double& value : sizes.values) value = std::abs(value);
  struct StorageCase {
    Storage storage;
    double error;
  };
  for (const auto& [storage, error] : std::vector<StorageCase>{{Storage::full, 1e-15},
                                                               {Storage::single_precision, 0x1p-24},
                                                               {Storage::half, 0x1p-11},
                                                               {Storage::bfloat16, 0x1p-8}}) {
    IsaiOptions options = of_kind(IsaiKind::general, 2);
    options.storage = storage;
    Isai<double, TypeParam> isai(options);
    isai.numeric(space, to_device<TypeParam>(a));
    EXPECT_EQ(isai.inverse().values.extent(0) == 0, storage != Storage::full);
    const MultiVector<double, TypeParam> x("x", n, 3), y("y", n, 3);
    const auto host_x = Kokkos::create_mirror_view(x), host_y = Kokkos::create_mirror_view(y);
    for (int k = 0; k < 3; ++k)
      for (int i = 0; i < n; ++i) host_x(i, k) = std::sin(1.0 + i + k);
    Kokkos::deep_copy(x, host_x);
    isai.apply(space, x, y, *isai.make_workspace(space, 3));
    space.fence();
    Kokkos::deep_copy(host_y, y);
    for (int k = 0; k < 3; ++k) {
      std::vector<double> column(n), magnitudes(n);
      for (int i = 0; i < n; ++i) {
        column[i] = host_x(i, k);
        magnitudes[i] = std::abs(host_x(i, k));
      }
      const auto expected = multiply(m, column), largest = multiply(sizes, magnitudes);
      for (int i = 0; i < n; ++i) ASSERT_NEAR(host_y(i, k), expected[i], 1.1 * error * largest[i] + 1e-15);
    }
  }
}

TYPED_TEST(IsaiApplyTest, AnApplicationNeitherAllocatesNorFences) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(random_spd(150, 0.1, 153));
  for (const IsaiKind kind : all_kinds) {
    for (const int steps : {0, 2}) {
      for (const Storage storage : {Storage::full, Storage::half}) {
        IsaiOptions options = of_kind(kind);
        options.relaxation_steps = steps;
        options.storage = storage;
        Isai<double, TypeParam> isai(options);
        isai.numeric(space, a);
        const auto workspace = isai.make_workspace(space, 2);
        const MultiVector<double, TypeParam> x("x", 150, 2), y("y", 150, 2);
        const ToolEvents events;
        isai.apply(space, x, y, *workspace);
        EXPECT_THAT(events.allocations(), IsEmpty());
        EXPECT_THAT(events.fences(), IsEmpty());
        EXPECT_FALSE(events.kernels().empty());
      }
    }
  }
}

// ------------------------------------------------------------------------------- registry and reports

TYPED_TEST(IsaiApplyTest, TheRegistryBuildsItWithEveryOption) {
  const OptionMap options = {{"kind", std::string("upper")},
                             {"power", std::int64_t(3)},
                             {"prefilter", 0.02},
                             {"unit_diagonal", true},
                             {"relaxation_steps", std::int64_t(2)},
                             {"setup_scalar", std::string("single")},
                             {"reuse", std::string("none")},
                             {"memory_budget", std::int64_t(1) << 30},
                             {"storage", std::string("half")},
                             {"storage_format", std::string("jad")}};
  const auto built = create_preconditioner<double, TypeParam>("isai", options);
  EXPECT_EQ(built->name(), "isai");
  const auto* isai = dynamic_cast<const Isai<double, TypeParam>*>(built.get());
  ASSERT_TRUE(isai);
  IsaiOptions seen = isai->options();
  EXPECT_EQ(OptionFields::of(seen).values(), options);
  const auto refuse = [](const OptionMap& map) {
    return message_of<OptionError>([&] { create_preconditioner<double, TypeParam>("isai", map); });
  };
  EXPECT_THAT(refuse({{"kind", std::string("lover")}}), AllOf(HasSubstr("kind"), HasSubstr("lower")));
  EXPECT_THAT(refuse({{"pover", std::int64_t(2)}}), AllOf(HasSubstr("pover"), HasSubstr("'power'")));
  EXPECT_THAT(refuse({{"prefilter", 1.5}}), HasSubstr("prefilter"));
  EXPECT_THAT(refuse({{"relaxation_steps", std::int64_t(-1)}}), HasSubstr("relaxation_steps"));
  EXPECT_THAT(refuse({{"unit_diagonal", true}}), HasSubstr("kind = lower or upper"));
}

TYPED_TEST(IsaiApplyTest, CountsItsOperationsAndBytes) {
  const TypeParam space;
  Dense dense(5, std::vector<double>(5, 1));
  for (int i = 0; i < 5; ++i) dense[i][i] = 10;
  const auto a = to_device<TypeParam>(sparse(dense));
  Isai<double, TypeParam> isai;
  isai.numeric(space, a);
  EXPECT_DOUBLE_EQ(isai.report().numeric_flops, 5 * (2 * 125 / 3.0 + 2 * 25));
  EXPECT_EQ(isai.report().nnz, 25);
  EXPECT_EQ(isai.report().apply_flops, 50);
  EXPECT_EQ(isai.report().bytes, std::int64_t(6 * sizeof(std::size_t) + 25 * (sizeof(int) + sizeof(double))));
}

TYPED_TEST(IsaiApplyTest, EveryKernelAndViewIsLabelled) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(random_general(300, 0.1, 141));
  for (const IsaiKind kind : explicit_kinds) {
    IsaiOptions options = of_kind(kind, 2, Precision::single_precision);
    options.prefilter = 0.001;
    options.storage = Storage::half;
    options.relaxation_steps = 1;
    Isai<double, TypeParam> isai(options);
    const ToolEvents events;
    isai.symbolic(space, a);
    isai.numeric(space, a);
    for (const auto& labels : {events.kernels(), events.allocations()})
      for (const auto& label : labels)
        EXPECT_THAT(label,
                    ::testing::AnyOf(::testing::StartsWith("prekond::"), ::testing::StartsWith("Kokkos::")));
    EXPECT_THAT(events.kernels(), ::testing::Contains("prekond::isai::numeric::solve_rows"));
  }
}

// ------------------------------------------------------------------------------------------ real matrices

TYPED_TEST(IsaiApplyTest, NeedsFewerIterationsThanTheDiagonal) {
  for (const char* spec : {"convection_diffusion3d:16", "convection_diffusion3d:16,peclet=1000"}) {
    const HostMatrix<double> a = generated(spec);
    const auto jacobi = iterations<TypeParam>(a, "jacobi", {}, 300);
    ASSERT_LE(jacobi, 300);
    const auto with = [&](int power, int steps) {
      return iterations<TypeParam>(
          a, "isai", {{"power", std::int64_t(power)}, {"relaxation_steps", std::int64_t(steps)}}, 300);
    };
    EXPECT_LT(with(1, 0), jacobi * 3 / 4) << spec;
    EXPECT_LT(with(2, 0), with(1, 0)) << spec;
    EXPECT_LT(with(1, 1), with(1, 0)) << spec;
  }
}

/// Matrices of the batched ISAI's examples, and others on which the diagonal converges.
TEST(IsaiApplyRealMatrices, NeedsFewerIterationsThanTheDiagonal) {
  using Space = Kokkos::DefaultExecutionSpace;
  for (const auto& file : matrices_named(
           {"general/convection_diffusion2d.mtx", "general/skewed_rows.mtx", "general/circuit.mtx"},
           {"general/pivtol.mtx", "general/bfwb62.mtx", "general/bfwa62.mtx", "general/orsirr_1.mtx.gz",
            "general/sherman4.mtx.gz", "general/pde900.mtx.gz", "general/jpwh_991.mtx",
            "general/add32.mtx.gz", "general/bfwa398.mtx", "general/poisson2D.mtx.gz", "general/epb0.mtx.gz",
            "symmetric/bfwb62.mtx"})) {
    const HostMatrix<double> a = to_host(read_matrix_market<double>(file.string()));
    const auto jacobi = iterations<Space>(a, "jacobi", {}, 2000);
    const auto isai = iterations<Space>(a, "isai", {}, 2000);
    EXPECT_LT(isai, jacobi) << file;
  }
}

}  // namespace
}  // namespace prekond::testing
