// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/impl/list_rows.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include <prekond/matrix/impl/block_rows.hpp>

#include <vector>

namespace prekond {

namespace impl {

/// A row that has an entry in a column of number `first` or more.
template <class Space>
struct HasColumnsFrom {
  CsrGraphView<Space> graph;
  int first;
  KOKKOS_FUNCTION bool operator()(std::int64_t i) const {
    for (std::size_t k = graph.row_ptrs(i + 1); k > graph.row_ptrs(i); --k)
      if (graph.col_idxs(k - 1) >= first) return true;
    return false;
  }
};

/// y(b rows(r) + p, v) += alpha times row p of the blocks of block row rows(r) in block columns c >= first,
/// which is block c - first of x. A vector of lanes has a block row.
template <class Scalar, class Space>
void add_columns_from(const Space& space, Scalar alpha, const BcsrView<Scalar, Space>& a, int first,
                      VectorView<const int, Space> rows, MultiVectorView<const Scalar, Space> x,
                      MultiVectorView<Scalar, Space> y);

}  // namespace impl

/// The rows of a matrix that have entries in columns of number `first` or more, of which most rows of a
/// rank's matrix have none; a product with these columns touches no other row. Rows and columns may be those
/// of blocks. Holds only the rows' numbers: the matrix may have other values at each product.
template <class Space>
class RowsWithColumnsFrom {
 public:
  RowsWithColumnsFrom() = default;
  /// Fences to count the rows; their list is ready in the order of `space`.
  RowsWithColumnsFrom(const Space& space, const CsrGraphView<Space>& a, int first)
      : m_first(first),
        m_rows(impl::list_rows(space, "prekond::remote_part::rows", a.num_rows,
                               impl::HasColumnsFrom<Space>{a, first})) {}

  std::int64_t bytes() const { return static_cast<std::int64_t>(m_rows.span() * sizeof(int)); }

  /// y = y + alpha A(:, first:) x. \pre a has the pattern that this was made for
  template <class Scalar>
  void add_product(const Space& space, Scalar alpha, const BcsrView<Scalar, Space>& a,
                   MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y) const {
    if (m_rows.extent(0) > 0 && y.extent(1) > 0)
      impl::add_columns_from<Scalar, Space>(space, alpha, a, m_first, m_rows, x, y);
  }

 private:
  int m_first = 0;
  Vector<int, Space> m_rows;
};

/// The columns of other ranks of a rank's rows, numbered from 0, as a matrix of their own.
template <class Scalar, class Space>
class RemotePart {
 public:
  using matrix_type = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

  RemotePart() = default;
  /// As RowsWithColumnsFrom.
  RemotePart(const Space& space, const matrix_type& a)
      : m_a(a),
        m_blocks(1, BlockOrder::by_columns, a.num_rows, a.num_cols, a.row_ptrs, a.col_idxs, a.values),
        m_rows(space, a, 0) {}

  /// From now on products are by blocks, where all entries stand in full ones: of 8 to 2, the largest size.
  /// Memory: the entries once more. Fences.
  void find_blocks(const Space& space) {
    std::vector<int> sizes;
    for (int b = 8; b > 1; --b)
      if (m_a.nnz() > 0 && m_a.num_rows % b == 0 && m_a.num_cols % b == 0) sizes.push_back(b);
    for (const BlockFill& found : count_blocks<Space>(space, m_a, sizes)) {
      if (found.fill > 1) continue;
      m_blocks = to_bcsr<Scalar, Space>(space, m_a, found.block_size);
      m_rows = RowsWithColumnsFrom<Space>(space, impl::graph_of<Space>(m_blocks), 0);
      return;
    }
  }

  const matrix_type& matrix() const { return m_a; }
  int block_size() const { return m_blocks.block_size; }
  std::int64_t nnz() const { return m_a.nnz(); }
  std::int64_t bytes() const {
    return m_a.bytes() + (block_size() > 1 ? m_blocks.bytes() : 0) + m_rows.bytes();
  }

  /// y = y + alpha A x
  void add_product(const Space& space, Scalar alpha, MultiVectorView<const Scalar, Space> x,
                   MultiVectorView<Scalar, Space> y) const {
    m_rows.template add_product<Scalar>(space, alpha, m_blocks, x, y);
  }

 private:
  matrix_type m_a;
  BcsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> m_blocks;  ///< the same
  RowsWithColumnsFrom<Space> m_rows;
};

}  // namespace prekond
