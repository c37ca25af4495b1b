// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Small matrices of the fuzz target `solve`, and what is known of them without Prekond: residuals in
/// quadruple precision, the inverse and the definiteness by dense factorisations in long double.
#include <prekond/matrix/csr_matrix.hpp>

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "fuzz/fuzz_input.hpp"

namespace prekond::fuzz {

#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 Wide;  ///< products of two doubles are exact
#else
using Wide = long double;
#endif

/// A dense table with a flag for each entry that is stored.
struct SmallMatrix {
  explicit SmallMatrix(int rows) : n(rows), value(rows * rows, 0.0), stored(rows * rows, false) {}

  int n;
  std::vector<double> value;
  std::vector<bool> stored;

  double operator()(int i, int j) const { return value[i * n + j]; }
  void set(int i, int j, double entry) {
    value[i * n + j] = entry;
    stored[i * n + j] = true;
  }
  void erase(int i, int j) {
    value[i * n + j] = 0;
    stored[i * n + j] = false;
  }
};

inline bool is_symmetric(const SmallMatrix& a) {
  for (int i = 0; i < a.n; ++i)
    for (int j = 0; j < i; ++j)
      if (a(i, j) != a(j, i)) return false;
  return true;
}

/// Numbers of all kinds: mostly moderate ones, some at the ends of the range.
inline double awkward_number(FuzzInput& input) {
  static const double ends[] = {0.0,   -0.0,   1e-16,   -1e-16, 1e-8,   1e8,    1e16,     1e-150,
                                1e150, 1e-300, -1e-300, 1e300,  5e-324, 1e-310, 2.3e-308, 1.7e308};
  const double byte = static_cast<double>(static_cast<std::int8_t>(input.bytes(1)));
  switch (input.below(8)) {
    case 0:
      return ends[input.below(16)];
    case 1:
      return std::ldexp(byte, input.below(128) - 64);
    case 2:
      return byte;
    default:
      return byte / 32;
  }
}

/// The first values, before single entries are changed.
class MatrixMaker {
 public:
  explicit MatrixMaker(FuzzInput& input)
      : m_kind(input.below(12)),
        m_symmetric(input.below(2) == 0),
        m_dominance(input.below(8)),
        m_a(input.below(25)),
        m_random(static_cast<unsigned>(input.bytes(2))) {}

  SmallMatrix operator()() {
    for (int i = 0; i < m_a.n; ++i)
      for (int j = 0; j <= i; ++j) {
        if (i == j || !is_stored(i, j)) continue;
        m_a.set(i, j, off_diagonal());
        if (m_kind != 8) m_a.set(j, i, m_symmetric ? m_a(i, j) : m_kind == 9 ? -m_a(i, j) : off_diagonal());
      }
    for (int i = 0; i < m_a.n; ++i) set_diagonal(i);
    return m_a;
  }

 private:
  double uniform() { return static_cast<double>(m_random()) / 0x1p31 - 1; }
  double off_diagonal() { return m_kind % 2 == 0 ? -1 : uniform(); }

  bool is_stored(int i, int j) {
    switch (m_kind) {
      case 0:
      case 1:
        return i - j == 1;  // a line
      case 2:
      case 3:
        return i - j == 1 || i - j == 4;  // a grid
      case 4:
        return i == m_a.n - 1 || j == 0;  // an arrow
      case 5:
        return true;
      case 6:
        return false;
      case 7:
        return i - j >= m_a.n / 2 || i - j == 1;
      default:
        return uniform() < -0.5;
    }
  }

  void set_diagonal(int i) {
    double sum = 0;
    for (int j = 0; j < m_a.n; ++j) sum += std::abs(m_a(i, j));
    switch (m_dominance) {
      case 0:
        return m_a.set(i, i, sum);  // a Laplacian without a boundary
      case 1:
        return m_a.set(i, i, uniform());
      case 2:
        return i % 3 == 2 ? m_a.erase(i, i) : m_a.set(i, i, sum + 1);
      case 3:
        return m_a.set(i, i, i % 3 == 2 ? 0 : sum + 0.1);
      case 4:
        return m_a.set(i, i, 0.3 * sum + 0.01);
      default:
        return m_a.set(i, i, sum + 0.01 + std::abs(uniform()));
    }
  }

  int m_kind;
  bool m_symmetric;
  int m_dominance;
  SmallMatrix m_a;
  std::mt19937 m_random;
};

/// Multiplies the rows and columns by powers of two.
inline void scale(SmallMatrix& a, FuzzInput& input, bool symmetric) {
  const int range = input.below(4) == 0 ? 1 + input.below(200) : 1;
  const int shift = input.below(8) == 0 ? 4 * (input.below(200) - 100) : 0;
  std::vector<int> left(a.n), right(a.n);
  for (int i = 0; i < a.n; ++i) left[i] = range > 1 ? input.below(range) - range / 2 : 0;
  for (int i = 0; i < a.n; ++i) right[i] = symmetric || range == 1 ? left[i] : input.below(range) - range / 2;
  for (int i = 0; i < a.n; ++i)
    for (int j = 0; j < a.n; ++j) a.value[i * a.n + j] = std::ldexp(a(i, j), left[i] + right[j] + shift);
}

/// All entries are finite.
inline SmallMatrix make_matrix(FuzzInput& input) {
  SmallMatrix a = MatrixMaker(input)();
  const bool symmetric = is_symmetric(a);
  scale(a, input, symmetric);
  for (int changes = a.n == 0 ? 0 : input.below(8) - 3; changes > 0; --changes) {
    const int i = input.below(a.n), j = input.below(a.n);
    const bool erase = input.below(4) == 0;
    const double entry = awkward_number(input);
    for (const auto& [row, col] : {std::pair{i, j}, std::pair{symmetric ? j : i, symmetric ? i : j}})
      erase ? a.erase(row, col) : a.set(row, col, entry);
  }
  return a;
}

/// ||b - A x||^2
inline Wide squared_residual(const SmallMatrix& a, const std::vector<double>& b,
                             const std::vector<double>& x) {
  Wide sum = 0;
  for (int i = 0; i < a.n; ++i) {
    Wide r = b[i];
    for (int j = 0; j < a.n; ++j) r -= static_cast<Wide>(a(i, j)) * x[j];
    sum += r * r;
  }
  return sum;
}

inline Wide squared_norm(const std::vector<double>& b) {
  Wide sum = 0;
  for (const double entry : b) sum += static_cast<Wide>(entry) * entry;
  return sum;
}

/// The sum of all |a_ij x_j|.
inline Wide size_of_product(const SmallMatrix& a, const std::vector<double>& x) {
  Wide sum = 0;
  for (int i = 0; i < a.n; ++i)
    for (int j = 0; j < a.n; ++j) sum += static_cast<Wide>(std::abs(a(i, j))) * std::abs(x[j]);
  return sum;
}

using Dense = std::vector<std::vector<long double>>;

inline long double largest_row_sum(const Dense& a) {
  long double largest = 0;
  for (const auto& row : a) {
    long double sum = 0;
    for (const long double entry : row) sum += std::abs(entry);
    largest = std::max(largest, sum);
  }
  return largest;
}

inline Dense dense(const SmallMatrix& a) {
  Dense rows(a.n, std::vector<long double>(a.n));
  for (int i = 0; i < a.n; ++i)
    for (int j = 0; j < a.n; ++j) rows[i][j] = a(i, j);
  return rows;
}

/// A^-1 by Gauss-Jordan elimination with row pivoting; empty where a pivot is zero.
inline Dense inverse(Dense a) {
  const std::size_t n = a.size();
  Dense result(n, std::vector<long double>(n, 0));
  for (std::size_t i = 0; i < n; ++i) result[i][i] = 1;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i)
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    if (a[pivot][k] == 0) return {};
    std::swap(a[k], a[pivot]);
    std::swap(result[k], result[pivot]);
    for (std::size_t i = 0; i < n; ++i) {
      const long double factor = a[i][k] / a[k][k];
      if (i == k || factor == 0) continue;
      for (std::size_t j = 0; j < n; ++j) {
        a[i][j] -= factor * a[k][j];
        result[i][j] -= factor * result[k][j];
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    for (long double& entry : result[i]) entry /= a[i][i];
  return result;
}

/// Is every pivot of Cholesky's factorisation well above rounding?
inline bool is_clearly_spd(const SmallMatrix& matrix) {
  if (!is_symmetric(matrix)) return false;
  Dense a = dense(matrix);
  const int n = matrix.n;
  for (int k = 0; k < n; ++k) {
    if (!(a[k][k] > 1e-8L * std::abs(static_cast<long double>(matrix(k, k))))) return false;
    for (int i = k + 1; i < n; ++i)
      for (int j = k + 1; j <= i; ++j) a[i][j] = a[j][i] = a[i][j] - a[i][k] * a[j][k] / a[k][k];
  }
  return true;
}

}  // namespace prekond::fuzz
