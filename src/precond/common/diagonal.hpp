// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The diagonal of the matrix as the setups need it.
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_matrix.hpp>

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
