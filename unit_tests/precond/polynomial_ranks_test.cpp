// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Polynomials over ranks, by ranks in one process: they are those of the whole matrix, as one rank has them.
#include <prekond/precond/polynomial.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/krylov/cg.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "testing/across_ranks.hpp"
#include "testing/distributed_cases.hpp"
#include "testing/distributed_problems.hpp"

namespace prekond::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

template <class Space>
class PolynomialRanksTest : public ::testing::Test {};
TYPED_TEST_SUITE(PolynomialRanksTest, TestSpaces, SpaceNames);

/// M^-1 x for k vectors whose entries are those of `rows`, by memory with pads.
template <class Space>
std::vector<std::vector<double>> applied(const Preconditioner<double, Space>& m,
                                         const std::vector<std::int64_t>& rows, std::size_t k) {
  const Space space;
  MultiVector<double, Space> x_memory, y_memory;
  const auto x = strided<Space>(x_memory, rows.size(), k, [&](std::size_t v) { return entries(rows, v); });
  const auto y = strided<Space>(y_memory, rows.size(), k, [&](std::size_t) {
    return std::vector<double>(rows.size(), std::numeric_limits<double>::quiet_NaN());
  });
  m.apply(space, x, y, *m.make_workspace(space, static_cast<int>(k)));
  space.fence();
  return columns_of(y);
}

double largest_entry(const std::vector<std::vector<double>>& columns) {
  double largest = 0;
  for (const auto& x : columns)
    for (const double entry : x) largest = std::max(largest, std::abs(entry));
  return largest;
}

/// The measure of a difference: the largest entry of all, or each entry by itself.
enum class Measure { whole, entry };

/// The same application as on one rank, but for rounding, from as many entries.
template <class Space>
void expect_that_of_one_rank(const Setup& setup, const HostMatrix<double>& whole, const Parts& parts,
                             double tolerance, Measure measure) {
  const auto serial = on_one_rank<Space>(setup, whole);
  const auto expected = applied<Space>(*serial, all_rows(whole), 3);
  const double size = largest_entry(expected);
  ASSERT_GT(size, 0);
  std::int64_t nnz = 0, breakdowns = 0;
  run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
    const auto& own = parts[rank.rank];
    const MatrixOfRank<double, Space> a(rank, whole, parts);
    const auto m = across<Space>(setup);
    m->numeric(Space(), a);
    EXPECT_EQ(m->num_rows(), static_cast<std::int64_t>(own.size()));
    EXPECT_EQ(m->exchanges(), rank.size() > 1);
    EXPECT_EQ(m->is_symmetric(), serial->is_symmetric());
    EXPECT_EQ(m->report().foreign_entries, 0);
    for (const std::size_t k : {1, 3}) {
      const auto found = applied<Space>(*m, own, k);
      for (std::size_t v = 0; v < k; ++v)
        for (std::size_t i = 0; i < own.size(); ++i)
          EXPECT_NEAR(found[v][i], expected[v][own[i]],
                      tolerance * (measure == Measure::whole ? size : std::abs(expected[v][own[i]])))
              << to_text(setup) << ", " << rank.size() << " ranks, row " << own[i];
      EXPECT_EQ(applied<Space>(*m, own, k), found);
    }
    nnz += m->report().nnz;
    breakdowns += m->report().breakdowns.count;
  });
  EXPECT_EQ(nnz, serial->report().nnz);
  EXPECT_EQ(breakdowns, serial->report().breakdowns.count);
}

template <class Space>
void expect_those_of_one_rank(const std::vector<Setup>& setups,
                              const std::vector<HostMatrix<double>>& matrices, double tolerance = 1e-11,
                              Measure measure = Measure::whole) {
  for (const Setup& setup : setups)
    for (const HostMatrix<double>& whole : matrices)
      for (const Parts& parts : partitions(whole.num_rows)) {
        SCOPED_TRACE(to_text(setup) + ", " + std::to_string(whole.num_rows) + " rows, " +
                     std::to_string(parts.size()) + " ranks, the first has " +
                     std::to_string(parts[0].size()));
        expect_that_of_one_rank<Space>(setup, whole, parts, tolerance, measure);
      }
}

TYPED_TEST(PolynomialRanksTest, TheApplicationIsThatOfOneRank) {
  expect_those_of_one_rank<TypeParam>(
      {{"chebyshev", {}},
       {"chebyshev", {{"degree", "0"}}},
       {"chebyshev", {{"degree", "1"}, {"kind", "fourth"}}},
       {"chebyshev", {{"degree", "6"}, {"kind", "fourth_optimized"}, {"bounds", "gershgorin"}}},
       {"ls_polynomial", {}},
       {"ls_polynomial", {{"degree", "2"}, {"scaling", "none"}}},
       {"ls_polynomial", {{"scaling", "none"}, {"bounds", "gershgorin"}}},
       {"ls_polynomial", {{"lambda_max", "1.9"}, {"lambda_min", "0.1"}, {"storage_format", "sell"}}},
       {"neumann", {{"degree", "4"}}}},
      {problem("elasticity3d:4"), problem("poisson2d:9"), problem("anisotropic2d:11,epsilon=0.01")});
}

TYPED_TEST(PolynomialRanksTest, RowsMayBeCoupledToAllRanksOrToNone) {
  expect_those_of_one_rank<TypeParam>(
      {{"neumann", {{"bounds", "gershgorin"}}}},
      {irregular_matrix(53), diagonal(11), half_coupled(23), shift_matrix(7)});
  // Fewer rows than ranks.
  expect_those_of_one_rank<TypeParam>({{"chebyshev", {}}}, {problem("tridiagonal:3")});
}

TYPED_TEST(PolynomialRanksTest, LowerPrecisionsAreThoseOfTheOptions) {
  expect_those_of_one_rank<TypeParam>({{"ls_polynomial", {{"storage", "single"}}}}, {problem("poisson3d:5")},
                                      1e-5);
  const HostMatrix<double> whole = problem("poisson3d:5");
  const Parts parts = consecutive_parts({60, 65});
  run_ranks(2, [&](const Rank& rank) {
    const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
    const auto full = across<TypeParam>({"chebyshev", {}}),
               single = across<TypeParam>({"chebyshev", {{"storage", "single"}}});
    full->numeric(TypeParam(), a);
    single->numeric(TypeParam(), a);
    EXPECT_LT(single->report().bytes, full->report().bytes);
    EXPECT_NE(applied<TypeParam>(*single, parts[rank.rank], 1),
              applied<TypeParam>(*full, parts[rank.rank], 1));
  });
}

/// An entry that is stored becomes `value`.
HostMatrix<double> with_value(HostMatrix<double> a, std::int64_t row, std::int64_t column, double value) {
  for (std::size_t k = a.row_ptrs[row]; k < a.row_ptrs[row + 1]; ++k)
    if (a.col_idxs[k] == column) a.values[k] = value;
  return a;
}

TYPED_TEST(PolynomialRanksTest, RowsThatBreakDownAreCountedOnce) {
  const HostMatrix<double> whole = problem("poisson2d:8");
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  // Next to another rank's rows on two and four ranks, also where the bad entry or the largest one is in
  // another rank's column.
  for (const auto& bad :
       {with_value(whole, 31, 31, -4), with_value(whole, 32, 32, 0), with_value(whole, 32, 24, nan),
        with_value(whole, 15, 16, nan), with_value(with_value(whole, 31, 39, 64), 31, 31, -1)}) {
    for (const char* scaling : {"diagonal", "none"})
      for (const char* bounds : {"lanczos", "gershgorin"})
        expect_those_of_one_rank<TypeParam>({{"chebyshev", {{"scaling", scaling}, {"bounds", bounds}}}},
                                            {bad});
  }
  const Parts parts = consecutive_parts({20, 0, 20, 24});
  run_ranks(4, [&](const Rank& rank) {
    const MatrixOfRank<double, TypeParam> a(rank, with_value(whole, 37, 37, -1), parts);
    const auto m = across<TypeParam>({"chebyshev", {}});
    m->numeric(TypeParam(), a);
    EXPECT_EQ(m->report().breakdowns.count, rank.rank == 2 ? 1 : 0);
    EXPECT_EQ(m->report().breakdowns.first_row, rank.rank == 2 ? 17 : -1);
  });
}

TYPED_TEST(PolynomialRanksTest, RanksAgreeOnTheScaleOfExtremeMatrices) {
  // S A S, for S = diag(1, ..., 1, factor, ..., factor): of all rows, and only of the last rank's.
  const auto scaled = [](double factor, std::int64_t from) {
    HostMatrix<double> a = problem("poisson2d:6");
    for (std::int64_t i = 0; i < a.num_rows; ++i)
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
        a.values[k] *= (i < from ? 1 : factor) * (a.col_idxs[k] < from ? 1 : factor);
    return a;
  };
  for (const double factor : {0x1p-350, 0x1p250})
    for (const char* scaling : {"diagonal", "none"})
      expect_those_of_one_rank<TypeParam>({{"chebyshev", {{"scaling", scaling}}}}, {scaled(factor, 0)});
  for (const double factor : {0x1p-200, 0x1p200})
    expect_those_of_one_rank<TypeParam>({{"neumann", {}}}, {scaled(factor, 30)}, 1e-9, Measure::entry);
  expect_those_of_one_rank<TypeParam>({{"neumann", {{"scaling", "none"}, {"bounds", "gershgorin"}}}},
                                      {scaled(32, 30)});
}

TYPED_TEST(PolynomialRanksTest, AllRanksFindTheSpectrumOfOneRank) {
  const HostMatrix<double> whole = problem("anisotropic2d:13,epsilon=0.1");
  for (const char* bounds : {"lanczos", "gershgorin"}) {
    const Setup setup{"ls_polynomial", {{"bounds", bounds}}};
    const auto serial = on_one_rank<TypeParam>(setup, whole);
    const auto spectrum_of = [](const Method<TypeParam>& method) {
      return dynamic_cast<const PolynomialPreconditioner<double, TypeParam>&>(method).spectrum();
    };
    const Spectrum expected = spectrum_of(*serial);
    for (const Parts& parts : partitions(whole.num_rows))
      run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
        const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
        const auto m = across<TypeParam>(setup);
        m->numeric(TypeParam(), a);
        const Spectrum found = spectrum_of(m->method());
        EXPECT_NEAR(found.max, expected.max, 1e-12);
        EXPECT_NEAR(found.min, expected.min, 1e-12);
        EXPECT_EQ(m->report().notes, serial->report().notes);
        for (const double other : rank.all_gather("spectrum", found.max)) EXPECT_EQ(other, found.max);
      });
  }
}

TYPED_TEST(PolynomialRanksTest, CgTakesTheIterationsOfOneRank) {
  const HostMatrix<double> whole = problem("poisson2d:23");
  for (const Setup& setup : {Setup{"chebyshev", {}}, Setup{"ls_polynomial", {}}, Setup{"neumann", {}}}) {
    const auto all = partitions(whole.num_rows);
    const std::int64_t one = cg_iterations<TypeParam>(setup, whole, all[0]);
    for (const Parts& parts : all)
      EXPECT_EQ(cg_iterations<TypeParam>(setup, whole, parts), one) << setup.name << ", " << parts.size();
    const Setup block_jacobi{setup.name, setup.options, 0};
    EXPECT_GT(cg_iterations<TypeParam>(block_jacobi, whole, all[4]), one);
  }
}

TYPED_TEST(PolynomialRanksTest, WithoutOverlapItIsBlockJacobi) {
  const HostMatrix<double> whole = problem("poisson2d:9");
  const Parts parts = consecutive_parts({30, 0, 40, 11});
  run_ranks(4, [&](const Rank& rank) {
    const auto& own = parts[rank.rank];
    const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
    const auto m = across<TypeParam>({"chebyshev", {}, 0});
    m->numeric(TypeParam(), a);
    EXPECT_FALSE(m->exchanges());
    const auto alone = create_preconditioner<double, TypeParam>("chebyshev");
    alone->numeric(TypeParam(), a.rows());
    EXPECT_EQ(applied<TypeParam>(*m, own, 2), applied<TypeParam>(*alone, own, 2));
    const auto schwarz = across<TypeParam>({"chebyshev", {}, 1});
    schwarz->numeric(TypeParam(), a);
    EXPECT_TRUE(schwarz->is_nonsymmetric());
  });
}

TYPED_TEST(PolynomialRanksTest, AnApplicationExchangesOnceAProductAndAllocatesNothing) {
  const HostMatrix<double> whole = problem("poisson2d:9");
  const Parts parts = consecutive_parts({30, 0, 40, 11});
  for (const int degree : {0, 1, 4}) {
    NotedEvents events;
    run_ranks(4, [&](const Rank& rank) {
      const TypeParam space;
      const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
      const auto m = across<TypeParam>({"chebyshev", {{"degree", std::to_string(degree)}}});
      m->numeric(space, a);
      const auto workspace = m->make_workspace(space, 2);
      const MultiVector<double, TypeParam> x("x", parts[rank.rank].size(), 2),
          y("y", parts[rank.rank].size(), 2);
      const NotedEvents noted = events_of_all(rank, [&] { m->apply(space, x, y, *workspace); });
      if (rank.rank == 0) events = noted;
    });
    EXPECT_TRUE(events.allocations.empty()) << events.allocations.front();
    EXPECT_EQ(std::count(events.kernels.begin(), events.kernels.end(), "prekond::import::pack"), 4 * degree);
    EXPECT_EQ(std::count(events.kernels.begin(), events.kernels.end(), "prekond::import::unpack"),
              4 * degree);
  }
}

TYPED_TEST(PolynomialRanksTest, NumericAgainSeesNewValues) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("poisson2d:8");
  HostMatrix<double> changed = whole;
  for (double& value : changed.values) value *= 1.5;
  for (std::int64_t i = 0; i < changed.num_rows; i += 3) changed = with_value(changed, i, i, 9);
  const Setup setup{"ls_polynomial", {}};
  const auto expected = applied<TypeParam>(*on_one_rank<TypeParam>(setup, changed), all_rows(whole), 1);
  const Parts parts = consecutive_parts({20, 0, 30, 14});
  for (const bool symbolic_first : {true, false})
    run_ranks(4, [&](const Rank& rank) {
      const auto& own = parts[rank.rank];
      const MatrixOfRank<double, TypeParam> a(rank, whole, parts), b(rank, changed, parts);
      const auto m = across<TypeParam>(setup);
      if (symbolic_first) m->symbolic(space, a);
      m->numeric(space, a);
      m->numeric(space, b);
      const auto found = applied<TypeParam>(*m, own, 1);
      for (std::size_t i = 0; i < own.size(); ++i)
        EXPECT_NEAR(found[0][i], expected[0][own[i]], 1e-11) << own[i];
    });
}

TYPED_TEST(PolynomialRanksTest, AnotherPatternIsRefusedOnAllRanks) {
  const TypeParam space;
  const HostMatrix<double> whole = problem("tridiagonal:12"), other = diagonal(12);
  const Parts parts = consecutive_parts({5, 7});
  run_ranks(2, [&](const Rank& rank) {
    const auto& own = parts[rank.rank];
    const MatrixOfRank<double, TypeParam> a(rank, whole, parts), b(rank, other, parts),
        c(rank, whole, consecutive_parts({6, 6}));
    const auto m = across<TypeParam>({"neumann", {}});
    m->numeric(space, a);
    const auto before = applied<TypeParam>(*m, own, 1);
    for (const auto* refused : {&b, &c})
      EXPECT_THAT(message_of<InputError>([&] { m->numeric(space, *refused); }),
                  HasSubstr("call symbolic for another pattern"));
    EXPECT_EQ(applied<TypeParam>(*m, own, 1), before);
    m->symbolic(space, b);
    const Vector<double, TypeParam> x("x", own.size()), y("y", own.size());
    Workspace none;
    EXPECT_THROW(m->apply(space, as_multivector(x), as_multivector(y), none), std::logic_error);
    m->numeric(space, b);
    EXPECT_NE(applied<TypeParam>(*m, own, 1), before);
  });
}

}  // namespace
}  // namespace prekond::testing
