// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Scratch of a vector of lanes for a row in work.
#include <Kokkos_Core.hpp>

#include <cstddef>

namespace prekond::impl::ilu {

struct RowMemoryTuning {
  // Eight teams of 128 lanes have room in an SM's 227 KiB.
  static constexpr int short_capacity = 24, long_capacity = 96;
  static constexpr int short_chunk = 8, long_chunk = 24;
};

/// A row by its columns, in ascending order, with a hash table that finds them; and where the entries of a
/// chunk of other rows stand in it, one entry a lane. Without room (`capacity` 0) a row is worked on where it
/// is stored.
template <class Scalar>
struct RowMemory {
  static constexpr int nothing = 255;  ///< a place: the row has no entry for the lane
  static constexpr int dropped = 254;  ///< the entry's column is not in the row in work
  static constexpr unsigned empty = 255;

  int capacity = 0;  ///< below `dropped`
  int chunk = 0;
  Scalar* values = nullptr;         ///< capacity
  Scalar* pivots = nullptr;         ///< capacity: D^-1 of the rows of L's columns
  std::size_t* begins = nullptr;    ///< chunk: where the other rows begin
  int* lengths = nullptr;           ///< chunk
  int* cols = nullptr;              ///< capacity
  unsigned* slots = nullptr;        ///< table_size(capacity): places, by the hash of the column
  unsigned char* places = nullptr;  ///< chunk x width

  RowMemory() = default;
  KOKKOS_FUNCTION RowMemory(void* base, int capacity_, int chunk_) : capacity(capacity_), chunk(chunk_) {
    begins = static_cast<std::size_t*>(base);
    values = reinterpret_cast<Scalar*>(begins + chunk);
    pivots = values + capacity;
    lengths = reinterpret_cast<int*>(pivots + capacity);
    cols = lengths + chunk;
    slots = reinterpret_cast<unsigned*>(cols + capacity);
    places = reinterpret_cast<unsigned char*>(slots + table_size(capacity));
  }

  /// A power of two, of which a row that fits leaves a quarter empty.
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int table_size(int capacity) {
    int size = 1;
    while (3 * size < 4 * capacity) size *= 2;
    return size;
  }

  static constexpr std::size_t bytes(int capacity, int chunk, int width) {
    if (capacity == 0) return 0;
    const std::size_t all = std::size_t(chunk) * (sizeof(std::size_t) + sizeof(int) + width) +
                            std::size_t(capacity) * (2 * sizeof(Scalar) + sizeof(int)) +
                            std::size_t(table_size(capacity)) * sizeof(unsigned);
    return (all + 7) / 8 * 8;
  }

  template <class Level>
  KOKKOS_FORCEINLINE_FUNCTION void clear_table(const Level& level) const {
    for (int k = level.lane(); k < table_size(capacity); k += Level::width) slots[k] = empty;
  }
  /// The lanes add columns that differ at the same time; a barrier has to follow.
  template <class Level>
  KOKKOS_FORCEINLINE_FUNCTION void insert(const Level&, int col, int place) const {
    unsigned at = slot_of(col);
    while (Level::atomic_compare_exchange(slots + at, empty, unsigned(place)) != empty) at = next(at);
  }
  /// Where a column stands; `dropped` where it does not.
  KOKKOS_FORCEINLINE_FUNCTION int place_of(int col) const {
    for (unsigned at = slot_of(col);; at = next(at)) {
      const unsigned place = slots[at];
      if (place == empty) return dropped;
      if (cols[place] == col) return int(place);
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION unsigned slot_of(int col) const {
    return ((unsigned(col) * 0x9E3779B1u) >> 16) & unsigned(table_size(capacity) - 1);
  }
  KOKKOS_FORCEINLINE_FUNCTION unsigned next(unsigned at) const {
    return (at + 1) & unsigned(table_size(capacity) - 1);
  }
};

}  // namespace prekond::impl::ilu
