// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/impl/multiply_add.hpp>
#include <prekond/core/operator.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>

#include "core/packed.hpp"

namespace prekond::impl::products {

/// The use that a product makes of a row's sum, the last line of every format's kernels:
/// y_i = product d_i (H x)_i + direct x_i + previous y_i + source b_i for A = D H, D = I where it is empty.
/// A vector with the coefficient 0 is not read. The rounding is written down.
template <class Scalar, class Space>
struct RowUpdate {
  RecurrenceStep<Scalar> step;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;
  MultiVectorView<const Scalar, Space> b = {};
  VectorView<const real_type_t<Scalar>, Space> row_scale = {};

  struct Packed;  ///< what kernels have of it
};

template <class Scalar, class Space>
struct RowUpdate<Scalar, Space>::Packed {
  RecurrenceStep<Scalar> step;
  PackedColumns<const Scalar> x, b;
  PackedColumns<Scalar> y;
  PackedVector<const real_type_t<Scalar>> row_scale;
  int num_columns;

  Packed(const RowUpdate& from)
      : step(from.step),
        x(from.x),
        b(from.b),
        y(from.y),
        row_scale(from.row_scale),
        num_columns(static_cast<int>(from.y.extent(1))) {}

  /// Is it only y = product A x?
  KOKKOS_FUNCTION bool is_product() const {
    return step.direct == Scalar(0) && step.previous == Scalar(0) && step.source == Scalar(0) &&
           row_scale.is_empty();
  }

  /// No coefficient is 0, and no scale?
  KOKKOS_FUNCTION bool is_whole() const {
    return step.direct != Scalar(0) && step.previous != Scalar(0) && step.source != Scalar(0) &&
           row_scale.is_empty();
  }
  /// As operator(). \pre is_whole()
  KOKKOS_FORCEINLINE_FUNCTION void whole(std::int64_t i, int v, const Scalar& sum) const {
    const Scalar direct = multiply_add(step.direct, x(i, v), multiply(step.product, sum));
    y(i, v) = multiply_add(step.source, b(i, v), multiply_add(step.previous, y(i, v), direct));
  }

  KOKKOS_FUNCTION void operator()(std::int64_t i, int v, const Scalar& sum) const {
    Scalar result = multiply(step.product, row_scale.is_empty() ? sum : row_scale(i) * sum);
    if (step.direct != Scalar(0)) result = multiply_add(step.direct, x(i, v), result);
    if (step.previous != Scalar(0)) result = multiply_add(step.previous, y(i, v), result);
    if (step.source != Scalar(0)) result = multiply_add(step.source, b(i, v), result);
    y(i, v) = result;
  }

  /// As operator(), for rows [first, first + count) by one thread, which looks at each coefficient once; the
  /// sums are replaced. Count: that number, or 0 where it is known only at run time. \pre no scale
  template <int Count>
  KOKKOS_FORCEINLINE_FUNCTION void rows(std::int64_t first, int count, int v, Scalar* sums) const {
    const int n = Count > 0 ? Count : count;
    const auto add = [&](const Scalar& factor, const auto& columns) {
      if (factor != Scalar(0))
        for (int p = 0; p < n; ++p) sums[p] = multiply_add(factor, Scalar(columns(first + p, v)), sums[p]);
    };
    for (int p = 0; p < n; ++p) sums[p] = multiply(step.product, sums[p]);
    add(step.direct, x);
    add(step.previous, y);
    add(step.source, b);
    for (int p = 0; p < n; ++p) y(first + p, v) = sums[p];
  }
};

}  // namespace prekond::impl::products
