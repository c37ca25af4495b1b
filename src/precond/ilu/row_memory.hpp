// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Scratch of a vector of lanes for a row in work.
#include <Kokkos_Core.hpp>

#include <cstddef>

namespace prekond::impl::ilu {

struct RowMemoryTuning {
  static constexpr int batch = 4;  ///< rows of U whose entries are on their way at the same time
  // 15 teams of 128 lanes have room in an SM's 227 KiB.
  static constexpr int short_capacity = 24, long_capacity = 96;
};

/// A row by its columns, ascending: those of L, the diagonal, those of U; and of a batch of rows of U one
/// entry a lane. Without room (`capacity` 0) a row is worked on where it is stored.
template <class Scalar>
struct RowMemory {
  static constexpr int batch = RowMemoryTuning::batch;
  static constexpr int nothing = -2;  ///< a place: the row has no entry for the lane
  static constexpr int dropped = -1;  ///< the entry's column is not in the row in work

  int capacity = 0;
  Scalar* values = nullptr;       ///< capacity
  Scalar* pivots = nullptr;       ///< capacity: D^-1 of the rows of L's columns
  Scalar* steps = nullptr;        ///< batch x width
  std::size_t* begins = nullptr;  ///< batch: where the rows of U begin
  int* lengths = nullptr;         ///< batch
  int* places = nullptr;          ///< batch x width
  int* cols = nullptr;            ///< capacity

  RowMemory() = default;
  KOKKOS_FUNCTION RowMemory(void* base, int capacity_, int width) : capacity(capacity_) {
    begins = static_cast<std::size_t*>(base);
    values = reinterpret_cast<Scalar*>(begins + batch);
    pivots = values + capacity;
    steps = pivots + capacity;
    lengths = reinterpret_cast<int*>(steps + batch * width);
    places = lengths + batch;
    cols = places + batch * width;
  }

  static std::size_t bytes(int capacity, int width) {
    if (capacity == 0) return 0;
    const std::size_t all = batch * (sizeof(std::size_t) + sizeof(int)) +
                            std::size_t(batch) * width * (sizeof(Scalar) + sizeof(int)) +
                            std::size_t(capacity) * (2 * sizeof(Scalar) + sizeof(int));
    return (all + 7) / 8 * 8;
  }

  /// Where a column stands among those from `first` on; `dropped` where it does not.
  KOKKOS_FORCEINLINE_FUNCTION int place_of(int col, int first, int length) const {
    int end = length;
    while (first < end) {
      const int middle = first + (end - first) / 2;
      if (cols[middle] < col)
        first = middle + 1;
      else
        end = middle;
    }
    if (first < length && cols[first] == col) return first;
    return dropped;
  }
};

}  // namespace prekond::impl::ilu
