// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Solves of one matrix after another.
#include <prekond/precond/auto_solver.hpp>
#include <prekond/precond/linear_solver_options.hpp>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace prekond {

/// Solves A x = b for right-hand sides and matrices that come one after another, with methods that are named
/// or chosen by the matrix (AutoSolver).
///
/// A preconditioner M outlives the values that it was made of, as `reuse` says. By `automatic` M stays as it
/// is while A changes. The iterations that a solve takes beyond those of the first solve with M are the price
/// of that. Once they have cost as much work as another numeric phase is expected to, half that of a setup,
/// the next solve begins with one: over all solves the price is at most twice that of the best moments for
/// new phases (the rule of ski rental; Karlin, Manasse, Rudolph, Sleator, Algorithmica 3, 1988). The solves
/// go on from the x of the caller's, as in a nonlinear iteration or a time step. A solve that fails with an M
/// of former values, or takes the work of two numeric phases longer, is repeated from the x reached with a
/// new one, and where that fails, with methods chosen anew. The next 7 matrices get a
/// numeric phase at once then; after more failures in a row 21, 49, and at most 64 do. All do where a numeric
/// phase takes less than a tenth of a solve.
///
/// All decisions follow from modelled work and iterations, none from times: the same input gives the same
/// bits.
///
/// Rows whose columns do not ascend are sorted, in a copy, and a note says so. Values that are written into
/// the caller's arrays then count from set_values on. A matrix by blocks, where they are not sorted, is
/// solved by its single rows.
///
/// Cost besides the methods': a pass over A and one over its columns that check it, and one where methods are
/// chosen. Memory: A is copied only where its rows have to be sorted, with 8 bytes an entry.
template <class Scalar, class Space>
class LinearSolver {
 public:
  using Method = MatrixPreconditioner<Scalar, Space>;

  /// \throws OptionError for a value out of its range, or an unknown name
  explicit LinearSolver(const LinearSolverOptions& options = {});
  LinearSolver(const LinearSolver&) = delete;
  LinearSolver& operator=(const LinearSolver&) = delete;

  /// A new matrix, whose views have to outlive the solves. Methods are chosen anew.
  /// \throws InputError where it is not square, or no matrix (see validate)
  void set_matrix(const Space& space, const MatrixSource<Scalar, Space>& a);
  /// Other values in the pattern of the last matrix, in the same arrays or others, with the entries in the
  /// same order.
  /// \throws InputError where it has another number of rows or entries
  void set_values(const Space& space, const MatrixSource<Scalar, Space>& a);

  /// Likewise as Solver::solve, with all attempts counted. \throws std::logic_error where there is no matrix
  /// \throws InputError where no method can be set up
  SolveResult solve(const Space& space, VectorView<const Scalar, Space> b, VectorView<Scalar, Space> x,
                    const Monitor& monitor = {});

  /// The methods of the last solve.
  const Candidate& chosen() const;
  /// The preconditioner that is set up; null before the first solve.
  const Method* preconditioner() const { return m_made.get(); }
  /// Numeric phases so far, with those of methods that were tried and left.
  std::int64_t setups() const { return m_setups; }
  /// Remarks on the matrix, which a solve's result has too: rows that were sorted.
  const std::vector<std::string>& notes() const { return m_notes; }

 private:
  /// A with sorted rows, where the caller's are not, and the places of its entries in the caller's arrays.
  struct Sorted {
    CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> rows;
    Vector<std::int64_t, Space> places;
  };

  static Sorted sorted_rows(const Space& space, const CsrView<Scalar, Space>& a);
  void use(const Space& space, const MatrixSource<Scalar, Space>& a);
  SolveResult solve_anew(const Space& space, VectorView<const Scalar, Space> b, VectorView<Scalar, Space> x,
                         const StoppingOptions& stopping, const Monitor& monitor);
  std::optional<SolveResult> attempt(const Space& space, VectorView<const Scalar, Space> b,
                                     VectorView<Scalar, Space> x, StoppingOptions stopping,
                                     const Monitor& monitor, bool refreshes);
  const Method* set_up(const Space& space, const Candidate& candidate);
  bool refresh(const Space& space);
  bool is_due();
  void begin_count(double iterations);

  LinearSolverOptions m_options;
  Sorted m_sorted;
  std::vector<std::string> m_notes;
  std::optional<MatrixSource<Scalar, Space>> m_source;
  std::unique_ptr<Operator<Scalar, Space>> m_operator;
  std::unique_ptr<Method> m_made;
  std::optional<Candidate> m_chosen;  ///< of the last solve that converged
  bool m_is_current = false;          ///< is M made of the values that A has now?
  std::int64_t m_setups = 0;
  double m_numeric_work = 0;             ///< of M, in products with A
  double m_iterations = 0;               ///< of the first solve with M's values
  double m_excess = 0;                   ///< work of iterations beyond these, since then
  std::int64_t m_pause = 0, m_wait = 0;  ///< matrices that get a numeric phase at once: in all, and still
};

/// Solves A x = b once. x is the initial vector, and the solution. \throws as LinearSolver
template <class Scalar, class Space>
SolveResult solve(const Space& space, const MatrixSource<Scalar, Space>& a,
                  const std::type_identity_t<VectorView<const Scalar, Space>>& b,
                  const std::type_identity_t<VectorView<Scalar, Space>>& x,
                  const LinearSolverOptions& options = {}) {
  LinearSolver<Scalar, Space> solver(options);
  solver.set_matrix(space, a);
  return solver.solve(space, b, x);
}
/// The same for a CsrMatrix of any Views in the memory of `space`.
template <class Space, class Matrix>
requires std::is_convertible_v<const Matrix&, CsrView<typename Matrix::scalar_type, Space>> SolveResult
solve(const Space& space, const Matrix& a,
      const std::type_identity_t<VectorView<const typename Matrix::scalar_type, Space>>& b,
      const std::type_identity_t<VectorView<typename Matrix::scalar_type, Space>>& x,
      const LinearSolverOptions& options = {}) {
  return solve<typename Matrix::scalar_type, Space>(
      space, MatrixSource<typename Matrix::scalar_type, Space>(a), b, x, options);
}

}  // namespace prekond
