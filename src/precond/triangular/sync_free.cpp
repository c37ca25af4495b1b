// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/instantiate.hpp"
#include "precond/triangular/solve.hpp"
#include "precond/triangular/stored_values.hpp"
#include "precond/triangular/sync_free_kernels.hpp"

namespace prekond::impl::triangular {
namespace {

template <class Value, class Scalar, class Space, int Lanes>
class SyncFreeSolve : public Solve<Scalar, Space> {
 public:
  using Row = SolveRow<Value, Scalar, Space, Lanes>;
  using Chunks = SolveChunks<Row, Space>;
  using Alone = SolveAlone<Row, Space>;

  SyncFreeSolve(const Space& space, const Factor<Scalar, Space>& factor,
                const LevelOrderPointer<Space>& order, std::int64_t max_polls,
                std::vector<std::string>& notes)
      : m_owner(factor.owner),
        m_graph(factor.graph),
        m_order(order),
        m_scale(factor.scale),
        m_max_polls(max_polls) {
    sweeps::Lost lost;
    m_values = sweeps::stored<Value>(space, factor.values, lost);
    sweeps::note_lost(m_owner, lost, notes);
  }

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override {
    auto workspace = std::make_unique<SyncFreeWorkspace<Scalar, Space>>();
    workspace->x = allocate<MultiVector<WordOf<Scalar>, Space>>(
        space, "prekond::triangular::apply::x", has_places() ? m_graph.num_rows : 0, num_vectors);
    workspace->progress =
        allocate<Vector<SyncFreeProgress, Space>>(space, "prekond::triangular::apply::progress", 1);
    workspace->num_rows = m_graph.num_rows;
    workspace->num_vectors = static_cast<std::size_t>(num_vectors);
    return workspace;
  }

  void apply(const Space& space, MultiVectorView<const Scalar, Space> b, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const override {
    const auto& own = static_cast<const SyncFreeWorkspace<Scalar, Space>&>(workspace);
    check_workspace(own.num_rows, own.num_vectors, m_graph.num_rows, b.extent(1), m_owner);
    const LevelSchedule<Space>& levels = m_order->levels;
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
    row.progress = own.progress;
    row.max_polls = m_max_polls;
    row.num_columns = static_cast<int>(b.extent(1));
    row.num_rows = static_cast<int>(m_graph.num_rows);
    Kokkos::parallel_for(
        "prekond::triangular::apply::begin",
        Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, m_graph.num_rows),
        BeginSyncFree<Scalar, Space>{row.x, own.progress, row.num_columns});
    const Chunks chunks{row, levels.rows, m_order->chunks.bounds, m_order->chunks.count};
    Kokkos::parallel_for("prekond::triangular::apply::chunks", chunks.policy(space, levels.num_levels()),
                         chunks);
    row.max_polls = -1;
    Kokkos::parallel_for("prekond::triangular::apply::alone", Alone::policy(space),
                         Alone{row, levels.rows, levels.level_ptrs, levels.num_levels()});
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
  std::int64_t m_max_polls;
};

}  // namespace

template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_sync_free_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                                 const LevelOrderPointer<Space>& order,
                                                 const TriangularOptions& options,
                                                 std::vector<std::string>& notes) {
  using Result = SolvePointer<Scalar, Space>;
  return sweeps::with_stored_type<Scalar>(
      options.storage, [&]<class Value>(std::type_identity<Value>) -> Result {
        const auto make = [&]<int Lanes>(std::integral_constant<int, Lanes>) -> Result {
          return std::make_shared<const SyncFreeSolve<Value, Scalar, Space, Lanes>>(space, factor, order,
                                                                                    options.max_polls, notes);
        };
        if constexpr (is_host_space<Space>) {
          return make(std::integral_constant<int, 1>());  // any number of lanes is one
        } else {
          switch (SyncFreeTuning::lanes(factor.graph.nnz(), factor.graph.num_rows)) {
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

#define PREKOND_SYNC_FREE_SOLVE(Scalar, Space)                                                               \
  template SolvePointer<Scalar, Space> make_sync_free_solve<Scalar, Space>(                                  \
      const Space&, const Factor<Scalar, Space>&, const LevelOrderPointer<Space>&, const TriangularOptions&, \
      std::vector<std::string>&);
PREKOND_INSTANTIATE(PREKOND_SYNC_FREE_SOLVE)

}  // namespace prekond::impl::triangular
