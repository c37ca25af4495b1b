// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The kernel of the adaptive FSAI's setup: rows out of a range into a slab.
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include "core/kernel_policy.hpp"

#include "precond/approximate_inverse/adaptive_fsai/merge.hpp"
#include "precond/approximate_inverse/adaptive_fsai/row.hpp"
#include "precond/approximate_inverse/fsai/row_scale.hpp"
#include "precond/setup/append_rows.hpp"
#include "precond/setup/breakdown_counter.hpp"

#include <type_traits>

namespace prekond::impl::adaptive_fsai {

struct Tuning {
  static constexpr int vector_length = 32;  // half-warps were 1.7 times slower
  static constexpr int max_rows_per_team = 4;
  static constexpr int scratch_per_processor = 224256;  // of an H200's 227 kB, less what Kokkos keeps
  static constexpr int few_teams =
      6;  // 80 registers a lane: rows with large workspaces are limited to 6 teams anyway
  static constexpr int more_teams = 7;  // 72 registers
  static constexpr int many_teams =
      8;  // 64 registers, no spills in single precision: pays for small workspaces
  static constexpr std::size_t scratch_limit = scratch_per_processor / few_teams;
  static constexpr int threads_per_processor = 2048;
  static constexpr int sample_rows = 2048;
  static constexpr double sample_quantile = 0.998;  // rows beyond it go on in a larger workspace
  static constexpr int slab_rows_per_fetch = 16;    // host threads take rows in groups
  static constexpr std::int64_t host_slab_bytes = std::int64_t(1)
                                                  << 18;  // a thread: what its cache keeps, see chunk_size
};

/// Rows to do: `list` where it has elements, else first, first + 1, ...
template <class Space>
struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
  VectorView<const int, Space> list;
  KOKKOS_FUNCTION int row(std::int64_t k) const {
    return list.extent(0) > 0 ? list(k) : static_cast<int>(first + k);
  }
};

/// The needs of a sample of rows.
template <class Space>
struct Usage {
  VectorView<int, Space> columns;
  VectorView<int, Space> entries;
};

/// The class that grows a row, and the layout of its workspace.
template <class Scalar, class Real, class Set, class Slot, class LaneGroup>
struct RowOf {
  using type = Row<Scalar, Real, Set, Slot, LaneGroup>;
  using layout = Layout<in_precision_t<Scalar, Real>, Slot, Set>;
};
template <class Scalar, class Real, class Slot, class LaneGroup>
struct RowOf<Scalar, Real, NoColumnSet, Slot, LaneGroup> {
  using type = MergedRow<Scalar, Real, LaneGroup>;
  using layout = MergeLayout<in_precision_t<Scalar, Real>>;
};

/// Grows (or, on a kept pattern, solves) rows. With `InScratch` a workspace lies in the team's scratch and
/// the league covers the rows; else each vector of lanes owns a workspace of a global slab and fetches row
/// after row. (Two kernels and not one with a branch: a compiler that cannot tell scratch from global memory
/// needs twice the instructions.) Markers belong to a vector of lanes, which then fetches row after row with
/// a workspace in scratch too.
template <class Scalar, class Real, class Space, class Set, class Slot, bool InScratch, bool Portable>
struct GrowRows {
  using Policy = KernelPolicy<Space>;
  using Member = typename Policy::member_type;
  static constexpr int width = is_host_space<Space> ? 1 : Tuning::vector_length;
  using LaneGroup =
      std::conditional_t<Portable, PortableLaneGroup<Member, width>, NativeLaneGroup<Space, Member, width>>;
  using RowType = typename RowOf<Scalar, Real, Set, Slot, LaneGroup>::type;
  using RowLayout = typename RowOf<Scalar, Real, Set, Slot, LaneGroup>::layout;
  static constexpr bool uses_markers = Set::uses_markers;
  static constexpr bool fetches = !InScratch || uses_markers;

  Matrix<Scalar, Real> a;
  Parameters parameters;
  RowLayout layout;
  RowRange<Space> rows;
  RowSlab<Scalar, Space> slab;
  CsrView<Scalar, Space> pattern;  ///< of a kept pattern: G's, whose values are written
  VectorView<Scalar, Space> g_values;
  CsrGraphView<Space> start;  ///< G_0's pattern, the diagonal last in each row; empty: the diagonal
  VectorView<BreakdownCounter, Space> outcome;
  Usage<Space> usage;
  VectorView<char, Space> workspaces;  ///< where not in scratch
  VectorView<int, Space> markers;      ///< num_rows a workspace, zero
  VectorView<int, Space> next;         ///< the next row to fetch

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const int unit = team.league_rank() * team.team_size() + team.team_rank();
    char* base = workspace(team, unit);
    char* pool = pool_of(team, base);
    if constexpr (!fetches) {
      if (unit < rows.count) do_row(team, base, pool, unit, unit);
    } else {
      constexpr int group = is_host_space<Space> ? Tuning::slab_rows_per_fetch : 1;
      while (true) {
        int k = 0;
        Kokkos::single(
            Kokkos::PerThread(team), [&](int& mine) { mine = Kokkos::atomic_fetch_add(&next(0), group); }, k);
        if (k >= rows.count) break;
        for (int end = k + group; k < end && k < rows.count; ++k) do_row(team, base, pool, k, unit);
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION char* workspace(const Member& team, int unit) const {
    if constexpr (InScratch) {
      return static_cast<char*>(team.team_shmem().get_shmem_aligned(layout.bytes * team.team_size(), 16)) +
             layout.bytes * team.team_rank();
    } else {
      return workspaces.data() + (layout.bytes + layout.pool_bytes) * static_cast<std::size_t>(unit);
    }
  }
  /// Where remembered slots go: with the workspace in scratch, into scratch of level 1, which lies in global
  /// memory.
  KOKKOS_FORCEINLINE_FUNCTION char* pool_of(const Member& team, char* base) const {
    if constexpr (InScratch) {
      const std::size_t bytes = layout.pool_bytes;
      return static_cast<char*>(team.team_scratch(1).get_shmem_aligned(bytes * team.team_size() + 1, 16)) +
             bytes * team.team_rank();
    } else {
      return base + layout.bytes;
    }
  }

  KOKKOS_FUNCTION Set make_set(char* base, int unit) const {
    if constexpr (std::is_same_v<Set, NoColumnSet>) {
      return {};
    } else if constexpr (uses_markers) {
      return Set(RowType::columns(layout, base),
                 markers.data() + static_cast<std::size_t>(unit) * a.num_rows);
    } else {
      return Set(RowType::columns(layout, base),
                 reinterpret_cast<typename Set::bucket_type*>(base + layout.buckets), layout.num_buckets);
    }
  }

  KOKKOS_FUNCTION void do_row(const Member& team, char* base, char* pool, std::int64_t k, int unit) const {
    const LaneGroup lane_group(team);
    const int i = rows.row(k);
    const Set set = make_set(base, unit);
    RowType row(lane_group, a, parameters, layout, set, base, pool, i);
    const bool kept = g_values.extent(0) > 0;
    // Three calls, so that each is compiled with the steps that it has: with one call for all a device took 3
    // to 14 % longer.
    RowStatus status;
    if (kept) {
      const std::size_t begin = pattern.row_ptrs(i);  // all but the diagonal, which is the last
      const int n = static_cast<int>(pattern.row_ptrs(i + 1) - begin) - 1;
      status = grow_pattern(row, parameters, pattern.col_idxs.data() + begin, n, true);
    } else if (start.row_ptrs.extent(0) > 0) {
      const std::size_t begin = start.row_ptrs(i);
      const int n = static_cast<int>(start.row_ptrs(i + 1) - begin) - 1;
      status = grow_pattern(row, parameters, start.col_idxs.data() + begin, n, false);
    } else {
      status = grow_pattern(row, parameters, nullptr, 0, false);
    }
    if (status == RowStatus::overflow) {
      lane_group.once([&] { slab.length(slab.place(i, k)) = -static_cast<int>(row.shortage()); });
    } else {
      finish(lane_group, row, i, slab.place(i, k), status, kept);
    }
    if (usage.columns.extent(0) > 0) {
      lane_group.once([&] {
        usage.columns(k) = status == RowStatus::overflow ? layout.capacity + 1 : row.slots_used();
        usage.entries(k) = status == RowStatus::overflow ? layout.pool + 1 : row.entries_used();
      });
    }
    if constexpr (Set::shared_insertion && uses_markers) {
      set.release(lane_group, row.slots_used());
    } else {
      set.release(lane_group);
    }
  }

  KOKKOS_FUNCTION void finish(const LaneGroup& lane_group, RowType& row, int i, std::int64_t place,
                              RowStatus status, bool kept) const {
    const double psi = row.exact_psi();
    const double a_ii = static_cast<double>(real_part(a.original[row.diagonal_entry()]));
    const RowScale found = RowScale::of(psi, a_ii, 1, psi_floor<real_type_t<Scalar>>());
    if (!found.sound) status = RowStatus::diagonal;
    if (found.floored) status = RowStatus::pivot;
    if (kept) {
      write_kept(lane_group, row, i, place, found.scale, found.sound);
    } else {
      write_new(lane_group, row, i, place, found.scale, found.sound);
    }
    if (status != RowStatus::done && outcome.extent(0) > 0) {
      const float pivot =
          static_cast<float>(found.sound && !found.floored ? double(row.pivot()) : psi / a_ii);
      lane_group.once([&] { BreakdownCounter::count(outcome(0), i, status != RowStatus::pivot, pivot); });
    }
  }

  /// Sorted by rank: a row has few entries, and each lane counts how many lie before its own.
  KOKKOS_FUNCTION void write_new(const LaneGroup& lane_group, const RowType& row, int i, std::int64_t place,
                                 double scale, bool sound) const {
    const int m = sound ? row.members() : 0;
    const std::int64_t begin = place * slab.width;
    lane_group.region([&](int lane) {
      for (int p = lane; p < m; p += LaneGroup::width) {
        const int col = row.member_column(p);
        int rank = 0;
        for (int q = 0; q < m; ++q) rank += row.member_column(q) < col;
        slab.cols(begin + rank) = col;
        slab.values(begin + rank) = static_cast<Scalar>(to_double(row.value(p)) * scale);
      }
      if (lane == 0) {
        slab.cols(begin + m) = i;
        slab.values(begin + m) = static_cast<Scalar>(scale);
        slab.length(place) = m + 1;
      }
    });
  }

  /// The pattern's columns are the members in their order, less those that were left out.
  KOKKOS_FUNCTION void write_kept(const LaneGroup& lane_group, const RowType& row, int i, std::int64_t place,
                                  double scale, bool sound) const {
    const std::size_t begin = pattern.row_ptrs(i);
    const int n = static_cast<int>(pattern.row_ptrs(i + 1) - begin) - 1;
    const int m = sound ? row.members() : 0;
    lane_group.region([&](int lane) {
      for (int k = lane; k < n; k += LaneGroup::width) g_values(begin + k) = 0;
      if (lane == 0) {
        g_values(begin + n) = static_cast<Scalar>(scale);
        slab.length(place) = n + 1;
      }
    });
    lane_group.region([&](int lane) {
      for (int p = lane; p < m; p += LaneGroup::width) {
        int k = p;
        while (pattern.col_idxs(begin + k) != row.member_column(p)) ++k;
        g_values(begin + k) = static_cast<Scalar>(to_double(row.value(p)) * scale);
      }
    });
  }
};

}  // namespace prekond::impl::adaptive_fsai
