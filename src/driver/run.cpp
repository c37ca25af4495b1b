// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run.hpp"

#include <prekond/core/workspace.hpp>
#include <prekond/precond/several_devices.hpp>

#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <type_traits>

#include "failure.hpp"

namespace prekond::driver {
namespace {

/// Wall time of the slowest process, with everything that was launched before its reading included. Made and
/// read by all processes.
class FencedTimer {
 public:
  explicit FencedTimer(const Processes& processes) : m_processes(processes) {
    Kokkos::fence("prekond::driver::start");
    m_processes.barrier();
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

template <class Scalar>
void apply(const Space& space, const AppliedPreconditioner<Scalar>& preconditioner,
           const Vector<Scalar, Space>& x, const Vector<Scalar, Space>& y, Workspace& workspace) {
  preconditioner.apply(space, as_multivector(Vector<const Scalar, Space>(x)), as_multivector(y), workspace);
}

template <class Scalar>
double time_apply(const Space& space, const Processes& processes,
                  const AppliedPreconditioner<Scalar>& preconditioner, const Vector<Scalar, Space>& x) {
  constexpr int applications = 5;
  Vector<Scalar, Space> y;
  std::unique_ptr<Workspace> workspace;
  processes.together([&] {
    y = allocate<Vector<Scalar, Space>>(space, "prekond::driver::y", x.extent(0));
    workspace = preconditioner.make_workspace(space, 1);
  });
  apply(space, preconditioner, x, y, *workspace);
  std::vector<double> seconds;
  for (int k = 0; k < applications; ++k) {
    const FencedTimer timer(processes);
    apply(space, preconditioner, x, y, *workspace);
    seconds.push_back(timer.seconds());
  }
  return median(seconds);
}

/// One of this process, whose setup several devices may share.
template <class Scalar>
std::unique_ptr<AnyPreconditioner<Scalar>> made(const Method<Scalar>& method, const Devices* devices) {
  if (devices == nullptr) return method.precond->build();
  return std::make_unique<SeveralDevices<Scalar, Space>>(*method.precond, devices->others());
}

/// A preconditioner of one process, or one over all of them, of the matrix or of the scaled one.
template <class Scalar>
class Setup {
 public:
  Setup(const Processes& processes, const Problem<Scalar>& problem, const Method<Scalar>& method,
        const RunOptions& options) {
    if (processes.alone()) {
      m_alone = made(method, options.devices);
      if (problem.match.done)
        m_alone = std::make_unique<Scaled<Scalar, Space>>(std::move(m_alone), problem.row_scale,
                                                          problem.column_scale);
      else if (options.scale)
        m_alone =
            std::make_unique<Scaled<Scalar, Space>>(std::move(m_alone), ScaledOptions{scaling_of(method)});
      return;
    }
    if constexpr (!is_complex<Scalar>) {
      m_across = std::make_unique<Across>(*method.precond, method.distributed);
      if (problem.match.done)
        m_across->set_scaling(problem.row_scale, problem.column_scale);
      else if (options.scale)
        m_across->set_scaling({scaling_of(method)});
    }
  }

  /// All: what fails on one process fails on all.
  void symbolic(const Space& space, const Problem<Scalar>& problem) {
    if constexpr (!is_complex<Scalar>)
      if (m_across) {
        m_across->set_near_null_space(problem.near_null_space.of_rows);
        return m_across->symbolic(space, *problem.a.distributed);
      }
    m_alone->symbolic(space, source_of(problem));
  }
  void numeric(const Space& space, const Problem<Scalar>& problem) {
    if constexpr (!is_complex<Scalar>)
      if (m_across) return m_across->numeric(space, *problem.a.distributed);
    m_alone->numeric(space, source_of(problem));
  }
  void set_listener(const typename AnyPreconditioner<Scalar>::Listener& listener) {
    if constexpr (!is_complex<Scalar>)
      if (m_across) return m_across->set_listener(listener);
    m_alone->set_listener(listener);
  }
  const AppliedPreconditioner<Scalar>& get() const {
    if constexpr (!is_complex<Scalar>)
      if (m_across) return *m_across;
    return *m_alone;
  }

 private:
  static MatrixSource<Scalar, Space> source_of(const Problem<Scalar>& problem) {
    if constexpr (is_complex<Scalar>)
      return MatrixSource<Scalar, Space>(problem.a.rows);
    else
      return problem.near_null_space.of_rows.source(problem.a.rows);
  }

  // Complex matrices are for one process.
  using Across = DistributedPreconditioner<real_type_t<Scalar>, Space>;
  std::unique_ptr<AnyPreconditioner<Scalar>> m_alone;
  std::unique_ptr<Across> m_across;
};

/// The repetitions of one method on one problem.
template <class Scalar>
class Run {
 public:
  Run(const Space& space, const Processes& processes, const Problem<Scalar>& problem,
      const Method<Scalar>& method, const RunOptions& options, Progress& progress)
      : m_space(space),
        m_processes(processes),
        m_problem(problem),
        m_method(method),
        m_options(options),
        m_progress(progress),
        m_solver(method.solver->build()) {}

  Outcome<Scalar> operator()() {
    m_processes.together([&] {
      m_outcome.x = allocate<Vector<Scalar, Space>>(m_space, "prekond::driver::x", m_problem.b.extent(0));
    });
    for (std::int64_t k = 0; k < m_options.repeat; ++k) {
      m_preconditioner = nullptr;  // its memory is free before the next one needs as much
      m_preconditioner = std::make_unique<Setup<Scalar>>(m_processes, m_problem, m_method, m_options);
      set_up();
      solve();
    }
    m_outcome.setup = report_of_all<Scalar>(m_processes, m_problem.a, m_preconditioner->get().report());
    std::int64_t& first_row = m_outcome.setup.breakdowns.first_row;
    first_row = original_row(m_problem, first_row);
    if (m_options.devices) m_outcome.device_names = m_options.devices->names();
    m_outcome.symbolic_seconds = median(m_symbolic);
    m_outcome.numeric_seconds = median(m_numeric);
    m_outcome.setup_seconds = median(m_setup);
    m_outcome.first_setup_seconds = m_setup.front();
    m_outcome.solve.seconds = median(m_solve);
    m_progress.phase("timing an application of " + m_method.precond_name);
    m_outcome.apply_seconds = time_apply<Scalar>(m_space, m_processes, m_preconditioner->get(), m_problem.b);
    if (m_options.condition) condition();
    return std::move(m_outcome);
  }

 private:
  /// A phase, with a word on the order of the rows where it fails.
  void phase(const std::function<void()>& work) const {
    const auto telling = [&] { telling_order(m_problem.order_options(), work); };
    if (m_processes.alone())
      m_processes.together(telling);
    else
      telling();  // collective by itself
  }

  void set_up() {
    m_progress.phase("setup of " + m_method.precond_name);
    if (m_setup.empty())
      m_preconditioner->set_listener([this](const std::string& text) { m_progress.note(text); });
    const FencedTimer timer(m_processes);
    phase([&] { m_preconditioner->symbolic(m_space, m_problem); });
    m_symbolic.push_back(timer.seconds());
    phase([&] { m_preconditioner->numeric(m_space, m_problem); });
    m_setup.push_back(timer.seconds());
    m_numeric.push_back(m_setup.back() - m_symbolic.back());
  }

  void initial_vector() {
    if (m_options.x0 == "precond") {
      const auto workspace = m_preconditioner->get().make_workspace(m_space, 1);
      apply<Scalar>(m_space, m_preconditioner->get(), m_problem.b, m_outcome.x, *workspace);
      m_space.fence("prekond::driver::initial_vector");
    } else if (m_options.x0 == "zero") {
      Kokkos::deep_copy(m_space, m_outcome.x, Scalar(0));
    } else {
      Kokkos::deep_copy(m_space, m_outcome.x, m_problem.x0);
    }
  }

  /// What the solver is given. Without a preconditioner it is not made to copy vectors: it is the baseline
  /// that others are measured by.
  const AppliedPreconditioner<Scalar>* applied() const {
    const bool scaled = m_options.scale || m_problem.match.done;
    return m_method.precond_name == "none" && !scaled ? nullptr : &m_preconditioner->get();
  }

  void solve() {
    m_progress.phase(m_method.solver_name + " with " + m_method.precond_name);
    m_outcome.history.clear();
    const FencedTimer timer(m_processes);
    initial_vector();
    m_outcome.solve = m_solver->solve(m_space, m_problem.a.op(), applied(), m_problem.b, m_outcome.x,
                                      m_options.stopping, monitor(), m_problem.a.distributed->reducer());
    m_solve.push_back(timer.seconds());
    check_finite(m_outcome.solve);
  }

  /// The solve has its result before: what fails here is a note.
  void condition() {
    m_progress.phase("eigenvalues with " + m_method.precond_name);
    const double most_rows = m_processes.max(static_cast<double>(m_problem.a.rows.num_rows));
    try {
      m_outcome.condition = measure_condition<Scalar>(m_space, m_problem.a.op(), applied(),
                                                      m_problem.a.distributed->reducer(), most_rows);
      m_outcome.condition->scaled = m_options.scale;
    } catch (...) {
      if (!m_processes.alone()) throw;  // the others do not know of it
      m_outcome.setup.notes.push_back(std::string("--condition was not measured: ") +
                                      failure_of(std::current_exception()).what());
    }
  }

  static void check_finite(SolveResult& result) {
    if (!result.converged) return;
    if (std::isfinite(result.relative_residual) && std::isfinite(result.true_relative_residual)) return;
    result.converged = false;
    result.reason = StopReason::nan;
  }

  Monitor monitor() {
    if (!m_options.history && !m_progress.live()) return {};
    return [this](std::int64_t iteration, double norm_r) {
      m_progress.iteration(iteration, m_problem.norm_b > 0 ? norm_r / m_problem.norm_b : norm_r);
      if (!m_options.history) return;
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
  const RunOptions& m_options;
  Progress& m_progress;
  std::unique_ptr<AnySolver<Scalar>> m_solver;
  std::unique_ptr<Setup<Scalar>> m_preconditioner;
  Outcome<Scalar> m_outcome;
  std::vector<double> m_symbolic, m_numeric, m_setup, m_solve;
};

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

ExitCode exit_code(const SolveResult& result) {
  if (result.converged) return done;
  return result.reason == StopReason::max_iters ? not_converged : breakdown;
}

double density(const ProblemFacts& problem, const Measurements& outcome) {
  const std::int64_t nnz = problem.source.nnz;
  return nnz > 0 ? static_cast<double>(outcome.setup.nnz) / static_cast<double>(nnz) : 0;
}

ScalingKind scaling_of(const MethodFacts& method) {
  return method.needs_spd() ? ScalingKind::diagonal : ScalingKind::equilibrate;
}

template <class Scalar>
Outcome<Scalar> run_method(const Space& space, const Processes& processes, const Problem<Scalar>& problem,
                           const Method<Scalar>& method, const RunOptions& options, Progress& progress) {
  return Run<Scalar>(space, processes, problem, method, options, progress)();
}

#define PREKOND_DRIVER_RUN(Scalar)                                                                    \
  template Outcome<Scalar> run_method<Scalar>(const Space&, const Processes&, const Problem<Scalar>&, \
                                              const Method<Scalar>&, const RunOptions&, Progress&);
PREKOND_DRIVER_RUN(double)
PREKOND_DRIVER_RUN(Complex)

}  // namespace prekond::driver
