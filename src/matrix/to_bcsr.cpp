// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/instantiate.hpp"
#include "matrix/block_sizes.hpp"
#include "matrix/longest_row.hpp"
#include "matrix/merge_rows.hpp"

#include <string>

namespace prekond {
namespace {

using impl::blocks::MergeRows;

template <class Scalar, class Space, int Lanes>
struct FillBlocks {
  using Result = BcsrMatrix<Scalar, int, std::size_t, typename Space::memory_space,
                            Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  MergeRows<Space, Lanes> rows;
  CsrView<Scalar, Space> a;
  Result result;
  impl::blocks::BlockStrides strides;

  KOKKOS_FUNCTION void operator()(const typename MergeRows<Space, Lanes>::Member& team) const {
    const auto places = static_cast<std::size_t>(rows.block_size) * rows.block_size;
    rows.for_each_row(team, [&](const auto& level, std::int64_t i, std::size_t* next) {
      std::size_t block = result.row_ptrs(i) - 1;  // before the first
      rows.merge(
          level, i, next,
          [&](int col) {
            ++block;
            level.once([&] { result.col_idxs(block) = col; });
          },
          [&](int p, int q, std::size_t k) {
            result.values(block * places + strides.place(p, q)) = a.values(k);
          });
    });
  }
};

}  // namespace

template <class Scalar, class Space>
BcsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> to_bcsr(
    const Space& space, const std::type_identity_t<CsrView<Scalar, Space>>& a, int block_size,
    BlockOrder order) {
  using Result = BcsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  impl::blocks::check_block_size(block_size, "to_bcsr");
  const auto rest = static_cast<int>(a.num_rows % block_size);
  if (a.num_rows != a.num_cols && (rest != 0 || a.num_cols % block_size != 0))
    throw InputError("to_bcsr: " + std::to_string(a.num_rows) + " x " + std::to_string(a.num_cols) +
                     " entries are not blocks of " + std::to_string(block_size) +
                     "; only a square matrix is padded");
  const int padding = rest == 0 ? 0 : block_size - rest;
  const Vector<int, Space> counts = impl::blocks::blocks_of_rows<Space>(space, a, block_size);
  const auto block_rows = static_cast<std::int64_t>(counts.extent(0));
  const auto [row_ptrs, num_blocks] =
      impl::scan_row_lengths<Space>(space, "prekond::to_bcsr", block_rows, counts);
  const std::size_t places = std::size_t(block_size) * block_size;
  Result result(block_size, order, block_rows, (a.num_cols + padding) / block_size, row_ptrs,
                allocate<Vector<int, Space>>(space, "prekond::to_bcsr::col_idxs", num_blocks),
                allocate_zero<Vector<Scalar, Space>>(space, "prekond::to_bcsr::values", num_blocks * places),
                padding);
  if (block_rows > 0)
    impl::blocks::with_lanes<Space>(block_size, [&]<int Lanes>() {
      const MergeRows<Space, Lanes> rows{a, block_size};
      Kokkos::parallel_for(
          "prekond::to_bcsr", rows.policy(space),
          FillBlocks<Scalar, Space, Lanes>{rows, a, result, impl::blocks::BlockStrides(result)});
    });
  result.longest_row = impl::longest_row<Space>(space, row_ptrs).length;
  space.fence("prekond::to_bcsr");  // the counts are freed
  return result;
}

#define PREKOND_TO_BCSR(Scalar, Space)                                                \
  template BcsrMatrix<Scalar, int, std::size_t, Space::memory_space> to_bcsr<Scalar>( \
      const Space&, const std::type_identity_t<CsrView<Scalar, Space>>&, int, BlockOrder);
PREKOND_INSTANTIATE(PREKOND_TO_BCSR)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_TO_BCSR)

}  // namespace prekond
