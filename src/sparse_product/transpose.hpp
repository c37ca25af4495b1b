// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_matrix.hpp>

namespace prekond {

/// A^T, with sorted rows: the same bits whatever the threads. On a device the columns are counted and
/// scanned, the entries scattered, and each row of the result sorted; memory: the result and num_cols
/// offsets. On a host two readings of A, in as many blocks of rows as there are threads, each with an int a
/// column. Fences.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> transpose(const Space& space,
                                                                            const CsrView<Scalar, Space>& a);

/// A^H, its conjugate: for real scalars A^T. Otherwise as transpose.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> conjugate_transpose(
    const Space& space, const CsrView<Scalar, Space>& a);

}  // namespace prekond
