// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/bcsr_matrix.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include <prekond/matrix/sell_matrix.hpp>
#include "matrix/jad_matrix.hpp"

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>

namespace prekond::testing {

/// The offset at which the small matrices of tests begin, as if many rows came before them: it needs more
/// than 32 bits, by which it is 2^30 + 64 or, signed, the same; 64 divides it, so that alignment stays.
inline constexpr std::size_t large_offset = (std::size_t(5) << 32) + (std::size_t(1) << 30) + 64;

/// Prints the name of work that a device begins: where that ends the program, no trace of a failure does.
template <class Space>
void announce(const std::string& work) {
  if constexpr (!is_host_space<Space>) std::cout << work << std::endl;
}

/// A view that has its elements from number `offset` on; those before must not be read. A kernel that cuts an
/// offset to 32 bits reads or writes far from the elements.
template <class T, class Space>
Vector<T, Space> from_offset(const Vector<T, Space>& view, std::size_t offset) {
  const auto address = reinterpret_cast<std::uintptr_t>(view.data()) - offset * sizeof(T);
  return Vector<T, Space>(reinterpret_cast<T*>(address), view.extent(0));
}

/// Offsets that are larger by `offset`.
template <class Space>
Vector<std::size_t, Space> shifted(const Vector<std::size_t, Space>& ptrs, std::size_t offset) {
  const auto host = Kokkos::create_mirror(Kokkos::HostSpace(), ptrs);
  Kokkos::deep_copy(host, ptrs);
  for (std::size_t k = 0; k < host.extent(0); ++k) host(k) += offset;
  const Vector<std::size_t, Space> result("prekond::testing::shifted", ptrs.extent(0));
  Kokkos::deep_copy(result, host);
  return result;
}

/// The matrix, which has to live on, with offsets from `large_offset` on.
template <class Space, class Scalar>
auto at_large_offsets(const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& a) {
  return CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>(
      a.num_rows, a.num_cols, shifted<Space>(a.row_ptrs, large_offset),
      from_offset<int, Space>(a.col_idxs, large_offset), from_offset<Scalar, Space>(a.values, large_offset));
}

template <class Space>
SellStructure<Space> at_large_offsets(const SellStructure<Space>& a) {
  SellStructure<Space> result = a;
  result.chunk_ptrs = shifted<Space>(a.chunk_ptrs, large_offset);
  result.delta_ptrs = shifted<Space>(a.delta_ptrs, large_offset);
  result.bases = from_offset<int, Space>(a.bases, large_offset);
  result.deltas = from_offset<unsigned char, Space>(a.deltas, large_offset);
  return result;
}
template <class Value, class Space>
SellMatrix<Value, Space> at_large_offsets(const SellMatrix<Value, Space>& a) {
  const SellStructure<Space>& structure = a;
  return {at_large_offsets<Space>(structure),
          from_offset<Value, Space>(a.values, large_offset * a.chunk_rows)};
}

template <class Value, class Space>
JadMatrix<Value, Space> at_large_offsets(const JadMatrix<Value, Space>& a) {
  JadMatrix<Value, Space> result = a;
  result.diagonal_ptrs = shifted<Space>(a.diagonal_ptrs, large_offset);
  result.col_idxs = from_offset<int, Space>(a.col_idxs, large_offset);
  result.values = from_offset<Value, Space>(a.values, large_offset);
  return result;
}

template <class Space, class Scalar>
auto at_large_offsets(const BcsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& a) {
  auto result = a;
  result.row_ptrs = shifted<Space>(a.row_ptrs, large_offset);
  result.col_idxs = from_offset<int, Space>(a.col_idxs, large_offset);
  result.values = from_offset<Scalar, Space>(a.values, large_offset * a.block_size * a.block_size);
  return result;
}

}  // namespace prekond::testing
