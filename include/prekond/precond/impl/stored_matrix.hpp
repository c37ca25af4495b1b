// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/operator.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include <prekond/matrix/matrix_format.hpp>
#include <prekond/matrix/sell_matrix.hpp>
#include <prekond/precond/setup_options.hpp>

#include <cstdint>
#include <memory>

namespace prekond {

namespace impl {

/// The interface of H in one format and one precision.
template <class Scalar, class Space>
class StoredFormat {
 public:
  virtual ~StoredFormat() = default;
  /// y = diag(row_scale) H x + beta y; an empty row_scale is the identity.
  virtual void multiply(const Space& space, VectorView<const real_type_t<Scalar>, Space> row_scale,
                        MultiVectorView<const Scalar, Space> x, Scalar beta,
                        MultiVectorView<Scalar, Space> y) const = 0;
  /// y = product diag(row_scale) H x + direct x + previous y + source b
  virtual void multiply_recurrence(const Space& space, const RecurrenceStep<Scalar>& step,
                                   VectorView<const real_type_t<Scalar>, Space> row_scale,
                                   MultiVectorView<const Scalar, Space> x,
                                   MultiVectorView<const Scalar, Space> b,
                                   MultiVectorView<Scalar, Space> y) const = 0;
  virtual std::int64_t bytes() const = 0;
};

}  // namespace impl

/// The precision and the format in which a matrix is kept.
struct StoredAs {
  StoredAs(Storage precision, MatrixFormat its_format = MatrixFormat::csr)
      : storage(precision), format(its_format) {}
  Storage storage;
  MatrixFormat format;  ///< `automatic`: see advise_format
};

/// The entry of each row that rounding does not take to zero. A triangular factor without its diagonal would
/// be singular.
enum class Nonzero { none, first, last };

/// A sparse matrix as inverses keep it to apply it: A = D H, with H's entries in the precision of a `Storage`
/// and D = diag(d), d_i powers of two; for `Storage::full` A itself.
///
/// d_i brings row i of H to the top of the stored type's range: its largest entry lies in [1, 2), in
/// [2^14, 2^15) of half, which so keeps entries down to 2^-28 of it. H's entries are A's divided by d_i, and
/// rounded once. Products convert them, and sum in the vectors' precision. Complex matrices have two numbers
/// an entry in the lower precisions, and real d_i. `Storage::single_precision` of a matrix of floats is
/// `full`.
///
/// This is the only place where a preconditioner's product knows a precision or a format: what is added here
/// serves all of them.
///
/// Cost of a product: 2 nnz operations a vector (8 of complex numbers), the matrix read once for every four
/// vectors. Memory: A's columns and rows, which are
/// shared with the A given, nnz stored values, and n numbers d_i where they are not full; in another format
/// than CSR what that takes in addition to A's columns and rows.
///
/// Copies share what they keep.
template <class Scalar, class Space>
class StoredMatrix {
 public:
  using Real = real_type_t<Scalar>;
  using matrix_type = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;

  /// 0 x 0.
  StoredMatrix() = default;

  /// A, its rows scaled one by one. Rows may be empty. Fences where it stores values of its own. \throws
  /// InputError where a format refuses the pattern, see make_sell, make_dia \pre A's entries are finite,
  /// where they are not stored in full
  StoredMatrix(const Space& space, const matrix_type& a, StoredAs as, Nonzero nonzero = Nonzero::none);

  /// A, whose pattern is one of whole blocks, as make_block_sell has it; format() is `bcsr` then. As above
  /// where that is nothing, and of complex matrices. \pre a has that pattern
  StoredMatrix(const Space& space, const matrix_type& a, StoredAs as, const BlockPattern<Space>& blocks);

  /// A in the format of `like`, and in the layout that it has in SELL and DIA with values of the same
  /// precision, or by blocks; else as above. \pre the pattern is that of `like`
  StoredMatrix(const Space& space, const matrix_type& a, Storage storage, const StoredMatrix& like);

  /// A C^-1 for C = diag(column_scale) of powers of two, each entry rounded as it is, without scales of the
  /// rows: with C = `row_scale` of StoredMatrix(A^T) that is H^T, to the last bit. A itself for an empty
  /// column_scale, which is what `full` storage has. Fences where it stores values of its own. \throws
  /// std::logic_error for scales of a matrix that is stored in full
  static StoredMatrix with_columns_divided(const Space& space, const matrix_type& a, StoredAs as,
                                           VectorView<const Real, Space> column_scale,
                                           Nonzero nonzero = Nonzero::none);

  /// D of StoredMatrix(space, a, storage); empty where that is the identity. Does not fence.
  static Vector<Real, Space> scale_of_rows(const Space& space, const matrix_type& a, Storage storage);

  /// From now on diag(scale) A: d_i scale_i in place of d_i. Nothing where `scale` is empty. Copies change
  /// too. Does not fence. \throws std::logic_error for scales of a matrix that is stored in full \throws
  /// InputError where there are not as many as rows
  void multiply_rows(const Space& space, VectorView<const Real, Space> scale);

  /// diag(scale) A, which shares A's entries: d_i scale_i in place of d_i, one number a row more to read.
  /// Keeps `scale` where A has no d_i. Does not fence. \throws InputError where there are not as many as rows
  StoredMatrix with_rows_multiplied(const Space& space, const Vector<Real, Space>& scale) const;

  /// y = A x, for x of num_cols() x k and y of num_rows() x k. No allocation, no fence. On a host each column
  /// has the bits of a single column. \throws InputError where the sizes do not fit \pre x and y share no
  /// memory
  void multiply(const Space& space, MultiVectorView<const Scalar, Space> x,
                MultiVectorView<Scalar, Space> y) const {
    if (m_format) m_format->multiply(space, m_row_scale, x, Scalar(0), y);
  }
  /// y = y + A x, likewise: A x is rounded before it is added.
  void add_product(const Space& space, MultiVectorView<const Scalar, Space> x,
                   MultiVectorView<Scalar, Space> y) const {
    if (m_format) m_format->multiply(space, m_row_scale, x, Scalar(1), y);
  }
  /// y = product A x + direct x + previous y + source b in one pass, see RecurrenceStep. No allocation, no
  /// fence. \throws InputError where the sizes do not fit \pre y shares no memory with x and b
  void multiply_recurrence(const Space& space, const RecurrenceStep<Scalar>& step,
                           MultiVectorView<const Scalar, Space> x, MultiVectorView<const Scalar, Space> b,
                           MultiVectorView<Scalar, Space> y) const {
    if (m_format) m_format->multiply_recurrence(space, step, m_row_scale, x, b, y);
  }

  std::int64_t num_rows() const { return m_csr.num_rows; }
  std::int64_t num_cols() const { return m_csr.num_cols; }
  std::int64_t nnz() const { return m_csr.nnz(); }
  /// Bytes of its pattern, values and scales.
  std::int64_t bytes() const;
  /// Are the entries those of the matrix that was given, but for with_rows_multiplied?
  bool is_full() const { return m_is_full; }

  MatrixFormat format() const { return m_as; }   ///< never `automatic`
  Storage storage() const { return m_storage; }  ///< `full` also of floats in single precision

  /// A by rows. Its values are gone where they are stored in another precision or format.
  const matrix_type& csr() const { return m_csr; }
  /// D; empty where it is the identity.
  VectorView<const Real, Space> row_scale() const { return m_row_scale; }

 private:
  matrix_type m_csr;
  std::shared_ptr<const impl::StoredFormat<Scalar, Space>> m_format;  ///< null of 0 x 0
  Vector<Real, Space> m_row_scale;
  bool m_is_full = true;
  Storage m_storage = Storage::full;
  MatrixFormat m_as = MatrixFormat::csr;

  BlockPattern<Space> m_blocks;  ///< empty where it is kept otherwise

  /// Keeps H in a format. \pre m_csr is A
  template <class Value>
  void keep(const Space& space, const CsrMatrix<Value, int, std::size_t, typename Space::memory_space>& h,
            MatrixFormat format, const StoredMatrix* like = nullptr);
  void store(const Space& space, const matrix_type& a, StoredAs as, Nonzero nonzero,
             const StoredMatrix* like);
};

}  // namespace prekond
