// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A^T and A^H, for the units that instantiate them.
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/sort_rows.hpp>
#include "sparse_product/transpose.hpp"

#include "sparse_product/host_transpose.hpp"

namespace prekond {
namespace impl {

/// Entries of `a`, or their conjugates, by column, in no particular order within a column: `next` ends as the
/// row pointers shifted by one.
template <bool Conjugate, class Scalar, class Space>
struct ScatterByColumn {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  CsrView<Scalar, Space> a;
  VectorView<std::size_t, Space> next;
  VectorView<int, Space> rows;
  VectorView<Scalar, Space> values;
  int rows_per_team;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t begin = std::int64_t(team.league_rank()) * rows_per_team;
    const std::int64_t end = begin + rows_per_team < a.num_rows ? begin + rows_per_team : a.num_rows;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, end), [&](std::int64_t i) {
      Kokkos::parallel_for(
          Kokkos::ThreadVectorRange(team, a.row_ptrs(i), a.row_ptrs(i + 1)), [&](std::size_t k) {
            const std::size_t place = Kokkos::atomic_fetch_add(&next(a.col_idxs(k)), std::size_t(1));
            rows(place) = static_cast<int>(i);
            values(place) = Conjugate ? conjugate(a.values(k)) : a.values(k);
          });
    });
  }
};

template <class Space>
struct CountColumns {
  VectorView<const int, Space> cols;
  VectorView<std::size_t, Space> counts;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { Kokkos::atomic_inc(&counts(cols(k))); }
};

template <class Space>
struct ExclusiveScan {
  using value_type = std::size_t;
  VectorView<std::size_t, Space> counts;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::size_t& sum, bool final) const {
    const std::size_t count = counts(i);
    if (final) counts(i) = sum;
    sum += count;
  }
};

template <bool Conjugate, class Scalar, class Space>
void scatter_by_column(const Space& space, const CsrView<Scalar, Space>& a,
                       const VectorView<std::size_t, Space>& next, const VectorView<int, Space>& rows,
                       const VectorView<Scalar, Space>& values) {
  constexpr int vector_length = is_host_space<Space> ? 1 : 8;  // tests run this on a host too
  constexpr int rows_per_team = 32;
  const int teams = static_cast<int>((a.num_rows + rows_per_team - 1) / rows_per_team);
  Kokkos::parallel_for(
      "prekond::transpose::scatter",
      Kokkos::TeamPolicy<Space>(space, teams, is_host_space<Space> ? 1 : rows_per_team, vector_length),
      ScatterByColumn<Conjugate, Scalar, Space>{a, next, rows, values, rows_per_team});
}

/// By a device's threads.
template <bool Conjugate, class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> transpose_by_scatter(
    const Space& space, const CsrView<Scalar, Space>& a) {
  const std::int64_t n = a.num_cols;
  const std::int64_t nnz = a.nnz();
  auto row_ptrs = allocate_zero<Vector<std::size_t, Space>>(space, "prekond::transpose::row_ptrs", n + 1);
  auto col_idxs = allocate<Vector<int, Space>>(space, "prekond::transpose::col_idxs", nnz);
  auto values = allocate<Vector<Scalar, Space>>(space, "prekond::transpose::values", nnz);
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for("prekond::transpose::count", Policy(space, 0, nnz),
                       CountColumns<Space>{a.col_idxs, row_ptrs});
  Kokkos::parallel_scan("prekond::transpose::scan", Policy(space, 0, n + 1), ExclusiveScan<Space>{row_ptrs});
  auto next = allocate<Vector<std::size_t, Space>>(space, "prekond::transpose::next", n + 1);
  Kokkos::deep_copy(space, next, row_ptrs);
  scatter_by_column<Conjugate, Scalar, Space>(space, a, next, col_idxs, values);
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> result(a.num_cols, a.num_rows, row_ptrs,
                                                                           col_idxs, values);
  sort_rows(space, result);
  return result;
}

template <bool Conjugate, class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> transpose_entries(
    const Space& space, const CsrView<Scalar, Space>& a) {
  if constexpr (is_host_space<Space>) {
    const HostTranspose<Scalar, Space> host(space, a);
    const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> result(
        a.num_cols, a.num_rows, host.row_ptrs(),
        allocate<Vector<int, Space>>(space, "prekond::transpose::col_idxs", a.nnz()),
        allocate<Vector<Scalar, Space>>(space, "prekond::transpose::values", a.nnz()));
    host.template write<Conjugate>(result, true);
    return result;
  } else {
    return transpose_by_scatter<Conjugate, Scalar, Space>(space, a);
  }
}
}  // namespace impl

template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> transpose(const Space& space,
                                                                            const CsrView<Scalar, Space>& a) {
  return impl::transpose_entries<false, Scalar, Space>(space, a);
}

template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> conjugate_transpose(
    const Space& space, const CsrView<Scalar, Space>& a) {
  return impl::transpose_entries<is_complex<Scalar>, Scalar, Space>(space, a);
}

#define PREKOND_TRANSPOSE(Scalar, Space)                                                                \
  template CsrMatrix<Scalar, int, std::size_t, Space::memory_space> transpose<Scalar, Space>(           \
      const Space&, const CsrView<Scalar, Space>&);                                                     \
  template CsrMatrix<Scalar, int, std::size_t, Space::memory_space> conjugate_transpose<Scalar, Space>( \
      const Space&, const CsrView<Scalar, Space>&);

}  // namespace prekond
