// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/merge_rows.hpp"

#include "core/instantiate.hpp"

#include <algorithm>

namespace prekond {
namespace impl::blocks {
namespace {

template <class Space, int Lanes>
struct CountBlocks {
  MergeRows<Space, Lanes> rows;
  VectorView<int, Space> counts;

  KOKKOS_FUNCTION void operator()(const typename MergeRows<Space, Lanes>::Member& team) const {
    rows.for_each_row(team, [&](const auto& level, std::int64_t i, std::size_t* next) {
      int count = 0;
      rows.merge(
          level, i, next, [&](int) { ++count; }, [](int, int, std::size_t) {});
      level.once([&] { counts(i) = count; });
    });
  }
};

template <class Space>
struct AddCounts {
  VectorView<const int, Space> counts;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& sum) const { sum += counts(i); }
};

}  // namespace

template <class Space>
Vector<int, Space> blocks_of_rows(const Space& space, const CsrGraphView<Space>& pattern, int block_size) {
  Vector<int, Space> counts;
  with_lanes<Space>(block_size, [&]<int Lanes>() {
    const MergeRows<Space, Lanes> rows{pattern, block_size};
    counts = allocate<Vector<int, Space>>(space, "prekond::count_blocks::counts", rows.num_block_rows());
    if (rows.num_block_rows() > 0)
      Kokkos::parallel_for("prekond::count_blocks", rows.policy(space),
                           CountBlocks<Space, Lanes>{rows, counts});
  });
  return counts;
}

}  // namespace impl::blocks

using impl::blocks::AddCounts;
using impl::blocks::blocks_of_rows;
using impl::blocks::check_block_size;

template <class Space>
std::vector<BlockFill> count_blocks(const Space& space,
                                    const std::type_identity_t<CsrGraphView<Space>>& pattern,
                                    const std::vector<int>& block_sizes) {
  std::vector<BlockFill> result;
  for (const int size : block_sizes) check_block_size(size, "count_blocks");
  for (const int size : block_sizes) {
    BlockFill fill{size, pattern.nnz(), 1};
    if (size > 1) {
      const Vector<int, Space> counts = blocks_of_rows(space, pattern, size);
      const auto rows = static_cast<std::int64_t>(counts.extent(0));
      Kokkos::parallel_reduce("prekond::count_blocks::sum",
                              Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, rows),
                              AddCounts<Space>{counts}, fill.num_blocks);
      const double places = double(fill.num_blocks) * size * size;
      fill.fill = pattern.nnz() > 0 ? places / double(pattern.nnz()) : 1;
    }
    result.push_back(fill);
  }
  return result;
}

template <class Space>
BlockFill detect_block_size(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& pattern,
                            std::int64_t value_bytes) {
  std::vector<int> sizes;
  const bool square = pattern.num_rows == pattern.num_cols;
  for (int b = 1; b <= 8; ++b)
    if (square || (pattern.num_rows % b == 0 && pattern.num_cols % b == 0)) sizes.push_back(b);
  const auto fills = count_blocks<Space>(space, pattern, sizes);
  return *std::min_element(fills.begin(), fills.end(), [&](const BlockFill& x, const BlockFill& y) {
    return x.bytes(pattern.num_rows, value_bytes) < y.bytes(pattern.num_rows, value_bytes);
  });
}

#define PREKOND_COUNT_BLOCKS(Space)                                                             \
  template std::vector<BlockFill> count_blocks<Space>(                                          \
      const Space&, const std::type_identity_t<CsrGraphView<Space>>&, const std::vector<int>&); \
  template BlockFill detect_block_size<Space>(                                                  \
      const Space&, const std::type_identity_t<CsrGraphView<Space>>&, std::int64_t);
PREKOND_INSTANTIATE_SPACES(PREKOND_COUNT_BLOCKS)

#define PREKOND_BLOCKS_OF_ROWS(Space)                                                                       \
  template Vector<int, Space> impl::blocks::blocks_of_rows<Space>(const Space&, const CsrGraphView<Space>&, \
                                                                  int);
PREKOND_INSTANTIATE_SPACES(PREKOND_BLOCKS_OF_ROWS)

}  // namespace prekond
