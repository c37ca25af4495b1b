// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Operators and preconditioners on Tpetra's multivectors, under Tpetra's rules: alpha and beta, X and Y that
/// may be the same, vectors that do not lie at one stride.
#include <prekond/adapters/impl/update.hpp>
#include <prekond/core/operator.hpp>
#include <prekond/core/preconditioner.hpp>

#include <Tpetra_MultiVector.hpp>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

namespace prekond::tpetra::impl {

/// Memory for as many vectors as it was applied to at once.
template <class Scalar, class Space>
class VectorBuffer {
 public:
  MultiVectorView<Scalar, Space> get(const Space& space, std::size_t rows, std::size_t num_vectors) {
    if (m_vectors.extent(0) != rows || m_vectors.extent(1) < num_vectors)
      m_vectors =
          allocate<MultiVector<Scalar, Space>>(space, "prekond::tpetra::apply::buffer", rows, num_vectors);
    return MultiVectorView<Scalar, Space>(m_vectors.data(), rows, num_vectors);
  }

 private:
  MultiVector<Scalar, Space> m_vectors;
};

/// A copy of X, its vectors at one stride.
template <class Scalar, class Space, class TpetraMultiVector>
MultiVectorView<const Scalar, Space> copy_of(const Space& space, const TpetraMultiVector& x,
                                             VectorBuffer<Scalar, Space>& copy) {
  const auto vectors = copy.get(space, x.getLocalLength(), x.getNumVectors());
  if (x.isConstantStride()) {
    Kokkos::deep_copy(space, vectors, x.getLocalViewDevice(Tpetra::Access::ReadOnly));
    return vectors;
  }
  for (std::size_t k = 0; k < x.getNumVectors(); ++k) {
    const auto x_k = x.getVector(k);
    Kokkos::deep_copy(space, column(vectors, k),
                      column(x_k->getLocalViewDevice(Tpetra::Access::ReadOnly), 0));
  }
  return vectors;
}

/// Do two views overlap in memory? Tpetra compares where vectors begin on the host only; vectors wrapped
/// around memory of somebody else's may share a part of it, or have no host memory in common.
template <class Scalar, class Space>
bool overlap(const MultiVectorView<const Scalar, Space>& x, const MultiVectorView<Scalar, Space>& y) {
  const std::less<const Scalar*> before;
  return before(x.data(), y.data() + y.span()) && before(y.data(), x.data() + x.span());
}

/// Calls product(x, y) with views of X and Y: of all vectors where they lie at one stride, else of one after
/// the other. A view of X is that of a copy where X and Y share memory: of all of X, because vector k of Y
/// may be any vector of X.
template <class Scalar, class Space, class TpetraMultiVector, class Product>
void for_views(const Space& space, const TpetraMultiVector& x, TpetraMultiVector& y,
               VectorBuffer<Scalar, Space>& copy, const Product& product) {
  using From = MultiVectorView<const Scalar, Space>;
  const From copied = x.aliases(y) ? copy_of<Scalar, Space>(space, x, copy) : From();
  const bool use_copy = copied.data() != nullptr;
  if (x.isConstantStride() && y.isConstantStride()) {
    From from = use_copy ? copied : From(x.getLocalViewDevice(Tpetra::Access::ReadOnly));
    const MultiVectorView<Scalar, Space> to = y.getLocalViewDevice(Tpetra::Access::ReadWrite);
    if (!use_copy && overlap<Scalar, Space>(from, to)) from = copy_of<Scalar, Space>(space, x, copy);
    product(from, to);
    return;
  }
  for (std::size_t k = 0; k < x.getNumVectors(); ++k) {
    const auto x_k = x.getVector(k);
    const auto y_k = y.getVectorNonConst(k);
    const From from = use_copy ? From(as_multivector(column(copied, k)))
                               : From(x_k->getLocalViewDevice(Tpetra::Access::ReadOnly));
    const MultiVectorView<Scalar, Space> to = y_k->getLocalViewDevice(Tpetra::Access::ReadWrite);
    product(from, to);
  }
}

/// Refuses vectors of other sizes than rows x k. \throws std::invalid_argument
template <class TpetraMultiVector>
void check_sizes(const std::string& name, const TpetraMultiVector& x, const TpetraMultiVector& y,
                 std::int64_t rows) {
  const auto n = static_cast<std::size_t>(rows);
  if (x.getNumVectors() == y.getNumVectors() && x.getLocalLength() == n && y.getLocalLength() == n) return;
  const auto size = [](const TpetraMultiVector& v) {
    return std::to_string(v.getLocalLength()) + " x " + std::to_string(v.getNumVectors());
  };
  throw std::invalid_argument(name + ": apply was given X of " + size(x) + " and Y of " + size(y) +
                              " on this rank, which has " + std::to_string(n) + " rows");
}

/// The applications of one preconditioner: what they need besides it, kept between them.
template <class Scalar, class Space>
class Application {
 public:
  /// Y = alpha M^-1 X + beta Y, in any mode that M^-1 has. \throws std::invalid_argument
  template <class TpetraMultiVector>
  void operator()(const Space& space, const Preconditioner<Scalar, Space>& m, const TpetraMultiVector& x,
                  TpetraMultiVector& y, Teuchos::ETransp mode, Scalar alpha, Scalar beta) {
    check_sizes(m.name(), x, y, m.num_rows());
    if (mode != Teuchos::NO_TRANS && !m.is_symmetric())
      throw std::invalid_argument(m.name() + " cannot apply its transpose");
    for_views<Scalar, Space>(space, x, y, m_copy, [&](const auto& from, const auto& to) {
      const int k = static_cast<int>(to.extent(1));
      if (!m_workspace || k > m_vectors) {
        m_workspace = m.make_workspace(space, k);
        m_vectors = k;
      }
      if (alpha == Scalar(1) && beta == Scalar(0)) {
        m.apply(space, from, to, *m_workspace);
        return;
      }
      const auto result = m_result.get(space, to.extent(0), to.extent(1));
      if (alpha != Scalar(0)) m.apply(space, from, result, *m_workspace);
      prekond::impl::update<Scalar, Space>(space, alpha, result, beta, to);
    });
  }

 private:
  std::unique_ptr<Workspace> m_workspace;
  int m_vectors = 0;
  VectorBuffer<Scalar, Space> m_copy;
  VectorBuffer<Scalar, Space> m_result;
};

}  // namespace prekond::tpetra::impl
