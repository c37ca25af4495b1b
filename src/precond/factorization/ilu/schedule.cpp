// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/instantiate.hpp"
#include "matrix/longest_row.hpp"
#include "precond/factorization/ilu/kernels.hpp"
#include "precond/factorization/ilu/numeric.hpp"

#include <algorithm>

namespace prekond::impl::ilu {
namespace {

/// The rows of a small level of a host.
int small_level(std::int64_t nnz_lower, std::int64_t nnz_finished, std::int64_t num_rows) {
  const auto n = static_cast<double>(num_rows);
  const double products_of_row = static_cast<double>(nnz_lower) / n * (static_cast<double>(nnz_finished) / n);
  const double most = ScheduleTuning::small_on_host;
  return static_cast<int>(
      std::clamp(FactorTuning::small_products / std::max(1.0, products_of_row), 1.0, most));
}

}  // namespace

template <class Space>
RowSchedule<Space> schedule_rows(const Space& space, const CsrGraph<Space>& lower,
                                 const CsrGraph<Space>& finished, FactorSchedule how) {
  if (how == FactorSchedule::automatic) {
    RowSchedule<Space> by_blocks;
    by_blocks.blocks = levels::find_row_blocks<Space>(space, lower);
    if (by_blocks.blocks) return by_blocks;
  }
  const auto longest_of = [&](const CsrGraph<Space>& graph) {
    return is_host_space<Space> ? 0 : longest_row<Space>(space, graph.row_ptrs).length;
  };
  const std::int64_t longest = longest_of(lower);
  const int lanes = FactorTuning::lanes(lower.nnz(), lower.num_rows, longest);
  const int small = is_host_space<Space> ? small_level(lower.nnz(), finished.nnz(), lower.num_rows)
                                         : ScheduleTuning::small_on_device;
  auto result = make_row_schedule<Space>(space, level_schedule<Space>(space, lower, Triangle::lower), how,
                                         LaunchTuning::team_lanes / lanes, small);
  result.lanes = lanes;
  result.has_long_rows =
      (&finished == &lower ? longest : longest_of(finished)) >= FactorTuning::searched_length;
  if (how == FactorSchedule::automatic) result.threads_in_order = FactorTuning::threads_in_order;
  return result;
}

#define PREKOND_ILU_SCHEDULE(Space)                                                      \
  template RowSchedule<Space> schedule_rows<Space>(const Space&, const CsrGraph<Space>&, \
                                                   const CsrGraph<Space>&, FactorSchedule);
PREKOND_INSTANTIATE_SPACES(PREKOND_ILU_SCHEDULE)

}  // namespace prekond::impl::ilu
