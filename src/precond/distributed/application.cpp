// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/distributed/application.hpp"

#include <Kokkos_Profiling_ScopedRegion.hpp>
#include "distributed/select_entries.hpp"

#include <stdexcept>
#include <utility>

#include "core/concurrent_words.hpp"
#include "core/instantiate.hpp"
#include "precond/distributed/split_matrix.hpp"

namespace prekond::impl::distributed {
namespace {

template <class Scalar, class Space>
using Block = MultiVectorView<Scalar, Space>;

/// Marks the rows of other ranks that own rows have entries in the columns of, or that have entries in own
/// columns.
template <class Space>
struct MarkUsed {
  CsrGraphView<Space> graph;
  VectorView<const int, Space> sources;
  bool by_rows;
  VectorView<int, Space> used;
  KOKKOS_FUNCTION void operator()(std::int64_t place) const {
    const int row = sources(place);
    if ((row >= 0) != by_rows) return;
    for (std::size_t k = graph.row_ptrs(place); k < graph.row_ptrs(place + 1); ++k) {
      const int col = sources(graph.col_idxs(k));
      if (by_rows && col < 0) concurrent_store(used(~col), 1);
      if (!by_rows && col >= 0) used(~row) = 1;
    }
  }
};

template <class Space>
struct IsUsed {
  VectorView<const int, Space> used;
  KOKKOS_FUNCTION bool operator()(std::int64_t k) const { return used(k) == 1; }
};

/// used(list(k)) = k, -1 for those that are not in the list.
template <class Space>
void number_used(const Space& space, const Vector<int, Space>& list, const Vector<int, Space>& used) {
  Kokkos::deep_copy(space, used, -1);
  Kokkos::parallel_for(
      "prekond::distributed::number_used", FlatPolicy<Space>(space, 0, list.extent(0)),
      KOKKOS_LAMBDA(std::int64_t k) { used(list(k)) = static_cast<int>(k); });
}

/// For each place the own row there, or the imported entry; -1 for all others.
template <class Space>
Vector<int, Space> columns_of(const Space& space, const Vector<int, Space>& sources,
                              const Vector<int, Space>& used, bool own) {
  return vector_of<int>(
      space, "prekond::distributed::columns", sources.extent(0), KOKKOS_LAMBDA(std::int64_t place) {
        const int source = sources(place);
        return own ? (source >= 0 ? source : -1) : (source < 0 ? used(~source) : -1);
      });
}

template <class Scalar, class Space>
struct ProductWorkspace : Workspace {
  MultiVector<Scalar, Space> between, remote;
};

template <class Space>
auto first_columns(const Space&, const auto& block, std::size_t k) {
  return Kokkos::subview(block, Kokkos::ALL, std::make_pair(std::size_t(0), k));
}

/// M x by rows, M^T-like sums by columns, or one after the other.
template <class Scalar, class Space>
class ProductApplication : public Application<Scalar, Space> {
 public:
  using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

  ProductApplication(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                     const Overlap<Scalar, Space>& overlap, const FoundMatrices<Scalar, Space>& found,
                     StoredAs as)
      : m_num_rows(a.num_rows()),
        m_by_rows(found.rows != nullptr),
        m_by_columns(found.columns != nullptr),
        m_is_symmetric(found.are_transposes) {
    a.together([&] { m_numbers = split(space, overlap, found, as); });
    m_import = a.make_import(space, m_numbers);
    m_rows.set_import(m_import);
    m_columns.set_import(m_import);
  }

  void apply(const Space& space, Block<const Scalar, Space> x, Block<Scalar, Space> y,
             Workspace& workspace) const override {
    const auto& work = static_cast<ProductWorkspace<Scalar, Space>&>(workspace);
    if (x.extent(1) > work.remote.extent(1))
      throw std::logic_error("the workspace was made for fewer vectors");
    const Block<Scalar, Space> remote = first_columns(space, work.remote, x.extent(1));
    if (!m_by_columns) return m_rows.multiply(space, x, false, y, remote);
    if (!m_by_rows) return m_columns.multiply_transposed(space, x, y, remote);
    const Block<Scalar, Space> between = first_columns(space, work.between, x.extent(1));
    m_rows.multiply(space, x, false, between, remote);
    m_columns.multiply_transposed(space, between, y, remote);
  }

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override {
    auto work = std::make_unique<ProductWorkspace<Scalar, Space>>();
    m_import->reserve(space, num_vectors);
    work->between =
        allocate<MultiVector<Scalar, Space>>(space, "prekond::distributed::apply::between",
                                             m_by_rows && m_by_columns ? m_num_rows : 0, num_vectors);
    work->remote = allocate<MultiVector<Scalar, Space>>(space, "prekond::distributed::apply::remote",
                                                        m_import->num_remote(), num_vectors);
    return work;
  }

  void report_to(Report& report) const override {
    report.nnz = m_is_symmetric ? m_rows.nnz() : m_rows.nnz() + m_columns.nnz();
    report.apply_flops = 2.0 * flops_of_scalar<Scalar> * static_cast<double>(m_rows.nnz() + m_columns.nnz());
    report.bytes = m_rows.bytes() + m_columns.bytes();
  }

  RankRows<Scalar, Space> rows() const override {
    const auto& found = m_by_rows ? m_rows : m_columns;
    return {found.own().csr(), found.remote().matrix(), m_numbers};
  }

 private:
  /// \returns the numbers of the entries to import
  Numbers<Space> split(const Space& space, const Overlap<Scalar, Space>& overlap,
                       const FoundMatrices<Scalar, Space>& found, StoredAs as) {
    const FlatPolicy<Space> all(space, 0, overlap.num_rows());
    const auto used =
        allocate_zero<Vector<int, Space>>(space, "prekond::distributed::used", overlap.num_remote());
    if (found.rows)
      Kokkos::parallel_for("prekond::distributed::mark_columns", all,
                           MarkUsed<Space>{*found.rows, overlap.sources(), true, used});
    if (found.columns)
      Kokkos::parallel_for("prekond::distributed::mark_rows", all,
                           MarkUsed<Space>{*found.columns, overlap.sources(), false, used});
    const auto list =
        list_rows(space, "prekond::distributed::used", overlap.num_remote(), IsUsed<Space>{used});
    const auto numbers = listed<std::int64_t, Space>(space, list, overlap.remote());
    const auto places = listed<int, Space>(space, list, overlap.remote_places());
    const auto count = static_cast<std::int64_t>(list.extent(0));
    number_used<Space>(space, list, used);

    const auto own = columns_of<Space>(space, overlap.sources(), used, true),
               imported = columns_of<Space>(space, overlap.sources(), used, false);
    const auto part = [&](const Matrix& matrix, const Vector<int, Space>& rows,
                          const Vector<int, Space>& columns, std::int64_t num_cols) {
      const auto num_rows = static_cast<std::int64_t>(rows.extent(0));
      return select_entries<Scalar, Space>(space, "prekond::distributed::part", matrix, num_rows, rows,
                                           columns, num_cols);
    };
    if (found.rows)
      m_rows = {space, part(*found.rows, overlap.own_places(), own, m_num_rows),
                part(*found.rows, overlap.own_places(), imported, count), as};
    if (found.columns)
      m_columns = {space, part(*found.columns, overlap.own_places(), own, m_num_rows),
                   part(*found.columns, places, own, m_num_rows), as};
    space.fence("prekond::distributed::split");  // what it was made of goes away
    return numbers;
  }

  std::int64_t m_num_rows;
  bool m_by_rows, m_by_columns, m_is_symmetric;
  Numbers<Space> m_numbers;  ///< of the imported entries
  SplitMatrix<Scalar, Space> m_rows, m_columns;
  std::shared_ptr<const VectorImport<Scalar, Space>> m_import;
};

// ------------------------------------------------------------------------------------------------ Schwarz

/// all(i, v) = x(row, v), or the imported entry. A place has b rows.
template <class Scalar, class Space>
struct GatherOverlap {
  VectorView<const int, Space> sources;
  int b;
  Block<const Scalar, Space> x, remote;
  Block<Scalar, Space> all;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const int source = sources(i / b);
    for (std::size_t v = 0; v < all.extent(1); ++v)
      all(i, v) = source >= 0 ? x(source * b + i % b, v) : remote(~source * b + i % b, v);
  }
};

template <class Scalar, class Space>
struct TakeOwn {
  VectorView<const int, Space> places;
  int b;
  Block<const Scalar, Space> all;
  Block<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (std::size_t v = 0; v < y.extent(1); ++v) y(i, v) = all(places(i / b) * b + i % b, v);
  }
};

template <class Scalar, class Space>
struct SchwarzWorkspace : Workspace {
  MultiVector<Scalar, Space> remote, x, y;
  std::unique_ptr<Workspace> of_method;
};

template <class Scalar, class Space>
class SchwarzApplication : public Application<Scalar, Space> {
 public:
  SchwarzApplication(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                     const Overlap<Scalar, Space>& overlap, const MatrixPreconditioner<Scalar, Space>& method)
      : m_method(method),
        m_sources(overlap.sources()),
        m_places(overlap.own_places()),
        m_block_size(overlap.block_size()),
        m_import(a.make_import(space,
                               rows_of_blocks<Space>(space, overlap.remote(), m_block_size, m_block_size))) {}

  void apply(const Space& space, Block<const Scalar, Space> x, Block<Scalar, Space> y,
             Workspace& workspace) const override {
    auto& work = static_cast<SchwarzWorkspace<Scalar, Space>&>(workspace);
    if (x.extent(1) > work.x.extent(1)) throw std::logic_error("the workspace was made for fewer vectors");
    const Block<Scalar, Space> remote = first_columns(space, work.remote, x.extent(1)),
                               all_x = first_columns(space, work.x, x.extent(1)),
                               all_y = first_columns(space, work.y, x.extent(1));
    gather(space, x, remote, all_x);
    m_method.apply(space, all_x, all_y, *work.of_method);
    Kokkos::parallel_for("prekond::distributed::take_own", FlatPolicy<Space>(space, 0, y.extent(0)),
                         TakeOwn<Scalar, Space>{m_places, m_block_size, all_y, y});
  }

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override {
    auto work = std::make_unique<SchwarzWorkspace<Scalar, Space>>();
    m_import->reserve(space, num_vectors);
    const auto block = [&](std::int64_t rows) {
      return allocate<MultiVector<Scalar, Space>>(space, "prekond::distributed::apply::overlap", rows,
                                                  num_vectors);
    };
    work->remote = block(m_import->num_remote());
    work->x = block(static_cast<std::int64_t>(m_sources.extent(0)) * m_block_size);
    work->y = block(static_cast<std::int64_t>(m_sources.extent(0)) * m_block_size);
    work->of_method = m_method.make_workspace(space, num_vectors);
    return work;
  }

 private:
  /// Entries of x of the rank's own rows and of the overlap's.
  void gather(const Space& space, Block<const Scalar, Space> x, Block<Scalar, Space> remote,
              Block<Scalar, Space> all) const {
    const Kokkos::Profiling::ScopedRegion region("prekond::gather");
    m_import->start(space, x);
    m_import->finish(space, remote);
    Kokkos::parallel_for("prekond::distributed::gather_overlap", FlatPolicy<Space>(space, 0, all.extent(0)),
                         GatherOverlap<Scalar, Space>{m_sources, m_block_size, x, remote, all});
  }

  const MatrixPreconditioner<Scalar, Space>& m_method;
  Vector<int, Space> m_sources, m_places;
  int m_block_size;  ///< rows of a place
  std::unique_ptr<const VectorImport<Scalar, Space>> m_import;
};

}  // namespace

template <class Scalar, class Space>
std::unique_ptr<const Application<Scalar, Space>> make_product_application(
    const Space& space, const DistributedMatrix<Scalar, Space>& a, const Overlap<Scalar, Space>& overlap,
    const FoundMatrices<Scalar, Space>& found, StoredAs as) {
  return std::make_unique<ProductApplication<Scalar, Space>>(space, a, overlap, found, as);
}

template <class Scalar, class Space>
std::unique_ptr<const Application<Scalar, Space>> make_schwarz_application(
    const Space& space, const DistributedMatrix<Scalar, Space>& a, const Overlap<Scalar, Space>& overlap,
    const MatrixPreconditioner<Scalar, Space>& method) {
  return std::make_unique<SchwarzApplication<Scalar, Space>>(space, a, overlap, method);
}

template <class Scalar, class Space>
MultiVector<Scalar, Space> over_overlap(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                                        const Overlap<Scalar, Space>& overlap,
                                        const MultiVectorView<const Scalar, Space>& x) {
  const auto imported = a.make_import(space, overlap.remote());
  const auto block = [&](std::int64_t rows) {
    return allocate<MultiVector<Scalar, Space>>(space, "prekond::distributed::over_overlap", rows,
                                                x.extent(1));
  };
  const MultiVector<Scalar, Space> remote = block(imported->num_remote()), all = block(overlap.num_rows());
  imported->start(space, x);
  imported->finish(space, remote);
  Kokkos::parallel_for("prekond::distributed::gather_overlap",
                       FlatPolicy<Space>(space, 0, overlap.num_rows()),
                       GatherOverlap<Scalar, Space>{overlap.sources(), 1, x, remote, all});
  space.fence("prekond::distributed::over_overlap");  // the import goes away
  return all;
}

#define PREKOND_APPLICATION(Scalar, Space)                                                                \
  template std::unique_ptr<const Application<Scalar, Space>> make_product_application(                    \
      const Space&, const DistributedMatrix<Scalar, Space>&, const Overlap<Scalar, Space>&,               \
      const FoundMatrices<Scalar, Space>&, StoredAs);                                                     \
  template std::unique_ptr<const Application<Scalar, Space>> make_schwarz_application(                    \
      const Space&, const DistributedMatrix<Scalar, Space>&, const Overlap<Scalar, Space>&,               \
      const MatrixPreconditioner<Scalar, Space>&);                                                        \
  template MultiVector<Scalar, Space> over_overlap(const Space&, const DistributedMatrix<Scalar, Space>&, \
                                                   const Overlap<Scalar, Space>&,                         \
                                                   const MultiVectorView<const Scalar, Space>&);
PREKOND_INSTANTIATE(PREKOND_APPLICATION)

}  // namespace prekond::impl::distributed
