// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/incomplete_options.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <memory>
#include <string>

namespace prekond {

namespace impl::ilu {
template <class Scalar, class Space>
class FactorSolves;
}  // namespace impl::ilu

template <class Space>
struct FillPattern;

/// Parameters of ILUT(p, tau) and ICT(p, tau). The registry also knows it as `ict`, with kind = ic.
struct IlutOptions : FactorOptions {
  static constexpr const char* name = "ilut";
  static constexpr const char* summary =
      "ILUT(p, tau): incomplete L D U on a pattern found by the sizes of its entries";
  static constexpr const char* paper =
      "Saad, Numer. Linear Algebra Appl. 1 (1994); Iterative Methods for Sparse Linear Systems, 2nd ed., "
      "section 10.4";

  IncompleteKind kind = IncompleteKind::ilu;  ///< `ilu` or `ic`
  int p = 10;
  double tau = 1e-3;
  std::int64_t memory_budget = std::int64_t(16) << 30;

  Properties properties() const { return FactorOptions::properties(kind); }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("kind", kind, incomplete_kinds(),
          "kind of the factors: ilu of a general matrix, ic of a symmetric positive definite one; default "
          "ilu, of ict ic");
    visit("p", p, 0, 2147483647,
          "bound of the number of entries that a row of L, and one of U, keeps in addition to the diagonal; "
          "raise it where many rows are cut, lower it where memory is short; default 10");
    visit("tau", tau, 0.0, 1e6,
          "drop tolerance: entries of a row up to tau times the 2-norm of A's row, scaled to the unit "
          "diagonal, are dropped; lower it where the solver needs too many iterations; default 0.001");
    describe_shift(visit);
    describe_solve(visit);
    visit("memory_budget", memory_budget, std::int64_t(1) << 10, std::int64_t(1) << 40,
          "bound of the memory that the growing factors and the rows in work may take; default 16 GiB");
    visit.formerly("work_bytes");
  }
};

/// ILUT(p, tau) of a general matrix, and its symmetric counterpart ICT(p, tau) of a symmetric positive
/// definite one: factors on a pattern that the values find. ICT is symmetric positive definite.
///
/// Formula: M = (I + L) D (I + U) with strict triangles L, U. Row i begins as A's row, and for each k < i
/// that it has, ascending,
///
///   w_k is dropped where |w_k| <= tau_i, else l_ik = w_k / d_k and w_j -= w_k u_kj for all j > k;
///
/// then d_i = w_i; w_j with j > i is dropped where |w_j| <= tau_i, and the p largest |l_ik| and the p largest
/// |w_j| are kept, of equal ones those of the smallest columns; u_ij = w_j / d_i. ICT has U = L^T and makes
/// the rows of U only: w_j -= u_ki d_k u_kj for all k < i with u_ki != 0 and j >= i. tau_i is tau times the
/// 2-norm of row i of A. tau = 0 with p >= num_rows - 1 is the complete factorisation. A is scaled from both
/// sides to the unit diagonal, as by IncompleteFactorization, and the norms are those of the scaled rows.
/// Schedule: all rows are worked on in one launch, by a lane group each, in the order of the rows; a row
/// waits for those that it needs, which it finds while it is worked on. The result has the same bits whatever
/// the number of threads. A row is in scratch while it has up to 192 entries, then in global memory. Cost of
/// numeric: for each l_ik that is not dropped at once the row k of U, some 2 p operations and p look-ups in a
/// hash table, and a search for the next k; and as many steps one after another as there are levels of L,
/// some microseconds each. The cost of the solves: see TriangularSolver.
/// Memory: L and U, 12 bytes an entry and 40 a row while they grow, with room for twice as many entries, and
/// up to 256 MiB for rows in global memory; then 8 bytes an entry in addition to its value, and what the
/// solves keep. Every numeric phase finds the pattern anew. Columns >= num_rows (of other ranks) are skipped.
/// For real scalars. Breakdown: a row whose pivot PivotPolicy refuses, or with entries that are not finite,
/// loses all of L and U except the diagonal, a_ii; ICT loses its row of U. Where no `shift` is given A +
/// alpha diag(A) is then factored, as by IncompleteFactorization. \throws InputError, of kind `ic`, for a
/// pattern that is not symmetric Source: Saad, Numer. Linear Algebra Appl. 1 (1994); Saad, Iterative Methods
/// for Sparse Linear Systems, 2nd ed., section 10.4; shifts: Manteuffel, Math. Comp. 34 (1980).
template <class Scalar, class Space>
class Ilut : public MatrixPreconditioner<Scalar, Space> {
 public:
  using Method = MatrixPreconditioner<Scalar, Space>;
  using options_type = IlutOptions;
  using typename Method::matrix_source;
  using typename Method::matrix_view;
  using matrix_type = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

  explicit Ilut(const IlutOptions& options = {});
  ~Ilut() override;

  std::string name() const override { return this->is_symmetric() ? "ict" : "ilut"; }
  Properties properties() const override { return m_options.properties(); }
  const IlutOptions& options() const { return m_options; }

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
  void symbolic_step(const Space& space, const matrix_source& source) override;
  /// \throws InputError for another number of entries than symbolic was given, and where more than
  /// `memory_budget` are needed; of kind `ic` for a diagonal entry that is missing or not positive
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

 private:
  using Solves = impl::ilu::FactorSolves<Scalar, Space>;

  IlutOptions m_options;
  bool m_keeps_factors = false;
  std::shared_ptr<const FillPattern<Space>> m_pattern;  ///< A's own
  CsrGraph<Space> m_mirrored;                           ///< that of A + A^T, which it is of then
  std::shared_ptr<const Solves> m_solves;               ///< of a numeric phase
  matrix_type m_lower, m_upper;
  Vector<Scalar, Space> m_pivots, m_row_scale;
  double m_shift = 0;
};

}  // namespace prekond
