// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/registry.hpp>
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/matrix/matrix_source.hpp>
#include <prekond/precond/impl/stored_matrix.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>
#include <prekond/precond/scaled.hpp>

#include <functional>
#include <memory>
#include <string>

namespace prekond {

namespace impl::distributed {
template <class Scalar, class Space>
class Overlap;
template <class Scalar, class Space>
class Application;
template <class Space>
struct Scaling;
}  // namespace impl::distributed

template <class Scalar, class Space>
class OverRanks;

/// A rank's part of a sparse matrix: its rows in its own columns and in those of other ranks, whose global
/// numbers are given.
template <class Scalar, class Space>
struct RankRows {
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> own, remote;
  Vector<std::int64_t, Space> remote_numbers;
};

/// How a method is set up on several ranks. They are given with the method's own options.
struct DistributedOptions {
  int rank_overlap = -1;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("rank_overlap", rank_overlap, -1, 1000000,
          "on several ranks: levels of other ranks' rows that a rank's setup reads. -1: of fsai, "
          "nonsymmetric_fsai, spai and isai as many as they need to be what one rank finds, of adaptive_fsai "
          "at most 2, of amg all up to its gather_rows, of other methods none, and polynomials and amg are "
          "those "
          "of the whole matrix; 0: none, block "
          "Jacobi over the ranks; more: of adaptive_fsai up "
          "to its steps, where it is what one rank finds; of methods for the whole matrix, restricted "
          "additive Schwarz");
  }
};

/// A preconditioner of a distributed matrix, by any method: its phases and applications are collective.
///
/// - A method whose rows (or columns) of the inverse depend on few rows of A (`reach()`: the static FSAI of
///   symmetric and general matrices, SPAI, ISAI) is what one rank finds for the whole matrix, on any number
///   of ranks: a rank imports the rows that its own depend on, sorted by their global numbers, and solves for
///   its own rows. G's entries have the same bits. y = G^T (G x) is two products: of G with the entries of x
///   that are imported, and of G^T, whose contributions to other ranks' entries are sent to them and added in
///   the order of the ranks. Both multiply the rank's own part while the messages are under way.
/// - The adaptive FSAI likewise, with the rows of `rank_overlap` levels: with as many as it has steps it is
///   what one rank finds; with fewer, rows near the border grow within the levels, G^T G is symmetric and
///   positive definite all the same, and the report counts the entries beyond.
/// - A polynomial (`chebyshev`, `ls_polynomial`, `neumann`) is one of the distributed matrix, see OverRanks
///   and PolynomialPreconditioner: no rows are imported, an application exchanges entries once a product.
///   With rank_overlap = 0 it is one of the rank's own block.
/// - Multigrid of a matrix with few rows is that of the whole matrix on every rank, see GathersRows; the rows
///   have to be numbered 0, 1, ... An application imports the other ranks' entries. Multigrid of a
///   matrix with more rows has levels over all ranks, see OverRanks and Amg.
/// - Any other method is set up for the rank's own rows and columns, block Jacobi over the ranks; with
///   rank_overlap > 0 for these and the overlap's, of whose solution the rank's own entries are taken:
///   restricted additive Schwarz, which is not symmetric. A matrix by blocks gives it blocks, and rows of
///   other ranks come as blocks.
///
/// Rows that other ranks import are not solved twice: in the overlap a setup has only the diagonal. Stored
/// precision and format are those of the method's options; the small parts that couple ranks are kept in full
/// precision. With `storage` half, the rows of G get their scales from the rank's own part, which rounds a
/// little differently than on one rank.
///
/// Cost beyond the method's: for L levels, L exchanges of rows in `symbolic` (one more for blocks of rows)
/// and one in each `numeric`, but for the first after `symbolic` where no rank's rows have other values than
/// they had there: each compares its own, bit by bit. A^T once where the method needs columns. Memory: the
/// rank's rows and the imported ones, from `symbolic` until `numeric` ends. An application: one message a
/// neighbour in each direction (explicit inverses: in one).
///
/// On a device G agrees to rounding, because some kernels choose their lanes by the mean length of the rows
/// that a rank has. A rank counts the breakdowns of its own rows; those of a block of rows that two ranks
/// share both of them count.
///
/// A user's pattern (set_pattern) is for one rank.
///
/// Source: Bernaschi, Carrozzo, Franceschini, Janna, SIAM J. Sci. Comput. 41 (2019), section 3.4; Cai,
/// Sarkis, SIAM J. Sci. Comput. 21 (1999).
template <class Scalar, class Space>
class DistributedPreconditioner : public Preconditioner<Scalar, Space> {
 public:
  using Method = MatrixPreconditioner<Scalar, Space>;
  using Distributed = DistributedMatrix<Scalar, Space>;

  /// A method of the user's that has no reach: each rank's own, or Schwarz.
  explicit DistributedPreconditioner(std::unique_ptr<Method> method, const DistributedOptions& options = {});
  /// A method with its options.
  explicit DistributedPreconditioner(const Configurator<Method>& method,
                                     const DistributedOptions& options = {});
  ~DistributedPreconditioner() override;

  /// The facts known of this rank's own rows, from the next `symbolic` on; before it, on all ranks. Methods
  /// that read other ranks' rows by their reach are not told.
  void set_near_null_space(const NearNullSpace<Scalar, Space>& near) { m_near_null_space = near; }

  /// From the next setup on M is that of the scaled matrix R A C, and y = C M^-1 R x, as Scaled has it on one
  /// rank: with the same R and C, bit for bit, on any number of ranks. `equilibrate` takes A^T. Near null
  /// spaces are not passed on. Cost besides the method's: of a numeric phase a copy of the rank's values, an
  /// exchange of a number an entry, with other ranks' rows another one; of an application two passes over
  /// vectors. \throws std::logic_error for ScalingKind::given
  void set_scaling(const ScaledOptions& options);
  /// By scales of this rank's own rows and columns that are given, see Scaled. A numeric phase throws an
  /// InputError where they are not as many as the rank's rows.
  void set_scaling(const Vector<double, Space>& row_scale, const Vector<double, Space>& column_scale);

  /// Collective; see MatrixPreconditioner. An error of one rank is thrown on all.
  /// \throws InputError also for a near null space where the method is restricted additive Schwarz
  void symbolic(const Space& space, const Distributed& a);
  void numeric(const Space& space, const Distributed& a);

  /// Collective: by all ranks with as many vectors. One application at a time.
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const override;
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;

  std::string name() const override { return m_method->name(); }
  std::int64_t num_rows() const override { return m_num_rows; }
  bool is_symmetric() const override { return !m_is_schwarz && m_method->is_symmetric(); }
  bool is_nonsymmetric() const override { return m_is_schwarz || m_method->is_nonsymmetric(); }
  bool is_variable() const override { return m_method->is_variable(); }
  /// The report of this rank; the first row that broke down is a local one, -1 where it is another rank's.
  const Report& report() const override { return m_report; }
  void set_listener(const typename Method::Listener& listener) {
    m_listener = listener;
    m_method->set_listener(listener);
  }

  /// The method on this rank: of its own rows, or of these with the overlap. One that is set up over ranks as
  /// a whole is applied only by this object's apply.
  const Method& method() const { return *m_method; }
  /// Is a setup on several ranks one over them, by the method and the options? Else each rank's own.
  bool is_over_ranks() const;
  /// Do applications exchange entries of vectors?
  bool exchanges() const;

  /// This rank's rows of G, of G_L or of M, where applications exchange entries and the values are kept in
  /// full precision. For an M by columns (spai from the right), the part in its own columns: the rows of its
  /// own, and those of other ranks, whose numbers are given. For a scaled matrix they are its inverse's.
  RankRows<Scalar, Space> rows() const;

 private:
  using Overlap = impl::distributed::Overlap<Scalar, Space>;
  using Application = impl::distributed::Application<Scalar, Space>;

  int levels(const RowReach& reach) const;
  bool is_by_blocks(const Distributed& a) const;
  MatrixSource<Scalar, Space> source(const Space& space) const;
  MatrixSource<Scalar, Space> own_source(const Space& space, const Distributed& a) const;
  void find_overlap(const Space& space, const Distributed& a);
  bool gathers(const Space& space, const Distributed& a) const;
  NearNullSpace<Scalar, Space> agreed_near_null_space(const Distributed& a) const;
  void gather_near_null_space(const Space& space, const Distributed& a);
  void run_symbolic(const Space& space, const Distributed& a);
  void run_numeric(const Space& space, const Distributed& a);
  void numeric_of_method(const Space& space, const Distributed& a);
  void set_up(const Distributed& a, const std::function<void()>& phase) const;
  void find_diagonals(const Space& space, const Distributed& a);
  std::unique_ptr<const Application> make_application(const Space& space, const Distributed& a) const;
  Report finished_report() const;

  std::unique_ptr<Configurator<Method>> m_options_of_method;  ///< null: the method was given as it is
  std::unique_ptr<Method> m_method;
  typename Method::Listener m_listener;
  StoredAs m_as;  ///< how products over ranks are kept
  DistributedOptions m_options;
  std::shared_ptr<const impl::distributed::Scaling<Space>> m_scaling;  ///< null: none
  OverRanks<Scalar, Space>* m_over_ranks = nullptr;  ///< m_method, where it is set up over ranks as a whole
  std::unique_ptr<Overlap> m_overlap;  ///< of the last symbolic, where the method reads other rows
  std::unique_ptr<const Application> m_application;  ///< of the last numeric, likewise
  bool m_is_fetched = false;                         ///< has the overlap the values of this phase?
  bool m_is_kept = false;  ///< has it those of the symbolic phase, which numeric compares?
  bool m_is_symbolic = false;
  bool m_is_schwarz = false;
  bool m_is_gathered = false;  ///< the overlap is all rows
  std::int64_t m_num_rows = 0;
  NearNullSpace<Scalar, Space> m_near_null_space, m_near_of_all;
  double m_least = 1, m_largest = 0;                          ///< of all ranks' |a_ii|
  std::int64_t m_foreign_columns = 0, m_foreign_entries = 0;  ///< that are left out
  Report m_report;
};

}  // namespace prekond
