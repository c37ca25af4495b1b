// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The p largest entries of a list, of equal ones those of the smallest columns.
#include <Kokkos_Core.hpp>

#include <type_traits>

namespace prekond::impl::ilut {

template <class Scalar>
using SizeKey = std::conditional_t<sizeof(Scalar) == 4, unsigned, unsigned long long>;

/// The bits of |value|, which are ordered as the sizes are.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION SizeKey<Scalar> size_key(Scalar value) {
  return Kokkos::bit_cast<SizeKey<Scalar>>(Kokkos::abs(value));
}

/// The entries that are kept: those larger than `size`, and those of that size in columns up to `last`.
template <class Scalar>
struct Cut {
  SizeKey<Scalar> size = 0;
  int last = 2147483647;
  KOKKOS_FORCEINLINE_FUNCTION bool keeps(Scalar value, int col) const {
    const SizeKey<Scalar> key = size_key(value);
    return key > size || (key == size && col <= last);
  }
};

/// The smallest of the columns up to which there are `wanted` ones with size_key(value_of(e)) == size.
template <class LaneGroup, class Key, class Value, class Column>
KOKKOS_FUNCTION int last_of_equal(const LaneGroup& lane_group, int count, Key size, int wanted,
                                  const Value& value_of, const Column& col_of) {
  int last = 0;
  for (int bit = 30; bit >= 0; --bit) {
    const int middle = last + ((1 << bit) - 1);
    const int found = lane_group.template sum<int>([&](int lane) {
      int mine = 0;
      for (int e = lane; e < count; e += lane_group.size())
        mine += size_key(value_of(e)) == size && col_of(e) <= middle ? 1 : 0;
      return mine;
    });
    if (found < wanted) last += 1 << bit;
  }
  return last;
}

/// The cut that keeps the `most` largest of `count` entries. It is found bit by bit of their sizes, from the
/// first bit in which two differ until the kept entries are told from the others. Zeros do not count. \pre
/// most > 0, more than `most` entries are not 0, and columns are different
template <class Scalar, class LaneGroup, class Value, class Column>
KOKKOS_FUNCTION Cut<Scalar> cut_of_largest(const LaneGroup& lane_group, int count, int most,
                                           const Value& value_of, const Column& col_of) {
  using Key = SizeKey<Scalar>;
  const auto largest_of = [&](Key flipped) {
    return lane_group.template max<Key>([&](int lane) {
      Key largest = 0;
      for (int e = lane; e < count; e += lane_group.size()) {
        const Key key = size_key(value_of(e));
        if (key > 0 && (key ^ flipped) > largest) largest = key ^ flipped;
      }
      return largest;
    });
  };
  const auto count_from = [&](Key key) {
    return lane_group.template sum<int>([&](int lane) {
      int mine = 0;
      for (int e = lane; e < count; e += lane_group.size()) mine += size_key(value_of(e)) >= key ? 1 : 0;
      return mine;
    });
  };
  const Key largest = largest_of(0), least = ~largest_of(~Key(0));
  int bit = 8 * static_cast<int>(sizeof(Key)) - 2;  // none is negative
  while (bit >= 0 && ((largest ^ least) >> bit & 1) == 0) --bit;
  Cut<Scalar> cut;
  cut.size = least >> (bit + 1) << (bit + 1);
  for (; bit >= 0; --bit) {
    const Key higher = cut.size | Key(1) << bit;
    const int found = count_from(higher);
    if (found >= most) cut.size = higher;
    if (found == most) return cut;
  }
  // More entries than `most` have this size or a larger one.
  const int larger = count_from(cut.size + 1);
  cut.last = last_of_equal(lane_group, count, cut.size, most - larger, value_of, col_of);
  return cut;
}

}  // namespace prekond::impl::ilut
