// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "precond/triangular/grouped_sweeps.hpp"
#include "precond/triangular/solve.hpp"
#include "precond/triangular/stored_values.hpp"

namespace prekond::impl::triangular {
namespace {

/// The values of the row at each place, and its scale.
template <class Scalar, class Space>
struct OrderValues {
  using Rows = RowTeams<Space>;
  CsrGraphView<Space> n, ordered;
  VectorView<const int, Space> permutation, source;
  VectorView<const Scalar, Space> values, scale;
  VectorView<Scalar, Space> ordered_values, ordered_scale;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{n.num_rows}.for_each_row(team, [&](std::int64_t at) {
      const int row = permutation(at);
      const std::size_t from = n.row_ptrs(row), first = ordered.row_ptrs(at);
      Kokkos::parallel_for(
          Kokkos::ThreadVectorRange(team, static_cast<int>(ordered.row_ptrs(at + 1) - first)),
          [&](int k) { ordered_values(first + k) = values(from + source(first + k)); });
      if (scale.extent(0) > 0)
        Kokkos::single(Kokkos::PerThread(team), [&] { ordered_scale(at) = scale(row); });
    });
  }
};

/// By the sweeps over colours, the levels being those.
template <class Scalar, class Space>
class LevelSolve : public Solve<Scalar, Space> {
 public:
  explicit LevelSolve(std::shared_ptr<const sweeps::GroupedSweeps<Scalar, Space>> sweeps)
      : m_sweeps(std::move(sweeps)) {}

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override {
    return m_sweeps->make_workspace(space, num_vectors);
  }
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const override {
    m_sweeps->apply(space, x, y, workspace);
  }
  std::int64_t bytes() const override { return m_sweeps->bytes(); }
  double flops() const override { return m_sweeps->flops(); }

 private:
  std::shared_ptr<const sweeps::GroupedSweeps<Scalar, Space>> m_sweeps;
};

}  // namespace

template <class Scalar, class Space>
OrderedFactor<Scalar, Space> order_factor(const Space& space, const Factor<Scalar, Space>& factor,
                                          const sweeps::GroupedTriangles<Space>& pattern) {
  const std::int64_t n = factor.graph.num_rows;
  OrderedFactor<Scalar, Space> result;
  result.values = allocate<Vector<Scalar, Space>>(space, "prekond::triangular::values", pattern.lower.nnz());
  result.scale = allocate<Vector<Scalar, Space>>(space, "prekond::triangular::scale",
                                                 factor.scale.extent(0) > 0 ? n : 0);
  Kokkos::parallel_for(
      "prekond::triangular::numeric::order", RowTeams<Space>::policy(space, n, pattern.lower.nnz()),
      OrderValues<Scalar, Space>{factor.graph, pattern.lower, pattern.permutation, pattern.lower_source,
                                 factor.values, factor.scale, result.values, result.scale});
  return result;
}

template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_level_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                             const LevelPattern<Space>& pattern, Storage storage,
                                             std::vector<std::string>& notes) {
  const OrderedFactor<Scalar, Space> ordered = order_factor(space, factor, *pattern);
  sweeps::Factors<Scalar, Space> factors;
  factors.lower = ordered.values;
  factors.row_scale = ordered.scale;
  const auto sweeps = sweeps::make_grouped_sweeps<Scalar, Space>(space, "triangular", pattern, factors,
                                                                 sweeps::triangular_solve(), storage);
  sweeps::note_lost(factor.owner, {sweeps->cut(), sweeps->vanished()}, notes);
  return std::make_shared<const LevelSolve<Scalar, Space>>(sweeps);
}

#define PREKOND_LEVEL_SOLVE(Scalar, Space)                                                 \
  template OrderedFactor<Scalar, Space> order_factor<Scalar, Space>(                       \
      const Space&, const Factor<Scalar, Space>&, const sweeps::GroupedTriangles<Space>&); \
  template SolvePointer<Scalar, Space> make_level_solve<Scalar, Space>(                    \
      const Space&, const Factor<Scalar, Space>&, const LevelPattern<Space>&, Storage,     \
      std::vector<std::string>&);
PREKOND_INSTANTIATE(PREKOND_LEVEL_SOLVE)

}  // namespace prekond::impl::triangular
