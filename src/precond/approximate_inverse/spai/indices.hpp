// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The rows I in which the columns J of a local system have entries, over a level.
#include <prekond/matrix/csr_matrix.hpp>
#include "core/lane_group.hpp"

#include <cstddef>

namespace prekond::impl::spai {

/// A place in a workspace; null while sizes are counted.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T* place(char* base, std::size_t& end, std::size_t n) {
  const std::size_t begin = end;
  end += (n * sizeof(T) + 15) / 16 * 16;
  return base ? reinterpret_cast<T*>(base + begin) : nullptr;
}

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

  template <class Level>
  KOKKOS_FUNCTION void clear(const Level& level) const {
    level.region([&](int lane) {
      for (std::size_t k = lane; k < m_size; k += level.size()) m_slots[k] = empty;
      if (lane == 0) *m_count = 0;
    });
  }

  /// Lanes may add any indices at the same time. The place in the list depends on their order.
  template <class Level>
  KOKKOS_FORCEINLINE_FUNCTION void insert(const Level& level, int index) const {
    if (!claim(level, index)) return;
    const int position = take(level);
    if (m_list) m_list[position] = index;
  }
  /// The same until the count is above `most`; each lane may then still add one, and none is listed behind
  /// `most`.
  template <class Level>
  KOKKOS_FORCEINLINE_FUNCTION void insert_up_to(const Level& level, int index, int most) const {
    if (*static_cast<volatile int*>(m_count) > most || !claim(level, index)) return;
    const int position = take(level);
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
  template <class Level>
  KOKKOS_FORCEINLINE_FUNCTION bool claim(const Level& level, int index) const {
    const auto key = static_cast<unsigned>(index);
    const std::size_t mask = m_size - 1;
    for (std::size_t k = (key * 0x9E3779B1u) >> m_shift;; k = (k + 1) & mask) {
      const unsigned seen = m_slots[k];
      if (seen == key) return false;
      if (seen != empty) continue;
      const unsigned before = exchange(level, m_slots + k, key);
      if (before == key) return false;
      if (before == empty) return true;
    }
  }
  template <class Level>
  KOKKOS_FORCEINLINE_FUNCTION static unsigned exchange(const Level&, unsigned* slot, unsigned key) {
    if constexpr (Level::width == 1) {
      *slot = key;
      return empty;
    } else if constexpr (Level::keeps_registers) {
      return Level::atomic_compare_exchange(slot, empty, key);
    } else {
      return Kokkos::atomic_compare_exchange(slot, empty, key);
    }
  }
  template <class Level>
  KOKKOS_FORCEINLINE_FUNCTION int take(const Level&) const {
    if constexpr (Level::width == 1)
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
template <class Level>
KOKKOS_FUNCTION void sort_list(const Level& level, int* list, int n) {
  if constexpr (Level::width == 1) {
    for (int gap = n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
      for (int i = gap; i < n; ++i) {
        const int value = list[i];
        int k = i;
        for (; k >= gap && list[k - gap] > value; k -= gap) list[k] = list[k - gap];
        list[k] = value;
      }
  } else {
    const auto size = static_cast<unsigned>(power_of_two_from(static_cast<std::size_t>(n)));
    level.region([&](int lane) {
      for (unsigned k = n + lane; k < size; k += level.size()) list[k] = 0x7fffffff;
    });
    for (unsigned run = 2; run <= size; run *= 2)
      for (unsigned stride = run / 2; stride > 0; stride /= 2)
        level.region([&](int lane) {
          for (unsigned t = lane; t < size / 2; t += level.size()) {
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
template <class Scalar, class Space, class Level>
class ProblemColumns {
 public:
  /// `begins` and `lengths` have n2 elements each.
  KOKKOS_FUNCTION ProblemColumns(const Level& level, const CsrView<Scalar, Space>& b, int n2,
                                 std::size_t* begins, int* lengths)
      : m_level(level), m_b(b), m_n2(n2), m_begins(begins), m_lengths(lengths) {}

  /// J = cols[0 .. n2). Calls visit(c, J[c]) for each.
  template <class Visit>
  KOKKOS_FUNCTION void read(const int* cols, const Visit& visit) const {
    m_level.region([&](int lane) {
      for (int c = lane; c < m_n2; c += m_level.size()) {
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
    const int group = m_level.size() < most ? m_level.size() : most;
    m_level.region([&](int lane) {
      for (int c = lane / group; c < m_n2; c += m_level.size() / group)
        for (int e = lane % group; e < m_lengths[c]; e += group) {
          const std::size_t entry = m_begins[c] + static_cast<std::size_t>(e);
          const int index = m_b.col_idxs(entry);
          if (index >= limit) break;
          visit(c, entry, index);
        }
    });
  }

 private:
  Level m_level;
  const CsrView<Scalar, Space>& m_b;
  int m_n2;
  std::size_t* m_begins;
  int* m_lengths;
};

}  // namespace prekond::impl::spai
