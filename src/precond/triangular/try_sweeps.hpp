// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Sweeps of Jacobi's method on a fixed vector, which show whether they converge.
#include <prekond/core/options.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>
#include "matrix/counter_hash.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace prekond::impl::triangular {

/// The changes of a vector by the first and the last sweep, and the number of sweeps.
struct Changes {
  double first = 0, last = 0;
  int sweeps = 0;
};

/// The reason why sweeps are refused; empty where they are not.
inline std::string divergence(const Changes& changes) {
  if (std::isfinite(changes.first) && std::isfinite(changes.last) && changes.last <= changes.first) return {};
  return "jacobi was refused: its last sweep changed a vector " +
         to_string(OptionValue(changes.last / changes.first)) + " times as much as the first";
}

/// ", 3 sweeps", and what they reach where a tolerance was asked for.
inline std::string describe_sweeps(const Changes& changes, double tolerance) {
  const std::string text =
      ", " + std::to_string(changes.sweeps) + (changes.sweeps == 1 ? " sweep" : " sweeps");
  if (tolerance == 0 || changes.sweeps == 0) return text;
  const std::string wanted = to_string(OptionValue(tolerance));
  if (changes.last <= tolerance * changes.first) return text + " (changes below " + wanted + " of the first)";
  return text + " (changes of " + to_string(OptionValue(changes.last / changes.first)) +
         " of the first, not below " + wanted + ")";
}

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

/// The sweeps to be done, and their changes: y_0 = scale(x) of a fixed x, y_(k + 1) = sweep(y_0, y_k).
/// Without a tolerance `most` sweeps are done. With one it is the least number, `least` or more, of which the
/// last changes y by at most that part of the first one's change. Changes that decide nothing are not
/// computed. Fences.
///
/// `scale(x)` returns S x, x itself where S = I; `sweep(source, from, to)` writes `to`.
template <class Scalar, class Space, class Scale, class Sweep>
Changes try_sweeps(const Space& space, std::int64_t num_rows, int most, double tolerance, int least,
                   const Scale& scale, const Sweep& sweep) {
  using Owned = MultiVector<Scalar, Space>;
  using Const = MultiVectorView<const Scalar, Space>;
  Changes changes;
  if (most == 0) return changes;
  const Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>> rows(space, 0, num_rows);
  const auto vector = [&](const char* label) { return allocate<Owned>(space, label, num_rows, 1); };
  const Owned x = vector("prekond::triangular::numeric::x");
  const Owned y = vector("prekond::triangular::numeric::y");
  const Owned other = vector("prekond::triangular::numeric::other");
  Kokkos::parallel_for("prekond::triangular::numeric::fixed_vector", rows, FixedVector<Scalar, Space>{x});
  const Owned source = scale(x);
  Const from = source;
  for (int k = 1; k <= most; ++k) {
    const Owned to = k % 2 == 1 ? y : other;
    sweep(source, from, to);
    const bool may_be_last = k == most || (tolerance > 0 && k >= least);
    if (k == 1 || may_be_last) {
      changes.last = 0;
      Kokkos::parallel_reduce("prekond::triangular::numeric::change", rows,
                              LargestChange<Scalar, Space>{from, to}, Kokkos::Max<double>(changes.last));
    }
    if (k == 1) changes.first = changes.last;
    changes.sweeps = k;
    if (may_be_last && tolerance > 0 && changes.last <= tolerance * changes.first) break;
    from = to;
  }
  return changes;  // the last change was waited for: the vectors may go
}

}  // namespace prekond::impl::triangular
