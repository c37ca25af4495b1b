// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sparse_product/transpose.hpp"

#include "core/instantiate.hpp"
#include "matrix/block_sizes.hpp"

namespace prekond {
namespace {

template <class Space>
using Elements = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

template <class Space>
struct NumberBlocks {
  VectorView<double, Space> numbers;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { numbers(k) = static_cast<double>(k); }
};

template <class Scalar, class Space>
struct TransposeValues {
  BcsrView<Scalar, Space> from;
  impl::blocks::BlockStrides strides;
  VectorView<const double, Space> source;
  VectorView<Scalar, Space> to;

  KOKKOS_FUNCTION void operator()(std::int64_t place) const {
    const std::int64_t b = from.block_size, k = place / (b * b);
    const int rest = static_cast<int>(place % (b * b)), p = rest / from.block_size,
              q = rest % from.block_size;
    const std::int64_t source_block = static_cast<std::int64_t>(source(k)) * b * b;
    to(k * b * b + strides.place(q, p)) = from.values(source_block + strides.place(p, q));
  }
};

}  // namespace

template <class Scalar, class Space>
BcsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> transpose_blocks(
    const Space& space, const std::type_identity_t<BcsrView<Scalar, Space>>& a) {
  impl::blocks::check_sizes(a, "transpose_blocks");
  // The blocks' numbers go along as values. Doubles have them exactly up to 2^53.
  const auto numbers =
      allocate<Vector<double, Space>>(space, "prekond::transpose_blocks::numbers", a.num_blocks());
  Kokkos::parallel_for("prekond::transpose_blocks::number", Elements<Space>(space, 0, a.num_blocks()),
                       NumberBlocks<Space>{numbers});
  const auto pattern = transpose<double, Space>(
      space, CsrView<double, Space>(a.num_block_rows, a.num_block_cols, a.row_ptrs, a.col_idxs, numbers));
  const BcsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> result(
      a.block_size, a.order, a.num_block_cols, a.num_block_rows, pattern.row_ptrs, pattern.col_idxs,
      allocate<Vector<Scalar, Space>>(space, "prekond::transpose_blocks::values", a.values.extent(0)),
      a.padding);
  Kokkos::parallel_for(
      "prekond::transpose_blocks", Elements<Space>(space, 0, static_cast<std::int64_t>(a.values.extent(0))),
      TransposeValues<Scalar, Space>{a, impl::blocks::BlockStrides(a), pattern.values, result.values});
  space.fence("prekond::transpose_blocks");  // temporaries are freed
  return result;
}

#define PREKOND_TRANSPOSE_BLOCKS(Scalar, Space)                                                \
  template BcsrMatrix<Scalar, int, std::size_t, Space::memory_space> transpose_blocks<Scalar>( \
      const Space&, const std::type_identity_t<BcsrView<Scalar, Space>>&);
PREKOND_INSTANTIATE(PREKOND_TRANSPOSE_BLOCKS)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_TRANSPOSE_BLOCKS)

}  // namespace prekond
