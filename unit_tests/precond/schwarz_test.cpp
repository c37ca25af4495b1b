// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/domain/subdomains.hpp"
#include "testing/block_cases.hpp"
#include "testing/host_graph.hpp"
#include "testing/one_thread.hpp"
#include "testing/stars.hpp"

#include <prekond/pattern/impl/symmetrize.hpp>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

template <class Scalar, class Space>
std::unique_ptr<Schwarz<Scalar, Space>> made(const OptionMap& options) {
  SchwarzOptions own;
  OptionFields::of(own).set(options, own.name);
  return std::make_unique<Schwarz<Scalar, Space>>(own);
}

OptionMap schwarz_is(const std::string& method, int overlap, const std::string& combine, std::int64_t size) {
  return with_size(size, local_is(method, {{"overlap", std::int64_t(overlap)}, {"combine", combine}}));
}

template <class Scalar, class Space>
void check(const HostMatrix<double>& matrix, int overlap, bool additive, const std::string& partition,
           std::int64_t size, double tolerance) {
  const Space space;
  const auto a = convert<Scalar>(matrix);
  OptionMap options = schwarz_is("dense", overlap, additive ? "additive" : "restricted", size);
  options["partition"] = partition;
  const auto m = made<Scalar, Space>(options);
  m->symbolic(space, to_device<Space>(a));
  m->numeric(space, to_device<Space>(a));
  const auto sets = sets_of(m->partition());
  std::size_t rows = 0;
  for (const auto& set : with_neighbours(a, sets, overlap)) rows += set.size();
  EXPECT_EQ(m->num_overlapping_rows(), std::int64_t(rows));
  for (const int count : {1, 3}) {
    const auto x = waves<Scalar>(a.num_rows, count);
    const auto y = applied<Scalar, Space>(*m, x, count + 1);
    for (int k = 0; k < count; ++k)
      ASSERT_LT(relative_distance(y[k], reference_schwarz(a, sets, overlap, additive, x[k])), tolerance);
  }
}

template <class Space>
class SchwarzTest : public ::testing::Test {};
TYPED_TEST_SUITE(SchwarzTest, TestSpaces, SpaceNames);

TYPED_TEST(SchwarzTest, RestrictedAndAdditiveAsTheTextbooks) {
  for (const auto& matrices : {small_matrices(), general_matrices()})
    for (const auto& [name, a] : matrices)
      for (const int overlap : {0, 1, 2})
        for (const bool additive : {false, true}) {
          SCOPED_TRACE(name + ", overlap " + std::to_string(overlap) + (additive ? ", additive" : ""));
          // The circuit is nearly singular as a whole, which subdomains come near to.
          const bool is_circuit = name.rfind("circuit", 0) == 0;
          const double tolerance = is_circuit ? 1e-9 : 1e-12;
          check<double, TypeParam>(a, overlap, additive, "bisection", 7, tolerance);
          check<double, TypeParam>(a, overlap, additive, "rows", 40, tolerance);
          if (name.rfind("scaled", 0) != 0 && !is_circuit)
            check<float, TypeParam>(a, overlap, additive, "bisection", 7, 1e-3);
        }
}

TYPED_TEST(SchwarzTest, AnyPreconditionerOfTheSubdomains) {
  const TypeParam space;
  const auto a = generated("poisson2d:13");
  for (const bool additive : {false, true}) {
    // jacobi knows no neighbours: restricted it is itself, additive once a copy.
    OptionMap options = schwarz_is("jacobi", 2, additive ? "additive" : "restricted", 20);
    const auto m = made<double, TypeParam>(options);
    m->numeric(space, to_device<TypeParam>(a));
    const Sets sets = with_neighbours(a, sets_of(m->partition()), 2);
    std::vector<int> copies(169, 0);
    for (const auto& set : sets)
      for (const int i : set) ++copies[i];
    const auto x = waves<double>(169, 2);
    for (const auto& line : preconditioner_registry<double, TypeParam>()) {
      SCOPED_TRACE(line.name);
      const auto own =
          made<double, TypeParam>(schwarz_is(line.name, 2, additive ? "additive" : "restricted", 20));
      own->numeric(space, to_device<TypeParam>(a));
      EXPECT_EQ(
          (applied<double, TypeParam>(*own, x)),
          by_preconditioner_of_blocks<TypeParam>(a, sets_of(own->partition()), 2, additive, line.name, x));
    }
    const auto y = applied<double, TypeParam>(*m, x, 3);
    for (int v = 0; v < 2; ++v)
      for (int i = 0; i < 169; ++i)
        ASSERT_NEAR(y[v][i], x[v][i] / a(i, i) * (additive ? copies[i] : 1), 1e-14) << i;
  }
  const auto fsai = made<double, TypeParam>(schwarz_is("fsai", 1, "additive", 20));
  fsai->numeric(space, to_device<TypeParam>(a));
  EXPECT_TRUE(fsai->is_symmetric());
}

TYPED_TEST(SchwarzTest, WithoutOverlapItIsBlockJacobi) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(random_general(97, 0.1, 3));
  for (const char* method : {"dense", "ilu0", "ilut", "isai"})
    for (const char* combine : {"restricted", "additive"}) {
      const auto schwarz = made<double, TypeParam>(schwarz_is(method, 0, combine, 20));
      const auto jacobi =
          create_preconditioner<double, TypeParam>("block_jacobi", with_size(20, local_is(method)));
      schwarz->numeric(space, a);
      jacobi->numeric(space, a);
      const auto x = waves<double>(97, 2);
      EXPECT_EQ((applied<double, TypeParam>(*schwarz, x)), (applied<double, TypeParam>(*jacobi, x)));
      EXPECT_EQ(schwarz->properties().symmetry, jacobi->properties().symmetry);
    }
}

TYPED_TEST(SchwarzTest, SupervariablesOverlapToo) {
  const auto a = generated("elasticity3d:3");
  const TypeParam space;
  OptionMap options = local_is("dense", {{"partition", std::string("supervariables")},
                                         {"block_size", std::int64_t(6)},
                                         {"overlap", std::int64_t(1)}});
  const auto m = made<double, TypeParam>(options);
  m->numeric(space, to_device<TypeParam>(a));
  const auto x = waves<double>(a.num_rows, 1);
  EXPECT_LT(relative_distance((applied<double, TypeParam>(*m, x)[0]),
                              reference_schwarz(a, sets_of(m->partition()), 1, false, x[0])),
            1e-11);
}

TYPED_TEST(SchwarzTest, AdditiveIsSymmetricRestrictedIsNot) {
  const auto of = [](const OptionMap& options) { return made<double, TypeParam>(options)->properties(); };
  EXPECT_EQ(of(schwarz_is("dense", 1, "additive", 9)).symmetry, Symmetry::symmetric);
  EXPECT_EQ(of(schwarz_is("dense", 1, "restricted", 9)).symmetry, Symmetry::nonsymmetric);
  EXPECT_EQ(of(schwarz_is("dense", 0, "restricted", 9)).symmetry, Symmetry::symmetric);
  EXPECT_EQ(of(schwarz_is("ilu0", 2, "additive", 9)).symmetry, Symmetry::nonsymmetric);
  EXPECT_EQ(of(schwarz_is("isai", 2, "additive", 9)).symmetry, Symmetry::nonsymmetric);
  EXPECT_TRUE(of(schwarz_is("ic0", 1, "additive", 9)).needs_spd);
  const TypeParam space;
  const auto m = made<double, TypeParam>(schwarz_is("ic0", 2, "additive", 9));
  m->numeric(space, to_device<TypeParam>(random_spd(40, 0.1, 5)));
  EXPECT_TRUE(m->is_symmetric());
  Vectors<double> unit(40, std::vector<double>(40, 0));
  for (int i = 0; i < 40; ++i) unit[i][i] = 1;
  const auto columns = applied<double, TypeParam>(*m, unit);
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < i; ++j)
      ASSERT_NEAR(columns[i][j], columns[j][i], 1e-14 * std::sqrt(columns[i][i] * columns[j][j]));
}

TYPED_TEST(SchwarzTest, ASecondNumericTakesTheNewValues) {
  const TypeParam space;
  const auto a = random_spd(80, 0.1, 3);
  const auto b = with_larger_diagonal(a, 5);
  for (const char* method : {"dense", "ic0", "ilut", "fsai"})
    for (const char* combine : {"restricted", "additive"}) {
      const OptionMap options = schwarz_is(method, 1, combine, 11);
      const auto m = made<double, TypeParam>(options), fresh = made<double, TypeParam>(options);
      m->symbolic(space, to_device<TypeParam>(a));
      m->numeric(space, to_device<TypeParam>(a));
      m->numeric(space, to_device<TypeParam>(b));
      fresh->numeric(space, to_device<TypeParam>(b));
      const auto x = waves<double>(80, 1);
      EXPECT_EQ((applied<double, TypeParam>(*m, x)), (applied<double, TypeParam>(*fresh, x))) << method;
      EXPECT_THAT(
          message_of<InputError>([&] { m->numeric(space, to_device<TypeParam>(random_spd(80, 0.2, 4))); }),
          HasSubstr("schwarz: numeric was given"));
    }
}

TYPED_TEST(SchwarzTest, ThreadsDoNotChangeABit) {
  if constexpr (is_host_space<TypeParam>) {
    const TypeParam all;
    const TypeParam alone = of_one_thread<TypeParam>();
    const auto a = generated("poisson2d:60");
    const auto device = to_device<TypeParam>(a);
    for (const char* method : {"dense", "ic0", "jacobi"})
      for (const char* combine : {"restricted", "additive"}) {
        Vectors<double> results;
        for (const TypeParam& space : {all, alone}) {
          const auto m = made<double, TypeParam>(schwarz_is(method, 2, combine, 30));
          m->symbolic(space, device);
          m->numeric(space, device);
          results.push_back(applied<double, TypeParam>(*m, waves<double>(a.num_rows, 1), 1, space)[0]);
        }
        EXPECT_EQ(results[0], results[1]) << method << ", " << combine;
      }
  }
}

TYPED_TEST(SchwarzTest, BreakdownsNameTheMatrixsRow) {
  const TypeParam space;
  std::vector<std::vector<double>> dense(9, std::vector<double>(9, 0));
  for (int i = 0; i < 9; ++i) dense[i][i] = 2;
  dense[7][7] = 0;
  const auto m =
      made<double, TypeParam>({{"block_size", std::int64_t(3)}, {"partition", std::string("rows")}});
  m->numeric(space, to_device<TypeParam>(sparse(dense)));
  EXPECT_EQ(m->report().breakdowns.count, 1) << "the singular direction of a block";
  EXPECT_EQ(m->report().breakdowns.first_row, 7);
  EXPECT_THAT(m->report().notes, Contains(HasSubstr("schwarz: 3 blocks of up to 3 rows, with 100 %")));
}

TYPED_TEST(SchwarzTest, NotesSayWhatOverlaps) {
  const TypeParam space;
  const auto m = made<double, TypeParam>(schwarz_is("dense", 1, "restricted", 10));
  m->numeric(space, to_device<TypeParam>(generated("tridiagonal:100")));
  EXPECT_THAT(m->report().notes, Contains(HasSubstr("each row in 1.18 of them")));
  EXPECT_THAT(m->report().notes, Contains(HasSubstr("the partition cuts 9 edges of 99")));
  const auto rows =
      made<double, TypeParam>({{"partition", std::string("rows")}, {"block_size", std::int64_t(25)}});
  rows->numeric(space, to_device<TypeParam>(generated("tridiagonal:100")));
  EXPECT_THAT(rows->report().notes, Not(Contains(HasSubstr("thread of the host"))));
}

TYPED_TEST(SchwarzTest, ColumnsOfOtherRanksAreLeftOut) {
  const TypeParam space;
  const auto a = random_spd(61, 0.1, 3);
  const auto wide = with_columns_of_other_ranks(a);
  for (const char* combine : {"restricted", "additive"}) {
    const OptionMap options = schwarz_is("dense", 2, combine, 10);
    const auto m = made<double, TypeParam>(options), own = made<double, TypeParam>(options);
    m->numeric(space, to_device<TypeParam>(wide));
    own->numeric(space, to_device<TypeParam>(a));
    const auto x = waves<double>(61, 1);
    EXPECT_EQ((applied<double, TypeParam>(*m, x)), (applied<double, TypeParam>(*own, x)));
  }
}

TYPED_TEST(SchwarzTest, ARankWithoutRows) {
  const TypeParam space;
  HostMatrix<double> none;
  none.num_cols = 3;
  for (const char* combine : {"restricted", "additive"}) {
    const auto m = made<double, TypeParam>(schwarz_is("ilu0", 1, combine, 10));
    EXPECT_EQ(m->num_overlapping_rows(), 0);
    for (int i = 0; i < 2; ++i) m->numeric(space, to_device<TypeParam>(none));
    EXPECT_EQ(m->num_rows(), 0);
    EXPECT_THAT((applied<double, TypeParam>(*m, {{}})[0]), IsEmpty());
  }
}

TYPED_TEST(SchwarzTest, AWorkspaceForFewerVectorsIsRefused) {
  const TypeParam space;
  for (const char* method : {"dense", "jacobi"}) {
    const auto m = made<double, TypeParam>(schwarz_is(method, 1, "additive", 4));
    m->numeric(space, to_device<TypeParam>(random_spd(10, 0.3, 1)));
    const auto workspace = m->make_workspace(space, 1);
    const MultiVector<double, TypeParam> x("x", 10, 2), y("y", 10, 2);
    EXPECT_EQ(message_of<std::logic_error>([&] { m->apply(space, x, y, *workspace); }),
              "schwarz: the workspace was made for fewer vectors");
  }
  const auto m = made<double, TypeParam>(schwarz_is("jacobi", 1, "restricted", 4));
  m->numeric(space, to_device<TypeParam>(random_spd(10, 0.3, 1)));
  const auto workspace = m->make_workspace(space, 1);
  const MultiVector<double, TypeParam> x("x", 10, 2), y("y", 10, 2);
  EXPECT_EQ(message_of<std::logic_error>([&] { m->apply(space, x, y, *workspace); }),
            "jacobi: the workspace was made for fewer vectors");
}

TYPED_TEST(SchwarzTest, AWorkspaceOfAnotherMatrixIsRefused) {
  const TypeParam space;
  for (const char* method : {"dense", "ilu0", "jacobi"})
    for (const char* combine : {"restricted", "additive"}) {
      SCOPED_TRACE(std::string(method) + ", " + combine);
      const auto m = made<double, TypeParam>(schwarz_is(method, 1, combine, 4));
      const auto early = m->make_workspace(space, 2);
      m->numeric(space, to_device<TypeParam>(generated("tridiagonal:10")));
      const auto small = m->make_workspace(space, 2);
      const auto refusal = [&](Workspace& workspace) {
        const auto n = static_cast<std::size_t>(m->num_rows());
        const MultiVector<double, TypeParam> x("x", n, 1), y("y", n, 1);
        return message_of<std::logic_error>([&] { m->apply(space, x, y, workspace); });
      };
      EXPECT_THAT(refusal(*early), HasSubstr("was made before symbolic, or by another preconditioner"));
      const auto other = made<double, TypeParam>(
          schwarz_is(method, 1, combine == std::string("additive") ? "restricted" : "additive", 4));
      other->numeric(space, to_device<TypeParam>(generated("tridiagonal:10")));
      // The dense inverse needs nothing of a workspace but its sizes.
      if (combine == std::string("additive") || method != std::string("dense")) {
        EXPECT_THAT(refusal(*other->make_workspace(space, 2)), HasSubstr("by another preconditioner"));
      }
      m->symbolic(space, to_device<TypeParam>(generated("tridiagonal:40")));
      m->numeric(space, to_device<TypeParam>(generated("tridiagonal:40")));
      EXPECT_THAT(refusal(*small), HasSubstr("the workspace was made for blocks of"));
    }
}

TYPED_TEST(SchwarzTest, TheRegistryBuildsIt) {
  const TypeParam space;
  const auto m =
      create_preconditioner<double, TypeParam>("schwarz", {{"overlap", std::int64_t(2)},
                                                           {"local.name", std::string("schwarz")},
                                                           {"local.overlap", std::int64_t(0)},
                                                           {"local.local.name", std::string("ilu0")}});
  m->numeric(space, to_device<TypeParam>(generated("poisson2d:9")));
  EXPECT_EQ(m->name(), "schwarz");
  EXPECT_THAT(message_of<std::logic_error>([] { Schwarz<double, TypeParam>().partition(); }),
              HasSubstr("schwarz: there is no partition before symbolic"));
}

TYPED_TEST(SchwarzTest, TheUsersPartition) {
  const TypeParam space;
  const auto a = random_spd(50, 0.1, 3);
  std::vector<int> part(50);
  for (int i = 0; i < 50; ++i) part[i] = i % 4;
  const auto m = made<double, TypeParam>({{"combine", std::string("additive")}});
  m->set_partition(space, to_device<TypeParam>(part));
  m->numeric(space, to_device<TypeParam>(a));
  EXPECT_EQ(m->partition().count(), 4);
  const auto x = waves<double>(50, 1);
  EXPECT_LT(relative_distance((applied<double, TypeParam>(*m, x)[0]),
                              reference_schwarz(a, sets_of(m->partition()), 1, true, x[0])),
            1e-13);
}

/// Sets by the sequential definition, and the places of each row, of awkward patterns.
TYPED_TEST(SchwarzTest, SetsAreThoseOfBreadthFirstSearches) {
  const TypeParam space;
  auto patterns = awkward_patterns<double>();
  patterns.emplace_back("random", random_general(300, 0.01, 5));
  patterns.emplace_back("star", star(200, {3}));
  patterns.emplace_back("without diagonal", sparse({{0, 1, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 0, 0}}));
  for (const auto& [name, a] : patterns) {
    const auto device = to_device<TypeParam>(a);
    const auto graph = symmetrize<TypeParam>(space, CsrGraphView<TypeParam>(device));
    for (const std::int64_t parts : {1, 3, 20})
      for (const int levels : {1, 2, 5}) {
        SCOPED_TRACE(name + ", " + std::to_string(parts) + " parts, " + std::to_string(levels) + " levels");
        const auto partition = partition_graph<TypeParam>(space, graph, parts, PartitionMethod::bisection);
        std::vector<impl::block::GrownSubdomains> told;
        const auto found = impl::block::overlapping_subdomains<TypeParam>(
            space, graph, partition, levels, "test",
            [&](const impl::block::GrownSubdomains& grown) { told.push_back(grown); });
        const Sets sets = with_neighbours(a, sets_of(partition), levels);
        const auto ptrs = to_vector(found.ptrs), rows = to_vector(found.rows),
                   subdomain = to_vector(found.subdomain), owned = to_vector(found.owned),
                   part = to_vector(partition.part);
        ASSERT_EQ(found.count(), std::int64_t(sets.size()));
        std::size_t k = 0, squares = 0, entries = 0, largest = 0;
        std::vector<std::vector<int>> copies(a.num_rows);
        for (std::size_t d = 0; d < sets.size(); ++d) {
          ASSERT_EQ(std::size_t(ptrs[d]), k);
          for (const int row : sets[d]) {
            ASSERT_EQ(rows[k], row);
            ASSERT_EQ(subdomain[k], int(d));
            ASSERT_EQ(owned[k], part[row] == int(d) ? row : -1);
            entries += std::min(to_host(graph)[row].size(), sets[d].size());
            copies[row].push_back(int(k++));
          }
          squares += sets[d].size() * sets[d].size();
          largest = std::max(largest, sets[d].size());
        }
        ASSERT_EQ(found.num_places, std::int64_t(k));
        EXPECT_EQ(found.largest, int(largest));
        ASSERT_FALSE(a.num_rows > 0 && told.empty());
        for (std::size_t call = 0; call + 1 < told.size(); call += 2) {
          EXPECT_LE(told[call].rows, told[call + 1].rows);
          EXPECT_LE(told[call].entries, told[call + 1].entries);
          EXPECT_LE(told[call].squares, told[call + 1].squares);
          EXPECT_LE(told[call].largest, told[call + 1].largest);
        }
        if (a.num_rows > 0) {
          EXPECT_EQ(told.back().rows, double(k));
          EXPECT_EQ(told.back().entries, double(entries));
          EXPECT_EQ(told.back().squares, double(squares));
          EXPECT_EQ(told.back().largest, largest);
        }
        const auto copy_ptrs = to_vector(found.copy_ptrs), places = to_vector(found.copies);
        for (std::int64_t i = 0; i < a.num_rows; ++i)
          ASSERT_EQ(std::vector<int>(places.begin() + copy_ptrs[i], places.begin() + copy_ptrs[i + 1]),
                    copies[i]);
      }
  }
}

TYPED_TEST(SchwarzTest, SetsThatAFullRowMakesLargeAreToldBeforeTheyAreMade) {
  const TypeParam space;
  const auto device = to_device<TypeParam>(star(200, {3}));
  const auto graph = symmetrize<TypeParam>(space, CsrGraphView<TypeParam>(device));
  const auto partition = partition_graph<TypeParam>(space, graph, 20, PartitionMethod::rows);
  double told = 0;
  int calls = 0;
  const auto refuse = [&](const impl::block::GrownSubdomains& grown) {
    told = grown.rows;
    ++calls;
    if (told > 1000) throw InputError("too many");
  };
  EXPECT_THROW(impl::block::overlapping_subdomains<TypeParam>(space, graph, partition, 3, "test", refuse),
               InputError);
  EXPECT_EQ(told, 20 * 200);
  EXPECT_EQ(calls, 3);  // before and after the first level, before the second
}

/// A full row joins all rows to each subdomain that has a neighbour of it.
TYPED_TEST(SchwarzTest, DenseInversesOfALongRowsNeighboursAreRefusedBeforeTheyGrow) {
  const TypeParam space;
  const auto a = to_device<TypeParam>(star(4000, {3999}));
  const auto set_up = [&](const SchwarzOptions& options) {
    Schwarz<double, TypeParam> m(options);
    std::vector<std::string> told;
    m.set_listener([&](const std::string& text) { told.push_back(text); });
    m.symbolic(space, a);
    return told;
  };
  SchwarzOptions options;
  // One block of all rows is more than is allowed: no second one is made.
  EXPECT_THAT(message_of<InputError>([&] { set_up(options); }),
              AllOf(HasSubstr("blocks of 4000 rows and others take at least 1"), HasSubstr("local = ilu0"),
                    HasSubstr("set local.memory_budget")));
  options.overlap = 2;
  EXPECT_THAT(message_of<InputError>([&] { set_up(options); }), HasSubstr("blocks of 4000 rows"));
  options.local.options = {{"memory_budget", std::int64_t(1) << 27}};
  EXPECT_THAT(message_of<InputError>([&] { set_up(options); }),
              AllOf(HasSubstr("take at least 8064000000 bytes"), HasSubstr("134217728 are allowed")));
  options.overlap = 1;
  EXPECT_THAT(set_up(options), IsEmpty());
  options.block_size = 40;
  options.overlap = 2;
  for (const char* local : {"ilu0", "ilut", "ict", "jacobi", "chebyshev"}) {
    options.local = {local, {}};
    EXPECT_THAT(message_of<InputError>([&] { set_up(options); }),
                AllOf(HasSubstr(std::string("local = ") + local + ": the matrix of blocks of 4000 rows"),
                      HasSubstr("are allowed"), HasSubstr("choose overlap = 0")));
  }
  EXPECT_THAT(message_of<InputError>([&] { set_up(options); }), Not(HasSubstr("memory_budget")))
      << "chebyshev has none";
  options.local = {"ilu0", {{"memory_budget", std::int64_t(1) << 20}}};
  EXPECT_THAT(message_of<InputError>([&] { set_up(options); }),
              AllOf(HasSubstr("1048576 are allowed"), HasSubstr("set local.memory_budget")));
  options.local.options = {{"memory_budget", std::int64_t(1) << 34}};  // the default, but given
  EXPECT_THAT(set_up(options), ElementsAre(HasSubstr("16 times the matrix's rows")));
  // Subdomains of meshes have room enough.
  for (const int overlap : {1, 2, 3})
    for (const char* spec : {"poisson3d:16", "elasticity3d:8", "poisson2d:40"})
      for (const char* local : {"dense", "jacobi"}) {
        SchwarzOptions of_mesh;
        of_mesh.overlap = overlap;
        of_mesh.local = {local, {}};
        Schwarz<double, TypeParam> m(of_mesh);
        EXPECT_NO_THROW(m.symbolic(space, to_device<TypeParam>(generated(spec)))) << spec;
      }
}

}  // namespace
}  // namespace prekond::testing
