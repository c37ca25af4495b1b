// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>

#include <cstdint>
#include <type_traits>

namespace prekond {

/// The pattern by single rows of a pattern of b x b blocks: all places of each block. Cost: one writing of
/// the result. Fences.
///
/// \throws InputError where the result takes more than `max_bytes`
template <class Space>
CsrGraph<Space> rows_of_blocks(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& blocks,
                               int block_size, std::int64_t max_bytes);

/// The same of a pattern of blocks of any size, block_rows x block_cols.
///
/// \throws InputError where the result takes more than `max_bytes`
template <class Space>
CsrGraph<Space> rows_of_blocks(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& blocks,
                               int block_rows, int block_cols, std::int64_t max_bytes);

/// The same of a lower triangle: row r of block row k has the block columns before k, and of block k the
/// columns up to its own. It is what merge_supernodes makes of the lower triangle by single rows.
///
/// \pre each block row ends with its diagonal block
///
/// \throws InputError where the result takes more than `max_bytes`
template <class Space>
CsrGraph<Space> lower_rows_of_blocks(const Space& space,
                                     const std::type_identity_t<CsrGraphView<Space>>& blocks, int block_size,
                                     std::int64_t max_bytes);

}  // namespace prekond
