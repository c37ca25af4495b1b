// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/scalar.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace prekond::krylov {

/// min ||beta e_1 - H y|| for an upper Hessenberg matrix H that grows by columns, by QR with Givens rotations
/// on the host. `Number` is double or complex<double>; the entries below the diagonal are real and not
/// negative.
template <class Number>
class HessenbergLeastSquares {
 public:
  explicit HessenbergLeastSquares(int most_columns)
      : m_most(most_columns),
        m_h(std::size_t(most_columns) * (most_columns + 1)),
        m_r(m_h.size()),
        m_sine(most_columns),
        m_cosine(most_columns),
        m_rhs(most_columns + 1) {}

  /// `exponent` is that of the power of two by which the columns of H are scaled.
  void start(double beta, int exponent) {
    if (exponent != m_exponent) m_largest_norm = 0;
    m_exponent = exponent;
    m_columns = 0;
    m_rhs[0] = beta;
  }
  int columns() const { return m_columns; }

  /// Entry i of the next column, i <= columns() + 1, to be set before `push`.
  Number& next(int i) { return m_h[at(i, m_columns)]; }
  /// H(i, j) before the rotations.
  const Number& entry(int i, int j) const { return m_h[at(i, j)]; }

  /// Adds the next column; returns the norm of the least-squares residual. `rounding` is the error of the
  /// entries relative to the largest norm of a column with this exponent, of former cycles too, or to ten
  /// times the norm of this column where that is larger and the entry below the diagonal is 0.
  double push(double rounding) {
    const int j = m_columns++;
    for (int i = 0; i <= j + 1; ++i) m_r[at(i, j)] = m_h[at(i, j)];
    for (int i = 0; i < j; ++i) rotate(i, m_r[at(i, j)], m_r[at(i + 1, j)]);
    Number& a = m_r[at(j, j)];
    const double below = real_part(m_r[at(j + 1, j)]), size = std::sqrt(abs2(a));
    const double hypotenuse = std::hypot(size, below);
    const double norm = column_norm(j);
    if (std::isfinite(norm)) m_largest_norm = std::max(m_largest_norm, norm);
    m_negligible =
        hypotenuse <= rounding * (below == 0 ? std::max(m_largest_norm, 10 * norm) : m_largest_norm);
    m_cosine[j] = hypotenuse > 0 ? size / hypotenuse : 1;
    m_sine[j] = hypotenuse > 0 ? (size > 0 ? a / size : Number(1)) * (below / hypotenuse) : Number(0);
    m_rhs[j + 1] = 0;
    rotate(j, m_rhs[j], m_rhs[j + 1]);
    rotate(j, a, m_r[at(j + 1, j)]);
    return residual();
  }
  double residual() const { return std::sqrt(abs2(m_rhs[m_columns])); }

  /// Whether the last column is in the span of the others but for rounding.
  bool last_is_negligible() const { return m_negligible; }
  /// Removes the last column.
  void pop() {
    --m_columns;
    const int j = m_columns;
    m_rhs[j] = m_cosine[j] * m_rhs[j] - m_sine[j] * m_rhs[j + 1];  // the rotation's inverse
  }

  /// y, of columns() entries.
  std::vector<Number> solution() const {
    std::vector<Number> y(m_columns);
    for (int i = m_columns - 1; i >= 0; --i) {
      Number sum = m_rhs[i];
      for (int j = i + 1; j < m_columns; ++j) sum -= m_r[at(i, j)] * y[j];
      y[i] = sum / m_r[at(i, i)];
    }
    return y;
  }

 private:
  std::size_t at(int i, int j) const { return std::size_t(j) * (m_most + 1) + i; }
  double column_norm(int j) const {
    double squares = 0;
    for (int i = 0; i <= j + 1; ++i) squares += abs2(m_h[at(i, j)]);
    return std::sqrt(squares);
  }
  void rotate(int k, Number& upper, Number& lower) const {
    const Number first = m_cosine[k] * upper + m_sine[k] * lower;
    lower = m_cosine[k] * lower - conjugate(m_sine[k]) * upper;
    upper = first;
  }

  int m_most;
  int m_columns = 0;
  int m_exponent = 0;
  double m_largest_norm = 0;
  bool m_negligible = false;
  std::vector<Number> m_h, m_r, m_sine;
  std::vector<double> m_cosine;
  std::vector<Number> m_rhs;
};

}  // namespace prekond::krylov
