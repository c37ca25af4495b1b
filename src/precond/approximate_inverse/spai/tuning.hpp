// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// How many lanes a column of SPAI gets, and where its working data lies.
#include <cstddef>

namespace prekond::impl::spai {

/// Where a column's working data lies, and who works on it.
enum class Unit {
  vector8,   ///< 8, 16 or 32 lanes, all in scratch
  vector16,  //
  vector32,  //
  team,      ///< all in scratch
  apart,     ///< a team: indices and the panel in scratch, the local matrix in a slab
  slab       ///< all in a slab: a thread of a host, a team of a device
};

/// The memory that a stage of a column's setup may take.
struct StageLimits {
  std::size_t vector_scratch;  ///< bytes of a column that one vector does
  std::size_t team_scratch;    ///< bytes at level 0 of a team
};

/// The numbers of a device. The paper has a decision tree for each stage and device; the stages of a column
/// are one kernel here but for the first, so that there are two lines of limits.
struct Tuning {
  int max_lanes;                 ///< nt: lanes of a column at most
  int rows_per_lane;             ///< a vector is doubled while a lane has more rows
  int columns_per_team;          ///< of vectors of 32 lanes; shorter ones have more
  std::size_t bytes_per_vector;  ///< a team has a vector of lanes for each of them, so that scratch limits no
                                 ///< more than the columns in flight
  int lanes_of_processor;        ///< at most
  StageLimits find;              ///< counting I: a hash table
  StageLimits solve;             ///< I, the local matrix, its QR and the solve
};

/// The numbers of an H200: 228 kB of scratch a processor, of which a Kokkos team gets 48 kB at most; 16
/// vectors a processor.
inline constexpr Tuning device_tuning{256, 4, 8, 14336, 2048, {4352, 48000}, {16384, 48000}};
/// A thread's caches are its scratch.
inline constexpr Tuning host_tuning{1, 1 << 20, 1, std::size_t(1) << 40, 1, {0, 0}, {0, 0}};

/// q = min(2^s, nt) with 2^(s - 1) < n2 <= 2^s, at least 8: eq. 1 to 4 of Chu et al. (2023), of a column's
/// own length ("sorted"). Their other strategy, the longest column's q for all, was never the faster one.
inline int group_size(const Tuning& tuning, int n2) {
  int lanes = 8;
  while (lanes < n2 && lanes < tuning.max_lanes) lanes *= 2;
  return lanes;
}

/// How the columns of a bin are launched.
struct Launch {
  Unit unit;
  int vectors;  ///< of a team's column, or columns of a team
};

/// `lanes`: see group_size; `bytes` of a column with all of its data, `near_bytes` without the local matrix
/// (as many where that does not come apart).
inline Launch choose_launch(const Tuning& tuning, const StageLimits& limits, int lanes, int n1,
                            std::size_t bytes, std::size_t near_bytes) {
  while (lanes < 32 && n1 > tuning.rows_per_lane * lanes) lanes *= 2;
  if (lanes <= 32 && bytes <= limits.vector_scratch) {
    const auto fit = static_cast<int>(limits.team_scratch / (bytes > 0 ? bytes : 1));
    const int most = tuning.columns_per_team * 32 / lanes;
    const Unit unit = lanes == 8 ? Unit::vector8 : (lanes == 16 ? Unit::vector16 : Unit::vector32);
    return {unit, fit < 1 ? 1 : (fit < most ? fit : most)};
  }
  const std::size_t in_scratch = bytes <= limits.team_scratch ? bytes : near_bytes;
  const auto filling = static_cast<int>(in_scratch / tuning.bytes_per_vector) + 1;
  int vectors = lanes > 32 ? lanes / 32 : 1;
  if (vectors < filling) vectors = filling;
  if (bytes > limits.team_scratch && vectors < 4) vectors = 4;
  if (vectors > tuning.max_lanes / 32) vectors = tuning.max_lanes / 32;
  if (vectors < 1) vectors = 1;
  if (bytes <= limits.team_scratch) return {Unit::team, vectors};
  if (near_bytes < bytes && near_bytes <= limits.team_scratch) return {Unit::apart, vectors};
  return {Unit::slab, vectors};
}

}  // namespace prekond::impl::spai
