// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/general_matrices.hpp"
#include "testing/hermitian_matrices.hpp"
#include "testing/reference_cg.hpp"
#include "testing/reference_isai.hpp"
#include "testing/reference_relaxed.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/isai.hpp>
#include <prekond/precond/jacobi.hpp>
#include <prekond/precond/registry.hpp>
#include <prekond/precond/relaxed.hpp>

#include <cmath>
#include <limits>
#include <memory>

namespace prekond::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <class Scalar>
using Vectors = std::vector<std::vector<Scalar>>;

/// A method that the tests relax: its name and options. Jacobi cannot add to a vector, the others can.
struct Method {
  std::string name;
  OptionMap options;
};
const std::vector<Method> spd_methods = {{"jacobi", {}},
                                         {"fsai", {}},
                                         {"adaptive_fsai", {{"storage", std::string("half")}}},
                                         {"isai", {}},
                                         {"isai", {{"kind", std::string("spd")}}},
                                         {"isai", {{"storage", std::string("single")}}},
                                         {"isai", {{"relaxation_steps", std::int64_t(1)}}}};
const std::vector<Method> complex_methods = {{"jacobi", {}}, {"fsai", {}}, {"adaptive_fsai", {}}};

template <class Scalar, class Space>
std::shared_ptr<MatrixPreconditioner<Scalar, Space>> made(const Method& method) {
  return create_preconditioner<Scalar, Space>(method.name, method.options);
}

template <class Scalar, class Space>
MultiVector<Scalar, Space> on_device(const Vectors<Scalar>& x, std::size_t num_rows) {
  const MultiVector<Scalar, Space> result("x", num_rows, x.size());
  const auto host = Kokkos::create_mirror_view(result);
  for (std::size_t k = 0; k < x.size(); ++k)
    for (std::size_t i = 0; i < num_rows; ++i) host(i, k) = x[k][i];
  Kokkos::deep_copy(result, host);
  return result;
}

/// M^-1 x, from a workspace for `room` vectors.
template <class Scalar, class Space>
Vectors<Scalar> applied(const Preconditioner<Scalar, Space>& m, const Vectors<Scalar>& x, int room = 0) {
  const Space space;
  const auto n = static_cast<std::size_t>(m.num_rows());
  const auto from = on_device<Scalar, Space>(x, n);
  const MultiVector<Scalar, Space> to("y", n, x.size());
  Kokkos::deep_copy(to, Scalar(std::nan("")));
  m.apply(space, from, to, *m.make_workspace(space, std::max(room, static_cast<int>(x.size()))));
  space.fence();
  Vectors<Scalar> y(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) y[k] = to_vector(column(to, k));
  return y;
}

template <class Scalar>
Vectors<Scalar> waves(std::int64_t n, int count) {
  Vectors<Scalar> x(count, std::vector<Scalar>(n));
  for (int k = 0; k < count; ++k)
    for (std::int64_t i = 0; i < n; ++i) {
      const double angle = 1 + 3.0 * double(i) + 5.0 * k;
      if constexpr (is_complex<Scalar>)
        x[k][i] = Scalar(std::sin(angle), std::cos(2 * angle));
      else
        x[k][i] = Scalar(std::sin(angle));
    }
  return x;
}

template <class Scalar>
double distance(const std::vector<Scalar>& x, const std::vector<Scalar>& y) {
  double square = 0;
  for (std::size_t i = 0; i < x.size(); ++i) square += std::pow(double(Kokkos::abs(x[i] - y[i])), 2);
  return std::sqrt(square);
}
template <class Scalar>
double size_of(const std::vector<Scalar>& x) {
  return distance(x, std::vector<Scalar>(x.size()));
}

/// The entries of a part of the square.
template <class Scalar>
HostMatrix<Scalar> part_of(const HostMatrix<Scalar>& a, MatrixPart part) {
  HostMatrix<Scalar> result;
  result.num_rows = result.num_cols = a.num_rows;
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const int j = a.col_idxs[k];
      if (j >= a.num_rows || (part == MatrixPart::lower && j > i) || (part == MatrixPart::upper && j < i))
        continue;
      result.col_idxs.push_back(j);
      result.values.push_back(a.values[k]);
    }
    result.row_ptrs.push_back(result.nnz());
  }
  return result;
}

template <class Scalar>
std::int64_t bytes_of(const HostMatrix<Scalar>& a) {
  return std::int64_t(a.row_ptrs.size() * sizeof(std::size_t) + a.nnz() * (sizeof(int) + sizeof(Scalar)));
}

/// Every method, steps and number of vectors, against the reference with the method itself.
template <class Scalar, class Space>
void check_iteration(const HostMatrix<Scalar>& a, const std::vector<Method>& methods, MatrixPart part,
                     double tolerance) {
  const Space space;
  const auto device = to_device<Space>(a);
  const HostMatrix<Scalar> multiplied = part_of(a, part);
  for (const Method& method : methods) {
    const auto once = made<Scalar, Space>(method);
    once->numeric(space, device);
    for (const int steps : {0, 1, 2, 5}) {
      Relaxed<Scalar, Space> relaxed(made<Scalar, Space>(method), {.steps = steps, .part = part});
      relaxed.symbolic(space, device);
      relaxed.numeric(space, device);
      EXPECT_EQ(relaxed.name(), method.name);
      EXPECT_EQ(relaxed.num_rows(), a.num_rows);
      EXPECT_EQ(relaxed.report().nnz, once->report().nnz);
      EXPECT_EQ(relaxed.report().bytes, once->report().bytes + (steps > 0 ? bytes_of(multiplied) : 0));
      const double of_step = flops_of_scalar<Scalar> * double(2 * multiplied.nnz() + a.num_rows);
      EXPECT_EQ(relaxed.report().apply_flops, (steps + 1) * once->report().apply_flops + steps * of_step);
      for (const int count : {1, 2, 7}) {
        SCOPED_TRACE(method.name + ", " + std::to_string(steps) + " steps, " + std::to_string(count));
        const Vectors<Scalar> x = waves<Scalar>(a.num_rows, count);
        const Vectors<Scalar> y = applied<Scalar, Space>(relaxed, x, count + 1);
        if (steps == 0) {
          EXPECT_EQ(y, (applied<Scalar, Space>(*once, x)));
        }
        for (int k = 0; k < count; ++k) {
          const auto expected = reference_relaxed(multiplied, x[k], steps, [&](const std::vector<Scalar>& r) {
            return applied<Scalar, Space>(*once, {r})[0];
          });
          ASSERT_LT(distance(y[k], expected), tolerance * size_of(expected));
        }
      }
    }
  }
}

template <class Space>
class RelaxedTest : public ::testing::Test {};
TYPED_TEST_SUITE(RelaxedTest, TestSpaces, SpaceNames);

// ----------------------------------------------------------------------------------------- the iteration

TYPED_TEST(RelaxedTest, IsRichardsonsIterationWithAnyMethod) {
  for (const int n : {1, 37, 210}) {
    const HostMatrix<double> a = random_spd(n, 0.1, 7u + unsigned(n));
    check_iteration<double, TypeParam>(a, spd_methods, MatrixPart::whole, 1e-13);
    check_iteration<float, TypeParam>(convert<float>(a), spd_methods, MatrixPart::whole, 1e-5);
  }
  check_iteration<double, TypeParam>(random_general(130, 0.08, 3), {{"jacobi", {}}, {"isai", {}}},
                                     MatrixPart::whole, 1e-13);
}

TYPED_TEST(RelaxedTest, OfHermitianMatrices) {
  const HostMatrix<Complex> a = random_hermitian(90, 0.1, 11);
  check_iteration<Complex, TypeParam>(a, complex_methods, MatrixPart::whole, 1e-13);
  check_iteration<Kokkos::complex<float>, TypeParam>(convert<Kokkos::complex<float>>(a), complex_methods,
                                                     MatrixPart::whole, 1e-5);
}

TYPED_TEST(RelaxedTest, OfATriangle) {
  const HostMatrix<double> a = random_general(110, 0.08, 17);
  for (const MatrixPart part : {MatrixPart::lower, MatrixPart::upper}) {
    const std::string kind = part == MatrixPart::lower ? "lower" : "upper";
    check_iteration<double, TypeParam>(a, {{"jacobi", {}}, {"isai", {{"kind", kind}}}}, part, 1e-13);
  }
}

// With M the diagonal, I - M^-1 T is nilpotent.
TYPED_TEST(RelaxedTest, EndsWithTheTriangularSolve) {
  const TypeParam space;
  const int n = 33;
  const HostMatrix<double> a = random_general(n, 0.2, 23);
  for (const bool upper : {false, true}) {
    for (const bool unit_diagonal : {false, true}) {
      const HostMatrix<double> t = sparse(triangle_of(to_dense(a), upper, unit_diagonal));
      Relaxed<double, TypeParam> relaxed(made<double, TypeParam>({unit_diagonal ? "none" : "jacobi", {}}),
                                         {.steps = n - 1,
                                          .part = upper ? MatrixPart::upper : MatrixPart::lower,
                                          .unit_diagonal = unit_diagonal});
      relaxed.numeric(space, to_device<TypeParam>(a));
      const Vectors<double> exact = waves<double>(n, 2);
      Vectors<double> x(2);
      for (int k = 0; k < 2; ++k) x[k] = multiply(t, exact[k]);
      const Vectors<double> y = applied<double, TypeParam>(relaxed, x);
      for (int k = 0; k < 2; ++k) EXPECT_LT(distance(y[k], exact[k]), 1e-10 * size_of(exact[k]));
      const std::int64_t of_m = unit_diagonal ? 0 : std::int64_t(n * sizeof(double));
      const std::int64_t left_out = unit_diagonal ? n * std::int64_t(sizeof(int) + sizeof(double)) : 0;
      EXPECT_EQ(relaxed.report().bytes, of_m + bytes_of(t) - left_out);
    }
  }
}

TYPED_TEST(RelaxedTest, ColumnsOfOtherRanksAreLeftOut) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(70, 0.1, 29), wide = with_columns_of_other_ranks(a);
  const Vectors<double> x = waves<double>(70, 3);
  for (const Method& method : spd_methods) {
    Relaxed<double, TypeParam> narrow(made<double, TypeParam>(method), {.steps = 2});
    narrow.numeric(space, to_device<TypeParam>(a));
    Relaxed<double, TypeParam> of_rank(made<double, TypeParam>(method), {.steps = 2});
    of_rank.numeric(space, to_device<TypeParam>(wide));
    EXPECT_EQ((applied<double, TypeParam>(narrow, x)), (applied<double, TypeParam>(of_rank, x)));
    EXPECT_EQ(narrow.report().bytes, of_rank.report().bytes);
  }
}

/// A matrix as an operator that counts what it is asked for.
template <class Space>
class CountingOperator : public CsrOperator<double, Space> {
 public:
  using CsrOperator<double, Space>::CsrOperator;
  void apply(const Space& space, MultiVectorView<const double, Space> x, MultiVectorView<double, Space> y,
             double alpha, double beta) const override {
    ++products;
    CsrOperator<double, Space>::apply(space, x, y, alpha, beta);
  }
  mutable int products = 0;
};

TYPED_TEST(RelaxedTest, MultipliesByAnOperatorOfTheCallers) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(80, 0.1, 31);
  const auto device = to_device<TypeParam>(a);
  const Vectors<double> x = waves<double>(80, 2);
  const auto a_of_caller = std::make_shared<CountingOperator<TypeParam>>(device);
  for (const Method& method : spd_methods) {
    Relaxed<double, TypeParam> copying(made<double, TypeParam>(method), {.steps = 3});
    copying.numeric(space, device);
    Relaxed<double, TypeParam> relaxed(made<double, TypeParam>(method), a_of_caller, 3);
    relaxed.numeric(space, device);
    a_of_caller->products = 0;
    EXPECT_EQ((applied<double, TypeParam>(relaxed, x)), (applied<double, TypeParam>(copying, x)));
    EXPECT_EQ(a_of_caller->products, 3);
    EXPECT_EQ(relaxed.report().bytes, relaxed.inner().report().bytes) << "nothing is copied";
    EXPECT_EQ(relaxed.is_symmetric(), relaxed.inner().is_symmetric());
    EXPECT_EQ(message_of<InputError>([&] {
                Relaxed<double, TypeParam> other(made<double, TypeParam>(method), a_of_caller);
                other.numeric(space, to_device<TypeParam>(random_spd(81, 0.1, 1)));
              }),
              method.name + ": the relaxation's operator is 80 x 80, and the matrix has 81 rows");
  }
}

TYPED_TEST(RelaxedTest, RelaxesARelaxation) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(60, 0.1, 37);
  auto inner = std::make_unique<Relaxed<double, TypeParam>>(made<double, TypeParam>({"jacobi", {}}));
  Relaxed<double, TypeParam> twice(std::move(inner)),
      alone(made<double, TypeParam>({"jacobi", {}}), {.steps = 3});
  for (auto* m : {&twice, &alone}) m->numeric(space, to_device<TypeParam>(a));
  // k steps take I - M^-1 A to its power k + 1: two nested ones have the fourth, as three steps.
  const Vectors<double> x = waves<double>(60, 3);
  const auto expected = applied<double, TypeParam>(alone, x), found = applied<double, TypeParam>(twice, x);
  for (int k = 0; k < 3; ++k) EXPECT_LT(distance(found[k], expected[k]), 1e-13 * size_of(expected[k]));
}

// ------------------------------------------------------------------------------------------- what it says

TYPED_TEST(RelaxedTest, IsAsSymmetricAsItsMethod) {
  const auto whole = [](const Method& method) {
    return std::make_unique<Relaxed<double, TypeParam>>(made<double, TypeParam>(method));
  };
  EXPECT_TRUE(whole({"jacobi", {}})->is_symmetric());
  EXPECT_TRUE(whole({"isai", {}})->is_nonsymmetric());
  EXPECT_FALSE(whole({"adaptive_fsai", {}})->is_nonsymmetric());
  EXPECT_EQ(whole({"fsai", {}})->properties().needs_spd, true);
  EXPECT_EQ(whole({"jacobi", {}})->properties().needs_spd, false);
  const auto triangle = [](int steps) {
    return Relaxed<double, TypeParam>(made<double, TypeParam>({"jacobi", {}}),
                                      {.steps = steps, .part = MatrixPart::lower});
  };
  EXPECT_TRUE(triangle(0).is_symmetric());
  EXPECT_TRUE(triangle(1).is_nonsymmetric());
  EXPECT_FALSE(triangle(1).is_symmetric());
}

TYPED_TEST(RelaxedTest, ConjugateGradientsNeedFewerIterations) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(generated("poisson2d:19"));
  const Vector<double, TypeParam> b("b", 361), x("x", 361);
  Kokkos::deep_copy(b, 1.0);
  for (const char* name : {"jacobi", "adaptive_fsai"}) {
    std::int64_t plain = 0;
    for (const int steps : {0, 2}) {
      Relaxed<double, TypeParam> m(made<double, TypeParam>({name, {}}), {.steps = steps});
      m.numeric(space, a);
      Kokkos::deep_copy(x, 0.0);
      const auto result =
          Cg<double, TypeParam>().solve(space, CsrOperator<double, TypeParam>(a), &m, b, x, {});
      EXPECT_TRUE(result.converged);
      if (steps == 0)
        plain = result.iterations;
      else
        EXPECT_LT(result.iterations, plain * 3 / 4) << name;
    }
  }
}

TYPED_TEST(RelaxedTest, PassesOnWhatItsMethodSays) {
  const TypeParam space;
  const HostMatrix<double> a = sparse<double>({{0, 1, 0}, {1, 2, 0}, {0, 0, 4}});
  Relaxed<double, TypeParam> relaxed(made<double, TypeParam>({"jacobi", {}}));
  relaxed.numeric(space, to_device<TypeParam>(a));
  EXPECT_EQ(relaxed.report().breakdowns.count, 1);
  EXPECT_EQ(relaxed.report().breakdowns.first_row, 0);
  EXPECT_FALSE(relaxed.report().pattern_kept);

  Relaxed<double, TypeParam> fixed(made<double, TypeParam>({"fsai", {}}));
  for (const bool kept : {false, true}) {
    fixed.numeric(space, to_device<TypeParam>(random_spd(20, 0.2, 3)));
    EXPECT_EQ(fixed.report().pattern_kept, kept);
  }
  EXPECT_GE(fixed.report().fences, fixed.inner().report().fences);
}

/// One that is slow, as it says.
template <class Space>
class Talkative : public Jacobi<double, Space> {
 public:
  using typename Jacobi<double, Space>::matrix_source;

 protected:
  void numeric_step(const Space& space, const matrix_source& source, Report& report) override {
    Jacobi<double, Space>::numeric_step(space, source, report);
    this->tell("it may take long", report);
  }
};

TYPED_TEST(RelaxedTest, TheListenerHearsItsMethod) {
  const TypeParam space;
  Relaxed<double, TypeParam> relaxed(std::make_unique<Talkative<TypeParam>>());
  std::vector<std::string> heard;
  relaxed.set_listener([&](const std::string& text) { heard.push_back(text); });
  relaxed.numeric(space, to_device<TypeParam>(random_spd(9, 0.5, 1)));
  EXPECT_THAT(heard, ::testing::ElementsAre("it may take long"));
  EXPECT_THAT(relaxed.report().notes, ::testing::ElementsAre("it may take long"));
}

// ---------------------------------------------------------------------------------------------- phases

TYPED_TEST(RelaxedTest, ASecondNumericTakesTheNewValues) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(50, 0.2, 41), other = with_larger_diagonal(a, 2);
  const Vectors<double> x = waves<double>(50, 1);
  for (const Method& method : spd_methods) {
    Relaxed<double, TypeParam> relaxed(made<double, TypeParam>(method), {.steps = 2});
    relaxed.numeric(space, to_device<TypeParam>(a));
    relaxed.numeric(space, to_device<TypeParam>(other));
    const auto second = applied<double, TypeParam>(relaxed, x);
    const auto once = made<double, TypeParam>(method);
    once->numeric(space, to_device<TypeParam>(a));
    once->numeric(space, to_device<TypeParam>(other));
    const auto expected = reference_relaxed(other, x[0], 2, [&](const std::vector<double>& r) {
      return applied<double, TypeParam>(*once, {r})[0];
    });
    EXPECT_LT(distance(second[0], expected), 1e-13 * size_of(expected));
    relaxed.symbolic(space, to_device<TypeParam>(a));
    EXPECT_EQ(message_of<std::logic_error>([&] { applied<double, TypeParam>(relaxed, x); }),
              method.name + ": apply before numeric");
  }
}

TYPED_TEST(RelaxedTest, AFailedPhaseLeavesItAsItWas) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(50, 0.2, 43);
  HostMatrix<double> bad = a;
  for (double& value : bad.values) value *= -2;
  const Vectors<double> x = waves<double>(50, 2);
  Relaxed<double, TypeParam> relaxed(made<double, TypeParam>({"fsai", {}}), {.steps = 2});
  relaxed.numeric(space, to_device<TypeParam>(a));
  const auto before = applied<double, TypeParam>(relaxed, x);
  const auto bytes = relaxed.report().bytes;
  EXPECT_THROW(relaxed.numeric(space, to_device<TypeParam>(bad)), InputError);
  EXPECT_THAT(
      message_of<InputError>([&] { relaxed.numeric(space, to_device<TypeParam>(random_spd(49, 0.2, 1))); }),
      HasSubstr("fsai: numeric was given 49 rows, symbolic 50"));
  EXPECT_EQ(before, (applied<double, TypeParam>(relaxed, x)));
  EXPECT_EQ(relaxed.report().bytes, bytes);
}

TYPED_TEST(RelaxedTest, TakesARankWithoutRows) {
  const TypeParam space;
  HostMatrix<double> none;
  none.num_cols = 3;
  const HostMatrix<double> a = random_spd(20, 0.2, 47);
  for (const Method& method : spd_methods) {
    for (const int steps : {0, 1, 4}) {
      Relaxed<double, TypeParam> relaxed(made<double, TypeParam>(method), {.steps = steps});
      for (int i = 0; i < 2; ++i) {
        relaxed.numeric(space, to_device<TypeParam>(none));
        EXPECT_EQ(relaxed.num_rows(), 0);
        EXPECT_EQ(relaxed.report().nnz, 0);
        EXPECT_THAT((applied<double, TypeParam>(relaxed, {{}, {}})[1]), IsEmpty());
      }
      relaxed.symbolic(space, to_device<TypeParam>(a));
      relaxed.numeric(space, to_device<TypeParam>(a));
      EXPECT_EQ(relaxed.num_rows(), 20);
    }
  }
}

TYPED_TEST(RelaxedTest, ASharedMethodIsAppliedByItselfToo) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(40, 0.2, 53);
  const auto isai = std::make_shared<Isai<double, TypeParam>>();
  Relaxed<double, TypeParam> relaxed(isai);
  relaxed.numeric(space, to_device<TypeParam>(a));
  Isai<double, TypeParam> alone;
  alone.numeric(space, to_device<TypeParam>(a));
  const Vectors<double> x = waves<double>(40, 2);
  EXPECT_EQ((applied<double, TypeParam>(*isai, x)), (applied<double, TypeParam>(alone, x)));
  EXPECT_EQ(&relaxed.inner(), isai.get());
}

// ------------------------------------------------------------------------------------------ applications

TYPED_TEST(RelaxedTest, AnApplicationNeitherAllocatesNorFences) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(150, 0.1, 59);
  for (const Method& method : spd_methods) {
    for (const int steps : {0, 1, 3}) {
      Relaxed<double, TypeParam> relaxed(made<double, TypeParam>(method), {.steps = steps});
      relaxed.numeric(space, to_device<TypeParam>(a));
      const auto workspace = relaxed.make_workspace(space, 2);
      const MultiVector<double, TypeParam> x("x", 150, 2), y("y", 150, 2);
      const ToolEvents events;
      relaxed.apply(space, x, y, *workspace);
      EXPECT_THAT(events.allocations(), IsEmpty());
      EXPECT_THAT(events.fences(), IsEmpty());
      EXPECT_FALSE(events.kernels().empty());
      const std::string add = "prekond::relaxed::apply::add_correction";
      const bool added = !relaxed.inner().can_apply_add();
      if (steps > 0) {
        EXPECT_THAT(events.kernels(), Contains("prekond::relaxed::apply::begin_residual"));
        EXPECT_EQ(::testing::Value(events.kernels(), Contains(add)), added) << method.name;
      }
    }
  }
}

TYPED_TEST(RelaxedTest, AMethodThatAddsTakesOneVectorLess) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(150, 0.1, 61);
  const auto bytes_of_workspace = [&](const Method& method) {
    Relaxed<double, TypeParam> relaxed(made<double, TypeParam>(method));
    relaxed.numeric(space, to_device<TypeParam>(a));
    const ToolEvents events;
    const auto workspace = relaxed.make_workspace(space, 3);
    for (const auto& label : events.allocations()) EXPECT_THAT(label, HasSubstr("prekond::"));
    return events.allocated_bytes();
  };
  const std::uint64_t block = 150 * 3 * sizeof(double);
  EXPECT_GE(bytes_of_workspace({"jacobi", {}}), 2 * block);
  EXPECT_GE(bytes_of_workspace({"isai", {}}), block);
  EXPECT_LT(bytes_of_workspace({"isai", {}}), 2 * block);
}

TYPED_TEST(RelaxedTest, RefusesVectorsThatDoNotFit) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(10, 0.5, 67);
  for (const Method& method : spd_methods) {
    Relaxed<double, TypeParam> relaxed(made<double, TypeParam>(method), {.steps = 2});
    const MultiVector<double, TypeParam> x("x", 10, 2), y("y", 10, 2), longer("y", 11, 2);
    const auto refusal = [&](const auto& from, const auto& to, int room) {
      const auto workspace = relaxed.make_workspace(space, room);
      try {
        relaxed.apply(space, from, to, *workspace);
      } catch (const std::exception& error) {
        return std::string(error.what());
      }
      return std::string("nothing was thrown");
    };
    EXPECT_EQ(refusal(x, y, 2), method.name + ": apply before numeric");
    relaxed.numeric(space, to_device<TypeParam>(a));
    EXPECT_EQ(refusal(x, y, 1), method.name + ": the workspace was made for fewer vectors");
    EXPECT_THAT(refusal(x, x, 2), HasSubstr(method.name + ": apply was given x and y that share memory"));
    const MultiVectorView<double, TypeParam> first(x.data(), 10, 1), shifted(x.data() + 5, 10, 1);
    EXPECT_THAT(refusal(first, shifted, 1), HasSubstr("share memory"));
    EXPECT_THAT(refusal(x, longer, 2), HasSubstr("apply was given x of 10 x 2 and y of 11 x 2"));
  }
}

TYPED_TEST(RelaxedTest, AWorkspaceOfAnotherSizeIsRefused) {
  const TypeParam space;
  Relaxed<double, TypeParam> relaxed(made<double, TypeParam>({"jacobi", {}}));
  relaxed.numeric(space, to_device<TypeParam>(random_spd(10, 0.5, 1)));
  const auto workspace = relaxed.make_workspace(space, 2);
  relaxed.symbolic(space, to_device<TypeParam>(random_spd(30, 0.5, 1)));
  relaxed.numeric(space, to_device<TypeParam>(random_spd(30, 0.5, 1)));
  const MultiVector<double, TypeParam> x("x", 30, 2), y("y", 30, 2);
  EXPECT_EQ(message_of<std::logic_error>([&] { relaxed.apply(space, x, y, *workspace); }),
            "jacobi: the workspace was made for 10 rows, and there are 30");
}

TYPED_TEST(RelaxedTest, RefusesOptionsThatMeanNothing) {
  using Wrapper = Relaxed<double, TypeParam>;
  const auto jacobi = made<double, TypeParam>({"jacobi", {}});
  EXPECT_EQ(message_of<OptionError>([&] { Wrapper relaxed(jacobi, {.steps = -1}); }),
            "relaxation: steps = -1; it has to be >= 0");
  EXPECT_EQ(message_of<OptionError>([&] { Wrapper relaxed(jacobi, {.unit_diagonal = true}); }),
            "relaxation: unit_diagonal is for a triangle, part = lower or upper");
  EXPECT_THAT(message_of<std::logic_error>([&] { Wrapper relaxed(nullptr); }),
              HasSubstr("no preconditioner to relax"));
  EXPECT_THAT(message_of<std::logic_error>(
                  [&] { Wrapper relaxed(jacobi, std::shared_ptr<const Operator<double, TypeParam>>(), 1); }),
              HasSubstr("no operator to multiply by"));
}

// ------------------------------------------------------------------------- adding instead of overwriting

TYPED_TEST(RelaxedTest, MethodsThatAddRoundTheSumAlone) {
  const TypeParam space;
  const HostMatrix<double> a = random_spd(90, 0.1, 71);
  const Vectors<double> x = waves<double>(90, 6);
  for (const Method& method : spd_methods) {
    const auto m = made<double, TypeParam>(method);
    const auto add = [&](const auto& from, const auto& to) {
      m->apply_add(space, from, to, *m->make_workspace(space, 6));
    };
    const auto from = on_device<double, TypeParam>(x, 90), to = on_device<double, TypeParam>(x, 90);
    EXPECT_EQ(message_of<std::logic_error>([&] { add(from, to); }), method.name + ": apply before numeric");
    m->numeric(space, to_device<TypeParam>(a));
    EXPECT_THAT(message_of<std::logic_error>([&] { add(from, from); }), HasSubstr("share memory"));
    if (!m->can_apply_add()) {
      EXPECT_THAT(message_of<std::logic_error>([&] { add(from, to); }), HasSubstr("apply_add"));
      continue;
    }
    add(from, to);
    const Vectors<double> y = applied<double, TypeParam>(*m, x);
    for (int k = 0; k < 6; ++k) {
      const std::vector<double> sum = to_vector(column(to, k));
      for (int i = 0; i < 90; ++i) ASSERT_EQ(sum[i], x[k][i] + y[k][i]) << method.name;
    }
  }
}

}  // namespace
}  // namespace prekond::testing
