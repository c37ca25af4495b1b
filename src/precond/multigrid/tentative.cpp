// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/multigrid/tentative.hpp"

#include <prekond/core/impl/row_numbers.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include "core/lane_group.hpp"

#include "core/instantiate.hpp"
#include "sparse_product/transpose_graph.hpp"

#include <algorithm>
#include <limits>

namespace prekond::impl::amg {
namespace {

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// m entries in rows of aggregated nodes.
template <class Space>
struct RowLength {
  VectorView<const int, Space> part;
  int unknowns, vectors;
  KOKKOS_FUNCTION int operator()(std::int64_t i) const { return part(i / unknowns) < 0 ? 0 : vectors; }
};

/// Gram-Schmidt's method on an aggregate's rows, by a vector of lanes.
template <class Scalar, class Space, int Lanes>
struct Orthonormalize {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  using LaneGroup = NativeLaneGroup<Space, Member, Lanes>;

  CsrGraphView<Space> members;  ///< row g: the nodes of aggregate g
  int unknowns;
  MultiVectorView<const Scalar, Space> b;
  Matrix<Scalar, Space> q;
  MultiVectorView<Scalar, Space> r;
  Scalar least;  ///< part of a column that has to be left

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t g = std::int64_t(team.league_rank()) * team.team_size() + team.team_rank();
    if (g < members.num_rows) factor(LaneGroup(team), g);
  }

  KOKKOS_FUNCTION int vectors() const { return static_cast<int>(b.extent(1)); }
  KOKKOS_FUNCTION int rows_of(std::int64_t g) const {
    return static_cast<int>(members.row_ptrs(g + 1) - members.row_ptrs(g)) * unknowns;
  }
  /// The k-th row of the aggregate.
  KOKKOS_FUNCTION std::int64_t row(std::int64_t g, int k) const {
    return std::int64_t(members.col_idxs(members.row_ptrs(g) + k / unknowns)) * unknowns + k % unknowns;
  }
  KOKKOS_FUNCTION Scalar& entry(std::int64_t row, int c) const { return q.values(q.row_ptrs(row) + c); }

  KOKKOS_FUNCTION Scalar dot(const LaneGroup& lane_group, std::int64_t g, int c, int d) const {
    const int rows = rows_of(g);
    return lane_group.template sum<Scalar>([&](int lane) {
      Scalar mine = 0;
      for (int k = lane; k < rows; k += LaneGroup::width) {
        const std::int64_t i = row(g, k);
        mine += entry(i, c) * entry(i, d);
      }
      return mine;
    });
  }

  template <class F>
  KOKKOS_FUNCTION void for_rows(const LaneGroup& lane_group, std::int64_t g, const F& f) const {
    const int rows = rows_of(g);
    lane_group.region([&](int lane) {
      for (int k = lane; k < rows; k += LaneGroup::width) f(row(g, k));
    });
  }

  KOKKOS_FUNCTION void factor(const LaneGroup& lane_group, std::int64_t g) const {
    const int m = vectors();
    for_rows(lane_group, g, [&](std::int64_t i) {
      for (int c = 0; c < m; ++c) {
        entry(i, c) = b(i, c);
        q.col_idxs(q.row_ptrs(i) + c) = static_cast<int>(g * m + c);
      }
    });
    lane_group.once([&] {
      for (int c = 0; c < m; ++c)
        for (int d = 0; d < m; ++d) r(g * m + c, d) = Scalar(0);
    });
    for (int d = 0; d < m; ++d) column(lane_group, g, d);
  }

  KOKKOS_FUNCTION void column(const LaneGroup& lane_group, std::int64_t g, int d) const {
    const Scalar before = Kokkos::sqrt(dot(lane_group, g, d, d));
    for (int pass = 0; pass < 2; ++pass)
      for (int c = 0; c < d; ++c) {
        const Scalar along = dot(lane_group, g, c, d);
        for_rows(lane_group, g, [&](std::int64_t i) { entry(i, d) -= along * entry(i, c); });
        lane_group.once([&] { r(g * vectors() + c, d) += along; });
      }
    const Scalar after = Kokkos::sqrt(dot(lane_group, g, d, d));
    const bool depends = !(after > least * before);
    for_rows(lane_group, g, [&](std::int64_t i) { entry(i, d) = depends ? Scalar(0) : entry(i, d) / after; });
    lane_group.once([&] { r(g * vectors() + d, d) = depends ? Scalar(0) : after; });
  }
};

template <int Lanes, class Scalar, class Space>
void orthonormalize(const Space& space, const Orthonormalize<Scalar, Space, Lanes>& kernel) {
  const int team = is_host_space<Space> ? 1 : 128 / Lanes;
  const std::int64_t teams = (kernel.members.num_rows + team - 1) / team;
  Kokkos::parallel_for("prekond::amg::orthonormalize",
                       typename Orthonormalize<Scalar, Space, Lanes>::Policy(
                           space, static_cast<int>(teams), team, is_host_space<Space> ? 1 : Lanes),
                       kernel);
}

}  // namespace

template <class Scalar, class Space>
Tentative<Scalar, Space> tentative_prolongator(
    const Space& space, const Aggregates<Space>& aggregates,
    const std::type_identity_t<CsrGraphView<Space>>& membership, int unknowns,
    const std::type_identity_t<MultiVectorView<const Scalar, Space>>& near_null_space) {
  const std::int64_t n = static_cast<std::int64_t>(near_null_space.extent(0));
  const int m = static_cast<int>(near_null_space.extent(1));
  // Row g: the nodes of aggregate g, ascending.
  const CsrGraph<Space> members = transpose_graph<Space>(space, membership, aggregates.count);
  const auto [row_ptrs, nnz] =
      scan_row_lengths(space, "prekond::amg::tentative", n, RowLength<Space>{aggregates.part, unknowns, m});
  Tentative<Scalar, Space> result;
  result.q =
      Matrix<Scalar, Space>(n, aggregates.count * m, row_ptrs,
                            allocate<Vector<int, Space>>(space, "prekond::amg::tentative::col_idxs", nnz),
                            allocate<Vector<Scalar, Space>>(space, "prekond::amg::tentative::values", nnz));
  result.near_null_space = allocate<MultiVector<Scalar, Space>>(
      space, "prekond::amg::near_null_space", static_cast<std::size_t>(aggregates.count * m), m);
  const Scalar least = sizeof(Scalar) > 4 ? Scalar(1e-10) : Scalar(1e-4);
  if (aggregates.count > 0) {
    const auto kernel = [&](auto lanes) {
      return Orthonormalize<Scalar, Space, lanes()>{
          members, unknowns, near_null_space, result.q, result.near_null_space, least};
    };
    if (n / aggregates.count < 16)
      orthonormalize(space, kernel(std::integral_constant<int, 8>()));
    else
      orthonormalize(space, kernel(std::integral_constant<int, 32>()));
  }
  space.fence("prekond::amg::tentative");  // the lists of members go away
  return result;
}

template <class Scalar, class Space>
MultiVector<Scalar, Space> constant_vectors(const Space& space, std::int64_t num_rows, int unknowns,
                                            const Vector<const std::int64_t, Space>& numbers) {
  const auto result = allocate<MultiVector<Scalar, Space>>(space, "prekond::amg::near_null_space",
                                                           static_cast<std::size_t>(num_rows), unknowns);
  const RowNumbers<Space> number{num_rows, 0, numbers};
  Kokkos::parallel_for(
      "prekond::amg::constant_vectors", Rows<Space>(space, 0, num_rows), KOKKOS_LAMBDA(std::int64_t i) {
        for (int c = 0; c < unknowns; ++c) result(i, c) = number(i) % unknowns == c ? Scalar(1) : Scalar(0);
      });
  if (numbers.extent(0) > 0) space.fence("prekond::amg::constant_vectors");  // the numbers go away
  return result;
}

#define PREKOND_AMG_TENTATIVE(Scalar, Space)                                   \
  template Tentative<Scalar, Space> tentative_prolongator<Scalar, Space>(      \
      const Space&, const Aggregates<Space>&, const CsrGraphView<Space>&, int, \
      const MultiVectorView<const Scalar, Space>&);                            \
  template MultiVector<Scalar, Space> constant_vectors<Scalar, Space>(         \
      const Space&, std::int64_t, int, const Vector<const std::int64_t, Space>&);
PREKOND_INSTANTIATE(PREKOND_AMG_TENTATIVE)

}  // namespace prekond::impl::amg
