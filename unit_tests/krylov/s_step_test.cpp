// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/krylov_solves.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>

#include "krylov/basis.hpp"
#include "krylov/block_orthogonalization.hpp"
#include "krylov/device_scalars.hpp"
#include "krylov/s_step.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

namespace prekond::testing {
namespace {

using Complex = std::complex<double>;

// ------------------------------------------------------------------------------------------ shifts, on the
// host

/// det(H - x I) over the product of the columns' norms, by elimination with pivoting.
double relative_determinant(krylov::ComplexMatrix h, Complex x) {
  const int n = static_cast<int>(h.size());
  for (int i = 0; i < n; ++i) h[i][i] -= x;
  double scale = 1;
  for (int j = 0; j < n; ++j) {
    double squares = 0;
    for (int i = 0; i < n; ++i) squares += std::norm(h[i][j]);
    scale *= std::sqrt(squares);
  }
  double determinant = 1;
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k; i < n; ++i)
      if (std::abs(h[i][k]) > std::abs(h[pivot][k])) pivot = i;
    std::swap(h[k], h[pivot]);
    determinant *= std::abs(h[k][k]);
    if (determinant == 0) return 0;
    for (int i = k + 1; i < n; ++i) {
      const Complex factor = h[i][k] / h[k][k];
      for (int j = k; j < n; ++j) h[i][j] -= factor * h[k][j];
    }
  }
  return determinant / scale;
}

krylov::ComplexMatrix random_hessenberg(int n, bool is_real, unsigned seed) {
  const std::vector<double> numbers = random_vector(2 * n * n, seed);
  krylov::ComplexMatrix h(n, std::vector<Complex>(n));
  for (int i = 0; i < n; ++i)
    for (int j = std::max(0, i - 1); j < n; ++j)
      h[i][j] = {numbers[2 * (i * n + j)], is_real ? 0 : numbers[2 * (i * n + j) + 1]};
  return h;
}

TEST(RitzValuesTest, AreRootsOfTheCharacteristicPolynomial) {
  for (const int n : {1, 2, 3, 5, 8, 16, 30})
    for (const bool is_real : {true, false})
      for (unsigned seed = 1; seed < 4; ++seed) {
        const auto h = random_hessenberg(n, is_real, seed);
        const auto values = krylov::hessenberg_eigenvalues(h);
        ASSERT_EQ(values.size(), std::size_t(n));
        Complex trace = 0, sum = 0;
        for (int i = 0; i < n; ++i) trace += h[i][i];
        for (const Complex& value : values) {
          sum += value;
          EXPECT_LE(relative_determinant(h, value), 1e-10) << n << ' ' << value;
        }
        EXPECT_LE(std::abs(trace - sum), 1e-12 * n);
      }
}

TEST(RitzValuesTest, MatricesThatNeedExceptionalShifts) {
  // A cyclic shift: its eigenvalues are the roots of unity; and a split one with a zero below the diagonal.
  constexpr int n = 6;
  krylov::ComplexMatrix cycle(n, std::vector<Complex>(n));
  for (int i = 0; i + 1 < n; ++i) cycle[i + 1][i] = 1;
  cycle[0][n - 1] = 1;
  const auto roots = krylov::hessenberg_eigenvalues(cycle);
  ASSERT_EQ(roots.size(), std::size_t(n));
  for (const Complex& root : roots) EXPECT_LE(std::abs(std::pow(root, n) - 1.0), 1e-12);
  krylov::ComplexMatrix split = random_hessenberg(7, true, 9);
  split[4][3] = 0;
  EXPECT_EQ(krylov::hessenberg_eigenvalues(split).size(), 7u);
  split[0][0] = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(krylov::hessenberg_eigenvalues(split).empty());
}

TEST(LejaOrderTest, TakesTheFarthestAndKeepsPairs) {
  const auto order = krylov::leja_order({{1, 0}, {5, 0}, {4.9, 0}, {2, 0}}, false);
  EXPECT_EQ(order, (std::vector<Complex>{{5, 0}, {1, 0}, {2, 0}, {4.9, 0}}));
  const auto pairs = krylov::leja_order({{1, -2}, {3, 0}, {1, 2}, {0.5, 1e-12}, {0.5, -1e-12}}, true);
  ASSERT_EQ(pairs.size(), 5u);
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    if (pairs[k].imag() <= 0) continue;
    ASSERT_LT(k + 1, pairs.size());
    EXPECT_EQ(pairs[k + 1], std::conj(pairs[k]));
  }
  EXPECT_EQ(pairs.front(), Complex(3, 0));
  EXPECT_EQ(std::count_if(pairs.begin(), pairs.end(), [](Complex z) { return z.imag() == 0; }), 3);
}

TEST(NewtonStepsTest, StepsOfAConjugatePairAreReal) {
  // Eigenvalues 2 +- 3 i: the second step has the square of the imaginary part.
  const double h[2][2] = {{2, -9}, {1, 2}};
  auto steps = krylov::newton_steps<double>(2, [&](int i, int j) { return h[i][j]; });
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_NEAR(steps[0].shift, 2, 1e-12);
  EXPECT_EQ(steps[0].square, 0);
  EXPECT_NEAR(steps[1].shift, 2, 1e-12);
  EXPECT_EQ(steps[0].scale, 0.5);  // the absolute value is 3.6
  EXPECT_EQ(steps[1].scale, 0.5);
  EXPECT_NEAR(steps[1].square, 4.5, 1e-11);
  // The steps of 2^k K are the same, scaled.
  const auto large = krylov::newton_steps<double>(2, [&](int i, int j) { return std::ldexp(h[i][j], 40); });
  for (int k = 0; k < 2; ++k) {
    steps[k].scale_operator(40);
    EXPECT_EQ(steps[k].shift, large[k].shift);
    EXPECT_EQ(steps[k].square, large[k].square);
    EXPECT_EQ(steps[k].scale, large[k].scale);
  }
  const auto rounded = krylov::newton_steps<float>(2, [&](int i, int j) { return h[i][j] / 3; });
  for (const auto& step : rounded) {
    EXPECT_EQ(step.shift, double(float(step.shift)));
    EXPECT_EQ(step.square, double(float(step.square)));
  }
}

TEST(BlockColumnsTest, MatchTheHessenbergMatrix) {
  // K = H on coordinate vectors: V = I, w_0 = e_k, and what is found is H's own columns.
  constexpr int before = 3, size = 4, n = before + 1 + size;
  const std::vector<double> numbers = random_vector(n * n, 4);
  std::vector<std::vector<double>> h(n, std::vector<double>(n, 0));
  for (int i = 0; i < n; ++i)
    for (int j = std::max(0, i - 1); j < n; ++j) h[i][j] = i == j + 1 ? 1.5 : numbers[i * n + j];
  const std::vector<krylov::NewtonStep<double>> steps = {
      {0.3, 0, 1}, {-0.2, 0, 4}, {0.1, 0, 0.5}, {0.1, 0.25, 2}};
  std::vector<std::vector<double>> w(1, std::vector<double>(n, 0));
  w[0][before] = 1;
  for (int k = 0; k < size; ++k) {
    std::vector<double> next(n, 0);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) next[i] += h[i][j] * w[k][j];
      next[i] -= steps[k].shift * w[k][i];
      if (k > 0) next[i] += steps[k].square * w[k - 1][i];
      next[i] *= steps[k].scale;
    }
    w.push_back(next);
  }
  krylov::BlockColumns<double> columns(before, size);
  for (int i = 1; i <= size; ++i)
    for (int row = 0; row < before + 1 + i; ++row) columns.c(row, i) = w[i][row];
  for (int i = 0; i < size; ++i) {
    columns.find(i, steps[i], [&](int row, int column) { return h[row][column]; });
    for (int row = 0; row <= before + i + 1; ++row)
      EXPECT_NEAR(columns.h(row, i), h[row][before + i], 1e-12) << row << ' ' << i;
  }
}

// ------------------------------------------------------------------------------------------ kernels

template <class Space>
class BasisKernelsTest : public ::testing::Test {};
TYPED_TEST_SUITE(BasisKernelsTest, TestSpaces, SpaceNames);

using HostColumns = std::vector<std::vector<double>>;

HostColumns random_columns(std::int64_t n, int columns, unsigned seed) {
  HostColumns v;
  for (int c = 0; c < columns; ++c) v.push_back(random_vector(n, seed + c));
  return v;
}
template <class Space>
MultiVector<double, Space> to_device_columns(const HostColumns& v) {
  const MultiVector<double, Space> result("columns", v[0].size(), v.size());
  for (std::size_t c = 0; c < v.size(); ++c)
    Kokkos::deep_copy(column(result, static_cast<int>(c)), to_device<Space>(v[c]));
  return result;
}
template <class View>
krylov::Basis<double> basis_of(const View& v) {
  return {v.data(), v.extent(1) > 1 ? v.stride(1) : 0};
}
template <class View>
std::vector<double> column_of(const View& v, int c) {
  const auto host =
      Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), Kokkos::subview(v, Kokkos::ALL, c));
  return {host.data(), host.data() + host.extent(0)};
}

TYPED_TEST(BasisKernelsTest, InnerProductsOfABlock) {
  const TypeParam space;
  for (const std::int64_t n : {1, 31, 512, 1023, 1025, 5000}) {
    for (const int block : {1, 2, 3, 4, 5, 8}) {
      for (const int before : {1, 2, 4, 7, 13, 31}) {
        const int columns = before + block;
        const HostColumns v = random_columns(n, columns, 3);
        const auto device = to_device_columns<TypeParam>(v);
        const Vector<double, TypeParam> result("result", std::size_t(columns) * block);
        const krylov::BasisKernels<double, TypeParam> kernels(space, n, 4 * columns);
        kernels.project_block(space, "prekond::testing::project", basis_of(device), columns, before, block,
                              result);
        const auto found = to_vector(result);
        for (int c = 0; c < block; ++c)
          for (int q = 0; q < columns; ++q)
            ASSERT_NEAR(found[c * columns + q], inner(v[q], v[before + c]), 1e-12 * double(n) + 1e-15)
                << n << " rows, " << before << " and " << block << " columns: " << q << ", " << c;
      }
    }
  }
}

TYPED_TEST(BasisKernelsTest, UpdateOfABlock) {
  const TypeParam space;
  for (const std::int64_t n : {1, 511, 1025, 2500}) {
    for (const int block : {1, 2, 3, 4, 5, 7, 8}) {
      for (const int before : {1, 5, 12}) {
        const HostColumns v = random_columns(n, before + block, 5);
        const auto device = to_device_columns<TypeParam>(v);
        std::vector<double> t = random_vector(block * block, 11);
        const std::vector<double> c = random_vector(before * block, 12);
        const krylov::BasisKernels<double, TypeParam> kernels(space, n, 4);
        // Below the diagonal T is not looked at: there it is not a number.
        for (int column = 0; column < block; ++column)
          for (int row = column + 1; row < block; ++row)
            t[column * block + row] = std::numeric_limits<double>::quiet_NaN();
        const auto t_device = to_device<TypeParam>(t), c_device = to_device<TypeParam>(c);
        kernels.update_block(space, "prekond::testing::update", basis_of(device), before, block,
                             t_device.data(), c_device.data());
        for (int column = 0; column < block; ++column) {
          const auto found = column_of(device, before + column);
          for (std::int64_t i = 0; i < n; ++i) {
            double expected = 0;
            for (int q = 0; q < before; ++q) expected -= v[q][i] * c[column * before + q];
            for (int row = 0; row <= column; ++row) expected += v[before + row][i] * t[column * block + row];
            ASSERT_NEAR(found[i], expected, 1e-13) << n << ' ' << block << ' ' << before << ' ' << column;
          }
        }
        for (int q = 0; q < before; ++q) ASSERT_EQ(column_of(device, q), v[q]);
      }
    }
  }
}

template <class Space>
void launch_team(const Space& space, const krylov::FactorBlock<double, Space>& factor) {
  const int threads = is_host_space<Space> ? 1 : krylov::FactorBlock<double, Space>::threads;
  Kokkos::parallel_for("prekond::testing::factor", Kokkos::TeamPolicy<Space>(space, 1, threads), factor);
  space.fence();
}

TYPED_TEST(BasisKernelsTest, FactorOfABlock) {
  const TypeParam space;
  for (const int block : {1, 2, 3, 5, 8, 16}) {
    for (const int before : {1, 4, 31}) {
      for (int dependent = 0; dependent <= block; ++dependent) {  // the first such vector; block: none
        const std::int64_t n = before + block + 10;
        HostColumns v = random_columns(n, before + block, 7);
        for (int q = 0; q < before; ++q) {  // V orthonormal
          for (int pass = 0; pass < 2; ++pass)
            for (int l = 0; l < q; ++l) {
              const double h = inner(v[l], v[q]);
              for (std::int64_t i = 0; i < n; ++i) v[q][i] -= h * v[l][i];
            }
          const double size = norm(v[q]);
          for (double& entry : v[q]) entry /= size;
        }
        if (dependent < block) v[before + dependent] = v[(before + dependent) / 2];
        const int columns = before + block;
        std::vector<double> projections(columns * block);
        for (int c = 0; c < block; ++c)
          for (int q = 0; q < columns; ++q) projections[c * columns + q] = inner(v[q], v[before + c]);
        const auto p = to_device<TypeParam>(projections);
        const Vector<double, TypeParam> r("r", block * block), t("t", block * block), c("c", before * block);
        launch_team(space, krylov::FactorBlock<double, TypeParam>{before, block, p.data(), r.data(), t.data(),
                                                                  c.data()});
        const auto found = to_vector(t), coefficients = to_vector(c), factor = to_vector(r);
        HostColumns w;
        for (int column = 0; column < block; ++column) {
          w.emplace_back(n, 0.0);
          for (std::int64_t i = 0; i < n; ++i) {
            for (int row = 0; row <= column; ++row)
              w.back()[i] += v[before + row][i] * found[column * block + row];
            for (int q = 0; q < before; ++q) w.back()[i] -= v[q][i] * coefficients[column * before + q];
          }
        }
        for (int column = 0; column < block; ++column) {
          SCOPED_TRACE(std::to_string(block) + " after " + std::to_string(before) + ", dependent " +
                       std::to_string(dependent) + ", column " + std::to_string(column));
          if (column >= dependent) {
            EXPECT_EQ(factor[column * block + column], 0);
            EXPECT_EQ(norm(w[column]), 0);
            continue;
          }
          EXPECT_GT(factor[column * block + column], 0);
          for (int q = 0; q < before; ++q) EXPECT_NEAR(inner(v[q], w[column]), 0, 1e-10);
          for (int other = 0; other <= column; ++other)
            EXPECT_NEAR(inner(w[other], w[column]), other == column ? 1 : 0, 1e-9);
          // W R gives back what is not in V.
          for (std::int64_t i = 0; i < n; ++i) {
            double back = 0;
            for (int row = 0; row <= column; ++row) back += w[row][i] * factor[column * block + row];
            for (int q = 0; q < before; ++q) back += v[q][i] * projections[column * columns + q];
            EXPECT_NEAR(back, v[before + column][i], 1e-10);
          }
        }
      }
    }
  }
}

TYPED_TEST(BasisKernelsTest, ScalarsArriveInTheirOrder) {
  const TypeParam space;
  krylov::DeviceScalars<double, TypeParam> scalars(space, "prekond::testing::scalars", 300, 2);
  const krylov::Group group{0, 300};
  for (int round = 1; round <= 50; ++round) {
    for (int c = 0; c < 2; ++c) Kokkos::deep_copy(space, scalars.now(group, c), round + 0.5 * c);
    scalars.send(space, "prekond::testing::send");
    // Later kernels must not change the values that were sent.
    if (!is_host_space<TypeParam>)
      for (int c = 0; c < 2; ++c) Kokkos::deep_copy(space, scalars.now(group, c), -1.0);
    scalars.await(space, "prekond::testing::await");
    for (int c = 0; c < 2; ++c)
      for (int k = 0; k < 300; ++k) ASSERT_EQ(scalars.host_now(group, c, k), round + 0.5 * c);
  }
}

}  // namespace
}  // namespace prekond::testing
