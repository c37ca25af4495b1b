// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rows_of_ranks.hpp"

#include <prekond/pattern/impl/symmetrize.hpp>
#include <prekond/pattern/partition.hpp>
#include "distributed/row_partition.hpp"

#include "messages_mpi.hpp"

#include <numeric>
#include <utility>

namespace prekond::driver {
namespace {

/// Rows as they are sent, by receiver or sender.
struct RowLists {
  explicit RowLists(int count) : numbers(count), lengths(count), cols(count), values(count) {}
  std::vector<std::vector<int>> numbers, lengths, cols;
  std::vector<std::vector<double>> values;
};

RowLists packed(const NumberedRows& block, const std::vector<int>& parts, int count) {
  const HostRows& rows = block.rows;
  RowLists lists(count);
  for (std::int64_t i = 0; i < rows.num_rows; ++i) {
    const int number = block.numbers[static_cast<std::size_t>(i)];
    const int part = parts[static_cast<std::size_t>(number)];
    const std::size_t begin = rows.row_ptrs(i), end = rows.row_ptrs(i + 1);
    lists.numbers[part].push_back(number);
    lists.lengths[part].push_back(static_cast<int>(end - begin));
    lists.cols[part].insert(lists.cols[part].end(), rows.col_idxs.data() + begin, rows.col_idxs.data() + end);
    lists.values[part].insert(lists.values[part].end(), rows.values.data() + begin, rows.values.data() + end);
  }
  return lists;
}

/// The lists one after the other; they are freed.
template <class Pointer, class T>
void join(std::vector<std::vector<T>>&& lists, Pointer to) {
  for (auto& list : lists) {
    to = std::copy(list.begin(), list.end(), to);
    list = {};
  }
}

template <class T>
std::size_t total_size(const std::vector<std::vector<T>>& lists) {
  return std::accumulate(lists.begin(), lists.end(), std::size_t(0),
                         [](std::size_t sum, const auto& list) { return sum + list.size(); });
}

/// Row pointers of rows with these lengths.
HostRows::view<std::size_t> row_ptrs_of(const std::vector<std::vector<int>>& lengths) {
  const HostRows::view<std::size_t> row_ptrs("prekond::driver::row_ptrs", total_size(lengths) + 1);
  std::size_t row = 0;
  for (const auto& list : lengths)
    for (const int length : list) {
      row_ptrs(row + 1) = row_ptrs(row) + static_cast<std::size_t>(length);
      ++row;
    }
  return row_ptrs;
}

template <class T>
HostRows::view<T> uninitialized(const std::string& label, std::size_t size) {
  return HostRows::view<T>(Kokkos::view_alloc(Kokkos::WithoutInitializing, label), size);
}

/// Collective. The pattern of all rows, on rank 0; elsewhere no rows.
CsrGraph<Space> collect_pattern(const Processes& processes, const HostRows& rows) {
  std::vector<std::vector<int>> lengths(processes.size()), cols(processes.size());
  for (std::int64_t i = 0; i < rows.num_rows; ++i)
    lengths[0].push_back(static_cast<int>(rows.row_ptrs(i + 1) - rows.row_ptrs(i)));
  cols[0].assign(rows.col_idxs.data(), rows.col_idxs.data() + rows.nnz());
  lengths = exchange_lists(processes.rank(), lengths);
  cols = exchange_lists(processes.rank(), cols);
  CsrGraph<Space> pattern;
  pattern.num_rows = pattern.num_cols = static_cast<std::int64_t>(total_size(lengths));
  const auto col_idxs = uninitialized<int>("prekond::driver::col_idxs", total_size(cols));
  join(std::move(cols), col_idxs.data());
  pattern.row_ptrs = Kokkos::create_mirror_view_and_copy(Space::memory_space{}, row_ptrs_of(lengths));
  pattern.col_idxs = Kokkos::create_mirror_view_and_copy(Space::memory_space{}, col_idxs);
  return pattern;
}

}  // namespace

std::vector<int> find_parts(const Processes& processes, const PartitionChoice& choice,
                            const NumberedRows& block) {
  const RowPartition blocks{block.rows.num_cols, processes.size()};
  const int rank = processes.rank();
  const bool is_in_place = block.rows.num_rows == blocks.size(rank) &&
                           (block.numbers.empty() || block.numbers.front() == blocks.begin(rank));
  if (choice.by_rows() && processes.min(is_in_place ? 1 : 0) == 1) return {};
  std::vector<int> parts(static_cast<std::size_t>(block.rows.num_cols));
  if (choice.by_rows()) {
    for (int r = 0; r < processes.size(); ++r)
      std::fill(parts.begin() + blocks.begin(r), parts.begin() + blocks.end(r), r);
    return parts;
  }
  if (choice.by_metis()) {
    const CsrGraph<Space> pattern = collect_pattern(processes, block.rows);
    processes.on_root([&] {
      const Space space;
      const CsrGraph<Space> both = symmetrize<Space>(space, pattern);
      const auto found = partition_graph<Space>(space, both, processes.size(), PartitionMethod::metis);
      const auto part = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, found.part);
      std::copy_n(part.data(), parts.size(), parts.begin());
    });
  } else if (processes.is_root()) {
    parts = choice.parts;
  }
  for (std::size_t k = 0; k < parts.size(); k += longest_message)
    MPI_Bcast(parts.data() + k, static_cast<int>(std::min(longest_message, parts.size() - k)), MPI_INT, 0,
              MPI_COMM_WORLD);
  return parts;
}

NumberedRows send_rows(const Processes& processes, const std::vector<int>& parts, NumberedRows block) {
  if (parts.empty()) return block;
  NumberedRows own;
  const std::int64_t num_cols = block.rows.num_cols;
  RowLists lists = packed(block, parts, processes.size());
  block = {};
  lists.numbers = exchange_lists(processes.rank(), lists.numbers);
  lists.lengths = exchange_lists(processes.rank(), lists.lengths);
  lists.cols = exchange_lists(processes.rank(), lists.cols);
  lists.values = exchange_lists(processes.rank(), lists.values);
  own.numbers.resize(total_size(lists.numbers));
  join(std::move(lists.numbers), own.numbers.begin());  // senders' blocks ascend, so the numbers do
  const auto cols = uninitialized<int>("prekond::driver::col_idxs", total_size(lists.cols));
  const auto values = uninitialized<double>("prekond::driver::values", total_size(lists.values));
  join(std::move(lists.cols), cols.data());
  join(std::move(lists.values), values.data());
  own.rows = HostRows(static_cast<std::int64_t>(own.numbers.size()), num_cols, row_ptrs_of(lists.lengths),
                      cols, values);
  return own;
}

}  // namespace prekond::driver
