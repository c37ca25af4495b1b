// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "adapters/petsc_kokkos.hpp"

#include "adapters/petsc_errors.hpp"

#include <prekond/adapters/impl/petsc_objects.hpp>

#include <Kokkos_Core.hpp>

#include <cstdlib>
#include <optional>

namespace prekond::petsc {
namespace {

PetscErrorCode finalize_kokkos() {
  PetscFunctionBegin;
  if (Kokkos::is_initialized() && !Kokkos::is_finalized()) Kokkos::finalize();
  PetscFunctionReturn(PETSC_SUCCESS);
}

}  // namespace

PetscErrorCode initialize_kokkos() {
  PetscMPIInt size = 1;
  PetscFunctionBegin;
  PetscCheck(!Kokkos::is_finalized(), PETSC_COMM_SELF, PETSC_ERR_ORDER,
             "Prekond: Kokkos was finalized before, and Prekond needs it");
  if (Kokkos::is_initialized()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  Kokkos::InitializationSettings settings;
  if (size > 1 && !std::getenv("OMP_NUM_THREADS") && !std::getenv("KOKKOS_NUM_THREADS"))
    settings.set_num_threads(1);
  PetscCall(guarded(PETSC_COMM_SELF, [&] {
    if (!is_host_space<Kokkos::DefaultExecutionSpace>)
      if (const std::optional<int> device = impl::device_of_petsc()) settings.set_device_id(*device);
    Kokkos::initialize(settings);
  }));
  PetscCall(PetscRegisterFinalize(finalize_kokkos));
  PetscFunctionReturn(PETSC_SUCCESS);
}

}  // namespace prekond::petsc
