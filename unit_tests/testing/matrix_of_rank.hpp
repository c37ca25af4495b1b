// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/general_matrices.hpp"
#include "testing/host_matrix.hpp"
#include "testing/ranks_in_one_process.hpp"
#include "testing/stream_messages.hpp"

#include <prekond/core/error.hpp>
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/distributed/impl/buffered_import.hpp>
#include <prekond/distributed/row_exchange.hpp>
#include <prekond/matrix/spmv.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace prekond::testing {

/// Which rank has which rows, by global number and in the rank's own order.
using Parts = std::vector<std::vector<std::int64_t>>;

/// Consecutive rows; `sizes` adds up to their number.
inline Parts consecutive_parts(const std::vector<std::int64_t>& sizes) {
  Parts parts;
  std::int64_t first = 0;
  for (const std::int64_t size : sizes) {
    parts.emplace_back(size);
    std::iota(parts.back().begin(), parts.back().end(), first);
    first += size;
  }
  return parts;
}

/// Row i on rank i mod size, the last first.
inline Parts cyclic_parts(std::int64_t num_rows, int size) {
  Parts parts(size);
  for (std::int64_t i = num_rows - 1; i >= 0; --i) parts[i % size].push_back(i);
  return parts;
}

namespace impl {

template <class Scalar>
using HostVectors = std::vector<std::vector<Scalar>>;

template <class Scalar, class View>
HostVectors<Scalar> to_vectors(const View& x) {
  HostVectors<Scalar> columns;
  for (std::size_t v = 0; v < x.extent(1); ++v) columns.push_back(to_vector(column(x, v)));
  return columns;
}

/// Row -> the rank that has it, and where.
inline std::map<std::int64_t, std::pair<int, std::size_t>> places(const Parts& parts) {
  std::map<std::int64_t, std::pair<int, std::size_t>> places;
  for (std::size_t rank = 0; rank < parts.size(); ++rank)
    for (std::size_t i = 0; i < parts[rank].size(); ++i) places[parts[rank][i]] = {static_cast<int>(rank), i};
  return places;
}

/// Which entries each rank sends to which: `wanted[r]`, the rows that rank r imports.
inline std::vector<std::vector<std::vector<int>>> sent_rows(
    const Parts& parts, const std::vector<std::vector<std::int64_t>>& wanted) {
  const auto place = places(parts);
  std::vector<std::vector<std::vector<int>>> sent(parts.size(), std::vector<std::vector<int>>(parts.size()));
  for (std::size_t to = 0; to < parts.size(); ++to)
    for (const std::int64_t row : wanted[to])
      sent[place.at(row).first][to].push_back(static_cast<int>(place.at(row).second));
  return sent;
}

/// Messages between the ranks of one process.
template <class Scalar>
class MessagesOfRank : public Messages<Scalar> {
 public:
  /// `slots[from][to]`: how many rank `from` sends to rank `to`.
  MessagesOfRank(const Rank& rank, std::vector<std::vector<std::size_t>> slots)
      : m_rank(rank), m_slots(std::move(slots)) {}

  void start(const Scalar* sent, Scalar* received, int k) override {
    const auto mine = slots_of([&](int other) { return m_slots[m_rank.rank][other]; });
    exchange("import", sent, mine, received, k, [&](int from, int to) { return m_slots[from][to]; });
  }
  void finish() override {}
  void start_reverse(const Scalar* received, Scalar* sent, int k) override {
    const auto mine = slots_of([&](int other) { return m_slots[other][m_rank.rank]; });
    exchange("reverse import", received, mine, sent, k, [&](int from, int to) { return m_slots[to][from]; });
  }
  void finish_reverse() override {}

 private:
  template <class Count>
  std::size_t slots_of(const Count& count) const {
    std::size_t sum = 0;
    for (int other = 0; other < m_rank.size(); ++other) sum += count(other);
    return sum;
  }
  /// `count(from, to)`: slots of a message.
  template <class Count>
  void exchange(const std::string& call, const Scalar* out, std::size_t size, Scalar* in, int k,
                const Count& count) const {
    const auto buffers = m_rank.all_gather(call, std::vector<Scalar>(out, out + size * k));
    for (int from = 0; from < m_rank.size(); ++from) {
      std::size_t begin = 0;
      for (int to = 0; to < m_rank.rank; ++to) begin += count(from, to);
      const Scalar* first = buffers[from].data() + begin * k;
      in = std::copy(first, first + count(from, m_rank.rank) * k, in);
    }
  }

  Rank m_rank;
  std::vector<std::vector<std::size_t>> m_slots;
};

/// `remote`: what this rank wants. Collective.
inline RowPlan plan_of_rank(const Rank& rank, const Parts& parts, const std::vector<std::int64_t>& remote) {
  RowPlan plan;
  const auto sent = sent_rows(parts, rank.all_gather("choice", remote))[rank.rank];
  for (int to = 0; to < rank.size(); ++to) {
    plan.sent_rows.insert(plan.sent_rows.end(), sent[to].begin(), sent[to].end());
    if (!sent[to].empty()) plan.neighbours.to.push_back({to, static_cast<std::int64_t>(sent[to].size())});
  }
  const auto place = places(parts);
  for (int from = 0; from < rank.size(); ++from) {
    const std::size_t before = plan.received_places.size();
    for (std::size_t k = 0; k < remote.size(); ++k)
      if (place.at(remote[k]).first == from) plan.received_places.push_back(static_cast<int>(k));
    const std::size_t slots = plan.received_places.size() - before;
    if (slots > 0) plan.neighbours.from.push_back({from, static_cast<std::int64_t>(slots)});
  }
  return plan;
}

/// Collective.
template <class Scalar, class Space>
std::unique_ptr<Messages<Scalar>> messages_of_rank(const Rank& rank, const Neighbours& neighbours,
                                                   bool in_stream_order) {
  std::vector<std::size_t> mine(rank.size(), 0);
  for (const Neighbour& other : neighbours.to) mine[other.rank] = static_cast<std::size_t>(other.slots);
  auto messages = std::make_unique<MessagesOfRank<Scalar>>(rank, rank.all_gather("slots", mine));
  if (!in_stream_order) return messages;
  return std::make_unique<StreamMessages<Scalar, Space>>(std::move(messages), neighbours);
}

/// Collective.
template <class Scalar, class Space>
std::unique_ptr<BufferedImport<Scalar, Space>> import_of_rank(const Rank& rank, const Parts& parts,
                                                              const std::vector<std::int64_t>& remote,
                                                              bool in_stream_order) {
  const RowPlan plan = plan_of_rank(rank, parts, remote);
  return std::make_unique<BufferedImport<Scalar, Space>>(
      Space(), static_cast<std::int64_t>(parts[rank.rank].size()), plan.lists(Space()),
      messages_of_rank<Scalar, Space>(rank, plan.neighbours, in_stream_order));
}

template <class Scalar, class Space>
class ProductOfRank : public Operator<Scalar, Space> {
 public:
  ProductOfRank(const CsrView<Scalar, Space>& rows, const VectorImport<Scalar, Space>& columns,
                const RowNumbers<Space>& numbers)
      : m_rows(rows), m_columns(columns), m_numbers(numbers) {}

  std::int64_t num_rows() const override { return m_rows.num_rows; }
  std::int64_t num_cols() const override { return m_rows.num_rows; }
  RowNumbers<Space> row_numbers(const Space& /*space*/) const override { return m_numbers; }
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Scalar alpha, Scalar beta) const override {
    const MultiVector<Scalar, Space> all("prekond::testing::all", m_rows.num_cols, x.extent(1));
    m_columns.apply(space, x, all);
    spmv<Scalar, Space>(space, alpha, m_rows, all, beta, y);
    space.fence();  // before `all` goes away
  }

 private:
  CsrView<Scalar, Space> m_rows;
  const VectorImport<Scalar, Space>& m_columns;
  RowNumbers<Space> m_numbers;
};

template <class Scalar, class Space>
class ReducerOfRank : public Reducer<Scalar, Space> {
 public:
  explicit ReducerOfRank(const Rank& rank) : m_rank(rank) {}
  void sum(const Space& space, VectorView<Scalar, Space> values) const override {
    space.fence();
    const auto of_ranks = m_rank.all_gather("sum", to_vector(values));
    std::vector<Scalar> sums(values.extent(0), Scalar(0));
    for (const auto& mine : of_ranks)
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += mine.at(k);
    Kokkos::deep_copy(values, to_device<Space>(sums));
  }

 private:
  Rank m_rank;
};

}  // namespace impl

/// A DistributedMatrix of ranks in one process, of a matrix that every rank knows whole. Columns of other
/// ranks are in ascending order after the rank's own.
template <class Scalar, class Space>
class MatrixOfRank : public DistributedMatrix<Scalar, Space> {
 public:
  /// `in_stream_order`: the messages are so, see StreamMessages. `block_size`: the matrix is one by blocks,
  /// of which ranks have whole ones.
  MatrixOfRank(const Rank& rank, const HostMatrix<Scalar>& whole, const Parts& parts,
               bool in_stream_order = false, int block_size = 1)
      : m_rank(rank),
        m_in_stream_order(in_stream_order),
        m_whole(whole),
        m_parts(parts),
        m_rows(local_rows()),
        m_import(impl::import_of_rank<Scalar, Space>(
            rank, parts, {m_columns.begin() + num_rows(), m_columns.end()}, in_stream_order)),
        m_product(m_rows, *m_import, {whole.num_rows, 0, to_device<Space>(own())}),
        m_reducer(rank) {
    m_blocks.block_size = block_size;
    if (block_size > 1) m_blocks = to_bcsr<Scalar, Space>(Space(), m_rows, block_size);
  }
  MatrixOfRank(const MatrixOfRank&) = delete;

  CsrView<Scalar, Space> rows() const { return m_rows; }

  std::int64_t num_rows() const override { return static_cast<std::int64_t>(own().size()); }
  std::int64_t num_cols() const override { return static_cast<std::int64_t>(m_columns.size()); }
  std::int64_t num_global_rows() const override { return m_whole.num_rows; }
  std::int64_t global_number(std::int64_t column) const override { return m_columns.at(column); }
  Vector<const std::int64_t, Space> global_numbers(const Space& /*space*/) const override {
    return to_device<Space>(m_columns);
  }
  const Operator<Scalar, Space>& product() const override { return m_product; }
  const Reducer<Scalar, Space>& reducer() const override { return m_reducer; }
  const VectorImport<Scalar, Space>& column_import() const override { return *m_import; }
  CsrView<Scalar, Space> own_rows() const override { return m_rows; }
  int block_size() const override { return m_blocks.block_size; }
  BcsrView<Scalar, Space> own_blocks() const override { return m_blocks; }

  std::unique_ptr<const VectorImport<Scalar, Space>> make_import(
      const Space& space, VectorView<const std::int64_t, Space> global) const override {
    return impl::import_of_rank<Scalar, Space>(m_rank, m_parts, checked(space, global), m_in_stream_order);
  }

  RemoteRows<Scalar, Space> remote_rows(const Space& space,
                                        VectorView<const std::int64_t, Space> global) const override {
    return make_row_exchange(space, global)->fetch(space, {m_rows, global_numbers(space)});
  }

  std::unique_ptr<const RowExchange<Scalar, Space>> make_row_exchange(
      const Space& space, VectorView<const std::int64_t, Space> global) const override {
    const RowPlan plan = impl::plan_of_rank(m_rank, m_parts, checked(space, global));
    return planned_row_exchange<Scalar, Space>(
        plan.neighbours, plan.lists(space),
        [rank = m_rank, in_stream_order = m_in_stream_order]<class T>(T, const Neighbours& neighbours) {
          return impl::messages_of_rank<T, Space>(rank, neighbours, in_stream_order);
        });
  }
  RemoteRows<Scalar, Space> remote_blocks(const Space& space,
                                          VectorView<const std::int64_t, Space> global) const override {
    space.fence();
    const int b = block_size();
    Parts parts = m_parts;
    for (auto& part : parts) part = blocks_of(part);
    const CsrView<Scalar, Space> rows(m_blocks.num_block_rows, m_blocks.num_block_cols, m_blocks.row_ptrs,
                                      m_blocks.col_idxs, m_blocks.values);
    const RowPlan plan = impl::plan_of_rank(m_rank, parts, to_vector(global));
    return planned_row_exchange<Scalar, Space>(plan.neighbours, plan.lists(space),
                                               [&]<class T>(T, const Neighbours& neighbours) {
                                                 return impl::messages_of_rank<T, Space>(m_rank, neighbours,
                                                                                         m_in_stream_order);
                                               })
        ->fetch(space, {rows, to_device<Space>(blocks_of(m_columns)), b * b});
  }
  void together(const std::function<void()>& work) const override {
    std::string error;
    std::int64_t row = -1;
    try {
      work();
    } catch (const InputError& thrown) {
      error = thrown.what();
      row = thrown.row();
    }
    const auto errors = m_rank.all_gather("together", error);
    const auto rows = m_rank.all_gather("row", row);
    for (std::size_t rank = 0; rank < errors.size(); ++rank)
      if (!errors[rank].empty())
        throw InputError("rank " + std::to_string(rank) + ": " + errors[rank], rows[rank]);
  }
  double largest(double value) const override {
    const auto values = m_rank.all_gather("largest", value);
    return *std::max_element(values.begin(), values.end());
  }

  bool redistributes() const override { return true; }
  std::unique_ptr<const DistributedMatrix<Scalar, Space>> with_rows(
      const Space& space, VectorView<const std::int64_t, Space> rows) const override {
    space.fence();
    const Parts parts = m_rank.all_gather("with_rows", to_vector(rows));
    HostMatrix<Scalar> empty;
    for (const auto& part : parts) empty.num_rows += static_cast<std::int64_t>(part.size());
    empty.num_cols = empty.num_rows;
    empty.row_ptrs.assign(empty.num_rows + 1, 0);
    return std::make_unique<MatrixOfRank>(m_rank, empty, parts, m_in_stream_order);
  }
  std::int64_t sum_before(std::int64_t mine) const override {
    const auto all = m_rank.all_gather("sum_before", mine);
    return std::accumulate(all.begin(), all.begin() + m_rank.rank, std::int64_t(0));
  }

  void scatter(const Space& space, VectorView<const Scalar, Space> whole,
               VectorView<Scalar, Space> mine) const override {
    space.fence();
    const auto of_first =
        m_rank.all_gather("scatter", m_rank.rank == 0 ? to_vector(whole) : std::vector<Scalar>()).front();
    std::vector<Scalar> entries;
    for (const std::int64_t row : own()) entries.push_back(of_first.at(row));
    Kokkos::deep_copy(mine, to_device<Space>(entries));
  }

  void gather(const Space& space, VectorView<const Scalar, Space> mine,
              VectorView<Scalar, Space> whole) const override {
    space.fence();
    const auto of_ranks = m_rank.all_gather("gather", to_vector(mine));
    if (m_rank.rank > 0) return;
    std::vector<Scalar> entries(m_whole.num_rows);
    for (std::size_t rank = 0; rank < m_parts.size(); ++rank)
      for (std::size_t i = 0; i < m_parts[rank].size(); ++i) entries[m_parts[rank][i]] = of_ranks[rank].at(i);
    Kokkos::deep_copy(whole, to_device<Space>(entries));
  }

 private:
  const std::vector<std::int64_t>& own() const { return m_parts[m_rank.rank]; }

  std::vector<std::int64_t> blocks_of(const std::vector<std::int64_t>& rows) const {
    std::vector<std::int64_t> blocks;
    for (std::size_t i = 0; i < rows.size(); i += block_size()) blocks.push_back(rows[i] / block_size());
    return blocks;
  }

  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> local_rows() {
    std::map<std::int64_t, int> local;
    m_columns = own();
    for (const std::int64_t row : own()) local.emplace(row, static_cast<int>(local.size()));
    std::map<std::int64_t, int> remote;
    for (const std::int64_t row : own())
      for (std::size_t k = m_whole.row_ptrs[row]; k < m_whole.row_ptrs[row + 1]; ++k)
        if (!local.contains(m_whole.col_idxs[k])) remote[m_whole.col_idxs[k]] = 0;
    for (const auto& [column, unused] : remote) {
      local.emplace(column, static_cast<int>(m_columns.size()));
      m_columns.push_back(column);
    }
    HostMatrix<Scalar> rows;
    rows.num_rows = num_rows();
    rows.num_cols = num_cols();
    for (const std::int64_t row : own()) {
      std::map<int, Scalar> sorted;
      for (std::size_t k = m_whole.row_ptrs[row]; k < m_whole.row_ptrs[row + 1]; ++k)
        sorted[local.at(m_whole.col_idxs[k])] = m_whole.values[k];
      for (const auto& [column, value] : sorted)
        rows.col_idxs.push_back(column), rows.values.push_back(value);
      rows.row_ptrs.push_back(rows.nnz());
    }
    return to_device<Space>(rows);
  }

  std::vector<std::int64_t> checked(const Space& space, VectorView<const std::int64_t, Space> global) const {
    space.fence();
    const auto numbers = to_vector(global);
    const auto place = impl::places(m_parts);
    std::string error;
    for (const std::int64_t row : numbers) {
      if (!place.contains(row))
        error = std::to_string(row) + " (counted from 0) does not exist";
      else if (place.at(row).first == m_rank.rank)
        error = std::to_string(row) + " (counted from 0) is the rank's own";
      else if (std::count(numbers.begin(), numbers.end(), row) > 1)
        error = std::to_string(row) + " (counted from 0) stands twice in the list";
    }
    for (const std::string& of_rank : m_rank.all_gather("numbers", error))
      if (!of_rank.empty()) throw InputError("rows of other ranks were asked for: row " + of_rank);
    return numbers;
  }

  Rank m_rank;
  bool m_in_stream_order;
  HostMatrix<Scalar> m_whole;
  Parts m_parts;
  std::vector<std::int64_t> m_columns;
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> m_rows;
  BcsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> m_blocks;
  std::unique_ptr<BufferedImport<Scalar, Space>> m_import;
  impl::ProductOfRank<Scalar, Space> m_product;
  impl::ReducerOfRank<Scalar, Space> m_reducer;
};

}  // namespace prekond::testing
