// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_graph.hpp"
#include "testing/one_thread.hpp"
#include "testing/reference_matching.hpp"
#include "testing/reference_scaled.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/krylov/bicgstab.hpp>
#include <prekond/krylov/gmres.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/pattern/permute.hpp>
#include <prekond/precond/matched.hpp>
#include <prekond/precond/registry.hpp>
#include <prekond/precond/scaled.hpp>

namespace prekond::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

template <class Scalar>
struct Given {
  HostMatrix<Scalar> matrix;
  int symbolic = 0, numeric = 0;
  bool fails = false;
};

/// M = I, and what it was given.
template <class Scalar, class Space>
class Probe : public MatrixPreconditioner<Scalar, Space> {
 public:
  using Base = MatrixPreconditioner<Scalar, Space>;
  using typename Base::matrix_source;
  explicit Probe(Given<Scalar>& given) : m_given(given) {}
  std::string name() const override { return "probe"; }

 protected:
  void symbolic_step(const Space&, const matrix_source&) override { ++m_given.symbolic; }
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override {
    space.fence();
    if (m_given.fails) throw InputError("row 1 is bad", 0);
    const auto& a = source.csr();
    ++m_given.numeric;
    m_given.matrix = {a.num_rows, a.num_cols, to_vector(a.row_ptrs), to_vector(a.col_idxs),
                      to_vector(a.values)};
    report.nnz = 17;
    report.breakdowns.count = 1;
    report.breakdowns.first_row = 0;
  }
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace&) const override {
    Kokkos::deep_copy(space, y, x);
  }

 private:
  Given<Scalar>& m_given;
};

template <class Scalar, class Space>
Matched<Scalar, Space> probing(Given<Scalar>& given, const MatchedOptions& options = {}) {
  return Matched<Scalar, Space>([&given] { return std::make_unique<Probe<Scalar, Space>>(given); }, options);
}

MatchedOptions reusing(Reuse reuse) {
  MatchedOptions options;
  options.reuse = reuse;
  return options;
}

template <class Scalar>
HostMatrix<Scalar> rows_of(const HostMatrix<Scalar>& a, const std::vector<int>& rows) {
  HostMatrix<Scalar> result;
  result.num_rows = a.num_rows;
  result.num_cols = a.num_cols;
  for (const int row : rows) {
    for (std::size_t k = a.row_ptrs[row]; k < a.row_ptrs[row + 1]; ++k) {
      result.col_idxs.push_back(a.col_idxs[k]);
      result.values.push_back(a.values[k]);
    }
    result.row_ptrs.push_back(result.col_idxs.size());
  }
  return result;
}

template <class Real>
std::vector<int> exponents_of(const std::vector<Real>& scale) {
  std::vector<int> result;
  for (const Real x : scale) {
    result.push_back(std::ilogb(x));
    EXPECT_EQ(std::ldexp(Real(1), result.back()), x);
  }
  return result;
}

/// The matrix that M is given, and y = C R Q x of two vectors.
template <class Scalar, class Space>
void check(const HostMatrix<Scalar>& matrix) {
  using Real = real_type_t<Scalar>;
  const Space space;
  Given<Scalar> given;
  auto m = probing<Scalar, Space>(given);
  m.numeric(space, to_device<Space>(matrix));
  EXPECT_EQ(m.num_rows(), matrix.num_rows);
  const ReferenceMatching expected = reference_matching(matrix);
  EXPECT_EQ(m.rank(), expected.rank);
  if (matrix.num_rows == 0) return;
  const auto rows = to_vector(m.rows());
  const ReferenceScale scale{exponents_of(to_vector(m.row_scale())),
                             exponents_of(to_vector(m.column_scale()))};
  const auto permuted = rows_of(matrix, rows);
  EXPECT_EQ(given.matrix, reference_scaled(permuted, scale));
  double log_product = 0, size = 1;
  for (std::int64_t i = 0; i < matrix.num_rows; ++i) {
    const double entry = matching_magnitude(permuted(i, i)), scaled = matching_magnitude(given.matrix(i, i));
    if (entry == 0) continue;
    log_product += std::log(entry);
    size += std::abs(std::log(entry));
    EXPECT_GE(scaled, 0.5 * (1 - 1e-6)) << i;
    EXPECT_LE(scaled, 2 * (1 + 1e-6)) << i;
  }
  if (expected.rank == matrix.num_rows) {
    EXPECT_GE(log_product, expected.log_product - 0.011 * static_cast<double>(matrix.num_rows) - 1e-9 * size);
  }
  EXPECT_EQ(m.report().breakdowns.first_row, rows[0]);
  EXPECT_EQ(m.report().nnz, 17);
  const MultiVector<Scalar, Space> x("x", matrix.num_rows, 2), y("y", matrix.num_rows, 2);
  const auto host = Kokkos::create_mirror_view(x);
  for (int v = 0; v < 2; ++v)
    for (std::int64_t i = 0; i < matrix.num_rows; ++i) host(i, v) = Scalar(Real(i + 3 * v + 1));
  Kokkos::deep_copy(x, host);
  m.apply(space, x, y, *m.make_workspace(space, 3));
  const auto result = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
  for (int v = 0; v < 2; ++v)
    for (std::int64_t i = 0; i < matrix.num_rows; ++i)
      EXPECT_EQ(result(i, v),
                std::ldexp(Real(1), scale.row[i]) * host(rows[i], v) * std::ldexp(Real(1), scale.column[i]));
}

/// A dominant diagonal whose rows were moved by `shift`, with units from 1 to 10^6.
HostMatrix<double> moved_rows(int n, int shift) {
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, 0));
  for (int i = 0; i < n; ++i) {
    auto& row = dense[(i + shift) % n];
    const double unit = std::pow(10.0, (i * 37) % 61 / 10.0);
    row[i] = 4 * unit;
    row[(i + 1) % n] = -unit;
    row[(i + n - 1) % n] = unit;
    row[(i + 11) % n] = unit / 3;
  }
  return sparse(dense);
}

template <class Space>
std::vector<double> applied(const MatrixPreconditioner<double, Space>& m) {
  const MultiVector<double, Space> x("x", m.num_rows(), 1), y("y", m.num_rows(), 1);
  const auto host = Kokkos::create_mirror_view(x);
  for (std::int64_t i = 0; i < m.num_rows(); ++i) host(i, 0) = 1.0 + static_cast<double>(i * 29 % 17);
  Kokkos::deep_copy(x, host);
  m.apply(Space(), x, y, *m.make_workspace(Space(), 1));
  Space().fence();
  return to_vector(column(y, 0));
}

template <class Space>
class MatchedTest : public ::testing::Test {};
TYPED_TEST_SUITE(MatchedTest, TestSpaces, SpaceNames);

TYPED_TEST(MatchedTest, EqualsTheReference) {
  for (const auto& test : awkward_patterns<double>()) {
    SCOPED_TRACE(test.name);
    check<double, TypeParam>(test.matrix);
  }
  for (const int n : {1, 2, 31, 32, 33, 257}) check<double, TypeParam>(moved_rows(n, n / 3));
  check<double, TypeParam>(random_entries<double>(60, 75, 0.05, 8));
  for (const int k : {-900, 900}) {
    auto scaled = moved_rows(53, 9);
    for (double& value : scaled.values) value = std::ldexp(value, k);
    check<double, TypeParam>(scaled);
  }
  check<Kokkos::complex<double>, TypeParam>(random_entries<Kokkos::complex<double>>(41, 47, 0.2, 10));
}

TYPED_TEST(MatchedTest, EqualsTheReferenceInSinglePrecision) {
  check<float, TypeParam>(random_entries<float>(43, 43, 0.2, 9));
  check<Kokkos::complex<float>, TypeParam>(random_entries<Kokkos::complex<float>>(31, 33, 0.2, 11));
}

/// The permuted and scaled system made explicitly, as --match does: the same iterations and solution.
TYPED_TEST(MatchedTest, SolvesTheOriginalSystemAsThePermutedOneIsSolved) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(moved_rows(300, 41));
  const auto matching = maximum_product_matching<double, TypeParam>(space, a);
  const auto rows = make_ordering<TypeParam>(space, matching.column_of_row).inverse;
  const auto qa = permute_rows<double, TypeParam>(space, a, rows);
  const Ordering<TypeParam> q{rows, rows};
  const auto taken = [&](const auto& x) {
    const Vector<double, TypeParam> y("y", x.extent(0));
    permute_vector<double, TypeParam>(space, q, as_multivector(x), as_multivector(y));
    space.fence();
    return y;
  };
  Vector<double, TypeParam> b("b", 300);
  Kokkos::deep_copy(b, 1.0);
  for (const std::string name : {"ilu0", "jacobi", "ilut"}) {
    Scaled<double, TypeParam> scaled(create_preconditioner<double, TypeParam>(name),
                                     taken(matching.row_scale), matching.column_scale);
    scaled.numeric(space, qa);
    const auto m = create_preconditioner<double, TypeParam>("matched", {{"inner", name}});
    m->numeric(space, a);
    const auto solve = [&](const auto& method, const auto& matrix, const auto& precond, const auto& rhs) {
      Vector<double, TypeParam> x("x", 300);
      const auto result = method.solve(space, CsrOperator<double, TypeParam>(matrix), &precond, rhs, x,
                                       {.rtol = 1e-10, .max_iters = 100});
      EXPECT_TRUE(result.converged) << name;
      EXPECT_LT(result.true_relative_residual, 1.01e-10);
      return std::pair(result.iterations, to_vector(x));
    };
    const auto compare = [&](const auto& method) {
      const auto [iterations, x] = solve(method, a, *m, b);
      const auto [expected_iterations, expected] = solve(method, qa, scaled, taken(b));
      EXPECT_NEAR(double(iterations), double(expected_iterations), 1) << name;
      for (std::size_t i = 0; i < x.size(); ++i)
        EXPECT_NEAR(x[i], expected[i], 1e-7 * (1 + std::abs(expected[i])));
    };
    compare(Gmres<double, TypeParam>());
    compare(Bicgstab<double, TypeParam>());
  }
}

TYPED_TEST(MatchedTest, SecondNumericPhase) {
  const TypeParam space;
  const auto first = moved_rows(40, 3), second = moved_rows(40, 7);
  for (const Reuse reuse : {Reuse::pattern, Reuse::none}) {
    Given<double> given;
    auto m = probing<double, TypeParam>(given, reusing(reuse));
    m.numeric(space, to_device<TypeParam>(first));
    EXPECT_FALSE(m.report().pattern_kept);
    const auto rows = to_vector(m.rows());
    m.numeric(space, to_device<TypeParam>(second));
    const bool kept = reuse == Reuse::pattern;
    EXPECT_EQ(m.report().pattern_kept, kept);
    EXPECT_EQ(given.symbolic, kept ? 1 : 2);
    EXPECT_EQ(given.numeric, 2);
    EXPECT_EQ(to_vector(m.rows()) == rows, kept);
    const ReferenceScale scale{exponents_of(to_vector(m.row_scale())),
                               exponents_of(to_vector(m.column_scale()))};
    EXPECT_EQ(given.matrix, reference_scaled(rows_of(second, to_vector(m.rows())), scale));
    m.symbolic(space, to_device<TypeParam>(second));
    m.numeric(space, to_device<TypeParam>(second));
    EXPECT_FALSE(m.report().pattern_kept);
    EXPECT_NE(to_vector(m.rows()), rows);
  }
}

TYPED_TEST(MatchedTest, AFailedPhaseChangesNothing) {
  const TypeParam space;
  for (const Reuse reuse : {Reuse::pattern, Reuse::none}) {
    Given<double> given;
    auto m = probing<double, TypeParam>(given, reusing(reuse));
    m.numeric(space, to_device<TypeParam>(moved_rows(40, 3)));
    const auto before = applied<TypeParam>(m);
    given.fails = true;
    std::string message;
    try {
      m.numeric(space, to_device<TypeParam>(moved_rows(40, 7)));
    } catch (const InputError& error) {
      message = error.what();
      EXPECT_EQ(error.row(), reuse == Reuse::pattern ? 3 : 7);
    }
    EXPECT_THAT(message, StartsWith("row 1 is bad (a row of the matching; in the matrix it is row "));
    EXPECT_EQ(applied<TypeParam>(m), before);
  }
}

TYPED_TEST(MatchedTest, StructurallySingular) {
  const TypeParam space;
  const auto a = sparse<double>({{1, 2, 0, 0}, {1, 0, 0, 0}, {5, 0, 0, 0}, {0, 0, 1, 1}});
  const auto m = create_preconditioner<double, TypeParam>("matched");
  m->numeric(space, to_device<TypeParam>(a));
  EXPECT_THAT(m->report().notes.at(0), HasSubstr("STRUCTURALLY SINGULAR: only 3 rows can be matched"));
  for (const double y : applied<TypeParam>(*m)) EXPECT_TRUE(std::isfinite(y));
  const auto moved = create_preconditioner<double, TypeParam>("matched");
  moved->numeric(space, to_device<TypeParam>(moved_rows(40, 3)));
  EXPECT_THAT(moved->report().notes.at(0), StartsWith("the matching moved 40 of 40 rows"));
}

TYPED_TEST(MatchedTest, TheNoteSaysWhatTheHostDid) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(moved_rows(40, 3));
  const auto m = create_preconditioner<double, TypeParam>("matched");
  m->numeric(space, a);
  const std::string by_host = "; one thread of the host matched [0-9]+ rows in [0-9.e-]+ s$";
  if (is_host_space<TypeParam>) {
    EXPECT_THAT(m->report().notes.at(0), ::testing::ContainsRegex(by_host));
  }
  EXPECT_EQ(m->report().host_seconds > 0, m->report().notes.at(0).find(" of the host ") != std::string::npos);
  m->numeric(space, a);  // keeps the matching
  EXPECT_EQ(m->report().host_seconds, 0);
  EXPECT_EQ(m->report().notes.at(0), "the matching moved 40 of 40 rows");
}

TYPED_TEST(MatchedTest, Options) {
  const auto refused = [](const OptionMap& options) {
    return message_of<OptionError>([&] { create_preconditioner<double, TypeParam>("matched", options); });
  };
  using Text = std::string;
  EXPECT_EQ(
      refused({{"inner", Text("fsai")}}),
      "matched: 'fsai' is for symmetric positive definite matrices, and one with permuted rows is none; "
      "choose an inner method for other matrices, such as ilu0");
  EXPECT_THAT(refused({{"inner", Text("ilu00")}}), HasSubstr("'ilu0'"));
  EXPECT_THAT(refused({{"inner", Text("ilut")}, {"inner.level", 1}}), HasSubstr("has no option 'level'"));
  const auto m = create_preconditioner<double, TypeParam>(
      "matched", {{"inner", Text("iluk")}, {"inner.level", std::int64_t(3)}});
  EXPECT_TRUE(m->is_nonsymmetric());
  const TypeParam space;
  m->numeric(space, to_device<TypeParam>(moved_rows(60, 5)));
  EXPECT_EQ((dynamic_cast<const Matched<double, TypeParam>&>(*m).inner().name()), "iluk");
  EXPECT_EQ((message_of<std::logic_error>(
                [] { Matched<double, TypeParam> none(typename Matched<double, TypeParam>::MakeInner{}); })),
            "prekond::Matched: there is nothing that makes M");
  EXPECT_EQ((message_of<std::logic_error>([] { (void)Matched<double, TypeParam>().inner(); })),
            "matched: there is no M before numeric");
  EXPECT_THAT(message_of<InputError>([&] {
                Matched<double, TypeParam>().numeric(
                    space, to_device<TypeParam>(random_entries<double>(5, 4, 1, 1)));
              }),
              HasSubstr("5 rows but only 4 columns"));
}

TYPED_TEST(MatchedTest, SameBitsOnOneThread) {
  const auto a = to_device<TypeParam>(moved_rows(500, 77));
  const auto made = [&](const TypeParam& space) {
    Matched<double, TypeParam> m;
    m.numeric(space, a);
    return applied<TypeParam>(m);
  };
  EXPECT_EQ(made(TypeParam()), made(of_one_thread<TypeParam>()));
}

TYPED_TEST(MatchedTest, LabelsAndWhatAnApplicationDoesNot) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(moved_rows(80, 9));
  const auto m = create_preconditioner<double, TypeParam>("matched", {{"inner", std::string("jacobi")}});
  {
    const ToolEvents events;
    m->numeric(space, a);
    for (const auto& labels : {events.kernels(), events.allocations()})
      for (const auto& label : labels)
        EXPECT_THAT(label, AnyOf(StartsWith("prekond::"), StartsWith("Kokkos::")));
  }
  const MultiVector<double, TypeParam> x("x", 80, 2), y("y", 80, 2);
  const auto workspace = m->make_workspace(space, 2);
  {
    const ToolEvents events;
    m->apply(space, x, y, *workspace);
    EXPECT_EQ(events.allocations().size(), 0u);
    EXPECT_EQ(events.fences().size(), 0u);
    EXPECT_EQ(events.kernels().size(), 3u);
  }
  const auto small = m->make_workspace(space, 1);
  EXPECT_EQ(message_of<std::logic_error>([&] { m->apply(space, x, y, *small); }),
            "matched: the workspace was made for fewer vectors, or for another matrix");
}

}  // namespace
}  // namespace prekond::testing
