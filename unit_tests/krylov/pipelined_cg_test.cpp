// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the pipelined form of CG does that the others do not; what they all do is in cg_test.cpp.
#include "testing/krylov_solves.hpp"
#include "testing/matrix_of_rank.hpp"
#include "testing/one_thread.hpp"
#include "testing/reference_pipelined_cg.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include "distributed/row_partition.hpp"

#include <cmath>
#include <limits>

namespace prekond::testing {
namespace {

template <class Space>
class PipelinedCgTest : public ::testing::Test {};
TYPED_TEST_SUITE(PipelinedCgTest, TestSpaces, SpaceNames);

const Variant classic{"cg", {}};
const Variant pipelined{"cg", {{"variant", OptionValue(std::string("pipelined"))}}};

TYPED_TEST(PipelinedCgTest, GoesTheWayOfThePaper) {
  for (const char* spec : {"tridiagonal:1", "tridiagonal:2", "tridiagonal:63", "poisson2d:13",
                           "anisotropic2d:9,epsilon=0.1", "elasticity3d:4,contrast=1"}) {
    const HostMatrix<double> a = problem(spec);
    const std::vector<double> b = random_vector(a.num_rows);
    for (const bool scaled : {false, true}) {
      SCOPED_TRACE(std::string(spec) + (scaled ? ", jacobi" : ""));
      const auto m = scaled ? preconditioner_of<TypeParam>("jacobi", a) : nullptr;
      const ReferenceCg reference = reference_pipelined_cg(a, b, sequential_jacobi(a, scaled), 1e-8, 0, 1000);
      ASSERT_TRUE(reference.converged);
      const auto solved =
          solve_with<double, TypeParam>(pipelined, operator_of<TypeParam>(a), m.get(), b, stop_at(1e-8));
      EXPECT_TRUE(solved.result.converged);
      EXPECT_LE(std::abs(solved.result.iterations - reference.iterations), 1);
      for (std::size_t k = 0; k < std::min<std::size_t>(15, reference.history.size()); ++k)
        ASSERT_NEAR(solved.history[k], reference.history[k], 1e-7 * reference.history[k] + 1e-11 * norm(b))
            << "iteration " << k;
      for (std::size_t i = 0; i < b.size(); ++i) ASSERT_NEAR(solved.x[i], reference.x[i], 1e-5 * norm(b));
    }
  }
}

/// Sums that are not there before `finish`, and what was done meanwhile.
template <class Space>
class LateReducer : public Reducer<double, Space> {
 public:
  void sum(const Space& /*space*/, VectorView<double, Space> /*values*/) const override {
    EXPECT_FALSE(in_flight) << "a sum while another one was on its way";
    ++sums;
  }
  void start(const Space& space, VectorView<double, Space> values) const override {
    EXPECT_FALSE(in_flight) << "two at once";
    in_flight = true;
    ++starts;
    m_filed = to_vector(values);
    m_values = values;
    Kokkos::deep_copy(space, values, std::numeric_limits<double>::quiet_NaN());
  }
  void finish(const Space& space) const override {
    EXPECT_TRUE(in_flight) << "nothing was started";
    in_flight = false;
    Kokkos::deep_copy(space, m_values, to_device<Space>(m_filed));
    space.fence();
  }
  mutable bool in_flight = false;
  mutable int sums = 0, starts = 0;

 private:
  mutable std::vector<double> m_filed;
  mutable VectorView<double, Space> m_values;
};

/// Counts the products that are made while a sum is on its way.
template <class Space>
class Meanwhile : public Operator<double, Space> {
 public:
  Meanwhile(const HostMatrix<double>& a, const LateReducer<Space>& reducer)
      : m_inner(operator_of<Space>(a)), m_reducer(reducer) {}
  std::int64_t num_rows() const override { return m_inner.num_rows(); }
  std::int64_t num_cols() const override { return m_inner.num_cols(); }
  void apply(const Space& space, MultiVectorView<const double, Space> x, MultiVectorView<double, Space> y,
             double alpha, double beta) const override {
    (m_reducer.in_flight ? meanwhile : others) += 1;
    m_inner.apply(space, x, y, alpha, beta);
  }
  mutable int meanwhile = 0, others = 0;

 private:
  CsrOperator<double, Space> m_inner;
  const LateReducer<Space>& m_reducer;
};

TYPED_TEST(PipelinedCgTest, TheReductionGoesOnDuringTheProduct) {
  const HostMatrix<double> a = problem("poisson2d:20");
  const std::vector<double> b = random_vector(a.num_rows);
  const auto m = preconditioner_of<TypeParam>("jacobi", a);
  const auto plain =
      solve_with<double, TypeParam>(pipelined, operator_of<TypeParam>(a), m.get(), b, stop_at(1e-8));
  const LateReducer<TypeParam> reducer;
  const Meanwhile<TypeParam> op(a, reducer);
  const auto solved = solve_with<double, TypeParam>(pipelined, op, m.get(), b, stop_at(1e-8), {}, reducer);
  EXPECT_EQ(solved.x, plain.x) << "a value was used before it was there";
  EXPECT_EQ(solved.history, plain.history);
  EXPECT_FALSE(reducer.in_flight);
  // One an iteration and that of the first dots; the norms of b, and of the true residual at the end.
  EXPECT_EQ(reducer.starts, solved.result.iterations + 1);
  EXPECT_EQ(reducer.sums, 2);
  EXPECT_EQ(op.meanwhile, reducer.starts);
}

TYPED_TEST(PipelinedCgTest, TheClassicFormHasNoReductionOnItsWay) {
  const HostMatrix<double> a = problem("poisson2d:9");
  const LateReducer<TypeParam> reducer;
  const auto solved = solve_with<double, TypeParam>(classic, operator_of<TypeParam>(a), nullptr,
                                                    random_vector(a.num_rows), stop_at(1e-8), {}, reducer);
  EXPECT_TRUE(solved.result.converged);
  EXPECT_EQ(reducer.starts, 0);
}

// ------------------------------------------------------------------------------------------- rounding errors

/// Of problems where the recurrences alone go astray.
TYPED_TEST(PipelinedCgTest, ReplacedRecurrencesReachWhatTheClassicFormDoes) {
  for (const char* spec : {"poisson2d:40", "elasticity3d:8"}) {
    SCOPED_TRACE(spec);
    const HostMatrix<double> a = problem(spec);
    const std::vector<double> b = random_vector(a.num_rows);
    const auto m = preconditioner_of<TypeParam>("jacobi", a);
    const auto solve = [&](const Variant& variant) {
      return solve_with<double, TypeParam>(variant, operator_of<TypeParam>(a), m.get(), b, stop_at(1e-13));
    };
    const auto one = solve(classic), other = solve(pipelined);
    ASSERT_TRUE(one.result.converged && other.result.converged);
    EXPECT_LE(residual_norm(a, b, other.x), 1.1e-13 * norm(b));
    EXPECT_LE(other.result.iterations, 1.1 * one.result.iterations);
    const auto alone = reference_pipelined_cg(a, b, sequential_jacobi(a, true), 1e-13, 0,
                                              std::int64_t(1.1 * one.result.iterations));
    EXPECT_GT(residual_norm(a, b, alone.x), 4e-13 * norm(b)) << "nothing to be mended here";
    // Four products after each two digits, and few more.
    const auto extra = other.result.matrix_products - other.result.iterations;
    EXPECT_GE(extra, 4 * 5);
    EXPECT_LE(extra, 4 * 10);
  }
}

TYPED_TEST(PipelinedCgTest, WhatTheScalarsAndTheVectorsDoNotAgreeOnIsReplaced) {
  // In single precision the recurrences go astray before ||r|| has fallen to a hundredth.
  const std::int64_t n = 300;
  const StencilOperator<float, TypeParam> a(n, 2.001f);
  const auto b_double = random_vector(n);
  const std::vector<float> b(b_double.begin(), b_double.end());
  const auto one = solve_with<float, TypeParam>(classic, a, nullptr, b, stop_at(1e-3));
  const auto other = solve_with<float, TypeParam>(pipelined, a, nullptr, b, stop_at(1e-3));
  EXPECT_EQ(one.result.reason, StopReason::rtol);
  EXPECT_EQ(other.result.reason, StopReason::rtol) << to_string(other.result.reason);
  EXPECT_LE(other.result.iterations, 2 * one.result.iterations);
}

TYPED_TEST(PipelinedCgTest, ABreakdownIsOneOfTheMatrixNotOfRounding) {
  // Without the recurrences replaced (w, u) - beta (r, u) / alpha becomes negative here.
  const HostMatrix<double> a = problem("circuit:30");
  const std::vector<double> b = multiply(a, std::vector<double>(a.num_rows, 1.0));
  const auto m = preconditioner_of<TypeParam>("jacobi", a);
  for (const double rtol : {1e-9, 1e-12, 1e-15}) {
    const auto solved =
        solve_with<double, TypeParam>(pipelined, operator_of<TypeParam>(a), m.get(), b, stop_at(rtol, 5000));
    EXPECT_TRUE(solved.result.converged || solved.result.reason == StopReason::stagnation)
        << to_string(solved.result.reason);
    EXPECT_TRUE(all_finite(solved.x));
    EXPECT_LE(solved.result.true_relative_residual, 1e-6);
  }
}

TYPED_TEST(PipelinedCgTest, TheClassicFormGoesOnWhereTheRecurrencesGoAstray) {
  // The recurrences alone end far from the solution, and are no better when they start again.
  for (const char* spec : {"circuit:11", "circuit:30", "tridiagonal:700"}) {
    SCOPED_TRACE(spec);
    const HostMatrix<double> a = problem(spec);
    const std::vector<double> b = random_vector(a.num_rows);
    const auto m = preconditioner_of<TypeParam>("jacobi", a);
    for (const auto* jacobi : {m.get(), decltype(m.get())(nullptr)}) {
      const auto one =
          solve_with<double, TypeParam>(classic, operator_of<TypeParam>(a), jacobi, b, stop_at(1e-9, 20000));
      const auto other = solve_with<double, TypeParam>(pipelined, operator_of<TypeParam>(a), jacobi, b,
                                                       stop_at(1e-9, 20000));
      ASSERT_EQ(one.result.reason, StopReason::rtol);
      EXPECT_EQ(other.result.reason, StopReason::rtol) << to_string(other.result.reason);
      EXPECT_LE(other.result.iterations, 3 * one.result.iterations);
    }
  }
}

/// From product `from` on one of another matrix: what recurrences of before stand for is no longer true.
template <class Space>
class Turning : public Operator<double, Space> {
 public:
  Turning(const HostMatrix<double>& a, const HostMatrix<double>& then, int from)
      : m_first(operator_of<Space>(a)), m_then(operator_of<Space>(then)), m_from(from) {}
  std::int64_t num_rows() const override { return m_first.num_rows(); }
  std::int64_t num_cols() const override { return m_first.num_cols(); }
  void apply(const Space& space, MultiVectorView<const double, Space> x, MultiVectorView<double, Space> y,
             double alpha, double beta) const override {
    (m_calls++ < m_from ? m_first : m_then).apply(space, x, y, alpha, beta);
  }

 private:
  CsrOperator<double, Space> m_first, m_then;
  int m_from;
  mutable int m_calls = 0;
};

TYPED_TEST(PipelinedCgTest, ABreakdownThatIsNoneAnyMoreIsNotReported) {
  // One product is of an indefinite matrix: the numbers say so, the vectors that are computed anew do not.
  const HostMatrix<double> a = problem("poisson2d:12");
  const std::vector<double> b = random_vector(a.num_rows);
  for (const int wrong : {4, 6, 9}) {
    SCOPED_TRACE(wrong);
    const Late<TypeParam> once(a, wrong, -3.0);  // from there on, for ever
    const auto broken = solve_with<double, TypeParam>(pipelined, once, nullptr, b, stop_at(1e-8));
    EXPECT_EQ(broken.result.reason, StopReason::breakdown_not_spd) << to_string(broken.result.reason);
    const Turning<TypeParam> turned(a, shifted(a, -1.0), wrong);
    const auto solved = solve_with<double, TypeParam>(pipelined, turned, nullptr, b, stop_at(1e-8));
    EXPECT_TRUE(solved.result.converged) << to_string(solved.result.reason);
    EXPECT_LE(residual_norm(shifted(a, -1.0), b, solved.x), 1.01e-8 * norm(b));
  }
}

/// Each third product is a little too large: (p, A p) is never what recurrences let expect.
template <class Space>
class Uneven : public Operator<double, Space> {
 public:
  explicit Uneven(const HostMatrix<double>& a) : m_inner(operator_of<Space>(a)) {}
  std::int64_t num_rows() const override { return m_inner.num_rows(); }
  std::int64_t num_cols() const override { return m_inner.num_cols(); }
  void apply(const Space& space, MultiVectorView<const double, Space> x, MultiVectorView<double, Space> y,
             double alpha, double beta) const override {
    m_inner.apply(space, x, y, (m_calls++ % 3 == 0 ? 1.012 : 1) * alpha, beta);
  }

 private:
  CsrOperator<double, Space> m_inner;
  mutable int m_calls = 0;
};

TYPED_TEST(PipelinedCgTest, DoesNotReplaceForEver) {
  const HostMatrix<double> a = problem("poisson2d:40");
  const Uneven<TypeParam> uneven(a);
  const auto solved = solve_with<double, TypeParam>(pipelined, uneven, nullptr, random_vector(a.num_rows),
                                                    stop_at(1e-12, 200));
  EXPECT_EQ(solved.result.reason, StopReason::max_iters) << to_string(solved.result.reason);
  // Four products each: eleven where (p, A p) differed, and where ||r|| had fallen.
  EXPECT_GE(solved.result.matrix_products - solved.result.iterations, 4 * 11);
  EXPECT_LE(solved.result.matrix_products - solved.result.iterations, 4 * 20);
}

// ----------------------------------------------------------------------------------------- threads and ranks

TYPED_TEST(PipelinedCgTest, TheSameBitsForAnyNumberOfThreads) {
  if constexpr (is_host_space<TypeParam>) {
    const HostMatrix<double> a = problem("poisson2d:60");
    const auto op = operator_of<TypeParam>(a);
    const auto b = to_device<TypeParam>(random_vector(a.num_rows));
    const auto m = preconditioner_of<TypeParam>("jacobi", a);
    const auto cg = create_solver<double, TypeParam>("cg", pipelined.options);
    std::vector<std::vector<double>> found;
    for (const TypeParam& space : {TypeParam(), of_one_thread<TypeParam>()}) {
      const Vector<double, TypeParam> x("x", a.num_rows);
      EXPECT_TRUE(cg->solve(space, op, m.get(), b, x, stop_at(1e-10)).converged);
      space.fence();
      found.push_back(to_vector(x));
    }
    EXPECT_EQ(found[0], found[1]);
  }
}

TYPED_TEST(PipelinedCgTest, TheSameIterationsOnAnyNumberOfRanks) {
  const HostMatrix<double> a = problem("poisson2d:9");
  const std::vector<double> b = random_vector(a.num_rows);
  const auto alone =
      solve_with<double, TypeParam>(pipelined, operator_of<TypeParam>(a), nullptr, b, stop_at(1e-9));
  ASSERT_TRUE(alone.result.converged);
  for (const int size : {1, 2, 3, 4, 7, 100}) {
    SCOPED_TRACE(size);
    const Parts parts = cyclic_parts(a.num_rows, size);
    run_ranks(size, [&](const Rank& rank) {
      const auto& own = parts[rank.rank];
      const MatrixOfRank<double, TypeParam> of_rank(rank, a, parts);
      std::vector<double> mine;
      for (const std::int64_t row : own) mine.push_back(b[row]);
      const auto found = solve_with<double, TypeParam>(pipelined, of_rank.product(), nullptr, mine,
                                                       stop_at(1e-9), {}, of_rank.reducer());
      EXPECT_EQ(found.result.reason, StopReason::rtol);
      EXPECT_LE(std::abs(found.result.iterations - alone.result.iterations), 1);
      for (std::size_t i = 0; i < own.size(); ++i) EXPECT_NEAR(found.x[i], alone.x[own[i]], 1e-7);
    });
  }
}

}  // namespace
}  // namespace prekond::testing
