// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/pattern/reordering.hpp>

#include "core/instantiate.hpp"
#include "matrix/longest_row.hpp"
#include "precond/triangular/grouped_sweeps.hpp"
#include "precond/triangular/solve.hpp"
#include "precond/triangular/solve_block_row.hpp"
#include "precond/triangular/solve_row.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace prekond::impl::triangular {
namespace {

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

/// Counts rows i with a column that is not below i, of an upper triangle not above, or another rank's.
template <class Space>
struct OutOfOrder {
  CsrGraphView<Space> n;
  bool is_lower;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& count) const {
    const std::size_t begin = n.row_ptrs(i), end = n.row_ptrs(i + 1);
    if (begin < end &&
        (n.col_idxs(end - 1) >= (is_lower ? i : n.num_rows) || (!is_lower && n.col_idxs(begin) <= i)))
      ++count;
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

/// Up to how many threads of a host one has all rows, in their order: where others would find little to do,
/// see SweepTuning, or nothing. Fences.
template <class Space>
int threads_in_order(const Space& space, const CsrGraph<Space>& n, const LevelSchedule<Space>& levels,
                     Triangle which) {
  using Tuning = sweeps::SweepTuning;
  const auto work = static_cast<double>(n.num_rows + n.nnz());
  const std::vector<int>& ptrs = levels.host_level_ptrs;
  const auto groups = merge_small(levels.num_levels(), [&](int k) {  // as if all rows were as long
    return (ptrs[k + 1] - ptrs[k]) * work <= double(Tuning::small_on_host) * double(n.num_rows);
  });
  const bool is_one = groups.size() == 1 && groups.front().merged;
  if (!is_one && work > double(Tuning::narrow_on_host) * double(groups.size())) return 0;
  if (!is_in_order<Space>(space, n, which)) return 0;
  return is_one ? std::numeric_limits<int>::max() : Tuning::threads_in_order;
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
  if (pattern) return pattern->bytes();
  return schedule.bytes() + static_cast<std::int64_t>(places.span() * sizeof(int));
}

template <class Space>
LevelOrder<Space> make_level_order(const Space& space, const CsrGraph<Space>& n,
                                   const LevelSchedule<Space>& levels, Triangle which,
                                   TriangularMethod method, int num_threads) {
  const std::int64_t longest = is_host_space<Space> ? 0 : longest_row<Space>(space, n.row_ptrs).length;
  const int lanes = SyncFreeTuning::lanes(n.nnz(), n.num_rows, longest);
  LevelOrder<Space> result;
  result.schedule =
      make_row_schedule<Space>(space, levels, schedule_of(method), SyncFreeTuning::rows_per_chunk(lanes));
  result.schedule.lanes = lanes;
  if (method == TriangularMethod::levels) {
    if constexpr (is_host_space<Space>)
      result.threads_in_order = threads_in_order<Space>(space, n, levels, which);
    if (num_threads > result.threads_in_order)
      result.pattern = std::make_shared<const sweeps::GroupedTriangles<Space>>(
          sweeps::make_level_triangle<Space>(space, n, levels));
    space.fence("prekond::triangular::symbolic");  // before temporaries go away
  }
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

#define PREKOND_LEVEL_ORDER(Space)                                                                         \
  template struct LevelOrder<Space>;                                                                       \
  template LevelOrder<Space> make_level_order<Space>(                                                      \
      const Space&, const CsrGraph<Space>&, const LevelSchedule<Space>&, Triangle, TriangularMethod, int); \
  template LevelOrder<Space> make_block_order<Space>(                                                      \
      const Space&, const CsrGraph<Space>&, int, const LevelSchedule<Space>&, Triangle, TriangularMethod);
PREKOND_INSTANTIATE_SPACES(PREKOND_LEVEL_ORDER)

}  // namespace prekond::impl::triangular
