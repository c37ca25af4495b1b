// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/spd_matrices.hpp"

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

/// The pivot of row i of an incomplete factorisation of star(n, {hub}). `modified`: the fill in a row after
/// the hub's, of -a_ih a_hj / d_h for all j > h, is added to its diagonal.
inline double pivot_of_star(int n, int hub, int i, bool modified = false) {
  const auto off = [&](int k) { return -1.0 / (2 + (hub + k) % 5); };
  const auto diagonal = [](int k) { return 4.0 + k % 3; };
  double of_hub = n, after = 0;
  for (int k = 0; k < hub; ++k) of_hub -= off(k) * off(k) / diagonal(k);
  for (int j = hub + 1; j < n; ++j) after += off(j);
  if (i == hub) return of_hub;
  return i < hub ? diagonal(i) : diagonal(i) - off(i) / of_hub * (modified ? after : off(i));
}

/// With one hub, first, last, in the middle, and with several.
inline std::vector<Case> stars(int n) {
  std::vector<Case> cases;
  for (const std::vector<int>& hubs :
       {std::vector<int>{0}, {n - 1}, {n / 2}, {0, n / 3, n / 2, n - 2}, {1, 2, n - 1}})
    cases.push_back({"star " + std::to_string(cases.size()), star(n, hubs)});
  return cases;
}

}  // namespace prekond::testing
