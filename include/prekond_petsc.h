/* SPDX-FileCopyrightText: Prekond contributors
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Prekond's preconditioners as a PC of PETSc's, from C or C++. Needs the target prekond::petsc_pc, or the library
 * libprekond_petsc, which -dll_append loads without a change of the program. See docs/petsc.md.
 */
#ifndef PREKOND_PETSC_H
#define PREKOND_PETSC_H

#include <petscpc.h>

/* The type's name: PCSetType(pc, PCPREKOND), or -pc_type prekond. */
#define PCPREKOND "prekond"

#ifdef __cplusplus
extern "C" {
#endif

/* Registers the type. Called once, after PetscInitialize. */
PetscErrorCode PCRegister_Prekond(void);

/* The method, "adaptive_fsai" where nothing is said: -pc_prekond_name. Where it changes, the options of the one before
 * are dropped. Nothing happens to a PC of another type. */
PetscErrorCode PCPrekondSetName(PC pc, const char name[]);

/* An option of the method, as text: -pc_prekond_KEY VALUE. Takes effect with the next PCSetUp. Nothing happens to a PC
 * of another type. */
PetscErrorCode PCPrekondSetOption(PC pc, const char key[], const char value[]);

/* A matrix whose MatMult is Prekond's product with `a`, a MATSEQAIJ or MATMPIAIJ (also aijcusparse, aijkokkos, ...):
 *
 *   KSPSetOperators(ksp, product, a);
 *
 * A rank multiplies its own columns while messages bring the entries of others, by NCCL from device to device where this
 * build has it and each rank has a GPU of its own (-mat_prekond_transport auto|mpi|nccl, with A's prefix). Reads A's own
 * entries where they are in memory that Prekond's device reaches, else a copy; new values and patterns are seen. Keeps A.
 * MatMultTranspose and MatGetDiagonal are A's. The null spaces are those that A has in this call.
 *
 * Collective. Cost: a copy of the row pointers, a communicator, and the plan of the messages. An error on all ranks for a
 * matrix that is no AIJ, not square, not assembled, or whose columns are distributed in another way than its rows, and for
 * a transport that cannot be had. */
PetscErrorCode MatCreatePrekondProduct(Mat a, Mat *product);

/* What PETSc calls when it loads the library by -dll_append. */
PetscErrorCode PetscDLLibraryRegister_prekond_petsc(void);

#ifdef __cplusplus
}
#endif

#endif
