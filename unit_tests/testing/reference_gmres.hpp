// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/reference_cg.hpp"

#include <cmath>

namespace prekond::testing {

struct ReferenceGmres {
  std::vector<double> x;
  std::vector<double> history;  ///< ||r||, from before the first iteration on
  std::int64_t iterations = 0;
  bool converged = false;  ///< by the least-squares residual
};

/// min ||beta e_1 - H y|| by Givens rotations: H is (k + 1) x k, by columns.
struct SmallLeastSquares {
  std::vector<std::vector<double>> columns;
  std::vector<double> solve(double beta, double& residual) const {
    const std::size_t k = columns.size();
    std::vector<std::vector<double>> r = columns;
    std::vector<double> g(k + 1, 0.0);
    g[0] = beta;
    for (std::size_t j = 0; j < k; ++j) {
      const double a = r[j][j], b = r[j][j + 1], h = std::hypot(a, b);
      const double cosine = h > 0 ? a / h : 1, sine = h > 0 ? b / h : 0;
      const auto rotate = [&](double& upper, double& lower) {
        const double first = cosine * upper + sine * lower;
        lower = cosine * lower - sine * upper;
        upper = first;
      };
      for (std::size_t l = j; l < k; ++l) rotate(r[l][j], r[l][j + 1]);
      rotate(g[j], g[j + 1]);
    }
    residual = std::abs(g[k]);
    std::vector<double> y(k);
    for (std::size_t i = k; i-- > 0;) {
      double sum = g[i];
      for (std::size_t j = i + 1; j < k; ++j) sum -= r[j][i] * y[j];
      y[i] = sum / r[i][i];
    }
    return y;
  }
};

/// Restarted GMRES with a preconditioner on the right, by modified Gram-Schmidt (Saad, Iterative Methods,
/// algorithm 9.5), from x = 0, until the least-squares residual is rtol ||b||.
inline ReferenceGmres reference_gmres(
    const HostMatrix<double>& a, const std::vector<double>& b,
    const std::function<std::vector<double>(const std::vector<double>&)>& precondition, std::size_t restart,
    double rtol, std::int64_t max_iters) {
  const std::size_t n = b.size();
  ReferenceGmres result;
  result.x.assign(n, 0.0);
  const double threshold = rtol * norm(b);
  result.history.push_back(norm(b));
  while (!result.converged && result.iterations < max_iters) {
    std::vector<double> r = multiply(a, result.x);
    for (std::size_t i = 0; i < n; ++i) r[i] = b[i] - r[i];
    const double beta = norm(r);
    std::vector<std::vector<double>> v = {r}, z;
    for (double& value : v[0]) value /= beta;
    SmallLeastSquares h;
    std::vector<double> y;
    while (h.columns.size() < restart && !result.converged && result.iterations < max_iters) {
      z.push_back(precondition(v.back()));
      std::vector<double> w = multiply(a, z.back()), column;
      for (const auto& v_i : v) {
        column.push_back(inner(v_i, w));
        for (std::size_t i = 0; i < n; ++i) w[i] -= column.back() * v_i[i];
      }
      column.push_back(norm(w));
      h.columns.push_back(column);
      double residual = 0;
      y = h.solve(beta, residual);
      ++result.iterations;
      result.history.push_back(residual);
      result.converged = residual <= threshold;
      if (column.back() == 0) break;
      for (double& value : w) value /= column.back();
      v.push_back(w);
    }
    for (std::size_t j = 0; j < y.size(); ++j)
      for (std::size_t i = 0; i < n; ++i) result.x[i] += y[j] * z[j][i];
  }
  return result;
}

}  // namespace prekond::testing
