// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Tpetra's matrices, vectors and communicators as Prekond's kernels and solvers see them. Needs the target
/// prekond::trilinos.
///
/// Node's execution space has to be one that the library is compiled for (the default one or the host's), the
/// local ordinal `int`. Prekond works on the execution space instance it is given; Tpetra works on the
/// default one.
#include <prekond/adapters/impl/agreement.hpp>
#include <prekond/adapters/impl/comm_reducer.hpp>
#include <prekond/adapters/impl/tpetra_import.hpp>
#include <prekond/adapters/impl/tpetra_received.hpp>
#include <prekond/adapters/impl/tpetra_rows.hpp>
#include <prekond/adapters/tpetra_blocks.hpp>
#include <prekond/core/error.hpp>
#include <prekond/distributed/impl/remote_part.hpp>
#include <prekond/krylov/solver.hpp>
#include <prekond/matrix/matrix_source.hpp>
#include <prekond/matrix/spmv.hpp>

#include <Teuchos_CommHelpers.hpp>
#include <Tpetra_BlockCrsMatrix_Helpers.hpp>
#include <Tpetra_CrsMatrix.hpp>
#include <Tpetra_MultiVector.hpp>

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace prekond::tpetra {

namespace impl {

/// Are the b unknowns of mesh point i rows i b, i b + 1, ... of a rank, numbered as Tpetra does from 0 on?
template <class Map>
bool numbers_points(const Map& points, const Map& rows, int b) {
  const auto mesh = points.getLocalElementList(), all = rows.getLocalElementList();
  bool is_so = points.getIndexBase() == 0 && all.size() == mesh.size() * b;
  for (decltype(all.size()) r = 0; is_so && r < all.size(); ++r) is_so = all[r] == mesh[r / b] * b + r % b;
  return is_so;
}

/// Collective. Can a BlockCrsMatrix be taken as it is: do all ranks' own columns come first, in rows that
/// ascend, by blocks that products take, with numbers from 0 on? \throws InputError on all ranks where one
/// has no access to the blocks
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
bool can_view_blocks(const Tpetra::BlockCrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>& a) {
  using Space = typename Node::execution_space;
  int mine = 0, all = 0;
  const auto look = [&] {
    const BcsrView<Scalar, Space> blocks = to_bcsr_matrix(a);
    mine = blocks.block_size > 1 && blocks.block_size <= largest_block_size &&
           numbers_points(*a.getRowMap(), *a.getRangeMap(), blocks.block_size) &&
           begins_with(*a.getColMap(), *a.getRowMap()) &&
           rows_ascend<Scalar, Space>(Space(), prekond::impl::rows_of<Scalar, Space>(blocks));
  };
  together(*a.getComm(), look, [](std::int64_t) { return std::string(); });
  Teuchos::reduceAll(*a.getComm(), Teuchos::REDUCE_MIN, 1, &mine, &all);
  return all == 1;
}

}  // namespace impl

/// One rank's rows of a distributed matrix, as preconditioners take them: columns < num_rows are the rank's
/// own, those of other ranks follow them, and setup skips them.
///
/// A Tpetra::CrsMatrix whose column map begins with its row map and whose rows are sorted, Tpetra's own
/// default, is viewed without a copy (that rows are sorted is read off the entries, one pass over the
/// columns: Tpetra takes the word of whoever completes a matrix as an expert): such a LocalMatrix must not
/// outlive the matrix, and while it lives Tpetra refuses access to the values on the host where that is
/// another memory. A Tpetra::BlockCrsMatrix is so likewise, by its blocks; single rows are made of them when
/// they are asked for first. Anything else is copied: another column map on the device (2 passes), of a
/// BlockCrsMatrix by Tpetra::convertToCrsMatrix (its copy may have to be renumbered then), any other
/// RowMatrix row by row on the host, which is all that its interface offers. Collective for a BlockCrsMatrix.
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
class LocalMatrix {
 public:
  using space_type = typename Node::execution_space;
  using row_matrix_type = Tpetra::RowMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using crs_matrix_type = Tpetra::CrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using block_matrix_type = Tpetra::BlockCrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using view_type = CsrView<Scalar, space_type>;
  static_assert(std::is_same_v<LocalOrdinal, int>, "prekond takes matrices whose local ordinal is int");

  /// \pre check_distribution(a) passed \throws InputError for a row of a copied matrix that has a column
  /// twice
  LocalMatrix(const space_type& space, const row_matrix_type& a) {
    if (const auto* crs = dynamic_cast<const crs_matrix_type*>(&a)) {
      take(space, *crs);
    } else if (const auto* block = dynamic_cast<const block_matrix_type*>(&a);
               block != nullptr && impl::can_view_blocks(*block)) {
      m_blocks = to_bcsr_matrix(*block);
      m_view = prekond::impl::rows_of<Scalar, space_type>(m_blocks);
      m_source.emplace(space, m_blocks);
    } else if (block != nullptr) {
      m_point = Tpetra::convertToCrsMatrix(*block);
      m_copied = "the matrix was copied: its blocks are stored as single entries";
      take(space, *m_point);
    } else {
      m_copy = impl::copy_rows(space, a);
      m_view = m_copy;
      m_copied = "the matrix was copied, row by row on the host: it is no CrsMatrix";
    }
  }

  const view_type& view() const { return m_source ? m_source->csr() : m_view; }
  /// 1, or that of a matrix which is viewed by its blocks.
  int block_size() const { return m_blocks.block_size; }
  /// \pre block_size() is above 1
  BcsrView<Scalar, space_type> blocks() const { return m_blocks; }
  /// The rows for a setup, by blocks where they are.
  MatrixSource<Scalar, space_type> source() const {
    return m_source ? *m_source : MatrixSource<Scalar, space_type>(m_view);
  }

  /// Why the matrix was copied; empty where it was not.
  const std::string& copied() const { return m_copied; }

  std::int64_t num_rows() const { return m_view.num_rows * block_size(); }
  std::int64_t foreign_columns() const { return (m_view.num_cols - m_view.num_rows) * block_size(); }
  /// Entries in columns of other ranks. Cost: one pass over the column indices, where there is any such
  /// column.
  std::int64_t foreign_entries(const space_type& space) const {
    if (foreign_columns() == 0) return 0;
    return prekond::impl::count_foreign_entries<Scalar, space_type>(space, m_view) * block_size() *
           block_size();
  }

 private:
  void take(const space_type& space, const crs_matrix_type& a) {
    m_local = a.getLocalMatrixDevice();
    const view_type all(m_local.numRows(), m_local.numCols(), m_local.graph.row_map, m_local.graph.entries,
                        m_local.values);
    const auto& rows = *a.getRowMap();
    const auto& cols = *a.getColMap();
    if (impl::begins_with(cols, rows) && rows_ascend<Scalar, space_type>(space, all)) {
      m_view = all;
      return;
    }
    if (m_copied.empty())
      m_copied =
          "the matrix was copied: its column map does not begin with its row map, or its rows are not sorted";
    m_copy = impl::renumber_columns<Scalar>(space, all, rows, cols);
    m_view = m_copy;
    m_local = {};
    impl::check_columns<Scalar>(space, m_view);
  }

  Teuchos::RCP<const crs_matrix_type> m_point;
  typename crs_matrix_type::local_matrix_device_type m_local;
  CsrMatrix<Scalar, int, std::size_t, typename space_type::memory_space> m_copy;
  view_type m_view;  ///< of blocks, b^2 values an entry
  BcsrMatrix<const Scalar, const int, const std::size_t, typename space_type::memory_space> m_blocks;
  std::optional<MatrixSource<Scalar, space_type>> m_source;  ///< of m_blocks
  std::string m_copied;
};

/// Collective. Refuses what no preconditioner here can act on: a matrix that is not fill-complete, rows that
/// several ranks share, a domain or range map that is not the row map. Cost: three all-reduces; for a map
/// that is not contiguous also Tpetra's directory, once a map. \throws InputError on all ranks
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
void check_distribution(const Tpetra::RowMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>& a) {
  using Block = Tpetra::BlockCrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  if (!a.isFillComplete()) throw InputError("the matrix is not fill-complete: call its fillComplete() first");
  if (!a.getRowMap()->isOneToOne())
    throw InputError(
        "the matrix's row map is overlapping (several ranks own the same row): export it to a one-to-one map "
        "first");
  if (a.getGlobalNumRows() != a.getGlobalNumCols())
    throw InputError("the matrix is not square: it has " + std::to_string(a.getGlobalNumRows()) +
                     " rows and " + std::to_string(a.getGlobalNumCols()) + " columns");
  if (dynamic_cast<const Block*>(&a)) {  // its row map counts blocks, the other two single rows
    if (!a.getDomainMap()->isSameAs(*a.getRangeMap()))
      throw InputError(
          "the matrix's domain map is not its range map: a preconditioner needs both to be the same");
    return;
  }
  for (const auto& [map, name] :
       {std::pair{a.getDomainMap(), "domain"}, std::pair{a.getRangeMap(), "range"}}) {
    if (!map->isSameAs(*a.getRowMap()))
      throw InputError(std::string("the matrix's ") + name +
                       " map is not its row map: a preconditioner needs both to be the same");
  }
}

/// The vectors of a Tpetra::MultiVector on the device, to be written or, where it is const, read. They are
/// views: Tpetra refuses host access to the same vectors while they live, where that is another memory. \pre
/// the vectors lie at a constant stride
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
auto device_view(Tpetra::MultiVector<Scalar, LocalOrdinal, GlobalOrdinal, Node>& x) {
  return x.getLocalViewDevice(Tpetra::Access::ReadWrite);
}
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
auto device_view(const Tpetra::MultiVector<Scalar, LocalOrdinal, GlobalOrdinal, Node>& x) {
  return x.getLocalViewDevice(Tpetra::Access::ReadOnly);
}

/// Any Tpetra::Operator for Prekond's solvers, which then see this rank's rows of the vectors.
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
class OperatorView : public Operator<Scalar, typename Node::execution_space> {
 public:
  using Space = typename Node::execution_space;
  using operator_type = Tpetra::Operator<Scalar, LocalOrdinal, GlobalOrdinal, Node>;

  /// \throws InputError where the two maps differ \pre collective
  explicit OperatorView(Teuchos::RCP<const operator_type> a) : m_a(std::move(a)) {
    if (!m_a->getDomainMap()->isSameAs(*m_a->getRangeMap()))
      throw InputError("the operator's domain map is not its range map: a solver needs both to be the same");
  }

  std::int64_t num_rows() const override {
    return static_cast<std::int64_t>(m_a->getRangeMap()->getLocalNumElements());
  }
  std::int64_t num_cols() const override { return num_rows(); }
  /// Tpetra's global indices.
  RowNumbers<Space> row_numbers(const Space& /*space*/) const override {
    return impl::row_numbers<Space>(*m_a->getRangeMap());
  }

  /// Collective. \pre x and y do not overlap
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Scalar alpha = 1, Scalar beta = 0) const override {
    if (y.extent(1) == 0) return;
    if (space != Space()) space.fence("prekond::tpetra::operator::before");
    const auto from = impl::wrap<multivector_type>(m_a->getDomainMap(), x);
    auto to = impl::wrap<multivector_type>(m_a->getRangeMap(), y);
    m_a->apply(from, to, Teuchos::NO_TRANS, alpha, beta);
    if (space != Space()) Space().fence("prekond::tpetra::operator::after");
  }

 private:
  using multivector_type = Tpetra::MultiVector<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  Teuchos::RCP<const operator_type> m_a;
};

/// A Tpetra::CrsMatrix or BlockCrsMatrix for Prekond's solvers. Where every rank's column map begins with its
/// row map, as the one that Tpetra makes does where each own column has an entry, the messages are under way
/// while the rank multiplies its own columns:
///
///   start the exchange of x;  y = D x;  finish;  y = y + O x_remote,
///
/// for its rows [D O], whose values are Tpetra's own and are not copied: D x is [D O] [x; 0], for which x is
/// (so values of O that are not finite make NaNs). Blocks are multiplied as blocks; with other column maps by
/// a CrsMatrix of the values that they have now.
/// With other column maps Tpetra imports x first. Several vectors travel in one message a neighbour. Keeps
/// the matrix, sees its new values, and keeps as many vectors over the column map as it was applied to at
/// once; not to be applied by two threads at once.
///
/// Source: Ma, Hu, Yuan, Liu, Math. Probl. Eng. 2021, 6613230, section 3.2, the products MDP and ODP.
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node>
class MatrixOperator : public Operator<Scalar, typename Node::execution_space> {
 public:
  using Space = typename Node::execution_space;
  using matrix_type = Tpetra::CrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using block_matrix_type = Tpetra::BlockCrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using row_matrix_type = Tpetra::RowMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>;

  /// Cost: that of check_distribution, an all-reduce, a communicator with its agreement on what sends
  /// messages, and a pass over the column indices. Fences. \pre collective \throws InputError see
  /// check_distribution, and for any other RowMatrix; on all ranks as mpi::device_transport
  explicit MatrixOperator(Teuchos::RCP<const row_matrix_type> a)
      : m_a(Teuchos::rcp_dynamic_cast<const matrix_type>(a)),
        m_blocks(Teuchos::rcp_dynamic_cast<const block_matrix_type>(a)),
        m_rows(a->getRangeMap()) {
    check_distribution<Scalar, LocalOrdinal, GlobalOrdinal, Node>(*a);
    if (!m_blocks.is_null() && !impl::can_view_blocks(*m_blocks))
      a = m_a = Tpetra::convertToCrsMatrix(*std::exchange(m_blocks, Teuchos::null));
    if (m_a.is_null() && m_blocks.is_null())
      throw InputError("a product needs a CrsMatrix or a BlockCrsMatrix; this is another RowMatrix");
    const auto importer = a->getGraph()->getImporter();
    if (importer.is_null()) return;
    const map_type &cols = *a->getColMap(), &rows = *a->getRowMap();
    const int mine = impl::begins_with(cols, rows);
    int all = 0;
    Teuchos::reduceAll(*a->getComm(), Teuchos::REDUCE_MIN, 1, &mine, &all);
    if (all == 0) {
      m_imported.emplace(m_a->getColMap());
      m_imported->first(1);
      return;
    }
    const auto blocks = local();
    if (m_blocks.is_null())
      m_columns = impl::make_column_import<Scalar, Node>(*importer);
    else
      m_columns = impl::make_import<Scalar, Node>(
          m_rows, impl::map_of(impl::numbers_of_others(cols, rows, blocks.block_size), *m_rows));
    m_remote = RowsWithColumnsFrom<Space>(Space(), prekond::impl::graph_of<Space>(blocks),
                                          static_cast<int>(blocks.num_block_rows));
    reserve(Space(), 1);
    Space().fence("prekond::tpetra::matrix_operator::made");  // it may be applied on another instance
  }

  std::int64_t num_rows() const override { return static_cast<std::int64_t>(m_rows->getLocalNumElements()); }
  std::int64_t num_cols() const override { return num_rows(); }
  /// Tpetra's global indices.
  RowNumbers<Space> row_numbers(const Space& /*space*/) const override {
    return impl::row_numbers<Space>(*m_rows);
  }

  /// Collective.
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Scalar alpha = 1, Scalar beta = 0) const override {
    if (y.extent(1) == 0) return;
    const auto a = local();
    if (!m_columns) {
      spmv_blocks<Scalar, Space>(space, alpha, a, m_imported ? import(space, x) : x, beta, y);
      return;
    }
    if (x.extent(1) > m_own.extent(1)) reserve(space, x.extent(1));
    const auto vectors = std::make_pair(std::size_t(0), x.extent(1));
    const MultiVectorView<Scalar, Space> own = Kokkos::subview(m_own, Kokkos::ALL, vectors),
                                         received = Kokkos::subview(m_received, Kokkos::ALL, vectors);
    m_columns->start(space, x);
    Kokkos::deep_copy(space, Kokkos::subview(own, std::make_pair(std::int64_t(0), num_rows()), Kokkos::ALL),
                      x);
    spmv_blocks<Scalar, Space>(space, alpha, a, own, beta, y);
    m_columns->finish(space, received);
    m_remote.template add_product<Scalar>(space, alpha, a, received, y);
  }

  /// One pass where the rank needs nothing of others.
  void apply_dot(const Space& space, VectorView<const Scalar, Space> x, VectorView<Scalar, Space> y,
                 VectorView<Scalar, Space> dot,
                 const ReduceWorkspace<Scalar, Space>& workspace) const override {
    if (m_columns || m_imported || m_a.is_null())
      return Operator<Scalar, Space>::apply_dot(space, x, y, dot, workspace);
    const auto local = m_a->getLocalMatrixDevice();
    spmv_dot<Scalar, Space>(space, impl::view_of<Scalar, Space>(local), x, y, dot, workspace);
  }

 private:
  using multivector_type = Tpetra::MultiVector<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using map_type = Tpetra::Map<LocalOrdinal, GlobalOrdinal, Node>;
  using local_type = BcsrMatrix<const Scalar, const int, const std::size_t, typename Space::memory_space>;

  /// A CrsMatrix by blocks of one number.
  local_type local() const {
    if (!m_blocks.is_null()) {
      auto blocks = to_bcsr_matrix(*m_blocks);
      blocks.longest_row = static_cast<std::int64_t>(m_blocks->getLocalMaxNumRowEntries());
      return blocks;
    }
    const auto a = m_a->getLocalMatrixDevice();
    return {1, BlockOrder::by_columns, a.numRows(), a.numCols(), a.graph.row_map, a.graph.entries, a.values};
  }

  void reserve(const Space& space, std::size_t k) const {
    m_own = {};
    m_received = {};
    m_own = allocate_zero<MultiVector<Scalar, Space>>(space, "prekond::tpetra::matrix_operator::own",
                                                      m_columns->num_cols(), k);
    m_received = allocate<MultiVector<Scalar, Space>>(space, "prekond::tpetra::matrix_operator::received",
                                                      m_columns->num_remote(), k);
  }

  /// x over the column map.
  MultiVectorView<const Scalar, Space> import(const Space& space,
                                              const MultiVectorView<const Scalar, Space>& x) const {
    multivector_type& imported = m_imported->first(x.extent(1));
    if (space != Space()) space.fence("prekond::tpetra::matrix_operator::before");
    imported.doImport(impl::wrap<multivector_type>(m_a->getDomainMap(), x), *m_a->getGraph()->getImporter(),
                      Tpetra::INSERT);
    if (space != Space()) Space().fence("prekond::tpetra::matrix_operator::after");
    return imported.getLocalViewDevice(Tpetra::Access::ReadOnly);
  }

  Teuchos::RCP<const matrix_type> m_a;
  Teuchos::RCP<const block_matrix_type> m_blocks;  ///< or this
  Teuchos::RCP<const map_type> m_rows;             ///< single ones
  /// Null where Tpetra imports, or there is nothing to import.
  std::unique_ptr<const VectorImport<Scalar, Space>> m_columns;
  RowsWithColumnsFrom<Space> m_remote;
  mutable MultiVector<Scalar, Space> m_own;  ///< over the column map; 0 in the columns of others
  mutable MultiVector<Scalar, Space> m_received;
  mutable std::optional<impl::ReceivedVectors<multivector_type>> m_imported;  ///< over the column map
};

/// Collective. Solves A x = b on Tpetra's vectors by one of Prekond's solvers, from the x given.
/// `preconditioner` acts on the rank's part of vectors, as LocalMatrix gives the rows, and may be null. The
/// dot products that a step computes together travel in one all-reduce. Makes a MatrixOperator in each call;
/// for many short solves keep one, and call the solver with it. A failure on one rank in the middle
/// of the solve (memory that runs out) is thrown only on that rank. \throws InputError on all ranks where b
/// or x is not distributed as A's rows are, they share memory, or a rank's preconditioner has other rows; as
/// MatrixOperator
template <class Scalar, class LocalOrdinal, class GlobalOrdinal, class Node,
          class Space = typename Node::execution_space>
SolveResult solve(const Space& space, const Solver<Scalar, Space>& solver,
                  const std::type_identity_t<
                      Teuchos::RCP<const Tpetra::Operator<Scalar, LocalOrdinal, GlobalOrdinal, Node>>>& a,
                  const std::type_identity_t<Preconditioner<Scalar, Space>>* preconditioner,
                  const Tpetra::Vector<Scalar, LocalOrdinal, GlobalOrdinal, Node>& b,
                  Tpetra::Vector<Scalar, LocalOrdinal, GlobalOrdinal, Node>& x,
                  const StoppingOptions& stopping = {}, const Monitor& monitor = {}) {
  using Matrix = Tpetra::CrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using Blocks = Tpetra::BlockCrsMatrix<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  if (!b.getMap()->isSameAs(*a->getRangeMap()) || !x.getMap()->isSameAs(*a->getDomainMap()))
    throw InputError(solver.name() + ": b and x have to be distributed as A's range and domain map are");
  using Product = MatrixOperator<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  std::unique_ptr<Operator<Scalar, Space>> product;
  if (const auto matrix = Teuchos::rcp_dynamic_cast<const Matrix>(a); !matrix.is_null())
    product = std::make_unique<Product>(matrix);
  else if (const auto blocks = Teuchos::rcp_dynamic_cast<const Blocks>(a); !blocks.is_null())
    product = std::make_unique<Product>(blocks);
  else
    product = std::make_unique<OperatorView<Scalar, LocalOrdinal, GlobalOrdinal, Node>>(a);
  const auto& ranks = *b.getMap()->getComm();
  together(
      ranks,
      [&] {
        if (b.aliases(x))
          throw InputError(solver.name() + ": b and x share memory; b would change while it is read");
        if (preconditioner && preconditioner->num_rows() != product->num_rows())
          throw InputError(solver.name() + ": the preconditioner has " +
                           std::to_string(preconditioner->num_rows()) + " rows, A has " +
                           std::to_string(product->num_rows()));
      },
      [](std::int64_t) { return std::string(); });
  const auto b_view = device_view(b);
  const auto x_view = device_view(x);
  return solver.solve(space, *product, preconditioner, column(b_view, 0), column(x_view, 0), stopping,
                      monitor, CommReducer<Scalar, Space>(b.getMap()->getComm()));
}

}  // namespace prekond::tpetra
