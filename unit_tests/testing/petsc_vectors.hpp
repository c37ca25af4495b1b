// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Vectors of PETSc's. All that takes or makes one is collective, but for looking at a rank's own entries.
#include "testing/petsc_matrices.hpp"

#include <petscvec.h>

#include <vector>

namespace prekond::testing {

/// A vector of the rows of `a` with the entries f(global row).
template <class F>
OwnedVec make_vec(Mat a, const F& f) {
  OwnedVec x;
  check(MatCreateVecs(a, x.receive(), nullptr));
  PetscInt begin = 0, end = 0;
  check(VecGetOwnershipRange(x.get(), &begin, &end));
  for (PetscInt i = begin; i < end; ++i) check(VecSetValue(x.get(), i, f(i), INSERT_VALUES));
  check(VecAssemblyBegin(x.get()));
  check(VecAssemblyEnd(x.get()));
  return x;
}
inline OwnedVec right_hand_side(Mat a) {
  return make_vec(a, [](PetscInt i) { return 1 + double((i * 37 + 13) % 29) / 8; });
}

inline std::vector<double> own_entries(Vec x) {
  PetscInt n = 0;
  const PetscScalar* data = nullptr;
  check(VecGetLocalSize(x, &n));
  check(VecGetArrayRead(x, &data));
  const std::vector<double> entries(data, data + n);
  check(VecRestoreArrayRead(x, &data));
  return entries;
}

}  // namespace prekond::testing
