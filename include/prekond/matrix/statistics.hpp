// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_matrix.hpp>

#include <cstdint>

namespace prekond {

/// The facts that `prekond info` prints. For a complex matrix, "symmetric" is Hermitian (a_ji conjugated),
/// and signs of the diagonal are those of the real parts.
struct MatrixStatistics {
  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  std::int64_t nnz = 0;

  std::int64_t row_length_min = 0;
  std::int64_t row_length_max = 0;
  double row_length_mean = 0;
  std::int64_t empty_rows = 0;

  /// (i, j) is stored where (j, i) is. False for a rectangular matrix.
  bool symmetric_pattern = false;
  /// |a_ij - a_ji| <= symmetry_tolerance sqrt(|a_ii a_jj|) for all stored entries, as check_spd_input has it.
  bool symmetric_values = false;
  /// The largest |a_ij - a_ji| / max(sqrt(|a_ii a_jj|), |a_ij|, |a_ji|): from 0, symmetric, to 2. 0 if
  /// rectangular.
  double max_asymmetry = 0;

  // In the first min(num_rows, num_cols) rows:
  std::int64_t diagonal_missing = 0;
  std::int64_t diagonal_zero = 0;  ///< stored and 0
  std::int64_t diagonal_negative = 0;
  std::int64_t diagonal_positive = 0;
  double diagonal_min_abs = 0;  ///< of the stored ones; 0 where there is none
  double diagonal_max_abs = 0;

  std::int64_t lower_bandwidth = 0;  ///< largest i - j of a stored entry, at least 0
  std::int64_t upper_bandwidth = 0;  ///< largest j - i

  /// Rows with |a_ii| >= sum over j != i of |a_ij|, in rounded arithmetic.
  std::int64_t diagonally_dominant_rows = 0;
  /// Rows as of an M-matrix, but for a tenth: the sum of |a_ij| over the a_ij, j != i, that do not have the
  /// sign opposite to that of a_ii is at most a tenth of the sum over all j != i.
  std::int64_t m_matrix_rows = 0;
  /// The maximum norm of I - D^-1 A: the largest sum over j != i of |a_ij| / |a_ii| of a row; infinity where
  /// an a_ii is 0 or missing.
  double jacobi_norm = 0;
  double frobenius_norm = 0;
  double max_abs = 0;
};

/// Measures a matrix on `space`. `with_norms`: max_asymmetry and frobenius_norm too, which are 0 without.
///
/// A sum of hashes over the entries is always 0 where A is symmetric, and otherwise only with a probability
/// of about 2^-64. Cost: one reading of A with a binary search a row, and one of its values for the norm;
/// where the sum is not 0 a binary search an entry, and without norms one reading of the columns and a search
/// for each entry up to the first that differs from its mirror image. Memory: seven doubles a row, and four
/// more for max_asymmetry. Same bits for any number of threads, and the norm of 2^k A is 2^k times that of A,
/// as long as it is a normal number. \pre validate(space, a) passed
template <class Scalar, class Space>
MatrixStatistics statistics(const Space& space, const CsrView<Scalar, Space>& a, bool with_norms = true);

}  // namespace prekond
