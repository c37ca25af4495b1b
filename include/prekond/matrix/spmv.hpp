// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/block_reduce.hpp>
#include <prekond/core/operator.hpp>
#include <prekond/matrix/csr_matrix.hpp>

namespace prekond {

/// Lanes that share a row in the product, chosen from the mean row length: 4 entries a lane, or 6 in longer
/// rows, so that a row's loads are coalesced, all of them on their way at once, and few lanes idle on its
/// end. 1 on the host.
template <class Space>
int spmv_vector_length(std::int64_t num_rows, std::int64_t nnz);

/// y = alpha A x + beta y, for x of num_cols x k and y of num_rows x k. With beta = 0, y is not read. On a
/// host a column has the bits that it has alone. One kernel for each group of up to four: the matrix is read
/// once. No allocation, no fence.
template <class Scalar, class Space>
void spmv(const Space& space, Scalar alpha, const CsrView<Scalar, Space>& a,
          MultiVectorView<const Scalar, Space> x, Scalar beta, MultiVectorView<Scalar, Space> y);

/// y = A x and dot(0) = sum_{i < num_rows} conj(x_i) y_i, in one pass. `workspace` is made for num_rows. Same
/// bits for any number of threads; y has those of `spmv`.
template <class Scalar, class Space>
void spmv_dot(const Space& space, const CsrView<Scalar, Space>& a, VectorView<const Scalar, Space> x,
              VectorView<Scalar, Space> y, VectorView<Scalar, Space> dot,
              const ReduceWorkspace<Scalar, Space>& workspace);

/// y = D A x + beta y for a matrix that is stored in another precision than the vectors, D = diag(row_scale),
/// or D = I where that is empty. With beta = 0, y is not read. Entries are converted and summed in the
/// vectors' precision. No allocation, no fence. Compiled for values of type float, Half and BFloat16
/// (<prekond/core/half.hpp>), and vectors of double and float; for complex vectors, for complex<float> and
/// pairs of the others.
template <class Value, class Scalar, class Space>
void spmv_stored(const Space& space, VectorView<const real_type_t<Scalar>, Space> row_scale,
                 const CsrView<Value, Space>& a, MultiVectorView<const Scalar, Space> x,
                 MultiVectorView<Scalar, Space> y, Scalar beta = Scalar(0));

/// A CSR matrix as an operator. It keeps the matrix's views (not a copy of what they point to).
template <class Scalar, class Space>
class CsrOperator : public Operator<Scalar, Space> {
 public:
  using matrix_type = CsrMatrix<const Scalar, const int, const std::size_t, typename Space::memory_space>;

  explicit CsrOperator(const matrix_type& a) : m_a(a) {}

  std::int64_t num_rows() const override { return m_a.num_rows; }
  std::int64_t num_cols() const override { return m_a.num_cols; }
  const matrix_type& matrix() const { return m_a; }

  void apply(const Space& space, MultiVectorView<const Scalar, Space> x, MultiVectorView<Scalar, Space> y,
             Scalar alpha = 1, Scalar beta = 0) const override {
    spmv<Scalar, Space>(space, alpha, m_a, x, beta, y);
  }
  void apply_dot(const Space& space, VectorView<const Scalar, Space> x, VectorView<Scalar, Space> y,
                 VectorView<Scalar, Space> dot,
                 const ReduceWorkspace<Scalar, Space>& workspace) const override {
    spmv_dot<Scalar, Space>(space, m_a, x, y, dot, workspace);
  }

 private:
  matrix_type m_a;
};

}  // namespace prekond
