// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

#include <cstdint>
#include <type_traits>

namespace prekond {

/// The quantities that the order of the rows decides. Columns >= num_rows are left out.
struct OrderStatistics {
  std::int64_t bandwidth = 0;  ///< the largest |i - j| of an entry
  std::int64_t profile = 0;    ///< sum over rows of i - j, j the first column of row i where that is < i
  std::int64_t levels = 0;     ///< count_levels
};

/// Bandwidth and profile on `space`, one kernel of integers; count_levels. \pre sorted rows
template <class Space>
OrderStatistics order_statistics(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a);

/// The levels of the lower triangle of A: the steps that a solve with it takes where every row is computed as
/// soon as those that it needs are. Row i has the level 1 + max of the levels of its columns j < i; the
/// result is the largest, 0 where there is no row.
///
/// Cost: that of level_schedule without the sort. Fences.
template <class Space>
std::int64_t count_levels(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a);

}  // namespace prekond
