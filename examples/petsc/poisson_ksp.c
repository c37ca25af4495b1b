/* SPDX-FileCopyrightText: Prekond contributors
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A program on PETSc that knows nothing of Prekond: Poisson's equation on a square, by the five-point stencil. PETSc's
 * options load Prekond, which chooses a method by the matrix:
 *
 *   mpiexec -n 2 ./poisson_ksp -ksp_type cg -dll_append /path/to/libprekond_petsc.so -pc_type prekond -ksp_view
 */
static char help[] = "Poisson's equation on a square of -n x -n unknowns, by a KSP\n\n";

#include <petscksp.h>

/* The rank's rows of the matrix. */
static PetscErrorCode assemble(PetscInt n, Mat *a)
{
  PetscInt begin, end;

  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, a));
  PetscCall(MatSetSizes(*a, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n));
  PetscCall(MatSetFromOptions(*a)); /* -mat_type aijcusparse, aijkokkos: on a device */
  PetscCall(MatSetUp(*a));
  PetscCall(MatGetOwnershipRange(*a, &begin, &end));
  for (PetscInt row = begin; row < end; ++row) {
    const PetscInt x = row % n, y = row / n;
    PetscInt       cols[5], count = 0;
    PetscScalar    values[5];

    cols[count]     = row;
    values[count++] = 4;
    if (x > 0) cols[count] = row - 1, values[count++] = -1;
    if (x < n - 1) cols[count] = row + 1, values[count++] = -1;
    if (y > 0) cols[count] = row - n, values[count++] = -1;
    if (y < n - 1) cols[count] = row + n, values[count++] = -1;
    PetscCall(MatSetValues(*a, 1, &row, count, cols, values, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*a, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*a, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How far x is from the solution, and after how many iterations. */
static PetscErrorCode report(KSP ksp, Mat a, Vec b, Vec x)
{
  KSPConvergedReason reason;
  PetscInt           iterations;
  PetscReal          residual, size;
  Vec                r;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatResidual(a, b, x, r));
  PetscCall(VecNorm(r, NORM_2, &residual));
  PetscCall(VecNorm(b, NORM_2, &size));
  PetscCall(VecDestroy(&r));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s after %" PetscInt_FMT " iterations, ||b - A x|| / ||b|| = %.2e\n",
                        KSPConvergedReasons[reason], iterations, (double)(residual / size)));
  PetscCheck(reason > 0 && residual <= 1e-5 * size, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "no solution");
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt n = 60;
  Mat      a;
  Vec      x, b;
  KSP      ksp;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(assemble(n, &a));
  PetscCall(MatCreateVecs(a, &x, &b));
  PetscCall(VecSet(b, 1));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, a, a));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(report(ksp, a, b, x));

  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&a));
  PetscCall(PetscFinalize());
  return 0;
}
