// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// ILU(0) by blocks as textbooks have it, and its two solves, one block after another.
#include "testing/block_matrices.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <vector>

namespace prekond::testing {

using LongBlock = std::vector<long double>;  ///< b x b by columns
using LongBlockRows = std::vector<std::map<int, LongBlock>>;

/// The blocks with an entry; rows of the padding have 1 on the diagonal.
template <class Scalar>
LongBlockRows block_rows_of(const HostMatrix<Scalar>& a, int b) {
  LongBlockRows rows((a.num_rows + b - 1) / b);
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const int j = a.col_idxs[k];
      if (j >= a.num_rows) continue;
      auto& block = rows[i / b][j / b];
      block.resize(b * b, 0);
      block[j % b * b + i % b] = a.values[k];
    }
  return rows;
}

/// left right
inline LongBlock product(const LongBlock& left, const LongBlock& right, int b) {
  LongBlock result(b * b, 0);
  for (int q = 0; q < b; ++q)
    for (int r = 0; r < b; ++r)
      for (int p = 0; p < b; ++p) result[q * b + p] += left[r * b + p] * right[q * b + r];
  return result;
}

/// Gauss-Jordan with row exchanges. \returns an empty block where a pivot is not above `floor` times the
/// largest entry of its column, the rows scaled by powers of two
inline LongBlock inverse_of(LongBlock a, int b, long double floor) {
  LongBlock x(b * b, 0);
  LongBlock largest(b, 0);
  for (int p = 0; p < b; ++p) {
    long double most = 0;
    for (int q = 0; q < b; ++q) most = std::max(most, std::abs(a[q * b + p]));
    const long double scale = most > 0 ? std::ldexp(1.0L, -std::ilogb(most)) : 1.0L;
    x[p * b + p] = scale;
    for (int q = 0; q < b; ++q) {
      a[q * b + p] *= scale;
      largest[q] = std::max(largest[q], std::abs(a[q * b + p]));
    }
  }
  for (int k = 0; k < b; ++k) {
    int row = k;
    for (int p = k + 1; p < b; ++p)
      if (std::abs(a[k * b + p]) > std::abs(a[k * b + row])) row = p;
    const long double pivot = a[k * b + row];
    if (!(std::abs(pivot) > floor * largest[k])) return {};
    for (int q = 0; q < b; ++q) {
      std::swap(a[q * b + row], a[q * b + k]);
      std::swap(x[q * b + row], x[q * b + k]);
      a[q * b + k] /= pivot;
      x[q * b + k] /= pivot;
    }
    for (int p = 0; p < b; ++p) {
      const long double factor = a[k * b + p];
      if (p == k || factor == 0) continue;
      for (int q = 0; q < b; ++q) {
        a[q * b + p] -= factor * a[q * b + k];
        x[q * b + p] -= factor * x[q * b + k];
      }
    }
  }
  return x;
}

/// 1 / entry; of the largest entry of row p of the blocks where that is 0; 1 of an empty row.
inline long double point_inverse(const std::map<int, LongBlock>& row, int b, int p, long double entry) {
  for (const auto& [j, block] : row)
    for (int q = 0; entry == 0 && q < b; ++q)
      if (block[q * b + p] != 0) {
        long double most = 0;
        for (const auto& [k, other] : row)
          for (int r = 0; r < b; ++r) most = std::max(most, std::abs(other[r * b + p]));
        return 1 / most;
      }
  return entry != 0 ? 1 / entry : 1;
}

/// M = D (I + N) (I + U)
struct ReferenceBlockIlu {
  int block_size = 1;
  LongBlockRows lower, upper;
  std::vector<LongBlock> inverse;
  std::vector<int> broken;  ///< block rows
};

/// Factors of A + alpha diag|A|, with pivots as a precision with this epsilon has them.
template <class Scalar>
ReferenceBlockIlu reference_block_ilu(const HostMatrix<Scalar>& a, int b, double alpha = 0) {
  const long double floor = std::sqrt((long double)(std::numeric_limits<Scalar>::epsilon()));
  const LongBlockRows rows = block_rows_of(a, b);
  const int n = static_cast<int>(rows.size());
  ReferenceBlockIlu result;
  result.block_size = b;
  result.lower.resize(n);
  result.upper.resize(n);
  result.inverse.resize(n);
  for (int i = 0; i < n; ++i) {
    auto row = rows[i];
    auto& diagonal = row[i];
    diagonal.resize(b * b, 0);
    for (int p = 0; p < b; ++p) {
      auto& entry = diagonal[p * b + p];
      entry += alpha * entry;
      if (std::int64_t(i) * b + p >= a.num_rows) entry = 1;
    }
    const LongBlock own = diagonal;
    for (auto& [k, w] : row) {
      if (k >= i) break;
      for (const auto& [j, u] : result.upper[k]) {
        if (!row.count(j)) continue;
        const LongBlock update = product(w, u, b);
        for (int e = 0; e < b * b; ++e) row[j][e] -= update[e];
      }
    }
    LongBlock inverse = inverse_of(row[i], b, floor);
    const bool broken = inverse.empty();
    if (broken) {
      result.broken.push_back(i);
      inverse.assign(b * b, 0);
      for (int p = 0; p < b; ++p) inverse[p * b + p] = point_inverse(rows[i], b, p, own[p * b + p]);
    }
    for (auto& [j, w] : row) {
      if (j == i) continue;
      LongBlock scaled = broken ? LongBlock(b * b, 0) : product(inverse, w, b);
      (j < i ? result.lower : result.upper)[i][j] = std::move(scaled);
    }
    result.inverse[i] = inverse;
  }
  return result;
}

/// y with y_i = s_i - sum_k N_ik y_k of a triangle, in its order; x by single rows, padded with zeros.
inline LongBlock reference_solve(const LongBlockRows& triangle, int b, LongBlock y, bool lower) {
  const int n = static_cast<int>(triangle.size());
  for (int step = 0; step < n; ++step) {
    const int i = lower ? step : n - 1 - step;
    for (const auto& [k, block] : triangle[i])
      for (int q = 0; q < b; ++q)
        for (int p = 0; p < b; ++p) y[i * b + p] -= block[q * b + p] * y[k * b + q];
  }
  return y;
}

/// `sweeps` of y <- source - N y from y = source.
inline LongBlock reference_sweeps(const LongBlockRows& triangle, int b, const LongBlock& source, int sweeps) {
  LongBlock y = source;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    LongBlock next = source;
    for (std::size_t i = 0; i < triangle.size(); ++i)
      for (const auto& [k, block] : triangle[i])
        for (int q = 0; q < b; ++q)
          for (int p = 0; p < b; ++p) next[i * b + p] -= block[q * b + p] * y[k * b + q];
    y = next;
  }
  return y;
}

inline LongBlock reference_scale(const std::vector<LongBlock>& blocks, int b, const LongBlock& x) {
  LongBlock y(x.size(), 0);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    for (int q = 0; q < b; ++q)
      for (int p = 0; p < b; ++p) y[i * b + p] += blocks[i][q * b + p] * x[i * b + q];
  return y;
}

/// Clusters of entries, see clustered(), with a diagonal of `dominance` times the row's sum, where the row
/// has entries.
inline HostMatrix<double> dominant_clusters(std::int64_t n, unsigned seed, double dominance = 1.5) {
  HostMatrix<double> a = clustered(n, n, seed);
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, 0));
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      dense[i][a.col_idxs[k]] = a.values[k];
      sum += std::abs(a.values[k]);
    }
    if (sum > 0) dense[i][i] = dominance * sum;
  }
  return sparse(dense);
}

}  // namespace prekond::testing
