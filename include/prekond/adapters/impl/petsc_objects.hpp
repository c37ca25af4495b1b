// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// PETSc's errors as exceptions, its handles as objects, and its arrays where kernels can read them.
#include <prekond/core/error.hpp>
#include <prekond/core/views.hpp>

#include <petscdevice.h>
#include <petscmat.h>
#include <petscsf.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace prekond::petsc {

static_assert(std::is_same_v<PetscScalar, double> || std::is_same_v<PetscScalar, float>,
              "prekond's adapter is for a PETSc of real scalars, double or single");

/// \throws std::runtime_error for a call of PETSc's that failed; PETSc's own handler has said more by then
inline void check(PetscErrorCode code) {
  if (code == PETSC_SUCCESS) return;
  const char* text = nullptr;
  PetscErrorMessage(code, &text, nullptr);
  throw std::runtime_error("PETSc: " + std::string(text ? text : "an error") + " (error code " +
                           std::to_string(static_cast<int>(code)) + ")");
}

namespace impl {

/// A PETSc handle that is given back in the end.
template <class Handle, PetscErrorCode (*destroy)(Handle*)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : m_handle(handle) {}
  Owned(Owned&& other) noexcept : m_handle(std::exchange(other.m_handle, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(m_handle, other.m_handle);
    return *this;
  }
  ~Owned() {
    if (m_handle) static_cast<void>(destroy(&m_handle));
  }
  Handle get() const { return m_handle; }
  Handle* receive() { return &m_handle; }

 private:
  Handle m_handle = nullptr;
};

using OwnedMat = Owned<Mat, MatDestroy>;
using OwnedSF = Owned<PetscSF, PetscSFDestroy>;
using OwnedLayout = Owned<PetscLayout, PetscLayoutDestroy>;

/// The matrix, kept by its reference count.
inline OwnedMat keep(Mat a) {
  check(PetscObjectReference(reinterpret_cast<PetscObject>(a)));
  return OwnedMat(a);
}

/// The layout, likewise.
inline OwnedLayout keep(PetscLayout rows) {
  OwnedLayout kept;
  check(PetscLayoutReference(rows, kept.receive()));
  return kept;
}

inline MPI_Comm comm_of(Mat a) {
  return PetscObjectComm(reinterpret_cast<PetscObject>(a));
}

template <class T>
using HostArray =
    Kokkos::View<const T*, Kokkos::LayoutLeft, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// Is memory of PETSc's of this type what kernels of `Space` read?
template <class Space>
bool is_in_reach(PetscMemType type) {
  return is_host_space<Space> ? PetscMemTypeHost(type) == PETSC_TRUE : PetscMemTypeDevice(type) == PETSC_TRUE;
}

/// The device that PETSc computes on; none where it computes only on the host.
inline std::optional<int> device_of_petsc() {
  PetscDeviceContext context = nullptr;
  PetscDevice device = nullptr;
  PetscDeviceType type = PETSC_DEVICE_HOST;
  PetscInt id = 0;
  check(PetscDeviceContextGetCurrentContext(&context));
  check(PetscDeviceContextGetDevice(context, &device));
  check(PetscDeviceGetType(device, &type));
  if (type == PETSC_DEVICE_HOST) return std::nullopt;
  check(PetscDeviceGetDeviceId(device, &id));
  return static_cast<int>(id);
}

/// \throws InputError where PETSc's device is not the one of Kokkos, whose kernels then reach none of its
/// memory
template <class Space>
void check_device() {
  if constexpr (!is_host_space<Space>) {
    const std::optional<int> device = device_of_petsc();
    if (device && *device != Kokkos::device_id())
      throw InputError("PETSc has its memory on device " + std::to_string(*device) +
                       " and Kokkos computes on " + std::to_string(Kokkos::device_id()) +
                       ": give both the same, by -device_select_cuda (or _hip) and --kokkos-device-id");
  }
}

/// Waits for what PETSc has begun on a device, where its stream is one that Kokkos's kernels do not wait for
/// by themselves.
template <class Space>
void wait_for_petsc() {
  if constexpr (!is_host_space<Space>) {
    PetscDeviceContext context = nullptr;
    PetscStreamType type = PETSC_STREAM_NONBLOCKING;
    check(PetscDeviceContextGetCurrentContext(&context));
    check(PetscDeviceContextGetStreamType(context, &type));
    if (type == PETSC_STREAM_NONBLOCKING) check(PetscDeviceContextSynchronize(context));
  }
}

/// n entries of PETSc's: as they are where `in_reach`, else a copy of those on the host.
template <class Space, class T>
Vector<const T, Space> reached(const Space& space, const T* data, std::size_t n, bool in_reach,
                               const std::string& label) {
  if (in_reach || n == 0) return Vector<const T, Space>(data, n);
  const auto copy = allocate<Vector<T, Space>>(space, label, n);
  Kokkos::deep_copy(space, copy, HostArray<T>(data, n));
  return copy;
}

}  // namespace impl
}  // namespace prekond::petsc
