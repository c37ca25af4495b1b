// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/pattern/reordering.hpp>

namespace prekond::reordering {

/// The pattern of A + A^T whose rows have their columns by ascending rank: the order in which the search
/// numbers the neighbours of a row.
template <class Space>
struct RankedGraph {
  CsrGraph<Space> graph;
  Vector<int, Space> rank;  ///< place of a row by (degree, index); the degree leaves the diagonal out
};

template <class Space>
RankedGraph<Space> rank_neighbours(const Space& space, const CsrGraphView<Space>& a);

/// How the order is found: by levels, as long as they are wide or however narrow they are, or by one host
/// thread. Devices use the first, hosts the last.
enum class Search { by_wide_levels, by_levels, sequential };

template <class Space>
Ordering<Space> reverse_cuthill_mckee(const Space& space, const CsrGraphView<Space>& a, Search search);

}  // namespace prekond::reordering
