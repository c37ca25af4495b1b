// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The transpose of a matrix on a host, by columns that are counted.
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include "core/concurrency.hpp"

#include <algorithm>
#include <cstdint>

namespace prekond::impl {

/// P's rows in as many blocks as there are threads, but for few rows a column. Blocks are passed through in
/// order: the rows of P^T are sorted whatever the blocks.
template <class Scalar, class Space>
class HostTranspose {
 public:
  using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

  static int num_blocks(const Space& space, const CsrView<Scalar, Space>& p) {
    return static_cast<int>(
        std::clamp<std::int64_t>(p.nnz() / std::max<std::int64_t>(1, p.num_cols), 1, concurrency(space)));
  }

  /// Counts the entries of each column in each block.
  HostTranspose(const Space& space, const CsrView<Scalar, Space>& p)
      : m_space(space),
        m_p(p),
        m_blocks(num_blocks(space, p)),
        m_places(allocate_zero<Vector<int, Space>>(space, "prekond::transpose::places",
                                                   static_cast<std::size_t>(m_blocks) * p.num_cols)),
        m_length(allocate<Vector<int, Space>>(space, "prekond::transpose::length", p.num_cols)) {
    for_blocks("prekond::transpose::count", [*this](std::int64_t block) {
      int* count = m_places.data() + static_cast<std::size_t>(block * m_p.num_cols);
      for (std::size_t k = m_p.row_ptrs(begin(block)); k < m_p.row_ptrs(begin(block + 1)); ++k)
        ++count[m_p.col_idxs(k)];
    });
    Kokkos::parallel_for("prekond::transpose::begin", columns(), [*this](std::int64_t col) {
      int sum = 0;
      for (int block = 0; block < m_blocks; ++block) {
        int& place = m_places(static_cast<std::size_t>(block) * m_p.num_cols + col);
        const int mine = place;
        place = sum;
        sum += mine;
      }
      m_length(col) = sum;
    });
  }

  /// Where P^T's rows begin.
  Vector<std::size_t, Space> row_ptrs() const {
    return scan_row_lengths(m_space, "prekond::transpose", m_p.num_cols,
                            VectorView<const int, Space>(m_length))
        .first;
  }

  /// P^T's columns, where they are wanted, and values, or their conjugates. Fences.
  template <bool Conjugate = false>
  void write(const Matrix& r, bool columns_too) const {
    for_blocks("prekond::transpose::write", [*this, r, columns_too](std::int64_t block) {
      int* place = m_places.data() + static_cast<std::size_t>(block * m_p.num_cols);
      for (std::int64_t i = begin(block); i < begin(block + 1); ++i)
        for (std::size_t k = m_p.row_ptrs(i); k < m_p.row_ptrs(i + 1); ++k) {
          const int col = m_p.col_idxs(k);
          const std::size_t to = r.row_ptrs(col) + static_cast<std::size_t>(place[col]++);
          if (columns_too) r.col_idxs(to) = static_cast<int>(i);
          r.values(to) = Conjugate ? conjugate(m_p.values(k)) : m_p.values(k);
        }
    });
    m_space.fence("prekond::transpose");  // the places go away
  }

 private:
  std::int64_t begin(std::int64_t block) const { return m_p.num_rows * block / m_blocks; }
  auto columns() const {
    return Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(m_space, 0, m_p.num_cols);
  }
  template <class Body>
  void for_blocks(const char* label, const Body& body) const {
    Kokkos::parallel_for(label,
                         Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(m_space, 0, m_blocks,
                                                                                     Kokkos::ChunkSize(1)),
                         body);
  }

  Space m_space;
  CsrView<Scalar, Space> m_p;
  int m_blocks;
  Vector<int, Space> m_places;  ///< of a block and column in its row of P^T
  Vector<int, Space> m_length;
};

}  // namespace prekond::impl
