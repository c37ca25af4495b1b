// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/spd_matrices.hpp"

#include <prekond/precond/incomplete_options.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace prekond::testing {

/// A matrix whose rows and columns `hubs`, which ascend, are full, and that has only its diagonal elsewhere:
/// symmetric, positive definite for a few hubs. With one hub h, a_hh = n, a_ii = 4 + i % 3, a_ih = -1 / (2 +
/// (h + i) % 5).
inline HostMatrix<double> star(int n, const std::vector<int>& hubs) {
  HostMatrix<double> a;
  a.num_rows = a.num_cols = n;
  std::vector<bool> is_hub(n, false);
  for (const int hub : hubs) is_hub[hub] = true;
  const auto add = [&](int i, int j) {
    a.col_idxs.push_back(j);
    a.values.push_back(i != j ? -1.0 / (2 + (i + j) % 5) : (is_hub[i] ? n : 4.0 + i % 3));
  };
  for (int i = 0; i < n; ++i) {
    if (is_hub[i]) {
      for (int j = 0; j < n; ++j) add(i, j);
    } else {
      bool added = false;
      for (const int hub : hubs) {
        if (hub > i && !added) add(i, i);
        added = added || hub > i;
        add(i, hub);
      }
      if (!added) add(i, i);
    }
    a.row_ptrs.push_back(a.nnz());
  }
  return a;
}

/// The pivot of row i of an incomplete factorisation of star(n, {hub}). The fill in a row after the hub's, of
/// -a_ih a_hj / d_h for all j > h, is added to its diagonal by Gustafsson, and its size in the scaled matrix
/// by Robert.
inline double pivot_of_star(int n, int hub, int i, IncompleteKind kind = IncompleteKind::ic) {
  const auto off = [&](int k) { return -1.0 / (2 + (hub + k) % 5); };
  const auto diagonal = [](int k) { return 4.0 + k % 3; };
  double of_hub = n, after = 0, sizes = 0;
  for (int k = 0; k < hub; ++k) of_hub -= off(k) * off(k) / diagonal(k);
  for (int j = hub + 1; j < n; ++j) {
    after += off(j);
    if (j != i) sizes += -off(j) * std::sqrt(diagonal(i) / diagonal(j));
  }
  if (i == hub) return of_hub;
  if (i < hub) return diagonal(i);
  if (kind == IncompleteKind::mic_gustafsson) return diagonal(i) - off(i) / of_hub * after;
  const double exact = diagonal(i) - off(i) * off(i) / of_hub;
  return kind == IncompleteKind::mic_robert ? exact - off(i) / of_hub * sizes : exact;
}

/// The same with a third of the entries off the diagonal positive; of one hub it is as definite as before.
inline HostMatrix<double> of_both_signs(HostMatrix<double> a) {
  for (int i = 0; i < static_cast<int>(a.num_rows); ++i)
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k)
      if (a.col_idxs[k] != i && (i + a.col_idxs[k]) % 3 == 0) a.values[k] = -a.values[k];
  return a;
}

/// With one hub, first, last, in the middle, and with several.
inline std::vector<Case> stars(int n) {
  std::vector<Case> cases;
  for (const std::vector<int>& hubs :
       {std::vector<int>{0}, {n - 1}, {n / 2}, {0, n / 3, n / 2, n - 2}, {1, 2, n - 1}})
    cases.push_back({"star " + std::to_string(cases.size()), star(n, hubs)});
  cases.push_back({"star of both signs", of_both_signs(star(n, {n / 3}))});
  return cases;
}

}  // namespace prekond::testing
