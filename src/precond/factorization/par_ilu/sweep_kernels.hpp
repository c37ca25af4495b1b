// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Sweeps over the entries of the factors: a row is worked on by a lane group, an entry by a lane.
#include "core/lane_group.hpp"

#include "precond/factorization/ilu/triangles.hpp"
#include "precond/factorization/par_ilu/sweep_entries.hpp"
#include "precond/setup/breakdown_counter.hpp"

#include <cstdint>

namespace prekond::impl::par_ilu {

struct SweepTuning {
  static constexpr int short_lanes = 4, long_lanes = 16;
  static constexpr int short_rows = 6;  ///< mean length of a triangle's row up to which lane groups are short
};

/// A sweep: the entries of row i of L, and with them those of row i of U and the pivot. So rows of the
/// first level of L are exact after no sweep, those of the next after one, and so on. An entry that is not
/// finite, and a pivot that is bad, stay what they were.
template <class Entries, class Scalar, class Space, class LaneGroup>
struct SweepRow {
  using lane_group_type = LaneGroup;
  using Values = SweepValues<Scalar, Space>;
  Entries entries;
  Values from, to;
  VectorView<Scalar, Space> found;  ///< the pivots as they came out

  KOKKOS_FUNCTION void operator()(const LaneGroup& lane_group, std::int64_t i) const {
    const auto& a = entries.a;
    const std::size_t first = a.lower.row_ptrs(i);
    const int length = entries.length(i);
    lane_group.region([&](int lane) {
      for (int k = lane; k < length; k += lane_group.size())
        set(to.lower(first + k), entries.lower(i, k, from), from.lower(first + k));
    });
    if constexpr (Entries::has_upper) {
      const std::size_t behind = a.upper.row_ptrs(i), end = a.upper.row_ptrs(i + 1);
      lane_group.region([&](int lane) {
        for (std::size_t place = behind + lane; place < end; place += lane_group.size()) {
          const std::size_t at = entries.place_in_columns(place);
          set(to.columns(at), entries.upper(i, place, to, from), from.columns(at));
        }
      });
    }
    const Scalar sum = lane_group.template sum<Scalar>([&](int lane) {
      Scalar mine = 0;
      for (int k = lane; k < length; k += lane_group.size()) mine += entries.diagonal_step(i, k, to, from);
      return mine;
    });
    lane_group.once([&] {
      const Scalar pivot = a.diagonal - sum;
      found(i) = pivot;
      const Scalar inverse = Entries::is_sound(pivot) ? Entries::inverse(pivot) : from.pivots(i);
      to.pivots(i) = inverse;
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION static void set(Scalar& to, Scalar value, const Scalar& before) {
    to = is_finite(value) ? value : before;
  }
};

/// The 2-norm of row i of A - L U on the pattern; of kind `ic`, with the mirror images of its entries.
template <class Entries, class Scalar, class Space, class LaneGroup>
struct ResidualRow {
  using lane_group_type = LaneGroup;
  Entries entries;
  SweepValues<Scalar, Space> of;
  VectorView<double, Space> norms;

  KOKKOS_FUNCTION void operator()(const LaneGroup& lane_group, std::int64_t i) const {
    const auto& a = entries.a;
    const std::size_t first = a.lower.row_ptrs(i);
    const int length = entries.length(i);
    const double square = lane_group.template sum<double>([&](int lane) {
      double mine = 0;
      for (int k = lane; k < length; k += lane_group.size()) {
        const double step = double(entries.lower(i, k, of)) - double(of.lower(first + k));
        const double rest = step / double(of.pivots(a.lower.col_idxs(first + k)));
        mine += (Entries::has_upper ? 1 : 2) * rest * rest;
      }
      if constexpr (Entries::has_upper) {
        const std::size_t end = a.upper.row_ptrs(i + 1);
        for (std::size_t place = a.upper.row_ptrs(i) + lane; place < end; place += lane_group.size()) {
          const double rest =
              double(entries.upper(i, place, of, of)) - double(of.columns(entries.place_in_columns(place)));
          mine += rest * rest;
        }
      }
      return mine;
    });
    const Scalar sum = lane_group.template sum<Scalar>([&](int lane) {
      Scalar mine = 0;
      for (int k = lane; k < length; k += lane_group.size()) mine += entries.diagonal_step(i, k, of, of);
      return mine;
    });
    lane_group.once([&] {
      const double rest = double(a.diagonal - sum) - double(Entries::pivot(of.pivots(i)));
      norms(i) = Kokkos::sqrt(square + rest * rest);
    });
  }
};

/// L, U and D^-1 of M = (I + L) D (I + U). A row whose pivot is bad, or with entries that are not finite or
/// too large, keeps nothing but 1 on the diagonal.
template <class Entries, class Scalar, class Space, class LaneGroup>
struct EndRow {
  using lane_group_type = LaneGroup;
  Entries entries;
  SweepValues<Scalar, Space> of;
  VectorView<const Scalar, Space> found;
  VectorView<Scalar, Space> lower, upper, pivots;
  VectorView<BreakdownCounter, Space> outcome;
  Scalar most;  ///< size of an entry

  KOKKOS_FORCEINLINE_FUNCTION bool is_bad(Scalar value) const {
    return !is_finite(value) || Kokkos::abs(value) > most;
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar lower_value(std::size_t place) const {
    const Scalar value = of.lower(place);
    return Entries::has_upper ? value : value * of.pivots(entries.a.lower.col_idxs(place));
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar upper_value(std::int64_t i, std::size_t place) const {
    if constexpr (Entries::has_upper) return of.columns(entries.place_in_columns(place)) * of.pivots(i);
    return 0;
  }

  KOKKOS_FUNCTION void operator()(const LaneGroup& lane_group, std::int64_t i) const {
    const auto& a = entries.a;
    const std::size_t first = a.lower.row_ptrs(i), behind = a.upper.row_ptrs(i);
    const int length = entries.length(i);
    const int length_upper = Entries::has_upper ? static_cast<int>(a.upper.row_ptrs(i + 1) - behind) : 0;
    const Scalar inverse = Entries::has_upper ? of.pivots(i) : of.pivots(i) * of.pivots(i);
    const int broken = lane_group.template max<int>([&](int lane) {
      int bad = is_finite(inverse) ? 0 : 1;
      for (int k = lane; k < length; k += lane_group.size()) bad |= is_bad(lower_value(first + k)) ? 1 : 0;
      for (int k = lane; k < length_upper; k += lane_group.size())
        bad |= is_bad(upper_value(i, behind + k)) ? 1 : 0;
      return bad;
    });
    const bool keeps = broken == 0 && Entries::is_sound(found(i));
    lane_group.region([&](int lane) {
      for (int k = lane; k < length; k += lane_group.size())
        lower(first + k) = keeps ? lower_value(first + k) : Scalar(0);
      for (int k = lane; k < length_upper; k += lane_group.size())
        upper(behind + k) = keeps ? upper_value(i, behind + k) : Scalar(0);
      if (lane > 0) return;
      pivots(i) = keeps ? inverse : Scalar(1);
      if (!keeps)
        BreakdownCounter::count(outcome(0), static_cast<int>(i), true,
                                is_finite(found(i)) ? static_cast<float>(found(i)) : 0.0f);
    });
  }
};

}  // namespace prekond::impl::par_ilu
