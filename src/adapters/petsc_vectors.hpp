// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// PETSc's vectors, and dense matrices as several vectors, where kernels of a space read and write them.
#include <prekond/adapters/impl/petsc_objects.hpp>

#include <petscvec.h>

#include <cstddef>
#include <utility>

namespace prekond::petsc {

/// Columns in memory of PETSc's: column v begins at data + v stride.
template <class T>
struct Columns {
  T* data = nullptr;
  std::size_t rows = 0;
  std::size_t stride = 0;
  std::size_t count = 0;
  PetscMemType type = PETSC_MEMTYPE_HOST;
};

/// A view of columns for kernels of `Space`: of PETSc's memory where they reach it, else of a copy, which is
/// kept from one call to the next.
template <class Space>
class ColumnsBuffer {
 public:
  MultiVectorView<const PetscScalar, Space> read(const Space& space, const Columns<const PetscScalar>& x) {
    if (impl::is_in_reach<Space>(x.type)) return view<const PetscScalar, Space>(x);
    const auto copy = memory(space, x.rows, x.count);
    copy_columns(space, copy, host_view<const PetscScalar>(x));
    return copy;
  }
  /// To be written; then `finish` brings it to PETSc.
  MultiVectorView<PetscScalar, Space> write(const Space& space, const Columns<PetscScalar>& y) {
    if (impl::is_in_reach<Space>(y.type)) return view<PetscScalar, Space>(y);
    return memory(space, y.rows, y.count);
  }
  void finish(const Space& space, const MultiVectorView<PetscScalar, Space>& written,
              const Columns<PetscScalar>& y) {
    if (!impl::is_in_reach<Space>(y.type)) copy_columns(space, host_view<PetscScalar>(y), written);
  }

 private:
  /// One by one: between two memories only what is contiguous is copied.
  template <class To, class From>
  static void copy_columns(const Space& space, const To& to, const From& from) {
    for (std::size_t v = 0; v < to.extent(1); ++v) Kokkos::deep_copy(space, column(to, v), column(from, v));
  }
  template <class T, class OfSpace>
  static MultiVectorView<T, OfSpace> view(const Columns<T>& x) {
    const MultiVectorView<T, OfSpace> all(x.data, x.stride, x.count);
    return Kokkos::subview(all, std::make_pair(std::size_t(0), x.rows), Kokkos::ALL);
  }
  template <class T>
  static auto host_view(const Columns<T>& x) {
    return view<T, Kokkos::DefaultHostExecutionSpace>(x);
  }
  MultiVectorView<PetscScalar, Space> memory(const Space& space, std::size_t rows, std::size_t count) {
    if (m_memory.extent(0) != rows || m_memory.extent(1) < count)
      m_memory =
          allocate<MultiVector<PetscScalar, Space>>(space, "prekond::petsc::apply::buffer", rows, count);
    return MultiVectorView<PetscScalar, Space>(m_memory.data(), rows, count);
  }

  MultiVector<PetscScalar, Space> m_memory;
};

/// A vector of PETSc's to be read, as long as the object lives. On the host PETSc brings it there.
template <class Space>
class ReadVec {
 public:
  explicit ReadVec(Vec x) : m_x(x) {
    m_columns.rows = m_columns.stride = local_size(x);
    m_columns.count = 1;
    if constexpr (is_host_space<Space>)
      check(VecGetArrayRead(x, &m_columns.data));
    else
      check(VecGetArrayReadAndMemType(x, &m_columns.data, &m_columns.type));
  }
  ReadVec(const ReadVec&) = delete;
  ReadVec& operator=(const ReadVec&) = delete;
  ~ReadVec() {
    if constexpr (is_host_space<Space>)
      static_cast<void>(VecRestoreArrayRead(m_x, &m_columns.data));
    else
      static_cast<void>(VecRestoreArrayReadAndMemType(m_x, &m_columns.data));
  }
  const Columns<const PetscScalar>& columns() const { return m_columns; }

  static std::size_t local_size(Vec x) {
    PetscInt n = 0;
    check(VecGetLocalSize(x, &n));
    return static_cast<std::size_t>(n);
  }

 private:
  Vec m_x;
  Columns<const PetscScalar> m_columns;
};

/// One to be written.
template <class Space>
class WriteVec {
 public:
  explicit WriteVec(Vec y) : m_y(y) {
    m_columns.rows = m_columns.stride = ReadVec<Space>::local_size(y);
    m_columns.count = 1;
    if constexpr (is_host_space<Space>)
      check(VecGetArrayWrite(y, &m_columns.data));
    else
      check(VecGetArrayWriteAndMemType(y, &m_columns.data, &m_columns.type));
  }
  WriteVec(const WriteVec&) = delete;
  WriteVec& operator=(const WriteVec&) = delete;
  ~WriteVec() {
    if constexpr (is_host_space<Space>)
      static_cast<void>(VecRestoreArrayWrite(m_y, &m_columns.data));
    else
      static_cast<void>(VecRestoreArrayWriteAndMemType(m_y, &m_columns.data));
  }
  const Columns<PetscScalar>& columns() const { return m_columns; }

 private:
  Vec m_y;
  Columns<PetscScalar> m_columns;
};

/// The columns of a MATDENSE, to be read.
template <class Space>
class ReadDense {
 public:
  explicit ReadDense(Mat x) : m_x(x) {
    PetscInt rows = 0, stride = 0, count = 0;
    check(MatGetLocalSize(x, &rows, nullptr));
    check(MatGetSize(x, nullptr, &count));
    check(MatDenseGetLDA(x, &stride));
    m_columns = {nullptr, static_cast<std::size_t>(rows), static_cast<std::size_t>(stride),
                 static_cast<std::size_t>(count), PETSC_MEMTYPE_HOST};
    if constexpr (is_host_space<Space>)
      check(MatDenseGetArrayRead(x, &m_columns.data));
    else
      check(MatDenseGetArrayReadAndMemType(x, &m_columns.data, &m_columns.type));
  }
  ReadDense(const ReadDense&) = delete;
  ReadDense& operator=(const ReadDense&) = delete;
  ~ReadDense() {
    if constexpr (is_host_space<Space>)
      static_cast<void>(MatDenseRestoreArrayRead(m_x, &m_columns.data));
    else
      static_cast<void>(MatDenseRestoreArrayReadAndMemType(m_x, &m_columns.data));
  }
  const Columns<const PetscScalar>& columns() const { return m_columns; }

 private:
  Mat m_x;
  Columns<const PetscScalar> m_columns;
};

/// To be written.
template <class Space>
class WriteDense {
 public:
  explicit WriteDense(Mat y) : m_y(y) {
    PetscInt rows = 0, stride = 0, count = 0;
    check(MatGetLocalSize(y, &rows, nullptr));
    check(MatGetSize(y, nullptr, &count));
    check(MatDenseGetLDA(y, &stride));
    m_columns = {nullptr, static_cast<std::size_t>(rows), static_cast<std::size_t>(stride),
                 static_cast<std::size_t>(count), PETSC_MEMTYPE_HOST};
    if constexpr (is_host_space<Space>)
      check(MatDenseGetArrayWrite(y, &m_columns.data));
    else
      check(MatDenseGetArrayWriteAndMemType(y, &m_columns.data, &m_columns.type));
  }
  WriteDense(const WriteDense&) = delete;
  WriteDense& operator=(const WriteDense&) = delete;
  ~WriteDense() {
    if constexpr (is_host_space<Space>)
      static_cast<void>(MatDenseRestoreArrayWrite(m_y, &m_columns.data));
    else
      static_cast<void>(MatDenseRestoreArrayWriteAndMemType(m_y, &m_columns.data));
  }
  const Columns<PetscScalar>& columns() const { return m_columns; }

 private:
  Mat m_y;
  Columns<PetscScalar> m_columns;
};

}  // namespace prekond::petsc
