// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/block_cases.hpp"

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

template <class Space>
class BlockFactorsTest : public ::testing::Test {};
TYPED_TEST_SUITE(BlockFactorsTest, TestSpaces, SpaceNames);

TYPED_TEST(BlockFactorsTest, Ilu0AsTheTextbooks) {
  for (const auto& matrices : {small_matrices(), general_matrices()})
    for (const auto& [name, a] : matrices)
      for (const std::int64_t size : {1, 7, 50, 500}) {
        SCOPED_TRACE(name + ", blocks of " + std::to_string(size));
        check_block_jacobi<double, TypeParam>(a, with_size(size, local_is("ilu0")), "ilu0", 1e-12);
        if (name.rfind("scaled", 0) != 0)
          check_block_jacobi<float, TypeParam>(a, with_size(size, local_is("ilu0")), "ilu0", 1e-3);
      }
}

TYPED_TEST(BlockFactorsTest, Ic0AsTheTextbooks) {
  for (const auto& [name, a] : small_matrices())
    for (const std::int64_t size : {1, 7, 50, 500}) {
      SCOPED_TRACE(name + ", blocks of " + std::to_string(size));
      check_block_jacobi<double, TypeParam>(a, with_size(size, local_is("ic0")), "ic0", 1e-12);
      if (name.rfind("scaled", 0) != 0)
        check_block_jacobi<float, TypeParam>(a, with_size(size, local_is("ic0")), "ic0", 1e-3);
    }
}

TYPED_TEST(BlockFactorsTest, IlutAsTheTextbooks) {
  for (const int n : {1, 2, 17, 67, 129})
    for (const std::int64_t size : {1, 9, 60, 200}) {
      SCOPED_TRACE(std::to_string(n) + ", blocks of " + std::to_string(size));
      check_block_jacobi<double, TypeParam>(random_spd(n, 0.15, 7u + n), with_size(size, local_is("ilut")),
                                            "ilut", 1e-12);
      check_block_jacobi<double, TypeParam>(random_general(n, 0.2, 7u + n), with_size(size, local_is("ilut")),
                                            "ilut", 1e-12);
    }
}

/// By the dense factors of the reference with these options.
template <class Space>
void check_ilut(const HostMatrix<double>& a, double tau, int fill) {
  const Space space;
  const auto m = made_block_jacobi<double, Space>(local_is(
      "ilut",
      {{"local.drop_tolerance", tau}, {"local.fill", std::int64_t(fill)}, {"num_blocks", std::int64_t(1)}}));
  m->numeric(space, to_device<Space>(a));
  const auto x = waves<double>(a.num_rows, 1);
  std::vector<int> all(a.num_rows);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = int(i);
  const LongMatrix lu = reference_ilut(block_of(a, all), tau, fill);
  std::int64_t nnz = 0;
  for (const auto& row : lu)
    nnz += std::count_if(row.begin(), row.end(), [](long double v) { return v != 0; });
  EXPECT_EQ(m->report().nnz, nnz);
  EXPECT_LT(relative_distance((applied<double, Space>(*m, x)[0]), solve_lu(lu, {x[0].begin(), x[0].end()})),
            1e-12);
}

TYPED_TEST(BlockFactorsTest, IlutDropsBySizeAndByNumber) {
  for (const int n : {19, 80})
    for (const double tau : {0.0, 1e-4, 0.01, 0.1, 1.0})
      for (const int fill : {0, 1, 5, 1000}) {
        SCOPED_TRACE(std::to_string(n) + ", tau " + std::to_string(tau) + ", fill " + std::to_string(fill));
        check_ilut<TypeParam>(random_general(n, 0.2, 3), tau, fill);
        check_ilut<TypeParam>(random_spd(n, 0.15, 5), tau, fill);
      }
}

TYPED_TEST(BlockFactorsTest, IlutOfEqualEntriesKeepsTheFirst) {
  const TypeParam space;
  // Row 4 gets equal fill in columns 5, 6 and 7 from row 0, of which it may keep one.
  std::vector<std::vector<double>> dense(8, std::vector<double>(8, 0));
  for (int i = 0; i < 8; ++i) dense[i][i] = 4;
  dense[0][5] = dense[0][6] = dense[0][7] = 2;
  dense[4][0] = 1;
  const auto m = made_block_jacobi<double, TypeParam>(
      local_is("ilut", {{"local.fill", std::int64_t(1)}, {"num_blocks", std::int64_t(1)}}));
  m->numeric(space, to_device<TypeParam>(sparse(dense)));
  EXPECT_EQ(m->report().nnz, 8 + 3 + 1 + 1);
  // U's row 4 is (4, -1/2, 0, 0).
  const auto y = applied<double, TypeParam>(*m, {{0, 0, 0, 0, 0, 8, 0, 0}, {0, 0, 0, 0, 0, 0, 8, 0}});
  EXPECT_EQ(y[0][4], 0.25);
  EXPECT_EQ(y[1][4], 0);
}

TYPED_TEST(BlockFactorsTest, IlutRanksMultipliersAfterTheDivision) {
  const TypeParam space;
  // Row 3 is -(0, 2, 1, 0) from row 0, of whose entries it may keep one beside the first. Divided by the
  // pivots they are 1/4 and 1.
  const auto a = sparse<double>({{1, 2, 1, 0}, {0, 8, 0, 0}, {0, 0, 1, 0}, {1, 0, 0, 4}});
  const auto m = made_block_jacobi<double, TypeParam>(
      local_is("ilut", {{"local.fill", std::int64_t(1)}, {"num_blocks", std::int64_t(1)}}));
  m->numeric(space, to_device<TypeParam>(a));
  EXPECT_EQ(m->report().nnz, 4 + 2 + 2);
  const auto y = applied<double, TypeParam>(*m, {{0, 1, 0, 0}, {0, 0, 1, 0}});
  EXPECT_EQ(y[0][3], 0);
  EXPECT_EQ(y[1][3], 0.25);
}

TYPED_TEST(BlockFactorsTest, CompleteFactorsSolveExactly) {
  for (const auto& [name, a] : small_matrices()) {
    SCOPED_TRACE(name);
    const OptionMap all = {{"local.drop_tolerance", 0.0}, {"local.fill", std::int64_t(1000)}};
    check_block_jacobi<double, TypeParam>(a, with_size(30, local_is("ilut", all)), "dense", 1e-11);
  }
}

TYPED_TEST(BlockFactorsTest, LongBlocksHaveTheirVectorInGlobalMemory) {
  // Two blocks without couplings.
  auto a = generated("tridiagonal:14002");
  for (int i : {7000, 7001})
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (a.col_idxs[k] == 14001 - i) a.values[k] = 0;
  const TypeParam space;
  // Of a tridiagonal matrix these factors are exact.
  for (const char* method : {"ilu0", "ic0", "ilut"}) {
    const auto m = made_block_jacobi<double, TypeParam>(
        local_is(method, {{"num_blocks", std::int64_t(2)}, {"partition", std::string("rows")}}));
    m->numeric(space, to_device<TypeParam>(a));
    const auto x = waves<double>(14002, 2);
    const auto y = applied<double, TypeParam>(*m, x);
    for (int v = 0; v < 2; ++v)
      for (int i = 0; i < 14002; ++i) {
        double sum = 0, size = 0;
        for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
          sum += a.values[k] * y[v][a.col_idxs[k]];
          size += std::abs(a.values[k] * y[v][a.col_idxs[k]]);
        }
        ASSERT_NEAR(sum, x[v][i], 1e-14 * size + 1e-14) << method;
      }
  }
}

TYPED_TEST(BlockFactorsTest, RowsOfFactorsFallBackToTheirDiagonals) {
  const TypeParam space;
  // Row 1 becomes (0, 0) when row 0 is subtracted; row 4 has no diagonal entry; row 6 a NaN.
  auto dense = std::vector<std::vector<double>>(8, std::vector<double>(8, 0));
  for (int i = 0; i < 8; ++i) dense[i][i] = 4;
  dense[0][1] = dense[1][0] = 4;
  dense[4][4] = 0;
  dense[6][7] = std::nan("");
  for (const char* method : {"ilu0", "ilut"}) {
    SCOPED_TRACE(method);
    const auto m = made_block_jacobi<double, TypeParam>(local_is(method, {{"num_blocks", std::int64_t(1)}}));
    m->numeric(space, to_device<TypeParam>(sparse(dense)));
    EXPECT_EQ(m->report().breakdowns.count, 3);
    EXPECT_EQ(m->report().breakdowns.first_row, 1);
    EXPECT_EQ(m->report().breakdowns.first_pivot, 0);
    EXPECT_THAT(m->report().breakdowns.action, HasSubstr("3 rows of the factors fell back"));
    const auto y = applied<double, TypeParam>(*m, {{4, 8, 4, 4, 4, 4, 4, 4}})[0];
    EXPECT_EQ(y, (std::vector<double>{-1, 2, 1, 1, 4, 1, 1, 1}));
  }
  // Of rank one to rounding: what is left of the pivot is no pivot.
  const auto nearly_singular = sparse<double>({{0.3 * 0.7, 0.3 * 1.3}, {1.1 * 0.7, 1.1 * 1.3}});
  for (const char* method : {"ilu0", "ilut"}) {
    const auto m = made_block_jacobi<double, TypeParam>(local_is(method, {{"num_blocks", std::int64_t(1)}}));
    m->numeric(space, to_device<TypeParam>(nearly_singular));
    EXPECT_EQ(m->report().breakdowns.count, 1) << method;
    EXPECT_EQ(m->report().breakdowns.first_row, 1) << method;
  }
  dense[4][4] = 4, dense[6][7] = 0, dense[1][1] = 3;  // indefinite
  dense[7][6] = dense[6][7] = 5;
  const auto m = made_block_jacobi<double, TypeParam>(local_is("ic0", {{"num_blocks", std::int64_t(1)}}));
  m->numeric(space, to_device<TypeParam>(sparse(dense)));
  EXPECT_EQ(m->report().breakdowns.count, 2);
  EXPECT_EQ(m->report().breakdowns.first_row, 1);
  EXPECT_NEAR(m->report().breakdowns.first_pivot, -1.0 / 3, 1e-7);
  const auto y = applied<double, TypeParam>(*m, {{4, 3, 4, 4, 4, 4, 4, 4}})[0];
  for (int i = 0; i < 8; ++i) EXPECT_NEAR(y[i], 1, 1e-15);
}

TYPED_TEST(BlockFactorsTest, Ic0RefusesWhatIsNotPositive) {
  const TypeParam space;
  auto a = random_spd(30, 0.2, 1);
  const auto m = made_block_jacobi<double, TypeParam>(with_size(7, local_is("ic0")));
  m->numeric(space, to_device<TypeParam>(a));
  const auto x = waves<double>(30, 1);
  const auto before = applied<double, TypeParam>(*m, x);
  for (std::size_t k = a.row_ptrs[12]; k < a.row_ptrs[13]; ++k)
    if (a.col_idxs[k] == 12) a.values[k] = -1;
  EXPECT_EQ(
      message_of<InputError>([&] { m->numeric(space, to_device<TypeParam>(a)); }),
      "local = ic0: the diagonal entry of row 13 is missing or not positive; the matrix has to be symmetric "
      "positive definite");
  EXPECT_EQ(before, (applied<double, TypeParam>(*m, x)));
}

}  // namespace
}  // namespace prekond::testing
