// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Two products by rows for devices, as baselines for the others: one lane for each row ("scalar"), and a
/// fixed number of lanes for each row ("vector"), which does not depend on its length.
#include <prekond/matrix/spmv.hpp>
#include "core/lane_group.hpp"
#include "matrix/product_teams.hpp"

namespace prekond {
namespace impl::products {

/// CSR rows that `Lanes` lanes add each.
template <class Scalar, class Space, int Lanes>
struct RowsByLanes {
  CsrView<Scalar, Space> rows;
  std::int64_t num_rows = rows.num_rows;
  std::int64_t num_cols = rows.num_cols;
};

template <class Scalar, class Space, int Lanes,
          class LaneGroup = NativeLaneGroup<Space, typename Kokkos::TeamPolicy<Space>::member_type, Lanes>>
struct RowsByLanesKernel {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  static constexpr int width = LaneGroup::width;
  static constexpr int rows_per_team = 128 / Lanes;
  static constexpr int team_threads = is_host_space<Space> ? 1 : rows_per_team;

  CsrView<Scalar, Space> a;
  typename RowUpdate<Scalar, Space>::Packed update;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const LaneGroup lanes(team);
    const RowRange rows = products::rows_of_team(team.league_rank(), rows_per_team, a.num_rows);
    for (std::int64_t i = rows.begin + team.team_rank(); i < rows.end; i += team_threads)
      for (int v = 0; v < update.num_columns; ++v) {
        const Scalar* x = update.x.column(v);
        const auto sum = lanes.template sum<Scalar>([&](int lane) { return sum_of_lane(i, lane, x); });
        lanes.once([&] { update(i, v, sum); });
      }
  }

  KOKKOS_FUNCTION Scalar sum_of_lane(std::int64_t i, int lane, const Scalar* x) const {
    Scalar sum = 0;
    for (std::size_t k = a.row_ptrs(i) + lane; k < a.row_ptrs(i + 1); k += width)
      sum += a.values(k) * x[a.col_idxs(k)];
    return sum;
  }
};

template <bool WithDot, class Scalar, class Space, int Lanes>
void dispatch(const Space& space, const char* label, const RowsByLanes<Scalar, Space, Lanes>& a,
              const RowUpdate<Scalar, Space>& update) {
  using Kernel = RowsByLanesKernel<Scalar, Space, Lanes>;
  const int teams = num_teams(a.num_rows, Kernel::rows_per_team);
  Kokkos::parallel_for(label, typename Kernel::Policy(space, teams, Kernel::team_threads, Kernel::width),
                       Kernel{a.rows, update});
}

}  // namespace impl::products

/// A CSR matrix whose rows are added by `Lanes` lanes each, a power of two up to 32. On a host, where a lane
/// is a thread, 1 and more are the same.
///
/// Source: Bell, Garland, SC09 (32 lanes); Li, Saad, J. Supercomput. 63 (2013), section 3.1 (1 and 16).
template <class Scalar, class Space, int Lanes>
class CsrByLanes : public CsrOperator<Scalar, Space> {
 public:
  using CsrOperator<Scalar, Space>::CsrOperator;

  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Scalar alpha = 1, Scalar beta = 0) const override {
    apply_recurrence(space, {.product = alpha, .previous = beta}, x, {}, y);
  }
  void apply_dot(const Space& space, VectorView<const Scalar, Space> x, VectorView<Scalar, Space> y,
                 VectorView<Scalar, Space> dot,
                 const ReduceWorkspace<Scalar, Space>& workspace) const override {
    impl::products::check_dot<CsrView<Scalar, Space>, Scalar, Space>(this->matrix(), x, y, workspace);
    apply(space, as_multivector(x), as_multivector(y));
    impl::products::dot_of_product<Scalar, Space>(space, "prekond::spmv::apply_dot", this->num_rows(), x, y,
                                                  dot, workspace);
  }
  void apply_recurrence(const Space& space, const RecurrenceStep<Scalar>& step,
                        MultiVectorView<const Scalar, Space> x, MultiVectorView<const Scalar, Space> b,
                        MultiVectorView<Scalar, Space> y) const override {
    impl::products::multiply(space, "prekond::spmv::apply_by_lanes",
                             impl::products::RowsByLanes<Scalar, Space, Lanes>{this->matrix()},
                             impl::products::RowUpdate<Scalar, Space>{step, x, y, b});
  }
};

}  // namespace prekond
