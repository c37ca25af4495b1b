// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The last steps on a finished G: small entries are dropped, rows are scaled.
#include <prekond/core/report.hpp>
#include <prekond/core/scalar.hpp>
#include "core/kernel_policy.hpp"
#include "core/lane_group.hpp"
#include "core/row_teams.hpp"
#include "matrix/filter_entries.hpp"
#include "matrix/find_entry.hpp"

#include "precond/approximate_inverse/fsai/row_scale.hpp"
#include "precond/scaling/matrix_rows.hpp"
#include "precond/setup/breakdown_counter.hpp"

#include <string>

namespace prekond::impl {

/// |g_ij| sqrt(a_jj) >= delta times the 2-norm of such a row, and the diagonal. All relative to the
/// diagonal's own, which keeps squares in range.
template <class Scalar, class Space>
struct KeepLarge {
  CsrGraphView<Space> pattern;
  VectorView<const Scalar, Space> values;
  VectorView<const real_type_t<Scalar>, Space> diagonal;
  VectorView<const double, Space> least;  ///< squared, for each row

  KOKKOS_FUNCTION double weight(std::size_t k) const {
    return Kokkos::abs(to_double(values(k))) * Kokkos::sqrt(double(diagonal(pattern.col_idxs(k))));
  }
  KOKKOS_FUNCTION double square(std::size_t k, std::size_t last) const {
    const double ratio = weight(k) / weight(last);
    return ratio * ratio;
  }
  KOKKOS_FUNCTION bool operator()(std::int64_t row, std::size_t k) const {
    const std::size_t last = pattern.row_ptrs(row + 1) - 1;
    return k == last || square(k, last) >= least(row);
  }
};

template <class Scalar, class Space>
struct MeasureRow {
  KeepLarge<Scalar, Space> large;
  double delta;
  VectorView<double, Space> least;
  KOKKOS_FUNCTION void operator()(const typename RowTeams<Space>::Member& team) const {
    RowTeams<Space>{large.pattern.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t begin = large.pattern.row_ptrs(i), end = large.pattern.row_ptrs(i + 1);
      double sum = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, begin, end),
          [&](std::size_t k, double& mine) { mine += large.square(k, end - 1); }, sum);
      Kokkos::single(Kokkos::PerThread(team), [&] { least(i) = delta * delta * sum; });
    });
  }
};

/// The bound for each row that the square of an entry has to reach.
template <class Scalar, class Space>
Vector<double, Space> measure_rows(const Space& space, const CsrGraphView<Space>& g,
                                   VectorView<const Scalar, Space> values,
                                   VectorView<const real_type_t<Scalar>, Space> diagonal, double delta) {
  const auto least = allocate<Vector<double, Space>>(space, "prekond::fsai::postfilter::least", g.num_rows);
  const KeepLarge<Scalar, Space> large{g, values, diagonal, {}};
  constexpr int lanes = 8;  // for rows of any length: they give the order of a sum
  Kokkos::parallel_for("prekond::fsai::postfilter::norms",
                       RowTeams<Space>::policy(space, g.num_rows, lanes * g.num_rows),
                       MeasureRow<Scalar, Space>{large, delta, least});
  return least;
}

/// Returns G without its small entries, and notes in the report how many entries G had. Fences once.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> postfilter(
    const Space& space, const CsrView<Scalar, Space>& g,
    VectorView<const real_type_t<Scalar>, Space> diagonal, double delta, Report& report) {
  const auto least = measure_rows<Scalar, Space>(space, g, g.values, diagonal, delta);
  const KeepLarge<Scalar, Space> keep{g, g.values, diagonal, least};
  report.notes.push_back("G had " + std::to_string(g.nnz()) + " entries before the postfilter");
  return filter_entries<Scalar, Space>(space, g, keep);
}

/// A kernel over the rows of a factor, each done by a vector of lanes.
template <class Space, int Width>
struct VectorRows {
  using Policy = KernelPolicy<Space>;
  using Member = typename Policy::member_type;
  static constexpr bool host = is_host_space<Space>;
  static constexpr int width = host ? 1 : Width;
  static constexpr int rows_per_team = host ? 256 : 256 / width;
  using LaneGroup = NativeLaneGroup<Space, Member, width>;

  static Policy policy(const Space& space, std::int64_t num_rows) {
    const int teams = static_cast<int>((num_rows + rows_per_team - 1) / rows_per_team);
    return Policy(space, teams, host ? 1 : rows_per_team, width);
  }

  /// Calls do_row(lane group, i) for this team's rows i < num_rows.
  template <class DoRow>
  KOKKOS_FORCEINLINE_FUNCTION static void for_rows(const Member& team, std::int64_t num_rows,
                                                   const DoRow& do_row) {
    const std::int64_t first = std::int64_t(team.league_rank()) * rows_per_team;
    if constexpr (host) {
      for (std::int64_t i = first; i < first + rows_per_team && i < num_rows; ++i)
        do_row(LaneGroup(team), static_cast<int>(i));
    } else {
      const std::int64_t i = first + team.team_rank();
      if (i < num_rows) do_row(LaneGroup(team), static_cast<int>(i));
    }
  }

  /// The first of the places [begin, last] with a column >= col. \pre there is one
  KOKKOS_FORCEINLINE_FUNCTION static std::size_t find_from(const CsrGraphView<Space>& pattern,
                                                           std::size_t begin, std::size_t last, int col) {
    while (begin < last) {
      const std::size_t middle = begin + (last - begin) / 2;
      if (pattern.col_idxs(middle) < col)
        begin = middle + 1;
      else
        last = middle;
    }
    return begin;
  }
};

/// Scales the rows of G so that g A g^T = 1 (g A g^H for complex ones): one with unit diagonal and psi = g A
/// g^T by 1 / sqrt(psi), in double. A row whose psi is negative or not finite becomes 1 / sqrt(a_ii) on the
/// diagonal; for one whose psi is under `floor`, see RowScale.
template <class Scalar, class Space, int Width, class Matrix = CsrView<Scalar, Space>>
struct ScaleRows : VectorRows<Space, Width> {
  using typename VectorRows<Space, Width>::Member;
  using typename VectorRows<Space, Width>::LaneGroup;
  using VectorRows<Space, Width>::width;

  Matrix a;
  VectorView<const real_type_t<Scalar>, Space> diagonal;
  CsrGraphView<Space> pattern;
  VectorView<Scalar, Space> values;
  VectorView<BreakdownCounter, Space> outcome;
  double floor = 0;  ///< of psi, \see RowScale

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    this->for_rows(team, a.num_rows, [&](const LaneGroup& lane_group, int i) { scale_row(lane_group, i); });
  }

  KOKKOS_FUNCTION void scale_row(const LaneGroup& lane_group, int i) const {
    const std::size_t begin = pattern.row_ptrs(i), end = pattern.row_ptrs(i + 1);
    finish_row(lane_group, i, lane_group.template sum<double>([&](int lane) {
      double sum = 0;
      for (std::size_t j = begin; j < end; ++j)
        sum += real_of_product(to_double(values(j)), row_product(begin, j, lane));
      return sum;
    }));
  }

  KOKKOS_FUNCTION void finish_row(const LaneGroup& lane_group, int i, double psi) const {
    const std::size_t begin = pattern.row_ptrs(i), end = pattern.row_ptrs(i + 1);
    const double a_ii = static_cast<double>(diagonal(i));
    // All lanes have it before one writes the entry.
    const double diagonal2 = lane_group.template sum<double>(
        [&](int lane) { return lane == 0 ? double(abs2(to_double(values(end - 1)))) : 0.0; });
    const RowScale found = RowScale::of(psi, a_ii, diagonal2, floor);
    lane_group.region([&](int lane) {
      for (std::size_t k = begin + lane; k < end; k += width)
        values(k) = found.sound ? static_cast<Scalar>(to_double(values(k)) * found.scale)
                                : Scalar(k + 1 == end ? found.scale : 0);
    });
    if (!found.sound || found.floored)
      lane_group.once([&] {
        BreakdownCounter::count(outcome(0), i, !found.sound, static_cast<float>(psi / (a_ii * diagonal2)));
      });
  }

  /// A lane's part of a_jj g_j + 2 sum_{c < j} a_jc g_c, with g conjugated, for the place j in the row.
  KOKKOS_FUNCTION in_precision_t<Scalar, double> row_product(std::size_t begin, std::size_t j,
                                                             int lane) const {
    const int first = pattern.col_idxs(begin), last = pattern.col_idxs(j);
    in_precision_t<Scalar, double> sum = 0;
    if (row_length(a, last) >= 32 * (j + 1 - begin)) {  // not read for each g
      for (std::size_t k = begin + lane; k <= j; k += width) {
        std::size_t place = 0;
        const Scalar value = find_entry(a, last, pattern.col_idxs(k), place);
        if (is_stored(a, last, place))
          sum += (k == j ? 1.0 : 2.0) * to_double(value) * to_double(conjugate(values(k)));
      }
      return sum;
    }
    std::size_t k = begin;  // on the host the two lists are merged, where they are of like lengths
    const bool merges = width == 1 && (j - begin) / 32 < row_length(a, last);
    for (RowCursor<Matrix> entry(a, last, lane, width); !entry.is_done(); entry.advance()) {
      const int col = entry.col();
      if (col > last) break;
      if (col < first) continue;
      if (merges)
        while (pattern.col_idxs(k) < col) ++k;
      else
        k = this->find_from(pattern, k, j, col);
      if (pattern.col_idxs(k) == col)
        sum += (k == j ? 1.0 : 2.0) * to_double(entry.value()) * to_double(conjugate(values(k)));
    }
    return sum;
  }
};

/// Scales the rows of G, which may have any scale (see ScaleRows). Counts the rows that fall back to the
/// diagonal.
template <class Scalar, class Space, class Matrix>
void scale_rows(const Space& space, const Matrix& a, VectorView<const real_type_t<Scalar>, Space> diagonal,
                const CsrGraphView<Space>& pattern, VectorView<Scalar, Space> values,
                VectorView<BreakdownCounter, Space> outcome, double floor = 0) {
  const auto launch = [&](const auto& kernel) {
    Kokkos::parallel_for("prekond::fsai::numeric::scale_rows", kernel.policy(space, a.num_rows), kernel);
  };
  if (pattern.nnz() > 8 * a.num_rows)
    launch(ScaleRows<Scalar, Space, 32, Matrix>{{}, a, diagonal, pattern, values, outcome, floor});
  else
    launch(ScaleRows<Scalar, Space, 8, Matrix>{{}, a, diagonal, pattern, values, outcome, floor});
}

}  // namespace prekond::impl
