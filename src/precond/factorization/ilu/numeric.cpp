// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/factorization/ilu/numeric.hpp"

#include "core/concurrency.hpp"
#include "core/instantiate.hpp"
#include "core/one_thread.hpp"
#include "precond/factorization/ilu/kernels.hpp"
#include "precond/triangular/grouped_sweeps.hpp"

#include <algorithm>
#include <string>
#include <type_traits>

namespace prekond::impl::ilu {
namespace {

bool lumps(IncompleteKind kind) {
  return kind == IncompleteKind::mic_gustafsson || kind == IncompleteKind::mic_robert;
}

/// A factorisation in progress.
template <class Scalar, class Space>
struct FactorTask {
  const FillPattern<Space>& pattern;
  const RowSchedule<Space>& schedule;
  const Factors<Scalar, Space>& factors;
  IncompleteKind kind;
  double alpha;
  Vector<BreakdownCounter, Space> outcome;
  Vector<Scalar, Space> finished;           ///< values of U, for `ic` of L
  Vector<Scalar, Space> row_sums;           ///< of both kinds of MIC
  Vector<std::uint64_t, Space> words = {};  ///< see ColumnTables
  Vector<int, Space> taken = {};

  /// Makes tables for the threads of a host, unless they take too much memory.
  void make_tables(const Space& space) {
    const std::int64_t columns = pattern.num_rows(), bytes = 8 * columns;
    const bool are_short = pattern.lower.nnz() <= 3 * columns;  // searches are short, too
    if (!is_host_space<Space> || !schedule.by_tables || are_short || bytes > ColumnTables::most_bytes) return;
    const auto count =
        std::clamp<std::int64_t>(ColumnTables::most_bytes_of_all / bytes, 1, concurrency(space));
    words = allocate_zero<Vector<std::uint64_t, Space>>(space, "prekond::ilu::tables",
                                                        count * pattern.num_rows());
    taken =
        allocate_zero<Vector<int, Space>>(space, "prekond::ilu::taken_tables", count * ColumnTables::stride);
  }

  template <class Row>
  Row row() const {
    Row row{};
    row.lower = triangle_of<Scalar, Space>(pattern.lower, factors.lower);
    row.upper = triangle_of<Scalar, Space>(pattern.upper, factors.upper);
    row.finished =
        triangle_of<Scalar, Space>(kind == IncompleteKind::ic ? pattern.lower : pattern.upper, finished);
    row.pivots = factors.pivots;
    row.outcome = outcome;
    row.diagonal = static_cast<Scalar>(1 + alpha);
    row.positive = kind != IncompleteKind::ilu;
    row.row_scale = factors.row_scale;
    row.by_size = kind == IncompleteKind::mic_robert;
    row.row_sums = row_sums;
    row.tables = {words, taken, pattern.num_rows(), static_cast<int>(taken.extent(0)) / ColumnTables::stride};
    return row;
  }
};

/// \returns whether a row waited too long for another, so that the factors are useless. Fences then.
template <class Row, class Scalar, class Space>
bool launch(const Space& space, const FactorTask<Scalar, Space>& task, FactorSchedule how) {
  const RowSchedule<Space>& schedule = task.schedule;
  const Row row = task.template row<Row>();
  if (how == FactorSchedule::sync_free) {
    Kokkos::deep_copy(space, task.finished, missing_value<Scalar>());
    Kokkos::deep_copy(space, task.factors.pivots, missing_value<Scalar>());
    Kokkos::deep_copy(space, task.row_sums, missing_value<Scalar>());
    const auto stalled = allocate_zero<Vector<int, Space>>(space, "prekond::ilu::stalled", 1);
    const auto next = allocate_zero<Vector<int, Space>>(space, "prekond::ilu::next", 1);
    using Waiting = LaunchedRow<Row, AwaitedValues>;
    Launcher<Waiting, Space>(space, Waiting{row, {stalled, schedule.most_polls}})
        .by_tickets("prekond::ilu::numeric::factor_dynamically", schedule, next.data());
    return is_raised(space, stalled.data());
  }
  const Launcher<LaunchedRow<Row, ReadyValues>, Space> launcher(space, {row, {}});
  if constexpr (is_host_space<Space>) {
    if (schedule.blocks) {
      launcher.by_blocks("prekond::ilu::numeric::factor_blocks", schedule.blocks);
      return false;
    }
    if (is_in_order<Space>(space, task.pattern, schedule)) {
      Launcher<LaunchedRow<Row, ReadyValues>, Space>(by_calling_thread(space), {row, {}})
          .in_order("prekond::ilu::numeric::factor_rows", task.pattern.num_rows(), false);
      return false;
    }
  }
  launcher.by_levels("prekond::ilu::numeric::factor_level", "prekond::ilu::numeric::factor_small_levels",
                     schedule);
  return false;
}

/// Chooses the row of the kind and the width of its lane groups. \returns whether a row waited too long
template <class Scalar, class Space>
bool launch_rows(const Space& space, const FactorTask<Scalar, Space>& task, FactorSchedule how) {
  const auto run = [&]<int lanes, bool looks_up>(std::integral_constant<int, lanes>,
                                                 std::bool_constant<looks_up>) {
    using LaneGroup = NativeLaneGroup<Space, typename Kokkos::TeamPolicy<Space>::member_type, lanes>;
    const auto run_row = [&]<class Row>(std::type_identity<Row>) { return launch<Row>(space, task, how); };
    switch (task.kind) {
      case IncompleteKind::ic:
        return run_row(std::type_identity<IcRowOf<Scalar, Space, LaneGroup, looks_up>>());
      case IncompleteKind::mic_gustafsson:
      case IncompleteKind::mic_robert:
        return run_row(std::type_identity<IluRowOf<Scalar, Space, LaneGroup, true, looks_up>>());
      default:
        return run_row(std::type_identity<IluRowOf<Scalar, Space, LaneGroup, false, looks_up>>());
    }
  };
  if constexpr (is_host_space<Space>) {
    return run(std::integral_constant<int, 1>(), std::true_type());
  } else {
    const auto run_lanes = [&](auto lanes) {
      return task.schedule.has_long_rows ? run(lanes, std::true_type()) : run(lanes, std::false_type());
    };
    if (task.schedule.lanes == 1) return run_lanes(std::integral_constant<int, 1>());
    return run_lanes(std::integral_constant<int, FactorTuning::lanes_of_long_rows>());
  }
}

/// Up to two threads of a host leave the scaling of this many numbers to the calling one, some 0.2 ms of
/// work: each launch may wait for a thread whose core another program uses, see SweepTuning::narrow_on_host.
constexpr std::size_t scaled_by_calling_thread = std::size_t(1) << 17;

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

template <class Space>
bool is_in_order(const Space& space, const FillPattern<Space>& pattern, const RowSchedule<Space>& schedule) {
  const auto rows = static_cast<double>(pattern.num_rows());
  const double products = double(pattern.lower.nnz()) * (1 + double(pattern.upper.nnz()) / rows);
  return is_host_space<Space> && schedule.how == FactorSchedule::levels &&
         concurrency(space) <= schedule.threads_in_order &&
         rows + products <= FactorTuning::narrow_on_host * double(schedule.groups.size());
}

template <class Scalar, class Space>
Factors<Scalar, Space> factor(const Space& space, const CsrView<Scalar, Space>& a,
                              const FillPattern<Space>& pattern, const RowSchedule<Space>& schedule,
                              IncompleteKind kind, double alpha, Report& report, Outcome& outcome) {
  const bool is_ic = kind == IncompleteKind::ic;
  const auto use = kind == IncompleteKind::ilu ? sweeps::DiagonalUse::general : sweeps::DiagonalUse::definite;
  const auto attempt = [&](FactorSchedule how) {
    using sweeps::Triangles;
    Factors<Scalar, Space> factors = sweeps::fill_triangles<Scalar, Space>(
        space, a, pattern, Scalar(1), report, use, is_ic ? Triangles::lower : Triangles::both);
    factors.pivots = allocate<Vector<Scalar, Space>>(space, "prekond::ilu::pivots", a.num_rows);
    const auto finished = allocate<Vector<Scalar, Space>>(space, "prekond::ilu::finished",
                                                          (is_ic ? pattern.lower : pattern.upper).nnz());
    const auto row_sums =
        allocate<Vector<Scalar, Space>>(space, "prekond::ilu::row_sums", lumps(kind) ? a.num_rows : 0);
    const auto counter = make_breakdown_counter(space, "prekond::ilu::breakdowns");
    FactorTask<Scalar, Space> task{pattern, schedule, factors, kind, alpha, counter, finished, row_sums};
    task.make_tables(space);
    outcome.stalled = launch_rows<Scalar, Space>(space, task, how);
    outcome.breakdowns = fetch(space, counter);
    (is_ic ? factors.lower : factors.upper) = finished;
    return factors;
  };
  Factors<Scalar, Space> factors = attempt(schedule.how);
  const bool stalled = outcome.stalled;
  if (stalled) factors = attempt(FactorSchedule::levels);
  outcome.stalled = stalled;
  return factors;
}

template <class Scalar, class Space>
void scale_columns(const Space& space, VectorView<const Scalar, Space> row_scale,
                   MultiVectorView<Scalar, Space> y) {
  const auto n = static_cast<std::int64_t>(y.extent(0));
  const ScaleColumns<Scalar, Space> scale{row_scale, y};
  if constexpr (is_host_space<Space>)
    if (y.size() <= scaled_by_calling_thread && concurrency(space) <= sweeps::SweepTuning::threads_in_order) {
      for (std::int64_t i = 0; i < n; ++i) scale(i);
      return;
    }
  Kokkos::parallel_for("prekond::ilu::apply::scale_columns",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, n), scale);
}

#define PREKOND_ILU_NUMERIC(Scalar, Space)                                                               \
  template Factors<Scalar, Space> factor<Scalar, Space>(                                                 \
      const Space&, const CsrView<Scalar, Space>&, const FillPattern<Space>&, const RowSchedule<Space>&, \
      IncompleteKind, double, Report&, Outcome&);                                                        \
  template void scale_columns<Scalar, Space>(const Space&, VectorView<const Scalar, Space>,              \
                                             MultiVectorView<Scalar, Space>);
PREKOND_INSTANTIATE(PREKOND_ILU_NUMERIC)

#define PREKOND_ILU_IN_ORDER(Space) \
  template bool is_in_order<Space>(const Space&, const FillPattern<Space>&, const RowSchedule<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_ILU_IN_ORDER)

}  // namespace prekond::impl::ilu
