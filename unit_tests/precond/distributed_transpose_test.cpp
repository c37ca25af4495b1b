// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A^T over ranks, by ranks in one process: the sequential transpose bit for bit.
#include <prekond/precond/distributed_transpose.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/matrix/spmv.hpp>
#include "distributed/one_rank_matrix.hpp"
#include "distributed/row_partition.hpp"
#include "sparse_product/transpose.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "testing/distributed_cases.hpp"
#include "testing/distributed_problems.hpp"
#include "testing/matrix_of_other_numbers.hpp"
#include "testing/matrix_of_rank.hpp"

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

template <class Space>
class DistributedTransposeTest : public ::testing::Test {};
TYPED_TEST_SUITE(DistributedTransposeTest, TestSpaces, SpaceNames);

Parts equal_parts(std::int64_t num_rows, int size) {
  std::vector<std::int64_t> sizes;
  for (int rank = 0; rank < size; ++rank) sizes.push_back(RowPartition{num_rows, size}.size(rank));
  return consecutive_parts(sizes);
}

std::vector<Parts> partitions(std::int64_t n) {
  return {equal_parts(n, 1),
          equal_parts(n, 2),
          equal_parts(n, 3),
          equal_parts(n, 4),
          equal_parts(n, 7),
          consecutive_parts({0, n}),
          consecutive_parts({n, 0, 0}),
          consecutive_parts({n / 2, 0, n - n / 2}),
          cyclic_parts(n, 3),
          cyclic_parts(n, 7)};
}

/// Values whose bits a computation would not keep stand among the others.
template <class Scalar>
HostMatrix<Scalar> with_values_to_keep(const HostMatrix<double>& pattern) {
  HostMatrix<Scalar> a;
  a.num_rows = pattern.num_rows;
  a.num_cols = pattern.num_cols;
  a.row_ptrs = pattern.row_ptrs;
  a.col_idxs = pattern.col_idxs;
  const std::vector<Scalar> to_keep{-Scalar(0), std::numeric_limits<Scalar>::quiet_NaN(),
                                    std::numeric_limits<Scalar>::denorm_min(),
                                    -std::numeric_limits<Scalar>::infinity(), Scalar(0)};
  for (std::size_t k = 0; k < pattern.values.size(); ++k)
    a.values.push_back(k % 3 == 0 ? to_keep[k / 3 % to_keep.size()]
                                  : Scalar(pattern.values[k]) + Scalar(k) / Scalar(1024));
  return a;
}

std::vector<HostMatrix<double>> matrices() {
  return {gapped(31),       irregular_matrix(41), shift_matrix(9), problem("elasticity3d:2"),
          half_coupled(14), diagonal(5),          gapped(200),     HostMatrix<double>()};
}

template <class Scalar, class Space>
void expect_sequential_bits() {
  const Space space;
  for (const auto& pattern : matrices()) {
    const auto whole = with_values_to_keep<Scalar>(pattern);
    const auto device = to_device<Space>(whole);
    const HostMatrix<Scalar> expected = to_host(transpose<Scalar, Space>(space, device));
    for (const Parts& parts : partitions(whole.num_rows)) {
      SCOPED_TRACE(std::to_string(parts.size()) + " ranks, " + std::to_string(whole.num_rows) + " rows");
      run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
        const MatrixOfRank<Scalar, Space> a(rank, whole, parts);
        const auto at = distributed_transpose<Scalar, Space>(space, a);
        expect_bits<Scalar, Space>(*at, expected, parts[rank.rank]);
        const auto again = distributed_transpose<Scalar, Space>(space, *at);
        expect_bits<Scalar, Space>(*again, whole, parts[rank.rank]);
      });
    }
  }
}

TYPED_TEST(DistributedTransposeTest, HasTheBitsOfTheSequentialOne) {
  expect_sequential_bits<double, TypeParam>();
  expect_sequential_bits<float, TypeParam>();
}

TYPED_TEST(DistributedTransposeTest, KeepsThePromises) {
  for (const auto& whole : {gapped(31), irregular_matrix(41), shift_matrix(9)}) {
    for (const Parts& parts : partitions(whole.num_rows)) {
      SCOPED_TRACE(std::to_string(parts.size()) + " ranks, " + std::to_string(whole.num_rows) + " rows");
      run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
        const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
        expect_transposed<TypeParam>(a, whole, parts[rank.rank], rank.rank);
      });
    }
  }
}

TYPED_TEST(DistributedTransposeTest, NumbersHave64Bits) {
  const TypeParam space;
  const std::int64_t offset = (std::int64_t(1) << 40) + 7;
  const HostMatrix<double> whole = gapped(31);
  for (const Parts& parts : {equal_parts(31, 4), cyclic_parts(31, 3)}) {
    run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
      const auto a = std::make_shared<MatrixOfRank<double, TypeParam>>(rank, whole, parts);
      const MatrixOfOtherNumbers<TypeParam> large(a, offset, offset);
      const auto expected = distributed_transpose<double, TypeParam>(space, *a),
                 found = distributed_transpose<double, TypeParam>(space, large);
      EXPECT_EQ(found->num_global_rows(), 31 + offset);
      auto numbers = to_vector(expected->global_numbers(space));
      for (auto& number : numbers) number += offset;
      EXPECT_EQ(to_vector(found->global_numbers(space)), numbers);
      for (std::int64_t c = 0; c < found->num_cols(); ++c)
        EXPECT_EQ(found->global_number(c), numbers[c]) << "column " << c;
      EXPECT_EQ(to_vector(found->own_rows().row_ptrs), to_vector(expected->own_rows().row_ptrs));
      EXPECT_EQ(to_vector(found->own_rows().col_idxs), to_vector(expected->own_rows().col_idxs));
      EXPECT_EQ(to_vector(found->own_rows().values), to_vector(expected->own_rows().values));

      const std::vector<std::int64_t> remote(numbers.begin() + found->num_rows(), numbers.end());
      auto small = remote;
      for (auto& number : small) number -= offset;
      const auto rows = found->remote_rows(space, to_device<TypeParam>(remote)),
                 small_rows = expected->remote_rows(space, to_device<TypeParam>(small));
      auto columns = to_vector(small_rows.col_idxs);
      for (auto& column : columns) column += offset;
      EXPECT_EQ(to_vector(rows.col_idxs), columns);
      EXPECT_EQ(to_vector(rows.values), to_vector(small_rows.values));
    });
  }
}

/// A rank cannot read its rows.
template <class Space>
class MatrixThatFails : public MatrixOfOtherNumbers<Space> {
 public:
  MatrixThatFails(std::shared_ptr<const DistributedMatrix<double, Space>> a, bool fails)
      : MatrixOfOtherNumbers<Space>(std::move(a), 0, 0), m_fails(fails) {}
  CsrView<double, Space> own_rows() const override {
    if (m_fails) throw InputError("no rows here");
    return MatrixOfOtherNumbers<Space>::own_rows();
  }

 private:
  bool m_fails;
};

TYPED_TEST(DistributedTransposeTest, WhatFailsOnOneRankFailsOnAll) {
  const HostMatrix<double> whole = problem("poisson2d:3");
  const Parts parts = equal_parts(9, 3);
  run_ranks(3, [&](const Rank& rank) {
    const MatrixThatFails<TypeParam> a(std::make_shared<MatrixOfRank<double, TypeParam>>(rank, whole, parts),
                                       rank.rank == 1);
    EXPECT_THAT(message_of<InputError>([&] { distributed_transpose<double, TypeParam>(TypeParam(), a); }),
                HasSubstr("rank 1: no rows here"));
  });
}

TYPED_TEST(DistributedTransposeTest, ARankThatIsAloneHasTheWholeOne) {
  const TypeParam space;
  for (const auto& whole : {gapped(31), HostMatrix<double>()}) {
    const auto a = to_device<TypeParam>(whole);
    const OneRankMatrix<double, TypeParam> one(std::make_shared<CsrOperator<double, TypeParam>>(a), a);
    std::vector<std::int64_t> rows(whole.num_rows);
    for (std::int64_t i = 0; i < whole.num_rows; ++i) rows[i] = i;
    expect_transposed<TypeParam>(one, whole, rows, 0);
  }
}

}  // namespace
}  // namespace prekond::testing
