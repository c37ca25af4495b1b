// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/one_thread.hpp"
#include "testing/reference_product.hpp"
#include "testing/spaces.hpp"
#include "testing/strided.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/core/impl/multiply_add.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/matrix_format.hpp>
#include <prekond/matrix/spmv.hpp>
#include "core/half.hpp"
#include "matrix/bcsr_operator.hpp"
#include "matrix/csr_by_lanes.hpp"
#include "matrix/format_operator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "matrix/format_fill.hpp"
#include "matrix/format_layouts.hpp"
#include "matrix/format_rows.hpp"

namespace prekond::testing {
namespace {

constexpr MatrixFormat all_formats[] = {MatrixFormat::csr, MatrixFormat::sell, MatrixFormat::dia,
                                        MatrixFormat::jad, MatrixFormat::bcsr};

double random_value(std::mt19937& random) {
  return double(random()) / double(1u << 31) - 1;
}

/// Rows of the given lengths; columns `step` apart from the diagonal on, those beyond the end
/// wrapped.
HostMatrix<double> band_of(const std::vector<int>& lengths, int num_cols, int step) {
  std::mt19937 random(unsigned(lengths.size()) + unsigned(step));
  HostMatrix<double> a;
  a.num_rows = static_cast<std::int64_t>(lengths.size());
  a.num_cols = num_cols;
  for (int i = 0; i < int(lengths.size()); ++i) {
    std::vector<int> cols;
    for (int k = 0; k < lengths[i]; ++k)
      cols.push_back(int((std::int64_t(i) + std::int64_t(k) * step) % num_cols));
    std::sort(cols.begin(), cols.end());
    cols.erase(std::unique(cols.begin(), cols.end()), cols.end());
    for (const int j : cols) {
      a.col_idxs.push_back(j);
      a.values.push_back(random_value(random));
    }
    a.row_ptrs.push_back(a.nnz());
  }
  return a;
}

std::vector<int> random_lengths(int num_rows, int low, int high) {
  std::mt19937 random(unsigned(num_rows) * 31u + unsigned(high));
  std::vector<int> lengths(num_rows);
  for (int& length : lengths) length = low + int(random() % unsigned(high - low + 1));
  return lengths;
}

struct Case {
  std::string name;
  HostMatrix<double> matrix;
};

/// Deltas of one byte, of two and of four; rows that have to be sorted and rows that need not; sizes around a
/// chunk's 32 rows and a window's 1024.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> list;
    const auto add = [&](const char* name, const HostMatrix<double>& a) { list.push_back({name, a}); };
    add("1 x 1", band_of({1}, 1, 1));
    add("1 x 1, empty", band_of({0}, 1, 1));
    add("no entries", band_of(std::vector<int>(37, 0), 37, 1));
    add("31 rows", band_of(std::vector<int>(31, 3), 31, 2));
    add("32 rows", band_of(random_lengths(32, 0, 5), 40, 3));
    add("33 rows", band_of(random_lengths(33, 1, 5), 33, 3));
    add("band of 5", band_of(std::vector<int>(1000, 5), 1000, 1));
    add("wide band", band_of(std::vector<int>(1500, 9), 1500, 150));
    add("irregular", band_of(random_lengths(2500, 0, 40), 2600, 61));
    add("irregular and short", band_of(random_lengths(3001, 0, 9), 3001, 7));
    add("far columns", band_of(random_lengths(2100, 2, 30), 300000, 9001));
    add("more rows than columns", band_of(random_lengths(777, 0, 3), 5, 1));
    std::vector<int> one_long(1500, 3);
    one_long[700] = 400;
    add("one long row", band_of(one_long, 1500, 3));
    return list;
  }();
  return all;
}

template <class Scalar, class Space>
Vector<Scalar, Space> vector_of(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Scalar> values(n);
  for (Scalar& value : values) value = Scalar(random_value(random));
  return to_device<Space>(values);
}

template <class Scalar>
HostMatrix<Scalar> in_precision(const HostMatrix<double>& a) {
  return {a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs,
          std::vector<Scalar>(a.values.begin(), a.values.end())};
}

template <class Scalar, class Space>
std::unique_ptr<Operator<Scalar, Space>> padded_operator(const HostMatrix<Scalar>& a, MatrixFormat format) {
  const Space space;
  const auto device = to_device<Space>(a);
  if (format == MatrixFormat::sell)
    return std::make_unique<SellOperator<Scalar, Space>>(
        make_sell<Scalar, Space>(space, device, {.max_padding = 1e9}));
  if (format == MatrixFormat::dia)
    return std::make_unique<DiaOperator<Scalar, Space>>(make_dia<Scalar, Space>(space, device, {1e9}));
  return make_operator<Scalar, Space>(space, device, format);
}

template <class Scalar, class Space>
void check_operator(const HostMatrix<Scalar>& a, const Operator<Scalar, Space>& op, int k, int extra = 0) {
  const Space space;
  ASSERT_EQ(op.num_rows(), a.num_rows);
  ASSERT_EQ(op.num_cols(), a.num_cols);
  const bool square = a.num_cols >= a.num_rows;
  const RecurrenceStep<Scalar> step{Scalar(1.5), square ? Scalar(-0.75) : Scalar(0), Scalar(0.5), Scalar(2)};
  Strided<Scalar, Space> x(a.num_cols, k, extra), b(a.num_rows, k, 2 * extra), y(a.num_rows, k, extra),
      z(a.num_rows, k, 3 * extra), w(a.num_rows, k, extra);
  const auto columns_of = [&](std::int64_t n, unsigned seed) {
    std::vector<std::vector<Scalar>> columns;
    for (int v = 0; v < k; ++v) columns.push_back(to_vector(vector_of<Scalar, Space>(n, seed + v)));
    return columns;
  };
  const auto xs = columns_of(a.num_cols, 10), bs = columns_of(a.num_rows, 20),
             ys = columns_of(a.num_rows, 30);
  x.fill(xs);
  b.fill(bs);
  y.fill(ys);
  z.fill({std::size_t(k), std::vector<Scalar>(a.num_rows, std::numeric_limits<Scalar>::quiet_NaN())});
  op.apply_recurrence(space, step, x.part, b.part, y.part);
  op.apply(space, x.part, z.part, Scalar(-2));
  w.fill(ys);
  op.apply(space, x.part, w.part, Scalar(3), Scalar(-1));
  space.fence();
  const std::vector<Scalar> none(a.num_rows);
  const auto found_y = y.columns(), found_z = z.columns(), found_w = w.columns();
  for (int v = 0; v < k; ++v) {
    expect_step(a, step, xs[v], bs[v], ys[v], found_y[v]);
    expect_step(a, RecurrenceStep<Scalar>{-2}, xs[v], none, none, found_z[v]);
    expect_step(a, RecurrenceStep<Scalar>{.product = 3, .previous = -1}, xs[v], none, ys[v], found_w[v]);
  }
}

template <class Scalar, class Space>
void check_columns(const HostMatrix<Scalar>& a, MatrixFormat format, int k, int extra = 0) {
  check_operator<Scalar, Space>(a, *padded_operator<Scalar, Space>(a, format), k, extra);
}

template <class Space>
class FormatsTest : public ::testing::Test {};
TYPED_TEST_SUITE(FormatsTest, TestSpaces, SpaceNames);

TYPED_TEST(FormatsTest, EveryProductOfEveryShape) {
  for (const auto& test : cases())
    for (const MatrixFormat format : all_formats) {
      SCOPED_TRACE(test.name + " as " + to_string(format));
      check_columns<double, TypeParam>(test.matrix, format, 1);
      check_columns<float, TypeParam>(in_precision<float>(test.matrix), format, 1);
    }
}

TYPED_TEST(FormatsTest, ProductsByLanes) {
  const TypeParam space;
  for (const auto& test : cases()) {
    SCOPED_TRACE(test.name);
    const HostMatrix<double>& a = test.matrix;
    const CsrByLanes<double, TypeParam, 1> scalar(to_device<TypeParam>(a));
    const CsrByLanes<double, TypeParam, 16> vector(to_device<TypeParam>(a));
    for (const Operator<double, TypeParam>* op :
         std::initializer_list<const Operator<double, TypeParam>*>{&scalar, &vector}) {
      for (const int k : {1, 5}) check_operator<double, TypeParam>(a, *op, k, k - 1);
      if (a.num_cols < a.num_rows) continue;
      const auto x = vector_of<double, TypeParam>(a.num_cols, 3);
      Vector<double, TypeParam> y("y", a.num_rows), plain("plain", a.num_rows), dot("dot", 1);
      op->apply_dot(space, x, y, dot, ReduceWorkspace<double, TypeParam>(space, a.num_rows));
      op->apply(space, as_multivector(VectorView<const double, TypeParam>(x)), as_multivector(plain));
      space.fence();
      EXPECT_EQ(to_vector(y), to_vector(plain));
      double expected = 0, size = 0;
      const auto y_values = to_vector(y), x_values = to_vector(x);
      for (std::int64_t i = 0; i < a.num_rows; ++i) {
        expected += x_values[i] * y_values[i];
        size += std::abs(x_values[i] * y_values[i]);
      }
      EXPECT_NEAR(to_vector(dot)[0], expected, 30 * size * std::numeric_limits<double>::epsilon());
    }
  }
}

/// The lanes of a device, which a host runs one after the other.
TYPED_TEST(FormatsTest, EachLaneOfARowAddsItsShare) {
  using Member = typename Kokkos::TeamPolicy<TypeParam>::member_type;
  using Kernel = impl::products::RowsByLanesKernel<
      double, TypeParam, 16,
      std::conditional_t<is_host_space<TypeParam>, PortableLaneGroup<Member, 16>,
                         NativeLaneGroup<TypeParam, Member, 16>>>;
  const TypeParam space;
  for (const auto& test : cases()) {
    SCOPED_TRACE(test.name);
    const HostMatrix<double>& a = test.matrix;
    const auto device = to_device<TypeParam>(a);
    const auto x = vector_of<double, TypeParam>(a.num_cols, 5);
    const Vector<double, TypeParam> y("y", a.num_rows);
    const RecurrenceStep<double> step{3};
    const impl::products::RowUpdate<double, TypeParam> update{
        step, as_multivector(VectorView<const double, TypeParam>(x)),
        as_multivector(VectorView<double, TypeParam>(y))};
    const int teams = impl::products::num_teams(a.num_rows, Kernel::rows_per_team);
    const int lanes = is_host_space<TypeParam> ? 1 : 16;
    Kokkos::parallel_for(typename Kernel::Policy(space, teams, Kernel::team_threads, lanes),
                         Kernel{device, update});
    space.fence();
    const std::vector<double> none(a.num_rows);
    expect_step(a, step, to_vector(x), none, none, to_vector(y));
  }
}

/// The additions of a device's thread, position by position, on a host.
template <class Rows, class View>
void check_rows(const HostMatrix<double>& a, const View& view, const std::vector<double>& x) {
  const Rows rows{view};
  std::vector<int> seen(a.num_rows, 0);
  for (std::int64_t p = 0; p < a.num_rows; ++p) {
    const std::int64_t i = rows.row(p);
    ASSERT_EQ(seen.at(i)++, 0);
    long double expected = 0, size = 0;
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      expected += static_cast<long double>(a.values[k]) * x[a.col_idxs[k]];
      size += std::abs(static_cast<long double>(a.values[k]) * x[a.col_idxs[k]]);
    }
    const double allowed = double(20 * size) * std::numeric_limits<double>::epsilon();
    ASSERT_NEAR(rows.template sum<true>(p, x.data()), double(expected), allowed) << "short, row " << i;
    ASSERT_NEAR(rows.template sum<false>(p, x.data()), double(expected), allowed) << "long, row " << i;
  }
}

TYPED_TEST(FormatsTest, WhatThreadsOfADeviceAdd) {
  if constexpr (is_host_space<TypeParam>) {
    const TypeParam space;
    for (const auto& test : cases()) {
      SCOPED_TRACE(test.name);
      const HostMatrix<double>& a = test.matrix;
      const auto device = to_device<TypeParam>(a);
      const auto x = to_vector(vector_of<double, TypeParam>(a.num_cols, 7));
      using impl::products::RowsOf;
      for (const int sigma : {1, 1024}) {
        const auto sell = make_sell<double, TypeParam>(space, device, {.sigma = sigma, .max_padding = 1e9});
        const SellView<double, TypeParam> view = sell;
        check_rows<typename RowsOf<SellView<double, TypeParam>>::template type<double>>(a, view, x);
      }
      const auto dia = make_dia<double, TypeParam>(space, device, {1e9});
      const DiaView<double, TypeParam> diagonals = dia;
      check_rows<typename RowsOf<DiaView<double, TypeParam>>::template type<double>>(a, diagonals, x);
      const auto jad = make_jad<double, TypeParam>(space, device);
      const JadView<double, TypeParam> jagged = jad;
      check_rows<typename RowsOf<JadView<double, TypeParam>>::template type<double>>(a, jagged, x);
    }
  } else {
    GTEST_SKIP() << "all other tests run them";
  }
}

TYPED_TEST(FormatsTest, SeveralColumns) {
  for (const int k : {2, 4, 7})
    for (const MatrixFormat format : all_formats) {
      SCOPED_TRACE(to_string(format));
      check_columns<double, TypeParam>(cases()[8].matrix, format, k);
      check_columns<double, TypeParam>(cases()[8].matrix, format, k, 5);
    }
}

TYPED_TEST(FormatsTest, SameBitsForAnyNumberOfThreads) {
  for (const auto& test : cases()) {
    const HostMatrix<double>& a = test.matrix;
    const auto x = vector_of<double, TypeParam>(std::max(a.num_rows, a.num_cols), 4);
    const VectorView<const double, TypeParam> x_view = x;
    for (const MatrixFormat format : all_formats) {
      const auto op = padded_operator<double, TypeParam>(a, format);
      std::vector<std::vector<double>> products, with_dot, dots;
      for (const TypeParam& space : {TypeParam(), of_one_thread<TypeParam>()}) {
        Vector<double, TypeParam> y("y", a.num_rows), z("z", a.num_rows), dot("dot", 1);
        op->apply(space, as_multivector(x_view), as_multivector(y));
        op->apply_dot(space, x, z, dot, ReduceWorkspace<double, TypeParam>(space, a.num_rows));
        space.fence();
        products.push_back(to_vector(y));
        with_dot.push_back(to_vector(z));
        dots.push_back(to_vector(dot));
      }
      EXPECT_EQ(products[0], products[1]) << test.name << " as " << to_string(format);
      EXPECT_EQ(with_dot[0], products[0]) << test.name << " as " << to_string(format);
      EXPECT_EQ(with_dot[1], products[0]) << test.name << " as " << to_string(format);
      EXPECT_EQ(dots[0], dots[1]) << test.name << " as " << to_string(format);
    }
  }
}

/// On a host the sum's blocks have 513 rows here: they begin within a format's groups of rows.
TYPED_TEST(FormatsTest, BlocksOfAnySize) {
  const TypeParam space;
  const std::int64_t n = 512 * 8192 + 1;
  const auto a = generate<double>(space, "tridiagonal:" + std::to_string(n));
  std::vector<double> x(n), expected(n);
  double expected_dot = 0;
  for (std::int64_t i = 0; i < n; ++i) x[i] = double(i * 7 % 11 - 5);
  for (std::int64_t i = 0; i < n; ++i) {
    expected[i] = 2 * x[i] - (i > 0 ? x[i - 1] : 0) - (i + 1 < n ? x[i + 1] : 0);
    expected_dot += x[i] * expected[i];
  }
  const auto x_device = to_device<TypeParam>(x);
  const ReduceWorkspace<double, TypeParam> workspace(space, n);
  for (const MatrixFormat format : all_formats) {
    const auto op = make_operator<double, TypeParam>(space, a, format);
    Vector<double, TypeParam> y("y", n), dot("dot", 1);
    op->apply_dot(space, x_device, y, dot, workspace);
    space.fence();
    EXPECT_TRUE(to_vector(y) == expected) << to_string(format);
    EXPECT_EQ(to_vector(dot)[0], expected_dot) << to_string(format);
  }
}

TYPED_TEST(FormatsTest, ProductAndDot) {
  const TypeParam space;
  for (const auto& test : cases()) {
    const HostMatrix<double>& a = test.matrix;
    if (a.num_cols < a.num_rows) continue;
    for (const MatrixFormat format : all_formats) {
      SCOPED_TRACE(test.name + " as " + to_string(format));
      const auto op = padded_operator<double, TypeParam>(a, format);
      const auto x = vector_of<double, TypeParam>(a.num_cols, 3);
      Vector<double, TypeParam> y("y", a.num_rows), plain("plain", a.num_rows), dots("dots", 2);
      const ReduceWorkspace<double, TypeParam> workspace(space, a.num_rows);
      for (int k = 0; k < 2; ++k)
        op->apply_dot(space, x, y, VectorView<double, TypeParam>(dots.data() + k, 1), workspace);
      op->apply(space, as_multivector(VectorView<const double, TypeParam>(x)), as_multivector(plain));
      space.fence();
      EXPECT_EQ(to_vector(y), to_vector(plain));
      long double expected = 0, size = 0;
      const auto y_values = to_vector(y), x_values = to_vector(x);
      for (std::int64_t i = 0; i < a.num_rows; ++i) {
        expected += static_cast<long double>(x_values[i]) * y_values[i];
        size += std::abs(static_cast<long double>(x_values[i]) * y_values[i]);
      }
      const auto found = to_vector(dots);
      EXPECT_NEAR(found[0], double(expected), double(30 * size) * std::numeric_limits<double>::epsilon());
      EXPECT_EQ(found[0], found[1]);
    }
  }
}

TYPED_TEST(FormatsTest, ComplexEntries) {
  using Scalar = Kokkos::complex<double>;
  const TypeParam space;
  const HostMatrix<double>& real = cases()[8].matrix;
  HostMatrix<Scalar> a{real.num_rows, real.num_cols, real.row_ptrs, real.col_idxs, {}};
  for (std::size_t k = 0; k < real.nnz(); ++k)
    a.values.emplace_back(real.values[k], real.values[real.nnz() - 1 - k]);
  std::vector<Scalar> x_values(a.num_cols);
  for (std::int64_t j = 0; j < a.num_cols; ++j)
    x_values[j] = Scalar(std::sin(double(j)), std::cos(double(j)));
  const auto x = to_device<TypeParam>(x_values);
  for (const MatrixFormat format : all_formats) {
    const auto op = padded_operator<Scalar, TypeParam>(a, format);
    Vector<Scalar, TypeParam> y("y", a.num_rows), dot("dot", 1);
    op->apply_dot(space, x, y, dot, ReduceWorkspace<Scalar, TypeParam>(space, a.num_rows));
    space.fence();
    const auto found = to_vector(y);
    Scalar expected_dot = 0;
    for (std::int64_t i = 0; i < a.num_rows; ++i) {
      Scalar sum = 0;
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
        sum += a.values[k] * x_values[a.col_idxs[k]];
      ASSERT_NEAR(Kokkos::abs(found[i] - sum), 0, 1e-13) << to_string(format) << " row " << i;
      expected_dot += Kokkos::conj(x_values[i]) * found[i];
    }
    EXPECT_NEAR(Kokkos::abs(to_vector(dot)[0] - expected_dot), 0, 1e-10) << to_string(format);
  }
}

TYPED_TEST(FormatsTest, ComplexProductsOfSeveralColumns) {
  using Scalar = Kokkos::complex<double>;
  const TypeParam space;
  const Scalar alpha(0.5, -2), beta(-1, 0.25);
  constexpr int k = 5;
  for (const auto& test : {cases()[8], cases()[11]}) {
    const HostMatrix<double>& real = test.matrix;
    HostMatrix<Scalar> a{real.num_rows, real.num_cols, real.row_ptrs, real.col_idxs, {}};
    for (std::size_t e = 0; e < real.nnz(); ++e)
      a.values.emplace_back(real.values[e], real.values[real.nnz() - 1 - e]);
    std::vector<std::vector<Scalar>> xs(k), ys(k);
    for (int v = 0; v < k; ++v) {
      for (std::int64_t j = 0; j < a.num_cols; ++j)
        xs[v].emplace_back(std::sin(double(j + v)), std::cos(double(j - v)));
      for (std::int64_t i = 0; i < a.num_rows; ++i) ys[v].emplace_back(std::cos(double(i + v)), double(v));
    }
    Strided<Scalar, TypeParam> x(a.num_cols, k, 3), y(a.num_rows, k, 1);
    x.fill(xs);
    for (const MatrixFormat format : all_formats) {
      const auto op = padded_operator<Scalar, TypeParam>(a, format);
      y.fill(ys);
      op->apply(space, x.part, y.part, alpha, beta);
      space.fence();
      const auto found = y.columns();
      for (int v = 0; v < k; ++v)
        for (std::int64_t i = 0; i < a.num_rows; ++i) {
          Scalar sum = 0;
          for (std::size_t e = a.row_ptrs[i]; e < a.row_ptrs[i + 1]; ++e)
            sum += a.values[e] * xs[v][a.col_idxs[e]];
          ASSERT_NEAR(Kokkos::abs(found[v][i] - (alpha * sum + beta * ys[v][i])), 0, 1e-12)
              << test.name << " as " << to_string(format) << " row " << i << " column " << v;
        }
    }
  }
}

TYPED_TEST(FormatsTest, WrongSizesThrow) {
  const TypeParam space;
  const HostMatrix<double> host = band_of(std::vector<int>(50, 2), 40, 1);
  const auto ones = to_device<TypeParam>(std::vector<double>(50, 1));
  for (const MatrixFormat format : all_formats) {
    SCOPED_TRACE(to_string(format));
    const auto op = padded_operator<double, TypeParam>(host, format);
    const auto dot_of = [&](int x_rows, int y_rows, int workspace_rows) {
      const VectorView<const double, TypeParam> x(ones.data(), x_rows);
      const Vector<double, TypeParam> y("y", y_rows), dot("dot", 1);
      op->apply_dot(space, x, y, dot, ReduceWorkspace<double, TypeParam>(space, workspace_rows));
      space.fence();
      double sum = 0;
      for (const double value : to_vector(y)) sum += value;
      EXPECT_NEAR(to_vector(dot)[0], sum, 1e-11);
    };
    EXPECT_THAT(message_of<InputError>([&] { dot_of(40, 50, 50); }),
                ::testing::HasSubstr("x^H A x takes the first 50 rows of x, which has 40"));
    EXPECT_THROW(dot_of(39, 50, 50), InputError);
    EXPECT_THROW(dot_of(50, 49, 50), InputError);
    EXPECT_NO_THROW(dot_of(50, 50, 50));
  }
  const HostMatrix<double> large = band_of(std::vector<int>(513, 1), 513, 1);
  for (const MatrixFormat format : all_formats) {
    const auto op = padded_operator<double, TypeParam>(large, format);
    const Vector<double, TypeParam> x("x", 513), y("y", 513), dot("dot", 1);
    EXPECT_THROW(op->apply_dot(space, x, y, dot, ReduceWorkspace<double, TypeParam>(space, 512)),
                 std::logic_error);
  }
  const auto sell = make_sell<double, TypeParam>(space, to_device<TypeParam>(host));
  const auto step = [&](const RecurrenceStep<double>& coefficients, int scales, int b_rows) {
    return message_of<InputError>([&] {
      format_recurrence<double, TypeParam, SellView<double, TypeParam>>(
          space, coefficients, Vector<double, TypeParam>("scales", scales), sell,
          MultiVector<double, TypeParam>("x", 40, 1), MultiVector<double, TypeParam>("b", b_rows, 1),
          MultiVector<double, TypeParam>("y", 50, 1));
    });
  };
  EXPECT_THAT(step({}, 49, 0), ::testing::HasSubstr("49 scales for 50 rows"));
  EXPECT_THAT(step({.source = 1}, 0, 49),
              ::testing::HasSubstr("adds b, which is 49 x 1, to y, which is 50 x 1"));
  EXPECT_THAT(step({.direct = 1}, 0, 0), ::testing::HasSubstr("adds x, which has 40 rows"));
}

/// Entries of a shorter type, scaled by rows: what stored factors do.
template <class Value, class Space>
void check_stored() {
  const Space space;
  const HostMatrix<double>& host = cases()[8].matrix;
  CsrMatrix<Value, int, std::size_t, typename Space::memory_space> a;
  const auto full = to_device<Space>(host);
  a.num_rows = full.num_rows;
  a.num_cols = full.num_cols;
  a.row_ptrs = decltype(a.row_ptrs)("row_ptrs", full.row_ptrs.extent(0));
  a.col_idxs = decltype(a.col_idxs)("col_idxs", full.col_idxs.extent(0));
  Kokkos::deep_copy(a.row_ptrs, full.row_ptrs);
  Kokkos::deep_copy(a.col_idxs, full.col_idxs);
  a.values = decltype(a.values)("values", full.values.extent(0));
  const auto mirror = Kokkos::create_mirror_view(a.values);
  HostMatrix<double> rounded = host;
  for (std::size_t k = 0; k < host.nnz(); ++k) {
    mirror(k) = Value(float(host.values[k]));
    rounded.values[k] = double(float(mirror(k)));
  }
  Kokkos::deep_copy(a.values, mirror);
  std::vector<double> scales(host.num_rows);
  for (std::int64_t i = 0; i < host.num_rows; ++i) scales[i] = std::ldexp(1.0, int(i % 5) - 2);
  HostMatrix<double> scaled = rounded;
  for (std::int64_t i = 0; i < host.num_rows; ++i)
    for (std::size_t k = host.row_ptrs[i]; k < host.row_ptrs[i + 1]; ++k) scaled.values[k] *= scales[i];
  const auto row_scale = to_device<Space>(scales);
  const auto x = vector_of<double, Space>(host.num_cols, 5), b = vector_of<double, Space>(host.num_rows, 6);
  const RecurrenceStep<double> step{1.5, -0.75, 0.5, 2};
  const auto check = [&](const auto& matrix, auto view) {
    using View = decltype(view);
    for (const bool with_scale : {true, false}) {
      const auto y = vector_of<double, Space>(host.num_rows, 7);
      const auto before = to_vector(y);
      format_recurrence<double, Space, View>(
          space, step,
          with_scale ? VectorView<const double, Space>(row_scale) : VectorView<const double, Space>(), matrix,
          as_multivector(VectorView<const double, Space>(x)),
          as_multivector(VectorView<const double, Space>(b)), as_multivector(y));
      space.fence();
      expect_step(with_scale ? scaled : rounded, step, to_vector(x), to_vector(b), before, to_vector(y));
    }
  };
  check(make_sell<Value, Space>(space, a), SellView<Value, Space>());
  check(make_dia<Value, Space>(space, a, {1e9}), DiaView<Value, Space>());
  check(make_jad<Value, Space>(space, a), JadView<Value, Space>());
}

TYPED_TEST(FormatsTest, EntriesOfAShorterType) {
  check_stored<float, TypeParam>();
  check_stored<Half, TypeParam>();
  check_stored<BFloat16, TypeParam>();
}

TYPED_TEST(FormatsTest, PaddingDoesNotSpreadWhatIsNotFinite) {
  const TypeParam space;
  const HostMatrix<double>& a = cases()[9].matrix;
  auto x_values = to_vector(vector_of<double, TypeParam>(a.num_cols, 8));
  x_values[0] = x_values[77] = std::numeric_limits<double>::infinity();
  const auto x = to_device<TypeParam>(x_values);
  for (const MatrixFormat format : all_formats) {
    const auto op = padded_operator<double, TypeParam>(a, format);
    Vector<double, TypeParam> y("y", a.num_rows);
    op->apply(space, as_multivector(VectorView<const double, TypeParam>(x)), as_multivector(y));
    space.fence();
    const auto found = to_vector(y);
    for (std::int64_t i = 0; i < a.num_rows; ++i) {
      bool has_it = false;
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
        has_it = has_it || a.col_idxs[k] == 0 || a.col_idxs[k] == 77;
      ASSERT_EQ(std::isfinite(found[i]), !has_it) << to_string(format) << " row " << i;
    }
  }
}

/// The kernel by which a device makes diagonals, with as much scratch as it has, on a host too.
TYPED_TEST(FormatsTest, DiagonalsByTilesOfRows) {
  using Tile = impl::formats::TileDia<double, TypeParam>;
  const TypeParam space;
  int fitted = 0;
  for (const auto& test : cases()) {
    SCOPED_TRACE(test.name);
    const auto a = to_device<TypeParam>(test.matrix);
    const auto dia = make_dia<double, TypeParam>(space, a, {1e9});
    if (!Tile::fits(dia.num_diagonals()) || dia.stride == 0) continue;
    ++fitted;
    const Vector<double, TypeParam> values("values", dia.values.extent(0));
    Kokkos::deep_copy(values, std::numeric_limits<double>::quiet_NaN());
    Kokkos::parallel_for("prekond::testing::tiles", Tile::policy(space, dia.stride, dia.num_diagonals()),
                         Tile{{a, dia.offsets, dia.stride, values, {a.num_rows}}});
    const auto found = to_vector(values);
    const auto offsets = to_vector(dia.offsets);
    HostMatrix<double> seen = test.matrix;
    std::size_t zeros = 0;
    for (std::size_t p = 0; p < found.size(); ++p) zeros += found[p] == 0;
    for (std::int64_t i = 0; i < seen.num_rows; ++i)
      for (std::size_t k = seen.row_ptrs[i]; k < seen.row_ptrs[i + 1]; ++k) {
        const auto d = std::find(offsets.begin(), offsets.end(), int(seen.col_idxs[k] - i)) - offsets.begin();
        seen.values[k] = found[static_cast<std::size_t>(d * dia.stride + i)];
        zeros += seen.values[k] != 0;
      }
    EXPECT_EQ(seen.values, test.matrix.values);
    EXPECT_EQ(zeros, found.size()) << "places without an entry are 0";
    EXPECT_EQ(found, to_vector(dia.values));
  }
  EXPECT_GE(fitted, 5);
}

TYPED_TEST(FormatsTest, SellSortsAndShortensColumns) {
  const TypeParam space;
  const auto structure = [&](const HostMatrix<double>& a, const SellOptions& options = {}) {
    const auto device = to_device<TypeParam>(a);
    return make_sell_structure<TypeParam>(space, CsrView<double, TypeParam>(device), options);
  };
  const auto bytes_of_deltas = [&](const SellStructure<TypeParam>& s) {
    std::vector<int> bytes;
    for (const std::size_t code : to_vector(s.delta_ptrs)) bytes.push_back(int(code & 7));
    bytes.pop_back();  // the end's
    return bytes;
  };
  // A band: chunk columns spread over 32 columns, but for rows that wrap around at the end.
  const auto band = structure(band_of(std::vector<int>(1000, 5), 2000, 1));
  EXPECT_EQ(band.sigma, 1);
  EXPECT_EQ(band.rows.extent(0), 0u);
  EXPECT_EQ(band.num_places(), 32 * 32 * 5);
  EXPECT_THAT(bytes_of_deltas(band), ::testing::Each(1));
  // Exactly 255 apart, and 256.
  const auto pair = [&](int distance) {
    HostMatrix<double> a{2, 70000, {0, 1, 2}, {0, distance}, {1, 1}};
    return bytes_of_deltas(structure(a, {.max_padding = 100}))[0];
  };
  EXPECT_EQ(pair(255), 1);
  EXPECT_EQ(pair(256), 2);
  EXPECT_EQ(pair(65535), 2);
  EXPECT_EQ(pair(65536), 4);
  // Sorting pays: rows of a window by length, the longest first, equals in their order.
  const HostMatrix<double>& irregular = cases()[8].matrix;
  const auto sorted = structure(irregular);
  EXPECT_EQ(sorted.sigma, 1024);
  const auto rows = to_vector(sorted.rows);
  const auto length = [&](int i) { return irregular.row_ptrs[i + 1] - irregular.row_ptrs[i]; };
  for (int p = 0; p + 1 < int(rows.size()); ++p) {
    EXPECT_EQ(rows[p] / 1024, p / 1024);
    if ((p + 1) % 1024 == 0) continue;
    ASSERT_GE(length(rows[p]), length(rows[p + 1])) << p;
    if (length(rows[p]) == length(rows[p + 1])) {
      ASSERT_LT(rows[p], rows[p + 1]) << p;
    }
  }
  EXPECT_LT(double(sorted.num_places()), 1.1 * double(irregular.nnz()));
  const auto device = to_device<TypeParam>(irregular);
  EXPECT_EQ((count_sell_places<TypeParam>(space, CsrView<double, TypeParam>(device))), sorted.num_places());
  const auto as_given = structure(irregular, {.sigma = 1});
  EXPECT_EQ(as_given.sigma, 1);
  EXPECT_GT(as_given.num_places(), sorted.num_places());
  EXPECT_EQ(structure(irregular, {.sigma = 64}).sigma, 64);
}

TYPED_TEST(FormatsTest, OneHugeRowIsRefusedWithItsSize) {
  const TypeParam space;
  std::vector<int> lengths(20000, 3);
  lengths[123] = 20000;
  const auto a = to_device<TypeParam>(band_of(lengths, 20000, 1));
  const auto dia = message_of<InputError>([&] { make_dia<double, TypeParam>(space, a); });
  EXPECT_THAT(dia, ::testing::HasSubstr("20000 rows take"));
  EXPECT_THAT(dia, ::testing::HasSubstr("bytes"));
  const auto sell = message_of<InputError>([&] { make_sell<double, TypeParam>(space, a); });
  EXPECT_THAT(sell, ::testing::HasSubstr("places for 79997 entries"));
  EXPECT_THAT(sell, ::testing::HasSubstr("bytes in double precision; take CSR"));
  // Jagged diagonals are not padded.
  EXPECT_EQ((make_jad<double, TypeParam>(space, a).nnz()), 79997);
  EXPECT_EQ((advise_format<TypeParam>(space, CsrView<double, TypeParam>(a), 8).format), MatrixFormat::csr);
  EXPECT_THAT(message_of<OptionError>([&] { make_dia<double, TypeParam>(space, a, {0.5}); }),
              ::testing::HasSubstr("max_padding = 0.5; it is at least 1"));
  EXPECT_THAT(message_of<OptionError>([&] { make_sell<double, TypeParam>(space, a, {.max_padding = 0}); }),
              ::testing::HasSubstr("max_padding = 0; it is at least 1"));
  EXPECT_THAT(message_of<OptionError>([&] { make_sell<double, TypeParam>(space, a, {.sigma = -1}); }),
              ::testing::HasSubstr("sigma = -1; it is in 0 .. 4096"));
}

TYPED_TEST(FormatsTest, DiagonalsOfAStencil) {
  const TypeParam space;
  const auto a = generate<double>(space, "poisson3d:7");
  const auto dia = make_dia<double, TypeParam>(space, a);
  EXPECT_THAT(to_vector(dia.offsets), ::testing::ElementsAre(-49, -7, -1, 0, 1, 7, 49));
  EXPECT_EQ(dia.stride, 352);
  EXPECT_EQ((count_diagonals<TypeParam>(space, CsrView<double, TypeParam>(a))), 7);
  EXPECT_EQ(dia.bytes(), 7 * 4 + 7 * 352 * 8);
}

TYPED_TEST(FormatsTest, JaggedDiagonalsAsInTheBook) {
  const TypeParam space;
  // The example of Li and Saad, section 3.2, its rows in the stable order.
  const HostMatrix<double> a{5,
                             5,
                             {0, 2, 5, 8, 10, 12},
                             {0, 2, 0, 1, 3, 1, 2, 4, 2, 3, 3, 4},
                             {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  const auto jad = make_jad<double, TypeParam>(space, to_device<TypeParam>(a));
  EXPECT_THAT(to_vector(jad.rows), ::testing::ElementsAre(1, 2, 0, 3, 4));
  EXPECT_THAT(to_vector(jad.diagonal_ptrs), ::testing::ElementsAre(0, 5, 10, 12));
  EXPECT_THAT(to_vector(jad.col_idxs), ::testing::ElementsAre(0, 1, 0, 2, 3, 1, 2, 2, 3, 4, 3, 4));
  EXPECT_THAT(to_vector(jad.values), ::testing::ElementsAre(3, 6, 1, 9, 11, 4, 7, 2, 10, 12, 5, 8));
}

using impl::formats::ProductTarget;

/// Advice for a matrix, and what the rule makes of the same numbers elsewhere.
struct Expected {
  std::string matrix;
  MatrixFormat on_host;
  std::string host_reason;
  MatrixFormat on_device;
  std::string device_reason;
};

TYPED_TEST(FormatsTest, TheAdviceFollowsTheRule) {
  const TypeParam space;
  constexpr bool on_device = !is_host_space<TypeParam>;
  const auto advice = [&](const std::string& what) {
    const auto a = generate<double>(space, what);
    return advise_format<TypeParam>(space, CsrView<double, TypeParam>(a), 8);
  };
  const FormatAdvice poisson = advice("poisson3d:20");
  EXPECT_EQ(poisson.num_diagonals, 7);
  EXPECT_EQ(poisson.dia_bytes, 7 * 8000 * 8);
  EXPECT_EQ(poisson.longest_row, 7);
  const FormatAdvice elasticity = advice("elasticity3d:20");
  EXPECT_EQ(elasticity.csr_bytes, 944586 * 12 + 22800 * 8);
  EXPECT_EQ(elasticity.dia_bytes, 59 * 22800 * 8);
  EXPECT_LT(elasticity.sell_bytes, elasticity.dia_bytes);
  const std::string of_csr = " of CSR's bytes";
  const Expected all[] = {
      {"poisson3d:20", MatrixFormat::dia, "7 diagonals take 63%" + of_csr, MatrixFormat::dia,
       "7 diagonals take 63%" + of_csr},
      // SELL takes a tenth fewer bytes.
      {"elasticity3d:20", MatrixFormat::dia, "59 diagonals take 93%" + of_csr, MatrixFormat::sell,
       "chunks of rows take about 86%" + of_csr + ", 59 diagonals take 93%" + of_csr},
      // Too small for a thread to add its row while others have work.
      {"elasticity3d:10", MatrixFormat::csr, "59 diagonals take 102%" + of_csr, MatrixFormat::csr,
       "a row of 45 entries would keep a thread of SELL busy after all others"},
      {"irregular3d:20", MatrixFormat::csr, "27 diagonals take 108%" + of_csr, MatrixFormat::sell,
       "chunks of rows take about 82%" + of_csr + ", 27 diagonals take 108%" + of_csr},
  };
  for (const Expected& test : all) {
    const FormatAdvice found = advice(test.matrix);
    FormatAdvice host = found, device = found, plain = found;
    impl::formats::choose_format(host, ProductTarget::vector_host, false, false);
    impl::formats::choose_format(device, ProductTarget::device, false, false);
    impl::formats::choose_format(plain, ProductTarget::plain_host, false, false);
    const FormatAdvice& here = on_device ? device : has_fused_multiply_add ? host : plain;
    EXPECT_EQ(found.format, here.format) << test.matrix;
    EXPECT_EQ(found.reason, here.reason) << test.matrix;
    EXPECT_EQ(plain.format, MatrixFormat::csr) << test.matrix;
    EXPECT_EQ(plain.reason,
              test.host_reason +
                  (test.on_host == MatrixFormat::dia ? ", but are slow without fused multiply-adds" : ""))
        << test.matrix;
    EXPECT_EQ(host.format, test.on_host) << test.matrix;
    EXPECT_EQ(host.reason, test.host_reason) << test.matrix;
    EXPECT_EQ(device.format, test.on_device) << test.matrix;
    EXPECT_EQ(device.reason, test.device_reason) << test.matrix;
  }
  const FormatAdvice circuit = advice("circuit:100");
  EXPECT_EQ(circuit.format, MatrixFormat::csr) << circuit.reason;
  EXPECT_THAT(circuit.reason,
              ::testing::HasSubstr(on_device ? "chunks of rows take about" : " diagonals take "));
  const auto none = to_device<TypeParam>(HostMatrix<double>{0, 3, {0}, {}, {}});
  EXPECT_EQ((advise_format<TypeParam>(space, CsrView<double, TypeParam>(none), 8).format), MatrixFormat::csr);
}

/// 1.5 entries a row on 8 diagonals: in 2 bytes the places take less than CSR, but are more than make_dia
/// accepts.
HostMatrix<double> sparse_diagonals() {
  HostMatrix<double> a;
  a.num_rows = 1400;
  a.num_cols = 1408;
  for (int i = 0; i < 1400; ++i) {
    a.col_idxs.push_back(i);
    if (i % 2 == 0) a.col_idxs.push_back(i + 1 + i / 2 % 7);
    a.row_ptrs.push_back(a.nnz());
  }
  a.values.assign(a.nnz(), 1.5);
  return a;
}

TYPED_TEST(FormatsTest, FullBlocksOfFourRowsAreChosenWhereTheyAreSmaller) {
  const TypeParam space;
  for (const int b : {3, 4, 5}) {
    // A chain of nodes with b unknowns each, every tenth node coupled with one far away.
    const int nodes = 200;
    std::vector<std::vector<double>> dense(nodes * b, std::vector<double>(nodes * b, 0));
    for (int i = 0; i < nodes; ++i)
      for (int j = 0; j < nodes; ++j)
        if (std::abs(i - j) <= 1 || (i % 10 == 0 && j == (i * 7 + 13) % nodes))
          for (int p = 0; p < b; ++p)
            for (int q = 0; q < b; ++q) dense[i * b + p][j * b + q] = 1 + p + q;
    HostMatrix<double> host = sparse(dense);
    const auto a = to_device<TypeParam>(host);
    FormatAdvice advice;
    const auto op = make_operator<double, TypeParam>(space, a, MatrixFormat::automatic, &advice);
    EXPECT_EQ(advice.block_size, b);
    EXPECT_EQ(advice.format == MatrixFormat::bcsr, b >= 4) << advice.reason;
    if (b < 4) continue;
    EXPECT_THAT(advice.reason, ::testing::HasSubstr("blocks of " + std::to_string(b)));
    EXPECT_NE((dynamic_cast<const BcsrOperator<double, TypeParam>*>(op.get())), nullptr);
    host.values.pop_back();  // a block that is not full
    host.col_idxs.pop_back();
    --host.row_ptrs.back();
    EXPECT_NE(
        (advise_format<TypeParam>(space, CsrView<double, TypeParam>(to_device<TypeParam>(host)), 8).format),
        MatrixFormat::bcsr);
  }
}

TYPED_TEST(FormatsTest, AdviceChoosesNothingThatIsRefused) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(sparse_diagonals());
  const CsrMatrix<Half, int, std::size_t, typename TypeParam::memory_space> half(
      a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, Vector<Half, TypeParam>("values", a.nnz()));
  const FormatAdvice advice = advise_format<TypeParam>(space, CsrView<double, TypeParam>(a), sizeof(Half));
  EXPECT_LT(double(advice.dia_bytes), 0.95 * double(advice.csr_bytes));
  EXPECT_THAT(message_of<InputError>([&] { make_dia<Half, TypeParam>(space, half); }),
              ::testing::HasSubstr("8 diagonals of 1400 rows"));
  EXPECT_EQ(advice.format, is_host_space<TypeParam> ? MatrixFormat::csr : MatrixFormat::sell);
  EXPECT_THAT(advice.reason,
              ::testing::HasSubstr("8 diagonals take 94% of CSR's bytes, but too much of it is "
                                   "padding"));
  // The same for SELL, which no pattern brings about.
  FormatAdvice rule;
  rule.csr_bytes = 1000;
  rule.sell_bytes = rule.dia_bytes = 500;
  rule.longest_row = 1;
  for (const auto target : {ProductTarget::plain_host, ProductTarget::vector_host, ProductTarget::device}) {
    impl::formats::choose_format(rule, target, true, false);
    EXPECT_EQ(rule.format, target == ProductTarget::plain_host ? MatrixFormat::csr : MatrixFormat::dia);
    impl::formats::choose_format(rule, target, true, true);
    EXPECT_EQ(rule.format, MatrixFormat::csr);
    impl::formats::choose_format(rule, target, false, true);
    EXPECT_EQ(rule.format, target == ProductTarget::device ? MatrixFormat::sell : MatrixFormat::csr);
  }
}

TYPED_TEST(FormatsTest, MakersGoOnFromWhatAdviceHasFound) {
  const TypeParam space;
  const auto count = [](const ToolEvents& events, const std::string& kernel) {
    return std::count(events.kernels().begin(), events.kernels().end(), kernel);
  };
  const auto a = generate<double>(space, "poisson3d:7");
  {
    FormatAdvice advice;
    const ToolEvents events;
    const auto op = make_operator<double, TypeParam>(space, a, MatrixFormat::automatic, &advice);
    EXPECT_EQ(count(events, "prekond::dia::mark_diagonals"), 1);
    EXPECT_EQ(count(events, "prekond::sell::widths"), 2);  // as they are, and sorted
    const bool adds_diagonals = impl::formats::product_target<TypeParam> != ProductTarget::plain_host;
    EXPECT_EQ(advice.format, adds_diagonals ? MatrixFormat::dia : MatrixFormat::csr);
    EXPECT_EQ(advice.num_diagonals, 7);
    EXPECT_EQ((dynamic_cast<const DiaOperator<double, TypeParam>*>(op.get())) != nullptr, adds_diagonals);
  }
  const auto irregular = to_device<TypeParam>(cases()[8].matrix);
  impl::formats::Found<TypeParam> found;
  const FormatAdvice advice = impl::formats::advise_format<TypeParam>(
      space, CsrView<double, TypeParam>(irregular), 8, found, impl::formats::BlocksAre::allowed);
  EXPECT_FALSE(found.diagonals);
  EXPECT_EQ(found.chunks.has_value(), advice.format == MatrixFormat::sell);
  found.chunks =
      impl::formats::choose_chunks<TypeParam>(space, CsrView<double, TypeParam>(irregular), SellOptions());
  const auto sell = make_sell<double, TypeParam>(space, irregular);
  const ToolEvents events;
  const auto from_found = impl::formats::make_sell<double, TypeParam>(space, irregular, found);
  EXPECT_EQ(count(events, "prekond::sell::widths"), 0);
  EXPECT_FALSE(found.chunks);
  EXPECT_EQ(from_found.sigma, sell.sigma);
  EXPECT_EQ(to_vector(from_found.rows), to_vector(sell.rows));
  EXPECT_EQ(to_vector(from_found.deltas), to_vector(sell.deltas));
  EXPECT_EQ(to_vector(from_found.values), to_vector(sell.values));
}

TYPED_TEST(FormatsTest, NoAllocationNoFenceAndOneKernelForFourColumns) {
  const TypeParam space;
  const HostMatrix<double>& a = cases()[8].matrix;
  for (const MatrixFormat format : {MatrixFormat::sell, MatrixFormat::dia, MatrixFormat::jad}) {
    const auto op = padded_operator<double, TypeParam>(a, format);
    const MultiVector<double, TypeParam> x("x", a.num_cols, 9), y("y", a.num_rows, 9);
    const Vector<double, TypeParam> dot("dot", 1);
    const ReduceWorkspace<double, TypeParam> workspace(space, a.num_rows);
    space.fence();
    const ToolEvents events;
    op->apply(space, x, y);
    const std::string label = "prekond::spmv::apply_" + to_string(format);
    std::vector<std::string> expected(3, label);
    EXPECT_EQ(events.kernels(), expected);
    // On a device the teams' sums are added by another kernel.
    op->apply_dot(space, column(x, 0), column(y, 0), dot, workspace);
    expected.insert(expected.end(), is_host_space<TypeParam> ? 1 : 2, label + "_dot");
    EXPECT_EQ(events.kernels(), expected);
    EXPECT_THAT(events.fences(), ::testing::IsEmpty());
    EXPECT_THAT(events.allocations(), ::testing::IsEmpty());
  }
}

}  // namespace
}  // namespace prekond::testing
