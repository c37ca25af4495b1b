// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_graph.hpp>

#include <cstdint>

namespace prekond {

namespace impl::batched {

template <class Value>
struct DenseSystem {
  int num_rows;
  std::int64_t leading;
  const Value* values;

  KOKKOS_FORCEINLINE_FUNCTION static constexpr bool rows_are_long() { return false; }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION Scalar row_product(int i, const Scalar* x) const {
    Scalar sum = 0;
    const Value* place = values + i;
    for (int j = 0; j < num_rows; ++j, place += leading) sum += static_cast<Scalar>(*place) * x[j];
    return sum;
  }
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_entry(int i, const F& f) const {
    for (int j = 0; j < num_rows; ++j) f(std::size_t(j), j, values[i + j * leading]);
  }
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_col(int, const F& f) const {
    for (int j = 0; j < num_rows; ++j) f(j);
  }
};

template <class Value>
struct DenseSystems {
  int num_rows;
  std::int64_t leading;
  const Value* values;
  std::int64_t stride;

  KOKKOS_FORCEINLINE_FUNCTION DenseSystem<Value> system(std::int64_t s) const {
    return {num_rows, leading, values + s * stride};
  }
};

}  // namespace impl::batched

/// A batch of full matrices by columns, as in LAPACK: entry (i, j) of system s is `values(i + j leading, s)`.
/// Lanes with one row each read consecutive memory.
///
/// \pre leading >= num_rows
template <class Value, class Space>
struct BatchedDense {
  using value_type = Value;
  using execution_space = Space;
  static constexpr const char* name = "dense";

  std::int64_t num_rows = 0;
  std::int64_t leading = 0;                    ///< distance from a column to the next
  MultiVectorView<const Value, Space> values;  ///< (leading num_rows) x num_systems

  std::int64_t num_systems() const { return static_cast<std::int64_t>(values.extent(1)); }
  std::int64_t num_entries() const { return num_rows * num_rows; }
  std::int64_t stored_values() const { return leading * num_rows; }

  impl::batched::DenseSystems<Value> systems() const {
    return {static_cast<int>(num_rows), leading, values.data(), static_cast<std::int64_t>(values.stride(1))};
  }
};

/// The pattern of full rows. Does not fence.
template <class Value, class Space>
CsrGraph<Space> csr_pattern(const Space& space, const BatchedDense<Value, Space>& a);

}  // namespace prekond
