// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// What preconditioners know of the shared pattern: found once, on the device, for all systems.
#include <prekond/batched/options.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/pattern/level_schedule.hpp>

namespace prekond::impl::batched {

/// Products of two entries of factors that are subtracted from a third, by places of the pattern; those of
/// the list's entry k are ptrs(k) .. ptrs(k + 1) - 1. `num_entries + i` stands for the diagonal entry of row
/// i, which there is even where A has none.
template <class Space>
struct Products {
  Vector<std::size_t, Space> ptrs;
  Vector<int, Space> first, second;
};

/// The parts of an analysis that a preconditioner needs, as bits.
enum AnalysisPart : unsigned {
  triangles = 1,          ///< middle, lower, upper
  steps = 2,              ///< for ILU by rows
  targets = 4,            ///< for sweeps over entries
  cholesky = 8,           ///< mirror and targets of IC; refuses patterns that are not symmetric
  local_power = 16,       ///< `local` is the pattern of |A|^power
  local_blocks = 32,      ///< `local` is of diagonal blocks
  local_lower = 64,       ///< `local` is the lower triangle of the pattern of |A|^power; transposed, places
  local_triangles = 128,  ///< `local` and `local_upper` are the patterns of |L|^power and |U|^power
};

template <class Space>
struct Analysis {
  std::int64_t num_rows = 0;
  std::int64_t num_entries = 0;
  CsrGraph<Space> owned;  ///< of formats without row pointers
  CsrGraphView<Space> pattern;
  Vector<int, Space> middle;  ///< of row i, the first place with a column >= i
  LevelSchedule<Space> lower, upper;
  /// Of the place of l_ik: `second`, u_kj, times l_ik is subtracted from the place `first`, of entry (i, j).
  Products<Space> steps;
  /// Of the place of (i, j): l_ik at `first` and u_kj at `second` for k < i, j (of IC: l_jk, and j <= i).
  Products<Space> targets;
  Vector<int, Space> mirror;  ///< of the place of (i, j), that of (j, i)
  CsrGraph<Space> local;      ///< of an inverse that is made row by row
  int longest_local_row = 0;
  CsrGraph<Space> local_upper;
  CsrGraph<Space> transposed;  ///< of `local`
  Vector<int, Space> places;   ///< of an entry of `transposed`, in `local`
};

/// \throws InputError as BatchedSolver::symbolic. Fences.
template <class Space>
void analyse(const Space& space, Analysis<Space>& analysis, unsigned parts, const BatchedOptions& options);

}  // namespace prekond::impl::batched
