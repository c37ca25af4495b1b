// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/instantiate.hpp"
#include "matrix/longest_row.hpp"
#include "precond/factorization/ilu/kernels.hpp"
#include "precond/factorization/ilu/numeric.hpp"

namespace prekond::impl::ilu {

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
  auto result = make_row_schedule<Space>(space, level_schedule<Space>(space, lower, Triangle::lower), how,
                                         LaunchTuning::team_lanes / lanes);
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
