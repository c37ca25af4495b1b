// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/merge_rows.hpp"

#include "core/instantiate.hpp"

#include <algorithm>
#include <array>
#include <utility>

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

/// Blocks, and their places that have no entry.
struct Places {
  std::int64_t blocks = 0, empty = 0;

  KOKKOS_FUNCTION Places& operator+=(const Places& other) {
    blocks += other.blocks;
    empty += other.empty;
    return *this;
  }
};

template <class Space>
struct AddCounts {
  using value_type = Places;
  CsrGraphView<Space> pattern;
  VectorView<const int, Space> counts;
  int block_size;

  KOKKOS_FUNCTION void init(Places& sum) const { sum = {}; }
  KOKKOS_FUNCTION void join(Places& sum, const Places& other) const { sum += other; }
  KOKKOS_FUNCTION void operator()(std::int64_t i, Places& sum) const {
    const std::int64_t begin = i * block_size;
    const std::int64_t end = Kokkos::min(begin + block_size, pattern.num_rows);
    const auto entries = static_cast<std::int64_t>(pattern.row_ptrs(end) - pattern.row_ptrs(begin));
    sum += {counts(i), std::int64_t(counts(i)) * block_size * block_size - entries};
  }
};

template <class Space>
Places places_of(const Space& space, const CsrGraphView<Space>& pattern, int block_size) {
  const Vector<int, Space> counts = blocks_of_rows(space, pattern, block_size);
  Places sum;
  Kokkos::parallel_reduce(
      "prekond::count_blocks::sum",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, counts.extent(0)),
      AddCounts<Space>{pattern, counts, block_size}, sum);
  return sum;
}

/// The rows from `begin` to `end`.
template <class Space>
CsrGraphView<Space> rows_of(const CsrGraphView<Space>& pattern, std::int64_t begin, std::int64_t end) {
  CsrGraphView<Space> rows = pattern;
  rows.num_rows = end - begin;
  rows.row_ptrs = Kokkos::subview(pattern.row_ptrs, std::pair(begin, end + 1));
  return rows;
}

/// The places of all blocks, some rows at a time, until more than `most` are certain.
template <class Space>
Places places_up_to(const Space& space, const CsrGraphView<Space>& pattern, int block_size,
                    std::int64_t most) {
  constexpr std::int64_t parts = 8, least_entries = std::int64_t(1) << 17;
  const std::int64_t block_rows = (pattern.num_rows + block_size - 1) / block_size;
  const std::int64_t rows_of_part = block_size * ((block_rows + parts - 1) / parts),
                     step = pattern.nnz() < least_entries ? pattern.num_rows : rows_of_part;
  Places sum;
  for (std::int64_t begin = 0; begin < pattern.num_rows && pattern.nnz() + sum.empty <= most; begin += step)
    sum += places_of(space, rows_of(pattern, begin, std::min(begin + step, pattern.num_rows)), block_size);
  return sum;
}

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

using impl::blocks::check_block_size;
using impl::blocks::Places;
using impl::blocks::places_of;
using impl::blocks::places_up_to;

template <class Space>
std::vector<BlockFill> count_blocks(const Space& space,
                                    const std::type_identity_t<CsrGraphView<Space>>& pattern,
                                    const std::vector<int>& block_sizes) {
  std::vector<BlockFill> result;
  for (const int size : block_sizes) check_block_size(size, "count_blocks");
  for (const int size : block_sizes) {
    BlockFill fill{size, pattern.nnz(), 1};
    if (size > 1) {
      fill.num_blocks = places_of(space, pattern, size).blocks;
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
  const bool square = pattern.num_rows == pattern.num_cols;
  BlockFill best{1, pattern.nnz(), 1};
  std::array<std::int64_t, 9> least_empty{};  // places that are known to have no entry, by size
  for (int b = 2; b <= 8; ++b) {
    if (!square && (pattern.num_rows % b != 0 || pattern.num_cols % b != 0)) continue;
    // As many blocks take as many bytes as the best so far.
    const std::int64_t blocks =
        (best.bytes(pattern.num_rows, value_bytes) - BlockFill{b}.bytes(pattern.num_rows, value_bytes)) /
        (value_bytes * b * b + 4);
    const std::int64_t most = blocks * b * b;
    // The blocks of a size that divides b lie in those of b.
    for (int d = 2; d < b; ++d)
      if (b % d == 0) least_empty[b] = std::max(least_empty[b], least_empty[d]);
    if (pattern.nnz() + least_empty[b] > most) continue;
    const Places places = places_up_to(space, pattern, b, most);
    least_empty[b] = places.empty;
    BlockFill fill{b, places.blocks, 1};
    if (pattern.nnz() + places.empty > most) continue;
    fill.fill = double(places.blocks) * b * b / double(std::max<std::int64_t>(1, pattern.nnz()));
    if (fill.bytes(pattern.num_rows, value_bytes) < best.bytes(pattern.num_rows, value_bytes)) best = fill;
  }
  return best;
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
