// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measured_solve.hpp"

#include <prekond/core/preconditioner.hpp>
#include <prekond/precond/several_devices.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "condition.hpp"
#include "interrupts.hpp"
#include "report.hpp"
#include "unseen_rows.hpp"
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

/// The repetitions of one method on one problem.
template <class Scalar>
class Run {
 public:
  Run(const Context& context, const Problem<Scalar>& problem, const Method<Scalar>& method,
      double most_seconds)
      : m_context(context),
        m_space(context.space),
        m_problem(problem),
        m_asked(method),
        m_method(&method),
        m_is_scaled(context.settings.scale || problem.matched),
        m_stopping(context.settings.stopping),
        m_most_seconds(most_seconds) {
    m_outcome.x = allocate<Vector<Scalar, Space>>(m_space, "prekond::driver::x", problem.b.extent(0));
  }

  Outcome<Scalar> operator()() {
    for (std::int64_t k = 0; k < m_context.settings.repeat && !is_ended(); ++k) {
      if (m_asked.is_automatic) {
        solve_automatically();
        continue;
      }
      set_up();
      solve();
    }
    m_outcome.solve.seconds = median(m_solves);
    m_outcome.method = *m_method;
    m_outcome.report = frame(m_context, m_problem.facts, *m_method);
    m_outcome.report["candidates"] = m_candidates;
    m_outcome.report["solver"].update(solver_json(m_outcome.solve));
    if (m_outcome.signal != 0 && !m_outcome.solve.converged)
      m_outcome.report["solver"]["reason"] = "interrupted";
    if (m_outcome.is_late) m_outcome.report["solver"]["reason"] = "patience";
    m_outcome.report["total_seconds"] = median(m_setups) + median(m_solves);
    add_setup(m_outcome.report["preconditioner"]);
    if (m_outcome.signal != 0) return std::move(m_outcome);
    if (m_preconditioner) add_applications();
    if (m_outcome.solve.converged && m_context.processes.is_serial()) note_unseen_rows();
    if (m_context.settings.condition && m_preconditioner) measure_condition();
    return std::move(m_outcome);
  }

 private:
  bool is_ended() const { return m_outcome.signal != 0 || m_outcome.is_late; }

  template <class Preconditioner, class Matrix>
  void time_phases(Preconditioner& m, const Matrix& a) {
    if (m_setups.empty()) m.set_listener([this](const std::string& text) { m_context.progress.note(text); });
    try {
      const FencedTimer timer(m_context.processes);
      m.symbolic(m_space, a);
      m_symbolic.push_back(timer.seconds());
      m.numeric(m_space, a);
      m_setups.push_back(timer.seconds());
    } catch (const OptionError&) {
      throw;
    } catch (const InputError& error) {
      throw m_problem.in_order(error);
    }
    m_numeric.push_back(m_setups.back() - m_symbolic.back());
  }

  void set_up() {
    m_preconditioner = {};  // its memory is free before the next one needs as much
    m_context.progress.phase("setup of " + m_method->precond_name);
    if (m_context.processes.is_serial()) return set_up_alone();
    if constexpr (!is_complex<Scalar>) set_up_together();  // complex matrices are for one process
  }

  /// The preconditioner of a serial process, of the matrix or of the scaled one.
  void set_up_alone() {
    std::unique_ptr<AnyPreconditioner<Scalar>> m;
    if (m_context.devices != nullptr)
      m = std::make_unique<SeveralDevices<Scalar, Space>>(*m_method->precond, m_context.devices->others());
    else
      m = m_method->precond->build();
    if (m_problem.matched)
      m = std::make_unique<Scaled<Scalar, Space>>(std::move(m), m_problem.row_scale, m_problem.column_scale);
    else if (m_is_scaled)
      m = std::make_unique<Scaled<Scalar, Space>>(std::move(m), ScaledOptions{m_method->scaling()});
    if constexpr (is_complex<Scalar>)
      time_phases(*m, MatrixSource<Scalar, Space>(m_problem.rows));
    else
      time_phases(*m, m_problem.near.source(m_problem.rows));
    m_preconditioner = std::move(m);
  }

  void set_up_together() {
    auto m =
        std::make_unique<DistributedPreconditioner<double, Space>>(*m_method->precond, m_method->distributed);
    if (m_problem.matched)
      m->set_scaling(m_problem.row_scale, m_problem.column_scale);
    else if (m_is_scaled)
      m->set_scaling({m_method->scaling()});
    m->set_near_null_space(m_problem.near);
    time_phases(*m, *m_problem.distributed);
    m_preconditioner = std::move(m);
  }

  void apply(const Vector<Scalar, Space>& to, Workspace& workspace) {
    m_preconditioner->apply(m_space, as_multivector(Vector<const Scalar, Space>(m_problem.b)),
                            as_multivector(to), workspace);
  }

  void set_initial_vector() {
    const std::string& x0 = m_context.settings.x0;
    if (x0 == "precond") {
      const auto workspace = m_preconditioner->make_workspace(m_space, 1);
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
    return m_method->precond_name == "none" && !m_is_scaled ? nullptr : m_preconditioner.get();
  }

  void begin_solve() { m_context.progress.phase(m_method->solver_name + " with " + m_method->precond_name); }

  void solve() {
    begin_solve();
    m_outcome.history.clear();
    const auto solver = m_method->solver->build();
    const FencedTimer timer(m_context.processes);
    set_initial_vector();
    {
      std::optional<Interrupts::Deferred> deferred;
      if (m_context.processes.is_serial()) deferred.emplace();
      m_outcome.solve = solver->solve(m_space, m_problem.op(), applied(), m_problem.b, m_outcome.x,
                                      m_stopping, monitor(), m_problem.distributed->reducer());
    }
    m_solves.push_back(timer.seconds());
    end_solve();
  }

  /// The setups and solves of an automatic method; the times are sums.
  void solve_automatically() {
    const Settings& settings = m_context.settings;
    const std::vector<std::vector<double>> before = {m_symbolic, m_numeric, m_setups};
    m_symbolic = m_numeric = m_setups = {};
    const FencedTimer timer(m_context.processes);  // the pass over A for its facts counts
    bool has_begun = false;
    std::optional<Interrupts::Deferred> deferred;
    const auto defer = [&] {
      if (m_context.processes.is_serial()) deferred.emplace();
    };
    const MatrixStatistics facts = statistics_of_all<Scalar>(m_context, m_problem);
    AutoSolver<Scalar, Space> chooser(
        candidates_of(settings, facts, is_complex<Scalar>, m_context.processes.size()), facts.num_rows,
        facts.nnz,
        [&](const Candidate& candidate) {
          m_taken.emplace(method_of<Scalar>(settings, candidate));
          m_method = &*m_taken;
          deferred.reset();  // a signal ends a setup at once
          try {
            set_up();
          } catch (...) {
            defer();
            throw;
          }
          defer();
          begin_solve();
          if (!std::exchange(has_begun, true)) set_initial_vector();
          return applied();
        },
        settings.choice);
    m_outcome.history.clear();
    defer();
    m_outcome.solve = chooser.solve(m_space, m_problem.op(), m_problem.b, m_outcome.x, m_stopping, monitor(),
                                    m_problem.distributed->reducer());
    deferred.reset();
    const double seconds = timer.seconds();
    std::size_t k = 0;
    for (auto* times : {&m_symbolic, &m_numeric, &m_setups}) {
      const double sum = std::accumulate(times->begin(), times->end(), 0.0);
      *times = before[k++];
      times->push_back(sum);
    }
    m_solves.push_back(seconds - m_setups.back());
    m_candidates = Json::array();
    for (const Candidate& candidate : chooser.candidates())
      m_candidates.push_back({{"preconditioner", candidate.preconditioner.name},
                              {"options", to_json(candidate.preconditioner.options)},
                              {"solver", candidate.solver.name},
                              {"tried", candidate.was_tried},
                              {"expected_products", candidate.is_out ? Json() : Json(candidate.work())},
                              {"outcome", candidate.outcome}});
    end_solve();
  }

  void end_solve() {
    SolveResult& result = m_outcome.solve;
    m_outcome.signal = Interrupts::requested();
    m_outcome.is_late = m_is_late && !result.converged;
    result.looks_singular |= m_problem.is_singular && !result.converged;
    if (std::isfinite(result.relative_residual) && std::isfinite(result.true_relative_residual)) return;
    if (result.converged) result.reason = StopReason::nan;
    result.converged = false;
  }

  void note_unseen_rows() {
    const UnseenRows found = find_unseen_rows<Scalar>(m_space, m_problem.whole, m_problem.b, m_outcome.x,
                                                      m_context.settings.stopping.rtol, m_problem.norm_b);
    const std::string text = text_of_unseen(found, m_problem.original_row(found.first));
    if (!text.empty()) m_outcome.report["preconditioner"]["notes"].push_back(text);
  }

  Monitor monitor() {
    return [this](std::int64_t iteration, double norm_r) {
      // The time counts in the first repetition; several processes would have to agree on it.
      m_is_late |= m_solves.empty() && m_context.processes.is_serial() && m_clock.seconds() > m_most_seconds;
      if (m_is_late || Interrupts::requested() != 0)
        m_stopping.max_iters = std::min(m_stopping.max_iters, iteration);
      m_context.progress.iteration(iteration, m_problem.norm_b > 0 ? norm_r / m_problem.norm_b : norm_r);
      // A solver that starts again from the true residual passes the same iteration once more: the true one
      // stays.
      m_outcome.history.resize(static_cast<std::size_t>(iteration) + 1, norm_r);
      m_outcome.history.back() = norm_r;
    };
  }

  /// The median of five, after one that is not counted.
  template <class Apply>
  double seconds_to_apply(const Apply& apply) {
    constexpr int applications = 5;
    apply();
    std::vector<double> seconds;
    for (int k = 0; k < applications; ++k) {
      const FencedTimer timer(m_context.processes);
      apply();
      seconds.push_back(timer.seconds());
    }
    return median(seconds);
  }

  /// How long M^-1 b and A b take by themselves.
  void add_applications() {
    m_context.progress.phase("timing an application of " + m_method->precond_name);
    const auto y = allocate<Vector<Scalar, Space>>(m_space, "prekond::driver::y", m_problem.b.extent(0));
    const auto workspace = m_preconditioner->make_workspace(m_space, 1);
    m_outcome.report["preconditioner"]["apply_seconds"] = seconds_to_apply([&] { apply(y, *workspace); });
    m_outcome.report["product"]["apply_seconds"] = seconds_to_apply([&] {
      m_problem.op().apply(m_space, as_multivector(Vector<const Scalar, Space>(m_problem.b)),
                           as_multivector(y));
    });
  }

  void add_setup(Json& facts) {
    Report setup =
        m_preconditioner ? m_preconditioner->report() : Report();  // the last setup may have failed
#ifdef PREKOND_DRIVER_HAS_MPI
    if constexpr (!is_complex<Scalar>)
      if (!m_context.processes.is_serial()) setup = report_of_all(m_problem, setup);
#endif
    setup.breakdowns.first_row = m_problem.original_row(setup.breakdowns.first_row);
    facts.update(setup_json(setup, m_context.devices));
    facts.update({{"density", m_problem.nnz > 0 ? static_cast<double>(setup.nnz) / m_problem.nnz : 0.0},
                  {"symbolic_seconds", median(m_symbolic)},
                  {"numeric_seconds", median(m_numeric)},
                  {"setup_seconds", median(m_setups)},
                  {"first_setup_seconds", m_setups.front()},
                  {"apply_seconds", nullptr}});
  }

  /// The solve has its result already: a failure here is a note.
  void measure_condition() {
    m_context.progress.phase("eigenvalues with " + m_method->precond_name);
    const double most_rows = m_context.processes.max(static_cast<double>(m_problem.rows.num_rows));
    try {
      m_outcome.report["condition"] = driver::measure_condition<Scalar>(
          m_context, m_problem.op(), applied(), m_problem.distributed->reducer(), most_rows);
    } catch (...) {
      if (!m_context.processes.is_serial()) throw;  // the others do not know of it
      m_outcome.report["preconditioner"]["notes"].push_back(std::string("--condition was not measured: ") +
                                                            failure_of(std::current_exception()).what());
    }
  }

  const Context& m_context;
  const Space& m_space;
  const Problem<Scalar>& m_problem;
  const Method<Scalar>& m_asked;
  std::optional<Method<Scalar>> m_taken;  ///< by an automatic method, the last one
  const Method<Scalar>* m_method;
  Json m_candidates;  ///< of an automatic method
  const bool m_is_scaled;
  StoppingOptions m_stopping;  ///< no more iterations after a signal, or when the time is over
  const double m_most_seconds;
  bool m_is_late = false;
  const Kokkos::Timer m_clock;  ///< since the beginning
  std::unique_ptr<Preconditioner<Scalar, Space>> m_preconditioner;
  Outcome<Scalar> m_outcome;
  std::vector<double> m_symbolic, m_numeric, m_setups, m_solves;
};

}  // namespace

ExitCode exit_code(const SolveResult& result, int signal) {
  if (signal != 0) return Interrupts::code_of(signal);
  if (result.converged) return done;
  return result.reason == StopReason::max_iters ? not_converged : breakdown;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

template <class Scalar>
MatrixStatistics statistics_of_all(const Context& context, const Problem<Scalar>& problem) {
  MatrixStatistics facts = statistics<Scalar, Space>(context.space, problem.rows, false);
  const Processes& all = context.processes;
  if (all.is_serial()) return facts;
  for (std::int64_t* count : {&facts.num_rows, &facts.nnz, &facts.diagonal_missing, &facts.diagonal_zero,
                              &facts.diagonal_negative, &facts.diagonal_positive, &facts.m_matrix_rows})
    *count = all.sum(*count);
  facts.row_length_max = -all.min(-facts.row_length_max);
  facts.jacobi_norm = all.max(facts.jacobi_norm);
  facts.row_length_mean = static_cast<double>(facts.nnz) / static_cast<double>(facts.num_rows);
  facts.num_cols = facts.lower_bandwidth = facts.upper_bandwidth = facts.num_rows;
  const bool is_symmetric = all.is_root() && problem.facts.at("matrix").at("symmetric");
  facts.symmetric_values = facts.symmetric_pattern = all.max(is_symmetric ? 1 : 0) > 0;
  return facts;
}

template <class Scalar>
Outcome<Scalar> measured_solve(const Context& context, const Problem<Scalar>& problem,
                               const Method<Scalar>& method, double most_seconds) {
  return Run<Scalar>(context, problem, method, most_seconds)();
}

#define PREKOND_DRIVER_RUN(Scalar)                                                             \
  template MatrixStatistics statistics_of_all<Scalar>(const Context&, const Problem<Scalar>&); \
  template Outcome<Scalar> measured_solve<Scalar>(const Context&, const Problem<Scalar>&,      \
                                                  const Method<Scalar>&, double);
PREKOND_DRIVER_RUN(double)
PREKOND_DRIVER_RUN(Complex)

}  // namespace prekond::driver
