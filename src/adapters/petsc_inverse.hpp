// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/adapters/impl/mpi_agreement.hpp>
#include <prekond/adapters/impl/petsc_vectors.hpp>
#include <prekond/adapters/petsc_distributed.hpp>
#include <prekond/precond/distributed_preconditioner.hpp>

#include <petscmat.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace prekond::petsc {

/// PETSc's knowledge of a matrix besides its entries, on this rank: MatGetBlockSize, and MatGetNearNullSpace.
template <class Space>
NearNullSpace<PetscScalar, Space> near_null_space_of(const Space& space, Mat a) {
  NearNullSpace<PetscScalar, Space> result;
  PetscInt block_size = 1, count = 0, rows = 0;
  MatNullSpace near = nullptr;
  PetscBool with_constants = PETSC_FALSE;
  const Vec* all = nullptr;
  check(MatGetBlockSize(a, &block_size));
  check(MatGetLocalSize(a, &rows, nullptr));
  result.unknowns_per_node = static_cast<int>(block_size);
  check(MatGetNearNullSpace(a, &near));
  if (!near) return result;
  check(MatNullSpaceGetVecs(near, &with_constants, &count, &all));
  const PetscInt constants = with_constants ? 1 : 0;
  const auto& vectors = result.vectors = allocate<MultiVector<PetscScalar, Space>>(
      space, "prekond::petsc::near_null_space", rows, static_cast<int>(constants + count));
  if (with_constants) Kokkos::deep_copy(space, column(vectors, 0), PetscScalar(1));
  for (PetscInt k = 0; k < count; ++k) {
    ColumnsBuffer<Space> buffer;
    const ReadVec<Space> from(all[k]);
    const auto values = buffer.read(space, from.columns());
    Kokkos::deep_copy(space, column(vectors, static_cast<std::size_t>(constants + k)),
                      Kokkos::subview(values, Kokkos::ALL, 0));
    space.fence("prekond::petsc::near_null_space");
  }
  return result;
}

/// The inverse that a PC applies. Its phases are collective, and where a rank fails all throw.
template <class Space>
class PcInverse {
 public:
  virtual ~PcInverse() = default;
  /// The first call looks at the pattern too.
  virtual void numeric(const Space& space, Mat a) = 0;
  virtual const char* extent() const = 0;  ///< what it acts on, in words

  void apply(const Space& space, MultiVectorView<const PetscScalar, Space> x,
             MultiVectorView<PetscScalar, Space> y) {
    const int k = static_cast<int>(x.extent(1));
    if (!m_workspace || k > m_vectors) {
      m_workspace = preconditioner().make_workspace(space, k);
      m_vectors = k;
    }
    preconditioner().apply(space, x, y, *m_workspace);
  }

  bool is_symmetric() const { return preconditioner().is_symmetric(); }

  /// Collective: of all ranks. Rows of breakdowns are global.
  Report report(Mat a) const {
    PetscInt first = 0;
    check(MatGetOwnershipRange(a, &first, nullptr));
    const std::int64_t row = m_report.breakdowns.first_row;
    return mpi::merged_report(impl::comm_of(a), m_report, row >= 0 ? first + row : -1);
  }

 protected:
  virtual const Preconditioner<PetscScalar, Space>& preconditioner() const = 0;
  /// That of the setup before.
  void forget_workspace() { m_workspace = nullptr; }

  /// For work in which a rank talks to no other.
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

  Report m_report;

 private:
  std::unique_ptr<Workspace> m_workspace;
  int m_vectors = 0;
};

/// One that is set up over all ranks of an AIJ or BAIJ matrix; `apply` is collective.
template <class Space>
class AcrossRanksInverse : public PcInverse<Space> {
 public:
  using preconditioner_type = DistributedPreconditioner<PetscScalar, Space>;

  AcrossRanksInverse(std::unique_ptr<preconditioner_type> preconditioner, bool check_spd,
                     mpi::Transport transport)
      : m_preconditioner(std::move(preconditioner)), m_check_spd(check_spd), m_transport(transport) {}

  void numeric(const Space& space, Mat a) override {
    const DistributedAijMatrix<Space> matrix(space, a, m_transport);
    m_extent = "over all ranks, messages by " + matrix.messages();
    if (m_check_spd)
      this->together(a, [&] { check_local_spd_input<PetscScalar, Space>(space, matrix.own_rows()); });
    this->forget_workspace();
    m_preconditioner->set_near_null_space(near_null_space_of<Space>(space, a));
    m_preconditioner->numeric(space, matrix);
    this->m_report = m_preconditioner->report();
    if (!matrix.rows().copied().empty()) this->m_report.notes.push_back(matrix.rows().copied());
  }
  const char* extent() const override { return m_extent.c_str(); }

 private:
  const Preconditioner<PetscScalar, Space>& preconditioner() const override { return *m_preconditioner; }

  std::unique_ptr<preconditioner_type> m_preconditioner;
  bool m_check_spd;
  mpi::Transport m_transport;
  std::string m_extent;
};

/// Each rank's preconditioner acts on the rank's own rows and columns (block Jacobi over the ranks); `apply`
/// is only the rank's.
template <class Space>
class OwnRowsInverse : public PcInverse<Space> {
 public:
  using preconditioner_type = MatrixPreconditioner<PetscScalar, Space>;

  OwnRowsInverse(std::unique_ptr<preconditioner_type> preconditioner, bool check_spd)
      : m_preconditioner(std::move(preconditioner)), m_check_spd(check_spd) {}

  void numeric(const Space& space, Mat a) override {
    this->together(a, [&] {
      const OwnBlock block(a);
      const LocalMatrix<Space> local(space, block.mat);
      if (m_check_spd) check_local_spd_input<PetscScalar, Space>(space, local.view());
      this->forget_workspace();
      const auto near = near_null_space_of<Space>(space, a);
      m_preconditioner->numeric(space, near.source(local.source()));
      this->m_report = m_preconditioner->report();
      this->m_report.foreign_columns = block.foreign_columns;
      this->m_report.foreign_entries = block.foreign_entries;
      const std::array<std::string, 2> notes{block.converted, local.copied()};
      for (const std::string& note : notes)
        if (!note.empty()) this->m_report.notes.push_back(note);
    });
  }

  const char* extent() const override { return "on each rank's own rows and columns"; }

 private:
  /// The rank's rows in its own columns, as a MATSEQAIJ or MATSEQBAIJ.
  struct OwnBlock {
    explicit OwnBlock(Mat a) {
      PetscBool is_taken = PETSC_FALSE;
      const auto object = reinterpret_cast<PetscObject>(a);
      check(
          PetscObjectBaseTypeCompareAny(object, &is_taken, MATSEQAIJ, MATMPIAIJ, MATSEQBAIJ, MATMPIBAIJ, ""));
      if (is_taken) {
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

  const Preconditioner<PetscScalar, Space>& preconditioner() const override { return *m_preconditioner; }

  std::unique_ptr<preconditioner_type> m_preconditioner;
  bool m_check_spd;
};

}  // namespace prekond::petsc
