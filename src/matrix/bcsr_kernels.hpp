// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Products with matrices by blocks, for the units that instantiate them.
#include <prekond/core/multiply_add.hpp>
#include <prekond/matrix/bcsr_operator.hpp>

#include "core/load_once.hpp"
#include "core/packed.hpp"
#include "core/resident_bounds.hpp"
#include "matrix/block_sizes.hpp"
#include "matrix/product_teams.hpp"
#include "matrix/row_update.hpp"

namespace prekond {
namespace impl::products {

struct BcsrTuning {
  static constexpr int team = 128;
  static constexpr int batch = 4;  // of the columns of a block row that a lane asks for at a time
  // Lanes of a block row: so many of its columns a lane in the mean, where it has as many.
  static constexpr int columns_of_lane = 4;
  static constexpr int resident_threads = 1536;
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

/// A block row by a vector of lanes. Lane l has row p = l % b of the blocks, and of the block row's columns
/// every (lanes / b)-th from l / b on: the lanes of a step read neighbouring values.
template <class Scalar, class Space, int Size>
struct BcsrByLanes : BlockRows<Scalar, Size> {
  using Rows = BlockRows<Scalar, Size>;
  using Policy =
      Kokkos::TeamPolicy<Space, ResidentBounds<BcsrTuning::team, BcsrTuning::resident_threads, Scalar>>;
  using Member = typename Policy::member_type;
  static constexpr int batch = BcsrTuning::batch;

  typename RowUpdate<Scalar, Space>::Packed update;
  int lanes;

  static int scratch_bytes() { return BcsrTuning::team * int(sizeof(Scalar)) + 16; }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    auto* sums =
        static_cast<Scalar*>(team.team_scratch(0).get_shmem_aligned(BcsrTuning::team * sizeof(Scalar), 16)) +
        team.team_rank() * lanes;
    const std::int64_t i = std::int64_t(team.league_rank()) * team.team_size() + team.team_rank();
    if (i >= this->a.num_block_rows) return;
    const int b = this->block_size(), shares = lanes / b;
    const std::size_t first = this->a.row_ptrs(i);
    const int columns = static_cast<int>(this->a.row_ptrs(i + 1) - first) * b;
    for (int v = 0; v < update.num_columns; ++v) {
      const Scalar* xv = update.x.column(v);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, shares * b), [&](int lane) {
        sums[lane] = sum_of_lane(first, columns, lane % b, lane / b, shares, xv);
      });
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, b), [&](int p) {
        Scalar sum = sums[p];
        for (int share = 1; share < shares; ++share) sum += sums[share * b + p];
        if (i * b + p < this->a.num_rows) update(i * b + p, v, sum);
      });
    }
  }

 private:
  /// Of row p of the blocks, the products with every `stride`-th column from `begin` on.
  KOKKOS_FORCEINLINE_FUNCTION Scalar sum_of_lane(std::size_t first, int columns, int p, int begin, int stride,
                                                 const Scalar* xv) const {
    const int b = this->block_size();
    Scalar sum = 0;
    for (int c = begin; c < columns; c += batch * stride) {
      int col[batch];
      Scalar value[batch] = {}, factor[batch] = {};
#pragma unroll
      for (int m = 0; m < batch; ++m) {
        const int place = c + m * stride, k = place / b, q = place - k * b;
        col[m] = -1;
        if (place >= columns) continue;
        col[m] = this->a.col_idxs(first + k) * b + q;
        value[m] = load_once(this->block(first + k) + this->a.strides.place(p, q));
        if (this->a.is_padded && col[m] >= this->a.num_cols) col[m] = -1;
      }
#pragma unroll
      for (int m = 0; m < batch; ++m)
        if (col[m] >= 0) factor[m] = xv[col[m]];
#pragma unroll
      for (int m = 0; m < batch; ++m)
        if (col[m] >= 0) sum += value[m] * factor[m];
    }
    return sum;
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

/// With a block size known to the compiler where there is a kernel for it; complex ones have the one for all.
template <class Scalar, class Launch>
void with_block_size(int b, const Launch& launch) {
  if constexpr (!is_complex<Scalar>) {
    switch (b) {
      case 1:
        return launch.template operator()<1>();
      case 2:
        return launch.template operator()<2>();
      case 3:
        return launch.template operator()<3>();
      case 4:
        return launch.template operator()<4>();
      case 5:
        return launch.template operator()<5>();
      case 6:
        return launch.template operator()<6>();
      case 7:
        return launch.template operator()<7>();
      case 8:
        return launch.template operator()<8>();
      default:
        break;
    }
  }
  launch.template operator()<0>();
}

/// A power of two that has a lane for each row of a block at least.
inline int lanes_of_block_rows(std::int64_t num_blocks, std::int64_t num_block_rows, int b) {
  const std::int64_t places = num_blocks * b * b;
  int lanes = 8;
  while (lanes < 32 &&
         (lanes < b || std::int64_t(lanes) * BcsrTuning::columns_of_lane * num_block_rows < places))
    lanes *= 2;
  return lanes;
}

template <bool WithDot, class Scalar, class Space>
void dispatch(const Space& space, const char* label, const PackedBcsr<Scalar>& a,
              const RowUpdate<Scalar, Space>& update) {
  with_block_size<Scalar>(a.block_size, [&]<int Size>() {
    if constexpr (is_host_space<Space>) {
      Kokkos::parallel_for(
          label, Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.num_block_rows),
          BcsrByThreads<Scalar, Space, Size>{{a}, update});
    } else {
      using Kernel = BcsrByLanes<Scalar, Space, Size>;
      const int lanes = lanes_of_block_rows(a.num_blocks, a.num_block_rows, a.block_size);
      const int rows_per_team = BcsrTuning::team / lanes;
      typename Kernel::Policy policy(space, num_teams(a.num_block_rows, rows_per_team), rows_per_team, lanes);
      policy.set_scratch_size(0, Kokkos::PerTeam(Kernel::scratch_bytes()));
      Kokkos::parallel_for(label, policy, Kernel{{a}, update, lanes});
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
