// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <petscsys.h>

namespace prekond::petsc {

/// Kokkos, by us where nobody has initialized it: then it ends with PETSc, and computes on PETSc's device.
/// Several ranks take one thread each where the environment does not say how many. An error of PETSc's where
/// it was finalized.
PetscErrorCode initialize_kokkos();

}  // namespace prekond::petsc
