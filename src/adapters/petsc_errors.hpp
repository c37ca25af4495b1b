// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Exceptions as PETSc's errors.
#include <prekond/adapters/impl/mpi_agreement.hpp>

#include <petscsys.h>

#include <optional>

namespace prekond::petsc {

inline PetscErrorCode code_of(RankError::Kind kind) {
  switch (kind) {
    case RankError::Kind::option:
      return PETSC_ERR_USER_INPUT;
    case RankError::Kind::input:
      return PETSC_ERR_ARG_WRONG;
    case RankError::Kind::logic:
      return PETSC_ERR_ORDER;
    case RankError::Kind::memory:
      return PETSC_ERR_MEM;
    default:
      return PETSC_ERR_LIB;
  }
}

/// Runs `work()`; an exception becomes an error of PETSc's with its text.
template <class Work>
PetscErrorCode guarded(MPI_Comm comm, const Work& work) {
  std::optional<RankError> error;
  try {
    work();
  } catch (...) {
    error = RankError::current();
  }
  if (!error) return PETSC_SUCCESS;
  SETERRQ(comm, code_of(error->kind), "Prekond: %s", error->text.c_str());
}

}  // namespace prekond::petsc
