// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/ilu_cases.hpp"
#include "testing/one_thread.hpp"
#include "testing/preconditioned_iterations.hpp"
#include "testing/reference_par_ilu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/precond/par_ilu.hpp>
#include <prekond/precond/registry.hpp>

namespace prekond::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

template <class Space>
class ParIluTest : public ::testing::Test {};
TYPED_TEST_SUITE(ParIluTest, TestSpaces, SpaceNames);

ParIluOptions with_sweeps(int sweeps, int level = 0) {
  ParIluOptions options;
  options.shift = 0;
  options.sweeps = sweeps;
  options.level = level;
  return options;
}
ParIluOptions ic_with_sweeps(int sweeps, int level = 0) {
  ParIluOptions options = with_sweeps(sweeps, level);
  options.kind = IncompleteKind::ic;
  return options;
}

/// The residuals of a report's notes.
struct Residuals {
  double before = -1, after = -1;
};
Residuals residuals_of(const Report& report) {
  Residuals result;
  const std::string was = "|A_S| was ", is = ", and is ";
  for (const std::string& note : report.notes) {
    const auto first = note.find(was), second = note.find(is);
    if (first == std::string::npos || second == std::string::npos) continue;
    result.before = std::stod(note.substr(first + was.size()));
    result.after = std::stod(note.substr(second + is.size()));
  }
  return result;
}

void expect_factors(const HostFactors<double>& found, const ReferenceIlu& expected, const ReferenceFill& fill,
                    double tolerance) {
  ASSERT_NO_FATAL_FAILURE(expect_triangle(found.lower, expected.lower, fill.lower, tolerance));
  ASSERT_NO_FATAL_FAILURE(expect_triangle(found.upper, expected.upper, fill.upper, tolerance));
  for (std::size_t i = 0; i < found.pivots.size(); ++i)
    ASSERT_NEAR(found.pivots[i] * expected.pivots[i], 1,
                tolerance * std::max(1.0L, std::abs(1 / expected.pivots[i])))
        << "row " << i;
}

/// Pattern, factors, what is counted and noted, and M^-1 b, against the sequential sweeps.
template <class Scalar, class Space>
void check_sweeps(const Case& test, const ParIluOptions& options, double tolerance) {
  const bool symmetric = options.kind == IncompleteKind::ic;
  SCOPED_TRACE(test.name + ", level " + std::to_string(options.level) + ", sweeps " +
               std::to_string(options.sweeps));
  const auto host = convert<Scalar>(test.matrix);
  ParIlu<Scalar, Space> m(options);
  const auto found = factored<Scalar, Space>(m, host);
  const auto expected =
      reference_par_ilu(host, options.level, symmetric ? ReferenceKind::ic : ReferenceKind::ilu,
                        options.sweeps, options.shift.value_or(0));
  const ReferenceFill fill = reference_fill(host, options.level);
  EXPECT_EQ(m.report().breakdowns.count, expected.factors.replaced + without_diagonal(host));
  const Residuals noted = residuals_of(m.report());
  EXPECT_NEAR(noted.before, expected.before, 1e-5 * expected.before + tolerance);
  if (expected.after < 1e3) {
    EXPECT_NEAR(noted.after, expected.after, 1e-5 * expected.after + tolerance);
  }
  ASSERT_NO_FATAL_FAILURE(expect_triangle(found.lower, expected.factors.lower, fill.lower, tolerance));
  ASSERT_NO_FATAL_FAILURE(expect_triangle(found.upper, expected.factors.upper, fill.upper, tolerance));
  for (std::size_t i = 0; i < found.pivots.size(); ++i)
    ASSERT_NEAR(found.pivots[i] * expected.factors.pivots[i], 1,
                tolerance * std::max(1.0L, std::abs(1 / expected.factors.pivots[i])))
        << "row " << i;
  const auto wave = waves_of(host.num_rows);
  const std::vector<Scalar> b(wave.begin(), wave.end());
  EXPECT_LE(relative_difference(applied_to<Scalar, Space>(m, b), solve(expected.factors, b)), 10 * tolerance);
}

TYPED_TEST(ParIluTest, SweepsEqualTheSequentialOnes) {
  for (const int sweeps : {0, 1, 4}) {
    for (const Case& test : relaxation_matrices())
      check_sweeps<double, TypeParam>(test, with_sweeps(sweeps), 1e-12);
    for (const Case& test : general_matrices()) {
      check_sweeps<double, TypeParam>(test, with_sweeps(sweeps, 2), 1e-12);
      check_sweeps<float, TypeParam>(test, with_sweeps(sweeps), 1e-4);
    }
    for (const Case& test : awkward_ilu_matrices())
      check_sweeps<double, TypeParam>(test, with_sweeps(sweeps, 1), 1e-9);
  }
}

TYPED_TEST(ParIluTest, SweepsOfCholeskyEqualTheSequentialOnes) {
  for (const int sweeps : {0, 1, 4}) {
    for (const Case& test : small_matrices()) {
      check_sweeps<double, TypeParam>(test, ic_with_sweeps(sweeps), 1e-12);
      check_sweeps<double, TypeParam>(test, ic_with_sweeps(sweeps, 1), 1e-12);
      check_sweeps<float, TypeParam>(test, ic_with_sweeps(sweeps), 1e-4);
    }
    for (const char* spec : {"poisson3d:23", "elasticity3d:8", "circuit:48"})
      check_sweeps<double, TypeParam>({spec, generated(spec)}, ic_with_sweeps(sweeps), 1e-12);
  }
}

template <class Space>
int levels_of(const HostMatrix<double>& host, int level) {
  const auto pattern =
      fill_pattern<Space>(Space(), to_device<Space>(host), level, std::int64_t(1) << 40, true);
  return level_schedule<Space>(Space(), CsrGraphView<Space>(pattern.lower), Triangle::lower).num_levels();
}

TYPED_TEST(ParIluTest, AsManySweepsAsLevelsAreExact) {
  int later = 0;
  for (const Case& test : relaxation_matrices())
    for (const int level : {0, 1}) {
      SCOPED_TRACE(test.name + ", level " + std::to_string(level));
      if (test.matrix.num_rows > 700) continue;
      const int levels = levels_of<TypeParam>(test.matrix, level);
      const auto expected = reference_ilu(test.matrix, level, ReferenceKind::ilu);
      const auto fill = reference_fill(test.matrix, level);
      if (expected.replaced > 0) continue;
      ParIlu<double, TypeParam> m(with_sweeps(levels - 1, level));
      // Sweeps may grow before they end, and their rounding with them; some more take that away.
      expect_factors(factored(m, test.matrix), expected, fill, 1e-8);
      EXPECT_LE(residuals_of(m.report()).after, 1e-9);
      ParIlu<double, TypeParam> more(with_sweeps(2 * levels, level));
      expect_factors(factored(more, test.matrix), expected, fill, 1e-12);
      EXPECT_LE(residuals_of(more.report()).after, 1e-14);
      ParIlu<double, TypeParam> less(with_sweeps(levels / 2, level));
      less.numeric(TypeParam(), to_device<TypeParam>(test.matrix));
      later += residuals_of(less.report()).after > 1e-12 ? 1 : 0;
    }
  EXPECT_GT(later, 5);
  for (const Case& test : small_matrices()) {
    SCOPED_TRACE(test.name);
    ParIlu<double, TypeParam> m(ic_with_sweeps(levels_of<TypeParam>(test.matrix, 0) - 1));
    const auto expected = reference_ilu(test.matrix, 0, ReferenceKind::ic);
    if (expected.replaced == 0)
      expect_factors(factored(m, test.matrix), expected, reference_fill(test.matrix, 0), 1e-12);
  }
}

TYPED_TEST(ParIluTest, SweepsThatWouldChangeNothingAreLeftOut) {
  const auto host = random_general(23, 0.3, 7);
  ParIlu<double, TypeParam> m(with_sweeps(1000000)), enough(with_sweeps(46)), less(with_sweeps(45));
  for (auto* method : {&m, &enough, &less}) method->keep_factors();
  const ToolEvents events;
  m.numeric(TypeParam(), to_device<TypeParam>(host));
  const auto kernels = events.kernels();
  EXPECT_EQ(std::count(kernels.begin(), kernels.end(), "prekond::par_ilu::numeric::sweep"), 46);
  EXPECT_THAT(m.report().notes, Contains(HasSubstr("46 sweeps")));
  // The last of these changes nothing either.
  for (auto* method : {&enough, &less}) {
    method->numeric(TypeParam(), to_device<TypeParam>(host));
    EXPECT_EQ(to_vector(m.factor_lower().values), to_vector(method->factor_lower().values));
    EXPECT_EQ(to_vector(m.factor_upper().values), to_vector(method->factor_upper().values));
  }
  EXPECT_EQ(m.report().numeric_flops, enough.report().numeric_flops);
  EXPECT_GT(m.report().numeric_flops, less.report().numeric_flops);
  EXPECT_THAT(less.report().notes, Contains(HasSubstr("45 sweeps")));
}

TYPED_TEST(ParIluTest, SweepsHaveTheSameBits) {
  const auto host = random_general(257, 0.03, 9);
  const auto of = [&](const TypeParam& space) {
    ParIlu<double, TypeParam> m(with_sweeps(3, 1));
    return factored(m, host, space);
  };
  const auto first = of(TypeParam());
  for (int repetition = 0; repetition < 3; ++repetition) EXPECT_TRUE(of(TypeParam()) == first);
  if constexpr (is_host_space<TypeParam>) {
    EXPECT_TRUE(of(of_one_thread<TypeParam>()) == first);
  }
}

TYPED_TEST(ParIluTest, ResidualsFallAndSoDoIterations) {
  const auto host = generated("convection_diffusion3d:12");
  double last = 1;
  std::vector<std::int64_t> counts;
  for (const int sweeps : {0, 1, 2, 4, 8}) {
    ParIlu<double, TypeParam> m(with_sweeps(sweeps));
    m.numeric(TypeParam(), to_device<TypeParam>(host));
    const Residuals noted = residuals_of(m.report());
    EXPECT_LT(noted.after, last) << sweeps;
    last = noted.after;
    if (sweeps == 0) {
      EXPECT_EQ(noted.before, noted.after);
    }
    counts.push_back(iterations<TypeParam>(host, "par_ilu", {{"sweeps", std::int64_t(sweeps)}}, 500));
  }
  EXPECT_LT(last, 1e-3);
  EXPECT_LT(counts.back(), counts.front());
  EXPECT_LE(counts[3], iterations<TypeParam>(host, "ilu0", {}, 500) + 2);
}

TYPED_TEST(ParIluTest, PivotsThatBreakDownAreReplacedAndCounted) {
  const HostMatrix<double> negative = sparse<double>({{1, 2, 0}, {2, 1, 0}, {0, 0, 5}});
  const HostMatrix<double> zero = sparse<double>({{1, 1, 0}, {1, 1, 0}, {0, 0, 5}});
  const HostMatrix<double> tiny = sparse<double>({{1, 1, 0}, {1, 1 + 1e-9, 0}, {0, 0, 5}});
  for (const auto& host : {negative, zero, tiny}) {
    check_sweeps<double, TypeParam>({"", host}, with_sweeps(3), 1e-13);
    check_sweeps<double, TypeParam>({"", host}, ic_with_sweeps(3), 1e-13);
  }
  ParIlu<double, TypeParam> m(ic_with_sweeps(3));
  m.numeric(TypeParam(), to_device<TypeParam>(negative));
  EXPECT_EQ(m.report().breakdowns.count, 1);
  EXPECT_EQ(m.report().breakdowns.first_row, 1);
  EXPECT_EQ(m.report().breakdowns.first_pivot, -3);
  EXPECT_THAT(m.report().breakdowns.action, HasSubstr("1 rows of the factors fell back to their diagonal"));
}

TYPED_TEST(ParIluTest, ShiftsEndBreakdowns) {
  const HostMatrix<double> zero = sparse<double>({{4, 4, 0}, {4, 4, 0}, {0, 0, 5}});
  ParIlu<double, TypeParam> m;
  m.numeric(TypeParam(), to_device<TypeParam>(zero));
  EXPECT_EQ(m.shift(), 1e-3);
  EXPECT_EQ(m.report().breakdowns.count, 0);
  EXPECT_EQ(m.report().notes[0],
            "shift 0: 1 row broke down, the first is row 2 with the pivot 0 of its diagonal entry");
  for (const double shift : {0.01, 0.5}) {
    auto of_ilu = with_sweeps(3);
    of_ilu.shift = shift;
    check_sweeps<double, TypeParam>({"ilu", random_general(67, 0.1, 5)}, of_ilu, 1e-12);
    auto of_ic = ic_with_sweeps(3);
    of_ic.shift = shift;
    check_sweeps<double, TypeParam>({"ic", generated("elasticity3d:3")}, of_ic, 1e-12);
  }
}

TYPED_TEST(ParIluTest, SweepsThatDivergeAreGivenUp) {
  // Far from diagonally dominant: the first sweeps grow.
  HostMatrix<double> host = random_general(67, 0.3, 4);
  for (std::int64_t i = 0; i < host.num_rows; ++i)
    for (std::size_t k = host.row_ptrs[i]; k < host.row_ptrs[i + 1]; ++k)
      if (host.col_idxs[k] == i) host.values[k] = 0.05;
  const auto options = with_sweeps(6);
  check_sweeps<double, TypeParam>({"", host}, options, 1e-11);
  ParIlu<double, TypeParam> m(options);
  const auto found = factored(m, host);
  EXPECT_THAT(m.report().notes, Contains(HasSubstr("the sweeps diverge, and A's own triangles are taken")));
  EXPECT_EQ(m.report().breakdowns.count, 0);
  const auto expected = reference_par_ilu(host, 0, ReferenceKind::ilu, 0);
  expect_factors(found, expected.factors, reference_fill(host, 0), 1e-13);
}

TYPED_TEST(ParIluTest, WhatIsNotFiniteOrSingularLeavesAFinitePreconditioner) {
  auto host = random_general(67, 0.2, 3);
  host.values[host.row_ptrs[11]] = std::nan("");
  for (std::size_t k = host.row_ptrs[40]; k < host.row_ptrs[41]; ++k)
    if (host.col_idxs[k] == 40) host.values[k] = 0;
  for (std::size_t k = host.row_ptrs[50]; k < host.row_ptrs[51]; ++k)
    if (host.col_idxs[k] != 50) host.values[k] = 1e300;
  auto singular = random_entries<double>(33, 33, 0.1, 8);
  for (std::size_t k = 0; k < singular.nnz(); ++k)
    if (singular.col_idxs[k] == 3 || singular.col_idxs[k] == 5) singular.values[k] = 0;
  const auto m = create_preconditioner<double, TypeParam>("par_ilu");
  m->numeric(TypeParam(), to_device<TypeParam>(host));
  EXPECT_GE(m->report().breakdowns.count, 2);
  EXPECT_EQ(m->report().breakdowns.first_row, 11);
  for (const double value : applied_to<double, TypeParam>(*m, waves_of(67)))
    ASSERT_TRUE(std::isfinite(value));
  m->symbolic(TypeParam(), to_device<TypeParam>(singular));
  m->numeric(TypeParam(), to_device<TypeParam>(singular));
  EXPECT_GE(m->report().breakdowns.count, 2);
  for (const double value : applied_to<double, TypeParam>(*m, waves_of(33)))
    ASSERT_TRUE(std::isfinite(value));
}

TYPED_TEST(ParIluTest, NumericTakesNewValues) {
  const auto host = random_general(67, 0.1, 5);
  auto changed = host;
  for (double& value : changed.values) value *= 1.5 + 0.3 * std::sin(value);
  ParIlu<double, TypeParam> m(with_sweeps(67, 1));
  m.numeric(TypeParam(), to_device<TypeParam>(host));
  EXPECT_FALSE(m.report().pattern_kept);
  m.numeric(TypeParam(), to_device<TypeParam>(changed));
  EXPECT_TRUE(m.report().pattern_kept);
  const auto b = waves_of(67);
  EXPECT_LE(relative_difference(applied_to<double, TypeParam>(m, b),
                                solve(reference_ilu(changed, 1, ReferenceKind::ilu), b)),
            1e-12);
}

TYPED_TEST(ParIluTest, LevelsAreFoundWhereTheSolvesNeedThem) {
  const auto a = to_device<TypeParam>(generated("poisson2d:9"));
  const auto kernels_of_levels = [&](const char* name, const char* method) {
    const auto m = create_preconditioner<double, TypeParam>(name, {{"solve.method", std::string(method)}});
    ToolEvents events;
    m->symbolic(TypeParam(), a);
    int count = 0;
    for (const std::string& kernel : events.kernels())
      count += kernel.find("level") != std::string::npos ? 1 : 0;
    return count;
  };
  for (const char* name : {"par_ilu", "par_ic"}) {
    EXPECT_EQ(kernels_of_levels(name, "jacobi"), 0);
    EXPECT_EQ(kernels_of_levels(name, "isai"), 0);
    EXPECT_GT(kernels_of_levels(name, "levels"), 0);
  }
}

TYPED_TEST(ParIluTest, IcIsSymmetricToTheLastBit) {
  const auto host = generated("elasticity3d:3");
  for (const int sweeps : {1, 5}) {
    ParIlu<double, TypeParam> m(ic_with_sweeps(sweeps, 1));
    const auto f = factored(m, host);
    for (int i = 0; i < static_cast<int>(host.num_rows); ++i) {
      EXPECT_GT(f.pivots[i], 0);
      for (const auto& [j, value] : f.lower[i]) ASSERT_EQ(value, f.upper[j].at(i));
    }
  }
}

TYPED_TEST(ParIluTest, IcRefusesWhatIsNotSymmetricPositive) {
  const auto m = create_preconditioner<double, TypeParam>("par_ic");
  EXPECT_THAT(
      message_of<InputError>([&] {
        m->numeric(TypeParam(), to_device<TypeParam>(sparse<double>({{4, 1, 0}, {0, 4, 1}, {1, 1, 4}})));
      }),
      HasSubstr("the pattern is not symmetric"));
  EXPECT_THAT(message_of<InputError>([&] {
                m->numeric(TypeParam(), to_device<TypeParam>(sparse<double>({{4, 1}, {1, -4}})));
              }),
              HasSubstr("the diagonal entry of row 2"));
  const auto large =
      create_preconditioner<double, TypeParam>("par_ilu", {{"memory_budget", std::int64_t(1024)}});
  EXPECT_THAT(message_of<InputError>(
                  [&] { large->numeric(TypeParam(), to_device<TypeParam>(generated("poisson2d:9"))); }),
              HasSubstr("raise memory_budget"));
}

TYPED_TEST(ParIluTest, AnApplicationAllocatesNothingAndDoesNotWait) {
  const TypeParam space;
  for (const char* spec : {"poisson2d:9", "circuit:9"})
    for (const char* name : {"par_ilu", "par_ic"}) {
      const auto m = create_preconditioner<double, TypeParam>(name);
      m->numeric(space, to_device<TypeParam>(generated(spec)));
      const MultiVector<double, TypeParam> x("x", m->num_rows(), 3), y("y", m->num_rows(), 3);
      const auto workspace = m->make_workspace(space, 3);
      ToolEvents events;
      m->apply(space, x, y, *workspace);
      EXPECT_TRUE(events.fences().empty());
      EXPECT_TRUE(events.allocations().empty());
    }
}

TYPED_TEST(ParIluTest, SaysWhatItIs) {
  HostMatrix<double> none;
  none.num_cols = 3;
  for (const char* name : {"par_ilu", "par_ic"}) {
    const auto m = create_preconditioner<double, TypeParam>(name, {{"level", std::int64_t(1)}});
    EXPECT_EQ(m->name(), name);
    const bool spd = std::string(name) == "par_ic";
    EXPECT_EQ(m->properties().needs_spd, spd) << name;
    EXPECT_EQ(m->is_symmetric(), spd) << name;
    m->numeric(TypeParam(), to_device<TypeParam>(generated("poisson2d:9")));
    EXPECT_EQ(m->report().nnz, 369 + 2 * 64) << name;
    EXPECT_THAT(m->report().notes, Contains(HasSubstr("5 sweeps: the residual")));
    EXPECT_GT(m->report().bytes, 8 * m->report().nnz);
    m->symbolic(TypeParam(), to_device<TypeParam>(none));
    m->numeric(TypeParam(), to_device<TypeParam>(none));
    EXPECT_EQ(m->num_rows(), 0);
    EXPECT_TRUE((applied_to<double, TypeParam>(*m, std::vector<double>{}).empty()));
  }
  EXPECT_THROW((create_preconditioner<double, TypeParam>("par_ilu", {{"sweeps", std::int64_t(-1)}})),
               OptionError);
}

}  // namespace
}  // namespace prekond::testing
