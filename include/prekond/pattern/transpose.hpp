// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/bcsr_matrix.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <type_traits>

namespace prekond {

/// A^T, with sorted rows. Counts the columns, scans, scatters, and sorts each row of the result, so that it
/// has the same bits whatever the threads. Memory: the result and num_cols offsets. Fences once, inside the
/// scan.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> transpose(const Space& space,
                                                                            const CsrView<Scalar, Space>& a);

/// A^H, its conjugate: for real scalars A^T. Otherwise as transpose.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> conjugate_transpose(
    const Space& space, const CsrView<Scalar, Space>& a);

/// A^T by blocks, in the same order. Cost: a transposition of the block pattern, one reading and one writing
/// of the values. Fences. \throws InputError for sizes that do not fit
template <class Scalar, class Space>
BcsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> transpose_blocks(
    const Space& space, const std::type_identity_t<BcsrView<Scalar, Space>>& a);

}  // namespace prekond
