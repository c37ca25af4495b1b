// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "core/stopping_rules.hpp"

namespace prekond::impl::batched {

/// The stopping criteria of a batch.
struct StoppingCriteria {
  double rtol, atol;
  const double* rtols;  ///< one for each system, or null
  const double* atols;
  int max_iters;
};

/// The stopping test, the restarts and the reason of one system. Every lane has a copy of its own. The rules
/// are those of core/stopping_rules.hpp, as for a single system, without rescaling by powers of two.
template <class Scalar>
class StoppingState {
  using Real = real_type_t<Scalar>;

 public:
  KOKKOS_FUNCTION StoppingState(const StoppingCriteria& criteria, std::int64_t s, double norm_b)
      : m_norm_b(norm_b), m_max_iters(criteria.max_iters) {
    const double rtol = criteria.rtols ? criteria.rtols[s] : criteria.rtol;
    const double atol = criteria.atols ? criteria.atols[s] : criteria.atol;
    m_threshold = stopping::Threshold::of(rtol * norm_b, atol);
    m_target = m_threshold.value;
  }

  KOKKOS_FUNCTION void begin_cycle() { m_begins = true; }
  KOKKOS_FUNCTION bool begins() const { return m_begins; }

  /// Whether no ||b - A x|| before was as small as this one.
  KOKKOS_FUNCTION bool is_best(double true_norm) {
    if (!(true_norm < m_best_norm)) return false;
    m_best_norm = true_norm;
    return true;
  }
  /// Whether the best x is better than the last one, which has not converged; it is the result then.
  KOKKOS_FUNCTION bool goes_back() {
    if (converged(m_reason) || m_iterations == 0 || m_true_norm <= m_best_norm) return false;
    m_true_norm = m_best_norm;
    return true;
  }
  /// Ends a cycle as one whose residual has converged by its own account.
  KOKKOS_FUNCTION void claim() { m_reason = StopReason::rtol; }

  /// Takes ||r||^2 as the method knows it; returns whether the method goes on.
  KOKKOS_FUNCTION bool judge(Real rr, bool finite, StopReason breakdown = stopping::no_breakdown) {
    m_norm_r = Kokkos::sqrt(static_cast<double>(rr));
    if (m_begins) m_bounds = stopping::CycleBounds::of<Real>(m_target, m_norm_r, m_norm_b);
    m_begins = false;
    const stopping::IterationState state{m_norm_r, finite && Kokkos::isfinite(m_norm_r), false, breakdown,
                                         m_iterations < m_max_iters};
    return !stopping::ends_iteration(m_bounds, state, m_reason);
  }

  /// Takes ||b - A x|| at the end of a cycle, which is not finite where x is not; returns whether another
  /// cycle begins. `restarts`: whether the method starts again after its first breakdown.
  KOKKOS_FUNCTION bool starts_again(double true_norm, bool restarts) {
    const bool may = m_iterations < m_max_iters;
    m_true_norm = true_norm;
    m_reason = stopping::confirmed_reason(m_reason, Kokkos::isfinite(true_norm), true_norm, m_threshold);
    if (m_reason == StopReason::stagnation) {
      const double progress = true_norm / m_last_claim;
      m_last_claim = true_norm;
      const bool again = stopping::goes_on_after_false_claim(m_false_claims++, progress, may, m_reason);
      m_target = stopping::next_target(m_threshold.value, m_false_claims, 2);
      return again;
    }
    if (!restarts || !stopping::goes_on_after_breakdown(m_breakdowns, may, m_reason)) return false;
    ++m_breakdowns;
    return true;
  }

  KOKKOS_FUNCTION void count_iteration() { ++m_iterations; }
  KOKKOS_FUNCTION int iterations() const { return m_iterations; }
  KOKKOS_FUNCTION int breakdowns() const { return m_breakdowns; }
  KOKKOS_FUNCTION double norm_r() const { return m_norm_r; }
  /// The ||r||^2 at or below which the cycle has converged.
  KOKKOS_FUNCTION double target2() const { return m_bounds.target * m_bounds.target; }
  KOKKOS_FUNCTION double relative_residual() const { return m_true_norm / m_norm_b; }
  KOKKOS_FUNCTION StopReason reason() const { return m_reason; }

 private:
  stopping::Threshold m_threshold;
  stopping::CycleBounds m_bounds;
  double m_norm_b, m_target, m_norm_r = 0, m_true_norm = 0, m_last_claim = 0;
  double m_best_norm = Kokkos::Experimental::infinity_v<double>;
  StopReason m_reason = StopReason::max_iters;
  int m_iterations = 0, m_max_iters, m_false_claims = 0, m_breakdowns = 0;
  bool m_begins = true;
};

}  // namespace prekond::impl::batched
