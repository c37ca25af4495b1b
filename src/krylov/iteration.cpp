// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// The steps of a solve before its first cycle of iterations and after each: the members of KrylovIteration
/// that methods do not call in an iteration.
#include "iteration.hpp"

#include "core/instantiate.hpp"
#include "diagnosis.hpp"

namespace prekond::krylov {

template <class Scalar, class Space>
KrylovIteration<Scalar, Space>::KrylovIteration(const Problem& problem, Side side,
                                                bool restarts_after_breakdown)
    : m_problem(problem),
      m_on_left(problem.preconditioner && side == Side::left),
      m_restarts_after_breakdown(restarts_after_breakdown),
      m_system(problem),
      m_reduce(problem.space, static_cast<std::int64_t>(problem.b.extent(0))),
      m_norms(problem.space, static_cast<int>(problem.b.extent(1)), norm_places),
      m_columns(problem.b.extent(1)) {
  if (problem.preconditioner) m_workspace = problem.preconditioner->make_workspace(space(), num_columns());
  if (m_on_left) m_scratch = allocate_columns("prekond::krylov::scratch", num_columns());
}

template <class Scalar, class Space>
std::vector<SolveResult> KrylovIteration<Scalar, Space>::run() {
  start();
  while (!m_running.empty()) {
    const std::vector<int> ended = m_running;
    for (int c : ended) m_columns[c].cycle_begins = true;
    iterate();
    verify(ended);
  }
  for (int c = 0; c < num_columns(); ++c)
    if (!m_columns[c].result.converged) go_back(c);
  m_system.restore();
  // From the copies, since x' may have lost what has a place in x.
  for (int c = 0; c < num_columns(); ++c)
    if (m_columns[c].result.went_back) {
      const Column& state = m_columns[c];
      times_power<Scalar, Space>(space(), column(state.is_at_first ? m_first : m_best, c), x(c),
                                 state.is_at_first ? state.first_exponent : state.best_exponent);
      space().fence("prekond::krylov::went_back");  // the copies go away
    }
  std::vector<SolveResult> results;
  for (const Column& column : m_columns) results.push_back(column.result);
  return results;
}

template <class Scalar, class Space>
void KrylovIteration<Scalar, Space>::residual(const MultiVectorView<Scalar, Space>& r) {
  // A method that begins again goes on from what its claim was measured by.
  const Precision precision = m_begins_again ? Precision::twice : Precision::single;
  if (!m_on_left) return true_residual(r, precision);
  true_residual(m_scratch, precision);
  precondition(m_scratch, r);
  for (int c : m_running) {
    m_norms.start(space(), c, 0, column(m_scratch, c), m_reduce);
    m_norms.start(space(), c, 1, column(r, c), m_reduce);
  }
  m_norms.read(space(), 2, m_problem.reducer);
  for (int c : m_running) {
    const double scale = ratio(m_norms.of(c, 0), m_norms.of(c, 1));
    m_columns[c].scale = scale > 0 && std::isfinite(scale) ? scale : 1;
    m_columns[c].truth = m_norms.of(c, 0);
    m_columns[c].left_is_safe = Safe::norm_is_safe(m_norms.of(c, 1).exponent) || m_norms.of(c, 1).is_zero();
  }
}

template <class Scalar, class Space>
void KrylovIteration<Scalar, Space>::true_residual(const MultiVectorView<Scalar, Space>& r,
                                                   Precision precision) {
  const MultiVectorView<const Scalar, Space> b = Kokkos::subview(
      m_system.rhs(), Kokkos::ALL, Kokkos::make_pair(m_running.front(), m_running.back() + 1));
  Kokkos::deep_copy(space(), range(r), b);
  if (precision == Precision::single || !m_system.is_compensated()) {
    m_system.multiply(range(m_problem.x), range(r), Scalar(-1), Scalar(1));
  } else {
    clear_low();
    m_system.subtract_compensated(range(m_problem.x), range(r), range(m_low));
    add_low(r);
  }
  count_products();
}

template <class Scalar, class Space>
void KrylovIteration<Scalar, Space>::clear_low() {
  if (m_low.extent(1) == 0) m_low = allocate_columns("prekond::krylov::low_residual", num_columns());
  set_zero(space(), m_low);
}

template <class Scalar, class Space>
void KrylovIteration<Scalar, Space>::add_low(const MultiVectorView<Scalar, Space>& r) {
  for (int c : m_running)
    Kokkos::parallel_for("prekond::krylov::add_low",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space(), 0, num_rows()),
                         AddVector<Scalar, Space>{column(r, c), column(m_low, c)});
}

template <class Scalar, class Space>
void KrylovIteration<Scalar, Space>::keep_best(int c) {
  Column& state = m_columns[c];
  const ExtendedNumber norm_r = m_on_left ? state.truth : ExtendedNumber::of(state.norm_r);
  const ExtendedNumber norm = norm_r.times_power(m_system.rhs_exponent(c));
  if (!norm.is_finite() || (state.has_best && !(ratio(norm, state.best) < 1))) return;
  // An x that is multiplied by a power of two may leave the range once that is undone.
  if (state.has_best && m_system.solution_exponent(c) != 0) return;
  if (m_best.extent(1) == 0) m_best = allocate_columns("prekond::krylov::best_x", num_columns());
  if (state.has_best && !state.has_first) {
    if (m_first.extent(1) == 0) m_first = allocate_columns("prekond::krylov::first_x", num_columns());
    Kokkos::deep_copy(space(), column(m_first, c), column(m_best, c));
    state.has_first = true;
    state.first = state.best;
    state.first_exponent = state.best_exponent;
  }
  Kokkos::deep_copy(space(), column(m_best, c), x(c));
  state.has_best = true;
  state.best = norm;
  state.best_exponent = m_system.solution_exponent(c);
}

template <class Scalar, class Space>
void KrylovIteration<Scalar, Space>::go_back(int c) {
  Column& state = m_columns[c];
  if (!state.has_best || state.result.iterations == 0) return;
  m_running = {c};
  // As x will be rounded once the powers of two are undone.
  const auto measure_rounded = [&] {
    m_system.round_solution(c);
    measure_truth();
    return state.truth.times_power(m_system.rhs_exponent(c));
  };
  const ExtendedNumber last = m_system.solution_exponent(c) == 0
                                  ? state.truth.times_power(m_system.rhs_exponent(c))
                                  : measure_rounded();
  if (ratio(last, state.best) <= 1) return;
  state.result.went_back = true;
  m_system.set_solution(c, column(m_best, c), state.best_exponent);
  state.result.true_relative_residual = ratio(state.best, state.norm_b);
  // That may be one of ordinary products, whose rounding errors may be larger than it is.
  if (!state.has_first || ratio(measure_rounded(), state.first) <= 1) return;
  state.is_at_first = true;
  m_system.set_solution(c, column(m_first, c), state.first_exponent);
  measure_rounded();
  if (state.first_exponent != m_system.solution_exponent(c))
    state.result.true_relative_residual = ratio(state.first, state.norm_b);
}

template <class Scalar, class Space>
void KrylovIteration<Scalar, Space>::start() {
  for (int c = 0; c < num_columns(); ++c) m_running.push_back(c);
  for (int c : m_running) m_norms.start(space(), c, 0, column(m_problem.b, c), m_reduce);
  m_norms.read(space(), 1, m_problem.reducer);
  bool zeroed = false, safe = true;
  for_each_running([&](int c) {
    Column& state = m_columns[c];
    state.norm_b = m_norms.of(c, 0);
    if (state.norm_b.is_finite() && !state.norm_b.is_zero()) {
      set_threshold(c);
      safe = safe && Safe::norm_is_safe(state.norm_b.exponent);
      return;
    }
    const bool zero = state.norm_b.is_zero();
    end(c, zero ? StopReason::zero_rhs : StopReason::nan);
    ended(c, state.reason);
    if (zero) Kokkos::deep_copy(space(), x(c), Scalar(0));
    zeroed = zeroed || zero;
  });
  if (zeroed) space().fence("prekond::krylov::zero_rhs");
  if (!safe) scale_first();
}

template <class Scalar, class Space>
void KrylovIteration<Scalar, Space>::scale_first() {
  for (int c : m_running) m_norms.start(space(), c, 1, x(c), m_reduce);
  m_norms.read(space(), 2, m_problem.reducer);
  for (int c : m_running) {
    m_columns[c].norm_x = m_norms.of(c, 1);
    if (!Safe::norm_is_safe(m_columns[c].norm_b.exponent)) scale_rhs(c, m_columns[c].norm_b.exponent);
  }
}

template <class Scalar, class Space>
void KrylovIteration<Scalar, Space>::set_threshold(int c) {
  Column& state = m_columns[c];
  const int exponent = -m_system.rhs_exponent(c);
  const double relative = m_problem.stopping.rtol * state.norm_b.times_power(exponent).value();
  const double absolute = std::ldexp(m_problem.stopping.atol, exponent);
  state.threshold = stopping::Threshold::of(relative, absolute);
  // On the left the two norms may differ by much; on the right a smaller target only keeps clear of the
  // threshold.
  state.target = stopping::next_target(state.threshold.value, state.false_claims, m_on_left ? 1000 : 2);
}

template <class Scalar, class Space>
void KrylovIteration<Scalar, Space>::verify(const std::vector<int>& cycle) {
  m_running = cycle;
  m_begins_again = true;
  measure_truth();
  m_cycle_exponents = {m_system.matrix_exponent(), m_system.inverse_exponent()};
  std::vector<int> again, failed;
  for (int c : cycle) {
    if (goes_on(c, final_reason(c)))
      again.push_back(c);
    else if (!m_columns[c].result.converged)
      failed.push_back(c);
  }
  for (int c : cycle)
    if (m_columns[c].result.converged && m_system.solution_exponent(c) != 0) confirm_rounded(c);
  for (int c : failed)
    if (may_be_helped(c)) again.push_back(c);
  std::sort(again.begin(), again.end());
  for (int c : again) recenter(c);
  m_running = again;
}

template <class Scalar, class Space>
void KrylovIteration<Scalar, Space>::measure_truth() {
  true_residual(m_scratch, Precision::twice);
  for (int c : m_running) {
    m_norms.start(space(), c, 0, column(m_scratch, c), m_reduce);
    // The residual does not depend on the unknown of an empty column of A; the norm of x does.
    m_norms.start(space(), c, 1, x(c), m_reduce);
  }
  m_norms.read(space(), 2, m_problem.reducer);
  for (int c : m_running) {
    Column& state = m_columns[c];
    state.norm_x = m_norms.of(c, 1);
    state.truth = state.norm_x.is_finite() ? m_norms.of(c, 0) : state.norm_x;
    const int exponent = m_system.rhs_exponent(c);
    state.result.relative_residual = ratio(ExtendedNumber::of(state.norm_r, exponent), state.norm_b);
    state.result.true_relative_residual = ratio(state.truth.times_power(exponent), state.norm_b);
  }
}

template <class Scalar, class Space>
void KrylovIteration<Scalar, Space>::confirm_rounded(int c) {
  m_running = {c};
  clear_low();
  m_system.round_solution(c, range(m_scratch), range(m_low));
  add_low(m_scratch);
  count_products();
  m_norms.start(space(), c, 0, column(m_scratch, c), m_reduce);
  m_norms.read(space(), 1, m_problem.reducer);
  const int exponent = m_system.rhs_exponent(c);
  const ExtendedNumber unscaled = m_norms.of(c, 0).times_power(-exponent);
  measure_truth();
  Column& state = m_columns[c];
  constexpr double more_than_rounding = 1.001;
  if (unscaled.is_finite() && ratio(unscaled, state.truth) > more_than_rounding) {
    state.truth = unscaled;
    state.result.true_relative_residual = ratio(unscaled.times_power(exponent), state.norm_b);
  }
  if (!state.truth.is_finite() || state.truth.value() > state.threshold.value)
    ended(c, StopReason::out_of_range);
}

template <class Scalar, class Space>
StopReason KrylovIteration<Scalar, Space>::final_reason(int c) const {
  const Column& state = m_columns[c];
  const StopReason reason =
      stopping::confirmed_reason(state.reason, state.truth.is_finite(), state.truth.value(), state.threshold);
  const bool is_indefinite =
      reason == StopReason::breakdown_not_spd || reason == StopReason::breakdown_preconditioner_not_spd;
  // The products of a residual that is nothing but rounding say nothing of the matrix.
  constexpr double epsilon = std::numeric_limits<Real>::epsilon();
  return is_indefinite && state.result.true_relative_residual <= epsilon ? StopReason::stagnation : reason;
}

template <class Scalar, class Space>
bool KrylovIteration<Scalar, Space>::goes_on(int c, StopReason reason) {
  Column& state = m_columns[c];
  const bool may = iterations_left(c) > 0;
  if (reason == StopReason::stagnation) {
    const ExtendedNumber truth = state.truth.times_power(m_system.rhs_exponent(c));
    const double progress = ratio(truth, state.last_claim);
    const bool again = stopping::goes_on_after_false_claim(state.false_claims++, progress, may, reason);
    state.last_claim = truth;
    set_threshold(c);
    ended(c, reason);
    return again;
  }
  const bool starts_again =
      m_restarts_after_breakdown && stopping::goes_on_after_breakdown(state.breakdowns, may, reason);
  ended(c, reason);
  if (!starts_again) return false;
  Diagnosis<Scalar, Space> diagnosis(m_problem, m_system, m_workspace.get(), m_on_left, m_reduce);
  if (!rescale(c, diagnosis)) ++state.breakdowns;
  return true;
}

template <class Scalar, class Space>
bool KrylovIteration<Scalar, Space>::may_be_helped(int c) {
  Column& state = m_columns[c];
  const StopReason reason = state.result.reason;
  if (reason == StopReason::max_iters && state.result.iterations < iterations_worth_a_look) return false;
  Diagnosis<Scalar, Space> diagnosis(m_problem, m_system, m_workspace.get(), m_on_left, m_reduce);
  if (reason != StopReason::max_iters && rescale(c, diagnosis)) return true;
  if (reason == StopReason::out_of_range && state.is_finite && !state.range_is_known) {
    state.range_is_known = true;  // no powers of two help: the solve goes on with the numbers as they are
    return true;
  }
  conclude(c, diagnosis);
  return false;
}

template <class Scalar, class Space>
bool KrylovIteration<Scalar, Space>::rescale(int c, Diagnosis<Scalar, Space>& diagnosis) {
  Column& state = m_columns[c];
  if (state.range_is_known || iterations_left(c) <= 0) return false;
  if (state.rescalings++ == most_rescalings) return false;
  const bool by_another_column =
      !(m_cycle_exponents == OperatorExponents{m_system.matrix_exponent(), m_system.inverse_exponent()});
  if (by_another_column) return true;
  const bool has_residual = state.truth.is_finite() && !state.truth.is_zero();
  const ExtendedNumber size =
      has_residual ? state.truth : state.norm_b.times_power(-m_system.rhs_exponent(c));
  const auto exponents = diagnosis.ordinary_exponents(
      has_residual ? VectorView<const Scalar, Space>(column(m_scratch, c)) : column(m_system.rhs(), c), size,
      !ignores_factor_of_matrix());
  state.result.matrix_products += 1;
  if (!exponents) return false;
  const bool moved =
      exponents->matrix != m_system.matrix_exponent() || exponents->inverse != m_system.inverse_exponent();
  const bool lost = !state.norm_x.is_finite();
  const bool overflows = !lost && !state.truth.is_finite() && state.result.iterations == state.begun_at;
  const bool large = overflows || is_off_center(state);
  if (!moved && !large) return false;
  if (moved) {
    state.false_claims = 0;
    for (int other = 0; other < num_columns(); ++other)
      if (!solution_fits(other, m_system.rhs_exponent(other) + exponents->matrix)) return false;
    m_system.scale_operators(exponents->matrix, exponents->inverse);
  }
  if (lost) {  // x is lost to numbers out of range: the solve starts from 0
    Kokkos::deep_copy(space(), x(c), Scalar(0));
    state.norm_x = {};
  }
  // b - A x overflows, so x has to become smaller.
  if (overflows) scale_rhs(c, m_system.rhs_exponent(c) + Safe::all / 2);
  return true;
}

template <class Scalar, class Space>
void KrylovIteration<Scalar, Space>::conclude(int c, Diagnosis<Scalar, Space>& diagnosis) {
  Column& state = m_columns[c];
  StopReason reason = state.result.reason;
  if (reason == StopReason::out_of_range) reason = StopReason::nan;
  if (state.norm_x.is_finite() && !state.norm_x.is_zero() && m_system.solution_exponent(c) != 0) {
    const int exponent = state.norm_x.exponent + m_system.solution_exponent(c);
    using Limits = std::numeric_limits<Real>;
    if (exponent > Limits::max_exponent || exponent < Limits::min_exponent + Limits::digits)
      return ended(c, StopReason::out_of_range);
  }
  if (reason != StopReason::nan) {
    int products = 0;
    state.result.looks_singular =
        diagnosis.looks_singular(c, column(m_scratch, c), state.truth, x(c), state.norm_x,
                                 state.result.true_relative_residual, &products);
    state.result.matrix_products += products;
    const bool says_little = reason == StopReason::stagnation || reason == StopReason::breakdown_not_spd ||
                             reason == StopReason::divergence;
    if (state.result.looks_singular && says_little) reason = StopReason::breakdown_singular;
  }
  ended(c, reason);
}

#define PREKOND_KRYLOV_ITERATION(Scalar, Space) template class KrylovIteration<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_KRYLOV_ITERATION)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_KRYLOV_ITERATION)

}  // namespace prekond::krylov
