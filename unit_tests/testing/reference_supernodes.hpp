// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/host_graph.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

namespace prekond::testing {

/// Where blocks of `size` rows begin, and the number of rows.
inline std::vector<int> reference_uniform_supernodes(int n, int size) {
  std::vector<int> begins;
  for (int i = 0; i < n; i += size) begins.push_back(i);
  begins.push_back(n);
  return begins;
}

/// The same for runs of rows that have at least `similarity` of their united columns in common with the row
/// before, of at most `most` rows: row by row.
inline std::vector<int> reference_supernodes(const HostGraph& rows, double similarity, int most) {
  const int n = static_cast<int>(rows.size());
  const auto square_part = [&](int i) {
    std::set<int> cols(rows[i].begin(), rows[i].end());
    cols.erase(cols.lower_bound(n), cols.end());
    return cols;
  };
  std::vector<int> begins;
  for (int i = 0; i < n; ++i) {
    bool joins = i > 0 && i - begins.back() < most;
    if (joins) {
      const std::set<int> before = square_part(i - 1), own = square_part(i);
      std::vector<int> shared;
      std::set_intersection(before.begin(), before.end(), own.begin(), own.end(), std::back_inserter(shared));
      const std::size_t united = before.size() + own.size() - shared.size();
      joins = static_cast<double>(shared.size()) >= similarity * static_cast<double>(united);
    }
    if (!joins) begins.push_back(i);
  }
  begins.push_back(n);
  return begins;
}

/// A lower triangle whose rows of a block share their columns left of it, and have all of the block's up to
/// the diagonal.
inline HostGraph reference_merge(const HostGraph& rows, const std::vector<int>& begins) {
  HostGraph merged;
  for (std::size_t k = 0; k + 1 < begins.size(); ++k) {
    std::set<int> cols;
    for (int i = begins[k]; i < begins[k + 1]; ++i)
      for (const int j : rows[i])
        if (j < begins[k]) cols.insert(j);
    for (int i = begins[k]; i < begins[k + 1]; ++i) {
      cols.insert(i);
      merged.emplace_back(cols.begin(), cols.end());
    }
  }
  return merged;
}

}  // namespace prekond::testing
