// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/batched/options.hpp>

#include "batched/methods/basis.hpp"
#include "batched/methods/small_least_squares.hpp"
#include "batched/work.hpp"

namespace prekond::impl::batched {

/// GMRES(m) with the preconditioner on the right, as krylov/gmres.hpp has it:
/// ```
/// w = A M^-1 v_j     h = V^H w     w -= V h     (twice)     v_(j+1) = w / ||w||
/// x += M^-1 V y,     y = argmin || ||r|| e_1 - H y ||
/// ```
/// after m steps, or where the estimate of the residual is small enough. A cycle has no more steps than the
/// system has rows. Classical Gram-Schmidt twice. Where there are as many lanes as rows each inner product
/// is a lane's: a step has ten barriers. Else lanes share inner products: with j vectors (2 j + 3) / 4 sums,
/// four inner products at a time, and ten other barriers.
///
/// Source: Saad, Schultz, SIAM J. Sci. Stat. Comput. 7 (1986), 856-869.
struct GmresMethod {
  static constexpr BatchedMethod kind = BatchedMethod::gmres;
  static constexpr bool needs_symmetric = false, restarts = true;
  enum { preconditioned, small, basis };
  static constexpr int residual = basis, spare = basis;
  /// Systems of up to so many rows have all their numbers in scratch, with fewer systems a team.
  static constexpr int rows_in_scratch = 64;
  KOKKOS_FUNCTION static constexpr int num_vectors(bool, bool) { return 3; }
  static std::int64_t piece_length(int k, std::int64_t n, const BatchedOptions& options, bool identity) {
    const std::int64_t steps = MethodSettings::of(options, n).steps;
    if (k == preconditioned) return identity ? 0 : n;
    return k == small ? SmallLeastSquares<double>::length(steps) + partial_sums : (steps + 1) * stride(n);
  }

  template <class Work>
  KOKKOS_FUNCTION static void iterate(const Work& w) {
    using Scalar = typename Work::scalar_type;
    using Real = real_type_t<Scalar>;
    const int n = w.size(), steps = w.settings.steps;
    const VectorBlock<Scalar> v{w.vector(basis), n, static_cast<int>(stride(n))};
    const SmallLeastSquares<Scalar> small_system{w.vector(small), steps};
    w.lane_group.once([&] { small_system.largest_norm() = Scalar(0); });
    bool on = true;
    for (bool first = true; on; first = false) {
      if (!first) w.residual(v[0]);
      const Real rr = sum_elements<Real>(w.lane_group, n, [&](int i) { return abs2(v[0][i]); });
      if (!(first ? w.goes_on(rr, true) : w.course.judge(rr, true))) return;
      const Real norm = Kokkos::sqrt(rr);
      w.lane_group.region([&](int lane) {
        for (int i = lane; i < n; i += w.lane_group.size()) v[0][i] *= 1 / norm;
        if (lane == 0) small_system.rhs()[0] = Scalar(norm);
      });
      int columns = 0;
      for (int j = 0; on && j < steps; ++j) on = step(w, v, small_system, j, columns);
      if (w.course.reason() != StopReason::nan || on) update(w, v, small_system, columns);
    }
  }

 private:
  static constexpr int partial_sums = LevelTuning::team_lanes;
  /// Odd where lanes read across vectors.
  KOKKOS_FORCEINLINE_FUNCTION static constexpr std::int64_t stride(std::int64_t n) {
    return n <= LevelTuning::team_lanes ? n | 1 : n;
  }

  /// sums(k) = (v_k, x), k < count
  template <class Work, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static void project(const Work& w, const VectorBlock<Scalar>& v, int count,
                                                  const Scalar* x, Scalar* sums, Scalar* partial) {
    using LaneGroup = typename Work::lane_group_type;
    if constexpr (LaneGroup::width > 1)
      if (w.size() <= LaneGroup::width) return v.project_by_lanes(w.lane_group, count, x, sums, partial);
    v.project(w.lane_group, count, x, sums);
  }

  /// Does the method go on? `columns`: those of the least-squares problem.
  template <class Work, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static bool step(const Work& w, const VectorBlock<Scalar>& v,
                                               const SmallLeastSquares<Scalar>& small_system, int j,
                                               int& columns) {
    using Real = real_type_t<Scalar>;
    constexpr Real rounding = 10 * Kokkos::Experimental::epsilon_v<Real>;
    const int n = w.size();
    Scalar *next = v[j + 1], *h = small_system.column(), *h2 = small_system.y();
    const Scalar* z = w.preconditioned(v[j], w.vector(preconditioned));
    multiply(w.lane_group, w.a, z, next);
    project(w, v, j + 2, next, h, small_system.after());  // the last one is (w, w)
    const Real size = Kokkos::sqrt(real_part(h[j + 1]));
    for_elements(w.lane_group, n, [&](int i) { next[i] -= v.combined(i, 0, j + 1, h); });
    project(w, v, j + 1, next, h2, small_system.after());
    const Real square = sum_elements<Real>(w.lane_group, n, [&](int i) {
      next[i] -= v.combined(i, 0, j + 1, h2);
      return abs2(next[i]);
    });
    const Real beta = Kokkos::sqrt(square);
    const bool space_ends = !(beta > rounding * size);
    w.lane_group.region([&](int lane) {
      if (!space_ends)
        for (int i = lane; i < n; i += w.lane_group.size()) next[i] *= 1 / beta;
      if (lane == 0) small_system.push(j, h2, space_ends ? Real(0) : beta, rounding);
    });
    w.course.count_iteration();
    const Real norm_r = real_part(small_system.residual());
    const bool negligible = small_system.negligible() != Scalar(0);
    columns = negligible ? j : j + 1;
    return w.goes_on(norm_r * norm_r, Kokkos::isfinite(size) && Kokkos::isfinite(beta),
                     negligible ? StopReason::breakdown_arnoldi : Course<Scalar>::nothing);
  }

  /// x += M^-1 V y. The last vector of the basis is not among them.
  template <class Work, class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static void update(const Work& w, const VectorBlock<Scalar>& v,
                                                 const SmallLeastSquares<Scalar>& small_system, int columns) {
    using Inverse = typename Work::inverse_type;
    small_system.solve(w.lane_group, columns);
    const Scalar* y = small_system.y();
    if constexpr (Inverse::is_pointwise) {
      for_elements(w.lane_group, w.size(),
                   [&](int i) { w.x[i] += w.inverse_at(i, v.combined(i, 0, columns, y)); });
    } else {
      Scalar *sum = v[w.settings.steps], *z = w.vector(preconditioned);
      for_elements(w.lane_group, w.size(), [&](int i) { sum[i] = v.combined(i, 0, columns, y); });
      w.precondition(sum, z);
      for_elements(w.lane_group, w.size(), [&](int i) { w.x[i] += z[i]; });
    }
  }
};

}  // namespace prekond::impl::batched
