// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/sort_row_kernels.hpp"

#include "core/instantiate.hpp"

namespace prekond {

#define PREKOND_SORT_ROWS(Scalar, Space) \
  template void sort_rows(const Space&, const CsrMatrix<Scalar, int, std::size_t, Space::memory_space>&);
PREKOND_INSTANTIATE_COMPLEX(PREKOND_SORT_ROWS)

}  // namespace prekond
