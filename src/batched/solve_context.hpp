// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The data of one system that a method sees in the kernel. A method is a type with
///
///   num_vectors(pointwise, identity)   the number of its vectors, in order of priority for scratch memory:
///   the vectors
///                                      of products first
///   piece_length(k, n, options, identity)   the length of vector k, where it is not n
///   residual, spare                    the vector that is r = b - A x when it begins, and one that may be
///   overwritten
///                                      at its end
///   restarts                           whether it starts again after its first breakdown
///   iterate(context)                   the iterations from r until the stopping test ends them
#include <prekond/batched/options.hpp>

#include "batched/lane_group.hpp"
#include "batched/scratch_layout.hpp"
#include "batched/stopping_state.hpp"

#include <algorithm>
#include <vector>

namespace prekond::impl::batched {

/// The options of the methods.
struct MethodSettings {
  double omega;          ///< Richardson's relaxation factor
  int steps;             ///< steps in a cycle of GMRES
  int shadow_dimension;  ///< s of IDR(s)
  double kappa;          ///< bound of the cosine in IDR

  static MethodSettings of(const BatchedOptions& options, std::int64_t num_rows) {
    const std::int64_t steps =
        std::min({std::int64_t(options.restart), options.stopping.max_iters, num_rows});
    return {options.omega, static_cast<int>(std::max<std::int64_t>(steps, 1)),
            static_cast<int>(std::clamp<std::int64_t>(num_rows, 1, options.s)), options.kappa};
  }
};

/// The lengths of a method's vectors.
template <class Method>
std::vector<std::int64_t> method_pieces(bool pointwise, bool identity, std::int64_t n,
                                        const BatchedOptions& options) {
  std::vector<std::int64_t> lengths(Method::num_vectors(pointwise, identity), n);
  if constexpr (requires { Method::piece_length(0, n, options, identity); })
    for (std::size_t k = 0; k < lengths.size(); ++k)
      lengths[k] = Method::piece_length(static_cast<int>(k), n, options, identity);
  return lengths;
}

template <class Scalar, class LaneGroup, class System, class Precond, class Log>
struct SolveContext {
  using scalar_type = Scalar;
  using precond_type = Precond;
  using lane_group_type = LaneGroup;

  const LaneGroup& lane_group;
  const System& a;
  const Precond& preconditioner;
  const Scalar* precond_values;
  Scalar* x;
  const SystemMemory<Scalar>& memory;
  StoppingState<Scalar>& stopping;
  const Log& log;
  std::int64_t system;
  const Scalar* b;
  const MethodSettings& settings;
  const Scalar* shadow;  ///< IDR's shadow vectors of the first attempt, then those of the second
  Scalar* precond_work;  ///< working memory of an application of the preconditioner
  Scalar* best;          ///< x of the least residual that a cycle began with, at first the initial one

  KOKKOS_FORCEINLINE_FUNCTION int size() const { return a.num_rows; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* vector(int k) const { return memory.piece(k); }
  /// (M^-1 r)_i for a pointwise preconditioner.
  KOKKOS_FORCEINLINE_FUNCTION Scalar precondition_at(int i, const Scalar& r_i) const {
    return preconditioner.at(precond_values, i, r_i);
  }
  /// to = M^-1 from for another preconditioner.
  KOKKOS_FORCEINLINE_FUNCTION void precondition(const Scalar* from, Scalar* to) const {
    if constexpr (!Precond::is_pointwise)
      preconditioner.apply(lane_group, size(), precond_values, from, to, precond_work);
  }

  /// to = M^-1 from; returns `from` itself without a preconditioner.
  KOKKOS_FORCEINLINE_FUNCTION const Scalar* preconditioned(const Scalar* from, Scalar* to) const {
    if constexpr (Precond::is_identity) return from;
    if constexpr (Precond::is_pointwise)
      for_elements(lane_group, size(), [&](int i) { to[i] = precondition_at(i, from[i]); });
    else
      precondition(from, to);
    return to;
  }
  /// r = b - A x
  KOKKOS_FORCEINLINE_FUNCTION void residual(Scalar* r) const { make_residual(lane_group, a, b, x, r); }

  /// At the beginning of a cycle or of a restart, where ||r||^2 is that of b - A x.
  KOKKOS_FORCEINLINE_FUNCTION void keep_best(real_type_t<Scalar> rr) const {
    if (!stopping.is_best(Kokkos::sqrt(static_cast<double>(rr))) || stopping.iterations() == 0) return;
    for_elements(lane_group, size(), [&](int i) { best[i] = x[i]; });
  }

  /// The stopping test, and an entry of the log.
  KOKKOS_FORCEINLINE_FUNCTION bool goes_on(real_type_t<Scalar> rr, bool finite,
                                           StopReason breakdown = stopping::no_breakdown) const {
    if (stopping.begins()) keep_best(rr);
    const bool on = stopping.judge(rr, finite, breakdown);
    log.iteration(lane_group, system, stopping.iterations(), stopping.norm_r());
    return on;
  }
};

}  // namespace prekond::impl::batched
