// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Levels of multigrid that are distributed over ranks: every level but the last, as few rows are gathered.
#include <prekond/precond/amg.hpp>
#include <prekond/precond/distributed_preconditioner.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "precond/multigrid/aggregation/aggregate.hpp"
#include "precond/multigrid/aggregation/independent_set.hpp"
#include "precond/multigrid/hierarchy.hpp"
#include "precond/multigrid/over_ranks/aggregate.hpp"
#include "precond/multigrid/over_ranks/level.hpp"
#include "testing/across_ranks.hpp"
#include "testing/distributed_cases.hpp"
#include "testing/distributed_problems.hpp"

namespace prekond::testing {
namespace {

using ::prekond::impl::aggregation::IndependentSet;
using ::prekond::impl::amg::aggregate_over_ranks;
using ::prekond::impl::amg::Hierarchy;
using ::prekond::impl::amg::LevelOverRanks;
using ::prekond::impl::amg::RankNodes;
using ::prekond::impl::distributed::Overlap;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

template <class Space>
class AmgOverRanksTest : public ::testing::Test {};
TYPED_TEST_SUITE(AmgOverRanksTest, TestSpaces, SpaceNames);

const std::string note = "is distributed over them";

OptionMap options(const OptionMap& more = {}) {
  OptionMap all = {{"coarse_size", std::int64_t(20)}, {"gather_rows", std::int64_t(50)}};
  for (const auto& [name, value] : more) all[name] = value;
  return all;
}

/// As a rank that has nothing to gather: the hierarchy of one rank.
template <class Space>
std::int64_t iterations_of_one_rank(const OptionMap& more, const HostMatrix<double>& whole,
                                    const std::function<void(Across<Space>&)>& prepare = {}) {
  return cg_iterations<Space>({"amg", options(more)}, whole, consecutive_parts({whole.num_rows}), prepare);
}

Parts random_parts(std::int64_t n, int size) {
  std::mt19937 random(3);
  Parts parts(size);
  for (std::int64_t i = 0; i < n; ++i) parts[random() % static_cast<unsigned>(size)].push_back(i);
  for (auto& part : parts) std::shuffle(part.begin(), part.end(), random);
  return parts;
}

/// On one to seven ranks, some of them without rows, one with one row, and in no order at all.
std::vector<Parts> all_partitions(std::int64_t n) {
  std::vector<Parts> all = partitions(n);
  all.push_back(consecutive_parts({n / 2, 1, 0, n - n / 2 - 1}));
  all.push_back(random_parts(n, 4));
  return all;
}

HostMatrix<double> with_larger_diagonal(HostMatrix<double> a) {
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (a.col_idxs[k] == i) a.values[k] *= 1.25;
  return a;
}

/// Rigid body modes of a cube of k^3 nodes, as far as they matter here: translations and rotations.
template <class Space>
NearNullSpace<double, Space> modes_of(const std::vector<std::int64_t>& numbers, std::int64_t k) {
  NearNullSpace<double, Space> near;
  near.unknowns_per_node = 3;
  near.vectors = MultiVector<double, Space>("near", numbers.size(), 6);
  const auto host = Kokkos::create_mirror_view(near.vectors);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::int64_t node = numbers[i] / 3, c = numbers[i] % 3;
    const double at[3] = {double(node % k) / double(k), double(node / k % k) / double(k),
                          double(node / k / k) / double(k)};
    for (std::int64_t v = 0; v < 3; ++v) host(i, v) = c == v ? 1.0 : 0.0;
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      const std::int64_t first = (axis + 1) % 3, second = (axis + 2) % 3;
      host(i, 3 + axis) = c == first ? -at[second] : c == second ? at[first] : 0.0;
    }
  }
  Kokkos::deep_copy(near.vectors, host);
  return near;
}

/// M^-1 of a vector, by a rank, for its rows.
template <class Space>
std::vector<double> applied(const Across<Space>& m, const std::vector<std::int64_t>& own) {
  const Space space;
  const MultiVector<double, Space> x("x", own.size(), 2), y("y", own.size(), 2);
  for (int v = 0; v < 2; ++v) Kokkos::deep_copy(column(x, v), to_device<Space>(entries(own, v)));
  m.apply(space, x, y, *m.make_workspace(space, 2));
  space.fence();
  return to_vector(column(y, 1));
}

template <class Space>
std::vector<double> applied_on_one_rank(const OptionMap& more,
                                        const std::vector<HostMatrix<double>>& matrices, int unknowns) {
  const Space space;
  const auto all = all_rows(matrices.front());
  const auto method = create_preconditioner<double, Space>("amg", options(more));
  for (const auto& matrix : matrices) {
    const auto a = to_device<Space>(matrix);
    MatrixSource<double, Space> source(a);
    source.set_unknowns_per_node(unknowns);
    method->numeric(space, source);
  }
  const MultiVector<double, Space> x("x", all.size(), 1), y("y", all.size(), 1);
  Kokkos::deep_copy(column(x, 0), to_device<Space>(entries(all, 1)));
  method->apply(space, x, y, *method->make_workspace(space, 1));
  space.fence();
  return to_vector(column(y, 0));
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected,
                 const std::vector<std::int64_t>& own) {
  double size = 0;
  for (const double value : expected) size = std::max(size, std::abs(value));
  ASSERT_EQ(found.size(), own.size());
  for (std::size_t i = 0; i < own.size(); ++i)
    EXPECT_NEAR(found[i], expected[own[i]], 1e-10 * size) << own[i];
}

TYPED_TEST(AmgOverRanksTest, AppliesTheHierarchyOfOneRankAlsoForNewValues) {
  const TypeParam space;
  for (const auto& [spec, unknowns, more] : std::vector<std::tuple<const char*, int, OptionMap>>{
           {"poisson3d:9", 1, {}},
           {"elasticity3d:6", 3, {}},
           {"poisson2d:30", 1, {{"cycle", std::string("w")}}},
           {"poisson2d:30", 1, {{"cycle", std::string("k")}}},
           {"elasticity3d:6", 3, {{"cycle", std::string("k")}, {"pre_sweeps", std::int64_t(2)}}},
           {"poisson2d:30", 1, {{"cycle", std::string("k")}, {"prolongator", std::string("unsmoothed")}}},
           {"poisson2d:30", 1, {{"smoother", std::string("jacobi")}}}}) {
    const HostMatrix<double> whole = problem(spec), later = with_larger_diagonal(whole);
    OptionMap in_full = options(more);
    in_full["storage"] = std::string("full");  // a last bit may round a stored value the other way
    const auto expected = applied_on_one_rank<TypeParam>(in_full, {whole}, unknowns),
               expected_later = applied_on_one_rank<TypeParam>(in_full, {whole, later}, unknowns);
    for (const Parts& parts : all_partitions(whole.num_rows)) {
      run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
        const auto& own = parts[rank.rank];
        const MatrixOfRank<double, TypeParam> a(rank, whole, parts), b(rank, later, parts);
        const auto m = across<TypeParam>({"amg", in_full});
        m->set_near_null_space({{}, unknowns});
        m->numeric(space, a);
        EXPECT_EQ(m->exchanges(), rank.size() > 1);
        EXPECT_EQ(m->report().foreign_entries, 0);
        if (rank.size() > 1) {
          EXPECT_THAT(m->report().notes, Contains(HasSubstr(note)));
        }
        expect_near(applied<TypeParam>(*m, own), expected, own);
        m->numeric(space, b);
        EXPECT_TRUE(m->report().pattern_kept);
        expect_near(applied<TypeParam>(*m, own), expected_later, own);
      });
    }
  }
}

/// Ones where row i has the number c, for all columns c < `size`.
template <class Space>
MultiVector<double, Space> unit_vectors(const std::vector<std::int64_t>& numbers, std::int64_t size) {
  const MultiVector<double, Space> x("x", numbers.size(), size);
  const auto host = Kokkos::create_mirror_view(x);
  for (std::size_t i = 0; i < numbers.size(); ++i) host(i, numbers[i]) = 1;
  Kokkos::deep_copy(x, host);
  return x;
}

TYPED_TEST(AmgOverRanksTest, ProlongatorIsThatOfOneRank) {
  using Near = NearNullSpace<double, TypeParam>;
  const TypeParam space;
  AmgOptions options;
  options.coarse_size = 20;
  options.gather_rows = 50;
  options.storage = AmgStorage::full;  // a last bit may round a stored value the other way
  for (const auto& [spec, modes] :
       std::vector<std::pair<const char*, bool>>{{"poisson3d:9", false}, {"elasticity3d:6", true}}) {
    const HostMatrix<double> whole = problem(spec);
    const auto near_of = [&, with = modes](const std::vector<std::int64_t>& own) {
      return with ? modes_of<TypeParam>(own, 6) : Near{};
    };
    const auto device = to_device<TypeParam>(whole);
    const auto near_of_all = near_of(all_rows(whole));
    Report report;
    const Hierarchy<double, TypeParam> one(space, options, near_of_all.source(device), nullptr, report);
    const auto& p = one.levels()[0].transfer.p;
    const std::int64_t count = p.num_cols();
    std::vector<std::int64_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    const MultiVector<double, TypeParam> expected("expected", whole.num_rows, count);
    p.multiply(space, unit_vectors<TypeParam>(all, count), expected);
    const auto expected_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), expected);
    for (const Parts& parts : all_partitions(whole.num_rows))
      run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
        const auto& own = parts[rank.rank];
        const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
        Report of_rank;
        const LevelOverRanks<double, TypeParam> level(space, options, a, near_of(own), of_rank);
        const auto& rows = level.coarse_rows();
        const MultiVector<double, TypeParam> found("found", own.size(), count),
            remote("remote", rows.others.extent(0), count);
        level.prolongator().multiply(space, unit_vectors<TypeParam>(to_vector(rows.own), count), false, found,
                                     remote);
        const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), found);
        for (std::size_t i = 0; i < own.size(); ++i)
          for (std::int64_t c = 0; c < count; ++c)
            ASSERT_NEAR(host(i, c), expected_host(own[i], c), 1e-12)
                << spec << " on " << parts.size() << ": row " << own[i] << ", column " << c;
      });
  }
}

TYPED_TEST(AmgOverRanksTest, TakesTheIterationsOfOneRank) {
  for (const char* spec :
       {"poisson3d:10", "anisotropic2d:25", "poisson2d:40", "stretched3d:9", "irregular3d:9"}) {
    const HostMatrix<double> whole = problem(spec);
    const auto one = iterations_of_one_rank<TypeParam>({}, whole);
    for (const Parts& parts : all_partitions(whole.num_rows)) {
      const auto found = cg_iterations<TypeParam>({"amg", options()}, whole, parts);
      EXPECT_EQ(found, one) << spec << " on " << parts.size();
    }
  }
}

TYPED_TEST(AmgOverRanksTest, ElasticityTakesTheIterationsOfOneRankWithModes) {
  const HostMatrix<double> whole = problem("elasticity3d:8");
  const auto prepare = [&](const std::vector<std::int64_t>& own) {
    return [&, own](Across<TypeParam>& m) { m.set_near_null_space(modes_of<TypeParam>(own, 8)); };
  };
  const auto one = iterations_of_one_rank<TypeParam>({}, whole, prepare(all_rows(whole)));
  for (const Parts& parts : all_partitions(whole.num_rows)) {
    std::int64_t found = 0;
    run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
      const TypeParam space;
      const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
      const auto m = across<TypeParam>({"amg", options()});
      m->set_near_null_space(modes_of<TypeParam>(parts[rank.rank], 8));
      m->numeric(space, a);
      const Vector<double, TypeParam> x("x", parts[rank.rank].size());
      const auto b = to_device<TypeParam>(entries(parts[rank.rank], 0));
      const SolveResult solved = create_solver<double, TypeParam>("cg")->solve(
          space, a.product(), m.get(), b, x, StoppingOptions(), Monitor(), a.reducer());
      EXPECT_TRUE(solved.converged);
      if (rank.rank == 0) found = solved.iterations;
    });
    EXPECT_EQ(found, one) << parts.size();
  }
}

/// The prolongator is the tentative one, and the pattern of the matrix is not symmetric.
TYPED_TEST(AmgOverRanksTest, UnsmoothedAggregationIsThatOfOneRank) {
  HostMatrix<double> whole = problem("convection_diffusion3d:8");
  for (std::int64_t i = 0; i < whole.num_rows; i += 5)  // some couplings lead one way
    for (std::size_t k = whole.row_ptrs[i]; k < whole.row_ptrs[i + 1]; ++k)
      if (whole.col_idxs[k] == i + 1)
        whole.col_idxs[k] = static_cast<int>(std::min<std::int64_t>(i + 3, whole.num_rows - 1));
  const Setup setup{
      "amg", options({{"prolongator", std::string("unsmoothed")}, {"smoother", std::string("jacobi")}})};
  const auto one = iterations_of<TypeParam>("fgmres", setup, whole, consecutive_parts({whole.num_rows}));
  for (const Parts& parts : all_partitions(whole.num_rows))
    EXPECT_EQ(iterations_of<TypeParam>("fgmres", setup, whole, parts), one) << parts.size();
}

/// Smoothers that are exact over ranks, and one that is each rank's own.
TYPED_TEST(AmgOverRanksTest, TakesAnySmoother) {
  const HostMatrix<double> whole = problem("poisson3d:8");
  const Parts parts = partitions(whole.num_rows)[2];
  for (const char* smoother : {"jacobi", "fsai", "chebyshev", "neumann", "isai"}) {
    OptionMap more = {{"smoother", std::string(smoother)}, {"max_interpolation", std::int64_t(2)}};
    if (std::string(smoother) == "isai") more["smoother.kind"] = std::string("spd");
    EXPECT_EQ(cg_iterations<TypeParam>({"amg", options(more)}, whole, parts),
              iterations_of_one_rank<TypeParam>(more, whole))
        << smoother;
  }
  const OptionMap more = {{"smoother", std::string("ic0")}};
  EXPECT_LE(cg_iterations<TypeParam>({"amg", options(more)}, whole, parts),
            iterations_of_one_rank<TypeParam>(more, whole) + 6);
}

/// A part of the matrix is a graph's Laplacian, singular and apart from the rest, and nodes have no
/// neighbours.
TYPED_TEST(AmgOverRanksTest, PartsByThemselvesAreThoseOfOneRank) {
  const HostMatrix<double> whole = half_coupled(300);
  const auto one = iterations_of_one_rank<TypeParam>({}, whole);
  for (const Parts& parts : all_partitions(whole.num_rows))
    EXPECT_EQ(cg_iterations<TypeParam>({"amg", options()}, whole, parts), one) << parts.size();
}

TYPED_TEST(AmgOverRanksTest, LevelsThatAreNotWorthItAreSolvedByTheirSmoother) {
  const HostMatrix<double> whole = problem("poisson2d:20");
  for (const OptionMap& more : {OptionMap{{"max_levels", std::int64_t(1)}}, OptionMap{{"theta", 1.0}}}) {
    const auto one = iterations_of_one_rank<TypeParam>(more, whole);
    for (const Parts& parts : all_partitions(whole.num_rows))
      EXPECT_EQ(cg_iterations<TypeParam>({"amg", options(more)}, whole, parts), one) << parts.size();
  }
}

TYPED_TEST(AmgOverRanksTest, OtherPatternsAndFailuresAreAgreedOn) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("poisson2d:20"), other = problem("anisotropic2d:20,epsilon=0.5"),
                           changed = half_coupled(400);
  const Parts parts = consecutive_parts({100, 0, 300});
  run_ranks(3, [&](const Rank& rank) {
    const MatrixOfRank<double, TypeParam> a(rank, whole, parts), b(rank, changed, parts);
    const auto m = across<TypeParam>({"amg", options()});
    m->numeric(space, a);
    m->numeric(space, b);
    EXPECT_FALSE(m->report().pattern_kept);
    // All ranks fail.
    const auto refused = across<TypeParam>({"amg", options({{"unknowns_per_node", std::int64_t(3)}})});
    EXPECT_THAT(message_of<InputError>([&] { refused->numeric(space, a); }),
                HasSubstr("400 rows are not nodes of 3 unknowns"));
    const auto near = across<TypeParam>({"amg", options()});
    near->set_near_null_space({MultiVector<double, TypeParam>("near", a.num_rows(), 40), 1});
    EXPECT_THAT(message_of<InputError>([&] { near->numeric(space, a); }), HasSubstr("has 40 vectors"));
    // One rank fails, and the others do not wait for it.
    const auto alone = across<TypeParam>({"amg", options()});
    const std::int64_t more = rank.rank == 2 ? 1 : 0;
    alone->set_near_null_space({MultiVector<double, TypeParam>("near", a.num_rows() + more, 1), 1});
    EXPECT_THAT(message_of<InputError>([&] { alone->numeric(space, a); }),
                HasSubstr("rank 2: amg: the near null space has 1 vectors of 301 entries"));
  });
}

TYPED_TEST(AmgOverRanksTest, IsScaledAsOnOneRank) {
  const HostMatrix<double> whole = problem("circuit:12");
  const auto scale = [](Across<TypeParam>& m) { m.set_scaling(ScaledOptions{ScalingKind::diagonal}); };
  const auto one = iterations_of_one_rank<TypeParam>({}, whole, scale);
  for (const Parts& parts : all_partitions(whole.num_rows))
    EXPECT_EQ(cg_iterations<TypeParam>({"amg", options()}, whole, parts, scale), one) << parts.size();
}

/// Nobody says that nodes have three unknowns: ranks of many rows see it.
TYPED_TEST(AmgOverRanksTest, RanksFindTheUnknownsOfNodes) {
  const HostMatrix<double> whole = problem("elasticity3d:11");
  const Parts parts = consecutive_parts({1900, 500, 0, whole.num_rows - 2400});
  run_ranks(4, [&](const Rank& rank) {
    const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
    const auto m = across<TypeParam>({"amg", options({{"gather_rows", std::int64_t(3000)}})});
    m->numeric(TypeParam(), a);
    EXPECT_THAT(m->report().notes, Contains(HasSubstr("nodes have 3 unknowns")));
  });
}

/// Where no rank has rows that follow each other, the first one with rows gets those that one rank looks at:
/// all of a small matrix, and windows of a larger one.
TYPED_TEST(AmgOverRanksTest, RanksOfScatteredRowsFindTheUnknownsOfNodes) {
  for (const char* spec : {"elasticity3d:5", "elasticity3d:14", "poisson2d:40"}) {
    const HostMatrix<double> whole = problem(spec);
    Parts parts = random_parts(whole.num_rows, 3);
    parts.insert(parts.begin(), std::vector<std::int64_t>());  // the first one has no rows
    const bool is_system = std::string(spec).starts_with("elasticity3d");
    run_ranks(4, [&](const Rank& rank) {
      const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
      const auto m = across<TypeParam>({"amg", options()});
      m->numeric(TypeParam(), a);
      const auto& notes = m->report().notes;
      EXPECT_EQ(std::any_of(notes.begin(), notes.end(),
                            [](const auto& text) { return text.find("nodes have 3 unknowns") != text.npos; }),
                is_system)
          << spec;
    });
    EXPECT_EQ(cg_iterations<TypeParam>({"amg", options()}, whole, parts),
              iterations_of_one_rank<TypeParam>({}, whole))
        << spec;
  }
}

/// A matrix by 3 x 3 blocks says that nodes have three unknowns, unless its user says 6.
TYPED_TEST(AmgOverRanksTest, BlocksSayTheUnknownsOfNodes) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("elasticity3d:4");
  const std::int64_t n = whole.num_rows;
  for (const Parts& parts : {consecutive_parts({n}), consecutive_parts({54, 0, n - 54})})
    for (const int said : {1, 3, 6})
      run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
        const auto& own = parts[rank.rank];
        const OptionMap more{{"smoother", std::string("ic0")}};
        const auto by_blocks = across<TypeParam>({"amg", options(more)}),
                   by_rows = across<TypeParam>({"amg", options(more)});
        by_blocks->set_near_null_space({{}, said});
        by_blocks->numeric(space, MatrixOfRank<double, TypeParam>(rank, whole, parts, false, 3));
        by_rows->set_near_null_space({{}, std::max(said, 3)});
        by_rows->numeric(space, MatrixOfRank<double, TypeParam>(rank, whole, parts));
        EXPECT_EQ(applied(*by_blocks, own), applied(*by_rows, own)) << said;
      });
}

/// The aggregate of each node, by a host's order or by rounds.
template <class Space, class Scalar>
std::vector<std::int64_t> aggregates_of(const HostMatrix<Scalar>& whole, const Parts& parts, bool in_order) {
  std::vector<std::int64_t> all(whole.num_rows, -2);
  run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
    const Space space;
    const MatrixOfRank<Scalar, Space> a(rank, whole, parts);
    const Overlap<Scalar, Space> overlap(space, a, {.levels = 1}, 1);
    const RankNodes<Scalar, Space> nodes(space, a, overlap, 1);
    const auto found = aggregate_over_ranks<Scalar, Space>(space, a, nodes, overlap.matrix(), in_order);
    const auto numbers = to_vector(nodes.numbers), part = to_vector(found.part);
    for (const int v : to_vector(nodes.own)) all[numbers[v]] = part[v];
    const auto own = to_vector(found.own), roots = to_vector(found.roots);
    for (std::size_t k = 0; k < own.size(); ++k) EXPECT_EQ(all[roots[k]], own[k]);
  });
  return all;
}

TYPED_TEST(AmgOverRanksTest, AggregatesDoNotDependOnTheRanks) {
  const TypeParam space;
  for (const char* spec : {"poisson2d:15", "irregular3d:6"}) {
    const HostMatrix<double> whole = problem(spec);
    const auto a = to_device<TypeParam>(whole);
    const CsrGraphView<TypeParam> graph = a;
    const auto one = to_vector(aggregate<TypeParam>(space, graph).part);
    IndependentSet<TypeParam> set(space, graph);
    const Vector<int, TypeParam> none("none", whole.num_rows);
    Kokkos::deep_copy(none, -1);
    set.find_by_teams(space, none);
    const auto words = to_vector(set.words());
    const auto by_rounds = aggregates_of<TypeParam>(whole, consecutive_parts({whole.num_rows}), false);
    for (std::size_t v = 0, number = 0; v < words.size(); ++v)
      if (words[v] == 0) {
        EXPECT_EQ(by_rounds[v], static_cast<std::int64_t>(number++)) << "root " << v;
      }
    const HostMatrix<float> in_floats{whole.num_rows,
                                      whole.num_cols,
                                      whole.row_ptrs,
                                      whole.col_idxs,
                                      {whole.values.begin(), whole.values.end()}};
    for (const Parts& parts : all_partitions(whole.num_rows)) {
      EXPECT_EQ(aggregates_of<TypeParam>(whole, parts, false), by_rounds) << spec;
      EXPECT_EQ(aggregates_of<TypeParam>(in_floats, parts, false), by_rounds) << spec;
      EXPECT_EQ(aggregates_of<TypeParam>(whole, parts, is_host_space<TypeParam>),
                std::vector<std::int64_t>(one.begin(), one.end()))
          << spec;
    }
  }
}

TYPED_TEST(AmgOverRanksTest, AKCycleAllocatesNothingAndTakesNoStepsOnAnExactLevel) {
  const HostMatrix<double> whole = problem("poisson2d:30");
  const Parts parts = consecutive_parts({300, 0, 600});
  for (const bool exact : {true, false}) {  // the only level below is gathered
    NotedEvents events;
    run_ranks(3, [&](const Rank& rank) {
      const TypeParam space;
      const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
      const auto m = across<TypeParam>({"amg", options({{"cycle", std::string("k")},
                                                        {"gather_rows", std::int64_t(500)},
                                                        {"coarse_size", std::int64_t(exact ? 500 : 10)},
                                                        {"max_levels", std::int64_t(exact ? 10 : 2)}})});
      m->numeric(space, a);
      const auto workspace = m->make_workspace(space, 2);
      const MultiVector<double, TypeParam> x("x", parts[rank.rank].size(), 2),
          y("y", parts[rank.rank].size(), 2);
      const NotedEvents noted = events_of_all(rank, [&] { m->apply(space, x, y, *workspace); });
      if (rank.rank == 0) events = noted;
    });
    EXPECT_THAT(events.allocations, Each(StartsWith("prekond::testing")));  // the matrix's sums over ranks
    EXPECT_EQ(std::count(events.kernels.begin(), events.kernels.end(), "prekond::amg::take_both_steps"),
              exact ? 0 : 3);
  }
}

TYPED_TEST(AmgOverRanksTest, OtherKindsAreEachRanksOwn) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("poisson2d:20");
  const Parts parts = consecutive_parts({150, 250});
  for (const OptionMap& more :
       {OptionMap{{"coarsening", std::string("classical")}}, OptionMap{{"candidates", std::int64_t(2)}},
        OptionMap{{"gather_rows", std::int64_t(0)}}})
    run_ranks(2, [&](const Rank& rank) {
      const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
      const auto m = across<TypeParam>({"amg", options(more)});
      m->numeric(space, a);
      EXPECT_FALSE(m->exchanges());
      EXPECT_GT(m->report().foreign_entries, 0);
    });
}

}  // namespace
}  // namespace prekond::testing
