// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Products with matrices of blocks in SELL, for the unit that instantiates them.
#include <prekond/core/impl/multiply_add.hpp>
#include <prekond/matrix/sell_matrix.hpp>
#include "core/half.hpp"

#include <algorithm>

#include "core/load_once.hpp"
#include "core/packed.hpp"
#include "core/resident_bounds.hpp"
#include "matrix/format_layouts.hpp"
#include "matrix/product_teams.hpp"
#include "matrix/row_update.hpp"
#include "matrix/sell_deltas.hpp"

namespace prekond::impl::products {

struct BlockSellTuning {
  static constexpr int team = 64;
  static constexpr int resident_threads =
      512;  ///< of large blocks, whose entries take registers; else twice as many
  static constexpr int entries_at_once = 18;  ///< of several blocks, that a thread asks for
  static constexpr int rows_of_host_chunk = 64;
  static constexpr double most_places = 4.0 / 3;  ///< a block
  // Assumed: what a thread takes for a block and for each of its entries where few threads are under way, how
  // late it may be, and the rate of a large device's memory.
  static constexpr double seconds_of_block = 2e-7;
  static constexpr double seconds_of_entry = 1.7e-8;
  static constexpr double late = 2e-5;
  static constexpr double bytes_per_second = 4e12;
};

template <class Value>
struct PackedBlockSell {
  std::int64_t num_rows, num_cols, num_block_rows;
  int rows, cols;
  PackedVector<const std::size_t> block_ptrs;  ///< of the pattern
  PackedVector<const std::size_t> chunk_ptrs, delta_ptrs;
  PackedVector<const int> bases;
  PackedVector<const unsigned char> deltas;
  PackedVector<const int> order;  ///< the block row at a position
  PackedVector<const Value> values;

  template <class Space>
  explicit PackedBlockSell(const BlockSellMatrix<Value, Space>& a)
      : num_rows(a.pattern.num_rows()),
        num_cols(a.pattern.num_cols()),
        num_block_rows(a.pattern.blocks.num_rows),
        rows(a.pattern.rows),
        cols(a.pattern.cols),
        block_ptrs(a.pattern.blocks.row_ptrs),
        chunk_ptrs(a.structure.chunk_ptrs),
        delta_ptrs(a.structure.delta_ptrs),
        bases(a.structure.bases),
        deltas(a.structure.deltas),
        order(a.structure.rows),
        values(a.values) {}
};

/// Rows x Cols: of the blocks, or 0 x 0 where they are known only at run time.
template <class Value, class Scalar, class Space, int Rows, int Cols>
struct BlockSellRows {
  using Tuning = BlockSellTuning;
  static constexpr int resident =
      Rows * Cols <= Tuning::entries_at_once ? 2 * Tuning::resident_threads : Tuning::resident_threads;
  using Policy = Kokkos::TeamPolicy<Space, ResidentBounds<Tuning::team, resident, Scalar>>;
  using Member = typename Policy::member_type;
  static constexpr int chunk = SellStructure<Space>::chunk_rows;
  static constexpr int size = Rows * Cols;
  /// Blocks of which a thread asks for all entries at a time.
  static constexpr int batch =
      size > 0 && 2 * size <= Tuning::entries_at_once ? Tuning::entries_at_once / size : 1;

  PackedBlockSell<Value> a;
  typename RowUpdate<Scalar, Space>::Packed update;
  std::int64_t positions_per_team;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const RowRange range = rows_of_team(team.league_rank(), positions_per_team, a.num_block_rows);
    for (std::int64_t p = range.begin + team.team_rank(); p < range.end; p += team.team_size())
      for (int v = 0; v < update.num_columns; ++v)
        with_deltas(a.delta_ptrs, a.deltas, p / chunk,
                    [&](const auto* deltas) { add_block_row(p, deltas + p % chunk, v); });
  }

 private:
  template <class Delta>
  KOKKOS_FORCEINLINE_FUNCTION void add_block_row(std::int64_t position, const Delta* deltas, int v) const {
    const std::int64_t i = a.order.is_empty() ? position : a.order(position);
    const std::size_t first = a.chunk_ptrs(position / chunk);
    const int count = static_cast<int>(a.block_ptrs(i + 1) - a.block_ptrs(i));
    const int* bases = a.bases.data() + first;
    const Scalar* xv = update.x.column(v);
    if constexpr (size > 0) {
      const Value* values = a.values.data() + first * (size * chunk) + position % chunk;
      Scalar sums[Rows] = {};
      int k = 0;
      for (; k + batch <= count; k += batch) add_blocks<batch>(k, bases, deltas, values, xv, sums);
      if constexpr (batch > 1)
        for (; k < count; ++k) add_blocks<1>(k, bases, deltas, values, xv, sums);
#pragma unroll
      for (int q = 0; q < Rows; ++q) update(i * Rows + q, v, sums[q]);
    } else {
      const int entries = a.rows * a.cols;
      const Value* values = a.values.data() + first * (std::size_t(entries) * chunk) + position % chunk;
      for (int q = 0; q < a.rows; ++q) {
        Scalar sum = 0;
        for (int k = 0; k < count; ++k) {
          const Scalar* const x =
              xv + std::int64_t(bases[k] + static_cast<int>(deltas[std::size_t(k) * chunk])) * a.cols;
          const Value* const own = values + (std::size_t(k) * entries + q * a.cols) * chunk;
          for (int s = 0; s < a.cols; ++s)
            sum = multiply_add(static_cast<Scalar>(load_once(own + s * chunk)), x[s], sum);
        }
        update(i * a.rows + q, v, sum);
      }
    }
  }

  /// Count blocks from the k-th one on. All of their entries are in flight before the first is needed.
  template <int Count, class Delta>
  KOKKOS_FORCEINLINE_FUNCTION static void add_blocks(int k, const int* bases, const Delta* deltas,
                                                     const Value* values, const Scalar* xv, Scalar* sums) {
    int col[Count];
    Value value[Count][size];
    Scalar x[Count][Cols];
#pragma unroll
    for (int t = 0; t < Count; ++t)
      col[t] = (bases[k + t] + static_cast<int>(load_once(deltas + std::size_t(k + t) * chunk))) * Cols;
#pragma unroll
    for (int t = 0; t < Count; ++t)
#pragma unroll
      for (int e = 0; e < size; ++e)
        value[t][e] = load_once(values + (std::size_t(k + t) * size + e) * chunk);
#pragma unroll
    for (int t = 0; t < Count; ++t) load_adjacent<Cols>(xv + col[t], x[t]);
#pragma unroll
    for (int t = 0; t < Count; ++t)
#pragma unroll
      for (int q = 0; q < Rows; ++q)
#pragma unroll
        for (int s = 0; s < Cols; ++s)
          sums[q] = multiply_add(static_cast<Scalar>(value[t][q * Cols + s]), x[t][s], sums[q]);
  }
};

/// A chunk's values by a team: some block columns at a time, read row by row to scratch, and written from
/// there entry by entry of the blocks, by whole lines.
template <class Value, class Space>
struct FillBlockSell {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  static constexpr int chunk = SellStructure<Space>::chunk_rows;
  static constexpr int pitch = chunk + 1;  ///< block rows of an entry are in different banks
  static constexpr int threads = is_host_space<Space> ? 1 : 8;
  static constexpr int lanes = is_host_space<Space> ? 1 : 32;
  static constexpr std::size_t scratch_bytes = 28 * 1024;

  CsrView<Value, Space> a;
  BlockSellMatrix<Value, Space> to;
  int blocks_at_once;

  static std::size_t bytes_of_block(const BlockPattern<Space>& pattern) {
    return std::size_t(pattern.rows) * pattern.cols * pitch * sizeof(Value);
  }
  FillBlockSell(const CsrView<Value, Space>& from, const BlockSellMatrix<Value, Space>& matrix)
      : a(from),
        to(matrix),
        blocks_at_once(
            static_cast<int>(std::max<std::size_t>(1, scratch_bytes / bytes_of_block(matrix.pattern)))) {}

  Policy policy(const Space& space) const {
    Policy result(space, static_cast<int>(to.structure.num_chunks()), threads, lanes);
    result.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(bytes())));
    return result;
  }
  std::size_t bytes() const { return blocks_at_once * bytes_of_block(to.pattern) + 16; }
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const int rows = to.pattern.rows, cols = to.pattern.cols, size = rows * cols;
    auto* const tile = static_cast<Value*>(team.team_scratch(0).get_shmem_aligned(
        std::size_t(blocks_at_once) * size * pitch * sizeof(Value), 16));
    const std::int64_t position = std::int64_t(team.league_rank()) * chunk,
                       left = to.pattern.blocks.num_rows - position;
    const int here = left < chunk ? static_cast<int>(left) : chunk;
    const std::size_t first = to.structure.chunk_ptrs(team.league_rank());
    const int width = static_cast<int>(to.structure.chunk_ptrs(team.league_rank() + 1) - first);
    for (int k = 0; k < width; k += blocks_at_once) {
      const int count = width - k < blocks_at_once ? width - k : blocks_at_once;
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, here),
                           [&](int r) { read(team, position + r, k, count, tile + r); });
      team.team_barrier();
      Value* const place = to.values.data() + (first + k) * (std::size_t(size) * chunk);
      Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count * size * chunk),
                           [&](int p) { place[p] = tile[p / chunk * pitch + p % chunk]; });
      team.team_barrier();
    }
  }

 private:
  /// Blocks k, k + 1, ... of the block row at a position, those that it has.
  KOKKOS_FUNCTION void read(const Member& team, std::int64_t position, int k, int count, Value* tile) const {
    const auto& order = to.structure.rows;
    const std::int64_t i = order.extent(0) > 0 ? order(position) : position;
    const int rows = to.pattern.rows, cols = to.pattern.cols;
    const std::size_t begin = to.pattern.blocks.row_ptrs(i);
    const int length = static_cast<int>(to.pattern.blocks.row_ptrs(i + 1) - begin), rest = length - k;
    const Value* from =
        a.values.data() + begin * (std::size_t(rows) * cols) + static_cast<std::size_t>(k) * cols;
    for (int q = 0; q < rows; ++q, from += std::size_t(length) * cols)
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, (rest < count ? rest : count) * cols),
                           [&](int p) { tile[((p / cols * rows + q) * cols + p % cols) * pitch] = from[p]; });
  }
};

template <class Space>
struct WidestChunk {
  VectorView<const std::size_t, Space> chunk_ptrs;
  KOKKOS_FUNCTION void operator()(std::int64_t c, std::int64_t& widest) const {
    const auto width = static_cast<std::int64_t>(chunk_ptrs(c + 1) - chunk_ptrs(c));
    if (width > widest) widest = width;
  }
};

template <bool WithDot, class Value, class Scalar, class Space>
void dispatch(const Space& space, const char* label, const PackedBlockSell<Value>& a,
              const RowUpdate<Scalar, Space>& update) {
  using Tuning = BlockSellTuning;
  const auto launch = [&]<int Rows, int Cols>() {
    using Kernel = BlockSellRows<Value, Scalar, Space, Rows, Cols>;
    const int threads = is_host_space<Space> ? 1 : Tuning::team;
    const int per_team = is_host_space<Space> ? Tuning::rows_of_host_chunk : threads;
    Kokkos::parallel_for(label,
                         typename Kernel::Policy(space, num_teams(a.num_block_rows, per_team), threads, 1),
                         Kernel{a, update, per_team});
  };
  const auto are = [&](int rows, int cols) { return a.rows == rows && a.cols == cols; };
  if (are(2, 2)) return launch.template operator()<2, 2>();
  if (are(2, 3)) return launch.template operator()<2, 3>();
  if (are(3, 2)) return launch.template operator()<3, 2>();
  if (are(3, 3)) return launch.template operator()<3, 3>();
  if (are(3, 6)) return launch.template operator()<3, 6>();
  if (are(6, 3)) return launch.template operator()<6, 3>();
  if (are(6, 6)) return launch.template operator()<6, 6>();
  launch.template operator()<0, 0>();
}

}  // namespace prekond::impl::products

namespace prekond {

template <class Value, class Space>
BlockSellMatrix<Value, Space> fill_block_sell(const Space& space,
                                              const std::type_identity_t<CsrView<Value, Space>>& a,
                                              const BlockPattern<Space>& pattern,
                                              const SellStructure<Space>& structure) {
  const std::size_t places = static_cast<std::size_t>(structure.num_places()) * pattern.rows * pattern.cols;
  const BlockSellMatrix<Value, Space> result{
      pattern, structure, allocate<Vector<Value, Space>>(space, "prekond::block_sell::values", places)};
  const impl::products::FillBlockSell<Value, Space> fill(a, result);
  if (pattern.blocks.num_rows > 0)
    Kokkos::parallel_for("prekond::block_sell::fill_values", fill.policy(space), fill);
  return result;
}

template <class Value, class Space>
std::optional<BlockSellMatrix<Value, Space>> make_block_sell(
    const Space& space, const std::type_identity_t<CsrView<Value, Space>>& a,
    const BlockPattern<Space>& pattern) {
  using Tuning = impl::products::BlockSellTuning;
  using Fill = impl::products::FillBlockSell<Value, Space>;
  const CsrGraph<Space>& blocks = pattern.blocks;
  if (Fill::bytes_of_block(pattern) > Fill::scratch_bytes) return std::nullopt;
  const auto chunks = impl::formats::choose_chunks<Space>(space, blocks, {});
  // The last chunk of a small matrix is not full.
  if (chunks.places() > Tuning::most_places * double(blocks.nnz()) + 1024) return std::nullopt;
  if constexpr (!is_host_space<Space>) {
    std::int64_t widest = 0;
    Kokkos::parallel_reduce(
        "prekond::block_sell::widest_chunk",
        Kokkos::RangePolicy<Space>(space, 0, static_cast<std::int64_t>(chunks.chunk_ptrs.extent(0)) - 1),
        impl::products::WidestChunk<Space>{chunks.chunk_ptrs}, Kokkos::Max<std::int64_t>(widest));
    const double of_block =
        Tuning::seconds_of_block + Tuning::seconds_of_entry * double(pattern.rows * pattern.cols);
    if (double(widest) * of_block >
        double(sizeof(Value)) * double(pattern.nnz()) / Tuning::bytes_per_second + Tuning::late)
      return std::nullopt;
  }
  // Any padding is accepted: it was looked at before.
  const SellOptions any{.max_padding = 1e9};
  const auto structure = impl::formats::make_sell_structure<Space>(space, blocks, any, chunks);
  const auto result = fill_block_sell<Value, Space>(space, a, pattern, structure);
  space.fence("prekond::block_sell::make");  // the chunks go away
  return result;
}

template <class Value, class Scalar, class Space>
void block_sell_recurrence(const Space& space, const RecurrenceStep<Scalar>& step,
                           VectorView<const real_type_t<Scalar>, Space> row_scale,
                           const BlockSellMatrix<Value, Space>& a, MultiVectorView<const Scalar, Space> x,
                           MultiVectorView<const Scalar, Space> b, MultiVectorView<Scalar, Space> y) {
  impl::products::multiply(space, "prekond::spmv::apply_block_sell",
                           impl::products::PackedBlockSell<Value>(a),
                           impl::products::RowUpdate<Scalar, Space>{step, x, y, b, row_scale});
}

#define PREKOND_BLOCK_SELL(Value, Space)                                                             \
  template std::optional<BlockSellMatrix<Value, Space>> make_block_sell<Value, Space>(               \
      const Space&, const std::type_identity_t<CsrView<Value, Space>>&, const BlockPattern<Space>&); \
  template BlockSellMatrix<Value, Space> fill_block_sell<Value, Space>(                              \
      const Space&, const std::type_identity_t<CsrView<Value, Space>>&, const BlockPattern<Space>&,  \
      const SellStructure<Space>&);

#define PREKOND_BLOCK_SELL_RECURRENCE(Value, Scalar, Space)                                      \
  template void block_sell_recurrence<Value, Scalar, Space>(                                     \
      const Space&, const RecurrenceStep<Scalar>&, VectorView<const real_type_t<Scalar>, Space>, \
      const BlockSellMatrix<Value, Space>&, MultiVectorView<const Scalar, Space>,                \
      MultiVectorView<const Scalar, Space>, MultiVectorView<Scalar, Space>);

}  // namespace prekond
