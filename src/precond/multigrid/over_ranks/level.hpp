// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/distributed_preconditioner.hpp>
#include <prekond/precond/polynomial.hpp>

#include <memory>

#include "precond/distributed/overlap.hpp"
#include "precond/distributed/rows_of_ranks.hpp"
#include "precond/distributed/split_matrix.hpp"
#include "precond/multigrid/combine.hpp"
#include "precond/multigrid/hierarchy.hpp"
#include "precond/multigrid/over_ranks/aggregate.hpp"
#include "precond/multigrid/over_ranks/products.hpp"

namespace prekond::impl::amg {

template <class Scalar, class Space>
struct LevelWorkspace : Workspace {
  int num_vectors = 0;
  MultiVector<Scalar, Space> residual, correction;
  MultiVector<Scalar, Space> coarse_b, coarse_x;
  MultiVector<Scalar, Space> remote, coarse_remote;  ///< entries of other ranks
  std::unique_ptr<Workspace> smoother, coarse;
  StepVectors<Scalar, Space> steps;  ///< of a K-cycle's two on the coarser level
  MultiVector<Scalar, Space> last_product;
  ReduceWorkspace<Scalar, Space> reduce;
};

/// A level of smoothed aggregation whose rows are distributed over ranks, and what solves the next coarser
/// one: a DistributedPreconditioner of `amg`, which has such a level again, or all rows on every rank.
///
/// All but the sums of A_c = P^T A P, and those over all rows, is computed on a host as one rank does, for
/// any distribution of the rows:
/// 1. A rank's S is its rows and those that they are coupled to. Couplings, A_F, Q - omega D^-1 A_F Q and its
///    truncation are found by one rank's functions for A[S, S], of which the rank's own rows are taken: a row
///    of P depends on its row of A and on the rows of Q in its columns.
/// 2. Aggregates are found together, see aggregate_over_ranks. The coarse rows of an aggregate are the rank's
///    that has its root, and are numbered in the order of the roots' numbers.
/// 3. That rank makes the columns of Q of the aggregate, see tentative_over_ranks, and each rank imports the
///    rows of Q in S.
/// 4. A_c: see CoarseProduct. The contributions of other ranks are added in the order of the ranks.
///
/// Cost beyond that of the rank's rows: S, two exchanges a round of the independent set (on a host with
/// contiguous rows one an iteration), and some ten of rows at the border; of an application an exchange for
/// each product. A later numeric phase keeps patterns, Q, imports and the layouts of stored matrices, and
/// exchanges the values of rows of A, P and A_c (of A from the second later one on; before, with columns).
template <class Scalar, class Space>
class LevelOverRanks {
 public:
  using Distributed = DistributedMatrix<Scalar, Space>;
  using View = MultiVectorView<Scalar, Space>;
  using ConstView = MultiVectorView<const Scalar, Space>;

  /// Collective. `near`: of the rank's own rows. \throws InputError on all ranks
  LevelOverRanks(const Space& space, const AmgOptions& options, const Distributed& a,
                 const NearNullSpace<Scalar, Space>& near, Report& report);
  /// Collective. For other values. \pre A has the pattern that it had
  void numeric(const Space& space, const Distributed& a, Report& report);

  /// Collective: x = one cycle from zero for A x = b.
  void apply(const Space& space, ConstView b, View x, LevelWorkspace<Scalar, Space>& workspace) const;
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const;
  const distributed::SplitMatrix<Scalar, Space>& prolongator() const { return m_p; }
  const ColumnNumbers<Space>& coarse_rows() const { return m_of_p; }  ///< P's columns
  bool fits(const LevelWorkspace<Scalar, Space>& workspace) const {
    return workspace.residual.extent(0) == static_cast<std::size_t>(m_a.num_rows()) &&
           workspace.coarse_b.extent(0) == static_cast<std::size_t>(m_r.num_rows());
  }

 private:
  void measure(const Space& space, const Distributed& a);
  bool find_coarser(const Space& space, const Distributed& a, const NearNullSpace<Scalar, Space>& near);
  void take_q(const Space& space, const Distributed& a, const AggregatesOverRanks<Space>& aggregates,
              const MultiVector<Scalar, Space>& own, const StrongRows<Space>& strong);
  void make_coarser(const Space& space, const Distributed& a);
  void finish(const Space& space, const Distributed& a, Report& report);
  void store(const Space& space, const Distributed& a, Report& report);
  void set_smoother(const Space& space, const Distributed& a, Report& report);
  void set_up_coarser(const Space& space, Report& report);
  void file(const Distributed& a, Report& report) const;
  AmgOptions coarser_options() const;

  void smooth(const Space& space, ConstView b, View x, int sweeps, bool from_zero,
              LevelWorkspace<Scalar, Space>& workspace) const;
  void correct(const Space& space, ConstView b, View x, bool from_zero,
               LevelWorkspace<Scalar, Space>& workspace) const;
  void solve_coarser(const Space& space, View b, View x, LevelWorkspace<Scalar, Space>& workspace) const;

  AmgOptions m_options;
  bool m_is_system = false;
  std::unique_ptr<distributed::Overlap<Scalar, Space>> m_overlap;       ///< S
  Level<Scalar, Space> m_level;                                         ///< of A[S, S]
  std::shared_ptr<const VectorImport<Scalar, Space>> m_columns_import;  ///< of A's columns

  std::unique_ptr<const Distributed> m_coarse_rows;  ///< null: there is no coarser level
  ColumnNumbers<Space> m_of_p;                       ///< P's columns, which are coarse rows
  Vector<int, Space> m_columns;  ///< where columns of Q by the places of S are among these
  NearNullSpace<Scalar, Space> m_coarse_near;
  std::shared_ptr<const VectorImport<Scalar, Space>> m_coarse_import;  ///< of other ranks' ones of them
  std::unique_ptr<CoarseProduct<Scalar, Space>> m_product;
  Matrix<Scalar, Space> m_prolongator, m_restriction;  ///< P and P^T until they are stored
  distributed::SplitMatrix<Scalar, Space> m_a, m_p, m_r;

  PolynomialPreconditioner<Scalar, Space>* m_polynomial = nullptr;  ///< m_smoother's method
  const Amg<Scalar, Space>* m_coarse_amg = nullptr;                 ///< m_coarse's method
  bool m_takes_two_steps = false;  ///< of a K-cycle, on a coarser level that is not exact
  std::unique_ptr<DistributedPreconditioner<Scalar, Space>> m_smoother, m_coarse;
  double m_omega = 1;
};

}  // namespace prekond::impl::amg
