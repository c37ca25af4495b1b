// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Which rows each device sets up, and which it reads for that.
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <cstdint>
#include <vector>

namespace prekond::impl::devices {

/// Rows begin .. end - 1.
struct RowRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  bool operator==(const RowRange&) const = default;
};

/// All rows in `count` ranges of about the same work, in their order; whole blocks of `block_rows` rows.
/// Ranges may be empty. The work of a row with m entries in own columns is estimated as 1 + m^2, of which the
/// sum is one of integers: the same ranges every time. Fences.
template <class Space>
std::vector<RowRange> ranges_of_equal_work(const Space& space, const CsrGraphView<Space>& a, int count,
                                           int block_rows);

/// The smallest range of whole blocks that has the rows that `own` depends on: those that `reach.levels`
/// steps lead to. Empty where `own` is. Cost: a reduction over the range's rows for each step that makes it
/// larger, over all rows where the steps lead both ways. Fences.
template <class Space>
RowRange range_read(const Space& space, const CsrGraphView<Space>& a, RowRange own, const RowReach& reach);

}  // namespace prekond::impl::devices
