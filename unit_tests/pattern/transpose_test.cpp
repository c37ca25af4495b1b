// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/core/scalar.hpp>
#include "sparse_product/transpose.hpp"

#include "sparse_product/transpose_entries.hpp"

#include <random>

namespace prekond::testing {
namespace {

/// Each entry is there with the given probability; its value names its place.
template <class Scalar>
HostMatrix<Scalar> random_matrix(int rows, int cols, double density, unsigned seed) {
  std::mt19937 random(seed);
  HostMatrix<Scalar> a;
  a.num_rows = rows;
  a.num_cols = cols;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) {
      if (double(random()) >= density * 0x1p32) continue;
      a.col_idxs.push_back(j);
      a.values.push_back(Scalar(i) + Scalar(j) / Scalar(1024));
    }
    a.row_ptrs.push_back(a.nnz());
  }
  return a;
}

/// By columns, each searched through all rows' entries in their order.
template <class Scalar>
HostMatrix<Scalar> sequential_transpose(const HostMatrix<Scalar>& a) {
  std::vector<std::vector<std::size_t>> entries(a.num_cols), rows(a.num_cols);
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      entries[a.col_idxs[k]].push_back(k);
      rows[a.col_idxs[k]].push_back(static_cast<std::size_t>(i));
    }
  HostMatrix<Scalar> result;
  result.num_rows = a.num_cols;
  result.num_cols = a.num_rows;
  for (std::int64_t j = 0; j < a.num_cols; ++j) {
    for (std::size_t k = 0; k < entries[j].size(); ++k) {
      result.col_idxs.push_back(static_cast<int>(rows[j][k]));
      result.values.push_back(a.values[entries[j][k]]);
    }
    result.row_ptrs.push_back(result.nnz());
  }
  return result;
}

template <class Scalar>
std::vector<HostMatrix<Scalar>> awkward_matrices() {
  std::vector<HostMatrix<Scalar>> all;
  all.push_back(random_matrix<Scalar>(1, 1, 1, 0));
  all.push_back(random_matrix<Scalar>(1, 1, 0, 0));
  all.push_back(random_matrix<Scalar>(0, 5, 1, 0));
  all.push_back(random_matrix<Scalar>(5, 0, 1, 0));
  all.push_back(random_matrix<Scalar>(33, 47, 0, 0));
  all.push_back(random_matrix<Scalar>(1, 333, 0.5, 1));
  all.push_back(random_matrix<Scalar>(333, 1, 0.5, 2));
  all.push_back(random_matrix<Scalar>(31, 1023, 0.02, 3));
  all.push_back(random_matrix<Scalar>(1025, 33, 0.02, 4));  // most rows empty
  all.push_back(random_matrix<Scalar>(257, 257, 0.1, 5));
  all.push_back(random_matrix<Scalar>(67, 65, 1, 6));
  // A dense column of 5000 entries and a diagonal.
  HostMatrix<Scalar> column;
  column.num_rows = 5000;
  column.num_cols = 5003;
  for (int i = 0; i < 5000; ++i) {
    column.col_idxs.push_back(i < 77 ? i : 77);
    column.values.push_back(Scalar(i + 1));
    if (i != 77) {
      column.col_idxs.push_back(i < 77 ? 77 : i);
      column.values.push_back(Scalar(-i));
    }
    column.row_ptrs.push_back(column.nnz());
  }
  all.push_back(column);
  return all;
}

template <class Scalar, class Space>
void check_transpose() {
  const Space space;
  for (const auto& a : awkward_matrices<Scalar>()) {
    SCOPED_TRACE(std::to_string(a.num_rows) + " x " + std::to_string(a.num_cols) + ", " +
                 std::to_string(a.nnz()) + " entries");
    const auto device = to_device<Space>(a);
    const auto transposed = transpose<Scalar, Space>(space, device);
    const auto again = transpose<Scalar, Space>(space, device);
    const auto back = transpose<Scalar, Space>(space, transposed);
    space.fence();
    const HostMatrix<Scalar> result = to_host(transposed);
    EXPECT_TRUE(result == sequential_transpose(a));
    for (std::int64_t j = 0; j < result.num_rows; ++j)
      for (std::size_t k = result.row_ptrs[j] + 1; k < result.row_ptrs[j + 1]; ++k)
        ASSERT_LT(result.col_idxs[k - 1], result.col_idxs[k]) << "row " << j;
    EXPECT_TRUE(to_host(again) == result) << "other bits in the second run";
    EXPECT_TRUE(to_host(back) == a);
    EXPECT_TRUE(to_host(device) == a) << "the matrix itself changed";
  }
}

template <class Space>
class TransposeTest : public ::testing::Test {};
TYPED_TEST_SUITE(TransposeTest, TestSpaces, SpaceNames);

TYPED_TEST(TransposeTest, EqualsTheSequentialOne) {
  check_transpose<double, TypeParam>();
  check_transpose<float, TypeParam>();
  check_transpose<Kokkos::complex<double>, TypeParam>();
  check_transpose<Kokkos::complex<float>, TypeParam>();
}

template <class Scalar, class Space>
void check_conjugate_transpose() {
  const Space space;
  for (HostMatrix<Scalar> a : awkward_matrices<Scalar>()) {
    if constexpr (is_complex<Scalar>)
      for (Scalar& value : a.values) value = Scalar(value.real(), value.real() - 7);
    HostMatrix<Scalar> conjugated = a;
    for (Scalar& value : conjugated.values) value = conjugate(value);
    const auto device = to_device<Space>(a);
    EXPECT_TRUE(
        (to_host(conjugate_transpose<Scalar, Space>(space, device)) == sequential_transpose(conjugated)));
    EXPECT_TRUE((to_host(transpose<Scalar, Space>(space, device)) == sequential_transpose(a)));
    // The devices' kernels, on every space.
    EXPECT_TRUE((to_host(impl::transpose_by_scatter<false, Scalar, Space>(space, device)) ==
                 sequential_transpose(a)));
    EXPECT_TRUE((to_host(impl::transpose_by_scatter<is_complex<Scalar>, Scalar, Space>(space, device)) ==
                 sequential_transpose(conjugated)));
  }
}

TYPED_TEST(TransposeTest, ConjugatesComplexValuesWhereThatIsWanted) {
  check_conjugate_transpose<double, TypeParam>();
  check_conjugate_transpose<Kokkos::complex<double>, TypeParam>();
  check_conjugate_transpose<Kokkos::complex<float>, TypeParam>();
}

}  // namespace
}  // namespace prekond::testing
