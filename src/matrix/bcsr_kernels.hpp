// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Products with matrices by blocks, for the units that instantiate them.
#include <prekond/core/multiply_add.hpp>
#include <prekond/matrix/bcsr_operator.hpp>

#include "core/packed.hpp"
#include "core/resident_bounds.hpp"
#include "matrix/block_sizes.hpp"
#include "matrix/product_teams.hpp"
#include "matrix/row_update.hpp"

namespace prekond {
namespace impl::products {

// What the threads do was chosen on an H200 (perf_tests/results/h200/blocks/results.md), the numbers are
// those of SpmvTuning.
struct BcsrTuning {
  static constexpr int team = 128;
  static constexpr int panel = 2048;         ///< products that a team has in scratch, one a row of a block
  static constexpr int entries_at_once = 6;  ///< that a thread asks for, about
  static constexpr int longest = 1024;       ///< blocks of a row that one thread adds
  static constexpr int resident_threads = 1024;
};

/// A's views, and its sizes as the products' checks have them.
template <class Scalar>
struct PackedBcsr {
  std::int64_t num_rows, num_cols, num_block_rows, num_blocks;
  int block_size;
  bool is_padded;
  blocks::BlockStrides strides;
  PackedVector<const std::size_t> row_ptrs;
  PackedVector<const int> col_idxs;
  PackedVector<const Scalar> values;

  template <class Matrix>
  explicit PackedBcsr(const Matrix& a)
      : num_rows(a.num_rows()),
        num_cols(a.num_cols()),
        num_block_rows(a.num_block_rows),
        num_blocks(a.num_blocks()),
        block_size(a.block_size),
        is_padded(a.padding > 0),
        strides(a),
        row_ptrs(a.row_ptrs),
        col_idxs(a.col_idxs),
        values(a.values) {}
};

/// Size: of the blocks, 0 where it is known at run time alone.
template <class Scalar, int Size>
struct BlockRows {
  PackedBcsr<Scalar> a;

  KOKKOS_FORCEINLINE_FUNCTION int block_size() const { return Size > 0 ? Size : a.block_size; }
  KOKKOS_FORCEINLINE_FUNCTION const Scalar* block(std::size_t k) const {
    const auto b = static_cast<std::size_t>(block_size());
    return a.values.data() + k * b * b;
  }
};

/// Block rows by a team: a thread multiplies a row of a block, by panels whose products stand in scratch;
/// then a thread for each row of the matrix adds its own. What a step's threads do is written as a loop over
/// them, which on a device is one turn each.
template <class Scalar, class Space, int Size>
struct BcsrByStream : BlockRows<Scalar, Size> {
  using Tuning = BcsrTuning;
  using Policy = Kokkos::TeamPolicy<Space, ResidentBounds<Tuning::team, Tuning::resident_threads, Scalar>>;
  using Member = typename Policy::member_type;
  static constexpr int threads = Tuning::team;
  /// Blocks of which a thread asks for a row at a time.
  static constexpr int batch =
      Size > 0 && Size < Tuning::entries_at_once ? Tuning::entries_at_once / Size : 1;

  typename RowUpdate<Scalar, Space>::Packed update;
  std::int64_t rows_per_team;  ///< block rows; with b rows each no more than threads

  static int scratch_bytes() { return (Tuning::panel + threads) * int(sizeof(Scalar)) + 16; }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    auto* products = static_cast<Scalar*>(
        team.team_scratch(0).get_shmem_aligned((Tuning::panel + threads) * sizeof(Scalar), 16));
    Scalar* sums = products + Tuning::panel;
    const RowRange rows = rows_of_team(team.league_rank(), rows_per_team, this->a.num_block_rows);
    const std::size_t first = this->a.row_ptrs(rows.begin), last = this->a.row_ptrs(rows.end);
    const int panel = Tuning::panel / this->block_size();  // blocks
    for (int v = 0; v < update.num_columns; ++v) {
      for_threads(team, [&](int t) { sums[t] = 0; });
      for (std::size_t from = first; from < last; from += panel) {
        const int count = last - from < std::size_t(panel) ? int(last - from) : panel;
        for_threads(team, [&](int t) { multiply_blocks(from, count, t, update.x.column(v), products); });
        for_threads(team, [&](int t) { add_row(rows, from, count, t, products, sums[t]); });
      }
      for_threads(team, [&](int t) { end_row(rows, t, v, sums[t]); });
    }
    for (std::int64_t i = rows.begin; i < rows.end; ++i)
      if (is_long(i)) add_long_row(team, i, products);
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION bool is_long(std::int64_t i) const {
    return this->a.row_ptrs(i + 1) - this->a.row_ptrs(i) > std::size_t(Tuning::longest);
  }

  template <class Step>
  KOKKOS_FORCEINLINE_FUNCTION static void for_threads(const Member& team, const Step& step) {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, threads), step);
    team.team_barrier();
  }

  /// Of `count` blocks from `from` on, those of the thread, which has row t % b of each. Columns and values
  /// of a batch are all on their way before the first is needed.
  KOKKOS_FORCEINLINE_FUNCTION void multiply_blocks(std::size_t from, int count, int t, const Scalar* xv,
                                                   Scalar* products) const {
    const int b = this->block_size(), at_once = threads / b, p = t % b;
    if (t >= at_once * b) return;
    const int* cols = this->a.col_idxs.data() + from;
    const Scalar* row = this->block(from) + p * this->a.strides.of_rows;
    for (int k = t / b; k < count; k += batch * at_once) {
      if constexpr (Size > 0) {
        int col[batch];
        Scalar value[batch][Size] = {}, factor[batch][Size] = {};
#pragma unroll
        for (int m = 0; m < batch; ++m) {
          const int block = k + m * at_once;
          col[m] = block < count ? cols[block] * Size : -1;
#pragma unroll
          for (int q = 0; q < Size; ++q)
            if (col[m] >= 0) value[m][q] = row[block * (Size * Size) + q * this->a.strides.of_cols];
        }
#pragma unroll
        for (int m = 0; m < batch; ++m)
#pragma unroll
          for (int q = 0; q < Size; ++q)
            if (col[m] >= 0 && has_column(col[m] + q)) factor[m][q] = xv[col[m] + q];
#pragma unroll
        for (int m = 0; m < batch; ++m) {
          Scalar sum = value[m][0] * factor[m][0];
#pragma unroll
          for (int q = 1; q < Size; ++q) sum += value[m][q] * factor[m][q];
          if (col[m] >= 0) products[(k + m * at_once) * Size + p] = sum;
        }
      } else {
        Scalar sum = 0;
        const int col = cols[k] * b;
        for (int q = 0; q < b; ++q)
          if (has_column(col + q))
            sum += row[std::size_t(k) * (b * b) + q * this->a.strides.of_cols] * xv[col + q];
        products[k * b + p] = sum;
      }
    }
  }
  /// Of the padding's columns x has nothing.
  KOKKOS_FORCEINLINE_FUNCTION bool has_column(int col) const {
    return !this->a.is_padded || col < this->a.num_cols;
  }

  /// sum += the products of row t of the team's, that the panel has.
  KOKKOS_FORCEINLINE_FUNCTION void add_row(const RowRange& rows, std::size_t from, int count, int t,
                                           const Scalar* products, Scalar& sum) const {
    const int b = this->block_size(), p = t % b;
    const std::int64_t i = rows.begin + t / b;
    if (i >= rows.end || is_long(i)) return;
    const std::size_t begin = this->a.row_ptrs(i), end = this->a.row_ptrs(i + 1);
    const int first = begin > from ? int(begin - from < std::size_t(count) ? begin - from : count) : 0;
    const int last = end > from ? int(end - from < std::size_t(count) ? end - from : count) : 0;
    Scalar own = sum;
    for (int k = first; k < last; ++k) own += products[k * b + p];
    sum = own;
  }

  KOKKOS_FORCEINLINE_FUNCTION void end_row(const RowRange& rows, int t, int v, const Scalar& sum) const {
    const int b = this->block_size();
    const std::int64_t i = rows.begin + t / b, row = i * b + t % b;
    if (i < rows.end && row < this->a.num_rows && !is_long(i)) update(row, v, sum);
  }

  /// By all threads: each has a row of the blocks.
  KOKKOS_FUNCTION void add_long_row(const Member& team, std::int64_t i, Scalar* sums) const {
    const int b = this->block_size(), shares = threads / b;
    const std::size_t first = this->a.row_ptrs(i);
    const std::int64_t columns = static_cast<std::int64_t>(this->a.row_ptrs(i + 1) - first) * b;
    for (int v = 0; v < update.num_columns; ++v) {
      const Scalar* xv = update.x.column(v);
      for_threads(team, [&](int t) {
        Scalar sum = 0;
        const int p = t % b;
        for (std::int64_t c = t / b; c < columns && t < shares * b; c += shares) {
          const std::size_t k = first + c / b;
          const int q = static_cast<int>(c % b), col = this->a.col_idxs(k) * b + q;
          if (has_column(col)) sum += this->block(k)[this->a.strides.place(p, q)] * xv[col];
        }
        sums[t] = sum;
      });
      for_threads(team, [&](int p) {
        if (p >= b || i * b + p >= this->a.num_rows) return;
        Scalar sum = sums[p];
        for (int share = 1; share < shares; ++share) sum += sums[share * b + p];
        update(i * b + p, v, sum);
      });
    }
  }
};

/// A block row by a thread of a host.
template <class Scalar, class Space, int Size>
struct BcsrByThreads : BlockRows<Scalar, Size> {
  static constexpr int most = Size > 0 ? Size : largest_block_size;

  typename RowUpdate<Scalar, Space>::Packed update;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const int b = this->block_size();
    const std::size_t begin = this->a.row_ptrs(i), end = this->a.row_ptrs(i + 1);
    const std::int64_t last = this->a.is_padded ? this->a.num_block_rows - 1 : -1;
    for (int v = 0; v < update.num_columns; ++v) {
      const Scalar* xv = update.x.column(v);
      Scalar sums[most];
      for (int p = 0; p < b; ++p) sums[p] = 0;
      for (std::size_t k = begin; k < end; ++k) {
        const std::int64_t col = this->a.col_idxs(k);
        const int cols = col == last ? static_cast<int>(this->a.num_cols - col * b) : b;
        add_block(this->block(k), xv + col * b, cols, sums);
      }
      const int rows = i == last ? static_cast<int>(this->a.num_rows - i * b) : b;
      for (int p = 0; p < rows; ++p) update(i * b + p, v, sums[p]);
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void add_block(const Scalar* block, const Scalar* x, int cols,
                                             Scalar* sums) const {
    const int b = this->block_size();
    if (this->a.strides.of_rows == 1)
      for (int q = 0; q < cols; ++q)
        for (int p = 0; p < b; ++p) sums[p] = multiply_add(block[q * b + p], x[q], sums[p]);
    else
      for (int p = 0; p < b; ++p)
        for (int q = 0; q < cols; ++q) sums[p] = multiply_add(block[p * b + q], x[q], sums[p]);
  }
};

/// As many as fill a panel, and threads; of a small matrix, a share for each team that runs at a time.
inline std::int64_t block_rows_of_team(std::int64_t num_blocks, std::int64_t num_block_rows, int b,
                                       std::int64_t concurrency) {
  const std::int64_t products = num_blocks * b / std::max<std::int64_t>(1, num_block_rows) + 1;
  const std::int64_t fit = std::int64_t(BcsrTuning::panel) * 19 / 20 / products;
  const std::int64_t teams = std::max<std::int64_t>(1, concurrency / (2 * BcsrTuning::team));
  const std::int64_t share = (num_block_rows + teams - 1) / teams;
  return std::clamp<std::int64_t>(std::min(fit, share), 1, BcsrTuning::team / b);
}

template <bool WithDot, class Scalar, class Space>
void dispatch(const Space& space, const char* label, const PackedBcsr<Scalar>& a,
              const RowUpdate<Scalar, Space>& update) {
  blocks::with_block_size<Scalar>(a.block_size, [&]<int Size>() {
    if constexpr (is_host_space<Space>) {
      Kokkos::parallel_for(
          label, Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.num_block_rows),
          BcsrByThreads<Scalar, Space, Size>{{a}, update});
    } else {
      using Kernel = BcsrByStream<Scalar, Space, Size>;
      const std::int64_t rows =
          block_rows_of_team(a.num_blocks, a.num_block_rows, a.block_size, space.concurrency());
      typename Kernel::Policy policy(space, num_teams(a.num_block_rows, rows), BcsrTuning::team, 1);
      policy.set_scratch_size(0, Kokkos::PerTeam(Kernel::scratch_bytes()));
      Kokkos::parallel_for(label, policy, Kernel{{a}, update, rows});
    }
  });
}

}  // namespace impl::products

template <class Scalar, class Space>
void bcsr_recurrence(const Space& space, const RecurrenceStep<Scalar>& step,
                     const std::type_identity_t<BcsrView<Scalar, Space>>& a,
                     MultiVectorView<const Scalar, Space> x, MultiVectorView<const Scalar, Space> b,
                     MultiVectorView<Scalar, Space> y) {
  impl::blocks::check_sizes(a, "prekond::bcsr");
  if (a.block_size > largest_block_size)
    throw InputError("prekond::bcsr: a block size of " + std::to_string(a.block_size) +
                     "; products take up to " + std::to_string(largest_block_size));
  impl::products::multiply(space, "prekond::bcsr::apply", impl::products::PackedBcsr<Scalar>(a),
                           impl::products::RowUpdate<Scalar, Space>{step, x, y, b});
}

template <class Scalar, class Space>
void bcsr_dot(const Space& space, const std::type_identity_t<BcsrView<Scalar, Space>>& a,
              VectorView<const Scalar, Space> x, VectorView<Scalar, Space> y, VectorView<Scalar, Space> dot,
              const ReduceWorkspace<Scalar, Space>& workspace) {
  namespace products = impl::products;
  products::check_dot<products::PackedBcsr<Scalar>, Scalar, Space>(products::PackedBcsr<Scalar>(a), x, y,
                                                                   workspace);
  bcsr_recurrence<Scalar, Space>(space, {}, a, as_multivector(x), {}, as_multivector(y));
  products::dot_of_product<Scalar, Space>(space, "prekond::bcsr::apply_dot", a.num_rows(), x, y, dot,
                                          workspace);
}

#define PREKOND_BCSR(Scalar, Space)                                                                         \
  template void bcsr_recurrence<Scalar, Space>(                                                             \
      const Space&, const RecurrenceStep<Scalar>&, const std::type_identity_t<BcsrView<Scalar, Space>>&,    \
      MultiVectorView<const Scalar, Space>, MultiVectorView<const Scalar, Space>,                           \
      MultiVectorView<Scalar, Space>);                                                                      \
  template void bcsr_dot<Scalar, Space>(const Space&, const std::type_identity_t<BcsrView<Scalar, Space>>&, \
                                        VectorView<const Scalar, Space>, VectorView<Scalar, Space>,         \
                                        VectorView<Scalar, Space>, const ReduceWorkspace<Scalar, Space>&);

}  // namespace prekond
