// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/reference_cg.hpp"

namespace prekond::testing {

/// y = x + factor y
inline void combine(const std::vector<double>& x, double factor, std::vector<double>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] + factor * y[i];
}

/// y += factor x
inline void add(double factor, const std::vector<double>& x, std::vector<double>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] += factor * x[i];
}

/// Preconditioned pipelined conjugate gradients as in the paper (Ghysels, Vanroose, Parallel Computing 40
/// (2014), algorithm 4), from x = 0. Its recurrences are never replaced.
inline ReferenceCg reference_pipelined_cg(
    const HostMatrix<double>& a, const std::vector<double>& b,
    const std::function<std::vector<double>(const std::vector<double>&)>& precondition, double rtol,
    double atol, std::int64_t max_iters) {
  ReferenceCg result;
  const std::vector<double> zero(b.size(), 0.0);
  result.x = zero;
  const double threshold = std::max(rtol * norm(b), atol);
  std::vector<double> r = b, u = precondition(r), w = multiply(a, u);
  std::vector<double> z = zero, q = zero, s = zero, p = zero;
  double alpha = 0, gamma_old = 0;
  for (;; ++result.iterations) {
    const double gamma = inner(r, u), delta = inner(w, u);
    const std::vector<double> m = precondition(w), n = multiply(a, m);
    result.history.push_back(norm(r));
    result.converged = result.history.back() <= threshold;
    if (result.converged || result.iterations == max_iters) return result;
    const bool first = result.iterations == 0;
    const double beta = first ? 0 : gamma / gamma_old;
    alpha = first ? gamma / delta : gamma / (delta - beta * gamma / alpha);
    gamma_old = gamma;
    combine(n, beta, z);
    combine(m, beta, q);
    combine(w, beta, s);
    combine(u, beta, p);
    add(alpha, p, result.x);
    add(-alpha, s, r);
    add(-alpha, q, u);
    add(-alpha, z, w);
  }
}

}  // namespace prekond::testing
