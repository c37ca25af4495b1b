// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The definitions of batched/launch.hpp, for the units that instantiate them.
#include "batched/kernel.hpp"
#include "batched/launch.hpp"
#include "batched/preconditioners/list.hpp"

namespace prekond::impl::batched {

/// Launches the kernel that make<Lanes>(teams) returns, with the lanes of the configuration.
template <class Scalar, class Space>
class Launcher {
 public:
  Launcher(const Space& space, const LaunchConfig& config, const Workspace<Scalar, Space>& workspace,
           std::int64_t num_systems)
      : m_space(space), m_config(config), m_workspace(workspace), m_num_systems(num_systems) {}

  template <class Make>
  void launch(const char* label, const Make& make) const {
    if (m_num_systems == 0) return;
    if (m_config.is_dynamic) set_zero(m_space, m_workspace.next);
    if constexpr (is_host_space<Space>) {
      with_lanes<1>(label, make);
    } else {
      switch (m_config.lanes) {
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
    teams.layout = m_config.layout;
    teams.spilled = m_workspace.spilled.data();
    teams.next = m_config.is_dynamic ? m_workspace.next.data() : nullptr;
    teams.workers = m_config.workers;
    teams.num_systems = m_num_systems;
    teams.at_once = m_config.at_once;
    typename Teams::Policy policy(m_space, static_cast<int>(m_config.num_teams()), m_config.threads,
                                  m_config.vector_length);
    // 16 more for the alignment
    const std::int64_t bytes = m_config.scratch_bytes + Teams::lane_group_bytes() + 16;
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(bytes)));
    Kokkos::parallel_for(label, policy, make.template operator()<Lanes>(teams));
  }

 private:
  const Space& m_space;
  const LaunchConfig& m_config;
  const Workspace<Scalar, Space>& m_workspace;
  std::int64_t m_num_systems;
};

template <class Method, class Scalar, class Matrix, class Precond>
void launch_solve(const typename Matrix::execution_space& space,
                  const SolveArguments<Scalar, Matrix>& arguments, const Precond& preconditioner) {
  using Solve = SolveSystem<Scalar, Matrix, Method, Precond, HistoryLog>;
  const Solve solve{
      arguments.a.systems(),
      {arguments.b.data(), static_cast<std::int64_t>(arguments.b.stride(1))},
      {arguments.x.data(), static_cast<std::int64_t>(arguments.x.stride(1))},
      preconditioner,
      {arguments.stored.values.data(), static_cast<std::int64_t>(arguments.stored.values.stride(1))},
      arguments.stored.replaced.data(),
      arguments.criteria,
      arguments.log,
      MethodSettings::of(arguments.options, arguments.a.num_rows),
      arguments.workspace.shadow.data()};
  const Launcher<Scalar, typename Matrix::execution_space> launcher(
      space, arguments.config, arguments.workspace, arguments.a.num_systems());
  launcher.launch("prekond::batched::solve", [&]<int Lanes>(const auto& teams) {
    return SolveSystems<Scalar, Matrix, Method, Precond, HistoryLog, Lanes>{teams, solve};
  });
}

template <class Method, class Scalar, class Matrix>
void solve_by(const typename Matrix::execution_space& space,
              const SolveArguments<Scalar, Matrix>& arguments) {
  visit_preconditioner<Scalar>(arguments.options.precond, [&]<class Precond>() {
    if constexpr (!Method::needs_symmetric || Precond::symmetric) {
      using Chosen = typename Preconditioners<Scalar>::template of_kernel<Precond, Method::needs_symmetric>;
      launch_solve<Method>(space, arguments, Chosen(Precond::make(arguments.analysis, arguments.options)));
    }
  });
}

template <class Scalar, class Matrix, class Precond>
void launch_generate(const typename Matrix::execution_space& space,
                     const GenerateArguments<Scalar, Matrix>& arguments, const Precond& preconditioner) {
  const auto& values = arguments.stored.values;
  const Launcher<Scalar, typename Matrix::execution_space> launcher(
      space, arguments.config, arguments.workspace, arguments.a.num_systems());
  launcher.launch("prekond::batched::generate", [&]<int Lanes>(const auto& teams) {
    return GeneratePreconditioners<Scalar, Matrix, Precond, Lanes>{
        teams,
        arguments.a.systems(),
        preconditioner,
        {values.data(), static_cast<std::int64_t>(values.stride(1))},
        arguments.stored.replaced.data()};
  });
}

template <class Scalar, class Matrix>
void generate_preconditioners(const typename Matrix::execution_space& space,
                              const GenerateArguments<Scalar, Matrix>& arguments) {
  visit_preconditioner<Scalar>(arguments.options.precond, [&]<class Precond>() {
    using Chosen = typename Preconditioners<Scalar>::template of_kernel<Precond, false>;
    if constexpr (!Precond::is_identity)
      launch_generate(space, arguments, Chosen(Precond::make(arguments.analysis, arguments.options)));
  });
}

}  // namespace prekond::impl::batched
