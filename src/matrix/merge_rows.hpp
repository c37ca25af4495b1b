// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The rows of block rows, merged: what counts a matrix's blocks, and fills them.
#include <prekond/core/error.hpp>
#include <prekond/matrix/bcsr_matrix.hpp>
#include "core/lane_group.hpp"

#include <string>

namespace prekond::impl::blocks {

inline void check_block_size(int size, const char* what) {
  if (size < 1 || size > largest_block_size)
    throw InputError(std::string(what) + ": a block size of " + std::to_string(size) + "; it is from 1 to " +
                     std::to_string(largest_block_size));
}

/// The rows of a block row, merged by the lanes of a vector, each of which has a row, or several.
template <class Space, int Lanes>
struct MergeRows {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  using LaneGroup = NativeLaneGroup<Space, Member, Lanes>;
  static constexpr int block_rows_per_team = is_host_space<Space> ? 256 : 128 / Lanes;
  static constexpr int nothing = 0x7fffffff;

  CsrGraphView<Space> pattern;
  int block_size;

  KOKKOS_FUNCTION std::int64_t num_block_rows() const {
    return (pattern.num_rows + block_size - 1) / block_size;
  }

  /// Memory for the next entry of each row.
  KOKKOS_FUNCTION int scratch_bytes(int threads) const {
    return threads * block_size * int(sizeof(std::size_t));
  }

  Policy policy(const Space& space) const {
    const int teams = static_cast<int>((num_block_rows() + block_rows_per_team - 1) / block_rows_per_team);
    const int threads = is_host_space<Space> ? 1 : block_rows_per_team;
    Policy result(space, teams, threads, is_host_space<Space> ? 1 : Lanes);
    return result.set_scratch_size(0, Kokkos::PerTeam(scratch_bytes(threads) + 8));
  }

  /// row(lane group, i, next) for the block rows of a team.
  template <class Row>
  KOKKOS_FUNCTION void for_each_row(const Member& team, const Row& row) const {
    auto* all =
        static_cast<std::size_t*>(team.team_scratch(0).get_shmem_aligned(scratch_bytes(team.team_size()), 8));
    std::size_t* next = all + team.team_rank() * block_size;
    const std::int64_t count = num_block_rows();
    const std::int64_t begin = std::int64_t(team.league_rank()) * block_rows_per_team;
    const std::int64_t end = begin + block_rows_per_team < count ? begin + block_rows_per_team : count;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, end),
                         [&](std::int64_t i) { row(LaneGroup(team), i, next); });
  }

  /// found(block column) for those of block row i, ascending; take(p, q, k) by one lane for entry k of the
  /// matrix, which is the block's (p, q).
  template <class Found, class Take>
  KOKKOS_FUNCTION void merge(const LaneGroup& lane_group, std::int64_t i, std::size_t* next,
                             const Found& found, const Take& take) const {
    const std::int64_t first = i * block_size;
    const int rows = first + block_size < pattern.num_rows ? block_size : int(pattern.num_rows - first);
    lane_group.region([&](int lane) {
      for (int p = lane; p < rows; p += lane_group.size()) next[p] = pattern.row_ptrs(first + p);
    });
    while (true) {
      const int col = lane_group.template min<int>([&](int lane) {
        int least = nothing;
        for (int p = lane; p < rows; p += lane_group.size())
          if (next[p] < pattern.row_ptrs(first + p + 1)) {
            const int own = pattern.col_idxs(next[p]) / block_size;
            least = own < least ? own : least;
          }
        return least;
      });
      if (col == nothing) return;
      found(col);
      lane_group.region([&](int lane) {
        for (int p = lane; p < rows; p += lane_group.size()) {
          const std::size_t end = pattern.row_ptrs(first + p + 1);
          std::size_t k = next[p];
          for (; k < end && pattern.col_idxs(k) / block_size == col; ++k)
            take(p, pattern.col_idxs(k) - col * block_size, k);
          next[p] = k;
        }
      });
    }
  }
};

/// Lanes for rows of blocks of a size: one for each row of a block, where a device has so few.
template <class Space, class With>
void with_lanes(int block_size, const With& with) {
  if (is_host_space<Space> || block_size <= 8)
    with.template operator()<8>();
  else
    with.template operator()<32>();
}

/// The number of blocks of each block row. \pre the size is from 1 to 32
template <class Space>
Vector<int, Space> blocks_of_rows(const Space& space, const CsrGraphView<Space>& pattern, int block_size);

}  // namespace prekond::impl::blocks
