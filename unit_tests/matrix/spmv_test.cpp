// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/one_thread.hpp"
#include "testing/spaces.hpp"
#include "testing/strided.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/matrix/spmv.hpp>

#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <utility>

// A warning about the device's kernels, in which a batch's missing entries have no factor: GCC does not see
// that none is used.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include "matrix/spmv_kernels.hpp"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace prekond::testing {
namespace {

/// Rows of the given lengths: unique sorted columns spread over num_cols, values in [-1, 1).
template <class Scalar>
HostMatrix<Scalar> matrix_of(const std::vector<int>& lengths, int num_cols) {
  std::mt19937 random(unsigned(lengths.size()) + unsigned(num_cols));
  HostMatrix<Scalar> a;
  a.num_rows = static_cast<std::int64_t>(lengths.size());
  a.num_cols = num_cols;
  for (const int length : lengths) {
    int wanted = length;
    for (int j = 0; j < num_cols && wanted > 0; ++j) {
      if (int(random() % unsigned(num_cols - j)) >= wanted) continue;  // each set of columns is as likely
      --wanted;
      a.col_idxs.push_back(j);
      a.values.push_back(Scalar(random()) / Scalar(1u << 31) - 1);
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

template <class Scalar>
struct Case {
  std::string name;
  HostMatrix<Scalar> matrix;
};

template <class Scalar>
std::vector<Case<Scalar>> make_cases() {
  std::vector<Case<Scalar>> all;
  const auto add = [&](const char* name, const std::vector<int>& lengths, int num_cols) {
    all.push_back({name, matrix_of<Scalar>(lengths, num_cols)});
  };
  add("1 x 1", {1}, 1);
  add("1 x 1, empty", {0}, 1);
  add("no entries", std::vector<int>(37, 0), 37);
  add("1 x 700", {600}, 700);
  add("more columns than rows", random_lengths(513, 0, 9), 900);
  add("more rows than columns", random_lengths(777, 0, 3), 5);
  add("0 to 600", random_lengths(601, 0, 600), 601);
  // Mean lengths on both sides of the bound between rows for threads and for streams.
  for (int mean : {1, 2, 4, 7, 8, 9, 16, 33, 64, 97, 150})
    add(("mean " + std::to_string(mean)).c_str(), random_lengths(1031, 0, 2 * mean), 1031);
  std::vector<int> one_long(1500, 1);
  one_long[1499] = 600;
  one_long[0] = 0;
  add("one long row", one_long, 1500);
  // On a device: rows for a thread, a stream and a team, more entries in a block than a stream has at once.
  std::vector<int> mixed = random_lengths(700, 5, 40);
  mixed[0] = mixed[350] = 1025;
  mixed[351] = 1024;
  mixed[699] = 4100;
  add("streams and long rows", mixed, 5000);
  std::vector<int> short_rows(400, 4);
  short_rows[3] = 128;
  short_rows[255] = 129;
  add("threads and long rows", short_rows, 500);
  // Several for one team to add: lists of more than one row, also at the ends of what it has.
  std::vector<int> close = short_rows;
  close[0] = close[4] = close[100] = close[127] = 200;
  add("threads and long rows close together", close, 500);
  std::vector<int> close_streams = mixed;
  close_streams[352] = close_streams[353] = 1300;
  close_streams[698] = 2500;
  add("streams and long rows close together", close_streams, 5000);
  return all;
}

template <class Scalar>
const std::vector<Case<Scalar>>& cases() {
  static const std::vector<Case<Scalar>> all = make_cases<Scalar>();
  return all;
}

template <class Scalar>
std::vector<Scalar> values_at(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Scalar> x(n);
  for (Scalar& value : x) value = Scalar(random()) / Scalar(1u << 31) - 1;
  return x;
}

/// |y - (alpha A x + beta y_before)| to rounding, in long double.
template <class Scalar>
void expect_product(const std::string& name, const HostMatrix<Scalar>& a, Scalar alpha,
                    const std::vector<Scalar>& x, Scalar beta, const std::vector<Scalar>& before,
                    const std::vector<Scalar>& y) {
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    long double sum = 0, size = 0;
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const long double term = static_cast<long double>(a.values[k]) * x[a.col_idxs[k]];
      sum += term;
      size += std::abs(term);
    }
    const long double expected =
        alpha * sum + (beta == Scalar(0) ? 0 : beta * static_cast<long double>(before[i]));
    if (beta != Scalar(0)) size += std::abs(before[i]);
    ASSERT_NEAR(y[i], double(expected), double(30 * size * std::numeric_limits<Scalar>::epsilon()))
        << name << " row " << i;
  }
}

template <class Scalar, class Space>
void check_products(const Case<Scalar>& test, int k, Scalar alpha, Scalar beta, int extra) {
  const Space space;
  const HostMatrix<Scalar>& a = test.matrix;
  const auto device = to_device<Space>(a);
  Strided<Scalar, Space> x(a.num_cols, k, extra), y(a.num_rows, k, extra);
  std::vector<std::vector<Scalar>> x_values, y_values;
  for (int v = 0; v < k; ++v) {
    x_values.push_back(values_at<Scalar>(a.num_cols, 100u + v));
    // With beta = 0, y is not read: NaN there stays without consequence.
    y_values.push_back(beta == Scalar(0)
                           ? std::vector<Scalar>(a.num_rows, std::numeric_limits<Scalar>::quiet_NaN())
                           : values_at<Scalar>(a.num_rows, 200u + v));
  }
  x.fill(x_values);
  y.fill(y_values);
  spmv<Scalar, Space>(space, alpha, device, x.part, beta, y.part);
  space.fence();
  const auto once = y.columns();
  EXPECT_EQ(x.columns(), x_values);
  for (int v = 0; v < k; ++v)
    expect_product(test.name + ", vector " + std::to_string(v) + " of " + std::to_string(k), a, alpha,
                   x_values[v], beta, y_values[v], once[v]);
  y.fill(y_values);
  spmv<Scalar, Space>(space, alpha, device, x.part, beta, y.part);
  space.fence();
  ASSERT_EQ(once, y.columns()) << test.name << ": other bits in the second run";
}

template <class Space>
class SpmvTest : public ::testing::Test {};
TYPED_TEST_SUITE(SpmvTest, TestSpaces, SpaceNames);

TYPED_TEST(SpmvTest, OneVectorOfEveryShape) {
  for (const auto& test : cases<double>()) check_products<double, TypeParam>(test, 1, 1, 0, 0);
  for (const auto& test : cases<float>()) check_products<float, TypeParam>(test, 1, 1, 0, 0);
}

TYPED_TEST(SpmvTest, AlphaAndBeta) {
  const Case<double> test{"0 to 40", matrix_of<double>(random_lengths(301, 0, 40), 333)};
  for (double alpha : {0.0, 1.0, -1.0, 2.5})
    for (double beta : {0.0, 1.0, -1.0, 0.3}) check_products<double, TypeParam>(test, 2, alpha, beta, 0);
  const Case<float> single{"0 to 40", matrix_of<float>(random_lengths(301, 0, 40), 333)};
  check_products<float, TypeParam>(single, 3, -1.5f, 0.25f, 5);
}

TYPED_TEST(SpmvTest, OneToNineVectorsWithAStride) {
  const Case<double> test{"0 to 70", matrix_of<double>(random_lengths(203, 0, 70), 300)};
  for (int k = 1; k <= 9; ++k) {
    check_products<double, TypeParam>(test, k, 1.5, 0, 0);
    check_products<double, TypeParam>(test, k, -1, 1, 11);
  }
  for (const auto& other : cases<double>()) check_products<double, TypeParam>(other, 5, 1, 0.5, 3);
}

TYPED_TEST(SpmvTest, NoVectorAndNoRowAreNoWork) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(matrix_of<double>({1, 2}, 2));
  EXPECT_NO_THROW((spmv<double, TypeParam>(space, 1.0, a, MultiVector<double, TypeParam>("x", 2, 0), 0.0,
                                           MultiVector<double, TypeParam>("y", 2, 0))));
  const auto none = to_device<TypeParam>(matrix_of<double>({}, 3));
  EXPECT_NO_THROW((spmv<double, TypeParam>(space, 1.0, none, MultiVector<double, TypeParam>("x", 3, 1), 0.0,
                                           MultiVector<double, TypeParam>("y", 0, 1))));
  space.fence();
}

/// product A x + direct x + previous y + source b to rounding, in long double. A vector with the coefficient
/// 0 is NaN in the run.
template <class Scalar, class Space>
void check_recurrence(const Case<Scalar>& test, int k, const RecurrenceStep<Scalar>& step, int extra) {
  const Space space;
  const HostMatrix<Scalar>& a = test.matrix;
  if (a.num_cols < a.num_rows) return;
  constexpr Scalar nan = std::numeric_limits<Scalar>::quiet_NaN();
  Strided<Scalar, Space> x(a.num_cols, k, extra), y(a.num_rows, k, extra), b(a.num_rows, k, extra);
  std::vector<std::vector<Scalar>> x_values, y_values, b_values;
  for (int v = 0; v < k; ++v) {
    x_values.push_back(values_at<Scalar>(a.num_cols, 100u + v));
    y_values.push_back(step.previous == Scalar(0) ? std::vector<Scalar>(a.num_rows, nan)
                                                  : values_at<Scalar>(a.num_rows, 200u + v));
    b_values.push_back(step.source == Scalar(0) ? std::vector<Scalar>(a.num_rows, nan)
                                                : values_at<Scalar>(a.num_rows, 300u + v));
  }
  x.fill(x_values);
  y.fill(y_values);
  b.fill(b_values);
  const CsrOperator<Scalar, Space> op(to_device<Space>(a));
  const MultiVectorView<const Scalar, Space> no_b;
  op.apply_recurrence(space, step, x.part, step.source == Scalar(0) && a.num_rows % 2 == 0 ? no_b : b.part,
                      y.part);
  space.fence();
  const auto found = y.columns();
  for (int v = 0; v < k; ++v)
    for (std::int64_t i = 0; i < a.num_rows; ++i) {
      long double sum = 0, size = 0;
      const auto add = [&](Scalar factor, long double value) {
        if (factor == Scalar(0)) return;
        sum += factor * value;
        size += std::abs(factor * value);
      };
      for (std::size_t e = a.row_ptrs[i]; e < a.row_ptrs[i + 1]; ++e)
        add(step.product, static_cast<long double>(a.values[e]) * x_values[v][a.col_idxs[e]]);
      add(step.direct, x_values[v][i]);
      add(step.previous, y_values[v][i]);
      add(step.source, b_values[v][i]);
      ASSERT_NEAR(found[v][i], double(sum), double(30 * size * std::numeric_limits<Scalar>::epsilon()))
          << test.name << " row " << i << " vector " << v;
    }
}

TYPED_TEST(SpmvTest, TheStepOfARecurrence) {
  const RecurrenceStep<double> steps[] = {{},
                                          {.product = -1.5},
                                          {.product = 0.3, .direct = 1.25},
                                          {.product = 0.3, .previous = -0.5},
                                          {.product = 0.3, .source = 2},
                                          {.product = 2, .direct = -0.75, .previous = 1.5, .source = 0.125}};
  for (const auto& step : steps)
    for (const auto& test : cases<double>()) check_recurrence<double, TypeParam>(test, 1, step, 0);
  const RecurrenceStep<float> single{2, -0.75f, 1.5f, 0.125f};
  for (const auto& test : cases<float>()) check_recurrence<float, TypeParam>(test, 6, single, 5);
}

template <class Scalar, class Space>
void check_dot() {
  const Space space;
  for (const auto& test : cases<Scalar>()) {
    const HostMatrix<Scalar>& a = test.matrix;
    if (a.num_cols < a.num_rows) continue;
    const auto device = to_device<Space>(a);
    const auto x_values = values_at<Scalar>(a.num_cols, 5);
    const auto x = to_device<Space>(x_values);
    Vector<Scalar, Space> y("y", a.num_rows), plain("plain", a.num_rows), dots("dots", 3);
    Kokkos::deep_copy(y, std::numeric_limits<Scalar>::quiet_NaN());
    Kokkos::deep_copy(dots, Scalar(pad));
    const ReduceWorkspace<Scalar, Space> workspace(space, a.num_rows);
    for (int k = 0; k < 2; ++k)
      spmv_dot<Scalar, Space>(space, device, x, y, VectorView<Scalar, Space>(dots.data() + k, 1), workspace);
    spmv<Scalar, Space>(space, Scalar(1), device, as_multivector(x), Scalar(0), as_multivector(plain));
    space.fence();
    const auto y_values = to_vector(y);
    EXPECT_EQ(y_values, to_vector(plain)) << test.name;
    long double expected = 0, size = 0;
    for (std::int64_t i = 0; i < a.num_rows; ++i) {
      expected += static_cast<long double>(x_values[i]) * y_values[i];
      size += std::abs(static_cast<long double>(x_values[i]) * y_values[i]);
    }
    const auto found = to_vector(dots);
    ASSERT_NEAR(found[0], double(expected), double(30 * size * std::numeric_limits<Scalar>::epsilon()))
        << test.name;
    ASSERT_EQ(std::memcmp(&found[0], &found[1], sizeof(Scalar)), 0)
        << test.name << ": other bits in the second run";
    ASSERT_EQ(found[2], Scalar(pad)) << "wrote behind the dot";
  }
}

TYPED_TEST(SpmvTest, ProductAndDotInOnePass) {
  check_dot<double, TypeParam>();
  check_dot<float, TypeParam>();
}

/// The same with imaginary parts, which are the real parts backwards.
template <class Scalar>
std::vector<Scalar> in_scalar(const std::vector<real_type_t<Scalar>>& x) {
  std::vector<Scalar> result(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    if constexpr (is_complex<Scalar>)
      result[i] = Scalar(x[i], x[x.size() - 1 - i]);
    else
      result[i] = x[i];
  return result;
}

template <class Scalar>
HostMatrix<Scalar> in_scalar(const HostMatrix<real_type_t<Scalar>>& a) {
  return {a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, in_scalar<Scalar>(a.values)};
}

/// One vector at a time, and by the product that comes with an inner product, the bits are those of five at
/// once.
template <class Scalar, class Space>
void check_bits_of_columns() {
  using Real = real_type_t<Scalar>;
  constexpr int k = 5;
  const Space space;
  for (const auto& test : cases<Real>()) {
    SCOPED_TRACE(test.name);
    const HostMatrix<Scalar> a = in_scalar<Scalar>(test.matrix);
    const auto device = to_device<Space>(a);
    const ReduceWorkspace<Scalar, Space> workspace(space, a.num_rows);
    for (const auto& [alpha, beta] : {std::pair(Real(1), Real(0)), std::pair(Real(1.7), Real(0.3))}) {
      Strided<Scalar, Space> x(a.num_cols, k, 0), y(a.num_rows, k, 0), alone(a.num_rows, k, 0);
      std::vector<std::vector<Scalar>> x_values, y_values;
      for (unsigned v = 0; v < k; ++v) {
        x_values.push_back(in_scalar<Scalar>(values_at<Real>(a.num_cols, v)));
        y_values.push_back(in_scalar<Scalar>(values_at<Real>(a.num_rows, 10 + v)));
      }
      x.fill(x_values);
      y.fill(y_values);
      alone.fill(y_values);
      const MultiVectorView<const Scalar, Space> x_part = x.part;
      spmv<Scalar, Space>(space, Scalar(alpha), device, x_part, Scalar(beta), y.part);
      for (int v = 0; v < k; ++v)
        spmv<Scalar, Space>(space, Scalar(alpha), device, as_multivector(column(x_part, v)), Scalar(beta),
                            as_multivector(column(alone.part, v)));
      space.fence();
      const auto together = y.columns();
      ASSERT_EQ(together, alone.columns());
      if (alpha != Real(1) || beta != Real(0) || a.num_cols < a.num_rows) continue;
      Vector<Scalar, Space> with_dot("with_dot", a.num_rows), dot("dot", 1);
      spmv_dot<Scalar, Space>(space, device, column(x_part, 0), with_dot, dot, workspace);
      space.fence();
      ASSERT_EQ(together[0], to_vector(with_dot));
    }
  }
}

TYPED_TEST(SpmvTest, AColumnHasTheSameBitsAloneAndAmongOthers) {
  if constexpr (is_host_space<TypeParam>) {
    check_bits_of_columns<double, TypeParam>();
    check_bits_of_columns<float, TypeParam>();
    check_bits_of_columns<Kokkos::complex<double>, TypeParam>();
    check_bits_of_columns<Kokkos::complex<float>, TypeParam>();
  } else {
    GTEST_SKIP() << "promised on a host";
  }
}

TYPED_TEST(SpmvTest, SameBitsForAnyNumberOfThreads) {
  for (const auto& test : cases<double>()) {
    const HostMatrix<double>& a = test.matrix;
    const auto device = to_device<TypeParam>(a);
    const std::size_t n = std::max(a.num_rows, a.num_cols);
    const auto x = to_device<TypeParam>(values_at<double>(n, 7));
    const VectorView<const double, TypeParam> x_view = x;
    std::vector<std::vector<double>> products, dots;
    for (const TypeParam& space : {TypeParam(), of_one_thread<TypeParam>()}) {
      Vector<double, TypeParam> y("y", a.num_rows), dot("dot", 1);
      spmv<double, TypeParam>(space, 1.5, device, as_multivector(x_view), 0.0, as_multivector(y));
      space.fence();
      products.push_back(to_vector(y));
      const ReduceWorkspace<double, TypeParam> workspace(space, a.num_rows);
      spmv_dot<double, TypeParam>(space, device, x, y, dot, workspace);
      space.fence();
      products.push_back(to_vector(y));
      dots.push_back(to_vector(dot));
    }
    EXPECT_EQ(products[0], products[2]) << test.name;
    EXPECT_EQ(products[1], products[3]) << test.name;
    EXPECT_EQ(dots[0], dots[1]) << test.name;
  }
}

/// The kernels of a device, by a host's teams of two threads.
template <impl::products::RowOwner Owner, class Scalar, class Space>
void check_device_kernels() {
  namespace products = impl::products;
  const Space space;
  for (const auto& test : cases<Scalar>()) {
    const HostMatrix<Scalar>& a = test.matrix;
    const auto device = to_device<Space>(a);
    const int k = 2;
    Strided<Scalar, Space> x(std::max(a.num_rows, a.num_cols), k, 3), y(a.num_rows, k, 1);
    std::vector<std::vector<Scalar>> x_values, y_values;
    for (int v = 0; v < k; ++v) {
      x_values.push_back(values_at<Scalar>(std::max(a.num_rows, a.num_cols), 100u + v));
      y_values.push_back(values_at<Scalar>(a.num_rows, 200u + v));
    }
    x.fill(x_values);
    y.fill(y_values);
    const CsrView<Scalar, Space> view = device;
    const RecurrenceStep<Scalar> step{.product = Scalar(1.5), .previous = Scalar(-0.5)};
    products::launch<Owner, false>(space, "prekond::testing::product", view,
                                   products::RowUpdate<Scalar, Space>{step, x.part, y.part}, 0, {});
    space.fence();
    const auto found = y.columns();
    for (int v = 0; v < k; ++v)
      expect_product(test.name, a, Scalar(1.5), x_values[v], Scalar(-0.5), y_values[v], found[v]);

    const Vector<Scalar, Space> partials("partials", a.num_rows + 1), with_dot("with_dot", a.num_rows),
        dot("dot", 1);
    const Vector<unsigned, Space> arrived("arrived", 1);
    const MultiVectorView<const Scalar, Space> x_part = x.part;
    products::launch<Owner, true>(
        space, "prekond::testing::product_dot", view,
        products::RowUpdate<Scalar, Space>{
            {}, as_multivector(column(x_part, 0)), as_multivector(VectorView<Scalar, Space>(with_dot))},
        0, products::FinishDot<Scalar, Space>{partials, arrived, dot});
    space.fence();
    const auto y_found = to_vector(with_dot);
    expect_product(test.name, a, Scalar(1), x_values[0], Scalar(0), y_values[0], y_found);
    long double expected = 0, size = 0;
    for (std::int64_t i = 0; i < a.num_rows; ++i) {
      expected += static_cast<long double>(x_values[0][i]) * y_found[i];
      size += std::abs(static_cast<long double>(x_values[0][i]) * y_found[i]);
    }
    EXPECT_NEAR(to_vector(dot)[0], double(expected),
                double(100 * size * std::numeric_limits<Scalar>::epsilon()))
        << test.name;
  }
}

TYPED_TEST(SpmvTest, TheKernelsOfADevice) {
  if constexpr (is_host_space<TypeParam>) {
    if (TypeParam().concurrency() < 2) GTEST_SKIP() << "teams of two threads are wanted";
    check_device_kernels<impl::products::RowOwner::thread, double, TypeParam>();
    check_device_kernels<impl::products::RowOwner::stream, double, TypeParam>();
  } else {
    GTEST_SKIP() << "all other tests run them";
  }
}

TYPED_TEST(SpmvTest, TheDotOverNoRowsIsZero) {
  const TypeParam space;
  const auto none = to_device<TypeParam>(matrix_of<double>({}, 3));
  Vector<double, TypeParam> x("x", 3), y("y", 0), dot("dot", 1);
  Kokkos::deep_copy(dot, pad);
  spmv_dot<double, TypeParam>(space, none, x, y, dot, ReduceWorkspace<double, TypeParam>(space, 0));
  space.fence();
  EXPECT_EQ(to_vector(dot)[0], 0);
}

TYPED_TEST(SpmvTest, NoAllocationNoFenceAndOneKernelForFourVectors) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(matrix_of<double>(random_lengths(1000, 0, 20), 1000));
  const MultiVector<double, TypeParam> x("x", 1000, 9), y("y", 1000, 9);
  const Vector<double, TypeParam> dot("dot", 1);
  const ReduceWorkspace<double, TypeParam> workspace(space, 1000);
  space.fence();
  const ToolEvents events;
  spmv<double, TypeParam>(space, 1.0, a, x, 0.0, y);
  EXPECT_THAT(events.kernels(),
              ::testing::ElementsAre("prekond::spmv::apply", "prekond::spmv::apply", "prekond::spmv::apply"));
  spmv_dot<double, TypeParam>(space, a, column(x, 0), column(y, 0), dot, workspace);
  EXPECT_EQ(events.kernels().size(), is_host_space<TypeParam> ? 4u : 5u);
  EXPECT_EQ(events.kernels().back(), "prekond::spmv::apply_dot");
  EXPECT_THAT(events.fences(), ::testing::IsEmpty());
  EXPECT_THAT(events.allocations(), ::testing::IsEmpty());
}

TYPED_TEST(SpmvTest, WrongSizesThrow) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(matrix_of<double>({1, 2, 3}, 4));
  const auto product = [&](int x_rows, int x_cols, int y_rows, int y_cols) {
    return message_of<InputError>([&] {
      spmv<double, TypeParam>(space, 1.0, a, MultiVector<double, TypeParam>("x", x_rows, x_cols), 0.0,
                              MultiVector<double, TypeParam>("y", y_rows, y_cols));
    });
  };
  EXPECT_THAT(product(3, 1, 3, 1), ::testing::HasSubstr("the matrix is 3 x 4, x is 3 x 1, y is 3 x 1"));
  EXPECT_THAT(product(4, 1, 2, 1), ::testing::HasSubstr("y is 2 x 1"));
  EXPECT_THAT(product(4, 2, 3, 1), ::testing::HasSubstr("x is 4 x 2"));
  EXPECT_THAT(product(4, 1, 3, 2), ::testing::HasSubstr("y is 3 x 2"));
  const auto with_dot = [&](int x_rows, int y_rows, int workspace_rows) {
    spmv_dot<double, TypeParam>(space, a, Vector<double, TypeParam>("x", x_rows),
                                Vector<double, TypeParam>("y", y_rows), Vector<double, TypeParam>("dot", 1),
                                ReduceWorkspace<double, TypeParam>(space, workspace_rows));
  };
  EXPECT_THROW(with_dot(3, 3, 3), InputError);
  EXPECT_THROW(with_dot(4, 2, 3), InputError);
  // More rows than columns: x^H A x reads x in all rows.
  for (const int length : {1, 40}) {
    const auto tall = to_device<TypeParam>(matrix_of<double>(std::vector<int>(50, length), 40));
    const auto dot_of = [&](int x_rows) {
      const auto x = to_device<TypeParam>(std::vector<double>(x_rows, 1));
      const Vector<double, TypeParam> y("y", 50), dot("dot", 1);
      spmv_dot<double, TypeParam>(space, tall, x, y, dot, ReduceWorkspace<double, TypeParam>(space, 50));
      space.fence();
      double sum = 0;
      for (const double value : to_vector(y)) sum += value;
      EXPECT_NEAR(to_vector(dot)[0], sum, 1e-11);
    };
    EXPECT_THAT(message_of<InputError>([&] { dot_of(40); }),
                ::testing::HasSubstr("x^H A x takes the first 50 rows of x, which has 40"));
    EXPECT_NO_THROW(dot_of(50));
  }
  const auto large = to_device<TypeParam>(matrix_of<double>(std::vector<int>(513, 1), 513));
  const Vector<double, TypeParam> x("x", 513), y("y", 513), dot("dot", 1);
  EXPECT_THROW(
      (spmv_dot<double, TypeParam>(space, large, x, y, dot, ReduceWorkspace<double, TypeParam>(space, 512))),
      std::logic_error);
}

TYPED_TEST(SpmvTest, ARecurrenceNeedsWhatItReads) {
  const TypeParam space;
  const CsrOperator<double, TypeParam> op(to_device<TypeParam>(matrix_of<double>({1, 2, 3}, 2)));
  const auto step = [&](const RecurrenceStep<double>& coefficients, int b_rows, int b_cols) {
    return message_of<InputError>([&] {
      op.apply_recurrence(space, coefficients, MultiVector<double, TypeParam>("x", 2, 1),
                          MultiVector<double, TypeParam>("b", b_rows, b_cols),
                          MultiVector<double, TypeParam>("y", 3, 1));
    });
  };
  EXPECT_THAT(step({.direct = 1}, 3, 1), ::testing::HasSubstr("adds x, which has 2 rows, to y, which has 3"));
  EXPECT_THAT(step({.source = 1}, 2, 1),
              ::testing::HasSubstr("adds b, which is 2 x 1, to y, which is 3 x 1"));
  EXPECT_THAT(step({.source = 1}, 3, 2),
              ::testing::HasSubstr("adds b, which is 3 x 2, to y, which is 3 x 1"));
  const auto scaled = [&](int scales) {
    return message_of<InputError>([&] {
      spmv_recurrence<double, double, TypeParam>(space, {}, Vector<double, TypeParam>("scales", scales),
                                                 op.matrix(), MultiVector<double, TypeParam>("x", 2, 1), {},
                                                 MultiVector<double, TypeParam>("y", 3, 1));
    });
  };
  EXPECT_THAT(scaled(2), ::testing::HasSubstr("2 scales for 3 rows"));
  const Vector<double, TypeParam> x("x", 2), y("y", 3);
  EXPECT_NO_THROW(
      op.apply_recurrence(space, {}, as_multivector(x), MultiVector<double, TypeParam>(), as_multivector(y)));
  space.fence();
}

/// An operator of a user who overrides nothing that need not be.
template <class Scalar, class Space>
class PlainOperator : public Operator<Scalar, Space> {
 public:
  explicit PlainOperator(const CsrOperator<Scalar, Space>& inner) : m_inner(inner) {}
  std::int64_t num_rows() const override { return m_inner.num_rows(); }
  std::int64_t num_cols() const override { return m_inner.num_cols(); }
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Scalar alpha, Scalar beta) const override {
    m_inner.apply(space, x, y, alpha, beta);
  }

 private:
  CsrOperator<Scalar, Space> m_inner;
};

TYPED_TEST(SpmvTest, TheOperatorOfAMatrix) {
  const TypeParam space;
  const HostMatrix<double> a = matrix_of<double>(random_lengths(1111, 0, 12), 1200);
  const CsrOperator<double, TypeParam> fused(to_device<TypeParam>(a));
  const PlainOperator<double, TypeParam> plain(fused);
  EXPECT_EQ(fused.num_rows(), 1111);
  EXPECT_EQ(fused.num_cols(), 1200);
  EXPECT_EQ(to_vector(fused.matrix().values), a.values);
  const auto x_values = values_at<double>(1200, 3), before = values_at<double>(1111, 4);
  const auto x = to_device<TypeParam>(x_values);
  auto y = to_device<TypeParam>(before);
  const VectorView<const double, TypeParam> x_view = x;
  const Operator<double, TypeParam>& base = fused;
  base.apply(space, as_multivector(x_view), as_multivector(y), -2, 0.5);
  space.fence();
  expect_product<double>("operator", a, -2, x_values, 0.5, before, to_vector(y));
  const ReduceWorkspace<double, TypeParam> workspace(space, 1111);
  Vector<double, TypeParam> y_plain("y_plain", 1111), dots("dots", 2);
  fused.apply_dot(space, x, y, VectorView<double, TypeParam>(dots.data(), 1), workspace);
  plain.apply_dot(space, x, y_plain, VectorView<double, TypeParam>(dots.data() + 1, 1), workspace);
  space.fence();
  EXPECT_EQ(to_vector(y), to_vector(y_plain));
  const auto found = to_vector(dots);
  EXPECT_NEAR(found[0], found[1], 1e-11);
  double expected = 0;
  for (int i = 0; i < 1111; ++i) expected += x_values[i] * to_vector(y)[i];
  EXPECT_NEAR(found[1], expected, 1e-11);
  const RecurrenceStep<double> step{2, -0.75, 1.5, 0.125};
  Vector<double, TypeParam> by_plain("by_plain", 1111);
  Kokkos::deep_copy(by_plain, y);
  fused.apply_recurrence(space, step, as_multivector(x_view), as_multivector(y_plain), as_multivector(y));
  plain.apply_recurrence(space, step, as_multivector(x_view), as_multivector(y_plain),
                         as_multivector(by_plain));
  space.fence();
  const auto in_one = to_vector(y), in_two = to_vector(by_plain);
  for (int i = 0; i < 1111; ++i) ASSERT_NEAR(in_one[i], in_two[i], 1e-13);
}

}  // namespace
}  // namespace prekond::testing
