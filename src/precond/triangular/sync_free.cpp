// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/instantiate.hpp"
#include "precond/triangular/solve.hpp"
#include "precond/triangular/solve_row.hpp"
#include "precond/triangular/stored_values.hpp"

namespace prekond::impl::triangular {
namespace {

template <class Value, class Scalar, class Space, int Lanes>
class SyncFreeSolve : public Solve<Scalar, Space> {
 public:
  using Row = SolveRow<Value, Scalar, Space, Lanes>;

  SyncFreeSolve(const Space& space, const Factor<Scalar, Space>& factor,
                const LevelOrderPointer<Space>& order, std::vector<std::string>& notes)
      : m_owner(factor.owner), m_graph(factor.graph), m_order(order), m_scale(factor.scale) {
    sweeps::Lost lost;
    m_values = sweeps::stored<Value>(space, factor.values, lost);
    sweeps::note_lost(m_owner, lost, notes);
  }

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override {
    return std::make_unique<SyncFreeWorkspace<Scalar, Space>>(space, m_graph.num_rows, num_vectors,
                                                              has_places());
  }

  void apply(const Space& space, MultiVectorView<const Scalar, Space> b, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const override {
    const auto& own = static_cast<const SyncFreeWorkspace<Scalar, Space>&>(workspace);
    check_workspace(own.num_rows, own.num_vectors, m_graph.num_rows, b.extent(1), m_owner);
    Row row{};
    row.row_ptrs = m_graph.row_ptrs;
    row.cols = has_places() ? m_order->places : m_graph.col_idxs;
    row.values = m_values;
    row.scale = m_scale;
    row.b = b;
    if (has_places()) {
      row.x = own.x;
      row.y = y;
    } else {
      row.x = words_of<Scalar>(y);
    }
    row.others.progress = own.progress;
    row.num_columns = static_cast<int>(b.extent(1));
    row.num_rows = static_cast<int>(m_graph.num_rows);
    solve_in_one_launch<Scalar>(space, row, row.x, m_graph.num_rows, m_order->schedule);
  }

  std::int64_t bytes() const override {
    return static_cast<std::int64_t>(m_values.span() * sizeof(Value) + m_scale.span() * sizeof(Scalar));
  }
  double flops() const override {
    return 2.0 * static_cast<double>(m_graph.nnz()) + 2.0 * static_cast<double>(m_graph.num_rows);
  }

 private:
  bool has_places() const { return m_order->places.extent(0) > 0; }

  std::string m_owner;
  CsrGraph<Space> m_graph;
  LevelOrderPointer<Space> m_order;
  Vector<Value, Space> m_values;
  Vector<Scalar, Space> m_scale;
};

}  // namespace

template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_sync_free_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                                 const LevelOrderPointer<Space>& order, Storage storage,
                                                 std::vector<std::string>& notes) {
  using Result = SolvePointer<Scalar, Space>;
  return sweeps::with_stored_type<Scalar>(storage, [&]<class Value>(std::type_identity<Value>) -> Result {
    const auto make = [&]<int Lanes>(std::integral_constant<int, Lanes>) -> Result {
      return std::make_shared<const SyncFreeSolve<Value, Scalar, Space, Lanes>>(space, factor, order, notes);
    };
    if constexpr (is_host_space<Space>) {
      return make(std::integral_constant<int, 1>());  // any number of lanes is one
    } else {
      switch (order->schedule.lanes) {
        case 1:
          return make(std::integral_constant<int, 1>());
        case 8:
          return make(std::integral_constant<int, 8>());
        case 16:
          return make(std::integral_constant<int, 16>());
        default:
          return make(std::integral_constant<int, 32>());
      }
    }
  });
}

#define PREKOND_SYNC_FREE_SOLVE(Scalar, Space)                                              \
  template SolvePointer<Scalar, Space> make_sync_free_solve<Scalar, Space>(                 \
      const Space&, const Factor<Scalar, Space>&, const LevelOrderPointer<Space>&, Storage, \
      std::vector<std::string>&);
PREKOND_INSTANTIATE(PREKOND_SYNC_FREE_SOLVE)

}  // namespace prekond::impl::triangular
