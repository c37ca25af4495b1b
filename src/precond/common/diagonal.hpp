// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The diagonal of the matrix as the setups need it.
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include <prekond/matrix/find_entry.hpp>
#include <prekond/matrix/validate.hpp>

#include <cstdint>
#include <limits>
#include <string>

namespace prekond::impl {

/// Extremes of the diagonal; `bad_row` is the first row without a positive (and real) entry, or -1.
template <class Scalar>
struct DiagonalRange {
  real_type_t<Scalar> min;
  real_type_t<Scalar> max;
  std::int64_t bad_row;
};

template <class Scalar, class Space>
struct ExtractDiagonal {
  using Real = real_type_t<Scalar>;
  CsrView<Scalar, Space> a;
  VectorView<Real, Space> diagonal;
  KOKKOS_FUNCTION void operator()(int i, Real& min, Real& max, std::int64_t& bad) const {
    std::size_t place = 0;
    const Scalar entry = find_entry(a, i, i, place);
    const Real value = real_part(entry);
    diagonal(i) = value;
    if (!(value > 0) || !Kokkos::isfinite(value) ||
        !(Kokkos::abs(imaginary_part(entry)) <= Real(symmetry_tolerance<Scalar>) * value)) {
      if (i < bad) bad = i;
    } else {
      if (value < min) min = value;
      if (value > max) max = value;
    }
  }
};

/// Copies the diagonal, its real parts. Fences.
template <class Scalar, class Space>
DiagonalRange<Scalar> extract_diagonal(const Space& space, const CsrView<Scalar, Space>& a,
                                       VectorView<real_type_t<Scalar>, Space> diagonal) {
  using Real = real_type_t<Scalar>;
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  DiagonalRange<Scalar> range{};
  Kokkos::parallel_reduce("prekond::extract_diagonal", Kokkos::RangePolicy<Space>(space, 0, a.num_rows),
                          ExtractDiagonal<Scalar, Space>{a, diagonal}, Kokkos::Min<Real>(range.min),
                          Kokkos::Max<Real>(range.max), Kokkos::Min<std::int64_t>(range.bad_row));
  if (range.bad_row == none) range.bad_row = -1;
  return range;
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
