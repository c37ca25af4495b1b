// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The kernel of a solve.
#include <prekond/core/views.hpp>

#include "batched/log.hpp"
#include "batched/solve_context.hpp"

namespace prekond::impl::batched {

/// Columns of a multivector as bare pointers.
template <class T>
struct Columns {
  T* data = nullptr;
  std::int64_t stride = 0;
  KOKKOS_FORCEINLINE_FUNCTION T* operator[](std::int64_t s) const { return data + s * stride; }
};

/// The distribution of systems and memory to the lanes of a kernel.
template <class Scalar, class Space, int Lanes>
struct SystemTeams {
  static constexpr bool is_team = Lanes == 0;
  static constexpr int most_threads =
      is_team ? LaneGroupTuning::most_threads : LaneGroupTuning::shared_threads;
  static constexpr int resident = is_host_space<Space> ? 1 : 512 / most_threads;
  using Policy = Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<unsigned(most_threads), unsigned(resident)>>;
  using Member = typename Policy::member_type;
  static constexpr int width = is_team ? 1 : Lanes;
  using LaneGroup =
      std::conditional_t<is_team, SystemTeamLaneGroup<Space, Member>, NativeLaneGroup<Space, Member, width>>;

  ScratchLayout layout;
  Scalar* spilled = nullptr;  ///< one slice for each worker
  int* next = nullptr;        ///< the next system for a worker; null: each worker has one system
  std::int64_t workers = 0, num_systems = 0;
  int at_once = 1;  ///< systems that a worker takes in one turn

  KOKKOS_FUNCTION static constexpr std::int64_t lane_group_bytes() {
    if constexpr (is_team)
      return SystemTeamLaneGroup<Space, Member>::bytes;
    else
      return 0;
  }

  /// body(lane group, s, memory) for all systems s of this lane group's worker.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_system(const Member& team, const Body& body) const {
    const int team_systems = is_team ? 1 : team.team_size();
    const std::int64_t own = lane_group_bytes();
    const std::int64_t bytes = own + layout.scratch_length * std::int64_t(sizeof(Scalar)) * team_systems;
    char* scratch = nullptr;
    if (bytes > 0) scratch = static_cast<char*>(team.team_shmem().get_shmem_aligned(bytes, 16));
    const int in_team = is_team ? 0 : team.team_rank();
    const std::int64_t worker = std::int64_t(team.league_rank()) * team_systems + in_team;
    if (worker >= workers) return;
    Scalar* own_scratch = reinterpret_cast<Scalar*>(scratch + own) + layout.scratch_length * in_team;
    const SystemMemory<Scalar> memory{own_scratch, spilled + worker * layout.spilled_length, layout};
    if constexpr (is_team)
      run(LaneGroup(team, scratch), worker, memory, body);
    else
      run(LaneGroup(team), worker, memory, body);
  }

 private:
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void run(const LaneGroup& lane_group, std::int64_t worker,
                                       const SystemMemory<Scalar>& memory, const Body& body) const {
    // A single call of `body`, so that it is compiled once.
    std::int64_t s = worker, end = worker + 1;
    while (true) {
      if (next != nullptr) {
        s = take(lane_group);
        end = s + at_once < num_systems ? s + at_once : num_systems;
      }
      for (; s < end; ++s) body(lane_group, s, memory);
      if (next == nullptr || s >= num_systems) return;
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t take(const LaneGroup& lane_group) const {
    const int turn = lane_group.template sum<int>(
        [&](int lane) { return lane == 0 ? Kokkos::atomic_fetch_add(next, 1) : 0; });
    return std::int64_t(turn) * at_once;
  }
};

/// Ends a system whose ||b|| is no measure: b = 0, not finite, or out of range.
template <class Scalar, class LaneGroup, class Log>
PREKOND_OUT_OF_LINE void end_at_once(const LaneGroup lane_group, int n, const Scalar* b, Scalar* x,
                                     const Log log, std::int64_t s) {
  const int nonzero = sum_elements<int>(lane_group, n, [&](int i) { return b[i] == Scalar(0) ? 0 : 1; });
  const int wrong = sum_elements<int>(lane_group, n, [&](int i) { return is_finite(b[i]) ? 0 : 1; });
  if (nonzero == 0) for_elements(lane_group, n, [&](int i) { x[i] = Scalar(0); });
  const StopReason reason = nonzero == 0 ? StopReason::zero_rhs
                            : wrong > 0  ? StopReason::nan
                                         : StopReason::out_of_range;
  log.end(lane_group, s, 0, nonzero == 0 ? 0.0 : Kokkos::Experimental::infinity_v<double>, reason, 0);
  lane_group.join();
}

/// The solve of one system by the lanes of a lane group.
template <class Scalar, class Matrix, class Method, class Precond, class Log>
struct SolveSystem {
  using Systems = decltype(std::declval<Matrix>().systems());
  using Real = real_type_t<Scalar>;

  Systems systems;
  Columns<const Scalar> b;
  Columns<Scalar> x;
  Precond preconditioner;
  Columns<const Scalar> stored;  ///< the values of all preconditioners, or null
  const int* stored_replaced;
  StoppingCriteria criteria;
  Log log;
  MethodSettings settings;
  const Scalar* shadow;  ///< \see SolveContext

  /// The pieces after the method's vectors.
  static constexpr int num_vectors = Method::num_vectors(Precond::is_pointwise, Precond::is_identity);
  static constexpr int x_piece = num_vectors, values_piece = num_vectors + 1, work_piece = num_vectors + 2,
                       best_piece = num_vectors + 3;  ///< the last one where x is not in scratch

  template <class LaneGroup>
  KOKKOS_FUNCTION void operator()(const LaneGroup& lane_group, std::int64_t s,
                                  const SystemMemory<Scalar>& memory) const {
    const auto a = systems.system(s);
    const Scalar* b_s = b[s];
    const double bb =
        sum_elements<double>(lane_group, a.num_rows, [&](int i) { return double_abs2(b_s[i]); });
    // The squares that the methods compute have to be in range.
    constexpr double most = static_cast<double>(Kokkos::Experimental::finite_max_v<Real>);
    constexpr double least =
        static_cast<double>(Kokkos::Experimental::norm_min_v<Real> / Kokkos::Experimental::epsilon_v<Real>);
    if (!(bb >= least && bb <= most)) return end_at_once(lane_group, a.num_rows, b_s, x[s], log, s);
    StoppingState<Scalar> stopping(criteria, s, Kokkos::sqrt(bb));
    // One of the two is x[s]: x in scratch leaves that for the best one.
    const bool own_x = memory.layout.is_in_scratch(x_piece);
    Scalar* const other_x = memory.piece(own_x ? x_piece : best_piece);
    Scalar *x_s = own_x ? other_x : x[s], *best = own_x ? x[s] : other_x;
    for_elements(lane_group, a.num_rows, [&](int i) { other_x[i] = x[s][i]; });
    int replaced = 0;
    const Scalar* values = values_of(lane_group, a, s, memory, replaced);
    const SolveContext<Scalar, LaneGroup, decltype(a), Precond, Log> context{
        lane_group, a,      preconditioner,           values, x_s, memory, stopping, log, s, b_s,
        settings,   shadow, memory.piece(work_piece), best};
    bool again = true;
    while (again) {
      context.residual(memory.piece(Method::residual));
      stopping.begin_cycle();
      Method::iterate(context);
      again = stopping.starts_again(residual_norm(lane_group, a, b_s, x_s, memory.piece(Method::spare)),
                                    Method::restarts);
    }
    const bool back = stopping.goes_back();
    if (own_x != back) for_elements(lane_group, a.num_rows, [&](int i) { x[s][i] = other_x[i]; });
    const double relative = stopping.relative_residual();
    log.end(lane_group, s, stopping.iterations(), Kokkos::isfinite(relative) ? relative : infinity(),
            stopping.reason(), replaced);
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static double infinity() { return Kokkos::Experimental::infinity_v<double>; }

  template <class LaneGroup, class System>
  KOKKOS_FORCEINLINE_FUNCTION const Scalar* values_of(const LaneGroup& lane_group, const System& a,
                                                      std::int64_t s, const SystemMemory<Scalar>& memory,
                                                      int& replaced) const {
    if constexpr (Precond::is_identity) return nullptr;
    if (stored.data) {
      replaced = stored_replaced[s];
      return stored[s];
    }
    Scalar* values = memory.piece(values_piece);
    replaced = preconditioner.generate(lane_group, a, values, memory.piece(work_piece));
    return values;
  }
};

template <class Scalar, class Matrix, class Method, class Precond, class Log, int Lanes>
struct SolveSystems {
  using Teams = SystemTeams<Scalar, typename Matrix::execution_space, Lanes>;
  Teams teams;
  SolveSystem<Scalar, Matrix, Method, Precond, Log> solve;

  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    teams.for_each_system(team, solve);
  }
};

/// The preconditioners of all systems, which are kept for later solves.
template <class Scalar, class Matrix, class Precond, int Lanes>
struct GeneratePreconditioners {
  using Teams = SystemTeams<Scalar, typename Matrix::execution_space, Lanes>;
  Teams teams;  ///< with one piece, the working memory
  decltype(std::declval<Matrix>().systems()) systems;
  Precond preconditioner;
  Columns<Scalar> values;
  int* replaced;

  template <class LaneGroup>
  KOKKOS_FUNCTION void operator()(const LaneGroup& lane_group, std::int64_t s,
                                  const SystemMemory<Scalar>& memory) const {
    const int count = preconditioner.generate(lane_group, systems.system(s), values[s], memory.piece(0));
    lane_group.once([&] { replaced[s] = count; });
  }
  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    teams.for_each_system(team, *this);
  }
};

}  // namespace prekond::impl::batched
