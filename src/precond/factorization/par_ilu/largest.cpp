// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/factorization/par_ilu/largest.hpp"

#include <prekond/core/impl/team_sum.hpp>

#include "core/instantiate.hpp"

#include <algorithm>
#include <type_traits>

namespace prekond::impl::par_ilu {
namespace {

constexpr int digit_bits = 4, num_digits = 1 << digit_bits;
using DigitCounts = Sums<long long, num_digits>;

/// The bits of |x|, which are ordered as the sizes are.
template <class Scalar>
struct SizeKey {
  using type = std::conditional_t<sizeof(Scalar) == 8, std::uint64_t, std::uint32_t>;
  static constexpr int bits = 8 * sizeof(Scalar);
  KOKKOS_FORCEINLINE_FUNCTION static type of(Scalar x) { return Kokkos::bit_cast<type>(Kokkos::abs(x)); }
};

/// For each digit, the number of keys in which it follows the prefix.
template <class Scalar, class Space>
struct CountDigits {
  using Key = SizeKey<Scalar>;
  VectorView<const Scalar, Space> values;
  typename Key::type prefix;
  int shift;
  bool first;  ///< there is no prefix
  KOKKOS_FUNCTION void operator()(std::int64_t k, DigitCounts& counts) const {
    const typename Key::type key = Key::of(values(k)) >> shift;
    if (!first && (key >> digit_bits) != prefix) return;
    const int digit = static_cast<int>(key & (num_digits - 1));
    for (int d = 0; d < num_digits; ++d) counts.value[d] += d == digit ? 1 : 0;
  }
};

template <class Scalar, class Space>
struct MarkLargest {
  using value_type = long long;
  using Key = SizeKey<Scalar>;
  VectorView<const Scalar, Space> values;
  typename Key::type threshold;
  long long equals;  ///< how many of the threshold's size are kept
  VectorView<char, Space> keep;
  KOKKOS_FUNCTION void operator()(std::int64_t k, long long& rank, bool final) const {
    const typename Key::type key = Key::of(values(k));
    const bool equal = key == threshold;
    if (final) keep(k) = key > threshold || (equal && rank < equals) ? 1 : 0;
    rank += equal ? 1 : 0;
  }
};

}  // namespace

template <class Scalar, class Space>
Selection<Space> select_largest(const Space& space, const VectorView<const Scalar, Space>& values,
                                std::int64_t count) {
  using Key = SizeKey<Scalar>;
  const auto n = static_cast<std::int64_t>(values.extent(0));
  const Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>> all(space, 0, n);
  Selection<Space> result{allocate<Vector<char, Space>>(space, "prekond::par_ilut::keep", n), 0};
  if (n <= count || count <= 0) {
    Kokkos::deep_copy(space, result.keep, static_cast<char>(n <= count ? 1 : 0));
    return result;
  }
  typename Key::type prefix = 0;
  long long left = count;
  for (int shift = Key::bits - digit_bits; shift >= 0; shift -= digit_bits) {
    DigitCounts counts;
    Kokkos::parallel_reduce(
        "prekond::par_ilut::count_digits", all,
        CountDigits<Scalar, Space>{values, prefix, shift, shift == Key::bits - digit_bits}, counts);
    int digit = num_digits - 1;
    for (; digit > 0 && counts.value[digit] < left; --digit) left -= counts.value[digit];
    prefix = static_cast<typename Key::type>(prefix << digit_bits | static_cast<typename Key::type>(digit));
  }
  Kokkos::parallel_scan("prekond::par_ilut::mark_largest", all,
                        MarkLargest<Scalar, Space>{values, prefix, left, result.keep});
  result.threshold = static_cast<double>(Kokkos::bit_cast<Scalar>(prefix));
  return result;
}

#define PREKOND_LARGEST(Scalar, Space)                     \
  template Selection<Space> select_largest<Scalar, Space>( \
      const Space&, const VectorView<const Scalar, Space>&, std::int64_t);
PREKOND_INSTANTIATE(PREKOND_LARGEST)

}  // namespace prekond::impl::par_ilu
