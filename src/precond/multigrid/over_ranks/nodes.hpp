// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The nodes of a rank's overlap, and words of 64 bits that ranks tell each other of theirs.
#include <prekond/distributed/distributed_matrix.hpp>

#include <cstdint>
#include <memory>

#include "distributed/number_sets.hpp"
#include "precond/distributed/overlap.hpp"

namespace prekond::impl::amg {

using distributed::ColumnNumbers;
using distributed::FindNumber;
using distributed::FlatPolicy;
using distributed::listed;
using distributed::new_numbers;
using distributed::Numbers;
using distributed::numbers_where;
using distributed::NumbersView;
using distributed::rows_of_blocks;
using distributed::united;
using distributed::vector_of;

/// Collective. The numbers that the owners of the rows `wanted` have for them: each gives mine(k) for its row
/// rows(k).
template <class Scalar, class Space>
Numbers<Space> numbers_of_rows(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                               const Numbers<Space>& mine, const Vector<int, Space>& rows,
                               const Numbers<Space>& wanted);

/// Rows places(0), places(1), ... of x. Fences.
template <class Scalar, class Space>
MultiVector<Scalar, Space> rows_at(const Space& space, const Vector<int, Space>& places,
                                   const MultiVector<Scalar, Space>& x);

/// The nodes of S, which has whole ones, in the order of their global numbers. A node is the rank's that has
/// its first row.
template <class Scalar, class Space>
class RankNodes {
 public:
  /// Collective.
  RankNodes(const Space& space, const DistributedMatrix<Scalar, Space>& a,
            const distributed::Overlap<Scalar, Space>& overlap, int unknowns_per_node);

  std::int64_t count() const { return static_cast<std::int64_t>(numbers.extent(0)); }
  std::int64_t num_own() const { return static_cast<std::int64_t>(own.extent(0)); }

  /// Collective. The words of other ranks' nodes become what these ranks have for them. T: 8 bytes.
  template <class T>
  void exchange(const Space& space, const Vector<T, Space>& words) const;

  int unknowns;
  Numbers<Space> numbers;       ///< of all nodes
  Numbers<Space> own_numbers;   ///< of the rank's own
  Vector<int, Space> own;       ///< their places
  Vector<int, Space> own_rows;  ///< the rank's row that is the first of each of them
  Vector<int, Space> others;    ///< places of the others

 private:
  std::unique_ptr<const VectorImport<Scalar, Space>> m_import;  ///< of the first rows of `others`
  MultiVector<Scalar, Space> m_mine, m_received;
};

}  // namespace prekond::impl::amg
