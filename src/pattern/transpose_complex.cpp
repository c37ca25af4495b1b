// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/transpose_entries.hpp"

#include "instantiate.hpp"

namespace prekond {

#define PREKOND_TRANSPOSE(Scalar, Space)                                                                \
  template CsrMatrix<Scalar, int, std::size_t, Space::memory_space> transpose<Scalar, Space>(           \
      const Space&, const CsrView<Scalar, Space>&);                                                     \
  template CsrMatrix<Scalar, int, std::size_t, Space::memory_space> conjugate_transpose<Scalar, Space>( \
      const Space&, const CsrView<Scalar, Space>&);
PREKOND_INSTANTIATE_COMPLEX(PREKOND_TRANSPOSE)

}  // namespace prekond
