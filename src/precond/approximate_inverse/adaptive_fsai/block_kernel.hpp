// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The kernel of the adaptive FSAI's setup in blocks of rows: blocks out of a range into a slab of rows.
#include "core/kernel_policy.hpp"

#include "precond/approximate_inverse/adaptive_fsai/block.hpp"
#include "precond/approximate_inverse/adaptive_fsai/kernel.hpp"
#include "precond/setup/breakdown_counter.hpp"

namespace prekond::impl::adaptive_fsai {

/// What a sample of blocks needed.
template <class Space>
struct BlockUsage {
  VectorView<int, Space> columns;
  VectorView<int, Space> entries;
  VectorView<int, Space> members;
};

/// Grows blocks; as GrowRows, a vector of lanes a block. Rows go to their places of the slab, or, of a
/// sample, row r of the k-th block to place k * largest + r.
template <class Scalar, class Real, class Space, class Set, class Slot, bool InScratch, bool Portable>
struct GrowBlocks {
  using Policy = KernelPolicy<Space>;
  using Member = typename Policy::member_type;
  // The portable form has lanes on the host too, one after the other: tests run there what devices run.
  static constexpr int width = is_host_space<Space> && !Portable ? 1 : Tuning::vector_length;
  using LaneGroup =
      std::conditional_t<Portable, PortableLaneGroup<Member, width>, NativeLaneGroup<Space, Member, width>>;
  using BlockType = Block<Scalar, Real, Set, Slot, LaneGroup>;
  using Layout = BlockLayout<Real, Slot, Set>;
  static constexpr bool uses_markers = Set::uses_markers;

  Matrix<Scalar, Real> a;
  Parameters parameters;
  Layout layout;
  RowRange<Space> rows;  ///< blocks
  VectorView<const int, Space> begins;
  std::int64_t first_block;       ///< of the chunk
  VectorView<int, Space> status;  ///< of the chunk's blocks; negative: it outgrew its workspace, see Shortage
  RowSlab<Scalar, Space> slab;
  CsrGraphView<Space> start;  ///< G_0's pattern, united; empty: the diagonal
  VectorView<BreakdownCounter, Space> outcome;
  BlockUsage<Space> usage;
  VectorView<char, Space> workspaces;  ///< where not in scratch
  VectorView<int, Space> markers;      ///< num_rows a workspace, zero
  VectorView<int, Space> next;         ///< the next block to fetch

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const int unit = team.league_rank() * team.team_size() + team.team_rank();
    if constexpr (InScratch) {
      char* base =
          static_cast<char*>(team.team_shmem().get_shmem_aligned(layout.bytes * team.team_size(), 16)) +
          layout.bytes * team.team_rank();
      if (unit < rows.count) do_block(team, base, unit, unit);
    } else {
      char* base = workspaces.data() + layout.bytes * static_cast<std::size_t>(unit);
      constexpr int group = is_host_space<Space> ? Tuning::slab_rows_per_fetch : 1;
      while (true) {
        int k = 0;
        Kokkos::single(
            Kokkos::PerThread(team), [&](int& mine) { mine = Kokkos::atomic_fetch_add(&next(0), group); }, k);
        if (k >= rows.count) break;
        for (int end = k + group; k < end && k < rows.count; ++k) do_block(team, base, k, unit);
      }
    }
  }

  KOKKOS_FUNCTION Set make_set(char* base, int unit) const {
    const ColumnList list = BlockType::columns(layout, base);
    if constexpr (Set::shared_insertion) {
      return Set(list, reinterpret_cast<typename Set::bucket_type*>(base + layout.buckets),
                 layout.num_buckets);
    } else {
      return Set(list, markers.data() + static_cast<std::size_t>(unit) * a.num_rows);
    }
  }

  KOKKOS_FUNCTION void do_block(const Member& team, char* base, std::int64_t k, int unit) const {
    const LaneGroup lane_group(team);
    const int number = rows.row(k), first = begins(number), size = begins(number + 1) - first;
    const Set set = make_set(base, unit);
    BlockType block(lane_group, a, parameters, layout, set, base, first, size);
    RowStatus grown;  // by two calls, each compiled with the steps that it has, as in GrowRows
    if (start.row_ptrs.extent(0) > 0) {
      const std::size_t begin = start.row_ptrs(first);  // the first row has the common columns and its own
      const int n = static_cast<int>(start.row_ptrs(first + 1) - begin) - 1;
      grown = grow_pattern(block, parameters, start.col_idxs.data() + begin, n, false);
    } else {
      grown = grow_pattern(block, parameters, nullptr, 0, false);
    }
    const bool sample = slab.first < 0;
    const bool overflow = grown == RowStatus::overflow;
    lane_group.once([&] {
      status(sample ? k : number - first_block) = overflow ? -static_cast<int>(block.shortage()) : 0;
    });
    if (!overflow) {
      block.complete();
      const std::int64_t place = sample ? k * layout.block : first - slab.first;
      for (int r = 0; r < size; ++r) write_row(lane_group, block, grown, first, r, place + r);
    }
    if (usage.columns.extent(0) > 0) {
      lane_group.once([&] {
        usage.columns(k) = overflow ? layout.capacity + 1 : block.slots_used();
        usage.entries(k) = overflow ? layout.pool + 1 : block.entries_used();
        usage.members(k) = block.members();
      });
    }
    set.release(lane_group);
  }

  KOKKOS_FUNCTION void write_row(const LaneGroup& lane_group, const BlockType& block, RowStatus grown,
                                 int first, int r, std::int64_t place) const {
    const double psi = block.row_psi(r);
    const bool sound = psi > 0 && Kokkos::isfinite(psi);
    const double scale = 1 / Kokkos::sqrt(sound ? psi : block.diagonal(r));
    const int m = sound ? block.members() : 0, own = sound ? r + 1 : 1;
    const std::int64_t begin = place * slab.width;
    lane_group.region([&](int lane) {
      for (int p = lane; p < m; p += LaneGroup::width) {
        slab.cols(begin + block.rank(p)) = block.member_column(p);
        slab.values(begin + block.rank(p)) = static_cast<Scalar>(block.value(r, p) * scale);
      }
      for (int q = lane; q < own; q += LaneGroup::width) {
        slab.cols(begin + m + q) = sound ? first + q : first + r;
        slab.values(begin + m + q) = static_cast<Scalar>(sound ? block.own_value(r, q) * scale : scale);
      }
      if (lane == 0) slab.length(place) = m + own;
    });
    const bool shortened = r >= block.first_short_row(grown);
    if ((sound && !shortened) || outcome.extent(0) == 0) return;
    // The rows are found in units of their own.
    const double unit = block.own_value(r, r);
    const double pivot = sound ? double(block.pivot()) : psi / (block.diagonal(r) * unit * unit);
    lane_group.once(
        [&] { BreakdownCounter::count(outcome(0), first + r, !sound, static_cast<float>(pivot)); });
  }
};

}  // namespace prekond::impl::adaptive_fsai
