// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// PETSc as the engine of a DistributedMatrix. Needs the target prekond::petsc.
#include <prekond/adapters/impl/petsc_exchange.hpp>
#include <prekond/adapters/petsc.hpp>
#include <prekond/distributed/impl/remote_part.hpp>
#include <prekond/matrix/spmv.hpp>

#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace prekond::petsc {

namespace impl {

/// y = A x: the messages are under way while the product with the rank's own columns runs. Reads PETSc's own
/// values, so that it sees new ones.
template <class Space>
class AijProduct : public Operator<PetscScalar, Space> {
 public:
  /// Collective.
  AijProduct(const Space& space, MPI_Comm comm, PetscLayout rows, const AijParts& parts,
             const typename RowPlans<Space>::Plan& plan, mpi::Transport transport)
      : m_num_rows(rows->n),
        m_num_global_rows(rows->N),
        m_first(rows->rstart),
        m_own(space, parts.own),
        m_import(make_import<Space>(space, comm, rows, plan, transport)) {
    if (parts.others) {
      m_others = AijRows<Space>(space, parts.others);
      m_rows_with_others = RowsWithColumnsFrom<Space>(space, m_others.view(space), 0);
    }
    MPI_Comm_size(comm, &m_size);
  }

  std::int64_t num_rows() const override { return m_num_rows; }
  std::int64_t num_cols() const override { return num_rows(); }
  RowNumbers<Space> row_numbers(const Space& /*space*/) const override {
    return {m_num_global_rows, m_first, {}};
  }

  /// The rank's rows, or block rows, in its own columns and in those of others, as PETSc has them now.
  NumberedRows<PetscScalar, Space> own(const Space& space,
                                       const VectorView<const std::int64_t, Space>& numbers) const {
    return {m_own.view(space), numbers, m_own.block_size() * m_own.block_size()};
  }
  NumberedRows<PetscScalar, Space> others(const Space& space,
                                          const VectorView<const std::int64_t, Space>& numbers) const {
    if (!m_others.mat()) return {};
    return {m_others.view(space), numbers, m_own.block_size() * m_own.block_size()};
  }

  void apply(const Space& space, MultiVectorView<const PetscScalar, Space> x,
             MultiVectorView<PetscScalar, Space> y, PetscScalar alpha = 1,
             PetscScalar beta = 0) const override {
    if (y.extent(1) == 0) return;
    const auto remote = received(space, x.extent(1));
    if (m_size > 1) m_import->start(space, x);
    spmv_blocks<PetscScalar, Space>(space, alpha, m_own.blocks(space), x, beta, y);
    if (m_size == 1) return;
    m_import->finish(space, remote);
    if (m_others.nnz() > 0)
      m_rows_with_others.template add_product<PetscScalar>(space, alpha, m_others.blocks(space), remote, y);
  }

 private:
  MultiVectorView<PetscScalar, Space> received(const Space& space, std::size_t k) const {
    if (m_received.extent(1) < k) {
      m_received = {};
      m_received = allocate<MultiVector<PetscScalar, Space>>(space, "prekond::petsc::product::received",
                                                             m_import->num_remote(), k);
    }
    return MultiVectorView<PetscScalar, Space>(m_received.data(), m_import->num_remote(), k);
  }

  std::int64_t m_num_rows, m_num_global_rows, m_first;
  int m_size = 1;
  AijRows<Space> m_own;
  AijRows<Space> m_others;
  RowsWithColumnsFrom<Space> m_rows_with_others;
  std::unique_ptr<const VectorImport<PetscScalar, Space>> m_import;
  mutable MultiVector<PetscScalar, Space> m_received;
};

/// \throws InputError where the rows are not distributed as the columns are
inline PetscLayout layout_of(Mat a) {
  PetscLayout rows = nullptr, cols = nullptr;
  check(MatGetLayouts(a, &rows, &cols));
  if (rows->N != cols->N)
    throw InputError("the matrix is not square: it has " + std::to_string(rows->N) + " rows and " +
                     std::to_string(cols->N) + " columns");
  if (rows->n != cols->n || rows->rstart != cols->rstart)
    throw InputError("the matrix's columns are distributed over the ranks in another way than its rows");
  return rows;
}

/// The product with a MATSEQAIJ, MATMPIAIJ, MATSEQBAIJ or MATMPIBAIJ. Collective. \throws InputError on all
/// ranks
template <class Space>
std::unique_ptr<const AijProduct<Space>> make_product(const Space& space, Mat a, mpi::Transport transport) {
  PetscLayout rows = nullptr;
  AijParts parts;
  std::vector<PetscInt> numbers;
  mpi::together(comm_of(a), [&] {
    rows = layout_of(a);
    parts = parts_of(a);
    numbers = parts.numbers();
  });
  return std::make_unique<AijProduct<Space>>(
      space, comm_of(a), rows, parts, RowPlans<Space>().plan(space, comm_of(a), rows, numbers), transport);
}

}  // namespace impl

/// A MATSEQAIJ or MATMPIAIJ for setups that look at rows of other ranks; also of the types that derive from
/// them (aijcusparse, aijkokkos, ...), and a MATSEQBAIJ or MATMPIBAIJ by its blocks. Global numbers are
/// PETSc's. Keeps the matrix. `product()`, `remote_rows` of an AIJ matrix and `remote_blocks` see its new
/// values; `rows()` does where they were not copied (`rows().copied()`), and single rows of blocks are those
/// of their first call. A new pattern needs a new object.
///
/// A message goes to each rank that has wanted rows, from the memory of `Space` where PETSc trusts MPI
/// with that of a device (-use_gpu_aware_mpi), else by NCCL where it can be, else through the host's memory;
/// or as `transport` says (mpi::Transport).
template <class Space>
class DistributedAijMatrix : public DistributedMatrix<PetscScalar, Space> {
 public:
  using local_type = LocalMatrix<Space>;

  /// Collective. \throws InputError on all ranks for a matrix that LocalMatrix does not take, or whose rows
  /// are not distributed as its columns are, see LocalMatrix; as mpi::device_transport
  DistributedAijMatrix(const Space& space, Mat a, mpi::Transport transport = mpi::transport())
      : m_a(impl::keep(a)), m_comm(impl::comm_of(a)), m_transport(transport), m_reducer(m_comm) {
    impl::AijParts parts;
    mpi::together(m_comm, [&] {
      m_layout = impl::layout_of(a);
      m_rows.emplace(space, a);
      parts = impl::parts_of(a);
    });
    m_numbers = parts.numbers();
    m_remote_numbers =
        prekond::impl::copied_to(space, std::vector<std::int64_t>(m_numbers.begin(), m_numbers.end()),
                                 "prekond::petsc::remote_numbers");
    const mpi::MessageComm messages = impl::message_comm<Space>(m_comm, transport);
    m_messages = messages.in_words();
    if (messages.device.transport) m_device_transport = m_messages;
    const auto plan = m_plans.plan(space, m_comm, m_layout, m_numbers);
    m_product.emplace(space, m_comm, m_layout, parts, plan, transport);
    m_import = impl::make_import<Space>(space, m_comm, m_layout, plan, transport);
  }

  /// The library that sends messages from device to device in MPI's place ("NCCL 2.27.3"); empty where MPI
  /// sends them.
  const std::string& device_transport() const { return m_device_transport; }
  /// The library that sends messages, and why no device does, see mpi::MessageComm::in_words.
  const std::string& messages() const { return m_messages; }

  /// The rank's own rows.
  const local_type& rows() const { return *m_rows; }

  CsrView<PetscScalar, Space> own_rows() const override { return m_rows->view(); }
  int block_size() const override { return m_rows->block_size(); }
  BcsrView<PetscScalar, Space> own_blocks() const override { return m_rows->blocks(); }

  std::int64_t num_rows() const override { return m_layout->n; }
  std::int64_t num_cols() const override { return m_rows->num_cols(); }
  std::int64_t num_global_rows() const override { return m_layout->N; }

  std::int64_t global_number(std::int64_t column) const override {
    return column < num_rows() ? m_layout->rstart + column : m_numbers[column - num_rows()];
  }
  Vector<const std::int64_t, Space> global_numbers(const Space& space) const override {
    return column_numbers<Space>(space, {num_global_rows(), m_layout->rstart, {}}, num_rows(),
                                 m_remote_numbers);
  }

  const Operator<PetscScalar, Space>& product() const override { return *m_product; }
  const Reducer<PetscScalar, Space>& reducer() const override { return m_reducer; }
  const VectorImport<PetscScalar, Space>& column_import() const override { return *m_import; }

  std::unique_ptr<const VectorImport<PetscScalar, Space>> make_import(
      const Space& space, VectorView<const std::int64_t, Space> global) const override {
    space.fence("prekond::petsc::make_import");
    return impl::make_import<Space>(space, m_comm, m_layout, plan_of(space, global), m_transport);
  }

  RemoteRows<PetscScalar, Space> remote_rows(const Space& space,
                                             VectorView<const std::int64_t, Space> global) const override {
    const auto exchange = make_row_exchange(space, global);
    if (block_size() > 1) return exchange->fetch(space, {own_rows(), global_numbers(space)});
    return exchange->fetch(space, m_product->own(space, global_numbers(space)),
                           m_product->others(space, m_remote_numbers));
  }

  RemoteRows<PetscScalar, Space> remote_blocks(const Space& space,
                                               VectorView<const std::int64_t, Space> global) const override {
    const PetscInt b = block_size();
    impl::OwnedLayout blocks;
    check(PetscLayoutCreateFromSizes(m_comm, m_layout->n / b, m_layout->N / b, 1, blocks.receive()));
    std::vector<std::int64_t> numbers;
    for (std::size_t c = 0; c < m_numbers.size(); c += b) numbers.push_back(m_numbers[c] / b);
    const Vector<const std::int64_t, Space> remote =
        prekond::impl::copied_to(space, numbers, "prekond::petsc::remote_blocks");
    const auto all =
        column_numbers<Space>(space, {m_layout->N / b, m_layout->rstart / b, {}}, num_rows() / b, remote);
    const auto wanted = impl::checked_numbers<Space>(m_comm, blocks.get(), global);
    return impl::make_row_exchange<Space>(
               m_comm, impl::RowPlans<Space>().plan(space, m_comm, blocks.get(), wanted), m_transport)
        ->fetch(space, m_product->own(space, all), m_product->others(space, remote));
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
                                                std::to_string(global_number(row));
    });
  }
  double largest(double value) const override {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, m_comm);
    return value;
  }

  bool redistributes() const override { return true; }
  std::unique_ptr<const DistributedMatrix<PetscScalar, Space>> with_rows(
      const Space& space, VectorView<const std::int64_t, Space> own) const override {
    impl::OwnedMat empty;
    const auto size = static_cast<PetscInt>(own.extent(0));
    check(MatCreateAIJ(m_comm, size, size, PETSC_DETERMINE, PETSC_DETERMINE, 0, nullptr, 0, nullptr,
                       empty.receive()));
    check(MatAssemblyBegin(empty.get(), MAT_FINAL_ASSEMBLY));
    check(MatAssemblyEnd(empty.get(), MAT_FINAL_ASSEMBLY));
    return std::make_unique<DistributedAijMatrix>(space, empty.get(), m_transport);
  }
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
    const impl::OwnedSF sf = to_first();
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
    const impl::OwnedSF sf = to_first();
    check(PetscSFBcastWithMemTypeBegin(sf.get(), MPIU_SCALAR, PETSC_MEMTYPE_HOST, from.data(),
                                       PETSC_MEMTYPE_HOST, to.data(), MPI_REPLACE));
    check(PetscSFBcastEnd(sf.get(), MPIU_SCALAR, from.data(), to.data(), MPI_REPLACE));
    Kokkos::deep_copy(space, whole, to);
    space.fence("prekond::petsc::gather::after");
  }

 private:
  /// Collective. \throws InputError on all ranks
  typename impl::RowPlans<Space>::Plan plan_of(const Space& space,
                                               const VectorView<const std::int64_t, Space>& global) const {
    return m_plans.plan(space, m_comm, m_layout, impl::checked_numbers<Space>(m_comm, m_layout, global));
  }

  /// Every rank's entries on rank 0.
  impl::OwnedSF to_first() const {
    impl::OwnedSF sf;
    std::vector<PetscInt> all(is_first() ? m_layout->N : 0);
    std::iota(all.begin(), all.end(), 0);
    check(PetscSFCreate(m_comm, sf.receive()));
    check(PetscSFSetGraphLayout(sf.get(), m_layout, static_cast<PetscInt>(all.size()), nullptr,
                                PETSC_OWN_POINTER, all.data()));
    check(PetscSFSetUp(sf.get()));
    return sf;
  }

  bool is_first() const {
    int rank = 0;
    MPI_Comm_rank(m_comm, &rank);
    return rank == 0;
  }

  impl::OwnedMat m_a;
  MPI_Comm m_comm;
  mpi::Transport m_transport;
  std::string m_device_transport;
  std::string m_messages;
  PetscLayout m_layout = nullptr;  ///< the matrix's
  CommReducer<Space> m_reducer;
  std::optional<local_type> m_rows;
  std::vector<PetscInt> m_numbers;  ///< of the columns that follow the rank's own
  Vector<const std::int64_t, Space> m_remote_numbers;
  mutable impl::RowPlans<Space> m_plans;
  std::optional<impl::AijProduct<Space>> m_product;
  std::unique_ptr<const VectorImport<PetscScalar, Space>> m_import;
};

}  // namespace prekond::petsc
