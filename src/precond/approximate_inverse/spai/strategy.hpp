// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// How many lanes a column of SPAI gets, and where its working data lies.
#include <prekond/precond/spai.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

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

/// s with 2^(s - 1) < x <= 2^s.
inline int power_above(double x) {
  int s = 0;
  for (double power = 1; power < x; power *= 2) ++s;
  return s;
}

/// A strategy and the numbers that chose it: 2^(alpha - 1) < n2max <= 2^alpha, likewise beta with n2avg.
struct Choice {
  Strategy strategy;
  Strategy predicted;  ///< by the paper's rule
  int alpha;
  int beta;
};

/// The selection of Chu et al. (2023), Fig. 2: one group size where the columns have nearly the same numbers
/// of entries, else one for each column. The paper takes the first for alpha = beta and for its examples with
/// alpha = beta + 1, and the second from alpha = beta + 3 on; between them, where it has no example, a group
/// of n2max lanes would have four for an entry, so that the second is taken.
///
/// `auto` follows it where local matrices are stored. Streamed columns are always sorted: a group size of
/// their own saves them work as well as room (setups are up to 2.2 times as fast on the matrices of the
/// paper's Table 3).
inline Choice choose_strategy(Strategy asked, std::int64_t n2_max, double n2_avg, bool streamed = false) {
  const int alpha = power_above(static_cast<double>(n2_max)), beta = power_above(n2_avg);
  const Strategy predicted = alpha - beta <= 1 ? Strategy::constant : Strategy::sorted;
  if (asked != Strategy::automatic) return {asked, predicted, alpha, beta};
  return {streamed ? Strategy::sorted : predicted, predicted, alpha, beta};
}

inline std::string strategy_note(const Choice& choice, Strategy asked, std::int64_t n2_max, double n2_avg) {
  char numbers[160];
  std::snprintf(numbers, sizeof(numbers), "n2 is %lld at most and %.2f on average, alpha = %d, beta = %d",
                static_cast<long long>(n2_max), n2_avg, choice.alpha, choice.beta);
  const auto word = [](Strategy strategy) { return strategy == Strategy::constant ? "constant" : "sorted"; };
  std::string note = std::string("strategy = ") + word(choice.strategy) + " was " +
                     (asked == Strategy::automatic ? "chosen" : "asked for") + ": " + numbers;
  if (choice.strategy != choice.predicted)
    note += std::string("; the paper's rule says ") + word(choice.predicted);
  return note;
}

/// q = min(2^s, nt) with 2^(s - 1) < n2 <= 2^s, at least 8: eq. 1 to 4.
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

/// `lanes` by the strategy; `bytes` of a column with all of its data, `near_bytes` without the local matrix
/// (as many where that does not come apart).
inline Launch choose_launch(const Tuning& tuning, const StageLimits& limits, int lanes, int n1, bool grows,
                            std::size_t bytes, std::size_t near_bytes) {
  while (grows && lanes < 32 && n1 > tuning.rows_per_lane * lanes) lanes *= 2;
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
