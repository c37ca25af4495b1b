// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/pattern/impl/threshold.hpp>
#include <prekond/precond/impl/stored_matrix.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>

namespace prekond {

/// A sparse matrix M ~ A^-1 that is stored by rows and applied by one product: the part that the sparse
/// approximate inverses (SPAI, ISAI) share.
///
/// Storage: the values may be stored in a lower precision than the vectors have (`Storage`), to read less:
/// then M = D H with D_ii a power of two that brings row i of H to the top of the range of the stored type;
/// sums are formed in the vectors' precision.
template <class Scalar, class Space>
class ExplicitInverse : public MatrixPreconditioner<Scalar, Space> {
 public:
  using matrix_type = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  using typename MatrixPreconditioner<Scalar, Space>::matrix_source;
  using typename MatrixPreconditioner<Scalar, Space>::matrix_view;

  /// M: sorted rows. Its values are gone where they are stored in another precision or format.
  const matrix_type& inverse() const { return m_stored.csr(); }
  bool can_apply_add() const override { return true; }

 protected:
  /// y = M x, or D (H x). Cost: 2 nnz(M) operations a vector (8 of complex numbers), M read once.
  void apply_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                  MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;
  void apply_add_step(const Space& space, MultiVectorView<const Scalar, Space> x,
                      MultiVectorView<Scalar, Space> y, Workspace& workspace) const override;
  /// The inverse is empty.
  void numeric_without_rows(const Space& space, const matrix_source& source, Report& report) override;

  /// Takes a finished M, stores it, and fills the report. Changes nothing where it throws.
  void store_inverse(const Space& space, const matrix_type& m, StoredAs as, Report& report);
  /// The part of the user's graph that M has: all of it, and the diagonal.
  static CsrGraph<Space> pattern_from(const Space& space, const CsrGraphView<Space>& graph) {
    return with_diagonal<Space>(space, graph);
  }
  CsrGraph<Space> inverse_pattern() const {
    return {inverse().num_rows, inverse().num_rows, inverse().row_ptrs, inverse().col_idxs};
  }
  void forget_inverse() { m_stored = {}; }
  bool has_inverse() const { return inverse().row_ptrs.extent(0) > 0; }

 private:
  StoredMatrix<Scalar, Space> m_stored;
};

}  // namespace prekond
