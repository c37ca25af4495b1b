// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

#include <cstdint>

namespace prekond::impl::amg {

/// y = factor x, or y + factor x. x and y may be the same.
template <class Scalar, class Space>
struct Combine {
  Scalar factor;
  MultiVectorView<const Scalar, Space> x;
  bool add;
  MultiVectorView<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (std::size_t k = 0; k < y.extent(1); ++k) y(i, k) = factor * x(i, k) + (add ? y(i, k) : Scalar(0));
  }
};

template <class Scalar, class Space>
void combine(const Space& space, Scalar factor, MultiVectorView<const Scalar, Space> x, bool add,
             MultiVectorView<Scalar, Space> y) {
  Kokkos::parallel_for("prekond::amg::combine",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(
                           space, 0, static_cast<std::int64_t>(y.extent(0))),
                       Combine<Scalar, Space>{factor, x, add, y});
}

}  // namespace prekond::impl::amg
