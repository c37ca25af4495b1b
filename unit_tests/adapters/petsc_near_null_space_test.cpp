// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// PETSc's knowledge of a matrix in addition to its entries reaches a PC's method.
#include "testing/petsc_matrices.hpp"

#include <gtest/gtest.h>
#include <prekond_petsc.h>

#include <string>

namespace prekond::testing {
namespace {

constexpr int size = 8;                              // of elasticity3d
constexpr int num_nodes = size * size * (size - 1);  // that are free

/// As many nodes on each rank as can be.
NamedParts parts_by_nodes() {
  NamedParts parts = equal_parts(num_nodes);
  for (std::int64_t& rows : parts.sizes) rows *= 3;
  return parts;
}

/// Layers of size^2 nodes from z = 1 on.
double coordinate(PetscInt node, int k) {
  return double(k == 0 ? node % size : k == 1 ? node / size % size : node / (size * size) + 1);
}

OwnedMat elasticity(const NamedParts& parts, bool with_block_size) {
  const HostMatrix<double> whole = problem("elasticity3d:8,contrast=1");
  OwnedMat a;
  check(MatCreate(PETSC_COMM_WORLD, a.receive()));
  const auto n = static_cast<PetscInt>(parts.mine());
  check(MatSetSizes(a.get(), n, n, whole.num_rows, whole.num_cols));
  check(MatSetType(a.get(), MATAIJ));
  if (with_block_size) check(MatSetBlockSize(a.get(), 3));
  check(MatSetUp(a.get()));
  set_values(a.get(), whole, parts);
  return a;
}

/// By PETSc's own means.
void attach_modes(Mat a, const NamedParts& parts) {
  OwnedVec coordinates;
  check(VecCreateMPI(PETSC_COMM_WORLD, static_cast<PetscInt>(parts.mine()), PETSC_DETERMINE,
                     coordinates.receive()));
  check(VecSetBlockSize(coordinates.get(), 3));
  for (const std::int64_t i : parts.own())
    check(VecSetValue(coordinates.get(), static_cast<PetscInt>(i),
                      coordinate(static_cast<PetscInt>(i / 3), static_cast<int>(i % 3)), INSERT_VALUES));
  check(VecAssemblyBegin(coordinates.get()));
  check(VecAssemblyEnd(coordinates.get()));
  MatNullSpace modes = nullptr;
  check(MatNullSpaceCreateRigidBody(coordinates.get(), &modes));
  check(MatSetNearNullSpace(a, modes));
  check(MatNullSpaceDestroy(&modes));
}

PetscInt iterations(Mat a, const char* rank_overlap = "0", const char* unknowns_per_node = "0",
                    const char* gather_rows = "-1") {
  OwnedKSP ksp;
  OwnedVec x, b;
  PC pc = nullptr;
  check(MatCreateVecs(a, x.receive(), b.receive()));
  check(VecSet(b.get(), 1));
  check(KSPCreate(PETSC_COMM_WORLD, ksp.receive()));
  check(KSPSetOperators(ksp.get(), a, a));
  check(KSPSetType(ksp.get(), KSPCG));
  check(KSPSetTolerances(ksp.get(), 1e-8, PETSC_CURRENT, PETSC_CURRENT, 1000));
  check(KSPGetPC(ksp.get(), &pc));
  check(PCSetType(pc, PCPREKOND));
  check(PCPrekondSetName(pc, "amg"));
  check(PCPrekondSetOption(pc, "rank_overlap", rank_overlap));
  check(PCPrekondSetOption(pc, "unknowns_per_node", unknowns_per_node));
  check(PCPrekondSetOption(pc, "gather_rows", gather_rows));
  check(KSPSolve(ksp.get(), b.get(), x.get()));
  PetscInt count = 0;
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  check(KSPGetIterationNumber(ksp.get(), &count));
  check(KSPGetConvergedReason(ksp.get(), &reason));
  EXPECT_GT(reason, 0);
  return count;
}

TEST(PetscNearNullSpace, BlockSizeAndModesNeedFewerIterations) {
  check(PCRegister_Prekond());
  const NamedParts parts = parts_by_nodes();
  const OwnedMat plain = elasticity(parts, false), blocks = elasticity(parts, true),
                 modes = elasticity(parts, true);
  attach_modes(modes.get(), parts);
  const PetscInt most = iterations(plain.get(), "0", "1"), fewer = iterations(blocks.get()),
                 fewest = iterations(modes.get());
  EXPECT_LE(fewest, most);
  if (num_ranks() > 1) return;  // what couples the ranks, which is left out, decides there
  EXPECT_LT(fewer, most);
  EXPECT_EQ(iterations(plain.get()), fewer) << "the pattern shows the block size";
  EXPECT_LT(fewest, fewer);
}

// With as many rows as these each rank has the whole hierarchy by default.
TEST(PetscNearNullSpace, DistributedLevelsTakeTheIterationsOfOneRank) {
  check(PCRegister_Prekond());
  const NamedParts parts = parts_by_nodes();
  const OwnedMat a = elasticity(parts, true);
  attach_modes(a.get(), parts);
  const PetscInt of_one_rank = iterations(a.get(), "-1");
  EXPECT_EQ(iterations(a.get(), "-1", "0", "40"), of_one_rank);
  if (num_ranks() > 1) {
    EXPECT_LT(of_one_rank, iterations(a.get(), "0"));
  }
}

TEST(PetscNearNullSpace, ConstantsAreAVectorToo) {
  check(PCRegister_Prekond());
  const HostMatrix<double> whole = problem("poisson2d:40");
  const OwnedMat a = assemble(whole, equal_parts(whole.num_rows)),
                 plain = assemble(whole, equal_parts(whole.num_rows));
  MatNullSpace constants = nullptr;
  check(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, nullptr, &constants));
  check(MatSetNearNullSpace(a.get(), constants));
  check(MatNullSpaceDestroy(&constants));
  EXPECT_EQ(iterations(a.get()), iterations(plain.get()));
}

}  // namespace
}  // namespace prekond::testing
