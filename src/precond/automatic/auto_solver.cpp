// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/precond/auto_solver.hpp>
#include <prekond/precond/registry.hpp>

#include "core/instantiate.hpp"
#include "core/missing_memory.hpp"
#include "core/norm.hpp"
#include "precond/choice/work.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>

namespace prekond {
namespace {

/// The first look at the residual is after this many iterations; later ones after half as many again.
constexpr std::int64_t first_look = 12;
/// The work left has to exceed that of an untried candidate by the first factor, or of a tried one by the
/// second.
constexpr double patience = 1.5, patience_with_tried = 3;
/// Jacobi is tried to see how hard the system is unless its work is expected to be over this many times that
/// of the best candidate: a mesh of many nodes is hard for it, and a few iterations say nothing else.
constexpr double trial_range = 3;
/// An attempt has at least this part of the iterations that were expected of it.
constexpr double least_part_of_iterations = 0.5;
/// The setup of the last resort costs more than its iterations, so that it may restart a few times before it
/// is left; once where another one is there.
constexpr double least_of_last_resort = 500, least_before_another = 100;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", value);
  return text;
}

/// The sum over all processes.
template <class Scalar, class Space>
double sum_over_processes(const Space& space, double value, const Reducer<Scalar, Space>& reducer) {
  const auto sum = allocate<Vector<Scalar, Space>>(space, "prekond::auto::sum", 1);
  Kokkos::deep_copy(space, sum, Scalar(value));
  reducer.sum(space, sum);
  Scalar host{};
  Kokkos::deep_copy(space, host, Kokkos::subview(sum, 0));
  space.fence("prekond::auto::sum");
  return real_part(host);
}

/// The seconds of the fastest of three calls, of all processes together.
template <class Scalar, class Space, class Function>
double seconds_of(const Space& space, const Reducer<Scalar, Space>& reducer, const Function& function) {
  double least = std::numeric_limits<double>::infinity();
  for (int call = 0; call < 3; ++call) {
    space.fence("prekond::auto::probe");
    const Kokkos::Timer timer;
    function();
    space.fence("prekond::auto::probe");
    least = std::min(least, timer.seconds());
  }
  return sum_over_processes<Scalar, Space>(space, least, reducer);
}

/// Does the end of a solve say that no other method gets further? A is singular and b out of its range, or
/// rounding in A x keeps the residual above the target.
bool blames_the_system(StopReason reason) {
  return reason == StopReason::breakdown_singular || reason == StopReason::stagnation;
}

void add(SolveResult& sum, const SolveResult& part) {
  SolveResult result = part;
  result.iterations += sum.iterations;
  result.matrix_products += sum.matrix_products;
  result.seconds += sum.seconds;
  sum = result;
}

}  // namespace

/// One solve with one candidate, which ends early where another one is worth more.
template <class Scalar, class Space>
struct AutoSolver<Scalar, Space>::Attempt {
  AutoSolver& own;
  Candidate& candidate;
  const StoppingOptions& whole;  ///< the caller's, who may lower its iterations
  std::int64_t done;             ///< iterations of the attempts before
  double norm_b;
  StoppingOptions stopping;
  double expected;  ///< iterations, before it began
  double spent;     ///< work of the setup
  std::vector<double> norms = {};
  bool is_trial = false;  ///< it begins to see how hard the system is, and is left at the first look
  std::int64_t next_look = first_look;
  bool was_left = false;

  void see(std::int64_t iteration, double norm) {
    stopping.max_iters = std::min(stopping.max_iters, std::max(std::int64_t(0), whole.max_iters - done));
    norms.resize(static_cast<std::size_t>(iteration) + 1, norm);
    norms.back() = norm;
    if (iteration < next_look || iteration >= stopping.max_iters) return;
    next_look = iteration + std::max(first_look, iteration / 2);
    look(iteration);
  }

  void look(std::int64_t iteration) {
    const auto k = static_cast<double>(iteration);
    candidate.setup = 0;  // is done
    candidate.iterations =
        believed_iterations_left(norms, std::max(whole.rtol * norm_b, whole.atol), expected);
    own.expect(candidate, k + candidate.iterations);
    const auto other = own.cheapest(&candidate);
    if (other == own.m_candidates.end()) return;
    if (candidate.is_last_resort && k < (other->is_last_resort ? least_before_another : least_of_last_resort))
      return;
    const bool looks_only = std::exchange(is_trial, false);
    if (!looks_only && (k < least_part_of_iterations * expected ||
                        spent + k * candidate.iteration < own.m_budget * other->work(own.m_solves)))
      return;
    // Further solves with this candidate take k iterations more.
    const double left = candidate.work() + (1 - 1 / own.m_solves) * k * candidate.iteration;
    const double margin = looks_only ? 1 : other->was_tried ? patience_with_tried : patience;
    if (left <= margin * other->work(own.m_solves)) return;
    was_left = true;
    candidate.setup = spent;  // is to be done again where it comes back
    candidate.outcome = "left after " + std::to_string(iteration) + " iterations with " +
                        number(candidate.iterations) + " or more to come, the work of " + number(left) +
                        " products with A, for " + to_string(*other) + ", " +
                        number(other->work(own.m_solves));
    stopping.max_iters = iteration;
  }
};

template <class Scalar, class Space>
AutoSolver<Scalar, Space>::AutoSolver(std::vector<Candidate> candidates, std::int64_t num_rows,
                                      std::int64_t nnz, Setup setup, const AutoSolverOptions& options)
    : m_candidates(std::move(candidates)),
      m_num_rows(num_rows),
      m_nnz(nnz),
      m_solves(static_cast<double>(resolved(options).solves)),
      m_budget(options.budget),
      m_probes(options.probe),
      m_setup(std::move(setup)) {
  if (!m_setup) throw std::logic_error("prekond::AutoSolver: there is nothing that sets a candidate up");
  // Methods for definite matrices may all fail on an ill-conditioned one.
  for (Candidate& one : m_candidates)
    if (one.is_last_resort && one.outcome.empty()) one.is_out = false;
  expect_iterations(m_candidates);
}

/// The setup of a candidate by the registry, one at a time.
template <class Scalar, class Space>
typename AutoSolver<Scalar, Space>::Setup setup_of_registry(const Space& space,
                                                            const MatrixSource<Scalar, Space>& a) {
  using Made = std::unique_ptr<MatrixPreconditioner<Scalar, Space>>;
  return [space, a, kept = std::make_shared<Made>()](
             const Candidate& candidate) -> const Preconditioner<Scalar, Space>* {
    *kept = nullptr;  // its memory is free before the next one needs as much
    *kept = configured(preconditioner_registry<Scalar, Space>(), candidate.preconditioner, "preconditioner")
                ->build();
    (*kept)->numeric(space, a);
    return kept->get();
  };
}

template <class Scalar, class Space>
AutoSolver<Scalar, Space>::AutoSolver(const Space& space, const MatrixSource<Scalar, Space>& a,
                                      const AutoSolverOptions& options)
    : AutoSolver(candidates_for(statistics<Scalar, Space>(space, a.csr(), false), !is_host_space<Space>,
                                is_complex<Scalar>, a.near_null_space().extent(1) > 0),
                 a.num_rows(), static_cast<std::int64_t>(a.csr().nnz()),
                 setup_of_registry<Scalar, Space>(space, a), options) {
  if (a.num_rows() != a.num_cols()) throw InputError("AutoSolver: the matrix is not square");
}

/// The candidate of the least work, `except` left out; the end where all are out. The last resort is not the
/// first one.
template <class Scalar, class Space>
std::vector<Candidate>::iterator AutoSolver<Scalar, Space>::cheapest(const Candidate* except) {
  const bool is_begun = std::any_of(m_candidates.begin(), m_candidates.end(),
                                    [](const Candidate& one) { return one.was_tried; });
  const auto cost = [&](const Candidate& one) {
    return std::pair(one.is_last_resort && !is_begun, one.work(m_solves));
  };
  auto best = m_candidates.end();
  for (auto one = m_candidates.begin(); one != m_candidates.end(); ++one)
    if (!one->is_out && &*one != except && (best == m_candidates.end() || cost(*one) < cost(*best)))
      best = one;
  return best;
}

/// The one to begin with: Jacobi, to see how hard the system is, where it is not far from the best and a
/// dozen iterations are within the budget; else the cheapest one.
template <class Scalar, class Space>
std::vector<Candidate>::iterator AutoSolver<Scalar, Space>::first() {
  const auto best = cheapest(nullptr);
  const auto jacobi = std::find_if(m_candidates.begin(), m_candidates.end(), [](const Candidate& one) {
    return !one.is_out && one.preconditioner.name == "jacobi";
  });
  const bool is_begun = std::any_of(m_candidates.begin(), m_candidates.end(),
                                    [](const Candidate& one) { return one.was_tried; });
  if (is_begun || best == m_candidates.end() || jacobi == m_candidates.end()) return best;
  const double trial = jacobi->setup + first_look * jacobi->iteration;
  const double of_best = best->work(m_solves);
  m_is_trial =
      jacobi != best && trial <= m_budget * of_best && jacobi->work(m_solves) <= trial_range * of_best;
  return m_is_trial ? jacobi : best;
}

/// \returns whether the candidate can be used
template <class Scalar, class Space>
bool AutoSolver<Scalar, Space>::set_up(const Space& space, const Reducer<Scalar, Space>& reducer,
                                       Candidate& candidate, const Applied*& preconditioner) {
  if (m_ready == &candidate) {  // since the last solve
    preconditioner = m_applied;
    return true;
  }
  m_ready = nullptr;
  try {
    preconditioner = m_applied = m_setup(candidate);
  } catch (const InputError& error) {
    candidate.outcome = error.what();
  } catch (const std::exception& error) {
    if (!tells_of_missing_memory(error)) throw;
    candidate.outcome = "its setup needs more memory than there is";
  }
  candidate.is_out = !candidate.outcome.empty();
  if (candidate.is_out) return false;
  m_ready = &candidate;
  if (preconditioner == nullptr) return true;
  const double flops =
      sum_over_processes<Scalar, Space>(space, preconditioner->report().apply_flops, reducer);
  if (flops > 0) {
    const double launch = launch_of_product(m_num_rows, m_nnz, !is_host_space<Space>);
    const double by_flops = (1 - launch) * flops / (2 * static_cast<double>(m_nnz));
    candidate.application = std::max(candidate.application, by_flops);
    candidate.iteration =
        work_of_iteration(candidate.solver.name, candidate.application, m_num_rows, m_nnz, launch);
  }
  return true;
}

/// Puts what a clock says of the two candidates of the least expected work in place of what is expected of
/// them. The best one is last, and stays set up.
template <class Scalar, class Space>
void AutoSolver<Scalar, Space>::probe(const Space& space, const Operator<Scalar, Space>& a,
                                      VectorView<const Scalar, Space> b,
                                      const Reducer<Scalar, Space>& reducer) {
  const auto best = cheapest(nullptr);
  if (best == m_candidates.end()) return;
  const auto second = cheapest(&*best);
  const double allowed = m_budget * best->work(m_solves);
  const auto y = allocate<Vector<Scalar, Space>>(space, "prekond::auto::probe", b.extent(0));
  const double product = seconds_of<Scalar, Space>(space, reducer, [&] {
    a.apply(space, as_multivector(b), as_multivector(VectorView<Scalar, Space>(y)));
  });
  for (const auto one : {second, best}) {
    if (one == m_candidates.end() || (one == second && !(one->setup <= allowed))) continue;
    const Applied* preconditioner = nullptr;
    const Kokkos::Timer timer;
    const bool is_ready = set_up(space, reducer, *one, preconditioner);
    space.fence("prekond::auto::probe");
    const double setup = sum_over_processes<Scalar, Space>(space, timer.seconds(), reducer);
    if (!is_ready || preconditioner == nullptr) continue;
    const auto workspace = preconditioner->make_workspace(space, 1);
    const double application = seconds_of<Scalar, Space>(space, reducer, [&] {
      preconditioner->apply(space, as_multivector(b), as_multivector(VectorView<Scalar, Space>(y)),
                            *workspace);
    });
    const double before = one->application;
    one->setup = setup / product;
    one->application = application / product;
    one->iteration += (one->solver.name == "bicgstab" ? 2 : 1) * (one->application - before);
    tell(to_string(*one) + ": by the clock its setup is the work of " + number(one->setup) +
         " products with A, an application that of " + number(one->application));
  }
}

/// A candidate's iterations say how hard the system is, in iterations with Jacobi: by Jacobi as they are, by
/// others half of what experience makes of them, because the other method may be the wrong one, and no less
/// than is expected of the matrix; those of multigrid do not grow with Jacobi's, and say nothing. Iterations
/// of candidates that were left only rise.
template <class Scalar, class Space>
void AutoSolver<Scalar, Space>::expect(const Candidate& tried, double iterations) {
  const bool is_jacobi = tried.preconditioner.name == "jacobi";
  m_by_jacobi = is_jacobi ? iterations : m_by_jacobi;
  if (!is_jacobi && tried.preconditioner.name != "amg")
    m_by_others = std::max(m_by_others, iterations / (2 * tried.of_jacobis));
  expect_iterations(m_candidates, std::max(m_by_jacobi > 0 ? m_by_jacobi : tried.jacobis, m_by_others));
  for (Candidate& left : m_candidates)
    if (left.was_tried && &left != &tried)
      left.iterations = std::max(left.iterations, m_by_others * left.of_jacobis);
}

/// Takes a candidate out that failed; after a breakdown that shows A not to be positive definite, all that
/// need it, and the others in.
template <class Scalar, class Space>
void AutoSolver<Scalar, Space>::take_out(Candidate& failed, StopReason reason) {
  failed.is_out = true;
  if (reason == StopReason::breakdown_not_spd) leave_definite(m_candidates, failed.preconditioner.name);
}

template <class Scalar, class Space>
SolveResult AutoSolver<Scalar, Space>::attempt(const Space& space, const Operator<Scalar, Space>& a,
                                               VectorView<const Scalar, Space> b, VectorView<Scalar, Space> x,
                                               const StoppingOptions& stopping, const Monitor& monitor,
                                               const Reducer<Scalar, Space>& reducer, std::int64_t done,
                                               double norm_b, Candidate& candidate,
                                               const Applied* preconditioner) {
  Attempt attempt{*this, candidate, stopping, done, norm_b, stopping, candidate.iterations, candidate.setup};
  attempt.is_trial = std::exchange(m_is_trial, false);
  const auto solver = create_solver<Scalar, Space>(candidate.solver.name, candidate.solver.options);
  const Monitor see = [&](std::int64_t iteration, double norm) {
    if (monitor) monitor(done + iteration, norm);
    attempt.see(iteration, norm);
  };
  SolveResult result;
  try {
    result = solver->solve(space, a, preconditioner, b, x, attempt.stopping, see, reducer);
  } catch (const InputError& error) {  // the solver does not take the preconditioner
    candidate.outcome = error.what();
    candidate.is_out = true;
    return result;
  }
  if (attempt.was_left && !result.converged) return result;
  candidate.outcome = (result.converged ? "solved in " : "ended by " + to_string(result.reason) + " after ") +
                      std::to_string(result.iterations) + " iterations";
  if (!result.converged) {
    take_out(candidate, result.reason);
    return result;
  }
  candidate.setup = 0;
  candidate.iterations = std::max(candidate.least, static_cast<double>(result.iterations));
  return result;
}

template <class Scalar, class Space>
SolveResult AutoSolver<Scalar, Space>::solve(const Space& space, const Operator<Scalar, Space>& a,
                                             VectorView<const Scalar, Space> b, VectorView<Scalar, Space> x,
                                             const StoppingOptions& stopping, const Monitor& monitor,
                                             const Reducer<Scalar, Space>& reducer) {
  if (b.extent(0) != x.extent(0) || static_cast<std::int64_t>(x.extent(0)) != a.num_rows())
    throw InputError("AutoSolver: b has " + std::to_string(b.extent(0)) + " rows, x " +
                     std::to_string(x.extent(0)) + ", and the matrix " + std::to_string(a.num_rows()));
  const double norm_b = norm<Scalar, Space>(space, b, reducer).value();
  SolveResult result;
  int blaming = 0;  // attempts whose end is the system's fault; one may be mistaken
  for (auto next = first(); next != m_candidates.end(); next = cheapest(nullptr)) {
    if (!m_is_trial && std::exchange(m_probes, false)) {
      probe(space, a, b, reducer);
      if (next = cheapest(nullptr); next == m_candidates.end()) break;
    }
    Candidate& candidate = *next;
    m_chosen = static_cast<std::size_t>(next - m_candidates.begin());
    tell(to_string(candidate) + ": the work of " + number(candidate.work(m_solves)) +
         " products with A is expected");
    candidate.was_tried = true;
    candidate.outcome.clear();
    const Applied* preconditioner = nullptr;
    if (set_up(space, reducer, candidate, preconditioner)) {
      add(result, attempt(space, a, b, x, stopping, monitor, reducer, result.iterations, norm_b, candidate,
                          preconditioner));
      if (candidate.is_out && blames_the_system(result.reason)) ++blaming;
    }
    tell(to_string(candidate) + ": " + candidate.outcome);
    if (result.converged || result.iterations >= stopping.max_iters || blaming == 2) return result;
  }
  if (m_ready == nullptr && result.iterations == 0)
    throw InputError("no method of the list can be set up for this matrix; " + to_string(chosen()) + ": " +
                     chosen().outcome);
  return result;
}

#define PREKOND_AUTO_SOLVER(Scalar, Space) template class AutoSolver<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_AUTO_SOLVER)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_AUTO_SOLVER)

}  // namespace prekond
