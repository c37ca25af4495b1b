// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Setups over ranks, by ranks in one process: what they find is what one rank finds for the whole matrix.
#include <prekond/precond/distributed_preconditioner.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/impl/left_out.hpp>
#include <prekond/krylov/cg.hpp>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "testing/across_ranks.hpp"
#include "testing/block_matrices.hpp"
#include "testing/distributed_cases.hpp"
#include "testing/inverses_of_ranks.hpp"
#include "testing/krylov_problems.hpp"
#include "testing/matrix_of_other_numbers.hpp"
#include "testing/spd_matrices.hpp"

namespace prekond::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

template <class Space>
class DistributedPreconditionerTest : public ::testing::Test {};
TYPED_TEST_SUITE(DistributedPreconditionerTest, TestSpaces, SpaceNames);

/// The same bits as on one rank, entry by entry, and the same application.
template <class Space>
void expect_same_as_on_one_rank(const Setup& setup, const HostMatrix<double>& whole, const Parts& parts) {
  const Space space;
  const auto serial = on_one_rank<Space>(setup, whole);
  const Entries expected = entries_of(serial_rows<Space>(*serial));
  std::vector<std::int64_t> all(whole.num_rows);
  for (std::int64_t i = 0; i < whole.num_rows; ++i) all[i] = i;
  const MultiVector<double, Space> x("x", whole.num_rows, 2), y("y", whole.num_rows, 2);
  for (std::size_t v = 0; v < 2; ++v) Kokkos::deep_copy(column(x, v), to_device<Space>(entries(all, v)));
  serial->apply(space, x, y, *serial->make_workspace(space, 2));
  const auto serial_y = columns_of(y);

  Entries found;
  std::int64_t nnz = 0;
  run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
    const auto& own = parts[rank.rank];
    const MatrixOfRank<double, Space> a(rank, whole, parts);
    const auto m = across<Space>(setup);
    m->numeric(space, a);
    EXPECT_EQ(m->num_rows(), static_cast<std::int64_t>(own.size()));
    EXPECT_EQ(m->exchanges(), rank.size() > 1);
    EXPECT_EQ(m->is_symmetric(), serial->is_symmetric());
    if (rank.size() == 1)
      found = entries_of(serial_rows<Space>(m->method()));
    else
      add_rows<Space>(m->rows(), own, m->method().reach().by_columns, found);
    nnz += m->report().nnz;

    const auto workspace = m->make_workspace(space, 2);
    for (const std::size_t k : {1, 2}) {
      MultiVector<double, Space> mine("x", own.size(), k), result("y", own.size(), k);
      for (std::size_t v = 0; v < k; ++v)
        Kokkos::deep_copy(column(mine, v), to_device<Space>(entries(own, v)));
      m->apply(space, mine, result, *workspace);
      space.fence();
      const auto first = columns_of(result);
      for (std::size_t v = 0; v < k; ++v)
        for (std::size_t i = 0; i < own.size(); ++i)
          EXPECT_NEAR(first[v][i], serial_y[v][own[i]], 1e-12 * (1 + std::abs(serial_y[v][own[i]])))
              << "row " << own[i];
      m->apply(space, mine, result, *workspace);
      space.fence();
      EXPECT_EQ(columns_of(result), first);
    }
  });
  expect_entries<Space>(found, expected);
  EXPECT_EQ(nnz, serial->report().nnz);
}

template <class Space>
void expect_same_on_all(const std::vector<Setup>& setups, const std::vector<HostMatrix<double>>& matrices) {
  for (const Setup& setup : setups)
    for (const HostMatrix<double>& whole : matrices)
      for (const Parts& parts : partitions(whole.num_rows)) {
        SCOPED_TRACE(to_text(setup) + ", " + std::to_string(whole.num_rows) + " rows, " +
                     std::to_string(parts.size()) + " ranks, the first has " +
                     std::to_string(parts[0].size()));
        expect_same_as_on_one_rank<Space>(setup, whole, parts);
      }
}

TYPED_TEST(DistributedPreconditionerTest, StaticFsaiHasTheBitsOfOneRank) {
  expect_same_on_all<TypeParam>(
      {{"fsai", {}},
       {"fsai", {{"power", "0"}}},
       {"fsai", {{"power", "3"}}},
       {"fsai", {{"power", "2"}, {"prefilter", "0.1"}, {"postfilter", "0.05"}}},
       {"fsai", {{"block_size", "3"}}},
       {"fsai", {{"block_size", "2"}, {"power", "2"}}},
       {"isai", {{"kind", "spd"}, {"power", "2"}}}},
      {problem("elasticity3d:4"), problem("poisson2d:7"), diagonal_matrix({1.0, 2.0, 3.0, 4.0, 5.0})});
}

TYPED_TEST(DistributedPreconditionerTest, AdaptiveFsaiWithAllLevelsHasTheBitsOfOneRank) {
  expect_same_on_all<TypeParam>(
      {{"adaptive_fsai", {}, 1000},
       {"adaptive_fsai", {{"max_steps", "3"}, {"step_size", "1"}, {"setup_scalar", "double"}}, 1000},
       {"adaptive_fsai", {{"initial_power", "1"}, {"max_steps", "2"}, {"postfilter", "0.02"}}, 1000},
       {"adaptive_fsai", {{"gradient", "merge"}, {"max_steps", "4"}, {"prefilter", "0.01"}}, 1000}},
      {problem("elasticity3d:4"), problem("poisson2d:9")});
  // The rows of the last level are cut.
  for (const char* steps : {"0", "1"})
    expect_same_as_on_one_rank<TypeParam>(
        {"adaptive_fsai", {{"initial_power", "1"}, {"max_steps", steps}}, 1000}, problem("elasticity3d:7"),
        consecutive_parts({300, 282, 300}));
}

TYPED_TEST(DistributedPreconditionerTest, ZerosOnTheDiagonalAreWeighedByTheirRows) {
  HostMatrix<double> whole = problem("convection_diffusion3d:5");
  for (std::int64_t i = 0; i < whole.num_rows; i += 7)
    for (std::size_t k = whole.row_ptrs[i]; k < whole.row_ptrs[i + 1]; ++k)
      if (whole.col_idxs[k] == i) whole.values[k] = 0;
  for (const char* postfilter : {"0", "0.1"})
    expect_same_as_on_one_rank<TypeParam>({"nonsymmetric_fsai", {{"postfilter", postfilter}}}, whole,
                                          consecutive_parts({40, 45, 40}));
}

TYPED_TEST(DistributedPreconditionerTest, BlocksNeedNumbersFromZero) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("elasticity3d:3");
  const Parts parts = consecutive_parts({27, 27});
  run_ranks(2, [&](const Rank& rank) {
    const auto a = std::make_shared<MatrixOfRank<double, TypeParam>>(rank, whole, parts);
    const MatrixOfOtherNumbers<TypeParam> gaps(a, 1, 0);
    const auto m = across<TypeParam>({"fsai", {{"block_size", "3"}}});
    EXPECT_THAT(message_of<InputError>([&] { m->numeric(space, gaps); }),
                HasSubstr("blocks of rows over several ranks need rows that are numbered 0, 1, ..."));
  });
}

TYPED_TEST(DistributedPreconditionerTest, GeneralMatricesHaveTheBitsOfOneRank) {
  expect_same_on_all<TypeParam>({{"nonsymmetric_fsai", {}},
                                 {"nonsymmetric_fsai", {{"power", "2"}}},
                                 {"nonsymmetric_fsai", {{"postfilter", "0.05"}}},
                                 {"isai", {}},
                                 {"isai", {{"power", "2"}, {"prefilter", "0.05"}}},
                                 {"isai", {{"kind", "lower"}, {"power", "2"}}},
                                 {"isai", {{"kind", "upper"}}},
                                 {"spai", {}},
                                 {"spai", {{"power", "2"}}},
                                 {"spai", {{"side", "left"}, {"power", "2"}}}},
                                {problem("convection_diffusion3d:4"), random_general(61, 0.05, 3)});
}

TYPED_TEST(DistributedPreconditionerTest, SolversTakeTheIterationsOfOneRank) {
  // Without jumps in the coefficients: with them the order of the sums changes a hundred iterations by two.
  const HostMatrix<double> whole = problem("elasticity3d:5,contrast=1");
  const auto iterations = [&](const Setup& setup, const Parts& parts) {
    return iterations_of<TypeParam>(setup.name == "spai" ? "gmres" : "cg", setup, whole, parts);
  };
  for (const Setup& setup : {Setup{"fsai", {}}, Setup{"adaptive_fsai", {}, 1000}, Setup{"jacobi", {}},
                             Setup{"isai", {{"kind", "spd"}}}, Setup{"spai", {}}}) {
    const auto all = partitions(whole.num_rows);
    const std::int64_t one = iterations(setup, all[0]);
    for (const Parts& parts : all)
      EXPECT_EQ(iterations(setup, parts), one) << setup.name << ", " << parts.size();
  }
  // Block Jacobi's known growth.
  const Parts cyclic = cyclic_parts(whole.num_rows, 7);
  EXPECT_GT(iterations({"fsai", {}, 0}, cyclic), iterations({"fsai", {}}, cyclic));
}

TYPED_TEST(DistributedPreconditionerTest, NumericAgainSeesNewValues) {
  const TypeParam space;
  HostMatrix<double> whole = problem("poisson2d:8");
  HostMatrix<double> changed = whole;
  for (std::int64_t i = 0; i < changed.num_rows; ++i)
    for (std::size_t k = changed.row_ptrs[i]; k < changed.row_ptrs[i + 1]; ++k)
      if (changed.col_idxs[k] == i) changed.values[k] += 0.01 * double(i % 5);
  for (const Setup& setup : {Setup{"fsai", {}}, Setup{"adaptive_fsai", {{"reuse", "none"}}, 1000}}) {
    const Entries expected = entries_of(serial_rows<TypeParam>(*on_one_rank<TypeParam>(setup, changed)));
    const Parts parts = consecutive_parts({20, 0, 30, 14});
    for (const bool symbolic_first : {true, false}) {
      Entries found;
      run_ranks(4, [&](const Rank& rank) {
        const MatrixOfRank<double, TypeParam> a(rank, whole, parts), b(rank, changed, parts);
        const auto m = across<TypeParam>(setup);
        if (symbolic_first) m->symbolic(space, a);
        m->numeric(space, a);
        m->numeric(space, b);
        add_rows<TypeParam>(m->rows(), parts[rank.rank], false, found);
      });
      SCOPED_TRACE(setup.name);
      expect_entries<TypeParam>(found, expected);
    }
  }
}

HostMatrix<double> with_diagonal(HostMatrix<double> a, std::int64_t row, double value) {
  for (std::size_t k = a.row_ptrs[row]; k < a.row_ptrs[row + 1]; ++k)
    if (a.col_idxs[k] == row) a.values[k] = value;
  return a;
}

TYPED_TEST(DistributedPreconditionerTest, AFailedNumericLeavesNoOldValues) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("poisson2d:8"), bad = with_diagonal(whole, 30, -1);
  const Entries expected = entries_of(serial_rows<TypeParam>(*on_one_rank<TypeParam>({"fsai", {}}, whole)));
  const Parts parts = consecutive_parts({20, 0, 30, 14});
  Entries found;
  run_ranks(4, [&](const Rank& rank) {
    const MatrixOfRank<double, TypeParam> a(rank, whole, parts), refused(rank, bad, parts);
    const auto m = across<TypeParam>({"fsai", {}});
    EXPECT_THROW(m->numeric(space, refused), InputError);
    const Vector<double, TypeParam> x("x", parts[rank.rank].size()), y("y", parts[rank.rank].size());
    Workspace none;
    EXPECT_THROW(m->apply(space, as_multivector(x), as_multivector(y), none), std::logic_error);
    m->numeric(space, a);
    add_rows<TypeParam>(m->rows(), parts[rank.rank], false, found);
  });
  expect_entries<TypeParam>(found, expected);
}

/// Counts the exchanges of rows, and refuses to fetch a row twice in one phase.
template <class Space>
class MatrixThatCounts : public MatrixOfOtherNumbers<Space> {
 public:
  MatrixThatCounts(const Rank& rank, const HostMatrix<double>& whole, const Parts& parts)
      : MatrixOfOtherNumbers<Space>(std::make_shared<MatrixOfRank<double, Space>>(rank, whole, parts), 0, 0) {
  }
  RemoteRows<double, Space> remote_rows(const Space& space,
                                        VectorView<const std::int64_t, Space> global) const override {
    ++m_exchanges;
    for (const std::int64_t row : to_vector(global)) EXPECT_TRUE(m_rows.insert(row).second) << row;
    return MatrixOfOtherNumbers<Space>::remote_rows(space, global);
  }
  /// Since the last call.
  int exchanges() const {
    m_rows.clear();
    return std::exchange(m_exchanges, 0);
  }

 private:
  mutable int m_exchanges = 0;
  mutable std::set<std::int64_t> m_rows;
};

TYPED_TEST(DistributedPreconditionerTest, RowsAreFetchedOnce) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("elasticity3d:5");
  const std::int64_t n = whole.num_rows;
  for (const auto& [setup, exchanges] :
       std::vector<std::pair<Setup, int>>{{{"fsai", {}}, 1},
                                          {{"fsai", {{"power", "3"}}}, 3},
                                          {{"fsai", {{"block_size", "3"}}}, 2},
                                          {{"adaptive_fsai", {}}, 2},
                                          {{"ilu0", {}, 2}, 2}}) {
    SCOPED_TRACE(to_text(setup));
    // From every rank two levels lead to all rows where they are dealt out in turn.
    for (const auto& [parts, most] :
         {std::pair(consecutive_parts({31, 0, n - 31}), 3), std::pair(cyclic_parts(n, 3), 2)})
      run_ranks(3, [&](const Rank& rank) {
        const MatrixThatCounts<TypeParam> a(rank, whole, parts), again(rank, whole, parts);
        const auto m = across<TypeParam>(setup);
        m->symbolic(space, a);
        EXPECT_EQ(a.exchanges(), std::min(exchanges, most));
        m->numeric(space, again);
        EXPECT_EQ(again.exchanges(), 0);
        m->numeric(space, a);
        EXPECT_EQ(a.exchanges(), 1);
        across<TypeParam>(setup)->numeric(space, a);
        EXPECT_EQ(a.exchanges(), std::min(exchanges, most));
      });
  }
}

/// a_ij and a_ji become `value`.
HostMatrix<double> with_entry(HostMatrix<double> a, std::int64_t row, std::int64_t col, double value) {
  for (const auto& [i, j] : {std::pair(row, col), std::pair(col, row)})
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (a.col_idxs[k] == j) a.values[k] = value;
  return a;
}

TYPED_TEST(DistributedPreconditionerTest, NewValuesBetweenThePhasesAreSeen) {
  const TypeParam space;
  HostMatrix<double> whole = with_entry(problem("poisson2d:8"), 3, 4, 0.0);
  const Parts parts = consecutive_parts({20, 0, 30, 14});
  const Setup setup{"fsai", {{"power", "2"}}};
  // Next to another rank's rows and far from them, the last row, and the sign of a zero.
  for (const auto& changed : {with_entry(whole, 19, 19, 4.5), with_entry(whole, 36, 36, 4.5),
                              with_entry(whole, 63, 63, 4.5), with_entry(whole, 3, 4, -0.0)}) {
    const Entries expected = entries_of(serial_rows<TypeParam>(*on_one_rank<TypeParam>(setup, changed)));
    Entries found;
    run_ranks(4, [&](const Rank& rank) {
      const MatrixThatCounts<TypeParam> a(rank, whole, parts), b(rank, changed, parts);
      const auto m = across<TypeParam>(setup);
      m->symbolic(space, a);
      m->numeric(space, b);
      EXPECT_EQ(b.exchanges(), 1);
      add_rows<TypeParam>(m->rows(), parts[rank.rank], false, found);
    });
    expect_entries<TypeParam>(found, expected);
  }
}

TYPED_TEST(DistributedPreconditionerTest, RowsWithEntriesOutsideAreFetchedAgain) {
  // Only blocks of rows: a rank has rows of which another one has more entries than itself.
  const TypeParam space;
  const HostMatrix<double> whole = problem("elasticity3d:3");
  const Parts parts = consecutive_parts({28, 26});
  run_ranks(2, [&](const Rank& rank) {
    const MatrixThatCounts<TypeParam> a(rank, whole, parts);
    const auto m = across<TypeParam>({"fsai", {{"block_size", "3"}, {"power", "0"}}});
    m->symbolic(space, a);
    EXPECT_EQ(a.exchanges(), 1);
    m->numeric(space, a);
    EXPECT_EQ(a.exchanges(), 1);
  });
}

TYPED_TEST(DistributedPreconditionerTest, ANumericPhaseThatFailedIsNoReasonToKeepRows) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("poisson2d:8"), bad = with_diagonal(whole, 30, -1);
  const Parts parts = consecutive_parts({20, 0, 30, 14});
  run_ranks(4, [&](const Rank& rank) {
    const MatrixThatCounts<TypeParam> a(rank, whole, parts), refused(rank, bad, parts);
    const auto m = across<TypeParam>({"fsai", {}});
    m->symbolic(space, a);
    EXPECT_THROW(m->numeric(space, refused), InputError);
    EXPECT_EQ(refused.exchanges(), 1);
    a.exchanges();
    m->numeric(space, a);
    EXPECT_EQ(a.exchanges(), 1);
  });
}

TYPED_TEST(DistributedPreconditionerTest, AfterAFailedSymbolicThereIsNothingToApply) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("elasticity3d:3");
  const Parts parts = consecutive_parts({27, 27});
  run_ranks(2, [&](const Rank& rank) {
    const auto a = std::make_shared<MatrixOfRank<double, TypeParam>>(rank, whole, parts);
    const MatrixOfOtherNumbers<TypeParam> gaps(a, 1, 0);
    const auto m = across<TypeParam>({"fsai", {{"block_size", "3"}}});
    m->numeric(space, *a);
    const Vector<double, TypeParam> x("x", 27), y("y", 27);
    const auto workspace = m->make_workspace(space, 1);
    m->apply(space, as_multivector(x), as_multivector(y), *workspace);
    EXPECT_THROW(m->symbolic(space, gaps), InputError);
    EXPECT_THROW(m->apply(space, as_multivector(x), as_multivector(y), *workspace), std::logic_error);
  });
}

/// The rows `own` and those that up to `levels` steps along A's entries lead to.
std::set<std::int64_t> rows_within(const HostMatrix<double>& whole, const std::vector<std::int64_t>& own,
                                   int levels) {
  std::set<std::int64_t> s(own.begin(), own.end());
  for (int level = 0; level < levels; ++level)
    for (const std::int64_t i : std::set<std::int64_t>(s))
      for (std::size_t k = whole.row_ptrs[i]; k < whole.row_ptrs[i + 1]; ++k) s.insert(whole.col_idxs[k]);
  return s;
}

/// Entries of these rows in columns that are none of them.
std::int64_t entries_beyond(const HostMatrix<double>& whole, const std::vector<std::int64_t>& own,
                            int levels) {
  const std::set<std::int64_t> s = rows_within(whole, own, levels);
  std::int64_t count = 0;
  for (const std::int64_t i : s)
    for (std::size_t k = whole.row_ptrs[i]; k < whole.row_ptrs[i + 1]; ++k)
      count += !s.contains(whole.col_idxs[k]);
  return count;
}

/// Also with fewer levels than the method may reach, where these lead to all rows.
TYPED_TEST(DistributedPreconditionerTest, NothingIsLeftOutWithAllRows) {
  const HostMatrix<double> whole = problem("poisson2d:4");
  const Parts parts = consecutive_parts({7, 9});
  for (const int levels : {6, 1000})
    run_ranks(2, [&](const Rank& rank) {
      const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
      const auto m = across<TypeParam>({"adaptive_fsai", {}, levels});
      m->numeric(TypeParam(), a);
      EXPECT_GT(m->method().reach().levels, 6);
      EXPECT_EQ(left_out(m->report()), "");
      EXPECT_THAT(m->report().notes, Not(Contains(HasSubstr("were left out"))));
    });
}

TYPED_TEST(DistributedPreconditionerTest, FewLevelsBoundTheAdaptiveFsai) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("poisson2d:12");
  const Parts parts = consecutive_parts({48, 48, 48});
  const Setup one{"adaptive_fsai", {{"max_steps", "6"}, {"step_size", "1"}}, 1};
  HostMatrix<double> g;
  Entries found;
  run_ranks(3, [&](const Rank& rank) {
    const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
    const auto m = across<TypeParam>(one);
    m->numeric(space, a);
    add_rows<TypeParam>(m->rows(), parts[rank.rank], false, found);
    const std::int64_t beyond = entries_beyond(whole, parts[rank.rank], 1);
    EXPECT_GT(beyond, 0);
    EXPECT_EQ(m->report().foreign_entries, beyond);
    EXPECT_EQ(
        left_out(m->report()),
        "entries left out, beyond the rows of other ranks that the setup reads: " + std::to_string(beyond));
    EXPECT_THAT(m->report().notes, Contains(HasSubstr("entries beyond these levels were left out")));
    for (const auto number : to_vector(m->rows().remote_numbers))  // one row of nodes away, not further
      EXPECT_GE(number, parts[rank.rank][0] - 12);
  });
  g.num_rows = g.num_cols = whole.num_rows;
  for (const auto& [i, row] : found) {
    for (const auto& [j, value] : row) g.col_idxs.push_back(static_cast<int>(j)), g.values.push_back(value);
    g.row_ptrs.push_back(g.nnz());
  }
  expect_sound(whole, g, 1e-5);
  EXPECT_NE(found, entries_of(serial_rows<TypeParam>(*on_one_rank<TypeParam>(one, whole))));
}

/// Restricted additive Schwarz on one rank: the solution by `name` for S = the rank's rows and
/// those `levels` steps away, of which the rank's own entries count.
template <class Space>
std::vector<double> reference_schwarz(const HostMatrix<double>& whole, const std::vector<std::int64_t>& own,
                                      int levels, const Setup& setup) {
  const std::set<std::int64_t> s = rows_within(whole, own, levels);
  const std::vector<std::int64_t> rows(s.begin(), s.end());
  HostMatrix<double> part;
  part.num_rows = part.num_cols = static_cast<std::int64_t>(rows.size());
  for (const std::int64_t i : rows) {
    for (std::size_t k = whole.row_ptrs[i]; k < whole.row_ptrs[i + 1]; ++k) {
      const auto place = std::lower_bound(rows.begin(), rows.end(), whole.col_idxs[k]);
      if (place == rows.end() || *place != whole.col_idxs[k]) continue;
      part.col_idxs.push_back(static_cast<int>(place - rows.begin()));
      part.values.push_back(whole.values[k]);
    }
    part.row_ptrs.push_back(part.nnz());
  }
  const auto m = on_one_rank<Space>(setup, part);
  const MultiVector<double, Space> x("x", rows.size(), 1), y("y", rows.size(), 1);
  Kokkos::deep_copy(column(x, 0), to_device<Space>(entries(rows, 3)));
  m->apply(Space(), x, y, *m->make_workspace(Space(), 1));
  Space().fence();
  const auto solution = to_vector(column(y, 0));
  std::vector<double> result;
  for (const std::int64_t i : own)
    result.push_back(solution[std::lower_bound(rows.begin(), rows.end(), i) - rows.begin()]);
  return result;
}

TYPED_TEST(DistributedPreconditionerTest, OtherMethodsAreBlockJacobiOrSchwarz) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("convection_diffusion3d:4");
  for (const int levels : {0, 1, 3}) {
    const Setup setup{"ilu0", {}, levels};
    for (const Parts& parts : {consecutive_parts({20, 0, 30, 14}), cyclic_parts(64, 3)}) {
      run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
        auto own = parts[rank.rank];
        const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
        const auto m = across<TypeParam>(setup);
        m->numeric(space, a);
        EXPECT_EQ(m->exchanges(), levels > 0);
        EXPECT_EQ(m->is_nonsymmetric(), levels > 0 || m->method().is_nonsymmetric());
        const MultiVector<double, TypeParam> x("x", own.size(), 1), y("y", own.size(), 1);
        Kokkos::deep_copy(column(x, 0), to_device<TypeParam>(entries(own, 3)));
        m->apply(space, x, y, *m->make_workspace(space, 1));
        space.fence();
        if (levels == 0 && own.size() > 1 && own[0] > own[1]) return;  // in the rank's own order
        const auto expected = reference_schwarz<TypeParam>(whole, own, levels, setup);
        const auto found = to_vector(column(y, 0));
        for (std::size_t i = 0; i < own.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12) << own[i];
      });
    }
  }
}

/// Every registered method that is set up only by rows, with its defaults.
TYPED_TEST(DistributedPreconditionerTest, AnyMethodMayBeTheLocalOne) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("poisson3d:4");
  const Parts parts = consecutive_parts({20, 0, 30, 14});
  int compared = 0;
  for (const auto& line : preconditioner_registry<double, TypeParam>()) {
    const Setup setup{line.name, {}, 1};
    if (on_one_rank<TypeParam>(setup, whole)->reach().levels >= 0) continue;
    SCOPED_TRACE(line.name);
    ++compared;
    run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
      const auto& own = parts[rank.rank];
      const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
      const auto m = across<TypeParam>(setup);
      m->numeric(space, a);
      const MultiVector<double, TypeParam> x("x", own.size(), 2), y("y", own.size(), 2);
      for (std::size_t v = 0; v < 2; ++v)
        Kokkos::deep_copy(column(x, v), to_device<TypeParam>(entries(own, 3 * v)));
      m->apply(space, x, y, *m->make_workspace(space, 2));
      space.fence();
      const auto expected = reference_schwarz<TypeParam>(whole, own, 1, setup);
      const auto found = to_vector(column(y, 1));
      for (std::size_t i = 0; i < own.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], 1e-11 * (1 + std::abs(expected[i]))) << own[i];
    });
  }
  EXPECT_GT(compared, 15);
}

/// Counts the exchanges of block rows; of rows there are none.
template <class Space>
class BlocksThatCount : public MatrixOfRank<double, Space> {
 public:
  BlocksThatCount(const Rank& rank, const HostMatrix<double>& whole, const Parts& parts, int b)
      : MatrixOfRank<double, Space>(rank, whole, parts, false, b) {}
  RemoteRows<double, Space> remote_blocks(const Space& space,
                                          VectorView<const std::int64_t, Space> global) const override {
    ++m_exchanges;
    return MatrixOfRank<double, Space>::remote_blocks(space, global);
  }
  RemoteRows<double, Space> remote_rows(const Space& space,
                                        VectorView<const std::int64_t, Space> global) const override {
    ADD_FAILURE() << "rows are fetched";
    return MatrixOfRank<double, Space>::remote_rows(space, global);
  }
  CsrView<double, Space> own_rows() const override {
    ADD_FAILURE() << "own rows are asked for";
    return MatrixOfRank<double, Space>::own_rows();
  }
  int exchanges() const { return std::exchange(m_exchanges, 0); }  ///< since the last call

 private:
  mutable int m_exchanges = 0;
};

/// 3 x 3 blocks on a 6 x 6 grid of nodes, and parts of whole nodes.
HostMatrix<double> blocks_of_three() {
  return of_full_blocks(problem("poisson2d:6"), 3);
}
std::vector<Parts> parts_of_nodes() {
  std::vector<Parts> all{consecutive_parts({108}), consecutive_parts({54, 54}),
                         consecutive_parts({33, 0, 75}), consecutive_parts({15, 15, 15, 15, 15, 15, 18})};
  Parts cyclic(3);
  for (std::int64_t row = 0; row < 108; ++row) cyclic[row / 3 % 3].push_back(row);
  all.push_back(cyclic);
  return all;
}

TYPED_TEST(DistributedPreconditionerTest, MethodsByBlocksAreThoseOfRows) {
  const TypeParam space;
  const HostMatrix<double> whole = blocks_of_three();
  const OptionMap blocks{{"block_size", "3"}};
  const OptionMap inexact{{"block_size", "3"}, {"solve.method", "jacobi"}, {"solve.sweeps", "2"}};
  for (const int levels : {0, 1, 2})
    for (const Setup& setup : {Setup{"block_ilu0", blocks, levels}, Setup{"block_ilu0", inexact, levels},
                               Setup{"multicolor_block_gs", blocks, levels}, Setup{"ilu0", {}, levels}}) {
      for (const Parts& parts : parts_of_nodes()) {
        SCOPED_TRACE(to_text(setup) + ", " + std::to_string(levels) + " levels, " +
                     std::to_string(parts.size()) + " ranks");
        run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
          const auto& own = parts[rank.rank];
          const MatrixOfRank<double, TypeParam> rows(rank, whole, parts);
          const BlocksThatCount<TypeParam> by_blocks(rank, whole, parts, 3);
          const auto m = across<TypeParam>(setup), of_rows = across<TypeParam>(setup);
          of_rows->numeric(space, rows);
          for (int phase = 0; phase < 2; ++phase) {
            m->numeric(space, by_blocks);
            EXPECT_EQ(m->report().nnz, of_rows->report().nnz);
            EXPECT_EQ(m->report().foreign_columns, of_rows->report().foreign_columns);
            EXPECT_EQ(m->report().foreign_entries, of_rows->report().foreign_entries);
            const MultiVector<double, TypeParam> x("x", own.size(), 2), y("y", own.size(), 2),
                z("z", own.size(), 2);
            for (std::size_t v = 0; v < 2; ++v)
              Kokkos::deep_copy(column(x, v), to_device<TypeParam>(entries(own, 3 * v)));
            m->apply(space, x, y, *m->make_workspace(space, 2));
            of_rows->apply(space, x, z, *of_rows->make_workspace(space, 2));
            space.fence();
            const auto found = columns_of(y), expected = columns_of(z);
            for (std::size_t v = 0; v < 2; ++v)
              for (std::size_t i = 0; i < own.size(); ++i)
                EXPECT_NEAR(found[v][i], expected[v][i], 1e-13 * (1 + std::abs(expected[v][i])));
          }
        });
      }
    }
}

TYPED_TEST(DistributedPreconditionerTest, BlocksAreFetchedOnceAndNewValuesSeen) {
  const TypeParam space;
  const HostMatrix<double> whole = blocks_of_three();
  HostMatrix<double> changed = whole;  // entry (2, 1) of the block of node 10, which is no one's neighbour
  for (std::size_t k = whole.row_ptrs[32]; k < whole.row_ptrs[33]; ++k)
    if (whole.col_idxs[k] == 31) changed.values[k] = 0.75;
  const Parts parts = consecutive_parts({33, 0, 75});
  const Setup setup{"block_ilu0", {}, 2};
  run_ranks(3, [&](const Rank& rank) {
    const auto& own = parts[rank.rank];
    const BlocksThatCount<TypeParam> a(rank, whole, parts, 3), b(rank, changed, parts, 3);
    const auto m = across<TypeParam>(setup), fresh = across<TypeParam>(setup);
    m->symbolic(space, a);
    EXPECT_EQ(a.exchanges(), 2);
    m->numeric(space, a);
    EXPECT_EQ(a.exchanges(), 0);
    m->symbolic(space, a);
    m->numeric(space, b);
    EXPECT_EQ(b.exchanges(), 1);
    fresh->numeric(space, b);
    const MultiVector<double, TypeParam> x("x", own.size(), 1), y("y", own.size(), 1), z("z", own.size(), 1);
    Kokkos::deep_copy(column(x, 0), to_device<TypeParam>(entries(own, 1)));
    m->apply(space, x, y, *m->make_workspace(space, 1));
    fresh->apply(space, x, z, *fresh->make_workspace(space, 1));
    space.fence();
    EXPECT_EQ(columns_of(y), columns_of(z));
  });
}

TYPED_TEST(DistributedPreconditionerTest, ABlockThatBreaksDownIsCountedWithItsRow) {
  const TypeParam space;
  HostMatrix<double> whole = blocks_of_three();  // node 20 has an entry that is no number
  whole.values[whole.row_ptrs[61]] = std::numeric_limits<double>::quiet_NaN();
  const Parts parts = consecutive_parts({33, 0, 75});
  for (const int levels : {0, 2})
    run_ranks(3, [&](const Rank& rank) {
      const Setup setup{"block_ilu0", {{"block_size", "3"}, {"shift", "0"}}, levels};
      const MatrixOfRank<double, TypeParam> rows(rank, whole, parts), blocks(rank, whole, parts, false, 3);
      const auto m = across<TypeParam>(setup), of_rows = across<TypeParam>(setup);
      of_rows->numeric(space, rows);
      m->numeric(space, blocks);
      EXPECT_EQ(m->report().breakdowns.count, of_rows->report().breakdowns.count);
      EXPECT_EQ(m->report().breakdowns.first_row, of_rows->report().breakdowns.first_row);
      EXPECT_EQ(m->report().breakdowns.first_row >= 27 && m->report().breakdowns.first_row < 30,
                rank.rank == 2);
    });
}

TYPED_TEST(DistributedPreconditionerTest, ScaledBlocksAreScaledRows) {
  const HostMatrix<double> whole = blocks_of_three();
  const Parts parts = consecutive_parts({33, 0, 75});
  const Setup setup{"block_ilu0", {{"block_size", "3"}}, 1};
  const TypeParam space;
  run_ranks(3, [&](const Rank& rank) {
    const auto& own = parts[rank.rank];
    std::vector<std::vector<std::vector<double>>> found;
    for (const int b : {1, 3}) {
      const MatrixOfRank<double, TypeParam> a(rank, whole, parts, false, b);
      const auto m = across<TypeParam>(setup);
      m->set_scaling({ScalingKind::diagonal});
      m->numeric(space, a);
      const MultiVector<double, TypeParam> x("x", own.size(), 1), y("y", own.size(), 1);
      Kokkos::deep_copy(column(x, 0), to_device<TypeParam>(entries(own, 1)));
      m->apply(space, x, y, *m->make_workspace(space, 1));
      space.fence();
      found.push_back(columns_of(y));
    }
    EXPECT_EQ(found[0], found[1]);
  });
}

TYPED_TEST(DistributedPreconditionerTest, ARefusedRowIsThatOfTheWhole) {
  const TypeParam space;
  const HostMatrix<double> whole = with_diagonal(problem("poisson2d:6"), 20, -1);
  const Parts parts = consecutive_parts({12, 12, 12});
  run_ranks(3, [&](const Rank& rank) {
    const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
    const auto m = across<TypeParam>({"fsai", {}});
    EXPECT_THAT(message_of<InputError>([&] { m->numeric(space, a); }), HasSubstr("of all rows it is row 21"));
  });
}

TYPED_TEST(DistributedPreconditionerTest, NumbersMayHave64Bits) {
  const TypeParam space;
  const HostMatrix<double> general = problem("convection_diffusion3d:4"), spd = problem("poisson3d:4");
  const Parts parts = consecutive_parts({20, 0, 30, 14});
  for (const Setup& setup :
       {Setup{"nonsymmetric_fsai", {{"power", "2"}}}, Setup{"spai", {}}, Setup{"isai", {}}, Setup{"fsai", {}},
        Setup{"adaptive_fsai", {}, 2}, Setup{"ilu0", {}, 2}}) {
    const HostMatrix<double>& whole = setup.name == "fsai" || setup.name == "adaptive_fsai" ? spd : general;
    run_ranks(4, [&](const Rank& rank) {
      const auto a = std::make_shared<MatrixOfRank<double, TypeParam>>(rank, whole, parts);
      constexpr std::int64_t offset = std::int64_t(3) << 40;
      const MatrixOfOtherNumbers<TypeParam> large(a, offset, offset);
      const auto m = across<TypeParam>(setup), of_large = across<TypeParam>(setup);
      m->numeric(space, *a);
      of_large->numeric(space, large);
      const auto& own = parts[rank.rank];
      const MultiVector<double, TypeParam> x("x", own.size(), 1), y("y", own.size(), 1),
          z("z", own.size(), 1);
      Kokkos::deep_copy(column(x, 0), to_device<TypeParam>(entries(own, 0)));
      m->apply(space, x, y, *m->make_workspace(space, 1));
      of_large->apply(space, x, z, *of_large->make_workspace(space, 1));
      space.fence();
      EXPECT_EQ(columns_of(z), columns_of(y)) << setup.name;
      for (const auto number : to_vector(of_large->rows().remote_numbers)) EXPECT_GE(number, offset);
    });
  }
}

TYPED_TEST(DistributedPreconditionerTest, StorageIsThatOfTheOptionsWithoutMessagesToo) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("poisson3d:6");
  for (const Parts& parts : {consecutive_parts({216}), consecutive_parts({100, 116})})
    run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
      const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
      const auto m = across<TypeParam>({"fsai", {{"storage", "single"}}, 0}),
                 full = across<TypeParam>({"fsai", {}, 0});
      m->numeric(space, a);
      full->numeric(space, a);
      EXPECT_LT(m->report().bytes, full->report().bytes);
      EXPECT_FALSE(m->exchanges());
    });
}

TYPED_TEST(DistributedPreconditionerTest, StorageIsThatOfTheOptions) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("poisson3d:6");
  const Parts parts = consecutive_parts({100, 116});
  const Setup setup{"fsai", {{"storage", "single"}, {"storage_format", "sell"}}};
  const auto serial = on_one_rank<TypeParam>(setup, whole);
  run_ranks(2, [&](const Rank& rank) {
    const auto& own = parts[rank.rank];
    const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
    const auto m = across<TypeParam>(setup), full = across<TypeParam>({"fsai", {}});
    m->numeric(space, a);
    full->numeric(space, a);
    EXPECT_NE(m->report().bytes, full->report().bytes);
    const MultiVector<double, TypeParam> x("x", own.size(), 1), y("y", own.size(), 1), z("z", own.size(), 1);
    Kokkos::deep_copy(column(x, 0), to_device<TypeParam>(entries(own, 0)));
    m->apply(space, x, y, *m->make_workspace(space, 1));
    full->apply(space, x, z, *full->make_workspace(space, 1));
    space.fence();
    const auto reduced = to_vector(column(y, 0)), exact = to_vector(column(z, 0));
    EXPECT_NE(reduced, exact);
    for (std::size_t i = 0; i < own.size(); ++i) EXPECT_NEAR(reduced[i], exact[i], 1e-6);
  });
}

}  // namespace
}  // namespace prekond::testing
