// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/scalar.hpp>
#include "matrix/find_entry.hpp"

namespace prekond::impl {

/// |a_ii|: the root of the product of two is the scale of an entry.
template <class Scalar, class Space>
struct ScaleRows {
  CsrView<Scalar, Space> a;
  bool unit_diagonal;
  VectorView<double, Space> scale;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::size_t place = 0;
    scale(i) = unit_diagonal ? 1.0 : Kokkos::abs(to_double(find_entry(a, i, i, place)));
  }
};

}  // namespace prekond::impl
