// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Multigrid of a matrix with few rows over ranks: every rank has the hierarchy that one rank finds.
#include <prekond/precond/amg.hpp>
#include <prekond/precond/distributed_preconditioner.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "testing/across_ranks.hpp"
#include "testing/distributed_cases.hpp"
#include "testing/krylov_problems.hpp"
#include "testing/matrix_of_other_numbers.hpp"

namespace prekond::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

template <class Space>
class GatheredRanksTest : public ::testing::Test {};
TYPED_TEST_SUITE(GatheredRanksTest, TestSpaces, SpaceNames);

const std::string note = "every rank has all ";

OptionMap options(const OptionMap& more = {}) {
  OptionMap all = {{"coarse_size", std::int64_t(20)}};
  all.insert(more.begin(), more.end());
  return all;
}

/// Some vectors over the rows `numbers`, of which the first are translations.
template <class Space>
NearNullSpace<double, Space> vectors_of(const std::vector<std::int64_t>& numbers) {
  NearNullSpace<double, Space> near;
  near.unknowns_per_node = 3;
  near.vectors = MultiVector<double, Space>("near", numbers.size(), 4);
  const auto host = Kokkos::create_mirror_view(near.vectors);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    for (int c = 0; c < 4; ++c)
      host(i, c) = c < 3 ? (numbers[i] % 3 == c ? 1.0 : 0.0) : 1.0 / double(2 + numbers[i] % 11);
  Kokkos::deep_copy(near.vectors, host);
  return near;
}

HostMatrix<double> with_larger_diagonal(HostMatrix<double> a) {
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (a.col_idxs[k] == i) a.values[k] *= 1.25;
  return a;
}

/// M^-1 of a vector by one rank, after numeric phases with each of the matrices.
template <class Space>
std::vector<double> applied_on_one_rank(const std::vector<HostMatrix<double>>& matrices, bool knows_vectors) {
  const Space space;
  const auto all = all_rows(matrices.front());
  const auto method = create_preconditioner<double, Space>("amg", options());
  for (const auto& matrix : matrices) {
    const auto a = to_device<Space>(matrix);
    method->numeric(space, knows_vectors ? vectors_of<Space>(all).source(a) : MatrixSource<double, Space>(a));
  }
  const MultiVector<double, Space> x("x", all.size(), 1), y("y", all.size(), 1);
  Kokkos::deep_copy(column(x, 0), to_device<Space>(entries(all, 0)));
  method->apply(space, x, y, *method->make_workspace(space, 1));
  space.fence();
  return to_vector(column(y, 0));
}

/// The same by a rank, for its rows.
template <class Space>
std::vector<double> applied(const Across<Space>& m, const std::vector<std::int64_t>& own) {
  const Space space;
  const MultiVector<double, Space> x("x", own.size(), 1), y("y", own.size(), 1);
  Kokkos::deep_copy(column(x, 0), to_device<Space>(entries(own, 0)));
  m.apply(space, x, y, *m.make_workspace(space, 1));
  space.fence();
  return to_vector(column(y, 0));
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected,
                 const std::vector<std::int64_t>& own) {
  double size = 0;
  for (const double value : expected) size = std::max(size, std::abs(value));
  ASSERT_EQ(found.size(), own.size());
  for (std::size_t i = 0; i < own.size(); ++i)
    EXPECT_NEAR(found[i], expected[own[i]], 1e-12 * size) << own[i];
}

TYPED_TEST(GatheredRanksTest, IsTheMultigridOfOneRank) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("elasticity3d:6"), later = with_larger_diagonal(whole);
  for (const bool knows_vectors : {false, true}) {
    const auto expected = applied_on_one_rank<TypeParam>({whole}, knows_vectors),
               expected_later = applied_on_one_rank<TypeParam>({whole, later}, knows_vectors);
    for (const Parts& parts : partitions(whole.num_rows))
      run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
        const auto& own = parts[rank.rank];
        const MatrixOfRank<double, TypeParam> a(rank, whole, parts), b(rank, later, parts);
        const auto m = across<TypeParam>({"amg", options()});
        EXPECT_TRUE(m->is_over_ranks());
        if (knows_vectors && !own.empty()) m->set_near_null_space(vectors_of<TypeParam>(own));
        m->symbolic(space, a);
        m->numeric(space, a);
        EXPECT_TRUE(m->is_symmetric());
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

TYPED_TEST(GatheredRanksTest, TakesTheIterationsOfOneRank) {
  for (const char* spec : {"poisson2d:30", "elasticity3d:6", "anisotropic2d:25"}) {
    const HostMatrix<double> whole = problem(spec);
    const auto one = cg_iterations<TypeParam>({"amg", options()}, whole, consecutive_parts({whole.num_rows}));
    for (const Parts& parts : partitions(whole.num_rows))
      EXPECT_EQ(cg_iterations<TypeParam>({"amg", options()}, whole, parts), one) << spec;
    // Each rank's own hierarchy takes more.
    const Parts three = partitions(whole.num_rows)[2];
    EXPECT_GT(cg_iterations<TypeParam>({"amg", options(), 0}, whole, three), one) << spec;
  }
}

TYPED_TEST(GatheredRanksTest, LargerMatricesAndOthersKeepToTheirRows) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("poisson2d:12");
  const Parts parts = consecutive_parts({40, 0, 104});
  struct Case {
    Setup setup;
    std::int64_t shift;
    bool is_gathered;
  };
  for (const auto& [setup, shift, is_gathered] :
       std::vector<Case>{{{"amg", options({{"gather_rows", std::int64_t(144)}})}, 0, true},
                         {{"amg", options({{"gather_rows", std::int64_t(143)}})}, 0, false},
                         {{"amg", options({{"gather_rows", std::int64_t(0)}})}, 0, false},
                         {{"amg", options(), 0}, 0, false},
                         {{"amg", options()}, 7, false},  // numbers that do not begin with 0
                         {{"ilu0", {}}, 0, false}})
    run_ranks(3, [&, setup = setup, shift = shift, is_gathered = is_gathered](const Rank& rank) {
      const MatrixOfOtherNumbers<TypeParam> a(
          std::make_shared<MatrixOfRank<double, TypeParam>>(rank, whole, parts), shift, 0);
      const auto m = across<TypeParam>(setup);
      m->numeric(space, a);
      EXPECT_EQ(m->exchanges(), is_gathered);
      const auto& notes = m->report().notes;
      EXPECT_EQ(std::any_of(notes.begin(), notes.end(),
                            [](const auto& text) { return text.find(note) != text.npos; }),
                is_gathered);
      EXPECT_EQ(m->report().foreign_entries > 0, !is_gathered && rank.rank != 1);
    });
}

TYPED_TEST(GatheredRanksTest, MoreRowsAreGatheredWhereLevelsCannotBeDistributed) {
  AmgOptions by_rank, classical;
  classical.coarsening = AmgCoarsening::classical;
  EXPECT_EQ(by_rank.gathered_rows(true), 3000);
  EXPECT_EQ(by_rank.gathered_rows(false), 100000);
  EXPECT_EQ(by_rank.gathered_rows(true, false), 300000);
  EXPECT_EQ(classical.gathered_rows(true), 300000);
  by_rank.gather_rows = classical.gather_rows = 7;
  EXPECT_EQ(by_rank.gathered_rows(true, false), 7);
  EXPECT_EQ(classical.gathered_rows(false), 7);
  const HostMatrix<double> whole = problem("poisson2d:101");  // more rows than are gathered on a host
  const Parts parts = consecutive_parts({4000, 6201});
  run_ranks(2, [&](const Rank& rank) {
    const MatrixOfOtherNumbers<TypeParam> a(
        std::make_shared<MatrixOfRank<double, TypeParam>>(rank, whole, parts), 0, 0);
    ASSERT_FALSE(a.redistributes());
    const auto m = across<TypeParam>({"amg", {}});
    m->numeric(TypeParam(), a);
    const auto& notes = m->report().notes;
    EXPECT_TRUE(std::any_of(notes.begin(), notes.end(),
                            [](const auto& text) { return text.find(note) != text.npos; }));
  });
}

TYPED_TEST(GatheredRanksTest, IsScaledAsOnOneRank) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("circuit:12");
  const auto all = all_rows(whole);
  const auto iterations = [&](const Parts& parts) {
    return cg_iterations<TypeParam>({"amg", options()}, whole, parts, [](Across<TypeParam>& m) {
      m.set_scaling(ScaledOptions{ScalingKind::diagonal});
    });
  };
  const auto one = iterations(consecutive_parts({whole.num_rows}));
  for (const Parts& parts : partitions(whole.num_rows)) EXPECT_EQ(iterations(parts), one);
}

TYPED_TEST(GatheredRanksTest, RanksThatKnowOtherVectorsAreRefused) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("elasticity3d:3");
  const Parts parts = consecutive_parts({27, 27});
  for (const bool nodes : {false, true}) {
    const std::string message = message_of<InputError>([&] {
      run_ranks(2, [&](const Rank& rank) {
        const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
        const auto m = across<TypeParam>({"amg", options()});
        auto near = vectors_of<TypeParam>(parts[rank.rank]);
        if (rank.rank == 1 && nodes) near.unknowns_per_node = 1;
        if (rank.rank == 1 && !nodes) near.vectors = MultiVector<double, TypeParam>("near", 27, 3);
        m->set_near_null_space(near);
        m->numeric(space, a);
      });
    });
    EXPECT_THAT(message, HasSubstr("rank 1: amg: "));
    EXPECT_THAT(message,
                HasSubstr(nodes ? "nodes have 1 unknowns on this rank, and 3 on another"
                                : "3 vectors of 27 entries on this rank of 27 rows; another rank has 4"));
  }
}

}  // namespace
}  // namespace prekond::testing
