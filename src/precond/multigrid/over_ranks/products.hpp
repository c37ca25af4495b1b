// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The product P^T A P over ranks.
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/sparse_product/spgemm.hpp>

#include <memory>

#include "distributed/number_sets.hpp"
#include "precond/distributed/rows_of_ranks.hpp"
#include "precond/multigrid/tentative.hpp"

namespace prekond::impl::amg {

using distributed::Numbers;

/// 0, 1, ..., num_own - 1, ~0, ~1, ...
template <class Space>
Vector<int, Space> own_then_others(const Space& space, std::int64_t num_own, std::int64_t num_others);

/// Rows of the rank's and of others by their sources, see rows_at_places, in columns of these numbers.
template <class Scalar, class Space>
Matrix<Scalar, Space> joined_rows(const Space& space, const Vector<int, Space>& sources,
                                  const NumberedRows<Scalar, Space>& own,
                                  const RemoteRows<Scalar, Space>& others,
                                  const distributed::ColumnNumbers<Space>& columns);

/// C = A B on a pattern that the first product finds; by blocks, where both factors have whole ones.
template <class Scalar, class Space>
struct RankProduct {
  ProductBlocks blocks;  ///< those that the nodes make
  Matrix<Scalar, Space> c;

  void multiply(const Space& space, const CsrView<Scalar, Space>& a, const CsrView<Scalar, Space>& b);

 private:
  void find_pattern(const Space& space, const CsrView<Scalar, Space>& a, const CsrView<Scalar, Space>& b);
  bool m_is_by_blocks = false;
};

/// A_c = P^T (A P), whose rows are distributed as given. A rank multiplies its rows of A and P, for which it
/// fetches the rows of P in other ranks' columns of A, and gives the contributions to other ranks' rows of
/// A_c to these, which add them to their own in the order of the ranks.
template <class Scalar, class Space>
class CoarseProduct {
 public:
  using Distributed = DistributedMatrix<Scalar, Space>;

  /// Collective. P has the rank's rows of A, in columns of the rank's own coarse rows (those of `coarse`) and
  /// of others. Nodes have `unknowns` rows of A, and `vectors` of A_c.
  CoarseProduct(const Space& space, const Distributed& a, const Distributed& coarse,
                const distributed::ColumnNumbers<Space>& columns, int unknowns, int vectors);

  /// Collective. The first time patterns are found, later only values. `r` is P^T.
  void multiply(const Space& space, const Distributed& a, const Distributed& coarse,
                const CsrView<Scalar, Space>& p, const CsrView<Scalar, Space>& r);

  const Matrix<Scalar, Space>& rows() const { return m_rows; }  ///< the rank's rows of A_c
  /// A_c as long as `rows` stay, with the values that they have.
  const Distributed& matrix() const { return *m_matrix; }
  /// Room for its products with that many vectors.
  void reserve(const Space& space, int num_vectors) const { m_matrix->reserve(space, num_vectors); }

 private:
  void add_given(const Space& space, const GivenRows<Scalar, Space>& given);

  distributed::ColumnNumbers<Space> m_of_p, m_of_product, m_of_coarse;  ///< the columns of P, A P and A_c
  std::unique_ptr<const RowExchange<Scalar, Space>> m_rows_of_p, m_contributions;
  RemoteRows<Scalar, Space> m_fetched;           ///< of P, and
  GivenRows<Scalar, Space> m_given;              ///< of P^T A P, by the last numeric phase
  RankProduct<Scalar, Space> m_times_p, m_part;  ///< A P; P^T A P of this rank's rows of A
  Matrix<Scalar, Space> m_rows;
  std::unique_ptr<const distributed::RowsOfRanks<Scalar, Space>> m_matrix;
};

}  // namespace prekond::impl::amg
