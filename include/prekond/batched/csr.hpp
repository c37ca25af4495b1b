// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A batch is many systems A_s x_s = b_s, s < num_systems, of the same number of rows and the same pattern,
/// each with values of its own. Every format is a struct of views over the user's memory, nothing is copied,
/// with these members, which are all that solvers and preconditioners know of it:
///
///   value_type, execution_space
///   num_rows, num_systems()
///   num_entries()                       of one system, in the order of csr_pattern's
///   stored_values()                     numbers of one system in memory
///   systems()                           what kernels take: an object of few pointers with
///     systems.system(s)                 system s, a few registers, with
///       num_rows
///       row_product<Scalar>(i, x)       (A x)_i in Scalar's arithmetic, by one lane
///       rows_are_long()                 whether lanes should share a row in a product, and then
///       row_product<Scalar>(vector, i, x)       the same by the lanes of a vector, known to all of them
///       for_each_entry(i, f)            f(k, col, value) of row i, columns ascending, k from 0
///       for_each_col(i, f)              f(col) of the same (not of CSR)
///
/// and a function `csr_pattern(space, matrix)`, the pattern by rows, which preconditioners analyse once. A
/// new format is one file like this one.
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_graph.hpp>

#include <cstdint>

namespace prekond {

namespace impl::batched {

/// The mean number of entries of a row from which lanes share a row in a product; with fewer a lane has a
/// row.
inline constexpr std::int64_t long_row = 24;

template <class Value>
struct CsrSystem {
  int num_rows;
  bool by_entries;
  const std::size_t* row_ptrs;
  const int* col_idxs;
  const Value* values;

  KOKKOS_FORCEINLINE_FUNCTION bool rows_are_long() const { return by_entries; }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION Scalar row_product(int i, const Scalar* x) const {
    Scalar sum = 0;
    const std::size_t end = row_ptrs[i + 1];
    for (std::size_t k = row_ptrs[i]; k < end; ++k) sum += static_cast<Scalar>(values[k]) * x[col_idxs[k]];
    return sum;
  }
  template <class Scalar, class Vector>
  KOKKOS_FORCEINLINE_FUNCTION Scalar row_product(const Vector& vector, int i, const Scalar* x) const {
    const std::size_t begin = row_ptrs[i], end = row_ptrs[i + 1];
    return vector.template sum<Scalar>([&](int lane) {
      Scalar sum = 0;
      for (std::size_t k = begin + lane; k < end; k += vector.size())
        sum += static_cast<Scalar>(values[k]) * x[col_idxs[k]];
      return sum;
    });
  }
  template <class F>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_entry(int i, const F& f) const {
    const std::size_t begin = row_ptrs[i], end = row_ptrs[i + 1];
    for (std::size_t k = begin; k < end; ++k) f(k - begin, col_idxs[k], values[k]);
  }
};

template <class Value>
struct CsrSystems {
  int num_rows;
  bool by_entries;
  const std::size_t* row_ptrs;
  const int* col_idxs;
  const Value* values;
  std::int64_t stride;

  KOKKOS_FORCEINLINE_FUNCTION CsrSystem<Value> system(std::int64_t s) const {
    return {num_rows, by_entries, row_ptrs, col_idxs, values + s * stride};
  }
};

}  // namespace impl::batched

/// A batch by compressed rows: row i of system s has the columns `col_idxs(k)` and values `values(k, s)`,
/// `row_ptrs(i) <= k < row_ptrs(i + 1)`. The values of a system are contiguous; the stride between systems is
/// free.
///
/// \pre columns ascending and unique in a row, and below num_rows
template <class Value, class Space>
struct BatchedCsr {
  using value_type = Value;
  using execution_space = Space;
  static constexpr const char* name = "csr";

  std::int64_t num_rows = 0;
  VectorView<const std::size_t, Space> row_ptrs;  ///< num_rows + 1
  VectorView<const int, Space> col_idxs;          ///< nnz
  MultiVectorView<const Value, Space> values;     ///< nnz x num_systems

  std::int64_t num_systems() const { return static_cast<std::int64_t>(values.extent(1)); }
  std::int64_t num_entries() const { return static_cast<std::int64_t>(col_idxs.extent(0)); }
  std::int64_t stored_values() const { return num_entries(); }

  impl::batched::CsrSystems<Value> systems() const {
    const bool by_entries = num_entries() >= impl::batched::long_row * num_rows;
    return {static_cast<int>(num_rows),
            by_entries,
            row_ptrs.data(),
            col_idxs.data(),
            values.data(),
            static_cast<std::int64_t>(values.stride(1))};
  }
};

/// The pattern, which shares the memory of the matrix.
template <class Value, class Space>
CsrGraphView<Space> csr_pattern(const Space&, const BatchedCsr<Value, Space>& a) {
  CsrGraphView<Space> pattern;
  pattern.num_rows = pattern.num_cols = a.num_rows;
  pattern.row_ptrs = a.row_ptrs;
  pattern.col_idxs = a.col_idxs;
  return pattern;
}

}  // namespace prekond
