// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The kernels of the direct solver.
#include "batched/band_lu.hpp"
#include "batched/kernel.hpp"

namespace prekond::impl::batched {

/// A system from its right-hand side to its result.
template <class Scalar>
struct SolveBand {
  using Real = real_type_t<Scalar>;
  static constexpr int x_piece = 0, rows_piece = 1, factors_piece = 2;

  BandedSystems<Scalar> systems;
  Columns<const Scalar> b;
  Columns<Scalar> x;
  BandShape shape;
  Columns<Scalar> stored;  ///< the factors of all systems, or null
  Columns<int> stored_rows;
  const StopReason* stored_reasons;
  double rtol;
  ConvergenceLog log;

  template <class Level>
  KOKKOS_FUNCTION void operator()(const Level& level, std::int64_t s,
                                  const SystemMemory<Scalar>& memory) const {
    const auto a = systems.system(s);
    const Scalar* b_s = b[s];
    const int n = shape.num_rows;
    const Real size = sum_elements<Real>(level, n, [&](int i) { return sum_of_parts(b_s[i]); });
    if (size == Real(0)) {
      for_elements(level, n, [&](int i) { x[s][i] = Scalar(0); });
      return log.end(level, s, 0, 0.0, StopReason::zero_rhs, 0);
    }
    if (!Kokkos::isfinite(size)) return end_without_x(level, s, StopReason::nan);
    BandLu<Scalar> lu{shape, nullptr, nullptr};
    StopReason reason = StopReason::rtol;
    if (stored.data) {
      lu.values = stored[s];
      lu.exchanged = stored_rows[s];
      reason = stored_reasons[s];
    } else {
      lu.values = memory.piece(factors_piece);
      lu.exchanged = reinterpret_cast<int*>(memory.piece(rows_piece));
      reason = lu.factor(level, a);
    }
    if (reason != StopReason::rtol) return end_without_x(level, s, reason);
    Scalar* y = memory.piece(x_piece);
    for_elements(level, n, [&](int i) { y[i] = b_s[i]; });
    lu.solve(level, y);
    const double relative = residual(level, a, b_s, y, size);
    if (!Kokkos::isfinite(relative)) return end_without_x(level, s, StopReason::nan);
    if (relative > rtol) return log.end(level, s, 0, relative, StopReason::breakdown_singular, 0);
    for_elements(level, n, [&](int i) { x[s][i] = y[i]; });
    log.end(level, s, 0, relative, StopReason::rtol, 0);
  }

 private:
  /// ||b - A y|| / ||b||, both divided by b's size, so that squares neither overflow nor vanish.
  template <class Level>
  KOKKOS_FORCEINLINE_FUNCTION static double residual(const Level& level, const BandedSystem<Scalar>& a,
                                                     const Scalar* b_s, const Scalar* y, Real size) {
    const double scale = static_cast<double>(size);
    const double bb = sum_elements<double>(level, a.num_rows, [&](int i) {
      const double part = static_cast<double>(magnitude(b_s[i])) / scale;
      return part * part;
    });
    const double rr = sum_elements<double>(level, a.num_rows, [&](int i) {
      const Scalar product = a.template row_product<Scalar>(i, y);
      const double part = static_cast<double>(magnitude(b_s[i] - product)) / scale;
      return is_finite(y[i]) ? part * part : Kokkos::Experimental::infinity_v<double>;
    });
    return Kokkos::sqrt(rr / bb);
  }
  KOKKOS_FORCEINLINE_FUNCTION static Real magnitude(const Scalar& z) { return Kokkos::abs(z); }

  template <class Level>
  KOKKOS_FORCEINLINE_FUNCTION void end_without_x(const Level& level, std::int64_t s, StopReason reason) const {
    log.end(level, s, 0, Kokkos::Experimental::infinity_v<double>, reason, 0);
  }
};

template <class Scalar, class Space, int Lanes>
struct SolveBands {
  using Teams = SystemTeams<Scalar, Space, Lanes>;
  Teams teams;
  SolveBand<Scalar> solve;

  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    teams.for_each_system(team, solve);
  }
};

/// The factors of all systems, to be kept.
template <class Scalar, class Space, int Lanes>
struct FactorBands {
  using Teams = SystemTeams<Scalar, Space, Lanes>;
  Teams teams;  ///< without pieces
  BandedSystems<Scalar> systems;
  BandShape shape;
  Columns<Scalar> values;
  Columns<int> rows;
  StopReason* reasons;

  template <class Level>
  KOKKOS_FUNCTION void operator()(const Level& level, std::int64_t s, const SystemMemory<Scalar>&) const {
    const BandLu<Scalar> lu{shape, values[s], rows[s]};
    const StopReason reason = lu.factor(level, systems.system(s));
    level.once([&] { reasons[s] = reason; });
  }
  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    teams.for_each_system(team, *this);
  }
};

}  // namespace prekond::impl::batched
