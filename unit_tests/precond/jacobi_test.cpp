// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/multicolor_cases.hpp"
#include "testing/reference_block_ilu.hpp"
#include "testing/reference_cg.hpp"
#include "testing/reference_lu.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/precond/jacobi.hpp>
#include <prekond/precond/none.hpp>
#include <prekond/precond/registry.hpp>

#include <cmath>
#include <limits>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A band of width 5 and, far to the right, a column of another rank; a_ii = (-1)^i (i + 2) / 4.
template <class Scalar>
HostMatrix<Scalar> band(int n) {
  HostMatrix<Scalar> a;
  a.num_rows = n;
  a.num_cols = n + 1;
  for (int i = 0; i < n; ++i) {
    for (int j = std::max(0, i - 2); j <= std::min(n - 1, i + 2); ++j) {
      a.col_idxs.push_back(j);
      a.values.push_back(i == j ? Scalar(i % 2 == 0 ? 1 : -1) * Scalar(i + 2) / Scalar(4) : Scalar(100 + i));
    }
    a.col_idxs.push_back(n);
    a.values.push_back(Scalar(1000));
    a.row_ptrs.push_back(a.nnz());
  }
  return a;
}

template <class Scalar>
Scalar& diagonal(HostMatrix<Scalar>& a, int i) {
  for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
    if (a.col_idxs[k] == i) return a.values[k];
  throw std::logic_error("no diagonal entry");
}

/// y = M^-1 x for x_iv = 1 + i + 1000 v, by vector; y holds NaN before.
template <class Scalar, class Space>
std::vector<std::vector<Scalar>> applied(const Preconditioner<Scalar, Space>& m, int n, int vectors) {
  const Space space;
  MultiVector<Scalar, Space> x("x", n, vectors), y("y", n, vectors);
  const auto host = Kokkos::create_mirror_view(x);
  for (int v = 0; v < vectors; ++v)
    for (int i = 0; i < n; ++i) host(i, v) = Scalar(1 + i + 1000 * v);
  Kokkos::deep_copy(x, host);
  Kokkos::deep_copy(y, std::numeric_limits<Scalar>::quiet_NaN());
  const auto workspace = m.make_workspace(space, vectors);
  space.fence();
  {
    const ToolEvents events;
    m.apply(space, x, y, *workspace);
    EXPECT_EQ(events.kernels().size(), 1u);
    EXPECT_THAT(events.kernels()[0], HasSubstr("prekond::" + m.name() + "::apply"));
    EXPECT_THAT(events.fences(), IsEmpty());
    EXPECT_THAT(events.allocations(), IsEmpty());
  }
  space.fence();
  std::vector<std::vector<Scalar>> result(vectors);
  for (int v = 0; v < vectors; ++v) result[v] = to_vector(column(y, v));
  return result;
}

template <class Scalar, class Space>
void check_values() {
  const Space space;
  for (int n : {1, 2, 3, 511, 1003}) {
    HostMatrix<Scalar> a = band<Scalar>(n);
    const auto device = to_device<Space>(a);
    Jacobi<Scalar, Space> jacobi;
    jacobi.symbolic(space, device);
    jacobi.numeric(space, device);
    EXPECT_EQ(jacobi.num_rows(), n);
    EXPECT_EQ(jacobi.report().breakdowns.count, 0);
    EXPECT_EQ(jacobi.report().breakdowns.first_row, -1);
    EXPECT_EQ(jacobi.report().nnz, n);
    EXPECT_GE(jacobi.report().bytes, std::int64_t(n * sizeof(Scalar)));
    for (int vectors : {1, 5}) {
      const auto y = applied(jacobi, n, vectors);
      for (int v = 0; v < vectors; ++v)
        for (int i = 0; i < n; ++i) {
          const double expected = (1 + i + 1000 * v) / double(diagonal(a, i));
          ASSERT_NEAR(y[v][i] / expected, 1, 4 * std::numeric_limits<Scalar>::epsilon()) << "row " << i;
        }
    }
  }
}

template <class Space>
class JacobiTest : public ::testing::Test {};
TYPED_TEST_SUITE(JacobiTest, TestSpaces, SpaceNames);

TYPED_TEST(JacobiTest, ScalesByTheInverseDiagonal) {
  check_values<double, TypeParam>();
  check_values<float, TypeParam>();
}

TYPED_TEST(JacobiTest, ASecondNumericTakesTheNewValues) {
  const TypeParam space;
  HostMatrix<double> a = band<double>(50);
  Jacobi<double, TypeParam> jacobi;
  jacobi.symbolic(space, to_device<TypeParam>(a));
  diagonal(a, 7) = 0;
  jacobi.numeric(space, to_device<TypeParam>(a));
  EXPECT_EQ(jacobi.report().breakdowns.count, 1);
  diagonal(a, 7) = 16;
  jacobi.numeric(space, to_device<TypeParam>(a));
  EXPECT_EQ(jacobi.report().breakdowns.count, 0);
  EXPECT_EQ(applied(jacobi, 50, 1)[0][7], 0.5);
}

TYPED_TEST(JacobiTest, RowsWithoutAUsableDiagonalAreNotScaledAndAreReported) {
  const TypeParam space;
  const double infinity = std::numeric_limits<double>::infinity();
  HostMatrix<double> a = band<double>(301);
  for (const double unusable : {0.0, -0.0, infinity, -infinity, std::nan(""), 1e-320}) {
    HostMatrix<double> broken = a;
    for (int i : {13, 200, 300}) diagonal(broken, i) = unusable;
    Jacobi<double, TypeParam> jacobi;
    jacobi.symbolic(space, to_device<TypeParam>(broken));
    jacobi.numeric(space, to_device<TypeParam>(broken));
    EXPECT_EQ(jacobi.report().breakdowns.count, 3) << unusable;
    EXPECT_EQ(jacobi.report().breakdowns.first_row, 13) << unusable;
    EXPECT_THAT(jacobi.report().breakdowns.action, HasSubstr("not scaled"));
    const auto y = applied(jacobi, 301, 2);
    for (int i : {13, 200, 300}) {
      EXPECT_EQ(y[0][i], 1 + i) << unusable;
      EXPECT_EQ(y[1][i], 1001 + i) << unusable;
    }
    EXPECT_EQ(y[0][14], 15 / 4.0);
  }
  // Not stored at all: rows of other columns, and an empty one.
  const HostMatrix<double> missing = sparse<double>({{0, 3, 1, 0}, {0, 0, 0, 0}, {1, 1, 4, 0}, {1, 1, 1, 0}});
  Jacobi<double, TypeParam> jacobi;
  jacobi.symbolic(space, to_device<TypeParam>(missing));
  jacobi.numeric(space, to_device<TypeParam>(missing));
  EXPECT_EQ(jacobi.report().breakdowns.count, 3);
  EXPECT_EQ(jacobi.report().breakdowns.first_row, 0);
  EXPECT_EQ(applied(jacobi, 4, 1)[0], (std::vector<double>{1, 2, 0.75, 4}));
}

TYPED_TEST(JacobiTest, AnotherNumberOfRowsIsRefused) {
  const TypeParam space;
  Jacobi<double, TypeParam> jacobi;
  jacobi.symbolic(space, to_device<TypeParam>(band<double>(10)));
  jacobi.numeric(space, to_device<TypeParam>(band<double>(10)));
  EXPECT_THAT(message_of<InputError>([&] { jacobi.numeric(space, to_device<TypeParam>(band<double>(11))); }),
              HasSubstr("call symbolic again"));
  EXPECT_EQ(jacobi.num_rows(), 10);
  EXPECT_EQ(applied(jacobi, 10, 1)[0][2], 3.0);
}

TYPED_TEST(JacobiTest, TheRegistryBuildsIt) {
  const TypeParam space;
  const auto jacobi = create_preconditioner<double, TypeParam>("jacobi");
  EXPECT_EQ(jacobi->name(), "jacobi");
  const auto a = to_device<TypeParam>(band<double>(9));
  jacobi->numeric(space, a);  // the pattern is not looked at: symbolic may be left out
  EXPECT_EQ(applied(*jacobi, 9, 1)[0][2], 3.0);
  EXPECT_THAT(message_of<OptionError>([] {
                create_preconditioner<double, TypeParam>("jacobi", {{"damping", 0.5}});
              }),
              HasSubstr("damping"));
  for (const OptionMap& options :
       {OptionMap{{"omega", 2.5}}, OptionMap{{"sweeps", std::int64_t(0)}},
        OptionMap{{"type", std::string("l2")}}, OptionMap{{"block_size", std::int64_t(33)}},
        OptionMap{{"block_size", std::int64_t(0)}}})
    EXPECT_THAT(message_of<OptionError>([&] { create_preconditioner<double, TypeParam>("jacobi", options); }),
                HasSubstr(options.begin()->first));
  EXPECT_THAT(message_of<OptionError>([] {
                create_preconditioner<double, TypeParam>("jacobi", {{"omega", 0.0}});
              }),
              HasSubstr("omega has to be above 0"));
}

// ------------------------------------------------------------------------------------- types and sweeps

/// omega D^-1 r, D dense by blocks of `size` (1: of single rows), with `extra` added to the diagonal.
LongVector solve_blocks(const HostMatrix<double>& a, const LongVector& r, int size, bool l1) {
  const int n = static_cast<int>(a.num_rows);
  LongVector y(n);
  for (int first = 0; first < n; first += size) {
    const int m = std::min(size, n - first);
    LongMatrix block(m, LongVector(m));
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < m; ++j) block[i][j] = a(first + i, first + j);
    if (l1)
      for (std::size_t k = a.row_ptrs[first]; k < a.row_ptrs[first + 1]; ++k)
        if (a.col_idxs[k] != first) block[0][0] += std::copysign(std::abs(a.values[k]), a(first, first));
    const LongVector x = general_solve(block, {r.begin() + first, r.begin() + first + m});
    std::copy(x.begin(), x.end(), y.begin() + first);
  }
  return y;
}

LongVector reference_jacobi(const HostMatrix<double>& a, const std::vector<double>& b,
                            const JacobiOptions& options) {
  const int size = options.type == JacobiType::block ? options.block_size : 1;
  LongVector x(b.size(), 0);
  for (int k = 0; k < options.sweeps; ++k) {
    LongVector r(b.begin(), b.end());
    for (std::size_t i = 0; i < b.size(); ++i)
      for (std::size_t e = a.row_ptrs[i]; e < a.row_ptrs[i + 1]; ++e)
        if (a.col_idxs[e] < a.num_rows) r[i] -= a.values[e] * x[a.col_idxs[e]];
    const LongVector step = solve_blocks(a, r, size, options.type == JacobiType::l1);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += options.omega * step[i];
  }
  return x;
}

TYPED_TEST(JacobiTest, EveryTypeEqualsTheSequentialOne) {
  const TypeParam space;
  for (const Case& test : relaxation_matrices()) {
    if (test.matrix.num_rows > 3000) continue;
    const auto device = to_device<TypeParam>(test.matrix);
    for (const auto type : {JacobiType::point, JacobiType::l1, JacobiType::block})
      for (const int size : {1, 3, 8, 9, 32}) {
        if (type != JacobiType::block && size > 1) continue;
        for (const int sweeps : {1, 2, 5})
          for (const double omega : {1.0, 0.6}) {
            SCOPED_TRACE(test.name + ", type " + std::to_string(int(type)) + ", blocks of " +
                         std::to_string(size) + ", " + std::to_string(sweeps) + " sweeps, omega " +
                         std::to_string(omega));
            const JacobiOptions options{type, size, sweeps, omega};
            Jacobi<double, TypeParam> m(options);
            m.symbolic(space, device);
            m.numeric(space, device);
            EXPECT_EQ(m.report().breakdowns.count, 0);
            const std::vector<std::vector<double>> b = {waves_of(test.matrix.num_rows, 0),
                                                        waves_of(test.matrix.num_rows, 1)};
            const auto y = applied_to<double, TypeParam>(m, b);
            for (int v = 0; v < 2; ++v)
              EXPECT_LE(relative_difference(y[v], reference_jacobi(test.matrix, b[v], options)), 1e-12);
          }
      }
  }
}

TYPED_TEST(JacobiTest, BlocksOfAMatrixByBlocksAreReadAsTheyAre) {
  const TypeParam space;
  const auto host = dominant_clusters(61, 3);
  auto twice = host;
  for (double& value : twice.values) value *= 2;
  const auto a = to_device<TypeParam>(host), twice_a = to_device<TypeParam>(twice);
  JacobiOptions options;
  options.type = JacobiType::block;
  for (const int b : {1, 3, 5}) {
    options.block_size = b;
    for (const BlockOrder order : both_orders) {
      auto blocks = to_bcsr<double, TypeParam>(space, a, b, order);
      const MatrixSource<double, TypeParam> source(space, blocks);
      Jacobi<double, TypeParam> of_rows(options), of_blocks(options);
      of_rows.numeric(space, source.csr());
      of_blocks.numeric(space, source);
      EXPECT_EQ((applied<double, TypeParam>(of_blocks, 61, 2)), (applied<double, TypeParam>(of_rows, 61, 2)));
      // The source has expanded the values already: a change now is seen only in the blocks.
      Kokkos::deep_copy(blocks.values, to_bcsr<double, TypeParam>(space, twice_a, b, order).values);
      of_blocks.numeric(space, source);
      EXPECT_NE((applied<double, TypeParam>(of_blocks, 61, 2)), (applied<double, TypeParam>(of_rows, 61, 2)));
    }
  }
}

TYPED_TEST(JacobiTest, TypesInSinglePrecision) {
  const auto host = generated("elasticity3d:4");
  for (const auto type : {JacobiType::point, JacobiType::l1, JacobiType::block}) {
    const JacobiOptions options{type, 3, 3, 0.5};
    Jacobi<float, TypeParam> m(options);
    m.numeric(TypeParam(), to_device<TypeParam>(convert<float>(host)));
    const auto b = waves_of(host.num_rows);
    const auto y = applied_to<float, TypeParam>(m, std::vector<float>(b.begin(), b.end()));
    EXPECT_LE(relative_difference(y, reference_jacobi(host, b, options)), 1e-4);
  }
}

TYPED_TEST(JacobiTest, ComplexBlocks) {
  using Complex = Kokkos::complex<double>;
  // [[1, i], [-i, 2]]^-1 = [[2, -i], [i, 1]]
  HostMatrix<Complex> host =
      sparse<Complex>({{{1, 0}, {0, 1}, {0, 0}}, {{0, -1}, {2, 0}, {0, 0}}, {{0, 0}, {0, 0}, {0, 2}}});
  Jacobi<Complex, TypeParam> m(JacobiOptions{JacobiType::block, 2});
  m.numeric(TypeParam(), to_device<TypeParam>(host));
  const auto y = applied_to<Complex, TypeParam>(m, std::vector<Complex>{1, 1, 2});
  const std::vector<Complex> expected = {{2, -1}, {1, 1}, {0, -1}};
  for (int i = 0; i < 3; ++i) EXPECT_LE(Kokkos::abs(y[i] - expected[i]), 1e-15);
  Jacobi<Complex, TypeParam> l1(JacobiOptions{JacobiType::l1});
  l1.numeric(TypeParam(), to_device<TypeParam>(host));
  const auto scaled = applied_to<Complex, TypeParam>(l1, std::vector<Complex>{2, 3, 2});
  const std::vector<Complex> of_l1 = {{1, 0}, {1, 0}, {0, -1}};
  for (int i = 0; i < 3; ++i) EXPECT_LE(Kokkos::abs(scaled[i] - of_l1[i]), 1e-15);
}

TYPED_TEST(JacobiTest, SymmetricOnlyForOneDiagonalSweep) {
  const TypeParam space;
  const auto is_symmetric = [&](const JacobiOptions& options) {
    Jacobi<double, TypeParam> m(options);
    EXPECT_TRUE(m.is_symmetric()) << "of symmetric matrices";
    m.numeric(space, to_device<TypeParam>(random_general(40, 0.2, 6)));
    EXPECT_FALSE(m.is_nonsymmetric()) << "cg accepts it";
    return m.is_symmetric();
  };
  EXPECT_TRUE(is_symmetric({JacobiType::point}));
  EXPECT_TRUE(is_symmetric({JacobiType::l1}));
  EXPECT_FALSE(is_symmetric({JacobiType::block, 4}));
  EXPECT_FALSE(is_symmetric({JacobiType::point, 4, 2}));
  EXPECT_FALSE(is_symmetric({JacobiType::l1, 4, 2}));
  using Complex = Kokkos::complex<double>;
  const Complex i(0, 1);
  Jacobi<Complex, TypeParam> l1(JacobiOptions{JacobiType::l1});
  l1.numeric(space, to_device<TypeParam>(sparse<Complex>({{2, i}, {-i, 4}})));
  EXPECT_TRUE(l1.is_symmetric());
  l1.numeric(space, to_device<TypeParam>(sparse<Complex>({{2, i}, {-i, 4.0 * i}})));
  EXPECT_FALSE(l1.is_symmetric());
  l1.numeric(space, to_device<TypeParam>(sparse<Complex>({{2, i}, {-i, 4}})));
  EXPECT_TRUE(l1.is_symmetric()) << "of the last matrix";
}

TYPED_TEST(JacobiTest, L1SweepsConvergeForSpdMatrices) {
  const TypeParam space;
  const auto host = random_gram(40, 40, 0.05, 6);  // point sweeps diverge
  std::vector<double> error[2];
  for (const auto type : {JacobiType::point, JacobiType::l1}) {
    for (const int sweeps : {40, 80}) {
      Jacobi<double, TypeParam> m(JacobiOptions{type, 1, sweeps, 1.0});
      m.numeric(space, to_device<TypeParam>(host));
      const auto x = waves_of(40);
      const auto y = applied_to<double, TypeParam>(m, multiply(host, x));
      double square = 0;
      for (int i = 0; i < 40; ++i) square += (y[i] - x[i]) * (y[i] - x[i]);
      error[type == JacobiType::l1].push_back(square);
    }
  }
  EXPECT_GT(error[0][1], error[0][0]);
  EXPECT_LT(error[1][1], error[1][0]);
}

TYPED_TEST(JacobiTest, SingularBlocksAreScaledByTheirDiagonal) {
  const TypeParam space;
  for (const double corner : {1.0, std::nan("")}) {
    const HostMatrix<double> host = sparse<double>(
        {{2, 1, 0, 0, 0}, {1, 2, 0, 0, 0}, {0, 0, 4, 4, 0}, {0, 0, 4 * corner, 4, 0}, {0, 0, 0, 0, 8}});
    Jacobi<double, TypeParam> m(JacobiOptions{JacobiType::block, 2});
    m.numeric(space, to_device<TypeParam>(host));
    EXPECT_EQ(m.report().breakdowns.count, 2);
    EXPECT_EQ(m.report().breakdowns.first_row, 2);
    EXPECT_THAT(m.report().breakdowns.action, HasSubstr("singular blocks"));
    const auto y = applied_to<double, TypeParam>(m, std::vector<double>{3, 3, 4, 8, 8});
    for (int i = 0; i < 5; ++i) EXPECT_NEAR(y[i], (std::vector<double>{1, 1, 1, 2, 1})[i], 1e-15);
  }
  // A block that needs its rows exchanged.
  const HostMatrix<double> exchanged = sparse<double>({{0, 2, 0}, {0, 0, 4}, {8, 0, 0}});
  Jacobi<double, TypeParam> m(JacobiOptions{JacobiType::block, 3});
  m.numeric(space, to_device<TypeParam>(exchanged));
  EXPECT_EQ(m.report().breakdowns.count, 0);
  EXPECT_EQ((applied_to<double, TypeParam>(m, std::vector<double>{2, 4, 8})), (std::vector<double>{1, 1, 1}));
  // l1: a row of zeros.
  Jacobi<double, TypeParam> l1(JacobiOptions{JacobiType::l1});
  l1.numeric(space, to_device<TypeParam>(sparse<double>({{0, 0}, {1, 0}})));
  EXPECT_EQ(l1.report().breakdowns.count, 1);
  EXPECT_EQ(l1.report().breakdowns.first_row, 0);
  EXPECT_EQ((applied_to<double, TypeParam>(l1, std::vector<double>{3, 5})), (std::vector<double>{3, 5}));
}

TYPED_TEST(JacobiTest, AWorkspaceOfSweepsOfAnotherSizeIsRefused) {
  const TypeParam space;
  Jacobi<double, TypeParam> m(JacobiOptions{JacobiType::point, 1, 3});
  m.numeric(space, to_device<TypeParam>(band<double>(20)));
  const MultiVector<double, TypeParam> x("x", 20, 2), y("y", 20, 2);
  EXPECT_THAT(message_of<std::logic_error>([&] { m.apply(space, x, y, *m.make_workspace(space, 1)); }),
              HasSubstr("made for fewer vectors"));
  Jacobi<double, TypeParam> other(JacobiOptions{JacobiType::point, 1, 3});
  other.numeric(space, to_device<TypeParam>(band<double>(9)));
  EXPECT_THAT(message_of<std::logic_error>([&] { m.apply(space, x, y, *other.make_workspace(space, 2)); }),
              HasSubstr("made for 9 rows, and there are 20"));
}

TYPED_TEST(JacobiTest, NoneIsTheIdentity) {
  const TypeParam space;
  const auto none = create_preconditioner<float, TypeParam>("none");
  EXPECT_EQ(none->name(), "none");
  const auto a = to_device<TypeParam>(band<float>(777));
  none->symbolic(space, a);
  none->numeric(space, a);
  EXPECT_EQ(none->num_rows(), 777);
  EXPECT_EQ(none->report().breakdowns.count, 0);
  const auto y = applied(*none, 777, 3);
  for (int v = 0; v < 3; ++v)
    for (int i = 0; i < 777; ++i) ASSERT_EQ(y[v][i], float(1 + i + 1000 * v));
}

}  // namespace
}  // namespace prekond::testing
