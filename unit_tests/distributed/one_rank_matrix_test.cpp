// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "distributed/one_rank_matrix.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/matrix/spmv.hpp>

#include "testing/distributed_cases.hpp"
#include "testing/krylov_problems.hpp"

namespace prekond::testing {
namespace {

template <class Space>
class OneRankMatrixTest : public ::testing::Test {};
TYPED_TEST_SUITE(OneRankMatrixTest, TestSpaces, SpaceNames);

std::vector<std::int64_t> rows_of(const HostMatrix<double>& a) {
  std::vector<std::int64_t> rows(a.num_rows);
  for (std::int64_t i = 0; i < a.num_rows; ++i) rows[i] = i;
  return rows;
}

TYPED_TEST(OneRankMatrixTest, KeepsThePromisesWithoutOtherRanks) {
  for (const HostMatrix<double>& whole :
       {problem("poisson2d:7"), diagonal_matrix({3.0}), diagonal_matrix({})}) {
    const auto a = to_device<TypeParam>(whole);
    const OneRankMatrix<double, TypeParam> one(std::make_shared<CsrOperator<double, TypeParam>>(a));
    expect_distributed<TypeParam>(one, a, whole, rows_of(whole), 0);
  }
}

TYPED_TEST(OneRankMatrixTest, ThereAreNoOtherRanks) {
  const auto a = to_device<TypeParam>(problem("poisson2d:3"));
  const OneRankMatrix<double, TypeParam> one(std::make_shared<CsrOperator<double, TypeParam>>(a));
  expect_refused<TypeParam>(one, {0}, "there is one rank, which has all");
  expect_refused<TypeParam>(one, {9}, "there is one rank, which has all");
}

TYPED_TEST(OneRankMatrixTest, ARectangularOperatorIsRefused) {
  const auto a = to_device<TypeParam>(sparse<double>({{1, 2, 0}, {0, 1, 1}}));
  const auto product = std::make_shared<CsrOperator<double, TypeParam>>(a);
  EXPECT_EQ(message_of<InputError>([&] { const OneRankMatrix<double, TypeParam> one(product); }),
            "a distributed matrix has to be square; this one has 2 rows and 3 columns");
}

}  // namespace
}  // namespace prekond::testing
