// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/ifpack2_cases.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Tpetra_BlockCrsMatrix_Helpers.hpp>

#include <functional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

/// The rank with the highest indices in a contiguous map, and the third of its rows.
struct Place {
  std::int64_t row;
  int rank;
};
Place third_row_of_the_last_rank(const TpetraMap& map) {
  return {over_all_ranks<long long>(Teuchos::REDUCE_MAX, map.getMinGlobalIndex()) + 2, num_ranks() - 1};
}

TEST(Ifpack2Matrix, SetMatrix) {
  const HostMatrix<double> a = problem("poisson2d:9"), b = problem("elasticity3d:4");
  const auto map_a = contiguous_map(a.num_rows), map_b = cyclic_map(b.num_rows);
  const auto first = distribute(a, map_a), second = distribute(b, map_b);
  const Columns x_a = random_columns(a.num_rows, 2, 3), x_b = random_columns(b.num_rows, 2, 3);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto m = computed(line.name, first);
    const Columns y_a = applied(*m, x_a, map_a);
    m->setMatrix(first);
    EXPECT_TRUE(m->isInitialized() && m->isComputed());
    EXPECT_EQ(applied(*m, x_a, map_a), y_a);

    m->setMatrix(second);
    EXPECT_FALSE(m->isInitialized() || m->isComputed());
    EXPECT_EQ(m->getMatrix().getRawPtr(), static_cast<const RowMatrix*>(second.getRawPtr()));
    EXPECT_TRUE(m->getDomainMap()->isSameAs(*map_b));
    EXPECT_EQ(m->report().nnz, 0);
    TpetraMultiVector y(map_a, 2);
    EXPECT_THROW(m->apply(y, y), std::runtime_error);
    m->compute();
    EXPECT_EQ(applied(*m, x_b, map_b), applied(*reference(line.name, b, *map_b), own_part(x_b, *map_b)));

    m->setMatrix(Teuchos::null);
    EXPECT_TRUE(m->getMatrix().is_null());
    EXPECT_FALSE(m->isInitialized() || m->isComputed());
    m->setMatrix(first);
    m->initialize();
    m->compute();
    EXPECT_EQ(applied(*m, x_a, map_a), y_a);
    EXPECT_EQ(m->getNumCompute(), 3);
  }
}

TEST(Ifpack2Matrix, WithoutOne) {
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const AdapterPointer m = ifpack2::create<RowMatrix>(line.name, Teuchos::null);
    const auto says = [&](const char* what, const std::function<void()>& call) {
      EXPECT_THAT(message_of<std::runtime_error>(call),
                  AllOf(HasSubstr(line.name), HasSubstr(what), HasSubstr("call setMatrix first")));
    };
    says("initialize", [&] { m->initialize(); });
    says("compute", [&] { m->compute(); });
    says("getDomainMap", [&] { m->getDomainMap(); });
    says("getRangeMap", [&] { m->getRangeMap(); });
    says("global_report", [&] { m->global_report(); });
    TpetraMultiVector x(contiguous_map(9), 1);
    EXPECT_THAT(message_of<std::runtime_error>([&] { m->apply(x, x); }), HasSubstr("before compute"));
    EXPECT_THAT(m->description(), AllOf(HasSubstr(line.name), HasSubstr("Matrix: null")));
    std::ostringstream text;
    m->describe(*Teuchos::getFancyOStream(Teuchos::rcpFromRef<std::ostream>(text)), Teuchos::VERB_LOW);
    EXPECT_THAT(text.str(), HasSubstr("Matrix: null"));
    EXPECT_FALSE(m->hasTransposeApply());
    EXPECT_EQ(m->getNumInitialize() + m->getNumCompute() + m->getNumApply(), 0);
  }
}

TEST(Ifpack2Matrix, RefusesWhatIsNotDistributedAsASquareMatrixIs) {
  const HostMatrix<double> a = problem("poisson2d:9");
  const auto map = contiguous_map(a.num_rows);
  const auto unfinished = insert_rows(a, map);
  const auto domain_elsewhere = insert_rows(a, map);
  domain_elsewhere->fillComplete(cyclic_map(a.num_rows), map);
  const auto range_elsewhere = insert_rows(a, map);
  range_elsewhere->fillComplete(map, cyclic_map(a.num_rows));
  const auto overlapping = insert_rows(a, overlapping_map(a.num_rows));
  overlapping->fillComplete(map, map);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto message = [&](const Teuchos::RCP<TpetraMatrix>& matrix) {
      const auto m = ifpack2::create(line.name, matrix);
      const std::string text = message_of<InputError>([&] { m->initialize(); });
      EXPECT_EQ(message_of<InputError>([&] { m->compute(); }), text);
      EXPECT_FALSE(m->isInitialized() || m->isComputed());
      EXPECT_EQ(m->getNumInitialize() + m->getNumCompute(), 0);
      return text;
    };
    EXPECT_THAT(message(unfinished), HasSubstr("fillComplete()"));
    if (num_ranks() == 1) continue;  // there the maps are all the same
    EXPECT_THAT(message(domain_elsewhere), HasSubstr("domain map"));
    EXPECT_THAT(message(range_elsewhere), HasSubstr("range map"));
    EXPECT_THAT(message(overlapping), HasSubstr("overlapping"));
  }
}

TEST(Ifpack2Matrix, AMatrixThatWasOpenedAgainIsRefusedUntilItIsComplete) {
  const HostMatrix<double> a = problem("poisson2d:9");
  const auto map = contiguous_map(a.num_rows);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto matrix = distribute(a, map);
    const auto m = ifpack2::create(line.name, matrix);
    m->initialize();
    m->compute();
    matrix->resumeFill();
    EXPECT_THAT(message_of<InputError>([&] { m->compute(); }), HasSubstr("fillComplete()"));
    EXPECT_FALSE(m->isComputed());
    EXPECT_THAT(message_of<InputError>([&] { m->initialize(); }), HasSubstr("fillComplete()"));
    EXPECT_FALSE(m->isInitialized());
    matrix->fillComplete(map, map);
    m->compute();
    EXPECT_TRUE(m->isComputed());
    if (num_ranks() == 1) continue;  // there the maps are all the same
    matrix->resumeFill();
    matrix->fillComplete(cyclic_map(a.num_rows), map);
    EXPECT_THAT(message_of<InputError>([&] { m->compute(); }), HasSubstr("domain map"));
    EXPECT_FALSE(m->isComputed());
  }
}

TEST(Ifpack2Matrix, OneThatIsNotFillCompleteIsDescribed) {
  const HostMatrix<double> a = problem("poisson2d:9");
  const auto map = contiguous_map(a.num_rows);
  for (const auto& line : registry()) {
    const auto m = ifpack2::create(line.name, insert_rows(a, map));
    EXPECT_THAT(m->description(), HasSubstr("not fill-complete"));
    std::ostringstream text;
    m->describe(*Teuchos::getFancyOStream(Teuchos::rcpFromRef<std::ostream>(text)), Teuchos::VERB_LOW);
    EXPECT_EQ(text.str().empty(), my_rank() != 0);
  }
}

TEST(Ifpack2Matrix, WhatACopyHoldsIsNotJudgedByInitialize) {
  const HostMatrix<double> sound = problem("poisson2d:13");
  const auto map = contiguous_map(sound.num_rows);
  HostMatrix<double> a = sound;
  entry(a, 0, 0) = not_a_number;
  const auto m = ifpack2::create("jacobi", distribute(a, map, descending_columns(a, map)));
  m->initialize();
  m->compute();
  EXPECT_THAT(m->report().notes, Contains(HasSubstr("copied")));
  EXPECT_EQ(m->global_report().breakdowns.count, 1);
  EXPECT_EQ(m->global_report().breakdowns.first_row, 0);
}

TEST(Ifpack2Matrix, AZeroRowOnOneRankIsRefusedByAll) {
  const HostMatrix<double> sound = problem("poisson2d:13");
  const auto map = contiguous_map(sound.num_rows);
  const Place place = third_row_of_the_last_rank(*map);
  const auto [row, rank] = place;
  const HostMatrix<double> a = with_zero_row(sound, row);
  const Columns x = random_columns(a.num_rows, 1, 3);
  const std::set<std::string> tolerant = {"polynomial", "chebyshev", "ls_polynomial", "neumann", "amg"};
  for (const auto& line : registry()) {
    if (!line.properties.needs_spd) continue;
    for (const bool check : {true, false}) {
      SCOPED_TRACE(line.name + (check ? ", checked" : ", not checked"));
      const auto matrix = distribute(a, map);
      const auto m = ifpack2::create(line.name, matrix);
      m->setParameters(list_of({{"check_input", check}}));
      m->initialize();
      if (!check && tolerant.contains(line.name)) {  // takes any matrix, and counts such rows
        m->compute();
        EXPECT_GE(m->global_report().breakdowns.count, 1);
        continue;
      }
      const std::string text = message_of<InputError>([&] { m->compute(); });
      EXPECT_THAT(text, AnyOf(HasSubstr("row 3"), HasSubstr("(3, 3)")));
      EXPECT_THAT(text,
                  AllOf(HasSubstr("rank " + std::to_string(rank) + " of " + std::to_string(num_ranks())),
                        HasSubstr("row 3 has the global index " + std::to_string(row))));
      EXPECT_FALSE(m->isComputed());
      EXPECT_EQ(m->getNumCompute(), 0);
      TpetraMultiVector y(map, 1);
      EXPECT_THAT(message_of<std::runtime_error>([&] { m->apply(y, y); }),
                  HasSubstr("a compute that failed"));
      // With sound values all goes on.
      replace_values(*matrix, sound);
      m->compute();
      EXPECT_EQ(m->getNumInitialize(), 2);
      EXPECT_EQ(applied(*m, x, map), applied(*reference(line.name, sound, *map), own_part(x, *map)));
    }
  }
}

TEST(Ifpack2Matrix, AColumnTwiceInARowThatIsCopiedIsRefusedByAll) {
  const HostMatrix<double> sound = problem("poisson2d:13");
  const auto map = contiguous_map(sound.num_rows);
  const std::int64_t row = third_row_of_the_last_rank(*map).row;
  HostMatrix<double> a = sound;
  const std::size_t place = a.row_ptrs[row];
  a.col_idxs.insert(a.col_idxs.begin() + static_cast<std::ptrdiff_t>(place), a.col_idxs[place]);
  a.values.insert(a.values.begin() + static_cast<std::ptrdiff_t>(place), 1.0);
  for (std::int64_t i = row + 1; i <= a.num_rows; ++i) ++a.row_ptrs[i];
  const auto matrix = distribute(a, map, map_of(columns_of_rows(a, *map)), false);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto m = ifpack2::create(line.name, matrix);
    const std::string text = message_of<InputError>([&] { m->initialize(); });
    EXPECT_THAT(text, HasSubstr("3"));
    if (num_ranks() > 1) {
      EXPECT_THAT(text, HasSubstr("rank " + std::to_string(num_ranks() - 1) + " of "));
    }
    EXPECT_FALSE(m->isInitialized());
    EXPECT_EQ(m->getNumInitialize(), 0);
  }
}

TEST(Ifpack2Matrix, JacobiReportsAZeroRowByItsGlobalIndex) {
  const HostMatrix<double> sound = problem("poisson2d:13");
  for (const auto& [map_name, map] : maps(sound.num_rows)) {
    SCOPED_TRACE(map_name);
    // The last row of all, whichever rank has it; two on the same rank where that is one.
    const std::int64_t row = sound.num_rows - 1;
    const HostMatrix<double> a = with_zero_row(with_zero_row(sound, row), row - 1);
    const auto m = computed("jacobi", distribute(a, map));
    const Report all = m->global_report();
    EXPECT_EQ(all.breakdowns.count, 2);
    EXPECT_EQ(all.breakdowns.first_row, row - 1);
    EXPECT_THAT(all.breakdowns.action, HasSubstr("not scaled"));
    const int local = map->getLocalElement(row) >= 0, other = map->getLocalElement(row - 1) >= 0;
    EXPECT_EQ(m->report().breakdowns.count, local + other);
    const Columns x = random_columns(a.num_rows, 1, 3);
    EXPECT_EQ(applied(*m, x, map), applied(*reference("jacobi", a, *map), own_part(x, *map)));
    std::ostringstream text;
    m->describe(*Teuchos::getFancyOStream(Teuchos::rcpFromRef<std::ostream>(text)), Teuchos::VERB_LOW);
    if (my_rank() == 0) {
      EXPECT_THAT(text.str(), HasSubstr("the first has the global index " + std::to_string(row - 1)));
    }
  }
}

TEST(Ifpack2Matrix, AsymmetricValuesAreRefusedUnlessTheCheckIsOff) {
  HostMatrix<double> a = problem("poisson2d:13");
  const auto map = contiguous_map(a.num_rows);
  const std::int64_t row = third_row_of_the_last_rank(*map).row;
  entry(a, row, row - 1) *= 1.001;
  const auto matrix = distribute(a, map);
  const Columns x = random_columns(a.num_rows, 1, 3);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto m = ifpack2::create(line.name, matrix);
    if (line.properties.needs_spd) {
      const std::string text = message_of<InputError>([&] { m->compute(); });
      EXPECT_THAT(text, AllOf(HasSubstr("symmetric"), HasSubstr("3")));
      if (num_ranks() > 1) {
        EXPECT_THAT(text, HasSubstr("rank " + std::to_string(num_ranks() - 1)));
      }
      EXPECT_FALSE(m->isComputed());
      m->setParameters(list_of({{"check_input", false}}));
    }
    m->compute();
    EXPECT_EQ(applied(*m, x, map), applied(*reference(line.name, a, *map), own_part(x, *map)));
  }
}

TEST(Ifpack2Matrix, BlockMatrices) {
  using Block = Tpetra::BlockCrsMatrix<double>;
  constexpr int size = 3;
  const HostMatrix<double> sound = problem("elasticity3d:4");
  for (const bool broken : {false, true}) {
    const std::int64_t row = sound.num_rows - 2;
    const HostMatrix<double> a = broken ? with_zero_row(sound, row) : sound;
    const auto block_map = contiguous_map(a.num_rows / size);
    const auto point_map = points_of(*block_map);
    const Teuchos::RCP<Block> matrix = Tpetra::convertToBlockCrsMatrix(*distribute(a, point_map), size);
    const Columns x = random_columns(a.num_rows, 2, 3);
    for (const auto& line : registry()) {
      if (broken && line.name != "jacobi") continue;
      SCOPED_TRACE(line.name + (broken ? ", with a zero row" : ""));
      const auto m = ifpack2::create(line.name, matrix);
      m->compute();
      ASSERT_TRUE(on_all_ranks(m->getDomainMap()->getLocalNumElements() == point_map->getLocalNumElements()));
      EXPECT_EQ(applied(*m, x, point_map),
                applied(*reference_by_blocks(line.name, a, *point_map, size), own_part(x, *point_map)));
      EXPECT_THAT(m->global_report().notes, Not(Contains(HasSubstr("the matrix was copied"))));
      EXPECT_EQ(m->global_report().breakdowns.count, broken ? 1 : 0);
      EXPECT_EQ(m->global_report().breakdowns.first_row, broken ? row : -1);
    }
  }
}

// Exact and inexact, block Jacobi over the ranks and with overlap.
TEST(Ifpack2Matrix, BlocksOverRanksAreThoseOfRows) {
  const HostMatrix<double> a = problem("elasticity3d:4");
  const Columns x = random_columns(a.num_rows, 2, 3);
  for (const auto& [map_name, mesh] : all_maps(a.num_rows / 3)) {
    const auto points = points_of(*mesh);
    for (const int overlap : {0, 1, 2})
      for (const bool is_exact : {true, false}) {
        SCOPED_TRACE(map_name + ", overlap " + std::to_string(overlap));
        Teuchos::ParameterList list;
        list.set("rank_overlap", overlap);
        list.set("block_size", 3);
        if (!is_exact) list.set("solve.method", "jacobi");
        const auto by_blocks = ifpack2::create("block_ilu0", block_matrix(a, mesh));
        const auto by_rows = ifpack2::create("block_ilu0", distribute(a, points));
        for (const auto& m : {by_blocks, by_rows}) {
          m->setParameters(list);
          m->compute();
        }
        const Columns found = applied(*by_blocks, x, points), expected = applied(*by_rows, x, points);
        for (std::size_t v = 0; v < found.size(); ++v)
          for (std::size_t i = 0; i < found[v].size(); ++i)
            EXPECT_NEAR(found[v][i], expected[v][i], 1e-12 * (1 + std::abs(expected[v][i]))) << "row " << i;
      }
  }
}

}  // namespace
}  // namespace prekond::testing
