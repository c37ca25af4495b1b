// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Solves of one matrix after another.
#include <prekond/precond/auto_solver.hpp>
#include <prekond/precond/linear_solver_options.hpp>

#include <memory>
#include <optional>
#include <string>
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
/// Cost besides the methods': a pass over A where methods are chosen. Memory: A is not copied.
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
  /// Other values in the pattern of the last matrix, in the same arrays or others.
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

 private:
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

}  // namespace prekond
