// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows that PETSc distributes over ranks.
#include <prekond/adapters/impl/petsc_exchange.hpp>
#include <prekond/adapters/petsc.hpp>
#include <prekond/distributed/impl/rows_by_number.hpp>
#include <prekond/matrix/spmv.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace prekond::petsc::impl {

/// The part of a distributed matrix that does not depend on its entries. Keeps the layout and the
/// communicator.
template <class Space>
class DistributedRows : public DistributedMatrix<PetscScalar, Space> {
 public:
  std::int64_t num_rows() const override { return m_layout.get()->n; }
  std::int64_t num_global_rows() const override { return m_layout.get()->N; }
  const Reducer<PetscScalar, Space>& reducer() const override { return m_reducer; }

  std::unique_ptr<const VectorImport<PetscScalar, Space>> make_import(
      const Space& space, VectorView<const std::int64_t, Space> global) const override {
    space.fence("prekond::petsc::make_import");
    return impl::make_import<Space>(space, m_comm, m_layout.get(), plan_of(space, global), m_transport);
  }
  std::unique_ptr<const RowExchange<PetscScalar, Space>> make_row_exchange(
      const Space& space, VectorView<const std::int64_t, Space> global) const override {
    space.fence("prekond::petsc::make_row_exchange");
    return impl::make_row_exchange<Space>(m_comm, plan_of(space, global), m_transport);
  }

  void together(const std::function<void()>& work) const override {
    mpi::together(m_comm, work, [this](std::int64_t row) {
      return row < 0 || row >= num_rows() ? std::string()
                                          : "its row " + std::to_string(row + 1) + " has the global index " +
                                                std::to_string(this->global_number(row));
    });
  }
  double largest(double value) const override {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, m_comm);
    return value;
  }

  bool redistributes() const override { return true; }
  std::unique_ptr<const DistributedMatrix<PetscScalar, Space>> with_rows(
      const Space& space, VectorView<const std::int64_t, Space> own) const override;
  std::int64_t sum_before(std::int64_t mine) const override {
    std::int64_t before = 0;
    MPI_Exscan(&mine, &before, 1, MPI_INT64_T, MPI_SUM, m_comm);
    int rank = 0;
    MPI_Comm_rank(m_comm, &rank);
    return rank > 0 ? before : 0;
  }

  void scatter(const Space& space, VectorView<const PetscScalar, Space> whole,
               VectorView<PetscScalar, Space> own) const override {
    const auto from = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), whole);
    const auto to = Kokkos::create_mirror_view(Kokkos::WithoutInitializing, own);
    const OwnedSF sf = to_first();
    check(PetscSFReduceWithMemTypeBegin(sf.get(), MPIU_SCALAR, PETSC_MEMTYPE_HOST, from.data(),
                                        PETSC_MEMTYPE_HOST, to.data(), MPI_REPLACE));
    check(PetscSFReduceEnd(sf.get(), MPIU_SCALAR, from.data(), to.data(), MPI_REPLACE));
    Kokkos::deep_copy(space, own, to);
    space.fence("prekond::petsc::scatter");
  }

  void gather(const Space& space, VectorView<const PetscScalar, Space> own,
              VectorView<PetscScalar, Space> whole) const override {
    space.fence("prekond::petsc::gather::before");
    const auto from = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), own);
    const auto to = Kokkos::create_mirror_view(Kokkos::WithoutInitializing, whole);
    const OwnedSF sf = to_first();
    check(PetscSFBcastWithMemTypeBegin(sf.get(), MPIU_SCALAR, PETSC_MEMTYPE_HOST, from.data(),
                                       PETSC_MEMTYPE_HOST, to.data(), MPI_REPLACE));
    check(PetscSFBcastEnd(sf.get(), MPIU_SCALAR, from.data(), to.data(), MPI_REPLACE));
    Kokkos::deep_copy(space, whole, to);
    space.fence("prekond::petsc::gather::after");
  }

 protected:
  /// Collective. \throws as mpi::device_transport
  DistributedRows(MPI_Comm comm, PetscLayout rows, mpi::Transport transport)
      : m_message_comm(message_comm<Space>(comm, transport)),
        m_comm(m_message_comm.comm),
        m_layout(keep(rows)),
        m_transport(transport),
        m_reducer(m_comm) {}

  /// Collective. \throws InputError on all ranks
  typename RowPlans<Space>::Plan plan_of(const Space& space,
                                         const VectorView<const std::int64_t, Space>& global) const {
    return m_plans.plan(space, m_comm, m_layout.get(),
                        checked_numbers<Space>(m_comm, m_layout.get(), global));
  }

  /// Every rank's entries on rank 0.
  OwnedSF to_first() const {
    OwnedSF sf;
    std::vector<PetscInt> all(is_first() ? m_layout.get()->N : 0);
    std::iota(all.begin(), all.end(), 0);
    check(PetscSFCreate(m_comm, sf.receive()));
    check(PetscSFSetGraphLayout(sf.get(), m_layout.get(), static_cast<PetscInt>(all.size()), nullptr,
                                PETSC_OWN_POINTER, all.data()));
    check(PetscSFSetUp(sf.get()));
    return sf;
  }

  bool is_first() const {
    int rank = 0;
    MPI_Comm_rank(m_comm, &rank);
    return rank == 0;
  }

  mpi::MessageComm m_message_comm;  ///< keeps the communicator
  MPI_Comm m_comm;
  OwnedLayout m_layout;
  mpi::Transport m_transport;
  CommReducer<Space> m_reducer;
  mutable RowPlans<Space> m_plans;
};

/// y = 0 x + beta y
template <class Space>
class NoProduct : public CsrOperator<PetscScalar, Space> {
 public:
  NoProduct(const CsrView<PetscScalar, Space>& rows, const RowNumbers<Space>& numbers)
      : CsrOperator<PetscScalar, Space>(rows), m_numbers(numbers) {}
  RowNumbers<Space> row_numbers(const Space& /*space*/) const override { return m_numbers; }

 private:
  RowNumbers<Space> m_numbers;
};

/// Rows without entries.
template <class Space>
class NoEntries : public DistributedRows<Space> {
  using Rows = DistributedRows<Space>;
  using Rows::m_layout;

 public:
  using Rows::num_rows, Rows::num_global_rows, Rows::make_row_exchange;

  /// Collective. \throws as mpi::device_transport
  NoEntries(const Space& space, MPI_Comm comm, PetscLayout rows, mpi::Transport transport)
      : Rows(comm, rows, transport),
        m_row_ptrs(
            allocate_zero<Vector<std::size_t, Space>>(space, "prekond::petsc::no_entries", rows->n + 1)) {
    m_product.emplace(own_rows(), RowNumbers<Space>{num_global_rows(), rows->rstart, {}});
    m_import = this->make_import(space, {});
  }

  std::int64_t num_cols() const override { return num_rows(); }
  CsrView<PetscScalar, Space> own_rows() const override {
    return {num_rows(), num_rows(), m_row_ptrs, Vector<int, Space>(), Vector<PetscScalar, Space>()};
  }
  std::int64_t global_number(std::int64_t column) const override { return m_layout.get()->rstart + column; }
  Vector<const std::int64_t, Space> global_numbers(const Space& space) const override {
    return column_numbers<Space>(space, {num_global_rows(), m_layout.get()->rstart, {}}, num_rows(), {});
  }
  const Operator<PetscScalar, Space>& product() const override { return *m_product; }
  const VectorImport<PetscScalar, Space>& column_import() const override { return *m_import; }
  RemoteRows<PetscScalar, Space> remote_rows(const Space& space,
                                             VectorView<const std::int64_t, Space> global) const override {
    return make_row_exchange(space, global)->fetch(space, {own_rows(), global_numbers(space)});
  }

 private:
  Vector<std::size_t, Space> m_row_ptrs;
  std::optional<NoProduct<Space>> m_product;
  std::unique_ptr<const VectorImport<PetscScalar, Space>> m_import;
};

template <class Space>
std::unique_ptr<const DistributedMatrix<PetscScalar, Space>> DistributedRows<Space>::with_rows(
    const Space& space, VectorView<const std::int64_t, Space> own) const {
  OwnedLayout rows;
  check(PetscLayoutCreateFromSizes(m_comm, static_cast<PetscInt>(own.extent(0)), PETSC_DETERMINE, 1,
                                   rows.receive()));
  return std::make_unique<NoEntries<Space>>(space, m_comm, rows.get(), m_transport);
}

}  // namespace prekond::petsc::impl
