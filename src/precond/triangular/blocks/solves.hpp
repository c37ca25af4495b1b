// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The data of a block triangular solver, and its launches.
#include <prekond/precond/block_triangular_solver.hpp>
#include "core/concurrency.hpp"
#include "matrix/bcsr_operator.hpp"

#include "matrix/block_sizes.hpp"
#include "precond/triangular/blocks/row_launches.hpp"
#include "precond/triangular/blocks/solve_row.hpp"
#include "precond/triangular/try_sweeps.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace prekond::impl::block_triangular {

/// (I + N)^-1 S.
template <class Scalar, class Space>
struct Factor {
  using Blocks = BcsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  Blocks n;
  Blocks
      scale;  ///< block-diagonal; without rows where S = I, and for exact solves, which need only its values
  Vector<Scalar, Space> scale_values;
  triangular::Changes changes;  ///< of sweeps
  int lanes = 32;               ///< of a device's row
  int threads_in_order = 0;     ///< up to this number one thread of a host has all rows, in their order
  bool has_values = false;

  bool has_scale() const { return scale_values.extent(0) > 0; }
};

/// Counts rows i with a column that is not below i, of an upper triangle not above.
template <class Space>
struct OutOfOrder {
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<const int, Space> cols;
  bool is_lower;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& count) const {
    const std::size_t begin = row_ptrs(i), end = row_ptrs(i + 1);
    if (begin < end && (is_lower ? cols(end - 1) >= i : cols(begin) <= i)) ++count;
  }
};

/// Whether N is a triangle in the rows' own order; a triangle by colours need not be. Fences.
template <class Space>
bool is_in_order(const Space& space, const CsrGraph<Space>& n, Triangle which) {
  std::int64_t others = 0;
  Kokkos::parallel_reduce("prekond::block_triangular::symbolic::in_order",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, n.num_rows),
                          OutOfOrder<Space>{n.row_ptrs, n.col_idxs, which == Triangle::lower}, others);
  return others == 0;
}

template <class Scalar, class Space>
struct SolveWorkspace : Workspace {
  MultiVector<Scalar, Space> source, other;
  Vector<SolveProgress, Space> progress;
  std::int64_t num_rows = 0;
  std::size_t num_vectors = 0;
};

/// Lanes of a device's row.
template <class Graph>
int lanes_of(const Graph& n, int block_size) {
  const double rows = static_cast<double>(std::max<std::int64_t>(1, n.num_rows));
  return SolveTuning::lanes(static_cast<double>(n.nnz()) * block_size * block_size / rows, block_size);
}

/// visit<Row>() with the kind of rows: lanes of a device, block sizes of a host.
template <class Scalar, class Space, class Visit>
void with_row(int lanes, int block_size, const Visit& visit) {
  if constexpr (is_host_space<Space>) {
    blocks::with_block_size<Scalar>(
        block_size, [&]<int Size>() { visit.template operator()<SolveBlockRow<Scalar, Space, 1, Size>>(); });
  } else {
    switch (lanes) {
      case 8:
        return visit.template operator()<SolveBlockRow<Scalar, Space, 8, 0>>();
      case 16:
        return visit.template operator()<SolveBlockRow<Scalar, Space, 16, 0>>();
      default:
        return visit.template operator()<SolveBlockRow<Scalar, Space, 32, 0>>();
    }
  }
}

template <class Scalar, class Space>
PackedColumns<WordOf<Scalar>> words_of(const MultiVectorView<Scalar, Space>& y) {
  PackedColumns<WordOf<Scalar>> words;
  words.pointer = reinterpret_cast<WordOf<Scalar>*>(y.data());
  words.stride = static_cast<std::int64_t>(y.stride(1));
  return words;
}

/// The rows of (I + N)^-1 S x, as kernels take them; `progress` may be empty where none waits.
template <class Row, class Scalar, class Space>
Row make_row(const Factor<Scalar, Space>& factor, MultiVectorView<const Scalar, Space> x,
             MultiVectorView<Scalar, Space> y, const Vector<SolveProgress, Space>& progress) {
  Row row(factor.n.block_size);
  row.num_columns = static_cast<int>(y.extent(1));
  row.num_rows = factor.n.num_rows();
  row.row_ptrs = factor.n.row_ptrs;
  row.cols = factor.n.col_idxs;
  row.values = factor.n.values;
  row.scale = factor.scale_values;
  row.x = x;
  row.y = words_of<Scalar, Space>(y);
  row.progress = progress;
  if (is_host_space<Space>) {
    const double bytes = double(factor.n.values.extent(0)) * sizeof(Scalar);
    const double of_a_row = bytes / double(std::max<std::int64_t>(1, factor.n.num_block_rows));
    row.rows_ahead = static_cast<int>(std::clamp(SolveTuning::bytes_ahead / std::max(1.0, of_a_row), 2.0,
                                                 double(SolveTuning::most_rows_ahead)));
  }
  return row;
}

template <class Scalar, class Space>
void solve_exactly(const Space& space, const Factor<Scalar, Space>& factor, Triangle which,
                   const RowSchedule<Space>& schedule, MultiVectorView<const Scalar, Space> x,
                   MultiVectorView<Scalar, Space> y, const Vector<SolveProgress, Space>& progress) {
  with_row<Scalar, Space>(factor.lanes, factor.n.block_size, [&]<class Row>() {
    using Launcher = block_rows::Launcher<Row, Space>;
    Row row = make_row<Row, Scalar, Space>(factor, x, y, progress);
    if constexpr (is_host_space<Space>)
      if (concurrency(space) <= factor.threads_in_order)
        return Launcher(space, row)
            .in_order("prekond::block_triangular::apply::rows", factor.n.num_block_rows,
                      which == Triangle::upper);
    if (schedule.how == FactorSchedule::levels)
      return Launcher(space, row).by_levels("prekond::block_triangular::apply::level", schedule);
    Kokkos::parallel_for("prekond::block_triangular::apply::begin",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, y.extent(0)),
                         BeginSolve<Scalar, Space>{row.y, row.progress, row.num_columns});
    const Launcher again(space, row);
    row.max_polls = schedule.most_polls;
    Launcher(space, row)
        .by_tickets("prekond::block_triangular::apply::chunks", schedule, &progress.data()->next_chunk);
    again.stalled("prekond::block_triangular::apply::alone", schedule);
  });
}

}  // namespace prekond::impl::block_triangular
