// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

namespace prekond::impl {

/// The lengths of those rows of B, together, that the entries begin <= e < end of A lead to: the number of
/// products that these make. By a vector of lanes.
template <class Space, class Member>
KOKKOS_FUNCTION std::size_t lengths_of_rows(const Member& team, const CsrGraphView<Space>& a,
                                            std::size_t begin, std::size_t end,
                                            const CsrGraphView<Space>& b) {
  std::size_t sum = 0;
  Kokkos::parallel_reduce(
      Kokkos::ThreadVectorRange(team, begin, end),
      [&](std::size_t e, std::size_t& mine) {
        const int k = a.col_idxs(e);
        mine += b.row_ptrs(k + 1) - b.row_ptrs(k);
      },
      sum);
  return sum;
}

}  // namespace prekond::impl
