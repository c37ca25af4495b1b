// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The rules by which an iterative solve ends, for a single system and for each system of a batch. A solve is
/// a sequence of cycles: a cycle begins with the true residual, iterates by a recurrence of it, and ends with
/// the true residual again, which confirms the result, asks for another cycle, or ends the solve.
#include <prekond/core/scalar.hpp>
#include <prekond/core/stopping.hpp>

namespace prekond::stopping {

/// The argument of `ends_iteration` for an iteration without a breakdown.
inline constexpr StopReason no_breakdown = StopReason::rtol;

/// max(rtol ||b||, atol)
struct Threshold {
  double value = 0;
  bool relative = true;  ///< whether it is rtol ||b||

  KOKKOS_FORCEINLINE_FUNCTION static Threshold of(double relative, double absolute) {
    return {relative >= absolute ? relative : absolute, relative >= absolute};
  }
};

/// Bounds of the residual norm within a cycle.
struct CycleBounds {
  double target = 0;    ///< the cycle has converged at or below it
  double diverged = 0;  ///< the cycle has diverged above it: rounding has lost all digits of b

  /// From the target and ||r|| at the beginning of the cycle: no residual falls by more than the rounding
  /// errors of `Real` allow before it is computed anew.
  template <class Real>
  KOKKOS_FORCEINLINE_FUNCTION static CycleBounds of(double target, double norm_r, double norm_b) {
    constexpr double epsilon = static_cast<double>(Kokkos::Experimental::epsilon_v<Real>);
    return {larger(target, epsilon / 8 * norm_r), larger(norm_r, norm_b) / epsilon};
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static double larger(double a, double b) { return a < b ? b : a; }
};

/// The state of a method after an iteration.
struct IterationState {
  double norm_r;             ///< by the recurrence
  bool finite;               ///< all numbers of the iteration
  bool out_of_range;         ///< inner products are about to under- or overflow
  StopReason breakdown;      ///< or no_breakdown
  bool has_more_iterations;  ///< fewer than max_iters have been made
};

/// Whether the cycle ends with this iteration; then `reason` is set, to `rtol` for convergence by the
/// recurrence.
KOKKOS_FORCEINLINE_FUNCTION bool ends_iteration(const CycleBounds& bounds, const IterationState& state,
                                                StopReason& reason) {
  if (state.finite && state.norm_r <= bounds.target)
    reason = StopReason::rtol;
  else if (state.out_of_range)
    reason = StopReason::out_of_range;
  else if (!state.finite)
    reason = StopReason::nan;
  else if (state.breakdown != no_breakdown)
    reason = state.breakdown;
  else if (state.norm_r > bounds.diverged)
    reason = StopReason::divergence;
  else if (!state.has_more_iterations)
    reason = StopReason::max_iters;
  else
    return false;
  return true;
}

/// The reason of a cycle's end in view of the true residual norm; `stagnation` for a convergence that the
/// true residual does not confirm.
KOKKOS_FORCEINLINE_FUNCTION StopReason confirmed_reason(StopReason reason, bool finite, double true_norm,
                                                        const Threshold& threshold) {
  if (!finite) return StopReason::nan;
  if (true_norm <= threshold.value && reason != StopReason::nan)
    return threshold.relative ? StopReason::rtol : StopReason::atol;
  return reason == StopReason::rtol ? StopReason::stagnation : reason;
}

/// Whether another cycle begins after a convergence that the true residual did not confirm: as long as the
/// true residual falls by a tenth. `ratio` is the true residual norm over that at the last such end, of which
/// there have been `false_claims`. Sets `reason` where only max_iters prevents the cycle.
KOKKOS_FORCEINLINE_FUNCTION bool goes_on_after_false_claim(int false_claims, double ratio,
                                                           bool has_more_iterations, StopReason& reason) {
  const bool falls = false_claims == 0 || ratio <= 0.9;
  if (falls && !has_more_iterations) reason = StopReason::max_iters;
  return falls && has_more_iterations;
}

/// The target of the next cycle: half the threshold for each false claim, `most_halvings` times at most.
KOKKOS_FORCEINLINE_FUNCTION double next_target(double threshold, int false_claims, int most_halvings) {
  for (int k = 0; k < false_claims && k < most_halvings; ++k) threshold /= 2;
  return threshold;
}

/// Whether another cycle begins after the first breakdown of a recurrence, because a new start from the true
/// residual may help. Sets `reason` where only max_iters prevents the cycle.
KOKKOS_FORCEINLINE_FUNCTION bool goes_on_after_breakdown(int breakdowns, bool has_more_iterations,
                                                         StopReason& reason) {
  const bool broke_down = reason == StopReason::breakdown_rho || reason == StopReason::breakdown_pivot ||
                          reason == StopReason::breakdown_omega || reason == StopReason::breakdown_arnoldi;
  if (!broke_down || breakdowns > 0) return false;
  if (!has_more_iterations) reason = StopReason::max_iters;
  return has_more_iterations;
}

/// The account that GMRES keeps of its restarts, whose true residuals may stop falling above the target.
class RestartAccount {
 public:
  /// Takes the true residual at a restart, and the one that the steps before it have left by their own
  /// account; the `first` start begins the account. \returns whether the steps since the true residual last
  /// fell by a tenth promised half of it, that is more than rounding errors allow: a false claim, although it
  /// was above the target
  KOKKOS_FORCEINLINE_FUNCTION bool is_false_claim(double norm_r, double claimed, bool first) {
    m_promised *= m_restarted > 0 ? claimed / m_restarted : 1;
    m_restarted = norm_r;
    if (!first && norm_r > 0.9 * m_begun) return m_promised <= 0.5;
    m_begun = norm_r;
    m_promised = 1;
    return false;
  }

 private:
  double m_begun = 0;      ///< the residual at the last start that was a tenth below the one before
  double m_promised = 1;   ///< the part of it that the steps since then have left, by their own account
  double m_restarted = 0;  ///< the residual at the last start
};

/// Whether rho = (r^, r) of BiCGSTAB is zero but for rounding; `size` is ||r^|| ||r||.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION bool rho_vanishes(double rho, double size) {
  return !(rho > static_cast<double>(Kokkos::Experimental::epsilon_v<Real>) * size);
}

/// Whether t of BiCGSTAB is orthogonal to s but for rounding, or zero, from |(t, s)|, (s, s) and (t, t).
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION bool omega_vanishes(double ts, double ss, double tt) {
  const double cosine = ts / (Kokkos::sqrt(ss) * Kokkos::sqrt(tt));
  return !(cosine > 4 * static_cast<double>(Kokkos::Experimental::epsilon_v<Real>));
}

}  // namespace prekond::stopping

namespace prekond {

/// num / den where den is not 0 and the ratio is finite; 0 otherwise, so that a step by it changes nothing
/// and the stopping test finds the reason.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T ratio_or_zero(const T& num, const T& den) {
  if (den == T(0)) return T(0);
  const T ratio = num / den;
  return is_finite(ratio) ? ratio : T(0);
}

}  // namespace prekond
