// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Block Jacobi and Schwarz methods, sequentially: each block by a dense solve.
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

/// A[rows, rows]
template <class Scalar>
LongMatrix block_of(const HostMatrix<Scalar>& a, const std::vector<int>& rows) {
  const std::size_t m = rows.size();
  LongMatrix block(m, LongVector(m, 0));
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t k = a.row_ptrs[rows[i]]; k < a.row_ptrs[rows[i] + 1]; ++k) {
      const auto found = std::lower_bound(rows.begin(), rows.end(), a.col_idxs[k]);
      if (found == rows.end() || *found != a.col_idxs[k]) continue;
      block[i][static_cast<std::size_t>(found - rows.begin())] = a.values[k];
    }
  return block;
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
                             const std::vector<Scalar>& x) {
  const Sets sets = with_neighbours(a, parts, overlap);
  LongVector y(x.size(), 0);
  for (std::size_t d = 0; d < sets.size(); ++d) {
    LongVector own;
    for (const int i : sets[d]) own.push_back(x[i]);
    const LongVector solution = general_solve(block_of(a, sets[d]), own);
    for (std::size_t k = 0; k < sets[d].size(); ++k) {
      const int i = sets[d][k];
      if (additive || std::binary_search(parts[d].begin(), parts[d].end(), i)) y[i] += solution[k];
    }
  }
  return y;
}

}  // namespace prekond::testing
