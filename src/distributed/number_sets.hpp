// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Sets of global numbers, as sorted vectors, and entries that were sorted by them.
#include <prekond/core/impl/list_rows.hpp>
#include <prekond/core/views.hpp>
#include <prekond/distributed/impl/rows_by_number.hpp>

#include <Kokkos_Sort.hpp>

#include <cstdint>
#include <utility>

namespace prekond::impl::distributed {

template <class Space>
using Numbers = Vector<std::int64_t, Space>;
template <class Space>
using NumbersView = VectorView<const std::int64_t, Space>;
template <class Space>
using FlatPolicy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

template <class Space>
struct ExtremesOf {
  NumbersView<Space> numbers;
  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& least, std::int64_t& most) const {
    least = numbers(k) < least ? numbers(k) : least;
    most = numbers(k) > most ? numbers(k) : most;
  }
};

/// The least and the largest; of no numbers the first is larger.
template <class Space>
std::pair<std::int64_t, std::int64_t> extremes_of(const Space& space, const NumbersView<Space>& numbers) {
  std::pair<std::int64_t, std::int64_t> found;
  Kokkos::parallel_reduce("prekond::distributed::extremes", FlatPolicy<Space>(space, 0, numbers.extent(0)),
                          ExtremesOf<Space>{numbers}, Kokkos::Min<std::int64_t>(found.first),
                          Kokkos::Max<std::int64_t>(found.second));
  return found;
}

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
/// gaps between it and the member at `run`.
template <class Space>
struct FindNumber {
  NumbersView<Space> sorted;
  std::int64_t run = 0;
  KOKKOS_FUNCTION int operator()(std::int64_t number) const {
    const std::int64_t size = static_cast<std::int64_t>(sorted.extent(0));
    if (size == 0) return -1;
    const std::int64_t without_gaps = run + (number - sorted(run));
    if (without_gaps >= 0 && without_gaps < size && sorted(without_gaps) == number)
      return static_cast<int>(without_gaps);
    const std::int64_t place = count_less<Space>(sorted, number);
    return place < size && sorted(place) == number ? static_cast<int>(place) : -1;
  }
};

template <class Space>
struct IsLessThanAll {
  NumbersView<Space> numbers, others;
  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& count) const {
    count += numbers(k) < others(0);
  }
};

/// Looks first among the numbers of `own`, which the vector has side by side. Fences.
template <class Space>
FindNumber<Space> find_from(const Space& space, const NumbersView<Space>& sorted,
                            const NumbersView<Space>& own) {
  std::int64_t run = 0;
  if (own.extent(0) > 0)
    Kokkos::parallel_reduce("prekond::distributed::find_from", FlatPolicy<Space>(space, 0, sorted.extent(0)),
                            IsLessThanAll<Space>{sorted, own}, run);
  return {sorted, run};
}

template <class T, class Space, class F>
struct FillVector {
  F f;
  VectorView<T, Space> x;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { x(k) = static_cast<T>(f(k)); }
};

/// x(k) = f(k) for all k < size.
template <class T, class Space, class F>
Vector<T, Space> vector_of(const Space& space, const char* label, std::size_t size, const F& f) {
  const auto x = allocate<Vector<T, Space>>(space, label, size);
  Kokkos::parallel_for(label, FlatPolicy<Space>(space, 0, size), FillVector<T, Space, F>{f, x});
  return x;
}

/// find(numbers(k))
template <class Space, class Find>
struct PlaceOfNumber {
  NumbersView<Space> numbers;
  Find find;
  KOKKOS_FUNCTION int operator()(std::int64_t k) const { return find(numbers(k)); }
};

template <class Space, class Find>
Vector<int, Space> places_by(const Space& space, const NumbersView<Space>& numbers, const Find& find) {
  return vector_of<int>(space, "prekond::distributed::find_places", numbers.extent(0),
                        PlaceOfNumber<Space, Find>{numbers, find});
}

/// The first `rows` rows of each block of b.
template <class Space>
struct RowOfBlock {
  NumbersView<Space> blocks;
  int b, rows;
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t k) const { return blocks(k / rows) * b + k % rows; }
};

template <class Space>
Numbers<Space> rows_of_blocks(const Space& space, const NumbersView<Space>& blocks, int b, int rows) {
  return vector_of<std::int64_t>(space, "prekond::distributed::rows_of_blocks", blocks.extent(0) * rows,
                                 RowOfBlock<Space>{blocks, b, rows});
}

/// The place of each of `numbers` in `sorted`; -1: it is not there.
template <class Space>
Vector<int, Space> places_of(const Space& space, const NumbersView<Space>& numbers,
                             const NumbersView<Space>& sorted) {
  return places_by<Space>(space, numbers, FindNumber<Space>{sorted});
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

/// from(list(k))
template <class T, class Space, class Index>
struct ListedEntry {
  VectorView<const Index, Space> list;
  VectorView<const T, Space> from;
  KOKKOS_FUNCTION T operator()(std::int64_t k) const { return from(list(k)); }
};

template <class T, class Space, class Index>
Vector<T, Space> listed(const Space& space, const Vector<Index, Space>& list,
                        const VectorView<const T, Space>& from) {
  return vector_of<T>(space, "prekond::distributed::listed", list.extent(0),
                      ListedEntry<T, Space, Index>{list, from});
}

template <class Space>
struct IsUnknown {
  NumbersView<Space> list;
  FindNumber<Space> known;
  KOKKOS_FUNCTION bool operator()(std::int64_t k) const { return known(list(k)) < 0; }
};

/// Is it the first of a run of equal numbers?
template <class Space>
struct IsFirst {
  NumbersView<Space> sorted;
  KOKKOS_FUNCTION bool operator()(std::int64_t k) const { return k == 0 || sorted(k) != sorted(k - 1); }
};

/// The numbers of the list for whose places k `holds(k)`, in its order. Fences.
template <class Space, class Holds>
Numbers<Space> numbers_where(const Space& space, const NumbersView<Space>& list, const Holds& holds) {
  const auto size = static_cast<std::int64_t>(list.extent(0));
  const auto places = list_rows<std::int64_t>(space, "prekond::distributed::numbers", size, holds);
  const auto found = listed<std::int64_t, Space>(space, places, list);
  space.fence("prekond::distributed::numbers");  // the places go away
  return found;
}

/// The numbers of `list` that `known`, sorted, has not, sorted and once each.
template <class Space>
Numbers<Space> new_numbers(const Space& space, const NumbersView<Space>& list,
                           const NumbersView<Space>& known) {
  if (list.extent(0) == 0) return {};
  const auto unknown = numbers_where(space, list, IsUnknown<Space>{list, {known}});
  sort_numbers(space, unknown);
  return numbers_where(space, NumbersView<Space>(unknown), IsFirst<Space>{unknown});
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

/// Numbers of columns: the rank's own, and others, which come after them. Both ascend.
template <class Space>
struct ColumnNumbers {
  struct Find {
    FindNumber<Space> own, others;
    int num_own;
    KOKKOS_FUNCTION int operator()(std::int64_t number) const {
      const int place = own(number), other = place < 0 ? others(number) : -1;
      return other < 0 ? place : num_own + other;
    }
  };
  Numbers<Space> own, others;

  std::int64_t count() const { return static_cast<std::int64_t>(own.extent(0) + others.extent(0)); }
  Find find() const { return {{own}, {others}, static_cast<int>(own.extent(0))}; }
  /// The columns of these numbers; -1: there is none.
  Vector<int, Space> places_of(const Space& space, const NumbersView<Space>& numbers) const {
    return places_by<Space>(space, numbers, find());
  }
  /// The numbers of all columns.
  Numbers<Space> all(const Space& space) const {
    return column_numbers<Space>(space, {0, 0, own}, static_cast<std::int64_t>(own.extent(0)), others);
  }
  /// These columns, and those of a list that are not among them.
  ColumnNumbers with(const Space& space, const NumbersView<Space>& list) const {
    const auto fresh = new_numbers<Space>(space, new_numbers<Space>(space, list, own), others);
    const ColumnNumbers all{own, united<Space>(space, others, fresh)};
    space.fence("prekond::distributed::with_numbers");  // the fresh ones go away
    return all;
  }
};

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

/// The values of entries that were sorted, by value: entry k of `to` is entry origins(k) of `first` or,
/// counted on, of `second`.
template <class Scalar, class Space>
struct GatherValues {
  NumbersView<Space> origins;
  VectorView<const Scalar, Space> first, second;
  std::int64_t num_first;  ///< entries of `first`
  int size;                ///< values of an entry
  VectorView<Scalar, Space> to;
  KOKKOS_FUNCTION void operator()(std::int64_t t) const {
    const std::int64_t from = origins(t / size) * size + t % size;
    to(t) = origins(t / size) < num_first ? first(from) : second(from - num_first * size);
  }
};

}  // namespace prekond::impl::distributed
