// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/bcsr_matrix.hpp>
#include <prekond/matrix/matrix_source.hpp>

#include <string>

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "matrix/block_sizes.hpp"

namespace prekond {
namespace {

/// A block row's rows of entries; lanes run over a row's in the order in which they are written.
template <class Scalar, class Space>
struct ExpandRows {
  using Teams = impl::RowTeams<Space>;
  BcsrView<Scalar, Space> blocks;
  impl::blocks::BlockStrides strides;
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>
      result;

  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    Teams{blocks.num_block_rows}.for_each_row(team, [&](std::int64_t i) { expand(team, i); });
  }

  KOKKOS_FUNCTION void expand(const typename Teams::Member& team, std::int64_t i) const {
    const int b = blocks.block_size;
    const std::size_t first = blocks.row_ptrs(i), places = static_cast<std::size_t>(b) * b;
    for (int p = 0; p < b; ++p) {
      const std::int64_t row = i * b + p;
      if (row >= result.num_rows) return;
      const std::size_t begin = result.row_ptrs(row), length = result.row_ptrs(row + 1) - begin;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, length), [&](std::size_t e) {
        const std::size_t k = first + e / b;
        const int q = static_cast<int>(e % b);
        result.col_idxs(begin + e) = blocks.col_idxs(k) * b + q;
        result.values(begin + e) = blocks.values(k * places + strides.place(p, q));
      });
    }
  }
};

/// Entries of a row, without those of the padding, which are the last of its last block.
template <class Scalar, class Space>
struct ExpandedLength {
  BcsrView<Scalar, Space> blocks;

  KOKKOS_FUNCTION std::size_t operator()(std::int64_t row) const {
    const std::int64_t i = row / blocks.block_size;
    const std::size_t begin = blocks.row_ptrs(i), end = blocks.row_ptrs(i + 1);
    if (begin == end) return 0;
    const bool is_padded = blocks.col_idxs(end - 1) == blocks.num_block_cols - 1;
    return (end - begin) * blocks.block_size - (is_padded ? blocks.padding : 0);
  }
};

}  // namespace

template <class Scalar, class Space>
void impl::check_blocks(const BcsrView<Scalar, Space>& blocks, const std::string& what) {
  impl::blocks::check_sizes(blocks, what);
}

template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> expand_blocks(
    const Space& space, const std::type_identity_t<BcsrView<Scalar, Space>>& blocks) {
  impl::blocks::check_sizes(blocks, "expand_blocks");
  using Teams = impl::RowTeams<Space>;
  const std::string label = "prekond::expand_blocks";
  const auto [row_ptrs, nnz] =
      impl::scan_row_lengths<Space>(space, label, blocks.num_rows(), ExpandedLength<Scalar, Space>{blocks});
  const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> result(
      blocks.num_rows(), blocks.num_cols(), row_ptrs,
      allocate<Vector<int, Space>>(space, label + "::col_idxs", nnz),
      allocate<Vector<Scalar, Space>>(space, label + "::values", nnz));
  if (blocks.num_block_rows > 0)
    Kokkos::parallel_for(label,
                         Teams::policy(space, blocks.num_block_rows,
                                       blocks.num_blocks() * blocks.block_size * blocks.block_size),
                         ExpandRows<Scalar, Space>{blocks, impl::blocks::BlockStrides(blocks), result});
  return result;
}

#define PREKOND_EXPAND_BLOCKS(Scalar, Space)                                                           \
  template void impl::check_blocks<Scalar, Space>(const BcsrView<Scalar, Space>&, const std::string&); \
  template CsrMatrix<Scalar, int, std::size_t, Space::memory_space> expand_blocks<Scalar>(             \
      const Space&, const std::type_identity_t<BcsrView<Scalar, Space>>&);
PREKOND_INSTANTIATE(PREKOND_EXPAND_BLOCKS)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_EXPAND_BLOCKS)

}  // namespace prekond
