// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Values into the places of other formats, for the units that instantiate them.
#include <prekond/core/error.hpp>
#include <prekond/core/options.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/sell_matrix.hpp>
#include "matrix/dia_matrix.hpp"
#include "matrix/jad_matrix.hpp"

#include <string>

#include "core/row_teams.hpp"
#include "matrix/format_layouts.hpp"

namespace prekond {
namespace impl::formats {

template <class Space>
using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

template <class Value, class Space>
struct FillSell {
  static constexpr int chunk = SellStructure<Space>::chunk_rows;
  CsrView<Value, Space> a;
  VectorView<const std::size_t, Space> chunk_ptrs;
  VectorView<const int, Space> rows;
  VectorView<Value, Space> values;

  KOKKOS_FUNCTION void operator()(std::int64_t position) const {
    const std::int64_t c = position / chunk;
    const std::size_t first = chunk_ptrs(c);
    const int width = static_cast<int>(chunk_ptrs(c + 1) - first);
    const bool is_row = position < a.num_rows;
    const std::int64_t i = is_row && rows.extent(0) > 0 ? rows(position) : position;
    const std::size_t begin = is_row ? a.row_ptrs(i) : 0;
    const int length = is_row ? static_cast<int>(a.row_ptrs(i + 1) - begin) : 0;
    for (int k = 0; k < width; ++k)
      values((first + k) * chunk + position % chunk) = k < length ? a.values(begin + k) : zero_of<Value>();
  }
};

/// A row's values, and zeros, by a thread.
template <class Value, class Space>
struct FillDia {
  CsrView<Value, Space> a;
  VectorView<const int, Space> offsets;
  std::int64_t stride;
  VectorView<Value, Space> values;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::size_t k = i < a.num_rows ? a.row_ptrs(i) : 0;
    const std::size_t end = i < a.num_rows ? a.row_ptrs(i + 1) : 0;
    for (std::size_t d = 0; d < offsets.extent(0); ++d) {
      const bool here = k < end && a.col_idxs(k) == i + offsets(d);
      values(d * stride + i) = here ? a.values(k) : zero_of<Value>();
      if (here) ++k;
    }
  }
};

/// A row's values by a vector of lanes, into zeros: of a device, which reads the row by whole lines so.
template <class Value, class Space>
struct ScatterDia {
  CsrView<Value, Space> a;
  VectorView<const int, Space> offsets;
  std::int64_t stride;
  VectorView<Value, Space> values;
  RowTeams<Space> rows;

  KOKKOS_FUNCTION void operator()(const typename RowTeams<Space>::Member& team) const {
    rows.for_each_row(team, [&](std::int64_t i) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, a.row_ptrs(i), a.row_ptrs(i + 1)),
                           [&](std::size_t k) {
                             const std::int64_t d = diagonal(static_cast<int>(a.col_idxs(k) - i));
                             values(d * stride + i) = a.values(k);
                           });
    });
  }
  /// The place of an offset that is there.
  KOKKOS_FUNCTION int diagonal(int offset) const {
    int first = 0, count = static_cast<int>(offsets.extent(0));
    while (count > 1) {
      const int half = count / 2;
      if (offsets(first + half) <= offset) first += half;
      count -= half;
    }
    return first;
  }
};

/// Rows by a team: their places on all diagonals are filled in scratch, and written by whole lines, zeros
/// too.
template <class Value, class Space>
struct TileDia {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  static constexpr int rows_per_team = 32;
  static constexpr int pitch = rows_per_team + 1;  ///< a row's entries are in different banks
  static constexpr int threads = is_host_space<Space> ? 1 : 8;
  static constexpr int lanes = is_host_space<Space> ? 1 : 32;
  static constexpr std::size_t scratch_bytes = 40 * 1024;

  ScatterDia<Value, Space> to;

  static std::size_t bytes(std::int64_t num_diagonals) {
    return static_cast<std::size_t>(num_diagonals) * pitch * sizeof(Value) + 16;
  }
  static bool fits(std::int64_t num_diagonals) { return bytes(num_diagonals) <= scratch_bytes; }
  static Policy policy(const Space& space, std::int64_t stride, std::int64_t num_diagonals) {
    Policy policy(space, static_cast<int>(stride / rows_per_team), threads, lanes);
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(bytes(num_diagonals))));
    return policy;
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const int count = static_cast<int>(to.offsets.extent(0));
    const auto size = static_cast<std::size_t>(count) * pitch;
    auto* const tile = static_cast<Value*>(team.team_scratch(0).get_shmem_aligned(size * sizeof(Value), 16));
    const std::int64_t first = std::int64_t(team.league_rank()) * rows_per_team;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, size),
                         [&](std::size_t p) { tile[p] = zero_of<Value>(); });
    team.team_barrier();
    const std::int64_t left = to.a.num_rows - first;
    Kokkos::parallel_for(
        Kokkos::TeamThreadRange(team, left < rows_per_team ? static_cast<int>(left) : rows_per_team),
        [&](int r) {
          const std::int64_t i = first + r;
          Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, to.a.row_ptrs(i), to.a.row_ptrs(i + 1)),
                               [&](std::size_t k) {
                                 const int d = to.diagonal(static_cast<int>(to.a.col_idxs(k) - i));
                                 tile[d * pitch + r] = to.a.values(k);
                               });
        });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int d) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, rows_per_team),
                           [&](int r) { to.values(d * to.stride + first + r) = tile[d * pitch + r]; });
    });
  }
};

template <class Value, class Space>
struct FillJad {
  CsrView<Value, Space> a;
  VectorView<const std::size_t, Space> diagonal_ptrs;
  VectorView<const int, Space> rows;
  VectorView<int, Space> col_idxs;
  VectorView<Value, Space> values;

  KOKKOS_FUNCTION void operator()(std::int64_t position) const {
    const std::int64_t i = rows(position);
    const std::size_t begin = a.row_ptrs(i);
    const std::size_t length = a.row_ptrs(i + 1) - begin;
    for (std::size_t k = 0; k < length; ++k) {
      const std::size_t place = diagonal_ptrs(k) + position;
      col_idxs(place) = a.col_idxs(begin + k);
      values(place) = a.values(begin + k);
    }
  }
};

template <class Value, class Space>
SellMatrix<Value, Space> fill_sell(const Space& space, const CsrView<Value, Space>& a,
                                   const SellStructure<Space>& structure) {
  SellMatrix<Value, Space> result{structure, {}};
  result.values = allocate<Vector<Value, Space>>(space, "prekond::sell::values", result.num_places());
  Kokkos::parallel_for("prekond::sell::fill_values",
                       Range<Space>(space, 0, result.num_chunks() * result.chunk_rows),
                       FillSell<Value, Space>{a, result.chunk_ptrs, result.rows, result.values});
  return result;
}

template <class Value, class Space>
DiaMatrix<Value, Space> fill_dia(const Space& space, const CsrView<Value, Space>& a,
                                 const Vector<int, Space>& offsets) {
  DiaMatrix<Value, Space> result;
  result.num_rows = a.num_rows;
  result.num_cols = a.num_cols;
  result.nnz = a.nnz();
  result.stride = (a.num_rows + 31) / 32 * 32;
  result.offsets = offsets;
  const std::int64_t places = result.stride * result.num_diagonals();
  using Tile = TileDia<Value, Space>;
  if constexpr (is_host_space<Space>) {
    result.values = allocate<Vector<Value, Space>>(space, "prekond::dia::values", places);
    Kokkos::parallel_for("prekond::dia::fill_values", Range<Space>(space, 0, result.stride),
                         FillDia<Value, Space>{a, result.offsets, result.stride, result.values});
  } else if (Tile::fits(result.num_diagonals())) {
    result.values = allocate<Vector<Value, Space>>(space, "prekond::dia::values", places);
    if (places > 0)
      Kokkos::parallel_for("prekond::dia::fill_values",
                           Tile::policy(space, result.stride, result.num_diagonals()),
                           Tile{{a, result.offsets, result.stride, result.values, {a.num_rows}}});
  } else {
    result.values = allocate_zero<Vector<Value, Space>>(space, "prekond::dia::values", places);
    Kokkos::parallel_for(
        "prekond::dia::fill_values", RowTeams<Space>::policy(space, a.num_rows, a.nnz()),
        ScatterDia<Value, Space>{a, result.offsets, result.stride, result.values, {a.num_rows}});
  }
  return result;
}

template <class Value, class Space>
SellMatrix<Value, Space> make_sell(const Space& space, const CsrView<Value, Space>& a, Found<Space>& found) {
  if (!found.chunks) found.chunks = choose_chunks<Space>(space, a, SellOptions());
  const auto structure = make_sell_structure<Space>(space, a, SellOptions(), *found.chunks);
  found = {};
  return fill_sell<Value, Space>(space, a, structure);
}

template <class Value, class Space>
DiaMatrix<Value, Space> make_dia(const Space& space, const CsrView<Value, Space>& a, Found<Space>& found) {
  if (!found.diagonals) found.diagonals = mark_diagonals<Space>(space, a);
  const auto offsets = diagonal_offsets<Space>(space, a, *found.diagonals, sizeof(Value), DiaOptions());
  found = {};
  return fill_dia<Value, Space>(space, a, offsets);
}

}  // namespace impl::formats

template <class Value, class Space>
SellMatrix<Value, Space> make_sell(const Space& space, const CsrView<Value, Space>& a,
                                   const SellOptions& options) {
  return impl::formats::fill_sell<Value, Space>(space, a, make_sell_structure<Space>(space, a, options));
}

template <class Value, class Space>
DiaMatrix<Value, Space> make_dia(const Space& space, const CsrView<Value, Space>& a,
                                 const DiaOptions& options) {
  namespace formats = impl::formats;
  const auto offsets = formats::diagonal_offsets<Space>(space, a, formats::mark_diagonals<Space>(space, a),
                                                        sizeof(Value), options);
  return formats::fill_dia<Value, Space>(space, a, offsets);
}

template <class Value, class Space>
JadMatrix<Value, Space> make_jad(const Space& space, const CsrView<Value, Space>& a) {
  JadMatrix<Value, Space> result;
  result.num_rows = a.num_rows;
  result.num_cols = a.num_cols;
  const auto layout = impl::formats::jagged_diagonals<Space>(space, a);
  result.rows = layout.rows;
  result.diagonal_ptrs = layout.diagonal_ptrs;
  result.col_idxs = allocate<Vector<int, Space>>(space, "prekond::jad::col_idxs", a.nnz());
  result.values = allocate<Vector<Value, Space>>(space, "prekond::jad::values", a.nnz());
  Kokkos::parallel_for("prekond::jad::fill", impl::formats::Range<Space>(space, 0, a.num_rows),
                       impl::formats::FillJad<Value, Space>{a, result.diagonal_ptrs, result.rows,
                                                            result.col_idxs, result.values});
  return result;
}

#define PREKOND_MAKE_FORMATS(Value, Space)                                                                  \
  template SellMatrix<Value, Space> make_sell(const Space&, const CsrView<Value, Space>&,                   \
                                              const SellOptions&);                                          \
  template DiaMatrix<Value, Space> make_dia(const Space&, const CsrView<Value, Space>&, const DiaOptions&); \
  template JadMatrix<Value, Space> make_jad(const Space&, const CsrView<Value, Space>&);                    \
  template SellMatrix<Value, Space> impl::formats::make_sell(const Space&, const CsrView<Value, Space>&,    \
                                                             impl::formats::Found<Space>&);                 \
  template DiaMatrix<Value, Space> impl::formats::make_dia(const Space&, const CsrView<Value, Space>&,      \
                                                           impl::formats::Found<Space>&);                   \
  template SellMatrix<Value, Space> impl::formats::fill_sell(const Space&, const CsrView<Value, Space>&,    \
                                                             const SellStructure<Space>&);                  \
  template DiaMatrix<Value, Space> impl::formats::fill_dia(const Space&, const CsrView<Value, Space>&,      \
                                                           const Vector<int, Space>&);

}  // namespace prekond
