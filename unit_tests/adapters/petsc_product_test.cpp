// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Prekond's product as a matrix of PETSc's.
#include "testing/block_matrices.hpp"
#include "testing/petsc_matrices.hpp"
#include "testing/petsc_vectors.hpp"
#include "testing/reference_cg.hpp"
#include "testing/tool_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond_petsc.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;

OwnedMat product_with(Mat a) {
  OwnedMat product;
  check(MatCreatePrekondProduct(a, product.receive()));
  return product;
}

/// Expects y = A x and A^T x to be the sequential ones.
void expect_products(Mat product, const HostMatrix<double>& whole, const NamedParts& parts) {
  const auto entry_of = [](PetscInt i) { return 1 + double((i * 37 + 13) % 29) / 8; };
  const OwnedVec x = make_vec(product, entry_of);
  std::vector<double> all(whole.num_rows);
  for (std::int64_t i = 0; i < whole.num_rows; ++i) all[i] = entry_of(static_cast<PetscInt>(i));
  const std::vector<double> sums = multiply(whole, all), transposed_sums = multiply_transposed(whole, all);
  OwnedVec y;
  check(VecDuplicate(x.get(), y.receive()));
  const auto expect_own = [&](const std::vector<double>& expected) {
    const auto found = own_entries(y.get());
    ASSERT_EQ(found.size(), static_cast<std::size_t>(parts.mine()));
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double value = expected[parts.first() + i];
      EXPECT_NEAR(found[i], value, 1e-13 * (1 + std::abs(value))) << "row " << parts.first() + i;
    }
  };
  for (int time = 0; time < 2; ++time) {
    check(VecSet(y.get(), std::nan("")));
    check(MatMult(product, x.get(), y.get()));
    expect_own(sums);
  }
  check(MatMultTranspose(product, x.get(), y.get()));
  expect_own(transposed_sums);
}

TEST(PetscProduct, IsTheSequentialOne) {
  for (const HostMatrix<double>& whole :
       {irregular_matrix(53), shift_matrix(29), problem("poisson2d:5"), half_coupled(24), gapped(31)})
    for (const NamedParts& parts : all_parts(whole.num_rows))
      for (const MatType type : {MATAIJ, MATMPIAIJ, aij_type()}) {
        SCOPED_TRACE(parts.name + ", " + std::to_string(whole.num_rows) + " rows, " + type);
        const OwnedMat a = assemble(whole, parts, type);
        expect_products(product_with(a.get()).get(), whole, parts);
      }
}

TEST(PetscProduct, IsBlockByBlockOfABaij) {
  for (const int b : {2, 3, 5, 11})
    for (const HostMatrix<double>& nodes : {irregular_matrix(53), shift_matrix(29), gapped(31)})
      for (const NamedParts& parts : parts_of_blocks(nodes.num_rows, b)) {
        SCOPED_TRACE(parts.name + ", " + std::to_string(nodes.num_rows) + " blocks of " + std::to_string(b));
        const HostMatrix<double> whole = of_full_blocks(nodes, b);
        const OwnedMat a = assemble(whole, parts, MATBAIJ, b);
        expect_products(product_with(a.get()).get(), whole, parts);
      }
}

/// Not of matrices most of whose rows are empty: PETSc 3.26.1 reads beyond their row pointers on a GPU.
TEST(PetscProduct, ItsDiagonalIsThatOfTheMatrix) {
  const HostMatrix<double> whole = irregular_matrix(53);
  for (const NamedParts& parts : all_parts(53)) {
    const OwnedMat a = assemble(whole, parts), product = product_with(a.get());
    OwnedVec found, expected;
    check(MatCreateVecs(product.get(), found.receive(), expected.receive()));
    check(VecSet(found.get(), std::nan("")));
    check(MatGetDiagonal(product.get(), found.get()));
    check(MatGetDiagonal(a.get(), expected.get()));
    EXPECT_EQ(own_entries(found.get()), own_entries(expected.get())) << parts.name;
  }
}

TEST(PetscProduct, SeesNewValuesAndPatterns) {
  HostMatrix<double> whole = irregular_matrix(41);
  const NamedParts parts = equal_parts(41);
  OwnedMat a = assemble(whole, parts), product = product_with(a.get());
  check(MatScale(a.get(), -3));
  for (double& value : whole.values) value *= -3;
  expect_products(product.get(), whole, parts);

  // Every rank gets an entry more, in a column of the next one.
  std::vector<std::vector<double>> dense(41, std::vector<double>(41, 0));
  for (std::int64_t i = 0; i < 41; ++i)
    for (std::size_t k = whole.row_ptrs[i]; k < whole.row_ptrs[i + 1]; ++k)
      dense[i][whole.col_idxs[k]] = whole.values[k];
  check(MatSetOption(a.get(), MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  check(MatSetOption(a.get(), MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  for (std::int64_t i = 0; i < 41; ++i) {
    const std::int64_t j = (i + 17) % 41;
    if (dense[i][j] != 0) continue;
    dense[i][j] = 0.5 + double(i);
    if (i >= parts.first() && i < parts.first() + parts.mine())
      check(MatSetValue(a.get(), static_cast<PetscInt>(i), static_cast<PetscInt>(j), dense[i][j],
                        INSERT_VALUES));
  }
  check(MatAssemblyBegin(a.get(), MAT_FINAL_ASSEMBLY));
  check(MatAssemblyEnd(a.get(), MAT_FINAL_ASSEMBLY));
  expect_products(product.get(), sparse(dense), parts);

  a = OwnedMat();  // the product keeps it
  expect_products(product.get(), sparse(dense), parts);
}

PetscInt iterations(Mat product, Mat a) {
  OwnedKSP ksp;
  PC pc = nullptr;
  check(KSPCreate(PETSC_COMM_WORLD, ksp.receive()));
  check(KSPSetType(ksp.get(), KSPCG));
  check(KSPSetOperators(ksp.get(), product, a));
  check(KSPGetPC(ksp.get(), &pc));
  check(PCSetType(pc, PCPREKOND));
  check(PCPrekondSetName(pc, "fsai"));
  check(KSPSetTolerances(ksp.get(), 1e-10, 0, 1e50, 1000));
  OwnedVec x;
  const OwnedVec b = right_hand_side(a);
  check(VecDuplicate(b.get(), x.receive()));
  check(KSPSolve(ksp.get(), b.get(), x.get()));
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  PetscInt count = 0;
  check(KSPGetConvergedReason(ksp.get(), &reason));
  EXPECT_GT(reason, 0);
  check(KSPGetIterationNumber(ksp.get(), &count));
  return count;
}

TEST(PetscProduct, KspTakesTheSameIterations) {
  check(PCRegister_Prekond());
  const HostMatrix<double> whole = problem("poisson2d:20");
  const OwnedMat a = assemble(whole, equal_parts(400));
  const OwnedMat product = product_with(a.get());
  VecType of_a = nullptr, of_product = nullptr;
  check(MatGetVecType(a.get(), &of_a));
  check(MatGetVecType(product.get(), &of_product));
  EXPECT_STREQ(of_product, of_a);
  const PetscInt expected = iterations(a.get(), a.get());
  EXPECT_GT(expected, 5);
  EXPECT_EQ(iterations(product.get(), a.get()), expected);
}

TEST(PetscProduct, ACopyIsAProductToo) {
  const HostMatrix<double> whole = irregular_matrix(53);
  const NamedParts parts = equal_parts(53);
  const OwnedMat a = assemble(whole, parts);
  OwnedMat product = product_with(a.get()), copy;
  check(MatDuplicate(product.get(), MAT_COPY_VALUES, copy.receive()));
  product = OwnedMat();
  expect_products(copy.get(), whole, parts);
}

/// The Laplacian of a ring, whose null space is that of constants, is solved as with the matrix itself.
TEST(PetscProduct, NullSpacesAreThoseOfTheMatrix) {
  const int n = 40;
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, 0));
  for (int i = 0; i < n; ++i) {
    dense[i][i] = 2;
    dense[i][(i + 1) % n] = dense[i][(i + n - 1) % n] = -1;
  }
  const OwnedMat a = assemble(sparse(dense), equal_parts(n));
  petsc::impl::Owned<MatNullSpace, MatNullSpaceDestroy> constants;
  check(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, nullptr, constants.receive()));
  check(MatSetNullSpace(a.get(), constants.get()));
  check(MatSetTransposeNullSpace(a.get(), constants.get()));
  const OwnedMat product = product_with(a.get());
  MatNullSpace of_product = nullptr, of_transpose = nullptr;
  check(MatGetNullSpace(product.get(), &of_product));
  check(MatGetTransposeNullSpace(product.get(), &of_transpose));
  EXPECT_EQ(of_product, constants.get());
  EXPECT_EQ(of_transpose, constants.get());

  OwnedKSP ksp;
  PC pc = nullptr;
  check(KSPCreate(PETSC_COMM_WORLD, ksp.receive()));
  check(KSPSetType(ksp.get(), KSPCG));
  check(KSPSetOperators(ksp.get(), product.get(), a.get()));
  check(KSPGetPC(ksp.get(), &pc));
  check(PCSetType(pc, PCJACOBI));
  OwnedVec x;
  const OwnedVec b = right_hand_side(a.get());  // the sum of its entries is not zero
  check(VecDuplicate(b.get(), x.receive()));
  check(KSPSolve(ksp.get(), b.get(), x.get()));
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  PetscScalar sum = 1;
  check(KSPGetConvergedReason(ksp.get(), &reason));
  EXPECT_GT(reason, 0);
  check(VecSum(x.get(), &sum));
  EXPECT_NEAR(sum, 0, 1e-8);
}

TEST(PetscProduct, RanksMultiplyWhileMessagesTravel) {
  if (num_ranks() == 1) GTEST_SKIP() << "one rank sends no messages";
  const OwnedMat a = assemble(problem("poisson2d:14"), equal_parts(196));
  const OwnedMat product = product_with(a.get());
  const OwnedVec x = right_hand_side(a.get());
  OwnedVec y;
  check(VecDuplicate(x.get(), y.receive()));
  check(MatMult(product.get(), x.get(), y.get()));
  const ToolEvents events;
  check(MatMult(product.get(), x.get(), y.get()));
  EXPECT_EQ(overlapped_imports(events.kernels()), 1);
}

TEST(PetscProduct, WhatItCannotMultiplyIsRefused) {
  const auto refusal = [](Mat a) {
    ErrorText error;
    Mat product = nullptr;
    const std::string text = error.of(MatCreatePrekondProduct(a, &product));
    EXPECT_EQ(product, nullptr);
    return text;
  };
  const HostMatrix<double> whole = problem("poisson2d:4");
  const OwnedMat symmetric = assemble(whole, equal_parts(16), MATSBAIJ);
  EXPECT_THAT(refusal(symmetric.get()), HasSubstr("prekond takes aij and baij"));
  OwnedMat wide;
  check(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 4, 5, 1, nullptr, 1, nullptr,
                     wide.receive()));
  check(MatAssemblyBegin(wide.get(), MAT_FINAL_ASSEMBLY));
  check(MatAssemblyEnd(wide.get(), MAT_FINAL_ASSEMBLY));
  EXPECT_THAT(refusal(wide.get()), HasSubstr("not square: it has 4 rows and 5 columns"));
  const OwnedMat a = assemble(whole, equal_parts(16));
  check(MatSetOptionsPrefix(a.get(), "my_"));
  check(PetscOptionsSetValue(nullptr, "-my_mat_prekond_transport", "pigeon"));
  EXPECT_THAT(refusal(a.get()), HasSubstr("auto, mpi or nccl, not pigeon"));
  check(PetscOptionsClearValue(nullptr, "-my_mat_prekond_transport"));
  expect_products(product_with(a.get()).get(), whole, equal_parts(16));
}

}  // namespace
}  // namespace prekond::testing
