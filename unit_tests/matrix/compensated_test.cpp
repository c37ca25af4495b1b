// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// Products that are added up as if in twice the precision.
#include "matrix/bcsr_operator.hpp"
#include "testing/host_matrix.hpp"
#include "testing/one_thread.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/matrix/matrix_format.hpp>
#include <prekond/matrix/spmv.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>

namespace prekond::testing {
namespace {

template <class Space>
class CompensatedTest : public ::testing::Test {};
TYPED_TEST_SUITE(CompensatedTest, TestSpaces, SpaceNames);

/// Uneven rows of entries from 2^-30 to 2^30, some of them without any, one full, with diagonal entries.
HostMatrix<double> wide_matrix(int n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, 0.0));
  const auto number = [&] { return std::ldexp(double(random()) / 0x1p31 - 1, int(random() % 61) - 30); };
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      if (i % 7 != 3 && (i == n / 2 || i == j || random() % 8 == 0)) dense[i][j] = number();
  return sparse(dense);
}

/// Entries of that size on seven diagonals, which every format takes.
HostMatrix<double> band_matrix(int n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, 0.0));
  for (int i = 0; i < n; ++i)
    for (int j = std::max(0, i - 3); j < std::min(n, i + 4); ++j)
      dense[i][j] = std::ldexp(double(random()) / 0x1p31 - 1, int(random() % 61) - 30);
  return sparse(dense);
}

template <class Scalar>
HostMatrix<Scalar> times(const HostMatrix<double>& a, const Scalar& factor) {
  HostMatrix<Scalar> result;
  result.num_rows = a.num_rows;
  result.num_cols = a.num_cols;
  result.row_ptrs = a.row_ptrs;
  result.col_idxs = a.col_idxs;
  for (const double value : a.values) result.values.push_back(Scalar(value) * factor);
  return result;
}

using Long = std::complex<long double>;
template <class Scalar>
Long to_long(const Scalar& x) {
  return {static_cast<long double>(real_part(x)), static_cast<long double>(imaginary_part(x))};
}

/// b - A x, where the first digits cancel: b is A x rounded.
template <class Scalar, class Space>
void check(const CompensatedOperator<Scalar, Space>& op, const HostMatrix<Scalar>& a, double epsilon) {
  using Real = real_type_t<Scalar>;
  const int n = static_cast<int>(a.num_rows), columns = 3;
  std::mt19937 random(9);
  const MultiVector<Scalar, Space> x("x", n, columns), y("y", n, columns), low("low", n, columns);
  const auto x_host = Kokkos::create_mirror_view(x), y_host = Kokkos::create_mirror_view(y);
  std::vector<std::vector<Long>> exact(columns, std::vector<Long>(n));
  std::vector<std::vector<long double>> size(columns, std::vector<long double>(n, 0));
  for (int v = 0; v < columns; ++v) {
    for (int i = 0; i < n; ++i) x_host(i, v) = Scalar(Real(double(random()) / 0x1p31 - 1));
    for (int i = 0; i < n; ++i) {
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
        const Long product = to_long(a.values[k]) * to_long(x_host(a.col_idxs[k], v));
        exact[v][i] -= product;
        size[v][i] += std::abs(product);
      }
      y_host(i, v) =
          static_cast<Scalar>(in_precision_t<Scalar, double>(-static_cast<double>(exact[v][i].real())));
      exact[v][i] += to_long(y_host(i, v));
    }
  }
  Kokkos::deep_copy(x, x_host);
  Kokkos::deep_copy(y, y_host);
  op.apply_compensated(Space(), Real(-1), x, y, low);
  Kokkos::fence();
  Kokkos::deep_copy(y_host, y);
  const auto low_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), low);
  for (int v = 0; v < columns; ++v)
    for (int i = 0; i < n; ++i) {
      const Long found = to_long(y_host(i, v)) + to_long(low_host(i, v));
      const long double error = std::abs(found - exact[v][i]);
      // The reference itself has 64 bits.
      EXPECT_LE(error, 4 * n * (epsilon * epsilon + 1e-19L) * size[v][i] + epsilon * std::abs(exact[v][i]))
          << "row " << i << ", column " << v;
    }
}

template <class Scalar, class Space>
void check_formats(const HostMatrix<Scalar>& a, const std::vector<MatrixFormat>& formats, double epsilon) {
  const auto device = to_device<Space>(a);
  for (const MatrixFormat format : formats) {
    SCOPED_TRACE(to_string(format));
    const auto op = make_operator<Scalar, Space>(Space(), device, format);
    const auto* const compensated = dynamic_cast<const CompensatedOperator<Scalar, Space>*>(op.get());
    ASSERT_NE(compensated, nullptr);
    check(*compensated, a, epsilon);
  }
  for (const int block_size : {2, 3, 5}) {  // with padding
    SCOPED_TRACE(block_size);
    check<Scalar, Space>(BcsrOperator<Scalar, Space>(to_bcsr<Scalar, Space>(Space(), device, block_size)), a,
                         epsilon);
  }
}

TYPED_TEST(CompensatedTest, HasTwiceTheDigits) {
  for (const int n : {1, 33, 101}) {
    SCOPED_TRACE(n);
    const std::vector<MatrixFormat> all = {MatrixFormat::csr, MatrixFormat::sell, MatrixFormat::dia,
                                           MatrixFormat::jad, MatrixFormat::bcsr};
    const std::vector<MatrixFormat> of_any_row = {MatrixFormat::csr, MatrixFormat::jad, MatrixFormat::bcsr};
    const HostMatrix<double> a = wide_matrix(n, 4), band = band_matrix(n, 5);
    using Complex = Kokkos::complex<double>;
    check_formats<double, TypeParam>(a, of_any_row, 0x1p-53);
    const auto& of_band = n == 1 ? of_any_row : all;  // one row would be padded too much
    check_formats<double, TypeParam>(band, of_band, 0x1p-53);
    check_formats<float, TypeParam>(times<float>(band, 1), of_band, 0x1p-24);
    check_formats<Complex, TypeParam>(times(band, Complex(1, 0.5)), of_band, 0x1p-53);
  }
}

/// Rows whose products cancel, so that b - A x = b, of which twice the digits do not reach to.
TYPED_TEST(CompensatedTest, LostDigitsDoNotLookLikeASmallResidual) {
  const int n = 400;
  std::mt19937 random(11);
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, 0.0));
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < 2 + i % 9; ++k) {
      const double value = std::ldexp(1 + double(random()) / 0x1p32, 115);
      dense[i][(i + 7 * k) % (n / 2)] = value;
      dense[i][n / 2 + (i + 5 * k) % (n / 2)] = -value;
    }
  const CsrOperator<double, TypeParam> op(to_device<TypeParam>(sparse(dense)));
  const MultiVector<double, TypeParam> x("x", n, 1), y("y", n, 1), low("low", n, 1);
  Kokkos::deep_copy(x, 1.0 / 3);
  for (const double b : {1.34375, -0x1p-30}) {
    Kokkos::deep_copy(y, b);
    Kokkos::deep_copy(low, 0);
    op.apply_compensated(TypeParam(), -1, x, y, low);
    Kokkos::fence();
    const auto high = to_vector(column(y, 0)), rest = to_vector(column(low, 0));
    for (int i = 0; i < n; ++i) {
      const double found = high[i] + rest[i];
      EXPECT_GE(std::abs(found), std::abs(found - b) * (1 - 1e-12)) << i;
    }
  }
}

TYPED_TEST(CompensatedTest, TakesPowersOfTwo) {
  const HostMatrix<double> a = wide_matrix(40, 5);
  const CsrOperator<double, TypeParam> op(to_device<TypeParam>(a));
  const auto applied = [&](double alpha) {
    MultiVector<double, TypeParam> x("x", 40, 1), y("y", 40, 1), low("low", 40, 1);
    Kokkos::deep_copy(x, 1.0 / 3);
    op.apply_compensated(TypeParam(), alpha, x, y, low);
    Kokkos::fence();
    auto values = to_vector(column(y, 0));
    for (const double value : to_vector(column(low, 0))) values.push_back(value);
    return values;
  };
  const auto once = applied(1);
  for (const double alpha : {-1.0, 0x1p300, -0x1p-300}) {
    const auto found = applied(alpha);
    for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(found[i], alpha * once[i]);
  }
}

TYPED_TEST(CompensatedTest, TheSameBitsForAnyNumberOfThreads) {
  if constexpr (is_host_space<TypeParam>) {
    const HostMatrix<double> a = wide_matrix(1500, 6);
    const CsrOperator<double, TypeParam> op(to_device<TypeParam>(a));
    const auto applied = [&](const TypeParam& space) {
      MultiVector<double, TypeParam> x("x", 1500, 1), y("y", 1500, 1), low("low", 1500, 1);
      Kokkos::deep_copy(x, 1.0 / 3);
      op.apply_compensated(space, -1, x, y, low);
      space.fence();
      return std::pair(to_vector(column(y, 0)), to_vector(column(low, 0)));
    };
    EXPECT_EQ(applied(TypeParam()), applied(of_one_thread<TypeParam>()));
  }
}

}  // namespace
}  // namespace prekond::testing
