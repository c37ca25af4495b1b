// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/krylov/solver.hpp>

#include "device_scalars.hpp"

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

/// Counts the entries that are not finite.
template <class Scalar, class Space>
struct CountNotFinite {
  VectorView<const Scalar, Space> v;
  KOKKOS_FUNCTION void operator()(std::int64_t i, Scalar* sum) const {
    if (!is_finite(v(i))) sum[0] += Scalar(1);
  }
};

/// What the methods do in common: one solve of k columns. A method derives from it, allocates its vectors and
/// gives `iterate`; here are the preconditioned product, the residuals, the stopping test, the true residual
/// at the end, the restarts and the results.
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
      iterate();
      verify(ended);
    }
    std::vector<SolveResult> results;
    for (const Column& column : m_columns) results.push_back(column.result);
    return results;
  }

 protected:
  struct Column {
    double norm_b = 0;
    double norm_r = 0;
    double threshold = 0;
    double target = 0;  ///< of the method's own norm: the threshold, or less after false claims on the left
    /// ||b - A x|| over the norm that the method sees, where an iteration started: 1 but with the
    /// preconditioner on the left.
    double scale = 1;
    StopReason reason =
        StopReason::rtol;   ///< why iterating ended: rtol where the recursive residual has converged
    int false_claims = 0;   ///< convergences that the true residual did not confirm
    double last_claim = 0;  ///< the true residual at the last of them
    int breakdowns = 0;
    SolveResult result;
  };

  KrylovRun(const Problem& problem, Side side, bool restarts_after_breakdown)
      : m_problem(problem),
        m_on_left(problem.preconditioner && side == Side::left),
        m_restarts_after_breakdown(restarts_after_breakdown),
        m_reduce(problem.space, static_cast<std::int64_t>(problem.b.extent(0))),
        m_norms(problem.space, "prekond::krylov::norms", 2, static_cast<int>(problem.b.extent(1))),
        m_columns(problem.b.extent(1)) {
    if (problem.preconditioner) m_workspace = problem.preconditioner->make_workspace(space(), num_columns());
    if (m_on_left) m_scratch = allocate_columns("prekond::krylov::scratch", num_columns());
  }

  /// From the x there is: ends every running column, by `judge` or `end`.
  virtual void iterate() = 0;

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
    m_problem.a.apply(space(), range(from), range(to));
    count_products();
  }
  void precondition(const MultiVectorView<Scalar, Space>& from, const MultiVectorView<Scalar, Space>& to) {
    m_problem.preconditioner->apply(space(), range(from), range(to), *m_workspace);
  }
  const Operator<Scalar, Space>& matrix() const { return m_problem.a; }
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
    local_norm(m_scratch, 0);
    local_norm(r, 1);
    read_norms(2);
    for (int c : m_running) {
      const double truth = norm(c, 0), seen = norm(c, 1);
      m_columns[c].scale = seen > 0 && std::isfinite(truth / seen) ? truth / seen : 1;
    }
  }

  /// Files ||r||^2 of column c as the method has it, and ends the column where it converged, where something
  /// is not finite, at a breakdown, or after max_iters. `shown`: the monitor sees it.
  void judge(int c, double rr, bool finite, std::optional<StopReason> breakdown, bool shown = true) {
    Column& column = m_columns[c];
    column.norm_r = column.scale * std::sqrt(rr);
    if (shown && m_problem.monitor) m_problem.monitor(c, column.result.iterations, column.norm_r);
    if (!finite || !std::isfinite(rr))
      end(c, StopReason::nan);
    else if (column.norm_r <= column.target)
      end(c, StopReason::rtol);
    else if (breakdown)
      end(c, *breakdown);
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
    const double target = m_columns[c].target / m_columns[c].scale;
    return target * target;
  }

 private:
  void true_residual(const MultiVectorView<Scalar, Space>& r) {
    const MultiVectorView<const Scalar, Space> b =
        Kokkos::subview(m_problem.b, Kokkos::ALL, Kokkos::make_pair(m_running.front(), m_running.back() + 1));
    Kokkos::deep_copy(space(), range(r), b);
    m_problem.a.apply(space(), range(m_problem.x), range(r), Scalar(-1), Scalar(1));
    count_products();
  }

  void local_norm(const MultiVectorView<const Scalar, Space>& v, int place) {
    for (int c : m_running)
      block_reduce<1>(space(), "prekond::krylov::norm", num_rows(), m_reduce, m_norms.now({place, 1}, c),
                      prekond::impl::DotBody<Scalar, Space>{column(v, c), column(v, c)});
  }
  void read_norms(int count) {
    sum(m_norms.message({0, count}));
    m_norms.read(space(), "prekond::krylov::norms");
  }
  double norm(int c, int place) const { return std::sqrt(m_norms.real_now({place, 1}, c, 0)); }

  void ended(int c, StopReason reason) {
    SolveResult& result = m_columns[c].result;
    result.reason = reason;
    result.converged = converged(reason);
  }

  void start() {
    for (int c = 0; c < num_columns(); ++c) m_running.push_back(c);
    local_norm(m_problem.b, 0);
    read_norms(1);
    bool zeroed = false;
    for_each_running([&](int c) {
      Column& column = m_columns[c];
      column.norm_b = norm(c, 0);
      column.threshold = std::max(m_problem.stopping.rtol * column.norm_b, m_problem.stopping.atol);
      column.target = column.threshold;
      if (std::isfinite(column.norm_b) && column.norm_b != 0) return;
      const bool zero = column.norm_b == 0;
      end(c, zero ? StopReason::zero_rhs : StopReason::nan);
      ended(c, column.reason);
      if (zero) Kokkos::deep_copy(space(), x(c), Scalar(0));
      zeroed = zeroed || zero;
    });
    if (zeroed) space().fence("prekond::krylov::zero_rhs");
  }

  /// The true residuals of the columns that have ended; puts those that start again back among the running
  /// ones.
  void verify(const std::vector<int>& cycle) {
    m_running = cycle;
    true_residual(m_scratch);
    local_norm(m_scratch, 0);
    // Where a column of A is empty, the residual does not tell of the unknown.
    for (int c : cycle)
      block_reduce<1>(space(), "prekond::krylov::count_not_finite", num_rows(), m_reduce,
                      m_norms.now({1, 1}, c), CountNotFinite<Scalar, Space>{x(c)});
    read_norms(2);
    m_running.clear();
    for (int c : cycle) {
      Column& column = m_columns[c];
      const bool finite = norm(c, 1) == 0;
      const double truth = finite ? norm(c, 0) : std::numeric_limits<double>::quiet_NaN();
      column.result.relative_residual = column.norm_r / column.norm_b;
      column.result.true_relative_residual = truth / column.norm_b;
      const StopReason reason = final_reason(column, truth);
      ended(c, reason);
      if (starts_again(column, reason, truth)) m_running.push_back(c);
    }
  }

  StopReason final_reason(const Column& column, double truth) const {
    const StoppingOptions& stopping = m_problem.stopping;
    const StopReason success =
        stopping.rtol * column.norm_b >= stopping.atol ? StopReason::rtol : StopReason::atol;
    if (column.reason == StopReason::nan || !std::isfinite(truth)) return StopReason::nan;
    if (column.reason != StopReason::rtol)
      return m_restarts_after_breakdown && truth <= column.threshold ? success : column.reason;
    // With the preconditioner on the left another norm has converged, which is no reason for a larger true
    // residual.
    const double allowed = m_on_left ? column.threshold : 10 * std::max(column.norm_r, column.threshold);
    return truth <= allowed ? success : StopReason::stagnation;
  }

  /// Once after a breakdown; once after a convergence that was none (on the left: as long as the true
  /// residual falls, each time with half the target, since how the two norms are related changes on the way).
  bool starts_again(Column& column, StopReason reason, double truth) {
    if (reason == StopReason::stagnation) {
      const bool first = column.false_claims++ == 0;
      const bool smaller = m_on_left && truth <= 0.9 * column.last_claim;
      column.last_claim = truth;
      if (m_on_left) column.target /= 2;
      return first || smaller;
    }
    const bool broken = reason == StopReason::breakdown_rho || reason == StopReason::breakdown_pivot ||
                        reason == StopReason::breakdown_omega || reason == StopReason::breakdown_arnoldi;
    return broken && m_restarts_after_breakdown && column.breakdowns++ == 0 &&
           column.result.iterations < m_problem.stopping.max_iters;
  }

  const Problem& m_problem;
  bool m_on_left;
  bool m_restarts_after_breakdown;
  ReduceWorkspace<Scalar, Space> m_reduce;
  DeviceScalars<Scalar, Space> m_norms;
  std::vector<Column> m_columns;
  std::vector<int> m_running, m_visited;
  Multi m_scratch;
  std::unique_ptr<Workspace> m_workspace;
};

}  // namespace prekond::krylov
