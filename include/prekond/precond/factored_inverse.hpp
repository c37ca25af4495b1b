// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/matrix_preconditioner.hpp>

namespace prekond {

/// M^-1 = G^T G with a sparse lower triangular G: what the factored sparse approximate inverses (FSAI) have in common.
/// An application is a product with G and one with G^T, which is stored too. Symmetric and, where G has no zero on its
/// diagonal, positive definite.
template <class Scalar, class Space>
class FactoredInverse : public MatrixPreconditioner<Scalar, Space> {
 public:
  using matrix_type = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

  bool is_symmetric() const override { return true; }

  /// y = G^T (G x). Cost: 4 nnz(G) operations a vector, both factors read once. \throws std::logic_error before numeric
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const override;
  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;

  const matrix_type& factor() const { return m_g; }              ///< G: sorted rows, the diagonal last
  const matrix_type& factor_transposed() const { return m_gt; }  ///< G^T

 protected:
  /// Takes a finished G, transposes it, and fills what the report says of both. Fences.
  void take_factor(const Space& space, const matrix_type& g, Report& report);
  void forget_factor() { m_g = m_gt = {}; }
  /// The factor of a rank's part without rows.
  void take_empty_factor(const Space& space);
  bool has_factor() const { return m_g.row_ptrs.extent(0) > 0; }

 private:
  matrix_type m_g;
  matrix_type m_gt;
};

}  // namespace prekond
