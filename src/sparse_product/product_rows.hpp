// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The pattern of a sparse product on a device, its rows binned by their numbers of products.
#include "sparse_product/row_bins.hpp"

#include "core/copy_rows.hpp"
#include "sparse_product/lengths_of_rows.hpp"
#include "sparse_product/listed_rows.hpp"
#include "sparse_product/long_product_rows.hpp"
#include "sparse_product/product_row.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace prekond::impl::spgemm {

struct ProductTuning {
  static constexpr int most_of_a_thread = 32;  ///< products of a row that one thread finds
  static constexpr int usual_columns = 12;     ///< of such a row; those with more are searched once more
  static constexpr int most_of_few_lanes = 256;
  static constexpr int few_lanes = 8;
  static constexpr int lanes = 32;
  static constexpr int largest_capacity = 1024;  ///< columns of a row in scratch: 12 kB
  static constexpr int team_lanes = 128;
  static constexpr std::size_t scratch_bytes = 40 * 1024;
  static constexpr int most_products = 1 << 30;  ///< that are counted for a row
  /// Words of bits that long rows take in all: more only where they are fewer than 8 a product.
  static constexpr std::int64_t usual_words = std::int64_t(1) << 26;
};

/// How many products make row i, up to `most_products`, which bins have room for.
template <class Space>
struct CountProducts {
  CsrGraphView<Space> a, b;
  VectorView<int, Space> count;
  RowTeams<Space> rows;
  KOKKOS_FUNCTION void operator()(const typename RowTeams<Space>::Member& team) const {
    rows.for_each_row(team, [&](std::int64_t i) {
      const std::size_t sum = lengths_of_rows<Space>(team, a, a.row_ptrs(i), a.row_ptrs(i + 1), b);
      constexpr std::size_t most = ProductTuning::most_products;
      Kokkos::single(Kokkos::PerThread(team), [&] { count(i) = static_cast<int>(sum < most ? sum : most); });
    });
  }
};

/// Where rows go: their lengths, and their columns where there is room for them.
template <class Space>
struct ProductPattern {
  CsrGraphView<Space> a, b;
  VectorView<int, Space> length;                  ///< -1: of a row that outgrew its table
  VectorView<const std::size_t, Space> row_ptrs;  ///< where the room for a row's columns begins
  VectorView<int, Space> col_idxs;
};

template <class Space>
struct PatternByThread {
  ProductPattern<Space> pattern;
  VectorView<const int, Space> rows;
  KOKKOS_FUNCTION void operator()(std::int64_t r) const {
    const int i = rows(r);
    if (!find<ProductTuning::usual_columns>(i)) find<ProductTuning::most_of_a_thread>(i);
  }

  /// False where the row has more than `most` columns.
  template <int most>
  KOKKOS_FUNCTION bool find(int i) const {
    const SmallPatternRow<Space, most> row(pattern.a, pattern.b, i);
    if (!row.fits) return false;
    pattern.length(i) = row.count();
    if (pattern.col_idxs.extent(0) > 0) row.write(pattern.col_idxs.data() + pattern.row_ptrs(i));
    return true;
  }
};

template <class Space, int Lanes>
struct PatternByVector {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  using LaneGroup = NativeLaneGroup<Space, Member, Lanes>;
  ProductPattern<Space> pattern;
  VectorView<const int, Space> rows;
  int capacity;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t r = std::int64_t(team.league_rank()) * team.team_size() + team.team_rank();
    if (r >= static_cast<std::int64_t>(rows.extent(0))) return;
    using Row = PatternRow<Space>;
    const LaneGroup lane_group(team);
    const Row row(pattern.a, pattern.b, team.thread_scratch(0).get_shmem_aligned(Row::bytes(capacity), 16),
                  capacity);
    const int i = rows(r);
    const int count = row.search(lane_group, i);
    lane_group.once([&] { pattern.length(i) = count; });
    if (pattern.col_idxs.extent(0) > 0 && count > 0)
      row.write(lane_group, count, pattern.col_idxs.data() + pattern.row_ptrs(i));
  }
};

template <int Lanes, class Space>
void find_by_vectors(const Space& space, const ProductPattern<Space>& pattern,
                     const VectorView<const int, Space>& rows, int longest) {
  using Kernel = PatternByVector<Space, Lanes>;
  const int capacity = std::min(longest, ProductTuning::largest_capacity);
  const std::size_t bytes = PatternRow<Space>::bytes(capacity) + 16;
  const int team = vectors_of_team(ProductTuning::scratch_bytes, bytes, ProductTuning::team_lanes / Lanes);
  const auto count = static_cast<std::int64_t>(rows.extent(0));
  typename Kernel::Policy policy(space, static_cast<int>((count + team - 1) / team), team, Lanes);
  policy.set_scratch_size(0, Kokkos::PerThread(static_cast<int>(bytes)));
  Kokkos::parallel_for("prekond::spgemm::find_rows", policy, Kernel{pattern, rows, capacity});
}

/// All rows but those with more columns than scratch has room for.
template <class Space>
void find_rows(const Space& space, const ProductPattern<Space>& pattern, const RowBins<Space>& bins) {
  for (const auto& bin : bins.bins) {
    const VectorView<const int, Space> rows = bins.rows_of(bin);
    if (bin.longest <= ProductTuning::most_of_a_thread) {
      Kokkos::parallel_for("prekond::spgemm::find_short_rows",
                           Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, bin.count),
                           PatternByThread<Space>{pattern, rows});
    } else if (bin.longest <= ProductTuning::most_of_few_lanes) {
      find_by_vectors<ProductTuning::few_lanes>(space, pattern, rows, bin.longest);
    } else {
      find_by_vectors<ProductTuning::lanes>(space, pattern, rows, bin.longest);
    }
  }
}

/// The pattern of A B; nothing where long rows are many and have few of B's columns. Rows are searched once
/// where their products fit into `slab_bytes`, else once to count and once to write. `check(nnz)` throws
/// where the result would be too large.
template <class Space, class Check>
std::optional<CsrGraph<Space>> pattern_on_device(const Space& space, const CsrGraphView<Space>& a,
                                                 const CsrGraphView<Space>& b, std::int64_t slab_bytes,
                                                 const Check& check) {
  const std::int64_t n = a.num_rows;
  const auto length = allocate<Vector<int, Space>>(space, "prekond::spgemm::length", n);
  Kokkos::parallel_for("prekond::spgemm::count_products",
                       RowTeams<Space>::policy(space, n, static_cast<std::int64_t>(a.nnz())),
                       CountProducts<Space>{a, b, length, {n}});
  const auto [products, num_products] =
      scan_row_lengths(space, "prekond::spgemm::products", n, VectorView<const int, Space>(length));
  const RowBins<Space> bins = bin_rows<Space>(
      space, products,
      {ProductTuning::most_of_a_thread, ProductTuning::most_of_few_lanes, ProductTuning::most_products});
  const int longest = bins.bins.empty() ? 0 : bins.bins.back().longest;
  ProductPattern<Space> pattern{a, b, length, products, {}};
  const bool is_kept = num_products <= static_cast<std::size_t>(slab_bytes) / sizeof(int) &&
                       longest < ProductTuning::most_products;
  const auto kept = allocate<Vector<int, Space>>(space, "prekond::spgemm::kept", is_kept ? num_products : 0);
  pattern.col_idxs = kept;
  find_rows(space, pattern, bins);
  Vector<int, Space> long_rows;
  if (longest > ProductTuning::largest_capacity)
    long_rows = list_rows(space, "prekond::spgemm::long_rows", n, HasNoLength<Space>{length});
  const std::int64_t words = static_cast<std::int64_t>(long_rows.extent(0)) * words_of_columns(b.num_cols);
  if (words > ProductTuning::usual_words && words / 8 > static_cast<std::int64_t>(num_products))
    return std::nullopt;
  const auto find_others = [&] {
    if (long_rows.extent(0) > 0)
      find_long_rows<Space>(space, a, b, long_rows, slab_bytes, length, pattern.row_ptrs, pattern.col_idxs);
  };
  find_others();
  const auto [row_ptrs, nnz] =
      scan_row_lengths(space, "prekond::spgemm", n, VectorView<const int, Space>(length));
  check(nnz);
  const auto col_idxs = allocate<Vector<int, Space>>(space, "prekond::spgemm::col_idxs", nnz);
  if (is_kept) {
    Kokkos::parallel_for("prekond::spgemm::copy_rows",
                         RowTeams<Space>::policy(space, n, static_cast<std::int64_t>(nnz)),
                         CopyRows<int, Space>{products, row_ptrs, kept, col_idxs, {n}});
  } else if (nnz > 0) {
    pattern.row_ptrs = row_ptrs;
    pattern.col_idxs = col_idxs;
    find_rows(space, pattern, bins);
    find_others();
  }
  space.fence("prekond::spgemm::find_rows");  // the lists of rows go away
  return CsrGraph<Space>{n, b.num_cols, row_ptrs, col_idxs};
}

}  // namespace prekond::impl::spgemm
