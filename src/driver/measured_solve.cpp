// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measured_solve.hpp"

#include <prekond/core/preconditioner.hpp>
#include <prekond/precond/several_devices.hpp>

#include <algorithm>
#include <cmath>
#include <functional>

#include "failure.hpp"
#ifdef PREKOND_DRIVER_HAS_MPI
#include "rows_of_ranks.hpp"
#endif

namespace prekond::driver {
namespace {

/// Wall time of the slowest process, with everything that was launched before its reading included. Made and
/// read by all processes.
class FencedTimer {
 public:
  explicit FencedTimer(const Processes& processes) : m_processes(processes) {
    Kokkos::fence("prekond::driver::start");
    m_processes.max(0);  // all begin together
    m_timer.reset();
  }
  double seconds() const {
    Kokkos::fence("prekond::driver::stop");
    return m_processes.max(m_timer.seconds());
  }

 private:
  const Processes& m_processes;
  Kokkos::Timer m_timer;
};

using Listener = std::function<void(const std::string&)>;

/// A preconditioner and its phases, which are collective.
template <class Scalar>
struct Setup {
  std::unique_ptr<Preconditioner<Scalar, Space>> preconditioner;
  std::function<void()> symbolic;
  std::function<void()> numeric;
};

template <class Scalar>
Setup<Scalar> made(std::unique_ptr<AnyPreconditioner<Scalar>> method, const Space& space,
                   const MatrixSource<Scalar, Space>& source) {
  AnyPreconditioner<Scalar>& m = *method;
  return {std::move(method), [&m, &space, source] { m.symbolic(space, source); },
          [&m, &space, source] { m.numeric(space, source); }};
}

/// The preconditioner of a serial process, of the matrix or of the scaled one.
template <class Scalar>
Setup<Scalar> make_serial(const Space& space, const Problem<Scalar>& problem, const Method<Scalar>& method,
                          const Settings& settings, const Devices* devices, const Listener& listener) {
  std::unique_ptr<AnyPreconditioner<Scalar>> m;
  if (devices != nullptr)
    m = std::make_unique<SeveralDevices<Scalar, Space>>(*method.precond, devices->others());
  else
    m = method.precond->build();
  if (problem.match.done)
    m = std::make_unique<Scaled<Scalar, Space>>(std::move(m), problem.row_scale, problem.column_scale);
  else if (settings.scale)
    m = std::make_unique<Scaled<Scalar, Space>>(std::move(m), ScaledOptions{method.scaling()});
  m->set_listener(listener);
  if constexpr (is_complex<Scalar>)
    return made<Scalar>(std::move(m), space, MatrixSource<Scalar, Space>(problem.rows));
  else
    return made<Scalar>(std::move(m), space, problem.near.source(problem.rows));
}

/// The preconditioner over several processes.
Setup<double> make_distributed(const Space& space, const Problem<double>& problem,
                               const Method<double>& method, const Settings& settings,
                               const Listener& listener) {
  auto made = std::make_unique<DistributedPreconditioner<double, Space>>(*method.precond, method.distributed);
  if (problem.match.done)
    made->set_scaling(problem.row_scale, problem.column_scale);
  else if (settings.scale)
    made->set_scaling({method.scaling()});
  made->set_near_null_space(problem.near);
  made->set_listener(listener);
  auto& m = *made;
  const auto& a = *problem.distributed;
  return {std::move(made), [&m, &a, &space] { m.symbolic(space, a); },
          [&m, &a, &space] { m.numeric(space, a); }};
}

/// The repetitions of one method on one problem.
template <class Scalar>
class Run {
 public:
  Run(const Space& space, const Processes& processes, const Problem<Scalar>& problem,
      const Method<Scalar>& method, const Settings& settings, const Devices* devices, Progress& progress)
      : m_space(space),
        m_processes(processes),
        m_problem(problem),
        m_method(method),
        m_settings(settings),
        m_devices(devices),
        m_progress(progress),
        m_solver(method.solver->build()) {
    m_outcome.x = allocate<Vector<Scalar, Space>>(space, "prekond::driver::x", problem.b.extent(0));
  }

  Outcome<Scalar> operator()() {
    for (std::int64_t k = 0; k < m_settings.repeat; ++k) {
      m_setup = {};  // its memory is free before the next one needs as much
      set_up();
      solve();
    }
    m_outcome.setup = m_setup.preconditioner->report();
#ifdef PREKOND_DRIVER_HAS_MPI
    if constexpr (!is_complex<Scalar>)
      if (!m_processes.is_serial()) m_outcome.setup = report_of_all(m_processes, m_problem, m_outcome.setup);
#endif
    std::int64_t& first_row = m_outcome.setup.breakdowns.first_row;
    first_row = m_problem.original_row(first_row);
    if (m_devices) m_outcome.device_names = m_devices->names();
    m_outcome.symbolic_seconds = median(m_symbolic);
    m_outcome.numeric_seconds = median(m_numeric);
    m_outcome.setup_seconds = median(m_setups);
    m_outcome.first_setup_seconds = m_setups.front();
    m_outcome.solve.seconds = median(m_solves);
    time_applications();
    if (m_settings.condition) measure_condition();
    return std::move(m_outcome);
  }

 private:
  void make_setup() {
    Listener listener;
    if (m_setups.empty()) listener = [this](const std::string& text) { m_progress.note(text); };
    if constexpr (!is_complex<Scalar>)  // complex matrices are for one process
      if (!m_processes.is_serial()) {
        m_setup = make_distributed(m_space, m_problem, m_method, m_settings, listener);
        return;
      }
    m_setup = make_serial(m_space, m_problem, m_method, m_settings, m_devices, listener);
  }

  void set_up() {
    m_progress.phase("setup of " + m_method.precond_name);
    make_setup();
    try {
      const FencedTimer timer(m_processes);
      m_setup.symbolic();
      m_symbolic.push_back(timer.seconds());
      m_setup.numeric();
      m_setups.push_back(timer.seconds());
    } catch (const OptionError&) {
      throw;
    } catch (const InputError& error) {
      throw m_problem.in_order(error);
    }
    m_numeric.push_back(m_setups.back() - m_symbolic.back());
  }

  void apply(const Vector<Scalar, Space>& to, Workspace& workspace) {
    m_setup.preconditioner->apply(m_space, as_multivector(Vector<const Scalar, Space>(m_problem.b)),
                                  as_multivector(to), workspace);
  }

  void set_initial_vector() {
    const std::string& x0 = m_settings.x0;
    if (x0 == "precond") {
      const auto workspace = m_setup.preconditioner->make_workspace(m_space, 1);
      apply(m_outcome.x, *workspace);
      m_space.fence("prekond::driver::initial_vector");
    } else if (x0 == "zero") {
      Kokkos::deep_copy(m_space, m_outcome.x, Scalar(0));
    } else {
      Kokkos::deep_copy(m_space, m_outcome.x, m_problem.x0);
    }
  }

  /// The preconditioner for the solver. `none` is null, so that no vectors are copied: it is the baseline
  /// that others are measured by.
  const Preconditioner<Scalar, Space>* applied() const {
    const bool is_scaled = m_settings.scale || m_problem.match.done;
    return m_method.precond_name == "none" && !is_scaled ? nullptr : m_setup.preconditioner.get();
  }

  void solve() {
    m_progress.phase(m_method.solver_name + " with " + m_method.precond_name);
    m_outcome.history.clear();
    const FencedTimer timer(m_processes);
    set_initial_vector();
    SolveResult& result = m_outcome.solve;
    result = m_solver->solve(m_space, m_problem.op(), applied(), m_problem.b, m_outcome.x,
                             m_settings.stopping, monitor(), m_problem.distributed->reducer());
    m_solves.push_back(timer.seconds());
    if (std::isfinite(result.relative_residual) && std::isfinite(result.true_relative_residual)) return;
    if (result.converged) result.reason = StopReason::nan;
    result.converged = false;
  }

  void time_applications() {
    constexpr int applications = 5;
    m_progress.phase("timing an application of " + m_method.precond_name);
    const auto y = allocate<Vector<Scalar, Space>>(m_space, "prekond::driver::y", m_problem.b.extent(0));
    const auto workspace = m_setup.preconditioner->make_workspace(m_space, 1);
    apply(y, *workspace);
    std::vector<double> seconds;
    for (int k = 0; k < applications; ++k) {
      const FencedTimer timer(m_processes);
      apply(y, *workspace);
      seconds.push_back(timer.seconds());
    }
    m_outcome.apply_seconds = median(seconds);
  }

  /// The solve has its result already: a failure here is a note.
  void measure_condition() {
    m_progress.phase("eigenvalues with " + m_method.precond_name);
    const double most_rows = m_processes.max(static_cast<double>(m_problem.rows.num_rows));
    try {
      m_outcome.condition = driver::measure_condition<Scalar>(m_space, m_problem.op(), applied(),
                                                              m_problem.distributed->reducer(), most_rows);
      m_outcome.condition->scaled = m_settings.scale;
    } catch (...) {
      if (!m_processes.is_serial()) throw;  // the others do not know of it
      m_outcome.setup.notes.push_back(std::string("--condition was not measured: ") +
                                      failure_of(std::current_exception()).what());
    }
  }

  Monitor monitor() {
    const bool has_history = !m_settings.history.empty();
    if (!has_history && !m_progress.live()) return {};
    return [this, has_history](std::int64_t iteration, double norm_r) {
      m_progress.iteration(iteration, m_problem.norm_b > 0 ? norm_r / m_problem.norm_b : norm_r);
      if (!has_history) return;
      // A solver that starts again from the true residual passes the same iteration once more: the true one
      // stays.
      m_outcome.history.resize(static_cast<std::size_t>(iteration) + 1, norm_r);
      m_outcome.history.back() = norm_r;
    };
  }

  const Space& m_space;
  const Processes& m_processes;
  const Problem<Scalar>& m_problem;
  const Method<Scalar>& m_method;
  const Settings& m_settings;
  const Devices* m_devices;
  Progress& m_progress;
  std::unique_ptr<AnySolver<Scalar>> m_solver;
  Setup<Scalar> m_setup;
  Outcome<Scalar> m_outcome;
  std::vector<double> m_symbolic, m_numeric, m_setups, m_solves;
};

}  // namespace

ExitCode exit_code(const SolveResult& result) {
  if (result.converged) return done;
  return result.reason == StopReason::max_iters ? not_converged : breakdown;
}

double density(const ProblemFacts& problem, const Measurements& outcome) {
  const std::int64_t nnz = problem.source.nnz;
  return nnz > 0 ? static_cast<double>(outcome.setup.nnz) / static_cast<double>(nnz) : 0;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

template <class Scalar>
Outcome<Scalar> measured_solve(const Space& space, const Processes& processes, const Problem<Scalar>& problem,
                               const Method<Scalar>& method, const Settings& settings, const Devices* devices,
                               Progress& progress) {
  return Run<Scalar>(space, processes, problem, method, settings, devices, progress)();
}

#define PREKOND_DRIVER_RUN(Scalar)                                                                        \
  template Outcome<Scalar> measured_solve<Scalar>(const Space&, const Processes&, const Problem<Scalar>&, \
                                                  const Method<Scalar>&, const Settings&, const Devices*, \
                                                  Progress&);
PREKOND_DRIVER_RUN(double)
PREKOND_DRIVER_RUN(Complex)

}  // namespace prekond::driver
