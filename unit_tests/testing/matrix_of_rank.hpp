// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/host_matrix.hpp"
#include "testing/ranks_in_one_process.hpp"

#include <prekond/core/error.hpp>
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/matrix/spmv.hpp>

#include <algorithm>
#include <cstdint>
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

template <class Scalar, class Space>
class ImportOfRank : public VectorImport<Scalar, Space> {
 public:
  ImportOfRank(const Rank& rank, const Parts& parts, std::vector<std::int64_t> remote)
      : m_rank(rank), m_parts(parts), m_remote(std::move(remote)) {}

  std::int64_t num_rows() const override { return static_cast<std::int64_t>(m_parts[m_rank.rank].size()); }
  std::int64_t num_cols() const override { return num_rows() + static_cast<std::int64_t>(m_remote.size()); }

  void apply(const Space& space, MultiVectorView<const Scalar, Space> x,
             MultiVectorView<Scalar, Space> all) const override {
    space.fence();
    const auto of_ranks = m_rank.all_gather("import", to_vectors<Scalar>(x));
    const auto place = places(m_parts);
    for (std::size_t v = 0; v < all.extent(1); ++v) {
      std::vector<Scalar> entries = of_ranks[m_rank.rank][v];
      for (const std::int64_t row : m_remote) {
        const auto [owner, i] = place.at(row);
        entries.push_back(of_ranks[owner].at(v)[i]);
      }
      Kokkos::deep_copy(column(all, v), to_device<Space>(entries));
    }
  }

 private:
  Rank m_rank;
  Parts m_parts;
  std::vector<std::int64_t> m_remote;
};

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
/// ranks stand in ascending order behind the rank's own.
template <class Scalar, class Space>
class MatrixOfRank : public DistributedMatrix<Scalar, Space> {
 public:
  MatrixOfRank(const Rank& rank, const HostMatrix<Scalar>& whole, const Parts& parts)
      : m_rank(rank),
        m_whole(whole),
        m_parts(parts),
        m_rows(local_rows()),
        m_import(rank, parts, {m_columns.begin() + num_rows(), m_columns.end()}),
        m_product(m_rows, m_import, {whole.num_rows, 0, to_device<Space>(own())}),
        m_reducer(rank) {}
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
  const VectorImport<Scalar, Space>& column_import() const override { return m_import; }

  std::unique_ptr<const VectorImport<Scalar, Space>> make_import(
      const Space& space, VectorView<const std::int64_t, Space> global) const override {
    return std::make_unique<impl::ImportOfRank<Scalar, Space>>(m_rank, m_parts, checked(space, global));
  }

  RemoteRows<Scalar, Space> remote_rows(const Space& space,
                                        VectorView<const std::int64_t, Space> global) const override {
    const auto numbers = checked(space, global);
    std::vector<std::size_t> row_ptrs(1, 0);
    std::vector<std::int64_t> col_idxs;
    std::vector<Scalar> values;
    for (const std::int64_t row : numbers) {
      for (std::size_t k = m_whole.row_ptrs[row]; k < m_whole.row_ptrs[row + 1]; ++k) {
        col_idxs.push_back(m_whole.col_idxs[k]);
        values.push_back(m_whole.values[k]);
      }
      row_ptrs.push_back(values.size());
    }
    return {static_cast<std::int64_t>(numbers.size()), to_device<Space>(row_ptrs), to_device<Space>(col_idxs),
            to_device<Space>(values)};
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
  HostMatrix<Scalar> m_whole;
  Parts m_parts;
  std::vector<std::int64_t> m_columns;
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> m_rows;
  impl::ImportOfRank<Scalar, Space> m_import;
  impl::ProductOfRank<Scalar, Space> m_product;
  impl::ReducerOfRank<Scalar, Space> m_reducer;
};

}  // namespace prekond::testing
