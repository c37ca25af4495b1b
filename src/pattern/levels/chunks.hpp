// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/pattern/level_schedule.hpp>

namespace prekond::impl::levels {

/// A schedule's rows in chunks, each of one level, in the order of the levels: what teams take one by one.
template <class Space>
struct Chunks {
  Vector<int, Space> bounds;  ///< of chunk c the places bounds(2 c) up to bounds(2 c + 1)
  int count = 0;
};

/// Chunks of up to `rows_per_chunk` rows. Fences.
template <class Space>
Chunks<Space> make_chunks(const Space& space, const LevelSchedule<Space>& schedule, int rows_per_chunk);

/// How many of `chunks` chunks of `num_levels` levels are in progress at a time where those of that many mean
/// levels are useful: more of them would only poll.
inline std::int64_t chunks_of_levels(int chunks, std::int64_t levels_on_their_way, int num_levels) {
  return (levels_on_their_way * chunks + num_levels - 1) / num_levels;
}

}  // namespace prekond::impl::levels
