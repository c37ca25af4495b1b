// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched/batch_cases.hpp"
#include "testing/lane_threads.hpp"
#include "testing/reference_lu.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/batched/direct.hpp>
#include <prekond/core/error.hpp>

#include <limits>

#include "batched/direct_kernel.hpp"

namespace prekond::testing {
namespace {

using namespace impl::batched;

template <class Space>
class BatchedDirectTest : public ::testing::Test {};
TYPED_TEST_SUITE(BatchedDirectTest, TestSpaces, SpaceNames);

/// Dense matrices of a band, the systems of a batch.
struct Bands {
  int n, lower, upper;
  std::vector<LongMatrix> systems;

  bool holds(int i, int j) const { return i - j <= lower && j - i <= upper; }
};

enum class Kind { dominant, general, zero_diagonal };

/// Numbers in (-1, 1); dominant: with a diagonal above the sums of the others.
Bands random_bands(int n, int lower, int upper, int count, Kind kind) {
  Bands bands{n, std::min(lower, n - 1), std::min(upper, n - 1), {}};
  for (int s = 0; s < count; ++s) {
    LongMatrix a(n, std::vector<long double>(n, 0));
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        if (!bands.holds(i, j)) continue;
        const auto hash = impl::counter_hash(7, std::uint64_t(s), std::uint64_t(i * 4096 + j));
        a[i][j] = static_cast<float>(2 * impl::unit_interval(hash) - 1);
        if (i == j && kind == Kind::dominant) a[i][j] += a[i][j] < 0 ? -(lower + upper) : lower + upper;
        if (i == j && kind == Kind::zero_diagonal) a[i][j] = 0;
      }
    bands.systems.push_back(a);
  }
  return bands;
}

/// In memory with a leading dimension of one more than there has to be, and numbers that nobody may read.
template <class Scalar, class Space>
struct DeviceBands {
  explicit DeviceBands(const Bands& bands, Scalar factor = Scalar(1), int extra = 1) {
    const int leading = bands.lower + bands.upper + 1 + extra;
    values =
        MultiVector<Scalar, Space>("prekond::testing::values", leading * bands.n + 2, bands.systems.size());
    const auto host = Kokkos::create_mirror_view(values);
    Kokkos::deep_copy(host, Scalar(std::numeric_limits<real_type_t<Scalar>>::quiet_NaN()));
    for (std::size_t s = 0; s < bands.systems.size(); ++s)
      for (int j = 0; j < bands.n; ++j)
        for (int i = 0; i < bands.n; ++i)
          if (bands.holds(i, j))
            host(bands.upper + i - j + j * leading, s) =
                factor * static_cast<real_type_t<Scalar>>(bands.systems[s][i][j]);
    Kokkos::deep_copy(values, host);
    matrix = {bands.n, bands.lower, bands.upper, leading, values};
  }
  BatchedBanded<Scalar, Space> matrix;
  MultiVector<Scalar, Space> values;
};

template <class Scalar>
std::vector<std::vector<Scalar>> columns_in(const std::vector<std::vector<double>>& columns) {
  std::vector<std::vector<Scalar>> result;
  for (const auto& column : columns) result.emplace_back(column.begin(), column.end());
  return result;
}

/// Solves from x = 7, which shows the systems whose x is not written.
template <class Scalar, class Space>
SolvedBatch<Scalar> solve_directly(const BatchedBanded<Scalar, Space>& a,
                                   const std::vector<std::vector<Scalar>>& b,
                                   const BatchedDirectOptions& options = {},
                                   const BatchedResult<Space>* failed = nullptr) {
  const Space space;
  const auto n = static_cast<std::size_t>(a.num_rows);
  const auto rows = Kokkos::make_pair(std::size_t(0), n);
  const auto b_all = device_columns<Scalar, Space>(b, n);
  const auto x_all =
      device_columns<Scalar, Space>(std::vector(b.size(), std::vector<Scalar>(n, Scalar(7))), n);
  const MultiVectorView<const Scalar, Space> b_view = Kokkos::subview(b_all, rows, Kokkos::ALL);
  const MultiVectorView<Scalar, Space> x_view = Kokkos::subview(x_all, rows, Kokkos::ALL);
  BatchedResult<Space> result;
  BatchedDirect<Scalar, Space> direct(options);
  direct.symbolic(space, a);
  direct.numeric(space, a);
  if (failed) {
    result = *failed;
    direct.solve_failed(space, a, b_view, x_view, result);
  } else {
    direct.solve(space, a, b_view, x_view, result);
  }
  SolvedBatch<Scalar> solved;
  solved.report = summarize(space, result);
  const auto x_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, x_all);
  solved.iterations = to_vector(result.iterations);
  solved.relative = to_vector(result.relative_residual);
  solved.reasons = to_vector(result.reasons);
  solved.replaced = to_vector(result.replaced_pivots);
  solved.unsettled = to_vector(result.unsettled_factors);
  for (std::size_t s = 0; s < b.size(); ++s) {
    solved.x.emplace_back(n);
    for (std::size_t i = 0; i < n; ++i) solved.x[s][i] = x_host(i, s);
  }
  return solved;
}

/// The backward error of x, where A x = b: the largest |b - A x| over |A| |x| + |b|, in long double.
template <class Scalar>
long double backward_error(const LongMatrix& a, const std::vector<Scalar>& x, const std::vector<Scalar>& b) {
  long double r_max = 0, size_max = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    long double r = b[i], size = std::abs((long double)(b[i]));
    for (std::size_t j = 0; j < x.size(); ++j) {
      r -= a[i][j] * (long double)(x[j]);
      size += std::abs(a[i][j] * (long double)(x[j]));
    }
    r_max = std::max(r_max, std::abs(r));
    size_max = std::max(size_max, size);
  }
  return r_max / size_max;
}

template <class Scalar, class Space>
void expect_solved(const Bands& bands, const BatchedDirectOptions& options) {
  SCOPED_TRACE("rows " + std::to_string(bands.n) + ", bandwidths " + std::to_string(bands.lower) + " and " +
               std::to_string(bands.upper) + ", systems " + std::to_string(bands.systems.size()) +
               ", stored " + std::to_string(options.stored));
  const DeviceBands<Scalar, Space> device(bands);
  const auto b = columns_in<Scalar>(random_columns(bands.n, bands.systems.size()));
  const auto solved = solve_directly<Scalar, Space>(device.matrix, b, options);
  constexpr double epsilon = std::numeric_limits<Scalar>::epsilon();
  for (std::size_t s = 0; s < b.size(); s += 1 + b.size() / 7) {
    ASSERT_EQ(solved.reasons[s], StopReason::rtol) << "system " << s;
    ASSERT_EQ(solved.iterations[s], 0);
    ASSERT_LE(backward_error(bands.systems[s], solved.x[s], b[s]), 100 * epsilon) << "system " << s;
    EXPECT_LE(solved.relative[s], options.rtol);
    if (bands.n > 70) continue;
    const auto expected = general_solve(bands.systems[s], std::vector<long double>(b[s].begin(), b[s].end()));
    long double largest = 0, inverse = 0;
    for (const auto x : expected) largest = std::max(largest, std::abs(x));
    for (const auto x : last_of_inverse(bands.systems[s]).column) inverse = std::max(inverse, std::abs(x));
    for (int i = 0; i < bands.n; ++i)
      ASSERT_NEAR(double(solved.x[s][i]), double(expected[i]),
                  double(1e5L * epsilon * (1 + inverse) * (1 + largest)))
          << i << " of system " << s;
  }
}

TYPED_TEST(BatchedDirectTest, SolvesBands) {
  BatchedDirectOptions kept;
  kept.stored = true;
  for (const int n : {1, 2, 3, 7, 8, 9, 31, 33, 64, 257})
    for (const auto& [lower, upper] : {std::pair(0, 0), {1, 0}, {0, 2}, {1, 1}, {2, 1}, {3, 5}, {5, 2}})
      for (const Kind kind : {Kind::dominant, Kind::general}) {
        // Their condition grows exponentially with the rows, of triangles most.
        if (kind == Kind::general && (n > 64 || lower == 0 || upper == 0)) continue;
        const Bands bands = random_bands(n, lower, upper, 3, kind);
        expect_solved<double, TypeParam>(bands, {});
        if (n < 40) expect_solved<double, TypeParam>(bands, kept);
      }
}

TYPED_TEST(BatchedDirectTest, SolvesManyTridiagonalSystems) {
  for (const int n : {2, 5, 16, 17, 63, 65, 100, 512, 1031})
    for (const int count : {1, 2, 33, 1000}) {
      if (n > 20 && count > 33) continue;
      expect_solved<double, TypeParam>(random_bands(n, 1, 1, count, Kind::dominant), {});
      expect_solved<double, TypeParam>(random_bands(n, 1, 1, count, Kind::general), {});
    }
}

TYPED_TEST(BatchedDirectTest, ExchangesRowsWhereTheDiagonalIsZero) {
  for (const int n : {2, 4, 8, 30, 64})  // of an even number of rows: not singular
    for (const auto& [lower, upper] : {std::pair(1, 1), {2, 1}, {3, 3}})
      expect_solved<double, TypeParam>(random_bands(n, lower, upper, 9, Kind::zero_diagonal), {});
}

TYPED_TEST(BatchedDirectTest, InSinglePrecision) {
  for (const int n : {1, 9, 64, 257})
    for (const auto& [lower, upper] : {std::pair(1, 1), {2, 1}})
      expect_solved<float, TypeParam>(random_bands(n, lower, upper, 9, Kind::dominant), {});
}

TYPED_TEST(BatchedDirectTest, InComplexNumbers) {
  using Complex = Kokkos::complex<double>;
  const Complex factor(0.6, 0.8);
  for (const int n : {1, 9, 64})
    for (const auto& [lower, upper] : {std::pair(1, 1), {2, 1}}) {
      const Bands bands = random_bands(n, lower, upper, 9, Kind::general);
      const DeviceBands<Complex, TypeParam> device(bands, factor);
      const DeviceBands<double, TypeParam> real(bands);
      const auto b = random_columns(n, 9);
      const auto solved = solve_directly<Complex, TypeParam>(device.matrix, columns_in<Complex>(b));
      const auto expected = solve_directly<double, TypeParam>(real.matrix, b);
      for (int s = 0; s < 9; ++s)
        for (int i = 0; i < n; ++i)
          ASSERT_NEAR(Kokkos::abs(factor * solved.x[s][i] - expected.x[s][i]), 0,
                      1e-8 * (1 + std::abs(expected.x[s][i])))
              << i << " of system " << s;
    }
}

TYPED_TEST(BatchedDirectTest, TheScratchLayoutDoesNotChangeResults) {
  for (const auto& [lower, upper] : {std::pair(1, 1), {2, 3}})
    for (const bool stored : {false, true}) {
      const Bands bands = random_bands(65, lower, upper, 40, Kind::general);
      const DeviceBands<double, TypeParam> device(bands);
      const auto b = random_columns(65, 40);
      BatchedDirectOptions options;
      options.stored = stored;
      const auto expected = solve_directly<double, TypeParam>(device.matrix, b, options);
      for (const int scratch : {0, 1000, 6000}) {
        options.scratch = scratch;
        options.workspace_budget = 1000000;
        const auto found = solve_directly<double, TypeParam>(device.matrix, b, options);
        for (int s = 0; s < 40; ++s) ASSERT_TRUE(found.same(s, expected, s)) << scratch << ", system " << s;
      }
    }
}

/// System 1 is singular, 2 has a NaN, 3 a right-hand side of zeros, 4 one with a NaN: each ends by itself.
TYPED_TEST(BatchedDirectTest, ReasonsOfSystemsThatCannotBeSolved) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [lower, upper] : {std::pair(1, 1), {2, 1}})
    for (const int n : {5, 40})
      for (const bool stored : {false, true}) {
        Bands bands = random_bands(n, lower, upper, 7, Kind::general);
        auto b = random_columns(n, 7);
        BatchedDirectOptions options;
        options.stored = stored;
        const DeviceBands<double, TypeParam> sound(bands);
        const auto expected = solve_directly<double, TypeParam>(sound.matrix, b, options);
        for (int i = 0; i < n; ++i) bands.systems[1][i][n / 2] = 0;
        bands.systems[2][n / 3][n / 3] = nan;
        b[3].assign(n, 0.0);
        b[4][n - 1] = nan;
        const DeviceBands<double, TypeParam> device(bands);
        const auto solved = solve_directly<double, TypeParam>(device.matrix, b, options);
        EXPECT_EQ(solved.reasons[1], StopReason::breakdown_singular);
        EXPECT_EQ(solved.reasons[2], StopReason::nan);
        EXPECT_EQ(solved.reasons[3], StopReason::zero_rhs);
        EXPECT_EQ(solved.reasons[4], StopReason::nan);
        for (const int s : {0, 5, 6}) EXPECT_TRUE(solved.same(s, expected, s)) << s;
        for (const int s : {1, 2, 4}) EXPECT_EQ(solved.x[s], std::vector<double>(n, 7.0)) << "not written";
        EXPECT_EQ(solved.x[3], std::vector<double>(n, 0.0));
        EXPECT_EQ(solved.report.num_converged, 4);
      }
}

TYPED_TEST(BatchedDirectTest, AcceptsSquaresOutOfRange) {
  for (const double size : {1e-200, 1e200})
    for (const auto& [lower, upper] : {std::pair(1, 1), {2, 1}}) {
      const Bands bands = random_bands(33, lower, upper, 2, Kind::dominant);
      const DeviceBands<double, TypeParam> device(bands);
      auto b = random_columns(33, 2);
      const auto expected = solve_directly<double, TypeParam>(device.matrix, b);
      for (auto& column : b)
        for (double& value : column) value *= size;
      const auto solved = solve_directly<double, TypeParam>(device.matrix, b);
      ASSERT_EQ(solved.reasons[1], StopReason::rtol);
      EXPECT_LE(solved.relative[1], 1e-13);
      for (int i = 0; i < 33; ++i) ASSERT_NEAR(solved.x[1][i] / size, expected.x[1][i], 1e-13);
    }
}

TYPED_TEST(BatchedDirectTest, WithoutPivotingTheResidualDetectsInstability) {
  BatchedDirectOptions options;
  options.pivoting = BatchedPivoting::none;
  for (const auto& [lower, upper] : {std::pair(1, 1), {2, 1}}) {
    expect_solved<double, TypeParam>(random_bands(33, lower, upper, 5, Kind::dominant), options);
    Bands bands = random_bands(33, lower, upper, 2, Kind::dominant);
    bands.systems[1][0][0] = 0;
    const DeviceBands<double, TypeParam> device(bands);
    const auto solved = solve_directly<double, TypeParam>(device.matrix, random_columns(33, 2), options);
    EXPECT_EQ(solved.reasons[0], StopReason::rtol);
    EXPECT_FALSE(converged(solved.reasons[1]));
    EXPECT_EQ(solved.x[1], std::vector<double>(33, 7.0));
  }
}

TYPED_TEST(BatchedDirectTest, SolveFailedSolvesOnlyFailedSystems) {
  const TypeParam space;
  const Bands bands = random_bands(20, 1, 1, 4, Kind::dominant);
  const DeviceBands<double, TypeParam> device(bands);
  const auto b = random_columns(20, 4);
  const auto expected = solve_directly<double, TypeParam>(device.matrix, b);
  BatchedResult<TypeParam> before;
  BatchedSolver<double, BatchedBanded<double, TypeParam>> solver(
      options_of(BatchedMethod::bicgstab, BatchedPreconditioner::none, 1e-10, 1));
  const auto b_device = device_columns<double, TypeParam>(b, 20);
  const MultiVector<double, TypeParam> x("prekond::testing::x", 20, 4);
  solver.symbolic(space, device.matrix);
  const auto rows = Kokkos::make_pair(0, 20);
  solver.solve(space, device.matrix, Kokkos::subview(b_device, rows, Kokkos::ALL), x, before);
  ASSERT_EQ(summarize(space, before).num_converged, 0);
  Kokkos::deep_copy(Kokkos::subview(before.reasons, 2), StopReason::atol);
  const auto solved = solve_directly<double, TypeParam>(device.matrix, b, {}, &before);
  for (const int s : {0, 1, 3}) EXPECT_TRUE(solved.same(s, expected, s)) << s;
  EXPECT_EQ(solved.x[2], std::vector<double>(20, 7.0));
  EXPECT_EQ(solved.reasons[2], StopReason::atol);
}

TYPED_TEST(BatchedDirectTest, ChecksSizes) {
  const TypeParam space;
  const DeviceBands<double, TypeParam> device(random_bands(9, 1, 2, 3, Kind::dominant));
  const DeviceBands<double, TypeParam> other(random_bands(9, 2, 1, 3, Kind::dominant));
  const MultiVector<double, TypeParam> b("b", 9, 3), x("x", 9, 3), short_x("x", 8, 3);
  BatchedResult<TypeParam> result;
  BatchedDirectOptions options;
  options.stored = true;
  BatchedDirect<double, TypeParam> direct(options);
  EXPECT_THROW(direct.solve(space, device.matrix, b, x, result), InputError) << "before symbolic";
  direct.symbolic(space, device.matrix);
  EXPECT_THROW(direct.solve(space, device.matrix, b, x, result), InputError) << "before numeric";
  direct.numeric(space, device.matrix);
  EXPECT_THROW(direct.solve(space, other.matrix, b, x, result), InputError);
  EXPECT_THROW(direct.solve(space, device.matrix, b, short_x, result), InputError);
  EXPECT_THROW(direct.solve_failed(space, device.matrix, b, x, result), InputError) << "no result";
  direct.solve(space, device.matrix, b, x, result);
  EXPECT_EQ(result.num_systems(), 3);
}

/// The code for a vector of lanes, each a thread of the host's.
class BatchedDirectLanes : public LanesTest {};

template <int Width, class Solve>
std::vector<double> by_lanes(const Solve& solve,
                             const MultiVector<double, Kokkos::DefaultHostExecutionSpace>& x,
                             const std::vector<std::int64_t>& lengths) {
  const ScratchLayout layout = make_scratch_layout(lengths, 0);
  std::vector<double> spilled(layout.spilled_length + 1);
  const SystemMemory<double> memory{nullptr, spilled.data(), layout};
  Kokkos::deep_copy(x, 7.0);
  LaneThreads<Width> lanes;
  lanes.run([&](const auto& lane_group) { solve(lane_group, 0, memory); });
  return column_of(x, 0);
}

TEST_F(BatchedDirectLanes, SeveralLanesMatchOneLane) {
  using Space = Kokkos::DefaultHostExecutionSpace;
  for (const int n : {2, 3, 7, 8, 9, 24, 33, 100})
    for (const auto& [lower, upper] : {std::pair(1, 1), {1, 0}, {2, 3}})
      for (const Kind kind : {Kind::dominant, Kind::general, Kind::zero_diagonal}) {
        if (kind == Kind::zero_diagonal && n % 2 == 1) continue;
        const Bands bands = random_bands(n, lower, upper, 1, kind);
        if (upper == 0 && kind != Kind::dominant) continue;
        SCOPED_TRACE("rows " + std::to_string(n) + ", bandwidths " + std::to_string(bands.lower) + " and " +
                     std::to_string(bands.upper) + ", kind " + std::to_string(int(kind)));
        const DeviceBands<double, Space> device(bands);
        const auto b = random_columns(n, 1);
        const auto expected = solve_directly<double, Space>(device.matrix, b);
        const auto b_device = to_columns<Space>(b);
        const MultiVector<double, Space> x("prekond::testing::x", n, 1);
        int iterations = 0, replaced = 0, unsettled = 0;
        double relative = 0;
        StopReason reason{};
        const BandShape shape{n, bands.lower, bands.upper, true};
        const DirectCommon<double> common{device.matrix.systems(),
                                          {b_device.data(), n},
                                          {x.data(), n},
                                          shape,
                                          1e-3,
                                          false,
                                          {&iterations, &relative, &reason, &replaced, &unsettled}};
        const auto found =
            lower == 1 && upper == 1
                ? by_lanes<8>(SolveTridiagonal<double>{common}, x, {Chunks::work_length(n, 8), n, n, 3 * n})
                : by_lanes<8>(SolveBand<double>{common, {}, {}, nullptr}, x, {n, n, shape.length()});
        ASSERT_EQ(reason, StopReason::rtol);
        EXPECT_LE(backward_error(bands.systems[0], found, b[0]), 1e-14);
        EXPECT_LE(backward_error(bands.systems[0], expected.x[0], b[0]), 1e-14);
      }
}

/// Chunks without a check by the residual: the elimination itself.
TEST_F(BatchedDirectLanes, ChunksSolveDominantSystems) {
  for (int n = 1; n < 70; ++n) {
    const Bands bands = random_bands(n, 1, 1, 1, Kind::dominant);
    const auto b = random_columns(n, 1);
    std::vector<double> values(3 * n), x = b[0], inverses(n), reduced(Chunks::work_length(n, 8));
    for (int j = 0; j < n; ++j)
      for (int i = std::max(0, j - 1); i <= std::min(n - 1, j + 1); ++i)
        values[1 + i - j + 3 * j] = double(bands.systems[0][i][j]);
    const TridiagonalChunks<double> chunks{{values.data()}, x.data(), inverses.data(), reduced.data()};
    LaneThreads<8> lanes;
    lanes.run([&](const auto& lane_group) { chunks.solve(lane_group, n); });
    ASSERT_LE(backward_error(bands.systems[0], x, b[0]), 1e-15) << "rows " << n;
  }
}

}  // namespace
}  // namespace prekond::testing
