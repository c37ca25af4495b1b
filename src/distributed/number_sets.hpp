// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Sets of global numbers, as sorted vectors.
#include <prekond/core/views.hpp>

#include <Kokkos_Sort.hpp>

#include <cstdint>

namespace prekond::impl::distributed {

template <class Space>
using Numbers = Vector<std::int64_t, Space>;
template <class Space>
using NumbersView = VectorView<const std::int64_t, Space>;
template <class Space>
using FlatPolicy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// How many members of a sorted vector are less than `number`: where the first one that is not stands.
template <class Space>
KOKKOS_FUNCTION std::int64_t count_less(const NumbersView<Space>& sorted, std::int64_t number) {
  std::int64_t begin = 0, end = static_cast<std::int64_t>(sorted.extent(0));
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (sorted(middle) < number)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

/// Where a number stands in a sorted vector; -1: it does not. Looks first where it stands if there are no
/// gaps before it.
template <class Space>
struct FindNumber {
  NumbersView<Space> sorted;
  KOKKOS_FUNCTION int operator()(std::int64_t number) const {
    const std::int64_t size = static_cast<std::int64_t>(sorted.extent(0));
    if (size == 0 || number < sorted(0)) return -1;
    const std::int64_t without_gaps = number - sorted(0);
    if (without_gaps < size && sorted(without_gaps) == number) return static_cast<int>(without_gaps);
    const std::int64_t place = count_less<Space>(sorted, number);
    return place < size && sorted(place) == number ? static_cast<int>(place) : -1;
  }
};

template <class Space>
struct FindPlaces {
  NumbersView<Space> numbers;
  FindNumber<Space> find;
  VectorView<int, Space> places;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { places(k) = find(numbers(k)); }
};

/// The place of each of `numbers` in `sorted`; -1: it is not there.
template <class Space>
Vector<int, Space> places_of(const Space& space, const NumbersView<Space>& numbers,
                             const NumbersView<Space>& sorted) {
  const auto places = allocate<Vector<int, Space>>(space, "prekond::distributed::places", numbers.extent(0));
  Kokkos::parallel_for("prekond::distributed::find_places", FlatPolicy<Space>(space, 0, numbers.extent(0)),
                       FindPlaces<Space>{numbers, {sorted}, places});
  return places;
}

template <class Space>
struct CountDescents {
  NumbersView<Space> list;
  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& count) const {
    if (k > 0 && list(k - 1) > list(k)) ++count;
  }
};

/// Sorts the list in place. A sorted one costs one reading. Fences.
template <class Space>
void sort_numbers(const Space& space, const Numbers<Space>& list) {
  std::int64_t descents = 0;
  Kokkos::parallel_reduce("prekond::distributed::count_descents", FlatPolicy<Space>(space, 0, list.extent(0)),
                          CountDescents<Space>{list}, descents);
  if (descents > 0) Kokkos::sort(space, list);
}

/// The numbers that `known` has not.
template <class Space>
struct TakeUnknown {
  NumbersView<Space> list;
  FindNumber<Space> known;
  VectorView<std::int64_t, Space> result;
  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& count, bool final) const {
    if (known(list(k)) >= 0) return;
    if (final && result.extent(0) > 0) result(count) = list(k);
    ++count;
  }
};

/// The first of each run of equal numbers.
template <class Space>
struct TakeFirst {
  NumbersView<Space> sorted;
  VectorView<std::int64_t, Space> result;
  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& count, bool final) const {
    if (k > 0 && sorted(k) == sorted(k - 1)) return;
    if (final && result.extent(0) > 0) result(count) = sorted(k);
    ++count;
  }
};

/// The numbers that `take(result)`, for a scan over `size` numbers, takes.
template <class Space, class MakeScan>
Numbers<Space> taken(const Space& space, std::size_t size, const MakeScan& take) {
  const FlatPolicy<Space> all(space, 0, size);
  std::int64_t count = 0;
  Kokkos::parallel_scan("prekond::distributed::count_numbers", all, take(Numbers<Space>()), count);
  const auto found = allocate<Numbers<Space>>(space, "prekond::distributed::numbers", count);
  if (count > 0) Kokkos::parallel_scan("prekond::distributed::take_numbers", all, take(found), count);
  return found;
}

/// The numbers of `list` that `known`, sorted, has not, sorted and once each.
template <class Space>
Numbers<Space> new_numbers(const Space& space, const NumbersView<Space>& list,
                           const NumbersView<Space>& known) {
  if (list.extent(0) == 0) return {};
  const auto unknown = taken(space, list.extent(0), [&](const Numbers<Space>& result) {
    return TakeUnknown<Space>{list, {known}, result};
  });
  sort_numbers(space, unknown);
  return taken(space, unknown.extent(0), [&](const Numbers<Space>& result) {
    return TakeFirst<Space>{unknown, result};
  });
}

/// Each of `list` after those of both lists that are less.
template <class Space>
struct MergeNumbers {
  NumbersView<Space> list, other;
  VectorView<std::int64_t, Space> result;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    result(k + count_less<Space>(other, list(k))) = list(k);
  }
};

/// The members of both, sorted. \pre both are, and they have none in common
template <class Space>
Numbers<Space> united(const Space& space, const NumbersView<Space>& a, const NumbersView<Space>& b) {
  const auto all =
      allocate<Numbers<Space>>(space, "prekond::distributed::numbers", a.extent(0) + b.extent(0));
  const auto merge = [&](const NumbersView<Space>& list, const NumbersView<Space>& other) {
    Kokkos::parallel_for("prekond::distributed::merge_numbers", FlatPolicy<Space>(space, 0, list.extent(0)),
                         MergeNumbers<Space>{list, other, all});
  };
  merge(a, b);
  merge(b, a);
  return all;
}

/// All rows of the blocks of b rows that the numbers are in.
template <class Space>
struct WholeBlocks {
  NumbersView<Space> from;
  int b;
  std::int64_t num_global_rows;
  VectorView<std::int64_t, Space> to;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    for (int r = 0; r < b; ++r) {
      const std::int64_t row = from(k) / b * b + r;
      to(k * b + r) = row < num_global_rows ? row : from(k);
    }
  }
};

template <class Space>
Numbers<Space> whole_blocks(const Space& space, const NumbersView<Space>& from, int b,
                            std::int64_t num_global_rows) {
  const auto to = allocate<Numbers<Space>>(space, "prekond::distributed::whole_blocks", from.extent(0) * b);
  Kokkos::parallel_for("prekond::distributed::whole_blocks", FlatPolicy<Space>(space, 0, from.extent(0)),
                       WholeBlocks<Space>{from, b, num_global_rows, to});
  return to;
}

}  // namespace prekond::impl::distributed
