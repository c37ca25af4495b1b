// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched/batch_cases.hpp"
#include "testing/reference_batched.hpp"
#include "testing/reference_lu.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>

#include <limits>

namespace prekond::testing {
namespace {

template <class Space>
class BatchedPreconditionersTest : public ::testing::Test {};
TYPED_TEST_SUITE(BatchedPreconditionersTest, TestSpaces, SpaceNames);

PlainFactors reference(const HostMatrix<double>& a, BatchedPreconditioner inverse, int sweeps) {
  if (inverse == BatchedPreconditioner::ilu0) return plain_ilu0(a);
  return inverse == BatchedPreconditioner::ic0 ? plain_ic0(a) : plain_par_ilu(a, sweeps);
}

/// One step of GMRES from 0 is alpha m with m = M^-1 b and alpha = (A m, b) / (A m, A m).
void expect_step(const HostMatrix<double>& a, const std::vector<double>& b, const std::vector<double>& x,
                 const std::vector<double>& m) {
  long double along = 0, square = 0;
  for (int i = 0; i < a.num_rows; ++i) {
    long double sum = 0;
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      sum += static_cast<long double>(a.values[k]) * m[a.col_idxs[k]];
    along += sum * b[i];
    square += sum * sum;
  }
  const auto alpha = static_cast<double>(along / square);
  ASSERT_GT(std::abs(alpha), 1e-6);
  for (std::size_t i = 0; i < m.size(); ++i)
    ASSERT_NEAR(x[i] / alpha, m[i], 1e-9 * (1 + std::abs(m[i]))) << i;
}

template <class Space>
void expect_applications(const std::vector<HostMatrix<double>>& systems, BatchedPreconditioner inverse,
                         int sweeps = 1000) {
  SCOPED_TRACE("rows " + std::to_string(systems.front().num_rows) + ", kind " + std::to_string(int(inverse)));
  const auto n = static_cast<std::size_t>(systems.front().num_rows);
  BatchedOptions options = options_of(BatchedMethod::gmres, inverse, 0, 1);
  options.sweeps = sweeps;
  const auto b = random_columns(n, systems.size());
  const DeviceBatch<double, Space> batch(systems);
  const auto solved = solve_batch<double>(batch.matrix, b, options);
  for (std::size_t s = 0; s < systems.size(); ++s) {
    const PlainFactors f = reference(systems[s], inverse, sweeps);
    const auto expected = plain_solve(f, b[s]);
    EXPECT_EQ(solved.replaced[s], f.replaced);
    EXPECT_EQ(solved.unsettled[s], !f.settled);
    ASSERT_NO_FATAL_FAILURE(expect_step(systems[s], b[s], solved.x[s], expected)) << "system " << s;
  }
  options.stored = true;
  options.scratch = 700;
  const auto stored = solve_batch<double>(batch.matrix, b, options);
  for (std::size_t s = 0; s < systems.size(); ++s) EXPECT_TRUE(stored.same(int(s), solved, int(s)));
}

TYPED_TEST(BatchedPreconditionersTest, MatchTheReference) {
  for (const int n : {1, 2, 7, 8, 9, 31, 32, 33, 64, 65, 257, 512})
    for (const auto inverse : {BatchedPreconditioner::ilu0, BatchedPreconditioner::par_ilu})
      expect_applications<TypeParam>(perturbed(uneven_matrix(n), 3, 0.1), inverse);
  for (const int n : {9, 33, 67}) {
    expect_applications<TypeParam>(perturbed(random_general(n, 0.3, 5), 4, 0.01),
                                   BatchedPreconditioner::ilu0);
    for (const int sweeps : {0, 1, 4, 1000})
      expect_applications<TypeParam>(perturbed(random_general(n, 0.3, 5), 4, 0.01),
                                     BatchedPreconditioner::par_ilu, sweeps);
    expect_applications<TypeParam>(perturbed(random_spd(n, 0.3, 5), 4, 0.01, true),
                                   BatchedPreconditioner::ic0);
  }
  for (const char* spec : {"poisson2d:6", "elasticity3d:3", "tridiagonal:100"}) {
    expect_applications<TypeParam>(perturbed(problem(spec), 3, 0.001, true), BatchedPreconditioner::ic0);
    expect_applications<TypeParam>(perturbed(problem(spec), 3, 0.001), BatchedPreconditioner::ilu0);
  }
}

/// The entries of a matrix on one side of its diagonal, and the diagonal.
HostMatrix<double> triangle_of(const HostMatrix<double>& a, bool lower) {
  HostMatrix<double> t{a.num_rows, a.num_cols, {0}, {}, {}};
  for (int i = 0; i < a.num_rows; ++i) {
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (lower ? a.col_idxs[k] <= i : a.col_idxs[k] >= i) {
        t.col_idxs.push_back(a.col_idxs[k]);
        t.values.push_back(a.values[k]);
      }
    t.row_ptrs.push_back(t.col_idxs.size());
  }
  return t;
}

/// L or U, with its diagonal
HostMatrix<double> factor_of(const PlainFactors& f, bool lower) {
  const int n = static_cast<int>(f.pivots.size());
  HostMatrix<double> t{n, n, {0}, {}, {}};
  for (int i = 0; i < n; ++i) {
    auto row = (lower ? f.lower : f.upper)[i];
    row[i] = lower ? 1 : f.pivots[i];
    for (const auto& [j, value] : row) {
      t.col_idxs.push_back(j);
      t.values.push_back(double(value));
    }
    t.row_ptrs.push_back(t.col_idxs.size());
  }
  return t;
}

/// G^T G b, with G's rows from the same local systems on the lower triangle of the power.
std::vector<double> fsai_of(const HostMatrix<double>& a, int power, const std::vector<double>& b) {
  const auto rows = long_rows(a);
  std::vector<long double> result(b.size());
  const auto whole = power_pattern(a, power);
  for (std::size_t i = 0; i < b.size(); ++i) {
    std::vector<int> cols;
    for (const int j : whole[i])
      if (j <= int(i)) cols.push_back(j);
    LongMatrix t(cols.size(), std::vector<long double>(cols.size()));
    std::vector<long double> unit(cols.size());
    unit.back() = 1;
    for (std::size_t p = 0; p < cols.size(); ++p)
      for (std::size_t q = 0; q < cols.size(); ++q) t[p][q] = entry(rows[cols[q]], cols[p]);
    const auto y = general_solve(t, unit);
    long double sum = 0;
    for (std::size_t p = 0; p < cols.size(); ++p) sum += y[p] * b[cols[p]];
    for (std::size_t p = 0; p < cols.size(); ++p) result[cols[p]] += y[p] * sum / y.back();
  }
  return {result.begin(), result.end()};
}

std::vector<double> ilu_isai_of(const HostMatrix<double>& a, int power, const std::vector<double>& b) {
  const PlainFactors f = plain_ilu0(a);
  const auto lower = factor_of(f, true), upper = factor_of(f, false);
  const auto middle = plain_product(local_inverse(lower, power_pattern(triangle_of(a, true), power)), b);
  return plain_product(local_inverse(upper, power_pattern(triangle_of(a, false), power)), middle);
}

std::vector<double> local_result(const HostMatrix<double>& a, BatchedPreconditioner inverse, int size,
                                 const std::vector<double>& b) {
  if (inverse == BatchedPreconditioner::fsai) return fsai_of(a, size, b);
  if (inverse == BatchedPreconditioner::ilu_isai) return ilu_isai_of(a, size, b);
  std::vector<std::vector<int>> pattern = power_pattern(a, size);
  if (inverse == BatchedPreconditioner::block_jacobi)
    for (int i = 0; i < int(b.size()); ++i) {
      pattern[i].clear();
      for (int j = i / size * size; j < std::min(int(b.size()), (i / size + 1) * size); ++j)
        pattern[i].push_back(j);
    }
  return plain_product(local_inverse(a, pattern), b);
}

template <class Space>
void expect_local(const std::vector<HostMatrix<double>>& systems, BatchedPreconditioner inverse, int size) {
  const auto n = static_cast<std::size_t>(systems.front().num_rows);
  SCOPED_TRACE("rows " + std::to_string(n) + ", kind " + std::to_string(int(inverse)) + ", size " +
               std::to_string(size));
  BatchedOptions options = options_of(BatchedMethod::gmres, inverse, 0, 1);
  if (inverse == BatchedPreconditioner::block_jacobi)
    options.block_size = size;
  else
    options.power = size;
  const auto b = random_columns(n, systems.size());
  const DeviceBatch<double, Space> batch(systems);
  const auto solved = solve_batch<double>(batch.matrix, b, options);
  for (std::size_t s = 0; s < systems.size(); ++s) {
    const auto expected = local_result(systems[s], inverse, size, b[s]);
    EXPECT_EQ(solved.replaced[s], 0);
    ASSERT_NO_FATAL_FAILURE(expect_step(systems[s], b[s], solved.x[s], expected)) << "system " << s;
  }
  options.stored = true;
  options.scratch = 700;
  const auto stored = solve_batch<double>(batch.matrix, b, options);
  for (std::size_t s = 0; s < systems.size(); ++s) EXPECT_TRUE(stored.same(int(s), solved, int(s)));
}

TYPED_TEST(BatchedPreconditionersTest, RowsMatchLocalInverses) {
  for (const int n : {1, 2, 7, 8, 9, 31, 33, 64, 65, 257, 300})
    for (const int size : {1, 2, 3}) {
      expect_local<TypeParam>(perturbed(uneven_matrix(n), 3, 0.1), BatchedPreconditioner::isai, size);
      expect_local<TypeParam>(perturbed(uneven_matrix(n), 3, 0.1), BatchedPreconditioner::block_jacobi, size);
      expect_local<TypeParam>(perturbed(uneven_matrix(n), 3, 0.1), BatchedPreconditioner::ilu_isai, size);
    }
  for (const int n : {1, 2, 9, 31, 33, 67})
    for (const int size : {1, 2, 3})
      expect_local<TypeParam>(perturbed(random_spd(n, 0.1, 5), 3, 0.01, true), BatchedPreconditioner::fsai,
                              size);
  for (const char* spec : {"poisson2d:6", "elasticity3d:3", "tridiagonal:100"})
    for (const auto inverse : {BatchedPreconditioner::fsai, BatchedPreconditioner::ilu_isai})
      expect_local<TypeParam>(perturbed(problem(spec), 3, 0.001, true), inverse, 2);
  for (const auto inverse : {BatchedPreconditioner::isai, BatchedPreconditioner::ilu_isai})
    expect_local<TypeParam>(perturbed(random_general(67, 0.7, 5), 4, 0.01), inverse, 1);
  expect_local<TypeParam>(perturbed(random_general(40, 0.05, 6), 4, 0.01), BatchedPreconditioner::ilu_isai,
                          8);
  for (const int size : {5, 16, 40, 64})
    expect_local<TypeParam>(perturbed(uneven_matrix(67), 2, 0.1), BatchedPreconditioner::block_jacobi, size);
  // A zero diagonal: rows are exchanged.
  const auto zero_diagonal = sparse<double>({{0, 2, 0, 0}, {3, 0, 1, 0}, {0, 1, 0, 2}, {0, 0, 5, 0}});
  expect_local<TypeParam>({zero_diagonal}, BatchedPreconditioner::isai, 3);
  expect_local<TypeParam>({zero_diagonal}, BatchedPreconditioner::block_jacobi, 2);
}

TYPED_TEST(BatchedPreconditionersTest, SingularLocalSystemsFallBackToTheDiagonal) {
  const auto a = sparse<double>({{2, 2, 0}, {2, 2, 0}, {0, 0, 4}});
  for (const auto inverse : {BatchedPreconditioner::isai, BatchedPreconditioner::block_jacobi}) {
    auto options = options_of(BatchedMethod::richardson, inverse, 0, 1);
    options.block_size = 2;
    const DeviceBatch<double, TypeParam> batch({a, a});
    const auto solved = solve_batch<double>(batch.matrix, {{1, 2, 4}, {1, 2, 4}}, options);
    EXPECT_EQ(solved.replaced, (std::vector<int>{2, 2}));
    EXPECT_EQ(solved.x[1], (std::vector<double>{0.5, 1, 1}));
  }
}

TYPED_TEST(BatchedPreconditionersTest, RowsOfFsaiThatBreakDownKeepTheirDiagonal) {
  // Rows 1 and 3 have no positive y; a_33 is negative, so that 1 takes its place. Row 2 is sound.
  const auto a = sparse<double>({{4, 8, 0, 0}, {8, 4, 0, 0}, {0, 0, 16, 0}, {0, 0, 0, -9}});
  auto options = options_of(BatchedMethod::gmres, BatchedPreconditioner::fsai, 0, 1);
  const DeviceBatch<double, TypeParam> batch({a, a});
  const auto solved = solve_batch<double>(batch.matrix, {{4, 3, 16, 5}, {4, 3, 16, 5}}, options);
  EXPECT_EQ(solved.replaced, (std::vector<int>{2, 2}));
  expect_step(a, {4, 3, 16, 5}, solved.x[1], {1, 0.75, 1, 5});
  const auto zero = sparse<double>({{0, 1}, {1, 0}});
  const auto none = solve_batch<double>(DeviceBatch<double, TypeParam>({zero}).matrix, {{2, 3}}, options);
  EXPECT_EQ(none.replaced[0], 2);
  expect_step(zero, {2, 3}, none.x[0], {2, 3});
}

TYPED_TEST(BatchedPreconditionersTest, RowsOfFactorsInversesThatOverflowKeepTheirDiagonal) {
  // L and U have 1e200 next to their diagonals, so products of two entries are not finite.
  const auto a = sparse<double>({{1, 1e200, 0}, {1e200, 2, 1e200}, {0, 1e200, 1}});
  auto options = options_of(BatchedMethod::richardson, BatchedPreconditioner::ilu_isai, 0, 1);
  options.power = 2;
  const auto solved = solve_batch<double>(DeviceBatch<double, TypeParam>({a}).matrix, {{1, 1, 1}}, options);
  EXPECT_GE(solved.replaced[0], 1);
  EXPECT_NE(solved.reasons[0], StopReason::rtol);
}

template <class Scalar, class Space>
void expect_complex_fsai() {
  // A Hermitian system whose FSAI of the whole lower triangle is its inverse Cholesky factor: one step.
  const int n = 17;
  HostMatrix<double> model = random_spd(n, 0.6, 5);
  HostMatrix<Scalar> a = in_scalar<Scalar>(model);
  for (int i = 0; i < n; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const int j = a.col_idxs[k];
      const double turn = 0.3 * (i - j);
      a.values[k] *= Scalar(std::cos(turn), std::sin(turn));
    }
  auto options = options_of(BatchedMethod::cg, BatchedPreconditioner::fsai, 1e-10);
  options.power = 8;
  std::vector<std::vector<Scalar>> b(1, std::vector<Scalar>(n));
  for (int i = 0; i < n; ++i) b[0][i] = Scalar(1 + i % 3, i % 5);
  const auto solved = solve_batch<Scalar>(DeviceBatch<Scalar, Space>({a}).matrix, b, options);
  EXPECT_EQ(solved.reasons[0], StopReason::rtol);
  EXPECT_EQ(solved.iterations[0], 1);
}
TYPED_TEST(BatchedPreconditionersTest, FsaiOfHermitianSystems) {
  expect_complex_fsai<Kokkos::complex<double>, TypeParam>();
}

TYPED_TEST(BatchedPreconditionersTest, CgConvergesFasterWithLargerBlocks) {
  const auto systems = perturbed(problem("poisson2d:9"), 2, 0.001, true);
  const auto b = random_columns(81, 2);
  auto options = options_of(BatchedMethod::cg, BatchedPreconditioner::block_jacobi);
  options.block_size = 9;
  const auto solved = solve_batch<double>(DeviceBatch<double, TypeParam>(systems).matrix, b, options);
  const auto jacobi = solve_batch<double>(DeviceBatch<double, TypeParam>(systems).matrix, b,
                                          options_of(BatchedMethod::cg, BatchedPreconditioner::jacobi));
  EXPECT_EQ(solved.reasons[1], StopReason::rtol);
  EXPECT_LT(solved.iterations[1], jacobi.iterations[1]);
}

TYPED_TEST(BatchedPreconditionersTest, PivotsThatBreakDown) {
  const auto flat = sparse<double>({{1, 1, 2, 0}, {1, 1, 1, 1}, {3, 1, 5, 1}, {0, 1, 1, 1}});
  expect_applications<TypeParam>({flat, flat}, BatchedPreconditioner::ilu0);
  const auto no_diagonal = sparse<double>({{0, 1, 0}, {1, 0, 0}, {0, 1, 2}});
  expect_applications<TypeParam>({no_diagonal}, BatchedPreconditioner::ilu0);
  for (const int sweeps : {0, 1, 2, 1000})
    for (const auto& a : {flat, no_diagonal})
      expect_applications<TypeParam>({a}, BatchedPreconditioner::par_ilu, sweeps);
  const auto indefinite = sparse<double>({{1, 2, 0}, {2, 1, 1}, {0, 1, -3}});
  expect_applications<TypeParam>({indefinite}, BatchedPreconditioner::ic0);
  HostMatrix<double> empty_row = diagonal_matrix({2, 4});
  empty_row.num_rows = empty_row.num_cols = 3;
  empty_row.row_ptrs = {0, 1, 1, 2};
  empty_row.col_idxs = {0, 2};
  expect_applications<TypeParam>({empty_row}, BatchedPreconditioner::ilu0);
}

TYPED_TEST(BatchedPreconditionersTest, SingularSystemsHaveFinitePreconditioners) {
  for (const auto inverse :
       {BatchedPreconditioner::jacobi, BatchedPreconditioner::ilu0, BatchedPreconditioner::par_ilu,
        BatchedPreconditioner::ic0, BatchedPreconditioner::isai, BatchedPreconditioner::block_jacobi,
        BatchedPreconditioner::fsai, BatchedPreconditioner::ilu_isai}) {
    auto systems = perturbed(shifted(problem("tridiagonal:33"), -1), 4, 0.1, true);
    const auto b = random_columns(33, 4);
    auto options = options_of(BatchedMethod::richardson, inverse, 1e-10, 3);
    const auto good = solve_batch<double>(DeviceBatch<double, TypeParam>(systems).matrix, b, options);
    systems[1].values[7] = std::numeric_limits<double>::quiet_NaN();
    systems[2].values[9] = std::numeric_limits<double>::infinity();
    std::fill(systems[2].values.begin() + 40, systems[2].values.end(), 0.0);
    const auto bad = solve_batch<double>(DeviceBatch<double, TypeParam>(systems).matrix, b, options);
    for (const int s : {0, 3}) EXPECT_TRUE(bad.same(s, good, s)) << int(inverse) << ", system " << s;
    EXPECT_EQ(bad.reasons[1], StopReason::nan);
    EXPECT_GE(bad.replaced[2], 1) << int(inverse);
    options.stopping.max_iters = 0;
    const auto untouched = solve_batch<double>(DeviceBatch<double, TypeParam>(systems).matrix, b, options);
    EXPECT_EQ(untouched.x[1], std::vector<double>(33, 0.0));
    EXPECT_EQ(untouched.iterations, (std::vector<int>{0, 0, 0, 0}));
  }
}

/// A tridiagonal matrix whose pivots u_i = d - c / u_{i-1} do not come near a limit where 4 c > d d: two
/// sweeps settle one row more.
HostMatrix<double> chain(int n, double d, double c) {
  std::vector<std::vector<double>> rows(n, std::vector<double>(n));
  for (int i = 0; i < n; ++i) {
    rows[i][i] = d;
    if (i > 0) rows[i][i - 1] = 1;
    if (i + 1 < n) rows[i][i + 1] = c;
  }
  return sparse<double>(rows);
}

TYPED_TEST(BatchedPreconditionersTest, SweepsOfParIluGoOnUntilTheFactorsSettle) {
  for (const int n : {7, 20, 40}) {
    SCOPED_TRACE(n);
    const DeviceBatch<double, TypeParam> batch({chain(n, 1, 0.7), chain(n, 4, 1), chain(n, 1, 0.7)});
    const auto b = random_columns(n, 3);
    auto options = options_of(BatchedMethod::bicgstab, BatchedPreconditioner::par_ilu);
    const auto whole = solve_batch<double>(batch.matrix, b, options);
    EXPECT_EQ(whole.report.num_converged, 3);
    EXPECT_EQ(whole.unsettled, (std::vector<int>{0, 0, 0}));
    for (const int s : {0, 2}) EXPECT_LE(whole.iterations[s], 2) << "the factors are exact";
    options.sweeps = 2 * n - 2;
    const auto enough = solve_batch<double>(batch.matrix, b, options);
    for (int s = 0; s < 3; ++s) EXPECT_TRUE(enough.same(s, whole, s));
    options.sweeps = 2 * n - 3;
    EXPECT_EQ(solve_batch<double>(batch.matrix, b, options).unsettled, (std::vector<int>{1, 0, 1}));
    options.sweeps = n - 1;
    const auto cut = solve_batch<double>(batch.matrix, b, options);
    EXPECT_EQ(cut.unsettled, (std::vector<int>{1, 0, 1}));
    EXPECT_EQ(cut.report.unsettled_factors, 2);
    EXPECT_TRUE(cut.same(1, whole, 1)) << "each system has sweeps of its own";
    EXPECT_GT(cut.iterations[0], whole.iterations[0]);
  }
}

TYPED_TEST(BatchedPreconditionersTest, ReduceTheIterations) {
  const auto systems = perturbed(uneven_matrix(257), 5, 0.1);
  const auto b = random_columns(257, 5);
  const DeviceBatch<double, TypeParam> batch(systems);
  const auto jacobi = solve_batch<double>(batch.matrix, b,
                                          options_of(BatchedMethod::bicgstab, BatchedPreconditioner::jacobi));
  const auto ilu0 =
      solve_batch<double>(batch.matrix, b, options_of(BatchedMethod::bicgstab, BatchedPreconditioner::ilu0));
  EXPECT_EQ(ilu0.report.num_converged, 5);
  EXPECT_LT(2 * ilu0.report.max_iterations, jacobi.report.min_iterations);
  for (int s = 0; s < 5; ++s)
    for (int i = 0; i < 257; ++i) ASSERT_NEAR(ilu0.x[s][i], jacobi.x[s][i], 1e-8);
  const auto spd = perturbed(problem("poisson2d:16"), 5, 0.001, true);
  const DeviceBatch<double, TypeParam> spd_batch(spd);
  const auto spd_b = random_columns(256, 5);
  const auto plain = solve_batch<double>(spd_batch.matrix, spd_b,
                                         options_of(BatchedMethod::cg, BatchedPreconditioner::none));
  const auto ic0 =
      solve_batch<double>(spd_batch.matrix, spd_b, options_of(BatchedMethod::cg, BatchedPreconditioner::ic0));
  auto fsai_options = options_of(BatchedMethod::cg, BatchedPreconditioner::fsai);
  int before = plain.report.max_iterations;
  for (const int power : {1, 2, 3}) {
    fsai_options.power = power;
    const auto fsai = solve_batch<double>(spd_batch.matrix, spd_b, fsai_options);
    EXPECT_EQ(fsai.report.num_converged, 5);
    EXPECT_LT(fsai.report.max_iterations, before) << power;
    before = fsai.report.max_iterations;
  }
  EXPECT_EQ(ic0.report.num_converged, 5);
  EXPECT_LT(1.5 * ic0.report.max_iterations, plain.report.min_iterations);
}

TYPED_TEST(BatchedPreconditionersTest, IncompatibleOptionsAreRefused) {
  using Csr = BatchedCsr<double, TypeParam>;
  const auto make = [](BatchedMethod method, BatchedPreconditioner inverse) {
    return [=] { BatchedSolver<double, Csr> solver(options_of(method, inverse)); };
  };
  EXPECT_THAT(message_of<OptionError>(make(BatchedMethod::cg, BatchedPreconditioner::ilu0)),
              ::testing::HasSubstr("cg needs a symmetric preconditioner"));
  const DeviceBatch<double, TypeParam> batch({sparse<double>({{1, 2}, {0, 1}})});
  BatchedSolver<double, Csr> solver(options_of(BatchedMethod::cg, BatchedPreconditioner::ic0));
  EXPECT_THAT(message_of<InputError>([&] { solver.symbolic(TypeParam(), batch.matrix); }),
              ::testing::HasSubstr("row 1 has an entry whose mirror image is not stored"));
}

}  // namespace
}  // namespace prekond::testing
