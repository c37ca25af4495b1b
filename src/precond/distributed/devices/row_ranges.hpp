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
  KOKKOS_FUNCTION std::int64_t size() const { return end - begin; }
  KOKKOS_FUNCTION bool operator==(const RowRange& other) const {
    return begin == other.begin && end == other.end;
  }
};

/// All rows in `count` ranges of about the same work, in their order; whole blocks of `block_rows` rows.
/// Ranges may be empty. The work of a row with m entries in own columns is taken to be 1 + m, which is an
/// integer: the same ranges every time. Fences.
///
/// For four ranges of a matrix whose first half has 7 entries a row and whose second half has 40, the slowest
/// takes on one thread of a host, over their mean, for fsai, adaptive_fsai, nonsymmetric_fsai and isai:
/// 1.05 to 1.47 by 1 + m, 1.2 to 3.0 by 1 + m^2, 1.25 to 3.0 by 1 + m^3, 1.1 to 2.9 by the number of rows
/// (poisson3d:26 before elasticity3d:14, convection_diffusion3d:24 before irregular3d:16,mean=40,longest=80).
template <class Space>
std::vector<RowRange> ranges_of_equal_work(const Space& space, const CsrGraphView<Space>& a, int count,
                                           int block_rows);

/// For each range the smallest one of whole blocks that has the rows which its own depend on: those that
/// `reach.levels` steps lead to. Empty where the range is. Cost: a reading of each row's first and last entry
/// for each range that has it, and two launches a step for all of them; where the steps lead both ways, two
/// reductions for each step and range, over the range's rows and over all rows. Fences.
template <class Space>
std::vector<RowRange> ranges_read(const Space& space, const CsrGraphView<Space>& a,
                                  const std::vector<RowRange>& own, const RowReach& reach);

}  // namespace prekond::impl::devices
