// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/host_matrix.hpp"

#include <prekond/core/scalar.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

namespace prekond::testing {

/// Exponents of R and C.
struct ReferenceScale {
  std::vector<int> row, column;
};

/// The exponent of the largest part of a number; the least int where it is 0 or not finite.
template <class Scalar>
int reference_exponent(const Scalar& x) {
  const std::complex<double> z(x);
  const double size = std::fmax(std::abs(z.real()), std::abs(z.imag()));
  return size > 0 && std::isfinite(size) ? std::max(std::ilogb(size), -1022)
                                         : std::numeric_limits<int>::min();
}

inline int reference_half(int exponent) {
  return static_cast<int>(std::floor(exponent / 2.0));
}

template <class Scalar>
ReferenceScale reference_diagonal_scale(const HostMatrix<Scalar>& a) {
  ReferenceScale scale;
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    const int exponent = reference_exponent(a(i, i));
    scale.row.push_back(exponent == std::numeric_limits<int>::min() ? 0 : -reference_half(exponent));
  }
  scale.column = scale.row;
  return scale;
}

/// Ruiz's iteration in exponents, dense.
template <class Scalar>
ReferenceScale reference_equilibrated(const HostMatrix<Scalar>& a, int most) {
  const auto n = static_cast<std::size_t>(a.num_rows);
  ReferenceScale scale{std::vector<int>(n, 0), std::vector<int>(n, 0)};
  constexpr int none = std::numeric_limits<int>::min();
  for (int sweep = 0; sweep < 20; ++sweep) {
    std::vector<int> row(n, none), column(n, none);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
        const auto j = static_cast<std::size_t>(a.col_idxs[k]);
        if (j >= n || reference_exponent(a.values[k]) == none) continue;
        const int exponent = reference_exponent(a.values[k]) + scale.row[i] + scale.column[j];
        row[i] = std::max(row[i], exponent);
        column[j] = std::max(column[j], exponent);
      }
    for (std::size_t i = 0; i < n; ++i) {
      if (row[i] != none) scale.row[i] = std::clamp(scale.row[i] - reference_half(row[i]), -most, most);
      if (column[i] != none)
        scale.column[i] = std::clamp(scale.column[i] - reference_half(column[i]), -most, most);
    }
  }
  return scale;
}

/// R A C; columns >= num_rows only by R.
template <class Scalar>
HostMatrix<Scalar> reference_scaled(HostMatrix<Scalar> a, const ReferenceScale& scale) {
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const int j = a.col_idxs[k];
      const int exponent = scale.row[i] + (j < a.num_rows ? scale.column[j] : 0);
      const std::complex<double> z(a.values[k]);
      const double real = std::ldexp(z.real(), exponent), imaginary = std::ldexp(z.imag(), exponent);
      if constexpr (is_complex<Scalar>)
        a.values[k] = Scalar(real, imaginary);
      else
        a.values[k] = static_cast<Scalar>(real);
    }
  return a;
}

}  // namespace prekond::testing
