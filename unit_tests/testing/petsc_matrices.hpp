// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Matrices that every rank knows whole, distributed by PETSc. All that takes or makes a PETSc object is
/// collective.
#include "testing/distributed_problems.hpp"
#include "testing/host_matrix.hpp"

#include <gtest/gtest.h>
#include <petscksp.h>
#include <prekond/adapters/petsc.hpp>

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace prekond::testing {

using PetscSpace = Kokkos::DefaultExecutionSpace;
using petsc::check;
using OwnedMat = petsc::impl::OwnedMat;
using OwnedVec = petsc::impl::Owned<Vec, VecDestroy>;
using OwnedPC = petsc::impl::Owned<PC, PCDestroy>;
using OwnedKSP = petsc::impl::Owned<KSP, KSPDestroy>;

/// The type of PETSc's AIJ matrices whose memory is where the tests' kernels compute: on a GPU, where
/// this PETSc computes there too, else on the host. Vectors that PETSc makes for them have theirs there as
/// well.
inline MatType aij_type() {
  const std::string space = PetscSpace::name();
  if (PetscDefined(HAVE_CUDA) && space == "Cuda") return "aijcusparse";
  if (PetscDefined(HAVE_HIP) && space == "HIP") return "aijhipsparse";
  return MATAIJ;
}

inline int my_rank() {
  int rank = 0;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  return rank;
}
inline int num_ranks() {
  int size = 1;
  MPI_Comm_size(PETSC_COMM_WORLD, &size);
  return size;
}

/// How many of n rows each rank has.
struct NamedParts {
  std::string name;
  std::vector<std::int64_t> sizes;

  std::int64_t mine() const { return sizes[my_rank()]; }
  std::int64_t first() const {
    return std::accumulate(sizes.begin(), sizes.begin() + my_rank(), std::int64_t(0));
  }
  std::vector<std::int64_t> own() const {
    std::vector<std::int64_t> rows(mine());
    std::iota(rows.begin(), rows.end(), first());
    return rows;
  }
};

inline NamedParts equal_parts(std::int64_t n) {
  NamedParts parts{"equal", {}};
  for (int rank = 0; rank < num_ranks(); ++rank)
    parts.sizes.push_back(n * (rank + 1) / num_ranks() - n * rank / num_ranks());
  return parts;
}
inline NamedParts parts_of_one(std::int64_t n, int owner) {
  NamedParts parts{"all on rank " + std::to_string(owner), std::vector<std::int64_t>(num_ranks(), 0)};
  parts.sizes[owner] = n;
  return parts;
}
/// The first rank has half of the rows, the last none.
inline NamedParts unequal_parts(std::int64_t n) {
  NamedParts parts{"unequal", std::vector<std::int64_t>(num_ranks(), 0)};
  std::int64_t left = n;
  for (int rank = 0; rank < num_ranks() - 1; ++rank) {
    parts.sizes[rank] = rank == num_ranks() - 2 ? left : (left + 1) / 2;
    left -= parts.sizes[rank];
  }
  if (num_ranks() == 1) parts.sizes[0] = n;
  return parts;
}
inline std::vector<NamedParts> all_parts(std::int64_t n) {
  return {equal_parts(n), unequal_parts(n), parts_of_one(n, 0), parts_of_one(n, num_ranks() - 1)};
}
/// The rows of whole blocks of b rows.
inline std::vector<NamedParts> parts_of_blocks(std::int64_t num_blocks, int b) {
  std::vector<NamedParts> all = all_parts(num_blocks);
  for (NamedParts& parts : all)
    for (std::int64_t& size : parts.sizes) size *= b;
  return all;
}

/// All entries of this rank's rows; then the matrix is assembled.
inline void set_values(Mat a, const HostMatrix<double>& whole, const NamedParts& parts) {
  for (const std::int64_t i : parts.own())
    for (std::size_t k = whole.row_ptrs[i]; k < whole.row_ptrs[i + 1]; ++k)
      check(MatSetValue(a, static_cast<PetscInt>(i), whole.col_idxs[k], whole.values[k], INSERT_VALUES));
  check(MatAssemblyBegin(a, MAT_FINAL_ASSEMBLY));
  check(MatAssemblyEnd(a, MAT_FINAL_ASSEMBLY));
}

/// The matrix by MatSetValues, assembled.
inline OwnedMat assemble(const HostMatrix<double>& whole, const NamedParts& parts, MatType type = aij_type(),
                         int block_size = 1) {
  OwnedMat a;
  check(MatCreate(PETSC_COMM_WORLD, a.receive()));
  const auto n = static_cast<PetscInt>(parts.mine());
  check(MatSetSizes(a.get(), n, n, whole.num_rows, whole.num_cols));
  check(MatSetType(a.get(), type));
  if (block_size > 1) check(MatSetBlockSize(a.get(), block_size));
  check(MatSetUp(a.get()));
  if (std::string(type) == MATSBAIJ) check(MatSetOption(a.get(), MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
  set_values(a.get(), whole, parts);
  return a;
}

/// PETSc's text of an error: the one that its handler was given first, by this rank.
class ErrorText {
 public:
  ErrorText() { check(PetscPushErrorHandler(keep, &m_text)); }
  ErrorText(const ErrorText&) = delete;
  ErrorText& operator=(const ErrorText&) = delete;
  ~ErrorText() { static_cast<void>(PetscPopErrorHandler()); }

  /// \pre `code` is that of a call that was made since this object was
  std::string of(PetscErrorCode code) {
    EXPECT_NE(code, PETSC_SUCCESS) << "no error";
    return std::exchange(m_text, {});
  }

 private:
  static PetscErrorCode keep(MPI_Comm, int, const char*, const char*, PetscErrorCode code,
                             PetscErrorType type, const char* message, void* text) {
    if (type == PETSC_ERROR_INITIAL && message) *static_cast<std::string*>(text) = message;
    return code;
  }
  std::string m_text;
};

}  // namespace prekond::testing
