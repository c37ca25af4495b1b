// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/krylov/solver.hpp>
#include <prekond/matrix/impl/own_columns.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/automatic.hpp>
#include <prekond/precond/impl/registered_methods.hpp>

#include "core/instantiate.hpp"
#include "core/norm.hpp"
#include "krylov/random_vector.hpp"
#include "matrix/filter_entries.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

namespace prekond {
namespace impl::automatic {

/// A trial of fewer iterations says nothing.
constexpr double least_trial = 6;
/// The relative residual that iterations are counted to.
constexpr double target = 1e-8;

/// The candidate of the least work; the end where all are out.
inline std::vector<Candidate>::iterator cheapest(std::vector<Candidate>& candidates, double solves) {
  const auto best = std::min_element(
      candidates.begin(), candidates.end(),
      [&](const Candidate& a, const Candidate& b) { return a.work(solves) < b.work(solves); });
  return best == candidates.end() || best->is_out ? candidates.end() : best;
}

/// The iterations that Jacobi is expected to take, from `steps` of them on a random right-hand side; none
/// where A is not positive definite and the solver needs that.
template <class Scalar, class Space>
std::optional<double> iterations_with_jacobi(const Space& space, const CsrView<Scalar, Space>& a,
                                             const Candidate& jacobi, std::int64_t steps) {
  const auto preconditioner = make_registered_method<Scalar, Space>(jacobi.preconditioner, "preconditioner");
  preconditioner->numeric(space, a);
  const auto b = allocate<Vector<Scalar, Space>>(space, "prekond::auto::b", a.num_rows);
  const auto x = allocate_zero<Vector<Scalar, Space>>(space, "prekond::auto::x", a.num_rows);
  krylov::fill_random<Scalar, Space>(space, b, RowNumbers<Space>{a.num_rows}, 1);
  std::vector<double> norms;
  StoppingOptions stopping;
  stopping.rtol = target;
  stopping.max_iters = steps;
  const SolveResult result =
      create_solver<Scalar, Space>(jacobi.solver.name, jacobi.solver.options)
          ->solve(space, CsrOperator<Scalar, Space>(a), preconditioner.get(), b, x, stopping,
                  [&](std::int64_t iteration, double norm_r) {
                    norms.resize(static_cast<std::size_t>(iteration) + 1, norm_r);
                    norms.back() = norm_r;  // a solver that starts again passes an iteration once more
                  });
  if (result.reason == StopReason::breakdown_not_spd) return std::nullopt;
  const auto done = static_cast<double>(result.iterations);
  if (result.converged) return done;
  const double norm_b = norm<Scalar, Space>(space, b).value();
  return done + believed_iterations_left(norms, target * norm_b, jacobi.jacobis);
}

/// Lets the candidates know how hard the system is. \returns a word on it
template <class Scalar, class Space>
std::string try_jacobi(const Space& space, const CsrView<Scalar, Space>& a, double budget, double solves,
                       std::vector<Candidate>& candidates) {
  const auto jacobi = std::find_if(candidates.begin(), candidates.end(), [](const Candidate& one) {
    return !one.is_out && one.preconditioner.name == "jacobi";
  });
  if (jacobi == candidates.end()) return "";
  double others = std::numeric_limits<double>::infinity();
  for (const Candidate& other : candidates)
    if (&other != &*jacobi) others = std::min(others, other.work(solves));
  const double steps = budget * std::min(others, jacobi->work(solves)) / jacobi->iteration;
  if (!(steps >= least_trial)) return "";
  const auto found =
      iterations_with_jacobi<Scalar, Space>(space, a, *jacobi, static_cast<std::int64_t>(steps));
  if (!found) {
    leave_definite(candidates, "jacobi");
    return "; A is not positive definite";
  }
  expect_iterations(candidates, *found);
  return "; Jacobi would take about " + std::to_string(std::llround(*found)) + " iterations";
}

}  // namespace impl::automatic

template <class Scalar, class Space>
void Automatic<Scalar, Space>::set_listener(const typename Inner::Listener& listener) {
  Inner::set_listener(listener);
  m_inner_listener = listener;
  if (m_inner) m_inner->set_listener(listener);
}

template <class Scalar, class Space>
auto Automatic<Scalar, Space>::inner() const -> const Inner& {
  if (!m_inner) throw std::logic_error("auto: there is no method before numeric");
  return *m_inner;
}

template <class Scalar, class Space>
void Automatic<Scalar, Space>::symbolic_step(const Space&, const matrix_source&) {
  m_inner = nullptr;
  m_candidates.clear();
}

/// Sets up the candidate of the least work whose setup does not fail. \returns why it was taken
template <class Scalar, class Space>
std::string Automatic<Scalar, Space>::choose(const Space& space, const matrix_source& source) {
  namespace steps = impl::automatic;
  CsrView<Scalar, Space> a = source.csr();
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> own;
  if (a.num_cols > a.num_rows) {
    own = filter_entries<Scalar, Space>(space, a, impl::IsOwnColumn<Scalar, Space>{a});
    own.num_cols = own.num_rows;
    a = own;
  }
  const auto solves = static_cast<double>(m_options.solves);
  std::vector<Candidate> candidates =
      candidates_for(statistics<Scalar, Space>(space, a, false), !is_host_space<Space>, is_complex<Scalar>,
                     source.near_null_space().extent(1) > 0);
  for (Candidate& one : candidates) one.is_out |= one.is_last_resort;
  expect_iterations(candidates);
  const std::string hardness =
      steps::try_jacobi<Scalar, Space>(space, a, m_options.budget, solves, candidates);
  std::string failures;
  for (auto next = steps::cheapest(candidates, solves); next != candidates.end();
       next = steps::cheapest(candidates, solves)) {
    next->was_tried = true;
    try {
      auto made = impl::make_registered_method<Scalar, Space>(next->preconditioner, "preconditioner");
      made->set_listener(m_inner_listener);
      made->numeric(space, source);
      next->outcome = "taken";
      char work[32];
      std::snprintf(work, sizeof(work), "%.3g", next->work(solves));
      const std::string reason = "auto takes " + next->preconditioner.name + ", the work of " + work +
                                 " products with A a solve is expected" + hardness;
      m_inner = std::move(made);
      m_candidates = std::move(candidates);
      return reason;
    } catch (const InputError& error) {
      next->outcome = error.what();
    }
    next->is_out = true;
    failures += (failures.empty() ? "" : "; ") + next->preconditioner.name + ": " + next->outcome;
  }
  throw InputError("auto: no method of its list can be set up for this matrix; " + failures);
}

template <class Scalar, class Space>
void Automatic<Scalar, Space>::numeric_step(const Space& space, const matrix_source& source, Report& report) {
  bool is_kept = m_inner != nullptr;
  try {
    if (is_kept) m_inner->numeric(space, source);
  } catch (const InputError&) {
    is_kept = false;
  }
  if (!is_kept) m_reason = choose(space, source);
  report = m_inner->report();
  report.pattern_kept = is_kept && report.pattern_kept;
  report.notes.insert(report.notes.begin(), m_reason);
}

template <class Scalar, class Space>
std::unique_ptr<Workspace> Automatic<Scalar, Space>::make_workspace(const Space& space,
                                                                    int num_vectors) const {
  return m_inner ? m_inner->make_workspace(space, num_vectors) : std::make_unique<Workspace>();
}

template <class Scalar, class Space>
void Automatic<Scalar, Space>::apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                          MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  this->apply_step_of(*m_inner, space, x, y, workspace);
}

template <class Scalar, class Space>
void Automatic<Scalar, Space>::apply_add_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                                              MultiVectorView<Scalar, Space> y, Workspace& workspace) const {
  this->apply_add_step_of(*m_inner, space, x, y, workspace);
}

#define PREKOND_AUTOMATIC(Scalar, Space) template class Automatic<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_AUTOMATIC)

}  // namespace prekond
