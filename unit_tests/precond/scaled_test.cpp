// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_graph.hpp"
#include "testing/one_thread.hpp"
#include "testing/reference_scaled.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/precond/isai.hpp>
#include <prekond/precond/jacobi.hpp>
#include <prekond/precond/registry.hpp>
#include <prekond/precond/scaled.hpp>

#include <limits>

namespace prekond::testing {
namespace {

using ::testing::AnyOf;
using ::testing::StartsWith;

/// Keeps the matrix that it is set up with; M = I.
template <class Scalar, class Space>
class Probe : public MatrixPreconditioner<Scalar, Space> {
 public:
  using Base = MatrixPreconditioner<Scalar, Space>;
  using typename Base::matrix_source;
  std::string name() const override { return "probe"; }
  HostMatrix<Scalar> given;
  int unknowns = 0;

 protected:
  void symbolic_step(const Space&, const matrix_source&) override {}
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override {
    space.fence();
    const auto& a = source.csr();
    given = {a.num_rows, a.num_cols, to_vector(a.row_ptrs), to_vector(a.col_idxs), to_vector(a.values)};
    unknowns = source.unknowns_per_node();
    report.nnz = 17;
  }
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace&) const override {
    Kokkos::deep_copy(space, y, x);
  }
};

template <class Space>
class ScaledTest : public ::testing::Test {};
TYPED_TEST_SUITE(ScaledTest, TestSpaces, SpaceNames);

/// Entries from 2^-low to 2^low, by rows and columns, some of them negative.
template <class Scalar>
HostMatrix<Scalar> graded(HostMatrix<double> a, int low) {
  HostMatrix<Scalar> result{a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, {}};
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const int exponent = int(i * 37 % (low + 1)) - int((a.col_idxs[k] * 53) % (low + 1));
      const double value = std::ldexp(a.values[k], exponent);
      if constexpr (is_complex<Scalar>)
        result.values.emplace_back(value, 1.25 * std::ldexp(value, a.col_idxs[k] % 3 - 1));
      else
        result.values.push_back(static_cast<Scalar>(value));
    }
  return result;
}

template <class T>
std::vector<T> powers(const std::vector<int>& exponents) {
  std::vector<T> result;
  for (const int e : exponents) result.push_back(std::ldexp(T(1), e));
  return result;
}

template <class Scalar, class Space>
void check_scaled(const HostMatrix<Scalar>& matrix, ScalingKind kind) {
  using Real = real_type_t<Scalar>;
  const Space space;
  const auto a = to_device<Space>(matrix);
  const auto probe = std::make_shared<Probe<Scalar, Space>>();
  Scaled<Scalar, Space> scaled(probe, {kind});
  scaled.numeric(space, a);
  EXPECT_EQ(scaled.name(), "probe");
  EXPECT_EQ(scaled.num_rows(), matrix.num_rows);
  if (matrix.num_rows == 0) return;
  constexpr int most = std::is_same_v<Real, double> ? 1000 : 120;
  const ReferenceScale expected =
      kind == ScalingKind::diagonal ? reference_diagonal_scale(matrix) : reference_equilibrated(matrix, most);
  EXPECT_EQ(to_vector(scaled.row_scale()), powers<Real>(expected.row));
  EXPECT_EQ(to_vector(scaled.column_scale()), powers<Real>(expected.column));
  EXPECT_EQ(probe->given, reference_scaled(matrix, expected));
  EXPECT_EQ(scaled.report().nnz, 17);
  EXPECT_EQ(scaled.report().bytes, std::int64_t(2 * sizeof(Real)) * matrix.num_rows);
  // y = C R x, two vectors.
  const MultiVector<Scalar, Space> x("x", matrix.num_rows, 2), y("y", matrix.num_rows, 2);
  const auto host = Kokkos::create_mirror_view(x);
  for (int v = 0; v < 2; ++v)
    for (std::int64_t i = 0; i < matrix.num_rows; ++i) host(i, v) = Scalar(Real(i + 3 * v + 1));
  Kokkos::deep_copy(x, host);
  scaled.apply(space, x, y, *scaled.make_workspace(space, 3));
  const auto result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
  for (int v = 0; v < 2; ++v)
    for (std::int64_t i = 0; i < matrix.num_rows; ++i)
      EXPECT_EQ(result(i, v), Real(std::ldexp(Real(1), expected.row[i])) * host(i, v) *
                                  Real(std::ldexp(Real(1), expected.column[i])));
}

TYPED_TEST(ScaledTest, EqualsTheReference) {
  for (const ScalingKind kind : {ScalingKind::diagonal, ScalingKind::equilibrate}) {
    for (const auto& test : awkward_patterns<double>()) {
      SCOPED_TRACE(test.name);
      for (const int low : {0, 3, 40}) {
        check_scaled<double, TypeParam>(graded<double>(test.matrix, 5 * low), kind);
        check_scaled<float, TypeParam>(graded<float>(test.matrix, low / 2), kind);
        check_scaled<Kokkos::complex<double>, TypeParam>(graded<Kokkos::complex<double>>(test.matrix, low),
                                                         kind);
      }
    }
  }
}

TYPED_TEST(ScaledTest, TheEndsOfTheRangeAndWhatIsNotFinite) {
  const double infinite = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const double least = std::numeric_limits<double>::denorm_min();
  for (const ScalingKind kind : {ScalingKind::diagonal, ScalingKind::equilibrate}) {
    HostMatrix<double> a{
        6, 6, {0, 1, 2, 3, 4, 6, 6}, {0, 1, 2, 3, 3, 4}, {1e308, least, infinite, 0, nan, -5}};
    const TypeParam space;
    const auto probe = std::make_shared<Probe<double, TypeParam>>();
    Scaled<double, TypeParam> scaled(probe, {kind});
    scaled.numeric(space, to_device<TypeParam>(a));
    const ReferenceScale expected =
        kind == ScalingKind::diagonal ? reference_diagonal_scale(a) : reference_equilibrated(a, 1000);
    EXPECT_EQ(to_vector(scaled.row_scale()), powers<double>(expected.row));
    EXPECT_EQ(to_vector(scaled.column_scale()), powers<double>(expected.column));
    EXPECT_GE(probe->given.values[0], 1);
    EXPECT_LT(probe->given.values[0], 4);
    EXPECT_EQ(probe->given.values[2], infinite);
    EXPECT_EQ(to_vector(scaled.row_scale())[3], 1);
    EXPECT_EQ(to_vector(scaled.row_scale())[5], 1);
    const auto row = to_vector(scaled.row_scale());
    EXPECT_LT(std::abs(probe->given.values[5]), 4);
    EXPECT_GE(std::abs(probe->given.values[5]), 1);
  }
}

TYPED_TEST(ScaledTest, AZeroWhoseScaleIsOutOfRangeStaysZero) {
  // Row 0 and column 1 are scaled by 2^1000 each, and their common entry by both.
  const double tiny = 0x1p-1022;
  const HostMatrix<double> a{4, 4, {0, 2, 3, 4, 6}, {0, 1, 2, 0, 1, 3}, {tiny, 0, 1, 1, tiny, 1}};
  const TypeParam space;
  const auto probe = std::make_shared<Probe<double, TypeParam>>();
  Scaled<double, TypeParam> scaled(probe, {ScalingKind::equilibrate});
  scaled.numeric(space, to_device<TypeParam>(a));
  EXPECT_GT(to_vector(scaled.row_scale())[0], 0x1p600);
  EXPECT_GT(to_vector(scaled.column_scale())[1], 0x1p600);
  EXPECT_EQ(probe->given, reference_scaled(a, reference_equilibrated(a, 1000)));
}

TYPED_TEST(ScaledTest, EquilibratedEntriesAreInTheirRange) {
  const TypeParam space;
  auto matrix = graded<double>(to_host(generate<double, TypeParam>(space, "convection_diffusion3d:6")), 300);
  const auto probe = std::make_shared<Probe<double, TypeParam>>();
  Scaled<double, TypeParam> scaled(probe, {ScalingKind::equilibrate});
  scaled.numeric(space, to_device<TypeParam>(matrix));
  const auto& given = probe->given;
  std::vector<double> column(matrix.num_rows, 0);
  for (std::int64_t i = 0; i < given.num_rows; ++i) {
    double row = 0;
    for (std::size_t k = given.row_ptrs[i]; k < given.row_ptrs[i + 1]; ++k) {
      row = std::max(row, std::abs(given.values[k]));
      column[given.col_idxs[k]] = std::max(column[given.col_idxs[k]], std::abs(given.values[k]));
    }
    EXPECT_GE(row, 1);
    EXPECT_LT(row, 4);
  }
  for (const double largest : column) {
    EXPECT_GE(largest, 1);
    EXPECT_LT(largest, 4);
  }
}

TYPED_TEST(ScaledTest, SymmetricMatricesStaySymmetric) {
  const TypeParam space;
  const auto plain = to_host(generate<double, TypeParam>(space, "elasticity3d:4,contrast=1000000"));
  for (const ScalingKind kind : {ScalingKind::diagonal, ScalingKind::equilibrate}) {
    const auto probe = std::make_shared<Probe<double, TypeParam>>();
    Scaled<double, TypeParam> scaled(probe, {kind});
    scaled.numeric(space, to_device<TypeParam>(plain));
    EXPECT_EQ(to_vector(scaled.row_scale()), to_vector(scaled.column_scale()));
    for (std::int64_t i = 0; i < plain.num_rows; ++i)
      for (std::size_t k = plain.row_ptrs[i]; k < plain.row_ptrs[i + 1]; ++k)
        EXPECT_EQ(probe->given.values[k], probe->given(plain.col_idxs[k], i));
  }
}

TYPED_TEST(ScaledTest, ScalesThatAreGiven) {
  const TypeParam space;
  const double infinite = std::numeric_limits<double>::infinity();
  auto matrix = random_entries<double>(8, 10, 0.6, 3);
  const std::vector<double> row = {1, 1.41, 1.42, 0, infinite, 3e-4, 1e300, 1e-300};
  const std::vector<double> column = {0.36, 0.35, std::nan(""), 8, 1, 1e-310, 7, 5};
  const ReferenceScale expected{{0, 0, 1, 0, 0, -12, 997, -997}, {-1, -2, 0, 3, 0, -1000, 3, 2}};
  const auto probe = std::make_shared<Probe<double, TypeParam>>();
  Scaled<double, TypeParam> scaled(probe, to_device<TypeParam>(row), to_device<TypeParam>(column));
  EXPECT_EQ(scaled.options().kind, ScalingKind::given);
  scaled.numeric(space, to_device<TypeParam>(matrix));
  EXPECT_EQ(to_vector(scaled.row_scale()), powers<double>(expected.row));
  EXPECT_EQ(to_vector(scaled.column_scale()), powers<double>(expected.column));
  EXPECT_EQ(probe->given, reference_scaled(matrix, expected));
  // Single precision, within its range.
  HostMatrix<float> single{8, 10, matrix.row_ptrs, matrix.col_idxs, std::vector<float>(matrix.nnz(), 1)};
  const auto other = std::make_shared<Probe<float, TypeParam>>();
  Scaled<float, TypeParam> in_single(other, to_device<TypeParam>(row), to_device<TypeParam>(column));
  in_single.numeric(space, to_device<TypeParam>(single));
  EXPECT_EQ(to_vector(in_single.row_scale()), powers<float>({0, 0, 1, 0, 0, -12, 120, -120}));
  EXPECT_EQ(to_vector(in_single.column_scale()), powers<float>({-1, -2, 0, 3, 0, -120, 3, 2}));
}

TYPED_TEST(ScaledTest, ScalesThatAreNotThoseOfTheMatrix) {
  const TypeParam space;
  const auto probe = std::make_shared<Probe<double, TypeParam>>();
  EXPECT_EQ(
      (message_of<std::logic_error>([&] { Scaled<double, TypeParam> none(probe, {ScalingKind::given}); })),
      "prekond::Scaled: no scales were given; take the constructor with two vectors");
  const auto scale = [](int n) { return to_device<TypeParam>(std::vector<double>(n, 1.0)); };
  const auto a = to_device<TypeParam>(random_entries<double>(5, 5, 1, 1));
  for (const auto& [rows, columns] : {std::pair{4, 5}, std::pair{5, 4}}) {
    Scaled<double, TypeParam> scaled(probe, scale(rows), scale(columns));
    EXPECT_EQ(message_of<InputError>([&] { scaled.numeric(space, a); }),
              "prekond::Scaled: there are 4 scales for a matrix of 5 rows; make them of this matrix");
  }
}

TYPED_TEST(ScaledTest, NewValuesAndTheSameBitsOnOneThread) {
  const TypeParam space;
  const TypeParam one_thread = of_one_thread<TypeParam>();
  const auto pattern = to_host(generate<double, TypeParam>(space, "circuit:30"));
  const auto probe = std::make_shared<Probe<double, TypeParam>>();
  Scaled<double, TypeParam> scaled(probe, {ScalingKind::equilibrate});
  for (const int low : {3, 200, 0}) {
    const auto matrix = graded<double>(pattern, low);
    const auto a = to_device<TypeParam>(matrix);
    scaled.numeric(space, a);
    const auto expected = reference_equilibrated(matrix, 1000);
    EXPECT_EQ(to_vector(scaled.row_scale()), powers<double>(expected.row));
    const auto other = std::make_shared<Probe<double, TypeParam>>();
    Scaled<double, TypeParam> once_more(other, {ScalingKind::equilibrate});
    once_more.numeric(one_thread, a);
    EXPECT_EQ(other->given, probe->given);
  }
}

TYPED_TEST(ScaledTest, PointJacobiIsTheSameScaledOrNot) {
  const TypeParam space;
  const auto a = generate<double, TypeParam>(space, "convection_diffusion3d:5");
  const auto apply = [&](const MatrixPreconditioner<double, TypeParam>& m) {
    Vector<double, TypeParam> x("x", a.num_rows), y("y", a.num_rows);
    Kokkos::deep_copy(x, 3.0);
    m.apply(space, as_multivector(x), as_multivector(y), *m.make_workspace(space, 1));
    space.fence();
    return to_vector(y);
  };
  for (const char* name : {"jacobi", "isai"}) {
    const auto plain = create_preconditioner<double, TypeParam>(name);
    plain->numeric(space, a);
    for (const ScalingKind kind : {ScalingKind::diagonal, ScalingKind::equilibrate}) {
      Scaled<double, TypeParam> scaled(create_preconditioner<double, TypeParam>(name), {kind});
      scaled.symbolic(space, a);
      scaled.numeric(space, a);
      EXPECT_EQ(scaled.is_symmetric(), plain->is_symmetric());
      EXPECT_EQ(scaled.is_nonsymmetric(), plain->is_nonsymmetric());
      const auto expected = apply(*plain), found = apply(scaled);
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], 1e-13 * std::abs(expected[i])) << name;
    }
  }
}

TYPED_TEST(ScaledTest, UnknownsANodeArePassedOnAndMisuseIsRefused) {
  const TypeParam space;
  EXPECT_EQ((message_of<std::logic_error>([] { Scaled<double, TypeParam> none(nullptr); })),
            "prekond::Scaled: there is no preconditioner of the scaled matrix");
  const auto a = generate<double, TypeParam>(space, "elasticity3d:3");
  const auto probe = std::make_shared<Probe<double, TypeParam>>();
  Scaled<double, TypeParam> scaled(probe);
  MatrixSource<double, TypeParam> source(a);
  source.set_unknowns_per_node(3);
  scaled.numeric(space, source);
  EXPECT_EQ(probe->unknowns, 3);
  const auto workspace = scaled.make_workspace(space, 1);
  const MultiVector<double, TypeParam> x("x", a.num_rows, 2), y("y", a.num_rows, 2);
  EXPECT_EQ(message_of<std::logic_error>([&] { scaled.apply(space, x, y, *workspace); }),
            "probe: the workspace was made for fewer vectors, or for another matrix");
}

TYPED_TEST(ScaledTest, LabelsAndWhatAnApplicationDoesNot) {
  const TypeParam space;
  const auto a = generate<double, TypeParam>(space, "convection_diffusion3d:5");
  const MultiVector<double, TypeParam> x("x", a.num_rows, 1), y("y", a.num_rows, 1);
  Scaled<double, TypeParam> scaled(create_preconditioner<double, TypeParam>("jacobi"),
                                   {ScalingKind::equilibrate});
  {
    const ToolEvents events;
    scaled.numeric(space, a);
    for (const auto& labels : {events.kernels(), events.allocations()})
      for (const auto& label : labels)
        EXPECT_THAT(label, AnyOf(StartsWith("prekond::"), StartsWith("Kokkos::")));
  }
  const auto workspace = scaled.make_workspace(space, 1);
  const ToolEvents events;
  scaled.apply(space, x, y, *workspace);
  EXPECT_EQ(events.allocations().size(), 0u);
  EXPECT_EQ(events.fences().size(), 0u);
  EXPECT_EQ(events.kernels().size(), 3u);
}

}  // namespace
}  // namespace prekond::testing
