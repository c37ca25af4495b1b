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
  /// To be read and written; then `finish` brings it to PETSc.
  MultiVectorView<PetscScalar, Space> update(const Space& space, const Columns<PetscScalar>& y) {
    if (impl::is_in_reach<Space>(y.type)) return view<PetscScalar, Space>(y);
    const auto copy = memory(space, y.rows, y.count);
    copy_columns(space, copy, host_view<PetscScalar>(y));
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

/// The sizes of a vector, and of a MATDENSE, on this rank.
template <class T>
Columns<T> columns_of(Vec x) {
  PetscInt rows = 0;
  check(VecGetLocalSize(x, &rows));
  const auto n = static_cast<std::size_t>(rows);
  return {nullptr, n, n, 1, PETSC_MEMTYPE_HOST};
}
template <class T>
Columns<T> columns_of(Mat x) {
  PetscInt rows = 0, stride = 0, count = 0;
  check(MatGetLocalSize(x, &rows, nullptr));
  check(MatGetSize(x, nullptr, &count));
  check(MatDenseGetLDA(x, &stride));
  return {nullptr, static_cast<std::size_t>(rows), static_cast<std::size_t>(stride),
          static_cast<std::size_t>(count), PETSC_MEMTYPE_HOST};
}

/// PETSc's array of a vector or a MATDENSE, taken by `get` and given back by `restore`, or by those for any
/// memory where `Space` is a device's: for the host PETSc brings it there.
template <class Space, class Object, class T, auto get, auto restore, auto get_anywhere,
          auto restore_anywhere>
class TakenArray {
 public:
  explicit TakenArray(Object object) : m_object(object), m_columns(columns_of<T>(object)) {
    if constexpr (is_host_space<Space>)
      check(get(object, &m_columns.data));
    else
      check(get_anywhere(object, &m_columns.data, &m_columns.type));
    if (!PetscMemTypeHost(m_columns.type)) impl::wait_for_petsc<Space>();
  }
  TakenArray(const TakenArray&) = delete;
  TakenArray& operator=(const TakenArray&) = delete;
  ~TakenArray() {
    if constexpr (is_host_space<Space>)
      static_cast<void>(restore(m_object, &m_columns.data));
    else
      static_cast<void>(restore_anywhere(m_object, &m_columns.data));
  }
  const Columns<T>& columns() const { return m_columns; }

 private:
  Object m_object;
  Columns<T> m_columns;
};

template <class Space>
using ReadVec = TakenArray<Space, Vec, const PetscScalar, VecGetArrayRead, VecRestoreArrayRead,
                           VecGetArrayReadAndMemType, VecRestoreArrayReadAndMemType>;
template <class Space>
using WriteVec = TakenArray<Space, Vec, PetscScalar, VecGetArrayWrite, VecRestoreArrayWrite,
                            VecGetArrayWriteAndMemType, VecRestoreArrayWriteAndMemType>;
template <class Space>
using UpdateVec = TakenArray<Space, Vec, PetscScalar, VecGetArray, VecRestoreArray, VecGetArrayAndMemType,
                             VecRestoreArrayAndMemType>;
template <class Space>
using ReadDense = TakenArray<Space, Mat, const PetscScalar, MatDenseGetArrayRead, MatDenseRestoreArrayRead,
                             MatDenseGetArrayReadAndMemType, MatDenseRestoreArrayReadAndMemType>;
template <class Space>
using WriteDense = TakenArray<Space, Mat, PetscScalar, MatDenseGetArrayWrite, MatDenseRestoreArrayWrite,
                              MatDenseGetArrayWriteAndMemType, MatDenseRestoreArrayWriteAndMemType>;

}  // namespace prekond::petsc
