// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Matrices that every rank knows whole, to be distributed by an engine.
#include "testing/host_matrix.hpp"

#include <prekond/matrix/generate.hpp>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace prekond::testing {

/// The matrix that `spec` names (see prekond::generate), whole on every rank.
inline HostMatrix<double> problem(const std::string& spec) {
  return to_host(generate<double>(Kokkos::DefaultHostExecutionSpace(), spec));
}

/// A matrix whose pattern and values are not symmetric, with a full diagonal and a row of its own length
/// each.
inline HostMatrix<double> irregular_matrix(std::int64_t n) {
  std::mt19937 random(5);
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, 0));
  for (std::int64_t i = 0; i < n; ++i) {
    dense[i][i] = 1 + double(i);
    for (unsigned k = 0; k < random() % 7; ++k) dense[i][random() % n] = double(random()) / 0x1p32 + 0.25;
  }
  return sparse(dense);
}

/// Row i has one entry, in column i + 1 mod n: no rank has an entry in the column of its first row.
inline HostMatrix<double> shift_matrix(std::int64_t n) {
  HostMatrix<double> a;
  a.num_rows = a.num_cols = n;
  for (std::int64_t i = 0; i < n; ++i) {
    a.col_idxs.push_back(static_cast<int>((i + 1) % n));
    a.values.push_back(double(i) + 0.5);
    a.row_ptrs.push_back(a.nnz());
  }
  return a;
}

inline HostMatrix<double> diagonal(std::int64_t n) {
  HostMatrix<double> a;
  a.num_rows = a.num_cols = n;
  for (std::int64_t i = 0; i < n; ++i) {
    a.col_idxs.push_back(static_cast<int>(i));
    a.values.push_back(double(i) + 1);
    a.row_ptrs.push_back(a.nnz());
  }
  return a;
}

/// The first half is a chain, the second half diagonal: there ranks have no remote columns.
inline HostMatrix<double> half_coupled(std::int64_t n) {
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, 0));
  for (std::int64_t i = 0; i < n; ++i) {
    dense[i][i] = 4;
    if (i + 1 < n / 2) dense[i][i + 1] = dense[i + 1][i] = -1;
  }
  return sparse(dense);
}

/// Rows and columns without entries, those of the first and of the last ranks among them, and a long row and
/// a long column.
inline HostMatrix<double> gapped(std::int64_t n) {
  const auto is_gap = [&](std::int64_t i, std::int64_t step) { return i != n / 2 && i % step == 3; };
  std::vector<std::vector<double>> dense(n, std::vector<double>(n, 0));
  for (std::int64_t i = n / 3; i < n; ++i)
    for (std::int64_t j = 0; j < n - n / 4; ++j) {
      const bool is_long = i == n / 2 || j == n / 2;
      if (!is_gap(i, 5) && !is_gap(j, 7) && (is_long || (i * 31 + j * 17) % 6 == 0))
        dense[i][j] = 1 + double(i) - 0.25 * double(j + n);
    }
  return sparse(dense);
}

}  // namespace prekond::testing
