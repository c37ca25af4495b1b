// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The polynomials of the polynomial preconditioners as textbooks have them, each by another way than the
/// library's, and what they do to a vector.
#include "testing/host_matrix.hpp"

#include <cmath>
#include <functional>
#include <vector>

namespace prekond::testing {

/// T_j(x) for j <= n.
inline std::vector<long double> chebyshev_values(int n, long double x) {
  std::vector<long double> t = {1, x};
  for (int j = 2; j <= n; ++j) t.push_back(2 * x * t[j - 1] - t[j - 2]);
  t.resize(n + 1);
  return t;
}

/// The residual polynomial of the least-squares problem with Chebyshev's weight on [l, u]: the kernel
/// polynomial sum_j T_j(x(0)) T_j(x(t)) / sum_j T_j(x(0))^2 with orthonormal T_j (Saad, Iterative Methods,
/// section 12.3.3).
inline long double kernel_residual(int degree, double l, double u, long double t) {
  const long double width = static_cast<long double>(u) - l;
  const auto at_0 = chebyshev_values(degree, -(static_cast<long double>(u) + l) / width);
  const auto at_t = chebyshev_values(degree, (2 * t - u - l) / width);
  long double sum = 1, square = 1;
  for (int j = 1; j <= degree; ++j) {
    sum += 2 * at_0[j] * at_t[j];
    square += 2 * at_0[j] * at_0[j];
  }
  return sum / square;
}

/// T_n(x(t)) / T_n(x(0))
inline long double first_kind_residual(int degree, double l, double u, long double t) {
  const long double width = static_cast<long double>(u) - l;
  return chebyshev_values(degree, (static_cast<long double>(u) + l - 2 * t) / width)[degree] /
         chebyshev_values(degree, (static_cast<long double>(u) + l) / width)[degree];
}

/// W_n(1 - 2 t / u) / (2 n + 1), by W's own recurrence.
inline long double fourth_kind_residual(int degree, double u, long double t) {
  const long double x = 1 - 2 * t / u;
  long double before = 1, now = 2 * x + 1;
  if (degree == 0) return 1;
  for (int j = 1; j < degree; ++j) {
    const long double next = 2 * x * now - before;
    before = now;
    now = next;
  }
  return now / (2 * degree + 1);
}

/// Algorithm 4 of Lottes (2023) for A y = b with an operator B and weights beta_i, in long double.
inline std::vector<long double> reference_fourth_kind(
    const std::function<std::vector<long double>(const std::vector<long double>&)>& multiply_b,
    const std::vector<long double>& b, long double u, const std::vector<double>& weights) {
  std::vector<long double> x(b.size(), 0), r = b, z(b.size(), 0);
  for (std::size_t k = 1; k <= weights.size(); ++k) {
    const long double i = static_cast<long double>(k);
    for (std::size_t j = 0; j < b.size(); ++j)
      z[j] = (2 * i - 3) / (2 * i + 1) * z[j] + (8 * i - 4) / (2 * i + 1) / u * r[j];
    const auto product = multiply_b(z);
    for (std::size_t j = 0; j < b.size(); ++j) {
      x[j] += weights[k - 1] * z[j];
      r[j] -= product[j];
    }
  }
  return x;
}

/// D^-1 A x, row by row in long double, and D^-1.
struct ReferenceScaled {
  explicit ReferenceScaled(const HostMatrix<double>& matrix) : a(matrix) {}
  std::vector<long double> inverse(const std::vector<long double>& x) const {
    std::vector<long double> y(x);
    for (std::size_t i = 0; i < x.size(); ++i) y[i] /= a(std::int64_t(i), std::int64_t(i));
    return y;
  }
  std::vector<long double> operator()(const std::vector<long double>& x) const {
    std::vector<long double> y(x.size(), 0);
    for (std::int64_t i = 0; i < a.num_rows; ++i)
      for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
        if (a.col_idxs[k] < a.num_rows) y[i] += static_cast<long double>(a.values[k]) * x[a.col_idxs[k]];
    return inverse(y);
  }
  const HostMatrix<double>& a;
};

/// sum_(j <= k) (I - omega B)^j omega b
inline std::vector<long double> reference_neumann(const ReferenceScaled& b, const std::vector<long double>& r,
                                                  long double omega, int degree) {
  std::vector<long double> y(r.size(), 0), term(r);
  for (auto& value : term) value *= omega;
  for (int j = 0; j <= degree; ++j) {
    const auto product = b(term);
    for (std::size_t i = 0; i < r.size(); ++i) {
      y[i] += term[i];
      term[i] -= omega * product[i];
    }
  }
  return y;
}

/// The iteration of algorithms 3 and 4 of Li and Saad (2013) by the residual polynomial's roots loses
/// its digits here; its sum does not: s(B) b with s of degree k by forward recurrence in Q_j, inner products
/// by a fine quadrature, in long double.
inline std::vector<long double> reference_least_squares(const ReferenceScaled& b,
                                                        const std::vector<long double>& r, long double l,
                                                        long double u, int degree) {
  const int nodes = 4 * degree + 16;
  const long double pi = 3.14159265358979323846264338327950288L;
  std::vector<long double> t(nodes);
  for (int i = 0; i < nodes; ++i) t[i] = (u + l) / 2 + (u - l) / 2 * std::cos(pi * (2 * i + 1) / (2 * nodes));
  std::vector<long double> p(t), p_before(nodes, 0), v(r), v_before(r.size(), 0), y(r.size(), 0);
  long double beta = 0;
  for (int i = 0; i < nodes; ++i) beta += p[i] * p[i] / nodes;
  beta = std::sqrt(beta);
  for (int i = 0; i < nodes; ++i) p[i] /= beta;
  for (auto& value : v) value /= beta;
  for (int j = 0; j <= degree; ++j) {
    long double gamma = 0, alpha = 0, square = 0;
    for (int i = 0; i < nodes; ++i) {
      gamma += p[i] / nodes;
      alpha += t[i] * p[i] * p[i] / nodes;
    }
    for (std::size_t i = 0; i < r.size(); ++i) y[i] += gamma * v[i];
    std::vector<long double> next(nodes), v_next = b(v);
    for (int i = 0; i < nodes; ++i) {
      next[i] = (t[i] - alpha) * p[i] - (j > 0 ? beta : 0) * p_before[i];
      square += next[i] * next[i] / nodes;
    }
    const long double beta_next = std::sqrt(square);
    for (std::size_t i = 0; i < r.size(); ++i)
      v_next[i] = (v_next[i] - alpha * v[i] - (j > 0 ? beta : 0) * v_before[i]) / beta_next;
    for (int i = 0; i < nodes; ++i) next[i] /= beta_next;
    p_before = p;
    p = next;
    v_before = v;
    v = v_next;
    beta = beta_next;
  }
  return y;
}

}  // namespace prekond::testing
