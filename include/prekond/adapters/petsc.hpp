// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// PETSc's matrices and communicators as Prekond's kernels and solvers see them. Needs the target
/// prekond::petsc. (The preconditioners as a PC: <prekond_petsc.h>.)
#include <prekond/adapters/impl/merged_rows.hpp>
#include <prekond/adapters/impl/petsc_rows.hpp>
#include <prekond/adapters/impl/renumbered_copy.hpp>
#include <prekond/core/reducer.hpp>
#include <prekond/distributed/impl/message_memory.hpp>
#include <prekond/matrix/matrix_source.hpp>
#include <prekond/matrix/sort_rows.hpp>
#include <prekond/matrix/validate.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace prekond::petsc {

/// One rank's rows of an AIJ matrix, as preconditioners take them: columns < num_rows are the rank's own,
/// those of other ranks follow them, in the order of their global numbers.
///
/// PETSc keeps the two kinds of columns as two matrices. Where a rank has none of the second kind, as a
/// sequential matrix has not, the first is viewed: columns and values are PETSc's own memory, row pointers a
/// copy (PETSc's are of type PetscInt), and so are the columns where PetscInt has 64 bits. Otherwise both are
/// copied into one, on the device. The memory is that of MatSeqAIJGetCSRAndMemType; a matrix that PETSc has
/// on the host is copied to a device. Rows that are not sorted are copied and sorted. Keeps the matrix; a
/// copy has the values of the time when it was made.
///
/// A BAIJ matrix is taken likewise, by its blocks, which PETSc has on the host and sorted; its single rows
/// are made when they are asked for first.
template <class Space>
class LocalMatrix {
 public:
  using view_type = CsrView<PetscScalar, Space>;

  /// \throws InputError for a matrix that is no AIJ and no BAIJ, is not assembled, or has a column twice in a
  /// row; for rows of blocks that are not sorted
  LocalMatrix(const Space& space, Mat a) {
    const impl::AijParts parts = impl::parts_of(a);
    m_own = impl::AijRows<Space>(space, parts.own);
    m_view = m_own.view(space);
    m_copied = m_own.copied();
    if (parts.others) {
      m_others = impl::AijRows<Space>(space, parts.others);
      merge(space);
    }
    const bool is_sorted = rows_ascend<PetscScalar, Space>(space, m_view);
    if (block_size() > 1) {
      if (!is_sorted) throw InputError("the blocks of a row do not ascend in the matrix, which is a baij");
      m_blocks.emplace(space, blocks());
    } else if (!is_sorted) {
      sort(space);
    }
  }

  const view_type& view() const { return m_blocks ? m_blocks->csr() : m_view; }
  int block_size() const { return m_own.block_size(); }
  BcsrView<PetscScalar, Space> blocks() const {
    return prekond::impl::as_blocks<PetscScalar, Space>(m_view, block_size(), BlockOrder::by_columns);
  }
  /// The same for a setup: by blocks, where they are.
  MatrixSource<PetscScalar, Space> source() const {
    return m_blocks ? *m_blocks : MatrixSource<PetscScalar, Space>(m_view);
  }
  std::int64_t num_rows() const { return m_view.num_rows * block_size(); }
  std::int64_t num_cols() const { return m_view.num_cols * block_size(); }

  /// Why the matrix, or a part of it, was copied; empty where it was not.
  const std::string& copied() const { return m_copied; }

  std::int64_t foreign_columns() const { return num_cols() - num_rows(); }
  /// Entries in columns of other ranks.
  std::int64_t foreign_entries() const { return m_others.num_values(); }

 private:
  using copy_type = CsrMatrix<PetscScalar, int, std::size_t, typename Space::memory_space>;

  void merge(const Space& space) {
    if (m_others.num_cols() == 0) return;
    m_copy = prekond::impl::merged_rows<PetscScalar, Space>(space, m_view, m_others.view(space),
                                                            block_size() * block_size());
    m_view = m_copy;
    add_reason("the matrix was copied: PETSc keeps entries in columns of other ranks as a matrix of its own");
  }

  void sort(const Space& space) {
    if (m_copy.nnz() == 0) {
      m_copy = copy_type(
          m_view.num_rows, m_view.num_cols,
          allocate<Vector<std::size_t, Space>>(space, "prekond::petsc::sorted::row_ptrs",
                                               m_view.row_ptrs.extent(0)),
          allocate<Vector<int, Space>>(space, "prekond::petsc::sorted::cols", m_view.nnz()),
          allocate<Vector<PetscScalar, Space>>(space, "prekond::petsc::sorted::values", m_view.nnz()));
      Kokkos::deep_copy(space, m_copy.row_ptrs, m_view.row_ptrs);
      Kokkos::deep_copy(space, m_copy.col_idxs, m_view.col_idxs);
      Kokkos::deep_copy(space, m_copy.values, m_view.values);
    }
    sort_rows(space, m_copy);
    m_view = m_copy;
    add_reason("the matrix was copied: its rows are not sorted");
    if (!rows_ascend<PetscScalar, Space>(space, m_view)) validate<PetscScalar, Space>(space, m_view);
  }

  void add_reason(const std::string& reason) { m_copied += (m_copied.empty() ? "" : "; ") + reason; }

  impl::AijRows<Space> m_own;
  impl::AijRows<Space> m_others;
  copy_type m_copy;
  view_type m_view;  ///< of blocks, b^2 values an entry
  std::optional<MatrixSource<PetscScalar, Space>> m_blocks;
  std::string m_copied;
};

/// Global sums over an MPI communicator: one all-reduce for the k values of a step, after a fence. A device's
/// values go through the host's pinned memory. The object is for one thread at a time.
template <class Space>
class CommReducer : public Reducer<PetscScalar, Space> {
 public:
  explicit CommReducer(MPI_Comm comm) : m_comm(comm) { MPI_Comm_size(comm, &m_size); }
  CommReducer(const CommReducer&) = delete;
  CommReducer& operator=(const CommReducer&) = delete;

  void sum(const Space& space, VectorView<PetscScalar, Space> values) const override {
    if (m_size == 1 || values.extent(0) == 0) return;
    fetch(space, values);
    MPI_Allreduce(m_mine.data(), m_all.data(), static_cast<int>(values.extent(0)), MPIU_SCALAR, MPIU_SUM,
                  m_comm);
    put_back(space, values);
  }

 private:
  using Buffer = prekond::impl::MessageVector<PetscScalar, Space>;

  void fetch(const Space& space, const VectorView<PetscScalar, Space>& values) const {
    if (m_mine.extent(0) < values.extent(0)) {
      m_mine = Buffer("prekond::petsc::reducer::mine", values.extent(0));
      m_all = Buffer("prekond::petsc::reducer::all", values.extent(0));
    }
    Kokkos::deep_copy(space, Buffer(m_mine.data(), values.extent(0)), values);
    space.fence("prekond::petsc::reducer::sum");  // the last use of m_all is over, too
  }
  void put_back(const Space& space, const VectorView<PetscScalar, Space>& values) const {
    Kokkos::deep_copy(space, values, Buffer(m_all.data(), values.extent(0)));
  }

  MPI_Comm m_comm;
  int m_size = 1;
  mutable Buffer m_mine, m_all;
};

}  // namespace prekond::petsc
