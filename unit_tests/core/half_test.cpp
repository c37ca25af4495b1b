// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/core/views.hpp>
#include "core/half.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace prekond::testing {
namespace {

template <class Narrow, class Wide, class Space>
std::vector<Wide> through(const std::vector<Wide>& values) {
  const auto from = to_device<Space>(values);
  const Vector<Wide, Space> to("to", values.size());
  Kokkos::parallel_for(
      "prekond::testing::through", Kokkos::RangePolicy<Space>(0, values.size()),
      KOKKOS_LAMBDA(int k) { to(k) = static_cast<Wide>(Narrow(from(k))); });
  Kokkos::fence();
  return to_vector(to);
}

template <class Narrow>
Narrow of_bits(std::uint16_t bits) {
  static_assert(sizeof(Narrow) == 2);
  return Kokkos::bit_cast<Narrow>(bits);
}

/// sign 2^(e - bias) (1 + m / 2^digits), by the definition of the format.
double decoded(std::uint16_t bits, int digits, int bias) {
  const int exponent = (bits & 0x7fff) >> digits, mantissa = bits & ((1 << digits) - 1);
  const double size = exponent == 0 ? std::ldexp(mantissa, 1 - bias - digits)
                                    : std::ldexp(mantissa + (1 << digits), exponent - bias - digits);
  return bits >> 15 ? -size : size;
}

/// All finite numbers of a format that are not negative, ascending.
template <class Narrow>
std::vector<double> all_numbers(int digits, int bias) {
  std::vector<double> numbers;
  for (unsigned bits = 0; bits < 0x8000u; ++bits) {
    if (bits >> digits == (1u << (15 - digits)) - 1) break;  // infinity, NaN
    numbers.push_back(decoded(static_cast<std::uint16_t>(bits), digits, bias));
    EXPECT_EQ(static_cast<double>(of_bits<Narrow>(static_cast<std::uint16_t>(bits))), numbers.back());
    EXPECT_EQ(static_cast<float>(of_bits<Narrow>(static_cast<std::uint16_t>(bits | 0x8000u))),
              -numbers.back());
  }
  return numbers;
}

double nearest(const std::vector<double>& numbers, double value) {
  const double size = std::abs(value);
  const auto above = std::lower_bound(numbers.begin(), numbers.end(), size);
  const std::size_t k = static_cast<std::size_t>(above - numbers.begin());
  double best = numbers[k];
  if (k > 0) {
    const double down = size - numbers[k - 1], up = numbers[k] - size;
    if (down < up || (down == up && (k - 1) % 2 == 0))
      best = numbers[k - 1];  // even: the number's bits are k - 1
  }
  return value < 0 ? -best : best;
}

template <class Narrow, class Space>
void check(int digits, int bias, double most) {
  const std::vector<double> numbers = all_numbers<Narrow>(digits, bias);
  // All of them stay; halfway between two goes to the even one, a little off it to the nearer.
  std::vector<float> values;
  for (std::size_t k = 0; k + 1 < numbers.size(); ++k) {
    const auto middle = static_cast<float>((numbers[k] + numbers[k + 1]) / 2);
    for (const float value : {static_cast<float>(numbers[k]), middle, std::nextafter(middle, 0.0f),
                              std::nextafter(middle, 1e30f)}) {
      if (std::abs(value) > most) continue;
      values.push_back(value);
      values.push_back(-value);
    }
  }
  std::mt19937 random(5);
  for (int k = 0; k < 10000; ++k) {
    const float value =
        std::ldexp(static_cast<float>(random()) / 0x1p32f, static_cast<int>(random() % 60) - 40);
    if (value <= most) values.push_back(value);
  }
  const std::vector<float> found = through<Narrow, float, Space>(values);
  for (std::size_t k = 0; k < values.size(); ++k)
    ASSERT_EQ(found[k], nearest(numbers, values[k])) << values[k];
  std::vector<double> doubles(numbers.begin(), numbers.begin() + 100);
  EXPECT_EQ((through<Narrow, double, Space>(doubles)), doubles);
}

template <class Space>
class HalfTest : public ::testing::Test {};
TYPED_TEST_SUITE(HalfTest, TestSpaces, SpaceNames);

TYPED_TEST(HalfTest, HalfRoundsToTheNearestNumberOfTheFormat) {
  check<Half, TypeParam>(10, 15, 65504);
}
TYPED_TEST(HalfTest, BFloat16RoundsToTheNearestNumberOfTheFormat) {
  check<BFloat16, TypeParam>(7, 127, 3e38);
}

}  // namespace
}  // namespace prekond::testing
