// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Matrices and vectors that every rank knows whole, and the same distributed by Tpetra. All that takes or
/// makes a Tpetra object is collective.
#include "testing/distributed_problems.hpp"
#include "testing/host_matrix.hpp"

#include <gtest/gtest.h>
#include <Teuchos_CommHelpers.hpp>
#include <Tpetra_BlockCrsMatrix.hpp>
#include <Tpetra_Core.hpp>
#include <Tpetra_CrsMatrix.hpp>
#include <Tpetra_MultiVector.hpp>
#include <Tpetra_Vector.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace prekond::testing {

using TpetraMap = Tpetra::Map<>;
using TpetraMatrix = Tpetra::CrsMatrix<double>;
using TpetraVector = Tpetra::Vector<double>;
using TpetraMultiVector = Tpetra::MultiVector<double>;
using GlobalIndex = TpetraMap::global_ordinal_type;
using TpetraSpace = TpetraMap::node_type::execution_space;

inline Teuchos::RCP<const Teuchos::Comm<int>> world() {
  return Tpetra::getDefaultComm();
}
inline int my_rank() {
  return world()->getRank();
}
inline int num_ranks() {
  return world()->getSize();
}

// ------------------------------------------------------------------------------------------------ maps

/// The map of n indices in which this rank has `mine`, in that order.
inline Teuchos::RCP<const TpetraMap> map_of(const std::vector<GlobalIndex>& mine) {
  return Teuchos::rcp(new TpetraMap(Teuchos::OrdinalTraits<Tpetra::global_size_t>::invalid(),
                                    Teuchos::ArrayView<const GlobalIndex>(mine.data(), mine.size()), 0,
                                    world()));
}

/// A block of consecutive rows a rank, of as equal size as can be.
inline Teuchos::RCP<const TpetraMap> contiguous_map(std::int64_t n) {
  return Teuchos::rcp(new TpetraMap(static_cast<Tpetra::global_size_t>(n), 0, world()));
}

/// Row i on rank i mod size.
inline Teuchos::RCP<const TpetraMap> cyclic_map(std::int64_t n) {
  std::vector<GlobalIndex> mine;
  for (std::int64_t i = my_rank(); i < n; i += num_ranks()) mine.push_back(i);
  return map_of(mine);
}

/// Consecutive rows on all ranks but one, which has none. (A job of one rank has its rows.)
inline Teuchos::RCP<const TpetraMap> map_with_empty_rank(std::int64_t n, int empty_rank = 0) {
  const int size = num_ranks();
  if (size == 1) return contiguous_map(n);
  const int place = my_rank() - (my_rank() > empty_rank ? 1 : 0);
  const std::int64_t begin = n * place / (size - 1), end = n * (place + 1) / (size - 1);
  const std::size_t mine = my_rank() == empty_rank ? 0 : static_cast<std::size_t>(end - begin);
  return Teuchos::rcp(new TpetraMap(static_cast<Tpetra::global_size_t>(n), mine, 0, world()));
}

/// Consecutive rows, of which each rank also has the first of the next rank. (In a job of one rank nothing
/// overlaps.)
inline Teuchos::RCP<const TpetraMap> overlapping_map(std::int64_t n) {
  const std::int64_t size = num_ranks(), begin = n * my_rank() / size, end = n * (my_rank() + 1) / size;
  std::vector<GlobalIndex> mine;
  for (std::int64_t i = begin; i < std::min(end + 1, n); ++i) mine.push_back(i);
  return map_of(mine);
}

/// The global indices of this rank, in their local order.
inline std::vector<GlobalIndex> own_indices(const TpetraMap& map) {
  std::vector<GlobalIndex> mine(map.getLocalNumElements());
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = map.getGlobalElement(static_cast<int>(i));
  return mine;
}

/// This rank's indices of the contiguous map, the last first.
inline Teuchos::RCP<const TpetraMap> reversed_map(std::int64_t n) {
  auto mine = own_indices(*contiguous_map(n));
  std::reverse(mine.begin(), mine.end());
  return map_of(mine);
}

struct NamedMap {
  std::string name;
  Teuchos::RCP<const TpetraMap> map;
};

/// Maps of n indices that have nothing in common but that each index is one rank's.
inline std::vector<NamedMap> maps(std::int64_t n) {
  return {{"contiguous", contiguous_map(n)},
          {"cyclic", cyclic_map(n)},
          {"rank 0 without rows", map_with_empty_rank(n)},
          {"the last rank without rows", map_with_empty_rank(n, num_ranks() - 1)}};
}

/// The same, and one in which indices descend.
inline std::vector<NamedMap> all_maps(std::int64_t n) {
  std::vector<NamedMap> all = maps(n);
  all.push_back({"reversed", reversed_map(n)});
  return all;
}

// ------------------------------------------------------------------------------------------------ matrices

inline std::size_t longest_row(const HostMatrix<double>& a) {
  std::size_t longest = 1;
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    longest = std::max(longest, a.row_ptrs[i + 1] - a.row_ptrs[i]);
  return longest;
}

/// The rows that `map` gives this rank, inserted by global indices; not yet fill-complete.
inline Teuchos::RCP<TpetraMatrix> insert_rows(const HostMatrix<double>& a,
                                              const Teuchos::RCP<const TpetraMap>& map) {
  const auto matrix = Teuchos::rcp(new TpetraMatrix(map, longest_row(a)));
  for (const GlobalIndex row : own_indices(*map)) {
    const std::size_t begin = a.row_ptrs[row], length = a.row_ptrs[row + 1] - begin;
    const std::vector<GlobalIndex> cols(a.col_idxs.data() + begin, a.col_idxs.data() + begin + length);
    matrix->insertGlobalValues(row, static_cast<int>(length), a.values.data() + begin, cols.data());
  }
  return matrix;
}

/// A, its rows as `map` has them, with the column map that Tpetra makes by itself.
inline Teuchos::RCP<TpetraMatrix> distribute(const HostMatrix<double>& a,
                                             const Teuchos::RCP<const TpetraMap>& map) {
  const auto matrix = insert_rows(a, map);
  matrix->fillComplete(map, map);
  return matrix;
}

/// The columns that this rank's rows have entries in, ascending: own ones first or not at all.
inline std::vector<GlobalIndex> columns_of_rows(const HostMatrix<double>& a, const TpetraMap& map) {
  std::vector<GlobalIndex> cols;
  for (const GlobalIndex row : own_indices(map))
    cols.insert(cols.end(), a.col_idxs.data() + a.row_ptrs[row], a.col_idxs.data() + a.row_ptrs[row + 1]);
  std::sort(cols.begin(), cols.end());
  cols.erase(std::unique(cols.begin(), cols.end()), cols.end());
  return cols;
}

/// The columns of the rank's rows, descending: own columns and those of other ranks mixed.
inline Teuchos::RCP<const TpetraMap> descending_columns(const HostMatrix<double>& a,
                                                        const Teuchos::RCP<const TpetraMap>& map) {
  auto cols = columns_of_rows(a, *map);
  std::reverse(cols.begin(), cols.end());
  return map_of(cols);
}

/// Columns of other ranks first, then the rank's own rows, used or not.
inline Teuchos::RCP<const TpetraMap> remote_columns_first(const HostMatrix<double>& a,
                                                          const Teuchos::RCP<const TpetraMap>& map) {
  std::vector<GlobalIndex> cols;
  for (const GlobalIndex c : columns_of_rows(a, *map))
    if (!map->isNodeGlobalElement(c)) cols.push_back(c);
  const auto mine = own_indices(*map);
  cols.insert(cols.end(), mine.begin(), mine.end());
  return map_of(cols);
}

/// A with a column map of one's own: it must have all columns of the rank's rows. `sorted = false` leaves the
/// rows of the local matrix in descending order, and tells Tpetra so.
inline Teuchos::RCP<TpetraMatrix> distribute(const HostMatrix<double>& a,
                                             const Teuchos::RCP<const TpetraMap>& map,
                                             const Teuchos::RCP<const TpetraMap>& col_map,
                                             bool sorted = true) {
  const auto mine = own_indices(*map);
  typename TpetraMatrix::local_graph_device_type::row_map_type::non_const_type row_ptrs("row_ptrs",
                                                                                        mine.size() + 1);
  std::vector<int> cols;
  std::vector<double> values;
  const auto host_ptrs = Kokkos::create_mirror_view(row_ptrs);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    std::vector<std::pair<int, double>> row;
    for (std::size_t k = a.row_ptrs[mine[i]]; k < a.row_ptrs[mine[i] + 1]; ++k)
      row.emplace_back(col_map->getLocalElement(a.col_idxs[k]), a.values[k]);
    std::sort(row.begin(), row.end());
    if (!sorted) std::reverse(row.begin(), row.end());
    for (const auto& [c, value] : row) cols.push_back(c), values.push_back(value);
    host_ptrs(i + 1) = cols.size();
  }
  Kokkos::deep_copy(row_ptrs, host_ptrs);
  // expertStaticFillComplete would call any rows sorted; this constructor does as it is told.
  const auto parameters = Teuchos::parameterList();
  parameters->set("sorted", sorted);
  const typename TpetraMatrix::local_matrix_device_type local(
      "prekond::testing::local", static_cast<int>(mine.size()),
      static_cast<int>(col_map->getLocalNumElements()), cols.size(), to_device<TpetraSpace>(values), row_ptrs,
      to_device<TpetraSpace>(cols));
  return Teuchos::rcp(new TpetraMatrix(local, map, col_map, map, map, parameters));
}

/// The rank's rows of A with its own columns first, numbered as its rows are, and those of other ranks,
/// ascending by global index, after them.
struct LocalReference {
  HostMatrix<double> own;  ///< num_rows x num_rows: entries in columns of other ranks are left out
  std::int64_t foreign_columns = 0;
  std::int64_t foreign_entries = 0;
};

inline LocalReference local_reference(const HostMatrix<double>& a, const TpetraMap& map) {
  const auto mine = own_indices(map);
  std::map<GlobalIndex, int> local;
  for (std::size_t i = 0; i < mine.size(); ++i) local[mine[i]] = static_cast<int>(i);
  LocalReference reference;
  reference.own.num_rows = reference.own.num_cols = static_cast<std::int64_t>(mine.size());
  std::map<GlobalIndex, int> foreign;
  for (const GlobalIndex row : mine) {
    std::map<int, double> sorted;
    for (std::size_t k = a.row_ptrs[row]; k < a.row_ptrs[row + 1]; ++k) {
      if (const auto found = local.find(a.col_idxs[k]); found != local.end()) {
        sorted[found->second] = a.values[k];
      } else {
        ++foreign[a.col_idxs[k]];
        ++reference.foreign_entries;
      }
    }
    for (const auto& [c, value] : sorted)
      reference.own.col_idxs.push_back(c), reference.own.values.push_back(value);
    reference.own.row_ptrs.push_back(reference.own.nnz());
  }
  reference.foreign_columns = static_cast<std::int64_t>(foreign.size());
  return reference;
}

// ------------------------------------------------------------------------------------------------ blocks

/// The mesh of a matrix whose unknowns come in blocks of three: which block has an entry in which.
inline Teuchos::RCP<Tpetra::BlockCrsMatrix<double>> block_matrix(const HostMatrix<double>& a,
                                                                 const Teuchos::RCP<const TpetraMap>& mesh) {
  constexpr int size = 3;
  const auto mine = own_indices(*mesh);
  const auto graph = Teuchos::rcp(new Tpetra::CrsGraph<>(mesh, longest_row(a) / size + 1));
  for (const GlobalIndex row : mine) {
    std::vector<GlobalIndex> cols;
    for (std::size_t k = a.row_ptrs[row * size]; k < a.row_ptrs[row * size + 1]; k += size)
      cols.push_back(a.col_idxs[k] / size);
    graph->insertGlobalIndices(row, static_cast<int>(cols.size()), cols.data());
  }
  graph->fillComplete(mesh, mesh);
  const auto matrix = Teuchos::rcp(new Tpetra::BlockCrsMatrix<double>(*graph, size));
  for (std::size_t i = 0; i < mine.size(); ++i) {
    for (std::size_t k = a.row_ptrs[mine[i] * size]; k < a.row_ptrs[mine[i] * size + 1]; k += size) {
      const GlobalIndex col = a.col_idxs[k] / size;
      std::array<double, size * size> block{};
      for (int r = 0; r < size; ++r)
        for (int c = 0; c < size; ++c) block[r * size + c] = a(mine[i] * size + r, col * size + c);
      const int local = matrix->getColMap()->getLocalElement(col);
      EXPECT_EQ(matrix->replaceLocalValues(static_cast<int>(i), &local, block.data(), 1), 1);
    }
  }
  return matrix;
}

inline Teuchos::RCP<const TpetraMap> points_of(const TpetraMap& mesh) {
  std::vector<GlobalIndex> mine;
  for (const GlobalIndex block : own_indices(mesh))
    for (int k = 0; k < 3; ++k) mine.push_back(block * 3 + k);
  return map_of(mine);
}

// ------------------------------------------------------------------------------------------------ vectors

/// The same on every rank and every standard library: uniform in [-1, 1).
inline std::vector<double> random_vector(std::size_t n, unsigned seed = 17) {
  std::mt19937 random(seed);
  std::vector<double> x(n);
  for (double& value : x) value = double(random()) / 0x1p31 - 1;
  return x;
}

/// The part of x that `map` gives this rank.
inline std::vector<double> part_of(const std::vector<double>& whole, const TpetraMap& map) {
  std::vector<double> mine;
  for (const GlobalIndex i : own_indices(map)) mine.push_back(whole[i]);
  return mine;
}

/// Vectors that every rank knows whole, distributed.
inline TpetraMultiVector distribute(const std::vector<std::vector<double>>& columns,
                                    const Teuchos::RCP<const TpetraMap>& map) {
  TpetraMultiVector x(map, columns.size());
  const auto mine = own_indices(*map);
  for (std::size_t k = 0; k < columns.size(); ++k)
    for (std::size_t i = 0; i < mine.size(); ++i)
      x.replaceLocalValue(static_cast<int>(i), k, columns[k][mine[i]]);
  return x;
}

inline TpetraVector distribute(const std::vector<double>& values, const Teuchos::RCP<const TpetraMap>& map) {
  TpetraVector x(map);
  const auto mine = own_indices(*map);
  for (std::size_t i = 0; i < mine.size(); ++i) x.replaceLocalValue(static_cast<int>(i), values[mine[i]]);
  return x;
}

/// Vector k, whole, on every rank. \pre each row is one rank's
inline std::vector<double> gather(const TpetraMultiVector& x, std::size_t k = 0) {
  std::vector<double> mine(x.getGlobalLength(), 0), all(mine.size());
  const auto indices = own_indices(*x.getMap());
  const auto values = x.getData(k);
  for (std::size_t i = 0; i < indices.size(); ++i) mine[indices[i]] = values[i];
  if (!mine.empty())
    Teuchos::reduceAll(*world(), Teuchos::REDUCE_SUM, static_cast<int>(mine.size()), mine.data(), all.data());
  return all;
}

/// Is it so on every rank?
inline bool on_all_ranks(bool mine) {
  int all = 0;
  Teuchos::reduceAll(*world(), Teuchos::REDUCE_MIN, 1, std::array<int, 1>{mine ? 1 : 0}.data(), &all);
  return all != 0;
}

}  // namespace prekond::testing
