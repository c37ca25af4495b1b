// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_matrix.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace prekond {

namespace impl {
struct MarketInput;
}

/// The facts that a Matrix Market file states about itself, and those found in it.
struct MatrixMarketInfo {
  std::string format;                ///< "coordinate" or "array"
  std::string field;                 ///< "real", "integer", "pattern" or "complex"
  std::string symmetry;              ///< "general", "symmetric", "skew-symmetric" or "hermitian"
  std::int64_t entries_in_file = 0;  ///< lines with an entry, zeros and duplicates included
  std::int64_t duplicates = 0;       ///< entries that were added to an earlier one of the same row and column
  std::int64_t inflated_bytes = 0;   ///< length of the text
};

/// A Matrix Market file that is open, and whose first lines have been read: the caller knows what it holds
/// before deciding how to read it. It is read once and forward, so that it may be a pipe.
class MatrixMarketFile {
 public:
  /// `block_size`: the bytes of text that are held at once.
  /// \throws InputError as read_matrix_market
  explicit MatrixMarketFile(const std::string& path, std::size_t block_size = std::size_t(4) << 20);
  ~MatrixMarketFile();
  MatrixMarketFile(MatrixMarketFile&&) noexcept;
  MatrixMarketFile& operator=(MatrixMarketFile&&) noexcept;

  /// As read_matrix_market_info.
  const MatrixMarketInfo& info() const { return m_info; }

  /// As read_matrix_market. \throws std::logic_error the second time
  template <class Scalar>
  CsrMatrix<Scalar, int, std::size_t, Kokkos::HostSpace> read(MatrixMarketInfo* info = nullptr);

 private:
  std::unique_ptr<impl::MarketInput> m_input;
  MatrixMarketInfo m_info;
};

/// Reads a matrix from a Matrix Market file, plain or gzip (told by its content, not by its name).
///
/// Coordinate and array; real, double, integer, pattern (value 1) and complex; general, symmetric,
/// skew-symmetric and hermitian. One triangle in the file becomes both in the matrix. Duplicates are summed
/// in the order of the file. Explicit zeros are kept in coordinate format and dropped in array format. The
/// result has the same bits for any number of threads. A gzip file may have several members; any bytes but
/// zeros after the last one are refused, as is text that its entries do not justify (64 MB and 1 kB an entry,
/// 1 MB a comment).
///
/// Cost: one pass over the text, parsed in parallel while the next block is inflated. Memory, with the
/// result: at most 64 MB + 40 bytes a byte of text; the size line makes the reader allocate nothing.
/// Scalar: double, float and their complex numbers; a real matrix may be read as a complex one.
/// \throws InputError "PATH:LINE: ..." for everything that is not exactly a matrix with finite entries
template <class Scalar>
CsrMatrix<Scalar, int, std::size_t, Kokkos::HostSpace> read_matrix_market(const std::string& path,
                                                                          MatrixMarketInfo* info = nullptr) {
  return MatrixMarketFile(path).read<Scalar>(info);
}

/// The statements of the first lines of a file; the number of entries is the one that they announce.
/// \throws InputError
inline MatrixMarketInfo read_matrix_market_info(const std::string& path) {
  return MatrixMarketFile(path, 65536).info();
}

/// Reads a vector: an array or coordinate file of n x 1 or 1 x n; what a coordinate file leaves out is zero.
/// Scalar and memory as for matrices.
/// \throws InputError also when `expected_length >= 0` and n is another number
template <class Scalar>
Kokkos::View<Scalar*, Kokkos::LayoutLeft, Kokkos::HostSpace> read_vector_market(
    const std::string& path, std::int64_t expected_length = -1);

struct MatrixMarketWriteOptions {
  bool symmetric = false;  ///< write only the lower triangle; the matrix must be symmetric to the last bit
  std::string comment;     ///< goes below the banner; may have several lines
  bool hermitian = false;  ///< likewise for a complex matrix that is Hermitian to the last bit
};

namespace impl {
template <class Scalar>
void write_matrix_market(const std::string& path, const CsrView<Scalar, Kokkos::HostSpace>& a,
                         const MatrixMarketWriteOptions& options);
template <class Scalar>
void write_vectors_market(const std::string& path, const MultiVectorView<const Scalar, Kokkos::HostSpace>& x,
                          const std::string& comment);
}  // namespace impl

/// Writes a host matrix in coordinate format, row by row; gzip when the name ends in ".gz". Numbers are the
/// shortest that read back as the same bits. (A value that is not finite is written, but read_matrix_market
/// refuses it.) \throws InputError when the file cannot be written, or `options.symmetric` (`hermitian`) and
/// the matrix is not symmetric (Hermitian)
template <class Matrix>
void write_matrix_market(const std::string& path, const Matrix& a,
                         const MatrixMarketWriteOptions& options = {}) {
  using Scalar = typename Matrix::scalar_type;
  static_assert(std::is_same_v<typename Matrix::memory_space, Kokkos::HostSpace>,
                "write_matrix_market takes a matrix in host memory: use copy_to<Kokkos::HostSpace>");
  impl::write_matrix_market<Scalar>(path, CsrView<Scalar, Kokkos::HostSpace>(a), options);
}

/// Writes a host vector in array format, n x 1. Otherwise as write_matrix_market.
template <class View>
void write_vector_market(const std::string& path, const View& x, const std::string& comment = "") {
  using Scalar = typename View::non_const_value_type;
  impl::write_vectors_market<Scalar>(path, as_multivector(VectorView<const Scalar, Kokkos::HostSpace>(x)),
                                     comment);
}
/// Writes host vectors in array format, n x k, one after the other.
template <class View>
void write_vectors_market(const std::string& path, const View& x, const std::string& comment = "") {
  using Scalar = typename View::non_const_value_type;
  impl::write_vectors_market<Scalar>(path, MultiVectorView<const Scalar, Kokkos::HostSpace>(x), comment);
}

}  // namespace prekond
