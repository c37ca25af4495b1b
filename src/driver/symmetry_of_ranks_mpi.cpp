// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/validate.hpp>
#include "distributed/row_partition.hpp"

#include "matrix/row_search.hpp"
#include "matrix/spd_text.hpp"
#include "messages_mpi.hpp"
#include "rows_of_ranks.hpp"

#include <algorithm>

namespace prekond::driver {
namespace {

/// An entry, as the process gets it that has its mirror.
struct Entry {
  std::int64_t row, col;
  double value;
  double diagonal;  ///< a_ii of its row
};

/// The first fault in the rows of a process, by the row of the whole matrix and the column.
struct Fault {
  std::int64_t row = Processes::no_key, col = 0;
  std::string text;
};

std::string value_text(const double* value, const char* missing) {
  return value != nullptr ? impl::number_text<double>(*value, 0) : missing;
}

/// The rows of a block, with columns that ascend.
class Block {
 public:
  explicit Block(const NumberedRows& block)
      : m_rows(block.rows), m_first_row(block.numbers.empty() ? 0 : block.numbers.front()) {}

  /// Null where the entry is not stored.
  const double* find(std::int64_t row, std::int64_t col) const {
    const std::int64_t i = row - m_first_row;
    const int* const cols = m_rows.col_idxs.data();
    const int* const end = cols + m_rows.row_ptrs(i + 1);
    const int* const found = std::lower_bound(cols + m_rows.row_ptrs(i), end, static_cast<int>(col));
    return found != end && *found == col ? m_rows.values.data() + (found - cols) : nullptr;
  }
  double diagonal(std::int64_t row) const {
    const double* const value = find(row, row);
    return value != nullptr ? *value : 0;
  }

  Fault first_bad_diagonal() const {
    for (std::int64_t row = m_first_row; row < m_first_row + m_rows.num_rows; ++row)
      if (!(diagonal(row) > 0))
        return {row, row, impl::bad_diagonal_text<double>(row, value_text(find(row, row), "missing"))};
    return {};
  }

  /// The entries of the local rows [begin, end), by the process that has the mirror.
  std::vector<std::vector<Entry>> entries(std::int64_t begin, std::int64_t end,
                                          const RowPartition& blocks) const {
    std::vector<std::vector<Entry>> lists(static_cast<std::size_t>(blocks.num_blocks));
    for (std::int64_t i = std::min(begin, m_rows.num_rows); i < std::min(end, m_rows.num_rows); ++i) {
      const std::int64_t row = m_first_row + i;
      const double d = diagonal(row);
      for (std::size_t k = m_rows.row_ptrs(i); k < m_rows.row_ptrs(i + 1); ++k)
        lists[static_cast<std::size_t>(blocks.block_of(m_rows.col_idxs(k)))].push_back(
            {row, m_rows.col_idxs(k), m_rows.values(k), d});
    }
    return lists;
  }

  /// Keeps the entry in `first` if it differs from its mirror and comes before.
  void compare(const Entry& entry, Fault& first) const {
    const double* const mirror = find(entry.col, entry.row);
    if (impl::is_symmetric_pair(entry.value, mirror != nullptr ? *mirror : 0,
                                impl::diagonal_scale(entry.diagonal, diagonal(entry.col)),
                                symmetry_tolerance<double>))
      return;
    if (std::pair(first.row, first.col) > std::pair(entry.row, entry.col))
      first = {entry.row, entry.col,
               impl::asymmetry_text<double>(entry.row, entry.col, value_text(&entry.value, ""),
                                            value_text(mirror, "missing (0)"))};
  }

 private:
  const HostRows& m_rows;
  std::int64_t m_first_row;
};

}  // namespace

SymmetryFacts symmetry_of_ranks(const Processes& processes, const NumberedRows& rows,
                                std::int64_t rows_at_a_time) {
  const Block block(rows);
  const RowPartition blocks{rows.rows.num_cols, processes.size()};
  Fault asymmetry;
  for (std::int64_t begin = 0; begin < blocks.size(0); begin += rows_at_a_time)
    for (const auto& list :
         exchange_lists(processes.rank(), block.entries(begin, begin + rows_at_a_time, blocks)))
      for (const Entry& entry : list) block.compare(entry, asymmetry);
  // The first row of all; in it the first column, which another process may have found.
  const std::int64_t row = processes.min(asymmetry.row);
  const std::string pair =
      processes.text_of_least(asymmetry.row == row ? asymmetry.col : Processes::no_key, asymmetry.text);
  const Fault diagonal = block.first_bad_diagonal();
  SymmetryFacts facts;
  facts.symmetric = row == Processes::no_key;
  facts.not_spd = processes.text_of_least(diagonal.row, diagonal.text);
  if (facts.not_spd.empty() && !facts.symmetric) facts.not_spd = pair;
  return facts;
}

}  // namespace prekond::driver
