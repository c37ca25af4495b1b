// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// The cycle.
#include "precond/multigrid/hierarchy.hpp"

#include "core/instantiate.hpp"
#include "precond/multigrid/combine.hpp"
#include "precond/setup/workspace_columns.hpp"

namespace prekond::impl::amg {

template <class Scalar, class Space>
std::unique_ptr<Workspace> Hierarchy<Scalar, Space>::make_workspace(const Space& space,
                                                                    int num_vectors) const {
  auto workspace = std::make_unique<CycleWorkspace<Scalar, Space>>();
  workspace->num_vectors = num_vectors;
  workspace->levels.resize(m_levels.size());
  if (m_levels.size() > 1 && takes_two_steps(1))
    workspace->reduce = ReduceWorkspace<Scalar, Space>(space, m_levels[1].num_rows());
  for (std::size_t l = 0; l < m_levels.size(); ++l) {
    LevelVectors<Scalar, Space>& vectors = workspace->levels[l];
    const auto vector = [&](const char* label) {
      return allocate<MultiVector<Scalar, Space>>(
          space, label, static_cast<std::size_t>(m_levels[l].num_rows()), num_vectors);
    };
    vectors.smoother = m_levels[l].smoother->make_workspace(space, num_vectors);
    if (l > 0) {
      vectors.b = vector("prekond::amg::b");
      vectors.x = vector("prekond::amg::x");
    }
    if (m_levels[l].is_exact) continue;
    vectors.residual = vector("prekond::amg::residual");
    if (takes_two_steps(l))
      vectors.steps = StepVectors<Scalar, Space>(space, m_levels[l].num_rows(), num_vectors);
    if (!m_levels[l].smoother->can_apply_add()) vectors.correction = vector("prekond::amg::correction");
  }
  return workspace;
}

template <class Scalar, class Space>
void Hierarchy<Scalar, Space>::cycle(const Space& space, std::size_t l, ConstView b, View x,
                                     CycleWorkspace<Scalar, Space>& workspace) const {
  const Level<Scalar, Space>& level = m_levels[l];
  if (level.is_exact) return level.smoother->apply(space, b, x, *workspace.levels[l].smoother);
  const bool last = l + 1 == m_levels.size();
  smooth(space, l, b, x, m_options.pre_sweeps + (last ? m_options.post_sweeps : 0), true, workspace);
  if (last) return;
  const bool from_zero = m_options.pre_sweeps == 0;
  correct(space, l, b, x, from_zero, workspace);
  // The finest level's second visit would be a second cycle.
  if (m_options.cycle == AmgCycle::w && (l > 0 || m_options.is_coarser)) {
    smooth(space, l, b, x, m_options.post_sweeps, false, workspace);
    smooth(space, l, b, x, m_options.pre_sweeps, false, workspace);
    correct(space, l, b, x, false, workspace);
  }
  smooth(space, l, b, x, m_options.post_sweeps, false, workspace);
}

/// x <- x + P B_c P^T (b - A x)
template <class Scalar, class Space>
void Hierarchy<Scalar, Space>::correct(const Space& space, std::size_t l, ConstView b, View x, bool from_zero,
                                       CycleWorkspace<Scalar, Space>& workspace) const {
  const Level<Scalar, Space>& level = m_levels[l];
  const LevelVectors<Scalar, Space>&fine = workspace.levels[l], &coarse = workspace.levels[l + 1];
  const View coarse_b = first_columns<Scalar, Space>(coarse.b, b.extent(1)),
             coarse_x = first_columns<Scalar, Space>(coarse.x, b.extent(1));
  if (from_zero) {
    level.transfer.r.multiply(space, b, coarse_b);
  } else {
    const View residual = first_columns<Scalar, Space>(fine.residual, b.extent(1));
    level.a.multiply_recurrence(space, {.product = -1, .source = 1}, x, b, residual);
    level.transfer.r.multiply(space, residual, coarse_b);
  }
  solve_coarser(space, l + 1, coarse_b, coarse_x, workspace);
  if (from_zero)
    level.transfer.p.multiply(space, coarse_x, x);
  else
    level.transfer.p.add_product(space, coarse_x, x);
}

/// x = B b, with B a coarser level's part of the cycle. b may be overwritten.
template <class Scalar, class Space>
void Hierarchy<Scalar, Space>::solve_coarser(const Space& space, std::size_t l, View b, View x,
                                             CycleWorkspace<Scalar, Space>& workspace) const {
  if (!takes_two_steps(l)) return cycle(space, l, b, x, workspace);
  const LevelVectors<Scalar, Space>& vectors = workspace.levels[l];
  two_steps<Scalar, Space>(
      space, m_steps, b, x, vectors.steps, first_columns<Scalar, Space>(vectors.residual, b.extent(1)),
      workspace.reduce, Reducer<Scalar, Space>(),
      [&](ConstView right, View result) { cycle(space, l, right, result, workspace); },
      [&](ConstView vector, View product) { m_levels[l].a.multiply(space, vector, product); });
}

/// Does `sweeps` steps x <- x + omega M^-1 (b - A x); the first begins with x = 0 where `from_zero`.
template <class Scalar, class Space>
void Hierarchy<Scalar, Space>::smooth(const Space& space, std::size_t l, ConstView b, View x, int sweeps,
                                      bool from_zero, CycleWorkspace<Scalar, Space>& workspace) const {
  const Level<Scalar, Space>& level = m_levels[l];
  LevelVectors<Scalar, Space>& vectors = workspace.levels[l];
  const auto omega = static_cast<Scalar>(level.omega);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    if (sweep == 0 && from_zero) {
      level.smoother->apply(space, b, x, *vectors.smoother);
      if (omega != Scalar(1)) combine<Scalar, Space>(space, omega, x, false, x);
      continue;
    }
    const View residual = first_columns<Scalar, Space>(vectors.residual, b.extent(1));
    level.a.multiply_recurrence(space, {.product = -omega, .source = omega}, x, b, residual);
    if (level.smoother->can_apply_add()) {
      level.smoother->apply_add(space, residual, x, *vectors.smoother);
    } else {
      const View correction = first_columns<Scalar, Space>(vectors.correction, b.extent(1));
      level.smoother->apply(space, residual, correction, *vectors.smoother);
      combine<Scalar, Space>(space, Scalar(1), correction, true, x);
    }
  }
}

#define PREKOND_AMG_CYCLE(Scalar, Space)                                                                 \
  template std::unique_ptr<Workspace> Hierarchy<Scalar, Space>::make_workspace(const Space&, int) const; \
  template void Hierarchy<Scalar, Space>::cycle(                                                         \
      const Space&, std::size_t, MultiVectorView<const Scalar, Space>, MultiVectorView<Scalar, Space>,   \
      CycleWorkspace<Scalar, Space>&) const;
PREKOND_INSTANTIATE(PREKOND_AMG_CYCLE)

}  // namespace prekond::impl::amg
