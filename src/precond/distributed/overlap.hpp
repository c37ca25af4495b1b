// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A rank's rows together with the rows of other ranks near them, as one square matrix.
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/matrix/impl/block_rows.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "distributed/number_sets.hpp"

namespace prekond::impl::distributed {

/// Collective. Are the rows of all ranks numbered 0, 1, ...?
template <class Scalar, class Space>
bool numbers_from_zero(const Space& space, const DistributedMatrix<Scalar, Space>& a);

/// Rows of this rank, and rows that it fetched, in the order of `sources`: row k of `own`, or for ~k row
/// rows_at(k) of `fetched`. `columns_of_own`: the new number of each column of `own`, `columns_of_fetched`:
/// that of each entry of `fetched`; negative: left out. Sorted. Fences.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> rows_at_places(
    const Space& space, const Vector<int, Space>& sources, const CsrView<Scalar, Space>& own,
    const Vector<int, Space>& columns_of_own, const Vector<int, Space>& rows_at,
    const RemoteRows<Scalar, Space>& fetched, const Vector<int, Space>& columns_of_fetched,
    std::int64_t num_cols);

/// A[S, S] for the rank's rows and those that `levels` steps along A's entries lead to from them (both ways:
/// along those of A^T too), in the order of their global numbers, by which a row or a column of it stands at
/// its place. Where whole blocks of rows are found together, S has whole blocks. It may be made of a matrix's
/// b x b blocks too: rows, places, columns and their numbers are then those of blocks.
///
/// Source: the rows that a process receives for its part of G, Bernaschi et al. (2019), section 3.4.
template <class Scalar, class Space>
class Overlap {
 public:
  using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  using Distributed = DistributedMatrix<Scalar, Space>;

  /// Collective. Finds S and fetches its rows, each once: a message a neighbour and level. \throws InputError
  /// on all ranks where one has more rows than 31 bits count, and for blocks of rows whose numbers are not
  /// 0, 1, ... `by_blocks`: of A's blocks, where it has them. \pre then the reach is not both ways
  Overlap(const Space& space, const Distributed& a, const RowReach& reach, int levels,
          bool by_blocks = false);
  /// Collective. S is all rows. \pre they are numbered 0, 1, ..., see numbers_from_zero
  Overlap(const Space& space, const Distributed& a);

  /// Collective. The rows of S with the values that they have now.
  void fetch(const Space& space, const Distributed& a);
  /// Collective. The same where A has the pattern that it had on all ranks, and single rows: from the second
  /// time on one message a neighbour, with the values.
  void fetch_values(const Space& space, const Distributed& a);

  /// Collective. Is matrix() what `fetch` would bring? Each rank compares its own rows with those in there,
  /// bit by bit: where none finds a difference, no row of another rank has one. False too where a rank has
  /// entries outside S, which other ranks may have in theirs. Cost: one pass over the rank's rows, and an
  /// all-reduce.
  bool is_up_to_date(const Space& space, const Distributed& a) const;

  /// \pre block_size() is 1
  const Matrix& matrix() const { return m_matrix; }
  /// \pre block_size() is above 1
  BcsrView<Scalar, Space> blocks() const { return as_blocks<Scalar, Space>(m_matrix, m_block_size, m_order); }
  int block_size() const { return m_block_size; }
  /// The rank's own row, or ~k for row k of `remote`, and the global number, of a row of A[S, S].
  std::pair<std::int64_t, std::int64_t> row_at(std::int64_t row) const;
  void forget_matrix() { m_matrix = {}; }
  std::int64_t num_rows() const { return static_cast<std::int64_t>(m_numbers.extent(0)); }
  std::int64_t num_remote() const { return static_cast<std::int64_t>(m_remote.extent(0)); }
  /// Entries of these rows in columns outside S, of blocks all places.
  std::int64_t num_cut() const { return m_num_cut; }

  const Numbers<Space>& numbers() const { return m_numbers; }  ///< of all places
  const Numbers<Space>& remote() const { return m_remote; }    ///< of the rows of other ranks, ascending
  const Vector<int, Space>& own_places() const { return m_own_places; }        ///< of this rank's rows
  const Vector<int, Space>& remote_places() const { return m_remote_places; }  ///< of `remote`
  /// Of a place, the rank's own row there, or ~k for entry k of `remote`.
  const Vector<int, Space>& sources() const { return m_sources; }
  /// 1 for this rank's rows, and for those that are found together with one of them.
  const Vector<unsigned char, Space>& is_wanted() const { return m_is_wanted; }

 private:
  /// Rows of other ranks, by their numbers; one list after the other.
  struct Fetched {
    std::vector<Numbers<Space>> numbers;
    std::vector<RemoteRows<Scalar, Space>> rows;
  };

  Fetched find_rows(const Space& space, const Distributed& a, const RowReach& reach, int levels);
  void take(const Space& space, const Distributed& a, const Fetched& fetched, int block_rows);
  void assemble(const Space& space, const Distributed& a, const Fetched& fetched);
  bool has_own_rows_of(const Space& space, const Distributed& a) const;
  void number_places(const Space& space, const NumbersView<Space>& own, int block_rows);

  int m_block_size = 1;
  BlockOrder m_order = BlockOrder::by_columns;
  Numbers<Space> m_numbers, m_remote;
  Vector<int, Space> m_own_places, m_remote_places, m_sources;
  Vector<unsigned char, Space> m_is_wanted;
  Matrix m_matrix;
  std::unique_ptr<const RowExchange<Scalar, Space>> m_exchange;  ///< of fetch_values
  RemoteRows<Scalar, Space> m_came;                              ///< by it
  std::int64_t m_num_cut = 0;
};

}  // namespace prekond::impl::distributed
