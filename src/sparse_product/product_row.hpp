// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A row of a sparse product's pattern, where its columns are few enough for scratch or registers.
#include <prekond/matrix/csr_graph.hpp>
#include "core/lane_group.hpp"

#include "core/concurrent_words.hpp"
#include "sparse_product/column_table.hpp"

#include <cstdint>

namespace prekond::impl::spgemm {

/// Vectors of a team that share so much scratch: a power of two, so that warps are full.
inline int vectors_of_team(std::size_t scratch, std::size_t bytes_of_vector, int most) {
  int vectors = 1;
  while (2 * vectors <= most && 2 * vectors * bytes_of_vector <= scratch) vectors *= 2;
  return vectors;
}

/// The columns of row i of A B, in ascending order in a thread's own array: for rows with at most `most`
/// columns. A new column is compared with all places, each of which keeps the smaller one, so that they stay
/// in registers.
template <class Space, int most>
struct SmallPatternRow {
  static constexpr int none = 0x7fffffff;
  CsrGraphView<Space> a, b;
  int cols[most];  ///< `none` after the last
  bool fits = true;

  KOKKOS_FUNCTION SmallPatternRow(const CsrGraphView<Space>& left, const CsrGraphView<Space>& right, int i)
      : a(left), b(right) {
    for (int p = 0; p < most; ++p) cols[p] = none;
    for (std::size_t e = a.row_ptrs(i); e < a.row_ptrs(i + 1); ++e) {
      const int k = a.col_idxs(e);
      for (std::size_t q = b.row_ptrs(k); q < b.row_ptrs(k + 1); ++q) insert(b.col_idxs(q));
    }
  }
  KOKKOS_FUNCTION void insert(int col) {
    for (int p = 0; p < most; ++p) {
      const int here = cols[p];
      cols[p] = col < here ? col : here;
      col = col == here ? none : col < here ? here : col;
    }
    if (col != none) fits = false;
  }
  KOKKOS_FUNCTION int count() const {
    int result = 0;
    for (int p = 0; p < most; ++p) result += cols[p] != none;
    return result;
  }
  KOKKOS_FUNCTION void write(int* to) const {
    for (int p = 0; p < most; ++p)
      if (cols[p] != none) to[p] = cols[p];
  }
};

/// The columns of row i of A B by a vector of lanes: a hash table of them and a list, in scratch. Lanes take
/// A's entries or, where these are few, the entries of B's rows; they insert in no particular order, and the
/// list is ranked when it is written.
template <class Space>
class PatternRow {
 public:
  /// Scratch for rows of up to `capacity` columns.
  KOKKOS_FUNCTION static std::size_t bytes(int capacity) {
    return (ColumnTable::num_buckets(capacity + slack) + static_cast<std::size_t>(capacity) + 1) *
           sizeof(int);
  }

  KOKKOS_FUNCTION PatternRow(const CsrGraphView<Space>& a, const CsrGraphView<Space>& b, void* scratch,
                             int capacity)
      : m_a(a),
        m_b(b),
        m_count(static_cast<int*>(scratch)),
        m_list(m_count + 1),
        m_table(m_list + capacity, ColumnTable::num_buckets(capacity + slack)),
        m_capacity(capacity) {}

  /// Finds the columns. \returns how many there are, or -1 for more than `capacity`
  template <class LaneGroup>
  KOKKOS_FUNCTION int search(const LaneGroup& lane_group, int i) const {
    lane_group.region([&](int lane) {
      for (int k = lane; k < m_table.size(); k += LaneGroup::width) m_table.clear(k);
      if (lane == 0) *m_count = 0;
    });
    const std::size_t begin = m_a.row_ptrs(i), end = m_a.row_ptrs(i + 1);
    const bool by_entries = 2 * (end - begin) >= static_cast<std::size_t>(LaneGroup::width);
    lane_group.region([&](int lane) {
      const std::size_t step = by_entries ? LaneGroup::width : 1;
      for (std::size_t e = begin + (by_entries ? lane : 0); e < end && !is_full(); e += step) {
        const int k = m_a.col_idxs(e);
        const std::size_t last = m_b.row_ptrs(k + 1), wide = by_entries ? 1 : LaneGroup::width;
        for (std::size_t q = m_b.row_ptrs(k) + (by_entries ? 0 : lane); q < last && !is_full(); q += wide)
          insert(m_b.col_idxs(q));
      }
    });
    const int count = *m_count;
    lane_group.region([](int) {});  // all have read it before the next row begins
    return count > m_capacity ? -1 : count;
  }

  /// The columns found, ascending. \pre search was not negative
  template <class LaneGroup>
  KOKKOS_FUNCTION void write(const LaneGroup& lane_group, int count, int* cols) const {
    lane_group.region([&](int lane) {
      for (int p = lane; p < count; p += LaneGroup::width) {
        const int col = m_list[p];
        int rank = 0;
        for (int q = 0; q < count; ++q) rank += m_list[q] < col ? 1 : 0;
        cols[rank] = col;
      }
    });
  }

 private:
  static constexpr int slack = 32;  ///< columns that the lanes may add at once past the capacity

  KOKKOS_FUNCTION bool is_full() const { return concurrent_load(*m_count) > m_capacity; }

  KOKKOS_FUNCTION void insert(int col) const {
    unsigned bucket = 0;
    if (!m_table.insert(col, bucket)) return;
    const int place = Kokkos::atomic_fetch_add(m_count, 1);
    if (place < m_capacity) m_list[place] = col;
  }

  CsrGraphView<Space> m_a, m_b;
  int *m_count, *m_list;
  ColumnTable m_table;
  int m_capacity;
};

}  // namespace prekond::impl::spgemm
