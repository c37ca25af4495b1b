// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// One matrix after another.
#include "testing/krylov_problems.hpp"
#include "testing/matrices.hpp"
#include "testing/reference_cg.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/core/error.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/linear_solver.hpp>

#include <algorithm>
#include <cmath>

namespace prekond::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

template <class Space>
class LinearSolverTest : public ::testing::Test {
 public:
  using Matrix = CsrMatrix<double, int, std::size_t, typename Space::memory_space>;

  static HostMatrix<double> problem(const std::string& name) {
    return to_host(generate<double, Space>(Space(), name));
  }

  /// Poisson's equation with a coefficient that grows by `change` over the steps, more in some rows.
  static std::vector<Matrix> steps(int count, double change) {
    const HostMatrix<double> base = problem("poisson2d:40");
    std::vector<Matrix> matrices;
    for (int s = 0; s < count; ++s) {
      HostMatrix<double> a = base;
      const auto d = [&](std::size_t i) { return 1 + change * s * static_cast<double>(i % 5); };
      for (std::size_t i = 0; i < static_cast<std::size_t>(a.num_rows); ++i)
        for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
          a.values[k] *= d(i) * d(static_cast<std::size_t>(a.col_idxs[k]));
      matrices.push_back(to_device<Space>(a));
    }
    return matrices;
  }

  static LinearSolverOptions with(SetupReuse reuse, const std::string& preconditioner = "ick") {
    LinearSolverOptions options;
    options.preconditioner = {preconditioner, {}};
    options.solver = {"cg", {}};
    options.reuse = reuse;
    return options;
  }

  /// The work of a setup of `ick`, in products with A.
  static double setup_of(const Matrix& a) {
    for (const Candidate& known :
         candidates_for(statistics<double, Space>(Space(), a), !is_host_space<Space>, false))
      if (known.preconditioner.name == "ick") return known.setup;
    return 0;
  }

  struct Counts {
    std::int64_t setups, iterations;
  };
  static Counts run(const std::vector<Matrix>& matrices, const LinearSolverOptions& options) {
    LinearSolver<double, Space> solver(options);
    Counts counts{0, 0};
    for (std::size_t s = 0; s < matrices.size(); ++s) {
      if (s == 0)
        solver.set_matrix(Space(), matrices[s]);
      else
        solver.set_values(Space(), matrices[s]);
      counts.iterations += solve(solver, matrices[s]);
    }
    counts.setups = solver.setups();
    return counts;
  }

  /// \returns iterations of a solve with b = 1, whose residual is checked
  static std::int64_t solve(LinearSolver<double, Space>& solver, const Matrix& a) {
    const Vector<double, Space> b("b", a.num_rows), x("x", a.num_rows);
    Kokkos::deep_copy(b, 1.0);
    const SolveResult result = solver.solve(Space(), b, x);
    EXPECT_TRUE(result.converged);
    const Vector<double, Space> r("r", a.num_rows);
    CsrOperator<double, Space>(a).apply(Space(), as_multivector(Vector<const double, Space>(x)),
                                        as_multivector(r));
    const auto product = to_vector(r);
    double squares = 0;
    for (const double value : product) squares += (1 - value) * (1 - value);
    EXPECT_LE(std::sqrt(squares), 1.01e-6 * std::sqrt(static_cast<double>(a.num_rows)));
    return result.iterations;
  }
};
TYPED_TEST_SUITE(LinearSolverTest, TestSpaces, SpaceNames);

TYPED_TEST(LinearSolverTest, AMatrixThatHardlyChangesKeepsItsPreconditioner) {
  const auto counts = this->run(this->steps(20, 1e-6), this->with(SetupReuse::automatic));
  EXPECT_EQ(counts.setups, 1);
}

TYPED_TEST(LinearSolverTest, OneThatChangesGetsANewOneWhereTheOldOneCostsMore) {
  const auto matrices = this->steps(20, 0.5);
  const auto kept = this->run(matrices, this->with(SetupReuse::automatic)),
             renewed = this->run(matrices, this->with(SetupReuse::values)),
             anew = this->run(matrices, this->with(SetupReuse::none));
  EXPECT_EQ(renewed.setups, 20);
  EXPECT_EQ(anew.setups, 20);
  EXPECT_GT(kept.setups, 1);
  EXPECT_LT(kept.setups, 20);
  EXPECT_EQ(renewed.iterations, anew.iterations);
  EXPECT_GE(kept.iterations, renewed.iterations);
}

TYPED_TEST(LinearSolverTest, IterationsThatAddUpToASetupAreFollowedByOne) {
  const auto matrices = this->steps(60, 0.01);
  const double numeric = 0.5 * this->setup_of(matrices[0]);
  LinearSolver<double, TypeParam> solver(this->with(SetupReuse::automatic));
  solver.set_matrix(TypeParam(), matrices[0]);
  auto first = this->solve(solver, matrices[0]);
  double excess = 0;
  std::int64_t setups = 1;
  for (std::size_t s = 1; s < matrices.size(); ++s) {
    solver.set_values(TypeParam(), matrices[s]);
    const auto iterations = this->solve(solver, matrices[s]);
    const bool is_due = excess > numeric;
    if (is_due) {
      first = iterations;
      excess = 0;
      ++setups;
    } else {
      excess +=
          static_cast<double>(std::max<std::int64_t>(0, iterations - first)) * solver.chosen().iteration;
    }
    ASSERT_EQ(solver.setups(), setups) << "step " << s;
  }
  EXPECT_GE(setups, 3);
}

TYPED_TEST(LinearSolverTest, ASolveWithAFormerPreconditionerEndsWhereItCostsTooMuch) {
  auto matrices = this->steps(2, 1e4);
  LinearSolver<double, TypeParam> solver(this->with(SetupReuse::automatic));
  solver.set_matrix(TypeParam(), matrices[0]);
  const auto first = this->solve(solver, matrices[0]);
  solver.set_values(TypeParam(), matrices[1]);
  const auto second = this->solve(solver, matrices[1]);
  EXPECT_EQ(solver.setups(), 2) << "it is renewed within the solve";
  EXPECT_GT(second, first);
  LinearSolver<double, TypeParam> fresh(this->with(SetupReuse::automatic));
  fresh.set_matrix(TypeParam(), matrices[1]);
  const auto alone = this->solve(fresh, matrices[1]);
  const double numeric = 0.5 * this->setup_of(matrices[0]);
  const double lost = static_cast<double>(first) + 1 + 2 * numeric / fresh.chosen().iteration;
  EXPECT_LE(static_cast<double>(second - alone), lost + 3)
      << "two numeric phases' work beyond the first solve's";
}

TYPED_TEST(LinearSolverTest, FormerValuesThatFailAreTriedMoreAndMoreSeldom) {
  const auto two = this->steps(2, 1e4);
  LinearSolver<double, TypeParam> solver(this->with(SetupReuse::automatic));
  LinearSolver<double, TypeParam> renewed(this->with(SetupReuse::values));
  std::vector<int> failures;
  for (int s = 0; s < 37; ++s) {
    const auto& a = two[s < 24 || s >= 34 ? s % 2 : 1];  // from 24 to 33 they stay, which ends the pauses
    solver.set_values(TypeParam(), a);
    renewed.set_values(TypeParam(), a);
    if (this->solve(solver, a) > this->solve(renewed, a)) failures.push_back(s);
  }
  EXPECT_EQ(failures, (std::vector<int>{1, 9, 34}));
}

TYPED_TEST(LinearSolverTest, APhaseThatIsCheapIsNotLeftOut) {
  const auto counts = this->run(this->steps(20, 1e-6), this->with(SetupReuse::automatic, "jacobi"));
  EXPECT_EQ(counts.setups, 20);
}

TYPED_TEST(LinearSolverTest, ValuesThatTheMethodRefusesGetAnother) {
  HostMatrix<double> host = this->problem("tridiagonal:60");
  LinearSolver<double, TypeParam> solver;
  const auto a = to_device<TypeParam>(host);
  solver.set_matrix(TypeParam(), a);
  this->solve(solver, a);
  EXPECT_EQ(solver.chosen().solver.name, "cg");
  for (double& value : host.values) value = -value;
  const auto negative = to_device<TypeParam>(host);
  solver.set_values(TypeParam(), negative);
  this->solve(solver, negative);
  EXPECT_NE(solver.chosen().solver.name, "cg");
}

TYPED_TEST(LinearSolverTest, FurtherRightHandSidesNeedNoSetup) {
  const auto matrices = this->steps(1, 0);
  LinearSolver<double, TypeParam> solver(this->with(SetupReuse::values));
  solver.set_matrix(TypeParam(), matrices[0]);
  for (int k = 0; k < 3; ++k) this->solve(solver, matrices[0]);
  EXPECT_EQ(solver.setups(), 1);
  EXPECT_NE(solver.preconditioner(), nullptr);
}

/// The entries of each row one place on, the last one first, and those of every third row where they were.
HostMatrix<double> rotated(HostMatrix<double> a) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.num_rows); ++i) {
    const auto begin = static_cast<std::ptrdiff_t>(a.row_ptrs[i]),
               end = static_cast<std::ptrdiff_t>(a.row_ptrs[i + 1]);
    if (i % 3 == 2) continue;
    std::rotate(a.col_idxs.begin() + begin, a.col_idxs.begin() + end - 1, a.col_idxs.begin() + end);
    std::rotate(a.values.begin() + begin, a.values.begin() + end - 1, a.values.begin() + end);
  }
  return a;
}

TYPED_TEST(LinearSolverTest, RowsAreSortedOnceWithANoteAndLaterValuesAreInTheOrderOfTheCaller) {
  const auto sorted = this->steps(3, 0.5);
  LinearSolver<double, TypeParam> plain, solver;
  for (std::size_t s = 0; s < sorted.size(); ++s) {
    const auto unsorted = to_device<TypeParam>(rotated(to_host(sorted[s])));
    if (s == 0) {
      plain.set_matrix(TypeParam(), sorted[s]);
      solver.set_matrix(TypeParam(), unsorted);
    } else {
      plain.set_values(TypeParam(), sorted[s]);
      solver.set_values(TypeParam(), unsorted);
    }
    EXPECT_EQ(this->solve(solver, sorted[s]), this->solve(plain, sorted[s]));
    ASSERT_EQ(solver.notes().size(), 1u);
    EXPECT_THAT(solver.notes()[0], HasSubstr("sorted"));
  }
  EXPECT_TRUE(plain.notes().empty());
  LinearSolver<double, TypeParam> anew(this->with(SetupReuse::none));
  for (const auto& a : sorted) {
    anew.set_values(TypeParam(), to_device<TypeParam>(rotated(to_host(a))));
    this->solve(anew, a);
    EXPECT_EQ(anew.notes().size(), 1u);
  }
  solver.set_matrix(TypeParam(), sorted[0]);
  this->solve(solver, sorted[0]);
  EXPECT_TRUE(solver.notes().empty());
}

TYPED_TEST(LinearSolverTest, SortedRowsKeepWhatIsKnownOfThem) {
  const HostMatrix<double> host = this->problem("elasticity3d:5");
  LinearSolver<double, TypeParam> solver(this->with(SetupReuse::values, "amg"));
  const auto a = to_device<TypeParam>(rotated(host));
  MatrixSource<double, TypeParam> source(a);
  const MultiVector<double, TypeParam> near("near", host.num_rows, 3);
  const auto ones = Kokkos::create_mirror_view(near);
  for (std::int64_t i = 0; i < host.num_rows; ++i) ones(i, i % 3) = 1;
  Kokkos::deep_copy(near, ones);
  source.set_near_null_space(near);
  source.set_unknowns_per_node(3);
  const MatrixSource<double, TypeParam> rows = source.with_rows(a);
  EXPECT_EQ(rows.near_null_space().data(), near.data());
  EXPECT_EQ(rows.unknowns_per_node(), 3);
  EXPECT_THROW((void)source.with_rows(to_device<TypeParam>(this->problem("poisson2d:3"))), InputError);
  solver.set_matrix(TypeParam(), source);
  this->solve(solver, to_device<TypeParam>(host));
  // The pattern would say as much; that nothing had to be looked for says that the source told it.
  EXPECT_THAT(solver.preconditioner()->report().notes, Each(Not(HasSubstr("by the pattern"))));
}

TYPED_TEST(LinearSolverTest, BlocksOfUnsortedRowsAreSolvedByTheirSingleRows) {
  const HostMatrix<double> dense = sparse({{4, 1, -1, 0}, {1, 4, 0, -1}, {-1, 0, 4, 1}, {0, -1, 1, 4}});
  const BcsrMatrix<double, int, std::size_t, typename TypeParam::memory_space> blocks(
      2, BlockOrder::by_rows, 2, 2, to_device<TypeParam>(std::vector<std::size_t>{0, 2, 4}),
      to_device<TypeParam>(std::vector<int>{1, 0, 0, 1}),
      to_device<TypeParam>(std::vector<double>{-1, 0, 0, -1, 4, 1, 1, 4, -1, 0, 0, -1, 4, 1, 1, 4}));
  const MatrixSource<double, TypeParam> source(TypeParam(), blocks);
  const auto whole = to_device<TypeParam>(dense);
  const auto rows = source.with_rows(whole);
  EXPECT_EQ(rows.blocks(), nullptr);
  EXPECT_EQ(rows.csr().values.data(), whole.values.data());
  LinearSolver<double, TypeParam> solver;
  solver.set_matrix(TypeParam(), source);
  this->solve(solver, whole);
  EXPECT_EQ(solver.notes().size(), 1u);
}

TYPED_TEST(LinearSolverTest, OneCallSolvesAMatrixOfViews) {
  const HostMatrix<double> sorted = this->problem("poisson2d:20");
  const auto a = to_device<TypeParam>(rotated(sorted));
  const Vector<double, TypeParam> b("b", a.num_rows), x("x", a.num_rows), y("y", a.num_rows);
  Kokkos::deep_copy(b, 1.0);
  LinearSolverOptions options;
  options.stopping.rtol = 1e-9;
  const SolveResult result = prekond::solve(TypeParam(), a, b, x, options);
  EXPECT_TRUE(result.converged);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_THAT(result.notes[0], HasSubstr("sorted"));
  for (const double product : multiply(sorted, to_vector(x))) EXPECT_NEAR(product, 1, 1e-7);
  // Views of constants, and what else converts to a source.
  const auto view = CsrView<double, TypeParam>(a);
  EXPECT_EQ(prekond::solve(TypeParam(), view, b, y, options).iterations, result.iterations);
  const MatrixSource<double, TypeParam> source(a);
  EXPECT_TRUE(prekond::solve(TypeParam(), source, b, x, options).converged);
}

TYPED_TEST(LinearSolverTest, MatricesThatDoNotFitAreRefused) {
  LinearSolver<double, TypeParam> solver;
  const Vector<double, TypeParam> b("b", 4), x("x", 4);
  EXPECT_THROW((void)solver.solve(TypeParam(), b, x), std::logic_error);
  EXPECT_THROW((void)solver.chosen(), std::logic_error);
  const auto refused = [&](int first, int second) {
    HostMatrix<double> a = this->problem("poisson2d:3");
    a.col_idxs[0] = first;
    a.col_idxs[1] = second;
    try {
      solver.set_matrix(TypeParam(), to_device<TypeParam>(a));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(refused(3, 3), HasSubstr("is there twice"));
  EXPECT_THAT(refused(5, -1), HasSubstr("out of the range"));
  EXPECT_THAT(refused(5, 9), HasSubstr("out of the range"));
  solver.set_matrix(TypeParam(), to_device<TypeParam>(this->problem("poisson2d:3")));
  EXPECT_THROW(solver.set_values(TypeParam(), to_device<TypeParam>(this->problem("poisson2d:4"))),
               InputError);
  HostMatrix<double> wider = this->problem("poisson2d:3");
  ++wider.num_cols;
  EXPECT_THROW(solver.set_values(TypeParam(), to_device<TypeParam>(wider)), InputError);
}

}  // namespace
}  // namespace prekond::testing
