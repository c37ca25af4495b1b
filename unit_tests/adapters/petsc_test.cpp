// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testing/host_matrix.hpp"
#include "testing/petsc_matrices.hpp"
#include "testing/spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prekond/adapters/impl/mpi_agreement.hpp>
#include <prekond/adapters/petsc.hpp>

#include <array>
#include <new>
#include <optional>
#include <string>
#include <vector>

namespace prekond::testing {
namespace {

using ::testing::HasSubstr;
using LocalMatrix = petsc::LocalMatrix<PetscSpace>;

const PetscScalar* values_of(Mat a) {
  const PetscScalar* values = nullptr;
  check(MatSeqAIJGetArrayRead(a, &values));
  const PetscScalar* found = values;
  check(MatSeqAIJRestoreArrayRead(a, &values));
  return found;
}

HostMatrix<double> host_copy(const LocalMatrix::view_type& a) {
  return {a.num_rows, a.num_cols, to_vector(a.row_ptrs), to_vector(a.col_idxs), to_vector(a.values)};
}

TEST(PetscLocalMatrix, ASequentialMatrixIsViewed) {
  const HostMatrix<double> whole = irregular_matrix(53);
  OwnedMat a;
  check(MatCreateSeqAIJ(PETSC_COMM_SELF, 53, 53, 9, nullptr, a.receive()));
  for (std::int64_t i = 0; i < 53; ++i)
    for (std::size_t k = whole.row_ptrs[i]; k < whole.row_ptrs[i + 1]; ++k)
      check(
          MatSetValue(a.get(), static_cast<PetscInt>(i), whole.col_idxs[k], whole.values[k], INSERT_VALUES));
  check(MatAssemblyBegin(a.get(), MAT_FINAL_ASSEMBLY));
  check(MatAssemblyEnd(a.get(), MAT_FINAL_ASSEMBLY));
  const LocalMatrix local(PetscSpace(), a.get());
  EXPECT_EQ(host_copy(local.view()), whole);
  EXPECT_EQ(local.foreign_columns(), 0);
  EXPECT_EQ(local.foreign_entries(), 0);
  if constexpr (is_host_space<PetscSpace>) {
    EXPECT_EQ(local.view().values.data(), values_of(a.get()));
    EXPECT_EQ(local.copied(),
              sizeof(PetscInt) == sizeof(int) ? "" : "the columns were copied: PetscInt has 64 bits");
    check(MatScale(a.get(), 2));
    EXPECT_EQ(to_vector(local.view().values)[7], 2 * whole.values[7]);
  }
}

/// The kernels read PETSc's values of a matrix on a device there; with few rows that have entries, PETSc has
/// no others on the device.
TEST(PetscLocalMatrix, EmptyRows) {
  std::vector<std::vector<double>> dense(50, std::vector<double>(50, 0));
  dense[3][7] = 1.5, dense[3][9] = -2, dense[48][0] = 4;
  const HostMatrix<double> whole = sparse(dense);
  OwnedMat a;
  check(MatCreate(PETSC_COMM_SELF, a.receive()));
  check(MatSetSizes(a.get(), 50, 50, 50, 50));
  check(MatSetType(a.get(), aij_type()));
  check(MatSetUp(a.get()));
  check(MatSetValue(a.get(), 3, 7, 1.5, INSERT_VALUES));
  check(MatSetValue(a.get(), 3, 9, -2, INSERT_VALUES));
  check(MatSetValue(a.get(), 48, 0, 4, INSERT_VALUES));
  check(MatAssemblyBegin(a.get(), MAT_FINAL_ASSEMBLY));
  check(MatAssemblyEnd(a.get(), MAT_FINAL_ASSEMBLY));
  const LocalMatrix local(PetscSpace(), a.get());
  EXPECT_EQ(host_copy(local.view()), whole);
  if (aij_type() != std::string(MATAIJ)) {
    EXPECT_EQ(local.copied(), "");
  }
}

TEST(PetscLocalMatrix, ColumnsOfOthersAreBehind) {
  const HostMatrix<double> whole = problem("poisson2d:8");
  const NamedParts parts = equal_parts(64);
  const OwnedMat a = assemble(whole, parts);
  const LocalMatrix local(PetscSpace(), a.get());
  std::int64_t foreign = 0;
  for (const std::int64_t i : parts.own())
    for (std::size_t k = whole.row_ptrs[i]; k < whole.row_ptrs[i + 1]; ++k)
      foreign += whole.col_idxs[k] < parts.first() || whole.col_idxs[k] >= parts.first() + parts.mine();
  EXPECT_EQ(local.foreign_entries(), foreign);
  EXPECT_EQ(local.foreign_columns() > 0, num_ranks() > 1);
  if (num_ranks() > 1) {
    EXPECT_THAT(local.copied(),
                HasSubstr("the matrix was copied: PETSc keeps entries in columns of other ranks as a "
                          "matrix of its own"));
  }
  validate<double, PetscSpace>(PetscSpace(), local.view());
}

TEST(PetscLocalMatrix, RowsThatAreNotSortedAreCopied) {
  std::array<PetscInt, 4> row_ptrs = {0, 3, 5, 7};
  std::array<PetscInt, 7> cols = {2, 0, 1, 1, 0, 2, 1};
  std::array<PetscScalar, 7> values = {3, 1, 2, 5, 4, 7, 6};
  OwnedMat a;
  check(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, 3, 3, row_ptrs.data(), cols.data(), values.data(),
                                  a.receive()));
  const LocalMatrix local(PetscSpace(), a.get());
  EXPECT_THAT(local.copied(), HasSubstr("the matrix was copied: its rows are not sorted"));
  EXPECT_EQ(to_vector(local.view().col_idxs), (std::vector<int>{0, 1, 2, 0, 1, 1, 2}));
  EXPECT_EQ(to_vector(local.view().values), (std::vector<double>{1, 2, 3, 4, 5, 6, 7}));

  cols[0] = 1;  // twice in the first row
  OwnedMat twice;
  check(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, 3, 3, row_ptrs.data(), cols.data(), values.data(),
                                  twice.receive()));
  EXPECT_THAT(message_of<InputError>([&] { const LocalMatrix refused(PetscSpace(), twice.get()); }),
              HasSubstr("row 1"));
}

TEST(PetscLocalMatrix, OtherMatricesAreRefused) {
  OwnedMat dense, open;
  check(MatCreateSeqDense(PETSC_COMM_SELF, 3, 3, nullptr, dense.receive()));
  check(MatAssemblyBegin(dense.get(), MAT_FINAL_ASSEMBLY));
  check(MatAssemblyEnd(dense.get(), MAT_FINAL_ASSEMBLY));
  EXPECT_EQ(
      message_of<InputError>([&] { const LocalMatrix refused(PetscSpace(), dense.get()); }),
      "the matrix is of type seqdense: prekond takes aij and baij; MatConvert(a, MATAIJ, ...) makes one");
  check(MatCreateSeqAIJ(PETSC_COMM_SELF, 3, 3, 1, nullptr, open.receive()));
  EXPECT_EQ(message_of<InputError>([&] { const LocalMatrix refused(PetscSpace(), open.get()); }),
            "the matrix is not assembled: call MatAssemblyBegin and MatAssemblyEnd");
}

TEST(PetscDevice, IsThatOfKokkos) {
  const std::optional<int> device = petsc::impl::device_of_petsc();
  petsc::impl::check_device<PetscSpace>();
  if (aij_type() != std::string(MATAIJ)) {
    EXPECT_EQ(device, Kokkos::device_id());
  } else if (!PetscDefined(HAVE_CUPM)) {
    EXPECT_EQ(device, std::nullopt);
  }
}

TEST(PetscReducer, SumsOverRanks) {
  const petsc::CommReducer<PetscSpace> reducer(PETSC_COMM_WORLD);
  for (const int k : {0, 1, 5, 64, 65, 200}) {
    std::vector<double> mine, all;
    for (int i = 0; i < k; ++i) {
      mine.push_back(i + 1000.0 * my_rank());
      all.push_back(i * num_ranks() + 500.0 * num_ranks() * (num_ranks() - 1));
    }
    const auto values = to_device<PetscSpace>(mine);
    reducer.sum(PetscSpace(), values);
    PetscSpace().fence();
    EXPECT_EQ(to_vector(values), all);
  }
}

TEST(PetscErrors, AreExceptions) {
  EXPECT_THAT(message_of<std::runtime_error>([] { check(PETSC_ERR_SUP); }),
              HasSubstr("PETSc: No support for this operation for this object type (error code 56)"));
}

// ------------------------------------------------------------------------------------------------ agreement

TEST(MpiAgreement, TheFirstErrorIsThatOfAll) {
  const auto run = [](int failing) {
    mpi::together(
        PETSC_COMM_WORLD,
        [&] {
          if (my_rank() >= failing) throw InputError("bad row " + std::to_string(my_rank()), my_rank() + 5);
        },
        [](std::int64_t row) { return "its row " + std::to_string(row); });
  };
  run(num_ranks());
  for (int failing = 0; failing < num_ranks(); ++failing)
    EXPECT_EQ(message_of<InputError>([&] { run(failing); }),
              "rank " + std::to_string(failing) + " of " + std::to_string(num_ranks()) + " (its row " +
                  std::to_string(failing + 5) + "): bad row " + std::to_string(failing));
}

TEST(MpiAgreement, KindsOfErrorsTravel) {
  const bool last = my_rank() == num_ranks() - 1;
  const auto run = [&](const auto& error) {
    mpi::together(PETSC_COMM_WORLD, [&] {
      if (last) throw error;
    });
  };
  EXPECT_THAT(message_of<OptionError>([&] { run(OptionError("an option")); }), HasSubstr("an option"));
  EXPECT_THAT(message_of<std::logic_error>([&] { run(std::logic_error("an order")); }),
              HasSubstr("an order"));
  EXPECT_THAT(message_of<std::runtime_error>([&] { run(std::bad_alloc()); }), HasSubstr("not enough memory"));
}

TEST(MpiAgreement, OneReportOfAllRanks) {
  Report mine;
  mine.nnz = 10 + my_rank();
  mine.numeric_seconds = my_rank();
  mine.fences = 3 + my_rank();
  mine.pattern_kept = my_rank() > 0;
  mine.notes = {"the same", "of rank " + std::to_string(my_rank())};
  const bool last = my_rank() == num_ranks() - 1;
  if (last) mine.breakdowns = {2, 7, 0.25, "the diagonal"};
  const Report all = mpi::merged_report(PETSC_COMM_WORLD, mine, last ? 107 : -1);
  const int size = num_ranks();
  EXPECT_EQ(all.nnz, 10 * size + size * (size - 1) / 2);
  EXPECT_EQ(all.numeric_seconds, size - 1);
  EXPECT_EQ(all.fences, 3 + size - 1);
  EXPECT_FALSE(all.pattern_kept);
  EXPECT_EQ(all.notes.size(), std::size_t(1 + size));
  EXPECT_EQ(all.breakdowns.count, 2);
  EXPECT_EQ(all.breakdowns.first_row, 107);
  EXPECT_EQ(all.breakdowns.first_pivot, 0.25);
  EXPECT_EQ(all.breakdowns.action,
            (size > 1 ? "rank " + std::to_string(size - 1) + ": " : "") + "the diagonal");
}

}  // namespace
}  // namespace prekond::testing
