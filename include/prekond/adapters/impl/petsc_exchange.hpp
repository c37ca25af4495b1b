// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Entries of vectors, and rows, that a rank fetches from others by their global numbers.
#include <prekond/adapters/impl/device_messages.hpp>
#include <prekond/adapters/impl/mpi_agreement.hpp>
#include <prekond/adapters/impl/petsc_objects.hpp>
#include <prekond/core/error.hpp>
#include <prekond/distributed/distributed_matrix.hpp>
#include <prekond/distributed/impl/buffered_import.hpp>
#include <prekond/distributed/row_exchange.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

PETSC_EXTERN PetscBool use_gpu_aware_mpi;  // that of PETSc's option; declared in a private header

namespace prekond::petsc::impl {

/// The numbers as PETSc counts, once they are known to be those of rows of other ranks, each once.
/// Collective. \throws InputError on all ranks
template <class Space>
std::vector<PetscInt> checked_numbers(MPI_Comm comm, PetscLayout rows,
                                      VectorView<const std::int64_t, Space> global) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), global);
  const auto refuse = [](std::int64_t row, const std::string& why) {
    throw InputError("rows of other ranks were asked for: row " + std::to_string(row) + " (counted from 0) " +
                     why);
  };
  std::vector<PetscInt> numbers;
  mpi::together(comm, [&] {
    for (std::size_t i = 0; i < host.extent(0); ++i) {
      if (host(i) < 0 || host(i) >= rows->N) refuse(host(i), "does not exist");
      if (host(i) >= rows->rstart && host(i) < rows->rend) refuse(host(i), "is the rank's own");
      numbers.push_back(static_cast<PetscInt>(host(i)));
    }
    auto sorted = numbers;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) refuse(*twice, "stands twice in the list");
  });
  return numbers;
}

/// The numbers of the rows that this rank wants become a plan. Collective: PetscSF finds who has them.
/// \pre checked_numbers
inline RowPlan plan_of(MPI_Comm comm, PetscLayout rows, const std::vector<PetscInt>& numbers) {
  OwnedSF sf;  // a root is a row, a leaf a number that is wanted
  check(PetscSFCreate(comm, sf.receive()));
  check(PetscSFSetGraphLayout(sf.get(), rows, static_cast<PetscInt>(numbers.size()), nullptr,
                              PETSC_OWN_POINTER, numbers.data()));
  check(PetscSFSetUp(sf.get()));
  const auto list = [](PetscMPIInt ranks, const PetscMPIInt* of, const PetscInt* begins,
                       const PetscInt* slots, std::vector<Neighbour>& neighbours, std::vector<int>& all) {
    for (PetscMPIInt i = 0; i < ranks; ++i)
      if (begins[i + 1] > begins[i]) neighbours.push_back({of[i], begins[i + 1] - begins[i]});
    if (ranks > 0) all.assign(slots + begins[0], slots + begins[ranks]);
  };
  RowPlan plan;
  PetscMPIInt ranks = 0;
  const PetscMPIInt* of = nullptr;
  const PetscInt *begins = nullptr, *slots = nullptr;
  check(PetscSFGetLeafRanks(sf.get(), &ranks, &of, &begins, &slots));
  list(ranks, of, begins, slots, plan.neighbours.to, plan.sent_rows);
  check(PetscSFGetRootRanks(sf.get(), &ranks, &of, &begins, &slots, nullptr));
  list(ranks, of, begins, slots, plan.neighbours.from, plan.received_places);
  return plan;
}

/// PETSc's copy of the communicator, with a tag only for these messages. MPI is trusted with device memory
/// where PETSc trusts it (-use_gpu_aware_mpi) and has a device itself, because it has tried it then.
/// Collective. \throws as mpi::device_transport
template <class Space>
mpi::MessageComm message_comm(MPI_Comm comm, mpi::Transport transport) {
  mpi::MessageComm result;
  check(PetscCommDuplicate(comm, &result.comm, &result.tag));
  result.owner = std::shared_ptr<const void>(
      nullptr, [inner = result.comm](const void*) mutable { static_cast<void>(PetscCommDestroy(&inner)); });
  if constexpr (!is_host_space<Space>)
    result.takes_device_memory = use_gpu_aware_mpi == PETSC_TRUE && device_of_petsc().has_value();
  result.device = mpi::device_transport<Space>(result.comm, transport, result.takes_device_memory);
  return result;
}

/// Brings the entries of the rows `numbers`, in that order. Collective. \pre checked_numbers
template <class Space>
std::unique_ptr<BufferedImport<PetscScalar, Space>> make_import(const Space& space, MPI_Comm comm,
                                                                PetscLayout rows,
                                                                const std::vector<PetscInt>& numbers,
                                                                mpi::Transport transport) {
  RowPlan plan = plan_of(comm, rows, numbers);
  return std::make_unique<BufferedImport<PetscScalar, Space>>(
      space, rows->n, plan.sent_rows, plan.received_places,
      mpi::make_messages<PetscScalar>(message_comm<Space>(comm, transport), std::move(plan.neighbours)));
}

/// Exchanges of the rows `numbers`, in that order. Collective. \pre checked_numbers
template <class Space>
std::unique_ptr<const RowExchange<PetscScalar, Space>> make_row_exchange(MPI_Comm comm, PetscLayout rows,
                                                                         const std::vector<PetscInt>& numbers,
                                                                         mpi::Transport transport) {
  return planned_row_exchange<PetscScalar, Space>(
      plan_of(comm, rows, numbers),
      [inner = message_comm<Space>(comm, transport)]<class T>(T, const Neighbours& neighbours) {
        return mpi::make_messages<T>(inner, neighbours);
      });
}

}  // namespace prekond::petsc::impl
