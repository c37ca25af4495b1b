// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "instantiate.hpp"
#include "precond/block_ilu/factor_row.hpp"
#include "precond/block_ilu/factors.hpp"
#include "precond/block_triangular/row_launches.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace prekond::impl::block_ilu {
namespace {

template <int Size, class Scalar, class Space>
FactorBlockRow<Scalar, Space, Size> make_row(const SourceBlocks<Scalar, Space>& a,
                                             const Symbolic<Scalar, Space>& symbolic,
                                             const Factors<Scalar, Space>& factors, double alpha) {
  using Row = FactorBlockRow<Scalar, Space, Size>;
  const int b = symbolic.block_size, n = b * b;
  Row row(b, blocks::BlockStrides(a));
  row.stage_blocks = std::max(1, FactorTuning::stage_entries / n);
  const bool fits =
      std::int64_t(symbolic.longest) * n * std::int64_t(sizeof(Scalar)) <= FactorTuning::row_bytes;
  row.row_blocks = fits ? symbolic.longest : 0;
  row.scratch_bytes = static_cast<int>(Row::bytes_of(b, row.stage_blocks, row.row_blocks));
  row.shift = static_cast<Scalar>(alpha);
  row.floor = std::sqrt(std::numeric_limits<Scalar>::epsilon());
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

/// \returns whether a row waited in vain
template <class Row, class Space>
bool run(const Space& space, Row row, const RowSchedule<Space>& schedule, bool by_tickets) {
  const auto progress =
      allocate_zero<Vector<FactorProgress, Space>>(space, "prekond::block_ilu::progress", 1);
  row.progress = progress;
  row.max_polls = by_tickets ? schedule.most_polls : -1;
  const block_rows::Launcher<Row, Space> launcher(space, row);
  if (!by_tickets) {
    launcher.by_levels("prekond::block_ilu::numeric::factor_level", schedule);
    space.fence("prekond::block_ilu::numeric::levels");  // what was allocated here is freed
    return false;
  }
  launcher.by_tickets("prekond::block_ilu::numeric::factor_by_tickets", schedule,
                      &progress.data()->next_chunk);
  FactorProgress ended{};
  Kokkos::deep_copy(space, Kokkos::View<FactorProgress, Kokkos::HostSpace>(&ended),
                    Kokkos::subview(progress, 0));
  space.fence("prekond::block_ilu::numeric::stalled");
  return ended.gave_up != 0;
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

template <class Space>
int longest_row(const Space& space, const FillPattern<Space>& pattern) {
  int most = 0;
  Kokkos::parallel_reduce(
      "prekond::block_ilu::symbolic::longest_row",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, pattern.num_rows()),
      LongestRow<Space>{pattern.lower.row_ptrs, pattern.upper.row_ptrs}, Kokkos::Max<int>(most));
  return most;
}

template <class Scalar, class Space>
Factors<Scalar, Space> factor(const Space& space, const SourceBlocks<Scalar, Space>& a,
                              const Symbolic<Scalar, Space>& symbolic, double alpha, ilu::Outcome& outcome) {
  using Values = Vector<Scalar, Space>;
  const std::size_t n = static_cast<std::size_t>(symbolic.block_size) * symbolic.block_size;
  Factors<Scalar, Space> factors;
  factors.lower = allocate<Values>(space, "prekond::block_ilu::lower", symbolic.pattern.lower.nnz() * n);
  factors.upper = allocate<Values>(space, "prekond::block_ilu::upper", symbolic.pattern.upper.nnz() * n);
  factors.inverse = allocate<Values>(space, "prekond::block_ilu::inverse", a.num_block_rows * n);
  blocks::with_block_size<Scalar>(symbolic.block_size, [&]<int Size>() {
    auto row = make_row<Size, Scalar, Space>(a, symbolic, factors, alpha);
    Values work;
    if (row.row_blocks == 0)
      work = allocate<Values>(
          space, "prekond::block_ilu::work",
          factors.lower.extent(0) + factors.upper.extent(0) + factors.inverse.extent(0));
    row.work = work;
    const auto attempt = [&](bool by_tickets) {
      const auto counter = make_breakdown_counter(space, "prekond::block_ilu::breakdowns");
      row.outcome = counter;
      if (by_tickets) Kokkos::deep_copy(space, factors.upper, missing_value<Scalar>());
      const bool stalled = run(space, row, symbolic.schedule, by_tickets);
      outcome.breakdowns = fetch(space, counter);
      return stalled;
    };
    outcome.stalled = attempt(symbolic.schedule.how == FactorSchedule::sync_free);
    if (outcome.stalled) attempt(false);
  });
  outcome.note = std::to_string(symbolic.schedule.levels.num_levels()) + " levels of block rows; " +
                 (symbolic.schedule.how == FactorSchedule::levels ? "factored level by level"
                                                                  : "factored in one launch");
  return factors;
}

#define PREKOND_BLOCK_ILU_ROWS(Space) \
  template int longest_row<Space>(const Space&, const FillPattern<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_BLOCK_ILU_ROWS)

#ifndef PREKOND_ONLY_SINGLE
int rows_per_chunk(int block_size) {
  const bool is_small = block_size <= FactorTuning::small_blocks;
  const int lanes = is_small ? FactorTuning::lanes_of_small_blocks : 32;
  return block_rows::LaunchTuning::team_threads(false, lanes);
}
#endif

#define PREKOND_BLOCK_ILU(Scalar, Space)                                           \
  template Factors<Scalar, Space> factor<Scalar, Space>(                           \
      const Space&, const SourceBlocks<Scalar, Space>&, const Symbolic<Scalar, Space>&, double, ilu::Outcome&);
PREKOND_INSTANTIATE(PREKOND_BLOCK_ILU)

}  // namespace prekond::impl::block_ilu
