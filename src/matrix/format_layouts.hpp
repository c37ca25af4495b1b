// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/half.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/dia_matrix.hpp>

namespace prekond::impl::formats {

/// 0, of a stored type too.
template <class Value>
KOKKOS_FORCEINLINE_FUNCTION Value zero_of() {
  if constexpr (std::is_constructible_v<Value, Kokkos::complex<float>>)
    return Value(Kokkos::complex<float>(0));
  else
    return Value(0.0f);
}

/// The offsets of the diagonals that have an entry. Fences. \throws InputError where they are too many, with
/// values of value_bytes
template <class Space>
Vector<int, Space> diagonal_offsets(const Space& space, const CsrGraphView<Space>& pattern,
                                    std::size_t value_bytes, const DiaOptions& options);

template <class Space>
struct JaggedDiagonals {
  Vector<int, Space> rows;
  Vector<std::size_t, Space> diagonal_ptrs;
};

/// Rows by length, the longest first, equals in their order; where each diagonal begins. Fences.
template <class Space>
JaggedDiagonals<Space> jagged_diagonals(const Space& space, const CsrGraphView<Space>& pattern);

}  // namespace prekond::impl::formats
