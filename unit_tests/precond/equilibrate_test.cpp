// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/scaling/equilibrate.hpp"

#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace prekond::testing {
namespace {

template <class Space>
class EquilibrateTest : public ::testing::Test {};
TYPED_TEST_SUITE(EquilibrateTest, TestSpaces, SpaceNames);

/// For diag(2^low, 2^high): is it scaled, is it graded, and its values then.
struct Seen {
  bool scaled, graded;
  std::vector<double> values;
};

template <class Scalar, class Space>
Seen equilibrate(int low, int high) {
  const Space space;
  const Scalar least = std::ldexp(Scalar(1), low), most = std::ldexp(Scalar(1), high);
  const auto size = to_device<Space>(std::vector<Scalar>{least, most});
  const auto a = to_device<Space>(sparse<Scalar>({{least, 0}, {0, most}}));
  const impl::Equilibrated<Scalar, Space> done(space, a, size, least, most);
  space.fence();
  std::vector<double> values;
  for (const Scalar value : to_vector(done.matrix().values)) values.push_back(double(value));
  return {done.is_scaled(), done.is_graded(), values};
}

// The limits are a part of what is promised: within them a setup works on the values as they are.
TYPED_TEST(EquilibrateTest, NothingIsScaledWithinTheWidth) {
  for (const int w : {0, 45, 46}) {
    EXPECT_FALSE((equilibrate<float, TypeParam>(-w, w).scaled)) << w;
    EXPECT_TRUE((equilibrate<float, TypeParam>(-w, 47).scaled)) << w;
    EXPECT_TRUE((equilibrate<float, TypeParam>(-47, w).scaled)) << w;
  }
  for (const int w : {0, 479, 480}) {
    EXPECT_FALSE((equilibrate<double, TypeParam>(-w, w).scaled)) << w;
    EXPECT_TRUE((equilibrate<double, TypeParam>(-w, 481).scaled)) << w;
    EXPECT_TRUE((equilibrate<double, TypeParam>(-481, w).scaled)) << w;
  }
}

TYPED_TEST(EquilibrateTest, OneScaleForAllWhereItIsEnoughAndElseOneARow) {
  const Seen common = equilibrate<float, TypeParam>(8, 100);  // 2^-27 on both sides: the middle is 2^54
  EXPECT_FALSE(common.graded);
  EXPECT_EQ(common.values, (std::vector<double>{0x1p-46, 0x1p46}));
  const Seen graded = equilibrate<float, TypeParam>(7, 100);
  EXPECT_TRUE(graded.graded);
  for (const double value : graded.values) {
    EXPECT_GE(value, 1);
    EXPECT_LT(value, 4);
  }
}

}  // namespace
}  // namespace prekond::testing
