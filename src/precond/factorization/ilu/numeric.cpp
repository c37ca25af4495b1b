// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/concurrency.hpp"

#include "precond/factorization/ilu/numeric.hpp"

#include "core/instantiate.hpp"
#include "precond/factorization/ilu/kernels.hpp"

#include <algorithm>
#include <string>

namespace prekond::impl::ilu {
namespace {

/// One factorisation in progress, by vectors of `lanes`.
template <template <class, class, class> class RowKind, int lanes, class Scalar, class Space>
struct Launcher {
  static constexpr bool host = is_host_space<Space>;
  using LaneGroup = NativeLaneGroup<Space, typename Kokkos::TeamPolicy<Space>::member_type, lanes>;
  using Row = RowKind<Scalar, Space, LaneGroup>;

  Space space;
  const RowSchedule<Space>& schedule;
  Row row;
  int scratch = RowScratch<Row>::bytes();

  template <class Policy = FactorPolicy<Space, Scalar, lanes>>
  Policy policy(std::int64_t teams, int threads) const {
    return Policy(space, static_cast<int>(teams), threads, lanes)
        .set_scratch_size(0, Kokkos::PerTeam(RowScratch<Row>::team_bytes(threads)));
  }

  void by_levels() const {
    constexpr int threads = host ? 1 : FactorTuning::team_threads / lanes;
    constexpr std::int64_t rows_per_team = host ? 64 : threads;
    constexpr int small_team = lanes == 1 ? threads : FactorTuning::small_team_threads / lanes;
    const auto& level_ptrs = schedule.levels.host_level_ptrs;
    for (const LevelGroup& group : schedule.groups) {
      if (group.merged) {
        Kokkos::parallel_for(
            "prekond::ilu::numeric::factor_small_levels", policy<SmallLevelsPolicy<Space>>(1, small_team),
            FactorSmallLevels<Row, Space>{row, schedule.levels.rows, schedule.levels.level_ptrs, group.first,
                                          group.last, scratch});
        continue;
      }
      const std::int64_t begin = level_ptrs[group.first], end = level_ptrs[group.last];
      Kokkos::parallel_for(
          "prekond::ilu::numeric::factor_level",
          policy((end - begin + rows_per_team - 1) / rows_per_team, threads),
          FactorRows<Row, Space>{row, schedule.levels.rows, begin, end, rows_per_team, scratch});
    }
  }

  void by_blocks() const {
    if constexpr (host)
      Kokkos::parallel_for("prekond::ilu::numeric::factor_blocks", policy(schedule.blocks.count, 1),
                           FactorBlocks<Row, Space>{row, schedule.blocks.bounds, scratch});
  }

  /// \returns whether a row waited in vain. Fences.
  bool by_tickets() const {
    const auto stalled = allocate_zero<Vector<int, Space>>(space, "prekond::ilu::stalled", 1);
    const auto next = allocate_zero<Vector<unsigned, Space>>(space, "prekond::ilu::next", 1);
    constexpr int threads = host ? 1 : FactorTuning::team_threads / lanes;
    const int busy = std::max(1, concurrency(space) / (host ? 1 : FactorTuning::team_threads));
    const auto useful = static_cast<int>(levels::chunks_of_levels(
        schedule.chunks.count, FactorTuning::levels_on_their_way, schedule.levels.num_levels()));
    Kokkos::parallel_for("prekond::ilu::numeric::factor_by_tickets",
                         policy(std::min({busy, schedule.chunks.count, useful}), threads),
                         FactorByTickets<Row, Space>{row,
                                                     {stalled, schedule.most_polls},
                                                     schedule.levels.rows,
                                                     schedule.chunks.bounds,
                                                     next,
                                                     static_cast<unsigned>(schedule.chunks.count),
                                                     scratch});
    int flag = 0;
    Kokkos::deep_copy(space, Kokkos::View<int, Kokkos::HostSpace>(&flag), Kokkos::subview(stalled, 0));
    space.fence("prekond::ilu::numeric::stalled");
    return flag != 0;
  }
};

/// What a try needs.
template <class Scalar, class Space>
struct Task {
  const FillPattern<Space>& pattern;
  const RowSchedule<Space>& schedule;
  const Factors<Scalar, Space>& factors;
  IncompleteKind kind;
  double alpha;
  Vector<BreakdownCounter, Space> outcome;
  Vector<Scalar, Space> finished;  ///< values of U, for `ic` of L
};

/// \returns whether a row waited in vain
template <template <class, class, class> class RowKind, int lanes, class Scalar, class Space>
bool run(const Space& space, const Task<Scalar, Space>& task, FactorSchedule how) {
  Launcher<RowKind, lanes, Scalar, Space> launcher{space, task.schedule, {}};
  auto& row = launcher.row;
  row.lower = triangle_of<Scalar, Space>(task.pattern.lower, task.factors.lower);
  row.upper = triangle_of<Scalar, Space>(task.pattern.upper, task.factors.upper);
  row.finished = triangle_of<Scalar, Space>(
      task.kind == IncompleteKind::ic ? task.pattern.lower : task.pattern.upper, task.finished);
  row.pivots = task.factors.pivots;
  row.outcome = task.outcome;
  row.diagonal = static_cast<Scalar>(1 + task.alpha);
  row.positive = task.kind != IncompleteKind::ilu;
  row.row_scale = task.factors.row_scale;
  if (how == FactorSchedule::sync_free) {
    Kokkos::deep_copy(space, task.finished, missing_value<Scalar>());
    Kokkos::deep_copy(space, task.factors.pivots, missing_value<Scalar>());
    return launcher.by_tickets();
  }
  if (task.schedule.blocks)
    launcher.by_blocks();
  else
    launcher.by_levels();
  return false;
}

template <template <class, class, class> class RowKind, class Scalar, class Space>
bool run_by_length(const Space& space, const Task<Scalar, Space>& task, FactorSchedule how) {
  if constexpr (is_host_space<Space>) {
    return run<RowKind, 1>(space, task, how);
  } else {
    return FactorTuning::lanes(task.pattern.lower.nnz(), task.pattern.num_rows()) == 1
               ? run<RowKind, 1>(space, task, how)
               : run<RowKind, FactorTuning::lanes_of_long_rows>(space, task, how);
  }
}

template <class Scalar, class Space>
bool run_kind(const Space& space, const Task<Scalar, Space>& task, FactorSchedule how) {
  switch (task.kind) {
    case IncompleteKind::ic:
      return run_by_length<IcRow>(space, task, how);
    case IncompleteKind::mic:
      return run_by_length<LumpingIluRow>(space, task, how);
    default:
      return run_by_length<IluRow>(space, task, how);
  }
}

template <class Scalar, class Space>
struct ScaleColumns {
  VectorView<const Scalar, Space> row_scale;
  MultiVectorView<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const Scalar scale = Kokkos::abs(row_scale(i));
    for (std::size_t v = 0; v < y.extent(1); ++v) y(i, v) *= scale;
  }
};

}  // namespace

template <class Scalar, class Space>
Factors<Scalar, Space> factor(const Space& space, const CsrView<Scalar, Space>& a,
                              const FillPattern<Space>& pattern, const RowSchedule<Space>& schedule,
                              IncompleteKind kind, double alpha, Report& report, Outcome& outcome) {
  const bool is_ic = kind == IncompleteKind::ic;
  const auto attempt = [&](FactorSchedule how) {
    Factors<Scalar, Space> factors =
        sweeps::fill_triangles<Scalar, Space>(space, a, pattern, Scalar(1), report);
    factors.pivots = allocate<Vector<Scalar, Space>>(space, "prekond::ilu::pivots", a.num_rows);
    const auto finished = allocate<Vector<Scalar, Space>>(space, "prekond::ilu::finished",
                                                          (is_ic ? pattern.lower : pattern.upper).nnz());
    const auto counter = make_breakdown_counter(space, "prekond::ilu::breakdowns");
    outcome.stalled =
        run_kind<Scalar, Space>(space, {pattern, schedule, factors, kind, alpha, counter, finished}, how);
    outcome.breakdowns = fetch(space, counter);
    (is_ic ? factors.lower : factors.upper) = finished;
    return factors;
  };
  Factors<Scalar, Space> factors = attempt(schedule.how);
  const bool stalled = outcome.stalled;
  if (stalled) factors = attempt(FactorSchedule::levels);
  outcome.stalled = stalled;
  if (kind != IncompleteKind::ilu) {
    // The pattern is symmetric: every entry of U is found in L.
    transpose_lower<Scalar, Space>(space, "prekond::ilu::numeric::transpose_lower",
                                   triangle_of<Scalar, Space>(pattern.lower, factors.lower),
                                   triangle_of<Scalar, Space>(pattern.upper, factors.upper), a.num_rows,
                                   pattern.upper.nnz());
  }
  return factors;
}

template <class Scalar, class Space>
void scale_columns(const Space& space, VectorView<const Scalar, Space> row_scale,
                   MultiVectorView<Scalar, Space> y) {
  Kokkos::parallel_for("prekond::ilu::apply::scale_columns",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(
                           space, 0, static_cast<std::int64_t>(y.extent(0))),
                       ScaleColumns<Scalar, Space>{row_scale, y});
}

#define PREKOND_ILU_NUMERIC(Scalar, Space)                                                               \
  template Factors<Scalar, Space> factor<Scalar, Space>(                                                 \
      const Space&, const CsrView<Scalar, Space>&, const FillPattern<Space>&, const RowSchedule<Space>&, \
      IncompleteKind, double, Report&, Outcome&);                                                        \
  template void scale_columns<Scalar, Space>(const Space&, VectorView<const Scalar, Space>,              \
                                             MultiVectorView<Scalar, Space>);
PREKOND_INSTANTIATE(PREKOND_ILU_NUMERIC)

}  // namespace prekond::impl::ilu
