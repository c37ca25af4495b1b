// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The diagonal of the matrix as the setups need it.
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include <prekond/matrix/matrix_source.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace prekond::impl {

/// Extremes of the diagonal; `bad_row` is the first row without a positive (and real) entry, or -1.
template <class Scalar>
struct DiagonalRange {
  real_type_t<Scalar> min;
  real_type_t<Scalar> max;
  std::int64_t bad_row;
};

/// Copies the diagonal, its real parts. Fences.
template <class Scalar, class Space>
DiagonalRange<Scalar> extract_diagonal(const Space& space, const CsrView<Scalar, Space>& a,
                                       VectorView<real_type_t<Scalar>, Space> diagonal);

/// The range of the whole that the source is a part of, where it knows that.
template <class Scalar, class Space>
void widen(DiagonalRange<Scalar>& range, const MatrixSource<Scalar, Space>& source) {
  if (!source.knows_diagonals()) return;
  range.min = std::min(range.min, static_cast<real_type_t<Scalar>>(source.least_diagonal()));
  range.max = std::max(range.max, static_cast<real_type_t<Scalar>>(source.largest_diagonal()));
}

/// \throws InputError for a row without a positive (and real) diagonal entry
template <class Scalar>
void check_diagonal(const DiagonalRange<Scalar>& range, const std::string& name) {
  if (range.bad_row < 0) return;
  throw InputError(
      name + ": the diagonal entry of row " + std::to_string(range.bad_row + 1) +
          (is_complex<Scalar>
               ? " is missing, not positive or not real; the matrix has to be Hermitian positive definite"
               : " is missing or not positive; the matrix has to be symmetric positive definite"),
      range.bad_row);
}

}  // namespace prekond::impl
