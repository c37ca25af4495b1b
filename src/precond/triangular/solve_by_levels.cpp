// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/concurrency.hpp"
#include "core/instantiate.hpp"
#include "core/one_thread.hpp"
#include "core/packed.hpp"
#include "core/row_teams.hpp"
#include "matrix/host_row_sum.hpp"
#include "precond/triangular/grouped_sweeps.hpp"
#include "precond/triangular/solve.hpp"
#include "precond/triangular/stored_values.hpp"

#include <stdexcept>

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

/// y = S x - N y by one thread of a host, row after row, of a lower triangle from the first on.
template <class Value, class Scalar, class Space>
struct SolveInOrder {
  std::int64_t num_rows;
  bool from_last;
  PackedVector<const std::size_t> row_ptrs;
  PackedVector<const int> columns;
  PackedVector<const Value> values;
  PackedVector<const Scalar> scale;
  PackedColumns<const Scalar> x;
  PackedColumns<Scalar> y;
  int num_vectors;

  KOKKOS_FUNCTION void operator()(int) const {
    for (int v = 0; v < num_vectors; ++v) solve(x.column(v), y.column(v));
  }

  KOKKOS_FUNCTION void solve(const Scalar* xv, Scalar* yv) const {
    for (std::int64_t k = 0; k < num_rows; ++k) {
      const std::int64_t i = from_last ? num_rows - 1 - k : k;
      const std::size_t begin = row_ptrs(i);
      const Scalar sum = products::host_row_sum<Value, Scalar>(values.data() + begin, columns.data() + begin,
                                                               static_cast<int>(row_ptrs(i + 1) - begin), yv);
      yv[i] = multiply_add(scale.is_empty() ? Scalar(1) : scale(i), xv[i], -sum);
    }
  }
};

struct SizedWorkspace : Workspace {
  std::int64_t num_rows;
  std::size_t num_vectors;
};

template <class Value, class Scalar, class Space>
class InOrderSolve : public Solve<Scalar, Space> {
 public:
  InOrderSolve(const Space& space, const Factor<Scalar, Space>& factor, const Vector<Value, Space>& values)
      : m_one_thread(by_calling_thread(space)), m_factor(factor), m_values(values) {
    m_factor.values = {};
  }

  std::unique_ptr<Workspace> make_workspace(const Space&, int num_vectors) const override {
    auto workspace = std::make_unique<SizedWorkspace>();
    workspace->num_rows = m_factor.num_rows();
    workspace->num_vectors = static_cast<std::size_t>(num_vectors);
    return workspace;
  }
  void apply(const Space&, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const override {
    const auto* own = dynamic_cast<const SizedWorkspace*>(&workspace);
    if (own == nullptr) throw std::logic_error(m_factor.owner + ": the workspace is another method's");
    check_workspace(own->num_rows, own->num_vectors, m_factor.num_rows(), x.extent(1), m_factor.owner);
    SolveInOrder<Value, Scalar, Space> kernel{m_factor.num_rows(),
                                              m_factor.which == Triangle::upper,
                                              m_factor.graph.row_ptrs,
                                              m_factor.graph.col_idxs,
                                              m_values,
                                              m_factor.scale,
                                              x,
                                              y,
                                              static_cast<int>(x.extent(1))};
    Kokkos::parallel_for("prekond::triangular::apply::rows", Kokkos::RangePolicy<Space>(m_one_thread, 0, 1),
                         kernel);
  }
  std::int64_t bytes() const override {
    return static_cast<std::int64_t>(m_values.span() * sizeof(Value) +
                                     m_factor.scale.span() * sizeof(Scalar));
  }
  double flops() const override {
    return 2.0 * double(m_values.extent(0)) + 2.0 * double(m_factor.num_rows());
  }

 private:
  Space m_one_thread;
  Factor<Scalar, Space> m_factor;  ///< without its values
  Vector<Value, Space> m_values;
};

template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_in_order_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                                Storage storage, std::vector<std::string>& notes) {
  using Result = SolvePointer<Scalar, Space>;
  return sweeps::with_stored_type<Scalar>(storage, [&]<class Value>(std::type_identity<Value>) -> Result {
    sweeps::Lost lost;
    const auto values = sweeps::stored<Value>(space, factor.values, lost);
    sweeps::note_lost(factor.owner, lost, notes);
    return std::make_shared<const InOrderSolve<Value, Scalar, Space>>(space, factor, values);
  });
}

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
                                             const LevelOrderPointer<Space>& order, Storage storage,
                                             std::vector<std::string>& notes) {
  if constexpr (is_host_space<Space>)
    if (!order->pattern || concurrency(space) <= order->threads_in_order)
      return make_in_order_solve<Scalar, Space>(space, factor, storage, notes);
  const LevelPattern<Space>& pattern = order->pattern;
  const OrderedFactor<Scalar, Space> ordered = order_factor(space, factor, *pattern);
  sweeps::Factors<Scalar, Space> factors;
  factors.lower = ordered.values;
  factors.row_scale = ordered.scale;
  const auto sweeps = sweeps::make_grouped_sweeps<Scalar, Space>(space, "triangular", pattern, factors,
                                                                 sweeps::triangular_solve(), storage);
  sweeps::note_lost(factor.owner, {sweeps->cut(), sweeps->vanished()}, notes);
  return std::make_shared<const LevelSolve<Scalar, Space>>(sweeps);
}

#define PREKOND_LEVEL_SOLVE(Scalar, Space)                                                  \
  template OrderedFactor<Scalar, Space> order_factor<Scalar, Space>(                        \
      const Space&, const Factor<Scalar, Space>&, const sweeps::GroupedTriangles<Space>&);  \
  template SolvePointer<Scalar, Space> make_level_solve<Scalar, Space>(                     \
      const Space&, const Factor<Scalar, Space>&, const LevelOrderPointer<Space>&, Storage, \
      std::vector<std::string>&);
PREKOND_INSTANTIATE(PREKOND_LEVEL_SOLVE)

}  // namespace prekond::impl::triangular
