// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The matrix layer on complex scalars.
#include "testing/hermitian_matrices.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/matrix/sort_rows.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/matrix/statistics.hpp>
#include <prekond/matrix/validate.hpp>
#include "core/half.hpp"
#include "matrix/filter_entries.hpp"

#include <limits>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;
using SingleComplex = Kokkos::complex<float>;

template <class Space>
class ComplexMatrixTest : public ::testing::Test {};
TYPED_TEST_SUITE(ComplexMatrixTest, TestSpaces, SpaceNames);

/// Not Hermitian, with empty rows and a long one.
HostMatrix<Complex> general_matrix(int rows, int cols, unsigned seed) {
  std::mt19937 random(seed);
  HostMatrix<Complex> a;
  a.num_rows = rows;
  a.num_cols = cols;
  for (int i = 0; i < rows; ++i) {
    const double density = i == rows / 2 ? 1 : (i % 5 == 3 ? 0 : 0.1);
    for (int j = 0; j < cols; ++j)
      if (double(random()) < density * 0x1p32) a.col_idxs.push_back(j);
    a.row_ptrs.push_back(a.col_idxs.size());
  }
  a.values = random_complex(a.nnz(), seed);
  return a;
}

template <class Scalar, class Space>
void check_spmv(double tolerance) {
  const Space space;
  const Scalar alpha(0.5, -2), beta(-1, 0.25);
  for (const auto& [rows, cols] :
       std::vector<std::pair<int, int>>{{1, 1}, {7, 3}, {65, 129}, {513, 77}, {1030, 1030}}) {
    const HostMatrix<Complex> a = general_matrix(rows, cols, 3);
    const HostMatrix<Scalar> a_scalar{
        a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, {a.values.begin(), a.values.end()}};
    const auto device = to_device<Space>(a_scalar);
    for (int vectors : {1, 3, 5}) {
      MultiVector<Scalar, Space> x("x", cols, vectors), y("y", rows, vectors);
      const auto host_x = Kokkos::create_mirror_view(x), host_y = Kokkos::create_mirror_view(y);
      std::vector<std::vector<Complex>> expected;
      for (int v = 0; v < vectors; ++v) {
        const auto xv = random_complex(cols, 10 + v), yv = random_complex(rows, 20 + v);
        for (int i = 0; i < cols; ++i) host_x(i, v) = Scalar(xv[i]);
        for (int i = 0; i < rows; ++i) host_y(i, v) = Scalar(yv[i]);
        expected.push_back(multiply(a, xv));
        for (int i = 0; i < rows; ++i)
          expected[v][i] = Complex(alpha) * expected[v][i] + Complex(beta) * yv[i];
      }
      Kokkos::deep_copy(x, host_x);
      Kokkos::deep_copy(y, host_y);
      spmv<Scalar, Space>(space, alpha, device, x, beta, y);
      const auto result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
      for (int v = 0; v < vectors; ++v)
        for (int i = 0; i < rows; ++i)
          ASSERT_LE(Kokkos::abs(Complex(result(i, v)) - expected[v][i]),
                    tolerance * (1 + Kokkos::abs(expected[v][i])));
    }
  }
}

TYPED_TEST(ComplexMatrixTest, ProductsEqualTheSequentialOnes) {
  check_spmv<Complex, TypeParam>(1e-13);
  check_spmv<SingleComplex, TypeParam>(1e-4);
}

TYPED_TEST(ComplexMatrixTest, TheDotConjugatesItsFirstVector) {
  const TypeParam space;
  for (int n : {1, 37, 2000}) {
    const HostMatrix<Complex> a = general_matrix(n, n, 6);
    const std::vector<Complex> host_x = random_complex(n, 1), expected = multiply(a, host_x);
    Complex sum = 0;
    for (int i = 0; i < n; ++i) sum += Kokkos::conj(host_x[i]) * expected[i];
    const CsrOperator<Complex, TypeParam> op(to_device<TypeParam>(a));
    const auto x = to_device<TypeParam>(host_x), y = to_device<TypeParam>(expected);
    const Vector<Complex, TypeParam> dot("dot", 1);
    const ReduceWorkspace<Complex, TypeParam> workspace(space, n);
    op.apply_dot(space, x, y, dot, workspace);
    EXPECT_LE(Kokkos::abs(to_vector(dot)[0] - sum), 1e-12 * (1 + Kokkos::abs(sum)));
    // By a product and a dot, as an operator does that has no fused one.
    op.Operator<Complex, TypeParam>::apply_dot(space, x, y, dot, workspace);
    EXPECT_LE(Kokkos::abs(to_vector(dot)[0] - sum), 1e-12 * (1 + Kokkos::abs(sum)));
  }
}

template <class Value, class Scalar, class Space>
void check_stored(double precision) {
  const Space space;
  const HostMatrix<Complex> a = general_matrix(301, 257, 4);
  const std::vector<Complex> x = random_complex(257, 3);
  HostMatrix<Value> stored{a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, {}};
  HostMatrix<Complex> rounded = a;
  for (std::size_t k = 0; k < a.nnz(); ++k) {
    stored.values.push_back(static_cast<Value>(a.values[k]));
    rounded.values[k] = static_cast<Complex>(stored.values[k]);
    ASSERT_LE(Kokkos::abs(rounded.values[k] - a.values[k]), precision);
  }
  std::vector<real_type_t<Scalar>> scale;
  for (int i = 0; i < 301; ++i) scale.push_back(real_type_t<Scalar>(1 + i % 7));
  const std::vector<Complex> expected = multiply(rounded, x);
  const auto x_device = to_device<Space>(std::vector<Scalar>(x.begin(), x.end()));
  for (const bool scaled : {false, true}) {
    const Vector<Scalar, Space> y("y", 301);
    const auto row_scale = to_device<Space>(scaled ? scale : std::vector<real_type_t<Scalar>>());
    spmv_stored<Value, Scalar, Space>(space, row_scale, to_device<Space>(stored), as_multivector(x_device),
                                      as_multivector(y));
    const auto result = to_vector(y);
    for (int i = 0; i < 301; ++i)
      ASSERT_LE(Kokkos::abs(Complex(result[i]) - expected[i] * (scaled ? double(scale[i]) : 1)),
                1e3 * std::numeric_limits<real_type_t<Scalar>>::epsilon());
  }
}

TYPED_TEST(ComplexMatrixTest, ProductsWithStoredValues) {
  check_stored<SingleComplex, Complex, TypeParam>(1e-7);
  check_stored<ComplexPair<Half>, Complex, TypeParam>(1e-3);
  check_stored<ComplexPair<BFloat16>, Complex, TypeParam>(1e-2);
  check_stored<ComplexPair<Half>, SingleComplex, TypeParam>(1e-3);
  check_stored<ComplexPair<BFloat16>, SingleComplex, TypeParam>(1e-2);
}

TYPED_TEST(ComplexMatrixTest, RowsAreSortedWithTheirValues) {
  const TypeParam space;
  const HostMatrix<Complex> a = general_matrix(129, 411, 5);
  HostMatrix<Complex> reversed = a;
  for (int i = 0; i < 129; ++i) {
    std::reverse(reversed.col_idxs.begin() + a.row_ptrs[i], reversed.col_idxs.begin() + a.row_ptrs[i + 1]);
    std::reverse(reversed.values.begin() + a.row_ptrs[i], reversed.values.begin() + a.row_ptrs[i + 1]);
  }
  const auto device = to_device<TypeParam>(reversed);
  sort_rows(space, device);
  EXPECT_TRUE(to_host(device) == a);
}

/// Keeps the entries above the real axis.
template <class Space>
struct IsAbove {
  VectorView<const Complex, Space> values;
  KOKKOS_FUNCTION bool operator()(std::int64_t, std::size_t k) const { return values(k).imag() > 0; }
};

TYPED_TEST(ComplexMatrixTest, EntriesAreFiltered) {
  const TypeParam space;
  const HostMatrix<Complex> a = general_matrix(129, 411, 5);
  const auto device = to_device<TypeParam>(a);
  const auto kept =
      to_host(filter_entries<Complex, TypeParam>(space, device, IsAbove<TypeParam>{device.values}));
  HostMatrix<Complex> expected;
  expected.num_rows = 129;
  expected.num_cols = 411;
  for (int i = 0; i < 129; ++i) {
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      if (!(a.values[k].imag() > 0)) continue;
      expected.col_idxs.push_back(a.col_idxs[k]);
      expected.values.push_back(a.values[k]);
    }
    expected.row_ptrs.push_back(expected.nnz());
  }
  EXPECT_TRUE(kept == expected);
}

template <class Space, class Scalar>
void check_hermitian(const HostMatrix<Scalar>& a) {
  const auto device = to_device<Space>(a);
  validate<Scalar, Space>(Space(), device);
  check_spd_input<Scalar, Space>(Space(), device);
}

TYPED_TEST(ComplexMatrixTest, HermitianInputIsChecked) {
  const Complex i(0, 1);
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  const auto refusal = [](const HostMatrix<Complex>& a) {
    return message_of<InputError>([&] { check_hermitian<TypeParam>(a); });
  };
  EXPECT_NO_THROW(check_hermitian<TypeParam>(random_hermitian(200, 0.1, 1)));
  EXPECT_NO_THROW(check_hermitian<TypeParam>(to_single(random_hermitian(200, 0.1, 1))));
  EXPECT_NO_THROW(check_hermitian<TypeParam>(sparse<Complex>({{2, 1.0 + i}, {1.0 - i, 3}})));
  EXPECT_THAT(
      refusal(sparse<Complex>({{2, 1.0 + i}, {1.0 + i, 3}})),
      HasSubstr("the matrix is not Hermitian: entry (1, 2) is 1 + 1i, entry (2, 1) is 1 + 1i; use a solver"));
  EXPECT_THAT(refusal(sparse<Complex>({{2, 0}, {-1.5 * i, 3}})),
              HasSubstr("entry (2, 1) is -0 - 1.5i, entry (1, 2) is missing (0)"));
  EXPECT_THAT(refusal(sparse<Complex>({{2, 0}, {0, 3.0 + 0.5 * i}})),
              HasSubstr("the diagonal entry of row 2 is 3 + 0.5i; a Hermitian positive definite matrix has a "
                        "real, positive diagonal"));
  EXPECT_THAT(refusal(sparse<Complex>({{-2, 0}, {0, 3}})), HasSubstr("row 1 is -2 + 0i; a Hermitian"));
  EXPECT_THAT(refusal(sparse<Complex>({{2, i}, {-i, 0}})),
              HasSubstr("the diagonal entry of row 2 is missing"));
  EXPECT_THAT(refusal(sparse<Complex>({{2, Complex(1, nan)}, {1, 3}})),
              HasSubstr("entry (1, 2) is NaN; all values must be finite"));
  EXPECT_THAT(refusal(sparse<Complex>({{2, Complex(1, -infinity)}, {1, 3}})),
              HasSubstr("entry (1, 2) is 1 - infi; all"));
  EXPECT_THAT(refusal(sparse<Complex>({{1, 1, 1}, {1, 1, 1}})), HasSubstr("square"));
  // Both sides of the tolerance, on the diagonal and off it.
  EXPECT_NO_THROW(
      check_hermitian<TypeParam>(sparse<Complex>({{Complex(1, 9e-11), i}, {Complex(9e-11, -1), 1}})));
  EXPECT_THAT(refusal(sparse<Complex>({{Complex(1, 2e-10), i}, {-i, 1}})),
              HasSubstr("of row 1 is 1 + 2e-10i"));
  EXPECT_THAT(refusal(sparse<Complex>({{1, i}, {Complex(2e-10, -1), 1}})), HasSubstr("not Hermitian"));
  const SingleComplex j(0, 1);
  EXPECT_NO_THROW(check_hermitian<TypeParam>(sparse<SingleComplex>({{1, j}, {SingleComplex(9e-6f, -1), 1}})));
  EXPECT_THROW(check_hermitian<TypeParam>(sparse<SingleComplex>({{1, j}, {SingleComplex(2e-5f, -1), 1}})),
               InputError);
}

TYPED_TEST(ComplexMatrixTest, StatisticsMeasureMagnitudes) {
  const TypeParam space;
  const Complex i(0, 1);
  const auto measured = [&](const HostMatrix<Complex>& a) {
    return statistics<Complex, TypeParam>(space, to_device<TypeParam>(a));
  };
  const auto hermitian = measured(sparse<Complex>({{2, 3.0 + 4.0 * i}, {3.0 - 4.0 * i, 7}}));
  EXPECT_TRUE(hermitian.symmetric_pattern);
  EXPECT_TRUE(hermitian.symmetric_values);
  EXPECT_EQ(hermitian.max_asymmetry, 0);
  EXPECT_EQ(hermitian.max_abs, 7);
  EXPECT_DOUBLE_EQ(hermitian.frobenius_norm, std::sqrt(4 + 25 + 25 + 49.0));
  EXPECT_EQ(hermitian.diagonally_dominant_rows, 1);
  EXPECT_EQ(hermitian.diagonal_positive, 2);
  const auto symmetric = measured(sparse<Complex>({{2, i}, {i, -1}}));  // but not Hermitian
  EXPECT_TRUE(symmetric.symmetric_pattern);
  EXPECT_FALSE(symmetric.symmetric_values);
  EXPECT_DOUBLE_EQ(symmetric.max_asymmetry, 2 / std::sqrt(2.0));
  EXPECT_EQ(symmetric.diagonal_negative, 1);
  const auto imaginary = measured(sparse<Complex>({{2.0 + i, 0}, {0, 3.0 * i}}));
  EXPECT_FALSE(imaginary.symmetric_values);
  EXPECT_EQ(imaginary.diagonal_zero, 0);
  EXPECT_EQ(imaginary.diagonal_max_abs, 3);
}

}  // namespace
}  // namespace prekond::testing
