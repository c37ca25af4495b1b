/* SPDX-FileCopyrightText: Prekond contributors
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A program that is linked with libprekond_petsc: implicit steps of a diffusion along a line, whose conductivity grows.
 * The matrix has new values in each step and keeps its pattern, so that only the numeric part of the setup is repeated.
 */
static char help[] = "Diffusion along a line of -n unknowns, by a PC of type prekond\n\n";

#include <petscksp.h>
#include <prekond_petsc.h>

/* a = I + c L, L that of the second difference. */
static PetscErrorCode fill(Mat a, PetscReal c)
{
  PetscInt n, begin, end;

  PetscFunctionBeginUser;
  PetscCall(MatGetSize(a, &n, NULL));
  PetscCall(MatGetOwnershipRange(a, &begin, &end));
  for (PetscInt row = begin; row < end; ++row) {
    PetscCall(MatSetValue(a, row, row, 1 + 2 * c, INSERT_VALUES));
    if (row > 0) PetscCall(MatSetValue(a, row, row - 1, -c, INSERT_VALUES));
    if (row < n - 1) PetscCall(MatSetValue(a, row, row + 1, -c, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt n = 2000;
  Mat      a;
  Vec      u;
  KSP      ksp;
  PC       pc;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PCRegister_Prekond());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &a));
  PetscCall(MatSetSizes(a, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetFromOptions(a));
  PetscCall(MatSetUp(a));
  PetscCall(MatCreateVecs(a, &u, NULL));
  PetscCall(VecSet(u, 1));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, a, a));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCPREKOND));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp)); /* what the command line says goes before */
  for (int step = 1; step <= 3; ++step) {
    PetscInt iterations;

    PetscCall(fill(a, 10 * step));
    PetscCall(KSPSolve(ksp, u, u));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "step %d: %" PetscInt_FMT " iterations\n", step, iterations));
  }

  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&u));
  PetscCall(MatDestroy(&a));
  PetscCall(PetscFinalize());
  return 0;
}
