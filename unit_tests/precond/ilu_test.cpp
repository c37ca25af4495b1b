// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/ilu_cases.hpp"
#include "testing/one_thread.hpp"
#include "testing/preconditioned_iterations.hpp"
#include "testing/reference_eigenvalues.hpp"
#include "testing/stars.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/precond/registry.hpp>

#include "core/concurrency.hpp"

#include <limits>
#include <map>
#include <random>

namespace prekond::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pointwise;

template <class Space>
class IluTest : public ::testing::Test {};
TYPED_TEST_SUITE(IluTest, TestSpaces, SpaceNames);

template <class Options>
Options unshifted(FactorSchedule schedule = FactorSchedule::automatic, int level = 0) {
  Options options;
  options.level = level;
  options.shift = 0;
  if (schedule == FactorSchedule::levels) options.solve.method = TriangularMethod::levels;
  if (schedule == FactorSchedule::sync_free) options.solve.method = TriangularMethod::sync_free;
  return options;
}

constexpr IncompleteKind modified_kinds[] = {IncompleteKind::mic_gustafsson, IncompleteKind::mic_robert};

IcOptions modified_ic(IncompleteKind kind, FactorSchedule schedule = FactorSchedule::automatic,
                      int level = 0) {
  auto options = unshifted<IcOptions>(schedule, level);
  options.kind = kind;
  return options;
}

TYPED_TEST(IluTest, Ilu0EqualsTheSequentialOne) {
  for (const FactorSchedule schedule : {FactorSchedule::levels, FactorSchedule::sync_free}) {
    for (const Case& test : relaxation_matrices())
      check_factors<Ilu, double, TypeParam>(test, unshifted<IluOptions>(schedule), 1e-13);
    for (const Case& test : general_matrices())
      check_factors<Ilu, float, TypeParam>(test, unshifted<IluOptions>(schedule), 1e-4);
  }
}

TYPED_TEST(IluTest, AwkwardPatternsEqualTheSequentialOnes) {
  for (const FactorSchedule schedule : {FactorSchedule::levels, FactorSchedule::sync_free})
    for (const Case& test : awkward_ilu_matrices()) {
      check_factors<Ilu, double, TypeParam>(test, unshifted<IluOptions>(schedule), 1e-10);
      // The factors of the random matrix, which has zeros on its diagonal, multiply rounding errors.
      check_factors<Ilu, double, TypeParam>(test, unshifted<IluOptions>(schedule, 2), 4e-10);
    }
}

TYPED_TEST(IluTest, IlukEqualsTheSequentialOne) {
  for (const Case& test : general_matrices())
    for (const int level : {1, 3})
      check_factors<Ilu, double, TypeParam>(test, unshifted<IluOptions>(FactorSchedule::automatic, level),
                                            1e-12);
}

TYPED_TEST(IluTest, IcEqualsTheSequentialOne) {
  for (const FactorSchedule schedule : {FactorSchedule::levels, FactorSchedule::sync_free})
    for (const Case& test : small_matrices()) {
      check_factors<Ic, double, TypeParam>(test, unshifted<IcOptions>(schedule), 1e-13);
      for (const int level : {1, 2})
        check_factors<Ic, double, TypeParam>(test, unshifted<IcOptions>(schedule, level), 1e-13);
      check_factors<Ic, float, TypeParam>(test, unshifted<IcOptions>(schedule), 1e-4);
    }
  for (const char* spec : {"poisson3d:23", "elasticity3d:8", "circuit:48"})
    check_factors<Ic, double, TypeParam>({spec, generated(spec)}, unshifted<IcOptions>(), 1e-13);
}

TYPED_TEST(IluTest, MicEqualsTheSequentialOne) {
  for (const FactorSchedule schedule : {FactorSchedule::levels, FactorSchedule::sync_free})
    for (const Case& test : small_matrices())
      for (const IncompleteKind kind : modified_kinds)
        for (const int level : {0, 1})
          check_factors<Ic, double, TypeParam>(test, modified_ic(kind, schedule, level), 1e-11);
  for (const char* spec : {"poisson3d:23", "elasticity3d:8", "circuit:48"})
    check_factors<Ic, double, TypeParam>({spec, generated(spec)}, modified_ic(IncompleteKind::mic_robert),
                                         1e-13);
}

/// B B^T + shift I, where B has `width` random entries a row: positive definite, with entries of both signs
/// and without dominance.
HostMatrix<double> sparse_gram(int n, int width, double shift, unsigned seed) {
  std::mt19937_64 engine(seed);
  const auto uniform = [&] { return static_cast<double>(engine() >> 11) * 0x1p-53; };
  Dense b(n, std::vector<double>(n, 0)), a = b;
  for (auto& row : b)
    for (int k = 0; k < width; ++k) row[static_cast<int>(n * uniform())] = 2 * uniform() - 1;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k) a[i][j] += b[i][k] * b[j][k];
    a[i][i] += shift;
  }
  return sparse(a);
}

/// M - A of the scaled matrix, with eigenvalues in ascending order.
std::vector<double> eigenvalues_of_error(const HostFactors<double>& f, const HostMatrix<double>& host) {
  LongVector row_scale;
  const auto rows = scaled_rows(host, row_scale);
  const Dense product = product_of(f);
  std::vector<std::vector<long double>> error(product.size());
  for (std::size_t i = 0; i < product.size(); ++i) {
    error[i].assign(product[i].begin(), product[i].end());
    for (const auto& [j, value] : rows[i]) error[i][j] -= value;
  }
  return symmetric_eigenvalues(error);
}

TYPED_TEST(IluTest, RobertsExistsForEveryDefiniteMatrix) {
  std::map<IncompleteKind, int> broken;
  for (const unsigned seed : {1, 2, 3, 4, 5, 6})
    for (const int n : {29, 53}) {
      const auto host = sparse_gram(n, 3, 1e-3, seed);
      const double least = symmetric_eigenvalues(host, true).front();
      for (const int level : {0, 1}) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", level " + std::to_string(level));
        for (const IncompleteKind kind : {IncompleteKind::ic, IncompleteKind::mic_gustafsson}) {
          Ic<double, TypeParam> other(modified_ic(kind, FactorSchedule::automatic, level));
          other.numeric(TypeParam(), to_device<TypeParam>(host));
          broken[kind] += other.report().breakdowns.count > 0 ? 1 : 0;
        }
        const auto options = modified_ic(IncompleteKind::mic_robert, FactorSchedule::automatic, level);
        check_factors<Ic, double, TypeParam>({"gram", host}, options, 1e-11);
        Ic<double, TypeParam> m(options);
        const auto f = factored(m, host);
        EXPECT_EQ(m.report().breakdowns.count, 0);
        for (const double pivot : f.pivots) EXPECT_GE(1 / pivot, 0.999 * least);
        const auto error = eigenvalues_of_error(f, host);
        EXPECT_GE(error.front(), -1e-13 * error.back());
        EXPECT_GT(error.back(), 0.01) << "nothing was dropped";
      }
    }
  EXPECT_GE(broken[IncompleteKind::ic], 8);
  EXPECT_GE(broken[IncompleteKind::mic_gustafsson], 8);
}

/// The other rows are looked up in the long ones, not the long ones in them.
TYPED_TEST(IluTest, RowsThatMeetLongOnesEqualTheSequentialOnes) {
  for (const FactorSchedule schedule : {FactorSchedule::levels, FactorSchedule::sync_free})
    for (const Case& test : stars(331)) {
      check_factors<Ilu, double, TypeParam>(test, unshifted<IluOptions>(schedule), 1e-13);
      check_factors<Ic, double, TypeParam>(test, unshifted<IcOptions>(schedule), 1e-13);
      for (const IncompleteKind kind : modified_kinds)
        check_factors<Ic, double, TypeParam>(test, modified_ic(kind, schedule), 1e-12);
    }
}

TYPED_TEST(IluTest, TheProductIsTheMatrixOnThePattern) {
  for (const char* spec : {"convection_diffusion3d:5", "elasticity3d:3", "poisson2d:9"})
    for (const int level : {0, 1, 2}) {
      SCOPED_TRACE(std::string(spec) + ", level " + std::to_string(level));
      Ilu<double, TypeParam> m(unshifted<IluOptions>(FactorSchedule::automatic, level));
      const auto host = generated(spec);
      const auto f = factored(m, host);
      ASSERT_EQ(m.report().breakdowns.count, 0);
      LongVector row_scale;
      const auto rows = scaled_rows(host, row_scale);
      const auto product = product_of(f);
      const int n = static_cast<int>(host.num_rows);
      double filled = 0;
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
          const double a = rows[i].count(j) ? static_cast<double>(rows[i].at(j)) : 0;
          const bool inside = i == j || f.lower[i].count(j) || f.upper[i].count(j);
          if (inside)
            ASSERT_NEAR(product[i][j], a, 1e-12) << i << ", " << j;
          else
            filled = std::max(filled, std::abs(product[i][j] - a));
        }
      EXPECT_GT(filled, 1e-6) << "nothing was dropped";
    }
}

TYPED_TEST(IluTest, GustafssonsKeepsTheSumsOfTheRows) {
  auto scaled = generated("poisson2d:9");  // its diagonal is not constant
  for (int i = 0; i < 81; ++i)
    for (std::size_t k = scaled.row_ptrs[i]; k < scaled.row_ptrs[i + 1]; ++k)
      if (scaled.col_idxs[k] == i) scaled.values[k] += 10 * (i % 5);
  for (const auto& host : {generated("poisson3d:6"), generated("anisotropic2d:8"), scaled}) {
    Ic<double, TypeParam> m(modified_ic(IncompleteKind::mic_gustafsson));
    const auto f = factored(m, host);
    ASSERT_EQ(m.report().breakdowns.count, 0);
    const std::vector<double> ones(host.num_rows, 1);
    const LongVector expected(host.num_rows, 1);
    EXPECT_LE(relative_difference(applied_to<double, TypeParam>(m, multiply(host, ones)), expected), 1e-12);
    const auto product = product_of(f);
    for (int i = 0; i < static_cast<int>(host.num_rows); ++i) {
      double of_a = 0, of_m = 0, size = 0;
      for (std::size_t k = host.row_ptrs[i]; k < host.row_ptrs[i + 1]; ++k) {
        of_a += host.values[k];
        size += std::abs(host.values[k]);
      }
      for (int j = 0; j < static_cast<int>(host.num_rows); ++j)
        of_m += product[i][j] / f.row_scale[i] / std::abs(f.row_scale[j]);
      ASSERT_NEAR(of_m, of_a, 1e-12 * size) << "row " << i;
    }
  }
}

TYPED_TEST(IluTest, IcIsSymmetricToTheLastBit) {
  const auto host = generated("elasticity3d:3");
  const auto n = static_cast<std::size_t>(host.num_rows);
  for (const char* name : {"ic0", "ick", "mic_gustafsson", "mic_robert"}) {
    const auto m = create_preconditioner<double, TypeParam>(name);
    m->numeric(TypeParam(), to_device<TypeParam>(host));
    EXPECT_TRUE(m->is_symmetric()) << name;
    std::vector<std::vector<double>> identity(n, std::vector<double>(n, 0));
    for (std::size_t i = 0; i < n; ++i) identity[i][i] = 1;
    const auto inverse = applied_to<double, TypeParam>(*m, identity);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        ASSERT_NEAR(inverse[i][j], inverse[j][i], 1e-14 * std::sqrt(inverse[i][i] * inverse[j][j])) << name;
  }
  Ic<double, TypeParam> m;
  const auto f = factored(m, host);
  for (int i = 0; i < static_cast<int>(n); ++i)
    for (const auto& [j, value] : f.lower[i]) ASSERT_EQ(value, f.upper[j].at(i));
}

TYPED_TEST(IluTest, LevelsAndOneLaunchHaveTheSameBits) {
  const auto host = random_general(257, 0.03, 9);
  const auto of = [&](const TypeParam& space, FactorSchedule schedule) {
    Ilu<double, TypeParam> m(unshifted<IluOptions>(schedule, 1));
    return factored(m, host, space);
  };
  const auto levels = of(TypeParam(), FactorSchedule::levels);
  for (int repetition = 0; repetition < 5; ++repetition)
    EXPECT_TRUE(of(TypeParam(), FactorSchedule::sync_free) == levels);
  if constexpr (is_host_space<TypeParam>) {
    EXPECT_TRUE(of(of_one_thread<TypeParam>(), FactorSchedule::levels) == levels);
    EXPECT_TRUE(of(of_one_thread<TypeParam>(), FactorSchedule::sync_free) == levels);
  }
  if constexpr (is_host_space<TypeParam>) {
    // Levels with rows for all threads, each with a table of its own.
    const auto wide = generated("elasticity3d:12");
    const auto of_wide = [&](const TypeParam& space) {
      Ilu<double, TypeParam> m(unshifted<IluOptions>(FactorSchedule::levels, 1));
      return factored(m, wide, space);
    };
    const auto expected = of_wide(of_one_thread<TypeParam>());
    for (int repetition = 0; repetition < 5; ++repetition) EXPECT_TRUE(of_wide(TypeParam()) == expected);
  }
  const auto spd = random_spd(257, 0.03, 9);
  const auto of_robert = [&](FactorSchedule schedule) {
    Ic<double, TypeParam> m(modified_ic(IncompleteKind::mic_robert, schedule, 1));
    return factored(m, spd);
  };
  EXPECT_TRUE(of_robert(FactorSchedule::sync_free) == of_robert(FactorSchedule::levels));
}

TYPED_TEST(IluTest, WideLevelsHaveLaunchesOfTheirOwn) {
  // 300 rows a level, and between them small ones.
  const auto host = generated("poisson3d:32");
  check_factors<Ilu, double, TypeParam>({"poisson3d:32", host}, unshifted<IluOptions>(FactorSchedule::levels),
                                        1e-13);
  Ilu<double, TypeParam> m(unshifted<IluOptions>(FactorSchedule::levels));
  ToolEvents events;
  m.numeric(TypeParam(), to_device<TypeParam>(host));
  EXPECT_THAT(events.kernels(), Contains("prekond::ilu::numeric::factor_level"));
  EXPECT_THAT(events.kernels(), Contains("prekond::ilu::numeric::factor_small_levels"));
}

TYPED_TEST(IluTest, ARowThatWaitsInVainIsDoneAgain) {
  using namespace impl::ilu;
  const TypeParam space;
  const auto host = generated("poisson2d:9");
  const auto a = to_device<TypeParam>(host);
  const auto pattern = fill_pattern<TypeParam>(space, a, 1, std::int64_t(1) << 40, true);
  const auto by_levels =
      schedule_rows<TypeParam>(space, pattern.lower, pattern.upper, FactorSchedule::levels);
  auto reversed = schedule_rows<TypeParam>(space, pattern.lower, pattern.upper, FactorSchedule::sync_free);
  auto chunks = to_vector(reversed.chunks.bounds);
  ASSERT_GT(chunks.size(), 4u);
  std::reverse(chunks.begin(), chunks.end());
  for (std::size_t k = 0; k + 1 < chunks.size(); k += 2) std::swap(chunks[k], chunks[k + 1]);
  reversed.chunks.bounds = to_device<TypeParam>(chunks);
  for (const std::int64_t most_polls : {0, 100}) {
    reversed.most_polls = most_polls;
    Report report;
    Outcome expected_outcome, outcome;
    const auto expected = factor<double, TypeParam>(space, a, pattern, by_levels, IncompleteKind::ilu, 0,
                                                    report, expected_outcome);
    const auto found =
        factor<double, TypeParam>(space, a, pattern, reversed, IncompleteKind::ilu, 0, report, outcome);
    EXPECT_FALSE(expected_outcome.stalled);
    EXPECT_TRUE(outcome.stalled);
    EXPECT_EQ(to_vector(found.lower), to_vector(expected.lower));
    EXPECT_EQ(to_vector(found.upper), to_vector(expected.upper));
    EXPECT_EQ(to_vector(found.pivots), to_vector(expected.pivots));
    EXPECT_EQ(outcome.breakdowns.diagonals, 0);
  }
}

/// A host finds the columns of a row in a table, or by searches where tables would take too much memory.
TYPED_TEST(IluTest, TablesAndSearchesLeadToTheSameFactors) {
  using namespace impl::ilu;
  const TypeParam space;
  std::vector<HostMatrix<double>> matrices = {random_spd(257, 0.03, 9), random_spd(1, 1, 1),
                                              generated("elasticity3d:5"), sparse_gram(64, 3, 0.01, 3)};
  for (const Case& star : stars(331)) matrices.push_back(star.matrix);
  for (const HostMatrix<double>& host : matrices)
    for (const int level : {0, 2})
      for (const FactorSchedule how : {FactorSchedule::levels, FactorSchedule::sync_free})
        for (const IncompleteKind kind : {IncompleteKind::ilu, IncompleteKind::ic,
                                          IncompleteKind::mic_gustafsson, IncompleteKind::mic_robert}) {
          SCOPED_TRACE(std::to_string(host.num_rows) + " rows, level " + std::to_string(level) + ", kind " +
                       std::to_string(static_cast<int>(kind)) +
                       (how == FactorSchedule::levels ? ", levels" : ""));
          const auto a = to_device<TypeParam>(host);
          const auto pattern = fill_pattern<TypeParam>(space, a, level, std::int64_t(1) << 40, true);
          const auto& finished = kind == IncompleteKind::ic ? pattern.lower : pattern.upper;
          auto schedule = schedule_rows<TypeParam>(space, pattern.lower, finished, how);
          Report report;
          Outcome of_tables, of_searches;
          const auto tables =
              factor<double, TypeParam>(space, a, pattern, schedule, kind, 0, report, of_tables);
          schedule.by_tables = false;
          const auto searches =
              factor<double, TypeParam>(space, a, pattern, schedule, kind, 0, report, of_searches);
          const auto expect_equal = [](const auto& found, const auto& expected) {
            EXPECT_THAT(to_vector(found), Pointwise(::testing::DoubleNear(1e-11), to_vector(expected)));
          };
          expect_equal(tables.lower, searches.lower);
          expect_equal(tables.upper, searches.upper);
          expect_equal(tables.pivots, searches.pivots);
          EXPECT_EQ(of_tables.breakdowns.diagonals, of_searches.breakdowns.diagonals);
        }
}

TYPED_TEST(IluTest, NumericTakesNewValues) {
  const auto host = random_general(67, 0.1, 5);
  auto changed = host;
  for (double& value : changed.values) value *= 1.5 + 0.3 * std::sin(value);
  for (const bool anew : {false, true}) {
    Ilu<double, TypeParam> m(unshifted<IluOptions>(FactorSchedule::automatic, 1));
    m.numeric(TypeParam(), to_device<TypeParam>(host));
    EXPECT_FALSE(m.report().pattern_kept);
    ToolEvents events;
    if (anew) m.symbolic(TypeParam(), to_device<TypeParam>(changed));
    m.numeric(TypeParam(), to_device<TypeParam>(changed));
    EXPECT_EQ(m.report().pattern_kept, !anew);
    const auto& kernels = events.kernels();
    EXPECT_EQ(std::count(kernels.begin(), kernels.end(), "prekond::fill::fill_rows") > 0, anew);
    const auto b = waves_of(67);
    EXPECT_LE(relative_difference(applied_to<double, TypeParam>(m, b),
                                  solve(reference_ilu(changed, 1, ReferenceKind::ilu), b)),
              1e-13);
  }
  Ilu<double, TypeParam> m;
  m.symbolic(TypeParam(), to_device<TypeParam>(host));
  EXPECT_THAT(message_of<InputError>(
                  [&] { m.numeric(TypeParam(), to_device<TypeParam>(random_general(67, 0.2, 6))); }),
              HasSubstr("call symbolic again"));
}

TYPED_TEST(IluTest, PivotsThatBreakDownAreReplacedAndCounted) {
  // Row 1 ends with 1 - 2 * 2 < 0, with 1 - 1 = 0, or nearly.
  const HostMatrix<double> negative = sparse<double>({{1, 2, 0}, {2, 1, 0}, {0, 0, 5}});
  const HostMatrix<double> zero = sparse<double>({{1, 1, 0}, {1, 1, 0}, {0, 0, 5}});
  const HostMatrix<double> tiny = sparse<double>({{1, 1, 0}, {1, 1 + 1e-9, 0}, {0, 0, 5}});
  for (const auto& host : {negative, zero, tiny}) {
    check_factors<Ilu, double, TypeParam>({"", host}, unshifted<IluOptions>(), 1e-13);
    check_factors<Ic, double, TypeParam>({"", host}, unshifted<IcOptions>(), 1e-13);
    for (const IncompleteKind kind : modified_kinds)
      check_factors<Ic, double, TypeParam>({"", host}, modified_ic(kind), 1e-13);
  }
  Ic<double, TypeParam> m(unshifted<IcOptions>());
  m.numeric(TypeParam(), to_device<TypeParam>(negative));
  EXPECT_EQ(m.report().breakdowns.count, 1);
  EXPECT_EQ(m.report().breakdowns.first_row, 1);
  EXPECT_EQ(m.report().breakdowns.first_pivot, -3);
  EXPECT_THAT(m.report().breakdowns.action, HasSubstr("1 rows of the factors fell back to their diagonal"));
}

TYPED_TEST(IluTest, ShiftsEndBreakdowns) {
  // With the shift s the pivot of row 1 is 1 + s - 1 / (1 + s): above the root of epsilon from 0.001 on.
  const HostMatrix<double> zero = sparse<double>({{4, 4, 0}, {4, 4, 0}, {0, 0, 5}});
  const auto check = [&](auto m, const HostMatrix<double>& host, double shift, int tries, int left) {
    const auto f = factored(m, host);
    EXPECT_EQ(m.shift(), shift);
    EXPECT_EQ(m.report().breakdowns.count, left);
    int noted = 0;
    for (const std::string& note : m.report().notes) noted += note.rfind("shift ", 0) == 0 ? 1 : 0;
    EXPECT_EQ(noted, tries);
    return m.report().notes;
  };
  const auto notes = check(Ilu<double, TypeParam>(), zero, 1e-3, 2, 0);
  EXPECT_EQ(notes[0], "shift 0: 1 row broke down, the first is row 2 with the pivot 0 of its diagonal entry");
  EXPECT_EQ(notes[1], "shift 0.001: no pivot broke down");
  EXPECT_THAT(notes[2], ::testing::StartsWith("a matching brings large entries to the diagonal: --match"));
  check(Ic<double, TypeParam>(), zero, 1e-3, 2, 0);
  // 1 + s > 1.05 / (1 + s)
  const HostMatrix<double> more = sparse<double>({{1, 1.05, 0}, {1.05, 1, 0}, {0, 0, 5}});
  check(Ic<double, TypeParam>(), more, 0.1, 4, 0);
  IcOptions from;
  from.shift = 0.005;
  check(Ic<double, TypeParam>(from), more, 0.005, 0, 1);
  // No shift is enough: the first of the fewest.
  const HostMatrix<double> never = sparse<double>({{1, 9, 9, 0}, {9, 1, 9, 9}, {9, 9, 1, 0}, {0, 9, 0, 1}});
  Ic<double, TypeParam> of_never;
  const auto f = factored(of_never, never);
  std::vector<int> counts;
  const std::vector<double> ladder = {0, 1e-3, 1e-2, 0.1, 1};
  for (const double s : ladder) counts.push_back(reference_ilu(never, 0, ReferenceKind::ic, s).replaced);
  const auto fewest = std::min_element(counts.begin(), counts.end());
  ASSERT_GT(*fewest, 0);
  EXPECT_EQ(of_never.shift(), ladder[fewest - counts.begin()]);
  EXPECT_EQ(of_never.report().breakdowns.count, *fewest);
  // None breaks down, and no try is noted.
  check(Ilu<double, TypeParam>(), generated("poisson2d:9"), 0, 0, 0);
  IluOptions options;
  options.shift = 0.5;
  for (const char* spec : {"poisson2d:9", "elasticity3d:3"})
    check_factors<Ilu, double, TypeParam>({spec, generated(spec)}, options, 1e-13);
  IcOptions of_ic;
  of_ic.shift = 0.5;
  check_factors<Ic, double, TypeParam>({"ic", generated("elasticity3d:3")}, of_ic, 1e-13);
}

TYPED_TEST(IluTest, AllLevelsOfFillAreTheExactFactors) {
  const auto host = random_general(67, 0.05, 3);
  const auto x = waves_of(67);
  const LongVector expected(x.begin(), x.end());
  auto options = unshifted<IluOptions>(FactorSchedule::automatic, 1);
  options.level = 1000;
  Ilu<double, TypeParam> m(options);
  m.numeric(TypeParam(), to_device<TypeParam>(host));
  EXPECT_LE(relative_difference(applied_to<double, TypeParam>(m, multiply(host, x)), expected), 1e-12);
  Ilu<double, TypeParam> ilu0;
  ilu0.numeric(TypeParam(), to_device<TypeParam>(host));
  EXPECT_GE(relative_difference(applied_to<double, TypeParam>(ilu0, multiply(host, x)), expected), 1e-3);
}

TYPED_TEST(IluTest, MoreFillLeadsToFewerIterations) {
  const auto a = generated("convection_diffusion3d:12");
  const auto jacobi = iterations<TypeParam>(a, "jacobi", {}, 500);
  const auto ilu0 = iterations<TypeParam>(a, "ilu0", {}, 500);
  const auto ilu2 = iterations<TypeParam>(a, "iluk", {{"level", std::int64_t(2)}}, 500);
  EXPECT_LT(ilu0, jacobi);
  EXPECT_LT(ilu2, ilu0);
}

/// All rows after the first fill up.
TYPED_TEST(IluTest, ListenerIsToldBeforeAFactorisationOfMoreThanAMinute) {
  if (!is_host_space<TypeParam>) GTEST_SKIP() << "a device takes less";
  const auto space = of_one_thread<TypeParam>();
  for (const auto& [n, told] : {std::pair{300, 0u}, {4400, 1u}}) {
    Ilu<double, TypeParam> m(unshifted<IluOptions>(FactorSchedule::automatic, 1));
    std::vector<std::string> found;
    m.set_listener([&](const std::string& text) { found.push_back(text); });
    m.symbolic(space, to_device<TypeParam>(star(n, {0})));
    ASSERT_EQ(found.size(), told) << n;
    for (const std::string& text : found)
      EXPECT_THAT(text, HasSubstr("the factorisation meets 2.8e+10 entries, which may take"));
  }
}

/// Two threads would wait for each other at every level; a matrix of two wide levels is different.
TYPED_TEST(IluTest, NarrowLevelsAreLeftToOneThreadOfTwo) {
  if (!is_host_space<TypeParam>) GTEST_SKIP() << "levels of a host";
  const int n = 2000000;
  const auto narrow = generated("elasticity3d:9");
  HostMatrix<double> wide;
  wide.num_rows = wide.num_cols = n;
  for (int i = 0; i < n; ++i) {
    // Rows of the second half have one before: two levels of n / 2 rows.
    if (i >= n / 2) {
      wide.col_idxs.push_back(i - n / 2);
      wide.values.push_back(-1);
    }
    wide.col_idxs.push_back(i);
    wide.values.push_back(4);
    wide.row_ptrs.push_back(wide.nnz());
  }
  for (const int threads : {1, 2}) {
    const TypeParam space = threads == 1 ? of_one_thread<TypeParam>() : TypeParam();
    if (concurrency(space) != threads) continue;
    const auto notes_of = [&](const HostMatrix<double>& a,
                              FactorSchedule schedule = FactorSchedule::automatic) {
      Ilu<double, TypeParam> m(unshifted<IluOptions>(schedule));
      m.numeric(space, to_device<TypeParam>(a));
      return m.report().notes;
    };
    EXPECT_THAT(notes_of(narrow), Contains(HasSubstr("factored by one thread, row by row")));
    EXPECT_THAT(notes_of(wide), Contains(HasSubstr("2 levels of rows; factored level by level")));
    EXPECT_THAT(notes_of(narrow, FactorSchedule::levels), Contains(HasSubstr("factored level by level")));
  }
}

TYPED_TEST(IluTest, SaysWhatItIs) {
  for (const char* name : {"ilu0", "iluk", "ic0", "ick", "mic_gustafsson", "mic_robert"}) {
    const auto m = create_preconditioner<double, TypeParam>(name);
    EXPECT_EQ(m->name(), name);
    const bool spd = name[1] == 'c' || name[1] == 'i';
    EXPECT_EQ(m->properties().needs_spd, spd) << name;
    EXPECT_EQ(m->is_symmetric(), spd) << name;
    const auto inexact =
        create_preconditioner<double, TypeParam>(name, {{"solve.method", std::string("isai")}});
    EXPECT_EQ(inexact->is_symmetric(), spd) << name;
    EXPECT_EQ(inexact->is_nonsymmetric(), !spd) << name;
    m->numeric(TypeParam(), to_device<TypeParam>(generated("poisson2d:9")));
    const Report& report = m->report();
    EXPECT_EQ(report.nnz, std::string(name).back() == 'k' ? 369 + 2 * 64 : 369) << name;
    EXPECT_THAT(report.notes, Contains(HasSubstr("levels of rows")));
    EXPECT_GT(report.bytes, 8 * report.nnz);
  }
  EXPECT_THROW((create_preconditioner<double, TypeParam>("ilu0", {{"shift", -1.0}})), OptionError);
  EXPECT_THROW((Ic<double, TypeParam>(modified_ic(IncompleteKind::ilu))), OptionError);
}

}  // namespace
}  // namespace prekond::testing
