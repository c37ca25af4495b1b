// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
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

TYPED_TEST(JacobiTest, RowsWithoutAUsableDiagonalAreLeftAloneAndReported) {
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
                create_preconditioner<double, TypeParam>("jacobi", {{"omega", 0.5}});
              }),
              HasSubstr("it takes none"));
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
