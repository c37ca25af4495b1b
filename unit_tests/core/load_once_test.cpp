// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/load_once.hpp"

#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/core/views.hpp>
#include "core/half.hpp"

#include <cstring>
#include <type_traits>
#include <vector>

namespace prekond::testing {
namespace {

template <class Space>
struct LoadOnceTest : ::testing::Test {};
TYPED_TEST_SUITE(LoadOnceTest, TestSpaces, SpaceNames);

/// A thousand elements of any bytes, copied one by one from the second on: only their own size aligns them.
template <class T, class Space>
void check_copies() {
  const std::size_t n = 1001;
  std::vector<T> values(n);
  std::vector<unsigned char> bytes(n * sizeof(T));
  for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = static_cast<unsigned char>(k * 2654435761u >> 13);
  std::memcpy(static_cast<void*>(values.data()), bytes.data(), bytes.size());
  const auto from = to_device<Space>(values);
  const Vector<T, Space> to("to", n - 1);
  Kokkos::parallel_for(
      "prekond::testing::load_once", Kokkos::RangePolicy<Space>(0, n - 1),
      KOKKOS_LAMBDA(int k) { to(k) = impl::load_once(from.data() + 1 + k); });
  Kokkos::fence();
  EXPECT_EQ(std::memcmp(to_vector(to).data(), values.data() + 1, (n - 1) * sizeof(T)), 0) << sizeof(T);
}

TYPED_TEST(LoadOnceTest, EveryTypeOfAMatrix) {
  check_copies<unsigned char, TypeParam>();
  check_copies<unsigned short, TypeParam>();
  check_copies<unsigned, TypeParam>();
  check_copies<int, TypeParam>();
  check_copies<Half, TypeParam>();
  check_copies<BFloat16, TypeParam>();
  check_copies<float, TypeParam>();
  check_copies<double, TypeParam>();
  check_copies<ComplexPair<Half>, TypeParam>();
  check_copies<Kokkos::complex<float>, TypeParam>();
  check_copies<Kokkos::complex<double>, TypeParam>();
}

/// Elements k and on, for k that are aligned for pairs and that are not.
template <int Count, class T, class Space>
void check_adjacent() {
  const int n = 37;
  std::vector<T> values(n + Count);
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<T>(k + 1);
  const auto from = to_device<Space>(values);
  const Vector<T, Space> to("to", n * Count);
  Kokkos::parallel_for(
      "prekond::testing::load_adjacent", Kokkos::RangePolicy<Space>(0, n),
      KOKKOS_LAMBDA(int k) { impl::load_adjacent<Count>(from.data() + k, to.data() + k * Count); });
  Kokkos::fence();
  const auto found = to_vector(to);
  for (int k = 0; k < n; ++k)
    for (int s = 0; s < Count; ++s) ASSERT_EQ(found[k * Count + s], static_cast<T>(k + s + 1)) << k;
}

TYPED_TEST(LoadOnceTest, AdjacentElements) {
  check_adjacent<1, double, TypeParam>();
  check_adjacent<2, double, TypeParam>();
  check_adjacent<3, double, TypeParam>();
  check_adjacent<6, double, TypeParam>();
  check_adjacent<6, float, TypeParam>();
}

}  // namespace
}  // namespace prekond::testing
