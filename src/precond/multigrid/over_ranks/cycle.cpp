// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// The cycle over ranks: as that of Hierarchy.
#include "precond/multigrid/over_ranks/level.hpp"

#include "core/instantiate.hpp"
#include "precond/setup/workspace_columns.hpp"

namespace prekond::impl::amg {

template <class Scalar, class Space>
std::unique_ptr<Workspace> LevelOverRanks<Scalar, Space>::make_workspace(const Space& space,
                                                                         int num_vectors) const {
  auto workspace = std::make_unique<LevelWorkspace<Scalar, Space>>();
  workspace->num_vectors = num_vectors;
  const auto block = [&](const char* label, std::int64_t size) {
    return allocate<MultiVector<Scalar, Space>>(space, label, size, num_vectors);
  };
  workspace->residual = block("prekond::amg::residual", m_a.num_rows());
  workspace->correction = block("prekond::amg::correction", m_a.num_rows());
  workspace->remote = block("prekond::amg::remote", m_columns_import->num_remote());
  workspace->smoother = m_smoother->make_workspace(space, num_vectors);
  m_columns_import->reserve(space, num_vectors);
  if (!m_coarse) return workspace;
  workspace->coarse_b = block("prekond::amg::b", m_r.num_rows());
  workspace->coarse_x = block("prekond::amg::x", m_r.num_rows());
  workspace->coarse_remote = block("prekond::amg::remote", m_coarse_import->num_remote());
  workspace->coarse = m_coarse->make_workspace(space, num_vectors);
  m_coarse_import->reserve(space, num_vectors);
  if (!m_takes_two_steps) return workspace;
  workspace->steps = StepVectors<Scalar, Space>(space, m_r.num_rows(), num_vectors);
  workspace->last_product = block("prekond::amg::last_product", m_r.num_rows());
  workspace->reduce = ReduceWorkspace<Scalar, Space>(space, m_r.num_rows());
  m_product->reserve(space, num_vectors);
  return workspace;
}

template <class Scalar, class Space>
void LevelOverRanks<Scalar, Space>::apply(const Space& space, ConstView b, View x,
                                          LevelWorkspace<Scalar, Space>& workspace) const {
  smooth(space, b, x, m_options.pre_sweeps + (m_coarse ? 0 : m_options.post_sweeps), true, workspace);
  if (!m_coarse) return;
  correct(space, b, x, m_options.pre_sweeps == 0, workspace);
  if (m_options.cycle == AmgCycle::w && m_options.is_coarser) {
    smooth(space, b, x, m_options.post_sweeps, false, workspace);
    smooth(space, b, x, m_options.pre_sweeps, false, workspace);
    correct(space, b, x, false, workspace);
  }
  smooth(space, b, x, m_options.post_sweeps, false, workspace);
}

/// x <- x + P B_c P^T (b - A x)
template <class Scalar, class Space>
void LevelOverRanks<Scalar, Space>::correct(const Space& space, ConstView b, View x, bool from_zero,
                                            LevelWorkspace<Scalar, Space>& workspace) const {
  const auto first = [&](const MultiVector<Scalar, Space>& block) {
    return first_columns<Scalar, Space>(block, b.extent(1));
  };
  const View residual = first(workspace.residual), coarse_b = first(workspace.coarse_b),
             coarse_x = first(workspace.coarse_x), coarse_remote = first(workspace.coarse_remote);
  if (!from_zero) m_a.residual(space, Scalar(1), b, x, residual, first(workspace.remote));
  m_r.multiply_transposed(space, from_zero ? b : ConstView(residual), coarse_b, coarse_remote);
  solve_coarser(space, coarse_b, coarse_x, workspace);
  m_p.multiply(space, coarse_x, !from_zero, x, coarse_remote);
}

/// x = B b, see Hierarchy::solve_coarser.
template <class Scalar, class Space>
void LevelOverRanks<Scalar, Space>::solve_coarser(const Space& space, View b, View x,
                                                  LevelWorkspace<Scalar, Space>& workspace) const {
  const auto cycle = [&](ConstView right, View result) {
    m_coarse->apply(space, right, result, *workspace.coarse);
  };
  if (!m_takes_two_steps) return cycle(b, x);
  const Distributed& coarse = m_product->matrix();
  two_steps<Scalar, Space>(
      space, m_options.is_for_spd() ? KSteps::conjugate_gradients : KSteps::minimal_residual, b, x,
      workspace.steps, first_columns<Scalar, Space>(workspace.last_product, b.extent(1)), workspace.reduce,
      coarse.reducer(), cycle, [&](ConstView vector, View product) {
        coarse.product().apply(space, vector, product, Scalar(1), Scalar(0));
      });
}

/// Does `sweeps` steps x <- x + omega M^-1 (b - A x); the first begins with x = 0 where `from_zero`.
template <class Scalar, class Space>
void LevelOverRanks<Scalar, Space>::smooth(const Space& space, ConstView b, View x, int sweeps,
                                           bool from_zero, LevelWorkspace<Scalar, Space>& workspace) const {
  const auto omega = static_cast<Scalar>(m_omega);
  const View residual = first_columns<Scalar, Space>(workspace.residual, b.extent(1)),
             correction = first_columns<Scalar, Space>(workspace.correction, b.extent(1)),
             remote = first_columns<Scalar, Space>(workspace.remote, b.extent(1));
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    if (sweep == 0 && from_zero) {
      m_smoother->apply(space, b, x, *workspace.smoother);
      if (omega != Scalar(1)) combine<Scalar, Space>(space, omega, x, false, x);
      continue;
    }
    m_a.residual(space, omega, b, x, residual, remote);
    m_smoother->apply(space, residual, correction, *workspace.smoother);
    combine<Scalar, Space>(space, Scalar(1), correction, true, x);
  }
}

#define PREKOND_AMG_CYCLE_OVER_RANKS(Scalar, Space)                                                      \
  template std::unique_ptr<Workspace> LevelOverRanks<Scalar, Space>::make_workspace(const Space&, int)   \
      const;                                                                                             \
  template void LevelOverRanks<Scalar, Space>::apply(const Space&, MultiVectorView<const Scalar, Space>, \
                                                     MultiVectorView<Scalar, Space>,                     \
                                                     LevelWorkspace<Scalar, Space>&) const;
PREKOND_INSTANTIATE(PREKOND_AMG_CYCLE_OVER_RANKS)

}  // namespace prekond::impl::amg
