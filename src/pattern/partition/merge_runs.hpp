// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Blocks of consecutive runs of rows: each begins where the one before ends, and takes runs as long as it
/// has no more than `most` rows.
#include <prekond/core/impl/list_rows.hpp>
#include "core/concurrent_words.hpp"

#include <utility>

namespace prekond::impl::partition {

/// The run after the last of a block that begins with run k; of the end, itself.
template <class Space>
struct NextBlock {
  VectorView<const int, Space> begins;  ///< of the runs, and the end of the last
  int most;
  VectorView<int, Space> next;

  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    int found = static_cast<int>(begins.extent(0)) - 1;
    int least = k < found ? static_cast<int>(k) + 1 : found;
    while (least < found) {
      const int middle = found - (found - least) / 2;
      if (begins(middle) - begins(k) <= most)
        least = middle;
      else
        found = middle - 1;
    }
    next(k) = least;
  }
};

/// Marks what is next to the marked ones. Marks that other threads set meanwhile are right as well.
template <class Space>
struct MarkNext {
  VectorView<const int, Space> next;
  VectorView<int, Space> marks;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    if (concurrent_load(marks(k)) != 0) raise_flag(marks(next(k)), 1);
  }
};

template <class Space>
struct NextButOne {
  VectorView<const int, Space> next;
  VectorView<int, Space> twice;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { twice(k) = next(next(k)); }
};

/// Marks where blocks begin, and the end: after s steps the first 2^s. `marks` begins as zeros.
template <class Space>
void mark_by_doubling(const Space& space, Vector<int, Space> next, const Vector<int, Space>& marks) {
  using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  const auto count = static_cast<std::int64_t>(next.extent(0));
  Kokkos::deep_copy(space, Kokkos::subview(marks, 0), 1);
  auto twice = allocate<Vector<int, Space>>(space, "prekond::partition::twice", count);
  for (std::int64_t marked = 1; marked < count; marked *= 2) {
    Kokkos::parallel_for("prekond::partition::mark_next", Rows(space, 0, count),
                         MarkNext<Space>{next, marks});
    Kokkos::parallel_for("prekond::partition::next_but_one", Rows(space, 0, count),
                         NextButOne<Space>{next, twice});
    std::swap(next, twice);
  }
  space.fence("prekond::partition::marked");  // the lists go away
}

/// The same by one thread of a host.
template <class Space>
struct MarkInOrder {
  VectorView<const int, Space> next;
  VectorView<int, Space> marks;
  void operator()(int /*one*/) const {
    int k = 0;
    for (; next(k) != k; k = next(k)) marks(k) = 1;
    marks(k) = 1;
  }
};

template <class Space>
struct IsMarked {
  VectorView<const int, Space> marks;
  KOKKOS_FUNCTION bool operator()(std::int64_t k) const { return marks(k) != 0; }
};

template <class Space>
struct TakeBegins {
  VectorView<const int, Space> list, begins;
  VectorView<int, Space> ptrs;
  KOKKOS_FUNCTION void operator()(std::int64_t p) const { ptrs(p) = begins(list(p)); }
};

/// Where blocks begin, and the end of the last.
template <class Space>
Vector<int, Space> merge_runs(const Space& space, const Vector<int, Space>& begins, int most,
                              bool in_order = is_host_space<Space>) {
  using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  const auto count = static_cast<std::int64_t>(begins.extent(0));
  const auto next = allocate<Vector<int, Space>>(space, "prekond::partition::next", count);
  Kokkos::parallel_for("prekond::partition::next_block", Rows(space, 0, count),
                       NextBlock<Space>{begins, most, next});
  const auto marks = allocate_zero<Vector<int, Space>>(space, "prekond::partition::marks", count);
  if constexpr (is_host_space<Space>) {
    if (in_order)
      Kokkos::parallel_for("prekond::partition::mark_in_order", Kokkos::RangePolicy<Space>(space, 0, 1),
                           MarkInOrder<Space>{next, marks});
  }
  if (!in_order) mark_by_doubling<Space>(space, next, marks);
  const auto list = list_rows(space, "prekond::partition::blocks", count, IsMarked<Space>{marks});
  const auto ptrs = allocate<Vector<int, Space>>(space, "prekond::partition::ptrs", list.extent(0));
  Kokkos::parallel_for("prekond::partition::take_begins", Rows(space, 0, list.extent(0)),
                       TakeBegins<Space>{list, begins, ptrs});
  space.fence("prekond::partition::merged");  // the lists go away
  return ptrs;
}

}  // namespace prekond::impl::partition
