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
#include <prekond/distributed/impl/ordered_lists.hpp>
#include <prekond/distributed/row_exchange.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
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
  std::vector<PetscInt> numbers(host.extent(0));
  mpi::together(comm, [&] {
    for (std::size_t i = 0; i < host.extent(0); ++i) {
      if (host(i) < 0 || host(i) >= rows->N) refuse(host(i), "does not exist");
      if (host(i) >= rows->rstart && host(i) < rows->rend) refuse(host(i), "is the rank's own");
      numbers[i] = static_cast<PetscInt>(host(i));
    }
    if (const auto twice = prekond::impl::number_twice(numbers)) refuse(*twice, "stands twice in the list");
  });
  return numbers;
}

/// The slots that a rank gets from each other one that has some, in the order of `numbers`.
inline std::map<PetscMPIInt, std::vector<int>> slots_by_owner(PetscLayout rows,
                                                              const std::vector<PetscInt>& numbers) {
  std::map<PetscMPIInt, std::vector<int>> slots;
  const PetscInt *begin = rows->range, *owner = begin, *end = begin + rows->size + 1;
  std::vector<int>* of_owner = nullptr;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!of_owner || numbers[i] < owner[0] || numbers[i] >= owner[1]) {
      owner = std::upper_bound(begin, end, numbers[i]) - 1;
      of_owner = &slots[static_cast<PetscMPIInt>(owner - begin)];
    }
    of_owner->push_back(static_cast<int>(i));
  }
  return slots;
}

/// The numbers of the rows that this rank wants become a plan. Collective: each rank tells the owners which
/// rows it wants. Cost: passes over the numbers. \pre checked_numbers
inline RowPlan plan_of(MPI_Comm comm, PetscLayout rows, const std::vector<PetscInt>& numbers) {
  RowPlan plan;
  std::vector<int> wanted;  // the owners' own numbers
  std::vector<PetscMPIInt> owners, counts;
  for (const auto& [owner, slots] : slots_by_owner(rows, numbers)) {
    for (const int slot : slots) wanted.push_back(static_cast<int>(numbers[slot] - rows->range[owner]));
    plan.received_places.insert(plan.received_places.end(), slots.begin(), slots.end());
    plan.neighbours.from.push_back({owner, static_cast<std::int64_t>(slots.size())});
    owners.push_back(owner);
    counts.push_back(static_cast<PetscMPIInt>(slots.size()));
  }
  MPI_Comm inner = MPI_COMM_NULL;
  PetscMPIInt tag = 0, askers = 0;
  PetscMPIInt *ranks = nullptr, *asked = nullptr;
  check(PetscCommDuplicate(comm, &inner, &tag));
  check(PetscCommBuildTwoSided(inner, 1, MPI_INT, static_cast<PetscMPIInt>(owners.size()), owners.data(),
                               counts.data(), &askers, &ranks, &asked));
  for (PetscMPIInt k = 0; k < askers; ++k) plan.neighbours.to.push_back({ranks[k], asked[k]});
  check(PetscFree(ranks));
  check(PetscFree(asked));
  std::sort(plan.neighbours.to.begin(), plan.neighbours.to.end(),
            [](const Neighbour& a, const Neighbour& b) { return a.rank < b.rank; });
  std::int64_t all = 0;
  for (const Neighbour& other : plan.neighbours.to) all += other.slots;
  plan.sent_rows.resize(static_cast<std::size_t>(all));
  std::vector<MPI_Request> requests;
  const auto sent = [](int code) {
    if (code != MPI_SUCCESS)
      throw std::runtime_error("MPI could not send lists of rows: error " + std::to_string(code));
  };
  const auto each = [&](const std::vector<Neighbour>& neighbours, int* data, const auto& post) {
    for (const Neighbour& other : neighbours) {
      sent(post(data, static_cast<int>(other.slots), other.rank, &requests.emplace_back()));
      data += other.slots;
    }
  };
  each(plan.neighbours.to, plan.sent_rows.data(), [&](int* data, int count, int rank, MPI_Request* request) {
    return MPI_Irecv(data, count, MPI_INT, rank, tag, inner, request);
  });
  each(plan.neighbours.from, wanted.data(), [&](int* data, int count, int rank, MPI_Request* request) {
    return MPI_Isend(data, count, MPI_INT, rank, tag, inner, request);
  });
  sent(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  check(PetscCommDestroy(&inner));
  return plan;
}

/// The last plans that were made: levels of multigrid ask for the same rows several times.
template <class Space>
class RowPlans {
 public:
  struct Plan {
    Neighbours neighbours;
    std::shared_ptr<const ExchangeLists<Space>> lists;
  };

  /// plan_of, or the plan that was made for the same numbers on every rank. Collective. Cost: a pass over the
  /// numbers of each plan that is kept, and one reduction. \pre checked_numbers
  Plan plan(const Space& space, MPI_Comm comm, PetscLayout rows, const std::vector<PetscInt>& numbers) {
    unsigned same = 0;
    for (std::size_t k = 0; k < m_kept.size(); ++k) same |= unsigned(m_kept[k].numbers == numbers) << k;
    if (!m_kept.empty()) MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_UNSIGNED, MPI_BAND, comm);
    if (same != 0) return m_kept[static_cast<std::size_t>(std::countr_zero(same))].plan;
    const RowPlan made = plan_of(comm, rows, numbers);
    Kept kept;
    mpi::together(comm, [&] { kept = {numbers, {made.neighbours, made.lists(space)}}; });
    if (m_kept.size() == most) m_kept.erase(m_kept.begin());
    m_kept.push_back(std::move(kept));
    return m_kept.back().plan;
  }

 private:
  static constexpr std::size_t most = 4;
  struct Kept {
    std::vector<PetscInt> numbers;
    Plan plan;
  };
  std::vector<Kept> m_kept;  ///< the newest last; the same ones on all ranks
};

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

/// Brings the entries of the rows that the plan says. Collective.
template <class Space>
std::unique_ptr<BufferedImport<PetscScalar, Space>> make_import(const Space& space, MPI_Comm comm,
                                                                PetscLayout rows,
                                                                const typename RowPlans<Space>::Plan& plan,
                                                                mpi::Transport transport) {
  return std::make_unique<BufferedImport<PetscScalar, Space>>(
      space, rows->n, plan.lists,
      mpi::make_messages<PetscScalar>(message_comm<Space>(comm, transport), plan.neighbours));
}

/// Exchanges of the rows that the plan says. Collective.
template <class Space>
std::unique_ptr<const RowExchange<PetscScalar, Space>> make_row_exchange(
    MPI_Comm comm, const typename RowPlans<Space>::Plan& plan, mpi::Transport transport) {
  return planned_row_exchange<PetscScalar, Space>(
      plan.neighbours, plan.lists,
      [inner = message_comm<Space>(comm, transport)]<class T>(T, const Neighbours& neighbours) {
        return mpi::make_messages<T>(inner, neighbours);
      });
}

}  // namespace prekond::petsc::impl
