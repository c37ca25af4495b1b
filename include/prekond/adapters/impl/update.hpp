// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

namespace prekond::impl {

template <class Scalar, class Space>
struct UpdateRow {
  Scalar alpha;
  MultiVectorView<const Scalar, Space> z;
  Scalar beta;
  MultiVectorView<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(int i) const {
    for (std::size_t k = 0; k < y.extent(1); ++k) {
      const Scalar old = beta == Scalar(0) ? Scalar(0) : beta * y(i, k);
      y(i, k) = alpha == Scalar(0) ? old : alpha * z(i, k) + old;
    }
  }
};

/// y = alpha z + beta y; with alpha = 0, z is not read, with beta = 0, y is not.
template <class Scalar, class Space>
void update(const Space& space, Scalar alpha, MultiVectorView<const Scalar, Space> z, Scalar beta,
            MultiVectorView<Scalar, Space> y) {
  Kokkos::parallel_for("prekond::tpetra::apply::update", Kokkos::RangePolicy<Space>(space, 0, y.extent(0)),
                       UpdateRow<Scalar, Space>{alpha, z, beta, y});
}

}  // namespace prekond::impl
