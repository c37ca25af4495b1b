// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Products with a matrix, for the units that instantiate them.
#include <prekond/core/error.hpp>
#include <prekond/core/half.hpp>
#include <prekond/core/levels.hpp>
#include <prekond/core/multiply_add.hpp>
#include <prekond/matrix/spmv.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace prekond {
namespace impl::products {

struct SpmvTuning {
  // Entries that a lane asks for at a time: rows go to the fewest lanes that have room for a mean row. Half
  // of 16 lanes or more do with larger batches: 8 with 6 entries read rows of 44 faster than 16 with 4
  // (H200: 3.3 against 2.8 TB/s), while rows of 7 take 2 with 4 rather than 1 with 6, and rows of 31 take 8
  // with 4 rather than with 6.
  static constexpr int batch = 4;
  static constexpr int large_batch = 6;
  static constexpr int lanes_to_halve = 16;
  static constexpr int team_threads = 256;
  static constexpr int max_vectors = 4;
  // Sums a row is split into on the host: hides the latency of the additions.
  static constexpr int host_sums = 4;
};

/// Rows in a block of `rows_per_team`, a vector of lanes a row, `NumVectors` right-hand sides at once. On a
/// host every instantiation gives (A x)_i the same bits: the order of the sum depends on the row alone, its
/// rounding is written down.
template <class Value, class Scalar, class Space, int VectorLength, int Batch, int NumVectors, bool WithDot,
          bool Stored>
struct SpmvKernel {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  using Level = NativeVectorLevel<Space, Member, VectorLength>;

  CsrView<Value, Space> a;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;
  Scalar alpha;
  Scalar beta;
  std::int64_t rows_per_team;
  FinishReduction<1, Scalar, Space> finish;
  VectorView<const real_type_t<Scalar>, Space> row_scale;  ///< of a stored matrix; it has no alpha

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t begin = team.league_rank() * rows_per_team;
    const std::int64_t end = begin + rows_per_team < a.num_rows ? begin + rows_per_team : a.num_rows;
    if constexpr (WithDot) {
      Sums<Scalar, 1> dot;
      Kokkos::parallel_reduce(
          Kokkos::TeamThreadRange(team, begin, end),
          [&](std::int64_t i, Sums<Scalar, 1>& sum) {
            sum.value[0] += conjugate(x(i, 0)) * multiply_row(Level(team), i);
          },
          dot);
      finish(team, dot);
    } else {
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, end),
                           [&](std::int64_t i) { multiply_row(Level(team), i); });
    }
  }

  /// y_i = alpha (A x)_i + beta y_i; returns (A x)_i of the first vector, to all lanes.
  KOKKOS_FUNCTION Scalar multiply_row(const Level& level, std::int64_t i) const {
    const std::size_t begin = a.row_ptrs(i);
    const int length = static_cast<int>(a.row_ptrs(i + 1) - begin);
    const int* cols = a.col_idxs.data() + begin;
    const Value* values = a.values.data() + begin;
    Scalar first = 0;
    for (int v = 0; v < NumVectors; ++v) {
      const Scalar* xv = x.data() + v * x.stride(1);
      const Scalar sum =
          level.template sum<Scalar>([&](int lane) { return lane_sum(lane, length, cols, values, xv); });
      if (v == 0) first = sum;
      level.region([&](int lane) {
        if (lane > 0) return;
        if constexpr (Stored) {
          const Scalar product = row_scale.extent(0) > 0 ? row_scale(i) * sum : sum;
          y(i, v) = beta == Scalar(0) ? product : multiply_add(beta, y(i, v), product);
        } else {
          y(i, v) =
              beta == Scalar(0) ? multiply(alpha, sum) : multiply_add(beta, y(i, v), multiply(alpha, sum));
        }
      });
    }
    return first;
  }

  KOKKOS_FUNCTION static Scalar lane_sum(int lane, int length, const int* cols, const Value* values,
                                         const Scalar* xv) {
    if constexpr (Level::width == 1) {
      constexpr int parts = SpmvTuning::host_sums;
      Scalar sums[parts] = {};
      int k = 0;
      for (; k + parts <= length; k += parts)
        for (int p = 0; p < parts; ++p)
          sums[p] = multiply_add(static_cast<Scalar>(values[k + p]), xv[cols[k + p]], sums[p]);
      for (; k < length; ++k) sums[0] = multiply_add(static_cast<Scalar>(values[k]), xv[cols[k]], sums[0]);
      return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    } else {
      // A batch's columns and values are all on their way before the first is needed: x waits for memory once
      // a batch, also in the last, of which a row has a part.
      Scalar sum = 0;
      for (int k = lane; k < length; k += Batch * Level::width) {
        int col[Batch];
        Value value[Batch];
#pragma unroll
        for (int p = 0; p < Batch; ++p) {
          const int place = k + p * Level::width;
          col[p] = place < length ? cols[place] : -1;
          if (place < length) value[p] = values[place];
        }
        Scalar factor[Batch];
#pragma unroll
        for (int p = 0; p < Batch; ++p)
          if (col[p] >= 0) factor[p] = xv[col[p]];
#pragma unroll
        for (int p = 0; p < Batch; ++p)
          // Not multiply_add: here nothing is promised between two kernels, and a call leaves branches where
          // this is a selection.
          if (col[p] >= 0) sum += static_cast<Scalar>(value[p]) * factor[p];
      }
      return sum;
    }
  }
};

inline std::int64_t mean_row(std::int64_t num_rows, std::int64_t nnz) {
  return num_rows > 0 ? nnz / num_rows : 0;
}

template <int NumVectors, bool WithDot, bool Stored, int VectorLength, int Batch, class Value, class Scalar,
          class Space>
void launch(const Space& space, const char* label, Scalar alpha, const CsrView<Value, Space>& a,
            MultiVectorView<const Scalar, Space> x, Scalar beta, MultiVectorView<Scalar, Space> y,
            std::int64_t rows_per_team, const FinishReduction<1, Scalar, Space>& finish,
            VectorView<const real_type_t<Scalar>, Space> row_scale) {
  // At least one team: a dot over no rows is zero, and somebody has to write it.
  const std::int64_t teams = std::max<std::int64_t>(1, (a.num_rows + rows_per_team - 1) / rows_per_team);
  const int threads = is_host_space<Space> ? 1 : SpmvTuning::team_threads / VectorLength;
  Kokkos::parallel_for(label,
                       Kokkos::TeamPolicy<Space>(space, static_cast<int>(teams), threads, VectorLength),
                       SpmvKernel<Value, Scalar, Space, VectorLength, Batch, NumVectors, WithDot, Stored>{
                           a, x, y, alpha, beta, rows_per_team, finish, row_scale});
}

template <int NumVectors, bool WithDot, bool Stored = false, class Value, class Scalar, class Space>
void dispatch(const Space& space, const char* label, Scalar alpha, const CsrView<Value, Space>& a,
              MultiVectorView<const Scalar, Space> x, Scalar beta, MultiVectorView<Scalar, Space> y,
              std::int64_t rows_per_team, const FinishReduction<1, Scalar, Space>& finish,
              VectorView<const real_type_t<Scalar>, Space> row_scale = {}) {
  const auto go_with = [&](auto length, auto batch) {
    launch<NumVectors, WithDot, Stored, decltype(length)::value, decltype(batch)::value>(
        space, label, alpha, a, x, beta, y, rows_per_team, finish, row_scale);
  };
  const auto go = [&](auto length) {
    // One right-hand side is what counts; several read the matrix from the cache.
    if constexpr (NumVectors == 1)
      if (decltype(length)::value * SpmvTuning::batch < mean_row(a.num_rows, a.nnz()))
        return go_with(length, std::integral_constant<int, SpmvTuning::large_batch>{});
    go_with(length, std::integral_constant<int, SpmvTuning::batch>{});
  };
  if constexpr (is_host_space<Space>) {
    go_with(std::integral_constant<int, 1>{}, std::integral_constant<int, 1>{});
  } else {
    switch (spmv_vector_length<Space>(a.num_rows, a.nnz())) {
      case 1:
        return go(std::integral_constant<int, 1>{});
      case 2:
        return go(std::integral_constant<int, 2>{});
      case 4:
        return go(std::integral_constant<int, 4>{});
      case 8:
        return go(std::integral_constant<int, 8>{});
      case 16:
        return go(std::integral_constant<int, 16>{});
      default:
        return go(std::integral_constant<int, 32>{});
    }
  }
}

inline void check_sizes(std::int64_t rows, std::int64_t cols, std::size_t x_rows, std::size_t y_rows,
                        std::size_t x_cols, std::size_t y_cols) {
  if (static_cast<std::int64_t>(x_rows) >= cols && static_cast<std::int64_t>(y_rows) >= rows &&
      x_cols == y_cols)
    return;
  throw InputError("prekond::spmv: the matrix is " + std::to_string(rows) + " x " + std::to_string(cols) +
                   ", x is " + std::to_string(x_rows) + " x " + std::to_string(x_cols) + ", y is " +
                   std::to_string(y_rows) + " x " + std::to_string(y_cols));
}

}  // namespace impl::products

template <class Space>
int spmv_vector_length(std::int64_t num_rows, std::int64_t nnz) {
  if (is_host_space<Space>) return 1;
  const std::int64_t mean = impl::products::mean_row(num_rows, nnz);
  int length = 1;
  while (length < 32 && length * impl::products::SpmvTuning::batch < mean) length *= 2;
  const bool halved = length >= impl::products::SpmvTuning::lanes_to_halve &&
                      length / 2 * impl::products::SpmvTuning::large_batch >= mean;
  return halved ? length / 2 : length;
}

/// Rows of a team, where no sum over blocks depends on them.
template <class Space>
std::int64_t rows_of_team(std::int64_t num_rows, std::int64_t nnz) {
  return is_host_space<Space>
             ? 512
             : impl::products::SpmvTuning::team_threads / spmv_vector_length<Space>(num_rows, nnz) * 2;
}

template <class Scalar, class Space>
void spmv(const Space& space, Scalar alpha, const CsrView<Scalar, Space>& a,
          MultiVectorView<const Scalar, Space> x, Scalar beta, MultiVectorView<Scalar, Space> y) {
  impl::products::check_sizes(a.num_rows, a.num_cols, x.extent(0), y.extent(0), x.extent(1), y.extent(1));
  if (a.num_rows == 0) return;
  const std::int64_t rows_per_team = rows_of_team<Space>(a.num_rows, a.nnz());
  constexpr const char* label = "prekond::spmv::apply";
  const std::size_t k = x.extent(1);
  for (std::size_t v = 0; v < k; v += impl::products::SpmvTuning::max_vectors) {
    const auto group = std::min<std::size_t>(impl::products::SpmvTuning::max_vectors, k - v);
    const MultiVectorView<const Scalar, Space> xv =
        Kokkos::subview(x, Kokkos::ALL, Kokkos::make_pair(v, v + group));
    const MultiVectorView<Scalar, Space> yv =
        Kokkos::subview(y, Kokkos::ALL, Kokkos::make_pair(v, v + group));
    const FinishReduction<1, Scalar, Space> none{};
    switch (group) {
      case 1:
        impl::products::dispatch<1, false>(space, label, alpha, a, xv, beta, yv, rows_per_team, none);
        break;
      case 2:
        impl::products::dispatch<2, false>(space, label, alpha, a, xv, beta, yv, rows_per_team, none);
        break;
      case 3:
        impl::products::dispatch<3, false>(space, label, alpha, a, xv, beta, yv, rows_per_team, none);
        break;
      default:
        impl::products::dispatch<4, false>(space, label, alpha, a, xv, beta, yv, rows_per_team, none);
        break;
    }
  }
}

template <class Scalar, class Space>
void spmv_dot(const Space& space, const CsrView<Scalar, Space>& a, VectorView<const Scalar, Space> x,
              VectorView<Scalar, Space> y, VectorView<Scalar, Space> dot,
              const ReduceWorkspace<Scalar, Space>& workspace) {
  impl::products::check_sizes(a.num_rows, a.num_cols, x.extent(0), y.extent(0), 1, 1);
  if (!workspace.fits(ReduceWorkspace<Scalar, Space>::num_blocks(a.num_rows)))
    throw std::logic_error("prekond::spmv_dot: the workspace was made for fewer rows");
  const FinishReduction<1, Scalar, Space> finish{workspace.partials(), workspace.arrived(), dot};
  impl::products::dispatch<1, true>(space, "prekond::spmv::apply_dot", Scalar(1), a,
                                    MultiVectorView<const Scalar, Space>(as_multivector(x)), Scalar(0),
                                    MultiVectorView<Scalar, Space>(as_multivector(y)),
                                    ReduceWorkspace<Scalar, Space>::block_size(a.num_rows), finish);
}

template <class Value, class Scalar, class Space>
void spmv_stored(const Space& space, VectorView<const real_type_t<Scalar>, Space> row_scale,
                 const CsrView<Value, Space>& a, MultiVectorView<const Scalar, Space> x,
                 MultiVectorView<Scalar, Space> y, Scalar beta) {
  impl::products::check_sizes(a.num_rows, a.num_cols, x.extent(0), y.extent(0), x.extent(1), y.extent(1));
  if (a.num_rows == 0) return;
  for (std::size_t v = 0; v < x.extent(1); ++v) {
    const MultiVectorView<const Scalar, Space> xv =
        Kokkos::subview(x, Kokkos::ALL, Kokkos::make_pair(v, v + 1));
    const MultiVectorView<Scalar, Space> yv = Kokkos::subview(y, Kokkos::ALL, Kokkos::make_pair(v, v + 1));
    impl::products::dispatch<1, false, true>(space, "prekond::spmv::apply_stored", Scalar(1), a, xv, beta, yv,
                                             rows_of_team<Space>(a.num_rows, a.nnz()),
                                             FinishReduction<1, Scalar, Space>{}, row_scale);
  }
}

#define PREKOND_SPMV_STORED(Value, Scalar, Space)                                               \
  template void spmv_stored<Value, Scalar, Space>(                                              \
      const Space&, VectorView<const real_type_t<Scalar>, Space>, const CsrView<Value, Space>&, \
      MultiVectorView<const Scalar, Space>, MultiVectorView<Scalar, Space>, Scalar);

#define PREKOND_SPMV(Scalar, Space)                                                                 \
  template void spmv<Scalar, Space>(const Space&, Scalar, const CsrView<Scalar, Space>&,            \
                                    MultiVectorView<const Scalar, Space>, Scalar,                   \
                                    MultiVectorView<Scalar, Space>);                                \
  template void spmv_dot<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&,                \
                                        VectorView<const Scalar, Space>, VectorView<Scalar, Space>, \
                                        VectorView<Scalar, Space>, const ReduceWorkspace<Scalar, Space>&);

}  // namespace prekond
