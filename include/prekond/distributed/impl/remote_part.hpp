// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/impl/list_rows.hpp>
#include <prekond/distributed/impl/select_entries.hpp>

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

/// y(i, v) += alpha sum_{j >= first} a_ij x(j - first, v), for the rows of a list.
template <class Scalar, class Space>
struct AddColumnsFrom {
  CsrView<Scalar, Space> a;
  int first;
  VectorView<const int, Space> rows;
  Scalar alpha;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(std::int64_t r) const {
    const int i = rows(r);
    for (std::size_t v = 0; v < y.extent(1); ++v) {
      Scalar sum = 0;
      for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k)
        if (a.col_idxs(k) >= first) sum += a.values(k) * x(a.col_idxs(k) - first, v);
      y(i, v) += alpha * sum;
    }
  }
};

}  // namespace impl

/// The rows of a matrix that have entries in columns of number `first` or more, of which most rows of a
/// rank's matrix have none; a product with these columns touches no other row. Holds only the rows' numbers:
/// the matrix may have other values at each product.
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
  void add_product(const Space& space, Scalar alpha, const CsrView<Scalar, Space>& a,
                   MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y) const {
    if (m_rows.extent(0) == 0 || y.extent(1) == 0) return;
    Kokkos::parallel_for("prekond::remote_part::add_product", Policy(space, 0, m_rows.extent(0)),
                         impl::AddColumnsFrom<Scalar, Space>{a, m_first, m_rows, alpha, x, y});
  }

 private:
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
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
  RemotePart(const Space& space, const matrix_type& a) : m_a(a), m_rows(space, a, 0) {}

  const matrix_type& matrix() const { return m_a; }
  std::int64_t nnz() const { return m_a.nnz(); }
  std::int64_t bytes() const { return m_a.bytes() + m_rows.bytes(); }

  /// y = y + alpha A x
  void add_product(const Space& space, Scalar alpha, MultiVectorView<const Scalar, Space> x,
                   MultiVectorView<Scalar, Space> y) const {
    m_rows.template add_product<Scalar>(space, alpha, m_a, x, y);
  }

 private:
  matrix_type m_a;
  RowsWithColumnsFrom<Space> m_rows;
};

}  // namespace prekond
