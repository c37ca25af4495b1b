// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Incomplete factors of blocks, a vector of lanes a block: ILU(0), IC(0), and the solves by them. Rows go in
/// order, lanes share a row's entries.
#include <prekond/core/scalar.hpp>
#include "core/lane_group.hpp"

#include "precond/domain/subdomains.hpp"
#include "precond/setup/breakdown_counter.hpp"

#include <algorithm>

namespace prekond::impl::block {

struct IncompleteTuning {
  static constexpr int setup_lanes = 32;
  static constexpr int few_lanes = 8;                  // of a solve, where half a row has no more entries
  static constexpr std::size_t apply_scratch = 24000;  // of a team
};

template <class Scalar>
inline constexpr Scalar pivot_floor = 16 * (sizeof(Scalar) == 4 ? Scalar(0x1p-23) : Scalar(0x1p-52));

/// L and U of all blocks in one matrix: row k has L's entries, in columns < k, then U's, in columns > k. A
/// stored diagonal entry is skipped. L's diagonal is 1 (IC: 1 / pivots), U's 1 / pivots.
template <class Scalar, class Space>
struct Factors {
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<const std::size_t, Space> middle;  ///< where columns >= k begin
  VectorView<const int, Space> col_idxs;
  VectorView<Scalar, Space> values;
  VectorView<Scalar, Space> pivots;  ///< reciprocals

  KOKKOS_FORCEINLINE_FUNCTION std::size_t upper(int k) const {
    const std::size_t place = middle(k);
    return place < row_ptrs(k + 1) && col_idxs(place) == k ? place + 1 : place;
  }
};

/// The first place of [begin, end) with a column >= col.
template <class Space>
KOKKOS_FORCEINLINE_FUNCTION std::size_t place_from(const VectorView<const int, Space>& cols,
                                                   std::size_t begin, std::size_t end, int col) {
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (cols(middle) < col)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

template <class Space>
struct FindMiddle {
  CsrGraphView<Space> pattern;
  VectorView<std::size_t, Space> middle;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { middle(k) = pattern.first_from(k, k); }
};

/// Row by row, as Saad's IKJ variant.
template <class Scalar, class Space>
struct Ilu0Block {
  Factors<Scalar, Space> factors;  ///< begins with A's values
  VectorView<const int, Space> ptrs;
  VectorView<const int, Space> rows;
  VectorView<BreakdownCounter, Space> outcome;

  template <class LaneGroup>
  KOKKOS_FUNCTION void operator()(const LaneGroup& lane_group, int d) const {
    for (int k = ptrs(d); k < ptrs(d + 1); ++k) factor_row(lane_group, k);
  }

  template <class LaneGroup>
  KOKKOS_FUNCTION void factor_row(const LaneGroup& lane_group, int row) const {
    const std::size_t begin = factors.row_ptrs(row), middle = factors.middle(row);
    const std::size_t upper = factors.upper(row), end = factors.row_ptrs(row + 1);
    const Scalar diagonal = upper > middle ? factors.values(middle) : Scalar(0);
    const Scalar largest = lane_group.template max<Scalar>([&](int lane) {
      Scalar most = 0;
      for (std::size_t k = begin + lane; k < end; k += lane_group.size())
        most = Kokkos::fmax(most, Kokkos::abs(factors.values(k)));
      return most;
    });
    // The pivot grows where its reciprocal will be: there is room also where A has no diagonal entry.
    lane_group.once([&] { factors.pivots(row) = diagonal; });
    for (std::size_t k = begin; k < middle; ++k) subtract(lane_group, row, k, middle, upper, end);
    finish(lane_group, row, diagonal, largest);
  }

  /// row -= l_rk U's row k, on the row's pattern. L's entries stay undivided until the row is done: what
  /// divides them is known to all lanes.
  template <class LaneGroup>
  KOKKOS_FUNCTION void subtract(const LaneGroup& lane_group, int row, std::size_t k, std::size_t middle,
                                std::size_t upper, std::size_t end) const {
    const int other = factors.col_idxs(k);
    const Scalar multiplier = factors.values(k) * factors.pivots(other);
    const std::size_t first = factors.upper(other), behind = factors.row_ptrs(other + 1);
    lane_group.region([&](int lane) {
      for (std::size_t e = first + lane; e < behind; e += lane_group.size()) {
        const int col = factors.col_idxs(e);
        const Scalar product = multiplier * factors.values(e);
        if (col == row) {
          factors.pivots(row) -= product;
          continue;
        }
        const std::size_t from = col < row ? k + 1 : upper, to = col < row ? middle : end;
        const std::size_t place = place_from<Space>(factors.col_idxs, from, to, col);
        if (place < to && factors.col_idxs(place) == col) factors.values(place) -= product;
      }
    });
  }

  template <class LaneGroup>
  KOKKOS_FUNCTION void finish(const LaneGroup& lane_group, int row, Scalar diagonal, Scalar largest) const {
    const std::size_t begin = factors.row_ptrs(row), middle = factors.middle(row);
    const std::size_t upper = factors.upper(row), end = factors.row_ptrs(row + 1);
    const Scalar pivot = factors.pivots(row);
    const int bad = lane_group.template sum<int>([&](int lane) {
      int count = 0;
      for (std::size_t k = begin + lane; k < end; k += lane_group.size()) {
        if (k >= middle && k < upper) continue;
        if (k < middle) factors.values(k) *= factors.pivots(factors.col_idxs(k));
        count += !Kokkos::isfinite(factors.values(k));
      }
      return count;
    });
    const bool sound = bad == 0 && Kokkos::abs(pivot) > pivot_floor<Scalar> * largest &&
                       Kokkos::isfinite(1 / pivot) && Kokkos::isfinite(pivot);
    lane_group.region([&](int lane) {
      if (lane == 0) {
        const Scalar alone = 1 / diagonal;
        const bool usable = Kokkos::isfinite(diagonal) && Kokkos::isfinite(alone);
        if (!sound)
          BreakdownCounter::count(outcome(0), rows(row), true,
                                  largest > 0 ? static_cast<float>(pivot / largest) : 0.0f);
        factors.pivots(row) = sound ? 1 / pivot : (usable ? alone : Scalar(1));
      }
      if (sound) return;
      for (std::size_t k = begin + lane; k < end; k += lane_group.size()) factors.values(k) = 0;
    });
  }
};

/// Row by row: l_rk = (a_rk - sum_j l_rj l_kj) / l_kk, on the pattern of the lower triangle.
template <class Scalar, class Space>
struct Ic0Block {
  Factors<Scalar, Space> factors;  ///< begins with A's values
  VectorView<const int, Space> ptrs;
  VectorView<const int, Space> rows;
  VectorView<BreakdownCounter, Space> outcome;

  template <class LaneGroup>
  KOKKOS_FUNCTION void operator()(const LaneGroup& lane_group, int d) const {
    for (int k = ptrs(d); k < ptrs(d + 1); ++k) factor_row(lane_group, k);
  }

  template <class LaneGroup>
  KOKKOS_FUNCTION void factor_row(const LaneGroup& lane_group, int row) const {
    const std::size_t begin = factors.row_ptrs(row), middle = factors.middle(row);
    for (std::size_t k = begin; k < middle; ++k) {
      const int other = factors.col_idxs(k);
      const Scalar sum = common(lane_group, begin, k, factors.row_ptrs(other), factors.middle(other));
      lane_group.once([&] { factors.values(k) = (factors.values(k) - sum) * factors.pivots(other); });
    }
    const Scalar square = lane_group.template sum<Scalar>([&](int lane) {
      Scalar sum = 0;
      for (std::size_t k = begin + lane; k < middle; k += lane_group.size())
        sum += factors.values(k) * factors.values(k);
      return sum;
    });
    const Scalar diagonal = factors.values(middle);  // which is there, and positive
    const Scalar pivot = diagonal - square;
    const bool sound = pivot > pivot_floor<Scalar> * diagonal;
    lane_group.region([&](int lane) {
      if (lane == 0) {
        if (!sound)
          BreakdownCounter::count(outcome(0), rows(row), true, static_cast<float>(pivot / diagonal));
        factors.pivots(row) = 1 / Kokkos::sqrt(sound ? pivot : diagonal);
      }
      if (sound) return;
      for (std::size_t k = begin + lane; k < middle; k += lane_group.size()) factors.values(k) = 0;
    });
  }

  /// sum_j l_rj l_kj, for the row's entries [begin, end) and those of the other row.
  template <class LaneGroup>
  KOKKOS_FUNCTION Scalar common(const LaneGroup& lane_group, std::size_t begin, std::size_t end,
                                std::size_t other_begin, std::size_t other_end) const {
    return lane_group.template sum<Scalar>([&](int lane) {
      Scalar sum = 0;
      std::size_t from = begin;
      for (std::size_t e = other_begin + lane; e < other_end && from < end; e += lane_group.size()) {
        const int col = factors.col_idxs(e);
        from = place_from<Space>(factors.col_idxs, from, end, col);
        if (from < end && factors.col_idxs(from) == col) sum += factors.values(from) * factors.values(e);
      }
      return sum;
    });
  }
};

/// Blocks each by a vector of lanes of a team.
template <class Space, int Width, class Body>
struct ForBlocks {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  static constexpr int width = is_host_space<Space> ? 1 : Width;
  Body body;
  int count;

  static void launch(const Space& space, const char* label, const Body& body, int count) {
    constexpr int team = is_host_space<Space> ? 1 : 4;
    Kokkos::parallel_for(label, Policy(space, (count + team - 1) / team, team, width),
                         ForBlocks{body, count});
  }
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const int d = team.league_rank() * team.team_size() + team.team_rank();
    if (d < count) body(NativeLaneGroup<Space, Member, width>(team), d);
  }
};

/// y(to) = (L U)^-1 x(from), or (L L^T)^-1: a block's part of x in scratch where it fits, else in `work`,
/// which has a number for each place.
template <class Scalar, class Space, int Width, bool Symmetric>
struct SolveBlocks {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  static constexpr int width = is_host_space<Space> ? 1 : Width;
  using LaneGroup = NativeLaneGroup<Space, Member, width>;

  Factors<const Scalar, Space> factors;
  VectorView<const int, Space> ptrs;
  Transfer<Space> transfer;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;
  VectorView<Scalar, Space> work;  ///< empty: scratch
  int count;
  int largest;

  static bool needs_work(int largest_block) {
    return static_cast<std::size_t>(largest_block) * sizeof(Scalar) > IncompleteTuning::apply_scratch;
  }
  static std::size_t scratch_bytes(int largest_block, int blocks_a_team) {
    return static_cast<std::size_t>(largest_block) * static_cast<std::size_t>(blocks_a_team) *
               sizeof(Scalar) +
           16;
  }
  Policy policy(const Space& space) const {
    int team = is_host_space<Space> ? 1 : 32 / width;
    if (work.extent(0) == 0)
      while (team > 1 && scratch_bytes(largest, team) > IncompleteTuning::apply_scratch + 16) team /= 2;
    Policy result(space, (count + team - 1) / team, team, width);
    if (work.extent(0) == 0)
      result.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(scratch_bytes(largest, team))));
    return result;
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const int d = team.league_rank() * team.team_size() + team.team_rank();
    Scalar* part = nullptr;
    if (work.extent(0) == 0)
      part = static_cast<Scalar*>(team.team_shmem().get_shmem_aligned(
                 static_cast<std::size_t>(largest) * team.team_size() * sizeof(Scalar), 16)) +
             static_cast<std::size_t>(largest) * team.team_rank();
    if (d >= count) return;
    const int begin = ptrs(d), m = ptrs(d + 1) - begin;
    if (work.extent(0) > 0) part = work.data() + begin;
    const LaneGroup lane_group(team);
    for (std::size_t v = 0; v < x.extent(1); ++v) {
      lane_group.region([&](int lane) {
        for (int i = lane; i < m; i += lane_group.size()) part[i] = x(transfer.source(begin + i), v);
      });
      solve_lower(lane_group, begin, m, part);
      if constexpr (Symmetric)
        solve_transposed(lane_group, begin, m, part);
      else
        solve_upper(lane_group, begin, m, part);
      lane_group.region([&](int lane) {
        for (int i = lane; i < m; i += lane_group.size()) {
          const int row = transfer.target(begin + i);
          if (row >= 0) y(row, v) = part[i];
        }
      });
    }
  }

  KOKKOS_FUNCTION Scalar product(const LaneGroup& lane_group, std::size_t from, std::size_t to, int begin,
                                 const Scalar* part) const {
    return lane_group.template sum<Scalar>([&](int lane) {
      Scalar sum = 0;
      for (std::size_t k = from + lane; k < to; k += lane_group.size())
        sum += factors.values(k) * part[factors.col_idxs(k) - begin];
      return sum;
    });
  }
  KOKKOS_FUNCTION void solve_lower(const LaneGroup& lane_group, int begin, int m, Scalar* part) const {
    for (int i = 0; i < m; ++i) {
      const int k = begin + i;
      const Scalar sum = product(lane_group, factors.row_ptrs(k), factors.middle(k), begin, part);
      lane_group.once([&] { part[i] = Symmetric ? (part[i] - sum) * factors.pivots(k) : part[i] - sum; });
    }
  }
  KOKKOS_FUNCTION void solve_upper(const LaneGroup& lane_group, int begin, int m, Scalar* part) const {
    for (int i = m - 1; i >= 0; --i) {
      const int k = begin + i;
      const Scalar sum = product(lane_group, factors.upper(k), factors.row_ptrs(k + 1), begin, part);
      lane_group.once([&] { part[i] = (part[i] - sum) * factors.pivots(k); });
    }
  }
  /// L^T by L's rows: what is known of the solution is subtracted from what is left.
  KOKKOS_FUNCTION void solve_transposed(const LaneGroup& lane_group, int begin, int m, Scalar* part) const {
    for (int i = m - 1; i >= 0; --i) {
      const int k = begin + i;
      lane_group.once([&] { part[i] *= factors.pivots(k); });
      lane_group.region([&](int lane) {
        const Scalar known = part[i];
        for (std::size_t e = factors.row_ptrs(k) + lane; e < factors.middle(k); e += lane_group.size())
          part[factors.col_idxs(e) - begin] -= factors.values(e) * known;
      });
    }
  }
};

}  // namespace prekond::impl::block
