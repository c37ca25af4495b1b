// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_graph.hpp>

#include <cstdint>

namespace prekond {

namespace impl::batched {

template <class Value>
struct EllSystem {
  int num_rows;
  int width;
  const int* col_idxs;
  const Value* values;

  KOKKOS_FORCEINLINE_FUNCTION static constexpr bool rows_are_long() { return false; }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION Scalar row_product(int i, const Scalar* x) const {
    Scalar sum = 0;
    std::size_t place = static_cast<std::size_t>(i);
    for (int k = 0; k < width; ++k, place += num_rows) {
      const int col = col_idxs[place];
      if (col >= 0) sum += static_cast<Scalar>(values[place]) * x[col];
    }
    return sum;
  }
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_entry(int i, const F& f) const {
    std::size_t place = static_cast<std::size_t>(i), count = 0;
    for (int k = 0; k < width; ++k, place += num_rows)
      if (col_idxs[place] >= 0) f(count++, col_idxs[place], values[place]);
  }
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_col(int i, const F& f) const {
    for (int k = 0; k < width; ++k) {
      const int col = col_idxs[i + std::size_t(k) * num_rows];
      if (col >= 0) f(col);
    }
  }
};

template <class Value>
struct EllSystems {
  int num_rows;
  int width;
  const int* col_idxs;
  const Value* values;
  std::int64_t stride;

  KOKKOS_FORCEINLINE_FUNCTION EllSystem<Value> system(std::int64_t s) const {
    return {num_rows, width, col_idxs, values + s * stride};
  }
};

}  // namespace impl::batched

/// A batch by rows of one width, stored by columns: entry k of row i of system s has the column `col_idxs(i,
/// k)`, -1 in padding, and the value `values(i + k num_rows, s)`. Lanes with one row each read consecutive
/// memory. The format suits patterns whose rows have nearly one length; padding is read, but not used.
///
/// \pre columns ascending and unique in a row, and below num_rows; `col_idxs` contiguous
template <class Value, class Space>
struct BatchedEll {
  using value_type = Value;
  using execution_space = Space;
  static constexpr const char* name = "ell";

  std::int64_t num_rows = 0;
  MultiVectorView<const int, Space> col_idxs;  ///< num_rows x width
  MultiVectorView<const Value, Space> values;  ///< (num_rows width) x num_systems
  std::int64_t nnz = 0;                        ///< entries without the padding

  std::int64_t width() const { return static_cast<std::int64_t>(col_idxs.extent(1)); }
  std::int64_t num_systems() const { return static_cast<std::int64_t>(values.extent(1)); }
  std::int64_t num_entries() const { return nnz; }
  std::int64_t stored_values() const { return num_rows * width(); }

  impl::batched::EllSystems<Value> systems() const {
    return {static_cast<int>(num_rows), static_cast<int>(width()), col_idxs.data(), values.data(),
            static_cast<std::int64_t>(values.stride(1))};
  }
};

/// The pattern by rows. Fences.
///
/// Cost: the columns are read once.
template <class Value, class Space>
CsrGraph<Space> csr_pattern(const Space& space, const BatchedEll<Value, Space>& a);

}  // namespace prekond
