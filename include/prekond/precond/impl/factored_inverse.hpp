// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/pattern/impl/threshold.hpp>
#include <prekond/precond/impl/stored_matrix.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

#include <memory>

namespace prekond {

/// M^-1 = G^T G with a sparse lower triangular G: the part that the factored sparse approximate inverses
/// (FSAI) share.
///
/// Formula: an application is a product with G and one with G^T, which is stored too. M is symmetric and,
/// where G has no zero on its diagonal, positive definite. For general matrices M^-1 = G_U G_L, with a sparse
/// upper triangular G_U in place of G^T. For complex scalars M^-1 = G^H G is Hermitian, with a real diagonal
/// of G.
///
/// Storage: the values may be stored in a lower precision than the vectors have (`Storage`), to read less:
/// then G = D H with D_ii a power of two that brings row i of H into the middle of the range of the stored
/// type, and M^-1 = H^T D^2 H with H and H^T rounded alike. That is still symmetric and positive definite, so
/// that CG needs no change; sums are formed in the vectors' precision. Likewise G_U = H_U D_U, with scales of
/// its own. Reduced precisions hold two numbers for a complex entry.
///
/// Breakdown: a row with an entry that is not finite keeps only its diagonal (1 where that is not finite
/// either), in both factors, and is counted.
///
/// Scaling: for A times a power of four M^-1 is divided by it, to the last bit; for other powers of two the
/// square roots in G round.
template <class Scalar, class Space>
class FactoredInverse : public MatrixPreconditioner<Scalar, Space> {
 public:
  using matrix_type = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  using typename MatrixPreconditioner<Scalar, Space>::matrix_source;
  using typename MatrixPreconditioner<Scalar, Space>::matrix_view;

  std::unique_ptr<Workspace> make_workspace(const Space& space, int num_vectors) const override;
  bool can_apply_add() const override { return true; }

  /// G: sorted rows, the diagonal last. Its values are gone where they are stored in another precision or
  /// format.
  const matrix_type& factor() const { return m_lower.csr(); }
  const matrix_type& factor_transposed() const { return m_upper.csr(); }  ///< G^H or G_U, likewise
  /// Lets the next numeric phases transpose nothing, for rows of a factor that is put together elsewhere.
  /// `factor_transposed()` is G_U^T then, or empty, and make_workspace and apply throw std::logic_error.
  void keep_rows_only() { m_rows_only = true; }

 protected:
  /// y = G^H (G x) or G_U (G_L x), by H where that is stored. Cost: 4 nnz(G) operations a vector (16 of
  /// complex numbers), both factors read once.
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;
  void apply_add_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                      MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;
  /// The factor is empty.
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;

  /// Takes a finished G, transposes (and conjugates) it, stores both, and fills the report.
  /// Fences, changes nothing where it throws.
  void store_factor(const Space& space, const matrix_type& g, StoredAs as, Report& report) {
    store_factors(space, g, g, as, report);
  }
  /// Likewise G_L and G_U^T, whose rows end with the diagonal. The report's nnz is of both, where they are
  /// two.
  void store_factors(const Space& space, const matrix_type& lower, const matrix_type& upper_transposed,
                     StoredAs as, Report& report);
  /// The part of the user's graph that G has: the lower triangle, with the diagonal.
  static CsrGraph<Space> pattern_from(const Space& space, const CsrGraphView<Space>& graph) {
    return lower_triangle<Space>(space, graph);
  }
  CsrGraph<Space> inverse_pattern() const {
    return {factor().num_rows, factor().num_rows, factor().row_ptrs, factor().col_idxs};
  }
  void forget_inverse() { m_lower = m_upper = {}; }
  bool has_inverse() const { return factor().row_ptrs.extent(0) > 0; }

 private:
  /// G x, in the workspace.
  MultiVectorView<const Scalar, Space> multiply_lower(const Space& space,
                                                      MultiVectorView<const Scalar, Space> x,
                                                      Workspace& workspace) const;

  bool m_rows_only = false;
  StoredMatrix<Scalar, Space> m_lower;  ///< D^2 H, D_U D_L H_L, or G
  StoredMatrix<Scalar, Space> m_upper;  ///< H^T, H_U, or G^T
};

}  // namespace prekond
