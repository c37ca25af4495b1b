// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace prekond::reordering {

/// The Cuthill-McKee order by one host thread: textbook breadth-first search. The arrays are those of a
/// RankedGraph, in the host's memory.
class SequentialSearch {
 public:
  SequentialSearch(std::int64_t num_rows, const std::size_t* row_ptrs, const int* col_idxs, const int* rank,
                   int* order)
      : m_num_rows(num_rows),
        m_row_ptrs(row_ptrs),
        m_col_idxs(col_idxs),
        m_rank(rank),
        m_order(order),
        m_mark(static_cast<std::size_t>(num_rows), 0) {}

  /// Fills `order` with all rows, not reversed.
  void operator()() {
    for (int row = 0; row < m_num_rows; ++row)
      if (m_mark[static_cast<std::size_t>(row)] == 0) add_component(row);
  }

 private:
  /// The rows that a search found after m_first: rows up to `end`, those of the last level from `last`.
  struct Levels {
    std::int64_t count, last, end;
  };

  /// The order is that of the last search, from a pseudo-peripheral row.
  void add_component(int start) {
    Levels found = search(start);
    for (bool deeper = found.count > 1; deeper;) {
      const Levels next = search(of_least_rank(found));
      deeper = next.count > found.count;
      found = next;
    }
    m_first = found.end;
  }

  Levels search(int root) {
    ++m_stamp;
    std::int64_t begin = m_first, end = m_first;
    take(root, end);
    for (Levels levels{1, begin, end};; ++levels.count) {
      const std::int64_t level_end = end;
      for (std::int64_t q = begin; q < level_end; ++q) {
        const int row = m_order[q];
        for (std::size_t k = m_row_ptrs[row]; k < m_row_ptrs[row + 1]; ++k)
          if (m_mark[static_cast<std::size_t>(m_col_idxs[k])] != m_stamp) take(m_col_idxs[k], end);
      }
      if (end == level_end) return {levels.count, begin, end};
      begin = level_end;
    }
  }

  void take(int row, std::int64_t& end) {
    m_mark[static_cast<std::size_t>(row)] = m_stamp;
    m_order[end++] = row;
  }

  int of_least_rank(const Levels& levels) const {
    int least = m_order[levels.last];
    for (std::int64_t q = levels.last + 1; q < levels.end; ++q)
      if (m_rank[m_order[q]] < m_rank[least]) least = m_order[q];
    return least;
  }

  std::int64_t m_num_rows;
  const std::size_t* m_row_ptrs;
  const int* m_col_idxs;
  const int* m_rank;
  int* m_order;
  std::vector<std::uint32_t> m_mark;  ///< the last search that met a row
  std::uint32_t m_stamp = 0;
  std::int64_t m_first = 0;  ///< rows of the components before
};

}  // namespace prekond::reordering
