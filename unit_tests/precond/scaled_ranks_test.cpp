// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scaled matrices over ranks, by ranks in one process: what one rank scales and finds for the whole matrix.
#include <prekond/precond/distributed_preconditioner.hpp>
#include <prekond/precond/scaled.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/krylov/cg.hpp>

#include <algorithm>
#include <cmath>

#include "precond/distributed/scaled_matrix.hpp"
#include "testing/across_ranks.hpp"
#include "testing/distributed_cases.hpp"
#include "testing/distributed_problems.hpp"
#include "testing/reference_scaled.hpp"

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

template <class Space>
class ScaledRanksTest : public ::testing::Test {};
TYPED_TEST_SUITE(ScaledRanksTest, TestSpaces, SpaceNames);

/// L A R for diagonal matrices of numbers from 2^-6 to 2^6, L = R where `symmetric`.
HostMatrix<double> graded(HostMatrix<double> a, bool symmetric) {
  const auto left = [](std::int64_t i) { return 1.25 * std::ldexp(1.0, int(i * 37 % 13) - 6); };
  const auto right = [](std::int64_t j) { return 0.75 * std::ldexp(1.0, int(j * 29 % 11) - 5); };
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      a.values[k] *= left(i) * (symmetric ? left(a.col_idxs[k]) : right(a.col_idxs[k]));
  return a;
}

ReferenceScale reference_scale(const HostMatrix<double>& a, ScalingKind kind) {
  return kind == ScalingKind::diagonal ? reference_diagonal_scale(a) : reference_equilibrated(a, 1000);
}

// ------------------------------------------------------------------------------------------- the matrix

TYPED_TEST(ScaledRanksTest, TheMatrixIsThatOfOneRank) {
  for (const ScalingKind kind : {ScalingKind::diagonal, ScalingKind::equilibrate})
    for (const auto& whole : {graded(irregular_matrix(41), false), graded(problem("poisson2d:6"), true),
                              shift_matrix(9), half_coupled(14), diagonal(3)}) {
      const HostMatrix<double> expected = reference_scaled(whole, reference_scale(whole, kind));
      for (const Parts& parts : partitions(whole.num_rows)) {
        if (parts.size() == 1) continue;
        run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
          const TypeParam space;
          const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
          const auto exponents =
              prekond::impl::distributed::scaling_of<double, TypeParam>(space, a, {{kind}, {}, {}});
          const prekond::impl::distributed::ScaledMatrix<double, TypeParam> scaled(space, a, exponents);
          expect_distributed<TypeParam>(scaled, scaled.own_rows(), expected, parts[rank.rank], rank.rank);
          expect_transposed<TypeParam>(scaled, expected, parts[rank.rank], rank.rank);
          // A^T's rows of other ranks.
          std::vector<std::int64_t> others;
          for (std::int64_t i = rank.rank % 2; i < whole.num_rows; i += 2)
            if (std::count(parts[rank.rank].begin(), parts[rank.rank].end(), i) == 0) others.push_back(i);
          expect_remote_rows<TypeParam>(*distributed_transpose<double, TypeParam>(space, scaled),
                                        transposed(expected), others);
        });
      }
    }
}

// ------------------------------------------------------------------------------------------- the method

/// M^-1 x for two vectors.
template <class Space>
std::vector<std::vector<double>> applied(const Preconditioner<double, Space>& m,
                                         const std::vector<std::int64_t>& rows) {
  const Space space;
  MultiVector<double, Space> x_memory, y_memory;
  const auto x = strided<Space>(x_memory, rows.size(), 2, [&](std::size_t v) { return entries(rows, v); });
  const auto y = strided<Space>(y_memory, rows.size(), 2,
                                [&](std::size_t) { return std::vector<double>(rows.size(), std::nan("")); });
  m.apply(space, x, y, *m.make_workspace(space, 2));
  space.fence();
  return columns_of(y);
}

template <class Space>
Scaled<double, Space> scaled_on_one_rank(const Setup& setup, ScalingKind kind,
                                         const HostMatrix<double>& whole) {
  Scaled<double, Space> m(create_preconditioner<double, Space>(setup.name, setup.options), {kind});
  m.numeric(Space(), to_device<Space>(whole));
  return m;
}

double largest_entry(const std::vector<std::vector<double>>& columns) {
  double largest = 0;
  for (const auto& x : columns)
    for (const double entry : x) largest = std::max(largest, std::abs(entry));
  return largest;
}

template <class Space>
void expect_that_of_one_rank(const Setup& setup, ScalingKind kind, const HostMatrix<double>& whole) {
  const auto serial = scaled_on_one_rank<Space>(setup, kind, whole);
  const auto expected = applied<Space>(serial, all_rows(whole));
  const double size = largest_entry(expected);
  for (const Parts& parts : partitions(whole.num_rows)) {
    std::int64_t nnz = 0;
    run_ranks(static_cast<int>(parts.size()), [&](const Rank& rank) {
      const auto& own = parts[rank.rank];
      const MatrixOfRank<double, Space> a(rank, whole, parts);
      const auto m = across<Space>(setup);
      m->set_scaling({kind});
      if (parts.size() % 2 == 1) m->symbolic(Space(), a);
      for (int phase = 0; phase < 2; ++phase) {
        m->numeric(Space(), a);
        EXPECT_EQ(m->exchanges(), rank.size() > 1);
        EXPECT_EQ(m->is_symmetric(), serial.is_symmetric());
        const auto found = applied<Space>(*m, own);
        for (std::size_t v = 0; v < 2; ++v)
          for (std::size_t i = 0; i < own.size(); ++i)
            EXPECT_NEAR(found[v][i], expected[v][own[i]], 1e-12 * size)
                << to_text(setup) << ", " << rank.size() << " ranks, row " << own[i];
      }
      nnz += m->report().nnz;
    });
    EXPECT_EQ(nnz, serial.report().nnz);
  }
}

TYPED_TEST(ScaledRanksTest, SymmetricMethodsAreThoseOfOneRank) {
  for (const Setup& setup :
       {Setup{"fsai", {{"power", "2"}}}, Setup{"fsai", {{"block_size", "3"}}},
        Setup{"adaptive_fsai", {{"max_steps", "3"}, {"reuse", "none"}}, 1000}, Setup{"chebyshev", {}},
        Setup{"ls_polynomial", {{"scaling", "none"}, {"bounds", "gershgorin"}}}})
    for (const char* spec : {"elasticity3d:4", "poisson2d:9"})
      expect_that_of_one_rank<TypeParam>(setup, ScalingKind::diagonal, graded(problem(spec), true));
}

TYPED_TEST(ScaledRanksTest, GeneralMethodsAreThoseOfOneRank) {
  for (const Setup& setup :
       {Setup{"nonsymmetric_fsai", {}}, Setup{"spai", {}}, Setup{"spai", {{"side", "left"}, {"power", "2"}}},
        Setup{"isai", {{"power", "2"}}}, Setup{"neumann", {{"bounds", "gershgorin"}}}})
    for (const ScalingKind kind : {ScalingKind::equilibrate, ScalingKind::diagonal})
      expect_that_of_one_rank<TypeParam>(setup, kind, graded(problem("convection_diffusion3d:4"), false));
}

TYPED_TEST(ScaledRanksTest, CgTakesTheIterationsOfOneRank) {
  const HostMatrix<double> whole = graded(problem("poisson2d:15"), true);
  const auto iterations = [&](const Setup& setup, bool scaled, const Parts& parts) {
    return cg_iterations<TypeParam>(setup, whole, parts, [&](Across<TypeParam>& m) {
      if (scaled) m.set_scaling(ScaledOptions{});
    });
  };
  for (const Setup& setup : {Setup{"fsai", {}}, Setup{"ls_polynomial", {{"scaling", "none"}}}}) {
    const auto all = partitions(whole.num_rows);
    const std::int64_t one = iterations(setup, true, all[0]);
    for (const Parts& parts : all) EXPECT_EQ(iterations(setup, true, parts), one) << setup.name;
  }
  const Setup unscaled{"ls_polynomial", {{"scaling", "none"}}};
  EXPECT_GT(iterations(unscaled, false, partitions(whole.num_rows)[1]),
            iterations(unscaled, true, partitions(whole.num_rows)[1]));
}

/// The rows and columns of a rank in `whole`.
HostMatrix<double> block_of(const HostMatrix<double>& whole, const std::vector<std::int64_t>& own) {
  HostMatrix<double> block;
  block.num_rows = block.num_cols = static_cast<std::int64_t>(own.size());
  for (const std::int64_t i : own) {
    for (std::size_t k = whole.row_ptrs[i]; k < whole.row_ptrs[i + 1]; ++k) {
      const auto place = std::find(own.begin(), own.end(), whole.col_idxs[k]);
      if (place == own.end()) continue;
      block.col_idxs.push_back(static_cast<int>(place - own.begin()));
      block.values.push_back(whole.values[k]);
    }
    block.row_ptrs.push_back(block.nnz());
  }
  return block;
}

TYPED_TEST(ScaledRanksTest, MethodsOfARanksOwnRowsAreOfItsBlockOfTheScaledMatrix) {
  const HostMatrix<double> whole = graded(problem("convection_diffusion3d:4"), false);
  const ReferenceScale scale = reference_equilibrated(whole, 1000);
  const HostMatrix<double> scaled = reference_scaled(whole, scale);
  const Parts parts = consecutive_parts({20, 0, 30, 14});
  const Setup setup{"ilu0", {}};
  run_ranks(4, [&](const Rank& rank) {
    const auto& own = parts[rank.rank];
    const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
    const auto m = across<TypeParam>(setup);
    m->set_scaling({ScalingKind::equilibrate});
    m->numeric(TypeParam(), a);
    EXPECT_FALSE(m->exchanges());
    const auto found = applied<TypeParam>(*m, own);
    if (own.empty()) return;
    const auto block = on_one_rank<TypeParam>(setup, block_of(scaled, own));
    EXPECT_EQ(m->report().bytes, block->report().bytes + std::int64_t(2 * sizeof(double) * own.size()));
    auto x = entries(own, 0);
    for (std::size_t i = 0; i < own.size(); ++i) x[i] = std::ldexp(x[i], scale.row[own[i]]);
    const auto from = to_device<TypeParam>(x);
    const Vector<double, TypeParam> to("to", own.size());
    block->apply(TypeParam(), as_multivector(VectorView<const double, TypeParam>(from)), as_multivector(to),
                 *block->make_workspace(TypeParam(), 1));
    TypeParam().fence();
    const auto y = to_vector(to);
    for (std::size_t i = 0; i < own.size(); ++i)
      EXPECT_EQ(found[0][i], std::ldexp(y[i], scale.column[own[i]])) << own[i];
  });
}

TYPED_TEST(ScaledRanksTest, GivenScalesAreThoseOfTheRanksOwnRows) {
  const HostMatrix<double> whole = graded(problem("convection_diffusion3d:4"), false);
  const Parts parts = consecutive_parts({20, 0, 30, 14});
  std::vector<double> row, column;
  for (std::int64_t i = 0; i < whole.num_rows; ++i) {
    row.push_back(std::ldexp(1.1, int(i % 5) - 2));
    column.push_back(std::ldexp(0.9, int(i % 7) - 3));
  }
  const Setup setup{"nonsymmetric_fsai", {}};
  Scaled<double, TypeParam> serial(create_preconditioner<double, TypeParam>(setup.name),
                                   to_device<TypeParam>(row), to_device<TypeParam>(column));
  serial.numeric(TypeParam(), to_device<TypeParam>(whole));
  const auto expected = applied<TypeParam>(serial, all_rows(whole));
  run_ranks(4, [&](const Rank& rank) {
    const auto& own = parts[rank.rank];
    const auto mine = [&](const std::vector<double>& all) {
      std::vector<double> entries;
      for (const std::int64_t i : own) entries.push_back(all[i]);
      return to_device<TypeParam>(entries);
    };
    const MatrixOfRank<double, TypeParam> a(rank, whole, parts);
    const auto m = across<TypeParam>(setup);
    m->set_scaling(mine(row), mine(column));
    m->numeric(TypeParam(), a);
    const auto found = applied<TypeParam>(*m, own);
    for (std::size_t i = 0; i < own.size(); ++i)
      EXPECT_NEAR(found[0][i], expected[0][own[i]], 1e-12 * largest_entry(expected)) << own[i];
    // One rank has too few.
    m->set_scaling(rank.rank == 2 ? to_device<TypeParam>(std::vector<double>(29, 1.0)) : mine(row),
                   mine(column));
    EXPECT_THAT(message_of<InputError>([&] { m->numeric(TypeParam(), a); }),
                HasSubstr("29 scales for a matrix of 30 rows"));
    EXPECT_THROW(m->set_scaling({ScalingKind::given}), std::logic_error);
  });
}

}  // namespace
}  // namespace prekond::testing
