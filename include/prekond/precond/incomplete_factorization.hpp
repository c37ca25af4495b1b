// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>
#include <prekond/precond/setup_options.hpp>
#include <prekond/precond/triangular_solver.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace prekond {

namespace impl::ilu {
template <class Scalar, class Space>
struct SymbolicFactors;
template <class Scalar, class Space>
class FactorSolves;
}  // namespace impl::ilu

/// L D U of a general matrix; L D L^T of a symmetric positive definite one; the same with what is dropped
/// added to the diagonal.
enum class IncompleteFactors { ilu, ic, mic };

/// When the rows of a factorisation are worked on: level by level, or in one launch, each row once those that
/// it needs are done.
enum class FactorSchedule { automatic, levels, sync_free };

/// What all incomplete factorisations let choose.
struct IncompleteOptions {
  double shift = 0;
  bool raise_shift = true;
  FactorSchedule schedule = FactorSchedule::automatic;
  TriangularOptions solve;
  Reuse reuse = Reuse::pattern;
  std::int64_t pattern_bytes = std::int64_t(16) << 30;

  /// Those of a symmetric positive definite matrix, and of a general one.
  Properties properties(IncompleteFactors kind) const {
    // An approximate inverse of L^T is not the transpose of L's.
    if (kind == IncompleteFactors::ilu || solve.method == TriangularMethod::isai)
      return {.symmetry = Symmetry::nonsymmetric};
    return {.needs_spd = true, .symmetry = Symmetry::symmetric};
  }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("shift", shift, 0.0, 1e6, "alpha: A + alpha diag|A| is factored");
    visit("raise_shift", raise_shift,
          "as long as pivots break down: the larger ones of 0.001, 0.01, 0.1 and 1 in turn");
    visit("schedule", schedule,
          {{"auto", FactorSchedule::automatic},
           {"levels", FactorSchedule::levels},
           {"sync_free", FactorSchedule::sync_free}},
          "of numeric: a launch a level of rows, or one launch, each row once those that it needs are done; "
          "auto: levels");
    visit(
        "solve.method", solve.method, triangular_methods(),
        "how the triangles are solved: exactly, by levels or sync_free (auto: by the device), or nearly, by "
        "sweeps of Jacobi's method or approximate inverses");
    visit("solve.sweeps", solve.sweeps, 0, 1000000, "of solve.method jacobi");
    visit("solve.isai_power", solve.isai_power, 1, 1000,
          "of solve.method isai: the power of the triangle's pattern that the inverse has");
    visit("solve.max_polls", solve.max_polls, 0, std::int64_t(1) << 60,
          "of solve.method sync_free: how often a row looks for a value before one team solves the system");
    visit("storage", solve.storage, storage_choices(),
          "precision in which the factors are kept and applied; full: the matrix's");
    visit("reuse", reuse, reuse_choices(),
          "what a second numeric phase does: factors on the pattern that there is, or finds it anew");
    visit("pattern_bytes", pattern_bytes, std::int64_t(1) << 10, std::int64_t(1) << 50,
          "most memory that the factors' pattern may take");
  }
};

/// M = (I + L) D (I + U) on a given pattern S, that of ILU(k) (see fill_pattern), with strict triangles L, U:
///
///   (M)_ij = a_ij for all (i, j) of S and the diagonal, of kind `ilu`;
///   the same with U = L^T, from A's lower triangle alone, of kind `ic`;
///   U = L^T and M e = A e for e = (1, ..., 1)^T, of kind `mic`: what falls off S in a row, w_ik u_kj, is
///   added to its diagonal. The sums are those of the rank's own columns.
///
/// A is scaled from both sides to the unit diagonal, R A C with r_i = sign(a_ii) / sqrt|a_ii| and c_i =
/// |r_i|: that changes nothing but rounding, pivots are relative to the diagonal, and factors of well-scaled
/// rows fit any storage. They are kept so, and y = C (I + U)^-1 D^-1 (I + L)^-1 R x; the last factor is a
/// pass of its own where C is not a multiple of I. A diagonal entry that is 0, missing or not finite has the
/// largest entry of its row in its place, of an empty row 1.
///
/// Rows are a vector of lanes each, by the levels of L's pattern, or all in one launch (`schedule`): a row's
/// own columns and those of U that meet them are found before it waits for the rows that it needs. The result
/// has the same bits either way, whatever the threads.
///
/// Cost of numeric: for each entry (i, k) of L the row k of U (of L, for `ic`), with a binary search in row i
/// for each of its entries; of an application 2 nnz operations, and what the solves take (see
/// TriangularSolver). Memory: S, 8 bytes an entry and 20 a row; 4 bytes a row of the levels, and 8 for each
/// 16 rows with `schedule = sync_free`; what the two solves keep. Columns >= num_rows (of other ranks) are
/// skipped. For real scalars.
///
/// Breakdown: a row whose pivot is not above the root of the precision's epsilon times its diagonal entry (in
/// size for `ilu`, with sign for `ic` and `mic`), or with entries that are not finite, loses all of L and U
/// but the diagonal, |a_ii|; of `ic` and `mic` its row of L. With `raise_shift` A + alpha diag|A| is
/// then factored, with those of alpha = 0.001, 0.01, 0.1, 1 that are larger than `shift` in turn, until no
/// pivot breaks down; else the one with the fewest breakdowns is kept, of equal ones the first. The report's
/// notes have each try, and what is counted is that of the one kept, the first with its pivot relative to the
/// diagonal entry.
///
/// Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., sections 10.3.2 to 10.3.5; shifts:
/// Manteuffel, Math. Comp. 34 (1980); Li, Saad, J. Supercomput. 63 (2013), section 5.1.
template <class Scalar, class Space>
class IncompleteFactorization : public MatrixPreconditioner<Scalar, Space> {
 public:
  using Method = MatrixPreconditioner<Scalar, Space>;
  using typename Method::matrix_source;
  using typename Method::matrix_view;
  using matrix_type = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

  ~IncompleteFactorization() override;

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
  /// \throws OptionError for `Reuse::extend`
  IncompleteFactorization(const std::string& name, IncompleteFactors kind, int level,
                          const IncompleteOptions& options);

  void symbolic_step(const Space& space, const matrix_source& source) override;
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override;
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;

 private:
  using Symbolic = impl::ilu::SymbolicFactors<Scalar, Space>;
  using Solves = impl::ilu::FactorSolves<Scalar, Space>;

  std::shared_ptr<const Symbolic> find_pattern(const Space& space, const matrix_view& a) const;
  void check_diagonal(const Space& space, const matrix_view& a) const;

  IncompleteFactors m_kind;
  int m_level;
  IncompleteOptions m_options;
  bool m_keeps_factors = false;
  std::shared_ptr<const Symbolic> m_symbolic;
  std::shared_ptr<const Solves> m_solves;  ///< of a numeric phase
  bool m_has_values = false;               ///< there was one since symbolic
  matrix_type m_lower, m_upper;
  Vector<Scalar, Space> m_pivots, m_row_scale;
  double m_shift = 0;
};

}  // namespace prekond
