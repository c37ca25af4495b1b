// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The rows of A that belong to the columns P of one row of a factor, and their entries in P.
#include <prekond/matrix/csr_matrix.hpp>
#include "core/host_thread_group.hpp"

#include <cstddef>

namespace prekond::impl::fsai {

/// \see block_columns.hpp for a matrix by blocks
template <class Scalar, class Space, class LaneGroup, class Matrix = CsrView<Scalar, Space>>
class RowColumns {
 public:
  /// The arrays have `length` elements each.
  KOKKOS_FUNCTION RowColumns(const LaneGroup& lane_group, const Matrix& a, int length, std::size_t* begins,
                             int* lengths, int* cols)
      : m_lane_group(lane_group),
        m_a(a),
        m_length(length),
        m_begins(begins),
        m_lengths(lengths),
        m_cols(cols) {}

  /// P = cols[0 .. length), ascending. Calls visit(k, P[k]) for each.
  template <class Visit>
  KOKKOS_FUNCTION void read(const int* cols, const Visit& visit) const {
    m_lane_group.region([&](int lane) {
      for (int k = lane; k < m_length; k += m_lane_group.size()) {
        const int col = cols[k];
        const std::size_t begin = m_a.row_ptrs(col);
        m_cols[k] = col;
        m_begins[k] = begin;
        m_lengths[k] = static_cast<int>(m_a.row_ptrs(col + 1) - begin);
        visit(k, col);
      }
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION int operator[](int k) const { return m_cols[k]; }

  /// Calls set(k, j, entry) where row P[k] of A has an entry in column P[j], j < count(k).
  template <class Count, class Set>
  KOKKOS_FUNCTION void gather(const Count& count, const Set& set) const {
    if constexpr (LaneGroup::width == 1) {
      for_each(m_lane_group, m_length, [&](int k) { gather_row(k, count(k), set); });
    } else {
      const int group = m_lane_group.size() < 32 ? m_lane_group.size() : 32;
      m_lane_group.region([&](int lane) {
        for (int k = lane / group; k < m_length; k += m_lane_group.size() / group) {
          if (is_much_longer(m_lengths[k], count(k)))
            search_columns(k, count(k), lane % group, group, set);
          else
            search_row(k, count(k), lane % group, group, set);
        }
      });
    }
  }

 private:
  /// Is it less work to search the longer list for each entry of the shorter one than to read it? (So that a
  /// dense row of A is not read once for each row of the factor that has its column.)
  KOKKOS_FORCEINLINE_FUNCTION static bool is_much_longer(int longer, int shorter) {
    return longer / 32 >= shorter;
  }

  /// By one lane.
  template <class Set>
  KOKKOS_FUNCTION void gather_row(int k, int count, const Set& set) const {
    if (is_much_longer(m_lengths[k], count))
      search_columns(k, count, 0, 1, set);
    else if (is_much_longer(count, m_lengths[k]))
      search_row(k, count, 0, 1, set);
    else
      merge_row(k, count, set);
  }

  /// A lane's share of P, each column looked up in the row.
  template <class Set>
  KOKKOS_FORCEINLINE_FUNCTION void search_columns(int k, int count, int lane, int group,
                                                  const Set& set) const {
    const std::size_t row_end = m_begins[k] + static_cast<std::size_t>(m_lengths[k]);
    for (int j = lane; j < count; j += group) {
      const int col = m_cols[j];
      std::size_t begin = m_begins[k], end = row_end;
      while (begin < end) {
        const std::size_t middle = begin + (end - begin) / 2;
        if (m_a.col_idxs(middle) < col)
          begin = middle + 1;
        else
          end = middle;
      }
      if (begin < row_end && m_a.col_idxs(begin) == col) set(k, j, begin);
    }
  }

  template <class Set>
  KOKKOS_FUNCTION void merge_row(int k, int count, const Set& set) const {
    const std::size_t end = m_begins[k] + static_cast<std::size_t>(m_lengths[k]);
    int j = 0;
    for (std::size_t entry = m_begins[k]; entry < end; ++entry) {
      const int col = m_a.col_idxs(entry);
      while (m_cols[j] < col)
        if (++j == count) return;
      if (m_cols[j] != col) continue;
      set(k, j, entry);
      if (++j == count) return;
    }
  }

  /// A lane's share of a row, each entry looked up in P.
  template <class Set>
  KOKKOS_FORCEINLINE_FUNCTION void search_row(int k, int count, int lane, int group, const Set& set) const {
    const int first = m_cols[0], last = m_cols[count - 1];
    for (int e = lane; e < m_lengths[k]; e += group) {
      const std::size_t entry = m_begins[k] + static_cast<std::size_t>(e);
      const int col = m_a.col_idxs(entry);
      if (col > last) return;
      if (col < first) continue;
      int begin = 0, end = count - 1;
      while (begin < end) {
        const int middle = (begin + end) / 2;
        if (m_cols[middle] < col)
          begin = middle + 1;
        else
          end = middle;
      }
      if (m_cols[begin] == col) set(k, begin, entry);
    }
  }

  LaneGroup m_lane_group;
  const Matrix& m_a;
  int m_length;
  std::size_t* m_begins;
  int* m_lengths;
  int* m_cols;
};

}  // namespace prekond::impl::fsai
