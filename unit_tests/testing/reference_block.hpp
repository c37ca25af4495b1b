// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Block Jacobi and Schwarz methods, sequentially: each block by a dense solve or a textbook's incomplete
/// factors.
#include "testing/dense_matrices.hpp"
#include "testing/host_matrix.hpp"
#include "testing/reference_lu.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace prekond::testing {

using Sets = std::vector<std::vector<int>>;
using LongVector = std::vector<long double>;

/// A small matrix with its pattern: what is not stored is not filled.
struct PatternedMatrix {
  LongMatrix value;
  std::vector<std::vector<bool>> stored;
  std::size_t size() const { return value.size(); }
};

template <class Scalar>
PatternedMatrix block_of(const HostMatrix<Scalar>& a, const std::vector<int>& rows) {
  const std::size_t m = rows.size();
  PatternedMatrix block{LongMatrix(m, LongVector(m, 0)),
                        std::vector<std::vector<bool>>(m, std::vector<bool>(m))};
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t k = a.row_ptrs[rows[i]]; k < a.row_ptrs[rows[i] + 1]; ++k) {
      const auto found = std::lower_bound(rows.begin(), rows.end(), a.col_idxs[k]);
      if (found == rows.end() || *found != a.col_idxs[k]) continue;
      const auto j = static_cast<std::size_t>(found - rows.begin());
      block.value[i][j] = a.values[k];
      block.stored[i][j] = true;
    }
  return block;
}

/// The solution by L (unit diagonal) and U of one matrix.
inline LongVector solve_lu(const LongMatrix& lu, LongVector x) {
  const std::size_t m = x.size();
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < i; ++j) x[i] -= lu[i][j] * x[j];
  for (std::size_t i = m; i-- > 0;) {
    for (std::size_t j = i + 1; j < m; ++j) x[i] -= lu[i][j] * x[j];
    x[i] /= lu[i][i];
  }
  return x;
}

/// ILU(0) by Saad's algorithm 10.4, with a place for each diagonal entry.
inline LongMatrix reference_ilu0(PatternedMatrix b) {
  for (std::size_t i = 0; i < b.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      if (!b.stored[i][k]) continue;
      b.value[i][k] /= b.value[k][k];
      for (std::size_t j = k + 1; j < b.size(); ++j)
        if (b.stored[i][j] || i == j) b.value[i][j] -= b.value[i][k] * b.value[k][j];
    }
  return b.value;
}

/// L of IC(0), column by column, from the lower triangle.
inline LongMatrix reference_ic0(const PatternedMatrix& b) {
  LongMatrix l = b.value;
  for (std::size_t k = 0; k < b.size(); ++k) {
    l[k][k] = std::sqrt(l[k][k]);
    for (std::size_t i = k + 1; i < b.size(); ++i) l[i][k] = b.stored[i][k] ? l[i][k] / l[k][k] : 0;
    for (std::size_t j = k + 1; j < b.size(); ++j)
      for (std::size_t i = j; i < b.size(); ++i)
        if (b.stored[i][j]) l[i][j] -= l[i][k] * l[j][k];
  }
  return l;
}

inline LongVector solve_llt(const LongMatrix& l, LongVector x) {
  const std::size_t m = x.size();
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < i; ++j) x[i] -= l[i][j] * x[j];
    x[i] /= l[i][i];
  }
  for (std::size_t i = m; i-- > 0;) {
    for (std::size_t j = i + 1; j < m; ++j) x[i] -= l[j][i] * x[j];
    x[i] /= l[i][i];
  }
  return x;
}

/// The largest of a row's entries in [from, to) stay, `most` of them; of equal ones the first.
inline void keep_largest(LongVector& w, std::size_t from, std::size_t to, std::size_t most) {
  std::vector<std::size_t> places;
  for (std::size_t j = from; j < to; ++j)
    if (w[j] != 0) places.push_back(j);
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t i, std::size_t j) { return std::abs(w[i]) > std::abs(w[j]); });
  for (std::size_t k = most; k < places.size(); ++k) w[places[k]] = 0;
}

/// ILUT(p, tau) by Saad's algorithm 10.6, with L's entries compared before they are divided; p counts from
/// the numbers of A's entries. For matrices without ties.
inline LongMatrix reference_ilut(const PatternedMatrix& b, double tau, int fill) {
  const std::size_t m = b.size();
  LongMatrix lu(m, LongVector(m, 0));
  for (std::size_t i = 0; i < m; ++i) {
    LongVector w = b.value[i];
    long double norm = 0;
    std::size_t lower = 0, upper = 0;
    for (std::size_t j = 0; j < m; ++j) {
      norm += w[j] * w[j];
      if (b.stored[i][j] && j != i) ++(j < i ? lower : upper);
    }
    norm = std::sqrt(norm);
    for (std::size_t k = 0; k < i; ++k) {
      if (w[k] == 0) continue;
      if (std::abs(w[k]) < tau * norm) {
        w[k] = 0;
        continue;
      }
      w[k] /= lu[k][k];
      for (std::size_t j = k + 1; j < m; ++j) w[j] -= w[k] * lu[k][j];
    }
    for (std::size_t j = i + 1; j < m; ++j)
      if (std::abs(w[j]) < tau * norm) w[j] = 0;
    keep_largest(w, 0, i, lower + static_cast<std::size_t>(fill));
    keep_largest(w, i + 1, m, upper + static_cast<std::size_t>(fill));
    lu[i] = w;
  }
  return lu;
}

/// The solution of a block's system by the local method of this name. ILUT has its default options.
inline LongVector local_solve(const std::string& method, const PatternedMatrix& b, const LongVector& x) {
  if (method == "ilu0") return solve_lu(reference_ilu0(b), x);
  if (method == "ic0") return solve_llt(reference_ic0(b), x);
  if (method == "ilut") return solve_lu(reference_ilut(b, 1e-3, 10), x);
  return general_solve(b.value, x);
}

/// The sets with their neighbours in A + A^T, `levels` times.
template <class Scalar>
Sets with_neighbours(const HostMatrix<Scalar>& a, Sets sets, int levels) {
  std::vector<std::set<int>> neighbours(a.num_rows);
  for (int i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (a.col_idxs[k] < a.num_rows) {
        neighbours[i].insert(a.col_idxs[k]);
        neighbours[a.col_idxs[k]].insert(i);
      }
  for (auto& rows : sets)
    for (int level = 0; level < levels; ++level) {
      std::set<int> grown(rows.begin(), rows.end());
      for (const int i : rows) grown.insert(neighbours[i].begin(), neighbours[i].end());
      rows.assign(grown.begin(), grown.end());
    }
  return sets;
}

/// M^-1 x of Schwarz's method with the parts grown by `overlap`: the sum over the subdomains, or what each
/// row's own part says.
template <class Scalar>
LongVector reference_schwarz(const HostMatrix<Scalar>& a, const Sets& parts, int overlap, bool additive,
                             const std::string& method, const std::vector<Scalar>& x) {
  const Sets sets = with_neighbours(a, parts, overlap);
  LongVector y(x.size(), 0);
  for (std::size_t d = 0; d < sets.size(); ++d) {
    LongVector own;
    for (const int i : sets[d]) own.push_back(x[i]);
    const LongVector solution = local_solve(method, block_of(a, sets[d]), own);
    for (std::size_t k = 0; k < sets[d].size(); ++k) {
      const int i = sets[d][k];
      if (additive || std::binary_search(parts[d].begin(), parts[d].end(), i)) y[i] += solution[k];
    }
  }
  return y;
}

}  // namespace prekond::testing
