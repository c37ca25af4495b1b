// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_graph.hpp>

#include <algorithm>
#include <cstdint>

namespace prekond {

namespace impl::batched {

template <class Value>
struct BandedSystem {
  int num_rows;
  int lower, upper, leading;
  const Value* values;

  KOKKOS_FORCEINLINE_FUNCTION static constexpr bool rows_are_long() { return false; }
  KOKKOS_FORCEINLINE_FUNCTION int first(int i) const { return i > lower ? i - lower : 0; }
  KOKKOS_FORCEINLINE_FUNCTION int last(int i) const {
    return i < num_rows - 1 - upper ? i + upper : num_rows - 1;
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t place(int i, int j) const {
    return upper + i - j + std::int64_t(j) * leading;
  }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION Scalar row_product(int i, const Scalar* x) const {
    Scalar sum = 0;
    const int end = last(i);
    for (int j = first(i); j <= end; ++j) sum += static_cast<Scalar>(values[place(i, j)]) * x[j];
    return sum;
  }
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_entry(int i, const F& f) const {
    const int begin = first(i), end = last(i);
    for (int j = begin; j <= end; ++j) f(std::size_t(j - begin), j, values[place(i, j)]);
  }
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_col(int i, const F& f) const {
    const int end = last(i);
    for (int j = first(i); j <= end; ++j) f(j);
  }
};

template <class Value>
struct BandedSystems {
  int num_rows;
  int lower, upper, leading;
  const Value* values;
  std::int64_t stride;

  KOKKOS_FORCEINLINE_FUNCTION BandedSystem<Value> system(std::int64_t s) const {
    return {num_rows, lower, upper, leading, values + s * stride};
  }
};

}  // namespace impl::batched

/// A batch of band matrices by columns, in LAPACK's band storage (dgbmv): entry (i, j) of system s, i - lower
/// <= j <= i + upper, is `values(upper + i - j + j leading, s)`. Elements in the corners outside of the
/// matrix are never read. Lanes with one row each read consecutive memory where leading - 1 is small.
///
/// \pre leading > lower + upper, both below num_rows (0 where there are no rows)
template <class Value, class Space>
struct BatchedBanded {
  using value_type = Value;
  using execution_space = Space;
  static constexpr const char* name = "banded";

  std::int64_t num_rows = 0;
  int lower = 0, upper = 0;                    ///< diagonals below and above the main one
  int leading = 1;                             ///< distance from a column to the next
  MultiVectorView<const Value, Space> values;  ///< (leading num_rows) x num_systems

  std::int64_t num_systems() const { return static_cast<std::int64_t>(values.extent(1)); }
  std::int64_t num_entries() const {
    const auto corner = [](std::int64_t k) { return k * (k + 1) / 2; };
    return num_rows == 0 ? 0 : num_rows * (1 + lower + upper) - corner(lower) - corner(upper);
  }
  std::int64_t stored_values() const { return num_rows * leading; }

  impl::batched::BandedSystems<Value> systems() const {
    return {static_cast<int>(num_rows),
            lower,
            upper,
            leading,
            values.data(),
            static_cast<std::int64_t>(values.stride(1))};
  }
};

/// The pattern by rows, which is the whole band. Fences.
template <class Value, class Space>
CsrGraph<Space> csr_pattern(const Space& space, const BatchedBanded<Value, Space>& a);

}  // namespace prekond
