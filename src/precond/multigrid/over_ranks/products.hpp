// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Matrices in the columns of this rank and of others, and the product P^T A P over ranks.
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/distributed/impl/remote_part.hpp>
#include <prekond/precond/impl/stored_matrix.hpp>

#include <memory>

#include "distributed/number_sets.hpp"
#include "precond/distributed/rows_of_ranks.hpp"
#include "precond/multigrid/tentative.hpp"

namespace prekond::impl::amg {

using distributed::Numbers;

/// The columns of a rank's own, the first `num_own`, or the others, counted from 0. Fences.
template <class Scalar, class Space>
Matrix<Scalar, Space> part_of_columns(const Space& space, const CsrView<Scalar, Space>& a,
                                      std::int64_t num_own, bool own);

/// A matrix in own columns and those of other ranks, [D O], or the transpose of one, [D; O], as it is
/// applied: D in any format and precision, O in full.
template <class Scalar, class Space>
class SplitMatrix {
 public:
  using View = MultiVectorView<Scalar, Space>;
  using ConstView = MultiVectorView<const Scalar, Space>;

  SplitMatrix() = default;
  /// The import brings the entries that O is multiplied by, or takes away its products.
  SplitMatrix(const Space& space, const Matrix<Scalar, Space>& own, const Matrix<Scalar, Space>& remote,
              StoredAs as, std::shared_ptr<const VectorImport<Scalar, Space>> import)
      : m_own(space, own, as), m_remote(space, remote), m_import(std::move(import)) {}

  std::int64_t num_rows() const { return m_own.num_rows(); }
  std::int64_t num_own_cols() const { return m_own.num_cols(); }
  const StoredMatrix<Scalar, Space>& own() const { return m_own; }
  const RemotePart<Scalar, Space>& remote() const { return m_remote; }
  std::int64_t nnz() const { return m_own.nnz() + m_remote.nnz(); }
  std::int64_t bytes() const { return m_own.bytes() + m_remote.bytes(); }

  const std::shared_ptr<const VectorImport<Scalar, Space>>& import() const { return m_import; }

  /// Collective. y = [D O] x, or y + [D O] x. `remote`: room for what is imported.
  void multiply(const Space& space, ConstView x, bool add, View y, View remote) const {
    m_import->start(space, x);
    if (add)
      m_own.add_product(space, x, y);
    else
      m_own.multiply(space, x, y);
    m_import->finish(space, remote);
    m_remote.add_product(space, Scalar(1), remote, y);
  }
  /// Collective. y = omega (b - [D O] x)
  void residual(const Space& space, Scalar omega, ConstView b, ConstView x, View y, View remote) const {
    m_import->start(space, x);
    m_own.multiply_recurrence(space, {.product = -omega, .source = omega}, x, b, y);
    m_import->finish(space, remote);
    m_remote.add_product(space, -omega, remote, y);
  }
  /// Collective. y = D x + what the other ranks have for these rows, O x there.
  void multiply_transposed(const Space& space, ConstView x, View y, View remote) const {
    set_zero(space, remote);
    m_remote.add_product(space, Scalar(1), x, remote);
    m_import->start_reverse(space, remote);
    m_own.multiply(space, x, y);
    m_import->finish_reverse(space, y);
  }

 private:
  StoredMatrix<Scalar, Space> m_own;
  RemotePart<Scalar, Space> m_remote;
  std::shared_ptr<const VectorImport<Scalar, Space>> m_import;
};

/// A_c = P^T (A P), whose rows are distributed as given. A rank multiplies its rows of A and P, for which it
/// fetches the rows of P in other ranks' columns of A, and gives the contributions to other ranks' rows of
/// A_c to these, which add them to their own in the order of the ranks.
template <class Scalar, class Space>
class CoarseProduct {
 public:
  using Distributed = DistributedMatrix<Scalar, Space>;

  /// Collective. P has the rank's rows of A, in columns of the rank's own coarse rows (those of `coarse`)
  /// and, after them, `remote`, ascending.
  CoarseProduct(const Space& space, const Distributed& a, const Distributed& coarse,
                const Numbers<Space>& remote);

  /// Collective. The first time patterns are found, later only values. `own_r` and `remote_r` are P^T.
  void multiply(const Space& space, const Distributed& a, const Distributed& coarse,
                const CsrView<Scalar, Space>& p, const Matrix<Scalar, Space>& own_r,
                const Matrix<Scalar, Space>& remote_r);

  const Matrix<Scalar, Space>& rows() const { return m_rows; }  ///< the rank's rows of A_c
  /// A_c as long as `rows` stay, with the values that they have.
  const Distributed& matrix() const { return *m_matrix; }

 private:
  void find_times_p(const Space& space, const Distributed& a, const CsrView<Scalar, Space>& p,
                    const RemoteRows<Scalar, Space>& fetched);
  void add_given(const Space& space, const GivenRows<Scalar, Space>& given);

  Numbers<Space> m_own;      ///< numbers of the own coarse rows, ascending
  Numbers<Space> m_remote;   ///< of P's other columns
  Numbers<Space> m_columns;  ///< of those of A P, without the own
  std::unique_ptr<const RowExchange<Scalar, Space>> m_rows_of_p, m_contributions;
  Matrix<Scalar, Space> m_times_p, m_own_part, m_remote_part;  ///< A P; P^T A P of this rank's rows of A
  Matrix<Scalar, Space> m_rows;
  Numbers<Space> m_coarse_remote;  ///< of A_c's columns of other ranks
  std::unique_ptr<const distributed::RowsOfRanks<Scalar, Space>> m_matrix;
};

}  // namespace prekond::impl::amg
