// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The numeric phase of threshold factorisations, which makes their patterns too.
#include <prekond/pattern/fill.hpp>
#include <prekond/precond/ilut.hpp>

#include "pattern/levels/row_blocks.hpp"
#include "precond/factorization/ilu/row_breakdowns.hpp"
#include "precond/triangular/scaled_triangles.hpp"

#include <cstdint>
#include <string>

namespace prekond::impl::ilut {

using sweeps::Factors;

struct ThresholdTuning {
  static constexpr int lanes = 32;
  static constexpr int team_threads = 128;
  static constexpr int scratch_slots = 256;  ///< 4 kB a row: 56 rows at a time on an SM of 227 KiB
  static constexpr int least_slab_slots = 1024;
  static constexpr std::int64_t slab_bytes = std::int64_t(256) << 20;  ///< of all rows in work, or one row's
  static constexpr int entries_per_row = 32;                           ///< room of L and U in the beginning
  static constexpr std::int64_t most_polls = std::int64_t(1) << 24;    ///< some 10 s
};

/// The dropping rules and the bounds of the memory.
template <class Space>
struct ThresholdRules {
  std::string owner;
  bool symmetric = false;
  int p = 10;
  double tau = 1e-3;
  double alpha = 0;  ///< A + alpha diag(A)
  std::int64_t memory_budget = std::int64_t(16) << 30;
  int scratch_slots = ThresholdTuning::scratch_slots;        ///< a power of two
  int least_slab_slots = ThresholdTuning::least_slab_slots;  ///< likewise
  bool by_column = true;                                     ///< a host's tables may have a slot per column
  std::int64_t first_entries = -1;                           ///< room of L and U; -1: by the rows
  std::int64_t most_polls = ThresholdTuning::most_polls;
  Vector<int, Space> order;         ///< of the first launch, see ThresholdRowsDynamically
  levels::RowBlocks<Space> blocks;  ///< a thread of a host takes one at a time; none: a row at a time
};

/// The strict triangles with their values, and facts of the factorisation.
template <class Scalar, class Space>
struct ThresholdFactors {
  FillPattern<Space> pattern;  ///< the two triangles
  Factors<Scalar, Space> factors;
  std::int64_t cut_rows = 0;  ///< rows of which more than p entries were above the tolerance
  int launches = 0;
  bool stalled = false;  ///< a row waited too long, and one lane group did the other rows
};

/// The factors of A + alpha diag(A), where `pattern` has A's triangles and `a` their values, scaled to the
/// unit diagonal. Fences. \throws InputError where more than `memory_budget` are needed
template <class Scalar, class Space>
ThresholdFactors<Scalar, Space> factor(const Space& space, const FillPattern<Space>& pattern,
                                       const Factors<Scalar, Space>& a, const ThresholdRules<Space>& rules,
                                       ilu::Outcome& outcome);

}  // namespace prekond::impl::ilut
