// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A block of s steps of GMRES: the Newton basis w_0 = v_j, w_1, ..., w_s, its Cholesky QR, and the columns
/// of the Hessenberg matrix that follow from both.
///
/// Sources: Hoemmen, Communication-avoiding Krylov subspace methods (2010), sections 3.3 and 7.3; the block
/// Gram-Schmidt method with norms by Pythagoras: Carson, Lund, Rozloznik, Thomas, Linear Algebra Appl. 638
/// (2022), 150.
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>

#include "ritz_values.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace prekond::krylov {

/// w_(i+1) = scale (K w_i - shift w_i + square w_(i-1)). scale is a power of two, so that the vectors neither
/// grow nor shrink much; square is 0, or, for the second of two conjugate Ritz values of a real matrix, scale
/// times that of the imaginary part, so that both steps together are scale^2 (K - theta)(K - conj theta).
template <class Number>
struct NewtonStep {
  Number shift = 0;
  double square = 0;
  double scale = 1;

  /// The same where K has become 2^power K.
  void scale_operator(int power) {
    shift *= std::ldexp(1.0, power);
    square = std::ldexp(square, power);
    scale = std::ldexp(scale, -power);
  }
};

/// The steps with the Ritz values of H, in Leja's order, rounded to what `Scalar` has. Empty where there are
/// none.
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

/// With P = V^H W and G = W^H W: G - P^H P = R^H R by Cholesky, T = R^-1 and C = P T, with which W T - V C is
/// orthonormal and orthogonal to V. From the first column on whose pivot is not above `floor` times its (w,
/// w) R and T are 0. One team; all matrices by columns.
template <class Scalar, class Space>
struct FactorBlock {
  using Member = typename Kokkos::TeamPolicy<Space>::member_type;
  using Real = real_type_t<Scalar>;
  static constexpr int threads = 128;
  /// Of w, what orthogonalising may leave: a second pass repairs the rest.
  static constexpr Real floor = 10000 * std::numeric_limits<Real>::epsilon();
  int columns, block;
  const Scalar* projections;  ///< column c: P, then G
  Scalar *r, *t, *c;

  KOKKOS_FUNCTION const Scalar* p(int column) const {
    return projections + std::size_t(column) * (columns + block);
  }
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, block * block), [&](int k) {
      const int row = k % block, column = k / block;
      Scalar sum = 0;
      for (int q = 0; q < columns; ++q) sum += conjugate(p(row)[q]) * p(column)[q];
      r[k] = row <= column ? p(column)[columns + row] - sum : Scalar(0);
      t[k] = 0;
    });
    team.team_barrier();
    Kokkos::single(Kokkos::PerTeam(team), [&] { factor(); });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, columns * block), [&](int k) {
      const int q = k % columns, column = k / columns;
      Scalar sum = 0;
      for (int l = 0; l <= column; ++l) sum += p(l)[q] * t[column * block + l];
      c[k] = sum;
    });
  }

  KOKKOS_FUNCTION void factor() const {
    int column = 0;
    for (; column < block; ++column) {
      Scalar* mine = r + column * block;
      Real squares = 0;
      for (int row = 0; row < column; ++row) {
        Scalar value = mine[row];
        for (int l = 0; l < row; ++l) value -= conjugate(r[row * block + l]) * mine[l];
        mine[row] = value / r[row * block + row];
        squares += abs2(mine[row]);
      }
      const Real pivot = real_part(mine[column]) - squares;
      if (!(pivot > floor * real_part(p(column)[columns + column])) || !is_finite(pivot)) break;
      mine[column] = Kokkos::sqrt(pivot);
      invert(column);
    }
    for (int k = column * block; k < block * block; ++k) r[k] = 0;
  }
  /// Column `column` of T from R T = I.
  KOKKOS_FUNCTION void invert(int column) const {
    Scalar* mine = t + column * block;
    mine[column] = Scalar(1) / r[column * block + column];
    for (int row = column - 1; row >= 0; --row) {
      Scalar sum = 0;
      for (int l = row + 1; l <= column; ++l) sum += r[l * block + row] * mine[l];
      mine[row] = -sum / r[row * block + row];
    }
  }
};

/// The Hessenberg matrix's columns of a block: with w_i = V c_i, c_0 = e_k and K w_i from NewtonStep, the
/// columns of H are those of (C B - H_before C_above) C_block^-1.
template <class Number>
class BlockColumns {
 public:
  /// \param before the columns of H there are: V has one more
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

  /// Column before + i, after those before it; known(row, column) is H's entry, of columns < before. Cost:
  /// before^2 / 2 products.
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
