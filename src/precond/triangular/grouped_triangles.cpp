// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/triangular/grouped_triangles.hpp"

#include <prekond/matrix/sort_rows.hpp>

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "pattern/levels/level_at.hpp"

namespace prekond::impl::sweeps {
namespace {

/// Entries that are left out.
struct LeftOut {
  long long within_groups;
  long long foreign;
};

template <class Space>
struct InvertPermutation {
  VectorView<const int, Space> permutation;
  VectorView<int, Space> place;
  KOKKOS_FUNCTION void operator()(int k) const { place(permutation(k)) = k; }
};

/// Counts the entries of the row at each place, or writes their columns, in A's order.
template <class Space>
struct SplitRows {
  using Rows = RowTeams<Space>;
  CsrGraphView<Space> a;
  VectorView<const int, Space> colors, permutation, place;
  VectorView<int, Space> lower_length, upper_length, diagonal;
  VectorView<LeftOut, Space> left_out;
  VectorView<const std::size_t, Space> lower_ptrs, upper_ptrs;  ///< empty: counts
  VectorView<int, Space> lower_cols, upper_cols;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{a.num_rows}.for_each_row(team, [&](std::int64_t at) {
      if (lower_ptrs.extent(0) == 0)
        count(team, at);
      else
        fill(team, at);
    });
  }

  /// -1: of an earlier colour, 1: of a later one; 0: the entry is not in the triangles.
  KOKKOS_FORCEINLINE_FUNCTION int side(int row, int col) const {
    if (col >= a.num_rows) return 0;
    const int difference = colors(col) - colors(row);
    return difference < 0 ? -1 : (difference > 0 ? 1 : 0);
  }

  KOKKOS_FUNCTION void count(const typename Rows::Member& team, std::int64_t at) const {
    const int row = permutation(at);
    const std::size_t begin = a.row_ptrs(row);
    const int length = static_cast<int>(a.row_ptrs(row + 1) - begin);
    int lower = 0, upper = 0, foreign = 0, own = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, length),
        [&](int k, int& sum) { sum += side(row, a.col_idxs(begin + k)) < 0 ? 1 : 0; }, lower);
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, length),
        [&](int k, int& sum) { sum += side(row, a.col_idxs(begin + k)) > 0 ? 1 : 0; }, upper);
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, length),
        [&](int k, int& sum) { sum += a.col_idxs(begin + k) >= a.num_rows ? 1 : 0; }, foreign);
    // The diagonal's place, plus one.
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, length),
        [&](int k, int& sum) { sum += a.col_idxs(begin + k) == row ? k + 1 : 0; }, own);
    Kokkos::single(Kokkos::PerThread(team), [&] {
      lower_length(at) = lower;
      upper_length(at) = upper;
      diagonal(at) = own - 1;
      const int within = length - lower - upper - foreign - (own > 0 ? 1 : 0);
      if (within > 0) Kokkos::atomic_add(&left_out(0).within_groups, static_cast<long long>(within));
      if (foreign > 0) Kokkos::atomic_add(&left_out(0).foreign, static_cast<long long>(foreign));
    });
  }

  KOKKOS_FUNCTION void fill(const typename Rows::Member& team, std::int64_t at) const {
    const int row = permutation(at);
    const std::size_t begin = a.row_ptrs(row);
    const int length = static_cast<int>(a.row_ptrs(row + 1) - begin);
    write_side(team, -1, row, begin, length, lower_cols, lower_ptrs(at));
    write_side(team, 1, row, begin, length, upper_cols, upper_ptrs(at));
  }

  KOKKOS_FUNCTION void write_side(const typename Rows::Member& team, int which, int row, std::size_t begin,
                                  int length, const VectorView<int, Space>& cols, std::size_t to) const {
    Kokkos::parallel_scan(Kokkos::ThreadVectorRange(team, length), [&](int k, int& rank, bool final) {
      const int col = a.col_idxs(begin + k);
      if (side(row, col) != which) return;
      if (final) cols(to + rank) = place(col);
      ++rank;
    });
  }
};

/// Looks each entry of a triangle up in A.
template <class Space>
struct FindSources {
  using Rows = RowTeams<Space>;
  CsrGraphView<Space> a;
  CsrGraphView<Space> triangle;
  VectorView<const int, Space> permutation;
  VectorView<int, Space> source;
  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{a.num_rows}.for_each_row(team, [&](std::int64_t at) {
      const int row = permutation(at);
      const std::size_t first = triangle.row_ptrs(at);
      Kokkos::parallel_for(
          Kokkos::ThreadVectorRange(team, static_cast<int>(triangle.row_ptrs(at + 1) - first)), [&](int k) {
            const int col = permutation(triangle.col_idxs(first + k));
            source(first + k) = static_cast<int>(a.first_from(row, col) - a.row_ptrs(row));
          });
    });
  }
};

/// The row pointers of each group, from 0 on.
template <class Space>
struct PtrsWithinGroups {
  VectorView<const int, Space> group_ptrs;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<std::size_t, Space> result;
  KOKKOS_FUNCTION void operator()(int at) const {
    const int group = levels::level_at<Space>(group_ptrs, at);
    const std::size_t first = row_ptrs(group_ptrs(group));
    if (at == group_ptrs(group)) result(at + group) = 0;
    result(at + group + 1) = row_ptrs(at + 1) - first;
  }
};

template <class Space>
Vector<std::size_t, Space> ptrs_within_groups(const Space& space, const GroupedTriangles<Space>& pattern,
                                              const CsrGraph<Space>& triangle, const char* label) {
  const std::int64_t n = pattern.num_rows();
  const auto ptrs = allocate<Vector<std::size_t, Space>>(space, label, n + pattern.num_groups);
  Kokkos::parallel_for("prekond::relaxation::symbolic::ptrs_within_groups",
                       Kokkos::RangePolicy<Space>(space, 0, n),
                       PtrsWithinGroups<Space>{pattern.device_group_ptrs, triangle.row_ptrs, ptrs});
  return ptrs;
}

/// Counts the entries of the row at each place, or writes their columns and their places in N's row.
template <class Space>
struct PlaceRows {
  using Rows = RowTeams<Space>;
  CsrGraphView<Space> n;
  VectorView<const int, Space> rows, place;
  VectorView<int, Space> lengths;
  VectorView<long long, Space> foreign;
  VectorView<const std::size_t, Space> ptrs;  ///< empty: counts
  VectorView<int, Space> cols, source;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{n.num_rows}.for_each_row(team, [&](std::int64_t at) {
      const std::size_t begin = n.row_ptrs(rows(at));
      const int length = static_cast<int>(n.row_ptrs(rows(at) + 1) - begin);
      if (ptrs.extent(0) == 0)
        count(team, at, begin, length);
      else
        fill(team, begin, length, ptrs(at));
    });
  }

  KOKKOS_FUNCTION void count(const typename Rows::Member& team, std::int64_t at, std::size_t begin,
                             int length) const {
    int own = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, length),
        [&](int k, int& sum) { sum += n.col_idxs(begin + k) < n.num_rows ? 1 : 0; }, own);
    Kokkos::single(Kokkos::PerThread(team), [&] {
      lengths(at) = own;
      if (own < length) Kokkos::atomic_add(&foreign(0), static_cast<long long>(length - own));
    });
  }

  KOKKOS_FUNCTION void fill(const typename Rows::Member& team, std::size_t begin, int length,
                            std::size_t to) const {
    Kokkos::parallel_scan(Kokkos::ThreadVectorRange(team, length), [&](int k, int& rank, bool final) {
      const int col = n.col_idxs(begin + k);
      if (col >= n.num_rows) return;
      if (final) {
        cols(to + rank) = place(col);
        source(to + rank) = k;
      }
      ++rank;
    });
  }
};

template <class Space>
struct PtrsOfTriangles {
  VectorView<const int, Space> color_ptrs;
  VectorView<const std::size_t, Space> lower, upper;
  VectorView<std::size_t, Space> result;
  KOKKOS_FUNCTION void operator()(int c) const {
    result(2 * c) = lower(color_ptrs(c));
    result(2 * c + 1) = upper.extent(0) > 0 ? upper(color_ptrs(c)) : 0;
  }
};

template <class Space>
void set_ptrs(const Space& space, GroupedTriangles<Space>& pattern) {
  const int count = pattern.num_groups + 1;
  const auto ptrs =
      allocate<Vector<std::size_t, Space>>(space, "prekond::relaxation::triangle_ptrs", 2 * count);
  Kokkos::parallel_for("prekond::relaxation::symbolic::ptrs_of_triangles",
                       Kokkos::RangePolicy<Space>(space, 0, count),
                       PtrsOfTriangles<Space>{pattern.device_group_ptrs, pattern.lower.row_ptrs,
                                              pattern.upper.row_ptrs, ptrs});
  std::vector<std::size_t> host(2 * count);
  Kokkos::deep_copy(space, Kokkos::View<std::size_t*, Kokkos::HostSpace>(host.data(), host.size()), ptrs);
  space.fence("prekond::relaxation::triangle_ptrs");
  for (int c = 0; c < count; ++c) {
    pattern.lower_ptrs.push_back(host[2 * c]);
    pattern.upper_ptrs.push_back(host[2 * c + 1]);
  }
}

}  // namespace

template <class Space>
std::int64_t GroupedTriangles<Space>::bytes() const {
  const auto ints = [](const Vector<int, Space>& view) {
    return static_cast<std::int64_t>(view.span() * sizeof(int));
  };
  const auto pointers = lower_row_ptrs.span() + upper_row_ptrs.span();
  return lower.bytes() + upper.bytes() + mirrored.bytes() +
         static_cast<std::int64_t>(pointers * sizeof(std::size_t)) + ints(permutation) + ints(diagonal) +
         ints(lower_source) + ints(upper_source) + ints(device_group_ptrs);
}

template <class Space>
GroupedTriangles<Space> make_grouped_triangles(const Space& space, const CsrGraphView<Space>& a,
                                               const Coloring<Space>& coloring) {
  const std::int64_t n = a.num_rows;
  const auto list = [&](const char* label, std::int64_t size) {
    return allocate<Vector<int, Space>>(space, label, size);
  };
  GroupedTriangles<Space> result;
  result.num_groups = coloring.num_colors;
  result.nnz_of_a = a.nnz();
  result.group_ptrs = coloring.color_ptrs;
  result.permutation = coloring.permutation;
  result.device_group_ptrs = list("prekond::relaxation::color_ptrs", coloring.num_colors + 1);
  Kokkos::deep_copy(
      space, result.device_group_ptrs,
      Kokkos::View<const int*, Kokkos::HostSpace>(result.group_ptrs.data(), result.group_ptrs.size()));
  const auto place = list("prekond::relaxation::place", n);
  Kokkos::parallel_for("prekond::relaxation::symbolic::invert", Kokkos::RangePolicy<Space>(space, 0, n),
                       InvertPermutation<Space>{result.permutation, place});
  const auto lower_length = list("prekond::relaxation::lower_length", n);
  const auto upper_length = list("prekond::relaxation::upper_length", n);
  result.diagonal = list("prekond::relaxation::diagonal", n);
  const auto left_out = allocate_zero<Vector<LeftOut, Space>>(space, "prekond::relaxation::left_out", 1);
  SplitRows<Space> split{a,
                         coloring.colors,
                         result.permutation,
                         place,
                         lower_length,
                         upper_length,
                         result.diagonal,
                         left_out,
                         {},
                         {},
                         {},
                         {}};
  const auto policy = RowTeams<Space>::policy(space, n, a.nnz());
  Kokkos::parallel_for("prekond::relaxation::symbolic::count", policy, split);
  const auto make = [&](const Vector<int, Space>& length, const char* label) {
    const auto [ptrs, nnz] =
        scan_row_lengths(space, "prekond::relaxation", n, VectorView<const int, Space>(length));
    return CsrGraph<Space>{n, n, ptrs, list(label, static_cast<std::int64_t>(nnz))};
  };
  result.lower = make(lower_length, "prekond::relaxation::lower_cols");
  result.upper = make(upper_length, "prekond::relaxation::upper_cols");
  split.lower_ptrs = result.lower.row_ptrs;
  split.upper_ptrs = result.upper.row_ptrs;
  split.lower_cols = result.lower.col_idxs;
  split.upper_cols = result.upper.col_idxs;
  Kokkos::parallel_for("prekond::relaxation::symbolic::split", policy, split);
  sort_columns<Space>(space, n, result.lower.row_ptrs, result.lower.col_idxs);
  sort_columns<Space>(space, n, result.upper.row_ptrs, result.upper.col_idxs);
  const auto sources = [&](const CsrGraph<Space>& triangle, const char* label) {
    const auto source = list(label, triangle.nnz());
    Kokkos::parallel_for("prekond::relaxation::symbolic::find_sources", policy,
                         FindSources<Space>{a, triangle, result.permutation, source});
    return source;
  };
  result.lower_source = sources(result.lower, "prekond::relaxation::lower_source");
  result.upper_source = sources(result.upper, "prekond::relaxation::upper_source");
  result.lower_row_ptrs =
      ptrs_within_groups(space, result, result.lower, "prekond::relaxation::lower_row_ptrs");
  result.upper_row_ptrs =
      ptrs_within_groups(space, result, result.upper, "prekond::relaxation::upper_row_ptrs");
  LeftOut counted{};
  Kokkos::deep_copy(space, Kokkos::View<LeftOut, Kokkos::HostSpace>(&counted), Kokkos::subview(left_out, 0));
  set_ptrs(space, result);
  result.within_groups = counted.within_groups;
  result.foreign = counted.foreign;
  return result;
}

template <class Space>
GroupedTriangles<Space> make_level_triangle(const Space& space, const CsrGraphView<Space>& n,
                                            const LevelSchedule<Space>& levels) {
  const auto list = [&](const char* label, std::int64_t size) {
    return allocate<Vector<int, Space>>(space, label, size);
  };
  GroupedTriangles<Space> result;
  result.num_groups = levels.num_levels();
  result.nnz_of_a = n.nnz();
  result.group_ptrs = levels.host_level_ptrs;
  result.device_group_ptrs = levels.level_ptrs;
  result.permutation = levels.rows;
  const auto place = list("prekond::triangular::place", n.num_rows);
  Kokkos::parallel_for("prekond::triangular::symbolic::invert",
                       Kokkos::RangePolicy<Space>(space, 0, n.num_rows),
                       InvertPermutation<Space>{levels.rows, place});
  const auto lengths = list("prekond::triangular::lengths", n.num_rows);
  const auto foreign = allocate_zero<Vector<long long, Space>>(space, "prekond::triangular::foreign", 1);
  PlaceRows<Space> rows{n, levels.rows, place, lengths, foreign, {}, {}, {}};
  const auto policy = RowTeams<Space>::policy(space, n.num_rows, n.nnz());
  Kokkos::parallel_for("prekond::triangular::symbolic::count", policy, rows);
  const auto [ptrs, nnz] =
      scan_row_lengths(space, "prekond::triangular", n.num_rows, VectorView<const int, Space>(lengths));
  const auto entries = static_cast<std::int64_t>(nnz);
  result.lower = {n.num_rows, n.num_rows, ptrs, list("prekond::triangular::cols", entries)};
  result.lower_source = list("prekond::triangular::source", entries);
  rows.ptrs = ptrs;
  rows.cols = result.lower.col_idxs;
  rows.source = result.lower_source;
  Kokkos::parallel_for("prekond::triangular::symbolic::place_rows", policy, rows);
  result.lower_row_ptrs =
      ptrs_within_groups(space, result, result.lower, "prekond::triangular::lower_row_ptrs");
  long long left_out = 0;
  Kokkos::deep_copy(space, Kokkos::View<long long, Kokkos::HostSpace>(&left_out),
                    Kokkos::subview(foreign, 0));
  result.upper = {n.num_rows, n.num_rows, {}, {}};  // a row needs only rows of earlier levels
  set_ptrs(space, result);
  result.foreign = left_out;
  return result;
}

#define PREKOND_COLOR_PATTERN(Space)                                                                       \
  template struct GroupedTriangles<Space>;                                                                 \
  template GroupedTriangles<Space> make_grouped_triangles<Space>(const Space&, const CsrGraphView<Space>&, \
                                                                 const Coloring<Space>&);                  \
  template GroupedTriangles<Space> make_level_triangle<Space>(const Space&, const CsrGraphView<Space>&,    \
                                                              const LevelSchedule<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_COLOR_PATTERN)

}  // namespace prekond::impl::sweeps
