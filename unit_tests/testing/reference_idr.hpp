// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/reference_cg.hpp"

#include "matrix/counter_hash.hpp"

#include <cmath>

namespace prekond::testing {

struct ReferenceIdr {
  std::vector<double> x;
  std::vector<double> history;  ///< ||r||, from before the first product on
  std::int64_t products = 0;
  bool converged = false;
};

/// s random vectors as the library makes them, orthonormalised.
inline std::vector<std::vector<double>> reference_shadow_space(std::size_t n, int s) {
  std::vector<std::vector<double>> p;
  for (int j = 0; j < s; ++j) {
    const std::uint64_t seed = impl::counter_hash(1 + 16 * std::uint64_t(j), n);
    std::vector<double> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = 2 * impl::unit_interval(impl::counter_hash(seed, i, 0)) - 1;
    for (int twice = 0; twice < 2; ++twice)
      for (const auto& other : p) {
        const double h = inner(other, v);
        for (std::size_t i = 0; i < n; ++i) v[i] -= h * other[i];
      }
    const double size = norm(v);
    for (double& value : v) value /= size;
    p.push_back(v);
  }
  return p;
}

/// IDR(s) with biorthogonal vectors and a preconditioner on the right (van Gijzen, Sonneveld 2011),
/// from x = 0, one inner product after the other.
inline ReferenceIdr reference_idr(
    const HostMatrix<double>& a, const std::vector<double>& b,
    const std::function<std::vector<double>(const std::vector<double>&)>& precondition, int s, double kappa,
    double rtol, std::int64_t max_iters) {
  const std::size_t n = b.size();
  const auto axpy = [n](double alpha, const std::vector<double>& x, std::vector<double>& y) {
    for (std::size_t i = 0; i < n; ++i) y[i] += alpha * x[i];
  };
  const auto p = reference_shadow_space(n, s);
  ReferenceIdr result;
  result.x.assign(n, 0.0);
  std::vector<double> r = b;
  std::vector<std::vector<double>> g(s, std::vector<double>(n)), u = g, m(s, std::vector<double>(s));
  for (int i = 0; i < s; ++i) m[i][i] = 1;
  double omega = 1;
  const double threshold = rtol * norm(b);
  const auto done = [&] {
    result.history.push_back(norm(r));
    result.converged = result.history.back() <= threshold;
    return result.converged || result.products >= max_iters;
  };
  if (done()) return result;
  while (true) {
    std::vector<double> f(s);
    for (int i = 0; i < s; ++i) f[i] = inner(p[i], r);
    for (int k = 0; k < s; ++k) {
      std::vector<double> c(s);
      for (int i = k; i < s; ++i) {
        c[i] = f[i];
        for (int j = k; j < i; ++j) c[i] -= m[i][j] * c[j];
        c[i] /= m[i][i];
      }
      std::vector<double> v = r;
      for (int i = k; i < s; ++i) axpy(-c[i], g[i], v);
      v = precondition(v);
      std::vector<double> direction(n);
      for (int i = k; i < s; ++i) axpy(c[i], u[i], direction);
      axpy(omega, v, direction);
      u[k] = direction;
      g[k] = multiply(a, u[k]);
      ++result.products;
      for (int i = 0; i < k; ++i) {
        const double alpha = inner(p[i], g[k]) / m[i][i];
        axpy(-alpha, g[i], g[k]);
        axpy(-alpha, u[i], u[k]);
      }
      for (int i = k; i < s; ++i) m[i][k] = inner(p[i], g[k]);
      const double beta = f[k] / m[k][k];
      axpy(-beta, g[k], r);
      axpy(beta, u[k], result.x);
      for (int i = k + 1; i < s; ++i) f[i] -= beta * m[i][k];
      if (done()) return result;
    }
    const std::vector<double> z = precondition(r), t = multiply(a, z);
    ++result.products;
    omega = inner(t, r) / inner(t, t);
    const double cosine = std::abs(inner(t, r)) / (norm(t) * norm(r));
    if (cosine < kappa) omega *= kappa / cosine;
    axpy(omega, z, result.x);
    axpy(-omega, t, r);
    if (done()) return result;
  }
}

}  // namespace prekond::testing
