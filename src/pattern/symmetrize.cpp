// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/sort_rows.hpp>
#include <prekond/pattern/impl/symmetrize.hpp>

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"

namespace prekond {
namespace {

/// A row's own entries, and those that other rows give it.
template <class Space>
struct Mirrors {
  CsrGraphView<Space> s;

  KOKKOS_FUNCTION int own_length(std::int64_t i) const {
    return static_cast<int>(s.first_from(i, s.num_rows) - s.row_ptrs(i));
  }
  /// Row j has to be given column i, for the entry (i, j).
  KOKKOS_FUNCTION bool missing(std::int64_t i, std::int64_t j) const {
    const std::size_t place = s.first_from(j, i);
    return place == s.row_ptrs(j + 1) || s.col_idxs(place) != i;
  }
};

template <class Space>
void own_lengths(const Space& space, const Mirrors<Space>& mirrors, VectorView<int, Space> length) {
  Kokkos::parallel_for(
      "prekond::symmetrize::own_lengths",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, mirrors.s.num_rows),
      KOKKOS_LAMBDA(std::int64_t i) { length(i) = mirrors.own_length(i); });
}

/// Adds what is missing to `length`, which begins as the rows' own, and writes the columns where there is a
/// result.
template <class Space>
struct MirrorEntries {
  using Rows = impl::RowTeams<Space>;
  Mirrors<Space> mirrors;
  VectorView<int, Space> length;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{mirrors.s.num_rows}.for_each_row(team, [&](std::int64_t i) { mirror_row(team, i); });
  }

  KOKKOS_FUNCTION void mirror_row(const typename Rows::Member& team, std::int64_t i) const {
    const CsrGraphView<Space>& s = mirrors.s;
    const std::size_t begin = s.row_ptrs(i);
    const bool fill = row_ptrs.extent(0) > 0;
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, mirrors.own_length(i)), [&](int k) {
      const int j = s.col_idxs(begin + k);
      if (fill) col_idxs(row_ptrs(i) + k) = j;
      if (!mirrors.missing(i, j)) return;
      const int place = Kokkos::atomic_fetch_add(&length(j), 1);
      if (fill) col_idxs(row_ptrs(j) + place) = static_cast<int>(i);
    });
  }
};

}  // namespace

template <class Space>
CsrGraph<Space> symmetrize(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& s) {
  const std::int64_t n = s.num_rows;
  const Mirrors<Space> mirrors{s};
  const auto length = allocate<Vector<int, Space>>(space, "prekond::symmetrize::length", n);
  const auto policy = impl::RowTeams<Space>::policy(space, n, s.nnz());
  own_lengths<Space>(space, mirrors, length);
  Kokkos::parallel_for("prekond::symmetrize::count", policy, MirrorEntries<Space>{mirrors, length, {}, {}});
  const auto [row_ptrs, nnz] =
      impl::scan_row_lengths(space, "prekond::symmetrize", n, VectorView<const int, Space>(length));
  const auto col_idxs = allocate<Vector<int, Space>>(space, "prekond::symmetrize::col_idxs", nnz);
  if (s.num_cols == n && static_cast<std::int64_t>(nnz) == s.nnz()) {  // nothing is missing
    Kokkos::deep_copy(space, col_idxs, s.col_idxs);
    return {n, n, row_ptrs, col_idxs};
  }
  own_lengths<Space>(space, mirrors, length);
  Kokkos::parallel_for("prekond::symmetrize::fill", policy,
                       MirrorEntries<Space>{mirrors, length, row_ptrs, col_idxs});
  sort_columns<Space>(space, n, row_ptrs, col_idxs);
  return {n, n, row_ptrs, col_idxs};
}

#define PREKOND_SYMMETRIZE(Space) \
  template CsrGraph<Space> symmetrize<Space>(const Space&, const CsrGraphView<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_SYMMETRIZE)

}  // namespace prekond
