// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Operations of the adaptive FSAI's setup, estimated from G.
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>

namespace prekond::impl::adaptive_fsai {

template <class Scalar, class Space>
struct SumRowSteps {
  CsrView<Scalar, Space> g;
  KOKKOS_FUNCTION void operator()(int i, std::int64_t& rows_of_a, std::int64_t& third_powers) const {
    const auto m = static_cast<std::int64_t>(g.row_ptrs(i + 1) - g.row_ptrs(i)) - 1;
    rows_of_a += m * (m + 1);
    third_powers += m * m * m;
  }
};

/// Operations of Algorithm 1 for G's row lengths, with m members in a row and a the mean row length of A:
/// step k updates the gradient by k rows of A and borders the inverse factor, so a row costs about 2 (a m (m
/// + 1) / 2 + m^3 / 3); on a kept pattern only the factor's part. The rows' own lengths in A would cost 2 %
/// of the setup to read.
template <class Scalar, class Space>
double estimate_flops(const Space& space, const CsrView<Scalar, Space>& a, const CsrView<Scalar, Space>& g,
                      bool kept) {
  std::int64_t updates = 0, cubes = 0;  // whole numbers: the same sums in any order
  Kokkos::parallel_reduce("prekond::adaptive_fsai::numeric::estimate_flops",
                          Kokkos::RangePolicy<Space>(space, 0, g.num_rows), SumRowSteps<Scalar, Space>{g},
                          updates, cubes);
  const double mean_row = static_cast<double>(a.nnz()) / static_cast<double>(a.num_rows);
  return (kept ? 0 : mean_row * static_cast<double>(updates)) + 2 * static_cast<double>(cubes) / 3;
}

}  // namespace prekond::impl::adaptive_fsai
