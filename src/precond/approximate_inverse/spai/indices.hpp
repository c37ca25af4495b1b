// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The rows I in which the columns J of a local system have entries, over a lane group.
#include <prekond/matrix/csr_matrix.hpp>
#include "core/lane_group.hpp"
#include "dense/place_array.hpp"

#include <cstddef>

namespace prekond::impl::spai {

KOKKOS_FORCEINLINE_FUNCTION constexpr std::size_t power_of_two_from(std::size_t n) {
  std::size_t power = 1;
  while (power < n) power *= 2;
  return power;
}

/// A set of indices by open addressing, and a list of them in no particular order.
class IndexTable {
 public:
  static constexpr unsigned empty = 0xffffffffu;

  /// Slots for n indices: a power of two, at most two thirds full.
  KOKKOS_FORCEINLINE_FUNCTION static std::size_t num_slots(std::size_t n) {
    return power_of_two_from(n + n / 2 + 16);
  }

  /// `list` may be null.
  KOKKOS_FUNCTION IndexTable(unsigned* slots, std::size_t size, int* count, int* list)
      : m_slots(slots), m_size(size), m_count(count), m_list(list), m_shift(32) {
    for (std::size_t s = size; s > 1; s /= 2) --m_shift;
  }

  template <class LaneGroup>
  KOKKOS_FUNCTION void clear(const LaneGroup& lane_group) const {
    lane_group.region([&](int lane) {
      for (std::size_t k = lane; k < m_size; k += lane_group.size()) m_slots[k] = empty;
      if (lane == 0) *m_count = 0;
    });
  }

  /// Lanes may add any indices at the same time. The place in the list depends on their order.
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void insert(const LaneGroup& lane_group, int index) const {
    if (!claim(lane_group, index)) return;
    const int position = take(lane_group);
    if (m_list) m_list[position] = index;
  }
  /// The same until the count is above `most`; each lane may then still add one, and none is listed beyond
  /// `most`.
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void insert_up_to(const LaneGroup& lane_group, int index, int most) const {
    if (*static_cast<volatile int*>(m_count) > most || !claim(lane_group, index)) return;
    const int position = take(lane_group);
    if (m_list && position < most) m_list[position] = index;
  }

  /// The slot of an index, or the number of slots where it is not there.
  KOKKOS_FORCEINLINE_FUNCTION std::size_t find(int index) const {
    const auto key = static_cast<unsigned>(index);
    const std::size_t mask = m_size - 1;
    for (std::size_t k = (key * 0x9E3779B1u) >> m_shift;; k = (k + 1) & mask) {
      if (m_slots[k] == key) return k;
      if (m_slots[k] == empty) return m_size;
    }
  }

 private:
  /// \returns whether the index was not there
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION bool claim(const LaneGroup& lane_group, int index) const {
    const auto key = static_cast<unsigned>(index);
    const std::size_t mask = m_size - 1;
    for (std::size_t k = (key * 0x9E3779B1u) >> m_shift;; k = (k + 1) & mask) {
      const unsigned seen = m_slots[k];
      if (seen == key) return false;
      if (seen != empty) continue;
      const unsigned before = exchange(lane_group, m_slots + k, key);
      if (before == key) return false;
      if (before == empty) return true;
    }
  }
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION static unsigned exchange(const LaneGroup&, unsigned* slot, unsigned key) {
    if constexpr (LaneGroup::width == 1) {
      *slot = key;
      return empty;
    } else if constexpr (LaneGroup::keeps_registers) {
      return LaneGroup::atomic_compare_exchange(slot, empty, key);
    } else {
      return Kokkos::atomic_compare_exchange(slot, empty, key);
    }
  }
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION int take(const LaneGroup&) const {
    if constexpr (LaneGroup::width == 1)
      return (*m_count)++;
    else
      return Kokkos::atomic_fetch_add(m_count, 1);
  }

  unsigned* m_slots;
  std::size_t m_size;
  int* m_count;
  int* m_list;
  int m_shift;
};

/// Sorts list[0 .. n), which has room for the next power of two.
template <class LaneGroup>
KOKKOS_FUNCTION void sort_list(const LaneGroup& lane_group, int* list, int n) {
  if constexpr (LaneGroup::width == 1) {
    for (int gap = n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
      for (int i = gap; i < n; ++i) {
        const int value = list[i];
        int k = i;
        for (; k >= gap && list[k - gap] > value; k -= gap) list[k] = list[k - gap];
        list[k] = value;
      }
  } else {
    const auto size = static_cast<unsigned>(power_of_two_from(static_cast<std::size_t>(n)));
    lane_group.region([&](int lane) {
      for (unsigned k = n + lane; k < size; k += lane_group.size()) list[k] = 0x7fffffff;
    });
    for (unsigned run = 2; run <= size; run *= 2)
      for (unsigned stride = run / 2; stride > 0; stride /= 2)
        lane_group.region([&](int lane) {
          for (unsigned t = lane; t < size / 2; t += lane_group.size()) {
            const unsigned i = 2 * t - (t & (stride - 1));
            const int a = list[i], b = list[i + stride];
            if ((a > b) == ((i & run) == 0)) {
              list[i] = b;
              list[i + stride] = a;
            }
          }
        });
  }
}

/// Where `index` is in the ascending list[0 .. n), or -1.
KOKKOS_FORCEINLINE_FUNCTION int find_in(const int* list, int n, int index) {
  int begin = 0, end = n;
  while (begin < end) {
    const int middle = begin + (end - begin) / 2;
    if (list[middle] < index)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin < n && list[begin] == index ? begin : -1;
}

/// The rows of B (the columns of the problem) that belong to J.
template <class Scalar, class Space, class LaneGroup>
class ProblemColumns {
 public:
  /// `begins` and `lengths` have n2 elements each.
  KOKKOS_FUNCTION ProblemColumns(const LaneGroup& lane_group, const CsrView<Scalar, Space>& b, int n2,
                                 std::size_t* begins, int* lengths)
      : m_lane_group(lane_group), m_b(b), m_n2(n2), m_begins(begins), m_lengths(lengths) {}

  /// J = cols[0 .. n2). Calls visit(c, J[c]) for each.
  template <class Visit>
  KOKKOS_FUNCTION void read(const int* cols, const Visit& visit) const {
    m_lane_group.region([&](int lane) {
      for (int c = lane; c < m_n2; c += m_lane_group.size()) {
        const int col = cols[c];
        const std::size_t begin = m_b.row_ptrs(col);
        m_begins[c] = begin;
        m_lengths[c] = static_cast<int>(m_b.row_ptrs(col + 1) - begin);
        visit(c, col);
      }
    });
  }

  /// Calls visit(c, entry, index) for the entries of B's rows J[c] with indices below `limit`.
  template <class Visit>
  KOKKOS_FUNCTION void for_entries(std::int64_t limit, const Visit& visit) const {
    constexpr int most = 8;  // lanes of a row: they read 32 bytes of indices
    const int group = m_lane_group.size() < most ? m_lane_group.size() : most;
    m_lane_group.region([&](int lane) {
      for (int c = lane / group; c < m_n2; c += m_lane_group.size() / group)
        for (int e = lane % group; e < m_lengths[c]; e += group) {
          const std::size_t entry = m_begins[c] + static_cast<std::size_t>(e);
          const int index = m_b.col_idxs(entry);
          if (index >= limit) break;
          visit(c, entry, index);
        }
    });
  }

 private:
  LaneGroup m_lane_group;
  const CsrView<Scalar, Space>& m_b;
  int m_n2;
  std::size_t* m_begins;
  int* m_lengths;
};

}  // namespace prekond::impl::spai
