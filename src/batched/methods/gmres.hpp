// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/options.hpp>

#include "batched/methods/basis.hpp"
#include "batched/methods/small_least_squares.hpp"
#include "batched/solve_context.hpp"

namespace prekond::impl::batched {

/// GMRES(m) with the preconditioner on the right, as in krylov/gmres.hpp:
/// ```
/// w = A M^-1 v_j     h = V^H w     w -= V h     (twice)     v_(j+1) = w / ||w||
/// x += M^-1 V y,     y = argmin || ||r|| e_1 - H y ||
/// ```
/// The update of x follows after m steps, or when the estimate of the residual is small enough. A cycle has
/// no more steps than the system has rows.
///
/// Cost of step j: ten barriers where there are as many lanes as rows, so that each inner product belongs to
/// one lane; otherwise ten barriers and (2 j + 3) / 4 sums over lanes, of four inner products each.
///
/// Source: Saad, Schultz, SIAM J. Sci. Stat. Comput. 7 (1986), 856-869.
struct GmresMethod {
  static constexpr BatchedMethod kind = BatchedMethod::gmres;
  static constexpr bool needs_symmetric = false, restarts = true;
  enum { preconditioned, small, basis };
  static constexpr int residual = basis, spare = basis;
  /// The most rows for which a team gets fewer systems so that all their numbers are in scratch memory.
  static constexpr int rows_in_scratch = 64;
  KOKKOS_FUNCTION static constexpr int num_vectors(bool, bool) { return 3; }
  static std::int64_t piece_length(int k, std::int64_t n, const BatchedOptions& options, bool identity) {
    const std::int64_t steps = MethodSettings::of(options, n).steps;
    if (k == preconditioned) return identity ? 0 : n;
    return k == small ? SmallLeastSquares<double>::length(steps) + partial_sums : (steps + 1) * stride(n);
  }

  template <class Context>
  KOKKOS_FUNCTION static void iterate(const Context& context) {
    using Scalar = typename Context::scalar_type;
    using Real = real_type_t<Scalar>;
    const int n = context.size(), steps = context.settings.steps;
    const VectorBlock<Scalar> v{context.vector(basis), n, static_cast<int>(stride(n))};
    const SmallLeastSquares<Scalar> small_system{context.vector(small), steps};
    context.lane_group.once([&] { small_system.largest_norm() = Scalar(0); });
    stopping::RestartAccount account;
    bool on = true;
    for (bool first = true; on; first = false) {
      if (!first) context.residual(v[0]);
      const Real rr = sum_elements<Real>(context.lane_group, n, [&](int i) { return abs2(v[0][i]); });
      const Real norm = Kokkos::sqrt(rr);
      const bool is_false =
          account.is_false_claim(static_cast<double>(norm), context.stopping.norm_r(), first);
      if (!first) context.keep_best(rr);
      if (!(first ? context.goes_on(rr, true) : context.stopping.judge(rr, true))) return;
      if (is_false) return context.stopping.claim();
      context.lane_group.region([&](int lane) {
        for (int i = lane; i < n; i += context.lane_group.size()) v[0][i] *= 1 / norm;
        if (lane == 0) small_system.rhs()[0] = Scalar(norm);
      });
      int columns = 0;
      for (int j = 0; on && j < steps; ++j) on = step(context, v, small_system, j, columns);
      if (context.stopping.reason() != StopReason::nan || on) update(context, v, small_system, columns);
    }
  }

 private:
  static constexpr int partial_sums = LaneGroupTuning::team_lanes;
  /// The distance of vectors, which is odd where lanes read across vectors.
  KOKKOS_FORCEINLINE_FUNCTION static constexpr std::int64_t stride(std::int64_t n) {
    return n <= LaneGroupTuning::team_lanes ? n | 1 : n;
  }

  /// sums(k) = (v_k, x), k < count
  template <class Context, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static void project(const Context& context, const VectorBlock<Scalar>& v,
                                                  int count, const Scalar* x, Scalar* sums, Scalar* partial) {
    using LaneGroup = typename Context::lane_group_type;
    if constexpr (LaneGroup::width > 1)
      if (context.size() <= LaneGroup::width)
        return v.project_by_lanes(context.lane_group, count, x, sums, partial);
    v.project(context.lane_group, count, x, sums);
  }

  /// Returns whether the method goes on. `columns` is the number of columns of the least-squares problem.
  template <class Context, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static bool step(const Context& context, const VectorBlock<Scalar>& v,
                                               const SmallLeastSquares<Scalar>& small_system, int j,
                                               int& columns) {
    using Real = real_type_t<Scalar>;
    constexpr Real rounding = 10 * Kokkos::Experimental::epsilon_v<Real>;
    const int n = context.size();
    Scalar *next = v[j + 1], *h = small_system.column(), *h2 = small_system.y();
    const Scalar* z = context.preconditioned(v[j], context.vector(preconditioned));
    multiply(context.lane_group, context.a, z, next);
    project(context, v, j + 2, next, h, small_system.after());  // the last one is (w, w)
    const Real size = Kokkos::sqrt(real_part(h[j + 1]));
    for_elements(context.lane_group, n, [&](int i) { next[i] -= v.combined(i, 0, j + 1, h); });
    project(context, v, j + 1, next, h2, small_system.after());
    const Real square = sum_elements<Real>(context.lane_group, n, [&](int i) {
      next[i] -= v.combined(i, 0, j + 1, h2);
      return abs2(next[i]);
    });
    const Real beta = Kokkos::sqrt(square);
    const bool space_ends = !(beta > rounding * size);
    context.lane_group.region([&](int lane) {
      if (!space_ends)
        for (int i = lane; i < n; i += context.lane_group.size()) next[i] *= 1 / beta;
      if (lane == 0) small_system.push(j, h2, space_ends ? Real(0) : beta, rounding);
    });
    context.stopping.count_iteration();
    const Real norm_r = real_part(small_system.residual());
    const bool negligible = small_system.negligible() != Scalar(0);
    columns = negligible ? j : j + 1;
    return context.goes_on(norm_r * norm_r, Kokkos::isfinite(size) && Kokkos::isfinite(beta),
                           negligible ? StopReason::breakdown_arnoldi : stopping::no_breakdown);
  }

  /// x += M^-1 V y, without the last vector of the basis.
  template <class Context, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static void update(const Context& context, const VectorBlock<Scalar>& v,
                                                 const SmallLeastSquares<Scalar>& small_system, int columns) {
    using Precond = typename Context::precond_type;
    small_system.solve(context.lane_group, columns);
    const Scalar* y = small_system.y();
    if constexpr (Precond::is_pointwise) {
      for_elements(context.lane_group, context.size(),
                   [&](int i) { context.x[i] += context.precondition_at(i, v.combined(i, 0, columns, y)); });
    } else {
      Scalar *sum = v[context.settings.steps], *z = context.vector(preconditioned);
      for_elements(context.lane_group, context.size(), [&](int i) { sum[i] = v.combined(i, 0, columns, y); });
      context.precondition(sum, z);
      for_elements(context.lane_group, context.size(), [&](int i) { context.x[i] += z[i]; });
    }
  }
};

}  // namespace prekond::impl::batched
