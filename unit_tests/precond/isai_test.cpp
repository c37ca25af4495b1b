// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/isai_cases.hpp"
#include "testing/preconditioned_iterations.hpp"
#include "testing/reference_relaxed.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/spmv.hpp>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

template <class Space>
class IsaiTest : public ::testing::Test {};
TYPED_TEST_SUITE(IsaiTest, TestSpaces, SpaceNames);

TYPED_TEST(IsaiTest, RefusesAUnitDiagonalOfOtherKinds) {
  for (const IsaiKind kind : all_kinds) {
    IsaiOptions options = of_kind(kind);
    options.unit_diagonal = true;
    if (kind == IsaiKind::lower || kind == IsaiKind::upper) continue;
    EXPECT_THAT(message_of<OptionError>([&] { Isai<double, TypeParam> isai(options); }),
                HasSubstr("isai: unit_diagonal is for kind = lower or upper"));
  }
}

// The inverse of A's triangle does not depend on the entries of the other one.
TYPED_TEST(IsaiTest, TheOtherTriangleIsIgnored) {
  const HostMatrix<double> a = random_general(90, 0.1, 23);
  for (const bool upper : {false, true}) {
    const Dense triangle = triangle_of(to_dense(a), upper);
    HostMatrix<double> spoilt = a;
    for (std::int64_t i = 0; i < a.num_rows; ++i)
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
        if (upper ? a.col_idxs[k] < i : a.col_idxs[k] > i) spoilt.values[k] = std::nan("");
    for (const int power : {0, 1, 2, 5}) {
      for (const double tau : {0.0, 0.1}) {
        IsaiOptions options = of_kind(upper ? IsaiKind::upper : IsaiKind::lower, power);
        options.prefilter = tau;
        const auto m = inverse_of<TypeParam>(sparse(triangle), options);
        EXPECT_TRUE(m == inverse_of<TypeParam>(a, options)) << power;
        EXPECT_TRUE(m == inverse_of<TypeParam>(spoilt, options)) << power;
      }
    }
  }
}

TYPED_TEST(IsaiTest, AUnitDiagonalIsNotLookedAt) {
  const HostMatrix<double> a = random_general(75, 0.1, 29);
  for (const IsaiKind kind : {IsaiKind::lower, IsaiKind::upper}) {
    Dense triangle = triangle_of(to_dense(a), kind == IsaiKind::upper, true);
    for (const int power : {0, 1, 3}) {
      for (const double tau : {0.0, 0.3}) {
        IsaiOptions options = of_kind(kind, power);
        options.prefilter = tau;
        const auto expected = inverse_of<TypeParam>(sparse(triangle), options);
        options.unit_diagonal = true;
        Report report;
        EXPECT_TRUE(expected == inverse_of<TypeParam>(sparse(triangle), options, &report));
        EXPECT_TRUE(expected == inverse_of<TypeParam>(a, options));
        Dense strict = triangle, spoilt = triangle;
        for (int i = 0; i < 75; ++i) {
          strict[i][i] = 0;
          spoilt[i][i] = std::nan("");
        }
        EXPECT_TRUE(expected == inverse_of<TypeParam>(sparse(strict), options, &report)) << "not stored";
        EXPECT_EQ(report.breakdowns.count, 0);
        EXPECT_TRUE(expected == inverse_of<TypeParam>(sparse(spoilt), options));
      }
    }
  }
}

TYPED_TEST(IsaiTest, TheTransposeExchangesTheTriangles) {
  const HostMatrix<double> a = random_general(90, 0.1, 15);
  HostGraph full(90);
  for (auto& row : full)
    for (int j = 0; j < 90; ++j) row.push_back(j);
  const auto lower = inverse_of<TypeParam>(a, of_kind(IsaiKind::lower), nullptr, &full);
  const auto upper =
      transposed(inverse_of<TypeParam>(transposed(a), of_kind(IsaiKind::upper), nullptr, &full));
  ASSERT_EQ(pattern_of(lower), pattern_of(upper));
  for (std::size_t k = 0; k < lower.nnz(); ++k)
    ASSERT_NEAR(lower.values[k], upper.values[k], 1e-11 * (1 + std::abs(lower.values[k])));
}

// Rows of a triangle are binned too: in scratch up to some 1500 entries, then in a slab.
TYPED_TEST(IsaiTest, RowsOfATriangleOfAnyLength) {
  const int n = 1700;
  HostMatrix<double> a;
  a.num_rows = a.num_cols = n;
  std::mt19937_64 engine(5);
  for (int i = 0; i < n; ++i) {
    for (int j : {i - 900, i - 41, i - 3, i, i + 1, i + 60, i + 1000}) {
      if (j < 0 || j >= n) continue;
      a.col_idxs.push_back(j);
      a.values.push_back(j == i ? 3 : static_cast<double>(engine() >> 11) * 0x1p-52 - 1);
    }
    a.row_ptrs.push_back(a.nnz());
  }
  const std::vector<double> x(n, 1.0);
  for (const IsaiKind kind : {IsaiKind::lower, IsaiKind::upper}) {
    HostGraph pattern(n);
    for (int i = 0; i < n; ++i)  // lengths from 1 to n in either triangle
      for (int j = 0; j < n; ++j) pattern[i].push_back(j);
    const auto m = inverse_of<TypeParam>(a, of_kind(kind), nullptr, &pattern);
    const bool upper = kind == IsaiKind::upper;
    // M is the triangle's inverse: M T x = x.
    std::vector<double> tx(n, 0);
    for (int i = 0; i < n; ++i)
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
        if (upper ? a.col_idxs[k] >= i : a.col_idxs[k] <= i) tx[i] += a.values[k];
    const std::vector<double> found = multiply(m, tx);
    for (int i = 0; i < n; ++i) ASSERT_NEAR(found[i], 1, 1e-11) << word_of(kind) << " row " << i;
  }
}

// A long row of T is searched for the few columns that a short row of M has in common with it.
TYPED_TEST(IsaiTest, ShortRowsWithALongRowOfATriangle) {
  const int n = 401, long_row = 200;
  Dense dense = to_dense(random_general(n, 0.01, 7));
  for (int j = 0; j < n; ++j)
    if (j != long_row && j % 5 < 3) dense[long_row][j] = 1 + std::sin(1.0 * j);
  const HostMatrix<double> a = sparse(dense);
  HostGraph pattern(n);
  for (int i = 0; i < n; ++i) {
    pattern[i] = {i};
    if (i == long_row) continue;
    const int beside = i > long_row ? i % (long_row - 1) : n - 1 - i % (long_row - 1);
    for (const int j : {long_row, beside, beside + (i > long_row ? 1 : -1)}) pattern[i].push_back(j);
    std::sort(pattern[i].begin(), pattern[i].end());
  }
  for (const IsaiKind kind : {IsaiKind::lower, IsaiKind::upper}) {
    const auto m = inverse_of<TypeParam>(a, of_kind(kind), nullptr, &pattern);
    ASSERT_EQ(pattern_of(m), part_of(pattern, kind));
    ASSERT_NO_FATAL_FAILURE(expect_reference_isai(part_of(a, kind), m, 1e-11)) << word_of(kind);
  }
}

TYPED_TEST(IsaiTest, RowsThatNeedPivoting) {
  for (int n : {12, 50, 90}) {
    const HostMatrix<double> a = random_dense(n, 30u + n);
    for (const IsaiOptions& options : both_precisions(IsaiKind::general)) {
      Report report;
      const auto m = inverse_of<TypeParam>(a, options, &report);
      EXPECT_EQ(report.breakdowns.count, 0) << "zeros on the diagonal are no breakdown";
      if (options.setup_scalar == Precision::double_precision)
        expect_inverse_on_pattern(to_dense(a), m, 1e-10);
    }
  }
}

TYPED_TEST(IsaiTest, ASingularRowIsShortenedOrFallsBackToItsDiagonal) {
  // Rows 0 and 1 are the same, and 2 and 3 are regular.
  const HostMatrix<double> a = sparse<double>({{2, 2, 0, 0}, {2, 2, 0, 1}, {0, 0, 4, 1}, {0, 0, 1, 4}});
  for (const IsaiOptions& options : both_precisions(IsaiKind::general)) {
    Report report;
    HostGraph pattern = {{0, 1}, {0, 1}, {2, 3}, {0, 1, 3}};
    const auto m = inverse_of<TypeParam>(a, options, &report, &pattern);
    EXPECT_EQ(m.values, (std::vector<double>{0.5, 0, 0, 0.5, m(2, 2), m(2, 3), 0, 0, 0.25}));
    EXPECT_NEAR(m(2, 2), 4 / 15.0, 1e-6);
    EXPECT_EQ(report.breakdowns.count, 3);
    EXPECT_EQ(report.breakdowns.first_row, 0);
    EXPECT_EQ(report.breakdowns.first_pivot, 0);
    EXPECT_THAT(report.breakdowns.action,
                AllOf(HasSubstr("2 rows kept fewer columns"), HasSubstr("1 fell back to the diagonal")));
  }
}

// One whose inverse overflows is no better than none.
TYPED_TEST(IsaiTest, AnUnusableDiagonalOfATriangleIsLeftOut) {
  for (const double unusable : {0.0, 1e-320, std::nan("")}) {
    SCOPED_TRACE(unusable);
    const HostMatrix<double> a =
        sparse<double>({{2, 0, 0, 0}, {1, unusable, 0, 0}, {0, 5, 4, 0}, {1, 0, 1, 2}});
    Report report;
    const auto m = inverse_of<TypeParam>(a, of_kind(IsaiKind::lower, 3), &report);
    ASSERT_EQ(pattern_of(m), (HostGraph{{0}, {0, 1}, {0, 1, 2}, {0, 1, 2, 3}}));
    EXPECT_EQ(m.values, (std::vector<double>{0.5, 0, 1, 0, 0, 0.25, -0.25, 0, -0.125, 0.5}));
    EXPECT_EQ(report.breakdowns.count, 3);
    EXPECT_EQ(report.breakdowns.first_row, 1);
    EXPECT_EQ(report.breakdowns.first_pivot, 0);
    EXPECT_THAT(report.breakdowns.action, AllOf(HasSubstr("2 rows kept"), HasSubstr("1 fell back")));
    const auto upper = inverse_of<TypeParam>(transposed(a), of_kind(IsaiKind::upper, 3), &report);
    EXPECT_EQ(report.breakdowns.count, 2) << "row 1 itself and row 0, which has its column";
    expect_finite_rows(upper);
  }
}

TYPED_TEST(IsaiTest, EntriesBeyondFloatFallBackToTheDiagonal) {
  const HostMatrix<float> a = sparse<float>({{1, 0, 0}, {1e30f, 1, 0}, {0, 1e30f, 2}});
  for (const IsaiKind kind : {IsaiKind::general, IsaiKind::lower}) {
    Report report;
    const auto m = inverse_of<TypeParam>(a, of_kind(kind, 2), &report);
    ASSERT_EQ(m.nnz(), 6u);
    EXPECT_EQ(m(2, 2), 0.5f);
    EXPECT_EQ(m(2, 0), 0.0f);
    EXPECT_EQ(report.breakdowns.count, 1);
    EXPECT_EQ(report.breakdowns.first_row, 2);
  }
}

// ------------------------------------------------------------------------------------- the factored form

TYPED_TEST(IsaiTest, TheFactoredKindIsTheStaticFsai) {
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

TYPED_TEST(IsaiTest, ConjugateGradientsTakeOnlyTheFactoredKind) {
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

TYPED_TEST(IsaiTest, ReplacesTheSolvesOfAnIlu) {
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
TYPED_TEST(IsaiTest, RelaxationEndsWithTheTriangularSolve) {
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

TYPED_TEST(IsaiTest, RelaxationIsRichardsonsInEveryKindAndStorage) {
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

}  // namespace
}  // namespace prekond::testing
