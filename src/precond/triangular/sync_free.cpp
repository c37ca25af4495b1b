// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "instantiate.hpp"
#include "precond/relaxation/stored_values.hpp"
#include "precond/triangular/solve.hpp"
#include "precond/triangular/sync_free_kernels.hpp"

namespace prekond::impl::triangular {
namespace {

template <class Value, class Scalar, class Space, int Lanes>
class SyncFreeSolve : public Solve<Scalar, Space> {
 public:
  using Row = SolveRow<Value, Scalar, Space, Lanes>;
  using Chunks = SolveChunks<Row, Space>;
  using Alone = SolveAlone<Row, Space>;

  SyncFreeSolve(const Space& space, const Factor<Scalar, Space>& factor, const LevelsPointer<Space>& levels,
                std::int64_t max_polls, std::vector<std::string>& notes)
      : m_owner(factor.owner),
        m_graph(factor.graph),
        m_levels(levels),
        m_scale(factor.scale),
        m_max_polls(max_polls) {
    relaxation::Lost lost;
    m_values = relaxation::stored<Value>(space, factor.values, lost);
    relaxation::note_lost(m_owner, lost, notes);
    m_chunks = levels::make_chunks<Space>(space, *levels, Chunks::rows_per_chunk);
  }

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override {
    auto workspace = std::make_unique<SyncFreeWorkspace<Space>>();
    workspace->progress =
        allocate<Vector<SyncFreeProgress, Space>>(space, "prekond::triangular::apply::progress", 1);
    workspace->num_rows = m_graph.num_rows;
    workspace->num_vectors = static_cast<std::size_t>(num_vectors);
    return workspace;
  }

  void apply(const Space& space, MultiVectorView<const Scalar, Space> b, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const override {
    const auto& own = static_cast<const SyncFreeWorkspace<Space>&>(workspace);
    check_workspace(own.num_rows, own.num_vectors, m_graph.num_rows, b.extent(1), m_owner);
    const auto words = words_of<Scalar>(PackedColumns<Scalar>(y));
    const int columns = static_cast<int>(b.extent(1)), num_rows = static_cast<int>(m_graph.num_rows);
    Kokkos::parallel_for(
        "prekond::triangular::apply::begin",
        Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, m_graph.num_rows),
        BeginSyncFree<Scalar, Space>{words, own.progress, columns});
    Row row{m_graph.row_ptrs, m_graph.col_idxs, m_values, m_scale, b, words,
            own.progress,     m_max_polls,      columns,  num_rows};
    const Chunks chunks{row, m_levels->rows, m_chunks.bounds, m_chunks.count};
    Kokkos::parallel_for("prekond::triangular::apply::chunks", chunks.policy(space, m_levels->num_levels()),
                         chunks);
    row.max_polls = -1;
    Kokkos::parallel_for("prekond::triangular::apply::alone", Alone::policy(space),
                         Alone{row, m_levels->rows, m_levels->level_ptrs, m_levels->num_levels()});
  }

  std::int64_t bytes() const override {
    return static_cast<std::int64_t>(m_values.span() * sizeof(Value) + m_scale.span() * sizeof(Scalar) +
                                     m_chunks.bounds.span() * sizeof(int));
  }
  double flops() const override {
    return 2.0 * static_cast<double>(m_graph.nnz()) + 2.0 * static_cast<double>(m_graph.num_rows);
  }

 private:
  std::string m_owner;
  CsrGraph<Space> m_graph;
  LevelsPointer<Space> m_levels;
  levels::Chunks<Space> m_chunks;
  Vector<Value, Space> m_values;
  Vector<Scalar, Space> m_scale;
  std::int64_t m_max_polls;
};

}  // namespace

template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_sync_free_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                                 const LevelsPointer<Space>& levels,
                                                 const TriangularOptions& options,
                                                 std::vector<std::string>& notes) {
  const double mean = static_cast<double>(factor.graph.nnz()) / static_cast<double>(factor.graph.num_rows);
  using Result = SolvePointer<Scalar, Space>;
  return relaxation::with_stored_type<Scalar>(
      options.storage, [&]<class Value>(std::type_identity<Value>) -> Result {
        const auto make = [&]<int Lanes>(std::integral_constant<int, Lanes>) -> Result {
          return std::make_shared<const SyncFreeSolve<Value, Scalar, Space, Lanes>>(space, factor, levels,
                                                                                    options.max_polls, notes);
        };
        if constexpr (is_host_space<Space>) {
          return make(std::integral_constant<int, 1>());  // any number of lanes is one
        } else {
          if (mean <= SyncFreeTuning::mean_of_thread) return make(std::integral_constant<int, 1>());
          if (mean <= SyncFreeTuning::mean_of_eight) return make(std::integral_constant<int, 8>());
          if (mean <= SyncFreeTuning::mean_of_sixteen) return make(std::integral_constant<int, 16>());
          return make(std::integral_constant<int, 32>());
        }
      });
}

#define PREKOND_SYNC_FREE_SOLVE(Scalar, Space)                                                           \
  template SolvePointer<Scalar, Space> make_sync_free_solve<Scalar, Space>(                              \
      const Space&, const Factor<Scalar, Space>&, const LevelsPointer<Space>&, const TriangularOptions&, \
      std::vector<std::string>&);
PREKOND_INSTANTIATE(PREKOND_SYNC_FREE_SOLVE)

}  // namespace prekond::impl::triangular
