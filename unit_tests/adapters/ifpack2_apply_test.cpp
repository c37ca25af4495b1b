// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/ifpack2_cases.hpp"
#include "testing/spaces.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace prekond::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// alpha z + beta y; with a factor of zero, what it multiplies does not count.
Columns combined(double alpha, const Columns& z, double beta, const Columns& y) {
  Columns sum = y;
  for (std::size_t k = 0; k < y.size(); ++k)
    for (std::size_t i = 0; i < y[k].size(); ++i)
      sum[k][i] = (alpha == 0 ? 0 : alpha * z[k][i]) + (beta == 0 ? 0 : beta * y[k][i]);
  return sum;
}

TEST(Ifpack2Apply, IsTheSequentialPreconditionerOfTheRanksOwnBlock) {
  for (const char* spec : {"poisson2d:13", "elasticity3d:4"}) {
    const HostMatrix<double> a = problem(spec);
    for (const auto& [map_name, map] : maps(a.num_rows)) {
      const auto matrix = distribute(a, map);
      for (const auto& line : registry()) {
        SCOPED_TRACE(line.name + ", " + spec + ", " + map_name);
        const auto m = computed(line.name, matrix);
        const auto expected = reference(line.name, a, *map);
        for (const int k : {1, 2, 5, 2, 1}) {
          const Columns x = random_columns(a.num_rows, k, 3);
          EXPECT_EQ(applied(*m, x, map), applied(*expected, own_part(x, *map))) << k << " vectors";
        }
      }
    }
  }
}

TEST(Ifpack2Apply, ColumnMapsOfAnyOrderAndUnsortedRowsGiveTheSameBits) {
  const HostMatrix<double> a = problem("elasticity3d:4");
  const Columns x = random_columns(a.num_rows, 2, 5);
  for (const auto& [map_name, map] : maps(a.num_rows)) {
    const auto descending = descending_columns(a, map);
    const auto usual = distribute(a, map)->getColMap();
    for (const auto& [matrix, name] :
         {std::pair{distribute(a, map, descending), "columns descend"},
          std::pair{distribute(a, map, descending, false), "columns descend, rows are not sorted"},
          std::pair{distribute(a, map, usual, false), "rows are not sorted"}}) {
      for (const auto& line : registry()) {
        SCOPED_TRACE(line.name + ", " + map_name + ", " + name);
        const auto m = computed(line.name, matrix);
        EXPECT_EQ(applied(*m, x, map), applied(*reference(line.name, a, *map), own_part(x, *map)));
        if (map->getLocalNumElements() > 1) {
          EXPECT_THAT(m->report().notes, Contains(HasSubstr("the matrix was copied")));
        }
        EXPECT_THAT(m->global_report().notes, Contains(HasSubstr("the matrix was copied")));
      }
    }
  }
}

TEST(Ifpack2Apply, AlphaBetaAndModes) {
  const HostMatrix<double> a = problem("elasticity3d:4");
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  const Columns x_whole = random_columns(a.num_rows, 3, 7), y_whole = random_columns(a.num_rows, 3, 8);
  for (const auto& line : registry()) {
    const auto m = computed(line.name, matrix);
    const auto expected = reference(line.name, a, *map);
    const Columns z = applied(*expected, own_part(x_whole, *map));
    EXPECT_EQ(m->hasTransposeApply(), expected->is_symmetric());
    for (const Teuchos::ETransp mode : {Teuchos::NO_TRANS, Teuchos::TRANS, Teuchos::CONJ_TRANS})
      for (const double alpha : {1.0, 0.0, -2.5})
        for (const double beta : {0.0, 1.0, 0.5}) {
          SCOPED_TRACE(line.name + ", mode " + Teuchos::toString(mode) + ", alpha " + std::to_string(alpha) +
                       ", beta " + std::to_string(beta));
          TpetraMultiVector x = distribute(x_whole, map), y = distribute(y_whole, map);
          if (alpha == 0) x.putScalar(not_a_number);  // neither X nor Y is read where its factor is zero
          if (beta == 0) y.putScalar(not_a_number);
          if (mode != Teuchos::NO_TRANS && !m->hasTransposeApply()) {
            EXPECT_THAT(message_of<std::invalid_argument>([&] { m->apply(x, y, mode, alpha, beta); }),
                        HasSubstr("cannot apply its transpose"));
            continue;
          }
          m->apply(x, y, mode, alpha, beta);
          // In real arithmetic a symmetric M^-1 is its transpose; that it is one is tested below.
          if (mode == Teuchos::NO_TRANS || expected->is_symmetric())
            expect_near(values_of(y), combined(alpha, z, beta, own_part(y_whole, *map)));
        }
  }
}

TEST(Ifpack2Apply, TheTransposedModesAreAdjoint) {
  const HostMatrix<double> a = problem("elasticity3d:4");
  const auto map = cyclic_map(a.num_rows);
  const auto matrix = distribute(a, map);
  const TpetraVector u = distribute(random_vector(a.num_rows, 1), map),
                     w = distribute(random_vector(a.num_rows, 2), map);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto m = computed(line.name, matrix);
    if (!m->hasTransposeApply()) continue;
    TpetraVector forward(map), backward(map);
    m->apply(u, forward);
    for (const Teuchos::ETransp mode : {Teuchos::TRANS, Teuchos::CONJ_TRANS}) {
      m->apply(w, backward, mode);
      const double scale = forward.norm2() * w.norm2();
      EXPECT_NEAR(forward.dot(w), u.dot(backward), 1e-13 * scale);
    }
  }
}

TEST(Ifpack2Apply, XAndYMayShareMemory) {
  const HostMatrix<double> a = problem("poisson2d:13");
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  const Columns whole = random_columns(a.num_rows, 5, 11), mine = own_part(whole, *map);
  using Index = Teuchos::Array<std::size_t>;
  // X and Y are these vectors of one block of five.
  const std::vector<std::pair<Index, Index>> views = {{Index({0, 1, 2, 3, 4}), Index({0, 1, 2, 3, 4})},
                                                      {Index({0, 1, 2}), Index({1, 2, 3})},
                                                      {Index({2, 3, 4}), Index({1, 2, 3})},
                                                      {Index({2, 0}), Index({2, 0})},
                                                      {Index({2, 0}), Index({0, 2})},
                                                      {Index({0, 2, 4}), Index({4, 0, 2})},
                                                      {Index({1, 2}), Index({4, 1})},
                                                      {Index({4, 1}), Index({1, 2})}};
  for (const auto& line : registry()) {
    const auto m = computed(line.name, matrix);
    const auto expected = reference(line.name, a, *map);
    for (const auto& [from, to] : views)
      for (const auto& [alpha, beta] : {std::pair{1.0, 0.0}, std::pair{-2.5, 0.5}}) {
        SCOPED_TRACE(line.name + ", X " + Teuchos::toString(from) + ", Y " + Teuchos::toString(to) +
                     ", alpha " + std::to_string(alpha));
        TpetraMultiVector all = distribute(whole, map);
        {
          const auto x = all.subView(from());
          const auto y = all.subViewNonConst(to());
          m->apply(*x, *y, Teuchos::NO_TRANS, alpha, beta);
        }
        Columns result = mine;
        for (int k = 0; k < to.size(); ++k)
          result[to[k]] = combined(alpha, applied(*expected, {mine[from[k]]}), beta, {mine[to[k]]})[0];
        expect_near(values_of(all), result);
      }
    SCOPED_TRACE(line.name + ", the same object");
    TpetraMultiVector all = distribute(whole, map);
    m->apply(all, all);
    EXPECT_EQ(values_of(all), applied(*expected, mine));
  }
}

TEST(Ifpack2Apply, VectorsThatDoNotLieAtOneStride) {
  const HostMatrix<double> a = problem("poisson2d:13");
  const auto map = cyclic_map(a.num_rows);
  const auto matrix = distribute(a, map);
  const Columns whole = random_columns(a.num_rows, 3, 13), mine = own_part(whole, *map);
  const Teuchos::Array<std::size_t> two_and_zero({2, 0});
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto m = computed(line.name, matrix);
    const Columns expected = applied(*reference(line.name, a, *map), {mine[2], mine[0]});
    const TpetraMultiVector x = distribute(whole, map);
    TpetraMultiVector y = distribute(whole, map);
    ASSERT_FALSE(x.subView(two_and_zero())->isConstantStride());
    m->apply(*x.subView(two_and_zero()), *y.subViewNonConst(two_and_zero()));
    EXPECT_EQ(values_of(y), (Columns{expected[1], mine[1], expected[0]}));

    TpetraMultiVector dense(map, 2);
    m->apply(*x.subView(two_and_zero()), dense);
    EXPECT_EQ(values_of(dense), expected);
    m->apply(*x.subCopy(two_and_zero()), dense, Teuchos::NO_TRANS, 2.0, -1.0);
    expect_near(values_of(dense), expected);
    y = distribute(whole, map);
    m->apply(*x.subCopy(two_and_zero()), *y.subViewNonConst(two_and_zero()));
    EXPECT_EQ(values_of(y), (Columns{expected[1], mine[1], expected[0]}));
  }
}

TEST(Ifpack2Apply, AllocatesNothingTheSecondTime) {
  const HostMatrix<double> a = problem("poisson2d:13");
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  const Teuchos::Array<std::size_t> two_and_zero({2, 0});
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    const auto m = computed(line.name, matrix);
    const TpetraMultiVector x = distribute(random_columns(a.num_rows, 5, 13), map);
    TpetraMultiVector y(map, 5);
    y.putScalar(1);
    const auto x2 = x.subView(Teuchos::Range1D(0, 1)), x_apart = x.subView(two_and_zero());
    const auto y2 = y.subViewNonConst(Teuchos::Range1D(0, 1)), y_apart = y.subViewNonConst(two_and_zero());
    const auto all_ways = [&] {
      m->apply(x, y);
      m->apply(*x2, *y2);
      m->apply(x, y, Teuchos::NO_TRANS, -2.5, 0.5);
      m->apply(*x2, *y2, Teuchos::NO_TRANS, 1.0, 1.0);
      m->apply(y, y, Teuchos::NO_TRANS, 0.5, 0.0);
      if (m->hasTransposeApply()) m->apply(x, y, Teuchos::TRANS);
    };
    {
      const ToolEvents events;
      all_ways();
      EXPECT_THAT(events.allocations(),
                  Contains(HasSubstr("prekond::tpetra::apply::buffer")));  // they would be seen
    }
    {
      const ToolEvents events;
      all_ways();
      EXPECT_THAT(events.kernels(), Contains(HasSubstr("prekond::")));
      EXPECT_THAT(events.allocations(), IsEmpty());
    }
    const ToolEvents events;
    m->apply(*x_apart, *y_apart);
    m->apply(*y_apart, *y_apart);
    EXPECT_THAT(events.allocations(),
                Each("DualView::modified_flags"));  // of Tpetra's views of single vectors
  }
}

TEST(Ifpack2Apply, RefusesVectorsOfAnotherSizeAndAnythingBeforeCompute) {
  const HostMatrix<double> a = problem("poisson2d:9");
  const auto map = contiguous_map(a.num_rows);
  const auto matrix = distribute(a, map);
  for (const auto& line : registry()) {
    SCOPED_TRACE(line.name);
    TpetraMultiVector x(map, 2), y(map, 2), three(map, 3), longer(contiguous_map(a.num_rows + 8), 2);
    const auto m = ifpack2::create(line.name, matrix);
    const auto refused = [&] {
      EXPECT_THAT(message_of<std::runtime_error>([&] { m->apply(x, y); }),
                  AllOf(HasSubstr(line.name), HasSubstr("before compute")));
      EXPECT_THAT(message_of<std::runtime_error>([&] { m->local(); }), HasSubstr("before compute"));
    };
    refused();
    m->initialize();
    refused();
    m->compute();
    m->apply(x, y);
    EXPECT_THAT(message_of<std::invalid_argument>([&] { m->apply(x, three); }), HasSubstr("X of"));
    EXPECT_THAT(message_of<std::invalid_argument>([&] { m->apply(longer, longer); }),
                HasSubstr("on this rank, which has"));
    EXPECT_EQ(m->getNumApply(), 1);
    m->initialize();
    refused();
  }
}

}  // namespace
}  // namespace prekond::testing
