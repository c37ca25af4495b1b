// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "instantiate.hpp"
#include "pattern/levels/level_at.hpp"
#include "precond/triangular/solve.hpp"

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

}  // namespace

void check_workspace(std::int64_t own_rows, std::size_t own_columns, std::int64_t rows, std::size_t columns,
                     const std::string& owner) {
  if (columns > own_columns) throw std::logic_error(owner + ": the workspace was made for fewer vectors");
  if (own_rows != rows)
    throw std::logic_error(owner + ": the workspace was made for " + std::to_string(own_rows) +
                           " rows, and there are " + std::to_string(rows));
}

template <class Space>
LevelPattern<Space> make_level_pattern(const Space& space, const CsrGraph<Space>& n,
                                       const LevelSchedule<Space>& schedule) {
  Coloring<Space> levels;
  levels.num_colors = schedule.num_levels();
  levels.permutation = schedule.rows;
  levels.color_ptrs = schedule.host_level_ptrs;
  levels.colors = allocate<Vector<int, Space>>(space, "prekond::triangular::levels", n.num_rows);
  Kokkos::parallel_for("prekond::triangular::symbolic::levels_of_rows",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, n.num_rows),
                       LevelsOfRows<Space>{schedule.rows, schedule.level_ptrs, levels.colors});
  auto pattern = relaxation::make_color_pattern<Space>(space, n, levels);
  space.fence("prekond::triangular::symbolic");  // before temporaries go away
  // What a row needs is of an earlier level: there is no other triangle.
  pattern.upper = {n.num_rows, n.num_rows, {}, {}};
  pattern.upper_row_ptrs = {};
  pattern.upper_source = {};
  pattern.diagonal = {};
  return std::make_shared<const relaxation::ColorPattern<Space>>(std::move(pattern));
}

#define PREKOND_LEVEL_PATTERN(Space)                                                           \
  template LevelPattern<Space> make_level_pattern<Space>(const Space&, const CsrGraph<Space>&, \
                                                         const LevelSchedule<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_LEVEL_PATTERN)

}  // namespace prekond::impl::triangular
