// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The kernels of a threshold factorisation: all rows in one launch, and their order.
#include "core/row_teams.hpp"
#include "precond/factorization/ilut/rows.hpp"

#include <cstdint>
#include <thread>

namespace prekond::impl::ilut {

/// Waits until a row is done, by polling. After `most_polls` polls it raises the signal that ends the launch.
template <class Scalar, class Space>
struct PollRow {
  using Rows = GrowingRows<Scalar, Space>;
  using Word = typename Rows::Word;
  VectorView<Word, Space> done;
  VectorView<int, Space> signals;
  std::int64_t most_polls;

  /// \returns the row's word; 0: the launch has ended
  template <class LaneGroup>
  KOKKOS_FORCEINLINE_FUNCTION Word operator()(const LaneGroup& lane_group, int row) const {
    const Word word = poll(row);
    Kokkos::memory_fence();  // the values that others wrote are read after it
    return lane_group.template max<int>([&](int) { return word == 0 ? 1 : 0; }) == 0 ? word : Word(0);
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION Word poll(int row) const {
    Word word = concurrent_load(done(row));
    for (std::int64_t polls = 0; word == 0; ++polls) {
      if (polls >= most_polls) {
        raise_flag(signals(stalled), 1);
        raise_flag(signals(ended), 1);
      }
      if (polls % 16 == 0 && concurrent_load(signals(ended)) != 0) return concurrent_load(done(row));
      // The row may be held by a thread that has no core; most are done within a few us.
      KOKKOS_IF_ON_HOST((if (polls % 8192 == 8191) std::this_thread::yield();))
      word = concurrent_load(done(row));
    }
    return word;
  }
};

/// All rows by dynamic scheduling: a lane group takes the next row from a counter, in their order. The rows
/// that a row waits for were taken before, by groups that run and do not wait for it. So the wait ends
/// for any number of groups that run at the same time, and the only group of a launch never waits. Rows
/// that an earlier launch has done are passed over: another launch continues one that ended for lack of room,
/// or because a row waited too long.
template <class Row, class Scalar, class Space>
struct ThresholdRowsDynamically {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  using LaneGroup = typename Row::lane_group_type;
  Row row;
  PollRow<Scalar, Space> wait;
  VectorView<unsigned, Space> next;
  VectorView<const int, Space> order;  ///< in which rows are taken; empty: 0, 1, 2, ...
  VectorView<const int, Space>
      bounds;  ///< piece p is the places bounds(p) up to bounds(p + 1); empty: place p
  unsigned num_pieces;
  int scratch_slots;
  VectorView<double, Space> slab;  ///< of all lane groups
  int slab_slots;
  bool by_column;  ///< slabs have a slot for each column

  KOKKOS_FUNCTION static std::size_t scratch_bytes(int slots) { return RowScratch<Scalar>::bytes(slots); }
  /// In the slab's elements.
  KOKKOS_FUNCTION static std::size_t slab_length(std::int64_t slots) {
    const auto slab_bytes = RowTable<Scalar>::bytes(static_cast<std::size_t>(slots));
    return (slab_bytes + sizeof(double) - 1) / sizeof(double);
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::size_t bytes = scratch_bytes(scratch_slots);
    char* const base = static_cast<char*>(
        team.team_scratch(0).get_shmem_aligned(bytes * static_cast<std::size_t>(team.team_size()), 8));
    const RowScratch<Scalar> scratch(base + bytes * static_cast<std::size_t>(team.team_rank()),
                                     scratch_slots);
    const std::size_t group =
        static_cast<std::size_t>(team.league_rank()) * team.team_size() + team.team_rank();
    auto room = RowTable<Scalar>::at(slab.data() + group * slab_length(slab_slots), slab_slots);
    room.by_column = by_column;
    scratch.table.clear(LaneGroup(team));
    room.clear(LaneGroup(team));
    while (true) {
      unsigned piece = 0;
      Kokkos::single(
          Kokkos::PerThread(team), [&](unsigned& mine) { mine = take_next(); }, piece);
      if (piece >= num_pieces) break;
      const int begin = bounds.extent(0) > 0 ? bounds(piece) : static_cast<int>(piece);
      const int end = bounds.extent(0) > 0 ? bounds(piece + 1) : begin + 1;
      bool ends = false;
      for (int place = begin; place < end && !ends; ++place) {
        const int i = order.extent(0) > 0 ? order(place) : place;
        if (wait.done(i) == 0) ends = !row(LaneGroup(team), i, scratch, room, wait);
      }
      if (ends) break;
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION unsigned take_next() const {
    return concurrent_load(wait.signals(ended)) != 0 ? num_pieces : Kokkos::atomic_fetch_add(&next(0), 1u);
  }
};

/// Copies rows, which lie in the order in which they were done, to a triangle by rows.
template <class Scalar, class Space>
struct CopyRowsInto {
  using Rows = RowTeams<Space>;
  GrowingRows<Scalar, Space> from;
  bool upper;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> cols;
  VectorView<Scalar, Space> values;
  std::int64_t num_rows;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t of_upper = from.begin_of(from.done(i));
      const std::size_t begin = upper ? of_upper : of_upper - static_cast<std::size_t>(from.lower_length(i));
      const std::size_t to = row_ptrs(i);
      const int length = static_cast<int>(row_ptrs(i + 1) - to);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, length), [&](int e) {
        cols(to + e) = from.cols(begin + e);
        values(to + e) = from.values(begin + e);
      });
    });
  }
};

}  // namespace prekond::impl::ilut
