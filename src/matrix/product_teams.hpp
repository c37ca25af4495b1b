// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The common parts of the products of all formats: a team's block of rows, the sum of an inner product over
/// all blocks, groups of columns.
#include <prekond/core/error.hpp>
#include <prekond/core/impl/block_reduce.hpp>
#include <prekond/core/impl/team_sum.hpp>
#include <prekond/core/scalar.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "matrix/row_update.hpp"

namespace prekond::impl::products {

inline constexpr int columns_at_once = 4;  // of x and y, of which one kernel multiplies the matrix by

/// The rows (or positions) begin <= i < end of a team.
struct RowRange {
  std::int64_t begin;
  std::int64_t end;
};

KOKKOS_FORCEINLINE_FUNCTION RowRange rows_of_team(int team, std::int64_t rows_per_team,
                                                  std::int64_t num_rows) {
  const std::int64_t begin = team * rows_per_team;
  return {begin, begin + rows_per_team < num_rows ? begin + rows_per_team : num_rows};
}

/// Teams of a launch. At least one: a dot over no rows is zero, and somebody has to write it.
inline int num_teams(std::int64_t num_rows, std::int64_t rows_per_team) {
  return static_cast<int>(std::max<std::int64_t>(1, (num_rows + rows_per_team - 1) / rows_per_team));
}

/// The end of a team's part of x^H A x: a host's teams are the sum's blocks, and the last one adds them;
/// a device's, of few rows each, file their sums for another kernel.
template <class Scalar, class Space>
using FinishDot =
    std::conditional_t<is_host_space<Space>, FinishReduction<1, Scalar, Space>, FileTeamSum<Scalar, Space>>;

/// Ends a product with x^H A x: the sums of a team's `lanes` over their own rows.
template <class Space, class Scalar, class Team>
KOKKOS_FUNCTION void finish_dot(const Team& team, int lanes, const FinishDot<Scalar, Space>& finish,
                                const Scalar& of_lane, Scalar* scratch) {
  finish(team, team_sum<1>(team, lanes, Sums<Scalar, 1>{{of_lane}}, scratch));
}

inline void check_sizes(std::int64_t rows, std::int64_t cols, std::size_t x_rows, std::size_t y_rows,
                        std::size_t x_cols, std::size_t y_cols) {
  if (static_cast<std::int64_t>(x_rows) >= cols && static_cast<std::int64_t>(y_rows) >= rows &&
      x_cols == y_cols)
    return;
  throw InputError("prekond::spmv: the matrix is " + std::to_string(rows) + " x " + std::to_string(cols) +
                   ", x is " + std::to_string(x_rows) + " x " + std::to_string(x_cols) + ", y is " +
                   std::to_string(y_rows) + " x " + std::to_string(y_cols));
}

template <class View>
bool has_rows(const View& x, std::int64_t num_rows) {
  return static_cast<std::int64_t>(x.extent(0)) >= num_rows;
}

/// The vectors x and b that a recurrence reads, and the rows' scales, have to be there.
template <class Matrix, class Scalar, class Space>
void check_update(const Matrix& a, const RowUpdate<Scalar, Space>& update) {
  const auto& [step, x, y, b, row_scale] = update;
  check_sizes(a.num_rows, a.num_cols, x.extent(0), y.extent(0), x.extent(1), y.extent(1));
  if (step.direct != Scalar(0) && !has_rows(x, a.num_rows))
    throw InputError("prekond::spmv: a recurrence adds x, which has " + std::to_string(x.extent(0)) +
                     " rows, to y, which has " + std::to_string(a.num_rows));
  if (step.source != Scalar(0) && (!has_rows(b, a.num_rows) || b.extent(1) != y.extent(1)))
    throw InputError("prekond::spmv: a recurrence adds b, which is " + std::to_string(b.extent(0)) + " x " +
                     std::to_string(b.extent(1)) + ", to y, which is " + std::to_string(a.num_rows) + " x " +
                     std::to_string(y.extent(1)));
  if (row_scale.extent(0) > 0 && !has_rows(row_scale, a.num_rows))
    throw InputError("prekond::spmv: " + std::to_string(row_scale.extent(0)) + " scales for " +
                     std::to_string(a.num_rows) + " rows");
}

/// x^H A x reads x in the rows of A too.
template <class Matrix, class Scalar, class Space>
void check_dot(const Matrix& a, VectorView<const Scalar, Space> x, VectorView<Scalar, Space> y,
               const ReduceWorkspace<Scalar, Space>& workspace) {
  check_sizes(a.num_rows, a.num_cols, x.extent(0), y.extent(0), 1, 1);
  if (!has_rows(x, a.num_rows))
    throw InputError("prekond::spmv_dot: x^H A x takes the first " + std::to_string(a.num_rows) +
                     " rows of x, which has " + std::to_string(x.extent(0)));
  if (!workspace.fits(ReduceWorkspace<Scalar, Space>::num_blocks(a.num_rows)) ||
      !workspace.fits_teams(a.num_rows))
    throw std::logic_error("prekond::spmv_dot: the workspace was made for fewer rows");
}

/// Columns first .. first + count - 1; no columns of a view without any.
template <class Vectors>
Vectors columns(const Vectors& vectors, std::size_t first, std::size_t count) {
  if (vectors.extent(1) < first + count) return vectors;
  return Kokkos::subview(vectors, Kokkos::ALL, Kokkos::make_pair(first, first + count));
}

/// The product with a matrix of any format, which its `dispatch` launches, by groups of columns.
template <class Matrix, class Scalar, class Space>
void multiply(const Space& space, const char* label, const Matrix& a,
              const RowUpdate<Scalar, Space>& update) {
  check_update(a, update);
  if (a.num_rows == 0) return;
  const std::size_t num_columns = update.y.extent(1);
  for (std::size_t v = 0; v < num_columns; v += columns_at_once) {
    const auto count = std::min<std::size_t>(columns_at_once, num_columns - v);
    RowUpdate<Scalar, Space> group = update;
    group.x = columns(update.x, v, count);
    group.y = columns(update.y, v, count);
    group.b = columns(update.b, v, count);
    dispatch<false>(space, label, a, group);
  }
}

/// y = A x and dot(0) = x^H y of one vector, likewise. \pre check_dot passed
template <class Scalar, class Space, class Matrix>
void multiply_dot(const Space& space, const char* label, const Matrix& a, VectorView<const Scalar, Space> x,
                  VectorView<Scalar, Space> y, VectorView<Scalar, Space> dot,
                  const ReduceWorkspace<Scalar, Space>& workspace) {
  const RowUpdate<Scalar, Space> update{{}, as_multivector(x), as_multivector(y)};
  if constexpr (is_host_space<Space>) {
    using Reduce = ReduceWorkspace<Scalar, Space>;
    dispatch<true>(space, label, a, update, Reduce::block_size(a.num_rows),
                   FinishDot<Scalar, Space>{workspace.partials(), workspace.arrived(), dot});
  } else {
    const int teams =
        dispatch<true>(space, label, a, update, 0, FinishDot<Scalar, Space>{workspace.partials()});
    add_team_sums<Scalar, Space>(space, label, teams, workspace, dot);
  }
}

/// The inner product after the product, in a kernel of its own. \pre check_dot passed
template <class Scalar, class Space>
void dot_of_product(const Space& space, const char* label, std::int64_t num_rows,
                    VectorView<const Scalar, Space> x, VectorView<Scalar, Space> y,
                    VectorView<Scalar, Space> dot, const ReduceWorkspace<Scalar, Space>& workspace) {
  block_reduce<1>(space, label, num_rows, workspace, dot, DotBody<Scalar, Space>{x, y});
}

}  // namespace prekond::impl::products
