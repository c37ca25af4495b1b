// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The kernels of the direct solver.
#include "batched/band_lu.hpp"
#include "batched/kernel.hpp"
#include "batched/tridiagonal.hpp"

namespace prekond::impl::batched {

/// The common part of direct solves of band matrices: the norm of b, the residual and the result.
template <class Scalar>
struct DirectCommon {
  using Real = real_type_t<Scalar>;

  BandedSystems<Scalar> systems;
  Columns<const Scalar> b;
  Columns<Scalar> x;
  BandShape shape;
  double rtol;
  bool failed_only;  ///< skip systems that have converged according to the log
  ConvergenceLog log;

  /// ||b|| / scale; the scale is 1 unless squares overflow or vanish.
  struct Norm {
    double value, scale;
  };

  /// ||r|| and || |A| |x| + |b| || for the residual r of x, over the scale.
  struct Residual {
    double norm, size;
  };

  KOKKOS_FORCEINLINE_FUNCTION bool is_done(std::int64_t s) const {
    return failed_only && converged(log.reasons[s]);
  }

  /// y = b. Returns false where the system ends here.
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION bool begin(const LaneGroup& lane_group, std::int64_t s, Scalar* y,
                                         Norm& norm) const {
    const Scalar* b_s = b[s];
    const int n = shape.num_rows;
    Real sums[2];
    load_and_sum<Real>(
        lane_group, n, sums, [&](int i) { return b_s[i]; }, [&](int i, const Scalar& b_i) { y[i] = b_i; },
        [&](int, const Scalar& b_i, Real* mine) {
          mine[0] += sum_of_parts(b_i);
          mine[1] += abs2(b_i);
        });
    if (sums[0] == Real(0)) {
      for_elements(lane_group, n, [&](int i) { x[s][i] = Scalar(0); });
      log.end(lane_group, s, 0, 0.0, StopReason::zero_rhs, 0);
      return false;
    }
    if (!Kokkos::isfinite(sums[0])) {
      end_without_x(lane_group, s, StopReason::nan);
      return false;
    }
    constexpr Real least = Kokkos::Experimental::norm_min_v<Real> / Kokkos::Experimental::epsilon_v<Real>;
    norm = {Kokkos::sqrt(static_cast<double>(sums[1])), 1};
    if (sums[1] >= least && Kokkos::isfinite(sums[1])) return true;
    norm.scale = static_cast<double>(sums[0]);
    norm.value = Kokkos::sqrt(sum_elements<double>(lane_group, n, [&](int i) {
      const double part = static_cast<double>(Kokkos::abs(b_s[i])) / norm.scale;
      return part * part;
    }));
    return true;
  }

  /// The residual of y by a matrix that is A or a copy of it; infinite where y is not finite.
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION Residual residual(const LaneGroup& lane_group, const BandedSystem<Scalar>& a,
                                                std::int64_t s, const Scalar* y, const Norm& norm) const {
    const Scalar* b_s = b[s];
    const double by = 1 / norm.scale;
    double sums[2];
    load_and_sum<double>(
        lane_group, a.num_rows, sums, [&](int i) { return b_s[i]; }, [](int, const Scalar&) {},
        [&](int i, const Scalar& b_i, double* mine) {
          Scalar r = b_i;
          Real size = Kokkos::abs(b_i);
          a.for_each_entry(i, [&](std::size_t, int j, const Scalar& value) {
            r -= value * y[j];
            size += Kokkos::abs(value) * Kokkos::abs(y[j]);
          });
          mine[0] += square(r, y[i], by);
          mine[1] += square(Scalar(size), y[i], by);
        });
    return {Kokkos::sqrt(sums[0]), Kokkos::sqrt(sums[1])};
  }

  /// Only ||r||. `r` is memory for a host thread, which reads a broad A by columns.
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION double residual_norm(const LaneGroup& lane_group, const BandedSystem<Scalar>& a,
                                                   std::int64_t s, const Scalar* y, const Norm& norm,
                                                   Scalar* r) const {
    const Scalar* b_s = b[s];
    const double by = 1 / norm.scale;
    constexpr int broad = 8;
    if (LaneGroup::width == 1 && a.lower + a.upper >= broad) {
      for (int i = 0; i < a.num_rows; ++i) r[i] = b_s[i];
      for (int j = 0; j < a.num_rows; ++j) {
        const int first = j > a.upper ? j - a.upper : 0;
        const int end = j + a.lower < a.num_rows ? j + a.lower + 1 : a.num_rows;
        BandLu<Scalar>::subtract_alone(end - first, a.values + a.place(first, j), y[j], r + first);
      }
      double sum = 0;
      for (int i = 0; i < a.num_rows; ++i) sum += square(r[i], y[i], by);
      return Kokkos::sqrt(sum);
    }
    return Kokkos::sqrt(sum_elements<double>(lane_group, a.num_rows, [&](int i) {
      return square(b_s[i] - a.template row_product<Scalar>(i, y), y[i], by);
    }));
  }

  /// Ends a system with the solution y, which becomes x where its residual is small enough.
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void end(const LaneGroup& lane_group, std::int64_t s, const Scalar* y,
                                       double relative) const {
    if (!Kokkos::isfinite(relative)) return end_without_x(lane_group, s, StopReason::nan);
    if (relative > rtol) return log.end(lane_group, s, 0, relative, StopReason::breakdown_singular, 0);
    for_elements(lane_group, shape.num_rows, [&](int i) { x[s][i] = y[i]; });
    log.end(lane_group, s, 0, relative, StopReason::rtol, 0);
  }
  /// |r|^2, not finite where y is not.
  KOKKOS_FORCEINLINE_FUNCTION static double square(const Scalar& r, const Scalar& y, double by) {
    const double part = static_cast<double>(Kokkos::abs(r)) * by;
    return is_finite(y) ? part * part : Kokkos::Experimental::infinity_v<double>;
  }
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION void end_without_x(const LaneGroup& lane_group, std::int64_t s,
                                                 StopReason reason) const {
    log.end(lane_group, s, 0, Kokkos::Experimental::infinity_v<double>, reason, 0);
  }
};

/// The direct solve of one system.
template <class Scalar>
struct SolveBand {
  static constexpr int x_piece = 0, rows_piece = 1, factors_piece = 2;

  DirectCommon<Scalar> common;
  Columns<Scalar> stored;  ///< the factors of all systems, or null
  Columns<int> stored_rows;
  const StopReason* stored_reasons;

  template <class LaneGroup>
  KOKKOS_FUNCTION void operator()(const LaneGroup& lane_group, std::int64_t s,
                                  const SystemMemory<Scalar>& memory) const {
    if (common.is_done(s)) return;
    const auto a = common.systems.system(s);
    Scalar* y = memory.piece(x_piece);
    typename DirectCommon<Scalar>::Norm norm;
    if (!common.begin(lane_group, s, y, norm)) return;
    BandLu<Scalar> lu{common.shape, nullptr, nullptr};
    StopReason reason = StopReason::rtol;
    if (stored.data) {
      lu.values = stored[s];
      lu.exchanged = stored_rows[s];
      reason = stored_reasons[s];
    } else {
      lu.values = memory.piece(factors_piece);
      lu.exchanged = reinterpret_cast<int*>(memory.piece(rows_piece));
      reason = lu.factor(lane_group, a);
    }
    if (reason != StopReason::rtol) return common.end_without_x(lane_group, s, reason);
    lu.solve(lane_group, y);
    common.end(lane_group, s, y,
               common.residual_norm(lane_group, a, s, y, norm, memory.piece(rows_piece)) / norm.value);
  }
};

/// The direct solve of a tridiagonal system. Where there are lanes it is first solved by chunks without
/// pivoting; where the residual is too large, and on a host, by one lane with pivoting.
template <class Scalar>
struct SolveTridiagonal {
  using Real = real_type_t<Scalar>;
  static constexpr int reduced_piece = 0, x_piece = 1, inverses_piece = 2, matrix_piece = 3;

  /// The largest ||r|| over || |A| |x| + |b| ||, in epsilons, of a solution by chunks that is accepted.
  static constexpr double largest_backward_error = 64;

  DirectCommon<Scalar> common;

  template <class LaneGroup>
  KOKKOS_FUNCTION void operator()(const LaneGroup& lane_group, std::int64_t s,
                                  const SystemMemory<Scalar>& memory) const {
    if (common.is_done(s)) return;
    const auto a = common.systems.system(s);
    const int n = common.shape.num_rows;
    const TridiagonalCopy<Scalar> copy{memory.piece(matrix_piece)};
    Scalar *y = memory.piece(x_piece), *second = memory.piece(inverses_piece);
    typename DirectCommon<Scalar>::Norm norm;
    if (!common.begin(lane_group, s, y, norm)) return;
    copy.load(lane_group, a);
    if constexpr (LaneGroup::width != 1) {
      const TridiagonalChunks<Scalar> chunks{copy, y, second, memory.piece(reduced_piece)};
      chunks.solve(lane_group, n);
      const BandedSystem<Scalar> kept{n, 1, 1, 3, copy.values};
      const auto residual = common.residual(lane_group, kept, s, y, norm);
      constexpr double epsilon = static_cast<double>(Kokkos::Experimental::epsilon_v<Real>);
      const bool sound = residual.norm <= largest_backward_error * epsilon * residual.size &&
                         Kokkos::isfinite(residual.size);
      if (sound || !common.shape.pivots) return common.end(lane_group, s, y, residual.norm / norm.value);
      for_elements(lane_group, n, [&](int i) { y[i] = common.b[s][i]; });
    }
    const auto alone = [&](int lane) {
      return lane == 0 ? static_cast<int>(solve_tridiagonal(copy, n, common.shape.pivots, y, second)) : 0;
    };
    const auto reason = static_cast<StopReason>(lane_group.template sum<int>(alone));
    if (reason != StopReason::rtol) return common.end_without_x(lane_group, s, reason);
    common.end(lane_group, s, y, common.residual_norm(lane_group, a, s, y, norm, second) / norm.value);
  }
};

/// The kernel; `Solve` is SolveBand or SolveTridiagonal.
template <class Solve, class Scalar, class Space, int Lanes>
struct SolveBands {
  using Teams = SystemTeams<Scalar, Space, Lanes>;
  Teams teams;
  Solve solve;

  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    teams.for_each_system(team, solve);
  }
};

/// The factors of all systems, which are kept for later solves.
template <class Scalar, class Space, int Lanes>
struct FactorBands {
  using Teams = SystemTeams<Scalar, Space, Lanes>;
  Teams teams;  ///< without pieces
  BandedSystems<Scalar> systems;
  BandShape shape;
  Columns<Scalar> values;
  Columns<int> rows;
  StopReason* reasons;

  template <class LaneGroup>
  KOKKOS_FUNCTION void operator()(const LaneGroup& lane_group, std::int64_t s,
                                  const SystemMemory<Scalar>&) const {
    const BandLu<Scalar> lu{shape, values[s], rows[s]};
    const StopReason reason = lu.factor(lane_group, systems.system(s));
    lane_group.once([&] { reasons[s] = reason; });
  }
  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    teams.for_each_system(team, *this);
  }
};

}  // namespace prekond::impl::batched
