// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/sort_row_kernels.hpp"

#include "core/instantiate.hpp"

namespace prekond {

template <class Space>
void sort_columns(const Space& space, std::int64_t num_rows, const Vector<std::size_t, Space>& row_ptrs,
                  const Vector<int, Space>& col_idxs) {
  impl::sort_entries(
      space, num_rows, static_cast<std::int64_t>(col_idxs.extent(0)),
      impl::RowEntries<Space, int, std::size_t, impl::NoValue>{row_ptrs.data(), col_idxs.data(), nullptr});
}

#define PREKOND_SORT_ROWS(Scalar, Space) \
  template void sort_rows(const Space&, const CsrMatrix<Scalar, int, std::size_t, Space::memory_space>&);
PREKOND_INSTANTIATE(PREKOND_SORT_ROWS)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_SORT_ROWS)

#define PREKOND_SORT_COLUMNS(Space)                                                                \
  PREKOND_SORT_ROWS(int, Space)                                                                    \
  PREKOND_SORT_ROWS(std::int64_t, Space)                                                           \
  template void sort_columns<Space>(const Space&, std::int64_t, const Vector<std::size_t, Space>&, \
                                    const Vector<int, Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_SORT_COLUMNS)

}  // namespace prekond
