// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The definitions of tasks.hpp, for units that instantiate them.
#include "batched/inverses/list.hpp"
#include "batched/kernel.hpp"
#include "batched/tasks.hpp"

namespace prekond::impl::batched {

/// Launches the kernel that make<Lanes>(teams) makes, with the lanes of the plan.
template <class Scalar, class Space>
class Launcher {
 public:
  Launcher(const Space& space, const Plan& plan, const Workspace<Scalar, Space>& workspace,
           std::int64_t num_systems)
      : m_space(space), m_plan(plan), m_workspace(workspace), m_num_systems(num_systems) {}

  template <class Make>
  void launch(const char* label, const Make& make) const {
    if (m_num_systems == 0) return;
    if (m_plan.in_turns) set_zero(m_space, m_workspace.next);
    if constexpr (is_host_space<Space>) {
      with_lanes<1>(label, make);
    } else {
      switch (m_plan.lanes) {
        case BatchedLanes::few:
          return with_lanes<8>(label, make);
        case BatchedLanes::team:
          return with_lanes<0>(label, make);
        default:
          return with_lanes<32>(label, make);
      }
    }
  }

  template <int Lanes, class Make>
  void with_lanes(const char* label, const Make& make) const {
    using Teams = SystemTeams<Scalar, Space, Lanes>;
    Teams teams;
    teams.placement = m_plan.placement;
    teams.spilled = m_workspace.spilled.data();
    teams.next = m_plan.in_turns ? m_workspace.next.data() : nullptr;
    teams.workers = m_plan.workers;
    teams.num_systems = m_num_systems;
    teams.at_once = m_plan.at_once;
    typename Teams::Policy policy(m_space, static_cast<int>(m_plan.num_teams()), m_plan.threads,
                                  m_plan.vector_length);
    // 16 more for the alignment
    const std::int64_t bytes = m_plan.scratch_bytes + Teams::level_bytes() + 16;
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(bytes)));
    Kokkos::parallel_for(label, policy, make.template operator()<Lanes>(teams));
  }

 private:
  const Space& m_space;
  const Plan& m_plan;
  const Workspace<Scalar, Space>& m_workspace;
  std::int64_t m_num_systems;
};

template <class Method, class Scalar, class Matrix, class Inverse>
void launch_solve(const typename Matrix::execution_space& space, const SolveTask<Scalar, Matrix>& task,
                  const Inverse& inverse) {
  using Solve = SolveSystem<Scalar, Matrix, Method, Inverse, HistoryLog>;
  const Solve solve{task.a.systems(),
                    {task.b.data(), static_cast<std::int64_t>(task.b.stride(1))},
                    {task.x.data(), static_cast<std::int64_t>(task.x.stride(1))},
                    inverse,
                    {task.stored.values.data(), static_cast<std::int64_t>(task.stored.values.stride(1))},
                    task.stored.replaced.data(),
                    task.rule,
                    task.log,
                    MethodSettings::of(task.options, task.a.num_rows),
                    task.workspace.shadow.data()};
  const Launcher<Scalar, typename Matrix::execution_space> launcher(space, task.plan, task.workspace,
                                                                    task.a.num_systems());
  launcher.launch("prekond::batched::solve", [&]<int Lanes>(const auto& teams) {
    return SolveSystems<Scalar, Matrix, Method, Inverse, HistoryLog, Lanes>{teams, solve};
  });
}

template <class Method, class Scalar, class Matrix>
void solve_by(const typename Matrix::execution_space& space, const SolveTask<Scalar, Matrix>& task) {
  visit_inverse<Scalar, Matrix>(task.options.precond, [&]<class Inverse>() {
    if constexpr (!Method::needs_symmetric || Inverse::symmetric) {
      using Chosen =
          typename InversesOf<Scalar, Matrix>::type::template of_kernel<Inverse, Method::needs_symmetric>;
      launch_solve<Method>(space, task, Chosen(Inverse::make(task.analysis, task.options)));
    }
  });
}

template <class Scalar, class Matrix, class Inverse>
void launch_generate(const typename Matrix::execution_space& space, const GenerateTask<Scalar, Matrix>& task,
                     const Inverse& inverse) {
  const auto& values = task.stored.values;
  const Launcher<Scalar, typename Matrix::execution_space> launcher(space, task.plan, task.workspace,
                                                                    task.a.num_systems());
  launcher.launch("prekond::batched::generate", [&]<int Lanes>(const auto& teams) {
    return GenerateInverses<Scalar, Matrix, Inverse, Lanes>{
        teams,
        task.a.systems(),
        inverse,
        {values.data(), static_cast<std::int64_t>(values.stride(1))},
        task.stored.replaced.data()};
  });
}

template <class Scalar, class Matrix>
void generate_inverses(const typename Matrix::execution_space& space,
                       const GenerateTask<Scalar, Matrix>& task) {
  visit_inverse<Scalar, Matrix>(task.options.precond, [&]<class Inverse>() {
    using Chosen = typename InversesOf<Scalar, Matrix>::type::template of_kernel<Inverse, false>;
    if constexpr (!Inverse::is_identity)
      launch_generate(space, task, Chosen(Inverse::make(task.analysis, task.options)));
  });
}

}  // namespace prekond::impl::batched
