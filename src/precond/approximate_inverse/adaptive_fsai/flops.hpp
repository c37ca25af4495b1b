// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Operations of the adaptive FSAI's setup, estimated from G.
#include <prekond/matrix/csr_matrix.hpp>
#include <prekond/pattern/supernodes.hpp>

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

template <class Scalar, class Space>
struct SumBlockSteps {
  CsrView<Scalar, Space> g;
  VectorView<const int, Space> begins;
  KOKKOS_FUNCTION void operator()(int k, std::int64_t& rows_of_a, std::int64_t& third_powers,
                                  std::int64_t& second_powers) const {
    const int first = begins(k);
    const std::int64_t b = begins(k + 1) - first;
    const auto m = static_cast<std::int64_t>(g.row_ptrs(first + 1) - g.row_ptrs(first)) - 1;
    rows_of_a += b * m * (m + 1);
    third_powers += m * m * m;
    second_powers += b * m * m;
  }
};

/// Operations of the growth for G's row lengths, estimated as for rows alone, but with one factor a block.
template <class Scalar, class Space>
double estimate_block_flops(const Space& space, const CsrView<Scalar, Space>& a,
                            const CsrView<Scalar, Space>& g, const Supernodes<Space>& supernodes) {
  std::int64_t updates = 0, cubes = 0, squares = 0;  // whole numbers: the same sums in any order
  Kokkos::parallel_reduce("prekond::adaptive_fsai::numeric::estimate_flops",
                          Kokkos::RangePolicy<Space>(space, 0, supernodes.count()),
                          SumBlockSteps<Scalar, Space>{g, supernodes.begins}, updates, cubes, squares);
  const double mean_row = static_cast<double>(a.nnz()) / static_cast<double>(a.num_rows);
  return mean_row * static_cast<double>(updates) + 2 * static_cast<double>(cubes) / 3 +
         2 * static_cast<double>(squares);
}

}  // namespace prekond::impl::adaptive_fsai
