// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Sweeps of Jacobi's method on a fixed vector, which show whether they converge.
#include <prekond/core/options.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>
#include "matrix/counter_hash.hpp"

#include <cmath>
#include <cstdint>
#include <string>

namespace prekond::impl::triangular {

/// Numbers in (-1, 1].
template <class Scalar, class Space>
struct FixedVector {
  MultiVectorView<Scalar, Space> x;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    x(i, 0) = static_cast<Scalar>(2 * unit_interval(counter_hash(1, static_cast<std::uint64_t>(i))) - 1);
  }
};

/// max |x_i - y_i|; infinity where that is not finite.
template <class Scalar, class Space>
struct LargestChange {
  MultiVectorView<const Scalar, Space> x, y;
  KOKKOS_FUNCTION void operator()(std::int64_t i, double& most) const {
    const auto change = static_cast<double>(Kokkos::abs(x(i, 0) - y(i, 0)));
    if (!is_finite(change))
      most = Kokkos::Experimental::infinity_v<double>;
    else if (change > most)
      most = change;
  }
};

/// Does sweeps with a fixed x, y_0 = scale(x), y_(k + 1) = sweep(y_0, y_k). \returns the reason for refusing
/// them where the last one changes y by more than the first did; else nothing. Fences.
///
/// `scale(x)` returns S x, x itself where S = I; `sweep(source, from, to)` writes `to`.
template <class Scalar, class Space, class Scale, class Sweep>
std::string reason_against_sweeps(const Space& space, std::int64_t num_rows, int sweeps, const Scale& scale,
                                  const Sweep& sweep) {
  using Owned = MultiVector<Scalar, Space>;
  using Const = MultiVectorView<const Scalar, Space>;
  if (sweeps == 0) return {};
  const Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>> rows(space, 0, num_rows);
  const auto vector = [&](const char* label) { return allocate<Owned>(space, label, num_rows, 1); };
  const Owned x = vector("prekond::triangular::numeric::x");
  const Owned y = vector("prekond::triangular::numeric::y");
  const Owned other = vector("prekond::triangular::numeric::other");
  Kokkos::parallel_for("prekond::triangular::numeric::fixed_vector", rows, FixedVector<Scalar, Space>{x});
  const Owned source = scale(x);
  Const from = source;
  double first = 0, last = 0;
  for (int k = 1; k <= sweeps; ++k) {
    const Owned to = k % 2 == 1 ? y : other;
    sweep(source, from, to);
    if (k == 1 || k == sweeps) {
      last = 0;
      Kokkos::parallel_reduce("prekond::triangular::numeric::change", rows,
                              LargestChange<Scalar, Space>{from, to}, Kokkos::Max<double>(last));
    }
    if (k == 1) first = last;
    from = to;
  }
  // The last change was waited for: the vectors may go.
  if (std::isfinite(first) && std::isfinite(last) && last <= first) return {};
  return "jacobi was refused: its last sweep changed a vector " + to_string(OptionValue(last / first)) +
         " times as much as the first";
}

}  // namespace prekond::impl::triangular
