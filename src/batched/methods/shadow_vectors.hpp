// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "matrix/counter_hash.hpp"

#include "batched/kernel.hpp"
#include "batched/methods/basis.hpp"

namespace prekond::impl::batched {

/// P of IDR: the random vectors of krylov/random_vector.hpp, orthonormalised by classical Gram-Schmidt twice.
/// A "system" of the kernel is an attempt of the solves.
template <class Scalar>
struct MakeShadowVectors {
  Scalar* shadow;
  int n, s;

  template <class LaneGroup>
  KOKKOS_FUNCTION void operator()(const LaneGroup& lane_group, std::int64_t attempt,
                                  const SystemMemory<Scalar>& memory) const {
    using Real = real_type_t<Scalar>;
    const VectorBlock<Scalar> p{shadow + attempt * s * n, n};
    Scalar* h = memory.piece(0);
    for (int j = 0; j < s; ++j) {
      const std::uint64_t key =
          counter_hash(std::uint64_t(attempt) + 1 + 16 * std::uint64_t(j), static_cast<std::uint64_t>(n));
      for_elements(lane_group, n, [&](int i) { p[j][i] = random_number(key, i); });
      for (int k = 0; k < 2; ++k) {
        p.project(lane_group, j, p[j], h);
        for_elements(lane_group, n, [&](int i) { p[j][i] -= p.combined(i, 0, j, h); });
      }
      const Real norm = Kokkos::sqrt(sum_elements<Real>(lane_group, n, [&](int i) { return abs2(p[j][i]); }));
      for_elements(lane_group, n, [&](int i) { p[j][i] *= norm > Real(0) ? 1 / norm : Real(0); });
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static Scalar random_number(std::uint64_t key, int i) {
    using Real = real_type_t<Scalar>;
    const auto part = [&](std::uint64_t k) {
      return static_cast<Real>(2 * unit_interval(counter_hash(key, static_cast<std::uint64_t>(i), k)) - 1);
    };
    if constexpr (is_complex<Scalar>)
      return Scalar(part(0), part(1));
    else
      return part(0);
  }
};

template <class Scalar, class Space, int Lanes>
struct MakeShadowVectorsKernel {
  using Teams = SystemTeams<Scalar, Space, Lanes>;
  Teams teams;  ///< with a piece of s numbers
  MakeShadowVectors<Scalar> make;

  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    teams.for_each_system(team, make);
  }
};

}  // namespace prekond::impl::batched
