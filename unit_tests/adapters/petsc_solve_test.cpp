// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Prekond's solvers on PETSc's vectors.
#include "testing/across_ranks.hpp"
#include "testing/petsc_matrices.hpp"
#include "testing/petsc_vectors.hpp"
#include "testing/reference_cg.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/adapters/petsc_solve.hpp>
#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/spmv.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;
using DistributedAijMatrix = petsc::DistributedAijMatrix<PetscSpace>;

double entry_of_b(PetscInt i) {
  return 1 + double((i * 37 + 13) % 29) / 8;
}
std::vector<double> whole_b(const HostMatrix<double>& a) {
  std::vector<double> b;
  for (std::int64_t i = 0; i < a.num_rows; ++i) b.push_back(entry_of_b(static_cast<PetscInt>(i)));
  return b;
}

StoppingOptions stop_at(double rtol) {
  StoppingOptions stopping;
  stopping.rtol = rtol;
  return stopping;
}

struct Alone {
  std::int64_t iterations = 0;
  std::vector<double> x;
};

Alone solve_alone(const std::string& solver, const prekond::testing::Setup& setup,
                  const HostMatrix<double>& whole) {
  const PetscSpace space;
  const auto a = to_device<PetscSpace>(whole);
  const auto m = on_one_rank<PetscSpace>(setup, whole);
  const Vector<double, PetscSpace> x("x", whole.num_rows);
  const SolveResult result = create_solver<double, PetscSpace>(solver)->solve(
      space, CsrOperator<double, PetscSpace>(a), m.get(), to_device<PetscSpace>(whole_b(whole)), x,
      stop_at(1e-9));
  EXPECT_TRUE(result.converged);
  return {result.iterations, to_vector(x)};
}

TEST(PetscSolve, TheIterationsOfOneProcess) {
  const PetscSpace space;
  using Case = std::pair<std::string, prekond::testing::Setup>;
  for (const auto& [solver, setup] :
       {Case{"cg", {"fsai", {}}}, Case{"gmres", {"spai", {}}}, Case{"idr", {"jacobi", {}}}}) {
    const HostMatrix<double> whole = problem(solver == "cg" ? "poisson2d:17" : "convection_diffusion3d:5");
    const Alone alone = solve_alone(solver, setup, whole);
    for (const NamedParts& parts : all_parts(whole.num_rows))
      for (const MatType type : {MATAIJ, aij_type()}) {
        SCOPED_TRACE(solver + ", " + setup.name + ", " + parts.name + ", " + type);
        const OwnedMat matrix = assemble(whole, parts, type);
        const DistributedAijMatrix a(space, matrix.get());
        const auto m = across<PetscSpace>(setup);
        m->numeric(space, a);
        const OwnedVec b = make_vec(matrix.get(), entry_of_b),
                       x = make_vec(matrix.get(), [](PetscInt) { return 0.0; });
        const SolveResult found = petsc::solve(space, *create_solver<double, PetscSpace>(solver), a, m.get(),
                                               b.get(), x.get(), stop_at(1e-9));
        EXPECT_TRUE(found.converged);
        EXPECT_LE(std::abs(found.iterations - alone.iterations), 1);
        const auto mine = own_entries(x.get());
        for (std::size_t i = 0; i < mine.size(); ++i)
          EXPECT_NEAR(mine[i], alone.x[parts.first() + i], 1e-6 * (1 + std::abs(mine[i])));
      }
  }
}

TEST(PetscSolve, TheStartIsTheXGiven) {
  const PetscSpace space;
  const HostMatrix<double> whole = problem("poisson2d:9");
  const OwnedMat matrix = assemble(whole, equal_parts(81));
  const DistributedAijMatrix a(space, matrix.get());
  const OwnedVec x = make_vec(matrix.get(), entry_of_b);
  OwnedVec b;
  check(VecDuplicate(x.get(), b.receive()));
  check(MatMult(matrix.get(), x.get(), b.get()));
  const auto before = own_entries(x.get());
  const SolveResult result =
      petsc::solve(space, Cg<double, PetscSpace>(), a, nullptr, b.get(), x.get(), stop_at(1e-8));
  EXPECT_EQ(result.iterations, 0);
  EXPECT_TRUE(result.converged);
  EXPECT_EQ(own_entries(x.get()), before);
  check(VecSet(b.get(), 0));
  EXPECT_EQ(petsc::solve(space, Cg<double, PetscSpace>(), a, nullptr, b.get(), x.get()).reason,
            StopReason::zero_rhs);
  EXPECT_EQ(own_entries(x.get()), std::vector<double>(before.size(), 0.0));
}

TEST(PetscSolve, WhatDoesNotFitIsRefusedOnAllRanks) {
  const PetscSpace space;
  const Cg<double, PetscSpace> cg;
  const OwnedMat matrix = assemble(problem("poisson2d:6"), equal_parts(36)),
                 other = assemble(problem("poisson2d:5"), equal_parts(25));
  const DistributedAijMatrix a(space, matrix.get()), smaller(space, other.get());
  const OwnedVec b = right_hand_side(matrix.get()), x = right_hand_side(matrix.get()),
                 short_one = right_hand_side(other.get());
  const auto text_of = [&](const Preconditioner<double, PetscSpace>* m, Vec b_of, Vec x_of) {
    return message_of<InputError>([&] { petsc::solve(space, cg, a, m, b_of, x_of); });
  };
  EXPECT_THAT(text_of(nullptr, short_one.get(), x.get()), HasSubstr("cg: b has "));
  EXPECT_THAT(text_of(nullptr, b.get(), short_one.get()), HasSubstr("cg: x has "));
  EXPECT_THAT(text_of(nullptr, b.get(), b.get()), HasSubstr("b and x are one vector"));
  const auto m = across<PetscSpace>({"jacobi", {}});
  m->numeric(space, smaller);
  EXPECT_THAT(text_of(m.get(), b.get(), x.get()), HasSubstr("the preconditioner has "));
}

}  // namespace
}  // namespace prekond::testing
