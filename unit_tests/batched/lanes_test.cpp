// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/concurrency.hpp"

#include "batched/batch_cases.hpp"
#include "testing/lane_threads.hpp"
#include "testing/reference_batched.hpp"

#include <gtest/gtest.h>

#include "batched/kernel.hpp"
#include "batched/launch_config.hpp"
#include "batched/methods/list.hpp"
#include "batched/methods/shadow_vectors.hpp"
#include "batched/preconditioners/list.hpp"

/// Systems by the lanes of a vector, each a thread of the host's, and by a team of threads: the code for GPUs
/// where there is none.
namespace prekond::testing {
namespace {

using namespace impl::batched;
using Space = Kokkos::DefaultHostExecutionSpace;
using Csr = BatchedCsr<double, Space>;

/// The arguments and results of a solve of system 1.
template <class Method, class Precond>
struct OneSolve {
  using Solve = SolveSystem<double, Csr, Method, Precond, HistoryLog>;

  OneSolve(const HostMatrix<double>& a, double rtol, int max_iters)
      : batch({a, a}), b(random_columns(a.num_rows, 2)) {
    const Space space;
    analysis.num_rows = a.num_rows;
    analysis.num_entries = std::int64_t(a.nnz());
    analysis.pattern = csr_pattern(space, batch.matrix);
    analyse(space, analysis, Precond::parts, BatchedOptions{});
    BatchedOptions options;
    options.restart = 13;
    options.stopping.max_iters = max_iters;
    const Precond preconditioner = Precond::make(analysis, options);
    b_device = to_columns<Space>(b);
    x = MultiVector<double, Space>("prekond::testing::x", a.num_rows, 2);
    log.iterations = iterations;
    log.relative_residual = relative;
    log.reasons = reasons;
    log.replaced_pivots = replaced;
    log.unsettled_factors = unsettled;
    const int s = MethodSettings::of(options, a.num_rows).shadow_dimension;
    shadow.resize(2 * s * a.num_rows);
    std::vector<double> work(s);
    const ScratchLayout layout = make_scratch_layout({s}, 0);
    for (int attempt = 0; attempt < 2; ++attempt) {
      LaneThreads<8> lanes;
      lanes.run([&](const auto& lane_group) {
        MakeShadowVectors<double>{shadow.data(), int(a.num_rows), s}(lane_group, attempt,
                                                                     {nullptr, work.data(), layout});
      });
    }
    lengths = method_pieces<Method>(Precond::is_pointwise, Precond::is_identity, a.num_rows, options);
    lengths.push_back(a.num_rows);
    lengths.push_back(preconditioner.values_length());
    lengths.push_back(preconditioner.work_length(2));
    lengths.push_back(a.num_rows);  // the best x
    const auto stride = std::int64_t(a.num_rows);
    solve = {batch.matrix.systems(),
             {b_device.data(), stride},
             {x.data(), stride},
             preconditioner,
             {},
             nullptr,
             {rtol, 0, nullptr, nullptr, max_iters},
             log,
             MethodSettings::of(options, a.num_rows),
             shadow.data()};
  }

  DeviceBatch<double, Space> batch;
  std::vector<std::vector<double>> b;
  Analysis<Space> analysis;
  MultiVector<double, Space> b_device, x;
  int iterations[2] = {}, replaced[2] = {}, unsettled[2] = {};
  double relative[2] = {};
  StopReason reasons[2] = {};
  std::vector<double> shadow;
  HistoryLog log;
  std::vector<std::int64_t> lengths;
  Solve solve;
};

/// Solves with the first `capacity` numbers in "scratch".
template <int Width, class Method, class Precond>
std::vector<double> by_lanes(OneSolve<Method, Precond>& one, std::int64_t capacity) {
  const ScratchLayout layout = make_scratch_layout(
      one.lengths, capacity, 1u << Method::num_vectors(Precond::is_pointwise, Precond::is_identity));
  std::vector<double> scratch(layout.scratch_length + 1), spilled(layout.spilled_length + 1);
  const SystemMemory<double> memory{scratch.data(), spilled.data(), layout};
  Kokkos::deep_copy(one.x, 0.0);
  LaneThreads<Width> lanes;
  lanes.run([&](const auto& lane_group) { one.solve(lane_group, 1, memory); });
  return column_of(one.x, 1);
}

template <class Method, class Precond>
void check_lanes(const HostMatrix<double>& a, int slack = 1) {
  SCOPED_TRACE("rows " + std::to_string(a.num_rows) + ", method " + std::to_string(int(Method::kind)) +
               ", preconditioner " + std::to_string(int(Precond::kind)));
  OneSolve<Method, Precond> one(a, 1e-10, 500);
  const auto expected = by_lanes<1>(one, 0);
  const int iterations = one.iterations[1];
  ASSERT_TRUE(converged(one.reasons[1])) << to_string(one.reasons[1]);
  for (const std::int64_t capacity : {0, 100, 100000}) {
    const auto found = by_lanes<8>(one, capacity);
    EXPECT_LE(std::abs(one.iterations[1] - iterations), slack);
    EXPECT_EQ(one.replaced[1], 0);
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-8) << i;
  }
}

class BatchedSystemLanes : public LanesTest {};

TEST_F(BatchedSystemLanes, SeveralLanesMatchOneLane) {
  for (const auto& a : {uneven_matrix(1), uneven_matrix(9), uneven_matrix(33), random_general(57, 0.7, 5)}) {
    if (a.num_rows != 57) check_lanes<BicgstabMethod, NoPreconditioner<double>>(a);
    check_lanes<BicgstabMethod, JacobiPreconditioner<double>>(a);
    check_lanes<BicgstabMethod, Ilu0Preconditioner<double>>(a);
    check_lanes<BicgstabMethod, ParIluPreconditioner<double>>(a);
    check_lanes<RichardsonMethod, Ilu0Preconditioner<double>>(a);
    check_lanes<BicgstabMethod, IsaiPreconditioner<double>>(a);
    check_lanes<BicgstabMethod, BlockJacobiPreconditioner<double>>(a);
    if (a.num_rows != 57) check_lanes<GmresMethod, NoPreconditioner<double>>(a);
    check_lanes<GmresMethod, JacobiPreconditioner<double>>(a);
    check_lanes<GmresMethod, Ilu0Preconditioner<double>>(a);
    if (a.num_rows != 57) check_lanes<IdrMethod, NoPreconditioner<double>>(a, 3);
    check_lanes<IdrMethod, JacobiPreconditioner<double>>(a, 3);
    check_lanes<IdrMethod, Ilu0Preconditioner<double>>(a, 3);
  }
  // As many lanes as rows: inner products by a lane each.
  for (const int n : {2, 3, 5, 7, 8}) {
    check_lanes<GmresMethod, NoPreconditioner<double>>(uneven_matrix(n));
    check_lanes<GmresMethod, Ilu0Preconditioner<double>>(uneven_matrix(n));
  }
  for (const auto& a : {problem("poisson2d:6"), random_spd(57, 0.7, 5)}) {
    if (a.num_rows != 57) check_lanes<CgMethod, NoPreconditioner<double>>(a);
    check_lanes<CgMethod, JacobiPreconditioner<double>>(a);
    check_lanes<CgMethod, Ic0Preconditioner<double>>(a);
  }
}

/// Fewer inner products than lanes, and more.
TEST_F(BatchedSystemLanes, InnerProductsByOneOrSeveralLanes) {
  for (const int n : {1, 5, 11}) {
    const int stride = n | 1;
    const auto numbers = random_vector(std::size_t(20 * stride), 5), w = random_vector(std::size_t(n), 6);
    for (int count = 1; count <= 20; ++count) {
      std::vector<double> sums(20, -1), partial(8);
      LaneThreads<8> lanes;
      lanes.run([&](const auto& lane_group) {
        VectorBlock<const double>{numbers.data(), n, stride}.project_by_lanes(lane_group, count, w.data(),
                                                                              sums.data(), partial.data());
      });
      for (int k = 0; k < 20; ++k) {
        double expected = 0;
        for (int i = 0; i < n; ++i) expected += numbers[std::size_t(k * stride + i)] * w[std::size_t(i)];
        ASSERT_NEAR(sums[std::size_t(k)], k < count ? expected : -1, 1e-13)
            << n << ", " << count << ", " << k;
      }
    }
  }
}

/// All systems by teams of two threads, or by one thread each.
template <class Precond, int Lanes>
std::vector<double> by_teams(OneSolve<BicgstabMethod, Precond>& one, bool is_dynamic) {
  using Kernel = SolveSystems<double, Csr, BicgstabMethod, Precond, HistoryLog, Lanes>;
  const Space space;
  Kernel kernel{{}, one.solve};
  kernel.teams.layout = make_scratch_layout(one.lengths, 0);
  kernel.teams.num_systems = 2;
  kernel.teams.workers = is_dynamic ? 1 : 2;
  const Vector<double, Space> spilled("prekond::testing::spilled", 2 * kernel.teams.layout.spilled_length);
  const Vector<int, Space> next("prekond::testing::next", 1);
  kernel.teams.spilled = spilled.data();
  kernel.teams.next = is_dynamic ? next.data() : nullptr;
  Kokkos::deep_copy(one.x, 0.0);
  const int threads = Lanes == 0 ? std::min(2, concurrency(space)) : 1;
  typename Kernel::Teams::Policy policy(space, static_cast<int>(kernel.teams.workers), threads, 1);
  policy.set_scratch_size(0, Kokkos::PerTeam(64));
  Kokkos::parallel_for("prekond::testing::solve", policy, kernel);
  return column_of(one.x, 1);
}

TEST_F(BatchedSystemLanes, TeamsMatchOneLane) {
  const auto check = [](auto& one) {
    const auto expected = by_teams<std::decay_t<decltype(one.solve.preconditioner)>, 1>(one, false);
    ASSERT_TRUE(converged(one.reasons[1]));
    for (const bool is_dynamic : {false, true}) {
      const auto found = by_teams<std::decay_t<decltype(one.solve.preconditioner)>, 0>(one, is_dynamic);
      EXPECT_TRUE(converged(one.reasons[0]));
      EXPECT_TRUE(converged(one.reasons[1]));
      EXPECT_EQ(one.replaced[1], 0);
      for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-8) << i;
    }
  };
  for (const auto& a : {uneven_matrix(65), random_general(57, 0.7, 5)}) {
    OneSolve<BicgstabMethod, JacobiPreconditioner<double>> jacobi(a, 1e-10, 60);
    check(jacobi);
    OneSolve<BicgstabMethod, Ilu0Preconditioner<double>> ilu0(a, 1e-10, 60);
    check(ilu0);
    OneSolve<BicgstabMethod, IsaiPreconditioner<double>> isai(a, 1e-10, 60);
    check(isai);
  }
}

TEST(BatchedLaunchConfig, PiecesGoToScratchByPriority) {
  const ScratchLayout p = make_scratch_layout({10, 100, 7, 10, 3}, 28, 1u << 3);
  EXPECT_EQ(p.in_scratch, 0b10101u);
  EXPECT_EQ(p.offset[0], 0);
  EXPECT_EQ(p.offset[1], 0);
  EXPECT_EQ(p.offset[2], 12);
  EXPECT_EQ(p.offset[4], 20);
  EXPECT_EQ(p.scratch_length, 24);
  EXPECT_EQ(p.spilled_length, 100) << "the fourth has a place elsewhere";
  EXPECT_THROW(make_scratch_layout(std::vector<std::int64_t>(13, 1), 0), std::logic_error);
}

TEST(BatchedLaunchConfig, ACopyOfAPieceIsInTheWorkspaceWhereThatIsNotInScratch) {
  BatchedOptions options;
  options.scratch = 8 * 32 * 16;
  LaunchSizes sizes{16, 1000000, {16, 16}, 1u << 1, 8, false, 132 * 2048, 40000};
  sizes.copied = 1;
  const LaunchConfig in_scratch = make_launch_config(options, sizes);
  EXPECT_TRUE(in_scratch.layout.is_in_scratch(1));
  EXPECT_EQ(in_scratch.layout.spilled_length, 0);
  sizes.pieces = {16, 30};
  const LaunchConfig copied = make_launch_config(options, sizes);
  EXPECT_FALSE(copied.layout.is_in_scratch(1));
  EXPECT_EQ(copied.layout.spilled_length, 32);
  EXPECT_EQ(copied.layout.offset[2], 0);
  EXPECT_FALSE(copied.is_dynamic) << "each worker has one system, as without the copy";
  EXPECT_EQ(copied.workers, 1000000);
}

TEST(BatchedLaunchConfig, LanesAndScratchFollowFromSizes) {
  BatchedOptions options;
  options.scratch = 40000;
  LaunchSizes sizes{16, 1000000, {16, 16, 16}, 0, 8, false, 132 * 2048, 40000};
  LaunchConfig config = make_launch_config(options, sizes);
  EXPECT_EQ(config.lanes, BatchedLanes::few);
  EXPECT_EQ(config.systems_per_team, 16);
  EXPECT_EQ(config.scratch_bytes, 16 * 48 * 8);
  EXPECT_FALSE(config.is_dynamic);
  EXPECT_EQ(config.num_teams(), 62500);
  for (const int rows : {17, 64, 256}) {
    sizes.num_rows = rows;
    EXPECT_EQ(make_launch_config(options, sizes).lanes, BatchedLanes::vector) << rows;
  }
  sizes.pieces = {2000};
  EXPECT_EQ(make_launch_config(options, sizes).systems_per_team, 4) << "what does not fit goes elsewhere";
  sizes.scratch_fit = ScratchFit::fewer_systems;
  sizes.pieces = {1000};
  EXPECT_EQ(make_launch_config(options, sizes).systems_per_team, 4);
  sizes.pieces = {2000};
  EXPECT_EQ(make_launch_config(options, sizes).systems_per_team, 2);
  sizes.pieces = {5000, 3};
  config = make_launch_config(options, sizes);
  EXPECT_EQ(config.systems_per_team, 1);
  EXPECT_EQ(config.threads, 1);
  EXPECT_EQ(config.layout.in_scratch, 1u) << "40000 bytes";
  sizes.scratch_fit = ScratchFit::fewer_systems_if_all_fits;
  EXPECT_EQ(make_launch_config(options, sizes).systems_per_team, 4) << "a single system would be too large";
  sizes.pieces = {4000};
  EXPECT_EQ(make_launch_config(options, sizes).systems_per_team, 1);
  sizes.scratch_fit = ScratchFit::any;
  sizes.num_rows = 257;
  EXPECT_EQ(make_launch_config(options, sizes).lanes, BatchedLanes::team);
  sizes.num_rows = 512;
  sizes.pieces = {512, 100000};
  config = make_launch_config(options, sizes);
  EXPECT_EQ(config.lanes, BatchedLanes::team);
  EXPECT_EQ(config.threads, 8);
  EXPECT_EQ(config.layout.in_scratch, 1u);
  EXPECT_TRUE(config.is_dynamic);
  EXPECT_EQ(config.workers, 132 * 8 < 256000000 / 800000 ? 132 * 8 : 256000000 / 800000);
  options.workspace_budget = 1000000;
  EXPECT_EQ(make_launch_config(options, sizes).workers, 1);
  sizes.most_scratch = 100;
  EXPECT_EQ(make_launch_config(options, sizes).layout.in_scratch, 0u);
  // The size exceeds 32 bits.
  sizes.pieces = {std::int64_t(1) << 33};
  EXPECT_EQ(make_launch_config(options, sizes).layout.spilled_length, std::int64_t(1) << 33);
}

TEST(BatchedLaunchConfig, ThreadsOfAHostTakeSeveralSystemsOfMany) {
  LaunchSizes sizes{16, 1000000, {16}, 0, 8, true, 2, 40000};
  const auto at_once = [&](std::int64_t num_systems) {
    sizes.num_systems = num_systems;
    return make_launch_config(BatchedOptions{}, sizes).at_once;
  };
  EXPECT_EQ(at_once(1000000), 16);
  EXPECT_EQ(at_once(640), 10) << "32 turns for each of two threads";
  EXPECT_EQ(at_once(127), 1);
  EXPECT_EQ(at_once(1), 1);
  EXPECT_EQ(at_once(0), 1);
  sizes.host = false;
  EXPECT_EQ(at_once(1000000), 1);
}

TEST(BatchedLaunchConfig, LanesAreAsManyAsRowsOfALevel) {
  BatchedOptions options;
  LaunchSizes sizes{1000, 100, {1000}, 0, 8, false, 132 * 2048, 40000, ScratchFit::any, 1000};
  EXPECT_EQ(make_launch_config(options, sizes).lanes, BatchedLanes::few) << "a chain of rows";
  sizes.num_levels = 200;
  EXPECT_EQ(make_launch_config(options, sizes).lanes, BatchedLanes::few);
  sizes.num_levels = 199;
  EXPECT_EQ(make_launch_config(options, sizes).lanes, BatchedLanes::vector);
  sizes.num_levels = 16;
  EXPECT_EQ(make_launch_config(options, sizes).lanes, BatchedLanes::vector);
  sizes.num_levels = 15;
  EXPECT_EQ(make_launch_config(options, sizes).lanes, BatchedLanes::team);
  options.lanes = BatchedLanes::few;
  EXPECT_EQ(make_launch_config(options, sizes).lanes, BatchedLanes::few);
}

}  // namespace
}  // namespace prekond::testing
