// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

#include "core/concurrent_words.hpp"

#include <cstddef>

namespace prekond::impl {

/// Columns in scratch, by open addressing. Lanes may insert at the same time; a barrier stands before the
/// first search.
class ColumnTable {
 public:
  /// Buckets for `count` columns: a power of two, at most two thirds full.
  KOKKOS_FUNCTION static std::size_t num_buckets(std::size_t count) {
    std::size_t buckets = 16;
    while (2 * buckets < 3 * count) buckets *= 2;
    return buckets;
  }

  KOKKOS_FUNCTION ColumnTable(int* columns, std::size_t buckets)
      : m_columns(columns), m_mask(static_cast<unsigned>(buckets) - 1) {
    for (std::size_t size = buckets; size > 1; size /= 2) --m_shift;
  }

  KOKKOS_FUNCTION int size() const { return static_cast<int>(m_mask) + 1; }
  KOKKOS_FUNCTION int* end() const { return m_columns + size(); }
  KOKKOS_FUNCTION void clear(int bucket) const { m_columns[bucket] = empty; }

  /// `bucket`: where the column is now. \returns whether it is new. \pre a bucket is empty, or has it
  KOKKOS_FORCEINLINE_FUNCTION bool insert(int col, unsigned& bucket) const {
    for (bucket = first(col);; bucket = (bucket + 1) & m_mask) {
      int seen = concurrent_load(m_columns[bucket]);  // what is not empty stays
      if (seen == empty) seen = Kokkos::atomic_compare_exchange(m_columns + bucket, empty, col);
      if (seen == empty) return true;
      if (seen == col) return false;
    }
  }

  /// The bucket of a column that is there.
  KOKKOS_FORCEINLINE_FUNCTION unsigned find(int col) const {
    unsigned bucket = first(col);
    while (m_columns[bucket] != col) bucket = (bucket + 1) & m_mask;
    return bucket;
  }

 private:
  static constexpr int empty = -1;

  /// The high bits of a multiplicative hash, as many as the table has.
  KOKKOS_FORCEINLINE_FUNCTION unsigned first(int col) const {
    return (static_cast<unsigned>(col) * 0x9E3779B1u) >> m_shift;
  }

  int* m_columns;
  unsigned m_mask;
  unsigned m_shift = 32;
};

}  // namespace prekond::impl
