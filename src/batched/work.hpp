// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// What a method has of a system in the kernel, and what a method is:
///
///   num_vectors(pointwise, identity)   its vectors, in order of priority for scratch memory: those of
///                                      products first
///   piece_length(k, n, options, identity)     numbers of the k-th, where it is not n
///   residual, spare                    which of them is r = b - A x when it begins, and which may be
///                                      overwritten at its end
///   restarts                           whether it starts again after its first breakdown
///   iterate(work)                      iterates from r, until the course ends
#include <prekond/batched/options.hpp>

#include "batched/course.hpp"
#include "batched/lane_group.hpp"
#include "batched/placement.hpp"

#include <algorithm>
#include <vector>

namespace prekond::impl::batched {

/// What a method has of the options.
struct MethodSettings {
  double omega;  ///< of Richardson's iteration
  int steps;     ///< of a cycle of GMRES
  int shadow;    ///< vectors of IDR
  double kappa;  ///< of IDR

  static MethodSettings of(const BatchedOptions& options, std::int64_t num_rows) {
    const std::int64_t steps =
        std::min({std::int64_t(options.restart), options.stopping.max_iters, num_rows});
    return {options.omega, static_cast<int>(std::max<std::int64_t>(steps, 1)),
            static_cast<int>(std::clamp<std::int64_t>(num_rows, 1, options.s)), options.kappa};
  }
};

/// The lengths of a method's pieces.
template <class Method>
std::vector<std::int64_t> method_pieces(bool pointwise, bool identity, std::int64_t n,
                                        const BatchedOptions& options) {
  std::vector<std::int64_t> lengths(Method::num_vectors(pointwise, identity), n);
  if constexpr (requires { Method::piece_length(0, n, options, identity); })
    for (std::size_t k = 0; k < lengths.size(); ++k)
      lengths[k] = Method::piece_length(static_cast<int>(k), n, options, identity);
  return lengths;
}

template <class Scalar, class LaneGroup, class System, class Inverse, class Log>
struct Work {
  using scalar_type = Scalar;
  using inverse_type = Inverse;
  using lane_group_type = LaneGroup;

  const LaneGroup& lane_group;
  const System& a;
  const Inverse& inverse;
  const Scalar* inverse_values;
  Scalar* x;
  const SystemMemory<Scalar>& memory;
  Course<Scalar>& course;
  const Log& log;
  std::int64_t system;
  const Scalar* b;
  const MethodSettings& settings;
  const Scalar* shadow;  ///< of IDR: those of the first try, then of the second
  Scalar* inverse_work;  ///< of an application of the preconditioner

  KOKKOS_FORCEINLINE_FUNCTION int size() const { return a.num_rows; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* vector(int k) const { return memory.piece(k); }
  /// (M^-1 r)_i, of a pointwise preconditioner.
  KOKKOS_FORCEINLINE_FUNCTION Scalar inverse_at(int i, const Scalar& r_i) const {
    return inverse.at(inverse_values, i, r_i);
  }
  /// to = M^-1 from, of one that is not.
  KOKKOS_FORCEINLINE_FUNCTION void precondition(const Scalar* from, Scalar* to) const {
    if constexpr (!Inverse::is_pointwise)
      inverse.apply(lane_group, size(), inverse_values, from, to, inverse_work);
  }

  /// to = M^-1 from, or `from` itself where there is nothing to do.
  KOKKOS_FORCEINLINE_FUNCTION const Scalar* preconditioned(const Scalar* from, Scalar* to) const {
    if constexpr (Inverse::is_identity) return from;
    if constexpr (Inverse::is_pointwise)
      for_elements(lane_group, size(), [&](int i) { to[i] = inverse_at(i, from[i]); });
    else
      precondition(from, to);
    return to;
  }
  /// r = b - A x
  KOKKOS_FORCEINLINE_FUNCTION void residual(Scalar* r) const { make_residual(lane_group, a, b, x, r); }

  /// The stopping test, seen by the logger.
  KOKKOS_FORCEINLINE_FUNCTION bool goes_on(real_type_t<Scalar> rr, bool finite,
                                           StopReason breakdown = Course<Scalar>::nothing) const {
    const bool on = course.judge(rr, finite, breakdown);
    log.iteration(lane_group, system, course.iterations(), course.norm_r());
    return on;
  }
};

/// num / den where both are finite and den is not 0; 0 otherwise, so that nothing moves.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T ratio_or_zero(const T& num, const T& den) {
  if (den == T(0)) return T(0);
  const T ratio = num / den;
  return is_finite(ratio) ? ratio : T(0);
}

}  // namespace prekond::impl::batched
