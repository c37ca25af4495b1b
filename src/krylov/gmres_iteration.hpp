// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// One solve by GMRES or FGMRES.
#include <prekond/krylov/impl/orthogonalization.hpp>

#include "basis.hpp"
#include "block_orthogonalization.hpp"
#include "hessenberg.hpp"
#include "iteration.hpp"
#include "s_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace prekond::krylov {

struct GmresSettings {
  int restart;
  Side side;
  Orthogonalization orthogonalization;
  bool flexible;      ///< keeps M^-1 v_j
  int step_size = 1;  ///< products between two orthogonalisations
};

template <class Scalar, class Space>
class GmresIteration : public KrylovIteration<Scalar, Space> {
  using Base = KrylovIteration<Scalar, Space>;
  using Multi = MultiVector<Scalar, Space>;
  using Number = in_precision_t<Scalar, double>;

  /// The host's part of a column's Arnoldi process.
  struct Arnoldi {
    HessenbergLeastSquares<Number> least_squares;
    std::vector<Number> pending;             ///< dcgs2: a column of H before the correction by the next step
    std::vector<NewtonStep<Number>> newton;  ///< for the s-step form, once there are Ritz values
    int newton_exponent = 0;                 ///< the operator's exponent when `newton` was computed
    double norm_r = 0, reduction = 1;        ///< after the last step
    stopping::RestartAccount account = {};
  };

 public:
  GmresIteration(const LinearProblem<Scalar, Space>& problem, const GmresSettings& settings)
      : Base(problem, settings.side, true),
        m_steps(most_steps(settings.restart, problem.stopping)),
        m_delayed(settings.orthogonalization == Orthogonalization::dcgs2),
        m_flexible(settings.flexible && this->has_preconditioner()),
        m_step_size(std::min(settings.step_size, m_steps)),
        m_kernels(problem.space, this->num_rows(), (m_step_size > 1 ? 4 : 2) * (m_steps + 2)),
        m_scalars(problem.space, "prekond::gmres::scalars", 2 * (m_steps + 2) + 1, this->num_columns()),
        m_y(problem.space, "prekond::gmres::y", m_steps, this->num_columns()),
        m_arnoldi(this->num_columns(),
                  Arnoldi{HessenbergLeastSquares<Number>(m_steps), std::vector<Number>(m_steps + 1), {}}) {
    const int k = this->num_columns();
    if (m_step_size > 1) m_blocks.emplace(problem.space, m_steps + 1, m_step_size, k);
    m_v = this->allocate_columns("prekond::gmres::basis", (m_steps + 1) * k);
    if (m_flexible)
      m_z = this->allocate_columns("prekond::gmres::preconditioned_basis", m_steps * k);
    else if (this->moves_by_preconditioner())
      m_z = this->allocate_columns("prekond::gmres::z", k);
    this->lend_scratch(block(m_v, m_steps));
  }

 private:
  static int most_steps(int restart, const StoppingOptions& stopping) {
    return static_cast<int>(std::clamp<std::int64_t>(stopping.max_iters, 1, restart));
  }
  // Places of the scalars. The second projection of cgs2 follows the first.
  Group first_projection(int values) const { return {0, values}; }
  Group second_projection(int values) const { return {m_steps + 2, values}; }
  Group norm_group() const { return {2 * (m_steps + 2), 1}; }

  /// Vector j of all columns' bases: n x k.
  Multi block(const Multi& basis, int j) const {
    const int k = this->num_columns();
    return Kokkos::subview(basis, Kokkos::ALL, Kokkos::make_pair(j * k, (j + 1) * k));
  }
  Multi preconditioned_block(int j) const { return m_flexible ? block(m_z, j) : m_z; }
  /// Column c's basis.
  Basis<Scalar> basis(const Multi& v, int c) const {
    const std::size_t stride = v.extent(1) > 1 ? v.stride(1) : 0;
    return {v.data() + stride * c, stride * this->num_columns()};
  }

  void iterate() override {
    for (bool shown = true; !this->running().empty(); shown = false) {
      start_cycle(shown);
      m_cycle = this->running();
      m_started = -1;
      m_longest_block = m_step_size;
      for (int j = 0; !this->running().empty() && j < m_steps + (m_delayed ? 1 : 0);) j += steps_from(j);
      update_solution();
    }
  }

  /// Makes one step or a block of steps from j on; returns their number.
  int steps_from(int j) {
    if (m_delayed) {
      delayed_step(j);
      return 1;
    }
    const int block = block_size(j);
    const int made = block > 1 ? block_step(j, block) : 0;
    if (made > 0) return made;
    step(j);
    if (m_step_size > 1 && j + 1 == m_step_size) find_newton_steps();
    return 1;
  }

  /// w = v_{j+1} = K v_j, unless `start_product` has launched it.
  void make_product(int j) {
    if (m_started != j) this->product(block(m_v, j), preconditioned_block(j), block(m_v, j + 1));
    m_started = -1;
  }
  /// Launches the product of step j on a device, which runs while the host waits for the `steps` before it
  /// and tests them, unless the last reduction of the residual suggests that these are the last.
  void start_product(int j, int steps) {
    if constexpr (!is_host_space<Space>) {
      const bool goes_on = std::any_of(this->running().begin(), this->running().end(), [&](int c) {
        const Arnoldi& arnoldi = m_arnoldi[c];
        const double expected = arnoldi.norm_r * std::pow(arnoldi.reduction, steps);
        return expected * expected > this->target2(c) && this->iterations_left(c) > steps;
      });
      if (j >= m_steps || !goes_on) return;
      this->product(block(m_v, j), preconditioned_block(j), block(m_v, j + 1));
      m_started = j;
    }
  }

  /// v_0 = r (dcgs2), or r / ||r||, and the test of ||r||, which is the true residual. The monitor has seen
  /// it as the last one of the cycle before unless `shown`.
  void start_cycle(bool shown) {
    const Space& space = this->space();
    this->residual(block(m_v, 0));
    const Group square = first_projection(1);
    for (int c : this->running())
      m_kernels.project(space, "prekond::gmres::residual_norm", basis(m_v, c), 1, basis(m_v, c).data,
                        m_scalars.now(square, c));
    this->sum(m_scalars.message(square));
    m_scalars.read(space, "prekond::gmres::residual_norm");
    this->for_each_running([&](int c) {
      const double rr = m_scalars.real_now(square, c, 0);
      const bool is_false = note_start(m_arnoldi[c], std::sqrt(rr), shown);
      adapt_newton_steps(m_arnoldi[c]);
      this->judge(c, rr, true, stopping::no_breakdown, shown);
      this->keep_best(c);
      if (is_false && this->is_running(c)) this->end(c, StopReason::rtol);
    });
    if (m_delayed) return;
    for (int c : this->running())
      m_kernels.orthonormalize(space, "prekond::gmres::normalize", basis(m_v, c), 0,
                               m_scalars.now(square, c).data(), basis(m_v, c).data,
                               m_scalars.now(norm_group(), c).data());
  }

  /// \returns whether the restart shows a false claim, see RestartAccount.
  bool note_start(Arnoldi& arnoldi, double norm_r, bool first) const {
    const bool is_false = arnoldi.account.is_false_claim(norm_r, arnoldi.norm_r, first);
    arnoldi.least_squares.start(norm_r, this->operator_exponent());
    arnoldi.norm_r = norm_r;
    return is_false;
  }

  /// Step j with classical Gram-Schmidt twice; w becomes v_{j+1}, and the last sum of a projection is (w, w).
  void step(int j) {
    const Space& space = this->space();
    const Group first = first_projection(j + 2), second = second_projection(j + 2);
    make_product(j);
    for (int c : this->running())
      m_kernels.project(space, "prekond::gmres::project", basis(m_v, c), j + 2, basis(m_v, c).column(j + 1),
                        m_scalars.now(first, c));
    this->sum(m_scalars.message(first));
    for (int c : this->running())
      m_kernels.project(space, "prekond::gmres::update_and_project", basis(m_v, c), j + 2,
                        basis(m_v, c).column(j + 1), m_scalars.now(second, c), j + 1,
                        m_scalars.now(first, c).data());
    this->sum(m_scalars.message(second));
    for (int c : this->running())
      m_kernels.orthonormalize(space, "prekond::gmres::orthonormalize", basis(m_v, c), j + 1,
                               m_scalars.now(second, c).data(), basis(m_v, c).column(j + 1),
                               m_scalars.now(norm_group(), c).data());
    m_scalars.send(space, "prekond::gmres::stopping_test");
    start_product(j + 1, 1);
    m_scalars.await(space, "prekond::gmres::stopping_test");
    this->count_iteration();
    this->for_each_running([&](int c) {
      auto& least_squares = m_arnoldi[c].least_squares;
      bool finite = true;
      for (int i = 0; i <= j + 1; ++i) {
        const Number h1 = to_double(m_scalars.host_now(first, c, i)),
                     h2 = to_double(m_scalars.host_now(second, c, i));
        finite = finite && is_finite(h1) && is_finite(h2);
        if (i <= j) least_squares.next(i) = h1 + h2;
      }
      finish_column(c, m_scalars.real_now(norm_group(), c, 0), std::sqrt(m_scalars.real_now(first, c, j + 1)),
                    finite);
    });
  }

  /// Step j of the delayed form: v_j is still u, orthogonalised once; the step projects u and its product w,
  /// and completes column j - 1 of H. Step m only completes that.
  void delayed_step(int j) {
    const Space& space = this->space();
    const bool last = j == m_steps;
    const Group group = first_projection((last ? 1 : 2) * (j + 1));
    if (!last) make_product(j);
    for (int c : this->running()) {
      const Basis<Scalar> v = basis(m_v, c);
      if (last)
        m_kernels.project(space, "prekond::gmres::project", v, j + 1, v.column(j), m_scalars.now(group, c));
      else
        m_kernels.project_two(space, "prekond::gmres::project_two", v, j + 1, v.column(j), v.column(j + 1),
                              m_scalars.now(group, c));
    }
    this->sum(m_scalars.message(group));
    if (!last) finish_vectors(j, group);
    m_scalars.send(space, "prekond::gmres::stopping_test");
    if (!last) start_product(j + 1, 1);
    m_scalars.await(space, "prekond::gmres::stopping_test");
    if (j > 0) this->count_iteration();
    this->for_each_running([&](int c) { finish_delayed_column(c, j, group); });
  }

  /// Computes v_j, the next u, and z_j of the kept vectors.
  void finish_vectors(int j, Group group) {
    const Space& space = this->space();
    for (int c : this->running()) {
      const Basis<Scalar> v = basis(m_v, c);
      Scalar* projections = m_scalars.now(group, c).data();
      Scalar* norm = m_scalars.now(norm_group(), c).data();
      m_kernels.delayed_step(space, "prekond::gmres::delayed_step", v, j, projections, projections + j + 1,
                             v.column(j), v.column(j + 1), norm);
      if (m_flexible)
        m_kernels.subtract(space, "prekond::gmres::correct_preconditioned", basis(m_z, c), j, projections,
                           basis(m_z, c).column(j), norm);
    }
  }

  /// With s = V^H u and z = V^H w: H(:, j-1) += s, H(j, j-1) = beta, and, as A v_j = (w - V H s) / beta, the
  /// pending column j is (z - H s) / beta, ((u, w) - s^H z) / beta - (H s)_j in its last entry.
  void finish_delayed_column(int c, int j, Group group) {
    Arnoldi& arnoldi = m_arnoldi[c];
    auto& least_squares = arnoldi.least_squares;
    const bool last = j == m_steps;
    bool finite = true;
    for (int i = 0; i < group.count; ++i) finite = finite && is_finite(m_scalars.host_now(group, c, i));
    double s_squares = 0, pending_squares = 0;
    for (int i = 0; i < j; ++i) {
      s_squares += abs2(s_of(group, c, i));
      pending_squares += abs2(arnoldi.pending[i]);
    }
    const double uu = m_scalars.real_now(group, c, j);
    const double beta =
        last ? std::sqrt(std::max(0.0, uu - s_squares)) : m_scalars.real_now(norm_group(), c, 0);
    if (j > 0) {
      for (int i = 0; i < j; ++i) least_squares.next(i) = arnoldi.pending[i] + s_of(group, c, i);
      finish_column(c, beta, std::sqrt(pending_squares + uu), finite);
    } else if (!finite) {
      this->judge(c, uu, false, stopping::no_breakdown, false);
    }
    if (last || !this->is_running(c)) return;
    Number last_entry = to_double(m_scalars.host_now(group, c, 2 * j + 1));
    for (int i = 0; i < j; ++i)
      last_entry -= conjugate(s_of(group, c, i)) * to_double(m_scalars.host_now(group, c, j + 1 + i));
    for (int i = 0; i <= j; ++i) {
      Number hs = 0;
      for (int l = std::max(0, i - 1); l < j; ++l) hs += least_squares.entry(i, l) * s_of(group, c, l);
      const Number z = i < j ? to_double(m_scalars.host_now(group, c, j + 1 + i)) : last_entry / beta;
      arnoldi.pending[i] = (z - hs) / beta;
    }
  }
  Number s_of(Group group, int c, int i) const { return to_double(m_scalars.host_now(group, c, i)); }

  // ---------------------------------------------------------------------------------------- the s-step form

  /// The number of steps from j on that make one block: 1 while a column has no shifts.
  int block_size(int j) {
    int size = std::min(m_longest_block, m_steps - j);
    std::int64_t left = 0;
    for (int c : this->running()) {
      size = std::min(size, static_cast<int>(m_arnoldi[c].newton.size()));
      left = std::max(left, this->iterations_left(c));
    }
    return static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(size, left)));
  }
  /// Computes the Newton steps from the columns of H.
  void find_newton_steps() {
    for (int c : this->running()) {
      Arnoldi& arnoldi = m_arnoldi[c];
      if (!arnoldi.newton.empty()) continue;
      arnoldi.newton = newton_steps<Scalar>(arnoldi.least_squares.columns(), [&](int row, int column) {
        return arnoldi.least_squares.entry(row, column);
      });
      arnoldi.newton_exponent = this->operator_exponent();
    }
  }
  /// Scales the Newton steps to the operator's power of two, which may have changed between cycles.
  void adapt_newton_steps(Arnoldi& arnoldi) const {
    const int power = arnoldi.newton_exponent - this->operator_exponent();
    if (power == 0) return;
    for (auto& step : arnoldi.newton) step.scale_operator(power);
    arnoldi.newton_exponent = this->operator_exponent();
  }

  /// `size` steps from j on: makes w_1 .. w_size of a Newton basis in the place of v_{j+1} .., and
  /// orthonormalises them by block classical Gram-Schmidt with a Cholesky QR, twice, with two reductions in
  /// all. Returns the number of vectors that are independent enough, which is the number of steps made.
  int block_step(int j, int size) {
    const Space& space = this->space();
    for (int i = 0; i < size; ++i) {
      make_product(j + i);
      for (int c : this->running()) shift(c, j + i, m_arnoldi[c].newton[i]);
    }
    for (int pass = 0; pass < 2; ++pass)
      m_blocks->pass(
          space, pass, m_kernels, this->running(), j + 1, size, [&](int c) { return basis(m_v, c); },
          [&](const auto& message) { this->sum(message); });
    m_blocks->send(space, "prekond::gmres::stopping_test");
    start_product(j + size, size);
    m_blocks->await(space, "prekond::gmres::stopping_test");
    int independent = size;
    for (int c : this->running()) independent = std::min(independent, m_blocks->independent_vectors(c, size));
    // Later blocks of this cycle are no longer than the part of this one that has not failed.
    if (independent < size) m_longest_block = std::max(1, independent);
    take_block(j, size, independent);
    return independent;
  }

  /// Adds the columns of H of a block's steps, and tests after each.
  void take_block(int j, int size, int independent) {
    const std::vector<int> begun = this->running();
    std::vector<BlockColumns<Number>> columns;
    for (int c : begun) columns.push_back(m_blocks->represent(c, j + 1, size, independent));
    for (int i = 0; i < independent && !this->running().empty(); ++i) {
      this->count_iteration();
      this->for_each_running([&](int c) {
        const auto place = std::find(begun.begin(), begun.end(), c) - begun.begin();
        finish_block_column(c, j, i, columns[static_cast<std::size_t>(place)]);
      });
    }
  }

  /// v_{j+1} = scale (v_{j+1} - shift v_j + square v_{j-1})
  void shift(int c, int j, const NewtonStep<Number>& step) {
    const auto vector = [&](int k) { return column(block(m_v, k), c); };
    Kokkos::parallel_for(
        "prekond::gmres::shift",
        Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(this->space(), 0, this->num_rows()),
        ShiftVector<Scalar, Space>{
            vector(j + 1), vector(j), vector(std::max(j - 1, 0)), static_cast<Scalar>(step.shift),
            static_cast<real_type_t<Scalar>>(step.square), static_cast<real_type_t<Scalar>>(step.scale)});
  }

  void finish_block_column(int c, int j, int i, BlockColumns<Number>& columns) {
    Arnoldi& arnoldi = m_arnoldi[c];
    columns.find(i, arnoldi.newton[i],
                 [&](int row, int column) { return arnoldi.least_squares.entry(row, column); });
    double squares = 0;
    for (int row = 0; row <= j + i + 1; ++row) {
      if (row <= j + i) arnoldi.least_squares.next(row) = columns.h(row, i);
      squares += abs2(columns.h(row, i));
    }
    finish_column(c, real_part(columns.h(j + i + 1, i)), std::sqrt(squares), std::isfinite(squares));
  }

  /// Adds the column of H, which has been set above its last entry `beta`, and tests. `size` is the norm of
  /// the vector before it was made orthogonal to the basis.
  void finish_column(int c, double beta, double size, bool finite) {
    Arnoldi& arnoldi = m_arnoldi[c];
    auto& least_squares = arnoldi.least_squares;
    const double tolerance = 10 * static_cast<double>(std::numeric_limits<real_type_t<Scalar>>::epsilon());
    const bool space_ends = !(beta > tolerance * size);
    least_squares.next(least_squares.columns() + 1) = space_ends ? 0 : beta;
    double norm_r = least_squares.push(tolerance);
    StopReason breakdown = stopping::no_breakdown;
    if (least_squares.last_is_negligible()) {
      least_squares.pop();
      norm_r = least_squares.residual();
      breakdown = StopReason::breakdown_arnoldi;
    }
    arnoldi.reduction = arnoldi.norm_r > 0 ? norm_r / arnoldi.norm_r : 1;
    arnoldi.norm_r = norm_r;
    this->judge(c, norm_r * norm_r, finite, breakdown, true, {(size * size) * (norm_r * norm_r)});
  }

  /// x += M^-1 V y for the columns of this cycle, each with its own number of steps.
  void update_solution() {
    const Space& space = this->space();
    const Group group{0, m_steps};
    std::vector<int> moving;
    for (int c : m_cycle) {
      const StopReason reason = this->column_state(c).reason;
      const bool spoiled = reason == StopReason::nan || reason == StopReason::out_of_range;
      if (spoiled && !this->is_running(c)) continue;
      const std::vector<Number> y = m_arnoldi[c].least_squares.solution();
      for (std::size_t i = 0; i < y.size(); ++i)
        m_y.write_now(group, c, static_cast<int>(i), static_cast<Scalar>(y[i]));
      if (!y.empty()) moving.push_back(c);
    }
    if (moving.empty()) return;
    m_y.upload(space);
    const bool by_preconditioner = this->moves_by_preconditioner() && !m_flexible;
    for (int c : moving) {
      const int length = m_arnoldi[c].least_squares.columns();
      const Scalar* y = m_y.now(group, c).data();
      const Multi& vectors = m_flexible ? m_z : m_v;
      if (by_preconditioner)
        m_kernels.combine(space, "prekond::gmres::correction", basis(m_v, c), length, y,
                          basis(m_v, c).column(m_steps));
      else
        m_kernels.add(space, "prekond::gmres::update_solution", basis(vectors, c), length, y,
                      this->x(c).data());
    }
    if (!by_preconditioner) return;
    const std::vector<int> still_running = this->exchange_running(moving);
    this->precondition(block(m_v, m_steps), m_z);
    this->exchange_running(still_running);
    for (int c : moving)
      Kokkos::parallel_for(
          "prekond::gmres::update_solution",
          Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, this->num_rows()),
          AddVector<Scalar, Space>{this->x(c), column(m_z, c)});
  }

  int m_steps;
  bool m_delayed, m_flexible;
  int m_step_size;
  int m_longest_block = 1;  ///< in this cycle; shorter after a block that failed
  int m_started = -1;       ///< the step whose product has been launched
  BasisKernels<Scalar, Space> m_kernels;
  DeviceScalars<Scalar, Space> m_scalars, m_y;
  std::optional<BlockOrthogonalization<Scalar, Space>> m_blocks;  ///< for the s-step form
  std::vector<Arnoldi> m_arnoldi;
  std::vector<int> m_cycle;
  Multi m_v, m_z;
};

}  // namespace prekond::krylov
