// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A row in work, which gets fill: columns and values by open addressing, in scratch or in global memory.
#include "core/concurrent_words.hpp"

#include <cstddef>
#include <cstdint>

namespace prekond::impl::ilut {

/// A table that is filled up to three quarters, and empty between two rows. The slot of an entry depends on
/// the order of insertion, its value does not. On a host it may have a slot per column, so that no search
/// meets another column: mispredicted branches take most of the time there.
///
/// The first `own` listed columns below the row are A's, the others fill. One thread has those of the fill
/// that the row has yet to meet as a heap by their columns, then those that it has met; of several lanes each
/// looks through its share.
template <class Scalar>
struct RowTable {
  /// The counts of a row.
  enum Count { below, above, written_below, written_above, waiting, unused, num_counts };

  int capacity = 0;          ///< a power of two, or with `by_column` the number of columns
  Scalar* values = nullptr;  ///< by slot; not set of slots without a column
  int* cols = nullptr;       ///< by slot; -1: none
  int* list = nullptr;       ///< slots of columns below the row from the front, of those above from the back
  int own = 0;               ///< columns of A below the row
  bool by_column = false;    ///< the slot is the column; for hosts

  /// `values` come first, since they need 8-byte alignment.
  KOKKOS_FUNCTION static RowTable at(void* base, int capacity) {
    RowTable table;
    table.capacity = capacity;
    table.values = static_cast<Scalar*>(base);
    table.cols = reinterpret_cast<int*>(table.values + capacity);
    table.list = table.cols + capacity;
    return table;
  }
  KOKKOS_FUNCTION static std::size_t bytes(std::size_t capacity) {
    return capacity * (sizeof(Scalar) + 2 * sizeof(int));
  }
  KOKKOS_FUNCTION static std::int64_t most_of(std::int64_t capacity) { return capacity - capacity / 4; }
  KOKKOS_FORCEINLINE_FUNCTION int most() const { return by_column ? capacity : capacity - capacity / 4; }

  template <class LaneGroup>
  KOKKOS_FUNCTION void clear(const LaneGroup& lane_group) const {
    lane_group.region([&](int lane) {
      for (int s = lane; s < capacity; s += lane_group.size()) cols[s] = -1;
    });
  }

  /// Takes row i's columns out of the table, which costs as much as there are of them.
  template <class LaneGroup>
  KOKKOS_FUNCTION void take_out(const LaneGroup& lane_group, int i, const int* counts) const {
    lane_group.region([&](int lane) {
      for (int e = lane; e < counts[below]; e += lane_group.size()) cols[list[e]] = -1;
      for (int e = lane; e < counts[above]; e += lane_group.size()) cols[list[capacity - 1 - e]] = -1;
      if (lane == 0) cols[find(i)] = -1;  // the others' slots do not stop the search
    });
  }

  /// Copies row i to an empty table, with the same lists.
  template <class LaneGroup>
  KOKKOS_FUNCTION void copy_to(const LaneGroup& lane_group, int i, const RowTable& to,
                               const int* counts) const {
    const auto copy = [&](int s) {
      bool fresh = false;
      const int place = to.insert(lane_group, cols[s], fresh);
      to.values[place] = values[s];
      return place;
    };
    lane_group.region([&](int lane) {
      for (int e = lane; e < counts[below]; e += lane_group.size()) to.list[e] = copy(list[e]);
      for (int e = lane; e < counts[above]; e += lane_group.size())
        to.list[to.capacity - 1 - e] = copy(list[capacity - 1 - e]);
      if (lane == 0) copy(find(i));
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION int first_slot(int col) const {
    KOKKOS_IF_ON_HOST((if (by_column) return col;))
    // Consecutive columns are spread by Fibonacci hashing; the upper bits are the mixed ones.
    const unsigned mixed = static_cast<unsigned>(col) * 2654435769u;
    return static_cast<int>((mixed ^ mixed >> 15) & static_cast<unsigned>(capacity - 1));
  }

  /// The slot of a column. \pre it is there, and no lane inserts
  KOKKOS_FORCEINLINE_FUNCTION int find(int col) const {
    int s = first_slot(col);
    while (cols[s] != col) s = (s + 1) & (capacity - 1);
    return s;
  }

  /// The slot of a column of row i, which may be a new one: `fresh`, it is listed, and the caller sets its
  /// value. Lanes may insert at the same time. \pre there is room
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION int insert(const LaneGroup& lane_group, int i, int col, int* counts,
                                         bool& fresh) const {
    const int s = insert(lane_group, col, fresh);
    if (fresh && col != i) {
      const int place = next_place<LaneGroup>(counts + (col < i ? below : above));
      list[col < i ? place : capacity - 1 - place] = s;
      if constexpr (LaneGroup::width == 1)
        if (col < i && place >= own) put_on_heap(counts, place - own);
    }
    return s;
  }

  /// Counts one more. \returns the number before
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION static int next_place(int* count) {
    if constexpr (LaneGroup::width == 1)
      return (*count)++;
    else
      return Kokkos::atomic_fetch_add(count, 1);
  }

  /// The smallest column of the fill below the row that is above `after`, or `end`.
  template <class LaneGroup>
  KOKKOS_FUNCTION int next_of_fill(const LaneGroup& lane_group, const int* counts, int after, int end) const {
    if constexpr (LaneGroup::width == 1) return counts[waiting] > 0 ? cols[list[own]] : end;
    return lane_group.template min<int>([&](int lane) {
      int least = end;
      for (int e = own + lane; e < counts[below]; e += lane_group.size()) {
        const int col = cols[list[e]];
        least = col > after && col < least ? col : least;
      }
      return least;
    });
  }
  /// The row has met the column that next_of_fill gave.
  template <class LaneGroup>
  KOKKOS_FUNCTION void has_met_next(const LaneGroup&, int* counts) const {
    if constexpr (LaneGroup::width == 1) take_from_heap(counts);
  }

 private:
  KOKKOS_FUNCTION void put_on_heap(int* counts, int from) const {
    int* const heap = list + own;
    int place = counts[waiting]++;
    const int fresh = heap[from];
    heap[from] = heap[place];
    while (place > 0 && cols[heap[(place - 1) / 2]] > cols[fresh]) {
      heap[place] = heap[(place - 1) / 2];
      place = (place - 1) / 2;
    }
    heap[place] = fresh;
  }
  KOKKOS_FUNCTION void take_from_heap(int* counts) const {
    int* const heap = list + own;
    const int size = --counts[waiting], met = heap[0], last = heap[size];
    int place = 0;
    for (int child = 1; child < size; child = 2 * place + 1) {
      if (child + 1 < size && cols[heap[child + 1]] < cols[heap[child]]) ++child;
      if (cols[heap[child]] >= cols[last]) break;
      heap[place] = heap[child];
      place = child;
    }
    heap[place] = last;
    heap[size] = met;
  }

  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION int insert(const LaneGroup& lane_group, int col, bool& fresh) const {
    const int none = -1;
    int s = first_slot(col);
    while (true) {
      int there = concurrent_load(cols[s]);
      if (there == none) {
        there = exchange(lane_group, s, col);
        if (there == none) {
          fresh = true;
          return s;
        }
      }
      if (there == col) {
        fresh = false;
        return s;
      }
      s = (s + 1) & (capacity - 1);
    }
  }

  /// \returns what was in the slot; where that was nothing it has `col` now
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION int exchange(const LaneGroup& lane_group, int s, int col) const {
    const int none = -1;
    if constexpr (LaneGroup::width == 1) {
      cols[s] = col;
      return none;
    } else if constexpr (LaneGroup::keeps_registers) {
      return static_cast<int>(lane_group.atomic_compare_exchange(
          reinterpret_cast<unsigned*>(cols + s), static_cast<unsigned>(none), static_cast<unsigned>(col)));
    } else {
      return Kokkos::atomic_compare_exchange(cols + s, none, col);
    }
  }
};

/// Scratch of a lane group.
template <class Scalar>
struct RowScratch {
  RowTable<Scalar> table;
  std::size_t* begin = nullptr;  ///< where the row's factors go
  int* counts = nullptr;         ///< RowTable::num_counts

  KOKKOS_FUNCTION RowScratch(void* base, int capacity) {
    begin = static_cast<std::size_t*>(base);
    counts = reinterpret_cast<int*>(begin + 1);
    table = RowTable<Scalar>::at(counts + RowTable<Scalar>::num_counts, capacity);
  }
  KOKKOS_FUNCTION static std::size_t bytes(std::size_t capacity) {
    return (sizeof(std::size_t) + RowTable<Scalar>::num_counts * sizeof(int) +
            RowTable<Scalar>::bytes(capacity) + 7) /
           8 * 8;
  }
};

}  // namespace prekond::impl::ilut
