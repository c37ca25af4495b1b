// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/equal_rows.hpp"

#include "core/instantiate.hpp"

namespace prekond {

template <class Space>
Vector<int, Space> equal_row_representatives(const Space& space,
                                             VectorView<const std::size_t, Space> row_ptrs,
                                             VectorView<const int, Space> col_idxs) {
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  const std::int64_t num_rows =
      row_ptrs.extent(0) > 0 ? static_cast<std::int64_t>(row_ptrs.extent(0)) - 1 : 0;
  const auto representatives =
      allocate<Vector<int, Space>>(space, "prekond::equal_rows::representatives", num_rows);
  const auto repeats =
      allocate<Vector<unsigned char, Space>>(space, "prekond::equal_rows::repeats", num_rows);
  Kokkos::parallel_for(
      "prekond::equal_rows::compare", Policy(space, 0, num_rows), KOKKOS_LAMBDA(std::int64_t i) {
        const std::size_t begin = row_ptrs(i), length = row_ptrs(i + 1) - begin;
        bool equal = i > 0 && begin - row_ptrs(i - 1) == length;
        // Backwards: rows of neighbouring nodes differ in their ends more often than in their beginnings.
        for (std::size_t k = begin + length; equal && k > begin; --k)
          equal = col_idxs(k - 1) == col_idxs(k - 1 - length);
        repeats(i) = equal;
      });
  // A run is no longer than its rows where each has its diagonal, so all the walks together read nnz flags at
  // most.
  Kokkos::parallel_for(
      "prekond::equal_rows::lead", Policy(space, 0, num_rows), KOKKOS_LAMBDA(std::int64_t i) {
        std::int64_t first = i;
        while (repeats(first) != 0) --first;
        representatives(i) = static_cast<int>(first);
      });
  return representatives;
}

#define PREKOND_EQUAL_ROWS(Space)                               \
  template Vector<int, Space> equal_row_representatives<Space>( \
      const Space&, VectorView<const std::size_t, Space>, VectorView<const int, Space>);
PREKOND_INSTANTIATE_SPACES(PREKOND_EQUAL_ROWS)

}  // namespace prekond
