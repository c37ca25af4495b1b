// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/sparse_product/spgemm.hpp>
#include "core/kernel_policy.hpp"
#include "core/lane_group.hpp"
#include "sparse_product/row_bins.hpp"

#include "core/instantiate.hpp"
#include "sparse_product/host_product.hpp"
#include "sparse_product/long_product_values.hpp"
#include "sparse_product/product_row.hpp"
#include "sparse_product/spgemm_row.hpp"
#include "sparse_product/spgemm_values_host.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

namespace prekond {
namespace {

using impl::spgemm::Product;
using impl::spgemm::sum_rows_on_host;
using impl::spgemm::SumBlockRow;

struct SpgemmTuning {
  static constexpr int longest_in_scratch =
      2048;  ///< 8 bytes a column and 6 a bucket: 40 kB a row of doubles
  static constexpr int longest_of_a_thread = 16;
  static constexpr int longest_of_few = 64;
  static constexpr std::size_t most_of_a = 1024;  ///< entries of A that a vector or a team adds one by one
  /// Entries of B whose transposition is taken to cost as much as one of these: an estimate.
  static constexpr std::int64_t entries_of_b = 8192;
  static constexpr int lanes = 32;
  static constexpr int few_lanes = 8;
  /// For rows of B with 8 to 11 entries in the mean, most of which eight lanes would read twice: P^T (A P) of
  /// poisson3d:160 takes 2.7 ms with 16 lanes, 3.8 with 8 and 2.8 with 32; A A, with 7 entries, 6.3, 4.2
  /// and 4.2.
  static constexpr int medium_lanes = 16;
  static constexpr int mean_length_of_medium_rows = 8;
  static constexpr int mean_length_of_long_rows = 12;  ///< of B, as in the search for the pattern
  static constexpr int team_lanes = 128;
  static constexpr std::size_t scratch_bytes = 40 * 1024;
};

// ------------------------------------------------------------------------------------------------- device

/// Short rows of C, by a thread each.
template <class Scalar, class Space>
struct SumShortRows {
  Product<Scalar, Space> product;
  VectorView<const int, Space> rows;
  KOKKOS_FUNCTION void operator()(std::int64_t r) const {
    if (!product.leaves_out(rows(r))) impl::spgemm::sum_short_row(product, rows(r));
  }
};

template <class Space>
struct HasLongRow {
  impl::spgemm::IsLongRow<Space> is_long;
  VectorView<const int, Space> rows;
  KOKKOS_FUNCTION void operator()(std::int64_t r, std::int64_t& count) const { count += is_long(rows(r)); }
};

/// Long rows of C, by a team each, in place.
template <class Scalar, class Space>
struct SumRowsByTeam {
  using Policy = impl::KernelPolicy<Space>;
  using Member = typename Policy::member_type;
  Product<Scalar, Space> product;
  CsrGraphView<Space> pattern;  ///< C's
  VectorView<const int, Space> rows;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const auto &a = product.a, &b = product.b;
    const auto& c = product.c;
    const int i = rows(team.league_rank());
    if (product.leaves_out(i)) return;
    const std::size_t begin = c.row_ptrs(i), length = c.row_ptrs(i + 1) - begin;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, length),
                         [&](std::size_t p) { c.values(begin + p) = Scalar(0); });
    team.team_barrier();
    for (std::size_t e = a.row_ptrs(i); e < a.row_ptrs(i + 1); ++e) {
      const int k = a.col_idxs(e);
      const Scalar a_ik = a.values(e);
      const std::size_t first = b.row_ptrs(k);
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, b.row_ptrs(k + 1) - first), [&](std::size_t q) {
        c.values(pattern.first_from(i, b.col_idxs(first + q))) += a_ik * b.values(first + q);
      });
      team.team_barrier();
    }
  }
};

/// Block rows of C by vectors of lanes, one each.
template <class Scalar, class Space, int Lanes, int Inner, int Cols>
struct SumBlockRowsByVector {
  using Policy = impl::KernelPolicy<Space>;
  using Member = typename Policy::member_type;
  using LaneGroup = NativeLaneGroup<Space, Member, Lanes>;

  Product<Scalar, Space> product;
  VectorView<const int, Space> rows;
  int capacity;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t r = std::int64_t(team.league_rank()) * team.team_size() + team.team_rank();
    if (r >= static_cast<std::int64_t>(rows.extent(0)) || product.leaves_out(rows(r))) return;
    using Row = SumBlockRow<Scalar, Space, Inner, Cols>;
    void* scratch = team.thread_scratch(0).get_shmem_aligned(Row::bytes(capacity, product.blocks), 16);
    Row(product, scratch, capacity)(LaneGroup(team), rows(r));
  }
};

/// By whole warps where the scratch of a warp's short vectors would be too much: Kokkos launches no less than
/// a warp.
template <int Lanes, int Inner, int Cols, class Scalar, class Space>
void launch_block_bin(const Space& space, const Product<Scalar, Space>& product,
                      const VectorView<const int, Space>& rows, int capacity) {
  using Kernel = SumBlockRowsByVector<Scalar, Space, Lanes, Inner, Cols>;
  const std::size_t bytes = SumBlockRow<Scalar, Space, Inner, Cols>::bytes(capacity, product.blocks) + 16;
  constexpr int whole = SpgemmTuning::lanes;
  if constexpr (Lanes < whole)
    if (whole / Lanes * bytes > SpgemmTuning::scratch_bytes)
      return launch_block_bin<whole, Inner, Cols>(space, product, rows, capacity);
  const int team =
      impl::spgemm::vectors_of_team(SpgemmTuning::scratch_bytes, bytes, SpgemmTuning::team_lanes / Lanes);
  const auto count = static_cast<std::int64_t>(rows.extent(0));
  typename Kernel::Policy policy(space, static_cast<int>((count + team - 1) / team), team, Lanes);
  policy.set_scratch_size(0, Kokkos::PerThread(static_cast<int>(bytes)));
  Kokkos::parallel_for("prekond::spgemm::sum_block_rows", policy, Kernel{product, rows, capacity});
}

template <int Lanes, class Scalar, class Space>
void sum_block_bin(const Space& space, const Product<Scalar, Space>& product,
                   const VectorView<const int, Space>& rows, int capacity) {
  impl::spgemm::with_sizes(product.blocks, [&]<int Inner, int Cols>(impl::spgemm::BlockSizes<Inner, Cols>) {
    launch_block_bin<Lanes, Inner, Cols>(space, product, rows, capacity);
  });
}

template <int Lanes, class Scalar, class Space>
void sum_bin(const Space& space, const Product<Scalar, Space>& product, const RowBins<Space>& bins,
             const typename RowBins<Space>::Bin& bin) {
  const VectorView<const int, Space> rows = bins.rows_of(bin);
  if (bin.longest > SpgemmTuning::longest_in_scratch) {
    using Kernel = SumRowsByTeam<Scalar, Space>;
    Kokkos::parallel_for("prekond::spgemm::sum_long_rows",
                         typename Kernel::Policy(space, static_cast<int>(bin.count), Kokkos::AUTO, 32),
                         Kernel{product, CsrGraphView<Space>(product.c), rows});
    return;
  }
  if (bin.longest <= SpgemmTuning::longest_of_a_thread && product.blocks.cols == 1) {
    Kokkos::parallel_for("prekond::spgemm::sum_short_rows",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, bin.count),
                         SumShortRows<Scalar, Space>{product, rows});
    return;
  }
  const int capacity = std::max(bin.longest / product.blocks.cols, 1);
  if (product.blocks.cols == 1)
    launch_block_bin<Lanes, 1, 1>(space, product, rows, capacity);
  else
    launch_block_bin<Lanes, 0, 0>(space, product, rows, capacity);
}

/// Is there a row of some length, for which A has a long row? Short ones take no time to speak of, and this
/// question none where all are short.
template <class Scalar, class Space>
bool are_for_long_rows_of_a(const Space& space, const Product<Scalar, Space>& product,
                            const RowBins<Space>& bins, const impl::spgemm::IsLongRow<Space>& is_long) {
  std::int64_t long_rows = 0;
  for (const auto& bin : bins.bins) {
    if (bin.longest <= SpgemmTuning::longest_of_few) continue;
    std::int64_t of_bin = 0;
    Kokkos::parallel_reduce("prekond::spgemm::long_rows_of_a",
                            Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, bin.count),
                            HasLongRow<Space>{is_long, bins.rows_of(bin)}, of_bin);
    long_rows += of_bin;
  }
  return long_rows > 0;
}

/// By rows, which are no block rows.
template <int Lanes, class Scalar, class Space>
void sum_rows(const Space& space, Product<Scalar, Space> product) {
  const RowBins<Space> bins = bin_rows<Space>(
      space, product.c.row_ptrs,
      {SpgemmTuning::longest_of_a_thread, 32, 64, 128, 256, 512, 1024, SpgemmTuning::longest_in_scratch});
  const std::size_t most = std::max(SpgemmTuning::most_of_a,
                                    static_cast<std::size_t>(product.b.nnz() / SpgemmTuning::entries_of_b));
  const impl::spgemm::IsLongRow<Space> is_long{product.a.row_ptrs, most};
  if (are_for_long_rows_of_a(space, product, bins, is_long)) {
    product.most_of_a = most;
    impl::spgemm::sum_long_rows<Scalar, Space>(
        space, product,
        impl::list_rows(space, "prekond::spgemm::rows_for_long_rows", product.a.num_rows, is_long));
  }
  for (const auto& bin : bins.bins) sum_bin<Lanes>(space, product, bins, bin);
  space.fence("prekond::spgemm::sum_rows");  // the lists of rows go away
}

/// Where block rows begin, counted by the entries of one row each.
template <class Space>
struct BlockRowPtrs {
  VectorView<const std::size_t, Space> row_ptrs;
  int rows;
  VectorView<std::size_t, Space> result;
  KOKKOS_FUNCTION void operator()(std::int64_t block_row) const {
    result(block_row) = row_ptrs(block_row * rows) / rows;
  }
};

/// False, and nothing is done, where the sums of a block row do not fit into scratch.
template <int Lanes, class Scalar, class Space>
bool sum_block_rows(const Space& space, Product<Scalar, Space> product) {
  product.blocks.rows =
      impl::spgemm::rows_of_vector<Scalar, Space>(product.c.num_rows, product.c.nnz(), product.blocks);
  const ProductBlocks& blocks = product.blocks;
  const std::int64_t block_rows = product.c.num_rows / blocks.rows;
  const auto row_ptrs =
      allocate<Vector<std::size_t, Space>>(space, "prekond::spgemm::block_row_ptrs", block_rows + 1);
  Kokkos::parallel_for("prekond::spgemm::block_row_ptrs",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, block_rows + 1),
                       BlockRowPtrs<Space>{product.c.row_ptrs, blocks.rows, row_ptrs});
  const RowBins<Space> bins = bin_rows<Space>(
      space, row_ptrs, {4 * blocks.cols, 8 * blocks.cols, 16 * blocks.cols, 64 * blocks.cols});
  const auto capacity_of = [&](const auto& bin) { return std::max(bin.longest / blocks.cols, 1); };
  const int largest = bins.bins.empty() ? 1 : capacity_of(bins.bins.back());
  if (SumBlockRow<Scalar, Space, 0, 0>::bytes(largest, blocks) + 16 > SpgemmTuning::scratch_bytes)
    return false;
  for (const auto& bin : bins.bins) sum_block_bin<Lanes>(space, product, bins.rows_of(bin), capacity_of(bin));
  space.fence("prekond::spgemm::sum_block_rows");  // the lists of rows go away
  return true;
}

void check_blocks(const ProductBlocks& blocks, std::int64_t rows, std::int64_t inner, std::int64_t cols) {
  const auto fits = [](std::int64_t size, int block) { return block >= 1 && size % block == 0; };
  if (fits(rows, blocks.rows) && fits(inner, blocks.inner) && fits(cols, blocks.cols)) return;
  throw InputError("spgemm: " + std::to_string(rows) + " x " + std::to_string(inner) + " times " +
                   std::to_string(inner) + " x " + std::to_string(cols) + " entries are not blocks of " +
                   std::to_string(blocks.rows) + " x " + std::to_string(blocks.inner) + " and " +
                   std::to_string(blocks.inner) + " x " + std::to_string(blocks.cols));
}

}  // namespace

template <class Scalar, class Space>
void spgemm_values(const Space& space, const CsrView<Scalar, Space>& a, const CsrView<Scalar, Space>& b,
                   const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& c,
                   ProductBlocks blocks) {
  if (a.num_cols != b.num_rows || c.num_rows != a.num_rows || c.num_cols != b.num_cols)
    throw InputError("spgemm: " + std::to_string(a.num_rows) + " x " + std::to_string(a.num_cols) +
                     " times " + std::to_string(b.num_rows) + " x " + std::to_string(b.num_cols) + " into " +
                     std::to_string(c.num_rows) + " x " + std::to_string(c.num_cols));
  check_blocks(blocks, a.num_rows, a.num_cols, b.num_cols);
  if (c.nnz() == 0) return;
  const Product<Scalar, Space> product{a, b, c, blocks};
  if constexpr (is_host_space<Space>) {
    sum_rows_on_host(space, product);
  } else {
    constexpr int few = SpgemmTuning::few_lanes, many = SpgemmTuning::lanes;
    const std::int64_t mean = b.nnz() / b.num_rows;
    const bool is_short = mean < SpgemmTuning::mean_length_of_long_rows;
    if (blocks.rows * blocks.inner > 1 &&
        (is_short ? sum_block_rows<few>(space, product) : sum_block_rows<many>(space, product)))
      return;
    const Product<Scalar, Space> by_rows{a, b, c, {1, 1, blocks.cols}};
    if (mean < SpgemmTuning::mean_length_of_medium_rows)
      sum_rows<few>(space, by_rows);
    else if (is_short)
      sum_rows<SpgemmTuning::medium_lanes>(space, by_rows);
    else
      sum_rows<many>(space, by_rows);
  }
}

template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> spgemm(const Space& space,
                                                                         const CsrView<Scalar, Space>& a,
                                                                         const CsrView<Scalar, Space>& b,
                                                                         const SpgemmOptions& options) {
  if constexpr (is_host_space<Space>)
    if (a.num_cols == b.num_rows && a.nnz() > 0 && b.nnz() > 0) {
      const auto check = [&](std::size_t nnz) {
        impl::spgemm::check_size(a.num_rows, nnz, options.max_bytes);
      };
      if (const auto c = impl::spgemm::product_on_host<Scalar, Space>(space, a, b, options.slab_bytes, check))
        return *c;
    }
  const CsrGraph<Space> pattern = product_pattern<Space>(space, a, b, options.max_bytes, options.slab_bytes);
  const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> c(
      pattern.num_rows, pattern.num_cols, pattern.row_ptrs, pattern.col_idxs,
      allocate<Vector<Scalar, Space>>(space, "prekond::spgemm::values", pattern.nnz()));
  spgemm_values<Scalar, Space>(space, a, b, c);
  return c;
}

#define PREKOND_SPGEMM(Scalar, Space)                                                                    \
  template CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> spgemm<Scalar, Space>(      \
      const Space&, const CsrView<Scalar, Space>&, const CsrView<Scalar, Space>&, const SpgemmOptions&); \
  template void spgemm_values<Scalar, Space>(                                                            \
      const Space&, const CsrView<Scalar, Space>&, const CsrView<Scalar, Space>&,                        \
      const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>&, ProductBlocks);
PREKOND_INSTANTIATE(PREKOND_SPGEMM)

}  // namespace prekond
