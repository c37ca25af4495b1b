// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/list_rows.hpp>
#include <prekond/distributed/select_entries.hpp>

namespace prekond {

namespace impl {

template <class Space>
struct HasEntries {
  CsrGraphView<Space> graph;
  KOKKOS_FUNCTION bool operator()(std::int64_t i) const { return graph.row_ptrs(i) < graph.row_ptrs(i + 1); }
};

/// y(i, v) (+)= alpha sum_j a_ij x(j, v), for the rows of a list.
template <class Scalar, class Space>
struct MultiplyListedRows {
  CsrView<Scalar, Space> a;
  VectorView<const int, Space> rows;
  Scalar alpha;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(std::int64_t r) const {
    const int i = rows(r);
    for (std::size_t v = 0; v < y.extent(1); ++v) {
      Scalar sum = 0;
      for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k)
        sum += a.values(k) * x(a.col_idxs(k), v);
      y(i, v) += alpha * sum;
    }
  }
};

}  // namespace impl

/// The columns of other ranks of a rank's rows, of which most rows have none: those that have some are
/// listed, and a product touches no other.
template <class Scalar, class Space>
class RemotePart {
 public:
  using matrix_type = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

  RemotePart() = default;
  /// Fences.
  RemotePart(const Space& space, const matrix_type& a)
      : m_a(a),
        m_rows(impl::list_rows(space, "prekond::remote_part::rows", a.num_rows, impl::HasEntries<Space>{a})) {
  }

  const matrix_type& matrix() const { return m_a; }
  std::int64_t nnz() const { return m_a.nnz(); }
  std::int64_t bytes() const { return m_a.bytes() + static_cast<std::int64_t>(m_rows.span() * sizeof(int)); }

  /// y = y + alpha A x
  void add_product(const Space& space, Scalar alpha, MultiVectorView<const Scalar, Space> x,
                   MultiVectorView<Scalar, Space> y) const {
    if (m_rows.extent(0) == 0 || y.extent(1) == 0) return;
    Kokkos::parallel_for("prekond::remote_part::add_product", Policy(space, 0, m_rows.extent(0)),
                         impl::MultiplyListedRows<Scalar, Space>{m_a, m_rows, alpha, x, y});
  }

 private:
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  matrix_type m_a;
  Vector<int, Space> m_rows;
};

}  // namespace prekond
