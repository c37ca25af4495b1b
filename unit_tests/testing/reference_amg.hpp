// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The pieces of smoothed aggregation, and its cycle, sequentially on dense matrices.
#include "testing/host_matrix.hpp"
#include "testing/krylov_problems.hpp"
#include "testing/reference_lu.hpp"

#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

namespace prekond::testing {

using DenseMatrix = std::vector<std::vector<double>>;

/// A view of a matrix, which owns nothing, as a matrix of the host.
template <class MemorySpace, class Traits>
HostMatrix<double> to_host(
    const CsrMatrix<const double, const int, const std::size_t, MemorySpace, Traits>& a) {
  const auto copy = [](const auto& from) {
    using Value = std::remove_const_t<typename std::decay_t<decltype(from)>::value_type>;
    std::vector<Value> to(from.extent(0));
    Kokkos::deep_copy(Kokkos::View<Value*, Kokkos::LayoutLeft, Kokkos::HostSpace>(to.data(), to.size()),
                      from);
    return to;
  };
  return {a.num_rows, a.num_cols, copy(a.row_ptrs), copy(a.col_idxs), copy(a.values)};
}

inline DenseMatrix dense(const HostMatrix<double>& a) {
  DenseMatrix result(a.num_rows, std::vector<double>(a.num_cols, 0.0));
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) result[i][a.col_idxs[k]] += a.values[k];
  return result;
}

inline DenseMatrix dense_product(const DenseMatrix& a, const DenseMatrix& b, bool transpose_a) {
  const std::size_t rows = transpose_a ? a[0].size() : a.size(), inner = b.size(), cols = b[0].size();
  DenseMatrix c(rows, std::vector<double>(cols, 0.0));
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < inner; ++k)
      for (std::size_t j = 0; j < cols; ++j) c[i][j] += (transpose_a ? a[k][i] : a[i][k]) * b[k][j];
  return c;
}

inline std::vector<double> times(const DenseMatrix& a, const std::vector<double>& x,
                                 bool transposed = false) {
  std::vector<double> y(transposed ? a[0].size() : a.size(), 0.0);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[0].size(); ++j)
      (transposed ? y[j] : y[i]) += a[i][j] * (transposed ? x[i] : x[j]);
  return y;
}

inline double product_of(const std::vector<double>& x, const std::vector<double>& y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

/// A level as the textbook has it: A, P (empty on the coarsest), y = omega M^-1 x.
struct ReferenceLaneGroup {
  DenseMatrix a, p;
  std::function<std::vector<double>(const std::vector<double>&)> smoother;
  bool exact = false;
};

struct ReferenceCycle {
  std::vector<ReferenceLaneGroup> levels;
  int pre = 1, post = 1;
  bool w = false;
  bool k = false;
  bool by_energy = true;  ///< of k: flexible conjugate gradients, else flexible GCR

  void smooth(std::size_t l, const std::vector<double>& b, std::vector<double>& x, int sweeps) const {
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      const auto correction = levels[l].smoother(residual(l, b, x));
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += correction[i];
    }
  }
  std::vector<double> residual(std::size_t l, std::vector<double> b, const std::vector<double>& x) const {
    const auto product = times(levels[l].a, x);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] -= product[i];
    return b;
  }
  void correct(std::size_t l, const std::vector<double>& b, std::vector<double>& x) const {
    const auto coarse_b = times(levels[l].p, residual(l, b, x), true);
    const auto coarse = k && !levels[l + 1].exact ? two_steps(l + 1, coarse_b) : run(l + 1, coarse_b);
    const auto correction = times(levels[l].p, coarse);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += correction[i];
  }
  /// The textbook's flexible methods, two steps of them: directions orthogonal in A's inner product, or with
  /// orthogonal products.
  std::vector<double> two_steps(std::size_t l, std::vector<double> r) const {
    std::vector<double> x(r.size(), 0.0);
    std::vector<std::vector<double>> directions, products;
    for (int step = 0; step < 2; ++step) {
      std::vector<double> p = run(l, r), q = times(levels[l].a, p);
      for (std::size_t old = 0; old < directions.size(); ++old) {
        const auto& test = by_energy ? directions[old] : products[old];
        const double factor = product_of(test, q) / product_of(test, products[old]);
        for (std::size_t i = 0; i < p.size(); ++i) {
          p[i] -= factor * directions[old][i];
          q[i] -= factor * products[old][i];
        }
      }
      const auto& test = by_energy ? p : q;
      if (!(product_of(test, q) > 0)) return x;
      const double alpha = product_of(test, r) / product_of(test, q);
      for (std::size_t i = 0; i < p.size(); ++i) {
        x[i] += alpha * p[i];
        r[i] -= alpha * q[i];
      }
      directions.push_back(p);
      products.push_back(q);
    }
    return x;
  }
  std::vector<double> run(std::size_t l, const std::vector<double>& b) const {
    std::vector<double> x(b.size(), 0.0);
    if (levels[l].exact) {
      std::vector<std::vector<long double>> a;
      for (const auto& row : levels[l].a) a.emplace_back(row.begin(), row.end());
      const auto solution = general_solve(a, {b.begin(), b.end()});
      return {solution.begin(), solution.end()};
    }
    smooth(l, b, x, pre);
    if (l + 1 < levels.size()) {
      correct(l, b, x);
      if (w && l > 0) {
        smooth(l, b, x, post);
        smooth(l, b, x, pre);
        correct(l, b, x);
      }
    }
    smooth(l, b, x, post);
    return x;
  }
};

}  // namespace prekond::testing
