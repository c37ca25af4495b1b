// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A stored matrix, entry by entry and one row after the other.
#include "testing/host_matrix.hpp"

#include <prekond/core/scalar.hpp>
#include <prekond/precond/impl/stored_matrix.hpp>
#include "core/half.hpp"

#include <cmath>
#include <vector>

namespace prekond::testing {

/// The stored form of a number: itself, or the nearest of a lower precision.
template <class Real>
Real reference_rounded(Real value, Storage storage) {
  switch (storage) {
    case Storage::single_precision:
      return static_cast<Real>(static_cast<float>(value));
    case Storage::half:
      return static_cast<Real>(static_cast<Half>(value));
    case Storage::bfloat16:
      return static_cast<Real>(static_cast<BFloat16>(value));
    default:
      return value;
  }
}
template <class Real>
Kokkos::complex<Real> reference_rounded(const Kokkos::complex<Real>& value, Storage storage) {
  return {reference_rounded(value.real(), storage), reference_rounded(value.imag(), storage)};
}

/// Is a matrix of such scalars stored as it is?
template <class Scalar>
bool reference_is_full(Storage storage) {
  return storage == Storage::full ||
         (storage == Storage::single_precision && std::is_same_v<real_type_t<Scalar>, float>);
}

/// d_i: what brings the largest entry of row i to [1, 2), or to [2^14, 2^15) of half; empty where the matrix
/// is stored as it is. The bounds are those of `StoreRows`, far from which a row has to be.
template <class Scalar>
std::vector<real_type_t<Scalar>> reference_row_scale(const HostMatrix<Scalar>& a, Storage storage) {
  using Real = real_type_t<Scalar>;
  std::vector<Real> scale;
  if (reference_is_full<Scalar>(storage)) return scale;
  const int top = storage == Storage::half ? 14 : 0;
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    Real largest = 0;
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      largest = std::max<Real>(largest, Kokkos::abs(a.values[k]));
    const int least = sizeof(Real) == 4 ? -125 : -1021;
    scale.push_back(std::ldexp(Real(1), largest > 0 ? std::max(std::ilogb(largest) - top, least) : least));
  }
  return scale;
}

/// D H for the H that is kept; with `column_scale`, H C for the H = A C^-1.
template <class Scalar>
HostMatrix<Scalar> reference_stored(HostMatrix<Scalar> a, Storage storage, Nonzero nonzero = Nonzero::none,
                                    const std::vector<real_type_t<Scalar>>& column_scale = {}) {
  using Real = real_type_t<Scalar>;
  if (reference_is_full<Scalar>(storage)) return a;
  const std::vector<Real> row_scale = reference_row_scale(a, storage);
  const Real least = std::ldexp(Real(1), storage == Storage::half ? -14 : -126);
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    const std::size_t begin = a.row_ptrs[i], end = a.row_ptrs[i + 1];
    for (std::size_t k = begin; k < end; ++k) {
      const Real scale = column_scale.empty() ? row_scale[i] : column_scale[a.col_idxs[k]];
      Scalar value = a.values[k] / scale;
      const bool kept = nonzero == Nonzero::first ? k == begin : nonzero == Nonzero::last && k + 1 == end;
      if (kept && Kokkos::abs(value) < least) value = Scalar(real_part(value) < 0 ? -least : least);
      a.values[k] = reference_rounded(value, storage) * scale;
    }
  }
  return a;
}

}  // namespace prekond::testing
