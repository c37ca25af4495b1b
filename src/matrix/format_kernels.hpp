// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Products of the formats that have the k-th entries of neighbouring rows together, for the units that
/// instantiate them.
#include "matrix/format_operator.hpp"

#include <type_traits>

#include "core/resident_bounds.hpp"
#include "matrix/format_rows.hpp"
#include "matrix/product_teams.hpp"

namespace prekond::impl::products {

template <class Rows, class Scalar, class Space, bool Short, bool WithDot>
struct FormatKernel {
  using Bounds = ResidentBounds<Rows::largest_team, Rows::resident_threads(Short), Scalar>;
  using Policy = Kokkos::TeamPolicy<Space, Bounds>;
  using Member = typename Policy::member_type;
  using Update = typename RowUpdate<Scalar, Space>::Packed;

  Rows rows;
  Update update;
  std::int64_t positions_per_team;
  FinishDot<Scalar, Space> finish;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const RowRange range = rows_of_team(team.league_rank(), positions_per_team, rows.a.num_rows);
    Scalar dot = 0;
    if constexpr (is_host_space<Space>) {
      constexpr int count = Rows::side_by_side;
      for (std::int64_t first = Rows::first_of(range.begin); first < range.end; first += count)
        for (int v = 0; v < num_vectors(); ++v) {
          Scalar sums[count];
          // A place without an entry adds 0 x, which is not 0 where x is not finite.
          rows.template sums<Zeros::added>(first, column_of_x(v), sums);
          if (!are_finite<count>(sums)) rows.template sums<Zeros::left_out>(first, column_of_x(v), sums);
          const std::int64_t begin = first < range.begin ? range.begin : first;
          const std::int64_t end = first + count < range.end ? first + count : range.end;
          // Copies, which no store to y can change: else all of it is loaded again for each row. And the
          // usual cases in loops without branches.
          const Rows own_rows = rows;
          Update own = update;
          if (!own.row_scale.is_empty()) {
            for (std::int64_t p = begin; p < end; ++p) {
              Scalar& sum = sums[p - first];
              sum = own.row_scale(own_rows.row(p)) * sum;
            }
            own.row_scale = {};
          }
          if constexpr (Rows::in_order && !WithDot)
            own.template rows<0>(begin, static_cast<int>(end - begin), v, sums + (begin - first));
          else if (own.is_product() || WithDot)
            for (std::int64_t p = begin; p < end; ++p) end_row(own, own_rows.row(p), v, sums[p - first], dot);
          else if (own.is_whole())
            for (std::int64_t p = begin; p < end; ++p) own.whole(own_rows.row(p), v, sums[p - first]);
          else
            for (std::int64_t p = begin; p < end; ++p) own(own_rows.row(p), v, sums[p - first]);
        }
    } else {
      for (std::int64_t p = range.begin + team.team_rank(); p < range.end; p += team.team_size()) {
        const std::int64_t i = rows.row(p);
        for (int v = 0; v < num_vectors(); ++v)
          end_row(update, i, v, rows.template sum<Short>(p, column_of_x(v)), dot);
      }
    }
    if constexpr (WithDot)
      finish_dot<Space>(team, team.team_size(), finish, dot, team_sum_memory<1, Scalar, Space>(team));
  }

 private:
  KOKKOS_FUNCTION int num_vectors() const { return update.num_columns; }
  KOKKOS_FUNCTION const Scalar* column_of_x(int v) const { return update.x.column(v); }
  KOKKOS_FORCEINLINE_FUNCTION static void end_row(const Update& update, std::int64_t i, int v,
                                                  const Scalar& sum, Scalar& dot) {
    update(i, v, sum);
    if constexpr (WithDot) dot += conjugate(update.x(i, v)) * sum;
  }
};

/// rows_per_block: what a host's sum over blocks depends on; 0 where there is none. Returns the number of
/// teams.
template <bool WithDot, class View, class Scalar, class Space>
int dispatch(const Space& space, const char* label, const View& a, const RowUpdate<Scalar, Space>& update,
             std::int64_t rows_per_block = 0, const FinishDot<Scalar, Space>& finish = {}) {
  using Rows = typename RowsOf<View>::template type<Scalar>;
  const int threads = is_host_space<Space> ? 1 : WithDot ? FormatTuning::dot_team : Rows::team(a);
  const std::int64_t passes = !WithDot            ? 1
                              : Rows::is_short(a) ? FormatTuning::passes_of_short_rows
                                                  : FormatTuning::passes_of_long_rows;
  const std::int64_t per_launch = is_host_space<Space> ? FormatTuning::host_positions : passes * threads;
  const std::int64_t per_team = rows_per_block > 0 ? rows_per_block : per_launch;
  const int teams = num_teams(a.num_rows, per_team);
  const auto launch = [&](auto is_short) {
    using Kernel = FormatKernel<Rows, Scalar, Space, decltype(is_short)::value, WithDot>;
    auto policy = typename Kernel::Policy(space, teams, threads, 1);
    if constexpr (WithDot && !is_host_space<Space>)
      policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(team_sum_bytes<1, Scalar, Space>())));
    Kokkos::parallel_for(label, policy, Kernel{{a}, update, per_team, finish});
    return teams;
  };
  if constexpr (!is_host_space<Space> && Rows::by_length)
    if (Rows::is_short(a)) return launch(std::true_type{});
  return launch(std::false_type{});
}

}  // namespace prekond::impl::products

namespace prekond {

template <class Scalar, class Space, class FormatView>
void format_recurrence(const Space& space, const RecurrenceStep<Scalar>& step,
                       VectorView<const real_type_t<Scalar>, Space> row_scale, const FormatView& a,
                       MultiVectorView<const Scalar, Space> x, MultiVectorView<const Scalar, Space> b,
                       MultiVectorView<Scalar, Space> y) {
  using Rows = typename impl::products::RowsOf<FormatView>::template type<Scalar>;
  impl::products::multiply(space, Rows::label, a,
                           impl::products::RowUpdate<Scalar, Space>{step, x, y, b, row_scale});
}

template <class Scalar, class Space, class FormatView>
void format_dot(const Space& space, const FormatView& a, VectorView<const Scalar, Space> x,
                VectorView<Scalar, Space> y, VectorView<Scalar, Space> dot,
                const ReduceWorkspace<Scalar, Space>& workspace) {
  namespace products = impl::products;
  using Rows = typename products::RowsOf<FormatView>::template type<Scalar>;
  products::check_dot<FormatView, Scalar, Space>(a, x, y, workspace);
  products::multiply_dot<Scalar, Space>(space, Rows::dot_label, a, x, y, dot, workspace);
}

#define PREKOND_FORMAT_RECURRENCE(View, Value, Scalar, Space)                                                \
  template void format_recurrence<Scalar, Space, View<Value, Space>>(                                        \
      const Space&, const RecurrenceStep<Scalar>&, VectorView<const real_type_t<Scalar>, Space>,             \
      const View<Value, Space>&, MultiVectorView<const Scalar, Space>, MultiVectorView<const Scalar, Space>, \
      MultiVectorView<Scalar, Space>);
#define PREKOND_FORMAT_DOT(View, Scalar, Space)                                                             \
  template void format_dot<Scalar, Space, View<Scalar, Space>>(                                             \
      const Space&, const View<Scalar, Space>&, VectorView<const Scalar, Space>, VectorView<Scalar, Space>, \
      VectorView<Scalar, Space>, const ReduceWorkspace<Scalar, Space>&);

}  // namespace prekond
