// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The course of one system's solve: the stopping test, restarts, the reason. As KrylovRun of the krylov
/// layer has it, without its powers of two.
#include <prekond/core/scalar.hpp>
#include <prekond/core/stopping.hpp>

namespace prekond::impl::batched {

/// What is the same for all systems.
struct StopRule {
  double rtol, atol;
  const double* rtols;  ///< of each system, or null
  const double* atols;
  int max_iters;
};

/// What all lanes know of a system, each for itself.
template <class Scalar>
class Course {
  using Real = real_type_t<Scalar>;

 public:
  /// A `breakdown` of `judge`: there is none.
  static constexpr StopReason nothing = StopReason::rtol;

  KOKKOS_FUNCTION Course(const StopRule& rule, std::int64_t s, double norm_b)
      : m_norm_b(norm_b), m_max_iters(rule.max_iters) {
    const double rtol = rule.rtols ? rule.rtols[s] : rule.rtol, atol = rule.atols ? rule.atols[s] : rule.atol;
    m_relative = rtol * norm_b >= atol;
    m_threshold = m_relative ? rtol * norm_b : atol;
    m_target = m_threshold;
  }

  KOKKOS_FUNCTION void begin_cycle() { m_begins = true; }

  /// With ||r||^2 as the method has it: does the method go on?
  KOKKOS_FUNCTION bool judge(Real rr, bool finite, StopReason breakdown = nothing) {
    constexpr double epsilon = static_cast<double>(Kokkos::Experimental::epsilon_v<Real>);
    m_norm_r = Kokkos::sqrt(static_cast<double>(rr));
    finite = finite && Kokkos::isfinite(m_norm_r);
    if (m_begins) {
      m_cycle_target = larger(m_target, epsilon / 8 * m_norm_r);
      m_diverged = larger(m_norm_r, m_norm_b) / epsilon;
      m_begins = false;
    }
    if (finite && m_norm_r <= m_cycle_target)
      m_reason = StopReason::rtol;
    else if (!finite)
      m_reason = StopReason::nan;
    else if (breakdown != nothing)
      m_reason = breakdown;
    else if (m_norm_r > m_diverged)
      m_reason = StopReason::divergence;
    else if (m_iterations >= m_max_iters)
      m_reason = StopReason::max_iters;
    else
      return true;
    return false;
  }

  /// At the end of a cycle, with ||b - A x||, not finite where x is not: starts another one? `restarts`: a
  /// method that starts again after its first breakdown.
  KOKKOS_FUNCTION bool starts_again(double truth, bool restarts) {
    m_truth = truth;
    const bool may = m_iterations < m_max_iters;
    if (!Kokkos::isfinite(truth)) {
      m_reason = StopReason::nan;
    } else if (truth <= m_threshold && m_reason != StopReason::nan) {
      m_reason = m_relative ? StopReason::rtol : StopReason::atol;
    } else if (m_reason == StopReason::rtol) {
      m_reason = StopReason::stagnation;
      const bool falls = m_false_claims == 0 || truth <= 0.9 * m_last_claim;
      m_last_claim = truth;
      ++m_false_claims;
      m_target = m_false_claims == 1 ? m_threshold / 2 : m_threshold / 4;
      if (falls && !may) m_reason = StopReason::max_iters;
      return falls && may;
    } else if (restarts && m_breakdowns == 0 && may && is_breakdown(m_reason)) {
      ++m_breakdowns;
      return true;
    }
    return false;
  }

  KOKKOS_FUNCTION void count_iteration() { ++m_iterations; }
  KOKKOS_FUNCTION int iterations() const { return m_iterations; }
  KOKKOS_FUNCTION int breakdowns() const { return m_breakdowns; }
  KOKKOS_FUNCTION double norm_r() const { return m_norm_r; }
  /// ||r||^2 that is converged
  KOKKOS_FUNCTION double target2() const { return m_cycle_target * m_cycle_target; }
  KOKKOS_FUNCTION double relative_residual() const { return m_truth / m_norm_b; }
  KOKKOS_FUNCTION StopReason reason() const { return m_reason; }

 private:
  KOKKOS_FUNCTION static double larger(double a, double b) { return a < b ? b : a; }
  KOKKOS_FUNCTION static bool is_breakdown(StopReason reason) {
    return reason == StopReason::breakdown_rho || reason == StopReason::breakdown_pivot ||
           reason == StopReason::breakdown_omega || reason == StopReason::breakdown_arnoldi;
  }

  double m_norm_b, m_threshold, m_target, m_cycle_target = 0, m_diverged = 0, m_norm_r = 0, m_truth = 0,
                                          m_last_claim = 0;
  StopReason m_reason = StopReason::max_iters;
  int m_iterations = 0, m_max_iters, m_false_claims = 0, m_breakdowns = 0;
  bool m_relative, m_begins = true;
};

}  // namespace prekond::impl::batched
