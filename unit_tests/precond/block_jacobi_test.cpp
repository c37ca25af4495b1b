// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/block_cases.hpp"
#include "testing/one_thread.hpp"

#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/spmv.hpp>

namespace prekond::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <class Space>
class BlockJacobiTest : public ::testing::Test {};
TYPED_TEST_SUITE(BlockJacobiTest, TestSpaces, SpaceNames);

// ------------------------------------------------------------------------------------------------- dense

TYPED_TEST(BlockJacobiTest, DenseBlocksAreSolvedExactly) {
  for (const auto& matrices : {small_matrices(), general_matrices()})
    for (const auto& [name, a] : matrices)
      for (const std::string& partition : partitions)
        for (const std::int64_t size : {1, 3, 8, 17, 40, 129}) {
          SCOPED_TRACE(name + ", " + partition + ", blocks of " + std::to_string(size));
          const OptionMap options = with_size(size, {{"partition", partition}});
          // The circuit is nearly singular as a whole.
          const bool is_circuit = name.rfind("circuit", 0) == 0;
          check_block_jacobi<double, TypeParam>(a, options, is_circuit ? 1e-9 : 1e-12);
          if (name.rfind("scaled", 0) != 0 && !is_circuit)
            check_block_jacobi<float, TypeParam>(a, options, 1e-3);
        }
}

TYPED_TEST(BlockJacobiTest, LargeBlocksWithPivoting) {
  for (const int n : {33, 65, 130}) {
    SCOPED_TRACE(n);
    check_block_jacobi<double, TypeParam>(random_dense(n, 5), with_size(200, {}), 1e-10);
    check_block_jacobi<double, TypeParam>(random_gram(n, 2 * n, 0.1, 7), with_size(200, {}), 1e-12);
  }
}

TYPED_TEST(BlockJacobiTest, OneBlockIsADirectSolver) {
  const TypeParam space;
  const auto a = generated("poisson2d:15");
  const auto m = made_block_jacobi<double, TypeParam>({{"block_size", std::int64_t(1000)}});
  m->numeric(space, to_device<TypeParam>(a));
  const auto x = waves<double>(225, 1);
  const auto y = applied<double, TypeParam>(*m, x);
  for (int i = 0; i < 225; ++i) {
    double sum = 0;
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) sum += a.values[k] * y[0][a.col_idxs[k]];
    ASSERT_NEAR(sum, x[0][i], 1e-13);
  }
}

TYPED_TEST(BlockJacobiTest, BlocksOfOneRowAreJacobi) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(random_general(70, 0.1, 3));
  const auto m = made_block_jacobi<double, TypeParam>({{"block_size", std::int64_t(1)}});
  m->numeric(space, a);
  const auto jacobi = create_preconditioner<double, TypeParam>("jacobi");
  jacobi->numeric(space, a);
  const auto x = waves<double>(70, 2);
  EXPECT_EQ((applied<double, TypeParam>(*m, x)), (applied<double, TypeParam>(*jacobi, x)));
}

TYPED_TEST(BlockJacobiTest, SmallBlocksAreFoundAsSupervariables) {
  const auto a = generated("elasticity3d:5");
  for (const std::int64_t most : {1, 2, 3, 4, 6, 16, 32, 33, 60}) {
    SCOPED_TRACE(most);
    const OptionMap options = {{"partition", std::string("supervariables")}, {"block_size", most}};
    check_block_jacobi<double, TypeParam>(a, options, 1e-12);
    check_block_jacobi<float, TypeParam>(a, options, 1e-4);
  }
  const TypeParam space;
  const auto device = to_device<TypeParam>(a);
  MatrixSource<double, TypeParam> source(device);
  source.set_unknowns_per_node(3);
  const auto m = made_block_jacobi<double, TypeParam>(
      {{"partition", std::string("supervariables")}, {"max_block_size", std::int64_t(4)}});
  m->symbolic(space, source);
  EXPECT_EQ(m->partition().largest, 3);
}

TYPED_TEST(BlockJacobiTest, InversesInLowerPrecision) {
  const TypeParam space;
  const auto a = random_spd(97, 0.1, 3, 4);
  const auto device = to_device<TypeParam>(a);
  const auto x = waves<double>(97, 2);
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::pair<std::string, double>> storages = {
      {"full", 1e-13}, {"single", 1e-6}, {"half", 3e-3}, {"bfloat16", 3e-2}};
  for (const std::int64_t size : {5, 48}) {
    last = std::numeric_limits<std::int64_t>::max();
    for (const auto& [storage, tolerance] : storages) {
      SCOPED_TRACE(storage);
      const auto m = made_block_jacobi<double, TypeParam>(with_size(size, {{"local.storage", storage}}));
      m->numeric(space, device);
      const auto sets = sets_of(m->partition());
      const auto y = applied<double, TypeParam>(*m, x);
      const double distance = relative_distance(y[1], reference_schwarz(a, sets, 0, false, x[1]));
      EXPECT_LT(distance, tolerance);
      EXPECT_TRUE(storage == "full" || distance > 1e-3 * tolerance);
      EXPECT_LE(m->report().bytes, last);
      last = m->report().bytes;
      const auto of_floats =
          made_block_jacobi<float, TypeParam>(with_size(size, {{"local.storage", storage}}));
      const auto b = convert<float>(a);
      of_floats->numeric(space, to_device<TypeParam>(b));
      const auto z = applied<float, TypeParam>(*of_floats, waves<float>(97, 1));
      EXPECT_LT(relative_distance(z[0], reference_schwarz(b, sets_of(of_floats->partition()), 0, false,
                                                          waves<float>(97, 1)[0])),
                std::max(tolerance, 1e-4));
    }
  }
}

TYPED_TEST(BlockJacobiTest, InversesOfSymmetricBlocksAreSymmetric) {
  const TypeParam space;
  const auto a = random_spd(60, 0.3, 11);
  const auto m = made_block_jacobi<double, TypeParam>({{"block_size", std::int64_t(20)}});
  m->numeric(space, to_device<TypeParam>(a));
  EXPECT_TRUE(m->is_symmetric());
  // By the columns of M^-1, the products with unit vectors.
  Vectors<double> unit(60, std::vector<double>(60, 0));
  for (int i = 0; i < 60; ++i) unit[i][i] = 1;
  const auto columns = applied<double, TypeParam>(*m, unit);
  for (int i = 0; i < 60; ++i)
    for (int j = 0; j < i; ++j) ASSERT_EQ(columns[i][j], columns[j][i]);
  const auto other = made_block_jacobi<double, TypeParam>({{"block_size", std::int64_t(20)}});
  EXPECT_TRUE(other->is_symmetric()) << "as far as is known";
  other->numeric(space, to_device<TypeParam>(random_general(60, 0.3, 11)));
  EXPECT_FALSE(other->is_symmetric());
  EXPECT_FALSE(other->is_nonsymmetric());
}

TYPED_TEST(BlockJacobiTest, SymmetricIndefiniteBlocksArePivoted) {
  auto a = random_spd(40, 0.4, 5);
  for (int i = 0; i < 40; i += 3)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (a.col_idxs[k] == i) a.values[k] = 1e-14;
  check_block_jacobi<double, TypeParam>(a, {{"block_size", std::int64_t(40)}}, 1e-9);
}

TYPED_TEST(BlockJacobiTest, SingularDirectionsAreReplaced) {
  const TypeParam space;
  std::vector<std::vector<double>> dense(12, std::vector<double>(12, 0));
  for (int i = 0; i < 12; ++i) dense[i][i] = i + 2;
  // Rows 4 and 5 are the same, and 8 has a NaN.
  dense[4][5] = 6, dense[5][4] = 6, dense[4][4] = 6, dense[5][5] = 6;
  dense[8][9] = std::nan("");
  for (const std::string storage : {"full", "half"}) {
    const auto m = made_block_jacobi<double, TypeParam>(
        {{"partition", std::string("rows")}, {"block_size", std::int64_t(4)}, {"local.storage", storage}});
    m->numeric(space, to_device<TypeParam>(sparse(dense)));
    EXPECT_EQ(m->report().breakdowns.count, 5) << "a direction, and all rows of another block";
    EXPECT_EQ(m->report().breakdowns.first_row, 5);
    EXPECT_EQ(m->report().breakdowns.first_pivot, 0);
    EXPECT_EQ(
        m->report().breakdowns.action,
        "1 singular directions of 1 blocks were replaced; 1 blocks without a finite inverse fell back to "
        "their diagonals");
    const auto y = applied<double, TypeParam>(*m, {std::vector<double>(12, 1)})[0];
    // [6 6; 6 12] x = (1, 1)
    EXPECT_NEAR(y[4], 1.0 / 6, 1e-3);
    EXPECT_NEAR(y[5], 0, 1e-3);
    for (const int i : {0, 1, 2, 3, 6, 7, 8, 9, 10, 11})
      EXPECT_NEAR(y[i] * dense[i][i], 1, storage == "full" ? 1e-15 : 1e-3) << i;
  }
  // The rank is one, to rounding; the second is not symmetric.
  for (const double other : {0.1, 0.3}) {
    const std::vector<double> u = {0.1, 0.7, 0.3}, v = {other, 0.7, 0.3};
    dense.assign(3, std::vector<double>(3, 0));
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) dense[i][j] = u[i] * v[j];
    const auto m = made_block_jacobi<double, TypeParam>({{"block_size", std::int64_t(1000)}});
    m->numeric(space, to_device<TypeParam>(sparse(dense)));
    EXPECT_EQ(m->report().breakdowns.count, 2) << other;
    EXPECT_LT(std::abs(m->report().breakdowns.first_pivot), 1e-14);
  }
  // No diagonal entry at all, and one that has no inverse.
  dense.assign(4, std::vector<double>(4, 0));
  dense[0][0] = 1e-320, dense[1][1] = 4;
  const auto m = made_block_jacobi<double, TypeParam>({{"block_size", std::int64_t(1000)}});
  m->numeric(space, to_device<TypeParam>(sparse(dense)));
  EXPECT_EQ(m->report().breakdowns.count, 4);
  EXPECT_EQ((applied<double, TypeParam>(*m, {{8, 8, 8, 8}})[0]), (std::vector<double>{8, 2, 8, 8}));
}

/// A graph Laplacian of an n x n grid, singular with the constants; conductivities of `jump` in a part.
HostMatrix<double> neumann_grid(int n, double jump) {
  std::vector<std::vector<double>> dense(n * n, std::vector<double>(n * n, 0));
  const auto connect = [&](int i, int j) {
    const double value = (i % n < n / 2 ? jump : 1) * (1 + 0.1 * (i % 3));
    dense[i][i] += value, dense[j][j] += value;
    dense[i][j] -= value, dense[j][i] -= value;
  };
  for (int i = 0; i < n * n; ++i) {
    if (i % n + 1 < n) connect(i, i + 1);
    if (i + n < n * n) connect(i, i + n);
  }
  return sparse(dense);
}

/// A floating block leaves M positive definite, and CG solves the singular system.
TYPED_TEST(BlockJacobiTest, SemidefiniteBlocksStayDefinite) {
  const TypeParam space;
  for (const int n : {2, 4, 7, 12})
    for (const double jump : {1.0, 1e6, 1e-6}) {
      SCOPED_TRACE(std::to_string(n) + ", " + std::to_string(jump));
      const auto host = neumann_grid(n, jump);
      const int rows = n * n;
      const auto a = to_device<TypeParam>(host);
      for (const std::string combine : {"restricted", "additive"}) {
        const auto m = create_preconditioner<double, TypeParam>(
            combine == "additive" ? "schwarz" : "block_jacobi",
            combine == "additive" ? OptionMap{{"combine", combine}, {"block_size", std::int64_t(1000)}}
                                  : OptionMap{{"block_size", std::int64_t(1000)}});
        m->numeric(space, a);
        EXPECT_EQ(m->report().breakdowns.count, 1);
        EXPECT_THAT(m->report().breakdowns.action,
                    HasSubstr("1 singular directions of 1 blocks were replaced"));
        // b in the range, of a smooth x.
        std::vector<double> b(rows, 0);
        for (int i = 0; i < rows; ++i)
          for (std::size_t k = host.row_ptrs[i]; k < host.row_ptrs[i + 1]; ++k)
            b[i] += host.values[k] * std::sin(0.3 * host.col_idxs[k]);
        const Vector<double, TypeParam> x("x", rows);
        StoppingOptions stopping;
        stopping.rtol = 1e-8;
        const SolveResult result = Cg<double, TypeParam>().solve(
            space, CsrOperator<double, TypeParam>(a), m.get(), to_device<TypeParam>(b), x, stopping);
        EXPECT_TRUE(result.converged) << to_string(result.reason);
        EXPECT_LE(result.iterations, 5);
      }
    }
}

/// M^-1 by its columns, of one block.
template <class Space>
Vectors<double> inverse_of(const HostMatrix<double>& a, const std::string& storage = "full") {
  const Space space;
  const auto m =
      made_block_jacobi<double, Space>({{"block_size", std::int64_t(1000)}, {"local.storage", storage}});
  m->numeric(space, to_device<Space>(a));
  EXPECT_EQ(m->report().breakdowns.count, 0) << m->report().breakdowns.first_row;
  Vectors<double> unit(a.num_rows, std::vector<double>(a.num_rows, 0));
  for (int i = 0; i < a.num_rows; ++i) unit[i][i] = 1;
  return applied<double, Space>(*m, unit);
}

TYPED_TEST(BlockJacobiTest, RowsAndColumnsOfAnyScaleAreNotSingular) {
  // 2^660 is about 1e199. Powers of two change no bit of the inverse but its scale.
  for (const int n : {2, 5, 16, 17, 40}) {
    const auto a = random_dense(n, 3);
    const auto unscaled = inverse_of<TypeParam>(a);
    for (const int of_rows : {0, 1, -1})
      for (const int of_columns : {0, 1}) {
        if (of_rows == 0 && of_columns == 0) continue;
        SCOPED_TRACE(std::to_string(n) + " rows, " + std::to_string(of_rows) + ", " +
                     std::to_string(of_columns));
        const auto row_exponent = [&](int i) { return of_rows * (i % 3 - 1) * (of_columns ? 330 : 660); };
        const auto column_exponent = [&](int j) { return of_columns * ((j + 1) % 3 - 1) * 330; };
        auto scaled = a;
        for (int i = 0; i < n; ++i)
          for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
            scaled.values[k] = std::ldexp(a.values[k], row_exponent(i) + column_exponent(a.col_idxs[k]));
        const auto inverse = inverse_of<TypeParam>(scaled);
        // B^-1 has the rows of A^-1 scaled by B's columns, and its columns by B's rows.
        double largest = 0;
        for (int j = 0; j < n; ++j)
          for (int i = 0; i < n; ++i) largest = std::max(largest, std::abs(unscaled[j][i]));
        for (int j = 0; j < n; ++j)
          for (int i = 0; i < n; ++i)
            ASSERT_NEAR(std::ldexp(inverse[j][i], row_exponent(j) + column_exponent(i)), unscaled[j][i],
                        1e-11 * largest);
      }
  }
  // Powers of two are undone exactly: with a permutation nothing is rounded.
  std::vector<std::vector<double>> dense(4, std::vector<double>(4, 0));
  dense[0][1] = 1e-200, dense[1][0] = 1e200, dense[2][3] = 3e-200, dense[3][2] = 7e150;
  dense[1][1] = 1e-5;
  const auto inverse = inverse_of<TypeParam>(sparse(dense));
  EXPECT_EQ(inverse[1][0], 1 / 1e200);
  EXPECT_EQ(inverse[0][1], 1 / 1e-200);
  EXPECT_EQ(inverse[2][3], 1 / 3e-200);
  EXPECT_EQ(inverse[3][2], 1 / 7e150);
}

TYPED_TEST(BlockJacobiTest, SingularBlocksOfAnyScaleAreFound) {
  const TypeParam space;
  for (const int n : {4, 20}) {
    auto a = random_dense(n, 3);
    // Row 1 is 2^700 times row 0, row 2 as small.
    for (int j = 0; j < n; ++j) {
      a.values[a.row_ptrs[1] + j] = std::ldexp(a.values[a.row_ptrs[0] + j], 700);
      a.values[a.row_ptrs[2] + j] = std::ldexp(a.values[a.row_ptrs[2] + j], -700);
    }
    const auto m = made_block_jacobi<double, TypeParam>({{"block_size", std::int64_t(1000)}});
    m->numeric(space, to_device<TypeParam>(a));
    EXPECT_EQ(m->report().breakdowns.count, 1);
    EXPECT_LT(std::abs(m->report().breakdowns.first_pivot), 1e-14);
  }
}

TYPED_TEST(BlockJacobiTest, InversesOfSymmetricIndefiniteBlocksAreSymmetric) {
  const TypeParam space;
  for (const int n : {9, 50}) {
    auto a = random_spd(n, 0.3, 11);
    for (int i = 0; i < n; i += 2)
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
        if (a.col_idxs[k] == i) a.values[k] *= i % 4 == 0 ? -1.0 : -0.25;
    const auto m = made_block_jacobi<double, TypeParam>({{"block_size", std::int64_t(1000)}});
    m->numeric(space, to_device<TypeParam>(a));
    EXPECT_TRUE(m->is_symmetric());
    const auto columns = inverse_of<TypeParam>(a);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < i; ++j) ASSERT_EQ(columns[i][j], columns[j][i]);
    check_block_jacobi<double, TypeParam>(a, {{"block_size", std::int64_t(1000)}}, 1e-10);
  }
}

TYPED_TEST(BlockJacobiTest, DiagonalEntriesInLowerPrecisionsDoNotBecomeZero) {
  for (const std::string storage : {"single", "half", "bfloat16"}) {
    const auto inverse =
        inverse_of<TypeParam>(sparse<double>({{1, 0, 0}, {0, 0x1p600, 0}, {0, 0, -0x1p-500}}), storage);
    EXPECT_EQ(inverse, (Vectors<double>{{1, 0, 0}, {0, 0x1p-600, 0}, {0, 0, -0x1p500}})) << storage;
  }
  // Far below the others of its row and of its column, all the same: 2^-28 of the largest in half.
  const auto saddle = inverse_of<TypeParam>(sparse<double>({{0x1p-80, 1}, {1, 0}}), "half");
  EXPECT_EQ(saddle[0][1], 1);
  EXPECT_EQ(saddle[1][0], 1);
  EXPECT_EQ(saddle[0][0], 0);
  EXPECT_LT(saddle[1][1], 0);
  // One that is zero stays.
  const auto exchange = inverse_of<TypeParam>(sparse<double>({{0, 2}, {4, 0}}), "half");
  EXPECT_EQ(exchange, (Vectors<double>{{0, 0.5}, {0.25, 0}}));
}

/// (D A D)^-1 = D^-1 A^-1 D^-1: whatever D, entries keep their digits, and symmetry all bits.
TYPED_TEST(BlockJacobiTest, RowsOfAnyScaleKeepTheirDigitsInLowerPrecisions) {
  const int n = 40;
  const auto spd = random_spd(n, 0.4, 31);
  auto indefinite = spd;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::size_t k = indefinite.row_ptrs[i]; k < indefinite.row_ptrs[i + 1]; ++k)
      if (indefinite.col_idxs[k] == i && i % 3 == 0) indefinite.values[k] *= -1;
  auto general = indefinite;
  for (std::size_t k = 0; k < general.values.size(); k += 3) general.values[k] *= 1.5;
  for (const HostMatrix<double>* a : std::vector<const HostMatrix<double>*>{&spd, &indefinite, &general})
    for (const std::string storage : {"single", "half", "bfloat16"}) {
      const double epsilon = storage == "single" ? 0x1p-23 : storage == "half" ? 0x1p-10 : 0x1p-7;
      const Vectors<double> exact = inverse_of<TypeParam>(*a, "full");
      HostMatrix<double> graded = *a;
      const auto exponent = [](int i) { return i * 7 % 40 * 24 - 480; };
      for (int i = 0; i < n; ++i)
        for (std::size_t k = graded.row_ptrs[i]; k < graded.row_ptrs[i + 1]; ++k)
          graded.values[k] = std::ldexp(graded.values[k], exponent(i) + exponent(graded.col_idxs[k]));
      const Vectors<double> found = inverse_of<TypeParam>(graded, storage);
      double largest = 0;
      for (const auto& row : exact)
        for (const double value : row) largest = std::max(largest, std::abs(value));
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
          EXPECT_NEAR(std::ldexp(found[i][j], exponent(i) + exponent(j)), exact[i][j], 8 * epsilon * largest)
              << storage << " (" << i << ", " << j << ")";
          if (a != &general) {
            EXPECT_EQ(found[i][j], found[j][i]);
          }
        }
    }
}

TYPED_TEST(BlockJacobiTest, ScalesDoNotMatter) {
  for (const double scale : {1e-200, 1e-30, 1e30, 1e200}) {
    auto a = random_spd(50, 0.3, 9);
    for (double& value : a.values) value *= scale;
    check_block_jacobi<double, TypeParam>(a, with_size(16, {}), 1e-12);
  }
}

// ------------------------------------------------------------------------------------------- other methods

TYPED_TEST(BlockJacobiTest, AnyPreconditionerOfTheBlocks) {
  const TypeParam space;
  const auto a = random_spd(90, 0.1, 3);
  const auto device = to_device<TypeParam>(a);
  const auto x = waves<double>(90, 3);
  // Parts that are not consecutive, whose numbers the bisection finds.
  for (const auto& line : preconditioner_registry<double, TypeParam>()) {
    SCOPED_TRACE(line.name);
    const auto m = made_block_jacobi<double, TypeParam>(
        with_size(11, local_is(line.name, {{"partition", std::string("bisection")}})));
    m->numeric(space, device);
    EXPECT_FALSE(m->partition().is_consecutive);
    EXPECT_EQ((applied<double, TypeParam>(*m, x)),
              by_preconditioner_of_blocks<TypeParam>(a, sets_of(m->partition()), 0, false, line.name, x));
  }
  // A method in itself: blocks of blocks. The inner ones are those of the outer layout.
  const auto nested = made_block_jacobi<double, TypeParam>(
      local_is("block_jacobi", {{"block_size", std::int64_t(30)},
                                {"partition", std::string("rows")},
                                {"local.partition", std::string("rows")},
                                {"local.block_size", std::int64_t(10)}}));
  const auto direct = made_block_jacobi<double, TypeParam>(
      {{"block_size", std::int64_t(10)}, {"partition", std::string("rows")}});
  nested->numeric(space, device);
  direct->numeric(space, device);
  EXPECT_EQ((applied<double, TypeParam>(*nested, x)), (applied<double, TypeParam>(*direct, x)));
}

TYPED_TEST(BlockJacobiTest, AWorkspaceOfAnotherMatrixOrMethodIsRefused) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(random_spd(40, 0.1, 3));
  const MultiVector<double, TypeParam> x("x", 40, 1), y("y", 40, 1);
  for (const std::string method : {"dense", "ilu0", "ic0", "ilut", "jacobi"}) {
    SCOPED_TRACE(method);
    const auto m = made_block_jacobi<double, TypeParam>(with_size(7, local_is(method)));
    const std::string name = method == "dense" ? "local = dense" : method;
    const auto refusal = [&](Workspace& workspace) {
      return message_of<std::logic_error>([&] { m->apply(space, x, y, workspace); });
    };
    const auto before_symbolic = m->make_workspace(space, 1);
    m->numeric(space, to_device<TypeParam>(random_spd(20, 0.1, 3)));
    const auto of_20_rows = m->make_workspace(space, 1);
    m->symbolic(space, a);
    m->numeric(space, a);
    const std::string foreign = name +
                                ": the workspace was made before symbolic, or by another preconditioner; "
                                "call make_workspace again";
    EXPECT_EQ(refusal(*before_symbolic), foreign);
    EXPECT_THAT(refusal(*of_20_rows), HasSubstr(name + ": the workspace was made for blocks of 20 rows "));
    const auto adaptive = create_preconditioner<double, TypeParam>("adaptive_fsai");
    adaptive->numeric(space, a);
    EXPECT_EQ(refusal(*adaptive->make_workspace(space, 1)), foreign);
    EXPECT_NO_THROW(m->apply(space, x, y, *m->make_workspace(space, 1)));
  }
}

TYPED_TEST(BlockJacobiTest, APreconditionersErrorNamesTheMatrixsRow) {
  const TypeParam space;
  auto a = random_spd(30, 0.2, 1);
  for (std::size_t k = a.row_ptrs[12]; k < a.row_ptrs[13]; ++k)
    if (a.col_idxs[k] == 12) a.values[k] = -1;
  const auto m = made_block_jacobi<double, TypeParam>(with_size(7, local_is("fsai")));
  // The rows in reverse, in one block each.
  std::vector<int> part(30);
  for (int i = 0; i < 30; ++i) part[i] = 29 - i;
  m->set_partition(space, to_device<TypeParam>(part));
  try {
    m->numeric(space, to_device<TypeParam>(a));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.row(), 12);
    EXPECT_THAT(error.what(), HasSubstr("the diagonal entry of row 18"));
    EXPECT_THAT(error.what(), HasSubstr("in A it is row 13)"));
  }
}

TYPED_TEST(BlockJacobiTest, PropertiesAreTheLocalMethods) {
  const auto of = [](const OptionMap& options) {
    return made_block_jacobi<double, TypeParam>(options)->properties();
  };
  EXPECT_EQ(of({}).symmetry, Symmetry::symmetric);
  EXPECT_FALSE(of({}).needs_spd);
  EXPECT_EQ(of(local_is("ic0")).symmetry, Symmetry::symmetric);
  EXPECT_TRUE(of(local_is("ic0")).needs_spd);
  EXPECT_EQ(of(local_is("ilu0")).symmetry, Symmetry::nonsymmetric);
  EXPECT_EQ(of(local_is("ilut")).symmetry, Symmetry::nonsymmetric);
  EXPECT_EQ(of(local_is("isai")).symmetry, Symmetry::nonsymmetric);
  EXPECT_TRUE(of(local_is("isai", {{"local.kind", std::string("spd")}})).needs_spd);
}

// ---------------------------------------------------------------------------------------------- the frame

TYPED_TEST(BlockJacobiTest, ASecondNumericTakesTheNewValues) {
  const TypeParam space;
  const auto a = random_spd(80, 0.1, 3);
  const auto b = with_larger_diagonal(a, 5);
  for (const char* method : {"dense", "ilu0", "ic0", "ilut", "jacobi"}) {
    SCOPED_TRACE(method);
    const auto m = made_block_jacobi<double, TypeParam>(with_size(12, local_is(method)));
    const auto fresh = made_block_jacobi<double, TypeParam>(with_size(12, local_is(method)));
    m->symbolic(space, to_device<TypeParam>(a));
    m->numeric(space, to_device<TypeParam>(a));
    const auto x = waves<double>(80, 1);
    const auto before = applied<double, TypeParam>(*m, x);
    m->numeric(space, to_device<TypeParam>(b));
    fresh->numeric(space, to_device<TypeParam>(b));
    EXPECT_EQ((applied<double, TypeParam>(*m, x)), (applied<double, TypeParam>(*fresh, x)));
    EXPECT_NE((applied<double, TypeParam>(*m, x)), before);
    m->numeric(space, to_device<TypeParam>(a));
    EXPECT_EQ((applied<double, TypeParam>(*m, x)), before);
    auto other = random_spd(80, 0.2, 4);
    EXPECT_THAT(message_of<InputError>([&] { m->numeric(space, to_device<TypeParam>(other)); }),
                HasSubstr("call symbolic again"));
    EXPECT_EQ((applied<double, TypeParam>(*m, x)), before);
  }
}

TYPED_TEST(BlockJacobiTest, ThreadsDoNotChangeABit) {
  if constexpr (is_host_space<TypeParam>) {
    const TypeParam all;
    const TypeParam alone = of_one_thread<TypeParam>();
    const auto a = generated("elasticity3d:5");
    const auto device = to_device<TypeParam>(a);
    for (const char* method : {"dense", "ilu0", "ic0", "ilut"}) {
      Vectors<double> results;
      for (const TypeParam& space : {all, alone}) {
        const auto m = made_block_jacobi<double, TypeParam>(with_size(40, local_is(method)));
        m->symbolic(space, device);
        m->numeric(space, device);
        results.push_back(applied<double, TypeParam>(*m, waves<double>(a.num_rows, 1), 1, space)[0]);
      }
      EXPECT_EQ(results[0], results[1]) << method;
    }
  }
}

TYPED_TEST(BlockJacobiTest, ColumnsOfOtherRanksAreLeftOut) {
  const TypeParam space;
  const auto a = random_spd(61, 0.1, 3);
  const auto wide = with_columns_of_other_ranks(a);
  for (const char* method : {"dense", "ilu0", "ic0", "ilut", "jacobi"})
    for (const std::string& partition : partitions) {
      const OptionMap options = with_size(10, local_is(method, {{"partition", partition}}));
      const auto m = made_block_jacobi<double, TypeParam>(options),
                 own = made_block_jacobi<double, TypeParam>(options);
      m->numeric(space, to_device<TypeParam>(wide));
      own->numeric(space, to_device<TypeParam>(a));
      const auto x = waves<double>(61, 1);
      EXPECT_EQ((applied<double, TypeParam>(*m, x)), (applied<double, TypeParam>(*own, x))) << method;
    }
}

TYPED_TEST(BlockJacobiTest, ARankWithoutRows) {
  const TypeParam space;
  HostMatrix<double> none;
  none.num_cols = 3;
  for (const char* method : {"dense", "ilu0", "ic0", "ilut", "fsai"})
    for (const std::string partition : {"auto", "rows", "supervariables"}) {
      const auto m = made_block_jacobi<double, TypeParam>(local_is(method, {{"partition", partition}}));
      for (int i = 0; i < 2; ++i) m->numeric(space, to_device<TypeParam>(none));
      EXPECT_EQ(m->num_rows(), 0);
      EXPECT_EQ(m->partition().count(), 0);
      EXPECT_THAT((applied<double, TypeParam>(*m, {{}})[0]), IsEmpty());
      m->symbolic(space, to_device<TypeParam>(random_spd(20, 0.2, 1)));
      m->numeric(space, to_device<TypeParam>(random_spd(20, 0.2, 1)));
      EXPECT_EQ((applied<double, TypeParam>(*m, waves<double>(20, 1))[0].size()), 20u);
    }
}

TYPED_TEST(BlockJacobiTest, TheUsersPartition) {
  const TypeParam space;
  const auto a = random_spd(50, 0.2, 3);
  const auto m = made_block_jacobi<double, TypeParam>({});
  EXPECT_THAT(message_of<std::logic_error>([&] { m->partition(); }),
              HasSubstr("no partition before symbolic"));
  std::vector<int> part(50);
  for (int i = 0; i < 50; ++i) part[i] = 3 * (i % 7);
  m->set_partition(space, to_device<TypeParam>(part));
  m->numeric(space, to_device<TypeParam>(a));
  EXPECT_EQ(m->partition().count(), 7);
  EXPECT_EQ(sets_of(m->partition())[1], (std::vector<int>{1, 8, 15, 22, 29, 36, 43}));
  const auto x = waves<double>(50, 1);
  EXPECT_LT(relative_distance((applied<double, TypeParam>(*m, x)[0]),
                              reference_schwarz(a, sets_of(m->partition()), 0, false, x[0])),
            1e-13);
  part.push_back(0);
  m->set_partition(space, to_device<TypeParam>(part));
  EXPECT_EQ(message_of<InputError>([&] { m->symbolic(space, to_device<TypeParam>(a)); }),
            "schwarz: the partition given has 51 rows, the matrix 50");
  EXPECT_EQ(m->partition().count(), 7) << "as it was";
  m->set_partition(space, {});
  m->symbolic(space, to_device<TypeParam>(a));
  EXPECT_EQ(m->partition().count(), 1) << "64 rows a block";
}

TYPED_TEST(BlockJacobiTest, OptionsThatMeanNothingAreRefused) {
  const auto refusal = [](const OptionMap& options) {
    return message_of<OptionError>([&] { made_block_jacobi<double, TypeParam>(options); });
  };
  EXPECT_THAT(refusal(local_is("dens")), HasSubstr("there is no local method 'dens'; did you mean 'dense'?"));
  EXPECT_EQ((made_block_jacobi<double, TypeParam>(local_is("ILU"))->options().local.name), "ilu0");
  EXPECT_THAT(refusal(local_is("ilut", {{"local.ta", 0.1}})),
              HasSubstr("'ilut' has no option 'ta'; did you mean 'tau'?"));
  EXPECT_THAT(refusal(local_is("ilut", {{"local.tau", -1.0}})), HasSubstr("out of its range"));
  SchwarzOptions options;
  options.overlap = 0;
  options.local.name = "nothing";
  EXPECT_THAT(message_of<OptionError>([&] { Schwarz<double, TypeParam> m(options); }),
              HasSubstr("no local method 'nothing'"));
}

TYPED_TEST(BlockJacobiTest, ValuesInForce) {
  SchwarzOptions options;
  options.overlap = 0;
  EXPECT_EQ(OptionFields::of(options).values().at("block_size"), OptionValue(std::string("auto")));
  EXPECT_EQ((Schwarz<double, TypeParam>(options).options().block_size), 64);
  options.local = {"ilu0", {}};
  EXPECT_EQ((Schwarz<double, TypeParam>(options).options().block_size), 512);
  options.partition = PartitionMethod::supervariables;
  EXPECT_EQ((Schwarz<double, TypeParam>(options).options().block_size), 32);
  options.partition = PartitionMethod::automatic;
  options.block_size = 7;
  options = Schwarz<double, TypeParam>(options).options();  // what is in force is accepted
  OptionFields::of(options).set({{"local.name", std::string("block_jacobi")},
                                 {"local.local.name", std::string("ilut")},
                                 {"local.local.p", std::int64_t(3)}},
                                "test");
  const OptionMap values = OptionFields::of(options).values();
  EXPECT_EQ(values.at("local.local.p"), OptionValue(std::int64_t(3)));
  EXPECT_EQ(values.at("local.block_size"), OptionValue(std::int64_t(512)));
  const TypeParam space;
  Schwarz<double, TypeParam> m(options);
  m.numeric(space, to_device<TypeParam>(random_spd(20, 0.2, 1)));
  EXPECT_EQ(m.partition().count(), 3);
}

TYPED_TEST(BlockJacobiTest, InversesThatTakeTooMuchMemoryAreRefused) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(random_spd(100, 0.2, 1));
  // A device has slices of 32 rows.
  const std::string bytes = is_host_space<TypeParam> ? "80000" : "102400";
  EXPECT_THAT(message_of<InputError>([&] {
                made_block_jacobi<double, TypeParam>(
                    {{"block_size", std::int64_t(1000)}, {"local.memory_budget", std::int64_t(1024)}})
                    ->symbolic(space, a);
              }),
              HasSubstr("blocks of up to 100 rows take " + bytes +
                        " bytes; local.memory_budget = 1024 are allowed. "
                        "Choose smaller blocks, or set local.memory_budget = " +
                        bytes));
}

TYPED_TEST(BlockJacobiTest, BytesCountSharedArraysOnce) {
  const TypeParam space;
  const auto m = made_block_jacobi<double, TypeParam>(
      {{"block_size", std::int64_t(5)}, {"partition", std::string("rows")}});
  m->numeric(space, to_device<TypeParam>(generated("tridiagonal:10")));
  // Two blocks of 5 rows with 26 entries: the parts' beginnings, rows and numbers; the blocks' pattern and
  // map.
  const std::int64_t layout = 3 * 4 + 10 * 4 + 10 * 4 + 11 * 8 + 26 * 4 + 26 * 8;
  // The inverses by rows on a host, in one slice of 32 rows on a device, and where each begins.
  const std::int64_t slices = is_host_space<TypeParam> ? 10 : 1, rows = is_host_space<TypeParam> ? 10 : 32;
  EXPECT_EQ(m->report().bytes, layout + rows * 5 * 8 + (slices + 1) * 8);
}

TYPED_TEST(BlockJacobiTest, CompleteFactorsSolveBlocksExactly) {
  for (const auto& [name, a] : small_matrices()) {
    SCOPED_TRACE(name);
    const OptionMap all = {{"local.tau", 0.0}, {"local.p", std::int64_t(1000)}};
    check_block_jacobi<double, TypeParam>(a, with_size(30, local_is("ilut", all)), 1e-11);
  }
  for (const char* method : {"ilu0", "ic0", "ilut"}) {  // without fill
    SCOPED_TRACE(method);
    check_block_jacobi<double, TypeParam>(
        generated("tridiagonal:400"), with_size(90, local_is(method, {{"partition", std::string("rows")}})),
        1e-12);
  }
}

TYPED_TEST(BlockJacobiTest, AThreadOfAHostSolvesABlock) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(random_spd(90, 0.1, 3));
  const auto x = waves<double>(90, 3);
  for (const char* method : {"ilu0", "ic0", "ilut"}) {
    SCOPED_TRACE(method);
    const auto by_blocks = made_block_jacobi<double, TypeParam>(with_size(11, local_is(method)));
    const auto by_levels = made_block_jacobi<double, TypeParam>(
        with_size(11, local_is(method, {{"local.solve.method", std::string("levels")}})));
    by_blocks->numeric(space, a);
    by_levels->numeric(space, a);
    const auto is_noted = Contains(HasSubstr("diagonal blocks, a thread each"));
    if (is_host_space<TypeParam>) {
      EXPECT_THAT(by_blocks->report().notes, is_noted);
    }
    EXPECT_THAT(by_levels->report().notes, ::testing::Not(is_noted));
    const auto y = applied<double, TypeParam>(*by_blocks, x), z = applied<double, TypeParam>(*by_levels, x);
    for (std::size_t v = 0; v < x.size(); ++v)
      EXPECT_LT(relative_distance(y[v], LongVector(z[v].begin(), z[v].end())), 1e-13);
  }
}

TYPED_TEST(BlockJacobiTest, NotesSayWhatTheHostDid) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(generated("tridiagonal:100"));
  const auto note = [&](OptionMap options) {
    const auto m = made_block_jacobi<double, TypeParam>(options);
    m->numeric(space, a);
    const std::string said = m->report().notes.back();
    EXPECT_EQ(m->report().host_seconds > 0, said.find("one thread of the host") != std::string::npos);
    return said;
  };
  const OptionMap of_registered_method = {{"partition", std::string("bisection")},
                                          {"local", std::string("ilu0")},
                                          {"block_size", std::int64_t(16)}};
  EXPECT_THAT(note(of_registered_method), HasSubstr("host"));
  EXPECT_THAT(note({{"partition", std::string("bisection")}}),
              ::testing::ContainsRegex("; one thread of the host made the partition in [0-9.e-]+ s$"));
  for (const std::string partition : {"multilevel", "rows", "supervariables"})
    EXPECT_THAT(note({{"partition", partition}}), ::testing::Not(HasSubstr("host"))) << partition;
}

TYPED_TEST(BlockJacobiTest, CgTakesFewerIterationsWithLargerBlocks) {
  const TypeParam space;
  const auto a = generate<double>(space, "poisson2d:40");
  const auto operator_of_a = CsrOperator<double, TypeParam>(a);
  const auto iterations = [&](const OptionMap& options) {
    const auto m = made_block_jacobi<double, TypeParam>(options);
    m->numeric(space, a);
    const Vector<double, TypeParam> x("x", a.num_rows);
    const auto b = to_device<TypeParam>(waves<double>(a.num_rows, 1)[0]);
    Cg<double, TypeParam> cg;
    const auto result = cg.solve(space, operator_of_a, m.get(), b, x, {});
    EXPECT_TRUE(result.converged);
    return result.iterations;
  };
  int last = 1000;
  for (const std::int64_t size : {1, 16, 100, 400}) {
    const auto count = iterations({{"block_size", size}});
    EXPECT_LT(count, last) << size;
    last = static_cast<int>(count);
  }
  EXPECT_LT(iterations(with_size(400, local_is("ic0"))), iterations(with_size(25, local_is("ic0"))));
}

}  // namespace
}  // namespace prekond::testing
