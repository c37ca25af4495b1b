// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Launches of the rows of a factorisation: those of a level; small levels by one team; all rows at once,
/// each waiting for those that it needs.
#include "core/relaxed_words.hpp"
#include "precond/ilu/rows.hpp"

#include <cstdint>

namespace prekond::impl::ilu {

/// Scratch of each vector of lanes, of rows that use it.
template <class Row>
struct RowScratch {
  using Scalar = typename Row::scalar_type;
  static constexpr int width = Row::level_type::width;
  static constexpr int capacity = !Row::uses_memory || width == 1     ? 0
                                  : width > FactorTuning::short_lanes ? RowMemoryTuning::long_capacity
                                                                      : RowMemoryTuning::short_capacity;

  static int bytes() { return static_cast<int>(RowMemory<Scalar>::bytes(capacity, width)); }
  static int team_bytes(int team_size) { return bytes() > 0 ? bytes() * team_size + 8 : 0; }
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION static RowMemory<Scalar> of(const Member& team, int bytes) {
    constexpr int room = capacity;
    if constexpr (room == 0) {
      return {};
    } else {
      char* base = static_cast<char*>(team.team_scratch(0).get_shmem_aligned(bytes * team.team_size(), 8));
      return RowMemory<Scalar>(base + bytes * team.team_rank(), room, width);
    }
  }
};

/// The rows at places [begin, end) of a list.
template <class Row, class Space>
struct FactorRows {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  Row row;
  VectorView<const int, Space> rows;
  std::int64_t begin, end, rows_per_team;
  int scratch;  ///< bytes of a vector
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const auto memory = RowScratch<Row>::of(team, scratch);
    const std::int64_t first = begin + team.league_rank() * rows_per_team;
    const std::int64_t last = first + rows_per_team < end ? first + rows_per_team : end;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, first, last), [&](std::int64_t k) {
      row(typename Row::level_type(team), rows(k), memory, NoWait());
    });
  }
};

/// Small levels one after another, by one team.
template <class Row, class Space>
struct FactorSmallLevels {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  Row row;
  VectorView<const int, Space> rows, level_ptrs;
  int first, last;
  int scratch;
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const auto memory = RowScratch<Row>::of(team, scratch);
    for (int k = first; k < last; ++k) {
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, level_ptrs(k), level_ptrs(k + 1)), [&](int place) {
        row(typename Row::level_type(team), rows(place), memory, NoWait());
      });
      team.team_barrier();
    }
  }
};

/// Waits until rows are done, by polling. After `most_polls` in vain it raises a flag and goes on, as do all
/// others that still wait: what they make then is of no use.
template <class Space>
struct PollRows {
  VectorView<int, Space> done;  ///< by row
  VectorView<int, Space> stalled;
  std::int64_t most_polls;

  template <class Level, class Column>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const Level& level, int count, const Column& column) const {
    level.region([&](int lane) {
      for (int k = lane; k < count; k += level.size()) poll(column(k));
      Kokkos::memory_fence();  // what the others wrote is read behind it
    });
  }
  KOKKOS_FUNCTION void poll(int row) const {
    for (std::int64_t polls = 0; load_relaxed(done(row)) == 0; ++polls) {
      if (polls >= most_polls) raise_flag(stalled(0), 1);
      if (polls % 64 == 0 && load_relaxed(stalled(0)) != 0) return;
    }
  }
  /// What the lanes of the vector wrote is there for all before the flag is.
  template <class Level>
  KOKKOS_FORCEINLINE_FUNCTION void publish(const Level& level, int row) const {
    level.once([&] {
      Kokkos::memory_fence();
      *static_cast<volatile int*>(&done(row)) = 1;
    });
  }
};

/// All rows in one launch. Teams take chunks of rows of one level, in the order of the levels, by tickets:
/// the rows that a chunk waits for are in chunks of smaller tickets, whose teams run and do not wait for it.
/// So the wait ends whatever the number of teams that run at the same time.
template <class Row, class Space>
struct FactorByTickets {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  Row row;
  PollRows<Space> wait;
  VectorView<const int, Space> rows, chunks;  ///< of chunk c the places chunks(2 c) up to chunks(2 c + 1)
  VectorView<unsigned, Space> next;
  unsigned num_chunks;
  int scratch;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const auto memory = RowScratch<Row>::of(team, scratch);
    while (true) {
      unsigned ticket = 0;
      Kokkos::single(
          Kokkos::PerTeam(team), [&](unsigned& mine) { mine = Kokkos::atomic_fetch_add(&next(0), 1u); },
          ticket);
      if (ticket >= num_chunks) break;
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, chunks(2 * ticket), chunks(2 * ticket + 1)),
                           [&](int place) {
                             const typename Row::level_type level(team);
                             const int i = rows(place);
                             row(level, i, memory, wait);
                             wait.publish(level, i);
                           });
    }
  }
};

/// The chunks of each level.
template <class Space>
struct MakeChunks {
  VectorView<const int, Space> level_ptrs, chunk_ptrs;
  VectorView<int, Space> chunks;
  int rows_per_chunk;
  KOKKOS_FUNCTION void operator()(const typename Kokkos::TeamPolicy<Space>::member_type& team) const {
    const int level = team.league_rank();
    const int end = level_ptrs(level + 1), first = chunk_ptrs(level);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, chunk_ptrs(level + 1) - first), [&](int c) {
      const int begin = level_ptrs(level) + c * rows_per_chunk;
      chunks(2 * (first + c)) = begin;
      chunks(2 * (first + c) + 1) = begin + rows_per_chunk < end ? begin + rows_per_chunk : end;
    });
  }
};

}  // namespace prekond::impl::ilu
