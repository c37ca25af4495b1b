// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Scratch of a lane group for a row in work.
#include <Kokkos_Core.hpp>

#include <cstddef>

namespace prekond::impl::ilu {

struct RowMemoryTuning {
  // Eight teams of 128 lanes have room in an SM's 227 KiB, and of threads by themselves 512.
  static constexpr int capacity = 96, chunk = 24;
  static constexpr int batch = 4;  ///< entries of other rows that a lane reads at a time
  static constexpr int lane_capacity = 16, lane_steps = 16;
};

/// Scratch of a group of several lanes: a row by its columns, in ascending order, with a hash table that
/// finds them; and the places in it of the entries of a chunk of other rows, one entry a lane. Without room
/// (`capacity` 0) a row is worked on where it is stored.
template <class Scalar>
struct RowMemory {
  static constexpr int nothing = 255;  ///< a place: the row has no entry for the lane
  static constexpr int dropped = 254;  ///< the entry's column is not in the row in work
  using Slot = unsigned long long;     ///< a column, and its place in the lower 32 bits
  static constexpr Slot empty = ~Slot(0);

  int capacity = 0;  ///< below `dropped`
  int chunk = 0;
  unsigned mask = 0;                ///< of slots
  Scalar* values = nullptr;         ///< capacity
  Scalar* steps = nullptr;          ///< batch x width: entries of the other rows
  std::size_t* begins = nullptr;    ///< chunk: where the other rows begin
  int* lengths = nullptr;           ///< chunk
  Slot* slots = nullptr;            ///< table_size(capacity), by the hash of the column
  int* cols = nullptr;              ///< capacity
  unsigned char* places = nullptr;  ///< chunk x width

  RowMemory() = default;
  KOKKOS_FUNCTION RowMemory(void* base, int capacity_, int chunk_, int width)
      : capacity(capacity_), chunk(chunk_), mask(unsigned(table_size(capacity_) - 1)) {
    begins = static_cast<std::size_t*>(base);
    values = reinterpret_cast<Scalar*>(begins + chunk);
    steps = values + capacity + capacity % 2;
    slots = reinterpret_cast<Slot*>(steps + RowMemoryTuning::batch * width);
    lengths = reinterpret_cast<int*>(slots + mask + 1);
    cols = lengths + chunk;
    places = reinterpret_cast<unsigned char*>(cols + capacity);
  }

  /// A power of two, of which a row that fits leaves half empty.
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int table_size(int capacity) {
    int size = 1;
    while (size < 2 * capacity) size *= 2;
    return size;
  }

  static constexpr std::size_t bytes(int capacity, int chunk, int width) {
    if (capacity == 0) return 0;
    const std::size_t all = std::size_t(chunk) * (sizeof(std::size_t) + sizeof(int) + width) +
                            std::size_t(capacity + capacity % 2) * (sizeof(Scalar) + sizeof(int)) +
                            std::size_t(RowMemoryTuning::batch) * width * sizeof(Scalar) +
                            std::size_t(table_size(capacity)) * sizeof(Slot);
    return (all + 7) / 8 * 8;
  }

  KOKKOS_FORCEINLINE_FUNCTION Scalar& value(int k) const { return values[k]; }
  KOKKOS_FORCEINLINE_FUNCTION int col(int k) const { return cols[k]; }

  /// Makes an entry the k-th. The lanes do so for columns that differ at the same time; a barrier has to
  /// follow.
  KOKKOS_FORCEINLINE_FUNCTION void put(int k, int col, Scalar value) const {
    cols[k] = col;
    values[k] = value;
    insert(col, k);
  }
  /// A barrier has to follow.
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void clear(const LaneGroup& lane_group) const {
    for (unsigned k = lane_group.lane(); k <= mask; k += LaneGroup::width) slots[k] = empty;
  }
  /// The place of a column; `dropped` where it has none.
  KOKKOS_FORCEINLINE_FUNCTION int place_of(int col) const {
    for (unsigned at = slot_of(col);; at = next(at)) {
      const Slot slot = slots[at];
      if (int(slot >> 32) == col) return int(unsigned(slot));
      if (slot == empty) return dropped;
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void insert(int col, int place) const {
    unsigned at = slot_of(col);
    const Slot slot = Slot(unsigned(col)) << 32 | unsigned(place);
    while (Kokkos::atomic_compare_exchange(slots + at, empty, slot) != empty) at = next(at);
  }
  KOKKOS_FORCEINLINE_FUNCTION unsigned slot_of(int col) const {
    return ((unsigned(col) * 0x9E3779B1u) >> 16) & mask;
  }
  KOKKOS_FORCEINLINE_FUNCTION unsigned next(unsigned at) const { return (at + 1) & mask; }
};

/// Scratch of a group of one lane: a row by its columns, and the next steps on it, values[target] -=
/// values[source] times an entry of another row. The values of the `stride` threads of a team are
/// interleaved.
template <class Scalar>
struct LaneMemory {
  static constexpr int chunk = 0;

  int capacity = 0, steps = 0, stride = 1;
  Scalar* values = nullptr;            ///< capacity
  int* cols = nullptr;                 ///< capacity
  unsigned* entries = nullptr;         ///< steps: from the first entry of the row of the first column of L on
  unsigned short* operands = nullptr;  ///< steps: target and, above 8 bits, source

  LaneMemory() = default;
  KOKKOS_FUNCTION LaneMemory(void* base, int capacity_, int steps_, int lane, int stride_)
      : capacity(capacity_), steps(steps_), stride(stride_) {
    Scalar* const all = static_cast<Scalar*>(base);
    values = all + lane;
    int* const rest = reinterpret_cast<int*>(all + capacity * stride);
    cols = rest + lane;
    entries = reinterpret_cast<unsigned*>(rest + capacity * stride) + lane;
    operands = reinterpret_cast<unsigned short*>(rest + (capacity + steps) * stride) + lane;
  }
  static constexpr std::size_t bytes(int capacity, int steps) {
    return std::size_t(capacity) * (sizeof(Scalar) + sizeof(int)) +
           std::size_t(steps) * (sizeof(unsigned) + sizeof(unsigned short));
  }

  KOKKOS_FORCEINLINE_FUNCTION Scalar& value(int k) const { return values[k * stride]; }
  KOKKOS_FORCEINLINE_FUNCTION int& col(int k) const { return cols[k * stride]; }
  KOKKOS_FORCEINLINE_FUNCTION void put(int k, int own_col, Scalar own_value) const {
    col(k) = own_col;
    value(k) = own_value;
  }
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void clear(const LaneGroup&) const {}
  KOKKOS_FORCEINLINE_FUNCTION unsigned& entry(int k) const { return entries[k * stride]; }
  KOKKOS_FORCEINLINE_FUNCTION unsigned short& operand(int k) const { return operands[k * stride]; }
};

}  // namespace prekond::impl::ilu
