// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Products with matrices by blocks, for the units that instantiate them.
#include <prekond/core/impl/multiply_add.hpp>
#include <prekond/matrix/impl/block_rows.hpp>
#include "matrix/bcsr_operator.hpp"

#include "core/packed.hpp"
#include "core/resident_bounds.hpp"
#include "matrix/block_product.hpp"
#include "matrix/block_sizes.hpp"
#include "matrix/product_teams.hpp"
#include "matrix/row_update.hpp"

namespace prekond {
namespace impl::products {

// The work of a thread was chosen on an H200 (perf_tests/results/h200/blocks/results.md), the numbers are
// those of SpmvTuning.
struct BcsrTuning {
  static constexpr int team = 128;
  static constexpr int entries_at_once = 6;  ///< that a thread asks for, about
  static constexpr int longest = 256;        ///< blocks of a row that one thread adds
  static constexpr int short_rows = 5;       ///< blocks in the mean, up to which threads go without teams
  static constexpr int resident_threads = 1024;
  static constexpr int rows_of_host_chunk = 16;  ///< block rows
};

/// A's views, and its sizes as the products' checks have them.
template <class Scalar>
struct PackedBcsr {
  std::int64_t num_rows, num_cols, num_block_rows, num_blocks, longest_row;
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
        longest_row(a.longest_row),
        block_size(a.block_size),
        is_padded(a.padding > 0),
        strides(a),
        row_ptrs(a.row_ptrs),
        col_idxs(a.col_idxs),
        values(a.values) {}
};

/// Size: of the blocks, 0 where it is known only at run time.
template <class Scalar, int Size>
struct BlockRows {
  PackedBcsr<Scalar> a;

  KOKKOS_FORCEINLINE_FUNCTION int block_size() const { return Size > 0 ? Size : a.block_size; }
  KOKKOS_FORCEINLINE_FUNCTION const Scalar* block(std::size_t k) const {
    const auto b = static_cast<std::size_t>(block_size());
    return a.values.data() + k * b * b;
  }
};

/// A thread has a row of the matrix, all threads of a block row next to each other.
template <class Scalar, class Space, int Size>
struct RowsByThreads : BlockRows<Scalar, Size> {
  /// Blocks of which a thread asks for a row at a time.
  static constexpr int batch =
      Size > 0 && Size < BcsrTuning::entries_at_once ? BcsrTuning::entries_at_once / Size : 1;

  typename RowUpdate<Scalar, Space>::Packed update;

  KOKKOS_FORCEINLINE_FUNCTION void add_row(std::int64_t i, int p, std::int64_t row) const {
    const std::size_t begin = this->a.row_ptrs(i);
    const int count = static_cast<int>(this->a.row_ptrs(i + 1) - begin);
    const int* cols = this->a.col_idxs.data() + begin;
    const Scalar* entries = this->block(begin) + p * this->a.strides.of_rows;
    for (int v = 0; v < update.num_columns; ++v)
      update(row, v, sum_of_row(cols, entries, count, update.x.column(v)));
  }

  /// Columns and values of a batch are all in flight before the first is needed.
  KOKKOS_FORCEINLINE_FUNCTION Scalar sum_of_row(const int* cols, const Scalar* entries, int count,
                                                const Scalar* xv) const {
    const int b = this->block_size();
    Scalar sum = 0;
    for (int k = 0; k < count; k += batch) {
      if constexpr (Size > 0) {
        int col[batch];
        Scalar value[batch][Size] = {}, factor[batch][Size] = {};
#pragma unroll
        for (int m = 0; m < batch; ++m) {
          col[m] = k + m < count ? cols[k + m] * Size : -1;
#pragma unroll
          for (int q = 0; q < Size; ++q)
            if (k + m < count) value[m][q] = entries[(k + m) * (Size * Size) + q * this->a.strides.of_cols];
        }
#pragma unroll
        for (int m = 0; m < batch; ++m)
#pragma unroll
          for (int q = 0; q < Size; ++q)
            if (col[m] >= 0 && has_column(col[m] + q)) factor[m][q] = xv[col[m] + q];
#pragma unroll
        for (int m = 0; m < batch; ++m)
#pragma unroll
          for (int q = 0; q < Size; ++q) sum += value[m][q] * factor[m][q];
      } else {
        const int col = cols[k] * b;
        for (int q = 0; q < b; ++q)
          if (has_column(col + q))
            sum += entries[std::size_t(k) * (b * b) + q * this->a.strides.of_cols] * xv[col + q];
      }
    }
    return sum;
  }
  /// x has no entries for the padding's columns.
  KOKKOS_FORCEINLINE_FUNCTION bool has_column(int col) const {
    return !this->a.is_padded || col < this->a.num_cols;
  }
};

/// All rows, none of which is too long for one thread.
template <class Scalar, class Space, int Size>
struct BcsrByRows : RowsByThreads<Scalar, Space, Size> {
  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    const int b = this->block_size();
    const std::int64_t i = row / b;
    this->add_row(i, static_cast<int>(row - i * b), row);
  }
};

/// The same by teams, which have the rows that are too long for one thread. The work of a step's threads is
/// written as a loop over them, which on a device is one turn each.
template <class Scalar, class Space, int Size>
struct BcsrByTeams : RowsByThreads<Scalar, Space, Size> {
  using Tuning = BcsrTuning;
  using Policy = Kokkos::TeamPolicy<Space, ResidentBounds<Tuning::team, Tuning::resident_threads, Scalar>>;
  using Member = typename Policy::member_type;
  static constexpr int threads = Tuning::team;
  std::int64_t rows_per_team() const { return threads / this->block_size(); }  ///< block rows
  static int scratch_bytes() { return threads * int(sizeof(Scalar)) + 32; }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    auto* sums = static_cast<Scalar*>(team.team_scratch(0).get_shmem_aligned(threads * sizeof(Scalar), 16));
    auto* has_long_rows = static_cast<int*>(team.team_scratch(0).get_shmem_aligned(sizeof(int), 16));
    const int b = this->block_size();
    const RowRange rows = rows_of_team(team.league_rank(), threads / b, this->a.num_block_rows);
    for_threads(team, [&](int t) {
      if (t == 0) *has_long_rows = 0;
    });
    for_threads(team, [&](int t) {
      const std::int64_t i = rows.begin + t / b, row = i * b + t % b;
      if (i >= rows.end || row >= this->a.num_rows) return;
      if (is_long(i))
        *has_long_rows = 1;
      else
        this->add_row(i, t % b, row);
    });
    if (*has_long_rows == 0) return;
    for (std::int64_t i = rows.begin; i < rows.end; ++i)
      if (is_long(i)) add_long_row(team, i, sums);
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

  /// By all threads: each has a row of the blocks.
  KOKKOS_FUNCTION void add_long_row(const Member& team, std::int64_t i, Scalar* sums) const {
    const int b = this->block_size(), shares = threads / b;
    const std::size_t first = this->a.row_ptrs(i);
    const std::int64_t columns = static_cast<std::int64_t>(this->a.row_ptrs(i + 1) - first) * b;
    for (int v = 0; v < this->update.num_columns; ++v) {
      const Scalar* xv = this->update.x.column(v);
      for_threads(team, [&](int t) {
        Scalar sum = 0;
        const int p = t % b;
        for (std::int64_t c = t / b; c < columns && t < shares * b; c += shares) {
          const std::size_t k = first + c / b;
          const int q = static_cast<int>(c % b), col = this->a.col_idxs(k) * b + q;
          if (this->has_column(col)) sum += this->block(k)[this->a.strides.place(p, q)] * xv[col];
        }
        sums[t] = sum;
      });
      for_threads(team, [&](int p) {
        if (p >= b || i * b + p >= this->a.num_rows) return;
        Scalar sum = sums[p];
        for (int share = 1; share < shares; ++share) sum += sums[share * b + p];
        this->update(i * b + p, v, sum);
      });
    }
  }
};

/// A chunk of block rows by a thread of a host.
template <class Scalar, class Space, int Size>
struct BcsrByThreads : BlockRows<Scalar, Size> {
  static constexpr int most = Size > 0 ? Size : largest_block_size;
  static constexpr std::int64_t chunk = BcsrTuning::rows_of_host_chunk;

  typename RowUpdate<Scalar, Space>::Packed update;

  std::int64_t num_chunks() const { return (this->a.num_block_rows + chunk - 1) / chunk; }

  KOKKOS_FUNCTION void operator()(std::int64_t number) const {
    const RowRange rows = rows_of_team(static_cast<int>(number), chunk, this->a.num_block_rows);
    for (int v = 0; v < update.num_columns; ++v) {
      if (this->a.strides.of_rows == 1)
        add_rows<BlockOrder::by_columns>(rows, v);
      else
        add_rows<BlockOrder::by_rows>(rows, v);
    }
  }

 private:
  template <BlockOrder Order>
  KOKKOS_FUNCTION void add_rows(RowRange rows, int v) const {
    const int b = this->block_size();
    const std::size_t* const row_ptrs = this->a.row_ptrs.data();
    const int* const cols = this->a.col_idxs.data();
    const Scalar* const values = this->a.values.data();
    const Scalar* const x = update.x.column(v);
    const std::int64_t last = this->a.is_padded ? this->a.num_block_rows - 1 : -1;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const std::size_t begin = row_ptrs[i], end = row_ptrs[i + 1];
      if (last >= 0 && (i == last || (end > begin && cols[end - 1] == last))) {
        add_padded_row<Order>(i, v);
        continue;
      }
      Scalar sums[most] = {};
      for (std::size_t k = begin; k < end; ++k)
        blocks::add_product<Order, Size>(b, values + k * std::size_t(b * b), x + std::int64_t(cols[k]) * b,
                                         sums);
      update.template rows<Size>(i * b, b, v, sums);
    }
  }

  /// A row of the padding, or with columns of it, of which x has nothing. Its sums are an array in memory, so
  /// that those of other rows need not be.
  template <BlockOrder Order>
  KOKKOS_FUNCTION void add_padded_row(std::int64_t i, int v) const {
    const int b = this->block_size();
    const std::int64_t last = this->a.num_block_rows - 1;
    Scalar sums[most] = {};
    for (std::size_t k = this->a.row_ptrs(i); k < this->a.row_ptrs(i + 1); ++k) {
      const std::int64_t first = std::int64_t(this->a.col_idxs(k)) * b;
      Scalar factors[most];
      for (int q = 0; q < b; ++q)
        factors[q] = first + q < this->a.num_cols ? update.x.column(v)[first + q] : Scalar(0);
      blocks::add_product<Order, 0>(b, this->a.values.data() + k * std::size_t(b * b), factors, sums);
    }
    const int rows = i == last ? static_cast<int>(this->a.num_rows - i * b) : b;
    update.template rows<0>(i * b, rows, v, sums);
  }
};

template <bool WithDot, class Scalar, class Space>
void dispatch(const Space& space, const char* label, const PackedBcsr<Scalar>& a,
              const RowUpdate<Scalar, Space>& update) {
  blocks::with_block_size<Scalar>(a.block_size, [&]<int Size>() {
    if constexpr (is_host_space<Space>) {
      const BcsrByThreads<Scalar, Space, Size> kernel{{a}, update};
      Kokkos::parallel_for(
          label, Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, kernel.num_chunks()),
          kernel);
    } else {
      const std::int64_t longest = a.longest_row > 0 ? a.longest_row : a.num_blocks;
      if (longest <= BcsrTuning::longest && a.num_blocks <= BcsrTuning::short_rows * a.num_block_rows) {
        Kokkos::parallel_for(
            label, Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.num_rows),
            BcsrByRows<Scalar, Space, Size>{{{a}, update}});
        return;
      }
      using Kernel = BcsrByTeams<Scalar, Space, Size>;
      const Kernel kernel{{{a}, update}};
      typename Kernel::Policy policy(space, num_teams(a.num_block_rows, kernel.rows_per_team()),
                                     BcsrTuning::team, 1);
      policy.set_scratch_size(0, Kokkos::PerTeam(Kernel::scratch_bytes()));
      Kokkos::parallel_for(label, policy, kernel);
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
void spmv_blocks(const Space& space, Scalar alpha, const std::type_identity_t<BcsrView<Scalar, Space>>& a,
                 MultiVectorView<const Scalar, Space> x, Scalar beta, MultiVectorView<Scalar, Space> y) {
  if (a.block_size == 1)
    spmv<Scalar, Space>(space, alpha, impl::rows_of<Scalar, Space>(a), x, beta, y);
  else
    bcsr_recurrence<Scalar, Space>(space, {.product = alpha, .previous = beta}, a, x, {}, y);
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
                                        VectorView<Scalar, Space>, const ReduceWorkspace<Scalar, Space>&);  \
  template void spmv_blocks<Scalar, Space>(                                                                 \
      const Space&, Scalar, const std::type_identity_t<BcsrView<Scalar, Space>>&,                           \
      MultiVectorView<const Scalar, Space>, Scalar, MultiVectorView<Scalar, Space>);

}  // namespace prekond
