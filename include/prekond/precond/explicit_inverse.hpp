// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/pattern/threshold.hpp>
#include <prekond/precond/impl/memory_meter.hpp>
#include <prekond/precond/matrix_preconditioner.hpp>
#include <prekond/precond/setup_options.hpp>

#include <memory>

namespace prekond {

namespace impl {
template <class Scalar, class Space>
class StoredInverse;
}

/// A sparse matrix M ~ A^-1 that is stored by rows and applied by one product: what the sparse approximate
/// inverses (SPAI, ISAI) have in common.
///
/// The values may be stored in a lower precision than the vectors have (`Storage`), to read less: then M = D
/// H with D_ii a power of two that brings row i of H to the top of the stored type's range; sums are formed
/// in the vectors' precision.
template <class Scalar, class Space>
class ExplicitInverse : public MatrixPreconditioner<Scalar, Space> {
 public:
  using matrix_type = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

  /// y = M x, or D (H x). Cost: 2 nnz(M) operations a vector (8 of complex numbers), M read once.
  /// \throws std::logic_error before numeric
  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Workspace& workspace) const override;

  /// M: sorted rows. Its values are gone where they are stored in another precision.
  const matrix_type& inverse() const { return m_m; }

 protected:
  /// Takes a finished M, stores it, and fills what the report says of it. Fences. `meter` has what the setup
  /// held.
  void take_inverse(const Space& space, const matrix_type& m, Storage storage, Report& report,
                    impl::MemoryMeter& meter);
  /// Of a graph of the user's, the part that M has: all of it, and the diagonal.
  static CsrGraph<Space> pattern_from(const Space& space, const CsrGraphView<Space>& graph) {
    return with_diagonal<Space>(space, graph);
  }
  CsrGraph<Space> inverse_pattern() const { return {m_m.num_rows, m_m.num_rows, m_m.row_ptrs, m_m.col_idxs}; }
  void forget_inverse() {
    m_m = {};
    m_stored = nullptr;
  }
  /// The inverse of a rank's part without rows.
  void take_empty_inverse(const Space& space);
  bool has_inverse() const { return m_m.row_ptrs.extent(0) > 0; }

 private:
  matrix_type m_m;
  std::shared_ptr<const impl::StoredInverse<Scalar, Space>> m_stored;  ///< null: m_m has the values
};

}  // namespace prekond
