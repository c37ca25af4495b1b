// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/error.hpp>
#include "core/concurrency.hpp"

#include "core/instantiate.hpp"
#include "core/one_thread.hpp"
#include "core/pivot_policy.hpp"
#include "precond/factorization/block_ilu/factor_row.hpp"
#include "precond/factorization/block_ilu/factors.hpp"
#include "precond/triangular/row_launches.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace prekond::impl::block_ilu {
namespace {

template <int Size, class Scalar, class Space>
FactorBlockRow<Scalar, Space, Size, FactorTuning::lanes> make_row(const SourceBlocks<Scalar, Space>& a,
                                                                  const Symbolic<Scalar, Space>& symbolic,
                                                                  const Factors<Scalar, Space>& factors,
                                                                  double alpha) {
  using Row = FactorBlockRow<Scalar, Space, Size, FactorTuning::lanes>;
  const int b = symbolic.block_size, n = b * b;
  Row row(b, blocks::BlockStrides(a));
  row.stage_blocks = std::max(1, FactorTuning::stage_entries / n);
  const bool fits = fits_fast_scratch<Space, Row>(Row::bytes_of(b, row.stage_blocks, symbolic.longest));
  row.row_blocks = fits ? symbolic.longest : 0;  // else it is worked on in global memory
  row.scratch_bytes = static_cast<int>(Row::bytes_of(b, row.stage_blocks, row.row_blocks));
  row.shift = static_cast<Scalar>(alpha);
  row.floor = PivotPolicy<Scalar>::with_shifts(false).threshold;
  row.num_rows = a.num_rows();
  row.a_ptrs = a.row_ptrs;
  row.a_values = a.values;
  row.diagonal = symbolic.pattern.diagonal;
  row.lower_ptrs = symbolic.pattern.lower.row_ptrs;
  row.upper_ptrs = symbolic.pattern.upper.row_ptrs;
  row.lower_cols = symbolic.pattern.lower.col_idxs;
  row.upper_cols = symbolic.pattern.upper.col_idxs;
  row.lower = factors.lower;
  row.upper = factors.upper;
  row.inverse = factors.inverse;
  return row;
}

/// Whether one thread of a host has all rows, in their own order.
template <class Scalar, class Space>
bool is_in_order(const Space& space, const Symbolic<Scalar, Space>& symbolic) {
  return is_host_space<Space> && concurrency(space) <= symbolic.threads_in_order;
}

/// \returns whether a row gave up waiting
template <class Row, class Scalar, class Space>
bool run(const Space& space, Row row, const Symbolic<Scalar, Space>& symbolic, bool by_tickets) {
  const RowSchedule<Space>& schedule = symbolic.schedule;
  const auto progress =
      allocate_zero<Vector<triangular::SyncFreeProgress, Space>>(space, "prekond::block_ilu::progress", 1);
  row.others.progress = progress;
  row.others.max_polls = by_tickets ? schedule.most_polls : -1;
  const Launcher<Row, Space> launcher(space, row);
  if constexpr (is_host_space<Space>)
    if (is_in_order(space, symbolic)) {
      Launcher<Row, Space>(by_calling_thread(space), row)
          .in_order("prekond::block_ilu::numeric::factor_rows", symbolic.pattern.num_rows(), false);
      space.fence("prekond::block_ilu::numeric::rows");
      return false;
    }
  if (!by_tickets) {
    launcher.by_levels("prekond::block_ilu::numeric::factor_level",
                       "prekond::block_ilu::numeric::factor_small_levels", schedule);
    space.fence("prekond::block_ilu::numeric::levels");  // what was allocated here is freed
    return false;
  }
  launcher.by_tickets("prekond::block_ilu::numeric::factor_by_tickets", schedule,
                      &progress.data()->next_chunk);
  return is_raised(space, &progress.data()->gave_up);
}

template <class Space>
struct LongestRow {
  VectorView<const std::size_t, Space> lower, upper;
  KOKKOS_FUNCTION void operator()(std::int64_t i, int& most) const {
    const auto own = static_cast<int>(lower(i + 1) - lower(i) + upper(i + 1) - upper(i)) + 1;
    if (own > most) most = own;
  }
};

}  // namespace

template <class Scalar, class Space>
void schedule_factorisation(const Space& space, const LevelSchedule<Space>& levels, FactorSchedule how,
                            Symbolic<Scalar, Space>& symbolic) {
  const FillPattern<Space>& pattern = symbolic.pattern;
  const std::int64_t n = pattern.num_rows();
  Kokkos::parallel_reduce("prekond::block_ilu::symbolic::longest_row",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, n),
                          LongestRow<Space>{pattern.lower.row_ptrs, pattern.upper.row_ptrs},
                          Kokkos::Max<int>(symbolic.longest));
  symbolic.threads_in_order = how == FactorSchedule::automatic ? FactorTuning::threads_in_order : 1;
  const int b = symbolic.block_size;
  if (std::int64_t(symbolic.longest) * b * b > std::numeric_limits<int>::max())
    throw InputError("block_ilu0: a block row has " + std::to_string(symbolic.longest) + " blocks of " +
                     std::to_string(b) + " x " + std::to_string(b) + "; it may have fewer than 2^31 entries");
  symbolic.schedule =
      make_row_schedule<Space>(space, levels, how, LaunchTuning::team_lanes / FactorTuning::lanes);
}

template <class Scalar, class Space>
Factors<Scalar, Space> factor(const Space& space, const SourceBlocks<Scalar, Space>& a,
                              const Symbolic<Scalar, Space>& symbolic, double alpha, ilu::Outcome& outcome) {
  using Values = Vector<Scalar, Space>;
  const std::size_t n = static_cast<std::size_t>(symbolic.block_size) * symbolic.block_size;
  Factors<Scalar, Space> factors;
  // One allocation: each takes a device some 0.1 ms.
  const std::size_t lower = symbolic.pattern.lower.nnz() * n, upper = symbolic.pattern.upper.nnz() * n,
                    diagonal = static_cast<std::size_t>(a.num_block_rows) * n;
  const auto all = allocate<Values>(space, "prekond::block_ilu::factors", lower + upper + diagonal);
  factors.lower = Kokkos::subview(all, Kokkos::make_pair(std::size_t(0), lower));
  factors.upper = Kokkos::subview(all, Kokkos::make_pair(lower, lower + upper));
  factors.inverse = Kokkos::subview(all, Kokkos::make_pair(lower + upper, lower + upper + diagonal));
  blocks::with_block_size<Scalar>(symbolic.block_size, [&]<int Size>() {
    auto row = make_row<Size, Scalar, Space>(a, symbolic, factors, alpha);
    Values work;
    if (row.row_blocks == 0) work = allocate<Values>(space, "prekond::block_ilu::work", all.extent(0));
    row.work = work;
    const auto attempt = [&](bool by_tickets) {
      const auto counter = make_breakdown_counter(space, "prekond::block_ilu::breakdowns");
      row.outcome = counter;
      if (by_tickets) Kokkos::deep_copy(space, factors.upper, missing_value<Scalar>());
      const bool stalled = run(space, row, symbolic, by_tickets);
      outcome.breakdowns = fetch(space, counter);
      return stalled;
    };
    outcome.stalled =
        attempt(symbolic.schedule.how == FactorSchedule::sync_free && !is_in_order(space, symbolic));
    if (outcome.stalled) attempt(false);
  });
  const bool by_levels = symbolic.schedule.how == FactorSchedule::levels;
  outcome.note = std::to_string(symbolic.schedule.levels.num_levels()) + " levels of block rows; " +
                 (is_in_order(space, symbolic) ? "factored by one thread, row by row"
                  : by_levels                  ? "factored level by level"
                                               : "factored in one launch");
  return factors;
}

#define PREKOND_BLOCK_ILU(Scalar, Space)                                                                  \
  template void schedule_factorisation<Scalar, Space>(const Space&, const LevelSchedule<Space>&,          \
                                                      FactorSchedule, Symbolic<Scalar, Space>&);          \
  template Factors<Scalar, Space> factor<Scalar, Space>(const Space&, const SourceBlocks<Scalar, Space>&, \
                                                        const Symbolic<Scalar, Space>&, double,           \
                                                        ilu::Outcome&);
PREKOND_INSTANTIATE(PREKOND_BLOCK_ILU)

}  // namespace prekond::impl::block_ilu
