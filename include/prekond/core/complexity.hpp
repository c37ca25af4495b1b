// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/report.hpp>

#include <vector>

namespace prekond {

/// sum_l nnz(A_l) / nnz(A_0): the entries of all levels' matrices over those of the finest. 0 of no levels,
/// and where A_0 has no entries.
inline double operator_complexity(const std::vector<LevelReport>& levels) {
  double entries = 0;
  for (const LevelReport& level : levels) entries += static_cast<double>(level.nnz);
  return entries > 0 && levels[0].nnz > 0 ? entries / static_cast<double>(levels[0].nnz) : 0;
}

/// sum_l n_l / n_0, of the rows. 0 of no levels.
inline double grid_complexity(const std::vector<LevelReport>& levels) {
  double rows = 0;
  for (const LevelReport& level : levels) rows += static_cast<double>(level.num_rows);
  return rows > 0 && levels[0].num_rows > 0 ? rows / static_cast<double>(levels[0].num_rows) : 0;
}

}  // namespace prekond
