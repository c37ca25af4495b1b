// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/ilu_cases.hpp"
#include "testing/one_thread.hpp"
#include "testing/preconditioned_iterations.hpp"
#include "testing/reference_par_ilut.hpp"
#include "testing/stars.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/precond/par_ilut.hpp>
#include <prekond/precond/registry.hpp>

#include "precond/factorization/par_ilu/largest.hpp"

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

template <class Space>
class ParIlutTest : public ::testing::Test {};
TYPED_TEST_SUITE(ParIlutTest, TestSpaces, SpaceNames);

ParIlutOptions with_steps(int steps, double fill_factor, double shift = 0) {
  ParIlutOptions options;
  options.steps = steps;
  options.fill_factor = fill_factor;
  options.shift = shift;
  return options;
}

template <class Scalar, class Space>
HostFactors<Scalar> factored(ParIlut<Scalar, Space>& m, const HostMatrix<Scalar>& host,
                             const Space& space = {}) {
  m.keep_factors();
  m.numeric(space, to_device<Space>(host));
  return {rows_of(m.factor_lower()), rows_of(m.factor_upper()), to_vector(m.pivots()),
          to_vector(m.row_scale())};
}

double residual_of(const Report& report) {
  for (const std::string& note : report.notes)
    if (const auto at = note.find(", and is "); at != std::string::npos)
      return std::stod(note.substr(at + 9));
  return -1;
}

template <class Space>
void check_steps(const Case& test, const ParIlutOptions& options, double tolerance) {
  SCOPED_TRACE(test.name + ", steps " + std::to_string(options.steps) + ", fill " +
               std::to_string(options.fill_factor));
  ParIlut<double, Space> m(options);
  const auto found = factored<double, Space>(m, test.matrix);
  const auto expected = reference_par_ilut(test.matrix, options.steps, options.fill_factor, *options.shift);
  EXPECT_EQ(m.report().breakdowns.count, expected.factors.replaced + without_diagonal(test.matrix));
  EXPECT_NEAR(residual_of(m.report()), expected.after, 1e-5 * expected.after + tolerance);
  ASSERT_NO_FATAL_FAILURE(
      expect_triangle(found.lower, expected.factors.lower, expected.fill.lower, tolerance));
  ASSERT_NO_FATAL_FAILURE(
      expect_triangle(found.upper, expected.factors.upper, expected.fill.upper, tolerance));
  for (std::size_t i = 0; i < found.pivots.size(); ++i)
    ASSERT_NEAR(found.pivots[i] * expected.factors.pivots[i], 1,
                tolerance * std::max(1.0L, std::abs(1 / expected.factors.pivots[i])))
        << "row " << i;
  const auto b = waves_of(test.matrix.num_rows);
  EXPECT_LE(relative_difference(applied_to<double, Space>(m, b), solve(expected.factors, b)), 10 * tolerance);
}

/// Values at random, so that no two are of the same size.
std::vector<Case> without_ties() {
  std::vector<Case> cases;
  for (const int n : {1, 2, 3, 31, 32, 33, 67, 129})
    cases.push_back({"random:" + std::to_string(n), random_general(n, 0.08, 7u + n)});
  cases.push_back({"257", random_general(257, 0.02, 3)});
  cases.push_back({"a rank's part", with_columns_of_other_ranks(random_general(57, 0.1, 8))});
  return cases;
}

TYPED_TEST(ParIlutTest, StepsEqualTheSequentialOnes) {
  for (const Case& test : without_ties())
    for (const int steps : {0, 1, 3})
      for (const double fill_factor : {0.5, 1.0, 2.0})
        check_steps<TypeParam>(test, with_steps(steps, fill_factor), 1e-11);
  check_steps<TypeParam>({"shift", random_general(67, 0.1, 5)}, with_steps(3, 1.5, 0.3), 1e-12);
  check_steps<TypeParam>({"nothing kept", random_general(67, 0.1, 5)}, with_steps(1, 0), 1e-12);
}

TYPED_TEST(ParIlutTest, AllCandidatesOfAwkwardMatrices) {
  for (const Case& test : general_matrices()) check_steps<TypeParam>(test, with_steps(2, 1000), 1e-11);
  for (const Case& test : awkward_ilu_matrices()) check_steps<TypeParam>(test, with_steps(1, 1000), 1e-8);
}

TYPED_TEST(ParIlutTest, ManyStepsWithAllFillAreTheExactFactors) {
  const auto host = random_general(67, 0.05, 3);
  const auto x = waves_of(67);
  ParIlut<double, TypeParam> m(with_steps(40, 1000));
  m.numeric(TypeParam(), to_device<TypeParam>(host));
  EXPECT_LE(residual_of(m.report()), 1e-14);
  EXPECT_LE(relative_difference(applied_to<double, TypeParam>(m, multiply(host, x)),
                                LongVector(x.begin(), x.end())),
            1e-11);
}

TYPED_TEST(ParIlutTest, FewerIterationsThanIlu0) {
  const auto a = generated("convection_diffusion3d:12");
  const auto ilu0 = iterations<TypeParam>(a, "ilu0", {}, 500);
  const auto ilut = iterations<TypeParam>(a, "par_ilut", {}, 500);
  EXPECT_LT(ilut, ilu0);
  const auto more = iterations<TypeParam>(a, "par_ilut", {{"fill_factor", 4.0}}, 500);
  EXPECT_LT(more, ilut);
  ParIlut<double, TypeParam> m;
  m.numeric(TypeParam(), to_device<TypeParam>(a));
  const auto in_triangles = static_cast<std::int64_t>(a.nnz()) - a.num_rows;
  EXPECT_EQ(m.report().nnz, a.num_rows + 2 * in_triangles);
}

TYPED_TEST(ParIlutTest, HasTheSameBits) {
  const auto host = generated("convection_diffusion3d:8");  // with entries of the same size
  const auto of = [&](const TypeParam& space) {
    ParIlut<double, TypeParam> m(with_steps(3, 1.5));
    return factored(m, host, space);
  };
  const auto first = of(TypeParam());
  EXPECT_TRUE(of(TypeParam()) == first);
  if constexpr (is_host_space<TypeParam>) {
    EXPECT_TRUE(of(of_one_thread<TypeParam>()) == first);
  }
}

TYPED_TEST(ParIlutTest, TheLargestAreKeptOfEqualOnesTheFirst) {
  const auto check = [](const auto& values) {
    using Scalar = std::decay_t<decltype(values[0])>;
    const auto device = to_device<TypeParam>(values);
    for (const std::int64_t count : {0, 1, 2, 5, 31, 32, 33, 100, 1000000}) {
      std::vector<std::size_t> order(values.size());
      for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
      std::stable_sort(order.begin(), order.end(),
                       [&](auto p, auto q) { return std::abs(values[p]) > std::abs(values[q]); });
      std::vector<char> expected(values.size(), 0);
      for (std::size_t k = 0; k < order.size() && static_cast<std::int64_t>(k) < count; ++k)
        expected[order[k]] = 1;
      const auto found = impl::par_ilu::select_largest<Scalar, TypeParam>(
          TypeParam(), VectorView<const Scalar, TypeParam>(device), count);
      ASSERT_EQ(to_vector(found.keep), expected) << count;
      if (count > 0 && static_cast<std::size_t>(count) < values.size()) {
        EXPECT_EQ(found.threshold, double(std::abs(values[order[count - 1]])));
      }
    }
  };
  for (const int n : {0, 1, 2, 33, 257}) {
    std::vector<double> x(n), equal(n);
    std::vector<float> y(n);
    for (int k = 0; k < n; ++k) {
      x[k] = std::sin(1.0 + 3.0 * k) * std::pow(10.0, k % 300 - 150);
      y[k] = static_cast<float>(std::sin(2.0 + 5.0 * k));
      equal[k] = (k % 3 == 0 ? -0.5 : 0.5) * (k % 7 == 0 ? 2 : k % 5 == 0 ? 0 : 1);
    }
    check(x);
    check(y);
    check(equal);
  }
}

TYPED_TEST(ParIlutTest, NumericTakesNewValues) {
  const auto host = random_general(67, 0.1, 5);
  auto changed = host;
  for (double& value : changed.values) value *= 1.5 + 0.3 * std::sin(value);
  for (const Reuse reuse : {Reuse::pattern, Reuse::none}) {
    auto options = with_steps(4, 2);
    options.reuse = reuse;
    ParIlut<double, TypeParam> m(options), fresh(options);
    const auto before = factored(m, host);
    EXPECT_FALSE(m.report().pattern_kept);
    const auto after = factored(m, changed);
    EXPECT_EQ(m.report().pattern_kept, reuse == Reuse::pattern);
    if (reuse == Reuse::none) {
      EXPECT_TRUE(factored(fresh, changed) == after);
      continue;
    }
    for (std::size_t i = 0; i < after.lower.size(); ++i) {
      ASSERT_EQ(after.lower[i].size(), before.lower[i].size());
      for (const auto& [j, value] : before.lower[i]) ASSERT_EQ(after.lower[i].count(j), 1u);
    }
    EXPECT_LT(residual_of(m.report()), 1e-3);
  }
  ParIlut<double, TypeParam> m;
  m.symbolic(TypeParam(), to_device<TypeParam>(host));
  EXPECT_THAT(message_of<InputError>(
                  [&] { m.numeric(TypeParam(), to_device<TypeParam>(random_general(67, 0.2, 6))); }),
              HasSubstr("call symbolic again"));
}

TYPED_TEST(ParIlutTest, BreakdownsShiftsAndWhatIsNotFinite) {
  const HostMatrix<double> zero = sparse<double>({{4, 4, 0}, {4, 4, 0}, {0, 0, 5}});
  check_steps<TypeParam>({"", zero}, with_steps(2, 2), 1e-13);
  ParIlut<double, TypeParam> m;
  m.numeric(TypeParam(), to_device<TypeParam>(zero));
  EXPECT_EQ(m.shift(), 1e-3);
  EXPECT_EQ(m.report().breakdowns.count, 0);
  auto host = random_general(67, 0.2, 3);
  host.values[host.row_ptrs[11]] = std::nan("");
  for (std::size_t k = host.row_ptrs[40]; k < host.row_ptrs[41]; ++k)
    if (host.col_idxs[k] == 40) host.values[k] = 0;
  for (std::size_t k = host.row_ptrs[50]; k < host.row_ptrs[51]; ++k)
    if (host.col_idxs[k] != 50) host.values[k] = 1e300;
  m.symbolic(TypeParam(), to_device<TypeParam>(host));
  m.numeric(TypeParam(), to_device<TypeParam>(host));
  EXPECT_GE(m.report().breakdowns.count, 2);
  EXPECT_EQ(m.report().breakdowns.first_row, 11);
  for (const double value : applied_to<double, TypeParam>(m, waves_of(67))) ASSERT_TRUE(std::isfinite(value));
  auto far = random_dense(41, 4);
  ParIlut<double, TypeParam> diverging(with_steps(5, 2));
  diverging.numeric(TypeParam(), to_device<TypeParam>(far));
  EXPECT_THAT(diverging.report().notes, Contains(HasSubstr("the sweeps diverge, and A's own triangles")));
  for (const double value : applied_to<double, TypeParam>(diverging, waves_of(41)))
    ASSERT_TRUE(std::isfinite(value));
}

TYPED_TEST(ParIlutTest, SaysWhatItIs) {
  const auto m = create_preconditioner<double, TypeParam>("par_ilut");
  EXPECT_EQ(m->name(), "par_ilut");
  EXPECT_FALSE(m->is_symmetric());
  m->numeric(TypeParam(), to_device<TypeParam>(generated("poisson2d:9")));
  EXPECT_THAT(m->report().notes, Contains(HasSubstr("5 steps: 288 entries of L and 288 of U, of size ")));
  EXPECT_GT(m->report().bytes, 8 * m->report().nnz);
  const TypeParam space;
  const MultiVector<double, TypeParam> x("x", 81, 3), y("y", 81, 3);
  const auto workspace = m->make_workspace(space, 3);
  ToolEvents events;
  m->apply(space, x, y, *workspace);
  EXPECT_TRUE(events.fences().empty());
  EXPECT_TRUE(events.allocations().empty());
  HostMatrix<double> none;
  none.num_cols = 3;
  m->symbolic(space, to_device<TypeParam>(none));
  m->numeric(space, to_device<TypeParam>(none));
  m->numeric(space, to_device<TypeParam>(none));
  EXPECT_TRUE((applied_to<double, TypeParam>(*m, std::vector<double>{}).empty()));
  const auto small =
      create_preconditioner<double, TypeParam>("par_ilut", {{"memory_budget", std::int64_t(6000)}});
  EXPECT_THAT(
      message_of<InputError>([&] { small->numeric(space, to_device<TypeParam>(generated("poisson2d:9"))); }),
      HasSubstr("lower fill_factor or raise memory_budget"));
  EXPECT_THROW((create_preconditioner<double, TypeParam>("par_ilut", {{"fill_factor", -1.0}})), OptionError);
}

/// Every entry of the matrix becomes a candidate, and each is a product of 10^2 entries in a sweep.
TYPED_TEST(ParIlutTest, ARowOfMostEntriesIsRefusedWithTheReason) {
  const auto set_up = [](const HostMatrix<double>& a, const ParIlutOptions& options = {}) {
    ParIlut<double, TypeParam>(options).numeric(TypeParam(), to_device<TypeParam>(a));
  };
  EXPECT_NO_THROW(set_up(star(100, {0})));
  EXPECT_THAT(
      message_of<InputError>([&] { set_up(star(900, {0})); }),
      AllOf(HasSubstr("the list of candidates would have 812697 entries"), HasSubstr("raise memory_budget")));
  ParIlutOptions allowed;
  allowed.steps = 1;
  allowed.memory_budget = std::int64_t(1) << 30;
  EXPECT_NO_THROW(set_up(star(500, {0}), allowed));
  EXPECT_THROW(set_up(star(500, {0})), InputError);
  for (const char* spec : {"elasticity3d:5", "poisson3d:12", "circuit:24"})
    EXPECT_NO_THROW(set_up(generated(spec))) << spec;
}

}  // namespace
}  // namespace prekond::testing
