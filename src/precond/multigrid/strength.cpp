// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/multigrid/strength.hpp"
#include <prekond/core/error.hpp>
#include <prekond/matrix/bcsr_matrix.hpp>
#include <prekond/pattern/impl/symmetrize.hpp>
#include <prekond/pattern/impl/threshold.hpp>
#include "core/geometric_mean.hpp"
#include "matrix/filter_entries.hpp"
#include "pattern/fingerprint.hpp"

#include "core/flag.hpp"
#include "core/frobenius_norm.hpp"
#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "pattern/row_scales.hpp"
#include "sparse_product/host_rows.hpp"

#include <string>

namespace prekond {
namespace impl::strength {

/// The strong entries of a matrix, or of a matrix of norms; the scale is not negative, so that zeros are not.
template <class Scalar, class Space>
struct IsStrong {
  CsrView<Scalar, Space> a;
  VectorView<const double, Space> scale;
  double theta;
  bool diagonal;  ///< too

  KOKKOS_FUNCTION bool operator()(std::int64_t i, std::size_t k) const {
    const int j = a.col_idxs(k);
    if (j >= a.num_rows) return false;
    if (j == i) return diagonal;
    return Kokkos::abs(to_double(a.values(k))) > theta * geometric_mean(scale(i), scale(j));
  }
};

/// ||A_IJ||_F of every block, by a thread each: the order of the sum, and with it its bits, are the same on
/// every backend.
template <class Scalar, class Space>
struct NormsOfBlocks {
  BcsrView<Scalar, Space> blocks;
  int places;  ///< of a block
  VectorView<double, Space> norms;

  KOKKOS_FUNCTION void operator()(std::int64_t block) const {
    const std::size_t begin = static_cast<std::size_t>(block) * places;
    norms(block) = frobenius_norm(1, places, [&](int, int p) { return to_double(blocks.values(begin + p)); });
  }
};

template <class Space>
struct HasDiagonal {
  CsrGraphView<Space> pattern;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& count) const {
    const std::size_t place = pattern.first_from(i, i);
    if (place < pattern.row_ptrs(i + 1) && pattern.col_idxs(place) == i) ++count;
  }
};

/// The columns of a row that are strong, by one thread.
template <class Scalar, class Space>
struct FindStrongRow {
  IsStrong<Scalar, Space> is_strong;
  int operator()(int, std::int64_t i, int* cols) const {
    int count = 0;
    for (std::size_t k = is_strong.a.row_ptrs(i); k < is_strong.a.row_ptrs(i + 1); ++k)
      if (is_strong(i, k)) cols[count++] = is_strong.a.col_idxs(k);
    return count;
  }
};

/// Where there is room for the rows of each chunk: as much as A has entries there.
template <class Scalar, class Space>
Vector<std::size_t, Space> bounds_of_chunks(const Space& space, const HostChunks<Space>& chunks,
                                            const CsrView<Scalar, Space>& a) {
  const auto bounds =
      allocate<Vector<std::size_t, Space>>(space, "prekond::strong_connections::bounds", chunks.count() + 1);
  for (std::int64_t chunk = 0; chunk < chunks.count(); ++chunk)
    bounds(chunk) = a.row_ptrs(chunks.begin(chunk)) - a.row_ptrs(0);
  bounds(chunks.count()) = static_cast<std::size_t>(a.nnz());
  return bounds;
}

/// The strong entries, with the diagonal where it is stored and wanted. Fences.
template <class Scalar, class Space>
CsrGraph<Space> strong_entries(const Space& space, const CsrView<Scalar, Space>& a, double theta,
                               bool diagonal) {
  const auto scale = allocate<Vector<double, Space>>(space, "prekond::strong_connections::scale", a.num_rows);
  Kokkos::parallel_for("prekond::strong_connections::scale_rows",
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.num_rows),
                       ScaleRows<Scalar, Space>{a, false, scale});
  const IsStrong<Scalar, Space> is_strong{a, scale, theta, diagonal};
  CsrGraph<Space> strong;
  if constexpr (is_host_space<Space>) {
    space.fence("prekond::strong_connections::scale_rows");
    const HostChunks<Space> chunks{a.num_rows};
    strong = collect_host_pattern<Space>(space, "prekond::strong_connections", chunks, a.num_rows,
                                         bounds_of_chunks<Scalar, Space>(space, chunks, a),
                                         FindStrongRow<Scalar, Space>{is_strong}, [](std::size_t) {});
  } else {
    strong = filter_pattern<Scalar, Space>(space, a, is_strong);
    strong.num_cols = a.num_rows;
    space.fence("prekond::strong_connections");  // the scale goes away
  }
  return strong;
}

template <class Scalar, class Space>
CsrGraph<Space> symmetric_strong_entries(const Space& space, const CsrView<Scalar, Space>& a, double theta) {
  const CsrGraph<Space> strong = strong_entries<Scalar, Space>(space, a, theta, false);
  if (is_symmetric<Space>(space, strong)) return strong;
  const CsrGraph<Space> result = symmetrize<Space>(space, strong);
  space.fence("prekond::strong_connections");  // the strong entries are freed
  return result;
}

/// Raises the flag where the rows of a block row do not have the same columns, in whole aligned blocks.
template <class Space>
struct FindBrokenBlocks {
  CsrGraphView<Space> a;
  int rows, cols;  ///< of a block
  typename Flag<Space>::Raise found;
  KOKKOS_FUNCTION void operator()(const typename RowTeams<Space>::Member& team) const {
    RowTeams<Space>{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::int64_t first = i / rows * rows;
      const std::size_t begin = a.row_ptrs(i), begin_of_first = a.row_ptrs(first);
      const int length = static_cast<int>(a.row_ptrs(i + 1) - begin);
      const bool fits = length % cols == 0 && std::size_t(length) == a.row_ptrs(first + 1) - begin_of_first;
      if (!fits) found();
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, fits ? length / cols : 0), [&](int k) {
        if (!is_whole(begin + k * cols, begin_of_first + k * cols)) found();
      });
    });
  }
  KOKKOS_FUNCTION bool is_whole(std::size_t k, std::size_t of_first) const {
    const int col = a.col_idxs(k);
    return col % cols == 0 && col == a.col_idxs(of_first) && a.col_idxs(k + cols - 1) == col + cols - 1;
  }
};

/// The pattern by nodes of one that has whole blocks.
template <class Space>
struct NodesOfBlocks {
  CsrGraphView<Space> a;
  int rows, cols;  ///< of a block
  VectorView<std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  KOKKOS_FUNCTION void operator()(const typename RowTeams<Space>::Member& team) const {
    RowTeams<Space>{num_nodes() + 1}.for_each_row(team, [&](std::int64_t node) {
      const std::size_t begin = a.row_ptrs(node * rows), to = begin / rows / cols;
      const int length =
          node < num_nodes() ? static_cast<int>((a.row_ptrs(node * rows + 1) - begin) / cols) : 0;
      Kokkos::single(Kokkos::PerThread(team), [&] { row_ptrs(node) = to; });
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, length),
                           [&](int k) { col_idxs(to + k) = a.col_idxs(begin + k * cols) / cols; });
    });
  }
  KOKKOS_FUNCTION std::int64_t num_nodes() const { return a.num_rows / rows; }
};

/// ||A_IJ||_F of a node's whole blocks, a thread a block.
template <class Scalar, class Space>
struct NormsOfRow {
  using Rows = RowTeams<Space>;
  CsrView<Scalar, Space> a;
  CsrGraphView<Space> nodes;
  int d;
  VectorView<double, Space> norms;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{nodes.num_rows}.for_each_row(team, [&](std::int64_t node) {
      const std::size_t begin = nodes.row_ptrs(node), of_a = a.row_ptrs(node * d);
      const auto count = static_cast<int>(nodes.row_ptrs(node + 1) - begin);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, count), [&](int k) {
        norms(begin + k) = norm(of_a + std::size_t(k) * d, std::size_t(count) * d);
      });
    });
  }
  KOKKOS_FUNCTION double norm(std::size_t begin, std::size_t stride) const {
    return frobenius_norm(d, d,
                          [&](int row, int c) { return to_double(a.values(begin + row * stride + c)); });
  }
};

/// The norms of whole blocks, as a matrix.
template <class Scalar, class Space>
CsrMatrix<double, int, std::size_t, typename Space::memory_space> norms_of_whole_blocks(
    const Space& space, const CsrView<Scalar, Space>& a, int d, const CsrGraph<Space>& nodes) {
  const CsrMatrix<double, int, std::size_t, typename Space::memory_space> result(
      nodes.num_rows, nodes.num_cols, nodes.row_ptrs, nodes.col_idxs,
      allocate<Vector<double, Space>>(space, "prekond::strong_connections::norms", nodes.nnz()));
  Kokkos::parallel_for("prekond::strong_connections::norms_of_blocks",
                       RowTeams<Space>::policy(space, nodes.num_rows, result.nnz()),
                       NormsOfRow<Scalar, Space>{a, CsrGraphView<Space>(result), d, result.values});
  return result;
}

/// The norms of A's blocks, as a matrix.
template <class Scalar, class Space>
CsrMatrix<double, int, std::size_t, typename Space::memory_space> norms_of_blocks(const Space& space,
                                                                                  CsrView<Scalar, Space> a,
                                                                                  int block_size) {
  a.num_cols = (a.num_cols + block_size - 1) / block_size * block_size;  // to_bcsr pads only square matrices
  const auto blocks = to_bcsr<Scalar, Space>(space, a, block_size);
  const auto norms =
      allocate<Vector<double, Space>>(space, "prekond::strong_connections::norms", blocks.num_blocks());
  Kokkos::parallel_for(
      "prekond::strong_connections::norms_of_blocks",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, blocks.num_blocks()),
      NormsOfBlocks<Scalar, Space>{blocks, block_size * block_size, norms});
  return {blocks.num_block_rows, blocks.num_block_cols, blocks.row_ptrs, blocks.col_idxs, norms};
}

}  // namespace impl::strength

namespace {

void check_nodes(std::int64_t num_rows, int unknowns_per_node) {
  if (unknowns_per_node < 1 || unknowns_per_node > largest_block_size)
    throw InputError("strong_connections: there are " + std::to_string(unknowns_per_node) +
                     " unknowns per node; it must be from 1 to " + std::to_string(largest_block_size));
  if (num_rows % unknowns_per_node != 0)
    throw InputError("strong_connections: " + std::to_string(num_rows) + " rows are not nodes of " +
                     std::to_string(unknowns_per_node) + " unknowns; their number must divide the rows");
}

void check(std::int64_t num_rows, int unknowns_per_node, double theta) {
  if (!(theta >= 0))
    throw InputError("strong_connections: theta is " + std::to_string(theta) + "; it must be 0 or larger");
  check_nodes(num_rows, unknowns_per_node);
}

}  // namespace

template <class Space>
CsrGraph<Space> whole_blocks(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a, int rows,
                             int cols) {
  using impl::RowTeams;
  if (a.num_rows == 0 || a.num_rows % rows != 0 || a.num_cols % cols != 0) return {};
  impl::Flag<Space> broken(space, "prekond::whole_blocks::broken");
  Kokkos::parallel_for("prekond::whole_blocks::find_broken",
                       RowTeams<Space>::policy(space, a.num_rows, a.nnz()),
                       impl::strength::FindBrokenBlocks<Space>{a, rows, cols, broken.raise()});
  if (broken.is_raised(space)) return {};
  const std::int64_t n = a.num_rows / rows, nnz = a.nnz() / rows / cols;
  const CsrGraph<Space> result{
      n, a.num_cols / cols,
      allocate<Vector<std::size_t, Space>>(space, "prekond::whole_blocks::row_ptrs", n + 1),
      allocate<Vector<int, Space>>(space, "prekond::whole_blocks::col_idxs", nnz)};
  Kokkos::parallel_for("prekond::whole_blocks::blocks", RowTeams<Space>::policy(space, n + 1, nnz),
                       impl::strength::NodesOfBlocks<Space>{a, rows, cols, result.row_ptrs, result.col_idxs});
  space.fence("prekond::whole_blocks::blocks");
  return result;
}

template <class Space>
CsrGraph<Space> nodes_of_whole_blocks(const Space& space, const std::type_identity_t<CsrGraphView<Space>>& a,
                                      int unknowns_per_node) {
  check_nodes(a.num_rows, unknowns_per_node);
  return whole_blocks<Space>(space, a, unknowns_per_node, unknowns_per_node);
}

template <class Scalar, class Space>
NodeConnections<Space> node_connections(const Space& space, const CsrView<Scalar, Space>& a,
                                        int unknowns_per_node, double theta,
                                        const std::type_identity_t<CsrGraph<Space>>& known) {
  const int d = unknowns_per_node;
  check(a.num_rows, d, theta);
  const CsrGraph<Space> nodes = known.num_rows > 0 ? known : nodes_of_whole_blocks<Space>(space, a, d);
  const bool whole = nodes.num_rows > 0;
  const auto norms = whole ? impl::strength::norms_of_whole_blocks<Scalar, Space>(space, a, d, nodes)
                           : impl::strength::norms_of_blocks<Scalar, Space>(space, a, d);
  return {{norms.num_rows, norms.num_cols, norms.row_ptrs, norms.col_idxs},
          impl::strength::symmetric_strong_entries<double, Space>(space, norms, theta),
          whole};
}

template <class Scalar, class Space>
CsrGraph<Space> strong_connections(const Space& space, const CsrView<Scalar, Space>& a, int unknowns_per_node,
                                   double theta) {
  check(a.num_rows, unknowns_per_node, theta);
  if (unknowns_per_node == 1) return impl::strength::symmetric_strong_entries<Scalar, Space>(space, a, theta);
  return node_connections<Scalar, Space>(space, a, unknowns_per_node, theta).strong;
}

template <class Scalar, class Space>
StrongRows<Space> strong_rows(const Space& space, const CsrView<Scalar, Space>& a, double theta) {
  check(a.num_rows, 1, theta);
  const CsrGraph<Space> own = impl::strength::strong_entries<Scalar, Space>(space, a, theta, true);
  const bool symmetric = is_symmetric<Space>(space, own);
  const CsrGraph<Space> strong = symmetric ? own : symmetrize<Space>(space, own);
  std::int64_t diagonals = 0;
  Kokkos::parallel_reduce("prekond::strong_connections::count_diagonals",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, a.num_rows),
                          impl::strength::HasDiagonal<Space>{strong}, diagonals);
  if (diagonals == a.num_rows) return {strong, symmetric};
  const CsrGraph<Space> result = with_diagonal<Space>(space, strong);
  space.fence("prekond::strong_connections");  // the strong entries are freed
  return {result, false};
}

#define PREKOND_STRONG_CONNECTIONS(Scalar, Space)                                                         \
  template CsrGraph<Space> strong_connections<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&, \
                                                             int, double);                                \
  template StrongRows<Space> strong_rows<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&,      \
                                                        double);                                          \
  template NodeConnections<Space> node_connections<Scalar, Space>(                                        \
      const Space&, const CsrView<Scalar, Space>&, int, double,                                           \
      const std::type_identity_t<CsrGraph<Space>>&);
PREKOND_INSTANTIATE(PREKOND_STRONG_CONNECTIONS)

#define PREKOND_NODES_OF_WHOLE_BLOCKS(Space)                                                                \
  template CsrGraph<Space> whole_blocks<Space>(const Space&,                                                \
                                               const std::type_identity_t<CsrGraphView<Space>>&, int, int); \
  template CsrGraph<Space> nodes_of_whole_blocks<Space>(                                                    \
      const Space&, const std::type_identity_t<CsrGraphView<Space>>&, int);
PREKOND_INSTANTIATE_SPACES(PREKOND_NODES_OF_WHOLE_BLOCKS)

}  // namespace prekond
