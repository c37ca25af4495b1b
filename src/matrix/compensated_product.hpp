// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Products that are added up in twice the precision, for the unit that instantiates them. A format says
/// which entries a row has; the rest is one kernel. They are for the check at the end of a solve, so that
/// their loads are not tuned.
#include <prekond/matrix/spmv.hpp>
#include "matrix/bcsr_operator.hpp"
#include "matrix/format_operator.hpp"

#include <algorithm>

#include "core/packed.hpp"
#include "matrix/block_sizes.hpp"
#include "matrix/compensated_sum.hpp"
#include "matrix/format_rows.hpp"
#include "matrix/product_teams.hpp"

namespace prekond::impl::products {

struct CompensatedTuning {
  static constexpr int host_rows = 512;
  static constexpr int team = 128;  ///< threads of a device's team
  static constexpr int most_lanes = 32;
};

template <class Scalar>
struct CsrEntries {
  std::int64_t num_rows;
  PackedVector<const std::size_t> row_ptrs;
  PackedVector<const int> col_idxs;
  PackedVector<const Scalar> values;

  template <class View>
  explicit CsrEntries(const View& a)
      : num_rows(a.num_rows), row_ptrs(a.row_ptrs), col_idxs(a.col_idxs), values(a.values) {}
  KOKKOS_FUNCTION std::int64_t row(std::int64_t position) const { return position; }
  KOKKOS_FUNCTION int length(std::int64_t position) const {
    return static_cast<int>(row_ptrs(position + 1) - row_ptrs(position));
  }
  KOKKOS_FUNCTION void add(std::int64_t position, int k, const Scalar* x, CompensatedSum<Scalar>& sum) const {
    const std::size_t place = row_ptrs(position) + k;
    sum.add_product(values(place), x[col_idxs(place)]);
  }
};

template <class Scalar, class Space>
struct SellEntries : PackedSell<Scalar> {
  static constexpr int chunk = SellStructure<Space>::chunk_rows;
  using PackedSell<Scalar>::PackedSell;

  KOKKOS_FUNCTION std::int64_t row(std::int64_t position) const {
    return this->rows.is_empty() ? position : this->rows(position);
  }
  KOKKOS_FUNCTION int length(std::int64_t position) const {
    const std::int64_t c = position / chunk;
    return static_cast<int>(this->chunk_ptrs(c + 1) - this->chunk_ptrs(c));
  }
  KOKKOS_FUNCTION void add(std::int64_t position, int k, const Scalar* x, CompensatedSum<Scalar>& sum) const {
    const std::int64_t c = position / chunk, lane = position % chunk;
    const std::size_t of_column = this->chunk_ptrs(c) + k;
    const Scalar value = this->values(of_column * chunk + lane);
    if (value == Scalar(0)) return;
    with_deltas(this->delta_ptrs, this->deltas, c, [&](const auto* deltas) {
      sum.add_product(value, x[this->bases(of_column) + static_cast<int>(deltas[k * chunk + lane])]);
    });
  }
};

template <class Scalar>
struct DiaEntries : PackedDia<Scalar> {
  using PackedDia<Scalar>::PackedDia;

  KOKKOS_FUNCTION std::int64_t row(std::int64_t position) const { return position; }
  KOKKOS_FUNCTION int length(std::int64_t) const { return this->num_diagonals; }
  KOKKOS_FUNCTION void add(std::int64_t i, int k, const Scalar* x, CompensatedSum<Scalar>& sum) const {
    const std::int64_t j = i + this->offsets(k);
    if (j < 0 || j >= this->num_cols) return;
    const Scalar value = this->values(k * this->stride + i);
    if (value != Scalar(0)) sum.add_product(value, x[j]);
  }
};

template <class Scalar>
struct JadEntries : PackedJad<Scalar> {
  using PackedJad<Scalar>::PackedJad;

  KOKKOS_FUNCTION std::int64_t row(std::int64_t position) const { return this->rows(position); }
  /// Diagonals become shorter.
  KOKKOS_FUNCTION int length(std::int64_t position) const {
    int low = 0, high = this->num_diagonals;
    while (low < high) {
      const int k = (low + high) / 2;
      if (this->diagonal_ptrs(k) + position < this->diagonal_ptrs(k + 1))
        low = k + 1;
      else
        high = k;
    }
    return low;
  }
  KOKKOS_FUNCTION void add(std::int64_t position, int k, const Scalar* x, CompensatedSum<Scalar>& sum) const {
    const std::size_t place = this->diagonal_ptrs(k) + position;
    sum.add_product(this->values(place), x[this->col_idxs(place)]);
  }
};

template <class Scalar>
struct BlockEntries {
  std::int64_t num_rows, num_cols;
  int block_size;
  blocks::BlockStrides strides;
  PackedVector<const std::size_t> row_ptrs;
  PackedVector<const int> col_idxs;
  PackedVector<const Scalar> values;

  template <class View>
  explicit BlockEntries(const View& a)
      : num_rows(a.num_rows()),
        num_cols(a.num_cols()),
        block_size(a.block_size),
        strides(a),
        row_ptrs(a.row_ptrs),
        col_idxs(a.col_idxs),
        values(a.values) {}
  KOKKOS_FUNCTION std::int64_t row(std::int64_t position) const { return position; }
  KOKKOS_FUNCTION int length(std::int64_t i) const {
    const std::int64_t block_row = i / block_size;
    return static_cast<int>(row_ptrs(block_row + 1) - row_ptrs(block_row)) * block_size;
  }
  KOKKOS_FUNCTION void add(std::int64_t i, int k, const Scalar* x, CompensatedSum<Scalar>& sum) const {
    const std::size_t block = row_ptrs(i / block_size) + k / block_size;
    const int p = static_cast<int>(i % block_size), q = k % block_size;
    const std::int64_t j = std::int64_t(col_idxs(block)) * block_size + q;
    if (j < num_cols)  // x has no entries for the padding's columns
      sum.add_product(values(block * (block_size * block_size) + strides.place(p, q)), x[j]);
  }
};

/// y + y_low += alpha A x: a thread, or a vector of lanes, has a row.
template <class Entries, class Scalar, class Space>
struct AddCompensatedProduct {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  using Sum = CompensatedSum<Scalar>;

  Entries entries;
  std::int64_t rows_per_team;
  real_type_t<Scalar> alpha;
  PackedColumns<const Scalar> x;
  PackedColumns<Scalar> y, y_low;
  int num_columns;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const RowRange rows = rows_of_team(team.league_rank(), rows_per_team, entries.num_rows);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, rows.begin, rows.end), [&](std::int64_t position) {
      for (int v = 0; v < num_columns; ++v) add_row(team, position, v);
    });
  }

 private:
  KOKKOS_FUNCTION void add_row(const Member& team, std::int64_t position, int v) const {
    const Scalar* const x_v = x.column(v);
    Sum sum;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, entries.length(position)),
        [&](int k, Sum& part) { entries.add(position, k, x_v, part); }, Kokkos::Sum<Sum>(sum));
    Kokkos::single(Kokkos::PerThread(team), [&] {
      const std::int64_t i = entries.row(position);
      Sum total(y(i, v), y_low(i, v));
      total.add(alpha, sum);
      y(i, v) = total.sum();
      y_low(i, v) = total.safe_error();
    });
  }
};

/// `lanes` of a device have a row together.
template <class Scalar, class Space, class Entries>
void add_compensated_product(const Space& space, real_type_t<Scalar> alpha, const Entries& entries,
                             std::int64_t num_cols, int lanes, MultiVectorView<const Scalar, Space> x,
                             MultiVectorView<Scalar, Space> y, MultiVectorView<Scalar, Space> y_low) {
  check_sizes(entries.num_rows, num_cols, x.extent(0), y.extent(0), x.extent(1), y.extent(1));
  check_sizes(entries.num_rows, num_cols, x.extent(0), y_low.extent(0), x.extent(1), y_low.extent(1));
  if (entries.num_rows == 0 || y.extent(1) == 0) return;
  using Tuning = CompensatedTuning;
  if (is_host_space<Space>) lanes = 1;
  const int threads = is_host_space<Space> ? 1 : Tuning::team / lanes;
  const int per_team = is_host_space<Space> ? Tuning::host_rows : threads;
  Kokkos::parallel_for(
      "prekond::spmv::compensated",
      Kokkos::TeamPolicy<Space>(space, num_teams(entries.num_rows, per_team), threads, lanes),
      AddCompensatedProduct<Entries, Scalar, Space>{entries, per_team, alpha, x, y, y_low,
                                                    static_cast<int>(y.extent(1))});
}

/// About half the entries of a row, so that each lane has some.
inline int lanes_of(std::int64_t num_rows, std::int64_t nnz) {
  int lanes = 1;
  while (lanes < CompensatedTuning::most_lanes && 4 * lanes * num_rows <= nnz) lanes *= 2;
  return lanes;
}

}  // namespace prekond::impl::products
