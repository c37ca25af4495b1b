// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Products of the formats that have the k-th entries of neighbouring rows together, for the units that
/// instantiate them. A format says how it adds a row (on a device, a thread) or a few rows side by side (on a
/// host), and which row stands at a position.
#include <prekond/matrix/format_operator.hpp>

#include <type_traits>

#include "matrix/product_teams.hpp"

namespace prekond::impl::products {

// Chosen on an H200.
struct FormatTuning {
  static constexpr int team = 256;
  static constexpr int sorted_team = 512;  // of sorted rows: most of a window is in one team's cache
  // Entries that a thread asks for at a time; the fewer where rows are short.
  static constexpr int short_batch = 4;
  static constexpr int batch = 8;
  static constexpr int mean_of_short_batch = 8;
  static constexpr int host_positions = 512;  // of a team, where no sum over blocks depends on it
};

/// Loads of a batch are on their way before the first is needed. `get` fills a column and a value, or leaves
/// the value 0 with any column that x has.
template <int Batch, class Value, class Scalar, class Get>
KOKKOS_FORCEINLINE_FUNCTION void add_batch(const Scalar* xv, const Get& get, Scalar& sum) {
  int col[Batch];
  Value value[Batch];
  Scalar factor[Batch];
#pragma unroll
  for (int p = 0; p < Batch; ++p) get(p, col[p], value[p]);
#pragma unroll
  for (int p = 0; p < Batch; ++p) factor[p] = xv[col[p]];
#pragma unroll
  for (int p = 0; p < Batch; ++p) {
    const Scalar entry = static_cast<Scalar>(value[p]);
    if (entry != Scalar(0)) sum += entry * factor[p];
  }
}

/// sum += a x, where a is not 0: the one step of a host's loops over rows side by side.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION void add_entry(const Scalar& a, const Scalar& x, Scalar& sum) {
  const Scalar added = multiply_add(a, x, sum);
  sum = a != Scalar(0) ? added : sum;
}

template <class Value>
struct PackedSell {
  template <class View>
  PackedSell(const View& a)
      : num_rows(a.num_rows),
        chunk_ptrs(a.chunk_ptrs),
        delta_ptrs(a.delta_ptrs),
        bases(a.bases),
        deltas(a.deltas),
        rows(a.rows),
        values(a.values) {}
  std::int64_t num_rows;
  PackedVector<const std::size_t> chunk_ptrs, delta_ptrs;
  PackedVector<const int> bases;
  PackedVector<const unsigned char> deltas;
  PackedVector<const int> rows;
  PackedVector<const Value> values;
};

template <class Value>
struct PackedDia {
  template <class View>
  PackedDia(const View& a)
      : num_rows(a.num_rows),
        num_cols(a.num_cols),
        stride(a.stride),
        num_diagonals(static_cast<int>(a.offsets.extent(0))),
        offsets(a.offsets),
        values(a.values) {}
  std::int64_t num_rows, num_cols, stride;
  int num_diagonals;
  PackedVector<const int> offsets;
  PackedVector<const Value> values;
};

template <class Value>
struct PackedJad {
  template <class View>
  PackedJad(const View& a)
      : num_rows(a.num_rows),
        num_diagonals(static_cast<int>(a.diagonal_ptrs.extent(0)) - 1),
        diagonal_ptrs(a.diagonal_ptrs),
        col_idxs(a.col_idxs),
        values(a.values),
        rows(a.rows) {}
  std::int64_t num_rows;
  int num_diagonals;
  PackedVector<const std::size_t> diagonal_ptrs;
  PackedVector<const int> col_idxs;
  PackedVector<const Value> values;
  PackedVector<const int> rows;
};

template <class Value, class Scalar, class Space>
struct SellRows {
  using View = SellView<Value, Space>;
  static constexpr const char* label = "prekond::spmv::apply_sell";
  static constexpr const char* dot_label = "prekond::spmv::apply_sell_dot";
  static constexpr int largest_team = FormatTuning::sorted_team;
  static constexpr int chunk = SellStructure<Space>::chunk_rows;
  static constexpr int side_by_side = chunk;
  PackedSell<Value> a;

  KOKKOS_FUNCTION std::int64_t row(std::int64_t position) const {
    return a.rows.is_empty() ? position : a.rows(position);
  }
  static bool is_sorted(const View& a) { return a.rows.extent(0) > 0; }
  static bool is_short(const View& a) {
    return a.num_places <= FormatTuning::mean_of_short_batch * a.num_rows;
  }

  /// Calls work(deltas) with a pointer to the chunk's deltas of their type.
  template <class Work>
  KOKKOS_FORCEINLINE_FUNCTION void with_deltas(std::int64_t c, const Work& work) const {
    const std::size_t code = a.delta_ptrs(c);
    const unsigned char* deltas = a.deltas.data() + (code & ~std::size_t(7));
    switch (code & 7) {
      case 1:
        return work(deltas);
      case 2:
        return work(reinterpret_cast<const unsigned short*>(deltas));
      default:
        return work(reinterpret_cast<const unsigned*>(deltas));
    }
  }

  template <int Batch>
  KOKKOS_FUNCTION Scalar sum(std::int64_t position, const Scalar* xv) const {
    const std::int64_t c = position / chunk;
    const std::size_t first = a.chunk_ptrs(c);
    const int width = static_cast<int>(a.chunk_ptrs(c + 1) - first);
    const int lane = static_cast<int>(position % chunk);
    const int* bases = a.bases.data() + first;
    const Value* values = a.values.data() + first * chunk;
    Scalar result = 0;
    with_deltas(c, [&](const auto* deltas) {
      int k = 0;
      const auto get = [&](int p, int& col, Value& value) {
        const std::int64_t place = std::int64_t(k + p) * chunk + lane;
        col = bases[k + p] + static_cast<int>(deltas[place]);
        value = values[place];
      };
      for (; k + Batch <= width; k += Batch) add_batch<Batch, Value>(xv, get, result);
      if (k < width)
        add_batch<Batch, Value>(
            xv,
            [&](int p, int& col, Value& value) {
              col = 0;
              value = static_cast<Value>(Scalar(0));
              if (k + p < width) get(p, col, value);
            },
            result);
    });
    return result;
  }

  /// Where `sums` begins that has `position` among its rows.
  KOKKOS_FUNCTION static std::int64_t first_of(std::int64_t position) { return position / chunk * chunk; }
  /// Of the chunk that begins at `position`.
  KOKKOS_FUNCTION void sums(std::int64_t position, const Scalar* xv, Scalar* results) const {
    const std::int64_t c = position / chunk;
    const std::size_t first = a.chunk_ptrs(c);
    const std::size_t last = a.chunk_ptrs(c + 1);
    for (int r = 0; r < chunk; ++r) results[r] = 0;
    with_deltas(c, [&](const auto* deltas) {
      for (std::size_t k = first; k < last; ++k) {
        const Value* values = a.values.data() + k * chunk;
        const auto* own = deltas + (k - first) * chunk;
        const Scalar* from = xv + a.bases(k);
        for (int r = 0; r < chunk; ++r) add_entry(static_cast<Scalar>(values[r]), from[own[r]], results[r]);
      }
    });
  }
};

template <class Value, class Scalar, class Space>
struct DiaRows {
  using View = DiaView<Value, Space>;
  static constexpr const char* label = "prekond::spmv::apply_dia";
  static constexpr const char* dot_label = "prekond::spmv::apply_dia_dot";
  static constexpr int largest_team = FormatTuning::team;
  static constexpr int side_by_side = 128;
  PackedDia<Value> a;

  KOKKOS_FUNCTION std::int64_t row(std::int64_t position) const { return position; }
  static bool is_sorted(const View&) { return false; }
  static bool is_short(const View&) { return false; }

  template <int Batch>
  KOKKOS_FUNCTION Scalar sum(std::int64_t i, const Scalar* xv) const {
    const int count = a.num_diagonals;
    Scalar result = 0;
    for (int d = 0; d < count; d += Batch)
      add_batch<Batch, Value>(
          xv,
          [&](int p, int& col, Value& value) {
            col = 0;
            value = static_cast<Value>(Scalar(0));
            if (d + p >= count) return;
            const std::int64_t j = i + a.offsets(d + p);
            if (j < 0 || j >= a.num_cols) return;
            col = static_cast<int>(j);
            value = a.values((d + p) * a.stride + i);
          },
          result);
    return result;
  }

  KOKKOS_FUNCTION static std::int64_t first_of(std::int64_t position) { return position; }
  /// Of rows from any `position` on.
  KOKKOS_FUNCTION void sums(std::int64_t position, const Scalar* xv, Scalar* results) const {
    for (int r = 0; r < side_by_side; ++r) results[r] = 0;
    const std::int64_t end = position + side_by_side < a.num_rows ? position + side_by_side : a.num_rows;
    for (int d = 0; d < a.num_diagonals; ++d) {
      const std::int64_t offset = a.offsets(d);
      const int low = static_cast<int>((position + offset < 0 ? -offset : position) - position);
      const int high = static_cast<int>((end + offset > a.num_cols ? a.num_cols - offset : end) - position);
      const Value* values = a.values.data() + d * a.stride + position;
      const std::int64_t first = position + offset;  // a column, where x has it
      for (int r = low; r < high; ++r) add_entry(static_cast<Scalar>(values[r]), xv[first + r], results[r]);
    }
  }
};

template <class Value, class Scalar, class Space>
struct JadRows {
  using View = JadView<Value, Space>;
  static constexpr const char* label = "prekond::spmv::apply_jad";
  static constexpr const char* dot_label = "prekond::spmv::apply_jad_dot";
  static constexpr int largest_team = FormatTuning::sorted_team;
  static constexpr int side_by_side = 32;
  PackedJad<Value> a;

  KOKKOS_FUNCTION std::int64_t row(std::int64_t position) const { return a.rows(position); }
  static bool is_sorted(const View&) { return true; }
  static bool is_short(const View&) { return true; }

  template <int Batch>
  KOKKOS_FUNCTION Scalar sum(std::int64_t position, const Scalar* xv) const {
    const int longest = a.num_diagonals;
    Scalar result = 0;
    bool is_inside = true;
    for (int k = 0; is_inside && k < longest; k += Batch)
      add_batch<Batch, Value>(
          xv,
          [&](int p, int& col, Value& value) {
            col = 0;
            value = static_cast<Value>(Scalar(0));
            is_inside = is_inside && k + p < longest;
            if (!is_inside) return;
            const std::size_t place = a.diagonal_ptrs(k + p) + position;
            is_inside = place < a.diagonal_ptrs(k + p + 1);
            if (!is_inside) return;
            col = a.col_idxs(place);
            value = a.values(place);
          },
          result);
    return result;
  }

  KOKKOS_FUNCTION static std::int64_t first_of(std::int64_t position) { return position; }
  /// Of rows from any `position` on.
  KOKKOS_FUNCTION void sums(std::int64_t position, const Scalar* xv, Scalar* results) const {
    for (int r = 0; r < side_by_side; ++r) results[r] = 0;
    for (int k = 0; k < a.num_diagonals; ++k) {
      const std::size_t first = a.diagonal_ptrs(k) + position;
      const std::size_t end = a.diagonal_ptrs(k + 1);
      if (first >= end) return;
      const int count = first + side_by_side < end ? side_by_side : static_cast<int>(end - first);
      const Value* values = a.values.data() + first;
      const int* cols = a.col_idxs.data() + first;
      for (int r = 0; r < count; ++r) add_entry(static_cast<Scalar>(values[r]), xv[cols[r]], results[r]);
    }
  }
};

template <class Rows, class Scalar, class Space, int Batch, bool WithDot>
struct FormatKernel {
  static_assert(is_host_space<Space> || !WithDot, "a device's product and inner product are two kernels");
  using Policy = Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<Rows::largest_team, 1>>;
  using Member = typename Policy::member_type;
  using Update = typename RowUpdate<Scalar, Space>::Packed;

  Rows rows;
  Update update;
  std::int64_t positions_per_team;
  FinishReduction<1, Scalar, Space> finish;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const RowRange range = rows_of_team(team.league_rank(), positions_per_team, rows.a.num_rows);
    Scalar dot = 0;
    if constexpr (is_host_space<Space>) {
      constexpr int count = Rows::side_by_side;
      for (std::int64_t first = Rows::first_of(range.begin); first < range.end; first += count)
        for (int v = 0; v < num_vectors(); ++v) {
          Scalar sums[count];
          rows.sums(first, column_of_x(v), sums);
          const std::int64_t begin = first < range.begin ? range.begin : first;
          const std::int64_t end = first + count < range.end ? first + count : range.end;
          // Copies, which no store to y can change: else all of it is loaded again for each row. And the two
          // usual cases in loops without branches.
          const Rows own_rows = rows;
          const Update own = update;
          if (own.is_product() || WithDot)
            for (std::int64_t p = begin; p < end; ++p) end_row(own, own_rows.row(p), v, sums[p - first], dot);
          else if (own.is_whole())
            for (std::int64_t p = begin; p < end; ++p) own.whole(own_rows.row(p), v, sums[p - first]);
          else
            for (std::int64_t p = begin; p < end; ++p) own(own_rows.row(p), v, sums[p - first]);
        }
    } else {
      for (std::int64_t p = range.begin + team.team_rank(); p < range.end; p += team.team_size()) {
        const std::int64_t i = rows.row(p);
        for (int v = 0; v < num_vectors(); ++v)
          end_row(update, i, v, rows.template sum<Batch>(p, column_of_x(v)), dot);
      }
    }
    if constexpr (WithDot) finish_dot(team, finish, dot);
  }

 private:
  KOKKOS_FUNCTION int num_vectors() const { return update.num_columns; }
  KOKKOS_FUNCTION const Scalar* column_of_x(int v) const { return update.x.column(v); }
  KOKKOS_FORCEINLINE_FUNCTION static void end_row(const Update& update, std::int64_t i, int v,
                                                  const Scalar& sum, Scalar& dot) {
    update(i, v, sum);
    if constexpr (WithDot) dot += conjugate(update.x(i, v)) * sum;
  }
};

template <class View>
struct RowsOf;
template <class Value, class Space>
struct RowsOf<SellView<Value, Space>> {
  template <class Scalar>
  using type = SellRows<Value, Scalar, Space>;
};
template <class Value, class Space>
struct RowsOf<DiaView<Value, Space>> {
  template <class Scalar>
  using type = DiaRows<Value, Scalar, Space>;
};
template <class Value, class Space>
struct RowsOf<JadView<Value, Space>> {
  template <class Scalar>
  using type = JadRows<Value, Scalar, Space>;
};

/// rows_per_block: what a host's sum over blocks depends on; 0 where there is none.
template <bool WithDot, class View, class Scalar, class Space>
void dispatch(const Space& space, const char* label, const View& a, const RowUpdate<Scalar, Space>& update,
              std::int64_t rows_per_block = 0, const FinishReduction<1, Scalar, Space>& finish = {}) {
  using Rows = typename RowsOf<View>::template type<Scalar>;
  const int threads = is_host_space<Space> ? 1
                      : Rows::is_sorted(a) ? FormatTuning::sorted_team
                                           : FormatTuning::team;
  const std::int64_t per_launch = is_host_space<Space> ? FormatTuning::host_positions : threads;
  const std::int64_t per_team = rows_per_block > 0 ? rows_per_block : per_launch;
  const auto launch = [&](auto batch) {
    using Kernel = FormatKernel<Rows, Scalar, Space, decltype(batch)::value, WithDot>;
    Kokkos::parallel_for(label, typename Kernel::Policy(space, num_teams(a.num_rows, per_team), threads, 1),
                         Kernel{{a}, update, per_team, finish});
  };
  if constexpr (!is_host_space<Space>)
    if (Rows::is_short(a)) return launch(std::integral_constant<int, FormatTuning::short_batch>{});
  launch(std::integral_constant<int, FormatTuning::batch>{});
}

}  // namespace prekond::impl::products

namespace prekond {

template <class Scalar, class Space, class FormatView>
void format_recurrence(const Space& space, const RecurrenceStep<Scalar>& step,
                       VectorView<const real_type_t<Scalar>, Space> row_scale, const FormatView& a,
                       MultiVectorView<const Scalar, Space> x, MultiVectorView<const Scalar, Space> b,
                       MultiVectorView<Scalar, Space> y) {
  using Rows = typename impl::products::RowsOf<FormatView>::template type<Scalar>;
  impl::products::multiply(space, Rows::label, a,
                           impl::products::RowUpdate<Scalar, Space>{step, x, y, b, row_scale});
}

template <class Scalar, class Space, class FormatView>
void format_dot(const Space& space, const FormatView& a, VectorView<const Scalar, Space> x,
                VectorView<Scalar, Space> y, VectorView<Scalar, Space> dot,
                const ReduceWorkspace<Scalar, Space>& workspace) {
  namespace products = impl::products;
  using Rows = typename products::RowsOf<FormatView>::template type<Scalar>;
  products::check_dot<FormatView, Scalar, Space>(a, x, y, workspace);
  if constexpr (is_host_space<Space>) {
    products::multiply_dot<Scalar, Space>(space, Rows::dot_label, a, x, y, dot, workspace);
  } else {
    // In one pass the teams would be the sum's blocks: too few, of too many rows, for the product.
    products::multiply(space, Rows::label, a,
                       products::RowUpdate<Scalar, Space>{{}, as_multivector(x), as_multivector(y)});
    products::dot_of_product<Scalar, Space>(space, Rows::dot_label, a.num_rows, x, y, dot, workspace);
  }
}

#define PREKOND_FORMAT_RECURRENCE(View, Value, Scalar, Space)                                                \
  template void format_recurrence<Scalar, Space, View<Value, Space>>(                                        \
      const Space&, const RecurrenceStep<Scalar>&, VectorView<const real_type_t<Scalar>, Space>,             \
      const View<Value, Space>&, MultiVectorView<const Scalar, Space>, MultiVectorView<const Scalar, Space>, \
      MultiVectorView<Scalar, Space>);
#define PREKOND_FORMAT_DOT(View, Scalar, Space)                                                             \
  template void format_dot<Scalar, Space, View<Scalar, Space>>(                                             \
      const Space&, const View<Scalar, Space>&, VectorView<const Scalar, Space>, VectorView<Scalar, Space>, \
      VectorView<Scalar, Space>, const ReduceWorkspace<Scalar, Space>&);

}  // namespace prekond
