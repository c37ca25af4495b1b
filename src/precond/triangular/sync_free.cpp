// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "instantiate.hpp"
#include "precond/relaxation/stored_values.hpp"
#include "precond/triangular/solve.hpp"
#include "precond/triangular/sync_free_kernels.hpp"

namespace prekond::impl::triangular {
namespace {

/// Where blocks of up to `most` rows begin, each within a level.
inline std::vector<int> blocks_of(const std::vector<int>& level_ptrs, int most) {
  std::vector<int> ptrs = {0};
  for (std::size_t level = 0; level + 1 < level_ptrs.size(); ++level)
    for (std::int64_t at = level_ptrs[level]; at < level_ptrs[level + 1]; at += most)
      ptrs.push_back(static_cast<int>(std::min<std::int64_t>(at + most, level_ptrs[level + 1])));
  return ptrs;
}

template <class Value, class Scalar, class Space, int Lanes>
class SyncFreeSolve : public Solve<Scalar, Space> {
 public:
  using Row = SolveRow<Value, Scalar, Space, Lanes>;
  using Blocks = SolveBlocks<Row, Space>;
  using Alone = SolveAlone<Row, Space>;

  SyncFreeSolve(const Space& space, const Factor<Scalar, Space>& factor, const LevelPattern<Space>& pattern,
                std::int64_t max_polls, std::vector<std::string>& notes)
      : m_owner(factor.owner), m_pattern(pattern), m_max_polls(max_polls) {
    const OrderedFactor<Scalar, Space> ordered = order_factor(space, factor, *pattern);
    relaxation::Lost lost;
    m_values = relaxation::stored<Value>(space, ordered.values, lost);
    relaxation::note_lost(m_owner, lost, notes);
    m_scale = ordered.scale;
    const std::vector<int> blocks = blocks_of(pattern->color_ptrs, Blocks::rows_per_block);
    m_block_ptrs = allocate<Vector<int, Space>>(space, "prekond::triangular::block_ptrs", blocks.size());
    Kokkos::deep_copy(space, m_block_ptrs,
                      Kokkos::View<const int*, Kokkos::HostSpace>(blocks.data(), blocks.size()));
    space.fence("prekond::triangular::numeric::blocks");  // the host's go away
  }

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override {
    using Words = MultiVector<WordOf<Scalar>, Space>;
    auto workspace = std::make_unique<SyncFreeWorkspace<Scalar, Space>>();
    workspace->x =
        allocate<Words>(space, "prekond::triangular::apply::x", m_pattern->num_rows(), num_vectors);
    workspace->progress =
        allocate<Vector<SyncFreeProgress, Space>>(space, "prekond::triangular::apply::progress", 1);
    return workspace;
  }

  void apply(const Space& space, MultiVectorView<const Scalar, Space> b, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const override {
    const auto& own = static_cast<const SyncFreeWorkspace<Scalar, Space>&>(workspace);
    const std::int64_t n = m_pattern->num_rows();
    const auto x = columns_of<WordOf<Scalar>, Space>(own.x, n, b.extent(1), m_owner);
    Kokkos::parallel_for("prekond::triangular::apply::begin",
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, n),
                         BeginSyncFree<Scalar, Space>{x, own.progress});
    Row row{m_pattern->lower.row_ptrs,
            m_pattern->lower.col_idxs,
            m_values,
            m_pattern->permutation,
            m_scale,
            b,
            y,
            x,
            own.progress,
            m_max_polls,
            static_cast<int>(b.extent(1))};
    const Blocks blocks{row, m_block_ptrs, static_cast<int>(m_block_ptrs.extent(0)) - 1};
    Kokkos::parallel_for("prekond::triangular::apply::blocks", blocks.policy(space, m_pattern->num_colors),
                         blocks);
    row.max_polls = -1;
    Kokkos::parallel_for("prekond::triangular::apply::alone", Alone::policy(space),
                         Alone{row, m_pattern->device_color_ptrs, m_pattern->num_colors});
  }

  std::int64_t bytes() const override {
    return static_cast<std::int64_t>(m_values.span() * sizeof(Value) + m_scale.span() * sizeof(Scalar) +
                                     m_block_ptrs.span() * sizeof(int));
  }
  double flops() const override {
    return 2.0 * static_cast<double>(m_pattern->lower.nnz()) +
           2.0 * static_cast<double>(m_pattern->num_rows());
  }

 private:
  std::string m_owner;
  LevelPattern<Space> m_pattern;
  std::int64_t m_max_polls;
  Vector<Value, Space> m_values;
  Vector<Scalar, Space> m_scale;
  Vector<int, Space> m_block_ptrs;
};

}  // namespace

template <class Scalar, class Space>
SolvePointer<Scalar, Space> make_sync_free_solve(const Space& space, const Factor<Scalar, Space>& factor,
                                                 const LevelPattern<Space>& pattern,
                                                 const TriangularOptions& options,
                                                 std::vector<std::string>& notes) {
  const double mean = static_cast<double>(pattern->lower.nnz()) / static_cast<double>(pattern->num_rows());
  using Result = SolvePointer<Scalar, Space>;
  return relaxation::with_stored_type<Scalar>(
      options.storage, [&]<class Value>(std::type_identity<Value>) -> Result {
        const auto make = [&]<int Lanes>(std::integral_constant<int, Lanes>) -> Result {
          return std::make_shared<const SyncFreeSolve<Value, Scalar, Space, Lanes>>(space, factor, pattern,
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

#define PREKOND_SYNC_FREE_SOLVE(Scalar, Space)                                                          \
  template SolvePointer<Scalar, Space> make_sync_free_solve<Scalar, Space>(                             \
      const Space&, const Factor<Scalar, Space>&, const LevelPattern<Space>&, const TriangularOptions&, \
      std::vector<std::string>&);
PREKOND_INSTANTIATE(PREKOND_SYNC_FREE_SOLVE)

}  // namespace prekond::impl::triangular
