// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/factorization/ilu/sweep_pattern.hpp"

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "sparse_product/transpose_graph.hpp"

namespace prekond::impl::par_ilu {
namespace {

template <class Space>
struct FindPlaces {
  using Rows = RowTeams<Space>;
  CsrGraphView<Space> upper, columns;
  VectorView<int, Space> places;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{upper.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t first = upper.row_ptrs(i);
      Kokkos::parallel_for(
          Kokkos::ThreadVectorRange(team, static_cast<int>(upper.row_ptrs(i + 1) - first)), [&](int k) {
            const int col = upper.col_idxs(first + k);
            places(first + k) = static_cast<int>(columns.first_from(col, i) - columns.row_ptrs(col));
          });
    });
  }
};

}  // namespace

template <class Space>
SweepPattern<Space> make_sweep_pattern(const Space& space, const FillPattern<Space>& pattern) {
  SweepPattern<Space> result;
  result.shared = pattern.is_symmetric;
  result.columns = pattern.is_symmetric ? pattern.lower : transpose_graph<Space>(space, pattern.upper);
  result.places = allocate<Vector<int, Space>>(space, "prekond::par_ilu::places", pattern.upper.nnz());
  Kokkos::parallel_for("prekond::par_ilu::symbolic::find_places",
                       RowTeams<Space>::policy(space, pattern.num_rows(), pattern.upper.nnz()),
                       FindPlaces<Space>{pattern.upper, result.columns, result.places});
  return result;
}

#define PREKOND_SWEEP_PATTERN(Space) \
  template SweepPattern<Space> make_sweep_pattern<Space>(const Space&, const FillPattern<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_SWEEP_PATTERN)

}  // namespace prekond::impl::par_ilu
