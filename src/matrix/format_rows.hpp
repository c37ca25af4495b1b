// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// How the formats that have the k-th entries of neighbouring rows together add a row (on a device, a thread)
/// or a few rows side by side (on a host), and which row stands at a position.
#include <prekond/core/impl/multiply_add.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/sell_matrix.hpp>
#include "matrix/dia_matrix.hpp"
#include "matrix/jad_matrix.hpp"

#include <algorithm>

#include "core/load_once.hpp"
#include "core/packed.hpp"
#include "matrix/sell_deltas.hpp"

namespace prekond::impl::products {

// Chosen on an H200 (perf_tests/results/h200/toolbox/results.md).
struct FormatTuning {
  static constexpr int team = 64;
  static constexpr int sorted_team = 128;  // of sorted rows: neighbours are in one team's cache
  static constexpr int jad_team = 512;
  // Entries that a thread asks for at a time.
  static constexpr int batch = 8;
  static constexpr int dia_batch = 4;
  static constexpr int jad_batch = 4;
  // With this number of places in the mean the matrix is added in one batch, and then many threads help more
  // than registers do.
  static constexpr int mean_of_short_rows = 8;
  // Threads of a multiprocessor that a kernel's registers have to leave room for.
  static constexpr int threads_of_short_rows = 1536;
  static constexpr int threads_of_long_rows = 1024;
  // Where the team ends with a sum: its threads, and a thread's rows.
  static constexpr int dot_team = 128;
  static constexpr int passes_of_short_rows = 4;
  static constexpr int passes_of_long_rows = 2;
  static constexpr int host_positions = 512;  // of a team, where no sum over blocks depends on it
  static constexpr int host_diagonals = 4;    // that a host adds in one pass over its rows' sums
};

/// Loads of a batch are in flight before the first is needed. `get` fills a column, which x has, and a
/// value.
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

/// The same of entries that may be missing: `get` leaves those as they are.
template <int Batch, class Value, class Scalar, class Get>
KOKKOS_FORCEINLINE_FUNCTION void add_present(const Scalar* xv, const Get& get, Scalar& sum) {
  const auto get_or_nothing = [&](int p, int& col, Value& value) {
    col = 0;
    value = static_cast<Value>(Scalar(0));
    get(p, col, value);
  };
  add_batch<Batch, Value>(xv, get_or_nothing, sum);
}

/// The same of `count` < Batch entries, which are there.
template <int Batch, class Value, class Scalar, class Get>
KOKKOS_FORCEINLINE_FUNCTION void add_rest(int count, const Scalar* xv, const Get& get, Scalar& sum) {
  if constexpr (Batch > 1) {
    if (count == Batch - 1)
      add_batch<Batch - 1, Value>(xv, get, sum);
    else
      add_rest<Batch - 1, Value>(count, xv, get, sum);
  }
}

/// The action of a host's loops over rows side by side where an entry is 0, which may be a place without an
/// entry.
enum class Zeros {
  added,    ///< 0 x is added: nothing is compared, and nothing changes where x is finite
  left_out  ///< whatever x is
};

/// sum += a x: the one step of these loops. x is chosen, and not the sum: so compilers make wide vectors of
/// floats that are added to doubles too.
template <Zeros zeros, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION void add_entry(const Scalar& a, const Scalar& x, Scalar& sum) {
  sum = multiply_add(a, zeros == Zeros::added || a != Scalar(0) ? x : Scalar(0), sum);
}

/// In one loop without branches.
template <int Count, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION bool are_finite(const Scalar* sums) {
  std::int64_t other = 0;
  for (int r = 0; r < Count; ++r) {
    if constexpr (is_complex<Scalar>)
      other |= !is_finite(sums[r]);
    else
      other |= !(Kokkos::abs(sums[r]) <= Kokkos::Experimental::finite_max_v<Scalar>);
  }
  return other == 0;
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
  static constexpr int largest_team = std::max(FormatTuning::sorted_team, FormatTuning::dot_team);
  static constexpr bool by_length = true;  ///< is there a kernel for short rows?
  static constexpr int chunk = SellStructure<Space>::chunk_rows;
  static constexpr int side_by_side = chunk;
  static constexpr bool in_order = false;  ///< is a position its row?
  PackedSell<Value> a;

  KOKKOS_FUNCTION std::int64_t row(std::int64_t position) const {
    return a.rows.is_empty() ? position : a.rows(position);
  }
  static constexpr int resident_threads(bool is_short) {
    return is_short ? FormatTuning::threads_of_short_rows : FormatTuning::threads_of_long_rows;
  }
  static int team(const View& a) {
    return a.rows.extent(0) > 0 ? FormatTuning::sorted_team : FormatTuning::team;
  }
  static bool is_short(const View& a) {
    return a.num_places <= FormatTuning::mean_of_short_rows * a.num_rows;
  }

  /// Short rows are read by bodies of their own length, long ones past the caches.
  template <bool Short>
  KOKKOS_FUNCTION Scalar sum(std::int64_t position, const Scalar* xv) const {
    constexpr int batch = FormatTuning::batch;
    const std::int64_t c = position / chunk;
    const std::size_t first = a.chunk_ptrs(c);
    const int width = static_cast<int>(a.chunk_ptrs(c + 1) - first);
    const int lane = static_cast<int>(position % chunk);
    const int* bases = a.bases.data() + first;
    const Value* values = a.values.data() + first * chunk;
    Scalar result = 0;
    with_deltas(a.delta_ptrs, a.deltas, c, [&](const auto* deltas) {
      int k = 0;
      const auto get = [&](int p, int& col, Value& value) {
        const std::int64_t place = std::int64_t(k + p) * chunk + lane;
        if constexpr (Short) {
          col = bases[k + p] + static_cast<int>(deltas[place]);
          value = values[place];
        } else {
          col = bases[k + p] + static_cast<int>(load_once(deltas + place));
          value = load_once(values + place);
        }
      };
      for (; k + batch <= width; k += batch) add_batch<batch, Value>(xv, get, result);
      if constexpr (Short) {
        add_rest<batch, Value>(width - k, xv, get, result);
      } else if (k < width) {
        add_present<batch, Value>(
            xv,
            [&](int p, int& col, Value& value) {
              if (k + p < width) get(p, col, value);
            },
            result);
      }
    });
    return result;
  }

  /// Where `sums` begins that has `position` among its rows.
  KOKKOS_FUNCTION static std::int64_t first_of(std::int64_t position) { return position / chunk * chunk; }
  /// The sums of the chunk that begins at `position`.
  template <Zeros zeros>
  KOKKOS_FUNCTION void sums(std::int64_t position, const Scalar* xv, Scalar* results) const {
    const std::int64_t c = position / chunk;
    const std::size_t first = a.chunk_ptrs(c);
    const std::size_t last = a.chunk_ptrs(c + 1);
    for (int r = 0; r < chunk; ++r) results[r] = 0;
    with_deltas(a.delta_ptrs, a.deltas, c, [&](const auto* deltas) {
      for (std::size_t k = first; k < last; ++k) {
        const Value* values = a.values.data() + k * chunk;
        const auto* own = deltas + (k - first) * chunk;
        const Scalar* from = xv + a.bases(k);
        for (int r = 0; r < chunk; ++r)
          add_entry<zeros>(static_cast<Scalar>(values[r]), from[own[r]], results[r]);
      }
    });
  }
};

template <class Value, class Scalar, class Space>
struct DiaRows {
  using View = DiaView<Value, Space>;
  static constexpr const char* label = "prekond::spmv::apply_dia";
  static constexpr const char* dot_label = "prekond::spmv::apply_dia_dot";
  static constexpr int largest_team = std::max(FormatTuning::team, FormatTuning::dot_team);
  static constexpr bool by_length = false;
  static constexpr int side_by_side = 128;
  static constexpr bool in_order = true;
  PackedDia<Value> a;

  KOKKOS_FUNCTION std::int64_t row(std::int64_t position) const { return position; }
  static constexpr int resident_threads(bool) { return FormatTuning::threads_of_short_rows; }
  static int team(const View&) { return FormatTuning::team; }
  static bool is_short(const View& a) { return a.offsets.extent(0) <= FormatTuning::mean_of_short_rows; }

  template <bool>
  KOKKOS_FUNCTION Scalar sum(std::int64_t i, const Scalar* xv) const {
    constexpr int batch = FormatTuning::dia_batch;
    const int count = a.num_diagonals;
    Scalar result = 0;
    int d = 0;
    if (has_all_columns(i, count)) {
      const auto get = [&](int p, int& col, Value& value) {
        col = static_cast<int>(i + a.offsets(d + p));
        value = load_once(a.values.data() + (d + p) * a.stride + i);
      };
      for (; d + batch <= count; d += batch) add_batch<batch, Value>(xv, get, result);
      add_rest<batch, Value>(count - d, xv, get, result);
      return result;
    }
    for (; d < count; d += batch)
      add_present<batch, Value>(
          xv,
          [&](int p, int& col, Value& value) {
            if (d + p >= count) return;
            const std::int64_t j = i + a.offsets(d + p);
            if (j < 0 || j >= a.num_cols) return;
            col = static_cast<int>(j);
            value = a.values((d + p) * a.stride + i);
          },
          result);
    return result;
  }

  /// Is no diagonal outside of the matrix in row i?
  KOKKOS_FORCEINLINE_FUNCTION bool has_all_columns(std::int64_t i, int count) const {
    return count > 0 && i + a.offsets(0) >= 0 && i + a.offsets(count - 1) < a.num_cols;
  }

  KOKKOS_FUNCTION static std::int64_t first_of(std::int64_t position) { return position; }
  /// The sums of rows from any `position` on.
  template <Zeros zeros>
  KOKKOS_FUNCTION void sums(std::int64_t position, const Scalar* xv, Scalar* results) const {
    constexpr int batch = FormatTuning::host_diagonals;
    for (int r = 0; r < side_by_side; ++r) results[r] = 0;
    const std::int64_t end = position + side_by_side < a.num_rows ? position + side_by_side : a.num_rows;
    const bool is_whole = position + side_by_side <= a.num_rows;
    for (int d = 0; d < a.num_diagonals;) {
      const std::int64_t offset = a.offsets(d);
      if (is_whole && d + batch <= a.num_diagonals && position + offset >= 0 &&
          position + side_by_side + a.offsets(d + batch - 1) <= a.num_cols) {
        add_diagonals<zeros>(d, position, xv, results);
        d += batch;
        continue;
      }
      const int low = static_cast<int>((position + offset < 0 ? -offset : position) - position);
      const int high = static_cast<int>((end + offset > a.num_cols ? a.num_cols - offset : end) - position);
      const Value* values = a.values.data() + d * a.stride + position;
      const std::int64_t first = position + offset;  // a column, where x has it
      for (int r = low; r < high; ++r)
        add_entry<zeros>(static_cast<Scalar>(values[r]), xv[first + r], results[r]);
      ++d;
    }
  }

 private:
  /// Diagonals d, d + 1, ... in one pass over the sums. \pre all rows have them
  template <Zeros zeros>
  KOKKOS_FORCEINLINE_FUNCTION void add_diagonals(int d, std::int64_t position, const Scalar* xv,
                                                 Scalar* results) const {
    static_assert(FormatTuning::host_diagonals == 4);
    const Value* const v0 = a.values.data() + d * a.stride + position;
    const Value *const v1 = v0 + a.stride, *const v2 = v1 + a.stride, *const v3 = v2 + a.stride;
    const Scalar* const x = xv + position;
    const Scalar *const x0 = x + a.offsets(d), *const x1 = x + a.offsets(d + 1);
    const Scalar *const x2 = x + a.offsets(d + 2), *const x3 = x + a.offsets(d + 3);
    for (int r = 0; r < side_by_side; ++r) {
      Scalar sum = results[r];
      add_entry<zeros>(static_cast<Scalar>(v0[r]), x0[r], sum);
      add_entry<zeros>(static_cast<Scalar>(v1[r]), x1[r], sum);
      add_entry<zeros>(static_cast<Scalar>(v2[r]), x2[r], sum);
      add_entry<zeros>(static_cast<Scalar>(v3[r]), x3[r], sum);
      results[r] = sum;
    }
  }
};

template <class Value, class Scalar, class Space>
struct JadRows {
  using View = JadView<Value, Space>;
  static constexpr const char* label = "prekond::spmv::apply_jad";
  static constexpr const char* dot_label = "prekond::spmv::apply_jad_dot";
  static constexpr int largest_team = FormatTuning::jad_team;
  static constexpr bool by_length = false;
  static constexpr int side_by_side = 32;
  static constexpr bool in_order = false;
  PackedJad<Value> a;

  KOKKOS_FUNCTION std::int64_t row(std::int64_t position) const { return a.rows(position); }
  static constexpr int resident_threads(bool) { return FormatTuning::threads_of_long_rows; }
  static int team(const View&) { return FormatTuning::jad_team; }
  static bool is_short(const View& a) {
    return static_cast<std::int64_t>(a.values.extent(0)) <= FormatTuning::mean_of_short_rows * a.num_rows;
  }

  template <bool>
  KOKKOS_FUNCTION Scalar sum(std::int64_t position, const Scalar* xv) const {
    constexpr int batch = FormatTuning::jad_batch;
    const int longest = a.num_diagonals;
    Scalar result = 0;
    bool is_inside = true;
    for (int k = 0; is_inside && k < longest; k += batch)
      add_present<batch, Value>(
          xv,
          [&](int p, int& col, Value& value) {
            is_inside = is_inside && k + p < longest;
            if (!is_inside) return;
            const std::size_t place = a.diagonal_ptrs(k + p) + position;
            is_inside = place < a.diagonal_ptrs(k + p + 1);
            if (!is_inside) return;
            col = load_once(a.col_idxs.data() + place);
            value = load_once(a.values.data() + place);
          },
          result);
    return result;
  }

  KOKKOS_FUNCTION static std::int64_t first_of(std::int64_t position) { return position; }
  /// The sums of rows from any `position` on.
  template <Zeros zeros>
  KOKKOS_FUNCTION void sums(std::int64_t position, const Scalar* xv, Scalar* results) const {
    for (int r = 0; r < side_by_side; ++r) results[r] = 0;
    for (int k = 0; k < a.num_diagonals; ++k) {
      const std::size_t first = a.diagonal_ptrs(k) + position;
      const std::size_t end = a.diagonal_ptrs(k + 1);
      if (first >= end) return;
      const int count = first + side_by_side < end ? side_by_side : static_cast<int>(end - first);
      const Value* values = a.values.data() + first;
      const int* cols = a.col_idxs.data() + first;
      for (int r = 0; r < count; ++r)
        add_entry<zeros>(static_cast<Scalar>(values[r]), xv[cols[r]], results[r]);
    }
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

}  // namespace prekond::impl::products
