// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Incomplete factorisations as textbooks have them: row by row, with the levels of fill kept for each entry.
#include "testing/host_matrix.hpp"
#include "testing/reference_relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace prekond::testing {

/// The rows of L's and U's patterns, without the diagonal, ascending.
struct ReferenceFill {
  std::vector<std::vector<int>> lower, upper;
};

/// lev(ij) = 0 of entries of A, and else min(lev(ij), lev(ik) + lev(kj) + 1) over the steps k of row i; those
/// of more than `level` are dropped.
template <class Scalar>
ReferenceFill reference_fill(const HostMatrix<Scalar>& a, int level) {
  const int n = static_cast<int>(a.num_rows);
  std::vector<std::map<int, int>> upper_levels(n);
  ReferenceFill fill{std::vector<std::vector<int>>(n), std::vector<std::vector<int>>(n)};
  for (int i = 0; i < n; ++i) {
    std::map<int, int> row;
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (a.col_idxs[k] < n) row[a.col_idxs[k]] = 0;
    for (auto step = row.begin(); step != row.end() && step->first < i; ++step) {
      if (step->second > level) continue;
      for (const auto& [j, of_step] : upper_levels[step->first]) {
        const int found = step->second + of_step + 1;
        const auto place = row.try_emplace(j, found).first;
        place->second = std::min(place->second, found);
      }
    }
    for (const auto& [j, found] : row) {
      if (found > level || j == i) continue;
      if (j < i)
        fill.lower[i].push_back(j);
      else {
        fill.upper[i].push_back(j);
        upper_levels[i][j] = found;
      }
    }
  }
  return fill;
}

enum class ReferenceKind { ilu, ic, mic_gustafsson, mic_robert };

/// (I + L) D (I + U) of R A C, whose diagonal is 1, with r_i = sign(a_ii) / sqrt|a_ii|, c_i = |r_i|. A row
/// without a diagonal entry has its largest entry in its place, with the sign of -sum_j a_ij a_ji / a_jj; one
/// without entries has 1.
struct ReferenceIlu {
  std::vector<std::map<int, long double>> lower, upper;
  LongVector pivots;  ///< D, not its inverse
  LongVector row_scale;
  int replaced = 0, first_replaced = -1;
  long double first_pivot = 0;
};

template <class Scalar>
std::vector<std::map<int, long double>> scaled_rows(const HostMatrix<Scalar>& a, LongVector& row_scale) {
  const int n = static_cast<int>(a.num_rows);
  std::vector<std::map<int, long double>> rows(n);
  row_scale.resize(n);
  for (int i = 0; i < n; ++i) {
    long double largest = 0, update = 0;
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const int j = a.col_idxs[k];
      if (j >= n) continue;
      rows[i][j] = a.values[k];
      largest = std::max(largest, std::abs(static_cast<long double>(a.values[k])));
      if (j != i && a(j, j) != 0)
        update -= static_cast<long double>(a.values[k]) * static_cast<long double>(a(j, i)) / a(j, j);
      else if (j < i && a(j, i) != 0)  // an earlier row without a diagonal entry either
        update -= static_cast<long double>(a.values[k]) * (a(j, i) < 0 ? -1 : 1);
    }
    const auto own = rows[i].find(i);
    long double diagonal = own == rows[i].end() ? 0 : own->second;
    if (diagonal == 0) diagonal = largest > 0 ? std::copysign(largest, update < 0 ? -1.0L : 1.0L) : 1;
    row_scale[i] = (diagonal < 0 ? -1 : 1) / std::sqrt(std::abs(diagonal));
  }
  for (int i = 0; i < n; ++i) {
    for (auto& [j, value] : rows[i]) value *= row_scale[i] * std::abs(row_scale[j]);
    rows[i][i] = 1;
  }
  return rows;
}

/// The pivot has to be above `floor`: else the row keeps nothing but 1 on the diagonal. \returns whether it
/// is
inline bool end_row(ReferenceIlu& f, int i, long double pivot, bool positive, long double floor) {
  if ((positive ? pivot : std::abs(pivot)) > floor) {
    f.pivots[i] = pivot;
    return true;
  }
  if (f.first_replaced < 0) {
    f.first_replaced = i;
    f.first_pivot = pivot;
  }
  ++f.replaced;
  f.pivots[i] = 1;
  f.lower[i].clear();
  f.upper[i].clear();
  return false;
}

inline void mirror_lower(ReferenceIlu& f) {
  for (auto& row : f.upper) row.clear();
  for (int i = 0; i < static_cast<int>(f.lower.size()); ++i)
    for (const auto& [j, value] : f.lower[i]) f.upper[j][i] = value;
}

/// Robert's factorisation, step by step: an update f of a pair of rows (i, j) off the pattern is added to the
/// diagonals of both as |f|.
template <class Scalar>
ReferenceIlu reference_robert(const HostMatrix<Scalar>& a, const ReferenceFill& fill, double shift,
                              long double floor) {
  const int n = static_cast<int>(a.num_rows);
  ReferenceIlu f;
  const auto rows = scaled_rows(a, f.row_scale);
  f.lower.resize(n);
  f.upper.resize(n);
  f.pivots.resize(n);
  std::vector<std::map<int, long double>> w(n);  // lower triangles
  for (int i = 0; i < n; ++i) {
    for (const int j : fill.lower[i]) w[i][j] = rows[i].count(j) ? rows[i].at(j) : 0.0L;
    w[i][i] = 1 + static_cast<long double>(shift);
  }
  for (int k = 0; k < n; ++k) {
    const bool keeps = end_row(f, k, w[k][k], true, floor);
    for (const int i : fill.upper[k]) {
      f.lower[i][k] = w[i][k] / f.pivots[k];
      if (!keeps) continue;
      w[i][i] -= f.lower[i][k] * w[i][k];
      for (const int j : fill.upper[k]) {
        if (j >= i) break;
        const long double step = f.lower[i][k] * w[j][k];
        if (w[i].count(j)) {
          w[i][j] -= step;
        } else {
          w[i][i] += std::abs(step);
          w[j][j] += std::abs(step);
        }
      }
    }
  }
  mirror_lower(f);
  return f;
}

/// Entries off the pattern go to the diagonal for kind `mic_gustafsson`, so that the sums of the rows of the
/// matrix before it was scaled are kept, and U is L^T in the end.
template <class Scalar>
ReferenceIlu reference_ilu(const HostMatrix<Scalar>& a, int level, ReferenceKind kind, double shift = 0) {
  const int n = static_cast<int>(a.num_rows);
  const ReferenceFill fill = reference_fill(a, level);
  const long double floor = std::sqrt(static_cast<double>(std::numeric_limits<Scalar>::epsilon()));
  if (kind == ReferenceKind::mic_robert) return reference_robert(a, fill, shift, floor);
  ReferenceIlu f;
  const auto rows = scaled_rows(a, f.row_scale);
  f.lower.resize(n);
  f.upper.resize(n);
  f.pivots.resize(n);
  for (int i = 0; i < n; ++i) {
    std::map<int, long double> w;
    const auto entry = [&](int j) { return rows[i].count(j) ? rows[i].at(j) : 0.0L; };
    for (int j : fill.lower[i]) w[j] = entry(j);
    for (int j : fill.upper[i]) w[j] = entry(j);
    w[i] = 1 + static_cast<long double>(shift);
    for (int k : fill.lower[i]) {
      const long double l = w[k] / f.pivots[k];
      f.lower[i][k] = l;
      if (kind == ReferenceKind::ic) {
        // Only the rows of L: w_ij -= l_ik d_k l_jk, for j in the row; the diagonal likewise.
        for (int j : fill.lower[i])
          if (j > k && f.lower[j].count(k)) w[j] -= l * f.pivots[k] * f.lower[j].at(k);
        w[i] -= l * f.pivots[k] * l;
        continue;
      }
      for (const auto& [j, u] : f.upper[k]) {
        const long double step = l * f.pivots[k] * u;
        if (w.count(j))
          w[j] -= step;
        else if (kind == ReferenceKind::mic_gustafsson)
          w[i] -= step * std::abs(f.row_scale[i] / f.row_scale[j]);
      }
    }
    for (int j : fill.upper[i]) f.upper[i][j] = w[j];
    end_row(f, i, w[i], kind != ReferenceKind::ilu, floor);
    for (auto& [j, value] : f.upper[i]) value /= f.pivots[i];
  }
  if (kind != ReferenceKind::ilu) mirror_lower(f);
  return f;
}

/// M^-1 b = C (I + U)^-1 D^-1 (I + L)^-1 R b
template <class Scalar>
LongVector solve(const ReferenceIlu& f, const std::vector<Scalar>& b) {
  const int n = static_cast<int>(b.size());
  LongVector z(n);
  for (int i = 0; i < n; ++i) {
    z[i] = f.row_scale[i] * b[i];
    for (const auto& [k, value] : f.lower[i]) z[i] -= value * z[k];
  }
  for (int i = n - 1; i >= 0; --i) {
    z[i] /= f.pivots[i];
    for (const auto& [j, value] : f.upper[i]) z[i] -= value * z[j];
  }
  for (int i = 0; i < n; ++i) z[i] *= std::abs(f.row_scale[i]);
  return z;
}

}  // namespace prekond::testing
