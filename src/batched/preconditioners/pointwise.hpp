// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The pointwise preconditioners, and the interface of all of them. A new preconditioner is a file like this
/// one, and a line of preconditioners/list.hpp:
///
///   kind, symmetric                    its name among the options; whether CG may use it
///   is_identity, is_pointwise          M^-1 r is r; element i of M^-1 r is at(values, i, r_i)
///   parts                              the parts of the pattern's analysis that it needs
///   make(analysis, options)            the preconditioner for an analysed pattern
///   values_length()                    numbers of a system that `generate` makes
///   work_length(groups)                numbers of working memory of `generate` with `groups` vectors of
///   lanes generate(lane group, system, values, work)
///                                      makes the values, returns the number of replaced pivots, or its
///                                      complement ~ where an iteration was cut short; a collective step of
///                                      all lanes that ends with a barrier
///   apply_length()                     numbers of `work` of an application, where it needs some
///   apply(lane group, n, values, from, to, work)
///                                      to = M^-1 from, two different vectors, unless it is pointwise; the
///                                      caller puts a barrier before it, and its last step is a region, not a
///                                      sum, whose places the caller's next sum needs
///
/// An application to a finite vector is finite but for overflow, because unusable pivots are replaced.
#include <prekond/batched/options.hpp>

#include "batched/analysis.hpp"
#include "batched/lane_group.hpp"

namespace prekond::impl::batched {

/// M = I
template <class Scalar>
struct NoPreconditioner {
  static constexpr BatchedPreconditioner kind = BatchedPreconditioner::none;
  static constexpr bool symmetric = true, is_identity = true, is_pointwise = true;
  static constexpr unsigned parts = 0;

  template <class Space>
  static NoPreconditioner make(const Analysis<Space>&, const BatchedOptions&) {
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

/// M = diag A.
///
/// Breakdown: 1 replaces a diagonal entry that is zero, not stored or without a finite reciprocal.
template <class Scalar>
struct JacobiPreconditioner {
  static constexpr BatchedPreconditioner kind = BatchedPreconditioner::jacobi;
  static constexpr bool symmetric = true, is_identity = false, is_pointwise = true;
  static constexpr unsigned parts = 0;

  std::int64_t num_rows;

  template <class Space>
  static JacobiPreconditioner make(const Analysis<Space>& analysis, const BatchedOptions&) {
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
