// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/ifpack2_cases.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Teuchos_XMLParameterListCoreHelpers.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

using Teuchos::Exceptions::InvalidParameter;

// ====================================================================================== create

TEST(Ifpack2Create, TakesWhatIfpack2sFactoryTakes) {
  const HostMatrix<double> a = problem("poisson2d:9");
  const auto map = contiguous_map(a.num_rows);
  const Teuchos::RCP<TpetraMatrix> crs = distribute(a, map);
  const Teuchos::RCP<const TpetraMatrix> const_crs = crs;
  const Teuchos::RCP<RowMatrix> row = crs;
  const Teuchos::RCP<const RowMatrix> const_row = crs;
  const Columns x = random_columns(a.num_rows, 1, 3);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    std::string upper = line.name;
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const std::vector<AdapterPointer> all = {ifpack2::create(line.name, crs),
                                             ifpack2::create(line.name, const_crs),
                                             ifpack2::create(line.name, row),
                                             ifpack2::create(line.name, const_row),
                                             ifpack2::create<RowMatrix>(line.name, crs),
                                             ifpack2::create<RowMatrix>(line.name, const_crs),
                                             ifpack2::create<TpetraMatrix>(line.name, const_crs),
                                             ifpack2::create(upper, crs)};
    const Columns expected = applied(*reference(line.name, a, *map), own_part(x, *map));
    for (const AdapterPointer& m : all) {
      const Teuchos::RCP<Ifpack2::Preconditioner<>> as_ifpack2 = m;
      EXPECT_EQ(as_ifpack2->getMatrix().getRawPtr(), const_row.getRawPtr());
      EXPECT_TRUE(as_ifpack2->getDomainMap()->isSameAs(*map));
      EXPECT_TRUE(as_ifpack2->getRangeMap()->isSameAs(*map));
      as_ifpack2->setParameters(Teuchos::ParameterList());
      as_ifpack2->initialize();
      as_ifpack2->compute();
      const Teuchos::RCP<const Tpetra::Operator<>> as_operator = as_ifpack2;
      const TpetraMultiVector from = distribute(x, map);
      TpetraMultiVector to(map, 1);
      as_operator->apply(from, to);
      EXPECT_EQ(values_of(to), expected);
      EXPECT_EQ(m->name(), line.name);
    }
    for (const AdapterPointer& m : {AdapterPointer(ifpack2::create<RowMatrix>(line.name, Teuchos::null)),
                                    AdapterPointer(ifpack2::create(line.name, Teuchos::RCP<TpetraMatrix>()))})
      EXPECT_TRUE(m->getMatrix().is_null());
  }
}

TEST(Ifpack2Create, AWrongNameNamesTheNearest) {
  const Teuchos::RCP<const TpetraMatrix> none;
  EXPECT_THAT(message_of<OptionError>([&] { ifpack2::create("jacobbi", none); }),
              HasSubstr("did you mean 'jacobi'?"));
  EXPECT_THAT(message_of<OptionError>([&] { ifpack2::create("Adaptive_FSAY", none); }),
              HasSubstr("did you mean 'adaptive_fsai'?"));
  std::string all;
  for (const auto& line : registry()) all += (all.empty() ? "" : ", ") + line.name;
  EXPECT_THAT(message_of<OptionError>([&] { ifpack2::create("", none); }), HasSubstr("(" + all + ")"));
}

// ============================================================================================== phases

TEST(Ifpack2Phases, CountersTimesAndFlops) {
  const HostMatrix<double> a = problem("poisson2d:13");
  for (const auto& [map_name, map] : maps(a.num_rows)) {
    const auto matrix = distribute(a, map);
    const bool has_rows = map->getLocalNumElements() > 0;
    for (const auto& line : registry()) {
      SCOPED_TRACE(line.name + ", " + map_name);
      const auto m = ifpack2::create(line.name, matrix);
      const auto counters = [&] {
        return std::vector<int>{m->getNumInitialize(), m->getNumCompute(), m->getNumApply()};
      };
      const auto times = [&] {
        return std::vector<double>{m->getInitializeTime(), m->getComputeTime(), m->getApplyTime()};
      };
      EXPECT_THAT(counters(), ElementsAre(0, 0, 0));
      EXPECT_THAT(times(), ElementsAre(0, 0, 0));
      EXPECT_FALSE(m->isInitialized() || m->isComputed());
      EXPECT_EQ(m->getNodeSmootherComplexity(), 0u);

      m->initialize();
      EXPECT_THAT(counters(), ElementsAre(1, 0, 0));
      EXPECT_TRUE(m->isInitialized());
      EXPECT_FALSE(m->isComputed());
      EXPECT_GT(m->getInitializeTime(), 0);
      EXPECT_EQ(m->getInitializeFlops(), 0);

      m->compute();
      EXPECT_THAT(counters(), ElementsAre(1, 1, 0));
      EXPECT_TRUE(m->isInitialized() && m->isComputed());
      EXPECT_GT(m->getComputeTime(), 0);
      const Report once = m->report();
      EXPECT_EQ(m->getComputeFlops(), once.numeric_flops);
      EXPECT_GE(once.numeric_flops, 0);
      EXPECT_EQ(m->getApplyFlops(), 0);
      EXPECT_EQ(m->getApplyTime(), 0);

      int vectors = 0;
      std::vector<double> before = times();
      for (const int k : {1, 5, 2}) {
        applied(*m, random_columns(a.num_rows, k, 1), map);
        vectors += k;
        EXPECT_GT(m->getApplyTime(), before[2]);
        before = times();
      }
      EXPECT_THAT(counters(), ElementsAre(1, 1, 3));
      EXPECT_DOUBLE_EQ(m->getApplyFlops(), vectors * once.apply_flops);

      m->compute();
      EXPECT_THAT(counters(), ElementsAre(1, 2, 3));
      EXPECT_EQ(times()[0], before[0]);
      EXPECT_GT(times()[1], before[1]);
      EXPECT_DOUBLE_EQ(m->getComputeFlops(), once.numeric_flops + m->report().numeric_flops);
      m->initialize();
      EXPECT_THAT(counters(), ElementsAre(2, 2, 3));
      EXPECT_FALSE(m->isComputed());
      EXPECT_GT(times()[0], before[0]);

      // The report is that of the sequential one, and what multigrid codes ask for is in it.
      m->compute();
      const auto expected = reference(line.name, a, *map);
      EXPECT_EQ(m->report().nnz, expected->report().nnz);
      EXPECT_EQ(m->report().apply_flops, expected->report().apply_flops);
      EXPECT_EQ(m->report().bytes, expected->report().bytes);
      EXPECT_EQ(m->getNodeSmootherComplexity(), static_cast<std::size_t>(expected->report().nnz));
      if (line.name != "none" && has_rows) {
        EXPECT_GT(m->getNodeSmootherComplexity(), 0u);
      }
    }
  }
}

TEST(Ifpack2Phases, ComputeInitialisesWhereThatIsLeftOut) {
  const HostMatrix<double> a = problem("poisson2d:9");
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  const Columns x = random_columns(a.num_rows, 1, 3);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto m = ifpack2::create(line.name, matrix);
    m->compute();
    EXPECT_TRUE(m->isInitialized() && m->isComputed());
    EXPECT_EQ(m->getNumInitialize(), 1);
    EXPECT_EQ(m->getNumCompute(), 1);
    EXPECT_EQ(applied(*m, x, map), applied(*computed(line.name, matrix), x, map));
  }
}

TEST(Ifpack2Phases, TheGlobalReportIsOfAllRanks) {
  const HostMatrix<double> a = problem("elasticity3d:4");
  for (const auto& [map_name, map] : maps(a.num_rows)) {
    const auto matrix = distribute(a, map);
    const LocalReference local = local_reference(a, *map);
    for (const auto& line : registry()) {
      SCOPED_TRACE(line.name + ", " + map_name);
      const auto m = computed(line.name, matrix);
      EXPECT_EQ(m->report().foreign_columns, local.foreign_columns);
      EXPECT_EQ(m->report().foreign_entries, local.foreign_entries);
      const Report mine = reference(line.name, a, *map)->report(), all = m->global_report();
      const auto sum = [](std::int64_t x) { return over_all_ranks<long long>(Teuchos::REDUCE_SUM, x); };
      EXPECT_EQ(all.nnz, sum(mine.nnz));
      EXPECT_EQ(all.bytes, sum(mine.bytes));
      EXPECT_EQ(all.foreign_columns, sum(local.foreign_columns));
      EXPECT_EQ(all.foreign_entries, sum(local.foreign_entries));
      EXPECT_DOUBLE_EQ(all.apply_flops, over_all_ranks(Teuchos::REDUCE_SUM, mine.apply_flops));
      EXPECT_EQ(all.breakdowns.count, 0);
      EXPECT_EQ(all.breakdowns.first_row, -1);
      EXPECT_EQ(all.numeric_seconds, over_all_ranks(Teuchos::REDUCE_MAX, m->report().numeric_seconds));
    }
  }
}

TEST(Ifpack2Phases, NewValuesTakeEffectWithTheNextCompute) {
  const HostMatrix<double> a = problem("elasticity3d:4"), b = problem("elasticity3d:4,seed=2");
  ASSERT_EQ(a.col_idxs, b.col_idxs);
  const auto map = contiguous_map(a.num_rows);
  const Columns x = random_columns(a.num_rows, 2, 3), mine = own_part(x, *map);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto matrix = distribute(a, map);
    const auto m = computed(line.name, matrix);
    const Columns old = applied(*m, x, map);
    replace_values(*matrix, b);
    EXPECT_TRUE(m->isComputed());
    EXPECT_EQ(applied(*m, x, map), old);
    const Columns fresh = applied(*reference(line.name, b, *map), mine);
    if (line.name != "none") {
      EXPECT_NE(old, fresh);
    }
    m->compute();
    EXPECT_EQ(m->getNumInitialize(), 1);
    // Methods without the option have a pattern that no value changes.
    if (m->getValidParameters()->isParameter("reuse")) {
      EXPECT_FALSE(m->report().pattern_kept);
    }
    EXPECT_EQ(applied(*m, x, map), fresh);
  }
}

TEST(Ifpack2Phases, ReuseKeepsThePatternWhereAskedFor) {
  const HostMatrix<double> a = problem("elasticity3d:4"), b = problem("elasticity3d:4,seed=2");
  const auto map = contiguous_map(a.num_rows);
  const Columns x = random_columns(a.num_rows, 1, 3), mine = own_part(x, *map);
  int reusing = 0;
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto matrix = distribute(a, map);
    const auto m = ifpack2::create(line.name, matrix);
    if (!m->getValidParameters()->isParameter("reuse")) continue;
    ++reusing;
    EXPECT_EQ(m->getValidParameters()->get<std::string>("reuse"), "none");
    m->setParameters(list_of({{"reuse", std::string("pattern")}}));
    m->compute();
    EXPECT_FALSE(m->report().pattern_kept);
    const std::int64_t nnz = m->report().nnz;
    replace_values(*matrix, b);
    m->compute();
    EXPECT_TRUE(m->report().pattern_kept);
    EXPECT_TRUE(m->global_report().pattern_kept);
    EXPECT_EQ(m->report().nnz, nnz);
    const auto expected =
        create_preconditioner<double, Space>(line.name, {{"reuse", std::string("pattern")}});
    const auto own_a = to_device<Space>(local_reference(a, *map).own),
               own_b = to_device<Space>(local_reference(b, *map).own);
    expected->symbolic(Space(), own_a);
    expected->numeric(Space(), own_a);
    expected->numeric(Space(), own_b);
    EXPECT_EQ(applied(*m, x, map), applied(*expected, mine));
    // The others have the pattern of the matrix, with any values.
    if (line.name == "adaptive_fsai") {
      EXPECT_NE(applied(*m, x, map), applied(*reference(line.name, b, *map), mine));
    }
    m->initialize();
    m->compute();
    EXPECT_FALSE(m->report().pattern_kept);
    EXPECT_EQ(applied(*m, x, map), applied(*reference(line.name, b, *map), mine));
  }
  EXPECT_GE(reusing, 1);
}

/// Labels and bytes of what a second run of `work` allocates: what Kokkos allocates once for all is then
/// there.
std::pair<std::vector<std::string>, std::uint64_t> allocations_of(const std::function<void()>& work) {
  work();
  const ToolEvents events;
  work();
  return {events.allocations(), events.allocated_bytes()};
}

TEST(Ifpack2Phases, AMatrixWithTpetrasColumnMapIsNotCopied) {
  const HostMatrix<double> a = problem("elasticity3d:6");
  const std::string copy_label = "prekond::tpetra::local_matrix";
  for (const auto& [map_name, map] : maps(a.num_rows)) {
    const auto matrix = distribute(a, map);
    const auto other = distribute(a, map, descending_columns(a, map));
    for (const auto& line : registry()) {
      SCOPED_TRACE(line.name + ", " + map_name);
      const auto adapter = [&line = line](const Teuchos::RCP<TpetraMatrix>& of) {
        return allocations_of([&] { computed(line.name, of); });
      };
      // The algorithm itself, on a view of the matrix's own memory.
      const auto alone = allocations_of([&] {
        const auto local = matrix->getLocalMatrixDevice();
        const CsrView<double, Space> view(local.numRows(), local.numCols(), local.graph.row_map,
                                          local.graph.entries, local.values);
        const auto m = create_preconditioner<double, Space>(line.name);
        m->symbolic(Space(), view);
        if (line.properties.needs_spd) check_local_spd_input<double, Space>(Space(), view);
        m->numeric(Space(), view);
      });
      const auto mine = adapter(matrix);
      EXPECT_THAT(mine.first, UnorderedElementsAreArray(alone.first));
      EXPECT_EQ(mine.second, alone.second);
      EXPECT_THAT(computed(line.name, matrix)->report().notes, Not(Contains(HasSubstr("copied"))));
      const auto copied = adapter(other);
      if (map->getLocalNumElements() < 2) continue;  // one column fits in any order
      EXPECT_THAT(copied.first, Contains(HasSubstr(copy_label)));
      EXPECT_GT(copied.second, mine.second + other->getLocalNumEntries() * (sizeof(double) + sizeof(int)));
    }
  }
}

// ============================================================================================= options

/// The values of a list and its sublists.
std::size_t num_values(const Teuchos::ParameterList& list) {
  std::size_t count = 0;
  for (auto entry = list.begin(); entry != list.end(); ++entry)
    count += list.isSublist(list.name(entry)) ? num_values(list.sublist(list.name(entry))) : 1;
  return count;
}

/// Where an option stands: `local` as the name of its sublist, `local.fill` in it.
std::pair<const Teuchos::ParameterList&, std::string> place_of(const Teuchos::ParameterList& list,
                                                               const std::string& key) {
  const auto dot = key.find('.');
  const std::string first = key.substr(0, dot);
  if (!list.isSublist(first)) return {list, key};
  return {list.sublist(first), dot == std::string::npos ? "name" : key.substr(dot + 1)};
}

// ====================================================================================== all ranks

/// M^-1 of one rank for the whole matrix: this rank's part of M^-1 x.
Columns applied_on_one_rank(const std::string& name, const HostMatrix<double>& a, const OptionMap& options,
                            const Columns& x, const TpetraMap& map) {
  const auto m = create_preconditioner<double, Space>(name, options);
  const auto whole = to_device<Space>(a);
  m->numeric(Space(), whole);
  return own_part(applied(*m, x), map);
}

TEST(Ifpack2AllRanks, InversesByRowsAreThoseOfOneRank) {
  const HostMatrix<double> a = problem("elasticity3d:4");
  const Columns x = random_columns(a.num_rows, 2, 5);
  // Known not to be symmetric, or not known to be: no symmetric matrix is asked for where bounds are
  // Gershgorin's.
  const std::set<std::string> not_symmetric = {"nonsymmetric_fsai", "spai", "isai", "neumann"};
  for (const auto& [map_name, map] : maps(a.num_rows)) {
    const auto matrix = distribute(a, map);
    for (const auto& [name, options] : std::vector<std::pair<std::string, OptionMap>>{
             {"fsai", {{"power", std::int64_t(2)}}},
             {"adaptive_fsai", {{"max_steps", std::int64_t(3)}}},
             {"nonsymmetric_fsai", {}},
             {"spai", {}},
             {"isai", {}},
             {"chebyshev", {}},
             {"ls_polynomial", {{"degree", std::int64_t(4)}}},
             {"amg", {{"coarse_size", std::int64_t(30)}}},
             {"neumann", {{"bounds", std::string("gershgorin")}}}}) {
      SCOPED_TRACE(name + ", " + map_name);
      OptionMap of_adapter = options;
      of_adapter["rank_overlap"] = std::int64_t(name == "adaptive_fsai" ? 1000 : -1);
      const auto m = computed(name, matrix, of_adapter);
      const Columns found = applied(*m, x, map);
      const Columns expected = num_ranks() == 1
                                   ? applied(*reference(name, a, *map, options), own_part(x, *map))
                                   : applied_on_one_rank(name, a, options, x, *map);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t v = 0; v < found.size(); ++v)
        for (std::size_t i = 0; i < found[v].size(); ++i)
          EXPECT_NEAR(found[v][i], expected[v][i], 1e-11 * (1 + std::abs(expected[v][i])));
      EXPECT_EQ(m->hasTransposeApply(), not_symmetric.count(name) == 0);
      m->compute();
      EXPECT_EQ(applied(*m, x, map), found);
      EXPECT_EQ(m->getNumInitialize(), 1);
      EXPECT_EQ(m->getNumCompute(), 2);
    }
  }
}

TEST(Ifpack2AllRanks, NewValuesAreThoseOfTheWholeMatrix) {
  HostMatrix<double> a = problem("poisson2d:11");
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  const Columns x = random_columns(a.num_rows, 1, 2);
  const auto m = computed("fsai", matrix, {{"rank_overlap", std::int64_t(-1)}});
  for (std::int64_t i = 0; i < a.num_rows; ++i) entry(a, i, i) += 0.1 * double(i % 3);
  replace_values(*matrix, a);
  m->compute();
  const Columns found = applied(*m, x, map), expected = applied_on_one_rank("fsai", a, {}, x, *map);
  for (std::size_t i = 0; i < found[0].size(); ++i)
    EXPECT_NEAR(found[0][i], expected[0][i], 1e-12 * (1 + std::abs(expected[0][i])));
}

TEST(Ifpack2AllRanks, OverlapOfOtherMethodsIsSchwarz) {
  const auto map = contiguous_map(144);
  const auto matrix = distribute(problem("poisson2d:12"), map);
  const auto m = computed("ilu0", matrix, {{"rank_overlap", std::int64_t(2)}});
  EXPECT_EQ(m->local().is_nonsymmetric(),
            num_ranks() > 1 || (create_preconditioner<double, Space>("ilu0")->is_nonsymmetric()));
  const Columns x = random_columns(144, 1, 2);
  EXPECT_EQ(applied(*m, x, map) == applied(*computed("ilu0", matrix), x, map), num_ranks() == 1);
}

TEST(Ifpack2AllRanks, ANoteSaysThatAMethodOverAllRanksIsAnotherOne) {
  const auto matrix = distribute(problem("poisson2d:12"), contiguous_map(144));
  const auto is_noted = [&](const std::string& name, int rank_overlap) {
    const auto notes = computed(name, matrix, {{"rank_overlap", std::int64_t(rank_overlap)}})->report().notes;
    return std::count_if(notes.begin(), notes.end(), [](const std::string& note) {
             return note.find("rank_overlap = -1") != note.npos;
           }) == 1;
  };
  for (const char* name : {"amg", "fsai", "chebyshev"}) {
    EXPECT_EQ(is_noted(name, 0), num_ranks() > 1) << name;
    EXPECT_FALSE(is_noted(name, -1)) << name;
  }
  for (const char* name : {"jacobi", "ilu0"})
    EXPECT_FALSE(is_noted(name, 0)) << name << " is each rank's own";
}

TEST(Ifpack2Options, EveryOptionOfEveryAlgorithmIsThere) {
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const AdapterPointer m = ifpack2::create(line.name, Teuchos::RCP<const TpetraMatrix>());
    const auto valid = m->getValidParameters();
    OptionMap defaults = line.configure()->resolved()->fields().values();
    defaults["check_input"] = true;
    defaults["rank_overlap"] = std::int64_t(0);
    if (defaults.contains("reuse")) defaults["reuse"] = std::string("none");
    EXPECT_EQ(num_values(*valid), defaults.size() + 2);  // and what is known of the matrix
    for (const char* name : {"Nullspace", "Coordinates"})
      EXPECT_TRUE(valid->get<Teuchos::RCP<const TpetraMultiVector>>(name).is_null());
    for (const auto& [key, value] : defaults) {
      const auto [list, name] = place_of(*valid, key);
      ASSERT_TRUE(list.isParameter(name)) << key;
      EXPECT_EQ(list.getEntry(name).docString().empty(), false) << key;
      if (const auto* x = std::get_if<double>(&value)) {
        EXPECT_EQ(list.get<double>(name), *x);
      }
      if (const auto* b = std::get_if<bool>(&value)) {
        EXPECT_EQ(list.get<bool>(name), *b);
      }
      if (const auto* s = std::get_if<std::string>(&value)) {
        EXPECT_EQ(list.get<std::string>(name), *s);
      }
      if (const auto* i = std::get_if<std::int64_t>(&value)) {
        if (*i <= std::numeric_limits<int>::max())
          EXPECT_EQ(list.get<int>(name), *i);
        else
          EXPECT_EQ(list.get<long long>(name), *i);
      }
    }
    // It takes the parameters that it gives, and a list is checked against it as against any other.
    m->setParameters(*valid);
    EXPECT_EQ(*m->getValidParameters(), *valid);
    Teuchos::ParameterList mine;
    mine.set("check_input", false).validateParametersAndSetDefaults(*valid);
    m->setParameters(mine);
    EXPECT_FALSE(m->getValidParameters()->get<bool>("check_input"));
  }
}

TEST(Ifpack2Options, AnUnknownKeyNamesTheNearestAndChangesNothing) {
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const AdapterPointer m = ifpack2::create(line.name, Teuchos::RCP<const TpetraMatrix>());
    const Teuchos::ParameterList before = *m->getValidParameters();
    for (auto option = before.begin(); option != before.end(); ++option) {
      const std::string name = before.name(option);
      if (name == "Nullspace" || name == "Coordinates") continue;  // no options
      Teuchos::ParameterList list = before;
      list.set("check_input", !before.get<bool>("check_input"));
      list.set(name + "z", 1);
      EXPECT_THAT(message_of<InvalidParameter>([&] { m->setParameters(list); }),
                  AllOf(HasSubstr("'" + line.name + "'"), HasSubstr("'" + name + "z'"),
                        HasSubstr("did you mean '" + name)));
      EXPECT_EQ(*m->getValidParameters(), before);
      // A value of a type that no option has, and a text where none is meant.
      Teuchos::ParameterList mistyped = before;
      mistyped.set("check_input", !before.get<bool>("check_input"));
      mistyped.remove(name);
      mistyped.set(name, std::vector<int>{1});
      EXPECT_THAT(message_of<InvalidParameter>([&] { m->setParameters(mistyped); }),
                  HasSubstr("'" + name + "'"));
      mistyped.remove(name);
      mistyped.set(name, std::string("nonsense"));
      EXPECT_THAT(message_of<InvalidParameter>([&] { m->setParameters(mistyped); }), HasSubstr(name));
      EXPECT_EQ(*m->getValidParameters(), before);
    }
    if (before.isSublist("local")) continue;
    Teuchos::ParameterList nested = before;
    nested.set("check_input", !before.get<bool>("check_input"));
    nested.sublist("local").set("name", "ilu0");
    EXPECT_THAT(message_of<InvalidParameter>([&] { m->setParameters(nested); }),
                AllOf(HasSubstr("'local.name'"), HasSubstr("did you mean")));
    nested.sublist("local").remove("name");  // an empty sublist is an unknown key as well
    EXPECT_THAT(message_of<InvalidParameter>([&] { m->setParameters(nested); }),
                AllOf(HasSubstr("'local'"), HasSubstr("did you mean")));
    EXPECT_EQ(*m->getValidParameters(), before);
  }
}

TEST(Ifpack2Options, WrongTypesAndRanges) {
  const AdapterPointer m = ifpack2::create("adaptive_fsai", Teuchos::RCP<const TpetraMatrix>());
  const int before = m->getValidParameters()->get<int>("step_size");
  const auto refused = [&](const std::string& name, const OptionValue& value) {
    const std::string text = message_of<InvalidParameter>([&] {
      m->setParameters(list_of({{"step_size", std::int64_t(7)}, {name, value}}));
    });
    EXPECT_EQ(m->getValidParameters()->get<int>("step_size"), before) << name;
    return text;
  };
  EXPECT_THAT(refused("max_stepz", std::int64_t(3)), HasSubstr("did you mean 'max_steps'?"));
  EXPECT_THAT(refused("max_steps", 2.5), HasSubstr("max_steps"));
  EXPECT_THAT(refused("max_steps", std::int64_t(-1)), AllOf(HasSubstr("max_steps"), HasSubstr("0 .. ")));
  EXPECT_THAT(refused("tolerance", 1.5), HasSubstr("tolerance"));
  EXPECT_THAT(refused("tolerance", true), HasSubstr("tolerance"));
  EXPECT_THAT(refused("reuse", std::string("patern")), AllOf(HasSubstr("reuse"), HasSubstr("pattern")));
  EXPECT_THAT(refused("check_input", 0.5), HasSubstr("check_input"));
  EXPECT_THAT(refused("local.name", std::string("x")), HasSubstr("'local.name'"));
}

TEST(Ifpack2Options, TheyTakeEffectWithTheNextComputeAndTheOthersStay) {
  const HostMatrix<double> a = problem("elasticity3d:4");
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  const Columns x = random_columns(a.num_rows, 1, 3), mine = own_part(x, *map);
  const auto expected = [&](OptionMap options) {
    options["step_tolerance"] = 0.0;  // so that every step is taken
    return applied(*reference("adaptive_fsai", a, *map, options), mine);
  };
  const std::int64_t two = 2, four = 4, five = 5;
  const Columns narrow = expected({{"max_steps", two}}), wider = expected({{"max_steps", five}});
  const Columns blocks = expected({{"max_steps", five}, {"step_size", four}});
  EXPECT_NE(narrow, wider);
  EXPECT_NE(wider, blocks);

  const auto m = ifpack2::create("adaptive_fsai", matrix);
  m->setParameters(list_of({{"max_steps", two}, {"step_tolerance", 0.0}}));
  m->compute();
  EXPECT_EQ(applied(*m, x, map), narrow);

  m->setParameters(list_of({{"max_steps", five}}));
  EXPECT_TRUE(m->isComputed());
  EXPECT_EQ(applied(*m, x, map), narrow);
  m->compute();
  EXPECT_EQ(m->getNumInitialize(), 2);
  EXPECT_EQ(applied(*m, x, map), wider);

  m->initialize();
  m->setParameters(list_of({{"step_size", four}}));
  EXPECT_EQ(m->getValidParameters()->get<int>("max_steps"), 5);
  m->compute();
  EXPECT_EQ(applied(*m, x, map), blocks);

  // A list that was refused, and an empty one, leave everything in force.
  const int initialised = m->getNumInitialize();
  EXPECT_THROW(m->setParameters(list_of({{"max_steps", two}, {"step_size", true}})), InvalidParameter);
  m->setParameters(Teuchos::ParameterList());
  EXPECT_TRUE(m->isInitialized() && m->isComputed());
  m->compute();
  EXPECT_EQ(m->getNumInitialize(), initialised);
  EXPECT_EQ(applied(*m, x, map), blocks);
}

TEST(Ifpack2Options, FromXml) {
  const AdapterPointer m = ifpack2::create("adaptive_fsai", Teuchos::RCP<const TpetraMatrix>());
  m->setParameters(*Teuchos::getParametersFromXmlString(R"(
    <ParameterList name="prekond">
      <Parameter name="max_steps" type="int" value="7"/>
      <Parameter name="step_size" type="string" value="3"/>
      <Parameter name="workspace_budget" type="long long" value="8589934592"/>
      <Parameter name="tolerance" type="double" value="0.25"/>
      <Parameter name="setup_scalar" type="string" value="double"/>
      <Parameter name="check_input" type="bool" value="false"/>
    </ParameterList>)"));
  const auto now = m->getValidParameters();
  EXPECT_EQ(now->get<int>("max_steps"), 7);
  EXPECT_EQ(now->get<int>("step_size"), 3);
  EXPECT_EQ(now->get<long long>("workspace_budget"), 8589934592);
  EXPECT_EQ(now->get<double>("tolerance"), 0.25);
  EXPECT_EQ(now->get<std::string>("setup_scalar"), "double");
  EXPECT_EQ(now->get<bool>("check_input"), false);
  EXPECT_EQ(now->get<double>("step_tolerance"), 0);
}

// ===================================================================================== what is printed

TEST(Ifpack2Text, DescriptionAndDescribe) {
  const HostMatrix<double> a = problem("poisson2d:9");
  for (const auto& [map_name, map] : maps(a.num_rows)) {
    const auto matrix = distribute(a, map);
    for (const auto& line : registry()) {
      SCOPED_TRACE(line.name + ", " + map_name);
      const auto m = ifpack2::create(line.name, matrix);
      const auto described = [&](Teuchos::EVerbosityLevel level) {
        std::ostringstream text;
        m->describe(*Teuchos::getFancyOStream(Teuchos::rcpFromRef<std::ostream>(text)), level);
        EXPECT_EQ(text.str().empty(), level == Teuchos::VERB_NONE || my_rank() != 0);
        return text.str();
      };
      EXPECT_THAT(m->description(),
                  AllOf(HasSubstr("Name: " + line.name), HasSubstr("Initialized: false"),
                        HasSubstr("Computed: false"), HasSubstr("[81, 81]"), Not(HasSubstr("\n"))));
      const auto nothing_yet = [&] {
        const std::string text = described(Teuchos::VERB_LOW);
        if (my_rank() != 0) return;
        EXPECT_THAT(text, AllOf(HasSubstr("compute: 0 times"), HasSubstr("nothing is computed"),
                                Not(HasSubstr("all ranks"))));
      };
      nothing_yet();
      m->initialize();
      nothing_yet();
      m->compute();
      applied(*m, random_columns(a.num_rows, 2, 1), map);
      EXPECT_THAT(m->description(),
                  AllOf(HasSubstr("Initialized: true"), HasSubstr("Computed: true"), Not(HasSubstr("\n"))));
      EXPECT_THAT(described(Teuchos::VERB_NONE), IsEmpty());
      described(Teuchos::VERB_DEFAULT);
      const Report all = m->global_report();
      for (const auto level : {Teuchos::VERB_LOW, Teuchos::VERB_EXTREME}) {
        const std::string text = described(level);
        if (my_rank() != 0) continue;
        EXPECT_THAT(text, AllOf(HasSubstr(m->description()), Not(HasSubstr("nothing is computed")),
                                HasSubstr("initialize: 1 times"), HasSubstr("compute: 1 times"),
                                HasSubstr("apply: 1 times"),
                                HasSubstr("all ranks: " + std::to_string(all.nnz) + " entries")));
        EXPECT_EQ(text.find("Name: "), text.rfind("Name: "));
        const auto valid = m->getValidParameters();
        for (auto option = valid->begin(); option != valid->end(); ++option)
          EXPECT_THAT(text, HasSubstr(valid->name(option) + ": "));
        if (all.foreign_entries > 0) {
          EXPECT_THAT(text, HasSubstr("left out: " + std::to_string(all.foreign_columns) + " with " +
                                      std::to_string(all.foreign_entries) + " entries"));
        }
      }
    }
  }
}

}  // namespace
}  // namespace prekond::testing
