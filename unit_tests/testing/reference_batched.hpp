// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Incomplete factors on A's pattern as textbooks have them, without scaling, one entry after the other; and
/// inverses of local systems.
#include "testing/host_matrix.hpp"
#include "testing/reference_lu.hpp"

#include <cmath>
#include <map>
#include <set>
#include <vector>

namespace prekond::testing {

/// Rows of factors; L's diagonal is 1 unless it is `cholesky`, where `pivots` belong to both.
struct PlainFactors {
  std::vector<std::map<int, long double>> lower, upper;
  std::vector<long double> pivots;
  bool cholesky = false;
  int replaced = 0;
  bool settled = true;
};

inline std::vector<std::map<int, long double>> long_rows(const HostMatrix<double>& a) {
  std::vector<std::map<int, long double>> rows(a.num_rows);
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) rows[i][a.col_idxs[k]] = a.values[k];
  return rows;
}

inline long double entry(const std::map<int, long double>& row, int j) {
  const auto found = row.find(j);
  return found == row.end() ? 0 : found->second;
}

/// A row whose pivot is not above the floor keeps only its diagonal entry, or 1.
inline PlainFactors plain_ilu0(const HostMatrix<double>& a) {
  auto rows = long_rows(a);
  const int n = static_cast<int>(a.num_rows);
  PlainFactors f;
  f.lower.resize(n);
  f.upper.resize(n);
  for (int i = 0; i < n; ++i) {
    auto& row = rows[i];
    const long double own = entry(row, i);
    long double largest = 0, pivot = own;
    for (const auto& [j, value] : row) largest = std::max(largest, std::abs(value));
    for (auto& [k, value] : row) {
      if (k >= i) break;
      value /= f.pivots[k];
      for (const auto& [j, u] : f.upper[k]) {
        if (j == i)
          pivot -= value * u;
        else if (row.count(j))
          row[j] -= value * u;
      }
    }
    if (std::abs(pivot) > 16 * 0x1p-52L * largest) {
      for (const auto& [j, value] : row)
        if (j != i) (j < i ? f.lower : f.upper)[i][j] = value;
      f.pivots.push_back(pivot);
    } else {
      ++f.replaced;
      f.pivots.push_back(own != 0 ? own : 1);
    }
  }
  return f;
}

inline PlainFactors plain_ic0(const HostMatrix<double>& a) {
  const auto rows = long_rows(a);
  const int n = static_cast<int>(a.num_rows);
  PlainFactors f;
  f.cholesky = true;
  f.lower.resize(n);
  f.upper.resize(n);
  for (int i = 0; i < n; ++i) {
    long double rest = entry(rows[i], i);
    for (const auto& [j, value] : rows[i]) {
      if (j >= i) break;
      long double sum = value;
      for (const auto& [k, c] : f.lower[i]) sum -= c * entry(f.lower[j], k);
      const long double c = sum / f.pivots[j];
      f.lower[i][j] = c;
      rest -= c * c;
    }
    if (!(rest > 16 * 0x1p-52L * entry(rows[i], i))) {
      ++f.replaced;
      f.lower[i].clear();
      rest = entry(rows[i], i) > 0 ? entry(rows[i], i) : 1;
    }
    f.pivots.push_back(std::sqrt(rest));
    for (const auto& [j, value] : f.lower[i]) f.upper[j][i] = value;
  }
  return f;
}

/// Sweeps over all entries, each from the values of the sweep before, until none changes by more than a
/// hundredth of itself; at most `sweeps`. A pivot that is not above the floor, or
/// not stored, keeps its value.
inline PlainFactors plain_par_ilu(const HostMatrix<double>& a, int sweeps) {
  const auto rows = long_rows(a);
  const int n = static_cast<int>(a.num_rows);
  PlainFactors f;
  f.lower.resize(n);
  f.upper.resize(n);
  f.settled = false;
  for (int i = 0; i < n; ++i) {
    const long double own = entry(rows[i], i);
    f.replaced += own == 0;
    f.pivots.push_back(own != 0 ? own : 1);
  }
  for (int i = 0; i < n; ++i)
    for (const auto& [j, value] : rows[i]) {
      if (j < i) f.lower[i][j] = value / f.pivots[j];
      if (j > i) f.upper[i][j] = value;
    }
  for (int sweep = 0; sweep < sweeps && !f.settled; ++sweep) {
    const PlainFactors old = f;
    f.settled = true;
    f.replaced = 0;
    const auto rest = [&](int i, int j) {
      long double sum = entry(rows[i], j);
      for (const auto& [k, l] : old.lower[i])
        if (k < j) sum -= l * entry(old.upper[k], j);
      return sum;
    };
    const auto set = [&](long double& value, long double next) {
      f.settled = f.settled && std::abs(next - value) <= 0.01L * std::abs(next);
      value = next;
    };
    for (int i = 0; i < n; ++i) {
      for (auto& [j, value] : f.lower[i]) set(value, rest(i, j) / old.pivots[j]);
      for (auto& [j, value] : f.upper[i]) set(value, rest(i, j));
      const long double pivot = rest(i, i);
      const bool kept =
          rows[i].count(i) == 0 || !(std::abs(pivot) > 16 * 0x1p-52L * std::abs(entry(rows[i], i)));
      f.replaced += kept;
      if (!kept) set(f.pivots[i], pivot);
    }
  }
  return f;
}

inline std::vector<double> plain_solve(const PlainFactors& f, const std::vector<double>& b) {
  const int n = static_cast<int>(b.size());
  std::vector<long double> z(n);
  for (int i = 0; i < n; ++i) {
    z[i] = b[i];
    for (const auto& [k, value] : f.lower[i]) z[i] -= value * z[k];
    if (f.cholesky) z[i] /= f.pivots[i];
  }
  for (int i = n - 1; i >= 0; --i) {
    for (const auto& [j, value] : f.upper[i]) z[i] -= value * z[j];
    z[i] /= f.pivots[i];
  }
  return {z.begin(), z.end()};
}

/// Columns within `power` steps of each row.
inline std::vector<std::vector<int>> power_pattern(const HostMatrix<double>& a, int power) {
  std::vector<std::vector<int>> pattern;
  for (int i = 0; i < a.num_rows; ++i) {
    std::set<int> reached{i};
    for (int step = 0; step < power; ++step)
      for (const int j : std::set<int>(reached))
        reached.insert(a.col_idxs.begin() + a.row_ptrs[j], a.col_idxs.begin() + a.row_ptrs[j + 1]);
    pattern.emplace_back(reached.begin(), reached.end());
  }
  return pattern;
}

/// M with m_i(J) A(J, J) = e_i(J), by dense elimination in long double.
inline std::vector<std::map<int, long double>> local_inverse(const HostMatrix<double>& a,
                                                             const std::vector<std::vector<int>>& pattern) {
  const auto rows = long_rows(a);
  std::vector<std::map<int, long double>> result(pattern.size());
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const auto& cols = pattern[i];
    LongMatrix t(cols.size(), std::vector<long double>(cols.size()));
    std::vector<long double> unit(cols.size());
    for (std::size_t p = 0; p < cols.size(); ++p) {
      unit[p] = cols[p] == int(i);
      for (std::size_t q = 0; q < cols.size(); ++q) t[p][q] = entry(rows[cols[q]], cols[p]);
    }
    const auto m = general_solve(t, unit);
    for (std::size_t p = 0; p < cols.size(); ++p) result[i][cols[p]] = m[p];
  }
  return result;
}

inline std::vector<double> plain_product(const std::vector<std::map<int, long double>>& rows,
                                         const std::vector<double>& b) {
  std::vector<double> result;
  for (const auto& row : rows) {
    long double sum = 0;
    for (const auto& [j, value] : row) sum += value * b[j];
    result.push_back(double(sum));
  }
  return result;
}

}  // namespace prekond::testing
