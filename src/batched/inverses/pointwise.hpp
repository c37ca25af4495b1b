// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The simplest preconditioners, and what each of them has to have. A new one is a file like this one, and a
/// line of inverses/list.hpp:
///
///   kind, symmetric                    its name among the options; whether CG may have it
///   is_identity, is_pointwise          M^-1 r is r; element i of it is at(values, i, r_i)
///   parts                              what of the pattern's analysis it needs
///   make(analysis, options)            from what was found of the pattern
///   values_length(), work_length(groups)     numbers of a system that `generate` makes, and that it works
///   with
///                                      by so many vectors of lanes
///   generate(lane group, system, values, work)    makes them, returns how many pivots were replaced (a
///   collective
///                                      step of all lanes; ends with a barrier)
///   apply_length()                     numbers of `work` of an application, where it needs some
///   apply(lane group, n, values, from, to, work)     to = M^-1 from (`from` and `to` are different vectors,
///                                      unless it is pointwise); a barrier before it is the caller's, its
///                                      last step is a region (not a sum, whose places the caller's next one
///                                      needs)
///
/// An application of any finite vector is finite but for overflow: replaced pivots see to it.
#include <prekond/batched/options.hpp>

#include "batched/analysis.hpp"
#include "batched/lane_group.hpp"

namespace prekond::impl::batched {

/// M = I
template <class Scalar>
struct NoInverse {
  static constexpr BatchedInverse kind = BatchedInverse::none;
  static constexpr bool symmetric = true, is_identity = true, is_pointwise = true;
  static constexpr unsigned parts = 0;

  template <class Space>
  static NoInverse make(const Analysis<Space>&, const BatchedOptions&) {
    return {};
  }
  std::int64_t values_length() const { return 0; }
  std::int64_t work_length(int) const { return 0; }

  template <class LaneGroup, class System>
  KOKKOS_FORCEINLINE_FUNCTION int generate(const LaneGroup&, const System&, Scalar*, Scalar*) const {
    return 0;
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar at(const Scalar*, int, const Scalar& x) const { return x; }
};

/// M = diag A. Where the diagonal entry is zero, not stored or without a finite inverse, 1 takes its place.
template <class Scalar>
struct JacobiInverse {
  static constexpr BatchedInverse kind = BatchedInverse::jacobi;
  static constexpr bool symmetric = true, is_identity = false, is_pointwise = true;
  static constexpr unsigned parts = 0;

  std::int64_t num_rows;

  template <class Space>
  static JacobiInverse make(const Analysis<Space>& analysis, const BatchedOptions&) {
    return {analysis.num_rows};
  }
  std::int64_t values_length() const { return num_rows; }
  std::int64_t work_length(int) const { return 0; }

  template <class LaneGroup, class System>
  KOKKOS_FUNCTION int generate(const LaneGroup& lane_group, const System& a, Scalar* values, Scalar*) const {
    return sum_elements<int>(lane_group, a.num_rows, [&](int i) {
      Scalar diagonal = 0;
      a.for_each_entry(i, [&](std::size_t, int col, const auto& value) {
        if (col == i) diagonal = static_cast<Scalar>(value);
      });
      const Scalar inverse = Scalar(1) / diagonal;
      const bool sound = is_finite(inverse) && inverse != Scalar(0);
      values[i] = sound ? inverse : Scalar(1);
      return sound ? 0 : 1;
    });
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar at(const Scalar* values, int i, const Scalar& x) const {
    return values[i] * x;
  }
};

}  // namespace prekond::impl::batched
