// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>
#include "core/kernel_policy.hpp"

#include <string>

namespace prekond {

namespace impl {

/// A team's block of rows, a vector of lanes a row, and the entries that are kept of each.
template <class Scalar, class Space, class Keep>
struct FilterEntries {
  using Policy = KernelPolicy<Space>;
  using Member = typename Policy::member_type;
  using Result = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  static constexpr int rows_per_team = is_host_space<Space> ? 256 : 32;
  static constexpr int team_threads = 256;

  CsrView<Scalar, Space> a;
  Keep keep;
  VectorView<int, Space> length;                  ///< of the result's rows: written where there is no result
  VectorView<const std::size_t, Space> row_ptrs;  ///< of the result
  VectorView<int, Space> col_idxs;
  VectorView<Scalar, Space> values;  ///< none: only the pattern

  Policy policy(const Space& space) const {
    const int teams = static_cast<int>((a.num_rows + rows_per_team - 1) / rows_per_team);
    if (is_host_space<Space>) return Policy(space, teams, 1, 1);
    int lanes = 8;
    while (lanes < 32 && lanes * a.num_rows < a.nnz()) lanes *= 2;
    return Policy(space, teams, team_threads / lanes, lanes);
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t begin = std::int64_t(team.league_rank()) * rows_per_team;
    const std::int64_t end = begin + rows_per_team < a.num_rows ? begin + rows_per_team : a.num_rows;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, end), [&](std::int64_t i) {
      if (row_ptrs.extent(0) == 0)
        count(team, i);
      else
        copy(team, i);
    });
  }

  KOKKOS_FUNCTION void count(const Member& team, std::int64_t i) const {
    int kept = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, a.row_ptrs(i), a.row_ptrs(i + 1)),
        [&](std::size_t k, int& sum) { sum += keep(i, k) ? 1 : 0; }, kept);
    Kokkos::single(Kokkos::PerThread(team), [&] { length(i) = kept; });
  }

  KOKKOS_FUNCTION void copy(const Member& team, std::int64_t i) const {
    const std::size_t from = a.row_ptrs(i);
    const std::size_t to = row_ptrs(i);
    const int n = static_cast<int>(a.row_ptrs(i + 1) - from);
    // Ranges of a vector's scan start at 0: CUDA's ignores another start.
    Kokkos::parallel_scan(Kokkos::ThreadVectorRange(team, n), [&](int k, int& rank, bool final) {
      if (!keep(i, from + k)) return;
      if (final) {
        col_idxs(to + rank) = a.col_idxs(from + k);
        if (values.extent(0) > 0) values(to + rank) = a.values(from + k);
      }
      ++rank;
    });
  }
};

/// The kept entries: with their values, or only their pattern.
template <bool with_values, class Scalar, class Space, class Keep>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> keep_entries(
    const Space& space, const CsrView<Scalar, Space>& a, const Keep& keep) {
  using Kernel = FilterEntries<Scalar, Space, Keep>;
  auto length = allocate<Vector<int, Space>>(space, "prekond::filter_entries::length", a.num_rows);
  Kernel kernel{a, keep, length, {}, {}, {}};
  Kokkos::parallel_for("prekond::filter_entries::count", kernel.policy(space), kernel);
  const auto [row_ptrs, nnz] =
      scan_row_lengths(space, "prekond::filter_entries", a.num_rows, VectorView<const int, Space>(length));
  typename Kernel::Result result(
      a.num_rows, a.num_cols, row_ptrs,
      allocate<Vector<int, Space>>(space, "prekond::filter_entries::col_idxs", nnz), {});
  if constexpr (with_values)
    result.values = allocate<Vector<Scalar, Space>>(space, "prekond::filter_entries::values", nnz);
  kernel.row_ptrs = row_ptrs;
  kernel.col_idxs = result.col_idxs;
  kernel.values = result.values;
  Kokkos::parallel_for("prekond::filter_entries::copy", kernel.policy(space), kernel);
  return result;
}

}  // namespace impl

/// A new matrix of the same size with the entries for which `keep(row, k)` holds, in their order: `row` is
/// the row's index (std::int64_t), `k` the entry's place in `col_idxs` and `values` (std::size_t).
///
/// `keep` is a device functor, such as a KOKKOS_LAMBDA of a source file; it is called several times for an
/// entry and has to answer the same each time. The result has the same bits whatever the threads.
///
/// Cost: two readings of A. Memory: the result and one int a row. Fences once, inside the scan.
template <class Scalar, class Space, class Keep>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> filter_entries(
    const Space& space, const CsrView<Scalar, Space>& a, const Keep& keep) {
  return impl::keep_entries<true, Scalar, Space>(space, a, keep);
}

/// Only the pattern of those entries: no value is copied.
template <class Scalar, class Space, class Keep>
CsrGraph<Space> filter_pattern(const Space& space, const CsrView<Scalar, Space>& a, const Keep& keep) {
  const auto kept = impl::keep_entries<false, Scalar, Space>(space, a, keep);
  return {kept.num_rows, kept.num_cols, kept.row_ptrs, kept.col_idxs};
}

/// A copy of a whole matrix. Cost: one reading. Memory: the result.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> copy_of(const Space& space,
                                                                          const std::string& label,
                                                                          const CsrView<Scalar, Space>& a) {
  const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> copy(
      a.num_rows, a.num_cols,
      allocate<Vector<std::size_t, Space>>(space, label + "::row_ptrs", a.row_ptrs.extent(0)),
      allocate<Vector<int, Space>>(space, label + "::col_idxs", a.nnz()),
      allocate<Vector<Scalar, Space>>(space, label + "::values", a.nnz()));
  Kokkos::deep_copy(space, copy.row_ptrs, a.row_ptrs);
  Kokkos::deep_copy(space, copy.col_idxs, a.col_idxs);
  Kokkos::deep_copy(space, copy.values, a.values);
  return copy;
}

}  // namespace prekond
