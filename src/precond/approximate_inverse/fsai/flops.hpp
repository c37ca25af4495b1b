// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The operations of the dense systems of a setup's rows.
#include "precond/approximate_inverse/fsai/setup.hpp"

namespace prekond::impl::fsai {

template <class Space>
struct SumRowOrders {
  CsrGraphView<Space> pattern;
  KOKKOS_FUNCTION void operator()(int i, std::int64_t& third_powers, std::int64_t& second_powers) const {
    const auto m = static_cast<std::int64_t>(pattern.row_ptrs(i + 1) - pattern.row_ptrs(i));
    third_powers += m * m * m;
    second_powers += m * m;
  }
};

template <class Space>
struct SumBlockOrders {
  BlockOrder<Space> order;
  KOKKOS_FUNCTION void operator()(int k, std::int64_t& third_powers) const {
    const auto m = static_cast<std::int64_t>(order(k));
    third_powers += m * m * m;
  }
};

/// m^3 / 3 + m^2 for each row of m entries, the first of it once for a block's last row.
template <class Space>
double count_flops(const Space& space, const char* label, const CsrGraphView<Space>& pattern,
                   const Supernodes<Space>& supernodes) {
  std::int64_t cubes = 0, squares = 0;  // whole numbers: the same sums in any order
  Kokkos::parallel_reduce(label, Kokkos::RangePolicy<Space>(space, 0, pattern.num_rows),
                          SumRowOrders<Space>{pattern}, cubes, squares);
  if (supernodes.count() > 0) {
    const BlockOrder<Space> order{pattern, {supernodes.begins}};
    Kokkos::parallel_reduce(label, Kokkos::RangePolicy<Space>(space, 0, supernodes.count()),
                            SumBlockOrders<Space>{order}, cubes);
  }
  return static_cast<double>(cubes) / 3 + static_cast<double>(squares);
}

}  // namespace prekond::impl::fsai
