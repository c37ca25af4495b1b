// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Entries of vectors, and rows, that a rank fetches from others by their global numbers.
#include <prekond/adapters/impl/petsc_objects.hpp>
#include <prekond/adapters/mpi_agreement.hpp>
#include <prekond/core/error.hpp>
#include <prekond/distributed/buffered_import.hpp>
#include <prekond/distributed/distributed_matrix.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

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

/// The type of k scalars in a row, for messages.
class ScalarRow {
 public:
  ScalarRow() = default;
  ScalarRow(const ScalarRow&) = delete;
  ScalarRow& operator=(const ScalarRow&) = delete;
  ~ScalarRow() { forget(); }

  MPI_Datatype of(std::size_t k) {
    if (k == 1) return MPIU_SCALAR;
    if (k != m_k) {
      forget();
      MPI_Type_contiguous(static_cast<int>(k), MPIU_SCALAR, &m_type);
      MPI_Type_commit(&m_type);
      m_k = k;
    }
    return m_type;
  }

 private:
  void forget() {
    if (m_k > 0) MPI_Type_free(&m_type);
    m_k = 0;
  }
  MPI_Datatype m_type = MPI_DATATYPE_NULL;
  std::size_t m_k = 0;
};

/// The messages of an import by a star forest between the buffers: its roots are the slots that ranks send,
/// its leaves those that they receive, and a root has one leaf. Host memory only.
class SfMessages : public Messages<PetscScalar> {
 public:
  explicit SfMessages(OwnedSF sf) : m_sf(std::move(sf)) {}

  void start(const PetscScalar* sent, PetscScalar* received, int k) override {
    begin(sent, received, k);
    check(PetscSFBcastWithMemTypeBegin(m_sf.get(), m_type, PETSC_MEMTYPE_HOST, sent, PETSC_MEMTYPE_HOST,
                                       received, MPI_REPLACE));
  }
  void finish() override { check(PetscSFBcastEnd(m_sf.get(), m_type, m_from, m_to, MPI_REPLACE)); }

  void start_reverse(const PetscScalar* received, PetscScalar* sent, int k) override {
    begin(received, sent, k);
    check(PetscSFReduceWithMemTypeBegin(m_sf.get(), m_type, PETSC_MEMTYPE_HOST, received, PETSC_MEMTYPE_HOST,
                                        sent, MPI_REPLACE));
  }
  void finish_reverse() override { check(PetscSFReduceEnd(m_sf.get(), m_type, m_from, m_to, MPI_REPLACE)); }

 private:
  void begin(const PetscScalar* from, PetscScalar* to, int k) {
    m_from = from;
    m_to = to;
    m_type = m_scalar_row.of(static_cast<std::size_t>(k));
  }

  OwnedSF m_sf;
  ScalarRow m_scalar_row;
  MPI_Datatype m_type = MPI_DATATYPE_NULL;
  const PetscScalar* m_from = nullptr;
  PetscScalar* m_to = nullptr;
};

/// The rows that others want of this rank, those of one rank behind those of another.
inline std::vector<int> rows_to_send(PetscSF by_row) {
  PetscMPIInt ranks = 0;
  const PetscInt *offsets = nullptr, *rows = nullptr;
  check(PetscSFGetLeafRanks(by_row, &ranks, nullptr, &offsets, &rows));
  return {rows, rows + (ranks > 0 ? offsets[ranks] : 0)};
}

/// Where each number's entry stands in its rank's buffer. Collective: one message a neighbour. (nvcc 13.0
/// takes no std::vector of a type like PetscSFNode, a struct whose only name is a typedef.)
inline std::unique_ptr<PetscSFNode[]> sources_in_buffers(MPI_Comm comm, PetscSF by_row) {
  PetscMPIInt num_owners = 0, num_askers = 0, tag = 0;
  const PetscMPIInt *owners = nullptr, *askers = nullptr;
  const PetscInt *asked = nullptr, *places = nullptr, *given = nullptr;
  check(PetscSFGetRootRanks(by_row, &num_owners, &owners, &asked, &places, nullptr));
  check(PetscSFGetLeafRanks(by_row, &num_askers, &askers, &given, nullptr));
  MPI_Comm inner = MPI_COMM_NULL;  // PETSc's copy of comm, for which a tag is unused
  check(PetscCommDuplicate(comm, &inner, &tag));
  std::vector<PetscInt> first(num_owners);  // in the owner's buffer
  std::vector<MPI_Request> requests(num_owners + num_askers);
  for (int i = 0; i < num_owners; ++i) MPI_Irecv(&first[i], 1, MPIU_INT, owners[i], tag, inner, &requests[i]);
  for (int i = 0; i < num_askers; ++i)
    MPI_Isend(&given[i], 1, MPIU_INT, askers[i], tag, inner, &requests[num_owners + i]);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  check(PetscCommDestroy(&inner));
  auto sources = std::make_unique<PetscSFNode[]>(num_owners > 0 ? asked[num_owners] : 0);
  for (int i = 0; i < num_owners; ++i)
    for (PetscInt k = asked[i]; k < asked[i + 1]; ++k)
      sources[places[k]] = PetscSFNode{owners[i], first[i] + k - asked[i]};
  return sources;
}

/// Brings the entries of the rows `numbers`, in that order. Collective. \pre checked_numbers
template <class Space>
std::unique_ptr<BufferedImport<PetscScalar, Space>> make_import(const Space& space, MPI_Comm comm,
                                                                PetscLayout rows,
                                                                const std::vector<PetscInt>& numbers) {
  OwnedSF by_row, by_slot;
  check(PetscSFCreate(comm, by_row.receive()));
  check(PetscSFSetGraphLayout(by_row.get(), rows, static_cast<PetscInt>(numbers.size()), nullptr,
                              PETSC_OWN_POINTER, numbers.data()));
  check(PetscSFSetUp(by_row.get()));
  const std::vector<int> sent = rows_to_send(by_row.get());
  const auto sources = sources_in_buffers(comm, by_row.get());
  check(PetscSFCreate(comm, by_slot.receive()));
  check(PetscSFSetGraph(by_slot.get(), static_cast<PetscInt>(sent.size()),
                        static_cast<PetscInt>(numbers.size()), nullptr, PETSC_OWN_POINTER, sources.get(),
                        PETSC_COPY_VALUES));
  check(PetscSFSetUp(by_slot.get()));
  std::vector<int> received(numbers.size());  // the leaves are in the order of the numbers
  std::iota(received.begin(), received.end(), 0);
  return std::make_unique<BufferedImport<PetscScalar, Space>>(
      space, rows->n, sent, received, std::make_unique<SfMessages>(std::move(by_slot)));
}

/// The rows of `a` whose numbers this rank gives. Collective: MatCreateSubMatrices, which works on the host.
/// \pre checked_numbers; a is a MATMPIAIJ
template <class Space>
RemoteRows<PetscScalar, Space> fetch_rows(const Space& space, Mat a, const std::vector<PetscInt>& numbers) {
  std::vector<PetscInt> order(numbers.size());  // PETSc's rows ascend
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](PetscInt i, PetscInt j) { return numbers[i] < numbers[j]; });
  std::vector<PetscInt> ascending(numbers.size()), place(numbers.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    ascending[k] = numbers[order[k]];
    place[order[k]] = static_cast<PetscInt>(k);
  }
  PetscInt all = 0;
  check(MatGetSize(a, nullptr, &all));
  OwnedIS rows, cols;
  check(ISCreateGeneral(PETSC_COMM_SELF, static_cast<PetscInt>(ascending.size()), ascending.data(),
                        PETSC_USE_POINTER, rows.receive()));
  check(ISCreateStride(PETSC_COMM_SELF, all, 0, 1, cols.receive()));
  const IS row_set = rows.get(), col_set = cols.get();
  Mat* fetched = nullptr;
  check(MatCreateSubMatrices(a, 1, &row_set, &col_set, MAT_INITIAL_MATRIX, &fetched));

  std::vector<std::size_t> row_ptrs(1, 0);
  std::vector<std::int64_t> col_idxs;
  std::vector<PetscScalar> values;
  for (const PetscInt k : place) {
    PetscInt length = 0;
    const PetscInt* row_cols = nullptr;
    const PetscScalar* entries = nullptr;
    check(MatGetRow(fetched[0], k, &length, &row_cols, &entries));
    std::vector<std::pair<PetscInt, PetscScalar>> row(length);
    for (PetscInt j = 0; j < length; ++j) row[j] = {row_cols[j], entries[j]};
    check(MatRestoreRow(fetched[0], k, &length, &row_cols, &entries));
    std::sort(row.begin(), row.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    for (const auto& [col, value] : row) col_idxs.push_back(col), values.push_back(value);
    row_ptrs.push_back(col_idxs.size());
  }
  check(MatDestroySubMatrices(1, &fetched));
  return {static_cast<std::int64_t>(numbers.size()),
          copied_to<Space>(space, row_ptrs, "prekond::petsc::remote_rows::row_ptrs"),
          copied_to<Space>(space, col_idxs, "prekond::petsc::remote_rows::col_idxs"),
          copied_to<Space>(space, values, "prekond::petsc::remote_rows::values")};
}

}  // namespace prekond::petsc::impl
