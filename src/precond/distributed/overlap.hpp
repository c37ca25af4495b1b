// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A rank's rows together with the rows of other ranks near them, as one square matrix.
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <cstdint>

#include "precond/distributed/number_sets.hpp"

namespace prekond::impl::distributed {

/// A[S, S] for the rank's rows and those that `levels` steps along A's entries lead to from them (both ways:
/// along those of A^T too), in the order of their global numbers, by which a row or a column of it stands at
/// its place. Where whole blocks of rows are found together, S has whole blocks.
///
/// Source: the rows that a process receives for its part of G, Bernaschi et al. (2019), section 3.4.
template <class Scalar, class Space>
class Overlap {
 public:
  using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  using Distributed = DistributedMatrix<Scalar, Space>;

  /// Collective. Finds S: for each level but the first, one message a neighbour with the rows of the level
  /// before. \throws InputError on all ranks where one has more rows than 31 bits count, and
  /// for blocks of rows whose numbers are not 0, 1, ...
  Overlap(const Space& space, const Distributed& a, const RowReach& reach, int levels);

  /// Collective. The rows of S with the values that they have now, one message a neighbour.
  void fetch(const Space& space, const Distributed& a);

  const Matrix& matrix() const { return m_matrix; }
  void forget_matrix() { m_matrix = {}; }
  std::int64_t num_rows() const { return static_cast<std::int64_t>(m_numbers.extent(0)); }
  std::int64_t num_remote() const { return static_cast<std::int64_t>(m_remote.extent(0)); }
  /// Entries of these rows in columns outside S.
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
  void check_numbers(const Space& space, const Distributed& a) const;
  void assemble(const Space& space, const Distributed& a, const RemoteRows<Scalar, Space>& remote);
  void find_rows(const Space& space, const Distributed& a, const RowReach& reach, int levels);
  void number_places(const Space& space, const NumbersView<Space>& own, int block_rows);

  Numbers<Space> m_numbers, m_remote;
  Vector<int, Space> m_own_places, m_remote_places, m_sources;
  Vector<unsigned char, Space> m_is_wanted;
  Matrix m_matrix;
  std::int64_t m_num_cut = 0;
};

}  // namespace prekond::impl::distributed
