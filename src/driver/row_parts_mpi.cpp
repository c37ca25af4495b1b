// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "row_parts_mpi.hpp"

#include <prekond/pattern/partition.hpp>
#include <prekond/pattern/symmetrize.hpp>
#include "distributed/row_partition.hpp"

#include "messages_mpi.hpp"
#include "session.hpp"
#include "zoltan_parts.hpp"

#include <numeric>
#include <utility>

namespace prekond::driver {
namespace {

RowPartition blocks_of(const Processes& processes, const HostRows& block) {
  return {block.num_cols, processes.size()};
}

/// All: what the processes have, one behind the other, on rank 0 in `all`. `begins`: where there; looked at
/// on rank 0.
template <class T>
void collect(const Processes& processes, const HostVector<T>& own, std::int64_t count,
             const std::vector<std::int64_t>& begins, T* all) {
  std::vector<std::span<const T>> out(processes.size());
  std::vector<std::span<T>> in(processes.size());
  out[0] = {own.data(), static_cast<std::size_t>(count)};
  if (processes.first())
    for (std::size_t r = 0; r < in.size(); ++r)
      in[r] = {all + begins[r], static_cast<std::size_t>(begins[r + 1] - begins[r])};
  exchange<T>(processes.rank(), out, in);
}

/// All: the pattern of all rows, on rank 0. Its row pointers are filled in at last.
CsrMatrix<const double, int, std::size_t, Kokkos::HostSpace> collect_pattern(const Processes& processes,
                                                                             const HostRows& block) {
  const RowPartition blocks = blocks_of(processes, block);
  std::vector<std::int64_t> nnz(processes.size(), 0), rows, entries(1, 0);
  nnz[0] = block.nnz();
  nnz = exchange_counts(nnz);  // on rank 0: everybody's
  HostVector<std::size_t> row_ptrs;
  HostVector<int> col_idxs;
  processes.together([&] {
    for (int r = 0; r <= processes.size(); ++r) rows.push_back(blocks.begin(r));
    for (const std::int64_t count : nnz) entries.push_back(entries.back() + count);
    row_ptrs = host_vector<std::size_t>("prekond::driver::row_ptrs", processes.first() ? rows.back() + 1 : 0);
    col_idxs = host_vector<int>("prekond::driver::col_idxs", processes.first() ? entries.back() : 0);
  });
  collect<std::size_t>(processes, block.row_ptrs, block.num_rows, rows, row_ptrs.data());
  collect<int>(processes, block.col_idxs, block.nnz(), entries, col_idxs.data());
  if (!processes.first()) return {};
  for (int r = 0; r < processes.size(); ++r)
    for (std::int64_t i = rows[r]; i < rows[r + 1]; ++i) row_ptrs(i) += static_cast<std::size_t>(entries[r]);
  row_ptrs(rows.back()) = static_cast<std::size_t>(entries.back());
  return {rows.back(), rows.back(), row_ptrs, col_idxs, {}};
}

std::vector<int> parts_by_metis(const Processes& processes,
                                const CsrMatrix<const double, int, std::size_t, Kokkos::HostSpace>& pattern) {
  const Space space;
  CsrGraph<Space> a;
  a.num_rows = a.num_cols = pattern.num_rows;
  a.row_ptrs = Kokkos::create_mirror_view_and_copy(Space::memory_space{}, pattern.row_ptrs);
  a.col_idxs = Kokkos::create_mirror_view_and_copy(Space::memory_space{}, pattern.col_idxs);
  const CsrGraph<Space> both = symmetrize<Space>(space, a);
  const auto partition = partition_graph<Space>(space, both, processes.size(), PartitionMethod::metis);
  const auto part = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, partition.part);
  return {part.data(), part.data() + part.extent(0)};
}

/// All: a process's parts on all.
void broadcast(std::span<int> parts, int from) {
  for (std::size_t k = 0; k < parts.size(); k += longest_message)
    MPI_Bcast(parts.data() + k, static_cast<int>(std::min(longest_message, parts.size() - k)), MPI_INT, from,
              MPI_COMM_WORLD);
}

/// All: the parts of all blocks, of which each process has its own.
std::vector<int> gather_parts(const Processes& processes, const RowPartition& blocks,
                              const std::vector<int>& own) {
  std::vector<int> parts;
  processes.together([&] {
    parts.resize(static_cast<std::size_t>(blocks.num_rows));
    std::copy(own.begin(), own.end(), parts.begin() + blocks.begin(processes.rank()));
  });
  for (int r = 0; r < processes.size(); ++r)
    broadcast(std::span(parts).subspan(static_cast<std::size_t>(blocks.begin(r)),
                                       static_cast<std::size_t>(blocks.size(r))),
              r);
  return parts;
}

/// Lists one behind the other, of which each process gets one.
template <class T>
struct Lists {
  explicit Lists(int count) : lengths(static_cast<std::size_t>(count), 0) {}
  std::vector<std::int64_t> lengths;
  std::vector<T> all;

  void allocate() {
    all.resize(static_cast<std::size_t>(std::accumulate(lengths.begin(), lengths.end(), 0ll)));
  }
  template <class Span>
  std::vector<Span> spans() {
    std::vector<Span> result;
    std::size_t begin = 0;
    for (const std::int64_t length : lengths) {
      result.emplace_back(all.data() + begin, static_cast<std::size_t>(length));
      begin += static_cast<std::size_t>(length);
    }
    return result;
  }
};

/// All: sends each list to its process. `in` has lengths.
template <class T>
void send(const Processes& processes, Lists<T>& out, Lists<T>& in) {
  processes.together([&] { in.allocate(); });
  exchange<T>(processes.rank(), out.template spans<std::span<const T>>(), in.template spans<std::span<T>>());
}

/// What the rows of a block are sent as.
struct Outgoing {
  explicit Outgoing(int count) : lengths(count), cols(count), values(count) {}
  Lists<std::int64_t> lengths;  ///< entries of each row
  Lists<int> cols;
  Lists<double> values;
};

/// By the process that gets them; the order of the rows stays.
Outgoing packed(const HostRows& block, std::int64_t first_row, const std::vector<int>& parts, int count) {
  Outgoing out(count);
  std::vector<std::vector<std::int64_t>> rows(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < block.num_rows; ++i)
    rows[static_cast<std::size_t>(parts[static_cast<std::size_t>(first_row + i)])].push_back(i);
  out.cols.all.reserve(static_cast<std::size_t>(block.nnz()));
  out.values.all.reserve(static_cast<std::size_t>(block.nnz()));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    out.lengths.lengths[r] = static_cast<std::int64_t>(rows[r].size());
    for (const std::int64_t i : rows[r]) {
      const std::size_t begin = block.row_ptrs(i), length = block.row_ptrs(i + 1) - begin;
      out.lengths.all.push_back(static_cast<std::int64_t>(length));
      out.cols.lengths[r] += static_cast<std::int64_t>(length);
      out.cols.all.insert(out.cols.all.end(), block.col_idxs.data() + begin,
                          block.col_idxs.data() + begin + length);
      out.values.all.insert(out.values.all.end(), block.values.data() + begin,
                            block.values.data() + begin + length);
    }
  }
  out.values.lengths = out.cols.lengths;
  return out;
}

template <class T>
HostVector<T> to_host_vector(const std::string& label, const std::vector<T>& from) {
  const auto to = host_vector<T>(label, static_cast<std::int64_t>(from.size()));
  std::copy(from.begin(), from.end(), to.data());
  return to;
}

}  // namespace

std::vector<int> find_parts(const Processes& processes, const PartitionChoice& choice,
                            const HostRows& block) {
  std::vector<int> parts;
  if (choice.by_rows()) return parts;
  if (choice.by_zoltan())
    return gather_parts(processes, blocks_of(processes, block), parts_by_zoltan(processes, block));
  if (choice.by_metis()) {
    const auto pattern = collect_pattern(processes, block);
    processes.only_first([&] { parts = parts_by_metis(processes, pattern); });
  }
  processes.together([&] {
    if (processes.first() && choice.by_file()) parts = choice.parts;
    parts.resize(static_cast<std::size_t>(block.num_cols));
  });
  broadcast(parts, 0);
  return parts;
}

NumberedRows send_rows(const Processes& processes, const std::vector<int>& parts, HostRows block) {
  const RowPartition blocks = blocks_of(processes, block);
  const int rank = processes.rank(), size = processes.size();
  NumberedRows own;
  Lists<std::int64_t> lengths(size);
  processes.together([&] {
    // Senders' blocks ascend: what arrives is in the order of the rows.
    for (std::int64_t row = 0; row < block.num_cols; ++row) {
      const int sender = blocks.block_of(row),
                receiver = parts.empty() ? sender : parts[static_cast<std::size_t>(row)];
      if (receiver != rank) continue;
      own.numbers.push_back(static_cast<int>(row));
      ++lengths.lengths[static_cast<std::size_t>(sender)];
    }
  });
  if (parts.empty()) {
    own.rows = std::move(block);
    return own;
  }
  Outgoing out(size);
  processes.together([&] { out = packed(block, blocks.begin(rank), parts, size); });
  const std::int64_t num_cols = std::exchange(block, {}).num_cols;
  send(processes, out.lengths, lengths);
  Lists<int> cols(size);
  Lists<double> values(size);
  cols.lengths = values.lengths = exchange_counts(out.cols.lengths);
  send(processes, out.cols, cols);
  send(processes, out.values, values);
  processes.together([&] {
    std::vector<std::size_t> row_ptrs(1, 0);
    for (const std::int64_t length : lengths.all)
      row_ptrs.push_back(row_ptrs.back() + static_cast<std::size_t>(length));
    own.rows = HostRows(static_cast<std::int64_t>(own.numbers.size()), num_cols,
                        to_host_vector("prekond::driver::row_ptrs", row_ptrs),
                        to_host_vector("prekond::driver::col_idxs", cols.all),
                        to_host_vector("prekond::driver::values", values.all));
  });
  return own;
}

}  // namespace prekond::driver
