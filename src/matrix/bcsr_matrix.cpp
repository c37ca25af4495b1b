// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/matrix/bcsr_matrix.hpp>

#include "core/row_teams.hpp"
#include "instantiate.hpp"

#include <limits>
#include <string>

namespace prekond {
namespace {

template <class Matrix>
void check_sizes(const Matrix& a) {
  const auto b = static_cast<std::size_t>(a.block_size);
  if (a.block_size < 1)
    throw InputError("expand_blocks: a block size of " + std::to_string(a.block_size) + "; it is at least 1");
  const auto rows = static_cast<std::size_t>(a.num_block_rows);
  if ((rows > 0 && a.row_ptrs.extent(0) != rows + 1) || a.values.extent(0) != a.col_idxs.extent(0) * b * b)
    throw InputError("expand_blocks: " + std::to_string(rows) + " block rows have " +
                     std::to_string(a.row_ptrs.extent(0)) + " row pointers, and " +
                     std::to_string(a.col_idxs.extent(0)) + " blocks of " + std::to_string(b) + " x " +
                     std::to_string(b) + " have " + std::to_string(a.values.extent(0)) + " values");
  if (a.num_rows() >= std::numeric_limits<int>::max() || a.num_cols() >= std::numeric_limits<int>::max())
    throw InputError("expand_blocks: " + std::to_string(a.num_rows()) + " rows and " +
                     std::to_string(a.num_cols()) + " columns; an int counts 2147483646 of them");
}

/// A block row's b rows of entries; lanes run over its entries in the order in which they are written.
template <class Scalar, class Space>
struct ExpandRows {
  using Teams = impl::RowTeams<Space>;
  BcsrView<Scalar, Space> blocks;
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>
      result;

  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    Teams{blocks.num_block_rows}.for_each_row(team, [&](std::int64_t i) { expand(team, i); });
  }

  KOKKOS_FUNCTION void expand(const typename Teams::Member& team, std::int64_t i) const {
    const auto b = static_cast<std::size_t>(blocks.block_size);
    const std::size_t first = blocks.row_ptrs(i), length = (blocks.row_ptrs(i + 1) - first) * b;
    const std::size_t begin = first * b * b;
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, b), [&](std::size_t p) {
      result.row_ptrs(static_cast<std::size_t>(i) * b + p + 1) = begin + (p + 1) * length;
    });
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, b * length), [&](std::size_t e) {
      const std::size_t p = e / length, k = first + e % length / b, q = e % b;
      result.col_idxs(begin + e) = static_cast<int>(blocks.col_idxs(k) * static_cast<int>(b) + int(q));
      result.values(begin + e) = blocks.values((k * b + p) * b + q);
    });
  }
};

}  // namespace

template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> expand_blocks(
    const Space& space, const std::type_identity_t<BcsrView<Scalar, Space>>& blocks) {
  check_sizes(blocks);
  using Teams = impl::RowTeams<Space>;
  const std::string label = "prekond::expand_blocks";
  const std::int64_t nnz = blocks.num_blocks() * blocks.block_size * blocks.block_size;
  const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> result(
      blocks.num_rows(), blocks.num_cols(),
      allocate_zero<Vector<std::size_t, Space>>(space, label + "::row_ptrs", blocks.num_rows() + 1),
      allocate<Vector<int, Space>>(space, label + "::col_idxs", nnz),
      allocate<Vector<Scalar, Space>>(space, label + "::values", nnz));
  if (blocks.num_block_rows > 0)
    Kokkos::parallel_for(label, Teams::policy(space, blocks.num_block_rows, nnz),
                         ExpandRows<Scalar, Space>{blocks, result});
  return result;
}

#define PREKOND_EXPAND_BLOCKS(Scalar, Space)                                               \
  template CsrMatrix<Scalar, int, std::size_t, Space::memory_space> expand_blocks<Scalar>( \
      const Space&, const std::type_identity_t<BcsrView<Scalar, Space>>&);
PREKOND_INSTANTIATE(PREKOND_EXPAND_BLOCKS)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_EXPAND_BLOCKS)

}  // namespace prekond
