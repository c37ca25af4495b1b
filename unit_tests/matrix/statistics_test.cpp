// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/statistics.hpp>

#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace prekond::testing {
namespace {

template <class Space, class Scalar>
MatrixStatistics measure(const HostMatrix<Scalar>& a) {
  const auto matrix = to_device<Space>(a);
  const MatrixStatistics s = statistics<Scalar, Space>(Space(), matrix);
  const MatrixStatistics without = statistics<Scalar, Space>(Space(), matrix, false);
  EXPECT_EQ(without.symmetric_pattern, s.symmetric_pattern);
  EXPECT_EQ(without.symmetric_values, s.symmetric_values);
  EXPECT_EQ(without.jacobi_norm, s.jacobi_norm);
  EXPECT_EQ(without.m_matrix_rows, s.m_matrix_rows);
  EXPECT_EQ(without.max_asymmetry, 0);
  EXPECT_EQ(without.frobenius_norm, 0);
  return s;
}

template <class Space>
class Statistics : public ::testing::Test {};
TYPED_TEST_SUITE(Statistics, TestSpaces, SpaceNames);

TYPED_TEST(Statistics, MixedMatrix) {
  auto a = sparse<double>({{-4, 1, 0, 0}, {1, 2, 0, 3}, {0, 0, 0, 0}, {5, 4, 0, 8}});
  a.values[3] = 0;  // (2, 2): stored and zero
  const auto s = measure<TypeParam>(a);
  EXPECT_EQ(s.num_rows, 4);
  EXPECT_EQ(s.num_cols, 4);
  EXPECT_EQ(s.nnz, 8);
  EXPECT_EQ(s.row_length_min, 0);
  EXPECT_EQ(s.row_length_max, 3);
  EXPECT_DOUBLE_EQ(s.row_length_mean, 2);
  EXPECT_EQ(s.empty_rows, 1);
  EXPECT_FALSE(s.symmetric_pattern);
  EXPECT_FALSE(s.symmetric_values);
  EXPECT_DOUBLE_EQ(s.max_asymmetry, 5 / std::sqrt(32.0));
  EXPECT_EQ(s.diagonal_missing, 1);
  EXPECT_EQ(s.diagonal_zero, 1);
  EXPECT_EQ(s.diagonal_negative, 1);
  EXPECT_EQ(s.diagonal_positive, 1);
  EXPECT_EQ(s.diagonal_min_abs, 0);
  EXPECT_EQ(s.diagonal_max_abs, 8);
  EXPECT_EQ(s.lower_bandwidth, 3);
  EXPECT_EQ(s.upper_bandwidth, 2);
  EXPECT_EQ(s.diagonally_dominant_rows, 2);
  EXPECT_EQ(s.jacobi_norm, std::numeric_limits<double>::infinity());
  EXPECT_DOUBLE_EQ(s.frobenius_norm, std::sqrt(16.0 + 1 + 1 + 9 + 25 + 16 + 64));
  EXPECT_EQ(s.max_abs, 8);
}

TYPED_TEST(Statistics, SymmetricPatternWithOtherValues) {
  const auto s = measure<TypeParam>(sparse<double>({{1, 2}, {3, 4}}));
  EXPECT_TRUE(s.symmetric_pattern);
  EXPECT_FALSE(s.symmetric_values);
  EXPECT_DOUBLE_EQ(s.max_asymmetry, 1.0 / 3);
  const auto rounded = measure<TypeParam>(sparse<float>({{1, 0.5f}, {0.5f + 1e-7f, 1}}));
  EXPECT_TRUE(rounded.symmetric_values);
  EXPECT_GT(rounded.max_asymmetry, 0);
  // Without a diagonal to compare with, only equal entries are symmetric.
  const auto no_diagonal = measure<TypeParam>(sparse<double>({{0, 1}, {-1, 0}}));
  EXPECT_FALSE(no_diagonal.symmetric_values);
  EXPECT_DOUBLE_EQ(no_diagonal.max_asymmetry, 2);
  EXPECT_TRUE(measure<TypeParam>(sparse<double>({{0, 1}, {1, 0}})).symmetric_values);
}

TYPED_TEST(Statistics, EntriesWithoutAMirrorImageOnEitherSideOfTheDiagonal) {
  for (const auto& a : {sparse<double>({{1, 2}, {0, 4}}), sparse<double>({{1, 0}, {2, 4}})}) {
    const auto s = measure<TypeParam>(a);
    EXPECT_FALSE(s.symmetric_pattern);
    EXPECT_FALSE(s.symmetric_values);
    EXPECT_DOUBLE_EQ(s.max_asymmetry, 1);
    EXPECT_DOUBLE_EQ(s.max_abs, 4);
    EXPECT_EQ(s.diagonally_dominant_rows, a.values[1] == 2 && a.col_idxs[1] == 1 ? 1 : 2);
  }
  // One of each kind, besides a symmetric pair; the one above the diagonal is larger.
  const auto both = measure<TypeParam>(sparse<double>({{4, 3, 8}, {3, 4, 0}, {0, 1, 4}}));
  EXPECT_FALSE(both.symmetric_pattern);
  EXPECT_DOUBLE_EQ(both.max_asymmetry, 1);
  const auto small = measure<TypeParam>(sparse<double>({{4, 3, 1e-17}, {3, 4, 0}, {0, 0, 4}}));
  EXPECT_FALSE(small.symmetric_pattern);
  EXPECT_TRUE(small.symmetric_values);
  EXPECT_DOUBLE_EQ(small.max_asymmetry, 1e-17 / 4);
  // A diagonal entry that is its own mirror image does not make up for one above without.
  using Complex = Kokkos::complex<double>;
  EXPECT_FALSE(measure<TypeParam>(sparse<Complex>({{1, {0, 1}}, {0, 0}})).symmetric_pattern);
}

template <class Scalar>
HostMatrix<Scalar> hermitian(int n) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<std::vector<Scalar>> rows(n, std::vector<Scalar>(n));
  for (int i = 0; i < n; ++i) {
    rows[i][i] = 5;
    for (int j = 0; j < i; ++j) {
      if (uniform(random) < 0.4) continue;
      rows[i][j] = uniform(random);
      if constexpr (is_complex<Scalar>) rows[i][j].imag() = uniform(random);
      rows[j][i] = conjugate(rows[i][j]);
    }
  }
  return sparse<Scalar>(rows);
}

template <class Space, class Scalar>
void expect_that_any_change_is_seen(Scalar factor) {
  const HostMatrix<Scalar> a = hermitian<Scalar>(23);
  const MatrixStatistics s = [&] {
    const ToolEvents events;
    const auto found = measure<Space>(a);
    for (const std::string& kernel : events.kernels())
      EXPECT_TRUE(kernel.find("mirrors") == std::string::npos &&
                  kernel.find("asymmetry") == std::string::npos)
          << "a symmetric matrix took " << kernel;
    return found;
  }();
  EXPECT_TRUE(s.symmetric_pattern);
  EXPECT_TRUE(s.symmetric_values);
  EXPECT_EQ(s.max_asymmetry, 0);
  for (int i = 0; i < 23; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      if (a.col_idxs[k] == i && !is_complex<Scalar>) continue;
      auto changed = a;
      changed.values[k] *= factor;
      const auto other = measure<Space>(changed);
      EXPECT_TRUE(other.symmetric_pattern) << i << " " << k;
      EXPECT_FALSE(other.symmetric_values) << i << " " << k;
      EXPECT_GT(other.max_asymmetry, 0) << i << " " << k;
    }
}

TYPED_TEST(Statistics, AnEntryThatDiffersFromItsMirrorImageIsSeen) {
  expect_that_any_change_is_seen<TypeParam, double>(2);
  expect_that_any_change_is_seen<TypeParam, double>(-1);
  expect_that_any_change_is_seen<TypeParam, Kokkos::complex<double>>({0, 1});
  // The same values at other places, and equal imaginary parts of many diagonal entries.
  const auto swapped = measure<TypeParam>(sparse<double>({{9, 1, 2}, {2, 9, 3}, {1, 3, 9}}));
  EXPECT_TRUE(swapped.symmetric_pattern);
  EXPECT_FALSE(swapped.symmetric_values);
  const auto moved = measure<TypeParam>(sparse<double>({{9, 1, 0}, {0, 9, 1}, {1, 0, 9}}));
  EXPECT_FALSE(moved.symmetric_pattern);
  EXPECT_FALSE(moved.symmetric_values);
  HostMatrix<Kokkos::complex<double>> diagonal;
  diagonal.num_rows = diagonal.num_cols = 16384;
  diagonal.row_ptrs = {0};
  for (int i = 0; i < 16384; ++i) {
    diagonal.col_idxs.push_back(i);
    diagonal.values.push_back({1, 1});
    diagonal.row_ptrs.push_back(i + 1);
  }
  EXPECT_TRUE(measure<TypeParam>(diagonal).symmetric_pattern);
  EXPECT_FALSE(measure<TypeParam>(diagonal).symmetric_values);
  // A zero has no sign.
  auto zeros = sparse<double>({{9, 1}, {1, 9}});
  zeros.values[1] = 0.0;
  zeros.values[2] = -0.0;
  EXPECT_EQ(measure<TypeParam>(zeros).max_asymmetry, 0);
  EXPECT_TRUE(measure<TypeParam>(zeros).symmetric_values);
}

TYPED_TEST(Statistics, RectangularAndEmpty) {
  const auto wide = measure<TypeParam>(sparse<double>({{1, 0, 7}, {0, 2, 0}}));
  EXPECT_FALSE(wide.symmetric_pattern);
  EXPECT_FALSE(wide.symmetric_values);
  EXPECT_EQ(wide.diagonal_positive, 2);
  EXPECT_EQ(wide.upper_bandwidth, 2);
  EXPECT_EQ(wide.lower_bandwidth, 0);
  const auto tall = measure<TypeParam>(sparse<double>({{1}, {2}, {3}}));
  EXPECT_EQ(tall.diagonal_positive + tall.diagonal_missing, 1);
  EXPECT_EQ(tall.lower_bandwidth, 2);
  const auto empty = measure<TypeParam>(HostMatrix<double>{});
  EXPECT_EQ(empty.nnz, 0);
  EXPECT_TRUE(empty.symmetric_values);
  HostMatrix<double> no_entries;
  no_entries.num_rows = no_entries.num_cols = 3;
  no_entries.row_ptrs = {0, 0, 0, 0};
  EXPECT_EQ(measure<TypeParam>(no_entries).diagonal_missing, 3);
  EXPECT_EQ(measure<TypeParam>(no_entries).diagonal_min_abs, 0);
}

TYPED_TEST(Statistics, NormsOfLargeAndSmallEntriesAreFinite) {
  const auto a = sparse<double>({{3, -1, 0.5}, {-1, 2, 1e-3}, {0.5, 1e-3, 7}});
  const auto plain = measure<TypeParam>(a);
  EXPECT_DOUBLE_EQ(plain.jacobi_norm, 1.001 / 2);
  for (const int k : {-1000, -565, -479, -100, -1, 1, 100, 479, 565, 1000}) {
    auto scaled = a;
    for (double& value : scaled.values) value = std::ldexp(value, k);
    const auto s = measure<TypeParam>(scaled);
    EXPECT_DOUBLE_EQ(std::ldexp(s.frobenius_norm, -k), plain.frobenius_norm) << k;
    EXPECT_EQ(std::ldexp(s.max_abs, -k), plain.max_abs) << k;
    EXPECT_EQ(s.max_asymmetry, plain.max_asymmetry) << k;
    EXPECT_EQ(s.jacobi_norm, plain.jacobi_norm) << k;
    EXPECT_TRUE(s.symmetric_values) << k;
    EXPECT_EQ(s.diagonally_dominant_rows, plain.diagonally_dominant_rows) << k;
  }
  // Numbers of every size together, and the smallest that there are.
  EXPECT_EQ(measure<TypeParam>(sparse<double>({{0x1p-1000, 1}, {0x1p900, 0x1p-900}})).frobenius_norm,
            0x1p900);
  EXPECT_EQ(measure<TypeParam>(sparse<double>({{3 * 0x1p700, 4 * 0x1p700}})).frobenius_norm, 5 * 0x1p700);
  EXPECT_EQ(measure<TypeParam>(sparse<double>({{3 * 0x1p-480, 4 * 0x1p-480}})).frobenius_norm, 5 * 0x1p-480);
  EXPECT_EQ(measure<TypeParam>(sparse<double>({{0x1.8p-480, 0x1p-481, 0x1p-481}})).frobenius_norm,
            std::ldexp(std::sqrt(2.75), -480));
  EXPECT_EQ(measure<TypeParam>(sparse<double>({{0x1p480, 0x1p481}})).frobenius_norm,
            std::ldexp(std::sqrt(5.0), 480));
  EXPECT_EQ(measure<TypeParam>(sparse<double>({{3 * 0x1p-1074, 4 * 0x1p-1074}})).frobenius_norm,
            5 * 0x1p-1074);
  EXPECT_EQ(measure<TypeParam>(sparse<double>({{0x1p1023, 0x1p1023}})).frobenius_norm,
            std::ldexp(std::sqrt(2.0), 1023));
}

TYPED_TEST(Statistics, Poisson) {
  const int n = 67;
  const auto a = generate<double>(TypeParam(), "poisson2d:67");
  const auto s = statistics<double, TypeParam>(TypeParam(), a);
  EXPECT_EQ(s.num_rows, n * n);
  EXPECT_EQ(s.nnz, 5 * n * n - 4 * n);
  EXPECT_EQ(s.row_length_min, 3);
  EXPECT_EQ(s.row_length_max, 5);
  EXPECT_TRUE(s.symmetric_pattern);
  EXPECT_TRUE(s.symmetric_values);
  EXPECT_EQ(s.max_asymmetry, 0);
  EXPECT_EQ(s.jacobi_norm, 1);
  EXPECT_EQ(s.lower_bandwidth, n);
  EXPECT_EQ(s.upper_bandwidth, n);
  EXPECT_EQ(s.diagonally_dominant_rows, n * n);
  EXPECT_DOUBLE_EQ(s.frobenius_norm, std::sqrt(16.0 * n * n + 4.0 * n * (n - 1)));
  const auto again = statistics<double, TypeParam>(TypeParam(), a);
  EXPECT_EQ(s.frobenius_norm, again.frobenius_norm);
}

TYPED_TEST(Statistics, ConvectionIsUnsymmetricWithASymmetricPattern) {
  const auto a = generate<float>(TypeParam(), "convection_diffusion3d:5");
  const auto s = statistics<float, TypeParam>(TypeParam(), a);
  EXPECT_TRUE(s.symmetric_pattern);
  EXPECT_FALSE(s.symmetric_values);
}

TYPED_TEST(Statistics, RowsOfMMatricesHaveTheOtherSignOffTheDiagonal) {
  // The part of the sum of |a_ij| that has a_ii's sign is a tenth, nothing, all, more than a tenth; a zero
  // has no sign.
  const HostMatrix<double> a = sparse<double>(
      {{3, -9, 0, 1, 0}, {-1, 2, -1, 0, 0}, {1, 0, 2, 1, 0}, {-8, 1, 0, 3, 0}, {-1, 0, 0, 0, 0}});
  EXPECT_EQ(measure<TypeParam>(a).m_matrix_rows, 2);
  const HostMatrix<double> negative = sparse<double>({{-3, 1}, {1, -2}});
  EXPECT_EQ(measure<TypeParam>(negative).m_matrix_rows, 2);
}

}  // namespace
}  // namespace prekond::testing
