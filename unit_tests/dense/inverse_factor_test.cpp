// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/dense_matrices.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/core/views.hpp>
#include "core/lane_group.hpp"
#include "dense/inverse_factor.hpp"

#include <cmath>
#include <set>
#include <vector>

namespace prekond::testing {
namespace {

constexpr int max_size = 70;

/// L^-1 by a textbook Cholesky factorisation and substitution with the unit vectors.
LongMatrix inverse_cholesky_factor(LongMatrix a) {
  const int n = static_cast<int>(a.size());
  for (int k = 0; k < n; ++k) {
    for (int j = 0; j < k; ++j) a[k][k] -= a[k][j] * a[k][j];
    a[k][k] = std::sqrt(a[k][k]);
    for (int i = k + 1; i < n; ++i) {
      for (int j = 0; j < k; ++j) a[i][k] -= a[i][j] * a[k][j];
      a[i][k] /= a[k][k];
    }
  }
  LongMatrix w(n, std::vector<long double>(n, 0));
  for (int column = 0; column < n; ++column)
    for (int i = column; i < n; ++i) {
      long double sum = i == column ? 1 : 0;
      for (int j = column; j < i; ++j) sum -= a[i][j] * w[j][column];
      w[i][column] = sum / a[i][i];
    }
  return w;
}

/// Team n grows the inverse factor of the n x n matrix, row by row.
template <class Real, class Space, class LaneGroup>
struct GrowInverseFactor {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  static constexpr int stride = max_size * max_size;
  Vector<Real, Space> matrices;  ///< of size 1, 2, ...: row-major, one in `stride`
  Vector<Real, Space> factors;
  Vector<Real, Space> work;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const LaneGroup lane_group(team);
    const int n = team.league_rank() + 1;
    const Real* a = matrices.data() + stride * team.league_rank();
    const InverseFactor<Real> factor{factors.data() + stride * team.league_rank()};
    Real* l = work.data() + max_size * team.league_rank();
    for (int m = 0; m < n; ++m) {
      factor.multiply(lane_group, m, a + m * n, l);
      const Real square = lane_group.template sum<Real>([&](int lane) {
        Real sum = 0;
        for (int p = lane; p < m; p += LaneGroup::width) sum += l[p] * l[p];
        return sum;
      });
      factor.append(lane_group, m, l, Real(1) / Kokkos::sqrt(a[m * n + m] - square));
    }
  }
};

constexpr float unwritten = -12345.0f;

template <class Real, class Space, class LaneGroup>
void check_inverse_factors(double tolerance) {
  using Kernel = GrowInverseFactor<Real, Space, LaneGroup>;
  const Space space;
  const Kernel kernel{Vector<Real, Space>("matrices", Kernel::stride * max_size),
                      Vector<Real, Space>("factors", Kernel::stride * max_size),
                      Vector<Real, Space>("work", max_size * max_size)};
  const auto matrices = Kokkos::create_mirror_view(kernel.matrices);
  std::vector<LongMatrix> spd;
  for (int n = 1; n <= max_size; ++n) {
    spd.push_back(random_dense_spd(n, unsigned(n)));
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        matrices(Kernel::stride * (n - 1) + i * n + j) = static_cast<Real>(spd.back()[i][j]);
  }
  Kokkos::deep_copy(kernel.matrices, matrices);
  Kokkos::deep_copy(kernel.factors, Real(unwritten));
  Kokkos::parallel_for(
      "prekond::testing::grow_inverse_factor",
      Kokkos::TeamPolicy<Space>(space, max_size, 1, is_host_space<Space> ? 1 : LaneGroup::width), kernel);
  space.fence();
  const auto factors = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), kernel.factors);
  for (int n = 1; n <= max_size; ++n) {
    const LongMatrix expected = inverse_cholesky_factor(spd[n - 1]);
    const Real* w = factors.data() + Kernel::stride * (n - 1);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j)
        ASSERT_NEAR(w[InverseFactor<Real>::row(i) + j] / double(expected[i][i]),
                    double(expected[i][j] / expected[i][i]), tolerance)
            << "size " << n << " entry " << i << ", " << j;
    ASSERT_EQ(w[InverseFactor<Real>::size(n)], Real(unwritten))
        << "size " << n << ": wrote behind the factor";
  }
}

template <class Space, class LaneGroup>
void check_level() {
  SCOPED_TRACE("width " + std::to_string(LaneGroup::width));
  check_inverse_factors<double, Space, LaneGroup>(1e-13);
  check_inverse_factors<float, Space, LaneGroup>(1e-5);
}

template <class Space>
class InverseFactorTest : public ::testing::Test {
 public:
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
};
TYPED_TEST_SUITE(InverseFactorTest, TestSpaces, SpaceNames);

TYPED_TEST(InverseFactorTest, NativeLaneGroupGrowsTheInverseCholeskyFactor) {
  check_level<TypeParam, NativeLaneGroup<TypeParam, typename TestFixture::Member, 32>>();
  if constexpr (!is_host_space<TypeParam>)
    check_level<TypeParam, NativeLaneGroup<TypeParam, typename TestFixture::Member, 8>>();
}

TYPED_TEST(InverseFactorTest, PortableLaneGroupGrowsTheInverseCholeskyFactor) {
  check_level<TypeParam, PortableLaneGroup<typename TestFixture::Member, 1>>();
  check_level<TypeParam, PortableLaneGroup<typename TestFixture::Member, 8>>();
  check_level<TypeParam, PortableLaneGroup<typename TestFixture::Member, 32>>();
}

TEST(InverseFactorLayoutTest, RowsArePackedAndStartInDifferentBanks) {
  EXPECT_EQ(InverseFactor<double>::row(0), 0);
  std::set<int> banks;
  for (int p = 0; p < 100; ++p) {
    EXPECT_EQ(InverseFactor<double>::row(p + 1) - InverseFactor<double>::row(p), p + 1);
    EXPECT_EQ(InverseFactor<double>::size(p), std::size_t(InverseFactor<double>::row(p)));
    if (p < 32) banks.insert(InverseFactor<double>::row(p) % 32);
  }
  EXPECT_EQ(banks.size(), 32u);
}

}  // namespace
}  // namespace prekond::testing
