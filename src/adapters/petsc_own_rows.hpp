// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/adapters/mpi_agreement.hpp>
#include <prekond/adapters/petsc.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <petscmat.h>

#include <cstdint>
#include <memory>
#include <string>

namespace prekond::petsc {

/// The inverse behind a PC: each rank's preconditioner acts on the rank's own rows and columns (block Jacobi
/// over the ranks). `numeric` is collective, and where a rank fails all throw; `apply` is the rank's alone.
template <class Space>
class OwnRowsInverse {
 public:
  using preconditioner_type = MatrixPreconditioner<PetscScalar, Space>;

  OwnRowsInverse(std::unique_ptr<preconditioner_type> preconditioner, bool check_spd)
      : m_preconditioner(std::move(preconditioner)), m_check_spd(check_spd) {}

  /// The first call looks at the pattern too.
  void numeric(const Space& space, Mat a) {
    together(a, [&] {
      const OwnBlock block(a);
      const LocalMatrix<Space> local(space, block.mat);
      if (m_check_spd) check_local_spd_input<PetscScalar, Space>(space, local.view());
      m_workspace = nullptr;  // of the setup before
      m_preconditioner->numeric(space, local.view());
      m_report = m_preconditioner->report();
      m_report.foreign_columns = block.foreign_columns;
      m_report.foreign_entries = block.foreign_entries;
      for (const std::string& note : {block.converted, local.copied()})
        if (!note.empty()) m_report.notes.push_back(note);
    });
  }

  void apply(const Space& space, MultiVectorView<const PetscScalar, Space> x,
             MultiVectorView<PetscScalar, Space> y) {
    const int k = static_cast<int>(x.extent(1));
    if (!m_workspace || k > m_vectors) {
      m_workspace = m_preconditioner->make_workspace(space, k);
      m_vectors = k;
    }
    m_preconditioner->apply(space, x, y, *m_workspace);
  }

  bool is_symmetric() const { return m_preconditioner->is_symmetric(); }

  /// Collective: of all ranks. Rows of breakdowns are global.
  Report report(Mat a) const {
    PetscInt first = 0;
    check(MatGetOwnershipRange(a, &first, nullptr));
    const std::int64_t row = m_report.breakdowns.first_row;
    return mpi::merged_report(impl::comm_of(a), m_report, row >= 0 ? first + row : -1);
  }

 private:
  /// The rank's rows in its own columns, as a MATSEQAIJ.
  struct OwnBlock {
    explicit OwnBlock(Mat a) {
      PetscBool is_aij = PETSC_FALSE;
      const auto object = reinterpret_cast<PetscObject>(a);
      check(PetscObjectBaseTypeCompareAny(object, &is_aij, MATSEQAIJ, MATMPIAIJ, ""));
      if (is_aij) {
        const impl::AijParts parts = impl::parts_of(a);
        mat = parts.own;
        if (parts.others) count_others(parts.others);
        return;
      }
      Mat block = nullptr;
      MatType type = nullptr;
      check(MatGetType(a, &type));
      check(MatGetDiagonalBlock(a, &block));
      check(MatConvert(block, MATSEQAIJ, MAT_INITIAL_MATRIX, m_copy.receive()));
      mat = m_copy.get();
      converted = "the matrix was copied: it is of type " + std::string(type) + ", not aij";
    }

    void count_others(Mat others) {
      PetscInt cols = 0;
      MatInfo info;
      check(MatGetSize(others, nullptr, &cols));
      check(MatGetInfo(others, MAT_LOCAL, &info));
      foreign_columns = cols;
      foreign_entries = static_cast<std::int64_t>(info.nz_used);
    }

    Mat mat = nullptr;
    std::int64_t foreign_columns = 0;
    std::int64_t foreign_entries = 0;
    std::string converted;

   private:
    impl::OwnedMat m_copy;
  };

  template <class Work>
  static void together(Mat a, const Work& work) {
    mpi::together(impl::comm_of(a), work, [a](std::int64_t row) -> std::string {
      PetscInt first = 0, end = 0;
      check(MatGetOwnershipRange(a, &first, &end));
      if (first == end) return "which has no rows";
      int size = 1;
      MPI_Comm_size(impl::comm_of(a), &size);
      if (row < 0 || size == 1) return "";
      return "its row " + std::to_string(row + 1) + " has the global index " + std::to_string(first + row);
    });
  }

  std::unique_ptr<preconditioner_type> m_preconditioner;
  bool m_check_spd;
  Report m_report;
  std::unique_ptr<Workspace> m_workspace;
  int m_vectors = 0;
};

}  // namespace prekond::petsc
