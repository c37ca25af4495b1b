// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_graph.hpp>

#include <algorithm>
#include <cstdint>

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
