// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/host_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace prekond::testing {

/// y = A x, row by row.
inline std::vector<double> multiply(const HostMatrix<double>& a, const std::vector<double>& x) {
  std::vector<double> y(a.num_rows, 0.0);
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) y[i] += a.values[k] * x[a.col_idxs[k]];
  return y;
}

/// y = A^T x
inline std::vector<double> multiply_transposed(const HostMatrix<double>& a, const std::vector<double>& x) {
  std::vector<double> y(a.num_cols, 0.0);
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) y[a.col_idxs[k]] += a.values[k] * x[i];
  return y;
}

inline double inner(const std::vector<double>& x, const std::vector<double>& y) {
  long double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<long double>(x[i]) * y[i];
  return static_cast<double>(sum);
}

inline double norm(const std::vector<double>& x) {
  return std::sqrt(inner(x, x));
}

/// ||b - A x||, by a product of its own.
inline double residual_norm(const HostMatrix<double>& a, const std::vector<double>& b,
                            const std::vector<double>& x) {
  std::vector<double> r = multiply(a, x);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - r[i];
  return norm(r);
}

struct ReferenceCg {
  std::vector<double> x;
  std::vector<double> history;  ///< ||r||, from before the first iteration on
  std::int64_t iterations = 0;
  bool converged = false;
};

/// Preconditioned conjugate gradients as the textbooks have it (Saad, Iterative Methods, algorithm 9.1), from
/// x = 0.
inline ReferenceCg reference_cg(
    const HostMatrix<double>& a, const std::vector<double>& b,
    const std::function<std::vector<double>(const std::vector<double>&)>& precondition, double rtol,
    double atol, std::int64_t max_iters) {
  ReferenceCg result;
  result.x.assign(b.size(), 0.0);
  const double threshold = std::max(rtol * norm(b), atol);
  std::vector<double> r = b, z = precondition(r), p = z;
  double rz = inner(r, z);
  for (;; ++result.iterations) {
    result.history.push_back(norm(r));
    result.converged = result.history.back() <= threshold;
    if (result.converged || result.iterations == max_iters) return result;
    const std::vector<double> q = multiply(a, p);
    const double alpha = rz / inner(p, q);
    for (std::size_t i = 0; i < b.size(); ++i) {
      result.x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    z = precondition(r);
    const double beta = inner(r, z) / rz;
    rz *= beta;
    for (std::size_t i = 0; i < b.size(); ++i) p[i] = z[i] + beta * p[i];
  }
}

}  // namespace prekond::testing
