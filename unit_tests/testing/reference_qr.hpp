// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/dense_matrices.hpp"

#include <algorithm>
#include <cmath>

namespace prekond::testing {

struct LeastSolution {
  std::vector<long double> x;  ///< zero in columns that depend on those chosen before
  long double residual = 0;    ///< ||A x - b||_2
  std::size_t rank = 0;
};

/// min ||A x - b||_2 by Gram-Schmidt with column pivoting, a column being projected once more when it is
/// chosen, in long double.
inline LeastSolution least_squares(const LongMatrix& a, const std::vector<long double>& b) {
  using Column = std::vector<long double>;
  const std::size_t n1 = b.size(), n2 = n1 > 0 ? a[0].size() : 0;
  const auto dot = [](const Column& x, const Column& y) {
    long double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
    return sum;
  };
  std::vector<Column> left(n2, Column(n1));
  for (std::size_t i = 0; i < n1; ++i)
    for (std::size_t j = 0; j < n2; ++j) left[j][i] = a[i][j];
  std::vector<long double> norms;
  for (const Column& column : left) norms.push_back(std::sqrt(dot(column, column)));
  std::vector<std::size_t> order;
  std::vector<Column> q;
  std::vector<bool> chosen(n2, false);
  while (true) {
    std::size_t best = n2;
    long double most = 1e-13L;
    for (std::size_t j = 0; j < n2; ++j) {
      const long double rest = norms[j] > 0 ? std::sqrt(dot(left[j], left[j])) / norms[j] : 0;
      if (!chosen[j] && rest > most) best = j, most = rest;
    }
    if (best == n2) break;
    chosen[best] = true;
    order.push_back(best);
    Column unit = left[best];
    const auto project = [&](Column& column, const Column& direction) {
      const long double part = dot(direction, column);
      for (std::size_t i = 0; i < n1; ++i) column[i] -= part * direction[i];
    };
    for (const Column& direction : q) project(unit, direction);
    const long double norm = std::sqrt(dot(unit, unit));
    for (auto& value : unit) value /= norm;
    q.push_back(unit);
    for (std::size_t j = 0; j < n2; ++j)
      if (!chosen[j]) project(left[j], unit);
  }
  LeastSolution result{std::vector<long double>(n2, 0), 0, q.size()};
  for (std::size_t k = q.size(); k-- > 0;) {
    Column column(n1);
    for (std::size_t i = 0; i < n1; ++i) column[i] = a[i][order[k]];
    long double sum = dot(q[k], b);
    for (std::size_t l = k + 1; l < q.size(); ++l) {
      for (std::size_t i = 0; i < n1; ++i) column[i] = a[i][order[l]];
      sum -= dot(q[k], column) * result.x[order[l]];
    }
    for (std::size_t i = 0; i < n1; ++i) column[i] = a[i][order[k]];
    result.x[order[k]] = sum / dot(q[k], column);
  }
  long double square = 0;
  for (std::size_t i = 0; i < n1; ++i) {
    long double rest = -b[i];
    for (std::size_t j = 0; j < n2; ++j) rest += a[i][j] * result.x[j];
    square += rest * rest;
  }
  result.residual = std::sqrt(square);
  return result;
}

}  // namespace prekond::testing
