// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/reference_cg.hpp"

#include <cmath>

namespace prekond::testing {

struct ReferenceBicgstab {
  std::vector<double> x;
  std::vector<double> history;  ///< ||r||, from before the first iteration on
  std::int64_t iterations = 0;
  bool converged = false;  ///< by the true residual
};

/// BiCGSTAB with a preconditioner on the right (van der Vorst 1992; Saad, Iterative Methods, algorithm 7.7),
/// from x = 0, until ||r|| <= rtol ||b||, max_iters, or a breakdown.
inline ReferenceBicgstab reference_bicgstab(
    const HostMatrix<double>& a, const std::vector<double>& b,
    const std::function<std::vector<double>(const std::vector<double>&)>& precondition, double rtol,
    std::int64_t max_iters) {
  const std::size_t n = b.size();
  ReferenceBicgstab result;
  result.x.assign(n, 0.0);
  const double threshold = rtol * norm(b);
  std::vector<double> r = b, p = b;
  const std::vector<double> shadow = b;
  double rho = inner(shadow, r);
  result.history.push_back(norm(r));
  while (result.iterations < max_iters && norm(r) > threshold) {
    ++result.iterations;
    const std::vector<double> mp = precondition(p), v = multiply(a, mp);
    const double alpha = rho / inner(shadow, v);
    for (std::size_t i = 0; i < n; ++i) r[i] -= alpha * v[i];
    const std::vector<double> ms = precondition(r), t = multiply(a, ms);
    const double tt = inner(t, t);
    const double omega = tt > 0 ? inner(t, r) / tt : 0;
    for (std::size_t i = 0; i < n; ++i) {
      result.x[i] += alpha * mp[i] + omega * ms[i];
      r[i] -= omega * t[i];
    }
    result.history.push_back(norm(r));
    const double before = rho;
    rho = inner(shadow, r);
    const double beta = rho / before * alpha / omega;
    if (!std::isfinite(beta) && norm(r) > threshold) return result;
    for (std::size_t i = 0; i < n; ++i) p[i] = r[i] + beta * (p[i] - omega * v[i]);
  }
  result.converged = residual_norm(a, b, result.x) <= 10 * threshold;
  return result;
}

}  // namespace prekond::testing
