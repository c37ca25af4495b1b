// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The kernels of half sweeps.
#include "core/lane_group.hpp"

#include "matrix/spmv_kernels.hpp"
#include "precond/triangular/grouped_sweeps.hpp"

namespace prekond::impl::sweeps {

/// The last line of a half sweep's product: the update of place i with s_i.
template <class Scalar, class Space>
struct SweepUpdate {
  VectorView<const int, Space> permutation;
  VectorView<const Scalar, Space> row_scale, pivots;
  MultiVectorView<const Scalar, Space> b;
  MultiVectorView<Scalar, Space> y, x, t;
  Scalar of_x, inverse_factor;
  bool by_pivot, adds_t, adds_b, keeps_t, ends, scales_result;
  bool keeps_x;        ///< false: only t, of the first of two triangles
  std::int64_t begin;  ///< the place of the product's row 0

  struct Packed;  ///< its form in kernels
};

template <class Scalar, class Space>
struct SweepUpdate<Scalar, Space>::Packed {
  PackedVector<const int> permutation;
  PackedVector<const Scalar> row_scale, pivots;
  PackedColumns<const Scalar> b;
  PackedColumns<Scalar> y, x, t;
  Scalar of_x, inverse_factor;
  std::int64_t begin;
  int num_columns;
  bool by_pivot, adds_t, adds_b, keeps_t, ends, scales_result, keeps_x;

  Packed() = default;
  Packed(const SweepUpdate& from)
      : permutation(from.permutation),
        row_scale(from.row_scale),
        pivots(from.pivots),
        b(from.b),
        y(from.y),
        x(from.x),
        t(from.t),
        of_x(from.of_x),
        inverse_factor(from.inverse_factor),
        begin(from.begin),
        num_columns(static_cast<int>(from.y.extent(1))),
        by_pivot(from.by_pivot),
        adds_t(from.adds_t),
        adds_b(from.adds_b),
        keeps_t(from.keeps_t),
        ends(from.ends),
        scales_result(from.scales_result),
        keeps_x(from.keeps_x) {}

  KOKKOS_FUNCTION void operator()(std::int64_t row, int v, const Scalar& sum) const {
    const std::int64_t i = begin + row;
    const bool reads_b = adds_b || keeps_t;
    const int own = reads_b || ends ? permutation(i) : 0;
    const Scalar scale = row_scale.is_empty() ? Scalar(1) : (reads_b || ends ? row_scale(i) : Scalar(0));
    const Scalar rest = reads_b ? multiply_add(scale, b(own, v), -sum) : -sum;
    if (keeps_x) {
      Scalar value = adds_b ? rest : -sum;
      if (adds_t) value += t(i, v);
      if (of_x != Scalar(0)) value = multiply_add(by_pivot ? pivots(i) : of_x, x(i, v), value);
      x(i, v) = value;
      if (ends) y(own, v) = scales_result ? Kokkos::abs(scale) * inverse_factor * value : value;
    }
    if (keeps_t) t(i, v) = rest;
  }
};

/// A triangle's rows; empty where a half sweep does not multiply by it.
template <class Value, class Space>
struct Triangle {
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<const int, Space> col_idxs;
  VectorView<const Value, Space> values;
};

/// Small groups one after another by one team, each row by a lane group.
template <class Value, class Scalar, class Space>
struct SweepSmallGroups {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  static constexpr int lanes = is_host_space<Space> ? 1 : SweepTuning::merged_lanes;
  using LaneGroup = NativeLaneGroup<Space, Member, lanes>;

  Triangle<Value, Space> lower, upper;
  typename SweepUpdate<Scalar, Space>::Packed update;
  VectorView<const int, Space> group_ptrs;
  int first, last;
  bool forward;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    for (int k = 0; k < last - first; ++k) {
      const int group = forward ? first + k : last - 1 - k;
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, group_ptrs(group), group_ptrs(group + 1)),
                           [&](int i) { relax(LaneGroup(team), i); });
      team.team_barrier();
    }
  }

  KOKKOS_FUNCTION void relax(const LaneGroup& lane_group, std::int64_t i) const {
    for (int v = 0; v < update.num_columns; ++v) {
      const Scalar* xv = update.x.column(v);
      const Scalar sum = lane_group.template sum<Scalar>(
          [&](int lane) { return lane_sum(lane, lower, i, xv) + lane_sum(lane, upper, i, xv); });
      lane_group.region([&](int lane) {
        if (lane == 0) update(i, v, sum);
      });
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static Scalar lane_sum(int lane, const Triangle<Value, Space>& triangle,
                                                     std::int64_t i, const Scalar* xv) {
    Scalar sum = 0;
    if (triangle.row_ptrs.extent(0) == 0) return sum;
    const std::size_t begin = triangle.row_ptrs(i), end = triangle.row_ptrs(i + 1);
    if constexpr (lanes == 1)
      sum = products::host_row_sum<Value, Scalar>(triangle.values.data() + begin,
                                                  triangle.col_idxs.data() + begin,
                                                  static_cast<int>(end - begin), xv);
    else
      for (std::size_t k = begin + lane; k < end; k += lanes)
        sum = multiply_add(static_cast<Scalar>(triangle.values(k)), xv[triangle.col_idxs(k)], sum);
    return sum;
  }
};

}  // namespace prekond::impl::sweeps
