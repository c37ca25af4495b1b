// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// What a vector of lanes finds in rows of any length.
#include "precond/scaling/matrix_rows.hpp"
#include "precond/scaling/weak_diagonal.hpp"
#include "sparse_product/lengths_of_rows.hpp"

#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace prekond::testing {
namespace {

template <class Space>
class RowSizesTest : public ::testing::Test {};
TYPED_TEST_SUITE(RowSizesTest, TestSpaces, SpaceNames);

constexpr int num_rows = 1101;

/// Row i has lengths[i] entries from column i % 5 on. The largest finite one is at another place in each row,
/// one that is not finite after it; the last column of a full row is larger than all others.
HostMatrix<double> of_any_length() {
  HostMatrix<double> a;
  a.num_rows = a.num_cols = num_rows;
  const std::vector<int> lengths = {0, 1, 2, 31, 32, 33, 63, 64, 65, 1000, 1024, 1025, num_rows - 4, 1, 0, 7};
  for (int i = 0; i < num_rows; ++i) {
    const int length = i < 160 ? lengths[i % 16] : 1;
    const int largest = length > 0 ? (i * 37) % length : 0;
    for (int k = 0; k < length; ++k) {
      const int col = std::min(i % 5, num_rows - length) + k;
      a.col_idxs.push_back(col);
      double value = col == num_rows - 1 ? 1e9 : k == largest ? -100.0 - i : 1 / double(k + 2);
      if (k == largest + 1 && i % 3 == 0) value = std::numeric_limits<double>::infinity();
      a.values.push_back(value);
    }
    a.row_ptrs.push_back(a.nnz());
  }
  return a;
}

struct Sizes {
  std::vector<double> diagonal, largest;
  bool operator==(const Sizes&) const = default;
};

Sizes expected(const HostMatrix<double>& a, int num_cols) {
  Sizes sizes{std::vector<double>(num_rows, 0), std::vector<double>(num_rows, 0)};
  for (int i = 0; i < num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      if (!std::isfinite(a.values[k]) || a.col_idxs[k] >= num_cols) continue;
      sizes.largest[i] = std::max(sizes.largest[i], std::abs(a.values[k]));
      if (a.col_idxs[k] == i) sizes.diagonal[i] = a.values[k];
    }
  return sizes;
}

template <class Space, class Matrix>
struct MeasureRows {
  Matrix a;
  int num_cols;
  VectorView<double, Space> diagonal, largest;
  KOKKOS_FUNCTION void operator()(const typename impl::RowTeams<Space>::Member& team) const {
    impl::RowTeams<Space>{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const auto sizes = impl::measure_row<double>(team, a, i, num_cols);
      Kokkos::single(Kokkos::PerThread(team), [&] {
        diagonal(i) = sizes.diagonal;
        largest(i) = sizes.largest;
      });
    });
  }
};

/// With the vectors of lanes that rows of this mean length have.
template <class Space, class Matrix>
Sizes found(const Matrix& a, int num_cols, int mean) {
  const Space space;
  const auto diagonal = allocate<Vector<double, Space>>(space, "diagonal", num_rows);
  const auto largest = allocate<Vector<double, Space>>(space, "largest", num_rows);
  Kokkos::parallel_for("measure_rows",
                       impl::RowTeams<Space>::policy(space, num_rows, std::int64_t(mean) * num_rows),
                       MeasureRows<Space, Matrix>{a, num_cols, diagonal, largest});
  space.fence();
  return {to_vector(diagonal), to_vector(largest)};
}

TYPED_TEST(RowSizesTest, TheDiagonalAndTheLargestEntryAreFoundInRowsOfAnyLength) {
  const auto host = of_any_length();
  const auto a = to_device<TypeParam>(host);
  for (const int num_cols : {num_rows, num_rows - 1, 900, 40})
    for (const int mean : {1, 3, 8, 12, 32, 200})
      EXPECT_EQ((found<TypeParam, CsrView<double, TypeParam>>(a, num_cols, mean)), expected(host, num_cols))
          << num_cols << " " << mean;
}

TYPED_TEST(RowSizesTest, SoTheyAreInBlocks) {
  const auto host = of_any_length();
  using Blocks = impl::BlockEntries<double, TypeParam>;
  for (const BlockOrder order : {BlockOrder::by_rows, BlockOrder::by_columns}) {
    const auto blocks = to_bcsr<double, TypeParam>(TypeParam(), to_device<TypeParam>(host), 3, order);
    for (const int mean : {1, 12, 200})
      EXPECT_EQ((found<TypeParam, Blocks>(Blocks(blocks), num_rows, mean)), expected(host, num_rows)) << mean;
  }
}

template <class Space>
struct CountAll {
  CsrGraphView<Space> a;
  VectorView<int, Space> count;
  KOKKOS_FUNCTION void operator()(const typename impl::RowTeams<Space>::Member& team) const {
    impl::RowTeams<Space>{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const auto sum = impl::lengths_of_rows<Space>(team, a, a.row_ptrs(i), a.first_from(i, i), a);
      Kokkos::single(Kokkos::PerThread(team), [&] { count(i) = static_cast<int>(sum); });
    });
  }
};

TYPED_TEST(RowSizesTest, LengthsOfRowsAreAddedUp) {
  const auto a = of_any_length();
  std::vector<int> expected(num_rows, 0);
  for (int i = 0; i < num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (const int j = a.col_idxs[k]; j < i)
        expected[i] += static_cast<int>(a.row_ptrs[j + 1] - a.row_ptrs[j]);
  const TypeParam space;
  const auto count = allocate<Vector<int, TypeParam>>(space, "count", num_rows);
  const auto matrix = to_device<TypeParam>(a);
  Kokkos::parallel_for("count_all", impl::RowTeams<TypeParam>::policy(space, num_rows, a.nnz()),
                       CountAll<TypeParam>{matrix, count});
  space.fence();
  EXPECT_EQ(to_vector(count), expected);
}

/// The identity, but for a row and column 0 whose diagonal is rounding: of its entries only number `strong`
/// is 1, and number `own` is of the scale of the two diagonal entries.
HostMatrix<double> hub(int n, int strong, int own) {
  HostMatrix<double> a;
  a.num_rows = a.num_cols = n;
  const auto add = [&](int j, double value) {
    a.col_idxs.push_back(j);
    a.values.push_back(value);
  };
  const auto size = [&](int j) { return j == strong ? 1 : j == own ? 1e-7 : 1e-30; };
  for (int i = 0; i < n; ++i) {
    add(0, i == 0 ? 1e-14 : size(i));
    for (int j = 1; i == 0 && j < n; ++j) add(j, size(j));
    if (i > 0) add(i, 1);
    a.row_ptrs.push_back(a.nnz());
  }
  return a;
}

TYPED_TEST(RowSizesTest, OneEntryOfAThousandMakesAWeakDiagonalAndOneSavesIt) {
  const auto num_weak = [](int strong, int own) {
    const auto a = to_device<TypeParam>(hub(1001, strong, own));
    return impl::zero_weak_diagonal<double, TypeParam>(TypeParam(), CsrView<double, TypeParam>(a)).num_weak;
  };
  for (const int strong : {1, 31, 32, 33, 500, 1000}) {
    EXPECT_EQ(num_weak(strong, -1), 1) << strong;
    EXPECT_EQ(num_weak(strong, 999), 0) << strong;
  }
  EXPECT_EQ(num_weak(-1, -1), 0);
}

}  // namespace
}  // namespace prekond::testing
