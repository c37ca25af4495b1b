// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/incomplete_options.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <memory>
#include <string>

namespace prekond {

namespace impl::sweeps {
template <class Scalar, class Space>
struct Factors;
}  // namespace impl::sweeps

namespace impl::ilu {
struct Outcome;
template <class Scalar, class Space>
struct SymbolicFactors;
template <class Scalar, class Space>
class FactorSolves;
}  // namespace impl::ilu

/// An incomplete factorisation on a given pattern S, that of ILU(k) (see fill_pattern).
///
/// Formula: M = (I + L) D (I + U) with strict triangles L, U on S, and
///
///   of kind `ilu`: (M)_ij = a_ij for all (i, j) of S and the diagonal;
///   of kind `ic`: the same with U = L^T, from A's lower triangle;
///   of kind `mic_gustafsson`: U = L^T and M e = A e for e = (1, ..., 1)^T: what falls off S in a row, w_ik
///   u_kj, is added to its diagonal. The sums are those of the rank's own columns.
///   of kind `mic_robert`: U = L^T and M - A is positive semidefinite: |w_ik u_kj| is added to the diagonal
///   of the scaled matrix, of row i and of row j (see Ic).
///
/// A is scaled from both sides to the unit diagonal, R A C with r_i = sign(a_ii) / sqrt|a_ii| and c_i =
/// |r_i|: that changes nothing except rounding, pivots are relative to the diagonal, and factors of
/// well-scaled rows fit any storage. The scaled factors are kept, and y = C (I + U)^-1 D^-1 (I + L)^-1 R x;
/// the last factor is a pass of its own where C is not a multiple of I. A diagonal entry that is 0, missing
/// or not finite has the largest entry of its row in its place; that of an empty row is 1. Schedule: a row is
/// worked on by a lane group, or on a device by one thread where rows are short, by the levels of L's
/// pattern, or all in one launch (FactorOptions::schedule), in which a row finds where its columns are in the
/// rows that it needs before it waits for their values. The result has the same bits either way, for any
/// number of threads. Cost of numeric: for each entry (i, k) of L the row k of U (of L, for `ic`), with a
/// search in row i for each of its entries; of an application 2 nnz operations, and the cost of the solves
/// (see TriangularSolver). Memory: S, 8 bytes an entry and 20 a row; 4 bytes a row of the levels, and some
/// more in one launch; what the two solves keep. Numeric holds the factors and, once more, U's values (L's,
/// for `ic`). Columns >= num_rows (of other ranks) are skipped. For real scalars. Breakdown: a row whose
/// pivot PivotPolicy refuses, that is, which is not above the root of the precision's epsilon times its
/// diagonal entry (in size for `ilu`, with sign for the other kinds), or with an entry of U, or of L over the
/// least pivot that is accepted, that is not finite, loses all of L and U except the diagonal, a_ii; of
/// the other kinds its row of L. Where no `shift` is given A + alpha diag(A) is then factored, with alpha =
/// 0.001, 0.01, 0.1, 1 in turn, until no pivot breaks down; else the one with the fewest breakdowns is kept,
/// of equal ones the first. The report's notes have each try, and the counted breakdowns are those of the try
/// that is kept, the first with its pivot relative to the diagonal entry. Source: Saad, Iterative Methods for
/// Sparse Linear Systems, 2nd ed., sections 10.3.2 to 10.3.5; shifts: Manteuffel, Math. Comp. 34 (1980); Li,
/// Saad, J. Supercomput. 63 (2013), section 5.1.
template <class Scalar, class Space>
class IncompleteFactorization : public MatrixPreconditioner<Scalar, Space> {
 public:
  using Method = MatrixPreconditioner<Scalar, Space>;
  using typename Method::matrix_source;
  using typename Method::matrix_view;
  using matrix_type = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

  /// From the next numeric on the factors can be looked at, which takes 8 bytes an entry.
  void keep_factors() { m_keeps_factors = true; }
  /// L and U of the scaled matrix, without their diagonals of 1; empty where they are not kept.
  const matrix_type& factor_lower() const { return m_lower; }
  const matrix_type& factor_upper() const { return m_upper; }
  /// D^-1, and R's diagonal, likewise.
  const Vector<Scalar, Space>& pivots() const { return m_pivots; }
  const Vector<Scalar, Space>& row_scale() const { return m_row_scale; }
  /// alpha of the factors in use.
  double shift() const { return m_shift; }

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;

 protected:
  IncompleteFactorization(IncompleteKind kind, const PatternOptions& options)
      : m_kind(kind), m_options(options) {}

  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

  using Symbolic = impl::ilu::SymbolicFactors<Scalar, Space>;
  using Factors = impl::sweeps::Factors<Scalar, Space>;
  using Outcome = impl::ilu::Outcome;

  /// Prepares the numbers and the solves for the pattern; here it finds the levels of the rows.
  virtual void schedule_step(const Space& space, Symbolic& symbolic) const;
  /// Computes the factors of A + alpha diag(A) and their outcome; here row by row. `report` gets the
  /// breakdowns of the scaling.
  virtual Factors factor_step(const Space& space, const matrix_view& a, const Symbolic& symbolic,
                              double alpha, Report& report, Outcome& outcome) const;
  /// How often factor_step does what a factorisation by rows does once; for the report.
  virtual double work(std::int64_t /*num_rows*/) const { return 1; }
  /// Copies of the triangles that factor_step holds in addition to the factors; for the report's setup_bytes.
  virtual double working_copies() const { return 0.5; }
  IncompleteKind kind() const { return m_kind; }

 private:
  using Solves = impl::ilu::FactorSolves<Scalar, Space>;

  std::shared_ptr<const Symbolic> find_pattern(const Space& space, const matrix_view& a) const;
  void check_diagonal(const Space& space, const matrix_view& a) const;

  IncompleteKind m_kind;
  PatternOptions m_options;
  bool m_keeps_factors = false;
  std::shared_ptr<const Symbolic> m_symbolic;
  std::shared_ptr<const Solves> m_solves;  ///< of a numeric phase
  bool m_has_values = false;               ///< there was one since symbolic
  matrix_type m_lower, m_upper;
  Vector<Scalar, Space> m_pivots, m_row_scale;
  double m_shift = 0;
};

}  // namespace prekond
