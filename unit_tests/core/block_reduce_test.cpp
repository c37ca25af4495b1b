// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/one_thread.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/core/impl/block_reduce.hpp>

#include <cmath>
#include <random>

namespace prekond::testing {
namespace {

const std::vector<int> awkward_sizes = {0, 1, 2, 3, 255, 256, 257, 511, 512, 513, 1024, 5000, 100003};

/// K sums that tell apart: sum k is that of (k + 1) x_i. Writes y as well, as the solvers' bodies do.
template <int K, class Scalar, class Space>
struct WeightedSums {
  VectorView<const Scalar, Space> x;
  VectorView<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(std::int64_t i, Scalar* sum) const {
    for (int k = 0; k < K; ++k) sum[k] += Scalar(k + 1) * x(i);
    y(i) = Scalar(2) * x(i);
  }
};

/// A sum over more elements than anyone stores: counts them, and those that are multiples of 3.
struct CountElements {
  KOKKOS_FUNCTION void operator()(std::int64_t i, double* sum) const {
    sum[0] += 1;
    sum[1] += i % 3 == 0 ? 1 : 0;
  }
};

/// The sum in blocks, and the blocks' sums in their order.
template <class Scalar>
Scalar blocked_sum(const std::vector<Scalar>& x, std::int64_t block, Scalar factor) {
  Scalar total = 0;
  for (std::size_t begin = 0; begin < x.size(); begin += block) {
    Scalar sum = 0;
    for (std::size_t i = begin; i < std::min(x.size(), begin + block); ++i) sum += factor * x[i];
    total += sum;
  }
  return total;
}

template <class Scalar>
std::vector<Scalar> whole_numbers(int n) {
  std::mt19937 random(n);
  std::vector<Scalar> x(n);
  for (Scalar& value : x) value = Scalar(int(random() % 21) - 9);
  return x;
}

template <class Scalar>
std::vector<Scalar> fractions(int n) {
  std::mt19937 random(n);
  std::vector<Scalar> x(n);
  for (Scalar& value : x) value = Scalar(random()) / Scalar(1u << 31) - Scalar(0.7);
  return x;
}

template <int K, class Scalar, class Space>
std::vector<Scalar> reduce(const Space& space, const std::vector<Scalar>& x) {
  const auto n = static_cast<std::int64_t>(x.size());
  const auto device = to_device<Space>(x);
  Vector<Scalar, Space> y("y", n), result("result", K + 1);
  Kokkos::deep_copy(result, Scalar(-77));
  const ReduceWorkspace<Scalar, Space> workspace(space, n);
  block_reduce<K, Scalar, Space>(space, "prekond::testing::sums", n, workspace, result,
                                 WeightedSums<K, Scalar, Space>{device, y});
  space.fence();
  const auto doubled = to_vector(y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (doubled[i] != 2 * x[i]) {
      ADD_FAILURE() << "the body was not called once for element " << i;
      break;
    }
  }
  const auto values = to_vector(result);
  EXPECT_EQ(values[K], Scalar(-77)) << "wrote behind the result";
  return {values.begin(), values.begin() + K};
}

template <int K, class Scalar, class Space>
void check_sums() {
  const Space space;
  for (int n : awkward_sizes) {
    // Whole numbers: every order gives the same sum.
    const auto whole = whole_numbers<Scalar>(n);
    const auto exact = reduce<K>(space, whole);
    const auto x = fractions<Scalar>(n);
    const auto sums = reduce<K>(space, x);
    const auto again = reduce<K>(space, x);
    const std::int64_t block = ReduceWorkspace<Scalar, Space>::block_size(n);
    for (int k = 0; k < K; ++k) {
      ASSERT_EQ(exact[k], blocked_sum(whole, block, Scalar(k + 1))) << "n " << n << " sum " << k;
      const Scalar expected = blocked_sum(x, block, Scalar(k + 1));
      if constexpr (is_host_space<Space> && K == 1) {
        ASSERT_EQ(sums[k], expected) << "n " << n;  // one thread a block, one element after the other
      }
      ASSERT_NEAR(sums[k], expected,
                  4 * std::sqrt(n + 1.0) * (k + 1) * std::numeric_limits<Scalar>::epsilon() *
                      (1 + std::abs(expected)))
          << "n " << n << " sum " << k;
      ASSERT_EQ(std::memcmp(&sums[k], &again[k], sizeof(Scalar)), 0) << "n " << n << " sum " << k;
    }
  }
}

template <class Space>
class BlockReduceTest : public ::testing::Test {};
TYPED_TEST_SUITE(BlockReduceTest, TestSpaces, SpaceNames);

TYPED_TEST(BlockReduceTest, EqualsASequentialSumInBlocks) {
  check_sums<1, double, TypeParam>();
  check_sums<2, double, TypeParam>();
  check_sums<3, double, TypeParam>();
  check_sums<4, double, TypeParam>();
  check_sums<1, float, TypeParam>();
  check_sums<4, float, TypeParam>();
}

TYPED_TEST(BlockReduceTest, SumsOfTeams) {
  const TypeParam space;
  const ReduceWorkspace<double, TypeParam> workspace(space, 7000000);
  for (const int count : {1, 2, 1023, 1024, 1025, 8191, 8192, 8193, 30001}) {
    const auto partials = whole_numbers<double>(count);
    const VectorView<double, TypeParam> first(workspace.partials().data(), count);
    Kokkos::deep_copy(first, to_device<TypeParam>(partials));
    Vector<double, TypeParam> result("result", 2);
    Kokkos::deep_copy(result, -77);
    const VectorView<double, TypeParam> sum(result.data(), 1);
    add_team_sums<double, TypeParam>(space, "prekond::testing::team_sums", count, workspace, sum);
    space.fence();
    EXPECT_EQ(to_vector(result)[0], blocked_sum(partials, count, 1.0)) << count;
    EXPECT_EQ(to_vector(result)[1], -77) << count;
  }
}

TYPED_TEST(BlockReduceTest, ASumForEachTeam) {
  using Workspace = ReduceWorkspace<double, TypeParam>;
  constexpr bool on_device = !is_host_space<TypeParam>;
  EXPECT_EQ(Workspace::most_teams(0), on_device ? 1 : 0);
  EXPECT_EQ(Workspace::most_teams(64), on_device ? 1 : 0);
  EXPECT_EQ(Workspace::most_teams(65), on_device ? 2 : 0);
  const std::int64_t n = std::int64_t(1) << 22;  // more teams than sums of blocks
  const Workspace workspace(TypeParam(), n);
  EXPECT_TRUE(workspace.fits_teams(n));
  EXPECT_EQ(workspace.fits_teams(n + 1), !on_device);
  EXPECT_TRUE(workspace.fits(Workspace::most_blocks(n)));
}

TYPED_TEST(BlockReduceTest, BlocksDependOnTheSizeAlone) {
  using Workspace = ReduceWorkspace<double, TypeParam>;
  constexpr bool on_device = !is_host_space<TypeParam>;
  constexpr std::int64_t smallest = on_device ? 128 : 512, most = on_device ? 512 : 8192;
  EXPECT_EQ(Workspace::num_blocks(0), 1);
  EXPECT_EQ(Workspace::num_blocks(1), 1);
  EXPECT_EQ(Workspace::num_blocks(smallest), 1);
  EXPECT_EQ(Workspace::num_blocks(smallest + 1), 2);
  EXPECT_EQ(Workspace::num_blocks(512), on_device ? 4 : 1);
  EXPECT_EQ(Workspace::num_blocks(513), on_device ? 5 : 2);
  EXPECT_EQ(Workspace::block_size(smallest * most), smallest);
  EXPECT_EQ(Workspace::block_size(smallest * most + 1), on_device ? 256 : 513);
  EXPECT_EQ(Workspace::block_size(256 * 512 + 1), 512);
  for (std::int64_t n :
       {std::int64_t(100003), std::int64_t(4300001), std::int64_t(3) << 31, (std::int64_t(1) << 40) + 1}) {
    EXPECT_LE(Workspace::num_blocks(n), most);
    EXPECT_GE(Workspace::num_blocks(n) * Workspace::block_size(n), n);
    EXPECT_LT((Workspace::num_blocks(n) - 1) * Workspace::block_size(n), n);
  }
}

/// Where blocks get longer, their number falls: 8192 of 512 elements, and 8177 of 513.
TYPED_TEST(BlockReduceTest, AWorkspaceFitsWhateverIsShorter) {
  using Workspace = ReduceWorkspace<double, TypeParam>;
  const TypeParam space;
  for (const std::int64_t full : {std::int64_t(128) * 512, std::int64_t(512) * 8192}) {
    const Workspace workspace(space, full + 1);
    for (const std::int64_t n : {full + 1, full, full - 1, full / 2, std::int64_t(0)})
      EXPECT_TRUE(workspace.fits(Workspace::num_blocks(n))) << n << " of " << full + 1;
    Vector<double, TypeParam> result("result", 2);
    EXPECT_NO_THROW((block_reduce<2, double, TypeParam>(space, "prekond::testing::count", full, workspace,
                                                        result, CountElements())));
    space.fence();
    EXPECT_EQ(to_vector(result), (std::vector<double>{double(full), double((full + 2) / 3)}));
  }
  EXPECT_EQ(Workspace::most_blocks(0), 1);
  std::int64_t most = 1;
  for (std::int64_t n = 1; n < std::int64_t(600) * 8192; n += 127) {
    most = std::max(most, Workspace::num_blocks(n));
    ASSERT_GE(Workspace::most_blocks(n), most) << n;
  }
  EXPECT_EQ(Workspace::most_blocks(std::int64_t(1) << 40), is_host_space<TypeParam> ? 8192 : 512);
}

TYPED_TEST(BlockReduceTest, LongBlocks) {
  const TypeParam space;
  const std::int64_t n = 4300001;
  const ReduceWorkspace<double, TypeParam> workspace(space, n);
  Vector<double, TypeParam> result("result", 2);
  block_reduce<2, double, TypeParam>(space, "prekond::testing::count", n, workspace, result, CountElements());
  space.fence();
  EXPECT_EQ(to_vector(result), (std::vector<double>{double(n), double((n + 2) / 3)}));
}

TYPED_TEST(BlockReduceTest, AThousandReductionsShareOneWorkspace) {
  const TypeParam space;
  const int repeats = 1000;
  const int largest = 100003;
  const auto x = whole_numbers<double>(largest);
  const auto device = to_device<TypeParam>(x);
  Vector<double, TypeParam> y("y", largest), results("results", repeats);
  std::vector<double> prefix(largest + 1, 0);
  for (int i = 0; i < largest; ++i) prefix[i + 1] = prefix[i] + x[i];
  const ReduceWorkspace<double, TypeParam> workspace(space, largest);
  // No fence in between: each finds the workspace as the one before left it.
  std::vector<double> expected;
  for (int k = 0; k < repeats; ++k) {
    const int n = k % 40 == 0 ? largest : (k * 37) % 2600;
    block_reduce<1, double, TypeParam>(space, "prekond::testing::sums", n, workspace,
                                       VectorView<double, TypeParam>(results.data() + k, 1),
                                       WeightedSums<1, double, TypeParam>{device, y});
    expected.push_back(prefix[n]);
  }
  space.fence();
  EXPECT_EQ(to_vector(results), expected);
}

TYPED_TEST(BlockReduceTest, SameBitsForAnyNumberOfThreads) {
  const TypeParam whole;
  const auto x = fractions<double>(100003);
  const auto expected = reduce<3>(whole, x);
  const auto sums = reduce<3>(of_one_thread<TypeParam>(), x);
  EXPECT_EQ(std::memcmp(sums.data(), expected.data(), 3 * sizeof(double)), 0);
}

TYPED_TEST(BlockReduceTest, RefusesATooSmallWorkspace) {
  const TypeParam space;
  Vector<double, TypeParam> result("result", 2);
  const ReduceWorkspace<double, TypeParam> workspace(space, 512);
  const auto reduce_with = [&](const ReduceWorkspace<double, TypeParam>& some, std::int64_t n) {
    block_reduce<2, double, TypeParam>(space, "prekond::testing::count", n, some, result, CountElements());
  };
  EXPECT_NO_THROW(reduce_with(workspace, 512));
  EXPECT_THROW(reduce_with(workspace, 513), std::logic_error);
  EXPECT_THROW(reduce_with({}, 1), std::logic_error) << "a workspace that nobody made";
  space.fence();
  EXPECT_EQ(to_vector(result), (std::vector<double>{512, 171}));
}

}  // namespace
}  // namespace prekond::testing
