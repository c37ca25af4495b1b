// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The analysis of the shared pattern for preconditioners, computed once on the device for all systems.
#include <prekond/batched/options.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/pattern/level_schedule.hpp>

namespace prekond::impl::batched {

/// Products of two entries of factors that are subtracted from a third, as places of the pattern; ptrs(k) ..
/// ptrs(k + 1) - 1 are the products of entry k. The place `num_entries + i` is the diagonal entry of row i,
/// which exists even where A has none.
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
  local_blocks = 32,      ///< `local` consists of diagonal blocks
  local_lower = 64,       ///< `local` is the lower triangle of the pattern of |A|^power; transposed, places
  local_triangles = 128,  ///< `local` and `local_upper` are the patterns of |L|^power and |U|^power
};

template <class Space>
struct Analysis {
  std::int64_t num_rows = 0;
  std::int64_t num_entries = 0;
  CsrGraph<Space> owned;  ///< for formats without row pointers
  CsrGraphView<Space> pattern;
  Vector<int, Space> middle;  ///< the first place of row i with a column >= i
  LevelSchedule<Space> lower, upper;
  /// For the place of l_ik: l_ik times u_kj at `second` is subtracted from entry (i, j) at `first`.
  Products<Space> steps;
  /// For the place of (i, j): l_ik at `first` and u_kj at `second` for k < i, j (with IC l_jk, and j <= i).
  Products<Space> targets;
  Vector<int, Space> mirror;  ///< the place of (j, i) for that of (i, j)
  CsrGraph<Space> local;      ///< the pattern of an inverse that is made row by row
  int longest_local_row = 0;
  CsrGraph<Space> local_upper;
  CsrGraph<Space> transposed;  ///< the transpose of `local`
  Vector<int, Space> places;   ///< the place in `local` of an entry of `transposed`
};

/// \throws InputError as BatchedSolver::symbolic. Fences.
template <class Space>
void analyse(const Space& space, Analysis<Space>& analysis, unsigned parts, const BatchedOptions& options);

}  // namespace prekond::impl::batched
