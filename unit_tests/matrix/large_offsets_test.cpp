// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Matrices with more entries than 32 bits count, in every format. Their offsets are as large as those of the
// last rows of such matrices; the entries before are not there.
#include "testing/large_offsets.hpp"
#include "testing/host_matrix.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/matrix_format.hpp>
#include <prekond/sparse_product/spgemm.hpp>
#include "matrix/bcsr_operator.hpp"
#include "matrix/format_operator.hpp"
#include "pattern/power.hpp"
#include "sparse_product/transpose_entries.hpp"

#include <memory>
#include <string>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace prekond::testing {
namespace {

template <class Space>
class LargeOffsets : public ::testing::Test {
 public:
  using Matrix = CsrMatrix<double, int, std::size_t, typename Space::memory_space>;
  using Vectors = MultiVector<double, Space>;

  /// Rows of 81 entries in blocks of 3, and few of them.
  const Matrix small = generate<double, Space>(Space(), "elasticity3d:6"),
               large = at_large_offsets<Space>(small);

  void SetUp() override { announce<Space>(::testing::UnitTest::GetInstance()->current_test_info()->name()); }

  /// A x for `columns` vectors, their residuals in twice the precision, and (x, A x).
  static std::vector<double> products(const CompensatedOperator<double, Space>& a, int columns) {
    const Vectors x("x", a.num_cols(), columns), y("y", a.num_rows(), columns),
        low("low", a.num_rows(), columns);
    const auto host = Kokkos::create_mirror_view(x);
    for (std::size_t k = 0; k < host.size(); ++k) host.data()[k] = 1.0 / double(1 + k % 17);
    Kokkos::deep_copy(x, host);
    std::vector<double> all;
    const auto add = [&](const auto& view) {
      const auto copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
      all.insert(all.end(), copy.data(), copy.data() + copy.size());
    };
    a.apply(Space(), x, y);
    add(y);
    a.apply_compensated(Space(), -1, x, y, low);
    add(y);
    add(low);
    const Vector<double, Space> dot("dot", 1);
    const ReduceWorkspace<double, Space> workspace(Space(), a.num_rows());
    a.apply_dot(Space(), Kokkos::subview(x, Kokkos::ALL, 0), Kokkos::subview(y, Kokkos::ALL, 0), dot,
                workspace);
    add(dot);
    return all;
  }
  static void expect_same(const CompensatedOperator<double, Space>& a,
                          const CompensatedOperator<double, Space>& b) {
    for (const int columns : {1, 2, 4, 7})
      EXPECT_EQ(products(a, columns), products(b, columns)) << columns << " columns";
  }
};
TYPED_TEST_SUITE(LargeOffsets, TestSpaces, SpaceNames);

TYPED_TEST(LargeOffsets, CsrProducts) {
  this->expect_same(CsrOperator<double, TypeParam>(this->small), CsrOperator<double, TypeParam>(this->large));
}

TYPED_TEST(LargeOffsets, SellProducts) {
  for (const int sigma : {1, 64}) {
    const auto a = make_sell<double, TypeParam>(TypeParam(), this->small, {.sigma = sigma});
    this->expect_same(SellOperator<double, TypeParam>(a),
                      SellOperator<double, TypeParam>(at_large_offsets(a)));
  }
}

TYPED_TEST(LargeOffsets, JadProducts) {
  const auto a = make_jad<double, TypeParam>(TypeParam(), this->small);
  this->expect_same(JadOperator<double, TypeParam>(a), JadOperator<double, TypeParam>(at_large_offsets(a)));
}

TYPED_TEST(LargeOffsets, BcsrProducts) {
  for (const int block_size : {1, 2, 3, 4, 9}) {
    const auto a = to_bcsr<double, TypeParam>(TypeParam(), this->small, block_size);
    this->expect_same(BcsrOperator<double, TypeParam>(a),
                      BcsrOperator<double, TypeParam>(at_large_offsets<TypeParam>(a)));
    const auto expected = to_host(expand_blocks<double, TypeParam>(TypeParam(), a));
    EXPECT_EQ(to_host(expand_blocks<double, TypeParam>(TypeParam(), at_large_offsets<TypeParam>(a))),
              expected);
  }
}

/// The conversions, and what a setup does with a matrix.
TYPED_TEST(LargeOffsets, Conversions) {
  using Space = TypeParam;
  const Space space;
  const auto &a = this->small, &b = this->large;
  for (const MatrixFormat format :
       {MatrixFormat::sell, MatrixFormat::dia, MatrixFormat::jad, MatrixFormat::bcsr}) {
    SCOPED_TRACE(to_string(format));
    announce<Space>(to_string(format));
    const auto expected = make_operator<double, Space>(space, a, format),
               found = make_operator<double, Space>(space, b, format);
    this->expect_same(dynamic_cast<const CompensatedOperator<double, Space>&>(*expected),
                      dynamic_cast<const CompensatedOperator<double, Space>&>(*found));
  }
  for (const int block_size : {1, 3, 4})
    EXPECT_EQ(to_vector(to_bcsr<double, Space>(space, b, block_size).values),
              to_vector(to_bcsr<double, Space>(space, a, block_size).values));
  EXPECT_EQ((advise_format<Space>(space, CsrView<double, Space>(b), 8).reason),
            (advise_format<Space>(space, CsrView<double, Space>(a), 8).reason));
}

/// A device counts the columns of all entries as one array, whose first ones are not there: its other steps,
/// the scatter and the sort, have a large result too.
TYPED_TEST(LargeOffsets, Transposes) {
  using Space = TypeParam;
  using Csr = typename TestFixture::Matrix;
  const Space space;
  const Csr expected = transpose<double, Space>(space, this->small);
  if constexpr (is_host_space<Space>) {
    EXPECT_EQ(to_host(transpose<double, Space>(space, this->large)), to_host(expected));
  }
  const Csr found(expected.num_rows, expected.num_cols, expected.row_ptrs,
                  Vector<int, Space>("columns", expected.nnz()),
                  Vector<double, Space>("values", expected.nnz()));
  const Csr far = at_large_offsets<Space>(found);
  impl::scatter_by_column<false, double, Space>(
      space, this->large, shifted<Space>(expected.row_ptrs, large_offset), far.col_idxs, far.values);
  sort_rows(space, far);
  EXPECT_EQ(to_host(found), to_host(expected));
}

TYPED_TEST(LargeOffsets, ProductsOfMatrices) {
  using Space = TypeParam;
  const Space space;
  const auto &a = this->small, &b = this->large;
  EXPECT_EQ(to_host(spgemm<double, Space>(space, b, b)), to_host(spgemm<double, Space>(space, a, a)));
  constexpr std::int64_t plenty = std::int64_t(1) << 30;
  EXPECT_EQ(to_vector(power<Space>(space, b, 2, plenty, plenty).col_idxs),
            to_vector(power<Space>(space, a, 2, plenty, plenty).col_idxs));
}

TYPED_TEST(LargeOffsets, BlockSellProducts) {
  using Space = TypeParam;
  const auto blocks = to_bcsr<double, Space>(Space(), this->small, 3);
  const BlockPattern<Space> pattern{
      {blocks.num_block_rows, blocks.num_block_cols, blocks.row_ptrs, blocks.col_idxs}, 3, 3};
  const auto a = make_block_sell<double, Space>(Space(), this->small, pattern);
  ASSERT_TRUE(a.has_value());
  BlockSellMatrix<double, Space> b = *a;
  b.structure = at_large_offsets(a->structure);
  b.values = from_offset<double, Space>(a->values, large_offset * 9 * a->structure.chunk_rows);
  const auto product = [&](const auto& matrix) {
    const std::int64_t n = this->small.num_rows;
    const MultiVector<double, Space> x("x", n, 2), y("y", n, 2);
    Kokkos::deep_copy(x, 0.3);
    block_sell_recurrence<double, double, Space>(Space(), {}, {}, matrix, x, {}, y);
    return to_vector(Kokkos::subview(y, Kokkos::ALL, 1));
  };
  EXPECT_EQ(product(b), product(*a));
}

#ifdef __linux__
/// Diagonals that are 2^31 places apart: memory that is there only where it is touched.
TYPED_TEST(LargeOffsets, DiaProducts) {
  using Space = TypeParam;
  if constexpr (is_host_space<Space>) {
    const auto a = make_dia<double, Space>(Space(), generate<double, Space>(Space(), "poisson3d:7"));
    DiaMatrix<double, Space> b = a;
    b.stride = (std::int64_t(1) << 31) + 64;
    const std::size_t places = static_cast<std::size_t>(b.stride * a.num_diagonals());
    void* const memory = mmap(nullptr, places * sizeof(double), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) GTEST_SKIP() << "no " << places << " places of memory";
    b.values = Vector<double, Space>(static_cast<double*>(memory), places);
    for (std::int64_t d = 0; d < a.num_diagonals(); ++d)
      std::copy_n(&a.values(d * a.stride), a.num_rows, &b.values(d * b.stride));
    this->expect_same(DiaOperator<double, Space>(a), DiaOperator<double, Space>(b));
    munmap(memory, places * sizeof(double));
  } else {
    GTEST_SKIP() << "memory of a device is there at once";
  }
}
#endif

}  // namespace
}  // namespace prekond::testing
