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

/// Where a number stands in a sorted vector; -1: it does not. Looks first where it stands if there are no
/// gaps before it.
template <class Space>
struct FindNumber {
  NumbersView<Space> sorted;
  KOKKOS_FUNCTION int operator()(std::int64_t number) const {
    std::int64_t begin = 0, end = static_cast<std::int64_t>(sorted.extent(0));
    if (end == 0 || number < sorted(0)) return -1;
    const std::int64_t without_gaps = number - sorted(0);
    if (without_gaps < end && sorted(without_gaps) == number) return static_cast<int>(without_gaps);
    while (begin < end) {
      const std::int64_t middle = begin + (end - begin) / 2;
      if (sorted(middle) < number)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin < static_cast<std::int64_t>(sorted.extent(0)) && sorted(begin) == number
               ? static_cast<int>(begin)
               : -1;
  }
};

/// Those that `known` has not.
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

/// What `take(result)`, for a scan over `size` numbers, takes.
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
  if (unknown.extent(0) == 0) return {};
  Kokkos::sort(space, unknown);
  return taken(space, unknown.extent(0), [&](const Numbers<Space>& result) {
    return TakeFirst<Space>{unknown, result};
  });
}

/// The members of both, sorted. \pre they have none in common
template <class Space>
Numbers<Space> united(const Space& space, const NumbersView<Space>& a, const NumbersView<Space>& b) {
  const auto all =
      allocate<Numbers<Space>>(space, "prekond::distributed::numbers", a.extent(0) + b.extent(0));
  Kokkos::deep_copy(space, Kokkos::subview(all, std::make_pair(std::size_t(0), a.extent(0))), a);
  Kokkos::deep_copy(space, Kokkos::subview(all, std::make_pair(a.extent(0), all.extent(0))), b);
  if (all.extent(0) > 0) Kokkos::sort(space, all);
  return all;
}

template <class Space>
struct FindPlaces {
  NumbersView<Space> numbers;
  FindNumber<Space> find;
  VectorView<int, Space> places;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { places(k) = find(numbers(k)); }
};

template <class Space>
Vector<int, Space> places_of(const Space& space, const NumbersView<Space>& numbers,
                             const NumbersView<Space>& sorted) {
  const auto places = allocate<Vector<int, Space>>(space, "prekond::distributed::places", numbers.extent(0));
  Kokkos::parallel_for("prekond::distributed::find_places", FlatPolicy<Space>(space, 0, numbers.extent(0)),
                       FindPlaces<Space>{numbers, {sorted}, places});
  return places;
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
