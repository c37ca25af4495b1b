// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/batched/direct.hpp>
#include "core/concurrency.hpp"

#include "batched/check.hpp"
#include "batched/direct_kernel.hpp"
#include "batched/instances/launch_definitions.hpp"
#include "batched/results.hpp"
#include "core/instantiate.hpp"
#include "core/team_scratch.hpp"

#include <algorithm>

namespace prekond {
namespace impl::batched {

struct DirectTuning {
  static constexpr int rows_of_few = 64;      // most rows of a tridiagonal system for 8 lanes
  static constexpr int rows_of_vector = 900;  // and for 32 lanes
  static constexpr int numbers_of_few =
      32;  // most numbers that a step of a band's elimination changes, for 8 lanes
  static constexpr int numbers_of_vector = 2048;
};

template <class Scalar, class Space>
class DirectImpl {
 public:
  using Matrix = BatchedBanded<Scalar, Space>;

  explicit DirectImpl(const BatchedDirectOptions& given) : options(resolved(given)) {}

  void symbolic(const Space& space, const Matrix& a) {
    check_sizes(a);
    ready = has_factors = false;
    shape = {static_cast<int>(a.num_rows), a.lower, a.upper, options.pivoting == BatchedPivoting::partial};
    expect(2 * std::int64_t(a.lower) + a.upper + 1 < std::numeric_limits<int>::max(),
           "the factors' columns have to be shorter than 2^31");
    num_systems = a.num_systems();
    const std::int64_t n = a.num_rows;
    if (is_tridiagonal()) {
      solve_config = config(space, {0, n, n, 3 * n});
    } else if (options.stored) {
      solve_config = config(space, {n, is_host_space<Space> ? n : 0});
      factor_config = config(space, {});
      values = allocate<MultiVector<Scalar, Space>>(space, "prekond::batched::band_factors", shape.length(),
                                                    num_systems);
      rows = allocate<MultiVector<int, Space>>(space, "prekond::batched::exchanged_rows", n, num_systems);
      reasons = allocate<Vector<StopReason, Space>>(space, "prekond::batched::factor_reasons", num_systems);
    } else {
      solve_config = config(space, {n, n, shape.length()});
    }
    const std::int64_t slices =
        solve_config.num_teams() * solve_config.systems_per_team * solve_config.layout.spilled_length;
    workspace.spilled = allocate<Vector<Scalar, Space>>(space, "prekond::batched::spilled", slices);
    workspace.next = allocate<Vector<int, Space>>(space, "prekond::batched::next", 1);
    reserve_team_scratch(space, static_cast<std::size_t>(solve_config.scratch_bytes + 16));
    space.fence("prekond::batched::symbolic");
    ready = true;
  }

  void check(const Matrix& a) const {
    expect(ready, "call symbolic before numeric and solve");
    check_sizes(a);
    expect(a.num_rows == shape.num_rows && a.lower == shape.lower && a.upper == shape.upper &&
               a.num_systems() == num_systems,
           "the matrix has other sizes than that of the last symbolic; call symbolic again");
  }

  void check_solve(const Matrix& a, MultiVectorView<const Scalar, Space> b,
                   MultiVectorView<Scalar, Space> x) const {
    check(a);
    check_vectors<Scalar, Space>(a.num_rows, num_systems, b, x, {});
    if (options.stored && !has_factors)
      throw InputError("batched: with the option stored, call numeric before solve");
  }

  void factor(const Space& space, const Matrix& a) {
    const Launcher<Scalar, Space> launcher(space, factor_config, workspace, num_systems);
    launcher.launch("prekond::batched::factor", [&]<int Lanes>(const auto& teams) {
      return FactorBands<Scalar, Space, Lanes>{
          teams,         a.systems(),   shape, {values.data(), static_cast<std::int64_t>(values.stride(1))},
          stored_rows(), reasons.data()};
    });
    has_factors = true;
  }

  void solve(const Space& space, const Matrix& a, MultiVectorView<const Scalar, Space> b,
             MultiVectorView<Scalar, Space> x, bool failed_only, const ConvergenceLog& log) const {
    const DirectCommon<Scalar> common{a.systems(),
                                      {b.data(), static_cast<std::int64_t>(b.stride(1))},
                                      {x.data(), static_cast<std::int64_t>(x.stride(1))},
                                      shape,
                                      options.rtol,
                                      failed_only,
                                      log};
    const Launcher<Scalar, Space> launcher(space, solve_config, workspace, num_systems);
    if (is_tridiagonal()) {
      launcher.launch("prekond::batched::solve_tridiagonal", [&]<int Lanes>(const auto& teams) {
        return SolveBands<SolveTridiagonal<Scalar>, Scalar, Space, Lanes>{teams, {common}};
      });
    } else {
      const Columns<Scalar> factors{values.data(), static_cast<std::int64_t>(values.stride(1))};
      launcher.launch("prekond::batched::solve_bands", [&]<int Lanes>(const auto& teams) {
        return SolveBands<SolveBand<Scalar>, Scalar, Space, Lanes>{
            teams, {common, factors, stored_rows(), reasons.data()}};
      });
    }
  }

  BatchedDirectOptions options;
  bool ready = false, has_factors = false;
  BandShape shape;
  std::int64_t num_systems = 0;

 private:
  /// Whether the tridiagonal method applies, which is as fast as a solve with stored factors would be.
  bool is_tridiagonal() const { return !options.stored && shape.lower == 1 && shape.upper == 1; }

  Columns<int> stored_rows() const { return {rows.data(), static_cast<std::int64_t>(rows.stride(1))}; }

  /// The lanes, by the numbers that a step of the elimination changes, or by the rows of a tridiagonal
  /// system.
  BatchedLanes lanes() const {
    if (options.lanes != BatchedLanes::automatic) return options.lanes;
    const auto choose = [](std::int64_t size, std::int64_t few, std::int64_t vector) {
      return size <= few ? BatchedLanes::few : size <= vector ? BatchedLanes::vector : BatchedLanes::team;
    };
    if (is_tridiagonal())
      return choose(shape.num_rows, DirectTuning::rows_of_few, DirectTuning::rows_of_vector);
    return choose(std::int64_t(shape.lower + 1) * (shape.above() + 1), DirectTuning::numbers_of_few,
                  DirectTuning::numbers_of_vector);
  }

  LaunchConfig config(const Space& space, std::vector<std::int64_t> pieces) const {
    constexpr int reserve =
        16 + SystemTeamLaneGroup<Space, typename Kokkos::TeamPolicy<Space>::member_type>::bytes;
    const std::int64_t most_scratch = Kokkos::TeamPolicy<Space>::scratch_size_max(0) - reserve;
    BatchedOptions common;
    common.scratch = options.scratch;
    common.workspace_budget = options.workspace_budget;
    common.lanes = lanes();
    if (is_tridiagonal() && !is_host_space<Space>)
      pieces[SolveTridiagonal<Scalar>::reduced_piece] = Chunks::work_length(
          shape.num_rows, common.lanes == BatchedLanes::few      ? 8
                          : common.lanes == BatchedLanes::vector ? LaneGroupTuning::team_lanes
                                                                 : LaneGroupTuning::most_threads);
    return make_launch_config(common,
                              {shape.num_rows, num_systems, pieces, 0, sizeof(Scalar), is_host_space<Space>,
                               concurrency(space), most_scratch, ScratchFit::fewer_systems});
  }

  LaunchConfig solve_config, factor_config;
  Workspace<Scalar, Space> workspace;
  MultiVector<Scalar, Space> values;
  MultiVector<int, Space> rows;
  Vector<StopReason, Space> reasons;
};

}  // namespace impl::batched

template <class Scalar, class Space>
BatchedDirect<Scalar, Space>::BatchedDirect(const BatchedDirectOptions& options)
    : m_impl(std::make_unique<impl::batched::DirectImpl<Scalar, Space>>(options)) {}
template <class Scalar, class Space>
BatchedDirect<Scalar, Space>::~BatchedDirect() = default;
template <class Scalar, class Space>
BatchedDirect<Scalar, Space>::BatchedDirect(BatchedDirect&&) noexcept = default;
template <class Scalar, class Space>
BatchedDirect<Scalar, Space>& BatchedDirect<Scalar, Space>::operator=(BatchedDirect&&) noexcept = default;

template <class Scalar, class Space>
const BatchedDirectOptions& BatchedDirect<Scalar, Space>::options() const {
  return m_impl->options;
}

template <class Scalar, class Space>
void BatchedDirect<Scalar, Space>::symbolic(const Space& space, const Matrix& a) {
  m_impl->symbolic(space, a);
}

template <class Scalar, class Space>
void BatchedDirect<Scalar, Space>::numeric(const Space& space, const Matrix& a) {
  m_impl->check(a);
  if (m_impl->options.stored) m_impl->factor(space, a);
}

template <class Scalar, class Space>
void BatchedDirect<Scalar, Space>::solve(const Space& space, const Matrix& a,
                                         MultiVectorView<const Scalar, Space> b,
                                         MultiVectorView<Scalar, Space> x,
                                         BatchedResult<Space>& result) const {
  m_impl->check_solve(a, b, x);
  impl::batched::make_room(space, result, m_impl->num_systems, 0);
  m_impl->solve(space, a, b, x, false, impl::batched::log_of(result));
}

template <class Scalar, class Space>
void BatchedDirect<Scalar, Space>::solve_failed(const Space& space, const Matrix& a,
                                                MultiVectorView<const Scalar, Space> b,
                                                MultiVectorView<Scalar, Space> x,
                                                BatchedResult<Space>& result) const {
  m_impl->check_solve(a, b, x);
  impl::batched::expect(result.num_systems() == m_impl->num_systems,
                        "solve_failed needs the result of a solve of as many systems");
  m_impl->solve(space, a, b, x, true, impl::batched::log_of(result));
}

#define PREKOND_BATCHED_DIRECT(Scalar, Space) template class BatchedDirect<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_BATCHED_DIRECT)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_BATCHED_DIRECT)

}  // namespace prekond
