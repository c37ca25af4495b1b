// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include <prekond/matrix/sort_rows.hpp>
#include <prekond/pattern/impl/supernodes.hpp>

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"

#include <string>

namespace prekond {
namespace {

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

template <class Space>
KOKKOS_FUNCTION bool has_column(const CsrGraphView<Space>& s, std::int64_t row, int col) {
  const std::size_t k = s.first_from(row, col);
  return k < s.row_ptrs(row + 1) && s.col_idxs(k) == col;
}

/// first(i) = i where a run of similar rows begins, else 0.
template <class Space>
struct CompareRows {
  using Blocks = impl::RowTeams<Space>;
  CsrGraphView<Space> s;
  double similarity;
  VectorView<int, Space> first;

  KOKKOS_FUNCTION void operator()(const typename Blocks::Member& team) const {
    Blocks{s.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const bool begins = i == 0 || !similar(team, i - 1, i);
      Kokkos::single(Kokkos::PerThread(team), [&] { first(i) = begins ? static_cast<int>(i) : 0; });
    });
  }

  KOKKOS_FUNCTION bool similar(const typename Blocks::Member& team, std::int64_t i, std::int64_t next) const {
    const std::size_t begin = s.row_ptrs(i), end = s.first_from(i, s.num_rows);
    int shared = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, static_cast<int>(end - begin)),
        [&](int k, int& sum) { sum += has_column(s, next, s.col_idxs(begin + static_cast<std::size_t>(k))); },
        shared);
    const auto together =
        static_cast<double>((end - begin) + (s.first_from(next, s.num_rows) - s.row_ptrs(next)));
    return shared >= similarity * (together - shared);
  }
};

/// Turns where runs begin into whether a block does: a maximum over all rows so far is the run's first one.
template <class Space>
struct CutRuns {
  using value_type = int;
  VectorView<int, Space> first;
  int most;

  KOKKOS_FUNCTION void init(int& run) const { run = 0; }
  KOKKOS_FUNCTION void join(int& run, const int& other) const {
    if (other > run) run = other;
  }
  KOKKOS_FUNCTION void operator()(std::int64_t i, int& run, bool final) const {
    if (first(i) > run) run = first(i);
    if (final) first(i) = (static_cast<int>(i) - run) % most == 0;
  }
};

template <class Space>
int largest_of(const Space& space, std::int64_t count, VectorView<const int, Space> begins) {
  int largest = 0;
  Kokkos::parallel_reduce(
      "prekond::supernodes::largest", Rows<Space>(space, 0, count),
      KOKKOS_LAMBDA(std::int64_t k, int& most) {
        if (begins(k + 1) - begins(k) > most) most = begins(k + 1) - begins(k);
      },
      Kokkos::Max<int>(largest));
  return largest > 0 ? largest : 0;  // of no rows at all the maximum is the least integer
}

/// The columns of a block left of it: those of its first row, then those of each later row that no row before
/// has.
template <class Space>
struct UnionColumns {
  CsrGraphView<Space> lower;
  VectorView<const int, Space> begins;

  KOKKOS_FUNCTION bool is_first(int begin, int row, int col) const {
    for (int before = begin; before < row; ++before)
      if (has_column(lower, before, col)) return false;
    return true;
  }
  KOKKOS_FUNCTION int left_of(int begin, int row) const {
    return static_cast<int>(lower.first_from(row, begin) - lower.row_ptrs(row));
  }
  template <class Member>
  KOKKOS_FUNCTION int count(const Member& team, int begin, int row) const {
    const std::size_t from = lower.row_ptrs(row);
    int columns = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, left_of(begin, row)),
        [&](int k, int& sum) {
          sum += is_first(begin, row, lower.col_idxs(from + static_cast<std::size_t>(k)));
        },
        columns);
    return columns;
  }
};

template <class Space>
struct CountUnions {
  using Blocks = impl::RowTeams<Space>;
  UnionColumns<Space> columns;
  std::int64_t count;
  VectorView<int, Space> length;

  KOKKOS_FUNCTION void operator()(const typename Blocks::Member& team) const {
    Blocks{count}.for_each_row(team, [&](std::int64_t k) {
      const int begin = columns.begins(k), end = columns.begins(k + 1);
      int all = 0;
      for (int row = begin; row < end; ++row) all += columns.count(team, begin, row);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, end - begin),
                           [&](int r) { length(begin + r) = all + r + 1; });
    });
  }
};

/// Rows with their columns in the order in which they are met.
template <class Space>
struct FillUnions {
  using Blocks = impl::RowTeams<Space>;
  UnionColumns<Space> columns;
  std::int64_t count;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;

  KOKKOS_FUNCTION void operator()(const typename Blocks::Member& team) const {
    Blocks{count}.for_each_row(team, [&](std::int64_t k) {
      const int begin = columns.begins(k), end = columns.begins(k + 1);
      int all = 0;
      for (int row = begin; row < end; ++row) {
        copy_row(team, begin, end, row, all);
        all += columns.count(team, begin, row);
      }
      for (int row = begin; row < end; ++row)
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, row - begin + 1), [&](int r) {
          col_idxs(row_ptrs(row) + static_cast<std::size_t>(all + r)) = begin + r;
        });
    });
  }

  KOKKOS_FUNCTION void copy_row(const typename Blocks::Member& team, int begin, int end, int row,
                                int place) const {
    const std::size_t from = columns.lower.row_ptrs(row);
    Kokkos::parallel_scan(Kokkos::ThreadVectorRange(team, columns.left_of(begin, row)),
                          [&](int e, int& rank, bool final) {
                            const int col = columns.lower.col_idxs(from + static_cast<std::size_t>(e));
                            if (!columns.is_first(begin, row, col)) return;
                            for (int to = begin; final && to < end; ++to)
                              col_idxs(row_ptrs(to) + static_cast<std::size_t>(place + rank)) = col;
                            ++rank;
                          });
  }
};

}  // namespace

template <class Space>
Supernodes<Space> uniform_supernodes(const Space& space, std::int64_t num_rows, int size) {
  const std::int64_t count = (num_rows + size - 1) / size;
  const auto begins = allocate<Vector<int, Space>>(space, "prekond::supernodes::begins", count + 1);
  Kokkos::parallel_for(
      "prekond::supernodes::uniform", Rows<Space>(space, 0, count + 1),
      KOKKOS_LAMBDA(std::int64_t k) { begins(k) = static_cast<int>(k < count ? k * size : num_rows); });
  return {num_rows, static_cast<int>(num_rows < size ? num_rows : size), begins};
}

template <class Space>
Supernodes<Space> find_supernodes(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& s,
                                  double similarity, int most) {
  const std::int64_t n = s.num_rows;
  const auto first = allocate<Vector<int, Space>>(space, "prekond::supernodes::first", n);
  Kokkos::parallel_for("prekond::supernodes::compare_rows", impl::RowTeams<Space>::policy(space, n, s.nnz()),
                       CompareRows<Space>{s, similarity, first});
  Kokkos::parallel_scan("prekond::supernodes::cut_runs", Rows<Space>(space, 0, n),
                        CutRuns<Space>{first, most});
  const auto [places, count] =
      impl::scan_row_lengths(space, "prekond::supernodes", n, VectorView<const int, Space>(first));
  const VectorView<const std::size_t, Space> place = places;
  const auto begins = allocate<Vector<int, Space>>(space, "prekond::supernodes::begins", count + 1);
  Kokkos::parallel_for(
      "prekond::supernodes::list", Rows<Space>(space, 0, n + 1), KOKKOS_LAMBDA(std::int64_t i) {
        if (i == n || first(i) != 0) begins(place(i)) = static_cast<int>(i);
      });
  const int largest = largest_of<Space>(space, static_cast<std::int64_t>(count), begins);
  return {n, largest, begins};
}

template <class Space>
CsrGraph<Space> merge_supernodes(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& lower,
                                 const Supernodes<Space>& supernodes, std::int64_t max_bytes) {
  const std::int64_t n = lower.num_rows, count = supernodes.count();
  const UnionColumns<Space> columns{lower, supernodes.begins};
  const auto policy = impl::RowTeams<Space>::policy(space, count, lower.nnz());
  const auto length = allocate<Vector<int, Space>>(space, "prekond::supernodes::length", n);
  Kokkos::parallel_for("prekond::supernodes::count_unions", policy,
                       CountUnions<Space>{columns, count, length});
  const auto [row_ptrs, nnz] =
      impl::scan_row_lengths(space, "prekond::supernodes::union", n, VectorView<const int, Space>(length));
  const auto bytes = static_cast<std::int64_t>((n + 1) * sizeof(std::size_t) + nnz * sizeof(int));
  if (bytes > max_bytes)
    throw InputError("the pattern with the rows of a block united would have " + std::to_string(nnz) +
                     " entries and take " + std::to_string(bytes) + " bytes, more than the " +
                     std::to_string(max_bytes) + " allowed; lower the block size");
  const auto col_idxs = allocate<Vector<int, Space>>(space, "prekond::supernodes::col_idxs", nnz);
  Kokkos::parallel_for("prekond::supernodes::fill_unions", policy,
                       FillUnions<Space>{columns, count, row_ptrs, col_idxs});
  sort_columns<Space>(space, n, row_ptrs, col_idxs);
  return {n, n, row_ptrs, col_idxs};
}

#define PREKOND_SUPERNODES(Space)                                                                           \
  template Supernodes<Space> uniform_supernodes<Space>(const Space&, std::int64_t, int);                    \
  template Supernodes<Space> find_supernodes<Space>(const Space&, const CsrGraphView<Space>&, double, int); \
  template CsrGraph<Space> merge_supernodes<Space>(const Space&, const CsrGraphView<Space>&,                \
                                                   const Supernodes<Space>&, std::int64_t);
PREKOND_INSTANTIATE_SPACES(PREKOND_SUPERNODES)

}  // namespace prekond
