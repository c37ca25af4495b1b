// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// ILU(0) by blocks: its pattern and its numbers.
#include <prekond/pattern/fill.hpp>

#include "precond/factorization/ilu/row_breakdowns.hpp"
#include "precond/setup/source_blocks.hpp"
#include "precond/triangular/row_schedule.hpp"
#include "precond/triangular/solve_pair.hpp"

#include <cstdint>

namespace prekond::impl::block_ilu {

template <class Scalar, class Space>
struct Symbolic {
  int block_size, padding;
  std::int64_t num_blocks;  ///< of A
  FillPattern<Space> pattern;
  triangular::SolvePair<Scalar, Space> solves;  ///< without values
  RowSchedule<Space> schedule{};
  /// Up to this number of threads one of a host has all rows, in their order; 1 where the user chose
  /// a schedule.
  int threads_in_order = 1;
  int longest = 0;  ///< blocks of a row of the factors
};

/// M = D (I + N) (I + U): blocks by columns.
template <class Scalar, class Space>
struct Factors {
  Vector<Scalar, Space> lower, upper, inverse;  ///< N, U, D^-1
};

/// Adds the schedule, and what the rows are worked on with. Fences. \pre the pattern is there, and the levels
/// are those of its lower triangle
template <class Scalar, class Space>
void schedule_factorisation(const Space& space, const LevelSchedule<Space>& levels, FactorSchedule how,
                            Symbolic<Scalar, Space>& symbolic);

/// The factors of A + alpha diag|A|. Fences.
template <class Scalar, class Space>
Factors<Scalar, Space> factor(const Space& space, const SourceBlocks<Scalar, Space>& a,
                              const Symbolic<Scalar, Space>& symbolic, double alpha, ilu::Outcome& outcome);

}  // namespace prekond::impl::block_ilu
