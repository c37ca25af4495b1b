// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/pattern/reordering.hpp>

#include "core/instantiate.hpp"
#include "matrix/longest_row.hpp"
#include "pattern/levels/level_at.hpp"
#include "precond/triangular/grouped_sweeps.hpp"
#include "precond/triangular/solve.hpp"
#include "precond/triangular/solve_block_row.hpp"
#include "precond/triangular/solve_row.hpp"

#include <limits>
#include <stdexcept>

namespace prekond::impl::triangular {
namespace {

/// The level of each row.
template <class Space>
struct LevelsOfRows {
  VectorView<const int, Space> rows, level_ptrs;
  VectorView<int, Space> levels;
  KOKKOS_FUNCTION void operator()(std::int64_t place) const {
    levels(rows(place)) = levels::level_at<Space>(level_ptrs, place);
  }
};

template <class Space>
struct PlacesOfColumns {
  CsrGraphView<Space> n;
  VectorView<const int, Space> place;
  VectorView<int, Space> places;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const int col = n.col_idxs(k);
    places(k) = col < n.num_rows ? place(col) : -1;
  }
};

template <class Space>
using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// N in the order of the levels: their triangle `lower`, whichever N is. Fences.
template <class Space>
LevelPattern<Space> make_level_pattern(const Space& space, const CsrGraph<Space>& n,
                                       const LevelSchedule<Space>& schedule) {
  Coloring<Space> levels;
  levels.num_colors = schedule.num_levels();
  levels.permutation = schedule.rows;
  levels.color_ptrs = schedule.host_level_ptrs;
  levels.colors = allocate<Vector<int, Space>>(space, "prekond::triangular::levels", n.num_rows);
  Kokkos::parallel_for("prekond::triangular::symbolic::levels_of_rows", Range<Space>(space, 0, n.num_rows),
                       LevelsOfRows<Space>{schedule.rows, schedule.level_ptrs, levels.colors});
  auto pattern = sweeps::make_grouped_triangles<Space>(space, n, levels);
  space.fence("prekond::triangular::symbolic");  // before temporaries go away
  // A row needs only rows of earlier levels, so that there is no other triangle.
  pattern.upper = {n.num_rows, n.num_rows, {}, {}};
  pattern.upper_row_ptrs = {};
  pattern.upper_source = {};
  pattern.diagonal = {};
  return std::make_shared<const sweeps::GroupedTriangles<Space>>(std::move(pattern));
}

template <class Space>
Vector<int, Space> places_of_columns(const Space& space, const CsrGraph<Space>& n,
                                     const LevelSchedule<Space>& schedule) {
  const Vector<int, Space> place = make_ordering<Space>(space, schedule.rows).inverse;
  const auto places = allocate<Vector<int, Space>>(space, "prekond::triangular::places", n.nnz());
  Kokkos::parallel_for("prekond::triangular::symbolic::places_of_columns", Range<Space>(space, 0, n.nnz()),
                       PlacesOfColumns<Space>{n, place, places});
  space.fence("prekond::triangular::symbolic");  // before temporaries go away
  return places;
}

FactorSchedule schedule_of(TriangularMethod method) {
  if (method == TriangularMethod::automatic) return FactorSchedule::automatic;
  return method == TriangularMethod::levels ? FactorSchedule::levels : FactorSchedule::sync_free;
}

/// Counts rows i with a column that is not below i, of an upper triangle not above.
template <class Space>
struct OutOfOrder {
  CsrGraphView<Space> n;
  bool is_lower;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& count) const {
    const std::size_t begin = n.row_ptrs(i), end = n.row_ptrs(i + 1);
    if (begin < end && (is_lower ? n.col_idxs(end - 1) >= i : n.col_idxs(begin) <= i)) ++count;
  }
};

/// Whether N is a triangle in the rows' own order; a triangle by colours need not be. Fences.
template <class Space>
bool is_in_order(const Space& space, const CsrGraph<Space>& n, Triangle which) {
  std::int64_t others = 0;
  Kokkos::parallel_reduce("prekond::triangular::symbolic::in_order", Range<Space>(space, 0, n.num_rows),
                          OutOfOrder<Space>{n, which == Triangle::lower}, others);
  return others == 0;
}

/// The columns of the row at each place, as the place has them.
template <class Space>
struct ColumnsInOrder {
  CsrGraphView<Space> n, ordered;
  VectorView<const int, Space> permutation;
  VectorView<int, Space> columns;
  KOKKOS_FUNCTION void operator()(std::int64_t at) const {
    const std::size_t from = n.row_ptrs(permutation(at)), first = ordered.row_ptrs(at);
    const int length = static_cast<int>(ordered.row_ptrs(at + 1) - first);
    for (int k = 0; k < length; ++k) columns(from + k) = permutation(ordered.col_idxs(first + k));
  }
};

/// Lets one thread of a host have all rows where others would find little to do, see SweepTuning. Fences.
template <class Space>
void allow_rows_in_order(const Space& space, const CsrGraph<Space>& n, Triangle which,
                         LevelOrder<Space>& order) {
  const sweeps::GroupedTriangles<Space>& pattern = *order.pattern;
  const std::size_t launches = sweeps::group_launches(pattern).size();
  const bool is_one = launches <= 1;  // by one thread, whatever their number
  if (pattern.foreign > 0 || !(is_one || sweeps::is_narrow(pattern, launches)) ||
      !is_in_order<Space>(space, n, which))
    return;
  order.threads_in_order = is_one ? std::numeric_limits<int>::max() : sweeps::SweepTuning::threads_in_order;
  order.columns_in_order = allocate<Vector<int, Space>>(space, "prekond::triangular::columns", n.nnz());
  Kokkos::parallel_for("prekond::triangular::symbolic::columns_in_order", Range<Space>(space, 0, n.num_rows),
                       ColumnsInOrder<Space>{n, pattern.lower, pattern.permutation, order.columns_in_order});
  space.fence("prekond::triangular::symbolic");  // the pattern may go away
}

}  // namespace

void check_workspace(std::int64_t own_rows, std::size_t own_columns, std::int64_t rows, std::size_t columns,
                     const std::string& owner) {
  if (columns > own_columns) throw std::logic_error(owner + ": the workspace was made for fewer vectors");
  if (own_rows != rows)
    throw std::logic_error(owner + ": the workspace was made for " + std::to_string(own_rows) +
                           " rows, and there are " + std::to_string(rows));
}

template <class Space>
std::int64_t LevelOrder<Space>::bytes() const {
  if (pattern) return pattern->bytes() + static_cast<std::int64_t>(columns_in_order.span() * sizeof(int));
  return schedule.bytes() + static_cast<std::int64_t>(places.span() * sizeof(int));
}

template <class Space>
LevelOrder<Space> make_level_order(const Space& space, const CsrGraph<Space>& n,
                                   const LevelSchedule<Space>& levels, Triangle which,
                                   TriangularMethod method) {
  const std::int64_t longest = is_host_space<Space> ? 0 : longest_row<Space>(space, n.row_ptrs).length;
  const int lanes = SyncFreeTuning::lanes(n.nnz(), n.num_rows, longest);
  LevelOrder<Space> result;
  result.schedule =
      make_row_schedule<Space>(space, levels, schedule_of(method), SyncFreeTuning::rows_per_chunk(lanes));
  result.schedule.lanes = lanes;
  if (method == TriangularMethod::levels) result.pattern = make_level_pattern<Space>(space, n, levels);
  if constexpr (is_host_space<Space>)
    if (result.pattern) allow_rows_in_order<Space>(space, n, which, result);
  if (method == TriangularMethod::sync_free && lanes == 1)
    result.places = places_of_columns<Space>(space, n, levels);
  return result;
}

template <class Space>
LevelOrder<Space> make_block_order(const Space& space, const CsrGraph<Space>& n, int block_size,
                                   const LevelSchedule<Space>& levels, Triangle which,
                                   TriangularMethod method) {
  LevelOrder<Space> result;
  result.schedule = make_row_schedule<Space>(
      space, levels, schedule_of(method), LaunchTuning::team_lanes / BlockRowTuning::lanes_of(n, block_size));
  if (is_host_space<Space> && is_in_order<Space>(space, n, which))
    result.threads_in_order = method == TriangularMethod::automatic ? BlockRowTuning::threads_in_order : 1;
  return result;
}

#define PREKOND_LEVEL_ORDER(Space)                                                                    \
  template struct LevelOrder<Space>;                                                                  \
  template LevelOrder<Space> make_level_order<Space>(                                                 \
      const Space&, const CsrGraph<Space>&, const LevelSchedule<Space>&, Triangle, TriangularMethod); \
  template LevelOrder<Space> make_block_order<Space>(                                                 \
      const Space&, const CsrGraph<Space>&, int, const LevelSchedule<Space>&, Triangle, TriangularMethod);
PREKOND_INSTANTIATE_SPACES(PREKOND_LEVEL_ORDER)

}  // namespace prekond::impl::triangular
