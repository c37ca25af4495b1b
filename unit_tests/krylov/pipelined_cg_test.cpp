// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the pipelined form of CG does that the others do not; what they all do is in cg_test.cpp.
#include "testing/krylov_solves.hpp"
#include "testing/matrix_of_rank.hpp"
#include "testing/one_thread.hpp"
#include "testing/reference_pipelined_cg.hpp"
#include "testing/spaces.hpp"

#include <gtest/gtest.h>
#include <prekond/distributed/row_partition.hpp>

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

}  // namespace
}  // namespace prekond::testing
