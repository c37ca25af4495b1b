// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The set of columns that the growth of one row has come to. A column has a *slot*, its place in a compact
/// list, and slots index whatever is kept by column. Some columns become *members* and then have a position
/// too. Three forms with the same interface: a hash table of the slots (GPUs: small enough for scratch), a
/// dense marker array of all columns that a thread keeps to itself (CPUs; Bernaschi et al. 2019,
/// section 3.1), and such an array that a vector of lanes shares.
#include <Kokkos_Core.hpp>
#include <cstdint>

namespace prekond {

/// Where a column was found: `slot < 0` where it is not in the set, `position < 0` where it is not a member.
struct ColumnPlace {
  int slot = -1;
  int position = -1;
  unsigned bucket = 0;  ///< of a hash table, where the search ended
};

namespace impl {
/// The list that both forms share. A member's entry of `cols` holds the complement of its position.
struct ColumnList {
  int* cols = nullptr;         ///< by slot
  int* member_cols = nullptr;  ///< by position
  int* count = nullptr;
  int capacity = 0;

  KOKKOS_FORCEINLINE_FUNCTION void make_member(int slot, int position) const {
    member_cols[position] = cols[slot];
    cols[slot] = ~position;
  }
  KOKKOS_FORCEINLINE_FUNCTION void undo_member(int slot, int position) const {
    cols[slot] = member_cols[position];
  }
  KOKKOS_FORCEINLINE_FUNCTION bool overflowed() const { return *count > capacity; }
  KOKKOS_FORCEINLINE_FUNCTION int size() const { return *count; }
};
}  // namespace impl

/// Open addressing over a compact list. `Bucket` is 16 or 32 bits wide; 16 suffice for fewer than 65535
/// slots. Lookups are plain reads and insertions are atomic, so a barrier has to stand between the two.
template <class Bucket>
class HashedColumnSet : public impl::ColumnList {
 public:
  using bucket_type = Bucket;
  static constexpr Bucket empty = static_cast<Bucket>(~Bucket(0));
  static constexpr bool shared_insertion = true;
  static constexpr bool uses_markers = false;

  /// Buckets for `capacity` columns: a power of two, at most two thirds full.
  KOKKOS_FUNCTION static std::size_t num_buckets(int capacity) {
    std::size_t buckets = 64;
    while (buckets * 2 < std::size_t(capacity) * 3) buckets *= 2;
    return buckets;
  }

  KOKKOS_FUNCTION HashedColumnSet(const impl::ColumnList& list, Bucket* buckets, std::size_t table_size)
      : impl::ColumnList(list), m_buckets(buckets), m_mask(static_cast<unsigned>(table_size - 1)) {
    m_shift = 32;
    for (std::size_t size = table_size; size > 1; size /= 2) --m_shift;
  }

  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void clear(const LaneGroup& lane_group) const {
    unsigned* words = reinterpret_cast<unsigned*>(m_buckets);
    const unsigned num_words = static_cast<unsigned>((m_mask + 1) * sizeof(Bucket) / sizeof(unsigned));
    lane_group.region([&](int lane) {
      for (unsigned w = lane; w < num_words; w += LaneGroup::width) words[w] = ~0u;
      if (lane == 0) *count = 0;
    });
  }
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void release(const LaneGroup&) const {}

  KOKKOS_FORCEINLINE_FUNCTION ColumnPlace find(int col) const {
    for (unsigned b = hash(col);; b = (b + 1) & m_mask) {
      const Bucket slot = m_buckets[b];
      if (slot == empty) return {-1, -1, b};
      const int key = cols[slot];
      if (key == col) return {int(slot), -1};
      if (key < 0 && member_cols[~key] == col) return {int(slot), ~key};
    }
  }

  /// Adds a column that is not in the set; lanes may add different columns at the same time. \returns its
  /// slot, or -1 where the set is full (then `overflowed()`).
  KOKKOS_FORCEINLINE_FUNCTION int insert(int col) const {
    const int slot = Kokkos::atomic_fetch_add(count, 1);
    if (slot < capacity) {
      file(col, slot, {-1, -1, hash(col)}, [](unsigned* word, unsigned expected, unsigned desired) {
        return Kokkos::atomic_compare_exchange(word, expected, desired);
      });
    }
    return slot < capacity ? slot : -1;
  }

  /// Files a column under a slot that the caller took from the list, in the first bucket that is free from
  /// where the search for it ended; `exchange` is the atomic compare-exchange.
  template <class Exchange>
  KOKKOS_FORCEINLINE_FUNCTION void file(int col, int slot, const ColumnPlace& ended,
                                        const Exchange& exchange) const {
    cols[slot] = col;
    unsigned b = ended.bucket;
    while (!claim(b, static_cast<Bucket>(slot), exchange)) b = (b + 1) & m_mask;
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION unsigned hash(int col) const {
    return (static_cast<unsigned>(col) * 0x9E3779B1u) >> m_shift;
  }

  // 16-bit buckets are claimed through the 32-bit word they lie in.
  template <class Exchange>
  KOKKOS_FORCEINLINE_FUNCTION bool claim(unsigned b, Bucket slot, const Exchange& exchange) const {
    constexpr unsigned per_word = sizeof(unsigned) / sizeof(Bucket);
    unsigned* word = reinterpret_cast<unsigned*>(m_buckets) + b / per_word;
    const unsigned shift = (b % per_word) * 16u * (per_word - 1u);
    const unsigned field = static_cast<unsigned>(empty) << shift;
    unsigned seen = ~0u;  // a guess, right where both buckets of the word are empty
    while ((seen & field) == field) {
      const unsigned wanted = (seen & ~field) | (static_cast<unsigned>(slot) << shift);
      const unsigned before = exchange(word, seen, wanted);
      if (before == seen) return true;
      seen = before;
    }
    return false;
  }

  Bucket* m_buckets;
  unsigned m_mask;
  unsigned m_shift;
};

namespace impl {
/// An array over all columns, zero between rows: slot + 1, with the sign bit set for a member.
struct MarkedColumnList : ColumnList {
  KOKKOS_FUNCTION MarkedColumnList(const ColumnList& list, int* array) : ColumnList(list), marker(array) {}

  KOKKOS_FORCEINLINE_FUNCTION ColumnPlace find(int col) const {
    const int mark = marker[col];
    if (mark == 0) return {};
    const int slot = (mark & slot_bits) - 1;
    return {slot, mark < 0 ? ~cols[slot] : -1};
  }

  KOKKOS_FORCEINLINE_FUNCTION void make_member(int slot, int position) const {
    marker[cols[slot]] |= ~slot_bits;
    ColumnList::make_member(slot, position);
  }
  KOKKOS_FORCEINLINE_FUNCTION void undo_member(int slot, int position) const {
    ColumnList::undo_member(slot, position);
    marker[cols[slot]] &= slot_bits;
  }
  KOKKOS_FORCEINLINE_FUNCTION void file(int col, int slot) const {
    cols[slot] = col;
    marker[col] = slot + 1;
  }
  KOKKOS_FORCEINLINE_FUNCTION void erase(int slot) const {
    marker[cols[slot] >= 0 ? cols[slot] : member_cols[~cols[slot]]] = 0;
  }

  static constexpr int slot_bits = 0x7fffffff;
  int* marker;
};
}  // namespace impl

/// A marker array that one thread owns.
class MarkerColumnSet : public impl::MarkedColumnList {
 public:
  static constexpr bool shared_insertion = false;
  static constexpr bool uses_markers = true;

  KOKKOS_FUNCTION MarkerColumnSet(const impl::ColumnList& list, int* array)
      : impl::MarkedColumnList(list, array) {}

  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void clear(const LaneGroup&) const {
    *count = 0;
  }
  /// Leaves the markers as they were found.
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void release(const LaneGroup&) const {
    const int used = *count < capacity ? *count : capacity;
    for (int slot = 0; slot < used; ++slot) erase(slot);
  }

  KOKKOS_FORCEINLINE_FUNCTION int insert(int col) const {
    const int slot = (*count)++;
    if (slot >= capacity) return -1;
    file(col, slot);
    return slot;
  }

  /// Where a column is, that is added where it was not, in the next slot, `used`, which moves on; without
  /// branches, since what comes next in a row is hard to predict. The position of a column that is no member
  /// is `none`. \pre used < capacity
  KOKKOS_FORCEINLINE_FUNCTION ColumnPlace find_or_file(int col, int none, int& used) const {
    const int mark = marker[col];
    const bool known = mark != 0;
    const int slot = known ? (mark & slot_bits) - 1 : used;
    const int key = known ? cols[slot] : col;
    cols[slot] = key;
    marker[col] = known ? mark : slot + 1;
    used += !known;
    return {slot, position_of(key, none)};
  }

  /// The position of a column in the pattern by its key in `cols`; of one that is no member `nobody`. Without
  /// a branch.
  KOKKOS_FORCEINLINE_FUNCTION static int position_of(int key, int nobody) {
    const int member = key >> 31;  // all bits, or none
    return (~key & member) | (nobody & ~member);
  }

  /// Where a column is; `none` is the slot of one that is not in the set, after the last, and `nobody` the
  /// position of one that is no member. \pre cols[none] >= 0
  KOKKOS_FORCEINLINE_FUNCTION ColumnPlace find_or(int col, int none, int nobody) const {
    const int mark = marker[col];
    const int slot = mark == 0 ? none : (mark & slot_bits) - 1;
    return {slot, position_of(cols[slot], nobody)};
  }
};

/// A marker array that the lanes of one vector share. Lookups and insertions are plain reads and writes: no
/// two lanes insert the same column, and a barrier has to stand between lookups and insertions.
class SharedMarkerColumnSet : public impl::MarkedColumnList {
 public:
  static constexpr bool shared_insertion = true;
  static constexpr bool uses_markers = true;

  KOKKOS_FUNCTION SharedMarkerColumnSet(const impl::ColumnList& list, int* array)
      : impl::MarkedColumnList(list, array) {}

  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void clear(const LaneGroup& lane_group) const {
    lane_group.once([&] { *count = 0; });
  }
  /// Leaves the markers of the first `used` slots as they were found. (Callers that take slots from the list
  /// know how many they took; `count` does not.)
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void release(const LaneGroup& lane_group, int used) const {
    lane_group.region([&](int lane) {
      for (int slot = lane; slot < used; slot += LaneGroup::width) erase(slot);
    });
  }

  /// Adds a column that is not in the set; lanes may add different columns at the same time. \returns its
  /// slot, or -1 where the set is full (then `overflowed()`).
  KOKKOS_FORCEINLINE_FUNCTION int insert(int col) const {
    const int slot = Kokkos::atomic_fetch_add(count, 1);
    if (slot >= capacity) return -1;
    MarkedColumnList::file(col, slot);
    return slot;
  }
  /// Files a column under a slot that the caller took from the list.
  template <class Exchange>
  KOKKOS_FORCEINLINE_FUNCTION void file(int col, int slot, const ColumnPlace&, const Exchange&) const {
    MarkedColumnList::file(col, slot);
  }
};

}  // namespace prekond
