// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// PETSc as the engine of a DistributedMatrix. Needs the target prekond::petsc.
#include <prekond/adapters/impl/petsc_rows_over_ranks.hpp>
#include <prekond/adapters/petsc.hpp>
#include <prekond/distributed/impl/remote_part.hpp>
#include <prekond/matrix/spmv.hpp>

#include <memory>
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
class DistributedAijMatrix : public impl::DistributedRows<Space> {
  using Rows = impl::DistributedRows<Space>;
  using Rows::m_comm, Rows::m_layout, Rows::m_message_comm, Rows::m_plans, Rows::m_transport;

 public:
  using local_type = LocalMatrix<Space>;

  /// Collective. \throws InputError on all ranks for a matrix that LocalMatrix does not take, or whose rows
  /// are not distributed as its columns are, see LocalMatrix; as mpi::device_transport
  DistributedAijMatrix(const Space& space, Mat a, mpi::Transport transport = mpi::transport())
      : Rows(impl::comm_of(a), checked_layout(a), transport), m_a(impl::keep(a)) {
    impl::AijParts parts;
    this->together([&] {
      m_rows.emplace(space, a);
      parts = impl::parts_of(a);
    });
    m_numbers = parts.numbers();
    m_remote_numbers =
        prekond::impl::copied_to(space, std::vector<std::int64_t>(m_numbers.begin(), m_numbers.end()),
                                 "prekond::petsc::remote_numbers");
    m_messages = m_message_comm.in_words();
    if (m_message_comm.device.transport) m_device_transport = m_messages;
    const auto plan = m_plans.plan(space, m_comm, m_layout.get(), m_numbers);
    m_product.emplace(space, m_comm, m_layout.get(), parts, plan, transport);
    m_import = impl::make_import<Space>(space, m_comm, m_layout.get(), plan, transport);
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

  using Rows::num_rows, Rows::num_global_rows, Rows::make_row_exchange;
  std::int64_t num_cols() const override { return m_rows->num_cols(); }

  std::int64_t global_number(std::int64_t column) const override {
    return column < num_rows() ? m_layout.get()->rstart + column : m_numbers[column - num_rows()];
  }
  Vector<const std::int64_t, Space> global_numbers(const Space& space) const override {
    return column_numbers<Space>(space, {num_global_rows(), m_layout.get()->rstart, {}}, num_rows(),
                                 m_remote_numbers);
  }

  const Operator<PetscScalar, Space>& product() const override { return *m_product; }
  const VectorImport<PetscScalar, Space>& column_import() const override { return *m_import; }

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
    check(PetscLayoutCreateFromSizes(m_comm, m_layout.get()->n / b, m_layout.get()->N / b, 1,
                                     blocks.receive()));
    std::vector<std::int64_t> numbers;
    for (std::size_t c = 0; c < m_numbers.size(); c += b) numbers.push_back(m_numbers[c] / b);
    const Vector<const std::int64_t, Space> remote =
        prekond::impl::copied_to(space, numbers, "prekond::petsc::remote_blocks");
    const auto all = column_numbers<Space>(space, {m_layout.get()->N / b, m_layout.get()->rstart / b, {}},
                                           num_rows() / b, remote);
    const auto wanted = impl::checked_numbers<Space>(m_comm, blocks.get(), global);
    return impl::make_row_exchange<Space>(m_comm, m_block_plans.plan(space, m_comm, blocks.get(), wanted),
                                          m_transport)
        ->fetch(space, m_product->own(space, all), m_product->others(space, remote));
  }

 private:
  /// Collective. \throws InputError on all ranks
  static PetscLayout checked_layout(Mat a) {
    PetscLayout rows = nullptr;
    mpi::together(impl::comm_of(a), [&] { rows = impl::layout_of(a); });
    return rows;
  }

  impl::OwnedMat m_a;
  std::string m_device_transport;
  std::string m_messages;
  std::optional<local_type> m_rows;
  std::vector<PetscInt> m_numbers;  ///< of the columns that follow the rank's own
  Vector<const std::int64_t, Space> m_remote_numbers;
  mutable impl::RowPlans<Space> m_block_plans;
  std::optional<impl::AijProduct<Space>> m_product;
  std::unique_ptr<const VectorImport<PetscScalar, Space>> m_import;
};

}  // namespace prekond::petsc
