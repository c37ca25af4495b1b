// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Threshold factorisations as textbooks have them: row by row, in long double.
#include "testing/reference_ilu.hpp"

namespace prekond::testing {

/// The factors, and the number of rows with more than p entries above the tolerance in L or U.
struct ReferenceIlut : ReferenceIlu {
  int cut_rows = 0;
};

/// The p largest, of equal ones the first.
inline std::map<int, long double> largest(const std::map<int, long double>& row, int p) {
  std::vector<std::pair<int, long double>> entries(row.begin(), row.end());
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.second) > std::abs(b.second); });
  if (entries.size() > static_cast<std::size_t>(p)) entries.resize(p);
  return {entries.begin(), entries.end()};
}

/// The 2-norm.
inline long double norm_of(const std::map<int, long double>& row) {
  long double sum = 0;
  for (const auto& entry : row) sum += entry.second * entry.second;
  return std::sqrt(sum);
}

/// Keeps p entries of L's row and of U's, and divides U's by the pivot, or falls back to 1.
inline void end_threshold_row(ReferenceIlut& f, int i, long double pivot, int p, bool symmetric,
                              long double floor) {
  const auto more = static_cast<std::size_t>(p);
  const bool cut = f.lower[i].size() > more || f.upper[i].size() > more;
  const int replaced = f.replaced;
  end_row(f, i, pivot, symmetric, floor);
  if (f.replaced == replaced && cut) ++f.cut_rows;
  f.lower[i] = largest(f.lower[i], p);
  f.upper[i] = largest(f.upper[i], p);
  for (auto& [j, value] : f.upper[i]) value /= f.pivots[i];
}

/// Factors of R A C with diagonal 1 + shift: Saad's ILUT, w_k compared before it is divided by the pivot.
template <class Scalar>
ReferenceIlut reference_ilut(const HostMatrix<Scalar>& a, int p, long double tau, double shift = 0) {
  const int n = static_cast<int>(a.num_rows);
  ReferenceIlut f;
  auto rows = scaled_rows(a, f.row_scale);
  f.lower.resize(n);
  f.upper.resize(n);
  f.pivots.resize(n);
  const long double floor = std::sqrt(static_cast<double>(std::numeric_limits<Scalar>::epsilon()));
  for (int i = 0; i < n; ++i) {
    auto& w = rows[i];
    w[i] = 1 + static_cast<long double>(shift);
    const long double tolerance = tau * norm_of(w);
    // Insertion after the place does not disturb the walk.
    for (auto entry = w.begin(); entry->first < i; ++entry) {
      const auto [k, value] = *entry;
      if (std::abs(value) <= tolerance) continue;
      f.lower[i][k] = value / f.pivots[k];
      for (const auto& [j, u] : f.upper[k]) w[j] -= value * u;
    }
    for (const auto& [j, value] : w)
      if (j > i && std::abs(value) > tolerance) f.upper[i][j] = value;
    end_threshold_row(f, i, w[i], p, false, floor);
  }
  return f;
}

/// The same with U = L^T, of a symmetric matrix: after row k of U is made it is subtracted from all rows
/// below.
template <class Scalar>
ReferenceIlut reference_ict(const HostMatrix<Scalar>& a, int p, long double tau, double shift = 0) {
  const int n = static_cast<int>(a.num_rows);
  ReferenceIlut f;
  auto rows = scaled_rows(a, f.row_scale);
  f.lower.resize(n);
  f.upper.resize(n);
  f.pivots.resize(n);
  const long double floor = std::sqrt(static_cast<double>(std::numeric_limits<Scalar>::epsilon()));
  for (int i = 0; i < n; ++i) rows[i][i] = 1 + static_cast<long double>(shift);
  std::vector<long double> norms;
  for (const auto& row : rows) norms.push_back(norm_of(row));
  for (int k = 0; k < n; ++k) {
    for (const auto& [j, value] : rows[k])
      if (j > k && std::abs(value) > tau * norms[k]) f.upper[k][j] = value;
    end_threshold_row(f, k, rows[k][k], p, true, floor);
    for (const auto& [i, u_ki] : f.upper[k])
      for (const auto& [j, u_kj] : f.upper[k])
        if (j >= i) rows[i][j] -= u_ki * f.pivots[k] * u_kj;
  }
  const auto upper = f.upper;
  for (int k = 0; k < n; ++k)
    for (const auto& [i, value] : upper[k]) f.lower[i][k] = value;
  return f;
}

}  // namespace prekond::testing
