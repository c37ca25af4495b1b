// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/distributed/impl/remote_part.hpp>

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "matrix/block_sizes.hpp"

namespace prekond::impl {
namespace {

/// Size: of the blocks, 0 where it is known only at run time.
template <class Scalar, class Space, int Size>
struct AddColumnsFrom {
  using Teams = RowTeams<Space>;
  BcsrView<Scalar, Space> a;
  blocks::BlockStrides strides;
  int first;
  VectorView<const int, Space> rows;
  Scalar alpha;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;

  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    const int b = Size > 0 ? Size : a.block_size;
    Teams{static_cast<std::int64_t>(rows.extent(0))}.for_each_row(team, [&](std::int64_t r) {
      for (std::size_t v = 0; v < y.extent(1); ++v)
        for (int p = 0; p < b; ++p) add_row(team, rows(r), b, p, v);
    });
  }

 private:
  /// Row p of block row i: lanes run over its entries, block by block.
  KOKKOS_FUNCTION void add_row(const typename Teams::Member& team, int i, int b, int p, std::size_t v) const {
    const std::size_t begin = a.row_ptrs(i), length = (a.row_ptrs(i + 1) - begin) * b;
    Scalar sum = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, length),
        [&](std::size_t e, Scalar& of_lane) {
          const std::size_t k = begin + e / b;
          const int q = static_cast<int>(e % b), col = a.col_idxs(k) - first;
          if (col >= 0)
            of_lane += a.values(k * b * b + strides.place(p, q)) * x(std::int64_t(col) * b + q, v);
        },
        sum);
    Kokkos::single(Kokkos::PerThread(team), [&] { y(std::int64_t(i) * b + p, v) += alpha * sum; });
  }
};

}  // namespace

template <class Scalar, class Space>
void add_columns_from(const Space& space, Scalar alpha, const BcsrView<Scalar, Space>& a, int first,
                      VectorView<const int, Space> rows, MultiVectorView<const Scalar, Space> x,
                      MultiVectorView<Scalar, Space> y) {
  const auto count = static_cast<std::int64_t>(rows.extent(0));
  // With own columns the mean of all rows; else the other rows are empty.
  const std::int64_t entries = a.num_blocks() * a.block_size,
                     listed = first > 0 ? entries / a.num_block_rows * count : entries;
  blocks::with_block_size<Scalar>(a.block_size, [&]<int Size>() {
    Kokkos::parallel_for(
        "prekond::remote_part::add_product", RowTeams<Space>::policy(space, count, listed),
        AddColumnsFrom<Scalar, Space, Size>{a, blocks::BlockStrides(a), first, rows, alpha, x, y});
  });
}

#define PREKOND_ADD_COLUMNS_FROM(Scalar, Space)                                                \
  template void add_columns_from<Scalar, Space>(                                               \
      const Space&, Scalar, const BcsrView<Scalar, Space>&, int, VectorView<const int, Space>, \
      MultiVectorView<const Scalar, Space>, MultiVectorView<Scalar, Space>);
PREKOND_INSTANTIATE(PREKOND_ADD_COLUMNS_FROM)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_ADD_COLUMNS_FROM)

}  // namespace prekond::impl
