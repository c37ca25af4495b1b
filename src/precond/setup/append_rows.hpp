// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows of unknown length, before they are appended to a matrix: each has a place in a slab with room for the
/// longest.
#include <prekond/core/views.hpp>

#include <cstdint>

namespace prekond::impl {

/// The places of rows: row i of a chunk goes to the `width` places of the slab from (i - first) * width on;
/// with first < 0, the k-th row of the range to those from k * width on.
template <class Scalar, class Space>
struct RowSlab {
  std::int64_t first = 0;
  std::int64_t width = 0;
  VectorView<int, Space> cols;
  VectorView<Scalar, Space> values;
  VectorView<int, Space> length;  ///< of the row; negative: it outgrew its workspace, see Shortage
  KOKKOS_FUNCTION std::int64_t place(int i, std::int64_t k) const { return first < 0 ? k : i - first; }
};

/// Moves a chunk's rows out of the slab, 64 a team.
template <class Scalar, class Space>
struct AppendRows {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  RowSlab<Scalar, Space> slab;
  std::int64_t count;
  VectorView<const std::size_t, Space> row_ptrs;
  std::size_t begin;
  VectorView<int, Space> cols;
  VectorView<Scalar, Space> values;
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t from = team.league_rank() * std::int64_t(64);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, from, from + 64 < count ? from + 64 : count),
                         [&](std::int64_t k) {
                           const std::size_t to = row_ptrs(slab.first + k) - begin;
                           Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, slab.length(k)), [&](int e) {
                             cols(to + e) = slab.cols(k * slab.width + e);
                             values(to + e) = slab.values(k * slab.width + e);
                           });
                         });
  }
};

/// Appends a chunk's rows to `cols` and `values`, one after another; row k of the chunk ends at
/// row_ptrs(slab.first + k
/// + 1) - begin.
template <class Scalar, class Space>
void append_rows(const Space& space, const char* label, const RowSlab<Scalar, Space>& slab,
                 std::int64_t count, VectorView<const std::size_t, Space> row_ptrs, std::size_t begin,
                 VectorView<int, Space> cols, VectorView<Scalar, Space> values) {
  constexpr int lanes = is_host_space<Space> ? 1 : 16;
  const int league = static_cast<int>((count + 63) / 64);
  Kokkos::parallel_for(label, Kokkos::TeamPolicy<Space>(space, league, lanes, lanes),
                       AppendRows<Scalar, Space>{slab, count, row_ptrs, begin, cols, values});
}

}  // namespace prekond::impl
