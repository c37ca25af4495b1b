// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/frobenius_norm.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace prekond::testing {
namespace {

/// The norm of the 2 x 3 matrix with rows (2, 0, -4) and (0, 5, 6), times 2^exponent.
double norm_of(int exponent) {
  const double values[2][3] = {{2, 0, -4}, {0, 5, 6}};
  return impl::frobenius_norm(2, 3, [&](int r, int c) { return std::ldexp(values[r][c], exponent); });
}

TEST(FrobeniusNorm, IsTheRootOfTheSumOfAllSquares) {
  EXPECT_DOUBLE_EQ(norm_of(0), 9);
  EXPECT_EQ(impl::frobenius_norm(2, 2, [](int, int) { return 0.0; }), 0);
  EXPECT_EQ(impl::frobenius_norm(0, 3, [](int, int) { return 1.0; }), 0);
}

TEST(FrobeniusNorm, NeitherOverflowsNorUnderflows) {
  for (const int exponent : {-1000, -600, -390, 390, 600, 1000})
    EXPECT_DOUBLE_EQ(norm_of(exponent), std::ldexp(9, exponent)) << exponent;
}

TEST(FrobeniusNorm, IsNotFiniteWhereAValueIsNot) {
  EXPECT_FALSE(std::isfinite(impl::frobenius_norm(1, 2, [](int, int c) { return c == 0 ? 1.0 : INFINITY; })));
  EXPECT_TRUE(std::isnan(impl::frobenius_norm(1, 2, [](int, int c) { return c == 0 ? 1.0 : NAN; })));
}

}  // namespace
}  // namespace prekond::testing
