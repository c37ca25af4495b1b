// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A block of s steps of GMRES: the Newton basis w_0 = v_j, w_1, ..., w_s, and the columns of the Hessenberg
/// matrix that follow from it and from its QR factorisation.
///
/// Source: Hoemmen, Communication-avoiding Krylov subspace methods (2010), sections 3.3 and 7.3.
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>

#include "ritz_values.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

namespace prekond::krylov {

/// w_(i+1) = scale (K w_i - shift w_i + square w_(i-1)). `scale` is a power of two that keeps the norms of
/// the vectors near each other. `square` is 0, or, for the second of two conjugate Ritz values of a real
/// matrix, `scale` times the square of the imaginary part, so that both steps together are scale^2 (K -
/// theta)(K - conj theta).
template <class Number>
struct NewtonStep {
  Number shift = 0;
  double square = 0;
  double scale = 1;

  /// Adapts the step to 2^power K in the place of K.
  void scale_operator(int power) {
    shift *= std::ldexp(1.0, power);
    square = std::ldexp(square, power);
    scale = std::ldexp(scale, -power);
  }
};

/// The steps with the Ritz values of H in Leja's order, rounded to `Scalar`. Empty where there are none.
template <class Scalar, class Entry>
std::vector<NewtonStep<in_precision_t<Scalar, double>>> newton_steps(int order, const Entry& entry) {
  using Number = in_precision_t<Scalar, double>;
  using Real = real_type_t<Scalar>;
  ComplexMatrix h(order, std::vector<std::complex<double>>(order));
  for (int j = 0; j < order; ++j)
    for (int i = 0; i <= std::min(j + 1, order - 1); ++i) h[i][j] = entry(i, j);
  constexpr bool is_real = !is_complex<Scalar>;
  const auto values = leja_order(hessenberg_eigenvalues(h), is_real);
  const double largest = values.empty() ? 0 : std::abs(values.front());
  const double scale = largest > 0 ? std::ldexp(1.0, -std::ilogb(largest)) : 1;
  std::vector<NewtonStep<Number>> steps;
  for (const auto& value : values) {
    if constexpr (is_real) {
      const double square = value.imag() < 0 ? scale * value.imag() * value.imag() : 0.0;
      steps.push_back({double(Real(value.real())), double(Real(square)), scale});
    } else {
      steps.push_back({Number(double(Real(value.real())), double(Real(value.imag()))), 0.0, scale});
    }
  }
  return steps;
}

/// y = scale (y - shift x + square z)
template <class Scalar, class Space>
struct ShiftVector {
  VectorView<Scalar, Space> y;
  VectorView<const Scalar, Space> x, z;
  Scalar shift;
  real_type_t<Scalar> square;  ///< 0: z is not read
  real_type_t<Scalar> scale;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    Scalar next = y(i) - shift * x(i);
    if (square != 0) next += square * z(i);
    y(i) = scale * next;
  }
};

/// The columns of the Hessenberg matrix for a block: with w_i = V c_i, c_0 = e_k and K w_i = W B from the
/// Newton steps, they are those of (C B - H_before C_above) C_block^-1.
template <class Number>
class BlockColumns {
 public:
  /// \param before the number of columns of H so far; V has one more
  BlockColumns(int before, int steps)
      : m_before(before),
        m_rows(before + 1 + steps),
        m_c(std::size_t(m_rows) * (steps + 1)),
        m_h(std::size_t(m_rows) * steps) {
    c(before, 0) = 1;
  }
  /// Entry (row, i) of w_i = V c_i, 0 if it is not set.
  Number& c(int row, int i) { return m_c[std::size_t(i) * m_rows + row]; }
  /// Entry (row, i) of column before + i of H.
  Number& h(int row, int i) { return m_h[std::size_t(i) * m_rows + row]; }

  /// Computes column before + i, after the columns before it; known(row, column) is the entry of H in columns
  /// < before.
  ///
  /// Cost: before^2 / 2 products.
  template <class Known>
  void find(int i, const NewtonStep<Number>& step, const Known& known) {
    const int rows = m_before + i + 2;
    for (int row = 0; row < rows; ++row) {
      h(row, i) = c(row, i + 1) / step.scale + step.shift * c(row, i);
      if (i > 0) h(row, i) -= step.square * c(row, i - 1);
    }
    for (int q = 0; q < (i > 0 ? m_before : 0); ++q)
      for (int row = 0; row <= q + 1; ++row) h(row, i) -= known(row, q) * c(q, i);
    for (int l = 0; l < i; ++l)
      for (int row = 0; row < m_before + l + 2; ++row) h(row, i) -= h(row, l) * c(m_before + l, i);
    for (int row = 0; row < rows; ++row) h(row, i) /= c(m_before + i, i);
  }

 private:
  int m_before, m_rows;
  std::vector<Number> m_c, m_h;
};

}  // namespace prekond::krylov
