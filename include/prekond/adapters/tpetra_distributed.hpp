// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Tpetra as the engine of a DistributedMatrix. Needs the target prekond::trilinos.
#include <prekond/adapters/impl/tpetra_row_exchange.hpp>
#include <prekond/adapters/tpetra.hpp>
#include <prekond/distributed/distributed_matrix.hpp>

#include <Teuchos_CommHelpers.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace prekond::tpetra {

/// A Tpetra::CrsMatrix for setups that look at rows of other ranks, or a Tpetra::BlockCrsMatrix by its blocks
/// (see LocalMatrix). Global numbers are Tpetra's global indices, of the range map. Keeps the matrix, and
/// sees its new values after another fillComplete unless the rank's rows had to be copied
/// (`rows().copied()`).
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
class DistributedCrsMatrix : public DistributedMatrix<Scalar, typename Node::execution_space> {
 public:
  using Space = typename Node::execution_space;
  using matrix_type = Tpetra::CrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using map_type = Tpetra::Map<LocalOrdinal, GlobalOrdinal, Node>;
  using local_type = LocalMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using row_matrix_type = typename local_type::row_matrix_type;

  /// Collective. \throws InputError on all ranks: see check_distribution and LocalMatrix; for any other
  /// RowMatrix
  DistributedCrsMatrix(const Space& space, Teuchos::RCP<const row_matrix_type> a)
      : m_a(std::move(a)), m_map(m_a->getRangeMap()), m_product(m_a), m_reducer(m_a->getComm()) {
    std::vector<GlobalOrdinal> remote;
    prekond::tpetra::together(
        *m_a->getComm(),
        [&] {
          m_rows.emplace(space, *m_a);
          const auto* blocks = dynamic_cast<const typename local_type::block_matrix_type*>(m_a.get());
          remote = impl::numbers_of_others(*m_a->getColMap(), *m_a->getRowMap(),
                                           blocks ? blocks->getBlockSize() : 1);
        },
        [](std::int64_t) { return std::string(); });
    m_remote = impl::map_of(remote, *m_map);
    m_row_numbers = impl::row_numbers<Space>(*m_map);
    m_remote_numbers = impl::copied_to<Space>(std::vector<std::int64_t>(remote.begin(), remote.end()));
    m_import = impl::make_import<Scalar, Node>(m_map, m_remote);
  }

  /// The rank's own rows.
  const local_type& rows() const { return *m_rows; }

  CsrView<Scalar, Space> own_rows() const override { return m_rows->view(); }
  int block_size() const override { return m_rows->block_size(); }
  BcsrView<Scalar, Space> own_blocks() const override { return m_rows->blocks(); }

  std::int64_t num_rows() const override { return static_cast<std::int64_t>(m_map->getLocalNumElements()); }
  std::int64_t num_cols() const override { return num_rows() + m_rows->foreign_columns(); }
  std::int64_t num_global_rows() const override {
    return static_cast<std::int64_t>(m_map->getGlobalNumElements());
  }

  std::int64_t global_number(std::int64_t column) const override {
    const map_type& map = column < num_rows() ? *m_map : *m_remote;
    return map.getGlobalElement(
        static_cast<LocalOrdinal>(column < num_rows() ? column : column - num_rows()));
  }
  Vector<const std::int64_t, Space> global_numbers(const Space& space) const override {
    return column_numbers<Space>(space, m_row_numbers, num_rows(), m_remote_numbers);
  }

  const Operator<Scalar, Space>& product() const override { return m_product; }
  const Reducer<Scalar, Space>& reducer() const override { return m_reducer; }
  const VectorImport<Scalar, Space>& column_import() const override { return *m_import; }

  std::unique_ptr<const VectorImport<Scalar, Space>> make_import(
      const Space& space, VectorView<const std::int64_t, Space> global) const override {
    space.fence("prekond::tpetra::make_import");
    return impl::make_import<Scalar, Node>(
        m_map, impl::map_of(impl::checked_numbers<Space>(global, *m_map), *m_map));
  }

  RemoteRows<Scalar, Space> remote_rows(const Space& space,
                                        VectorView<const std::int64_t, Space> global) const override {
    return make_row_exchange(space, global)->fetch(space, {own_rows(), global_numbers(space)});
  }

  RemoteRows<Scalar, Space> remote_blocks(const Space& space,
                                          VectorView<const std::int64_t, Space> global) const override {
    space.fence("prekond::tpetra::remote_blocks");
    const auto mesh = m_a->getRowMap();
    const auto columns = m_a->getColMap()->getLocalElementList();
    const auto numbers = impl::copied_to<Space>(std::vector<std::int64_t>(columns.begin(), columns.end()));
    return impl::make_row_exchange<Scalar, Node>(mesh, impl::checked_numbers<Space>(global, *mesh))
        ->fetch(space,
                {prekond::impl::rows_of<Scalar, Space>(own_blocks()), numbers, block_size() * block_size()});
  }

  std::unique_ptr<const RowExchange<Scalar, Space>> make_row_exchange(
      const Space& space, VectorView<const std::int64_t, Space> global) const override {
    space.fence("prekond::tpetra::make_row_exchange");
    return impl::make_row_exchange<Scalar, Node>(m_map, impl::checked_numbers<Space>(global, *m_map));
  }

  void together(const std::function<void()>& work) const override {
    prekond::tpetra::together(*m_a->getComm(), work, [this](std::int64_t row) {
      return row < 0 || row >= num_rows() ? std::string()
                                          : "its row " + std::to_string(row + 1) + " has the global index " +
                                                std::to_string(global_number(row));
    });
  }
  double largest(double value) const override {
    double all = value;
    Teuchos::reduceAll(*m_a->getComm(), Teuchos::REDUCE_MAX, 1, &value, &all);
    return all;
  }

  bool redistributes() const override { return true; }
  std::unique_ptr<const DistributedMatrix<Scalar, Space>> with_rows(
      const Space& space, VectorView<const std::int64_t, Space> own) const override {
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), own);
    const std::vector<GlobalOrdinal> numbers(host.data(), host.data() + host.extent(0));
    const auto rows =
        Teuchos::rcp(new const map_type(Teuchos::OrdinalTraits<Tpetra::global_size_t>::invalid(),
                                        Teuchos::arrayViewFromVector(numbers), 0, m_a->getComm()));
    const auto empty = Teuchos::rcp(new matrix_type(rows, 0));
    empty->fillComplete(rows, rows);
    return std::make_unique<DistributedCrsMatrix>(space, empty);
  }
  std::int64_t sum_before(std::int64_t mine) const override {
    std::int64_t all = mine;
    Teuchos::scan(*m_a->getComm(), Teuchos::REDUCE_SUM, mine, Teuchos::outArg(all));
    return all - mine;
  }

  void scatter(const Space& space, VectorView<const Scalar, Space> whole,
               VectorView<Scalar, Space> own) const override {
    const auto first = map_of_first();
    const Tpetra::Import<LocalOrdinal, GlobalOrdinal, Node> handing_out(first, m_map);
    move(space, first, whole, m_map, own, handing_out);
  }

  void gather(const Space& space, VectorView<const Scalar, Space> own,
              VectorView<Scalar, Space> whole) const override {
    const auto first = map_of_first();
    const Tpetra::Import<LocalOrdinal, GlobalOrdinal, Node> collecting(m_map, first);
    move(space, m_map, own, first, whole, collecting);
  }

 private:
  using multivector_type = Tpetra::MultiVector<Scalar, LocalOrdinal, GlobalOrdinal, Node>;

  /// All rows on rank 0.
  Teuchos::RCP<const map_type> map_of_first() const {
    const auto& rows = *m_map;
    const auto all = rows.getGlobalNumElements();
    if (all > 0 && (rows.getMinAllGlobalIndex() != 0 ||
                    static_cast<Tpetra::global_size_t>(rows.getMaxAllGlobalIndex()) != all - 1))
      throw InputError("a whole vector needs rows with the global indices 0, 1, ...; the row map has others");
    return Teuchos::rcp(new const map_type(all, rows.getComm()->getRank() == 0 ? all : 0, 0, rows.getComm()));
  }

  template <class Import>
  static void move(const Space& space, const Teuchos::RCP<const map_type>& from_map,
                   const VectorView<const Scalar, Space>& from, const Teuchos::RCP<const map_type>& to_map,
                   const VectorView<Scalar, Space>& to, const Import& importer) {
    if (space != Space()) space.fence("prekond::tpetra::whole_vector::before");
    auto target = impl::wrap<multivector_type>(to_map, as_multivector(to));
    target.doImport(impl::wrap<multivector_type>(from_map, as_multivector(from)), importer, Tpetra::INSERT);
    target.getLocalViewDevice(Tpetra::Access::ReadOnly);  // where Tpetra received them on the host
    Space().fence("prekond::tpetra::whole_vector::after");
  }

  Teuchos::RCP<const row_matrix_type> m_a;
  Teuchos::RCP<const map_type> m_map;  ///< of single rows
  MatrixOperator<Scalar, LocalOrdinal, GlobalOrdinal, Node> m_product;
  CommReducer<Scalar, Space> m_reducer;
  std::optional<local_type> m_rows;
  Teuchos::RCP<const map_type> m_remote;
  RowNumbers<Space> m_row_numbers;
  Vector<const std::int64_t, Space> m_remote_numbers;
  std::unique_ptr<const VectorImport<Scalar, Space>> m_import;
};

}  // namespace prekond::tpetra
