// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/ilut_cases.hpp"
#include "testing/one_thread.hpp"
#include "testing/solver_iterations.hpp"
#include "testing/stars.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/precond/registry.hpp>

#include <limits>

namespace prekond::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <class Space>
class IlutTest : public ::testing::Test {};
TYPED_TEST_SUITE(IlutTest, TestSpaces, SpaceNames);

struct Dropping {
  int p;
  double tau;
};
constexpr Dropping droppings[] = {{0, 1e-3}, {1, 0}, {3, 0.02}, {10, 1e-3}, {1000, 0}, {1000, 0.1}, {5, 10}};

template <class Space>
impl::ilut::ThresholdRules<Space> rules_of(const Dropping& dropping, bool symmetric = false) {
  impl::ilut::ThresholdRules<Space> rules;
  rules.owner = symmetric ? "ict" : "ilut";
  rules.symmetric = symmetric;
  rules.p = dropping.p;
  rules.tau = dropping.tau;
  return rules;
}

TYPED_TEST(IlutTest, IlutEqualsTheSequentialOne) {
  for (const Dropping& dropping : droppings) {
    for (const Case& test : general_matrices())
      check_threshold<double, TypeParam>(test, rules_of<TypeParam>(dropping), 1e-13);
    for (const char* spec : {"poisson3d:9", "circuit:24", "convection_diffusion3d:9,peclet=100"})
      check_threshold<double, TypeParam>({spec, generated(spec)}, rules_of<TypeParam>(dropping), 1e-13);
  }
  for (const int n : {1, 2, 31, 32, 33, 257})
    for (const Dropping& dropping : {Dropping{4, 1e-2}, Dropping{20, 1e-4}})
      check_threshold<double, TypeParam>({"random:" + std::to_string(n), random_general(n, 0.05, 11u + n)},
                                         rules_of<TypeParam>(dropping), 1e-13);
}

TYPED_TEST(IlutTest, AwkwardPatternsEqualTheSequentialOnes) {
  for (const Case& test : awkward_ilu_matrices())
    for (const Dropping& dropping : {Dropping{3, 0.02}, Dropping{12, 0.01}})
      check_threshold<double, TypeParam>(test, rules_of<TypeParam>(dropping), 1e-10);
  for (const Dropping& dropping : {Dropping{3, 0.02}, Dropping{1000, 1e-3}})
    check_threshold<double, TypeParam>(
        {"a rank's part", with_columns_of_other_ranks(generated("poisson3d:6"))},
        rules_of<TypeParam>(dropping), 1e-13);
}

TYPED_TEST(IlutTest, IctEqualsTheSequentialOne) {
  for (const Dropping& dropping : droppings) {
    for (const Case& test : small_matrices())
      check_threshold<double, TypeParam>(test, rules_of<TypeParam>(dropping, true), 1e-12);
    for (const char* spec : {"poisson3d:9", "circuit:24", "elasticity3d:6"})
      check_threshold<double, TypeParam>({spec, generated(spec)}, rules_of<TypeParam>(dropping, true), 1e-12);
  }
}

TYPED_TEST(IlutTest, RowsThatMeetLongOnesEqualTheSequentialOnes) {
  for (const Dropping& dropping : {Dropping{6, 1e-7}, Dropping{400, 1e-7}})
    for (const Case& test : stars(211)) {
      check_threshold<double, TypeParam>(test, rules_of<TypeParam>(dropping), 1e-12);
      check_threshold<double, TypeParam>(test, rules_of<TypeParam>(dropping, true), 1e-12);
    }
}

TYPED_TEST(IlutTest, SinglePrecisionEqualsTheSequentialOnes) {
  for (const Case& test : general_matrices())
    check_threshold<float, TypeParam>(test, rules_of<TypeParam>({4, 0.05}), 1e-4);
  for (const char* spec : {"poisson2d:9", "elasticity3d:3"})
    check_threshold<float, TypeParam>({spec, generated(spec)}, rules_of<TypeParam>({4, 0.05}, true), 1e-4);
}

TYPED_TEST(IlutTest, RowsOutgrowTheirRoomsAndAreGoneOnWith) {
  for (const bool symmetric : {false, true}) {
    const auto host = tie_free(symmetric ? random_spd(129, 0.1, 5) : random_general(129, 0.1, 5), symmetric);
    for (const Dropping& dropping : {Dropping{6, 1e-3}, Dropping{1000, 0}}) {
      auto rules = rules_of<TypeParam>(dropping, symmetric);
      const auto roomy = made<double, TypeParam>(host, rules);
      rules.by_column = false;  // of hosts, too, in tables by hashes from here on
      // In scratch for all; in scratch for some, and the rest in a slab that is too small at first.
      rules.scratch_slots = 512;
      EXPECT_TRUE((made<double, TypeParam>(host, rules).factors == roomy.factors));
      rules.scratch_slots = 16;
      rules.least_slab_slots = 32;
      const auto narrow = made<double, TypeParam>(host, rules);
      EXPECT_GT(narrow.launches, 1);
      EXPECT_TRUE(narrow.factors == roomy.factors);
      EXPECT_EQ(narrow.cut_rows, roomy.cut_rows);
      // Room of L and U that is too small, and no room at all.
      for (const std::int64_t entries : {0, 100}) {
        rules.first_entries = entries;
        const auto grown = made<double, TypeParam>(host, rules);
        EXPECT_TRUE(grown.factors == roomy.factors);
        EXPECT_GT(grown.launches, 1);
      }
      rules.memory_budget = 1024;
      EXPECT_THAT(message_of<InputError>([&] { made<double, TypeParam>(host, rules); }),
                  HasSubstr("memory_budget is 1024"));
    }
  }
}

TYPED_TEST(IlutTest, ABudgetForTablesByHashesIsEnough) {
  // L and U have room for 2 p entries of 12 bytes a row, and a table with a slot per column takes 16 bytes a
  // row.
  const auto host = generated("poisson2d:40");
  auto rules = rules_of<TypeParam>({10, 1e-3});
  const auto roomy = made<double, TypeParam>(host, rules);
  rules.memory_budget = 250 * host.num_rows;
  EXPECT_TRUE((made<double, TypeParam>(host, rules).factors == roomy.factors));
}

TYPED_TEST(IlutTest, ARowThatIsLongFromTheBeginning) {
  // Arrows: the last row, and in the second the first column, are full.
  auto dense = Dense(600, std::vector<double>(600, 0));
  for (int i = 0; i < 600; ++i) {
    dense[i][i] = 4 + i % 7;
    dense[599][i] += 0.01 * (1 + i % 13) + 1e-5 * i;
    if (i > 0) dense[i][i - 1] += 0.3 + 1e-4 * i;
  }
  for (const Dropping& dropping : {Dropping{300, 0}, Dropping{5, 1e-3}})
    check_threshold<double, TypeParam>({"arrow", sparse(dense)}, rules_of<TypeParam>(dropping), 1e-13);
}

TYPED_TEST(IlutTest, EqualEntriesAreKeptByTheirColumns) {
  // L has four entries of one size in row 4, and so has U; the signs do not count.
  auto dense = Dense(9, std::vector<double>(9, 0));
  for (int i = 0; i < 9; ++i) dense[i][i] = 1;
  for (int j = 0; j < 9; ++j)
    if (j != 4) dense[4][j] = j % 2 == 0 ? 0.25 : -0.25;
  dense[4][7] = 0.5;
  for (const int p : {1, 2, 3}) {
    const auto f = made<double, TypeParam>(sparse(dense), rules_of<TypeParam>({p, 1e-3})).factors;
    std::map<int, double> lower, upper = {{7, 0.5}};
    for (int j = 0; j < p; ++j) lower[j] = dense[4][j];
    for (int j = 5; j < 4 + p; ++j) upper[j] = dense[4][j];
    EXPECT_EQ(f.lower[4], lower);
    EXPECT_EQ(f.upper[4], upper);
  }
}

TYPED_TEST(IlutTest, NothingDroppedIsTheExactFactorisation) {
  for (const char* spec : {"convection_diffusion3d:5", "poisson2d:9", "elasticity3d:3"})
    for (const bool symmetric : {false, true}) {
      if (symmetric && spec[0] == 'c') continue;
      const auto host = generated(spec);
      const auto f = made<double, TypeParam>(host, rules_of<TypeParam>({1000, 0}, symmetric)).factors;
      LongVector row_scale;
      const auto rows = scaled_rows(host, row_scale);
      const auto product = product_of(f);
      for (int i = 0; i < static_cast<int>(host.num_rows); ++i)
        for (int j = 0; j < static_cast<int>(host.num_rows); ++j)
          ASSERT_NEAR(product[i][j], rows[i].count(j) ? static_cast<double>(rows[i].at(j)) : 0, 1e-12)
              << spec << ": " << i << ", " << j;
    }
}

TYPED_TEST(IlutTest, ThreadsAndLaunchesLeaveTheSameBits) {
  for (const bool symmetric : {false, true})
    for (const char* spec : {"random", "elasticity3d:6"}) {
      const auto host = spec[0] != 'r' ? generated(spec)
                        : symmetric    ? random_spd(257, 0.03, 9)
                                       : random_general(257, 0.03, 9);
      const auto rules = rules_of<TypeParam>({7, 1e-3}, symmetric);
      const auto first = made<double, TypeParam>(host, rules, of_one_thread<TypeParam>());
      for (int repetition = 0; repetition < 5; ++repetition) {
        const auto again = made<double, TypeParam>(host, rules);
        EXPECT_TRUE(again.factors == first.factors);
        EXPECT_EQ(again.cut_rows, first.cut_rows);
        EXPECT_FALSE(again.stalled);
      }
    }
}

TYPED_TEST(IlutTest, ARowThatWaitsInVainIsGoneOnWith) {
  for (const bool symmetric : {false, true}) {
    const auto host = generated("poisson2d:9");
    auto rules = rules_of<TypeParam>({7, 1e-3}, symmetric);
    const auto expected = made<double, TypeParam>(host, rules);
    std::vector<int> backwards;
    for (int i = 80; i >= 0; --i) backwards.push_back(i);
    rules.order = to_device<TypeParam>(backwards);
    for (const std::int64_t most_polls : {0, 100}) {
      rules.most_polls = most_polls;
      const auto found = made<double, TypeParam>(host, rules);
      EXPECT_TRUE(found.stalled);
      EXPECT_TRUE(found.factors == expected.factors);
      EXPECT_EQ(found.breakdowns, 0);
      EXPECT_EQ(found.cut_rows, expected.cut_rows);
    }
  }
}

TYPED_TEST(IlutTest, NumericTakesNewValues) {
  const auto host = random_general(67, 0.1, 5);
  auto changed = host;
  for (double& value : changed.values) value *= 1.5 + 0.3 * std::sin(value);
  Ilut<double, TypeParam> m;
  m.keep_factors();
  m.numeric(TypeParam(), to_device<TypeParam>(host));
  const auto before = rows_of(m.factor_lower());
  m.numeric(TypeParam(), to_device<TypeParam>(changed));
  EXPECT_FALSE(m.report().pattern_kept);
  const auto expected = reference_ilut(changed, 10, 1e-3);
  ASSERT_NO_FATAL_FAILURE(expect_same_rows(rows_of(m.factor_lower()), expected.lower, 1e-13));
  ASSERT_NO_FATAL_FAILURE(expect_same_rows(rows_of(m.factor_upper()), expected.upper, 1e-13));
  EXPECT_NE(rows_of(m.factor_lower()), before);
  const auto b = waves_of(67);
  EXPECT_LE(relative_difference(applied_to<double, TypeParam>(m, b), solve(expected, b)), 1e-13);
  EXPECT_THAT(message_of<InputError>(
                  [&] { m.numeric(TypeParam(), to_device<TypeParam>(random_general(67, 0.2, 6))); }),
              HasSubstr("call symbolic again"));
}

TYPED_TEST(IlutTest, PivotsThatBreakDownAreReplacedAndCounted) {
  const HostMatrix<double> negative = sparse<double>({{1, 2, 0}, {2, 1, 0.5}, {0, 0.5, 5}});
  const HostMatrix<double> zero = sparse<double>({{1, 1, 0}, {1, 1, 0.5}, {0, 0.5, 5}});
  const HostMatrix<double> tiny = sparse<double>({{1, 1, 0}, {1, 1 + 1e-9, 0.5}, {0, 0.5, 5}});
  for (const auto& host : {negative, zero, tiny})
    for (const bool symmetric : {false, true}) {
      const auto rules = rules_of<TypeParam>({10, 1e-3}, symmetric);
      const auto found = made<double, TypeParam>(host, rules);
      const auto expected = reference_of(host, rules);
      EXPECT_EQ(found.breakdowns, expected.replaced);
      ASSERT_NO_FATAL_FAILURE(expect_same_rows(found.factors.lower, expected.lower, 1e-13));
      ASSERT_NO_FATAL_FAILURE(expect_same_rows(found.factors.upper, expected.upper, 1e-13));
    }
  IlutOptions options;
  options.kind = IncompleteKind::ic;
  options.shift = 0;
  Ilut<double, TypeParam> m(options);
  m.numeric(TypeParam(), to_device<TypeParam>(negative));
  EXPECT_EQ(m.report().breakdowns.count, 1);
  EXPECT_EQ(m.report().breakdowns.first_row, 1);
  EXPECT_NEAR(m.report().breakdowns.first_pivot, -3, 1e-6);
  EXPECT_THAT(m.report().breakdowns.action, HasSubstr("1 rows of the factors fell back to their diagonal"));
}

TYPED_TEST(IlutTest, ShiftsEndBreakdowns) {
  const HostMatrix<double> zero = sparse<double>({{4, 4, 0}, {4, 4, 0}, {0, 0, 5}});
  for (const IncompleteKind kind : {IncompleteKind::ilu, IncompleteKind::ic}) {
    IlutOptions options;
    options.kind = kind;
    Ilut<double, TypeParam> m(options);
    m.keep_factors();
    m.numeric(TypeParam(), to_device<TypeParam>(zero));
    EXPECT_EQ(m.shift(), 1e-3);
    EXPECT_EQ(m.report().breakdowns.count, 0);
    EXPECT_EQ(m.report().notes[0],
              "shift 0: 1 row broke down, the first is row 2 with the pivot 0 of its diagonal entry");
    EXPECT_EQ(m.report().notes[1], "shift 0.001: no pivot broke down");
    EXPECT_NEAR(to_vector(m.pivots())[0], 1 / 1.001, 1e-15);
  }
  for (const bool symmetric : {false, true}) {
    auto rules = rules_of<TypeParam>({4, 0.01}, symmetric);
    rules.alpha = 0.5;
    check_threshold<double, TypeParam>({"elasticity3d:3", generated("elasticity3d:3")}, rules, 1e-13);
  }
}

TYPED_TEST(IlutTest, AnEntryThatOverflowsIsABreakdownOfItsRow) {
  // Row 2 ends with w_3 = 0.5 - 1e10 * 1e300, next to a sound pivot. No entry of the diagonal is weak.
  const HostMatrix<double> host =
      sparse<double>({{1, 0, 0, 1e300}, {0, 1, 0, 0}, {1e10, 0.5, 1, 0.5}, {0, 0, 1, 1}});
  for (const double tau : {0.0, 1e-3}) {
    auto options = with({10, tau});
    options.shift = 0;
    Ilut<double, TypeParam> m(options);
    m.keep_factors();
    m.numeric(TypeParam(), to_device<TypeParam>(host));
    EXPECT_EQ(m.report().breakdowns.count, 1);
    EXPECT_EQ(m.report().breakdowns.first_row, 2);
    EXPECT_TRUE(rows_of(m.factor_lower())[2].empty());
    EXPECT_TRUE(rows_of(m.factor_upper())[2].empty());
    for (const double value : applied_to<double, TypeParam>(m, {1e-200, 1, 1e-200, 1}))
      ASSERT_TRUE(std::isfinite(value));
  }
}

TYPED_TEST(IlutTest, IctIsSymmetricToTheLastBit) {
  const auto host = generated("elasticity3d:3");
  const auto f = made<double, TypeParam>(host, rules_of<TypeParam>({5, 1e-3}, true)).factors;
  int entries = 0;
  for (int i = 0; i < static_cast<int>(host.num_rows); ++i)
    for (const auto& [j, value] : f.lower[i]) {
      ASSERT_EQ(value, f.upper[j].at(i));
      ++entries;
    }
  EXPECT_GT(entries, 100);
}

TYPED_TEST(IlutTest, TakesFewerIterationsThanThePatternOfA) {
  EXPECT_LT(solver_iterations<TypeParam>("cg", generated("poisson2d:40"), "ict"),
            solver_iterations<TypeParam>("cg", generated("poisson2d:40"), "ic0"));
  EXPECT_LT(solver_iterations<TypeParam>("gmres", generated("poisson2d:40"), "ilut"),
            solver_iterations<TypeParam>("gmres", generated("poisson2d:40"), "ilu0"));
  EXPECT_LT(solver_iterations<TypeParam>("gmres", generated("convection_diffusion3d:12"), "ilut"),
            solver_iterations<TypeParam>("gmres", generated("convection_diffusion3d:12"), "ilu0"));
}

TYPED_TEST(IlutTest, SaysWhatItIs) {
  for (const char* name : {"ilut", "ict"}) {
    const auto m = create_preconditioner<double, TypeParam>(name, {{"p", std::int64_t(2)}});
    EXPECT_EQ(m->name(), name);
    EXPECT_EQ(m->properties().needs_spd, name[1] == 'c');
    EXPECT_EQ(m->is_symmetric(), name[1] == 'c');
    m->numeric(TypeParam(), to_device<TypeParam>(generated("poisson2d:9")));
    const Report& report = m->report();
    const auto entries = [](std::string note) { return std::stoi(note.substr(0, note.find(' '))); };
    const auto own = report.notes.end() - 2;
    const int of_l = entries(*own), of_u = entries(own->substr(own->find(',') + 2));
    EXPECT_THAT(*own, HasSubstr(" entries of L, "));
    EXPECT_THAT(*own, HasSubstr(" levels of rows"));
    EXPECT_THAT(report.notes.back(), HasSubstr("rows had more than p entries above the tolerance"));
    EXPECT_GT(of_u, 81);
    EXPECT_LE(of_u, 2 * 79 + 1) << "two in each row but the last two";
    EXPECT_EQ(report.nnz, 81 + of_l + of_u);
    EXPECT_GT(report.bytes, 8 * report.nnz);
    EXPECT_GT(report.setup_bytes, 12 * report.nnz);
  }
  EXPECT_THROW((create_preconditioner<double, TypeParam>("ilut", {{"tau", -1.0}})), OptionError);
  EXPECT_THROW((create_preconditioner<double, TypeParam>("ilut", {{"p", std::int64_t(-1)}})), OptionError);
}

// --------------------------------------------------------- with the factorisations by levels of fill

template <class Space>
class IncompleteFactorizationTest : public ::testing::Test {};
TYPED_TEST_SUITE(IncompleteFactorizationTest, TestSpaces, SpaceNames);

TYPED_TEST(IncompleteFactorizationTest, ItIsFiniteForMatricesThatAreNotFiniteOrSingular) {
  auto host = random_general(67, 0.2, 3);
  host.values[host.row_ptrs[11]] = std::nan("");
  for (std::size_t k = host.row_ptrs[40]; k < host.row_ptrs[41]; ++k)
    if (host.col_idxs[k] == 40) host.values[k] = 0;
  for (std::size_t k = host.row_ptrs[50]; k < host.row_ptrs[51]; ++k)
    if (host.col_idxs[k] != 50) host.values[k] = 1e300;
  // Columns 3 and 5 are only those of row 7, which no permutation puts on the diagonal.
  auto singular = random_entries<double>(33, 33, 0.1, 8);
  for (std::size_t k = 0; k < singular.nnz(); ++k)
    if (singular.col_idxs[k] == 3 || singular.col_idxs[k] == 5) singular.values[k] = 0;
  const auto check = [&](const char* name, OptionMap options, const char* method) {
    SCOPED_TRACE(std::string(name) + ", " + method);
    options["solve.method"] = std::string(method);
    const auto m = create_preconditioner<double, TypeParam>(name, options);
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
  };
  for (const char* method : {"auto", "levels", "sync_free"}) {
    check("ilu0", {}, method);
    check("iluk", {}, method);
    for (const double tau : {0.0, 1e-3}) check("ilut", {{"p", std::int64_t(1000)}, {"tau", tau}}, method);
  }
}

TYPED_TEST(IncompleteFactorizationTest, SymmetricOnesRefuseMatricesThatAreNotSymmetricPositive) {
  const auto one_sided = sparse<double>({{4, 1, 0}, {0, 4, 1}, {1, 1, 4}});
  const auto negative = sparse<double>({{4, 1}, {1, -4}});
  for (const char* name : {"ic0", "ick", "mic_gustafsson", "mic_robert", "ict"}) {
    const auto m = create_preconditioner<double, TypeParam>(name);
    EXPECT_THAT(message_of<InputError>([&] { m->numeric(TypeParam(), to_device<TypeParam>(one_sided)); }),
                HasSubstr("the pattern is not symmetric"));
    EXPECT_THAT(message_of<InputError>([&] { m->numeric(TypeParam(), to_device<TypeParam>(negative)); }),
                HasSubstr("the diagonal entry of row 2"));
  }
}

TYPED_TEST(IncompleteFactorizationTest, RefusesToTakeMoreThanItsMemoryBudget) {
  for (const auto& [name, words] :
       {std::pair("iluk", "raise memory_budget"), {"ilut", "memory_budget is 1024"}}) {
    const auto m = create_preconditioner<double, TypeParam>(name, {{"memory_budget", std::int64_t(1024)}});
    EXPECT_THAT(message_of<InputError>(
                    [&] { m->numeric(TypeParam(), to_device<TypeParam>(generated("poisson2d:9"))); }),
                HasSubstr(words));
  }
}

/// With a reading of the full row, or of the part of it that is done, for each row or column that meets it
/// these would take 10^11 steps.
TYPED_TEST(IncompleteFactorizationTest, ALongRowIsNotReadByEachRowThatMeetsIt) {
  const int n = 400000;
  for (const int hub : {0, n / 2, n - 1}) {
    const auto a = to_device<TypeParam>(star(n, {hub}));
    const auto check = [&](auto&& method, IncompleteKind kind) {
      SCOPED_TRACE(method.name() + ", hub " + std::to_string(hub));
      method.keep_factors();
      method.numeric(TypeParam(), a);
      EXPECT_EQ(method.shift(), 0);
      const auto pivots = to_vector(method.pivots());
      for (const int i : {0, 1, n / 2, n / 2 + 1, n - 2, n - 1}) {
        const double diagonal = i == hub ? n : 4.0 + i % 3;
        EXPECT_NEAR(pivots[i] * pivot_of_star(n, hub, i, kind) / diagonal, 1, 1e-9) << "row " << i;
      }
    };
    check(Ilu<double, TypeParam>(), IncompleteKind::ilu);
    for (const IncompleteKind kind :
         {IncompleteKind::ic, IncompleteKind::mic_gustafsson, IncompleteKind::mic_robert}) {
      IcOptions options;
      options.kind = kind;
      check(Ic<double, TypeParam>(options), kind);
    }
  }
}

/// The same for the search of a row's next column, where its columns are found on the way.
TYPED_TEST(IncompleteFactorizationTest, ALongRowByThresholdsFindsItsNextColumnAtOnce) {
  const int n = 400000;
  for (const auto& [hub, p] : {std::pair{0, 5}, {n / 2, 5}, {n - 1, 5}, {n - 1, n}})
    for (const IncompleteKind kind : {IncompleteKind::ilu, IncompleteKind::ic}) {
      IlutOptions options;
      options.kind = kind;
      options.p = p;
      options.tau = 1e-9;
      Ilut<double, TypeParam> method(options);
      method.keep_factors();
      method.numeric(TypeParam(), to_device<TypeParam>(star(n, {hub})));
      EXPECT_NEAR(to_vector(method.pivots())[hub] * pivot_of_star(n, hub, hub) / n, 1, 1e-9);
      if (hub == n - 1 && kind == IncompleteKind::ilu) {
        EXPECT_EQ(method.factor_lower().nnz(), std::min(p, n - 1));
      }
    }
}

TYPED_TEST(IncompleteFactorizationTest, AnApplicationNeitherAllocatesNorFences) {
  const TypeParam space;
  // A constant diagonal, and one that is not.
  for (const char* spec : {"poisson2d:9", "circuit:9"})
    for (const char* name : {"ilu0", "ick", "mic_gustafsson", "mic_robert", "ilut", "ict"}) {
      SCOPED_TRACE(std::string(spec) + ", " + name);
      const auto m = create_preconditioner<double, TypeParam>(name);
      m->numeric(space, to_device<TypeParam>(generated(spec)));
      const MultiVector<double, TypeParam> x("x", m->num_rows(), 3), y("y", m->num_rows(), 3);
      const auto workspace = m->make_workspace(space, 3), small = m->make_workspace(space, 2);
      const ToolEvents events;
      m->apply(space, x, y, *workspace);
      EXPECT_THAT(events.fences(), IsEmpty());
      EXPECT_THAT(events.allocations(), IsEmpty());
      EXPECT_THROW(m->apply(space, x, y, *small), std::logic_error) << "a workspace for fewer vectors";
    }
}

TYPED_TEST(IncompleteFactorizationTest, SolvesByEveryMethodAndInEveryStorage) {
  const auto host = tie_free(generated("elasticity3d:3"), true);
  const auto b = waves_of(host.num_rows);
  const std::map<std::string, LongVector> solutions = {
      {"iluk", solve(reference_ilu(host, 1, ReferenceKind::ilu), b)},
      {"ick", solve(reference_ilu(host, 1, ReferenceKind::ic), b)},
      {"ilut", solve(reference_ilut(host, 10, 1e-3), b)},
      {"ict", solve(reference_ict(host, 10, 1e-3), b)}};
  const auto check = [&](const OptionMap& options, double tolerance) {
    for (const auto& [name, expected] : solutions) {
      const auto m = create_preconditioner<double, TypeParam>(name, options);
      m->numeric(TypeParam(), to_device<TypeParam>(host));
      EXPECT_LE(relative_difference(applied_to<double, TypeParam>(*m, b), expected), tolerance) << name;
    }
  };
  for (const char* method : {"auto", "levels", "sync_free"})
    check({{"solve.method", std::string(method)}}, 1e-13);
  // As many sweeps as there are levels are exact.
  check({{"solve.method", std::string("jacobi")}, {"solve.sweeps", std::int64_t(300)}}, 1e-12);
  check({{"solve.method", std::string("isai")}, {"solve.isai_power", std::int64_t(100)}}, 1e-10);
  check({{"storage", std::string("single")}}, 1e-5);
  check({{"storage", std::string("half")}}, 0.1);
}

}  // namespace
}  // namespace prekond::testing
