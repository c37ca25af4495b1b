// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The choice of a preconditioner and a solver by the matrix, and the solve with them.
#include <prekond/core/options.hpp>
#include <prekond/krylov/solver.hpp>
#include <prekond/matrix/statistics.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace prekond {

/// A preconditioner with a solver, and what a solve with them is expected to cost. The unit of work is a
/// product with A.
struct Candidate {
  MethodChoice preconditioner;
  MethodChoice solver;
  bool needs_spd = false;
  double setup = 0;        ///< work of the setup
  double application = 0;  ///< work of an application of M^-1
  double iteration = 0;    ///< work of an iteration, with its application and its vectors
  double of_jacobis = 1;   ///< iterations over those with Jacobi, by experience
  double least = 1;        ///< iterations at least, by experience
  double iterations = 0;   ///< still expected
  bool is_out = false;     ///< it failed, or does not fit the matrix
  bool was_tried = false;
  std::string outcome = {};  ///< why it was taken, left or not tried, for a person

  /// The expected work from now to the end.
  double work() const {
    return is_out ? std::numeric_limits<double>::infinity() : setup + iterations * iteration;
  }
};

/// The candidates for a matrix, by rules on the facts that one pass over it finds. They depend on whether the
/// setup is on a device, where triangular solves are expensive. `is_complex`: fewer methods.
std::vector<Candidate> candidates_for(const MatrixStatistics& facts, bool on_device, bool is_complex);

/// The candidates that are not out, the least expected work first. Jacobi is expected to take `jacobis`
/// iterations, and no less than is usual.
std::vector<Candidate> by_expected_work(std::vector<Candidate> candidates, double jacobis = 0);

/// Iterations until the norm is `target`, from the mean rate of the last half of `norms`; infinity where they
/// do not fall.
double iterations_left(const std::vector<double>& norms, double target);

/// Solves A x = b with methods of its own choice.
///
/// It begins with the candidate that is expected to be done first, and looks at the residual from time to
/// time: where the work left by its rate exceeds that of another candidate by a quarter, that one goes on
/// from the x reached. A candidate whose setup fails, that breaks down or that stagnates is out. All
/// decisions follow from modelled work and residuals, none from times: the same input gives the same bits.
///
/// A further solve with the same A begins with the method that solved the last system, which stays set up,
/// and all that was learnt.
///
/// Cost besides the candidates': a pass over A for its facts. Memory: one candidate's at a time.
template <class Scalar, class Space>
class AutoSolver {
 public:
  using Applied = Preconditioner<Scalar, Space>;
  /// Makes a candidate's preconditioner, set up; null for M = I. An InputError or missing memory ends the
  /// candidate, any other exception the solve.
  using Setup = std::function<const Applied*(const Candidate&)>;
  /// Is told of every decision, a sentence each.
  using Listener = std::function<void(const std::string&)>;

  /// With the preconditioners of the registry. \throws InputError for a matrix that is not square
  AutoSolver(const Space& space, const MatrixSource<Scalar, Space>& a);
  /// With candidates and setups of the caller's. `nnz` and `num_rows`, of A: the unit of work.
  AutoSolver(std::vector<Candidate> candidates, std::int64_t num_rows, std::int64_t nnz, Setup setup);
  AutoSolver(const AutoSolver&) = delete;
  AutoSolver& operator=(const AutoSolver&) = delete;

  void set_listener(const Listener& listener) { m_listener = listener; }

  /// Likewise as Solver::solve, with the iterations, products and seconds of all attempts. The reason is that
  /// of the last one. \throws InputError where no candidate can be set up
  SolveResult solve(const Space& space, const Operator<Scalar, Space>& a, VectorView<const Scalar, Space> b,
                    VectorView<Scalar, Space> x, const StoppingOptions& stopping,
                    const Monitor& monitor = {});

  /// With what became of each.
  const std::vector<Candidate>& candidates() const { return m_candidates; }
  /// The last one that was tried. \pre one was
  const Candidate& chosen() const { return m_candidates.at(m_chosen); }

 private:
  struct Attempt;

  void tell(const std::string& text) const {
    if (m_listener) m_listener(text);
  }
  bool set_up(Candidate& candidate, const Applied*& preconditioner);
  void expect(const Candidate& tried, double iterations);
  void take_out(Candidate& failed, StopReason reason);
  SolveResult attempt(const Space& space, const Operator<Scalar, Space>& a, VectorView<const Scalar, Space> b,
                      VectorView<Scalar, Space> x, const StoppingOptions& stopping, const Monitor& monitor,
                      std::int64_t done, double norm_b, Candidate& candidate, const Applied* preconditioner);

  std::vector<Candidate> m_candidates;
  std::int64_t m_num_rows, m_nnz;
  Setup m_setup;
  Listener m_listener;
  std::size_t m_chosen = 0;
  const Candidate* m_ready = nullptr;  ///< the one that is set up
  const Applied* m_applied = nullptr;  ///< its preconditioner
  double m_by_jacobi = 0;              ///< iterations that Jacobi takes, by its own attempts
  double m_by_others = 0;              ///< the same by the attempts of others
};

}  // namespace prekond
