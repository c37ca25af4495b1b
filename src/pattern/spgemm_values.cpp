// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/core/levels.hpp>
#include <prekond/pattern/row_bins.hpp>
#include <prekond/pattern/spgemm.hpp>

#include "instantiate.hpp"
#include "pattern/host_product.hpp"
#include "pattern/product_row.hpp"
#include "pattern/spgemm_row.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

namespace prekond {
namespace {

using impl::spgemm::Product;
using impl::spgemm::SumBlockRow;

struct SpgemmTuning {
  static constexpr int longest_in_scratch =
      2048;  ///< 16 bytes a column and 4 a bucket: 40 kB a row of doubles
  static constexpr int longest_of_a_thread = 16;
  static constexpr int lanes = 32;
  static constexpr int few_lanes = 8;
  static constexpr int mean_length_of_long_rows = 12;  ///< of B, as in the search for the pattern
  static constexpr int team_lanes = 128;
  static constexpr std::size_t scratch_bytes = 40 * 1024;
  static constexpr std::size_t bytes_of_vector = 12 * 1024;  ///< with more, too few vectors are resident
  static constexpr std::int64_t enough_vectors = 8192;       ///< twice what is resident
  static constexpr int rows_per_fetch = 64;                  ///< of a host thread
};

// --------------------------------------------------------------------------------------------------- host

/// Block rows by threads, each with the place of every column in the row at hand. `Cols` and `Inner`: those
/// of the blocks, or 0 for any.
template <class Scalar, class Space, int Cols, int Inner>
struct SumRowsByThread {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  Product<Scalar, Space> product;
  VectorView<int, Space> places;  ///< b.num_cols a thread
  VectorView<std::int64_t, Space> next;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    int* place = places.data() +
                 static_cast<std::size_t>(team.league_rank()) * static_cast<std::size_t>(product.b.num_cols);
    const ProductBlocks& blocks = product.blocks;
    const std::int64_t block_rows = product.a.num_rows / blocks.rows;
    constexpr std::int64_t group = SpgemmTuning::rows_per_fetch;
    while (true) {
      const std::int64_t first = Kokkos::atomic_fetch_add(&next(0), group);
      if (first >= block_rows) break;
      for (std::int64_t row = first; row < first + group && row < block_rows; ++row)
        if (Cols == 1 && Inner == 1 && blocks.rows == 1)
          do_row(place, row);
        else
          do_block_row(place, row * blocks.rows);
    }
  }

  KOKKOS_FUNCTION void do_row(int* place, std::int64_t i) const {
    const auto &a = product.a, &b = product.b;
    const auto& c = product.c;
    const std::size_t begin = c.row_ptrs(i);
    const auto length = static_cast<int>(c.row_ptrs(i + 1) - begin);
    const int* const cols = c.col_idxs.data() + begin;
    Scalar* const sums = c.values.data() + begin;
    for (int p = 0; p < length; ++p) {
      place[cols[p]] = p;
      sums[p] = Scalar(0);
    }
    for (std::size_t e = a.row_ptrs(i); e < a.row_ptrs(i + 1); ++e) {
      const int k = a.col_idxs(e);
      const Scalar a_ik = a.values(e);
      for (std::size_t q = b.row_ptrs(k); q < b.row_ptrs(k + 1); ++q)
        sums[place[b.col_idxs(q)]] += a_ik * b.values(q);
    }
  }

  KOKKOS_FUNCTION int cols_of_block() const { return Cols > 0 ? Cols : product.blocks.cols; }

  /// The rows from i on, which have the same columns: of a block of B only the first one is looked up.
  KOKKOS_FUNCTION void do_block_row(int* place, std::int64_t i) const {
    const auto& a = product.a;
    const auto& c = product.c;
    const ProductBlocks& blocks = product.blocks;
    const std::size_t begin = c.row_ptrs(i), of_a = a.row_ptrs(i);
    const std::size_t length = c.row_ptrs(i + 1) - begin, length_of_a = a.row_ptrs(i + 1) - of_a;
    for (std::size_t p = 0; p < length; p += cols_of_block())
      place[c.col_idxs(begin + p)] = static_cast<int>(p);
    for (std::size_t p = 0; p < length * blocks.rows; ++p) c.values(begin + p) = Scalar(0);
    for (std::size_t e = 0; e < length_of_a; e += blocks.inner)
      add_block(place, of_a + e, length_of_a, c.values.data() + begin, length);
  }

  /// The block of A that begins at `entry`, of rows of `length_of_a` entries, times B's block row.
  KOKKOS_FUNCTION void add_block(const int* place, std::size_t entry, std::size_t length_of_a, Scalar* sums,
                                 std::size_t length) const {
    const auto& b = product.b;
    const int rows = product.blocks.rows, inner = product.blocks.inner, cols = cols_of_block();
    const int k = product.a.col_idxs(entry);
    const std::size_t begin = b.row_ptrs(k), length_of_b = b.row_ptrs(k + 1) - begin;
    const Scalar* const of_a = product.a.values.data() + entry;
    for (std::size_t q = 0; q < length_of_b; q += cols) {
      const Scalar* const of_b = b.values.data() + begin + q;
      Scalar* const to = sums + place[b.col_idxs(begin + q)];
      for (int r = 0; r < rows; ++r)
        add_row(of_a + r * length_of_a, inner, of_b, length_of_b, to + r * length);
    }
  }

  /// sum_c += sum_s a_s b_sc, in the order of s.
  KOKKOS_FUNCTION void add_row(const Scalar* a, int inner, const Scalar* b, std::size_t length_of_b,
                               Scalar* to) const {
    if constexpr (Cols > 0 && Inner > 0) {
      Scalar sums[Cols];
      for (int c = 0; c < Cols; ++c) sums[c] = to[c];
      for (int s = 0; s < Inner; ++s)
        for (int c = 0; c < Cols; ++c) sums[c] += a[s] * b[s * length_of_b + c];
      for (int c = 0; c < Cols; ++c) to[c] = sums[c];
    } else {
      for (int s = 0; s < inner; ++s)
        for (int c = 0; c < cols_of_block(); ++c) to[c] += a[s] * b[s * length_of_b + c];
    }
  }
};

template <int Cols, int Inner, class Scalar, class Space>
void sum_rows_by_threads(const Space& space, const Product<Scalar, Space>& product) {
  const std::int64_t block_rows = product.a.num_rows / product.blocks.rows;
  const int threads = static_cast<int>(
      std::min<std::int64_t>(space.concurrency(), block_rows / SpgemmTuning::rows_per_fetch + 1));
  const auto places = allocate<Vector<int, Space>>(space, "prekond::spgemm::places",
                                                   static_cast<std::size_t>(threads) * product.b.num_cols);
  const auto next = allocate_zero<Vector<std::int64_t, Space>>(space, "prekond::spgemm::next", 1);
  using Kernel = SumRowsByThread<Scalar, Space, Cols, Inner>;
  Kokkos::parallel_for("prekond::spgemm::sum_rows", typename Kernel::Policy(space, threads, 1),
                       Kernel{product, places, next});
  space.fence("prekond::spgemm::sum_rows");  // the arrays go away
}

template <class Scalar, class Space>
void sum_rows_on_host(const Space& space, const Product<Scalar, Space>& product) {
  const auto are = [&](int cols, int inner) {
    return product.blocks.cols == cols && product.blocks.inner == inner;
  };
  if (are(1, 1)) return sum_rows_by_threads<1, 1>(space, product);
  if (are(3, 3)) return sum_rows_by_threads<3, 3>(space, product);
  if (are(6, 3)) return sum_rows_by_threads<6, 3>(space, product);
  if (are(6, 6)) return sum_rows_by_threads<6, 6>(space, product);
  sum_rows_by_threads<0, 0>(space, product);
}

// ------------------------------------------------------------------------------------------------- device

/// Short rows of C, by a thread each.
template <class Scalar, class Space>
struct SumShortRows {
  Product<Scalar, Space> product;
  VectorView<const int, Space> rows;
  KOKKOS_FUNCTION void operator()(std::int64_t r) const { impl::spgemm::sum_short_row(product, rows(r)); }
};

/// Long rows of C, by a team each, in place.
template <class Scalar, class Space>
struct SumRowsByTeam {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  Product<Scalar, Space> product;
  CsrGraphView<Space> pattern;  ///< C's
  VectorView<const int, Space> rows;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const auto &a = product.a, &b = product.b;
    const auto& c = product.c;
    const int i = rows(team.league_rank());
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
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  using Level = NativeVectorLevel<Space, Member, Lanes>;

  Product<Scalar, Space> product;
  VectorView<const int, Space> rows;
  int capacity;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t r = std::int64_t(team.league_rank()) * team.team_size() + team.team_rank();
    if (r >= static_cast<std::int64_t>(rows.extent(0))) return;
    using Row = SumBlockRow<Scalar, Space, Inner, Cols>;
    void* scratch = team.thread_scratch(0).get_shmem_aligned(Row::bytes(capacity, product.blocks), 16);
    Row(product, scratch, capacity)(Level(team), rows(r));
  }
};

template <int Lanes, int Inner, int Cols, class Scalar, class Space>
void launch_block_bin(const Space& space, const Product<Scalar, Space>& product,
                      const VectorView<const int, Space>& rows, int capacity) {
  using Kernel = SumBlockRowsByVector<Scalar, Space, Lanes, Inner, Cols>;
  const std::size_t bytes = SumBlockRow<Scalar, Space, Inner, Cols>::bytes(capacity, product.blocks) + 16;
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
  const auto are = [&](int inner, int cols) {
    return product.blocks.inner == inner && product.blocks.cols == cols;
  };
  if (are(1, 1)) return launch_block_bin<Lanes, 1, 1>(space, product, rows, capacity);
  if (are(3, 3)) return launch_block_bin<Lanes, 3, 3>(space, product, rows, capacity);
  if (are(3, 6)) return launch_block_bin<Lanes, 3, 6>(space, product, rows, capacity);
  if (are(6, 6)) return launch_block_bin<Lanes, 6, 6>(space, product, rows, capacity);
  launch_block_bin<Lanes, 0, 0>(space, product, rows, capacity);
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
  sum_block_bin<Lanes>(space, product, rows, std::max(bin.longest / product.blocks.cols, 1));
}

template <int Lanes, class Scalar, class Space>
void sum_rows(const Space& space, const Product<Scalar, Space>& product) {
  const RowBins<Space> bins = bin_rows<Space>(
      space, product.c.row_ptrs,
      {SpgemmTuning::longest_of_a_thread, 32, 64, 128, 256, 512, 1024, SpgemmTuning::longest_in_scratch});
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

/// How many rows of a block row a vector has: fewer than all of them where the vectors are few or their sums
/// take much scratch.
template <class Scalar, class Space>
int rows_of_vector(const Product<Scalar, Space>& product) {
  ProductBlocks blocks = product.blocks;
  const std::int64_t mean = product.c.nnz() / std::max<std::int64_t>(product.c.num_rows * blocks.cols, 1);
  const int capacity = static_cast<int>(mean + mean / 2 + 1);
  while (blocks.rows > 1 &&
         (product.c.num_rows / blocks.rows < SpgemmTuning::enough_vectors ||
          SumBlockRow<Scalar, Space, 0, 0>::bytes(capacity, blocks) > SpgemmTuning::bytes_of_vector)) {
    int parts = 2;
    while (blocks.rows % parts != 0) ++parts;
    blocks.rows /= parts;
  }
  return blocks.rows;
}

/// False, and nothing is done, where the sums of a block row do not fit into scratch.
template <int Lanes, class Scalar, class Space>
bool sum_block_rows(const Space& space, Product<Scalar, Space> product) {
  product.blocks.rows = rows_of_vector(product);
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
    const bool is_short = b.nnz() / b.num_rows < SpgemmTuning::mean_length_of_long_rows;
    if (blocks.rows * blocks.inner > 1 &&
        (is_short ? sum_block_rows<few>(space, product) : sum_block_rows<many>(space, product)))
      return;
    const Product<Scalar, Space> by_rows{a, b, c, {1, 1, blocks.cols}};
    is_short ? sum_rows<few>(space, by_rows) : sum_rows<many>(space, by_rows);
  }
}

namespace {

/// Of Kokkos Kernels.
template <class Scalar, class Space>
SpgemmFunction<Scalar, Space>& registered_spgemm() {
  static SpgemmFunction<Scalar, Space> function = nullptr;
  return function;
}

}  // namespace

template <class Scalar, class Space>
void register_spgemm(SpgemmFunction<Scalar, Space> f) {
  registered_spgemm<Scalar, Space>() = f;
}

template <class Scalar, class Space>
bool has_spgemm(SpgemmLibrary library) {
  return library == SpgemmLibrary::own || registered_spgemm<Scalar, Space>();
}

template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> spgemm(const Space& space,
                                                                         const CsrView<Scalar, Space>& a,
                                                                         const CsrView<Scalar, Space>& b,
                                                                         const SpgemmOptions& options) {
  if (options.library == SpgemmLibrary::kokkos_kernels) {
    const auto function = registered_spgemm<Scalar, Space>();
    if (!function)
      throw InputError(
          "spgemm: this program has no product of Kokkos Kernels (build with Kokkos Kernels, and call "
          "prekond::kokkoskernels::register_spgemm)");
    impl::spgemm::check_fit(a.num_rows, a.num_cols, b.num_rows, b.num_cols);
    return function(space, a, b);
  }
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
      const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>&, ProductBlocks);          \
  template void register_spgemm<Scalar, Space>(SpgemmFunction<Scalar, Space>);                           \
  template bool has_spgemm<Scalar, Space>(SpgemmLibrary);
PREKOND_INSTANTIATE(PREKOND_SPGEMM)

}  // namespace prekond
