// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// Lottes's optimal weights of the fourth kind's Chebyshev polynomials.
#include "precond/polynomial/polynomials.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace prekond::impl::polynomial {
namespace {

using Real = long double;
constexpr Real pi = 3.14159265358979323846264338327950288L;

/// r(t) = 1 - sum_i beta_i (r_(i-1) - r_i) on [0, 1], with the plain method's residual polynomials r_i of
/// degree i. With t = sin^2(phi / 2): r_i = sin((2 i + 1) phi / 2) / ((2 i + 1) sin(phi / 2)).
///
/// Optimal is the r with the least maximum gamma of t r^2 / (1 - r^2). There it equioscillates: at t = 0, in
/// the limit, -2 gamma r'(0) = 1, and at n points more r = (-1)^i sqrt(gamma / (t + gamma)), local maxima of
/// r^2 (t + gamma), the last of them t = 1. (Lottes 2023, section 4.)
class Equioscillation {
 public:
  explicit Equioscillation(int n) : m_n(n), m_beta(n, 1), m_gamma(3.0L / (4.0L * n * (n + 1))), m_phi(n) {
    for (int i = 0; i < n; ++i) m_phi[i] = (2 * i + 3) * pi / (2 * n + 1);
  }

  /// Takes turns of Newton's method and a search for the maxima. Returns false where it does not converge.
  bool solve() {
    constexpr int most = 50;
    for (int k = 0; k < most; ++k) {
      const Real change = newton_step();
      if (!std::isfinite(static_cast<double>(change))) return false;
      move_points();
      if (change < 1e-16L && k > 2) return true;
    }
    return false;
  }
  std::vector<double> weights() const { return {m_beta.begin(), m_beta.end()}; }

 private:
  /// r_(i-1) - r_i for i = 1, ..., n, by the recurrence of sines.
  std::vector<Real> differences(Real phi) const {
    const Real twice = 2 * std::cos(phi), first = std::sin(phi / 2);
    Real before = -first, now = first, r = 1;
    std::vector<Real> d(m_n);
    for (int i = 1; i <= m_n; ++i) {
      const Real next = twice * now - before;
      before = now;
      now = next;
      const Real r_next = now / ((2 * i + 1) * first);
      d[i - 1] = r - r_next;
      r = r_next;
    }
    return d;
  }
  static Real t_of(Real phi) { return std::sin(phi / 2) * std::sin(phi / 2); }
  Real value(Real phi) const {
    const std::vector<Real> d = differences(phi);
    Real r = 1;
    for (int i = 0; i < m_n; ++i) r -= m_beta[i] * d[i];
    return r;
  }
  Real height(Real phi) const {
    const Real r = value(phi);
    return r * r * (t_of(phi) + m_gamma);
  }

  /// Solves the n + 1 equations, linearised in beta and gamma. Returns the largest change of a beta.
  Real newton_step() {
    const int size = m_n + 1;
    std::vector<std::vector<Real>> a(size, std::vector<Real>(size));
    std::vector<Real> b(size);
    // -2 gamma r'(0) = 1; r_i'(0) = -2 i (i + 1) / 3, so that beta_i has the factor -4 i / 3 of r'(0).
    Real slope = 0;
    for (int i = 1; i <= m_n; ++i) {
      slope -= m_beta[i - 1] * 4 * i / 3;
      a[m_n][i - 1] = 2 * m_gamma * 4 * i / 3;
    }
    a[m_n][m_n] = -2 * slope;
    b[m_n] = 1 + 2 * m_gamma * slope;
    for (int k = 0; k < m_n; ++k) {
      const Real t = t_of(m_phi[k]), sign = k % 2 == 0 ? -1 : 1;
      const std::vector<Real> d = differences(m_phi[k]);
      for (int i = 0; i < m_n; ++i) a[k][i] = -d[i];
      const Real root = std::sqrt(m_gamma / (t + m_gamma));
      a[k][m_n] = -sign * t / (2 * root * (t + m_gamma) * (t + m_gamma));
      b[k] = sign * root - value(m_phi[k]);
    }
    const std::vector<Real> change = solved(std::move(a), std::move(b));
    Real largest = 0;
    for (int i = 0; i < m_n; ++i) {
      m_beta[i] += change[i];
      largest = std::max(largest, std::abs(change[i]));
    }
    m_gamma = std::max(m_gamma + change[m_n], m_gamma / 2);
    return largest;
  }

  /// Moves each inner point to the maximum between its neighbours' middles, by golden sections.
  void move_points() {
    const std::vector<Real> before = m_phi;
    const Real golden = (std::sqrt(5.0L) - 1) / 2;
    for (int k = 0; k + 1 < m_n; ++k) {
      Real low = k > 0 ? (before[k - 1] + before[k]) / 2 : before[k] / 2;
      Real high = (before[k] + before[k + 1]) / 2;
      for (int step = 0; step < 60; ++step) {
        const Real p = high - golden * (high - low), q = low + golden * (high - low);
        const bool rises = height(p) < height(q);
        (rises ? low : high) = rises ? p : q;
      }
      m_phi[k] = (low + high) / 2;
    }
  }

  /// a x = b by Gauss's elimination with row pivoting.
  static std::vector<Real> solved(std::vector<std::vector<Real>> a, std::vector<Real> b) {
    const int n = static_cast<int>(b.size());
    for (int k = 0; k < n; ++k) {
      int pivot = k;
      for (int i = k + 1; i < n; ++i)
        if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
      std::swap(a[k], a[pivot]);
      std::swap(b[k], b[pivot]);
      for (int i = k + 1; i < n; ++i) {
        const Real factor = a[i][k] / a[k][k];
        for (int j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
        b[i] -= factor * b[k];
      }
    }
    for (int k = n; k-- > 0;) {
      for (int j = k + 1; j < n; ++j) b[k] -= a[k][j] * b[j];
      b[k] /= a[k][k];
    }
    return b;
  }

  int m_n;
  std::vector<Real> m_beta;
  Real m_gamma;
  std::vector<Real> m_phi;
};

}  // namespace

std::vector<double> optimal_weights(int steps) {
  Equioscillation problem(steps);
  return problem.solve() ? problem.weights() : std::vector<double>();
}

}  // namespace prekond::impl::polynomial
