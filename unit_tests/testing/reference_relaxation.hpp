// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Sweeps over colours and incomplete factorisations in their order, one row after another.
#include "testing/host_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

namespace prekond::testing {

using LongVector = std::vector<long double>;

/// The rows by colour, ascending within each.
inline std::vector<int> rows_by_color(const std::vector<int>& colors) {
  std::vector<int> rows(colors.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::stable_sort(rows.begin(), rows.end(), [&](int i, int j) { return colors[i] < colors[j]; });
  return rows;
}

/// A as a preconditioner by colours has it: no entries between rows of one colour, none of other ranks.
template <class Scalar>
std::vector<std::map<int, long double>> colored_rows(const HostMatrix<Scalar>& a,
                                                     const std::vector<int>& colors) {
  std::vector<std::map<int, long double>> rows(a.num_rows);
  for (int i = 0; i < static_cast<int>(a.num_rows); ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const int j = a.col_idxs[k];
      if (j < a.num_rows && (j == i || colors[j] != colors[i])) rows[i][j] = a.values[k];
    }
  return rows;
}

/// x <- x + omega (b - A x)_i / a_ii, row by row, `sweeps` times in the direction or in both.
template <class Scalar>
LongVector reference_sweeps(const HostMatrix<Scalar>& a, const std::vector<int>& colors,
                            const std::vector<Scalar>& b, bool forward, bool backward, int sweeps,
                            double omega) {
  const auto rows = colored_rows(a, colors);
  std::vector<int> order = rows_by_color(colors);
  LongVector x(b.size(), 0);
  const auto sweep = [&] {
    for (const int i : order) {
      long double residual = b[i];
      for (const auto& [j, value] : rows[i]) residual -= value * x[j];
      x[i] += omega * residual / rows[i].at(i);
    }
  };
  for (int k = 0; k < sweeps; ++k) {
    if (forward) sweep();
    if (!backward) continue;
    std::reverse(order.begin(), order.end());
    sweep();
    std::reverse(order.begin(), order.end());
  }
  return x;
}

/// M^-1 b of A's ILU(0), or IC(0), in the order of the colours: by Gaussian elimination that goes without
/// fill. A row whose pivot is at most `floor` times |a_ii| (for IC, with sign) keeps only a_ii.
struct ReferenceFactors {
  std::vector<std::map<int, long double>> lower, upper;  ///< by places; unit diagonals
  LongVector pivots;
  std::vector<int> order;
  int replaced = 0, first_replaced = -1;
};

template <class Scalar>
ReferenceFactors reference_ilu0(const HostMatrix<Scalar>& a, const std::vector<int>& colors, bool ic) {
  const auto rows = colored_rows(a, colors);
  ReferenceFactors f;
  f.order = rows_by_color(colors);
  const int n = static_cast<int>(rows.size());
  std::vector<int> place(n);
  for (int k = 0; k < n; ++k) place[f.order[k]] = k;
  f.lower.resize(n);
  f.upper.resize(n);
  f.pivots.resize(n);
  const long double floor = std::sqrt(static_cast<double>(std::numeric_limits<Scalar>::epsilon()));
  for (int i = 0; i < n; ++i) {
    std::map<int, long double> row;
    for (const auto& [j, value] : rows[f.order[i]]) row[place[j]] = value;
    const long double diagonal = row.at(i);
    for (auto& [k, value] : row) {
      if (k >= i) break;
      value /= f.pivots[k];
      f.lower[i][k] = value;
      for (const auto& [j, u] : f.upper[k])
        if (row.count(j)) row[j] -= value * f.pivots[k] * u;
    }
    long double pivot = row.at(i);
    if (!((ic ? pivot / diagonal : std::abs(pivot / diagonal)) > floor)) {
      pivot = diagonal;
      f.lower[i].clear();
      row.clear();
      for (int k = 0; ic && k < i; ++k) f.upper[k].erase(i);
      ++f.replaced;
      if (f.first_replaced < 0 || f.order[i] < f.first_replaced) f.first_replaced = f.order[i];
    }
    f.pivots[i] = pivot;
    for (const auto& [j, value] : row)
      if (j > i) f.upper[i][j] = value / pivot;
  }
  return f;
}

template <class Scalar>
LongVector solve(const ReferenceFactors& f, const std::vector<Scalar>& b) {
  const int n = static_cast<int>(b.size());
  LongVector z(n), x(n);
  for (int i = 0; i < n; ++i) {
    z[i] = b[f.order[i]];
    for (const auto& [k, value] : f.lower[i]) z[i] -= value * z[k];
  }
  for (int i = n - 1; i >= 0; --i) {
    z[i] /= f.pivots[i];
    for (const auto& [j, value] : f.upper[i]) z[i] -= value * z[j];
    x[f.order[i]] = z[i];
  }
  return x;
}

/// The largest difference over the largest entry.
template <class Scalar>
double relative_difference(const std::vector<Scalar>& x, const LongVector& expected) {
  long double difference = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double here = std::abs(static_cast<long double>(x[i]) - expected[i]);
    difference = here > difference || std::isnan(here) ? here : difference;
    if (std::isnan(here)) return static_cast<double>(here);
    size = std::max(size, std::abs(expected[i]));
  }
  return static_cast<double>(size > 0 ? difference / size : difference);
}

}  // namespace prekond::testing
