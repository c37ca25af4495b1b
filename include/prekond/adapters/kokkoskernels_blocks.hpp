// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/error.hpp>
#include <prekond/matrix/bcsr_matrix.hpp>

#include <KokkosSparse_BsrMatrix.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

/// Kokkos Kernels' matrix by blocks as ours, and ours as theirs.
namespace prekond::kokkoskernels {

/// The same matrix as a BcsrMatrix, blocks by rows as Kokkos Kernels has them. Nothing is copied and nothing
/// is allocated.
///
/// The views are shared: a change of values through one matrix is a change of the other. Managed views are
/// counted, so the result outlives `a`; where `a` is unmanaged the caller keeps the memory alive. Row
/// pointers become const, as Kokkos Kernels has them. \pre block columns ascend and are unique within a row
template <class Scalar, class Ordinal, class Device, class Traits, class Offset>
auto to_bcsr_matrix(const KokkosSparse::Experimental::BsrMatrix<Scalar, Ordinal, Device, Traits, Offset>& a) {
  using OurTraits = std::conditional_t<std::is_void_v<Traits>, Kokkos::MemoryTraits<0>, Traits>;
  return BcsrMatrix<Scalar, Ordinal, const Offset, typename Device::memory_space, OurTraits>(
      static_cast<int>(a.blockDim()), BlockOrder::by_rows, a.numRows(), a.numCols(), a.graph.row_map,
      a.graph.entries, a.values);
}

/// The same matrix as a BsrMatrix on `Device`. Sharing and lifetime are those of to_bcsr_matrix. Kokkos
/// Kernels drops the label. \throws InputError for blocks by columns, for padding, which Kokkos Kernels does
/// not have, and where a size does not fit the ordinal
template <class Device, class Scalar, class Ordinal, class Offset, class MemorySpace>
auto to_bsr_matrix(const std::string& label, const BcsrMatrix<Scalar, Ordinal, Offset, MemorySpace>& a) {
  using Result =
      KokkosSparse::Experimental::BsrMatrix<Scalar, Ordinal, Device, void, std::remove_const_t<Offset>>;
  using Size = std::remove_const_t<Ordinal>;
  constexpr std::int64_t largest = std::numeric_limits<Size>::max();
  const std::string name = "prekond::kokkoskernels::to_bsr_matrix: ";
  if (a.order != BlockOrder::by_rows && a.block_size > 1)
    throw InputError(name + "the blocks stand by columns; Kokkos Kernels has them by rows");
  if (a.padding > 0)
    throw InputError(name + std::to_string(a.padding) +
                     " rows are padding; Kokkos Kernels has only whole blocks");
  if (a.num_rows() > largest || a.num_cols() > largest)
    throw InputError(name + "the matrix is " + std::to_string(a.num_rows()) + " x " +
                     std::to_string(a.num_cols()) + ", the ordinal holds at most " + std::to_string(largest));
  const typename Result::staticcrsgraph_type graph(a.col_idxs, a.row_ptrs);
  return Result(label, static_cast<Size>(a.num_block_cols), a.values, graph, static_cast<Size>(a.block_size));
}

/// The same, on the memory space's own execution space.
template <class Scalar, class Ordinal, class Offset, class MemorySpace>
auto to_bsr_matrix(const std::string& label, const BcsrMatrix<Scalar, Ordinal, Offset, MemorySpace>& a) {
  return to_bsr_matrix<Kokkos::Device<typename MemorySpace::execution_space, MemorySpace>>(label, a);
}

}  // namespace prekond::kokkoskernels
