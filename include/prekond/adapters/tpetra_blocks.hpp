// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/adapters/kokkoskernels_blocks.hpp>

#include <Tpetra_BlockCrsMatrix.hpp>

/// Tpetra's matrix by blocks as ours. Needs the target prekond::trilinos.
namespace prekond::tpetra {

/// This rank's block rows of a BlockCrsMatrix as a BcsrMatrix: columns < num_block_rows are the rank's own
/// where the column map begins with the row map, Tpetra's default; those of other ranks follow them.
/// Nothing is copied: the result must not outlive `a`, and while it lives Tpetra refuses access to the values
/// on the host where that is another memory. \pre the graph's rows are sorted, as fillComplete leaves them
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
auto to_bcsr_matrix(const Tpetra::BlockCrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>& a) {
  return kokkoskernels::to_bcsr_matrix(a.getLocalMatrixDevice());
}

}  // namespace prekond::tpetra
