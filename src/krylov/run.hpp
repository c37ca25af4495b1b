// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/krylov/solver.hpp>

#include "column_norms.hpp"
#include "device_scalars.hpp"
#include "diagnosis.hpp"
#include "scaled_system.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace prekond::krylov {

/// num / den where both are finite and den is not 0; 0 otherwise, so that nothing moves until the host sees
/// why.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T ratio_or_zero(const T& num, const T& den) {
  if (den == T(0)) return T(0);
  const T ratio = num / den;
  return is_finite(ratio) ? ratio : T(0);
}

inline bool converged(StopReason reason) {
  return reason == StopReason::rtol || reason == StopReason::atol || reason == StopReason::zero_rhs;
}

/// What the methods do in common: one solve of k columns. A method derives from it, allocates its vectors and
/// gives `iterate`; here are the preconditioned product, the residuals, the stopping test, the true residual
/// at the end, the restarts, the powers of two that keep inner products in range, and the results.
template <class Scalar, class Space>
class KrylovRun {
 public:
  using Problem = LinearProblem<Scalar, Space>;
  using Multi = MultiVector<Scalar, Space>;

  virtual ~KrylovRun() = default;
  KrylovRun(const KrylovRun&) = delete;
  KrylovRun& operator=(const KrylovRun&) = delete;

  std::vector<SolveResult> run() {
    start();
    while (!m_running.empty()) {
      const std::vector<int> ended = m_running;
      for (int c : ended) m_columns[c].cycle_begins = true;
      iterate();
      verify(ended);
    }
    m_system.restore();
    std::vector<SolveResult> results;
    for (const Column& column : m_columns) results.push_back(column.result);
    return results;
  }

 protected:
  /// Norms and targets are those of the scaled system.
  struct Column {
    ExtendedNumber norm_b;
    double norm_r = 0;
    double threshold = 0;
    bool relative = true;     ///< the threshold is rtol ||b||
    double target = 0;        ///< of the method's own norm: the threshold, or less after false claims
    double cycle_target = 0;  ///< the target, or what rounding lets this cycle reach
    double diverged = 0;      ///< where nothing of b is left in r
    /// ||b - A x|| over the norm that the method sees, where an iteration started: 1 but with the
    /// preconditioner on the left.
    double scale = 1;
    bool left_is_safe = true;     ///< ||M^-1 (b - A x)||, with the preconditioner on the left
    bool cycle_begins = false;    ///< no residual of this cycle has been judged
    std::int64_t begun_at = 0;    ///< the iterations before this cycle
    bool is_finite = true;        ///< all that was judged last
    bool range_is_known = false;  ///< other powers of two would not help
    StopReason reason =
        StopReason::rtol;       ///< why iterating ended: rtol where the recursive residual has converged
    int false_claims = 0;       ///< convergences that the true residual did not confirm
    ExtendedNumber last_claim;  ///< the true residual at the last of them, without the powers of two
    int breakdowns = 0;
    int rescalings = 0;
    ExtendedNumber truth;   ///< ||b - A x|| at the end of a cycle; NaN where x is not finite
    ExtendedNumber norm_x;  ///< ||x|| there
    SolveResult result;
  };

  KrylovRun(const Problem& problem, Side side, bool restarts_after_breakdown)
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

  /// From the x there is: ends every running column, by `judge` or `end`.
  virtual void iterate() = 0;

  /// Does a factor of A leave the method's way as it is?
  virtual bool ignores_factor_of_matrix() const { return true; }

  const Space& space() const { return m_problem.space; }
  std::int64_t num_rows() const { return static_cast<std::int64_t>(m_problem.b.extent(0)); }
  int num_columns() const { return static_cast<int>(m_problem.b.extent(1)); }
  const ReduceWorkspace<Scalar, Space>& reduce_workspace() const { return m_reduce; }
  /// Does x move along M^-1 p rather than along p?
  bool moves_by_preconditioner() const { return m_problem.preconditioner && !m_on_left; }
  Column& column_state(int c) { return m_columns[c]; }
  VectorView<Scalar, Space> x(int c) const { return column(m_problem.x, c); }

  /// n x k. Several columns start at 0, as a product also reads those that have ended.
  Multi allocate_columns(const char* label, int columns) const {
    if (num_columns() == 1) return allocate<Multi>(space(), label, num_rows(), columns);
    return allocate_zero<Multi>(space(), label, num_rows(), columns);
  }

  /// A vector that the true residual may overwrite between iterations.
  void lend_scratch(const Multi& vector) {
    if (!m_on_left) m_scratch = vector;
  }

  /// The columns that have not ended, in their order. `for_each_running` allows `action` to end them.
  const std::vector<int>& running() const { return m_running; }
  template <class Action>
  void for_each_running(const Action& action) {
    m_visited = m_running;
    for (int c : m_visited) action(c);
  }

  bool is_running(int c) const { return std::find(m_running.begin(), m_running.end(), c) != m_running.end(); }
  /// Takes other columns for the running ones; returns what these were.
  std::vector<int> exchange_running(std::vector<int> columns) {
    return std::exchange(m_running, std::move(columns));
  }

  /// The columns from the first to the last running one: what a product is made with.
  MultiVectorView<Scalar, Space> range(const MultiVectorView<Scalar, Space>& v) const {
    return Kokkos::subview(v, Kokkos::ALL, Kokkos::make_pair(m_running.front(), m_running.back() + 1));
  }

  void sum(VectorView<Scalar, Space> message) const { m_problem.reducer.sum(space(), message); }

  void multiply(const MultiVectorView<Scalar, Space>& from, const MultiVectorView<Scalar, Space>& to) {
    m_system.multiply(range(from), range(to));
    count_products();
  }
  /// y = A x and (x, y), of the column that is alone in running.
  void multiply_dot(VectorView<const Scalar, Space> from, VectorView<Scalar, Space> to,
                    VectorView<Scalar, Space> dot) {
    m_system.multiply_dot(from, to, dot, m_reduce);
    count_products();
  }
  void precondition(const MultiVectorView<Scalar, Space>& from, const MultiVectorView<Scalar, Space>& to) {
    m_system.precondition(range(from), range(to), *m_workspace);
  }
  bool has_preconditioner() const { return m_problem.preconditioner != nullptr; }
  void count_products() {
    for (int c : m_running) ++m_columns[c].result.matrix_products;
  }

  /// The product of the preconditioned system. On the right: z = M^-1 p, y = A z; on the left: y = M^-1 A p.
  void product(const MultiVectorView<Scalar, Space>& p, const MultiVectorView<Scalar, Space>& z,
               const MultiVectorView<Scalar, Space>& y) {
    if (moves_by_preconditioner()) {
      precondition(p, z);
      multiply(z, y);
    } else {
      left_product(p, y);
    }
  }
  /// y = A p, and M^-1 A p with the preconditioner on the left.
  void left_product(const MultiVectorView<Scalar, Space>& p, const MultiVectorView<Scalar, Space>& y) {
    multiply(p, m_on_left ? MultiVectorView<Scalar, Space>(m_scratch) : y);
    if (m_on_left) precondition(m_scratch, y);
  }

  /// The residual of the preconditioned system: r = b - A x, or M^-1 (b - A x) with the preconditioner on the
  /// left.
  void residual(const MultiVectorView<Scalar, Space>& r) {
    if (!m_on_left) return true_residual(r);
    true_residual(m_scratch);
    precondition(m_scratch, r);
    for (int c : m_running) {
      m_norms.start(space(), c, 0, column(m_scratch, c), m_reduce);
      m_norms.start(space(), c, 1, column(r, c), m_reduce);
    }
    m_norms.read(space(), 2, m_problem.reducer);
    for (int c : m_running) {
      const double scale = ratio(m_norms.of(c, 0), m_norms.of(c, 1));
      m_columns[c].scale = scale > 0 && std::isfinite(scale) ? scale : 1;
      m_columns[c].left_is_safe = Safe::norm_is_safe(m_norms.of(c, 1).exponent) || m_norms.of(c, 1).is_zero();
    }
  }

  /// Files ||r||^2 of column c as the method has it, and ends the column where it converged, where something
  /// is not finite, where (r, r) or a number of `squares` (inner products that ||r||^2 has a part in) is
  /// about to leave the range, at a breakdown, or after max_iters. `shown`: the monitor sees it.
  void judge(int c, double rr, bool finite, std::optional<StopReason> breakdown, bool shown = true,
             std::initializer_list<double> squares = {}) {
    Column& column = m_columns[c];
    column.norm_r = column.scale * std::sqrt(rr);
    column.is_finite = finite && std::isfinite(rr);
    if (shown && m_problem.monitor)
      m_problem.monitor(c, column.result.iterations, std::ldexp(column.norm_r, m_system.rhs_exponent(c)));
    const bool begins = std::exchange(column.cycle_begins, false);
    if (begins) {
      column.cycle_target = std::max(column.target, rounding * column.norm_r);
      const double norm_b = column.norm_b.times_power(-m_system.rhs_exponent(c)).value();
      column.diverged = std::max(column.norm_r, norm_b) / std::numeric_limits<Real>::epsilon();
      column.begun_at = column.result.iterations;
    }
    const bool range_matters = !column.range_is_known;
    if (range_matters && begins && !column.left_is_safe)
      end(c, StopReason::out_of_range);
    else if (column.is_finite && column.norm_r <= column.cycle_target)
      end(c, StopReason::rtol);
    else if (range_matters && leaves_range(rr, begins, squares))
      end(c, StopReason::out_of_range);
    else if (!column.is_finite)
      end(c, StopReason::nan);
    else if (breakdown)
      end(c, *breakdown);
    else if (column.norm_r > column.diverged)
      end(c, StopReason::divergence);
    else if (column.result.iterations >= m_problem.stopping.max_iters)
      end(c, StopReason::max_iters);
  }
  void end(int c, StopReason reason) {
    m_columns[c].reason = reason;
    m_running.erase(std::find(m_running.begin(), m_running.end(), c));
  }
  void count_iteration() {
    for (int c : m_running) ++m_columns[c].result.iterations;
  }
  /// (target / scale)^2: where the method's own ||r||^2 has converged.
  double target2(int c) const {
    const double target = m_columns[c].cycle_target / m_columns[c].scale;
    return target * target;
  }

 private:
  using Real = real_type_t<Scalar>;
  using Safe = SafeExponents<Real>;
  static constexpr int norm_places = 3;
  static constexpr int most_rescalings = 32;
  /// Below that, the two products that tell a singular matrix would be a noticeable part of a solve.
  static constexpr std::int64_t iterations_worth_a_look = 1000;
  /// Of ||r|| at a cycle's start: what no residual falls below before it is computed anew.
  static constexpr double rounding = std::numeric_limits<Real>::epsilon() / 8;

  void true_residual(const MultiVectorView<Scalar, Space>& r) {
    const MultiVectorView<const Scalar, Space> b = Kokkos::subview(
        m_system.rhs(), Kokkos::ALL, Kokkos::make_pair(m_running.front(), m_running.back() + 1));
    Kokkos::deep_copy(space(), range(r), b);
    m_system.multiply(range(m_problem.x), range(r), Scalar(-1), Scalar(1));
    count_products();
  }

  static bool leaves_range(double rr, bool begins, std::initializer_list<double> squares) {
    if (!std::isfinite(rr)) return true;
    if (rr == 0) return false;
    if (begins && !Safe::norm_is_safe(ExtendedNumber::of(std::sqrt(rr)).exponent)) return true;
    for (double square : squares) {
      if (!std::isfinite(square)) return true;
      const int exponent = ExtendedNumber::of(std::abs(square)).exponent - ExtendedNumber::of(rr).exponent;
      if (square != 0 && (exponent < Safe::square_min || exponent > Safe::square_max)) return true;
    }
    return false;
  }

  void ended(int c, StopReason reason) {
    SolveResult& result = m_columns[c].result;
    result.reason = reason;
    result.converged = converged(reason);
  }

  void start() {
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

  /// Some ||b|| is out of the ordinary.
  void scale_first() {
    for (int c : m_running) m_norms.start(space(), c, 1, x(c), m_reduce);
    m_norms.read(space(), 2, m_problem.reducer);
    for (int c : m_running) {
      m_columns[c].norm_x = m_norms.of(c, 1);
      if (!Safe::norm_is_safe(m_columns[c].norm_b.exponent)) scale_rhs(c, m_columns[c].norm_b.exponent);
    }
  }

  /// max(rtol ||b||, atol), in the scaled system's numbers.
  void set_threshold(int c) {
    Column& state = m_columns[c];
    const int exponent = -m_system.rhs_exponent(c);
    const double relative = m_problem.stopping.rtol * state.norm_b.times_power(exponent).value();
    const double absolute = std::ldexp(m_problem.stopping.atol, exponent);
    state.relative = relative >= absolute;
    state.threshold = std::max(relative, absolute);
    // On the left the two norms may go far apart; on the right a smaller target only keeps clear of the
    // threshold.
    state.target = std::ldexp(state.threshold, -std::min(state.false_claims, m_on_left ? 1000 : 2));
  }

  /// The true residuals of the columns that have ended; puts those that start again back among the running
  /// ones.
  void verify(const std::vector<int>& cycle) {
    m_running = cycle;
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

  /// ||b - A x|| and ||x|| of the running columns.
  void measure_truth() {
    true_residual(m_scratch);
    for (int c : m_running) {
      m_norms.start(space(), c, 0, column(m_scratch, c), m_reduce);
      // Where a column of A is empty, the residual does not tell of the unknown: its norm does.
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

  /// A solution of the scaled system is one when it still is as a vector of its type.
  void confirm_rounded(int c) {
    m_running = {c};
    m_system.round_solution(c);
    measure_truth();
    const Column& state = m_columns[c];
    if (!state.truth.is_finite() || state.truth.value() > state.threshold) ended(c, StopReason::out_of_range);
  }

  StopReason final_reason(int c) const {
    const Column& state = m_columns[c];
    if (!state.truth.is_finite()) return StopReason::nan;
    if (state.truth.value() <= state.threshold && state.reason != StopReason::nan)
      return state.relative ? StopReason::rtol : StopReason::atol;
    return state.reason == StopReason::rtol ? StopReason::stagnation : state.reason;
  }

  /// Files the reason. Does the column start again? Once after a breakdown; after a convergence that the true
  /// residual did not confirm as long as that falls, each time with half the target.
  bool goes_on(int c, StopReason reason) {
    Column& state = m_columns[c];
    const bool may = state.result.iterations < m_problem.stopping.max_iters;
    ended(c, reason);
    if (reason == StopReason::stagnation) {
      const ExtendedNumber truth = state.truth.times_power(m_system.rhs_exponent(c));
      const bool falls = state.false_claims == 0 || ratio(truth, state.last_claim) <= 0.9;
      state.last_claim = truth;
      ++state.false_claims;
      set_threshold(c);
      if (falls && !may) ended(c, StopReason::max_iters);
      return falls && may;
    }
    const bool broken = reason == StopReason::breakdown_rho || reason == StopReason::breakdown_pivot ||
                        reason == StopReason::breakdown_omega || reason == StopReason::breakdown_arnoldi;
    if (!broken || !m_restarts_after_breakdown || state.breakdowns > 0 || !may) return false;
    Diagnosis<Scalar, Space> diagnosis(m_problem, m_system, m_workspace.get(), m_on_left, m_reduce);
    if (!rescale(c, diagnosis)) ++state.breakdowns;
    return true;
  }

  /// Is the true residual of another size than what a cycle should start with? What grew in iterations is a
  /// divergence, and stays as it is.
  bool is_off_center(const Column& state) const {
    if (!state.truth.is_finite() || state.truth.is_zero()) return false;
    return state.truth.exponent < Safe::norm_min ||
           (state.truth.exponent > Safe::norm_max && state.result.iterations == state.begun_at);
  }
  void recenter(int c) {
    const Column& state = m_columns[c];
    if (is_off_center(state)) scale_rhs(c, m_system.rhs_exponent(c) + state.truth.exponent);
  }
  void scale_rhs(int c, int exponent) {
    if (!solution_fits(c, exponent + m_system.matrix_exponent())) return;
    m_system.scale_rhs(c, exponent);
    set_threshold(c);
  }
  /// Is x' a vector of finite numbers where x = 2^power x'?
  bool solution_fits(int c, int power) const {
    const ExtendedNumber& norm_x = m_columns[c].norm_x;
    return !norm_x.is_finite() || norm_x.is_zero() ||
           norm_x.exponent + m_system.solution_exponent(c) - power < Safe::all - 2;
  }

  /// Of a column that ended without success: are there powers of two with which it is worth another try? If
  /// there are none: why it failed.
  bool may_be_helped(int c) {
    Column& state = m_columns[c];
    const StopReason reason = state.result.reason;
    if (reason == StopReason::max_iters && state.result.iterations < iterations_worth_a_look) return false;
    Diagnosis<Scalar, Space> diagnosis(m_problem, m_system, m_workspace.get(), m_on_left, m_reduce);
    if (reason != StopReason::max_iters && rescale(c, diagnosis)) return true;
    if (reason == StopReason::out_of_range && state.is_finite && !state.range_is_known) {
      state.range_is_known = true;  // nothing can be done about it: on with the numbers as they are
      return true;
    }
    conclude(c, diagnosis);
    return false;
  }

  /// Looks for powers of two that would make the cycle that has ended another one.
  bool rescale(int c, Diagnosis<Scalar, Space>& diagnosis) {
    Column& state = m_columns[c];
    if (state.range_is_known || state.result.iterations >= m_problem.stopping.max_iters) return false;
    if (state.rescalings++ == most_rescalings) return false;
    const bool by_another_column =
        !(m_cycle_exponents == OperatorExponents{m_system.matrix_exponent(), m_system.inverse_exponent()});
    if (by_another_column) return true;
    const bool has_residual = state.truth.is_finite() && !state.truth.is_zero();
    const ExtendedNumber size =
        has_residual ? state.truth : state.norm_b.times_power(-m_system.rhs_exponent(c));
    const auto exponents = diagnosis.ordinary_exponents(
        has_residual ? VectorView<const Scalar, Space>(column(m_scratch, c)) : column(m_system.rhs(), c),
        size, !ignores_factor_of_matrix());
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
    if (lost) {  // an initial vector is a guess; this one has been overwritten by what was out of range
      Kokkos::deep_copy(space(), x(c), Scalar(0));
      state.norm_x = {};
    }
    // b - A x is more than a number can be: x is what has to become smaller.
    if (overflows) scale_rhs(c, m_system.rhs_exponent(c) + Safe::all / 2);
    return true;
  }

  /// Names what can be named better.
  void conclude(int c, Diagnosis<Scalar, Space>& diagnosis) {
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
      state.result.looks_singular = diagnosis.looks_singular(
          c, column(m_scratch, c), state.truth, state.norm_x, state.result.true_relative_residual, &products);
      state.result.matrix_products += products;
      const bool says_little = reason == StopReason::stagnation || reason == StopReason::breakdown_not_spd ||
                               reason == StopReason::divergence;
      if (state.result.looks_singular && says_little) reason = StopReason::breakdown_singular;
    }
    ended(c, reason);
  }

  const Problem& m_problem;
  bool m_on_left;
  bool m_restarts_after_breakdown;
  ScaledSystem<Scalar, Space> m_system;
  ReduceWorkspace<Scalar, Space> m_reduce;
  ColumnNorms<Scalar, Space> m_norms;
  std::vector<Column> m_columns;
  std::vector<int> m_running, m_visited;
  OperatorExponents m_cycle_exponents;  ///< of the cycle that has ended
  Multi m_scratch;
  std::unique_ptr<Workspace> m_workspace;
};

}  // namespace prekond::krylov
