// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/krylov/solver.hpp>

#include "column_norms.hpp"
#include "core/stopping_rules.hpp"
#include "device_scalars.hpp"
#include "scaled_system.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace prekond::krylov {

template <class Scalar, class Space>
class Diagnosis;

/// y += z
template <class Scalar, class Space>
struct AddVector {
  VectorView<Scalar, Space> y;
  VectorView<const Scalar, Space> z;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { y(i) += z(i); }
};

/// One solve of k columns: the base class of the methods. A method allocates its vectors and overrides
/// `iterate`; the base class has the preconditioned product, the residuals, the stopping test, the true
/// residual at the end, the restarts, the powers of two that keep inner products in range, and the results.
/// The steps before and after a cycle of iterations are compiled once for all methods, in iteration.cpp.
template <class Scalar, class Space>
class KrylovIteration {
 public:
  using Problem = LinearProblem<Scalar, Space>;
  using Multi = MultiVector<Scalar, Space>;

  virtual ~KrylovIteration() = default;
  KrylovIteration(const KrylovIteration&) = delete;
  KrylovIteration& operator=(const KrylovIteration&) = delete;

  std::vector<SolveResult> run();

 protected:
  /// The state of one column. Norms and targets are those of the scaled system.
  struct Column {
    ExtendedNumber norm_b;
    double norm_r = 0;
    stopping::Threshold threshold;
    double target = 0;             ///< for the method's own norm: the threshold, or less after false claims
    stopping::CycleBounds bounds;  ///< bounds of the method's own norm in this cycle
    /// ||b - A x|| over the norm that the method sees at the start of a cycle: 1 unless the preconditioner is
    /// on the left.
    double scale = 1;
    bool left_is_safe = true;              ///< whether ||M^-1 (b - A x)|| is in range, on the left
    bool cycle_begins = false;             ///< no residual of this cycle has been judged
    std::int64_t begun_at = 0;             ///< iterations before this cycle
    bool is_finite = true;                 ///< whether the last numbers that were judged are
    bool range_is_known = false;           ///< whether other powers of two would not help
    StopReason reason = StopReason::rtol;  ///< the reason of the end of the cycle: rtol where the recursive
                                           ///< residual has converged
    int false_claims = 0;                  ///< convergences that the true residual did not confirm
    ExtendedNumber last_claim;  ///< the true residual at the last of them, without the powers of two
    int breakdowns = 0;
    int rescalings = 0;
    ExtendedNumber truth;      ///< ||b - A x|| at the end of a cycle; NaN where x is not finite
    ExtendedNumber norm_x;     ///< ||x|| there
    bool has_best = false;     ///< whether there is a copy of x, the best so far
    ExtendedNumber best;       ///< its ||b - A x||, without the powers of two
    int best_exponent = 0;     ///< of the power of two that it is scaled by
    bool has_first = false;    ///< whether there is a copy of the initial x too, as the best is another one
    ExtendedNumber first;      ///< its ||b - A x||, as of `best`
    int first_exponent = 0;    ///< and its power of two
    bool is_at_first = false;  ///< whether a solve that went back went to that one
    SolveResult result;
  };

  KrylovIteration(const Problem& problem, Side side, bool restarts_after_breakdown);

  /// Iterates from the current x until `judge` or `end` has ended every running column.
  virtual void iterate() = 0;

  /// Whether a factor of A does not change the iterates.
  virtual bool ignores_factor_of_matrix() const { return true; }

  const Space& space() const { return m_problem.space; }
  std::int64_t num_rows() const { return static_cast<std::int64_t>(m_problem.b.extent(0)); }
  int num_columns() const { return static_cast<int>(m_problem.b.extent(1)); }
  const ReduceWorkspace<Scalar, Space>& reduce_workspace() const { return m_reduce; }
  /// Whether x changes along M^-1 p rather than along p.
  bool moves_by_preconditioner() const { return m_problem.preconditioner && !m_on_left; }
  Column& column_state(int c) { return m_columns[c]; }
  VectorView<Scalar, Space> x(int c) const { return column(m_problem.x, c); }
  /// The global numbers of the rows, computed anew at each call.
  RowNumbers<Space> row_numbers() const { return m_problem.a.row_numbers(space()); }

  /// n x k. Several columns are zeroed, because a product also reads the columns that have ended.
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
  /// Replaces the running columns; returns the former ones.
  std::vector<int> exchange_running(std::vector<int> columns) {
    return std::exchange(m_running, std::move(columns));
  }

  /// The columns from the first to the last running one, which a product works on.
  MultiVectorView<Scalar, Space> range(const MultiVectorView<Scalar, Space>& v) const {
    return Kokkos::subview(v, Kokkos::ALL, Kokkos::make_pair(m_running.front(), m_running.back() + 1));
  }

  void sum(VectorView<Scalar, Space> message) const { m_problem.reducer.sum(space(), message); }

  void multiply(const MultiVectorView<Scalar, Space>& from, const MultiVectorView<Scalar, Space>& to) {
    m_system.multiply(range(from), range(to));
    count_products();
  }
  /// y = A x and (x, y) for the only running column.
  void multiply_dot(VectorView<const Scalar, Space> from, VectorView<Scalar, Space> to,
                    VectorView<Scalar, Space> dot) {
    m_system.multiply_dot(from, to, dot, m_reduce);
    count_products();
  }
  /// The power of two by which A M^-1 is scaled.
  int operator_exponent() const { return m_system.matrix_exponent() + m_system.inverse_exponent(); }
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
  void residual(const MultiVectorView<Scalar, Space>& r);

  /// Takes ||r||^2 of column c as the method knows it, and ends the column where it converged, where a number
  /// is not finite, where (r, r) or one of `squares` (inner products of the size of ||r||^2) is about to
  /// leave the range of its type, at a breakdown, or after max_iters. `shown`: whether the monitor sees it.
  void judge(int c, double rr, bool finite, StopReason breakdown = stopping::no_breakdown, bool shown = true,
             std::initializer_list<double> squares = {}) {
    Column& column = m_columns[c];
    column.norm_r = column.scale * std::sqrt(rr);
    column.is_finite = finite && std::isfinite(rr);
    if (shown && m_problem.monitor)
      m_problem.monitor(c, column.result.iterations, std::ldexp(column.norm_r, m_system.rhs_exponent(c)));
    const bool begins = std::exchange(column.cycle_begins, false);
    if (begins) {
      const double norm_b = column.norm_b.times_power(-m_system.rhs_exponent(c)).value();
      column.bounds = stopping::CycleBounds::of<Real>(column.target, column.norm_r, norm_b);
      column.begun_at = column.result.iterations;
      keep_best(c);
    }
    const bool range_matters = !column.range_is_known;
    if (range_matters && begins && !column.left_is_safe) return end(c, StopReason::out_of_range);
    const stopping::IterationState state{column.norm_r, column.is_finite,
                                         range_matters && leaves_range(rr, begins, squares), breakdown,
                                         iterations_left(c) > 0};
    StopReason reason = StopReason::max_iters;
    if (stopping::ends_iteration(column.bounds, state, reason)) end(c, reason);
  }
  void end(int c, StopReason reason) {
    m_columns[c].reason = reason;
    m_running.erase(std::find(m_running.begin(), m_running.end(), c));
  }
  /// Copies x where no former one had a residual as small as norm_r, which is the true one here.
  void keep_best(int c);
  void count_iteration() {
    for (int c : m_running) ++m_columns[c].result.iterations;
  }
  std::int64_t iterations_left(int c) const {
    return m_problem.stopping.max_iters - m_columns[c].result.iterations;
  }
  /// (target / scale)^2, the bound at which the method's own ||r||^2 has converged.
  double target2(int c) const {
    const double target = m_columns[c].bounds.target / m_columns[c].scale;
    return target * target;
  }

 private:
  using Real = real_type_t<Scalar>;
  using Safe = SafeExponents<Real>;
  static constexpr int norm_places = 3;
  static constexpr int most_rescalings = 32;
  /// With fewer iterations the two products that detect a singular matrix would be a noticeable part of a
  /// solve.
  static constexpr std::int64_t iterations_worth_a_look = 1000;

  enum class Precision { single, twice };
  void true_residual(const MultiVectorView<Scalar, Space>& r, Precision precision);

  /// The best x again, where the last one is worse, or the initial one, where in twice the precision that is
  /// better than the best.
  void go_back(int c);

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

  void start();

  /// Scales columns whose ||b|| is out of the safe range.
  void scale_first();

  /// max(rtol ||b||, atol) of the scaled system.
  void set_threshold(int c);

  /// Computes the true residuals of the columns of a cycle; the columns that start again become the running
  /// ones.
  void verify(const std::vector<int>& cycle);

  /// ||b - A x|| and ||x|| of the running columns.
  void measure_truth();

  /// Tests whether a solution of the scaled system is still one once it is rounded to its type.
  void confirm_rounded(int c);
  /// Makes m_low zero, and adds it to r.
  void clear_low();
  void add_low(const MultiVectorView<Scalar, Space>& r);

  StopReason final_reason(int c) const;

  /// Sets the reason of a cycle's end. Returns whether the column starts again: once after a breakdown, and
  /// after a convergence that the true residual did not confirm as long as that falls, each time with half
  /// the target.
  bool goes_on(int c, StopReason reason);

  /// Whether the true residual is out of the range that a cycle should start with. A residual that grew in
  /// iterations is a divergence, and is not rescaled.
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
    if (!solution_fits(c, exponent + m_system.matrix_exponent()) || !rhs_fits(c, exponent)) return;
    m_system.scale_rhs(c, exponent);
    set_threshold(c);
  }
  /// Whether x' = 2^-power x is a vector of finite numbers.
  bool solution_fits(int c, int power) const {
    const ExtendedNumber& norm_x = m_columns[c].norm_x;
    return !norm_x.is_finite() || norm_x.is_zero() ||
           norm_x.exponent + m_system.solution_exponent(c) - power < Safe::all - 2;
  }

  /// Whether b' = 2^-exponent b keeps its digits: where b' were 0, any small x would seem to solve A x = b.
  bool rhs_fits(int c, int exponent) const {
    using Limits = std::numeric_limits<Real>;
    return m_columns[c].norm_b.exponent - exponent > Limits::min_exponent + 2 * Limits::digits;
  }

  /// Whether a column that ended without success starts again with other powers of two; finds the reason of
  /// its failure otherwise.
  bool may_be_helped(int c);

  /// Looks for powers of two that would change the cycle that has ended; returns whether it found some.
  bool rescale(int c, Diagnosis<Scalar, Space>& diagnosis);

  /// Replaces the reason by a more specific one where there is one.
  void conclude(int c, Diagnosis<Scalar, Space>& diagnosis);

  const Problem& m_problem;
  bool m_on_left;
  bool m_restarts_after_breakdown;
  ScaledSystem<Scalar, Space> m_system;
  ReduceWorkspace<Scalar, Space> m_reduce;
  ColumnNorms<Scalar, Space> m_norms;
  std::vector<Column> m_columns;
  std::vector<int> m_running, m_visited;
  OperatorExponents m_cycle_exponents;  ///< the exponents of the last cycle
  bool m_begins_again = false;          ///< the first cycle has ended
  Multi m_scratch;
  Multi m_low;            ///< the rounding errors of a residual in twice the precision
  Multi m_best, m_first;  ///< copies of x, \see keep_best
  std::unique_ptr<Workspace> m_workspace;
};

}  // namespace prekond::krylov
