// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/levels.hpp>

#include <algorithm>
#include <string>

#include "instantiate.hpp"
#include "matrix/block_sizes.hpp"

namespace prekond {
namespace {

void check_block_size(int size, const char* what) {
  if (size < 1 || size > largest_block_size)
    throw InputError(std::string(what) + ": a block size of " + std::to_string(size) + "; it is from 1 to " +
                     std::to_string(largest_block_size));
}

/// The rows of a block row, merged by the lanes of a vector, each of which has a row, or several.
template <class Space, int Lanes>
struct MergeRows {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  using Level = NativeVectorLevel<Space, Member, Lanes>;
  static constexpr int block_rows_per_team = is_host_space<Space> ? 256 : 128 / Lanes;
  static constexpr int nothing = 0x7fffffff;

  CsrGraphView<Space> pattern;
  int block_size;

  std::int64_t num_block_rows() const { return (pattern.num_rows + block_size - 1) / block_size; }

  /// What comes next in each row.
  int scratch_bytes(int threads) const { return threads * block_size * int(sizeof(std::size_t)); }

  Policy policy(const Space& space) const {
    const int teams = static_cast<int>((num_block_rows() + block_rows_per_team - 1) / block_rows_per_team);
    const int threads = is_host_space<Space> ? 1 : block_rows_per_team;
    Policy result(space, teams, threads, is_host_space<Space> ? 1 : Lanes);
    return result.set_scratch_size(0, Kokkos::PerTeam(scratch_bytes(threads) + 8));
  }

  /// row(level, i, next) for the block rows of a team.
  template <class Row>
  KOKKOS_FUNCTION void for_each_row(const Member& team, const Row& row) const {
    auto* all = static_cast<std::size_t*>(
        team.team_scratch(0).get_shmem_aligned(scratch_bytes_of(team.team_size()), 8));
    std::size_t* next = all + team.team_rank() * block_size;
    const std::int64_t count = (pattern.num_rows + block_size - 1) / block_size;
    const std::int64_t begin = std::int64_t(team.league_rank()) * block_rows_per_team;
    const std::int64_t end = begin + block_rows_per_team < count ? begin + block_rows_per_team : count;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, end),
                         [&](std::int64_t i) { row(Level(team), i, next); });
  }

  /// found(block column) for those of block row i, ascending; take(p, q, k) by one lane for entry k of the
  /// matrix, which is the block's (p, q).
  template <class Found, class Take>
  KOKKOS_FUNCTION void merge(const Level& level, std::int64_t i, std::size_t* next, const Found& found,
                             const Take& take) const {
    const std::int64_t first = i * block_size;
    const int rows = first + block_size < pattern.num_rows ? block_size : int(pattern.num_rows - first);
    level.region([&](int lane) {
      for (int p = lane; p < rows; p += level.size()) next[p] = pattern.row_ptrs(first + p);
    });
    while (true) {
      const int col = level.template min<int>([&](int lane) {
        int least = nothing;
        for (int p = lane; p < rows; p += level.size())
          if (next[p] < pattern.row_ptrs(first + p + 1)) {
            const int own = pattern.col_idxs(next[p]) / block_size;
            least = own < least ? own : least;
          }
        return least;
      });
      if (col == nothing) return;
      found(col);
      level.region([&](int lane) {
        for (int p = lane; p < rows; p += level.size()) {
          const std::size_t end = pattern.row_ptrs(first + p + 1);
          std::size_t k = next[p];
          for (; k < end && pattern.col_idxs(k) / block_size == col; ++k)
            take(p, pattern.col_idxs(k) - col * block_size, k);
          next[p] = k;
        }
      });
    }
  }

 private:
  KOKKOS_FUNCTION int scratch_bytes_of(int threads) const {
    return threads * block_size * int(sizeof(std::size_t));
  }
};

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

/// Lanes for rows of blocks of a size: one for each row of a block, where a device has so few.
template <class Space, class With>
void with_lanes(int block_size, const With& with) {
  if (is_host_space<Space> || block_size <= 8)
    with.template operator()<8>();
  else
    with.template operator()<32>();
}

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

template <class Space>
struct AddCounts {
  VectorView<const int, Space> counts;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& sum) const { sum += counts(i); }
};

template <class Space>
struct LargestCount {
  Vector<int, Space> counts;
  KOKKOS_FUNCTION void operator()(std::int64_t i, int& most) const {
    if (counts(i) > most) most = counts(i);
  }
};

}  // namespace

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

template <class Scalar, class Space>
BcsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> to_bcsr(
    const Space& space, const std::type_identity_t<CsrView<Scalar, Space>>& a, int block_size,
    BlockOrder order) {
  using Result = BcsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  check_block_size(block_size, "to_bcsr");
  const auto rest = static_cast<int>(a.num_rows % block_size);
  if (a.num_rows != a.num_cols && (rest != 0 || a.num_cols % block_size != 0))
    throw InputError("to_bcsr: " + std::to_string(a.num_rows) + " x " + std::to_string(a.num_cols) +
                     " entries are not blocks of " + std::to_string(block_size) +
                     "; only a square matrix is padded");
  const int padding = rest == 0 ? 0 : block_size - rest;
  const Vector<int, Space> counts = blocks_of_rows<Space>(space, a, block_size);
  const auto block_rows = static_cast<std::int64_t>(counts.extent(0));
  const auto [row_ptrs, num_blocks] =
      impl::scan_row_lengths<Space>(space, "prekond::to_bcsr", block_rows, counts);
  const std::size_t places = std::size_t(block_size) * block_size;
  Result result(block_size, order, block_rows, (a.num_cols + padding) / block_size, row_ptrs,
                allocate<Vector<int, Space>>(space, "prekond::to_bcsr::col_idxs", num_blocks),
                allocate_zero<Vector<Scalar, Space>>(space, "prekond::to_bcsr::values", num_blocks * places),
                padding);
  if (block_rows > 0)
    with_lanes<Space>(block_size, [&]<int Lanes>() {
      const MergeRows<Space, Lanes> rows{a, block_size};
      Kokkos::parallel_for(
          "prekond::to_bcsr", rows.policy(space),
          FillBlocks<Scalar, Space, Lanes>{rows, a, result, impl::blocks::BlockStrides(result)});
    });
  int longest = 0;
  Kokkos::parallel_reduce("prekond::to_bcsr::longest_row",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, block_rows),
                          LargestCount<Space>{counts}, Kokkos::Max<int>(longest));
  result.longest_row = longest;
  space.fence("prekond::to_bcsr");  // the counts are freed
  return result;
}

#define PREKOND_COUNT_BLOCKS(Space)                                                             \
  template std::vector<BlockFill> count_blocks<Space>(                                          \
      const Space&, const std::type_identity_t<CsrGraphView<Space>>&, const std::vector<int>&); \
  template BlockFill detect_block_size<Space>(                                                  \
      const Space&, const std::type_identity_t<CsrGraphView<Space>>&, std::int64_t);
PREKOND_INSTANTIATE_SPACES(PREKOND_COUNT_BLOCKS)

#define PREKOND_TO_BCSR(Scalar, Space)                                                \
  template BcsrMatrix<Scalar, int, std::size_t, Space::memory_space> to_bcsr<Scalar>( \
      const Space&, const std::type_identity_t<CsrView<Scalar, Space>>&, int, BlockOrder);
PREKOND_INSTANTIATE(PREKOND_TO_BCSR)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_TO_BCSR)

}  // namespace prekond
