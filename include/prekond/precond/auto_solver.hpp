// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The choice of a preconditioner and a solver by the matrix, and the solve with them.
#include <prekond/krylov/solver.hpp>
#include <prekond/precond/candidates.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace prekond {

/// Solves A x = b with methods of its own choice.
///
/// It begins with a dozen iterations of Jacobi, to see how hard the system is, where these cost at most
/// `budget` of what is expected of the best candidate, and a solve with Jacobi at most three times as much as
/// that. Then the candidate that is expected to be done first goes on. It looks at the residual from time to
/// time: where the work left by its rate exceeds that of another candidate by half, that one goes on from the
/// x reached. A candidate whose setup fails, that breaks down or that stagnates is out. All decisions follow
/// from modelled work and residuals, none from times: the same input gives the same bits. Only `probe` asks a
/// clock: before the first setup but Jacobi's it sets up the two candidates of the least expected work, the
/// second one where its setup is within the budget, times setups, applications and products with A, and goes
/// on with these figures.
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
  /// \throws OptionError for a value out of its range
  AutoSolver(const Space& space, const MatrixSource<Scalar, Space>& a, const AutoSolverOptions& options = {});
  /// With candidates and setups of the caller's. `nnz` and `num_rows`, of A: the unit of work. On several
  /// processes all have the same candidates, and the sizes are those of the whole A.
  AutoSolver(std::vector<Candidate> candidates, std::int64_t num_rows, std::int64_t nnz, Setup setup,
             const AutoSolverOptions& options = {});
  AutoSolver(const AutoSolver&) = delete;
  AutoSolver& operator=(const AutoSolver&) = delete;

  void set_listener(const Listener& listener) { m_listener = listener; }

  /// Likewise as Solver::solve, with the iterations, products and seconds of all attempts. The reason is that
  /// of the last one; the second that blames the system, A's range or rounding in A x, is the last.
  /// \throws InputError where no candidate can be set up
  SolveResult solve(const Space& space, const Operator<Scalar, Space>& a, VectorView<const Scalar, Space> b,
                    VectorView<Scalar, Space> x, const StoppingOptions& stopping, const Monitor& monitor = {},
                    const Reducer<Scalar, Space>& reducer = {});

  /// With what became of each.
  const std::vector<Candidate>& candidates() const { return m_candidates; }
  /// The last one that was tried. \pre one was
  const Candidate& chosen() const { return m_candidates.at(m_chosen); }

 private:
  struct Attempt;

  void tell(const std::string& text) const {
    if (m_listener) m_listener(text);
  }
  bool set_up(const Space& space, const Reducer<Scalar, Space>& reducer, Candidate& candidate,
              const Applied*& preconditioner);
  void probe(const Space& space, const Operator<Scalar, Space>& a, VectorView<const Scalar, Space> b,
             const Reducer<Scalar, Space>& reducer);
  void expect(const Candidate& tried, double iterations);
  void take_out(Candidate& failed, StopReason reason);
  SolveResult attempt(const Space& space, const Operator<Scalar, Space>& a, VectorView<const Scalar, Space> b,
                      VectorView<Scalar, Space> x, const StoppingOptions& stopping, const Monitor& monitor,
                      const Reducer<Scalar, Space>& reducer, std::int64_t done, double norm_b,
                      Candidate& candidate, const Applied* preconditioner);

  std::vector<Candidate>::iterator cheapest(const Candidate* except);
  std::vector<Candidate>::iterator first();

  std::vector<Candidate> m_candidates;
  std::int64_t m_num_rows, m_nnz;
  double m_solves, m_budget;
  bool m_probes;  ///< the next setup is to be timed
  Setup m_setup;
  Listener m_listener;
  std::size_t m_chosen = 0;
  bool m_is_trial = false;             ///< the next attempt is only to see how hard the system is
  const Candidate* m_ready = nullptr;  ///< the one that is set up
  const Applied* m_applied = nullptr;  ///< its preconditioner
  double m_by_jacobi = 0;              ///< iterations that Jacobi takes, by its own attempts
  double m_by_others = 0;              ///< the same by the attempts of others
};

}  // namespace prekond
