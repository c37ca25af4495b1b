// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Matrices in the columns of this rank and of others, as they are applied.
#include <prekond/distributed/impl/remote_part.hpp>
#include <prekond/distributed/vector_import.hpp>
#include <prekond/precond/impl/stored_matrix.hpp>

#include <memory>
#include <utility>

namespace prekond::impl::distributed {

/// A matrix in own columns and those of other ranks, [D O], or the transpose of one, [D; O], as it is
/// applied: D in any format and precision, O in full.
template <class Scalar, class Space>
class SplitMatrix {
 public:
  using matrix_type = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  using View = MultiVectorView<Scalar, Space>;
  using ConstView = MultiVectorView<const Scalar, Space>;

  SplitMatrix() = default;
  /// The import brings the entries that O is multiplied by, or takes away its products.
  SplitMatrix(const Space& space, const matrix_type& own, const matrix_type& remote, StoredAs as,
              std::shared_ptr<const VectorImport<Scalar, Space>> import = nullptr)
      : SplitMatrix(space, StoredMatrix<Scalar, Space>(space, own, as), remote, std::move(import)) {}
  SplitMatrix(const Space& space, StoredMatrix<Scalar, Space> own, const matrix_type& remote,
              std::shared_ptr<const VectorImport<Scalar, Space>> import)
      : m_own(std::move(own)), m_remote(space, remote), m_import(std::move(import)) {}

  std::int64_t num_rows() const { return m_own.num_rows(); }
  const StoredMatrix<Scalar, Space>& own() const { return m_own; }
  const RemotePart<Scalar, Space>& remote() const { return m_remote; }
  std::int64_t nnz() const { return m_own.nnz() + m_remote.nnz(); }
  std::int64_t bytes() const { return m_own.bytes() + m_remote.bytes(); }

  void set_import(std::shared_ptr<const VectorImport<Scalar, Space>> import) { m_import = std::move(import); }

  /// Collective. y = [D O] x, or y + [D O] x. `remote`: room for what is imported.
  void multiply(const Space& space, ConstView x, bool add, View y, View remote) const {
    m_import->start(space, x);
    if (add)
      m_own.add_product(space, x, y);
    else
      m_own.multiply(space, x, y);
    m_import->finish(space, remote);
    m_remote.add_product(space, Scalar(1), remote, y);
  }
  /// Collective. y = omega (b - [D O] x)
  void residual(const Space& space, Scalar omega, ConstView b, ConstView x, View y, View remote) const {
    m_import->start(space, x);
    m_own.multiply_recurrence(space, {.product = -omega, .source = omega}, x, b, y);
    m_import->finish(space, remote);
    m_remote.add_product(space, -omega, remote, y);
  }
  /// Collective. y = D x + what the other ranks have for these rows, O x there.
  void multiply_transposed(const Space& space, ConstView x, View y, View remote) const {
    set_zero(space, remote);
    m_remote.add_product(space, Scalar(1), x, remote);
    m_import->start_reverse(space, remote);
    m_own.multiply(space, x, y);
    m_import->finish_reverse(space, y);
  }

 private:
  StoredMatrix<Scalar, Space> m_own;
  RemotePart<Scalar, Space> m_remote;
  std::shared_ptr<const VectorImport<Scalar, Space>> m_import;
};

}  // namespace prekond::impl::distributed
