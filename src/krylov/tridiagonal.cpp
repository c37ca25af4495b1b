// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tridiagonal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

namespace prekond::krylov {
namespace {

/// Divides by a power of two near the largest magnitude, and returns its exponent.
int scale_down(std::vector<double>& alpha, std::vector<double>& beta) {
  double largest = 0;
  for (const double value : alpha) largest = std::max(largest, std::abs(value));
  for (const double value : beta) largest = std::max(largest, std::abs(value));
  if (!(largest > 0)) return 0;
  const int exponent = std::ilogb(largest);
  for (double& value : alpha) value = std::ldexp(value, -exponent);
  for (double& value : beta) value = std::ldexp(value, -exponent);
  return exponent;
}

/// The QL iteration: d becomes the eigenvalues, e zero, and `row`, at first a row of the identity, the same
/// row of the matrix of eigenvectors.
class QlIteration {
 public:
  QlIteration(std::vector<double>& d, std::vector<double>& e, std::vector<double>& row)
      : m_d(d), m_e(e), m_row(row) {}

  void operator()() {
    const std::size_t n = m_d.size();
    // An eigenvalue takes two or three steps; the bound is for matrices that are not finite.
    for (std::size_t l = 0; l < n; ++l)
      for (int steps = 0; steps < 100; ++steps) {
        const std::size_t m = end_of_block(l);
        if (m == l) break;
        step(l, m);
      }
  }

 private:
  /// The first m >= l after which the matrix is split.
  std::size_t end_of_block(std::size_t l) const {
    std::size_t m = l;
    for (; m + 1 < m_d.size(); ++m) {
      const double size = std::abs(m_d[m]) + std::abs(m_d[m + 1]);
      if (std::abs(m_e[m]) <= std::numeric_limits<double>::epsilon() * size) break;
      if (std::abs(m_e[m]) < std::numeric_limits<double>::min()) break;
    }
    return m;
  }

  /// One implicit step on rows l to m, from the bottom.
  void step(std::size_t l, std::size_t m) {
    const double half = (m_d[l + 1] - m_d[l]) / (2 * m_e[l]);
    double g = m_d[m] - m_d[l] + m_e[l] / (half + std::copysign(std::hypot(half, 1.0), half));
    double s = 1, c = 1, p = 0;
    for (std::size_t i = m; i-- > l;) {
      const double f = s * m_e[i], b = c * m_e[i];
      const double r = std::hypot(f, g);
      m_e[i + 1] = r;
      if (r == 0) {  // the block falls apart
        m_d[i + 1] -= p;
        m_e[m] = 0;
        return;
      }
      s = f / r;
      c = g / r;
      g = m_d[i + 1] - p;
      const double t = (m_d[i] - g) * s + 2 * c * b;
      p = s * t;
      m_d[i + 1] = g + p;
      g = c * t - b;
      const double next = m_row[i + 1];
      m_row[i + 1] = s * m_row[i] + c * next;
      m_row[i] = c * m_row[i] - s * next;
    }
    m_d[l] -= p;
    m_e[l] = g;
    m_e[m] = 0;
  }

  std::vector<double>& m_d;
  std::vector<double>& m_e;
  std::vector<double>& m_row;
};

}  // namespace

TridiagonalEigenvalues tridiagonal_eigenvalues(std::vector<double> alpha, std::vector<double> beta) {
  const std::size_t n = alpha.size();
  TridiagonalEigenvalues result;
  if (n == 0) return result;
  beta.resize(n);
  beta[n - 1] = 0;
  const int exponent = scale_down(alpha, beta);
  std::vector<double> row(n, 0.0);
  row[n - 1] = 1;
  QlIteration(alpha, beta, row)();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    return alpha[i] < alpha[j] || (alpha[i] == alpha[j] && i < j);
  });
  for (const std::size_t i : order) {
    result.values.push_back(std::ldexp(alpha[i], exponent));
    result.last.push_back(std::abs(row[i]));
  }
  return result;
}

}  // namespace prekond::krylov
