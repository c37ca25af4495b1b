// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/batched/convert.hpp>
#include <prekond/batched/result.hpp>
#include <prekond/core/error.hpp>
#include <prekond/matrix/generate.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <limits>
#include <numeric>

namespace prekond::testing {
namespace {

using Space = Kokkos::DefaultExecutionSpace;

/// A result whose systems took these iterations.
BatchedResult<Space> result_of(const std::vector<int>& iterations) {
  const std::size_t n = iterations.size();
  BatchedResult<Space> result;
  result.iterations = Vector<int, Space>("iterations", n);
  result.relative_residual = Vector<double, Space>("relative_residual", n);
  result.reasons = Vector<StopReason, Space>("reasons", n);
  result.replaced_pivots = Vector<int, Space>("replaced_pivots", n);
  result.unsettled_factors = Vector<int, Space>("unsettled_factors", n);
  Kokkos::deep_copy(result.iterations, Kokkos::View<const int*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                                           iterations.data(), n));
  return result;
}

BatchedReport report_of(const std::vector<int>& iterations) {
  return summarize(Space(), result_of(iterations));
}

TEST(BatchedReport, QuartilesOfTheIterations) {
  EXPECT_THAT(report_of({7}).quartiles, ::testing::ElementsAre(7, 7, 7));
  EXPECT_THAT(report_of({4, 1, 3, 2}).quartiles, ::testing::ElementsAre(1, 2, 3));
  EXPECT_THAT(report_of({5, 4, 1, 3, 2}).quartiles, ::testing::ElementsAre(2, 3, 4));
  EXPECT_THAT(report_of({9, 0, 9, 0, 9, 9, 9, 9}).quartiles, ::testing::ElementsAre(0, 9, 9));
  EXPECT_THAT(report_of({}).quartiles, ::testing::ElementsAre(0, 0, 0));
}

TEST(BatchedReport, SystemsWhoseFactorsDidNotSettle) {
  const auto result = result_of({1, 2, 3});
  EXPECT_THAT(summarize(Space(), result).text(), ::testing::Not(::testing::HasSubstr("sweeps")));
  Kokkos::deep_copy(Kokkos::subview(result.unsettled_factors, std::pair(1, 3)), 1);
  const auto report = summarize(Space(), result);
  EXPECT_EQ(report.unsettled_factors, 2);
  EXPECT_THAT(report.text(), ::testing::HasSubstr("2 systems met the bound of par_ilu's sweeps"));
}

TEST(BatchedReport, HistogramOfTheIterations) {
  EXPECT_TRUE(report_of({}).histogram.empty());
  for (const int most : {3, 15, 16, 17, 31, 100, std::numeric_limits<int>::max()}) {
    std::vector<int> iterations = {0, 2, 2, 3};
    for (int k = 0; k < 40; ++k) iterations.push_back(most / 40 * k);
    iterations.push_back(most);
    const auto bins = report_of(iterations).histogram;
    ASSERT_FALSE(bins.empty());
    EXPECT_LE(bins.size(), 16) << most;
    EXPECT_EQ(bins.back().last, most);
    for (std::size_t b = 0; b < bins.size(); ++b) {
      const int expected = b == 0 ? 0 : bins[b - 1].last + 1;
      EXPECT_EQ(bins[b].first, expected);
      const auto in_bin = [&](int k) { return k >= bins[b].first && k <= bins[b].last; };
      EXPECT_EQ(bins[b].systems, std::count_if(iterations.begin(), iterations.end(), in_bin)) << most;
    }
  }
  const auto narrow = report_of({5, 6, 6, 8}).histogram;
  ASSERT_EQ(narrow.size(), 4) << "one bin a number where there are few";
  EXPECT_EQ(narrow[1].systems, 2);
  EXPECT_EQ(narrow[2].systems, 0);
}

template <class Scalar>
auto host_values(const BatchedStorage<BatchedCsr<Scalar, Space>>& batch) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), batch.values);
}

template <class Scalar>
void expect_perturbed(const std::string& spec, double spread) {
  const Space space;
  const auto a = generate<Scalar>(space, spec);
  const auto few = perturbed_batch<Scalar, Space>(space, a, 3, {spread, 5});
  const auto many = perturbed_batch<Scalar, Space>(space, a, 7, {spread, 5});
  const auto other = perturbed_batch<Scalar, Space>(space, a, 3, {spread, 6});
  const auto host = copy_to<Kokkos::HostSpace>(a);
  const auto values = host_values(few), more = host_values(many), others = host_values(other);
  ASSERT_EQ(values.extent(0), host.nnz());
  ASSERT_EQ(many.matrix.num_systems(), 7);
  std::int64_t distinct = 0, off_diagonal = 0, of_seed = 0;
  for (int s = 0; s < 3; ++s) {
    for (int i = 0; i < host.num_rows; ++i) {
      for (std::size_t k = host.row_ptrs(i); k < host.row_ptrs(i + 1); ++k) {
        const int j = host.col_idxs(k);
        ASSERT_EQ(values(k, s), more(k, s)) << "a system depends on the number of them";
        if (i == j) {
          ASSERT_EQ(values(k, s), host.values(k));
          continue;
        }
        if (host.values(k) == Scalar(0)) continue;
        const double factor = Kokkos::abs(values(k, s)) / Kokkos::abs(host.values(k));
        ASSERT_GE(factor, 1 - spread - 1e-6);
        ASSERT_LE(factor, 1 + 1e-6);
        ++off_diagonal;
        distinct += values(k, s) != values(k, (s + 1) % 3);
        of_seed += values(k, s) != others(k, s);
        // The entry across the diagonal has the same factor.
        const auto* begin = host.col_idxs.data() + host.row_ptrs(j);
        const auto* end = host.col_idxs.data() + host.row_ptrs(j + 1);
        const auto across = host.row_ptrs(j) + (std::lower_bound(begin, end, i) - begin);
        ASSERT_NEAR(Kokkos::abs(values(across, s)) / Kokkos::abs(host.values(across)), factor, 1e-6);
      }
    }
  }
  if (spread == 0) {
    EXPECT_EQ(distinct, 0);
  } else {
    EXPECT_GT(distinct, off_diagonal * 99 / 100);
    EXPECT_GT(of_seed, off_diagonal * 99 / 100);
  }
}

TEST(PerturbedBatch, FactorsAreOfTheEntryAndTheSystem) {
  expect_perturbed<double>("poisson2d:7", 0.2);
  expect_perturbed<double>("convection_diffusion3d:4", 1);
  expect_perturbed<float>("elasticity3d:3", 0.5);
  expect_perturbed<Kokkos::complex<double>>("magnetic3d:3", 0.2);
  expect_perturbed<double>("poisson2d:3", 0);
}

TEST(PerturbedBatch, WrongInput) {
  const Space space;
  const auto a = generate<double>(space, "tridiagonal:3");
  for (const double spread : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW((perturbed_batch<double, Space>(space, a, 2, {spread, 1})), InputError);
  EXPECT_EQ((perturbed_batch<double, Space>(space, a, 0).matrix.num_systems()), 0);
}

}  // namespace
}  // namespace prekond::testing
