// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The dense row kernels on Hermitian matrices.
#include "testing/hermitian_matrices.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include "core/lane_group.hpp"
#include "dense/inverse_factor.hpp"
#include "dense/panel_cholesky.hpp"

#include <cmath>

namespace prekond::testing {
namespace {

/// Dense, positive definite, far from diagonally dominant.
ComplexDense dense_hermitian(int n, unsigned seed) {
  const std::vector<Complex> b = random_complex(static_cast<std::size_t>(n) * n, seed);
  ComplexDense a(n, std::vector<LongComplex>(n));
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) {
      Complex sum = i == j ? 0.5 * n : 0.0;
      for (int k = 0; k < n; ++k) sum += b[i * n + k] * Kokkos::conj(b[j * n + k]);
      // Numbers that single precision holds as well.
      a[i][j] = LongComplex(static_cast<float>(sum.real()), i == j ? 0 : static_cast<float>(sum.imag()));
      a[j][i] = std::conj(a[i][j]);
    }
  }
  return a;
}

template <class Scalar>
std::vector<Scalar> flat(const ComplexDense& a) {
  using Real = real_type_t<Scalar>;
  std::vector<Scalar> values;
  for (const auto& row : a)
    for (const LongComplex& value : row)
      values.push_back(Scalar(static_cast<Real>(value.real()), static_cast<Real>(value.imag())));
  return values;
}

template <class Scalar>
double distance(const Scalar& x, const LongComplex& expected) {
  return static_cast<double>(std::abs(LongComplex(x.real(), x.imag()) - expected));
}

template <class Scalar, class Space, class LaneGroup>
struct FactorAndSolve {
  using Real = real_type_t<Scalar>;
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  int m, last;
  Real floor;
  Vector<Scalar, Space> matrix, entries, y, x;
  Vector<Real, Space> reciprocals;
  Vector<DroppedPivots<Real>, Space> dropped;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const LaneGroup lane_group(team);
    const PanelCholesky<Scalar> system{entries.data(), reciprocals.data(), dropped.data(),
                                       PanelCholesky<Scalar>::padded(m)};
    system.clear(lane_group, m);
    lane_group.region([&](int lane) {
      for (int k = lane; k < m * m; k += lane_group.size())
        if (k / m >= k % m) system(k / m, k % m) = matrix(k);
    });
    system.factor(lane_group, floor);
    system.solve_transposed(lane_group, last, y.data(), x.data());
  }
};

template <class Scalar, class Space, class LaneGroup>
FactorAndSolve<Scalar, Space, LaneGroup> solve(const ComplexDense& a, int last, int team_size, int lanes,
                                               double floor = 0) {
  using Real = real_type_t<Scalar>;
  const int m = static_cast<int>(a.size());
  const auto order = static_cast<std::size_t>(PanelCholesky<Scalar>::padded(m));
  FactorAndSolve<Scalar, Space, LaneGroup> kernel{
      m,
      last,
      static_cast<Real>(floor),
      to_device<Space>(flat<Scalar>(a)),
      Vector<Scalar, Space>("entries", PanelCholesky<Scalar>::size(m)),
      Vector<Scalar, Space>("y", order),
      Vector<Scalar, Space>("x", order),
      Vector<Real, Space>("reciprocals", order),
      Vector<DroppedPivots<Real>, Space>("dropped", 1)};
  const Scalar nan(std::nan(""), std::nan(""));
  Kokkos::deep_copy(kernel.entries, nan);
  Kokkos::deep_copy(kernel.y, nan);
  Kokkos::deep_copy(kernel.x, nan);
  Kokkos::parallel_for("prekond::testing::factor", Kokkos::TeamPolicy<Space>(1, team_size, lanes), kernel);
  Kokkos::fence();
  return kernel;
}

/// L^-H e_last
std::vector<LongComplex> reference(const ComplexDense& a, int last) {
  const int n = last + 1;
  ComplexDense leading(n, std::vector<LongComplex>(n));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) leading[i][j] = a[i][j];
  std::vector<LongComplex> unit(n);
  unit[last] = 1;
  std::vector<LongComplex> x = dense_solve(leading, unit);
  const long double root = std::sqrt(x[last].real());
  for (LongComplex& value : x) value /= root;
  return x;
}

template <class Scalar, class Kernel>
void expect_solution(const ComplexDense& a, int last, const Kernel& kernel) {
  const std::vector<LongComplex> expected = reference(a, last);
  const auto x = to_vector(kernel.x);
  ASSERT_EQ(to_vector(kernel.dropped)[0].count, 0);
  const double tolerance = sizeof(real_type_t<Scalar>) == 4 ? 1e-4 : 1e-12;
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_LE(distance(x[i], i < expected.size() ? expected[i] : LongComplex(0)), tolerance)
        << "order " << a.size() << ", last " << last << ", entry " << i;
}

template <class Scalar, class Space>
void check_all_levels() {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  constexpr bool host = is_host_space<Space>;
  for (const int m : {1, 2, 7, 8, 9, 16, 17, 33, 40, 67}) {
    const ComplexDense a = dense_hermitian(m, 3 + m);
    for (const int last : {0, m / 2, m - 1}) {
      expect_solution<Scalar>(
          a, last, solve<Scalar, Space, NativeLaneGroup<Space, Member, 32>>(a, last, 1, host ? 1 : 32));
      expect_solution<Scalar>(
          a, last, solve<Scalar, Space, NativeLaneGroup<Space, Member, 8>>(a, last, 1, host ? 1 : 8));
      expect_solution<Scalar>(a, last,
                              solve<Scalar, Space, PortableLaneGroup<Member, 16>>(a, last, 1, host ? 1 : 16));
      expect_solution<Scalar>(
          a, last,
          solve<Scalar, Space, TeamLaneGroup<Member, host ? 1 : 32>>(a, last, host ? 1 : 4, host ? 1 : 32));
    }
  }
}

template <class Space>
class ComplexDenseTest : public ::testing::Test {};
TYPED_TEST_SUITE(ComplexDenseTest, TestSpaces, SpaceNames);

TYPED_TEST(ComplexDenseTest, FactorsEqualTheReference) {
  check_all_levels<Complex, TypeParam>();
  check_all_levels<Kokkos::complex<float>, TypeParam>();
}

TYPED_TEST(ComplexDenseTest, PivotsAreRealAndBadOnesDropped) {
  using Member = typename Kokkos::TeamPolicy<TypeParam>::member_type;
  using LaneGroup = NativeLaneGroup<TypeParam, Member, 32>;
  const int m = 20, lanes = is_host_space<TypeParam> ? 1 : 32;
  ComplexDense a = dense_hermitian(m, 4);
  // A row that is i times the one before it: its pivot is zero but for rounding.
  for (int j = 0; j < m; ++j) a[9][j] = LongComplex(0, 1) * a[8][j];
  for (int i = 0; i < m; ++i) a[i][9] = LongComplex(0, -1) * a[i][8];
  const auto found = solve<Complex, TypeParam, LaneGroup>(a, m - 1, 1, lanes, 1e-10);
  EXPECT_EQ(to_vector(found.reciprocals)[9], 0);
  EXPECT_EQ(to_vector(found.dropped)[0].count, 1);
  EXPECT_EQ(to_vector(found.dropped)[0].first, 9);
  EXPECT_NEAR(to_vector(found.dropped)[0].pivot, 0, 1e-10);
  ComplexDense without;
  for (int i = 0; i < m; ++i) {
    if (i == 9) continue;
    without.emplace_back();
    for (int j = 0; j < m; ++j)
      if (j != 9) without.back().push_back(a[i][j]);
  }
  const auto expected = reference(without, m - 2);
  const auto x = to_vector(found.x);
  for (int i = 0; i < m; ++i)
    ASSERT_LE(distance(x[i], i == 9 ? LongComplex(0) : expected[i - (i > 9)]), 1e-12) << i;
  a[3][3] = std::nan("");
  const auto unsound = solve<Complex, TypeParam, LaneGroup>(a, m - 1, 1, lanes, 1e-10);
  EXPECT_EQ(to_vector(unsound.dropped)[0].first, 3);
}

template <class Scalar, class Space, class LaneGroup>
struct GrowInverseFactor {
  using Real = real_type_t<Scalar>;
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  int n;
  Vector<Scalar, Space> matrix;  ///< row-major
  Vector<Scalar, Space> factor, column, l;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const LaneGroup lane_group(team);
    const InverseFactor<Scalar> w{factor.data()};
    for (int m = 0; m < n; ++m) {
      lane_group.region([&](int lane) {
        for (int p = lane; p < m; p += LaneGroup::width) column(p) = matrix(p * n + m);
      });
      w.multiply(lane_group, m, column.data(), l.data());
      const Real square = lane_group.template sum<Real>([&](int lane) {
        Real sum = 0;
        for (int p = lane; p < m; p += LaneGroup::width) sum += abs2(l(p));
        return sum;
      });
      w.append(lane_group, m, l.data(), Real(1) / Kokkos::sqrt(real_part(matrix(m * n + m)) - square));
    }
  }
};

/// W L = I for the textbook's L.
template <class Scalar, class Space, class LaneGroup>
void check_inverse_factor(double tolerance) {
  for (const int n : {1, 2, 3, 4, 5, 8, 9, 31, 33, 70}) {
    const ComplexDense a = dense_hermitian(n, 50 + n);
    GrowInverseFactor<Scalar, Space, LaneGroup> kernel{
        n, to_device<Space>(flat<Scalar>(a)), Vector<Scalar, Space>("factor", InverseFactor<Scalar>::size(n)),
        Vector<Scalar, Space>("column", n), Vector<Scalar, Space>("l", n)};
    Kokkos::parallel_for("prekond::testing::grow_inverse_factor",
                         Kokkos::TeamPolicy<Space>(1, 1, is_host_space<Space> ? 1 : LaneGroup::width),
                         kernel);
    Kokkos::fence();
    const auto w = to_vector(kernel.factor);
    const ComplexDense l = cholesky_factor(a);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j <= i; ++j) {
        LongComplex sum = 0;
        for (int k = j; k <= i; ++k) {
          const Scalar w_ik = w[InverseFactor<Scalar>::row(i) + k];
          sum += LongComplex(w_ik.real(), w_ik.imag()) * l[k][j];
        }
        ASSERT_LE(std::abs(sum - LongComplex(i == j)), tolerance) << "size " << n << " at " << i << ", " << j;
      }
    }
  }
}

TYPED_TEST(ComplexDenseTest, TheInverseFactorGrowsByBordering) {
  using Member = typename Kokkos::TeamPolicy<TypeParam>::member_type;
  check_inverse_factor<Complex, TypeParam, NativeLaneGroup<TypeParam, Member, 32>>(1e-13);
  check_inverse_factor<Complex, TypeParam, PortableLaneGroup<Member, 32>>(1e-13);
  check_inverse_factor<Complex, TypeParam, PortableLaneGroup<Member, 1>>(1e-13);
  check_inverse_factor<Kokkos::complex<float>, TypeParam, NativeLaneGroup<TypeParam, Member, 32>>(1e-4);
}

}  // namespace
}  // namespace prekond::testing
