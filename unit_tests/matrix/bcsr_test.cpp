// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/block_matrices.hpp"
#include "testing/host_matrix.hpp"
#include "testing/messages.hpp"
#include "testing/one_thread.hpp"
#include "testing/reference_product.hpp"
#include "testing/spaces.hpp"
#include "testing/strided.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/matrix/generate.hpp>
#include "matrix/bcsr_operator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "matrix/bcsr_kernels.hpp"

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

template <class Space>
class BcsrTest : public ::testing::Test {};
TYPED_TEST_SUITE(BcsrTest, TestSpaces, SpaceNames);

constexpr int block_sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 17, 32};

TYPED_TEST(BcsrTest, BlocksAreThoseWithEntries) {
  for (const int n : {1, 2, 8, 61, 128})
    for (const int b : block_sizes)
      for (const BlockOrder order : both_orders) {
        SCOPED_TRACE("rows " + std::to_string(n) + ", blocks of " + std::to_string(b));
        const auto a = clustered(n, n, unsigned(n));
        const auto blocks = to_bcsr<double, TypeParam>(TypeParam(), to_device<TypeParam>(a), b, order);
        EXPECT_EQ(blocks.order, order);
        EXPECT_EQ(blocks.padding, (b - n % b) % b);
        expect_blocks(a, blocks);
      }
  const auto wide = clustered(24, 60, 3);  // of a rank, with columns of others
  expect_blocks(wide, to_bcsr<double, TypeParam>(TypeParam(), to_device<TypeParam>(wide), 4));
  const HostMatrix<double> nothing{0, 0, {0}, {}, {}};
  EXPECT_EQ((to_bcsr<double, TypeParam>(TypeParam(), to_device<TypeParam>(nothing), 3).num_rows()), 0);
}

TYPED_TEST(BcsrTest, ValuesStandByTheOrder) {
  const auto a = sparse<double>({{14, 15, 1, 3}, {17, 11, 5, 7}, {0, 0, 5, 20}, {0, 0, 33, 15}});
  const auto columns = to_bcsr<double, TypeParam>(TypeParam(), to_device<TypeParam>(a), 2);
  EXPECT_EQ(to_vector(columns.values), (std::vector<double>{14, 17, 15, 11, 1, 5, 3, 7, 5, 33, 20, 15}));
  const auto rows = to_bcsr<double, TypeParam>(TypeParam(), to_device<TypeParam>(a), 2, BlockOrder::by_rows);
  EXPECT_EQ(to_vector(rows.values), (std::vector<double>{14, 15, 17, 11, 1, 3, 5, 7, 5, 20, 33, 15}));
  EXPECT_EQ(to_vector(rows.row_ptrs), (std::vector<std::size_t>{0, 2, 3}));
  EXPECT_EQ(to_vector(rows.col_idxs), (std::vector<int>{0, 1, 1}));
}

TYPED_TEST(BcsrTest, CountsBlocksOfEachSize) {
  const auto a = clustered(101, 101, 5);
  const auto fills = count_blocks<TypeParam>(TypeParam(), to_device<TypeParam>(a), {1, 2, 3, 8, 9, 32});
  ASSERT_EQ(fills.size(), 6u);
  for (const BlockFill& fill : fills) {
    const std::size_t expected = blocks_of(a, fill.block_size);
    EXPECT_EQ(std::size_t(fill.num_blocks), expected) << fill.block_size;
    EXPECT_DOUBLE_EQ(fill.fill, double(expected) * fill.block_size * fill.block_size / double(a.nnz()));
  }
  EXPECT_EQ(fills[2].bytes(101, 8), fills[2].num_blocks * 76 + 8 * 34);
}

TYPED_TEST(BcsrTest, FindsTheUnknownsOfANode) {
  const TypeParam space;
  const auto elasticity = generate<double>(space, "elasticity3d:5");
  const BlockFill fill = detect_block_size<TypeParam>(space, elasticity);
  EXPECT_EQ(fill.block_size, 3);
  EXPECT_EQ(fill.fill, 1);
  EXPECT_EQ((detect_block_size<TypeParam>(space, generate<double>(space, "poisson2d:9")).block_size), 1);
  // 2 x 2 blocks in 3 x 4 blocks of them: sizes that divide both.
  std::vector<std::vector<double>> dense(6, std::vector<double>(8));
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 8; ++j) dense[i][j] = (i / 2 + j / 2) % 2 == 0 ? 1 : 0;
  EXPECT_EQ((detect_block_size<TypeParam>(space, to_device<TypeParam>(sparse(dense))).block_size), 2);
  // Blocks of 3 would be fewest bytes, but 10 columns are not blocks of 3.
  const auto full = sparse(std::vector<std::vector<double>>(9, std::vector<double>(10, 1)));
  EXPECT_EQ((detect_block_size<TypeParam>(space, to_device<TypeParam>(full)).block_size), 1);
}

/// Blocks of `size` on the diagonal of the rows from `begin`, and one entry besides; scattered ones before.
HostMatrix<double> blocks_after(std::int64_t rows, std::int64_t begin, int size) {
  HostMatrix<double> a{rows, rows, {0}, {}, {}};
  for (std::int64_t i = 0; i < rows; ++i) {
    std::set<int> cols = {0};
    const std::int64_t first = i / size * size;
    for (std::int64_t j = first; i >= begin && j < std::min(first + size, rows); ++j) cols.insert(int(j));
    for (int k = 0; i < begin && k < 6; ++k) cols.insert(static_cast<int>((i + 37 * k * k) % rows));
    a.col_idxs.insert(a.col_idxs.end(), cols.begin(), cols.end());
    a.row_ptrs.push_back(a.col_idxs.size());
  }
  a.values.assign(a.col_idxs.size(), 1);
  return a;
}

// The count of a size ends early, and of several parts, where the matrix has over 2^17 entries.
TYPED_TEST(BcsrTest, FindsTheSizeThatACountOfAllSizesHas) {
  const TypeParam space;
  for (const std::int64_t rows : {61, 6007, 40003})
    for (const int size : {1, 2, 3, 4, 5, 6, 7, 8})
      for (const std::int64_t begin : {std::int64_t(0), rows / 8, rows / 2, rows}) {
        const auto a = to_device<TypeParam>(blocks_after(rows, begin / size * size, size));
        const auto fills = count_blocks<TypeParam>(space, a, {1, 2, 3, 4, 5, 6, 7, 8});
        const auto expected = *std::min_element(
            fills.begin(), fills.end(),
            [&](const auto& x, const auto& y) { return x.bytes(rows, 8) < y.bytes(rows, 8); });
        const BlockFill found = detect_block_size<TypeParam>(space, a, 8);
        EXPECT_EQ(found.block_size, expected.block_size)
            << rows << " rows, blocks of " << size << " from " << begin;
        EXPECT_EQ(found.num_blocks, expected.num_blocks);
        EXPECT_DOUBLE_EQ(found.fill, expected.fill);
      }
}

template <class Scalar, class Space>
std::vector<std::vector<Scalar>> random_columns(std::int64_t rows, int k, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<Scalar>> columns(k, std::vector<Scalar>(rows));
  for (auto& column : columns)
    for (Scalar& value : column) value = Scalar(double(random()) / double(1u << 31) - 1);
  return columns;
}

template <class Scalar, class Space>
void check_products(const HostMatrix<double>& a, int b, BlockOrder order, int k, int extra = 0) {
  SCOPED_TRACE("rows " + std::to_string(a.num_rows) + ", blocks of " + std::to_string(b) + ", columns " +
               std::to_string(k));
  const Space space;
  HostMatrix<Scalar> own{a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs,
                         std::vector<Scalar>(a.values.begin(), a.values.end())};
  const BcsrOperator<Scalar, Space> op(to_bcsr<Scalar, Space>(space, to_device<Space>(own), b, order));
  const auto xs = random_columns<Scalar, Space>(a.num_cols, k, 1),
             bs = random_columns<Scalar, Space>(a.num_rows, k, 2),
             ys = random_columns<Scalar, Space>(a.num_rows, k, 3);
  Strided<Scalar, Space> x(xs, a.num_cols, extra), source(bs, a.num_rows, 2 * extra),
      y(ys, a.num_rows, extra);
  const RecurrenceStep<Scalar> whole{Scalar(1.5), Scalar(-0.75), Scalar(0.5), Scalar(2)};
  op.apply_recurrence(space, whole, x.part, source.part, y.part);
  space.fence();
  const auto found = y.columns();
  for (int v = 0; v < k; ++v) expect_step(own, whole, xs[v], bs[v], ys[v], found[v]);
  y.fill({std::size_t(k), std::vector<Scalar>(a.num_rows, std::numeric_limits<Scalar>::quiet_NaN())});
  op.apply(space, x.part, y.part, Scalar(-2));
  space.fence();
  const auto product = y.columns();
  for (int v = 0; v < k; ++v) expect_step(own, RecurrenceStep<Scalar>{-2}, xs[v], bs[v], ys[v], product[v]);
}

TYPED_TEST(BcsrTest, ProductsOfEverySize) {
  for (const int n : {1, 8, 61, 300})
    for (const int b : block_sizes)
      for (const BlockOrder order : both_orders) {
        const auto a = clustered(n, n, unsigned(n));
        check_products<double, TypeParam>(a, b, order, 1);
        check_products<float, TypeParam>(a, b, order, 1);
        if (b % 3 == 2) check_products<double, TypeParam>(a, b, order, 5, 3);
      }
}

/// More than 256 blocks, which a device adds by a team.
TYPED_TEST(BcsrTest, ProductsWithALongRow) {
  for (const BlockOrder order : both_orders) {
    check_products<double, TypeParam>(clustered(1500, 1500, 8), 1, order, 2);
    check_products<double, TypeParam>(clustered(3100, 3100, 8), 3, order, 1);
  }
}

TYPED_TEST(BcsrTest, ProductsOfARank) {
  const TypeParam space;
  const auto a = clustered(24, 60, 9);
  const BcsrOperator<double, TypeParam> op(to_bcsr<double, TypeParam>(space, to_device<TypeParam>(a), 3));
  const auto xs = random_columns<double, TypeParam>(60, 1, 4);
  const Vector<double, TypeParam> x = to_device<TypeParam>(xs[0]), y("y", 24);
  op.apply(space, as_multivector(VectorView<const double, TypeParam>(x)), as_multivector(y));
  space.fence();
  expect_step(a, RecurrenceStep<double>{}, xs[0], {}, {}, to_vector(y));
}

TYPED_TEST(BcsrTest, ComplexProducts) {
  using Scalar = Kokkos::complex<double>;
  const TypeParam space;
  const auto real = clustered(62, 62, 2);
  HostMatrix<Scalar> a{62, 62, real.row_ptrs, real.col_idxs, {}};
  for (std::size_t k = 0; k < real.nnz(); ++k)
    a.values.emplace_back(real.values[k], real.values[real.nnz() - 1 - k]);
  std::vector<Scalar> x_values;
  for (int j = 0; j < 62; ++j) x_values.emplace_back(std::sin(double(j)), std::cos(double(j)));
  const auto x = to_device<TypeParam>(x_values);
  for (const int b : {1, 3, 9}) {
    const BcsrOperator<Scalar, TypeParam> op(to_bcsr<Scalar, TypeParam>(space, to_device<TypeParam>(a), b));
    const Vector<Scalar, TypeParam> y("y", 62), dot("dot", 1);
    op.apply_dot(space, x, y, dot, ReduceWorkspace<Scalar, TypeParam>(space, 62));
    space.fence();
    const auto found = to_vector(y);
    Scalar expected_dot = 0;
    for (int i = 0; i < 62; ++i) {
      Scalar sum = 0;
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
        sum += a.values[k] * x_values[a.col_idxs[k]];
      ASSERT_NEAR(Kokkos::abs(found[i] - sum), 0, 1e-13) << i;
      expected_dot += Kokkos::conj(x_values[i]) * sum;
    }
    EXPECT_NEAR(Kokkos::abs(to_vector(dot)[0] - expected_dot), 0, 1e-11);
  }
}

/// The code for devices, on a host: a team's threads one after the other.
template <class Space, int Size>
void check_teams(int n, int b, BlockOrder order) {
  SCOPED_TRACE("rows " + std::to_string(n) + ", blocks of " + std::to_string(b));
  const Space space;
  const auto a = clustered(n, n, 7);
  const auto blocks = to_bcsr<double, Space>(space, to_device<Space>(a), b, order);
  const auto xs = random_columns<double, Space>(n, 2, 4);
  const Strided<double, Space> x(xs, n, 1), y(n, 2, 2);
  using Kernel = impl::products::BcsrByTeams<double, Space, Size>;
  const BcsrView<double, Space> view = blocks;
  const impl::products::RowUpdate<double, Space> update{{}, x.part, y.part};
  const Kernel kernel{{{impl::products::PackedBcsr<double>(view)}, update}};
  typename Kernel::Policy policy(
      space, impl::products::num_teams(blocks.num_block_rows, kernel.rows_per_team()), 1, 1);
  policy.set_scratch_size(0, Kokkos::PerTeam(Kernel::scratch_bytes()));
  Kokkos::parallel_for("prekond::testing::bcsr", policy, kernel);
  space.fence();
  const auto found = y.columns();
  for (int v = 0; v < 2; ++v) expect_step(a, RecurrenceStep<double>{}, xs[v], {}, {}, found[v]);
  Kokkos::parallel_for(
      "prekond::testing::bcsr", Kokkos::RangePolicy<Space>(space, 0, n),
      impl::products::BcsrByRows<double, Space, Size>{{{impl::products::PackedBcsr<double>(view)}, update}});
  space.fence();
  const auto by_threads = y.columns();
  for (int v = 0; v < 2; ++v) expect_step(a, RecurrenceStep<double>{}, xs[v], {}, {}, by_threads[v]);
}

TYPED_TEST(BcsrTest, RowsOfTeams) {
  if constexpr (is_host_space<TypeParam>) {
    for (const BlockOrder order : both_orders)
      for (const int n : {61, 610, 3100}) {  // the full row has more blocks than a thread adds, or fewer
        check_teams<TypeParam, 1>(n, 1, order);
        check_teams<TypeParam, 2>(n, 2, order);
        check_teams<TypeParam, 3>(n, 3, order);
        check_teams<TypeParam, 4>(n, 4, order);
        check_teams<TypeParam, 5>(n, 5, order);
        check_teams<TypeParam, 6>(n, 6, order);
        check_teams<TypeParam, 7>(n, 7, order);
        check_teams<TypeParam, 8>(n, 8, order);
        check_teams<TypeParam, 0>(n, 9, order);
        check_teams<TypeParam, 0>(n, 32, order);
      }
  } else {
    GTEST_SKIP() << "all other tests run it";
  }
}

TYPED_TEST(BcsrTest, SameBitsForAnyNumberOfThreadsAndColumns) {
  const auto a = clustered(999, 999, 12);
  const auto xs = random_columns<double, TypeParam>(999, 5, 4);
  const Strided<double, TypeParam> x(xs, 999, 1);
  for (const int b : {1, 3, 4, 9}) {
    const BcsrOperator<double, TypeParam> op(
        to_bcsr<double, TypeParam>(TypeParam(), to_device<TypeParam>(a), b));
    std::vector<std::vector<double>> all, one, third;
    for (const TypeParam& space : {TypeParam(), of_one_thread<TypeParam>()}) {
      Strided<double, TypeParam> y(999, 5, 0), z(999, 1, 0);
      op.apply(space, x.part, y.part);
      op.apply(space, Kokkos::subview(x.part, Kokkos::ALL, std::make_pair(2, 3)), z.part);
      space.fence();
      (all.empty() ? all : one) = y.columns();
      third = z.columns();
    }
    EXPECT_EQ(all, one);
    EXPECT_EQ(all[2], third[0]);
  }
}

TYPED_TEST(BcsrTest, AnApplicationNeitherAllocatesNorFences) {
  const TypeParam space;
  const auto a = clustered(99, 99, 12);
  const BcsrOperator<double, TypeParam> op(to_bcsr<double, TypeParam>(space, to_device<TypeParam>(a), 3));
  const Vector<double, TypeParam> x("x", 99), y("y", 99);
  const auto apply = [&] {
    op.apply(space, as_multivector(VectorView<const double, TypeParam>(x)), as_multivector(y));
  };
  apply();
  space.fence();
  const ToolEvents events;
  apply();
  EXPECT_THAT(events.allocations(), ::testing::IsEmpty());
  EXPECT_THAT(events.fences(), ::testing::IsEmpty());
  EXPECT_THAT(events.kernels(), ::testing::ElementsAre("prekond::bcsr::apply"));
}

TYPED_TEST(BcsrTest, WhatDoesNotFitIsRefused) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(clustered(10, 12, 1));
  EXPECT_THAT(message_of<InputError>([&] { to_bcsr<double, TypeParam>(space, a, 4); }),
              HasSubstr("10 x 12 entries are not blocks of 4; only a square matrix is padded"));
  for (const int b : {0, 33}) {
    EXPECT_THAT(message_of<InputError>([&] { to_bcsr<double, TypeParam>(space, a, b); }),
                HasSubstr("a block size of " + std::to_string(b) + "; it is from 1 to 32"));
    EXPECT_THROW((count_blocks<TypeParam>(space, a, {2, b})), InputError);
  }
  auto blocks = to_bcsr<double, TypeParam>(space, a, 2);
  blocks.padding = 1;
  const MultiVector<double, TypeParam> x("x", 12, 1), y("y", 10, 1);
  EXPECT_THAT(message_of<InputError>([&] { BcsrOperator<double, TypeParam>(blocks).apply(space, x, y); }),
              HasSubstr("a padding of 1 in 5 x 6 blocks of 2; it is less than a block, of a square matrix"));
  blocks.padding = 0;
  EXPECT_THROW((BcsrOperator<double, TypeParam>(blocks).apply(space, y, x)), InputError);
  BcsrMatrix<double, int, std::size_t, typename TypeParam::memory_space> large;
  large.block_size = 33;
  EXPECT_THAT(message_of<InputError>([&] {
                BcsrOperator<double, TypeParam>(large).apply(space, MultiVector<double, TypeParam>("x", 0, 1),
                                                             MultiVector<double, TypeParam>("y", 0, 1));
              }),
              HasSubstr("a block size of 33; products take up to 32"));
}

}  // namespace
}  // namespace prekond::testing
