// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "testing/host_matrix.hpp"

#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/generate.hpp>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace prekond::testing {

/// A pattern by rows of columns: what tests write down and compare.
using HostGraph = std::vector<std::vector<int>>;

template <class Scalar>
HostGraph pattern_of(const HostMatrix<Scalar>& a) {
  HostGraph rows;
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    rows.emplace_back(a.col_idxs.begin() + a.row_ptrs[i], a.col_idxs.begin() + a.row_ptrs[i + 1]);
  return rows;
}

template <class Space>
HostGraph to_host(const CsrGraph<Space>& graph) {
  return pattern_of(HostMatrix<char>{
      graph.num_rows, graph.num_cols, to_vector(graph.row_ptrs), to_vector(graph.col_idxs), {}});
}

template <class Space>
CsrGraph<Space> graph_of(const HostGraph& rows, std::int64_t num_cols) {
  std::vector<std::size_t> row_ptrs = {0};
  std::vector<int> col_idxs;
  for (const auto& row : rows) {
    col_idxs.insert(col_idxs.end(), row.begin(), row.end());
    row_ptrs.push_back(col_idxs.size());
  }
  return {static_cast<std::int64_t>(rows.size()), num_cols, to_device<Space>(row_ptrs),
          to_device<Space>(col_idxs)};
}

/// Each entry is there with the given probability, with a value in [-1, 1]; every 11th one is zero.
template <class Scalar>
HostMatrix<Scalar> random_entries(int rows, int cols, double density, unsigned seed) {
  std::mt19937 random(seed);
  HostMatrix<Scalar> a;
  a.num_rows = rows;
  a.num_cols = cols;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) {
      if (double(random()) >= density * 0x1p32) continue;
      a.col_idxs.push_back(j);
      a.values.push_back(random() % 11 == 0 ? Scalar(0) : Scalar(double(random()) * 0x1p-31 - 1));
    }
    a.row_ptrs.push_back(a.nnz());
  }
  return a;
}

template <class Scalar>
struct NamedMatrix {
  std::string name;
  HostMatrix<Scalar> matrix;
};

/// Matrices whose patterns are awkward: with and without diagonals, nonsymmetric, with columns of other
/// ranks.
template <class Scalar>
std::vector<NamedMatrix<Scalar>> awkward_patterns() {
  std::vector<NamedMatrix<Scalar>> all;
  const auto add = [&](const std::string& name, const HostMatrix<Scalar>& a) { all.push_back({name, a}); };
  add("no rows", random_entries<Scalar>(0, 0, 1, 0));
  add("no rows, 3 columns", random_entries<Scalar>(0, 3, 1, 0));
  add("1 x 1", random_entries<Scalar>(1, 1, 1, 2));
  add("1 x 1, empty", random_entries<Scalar>(1, 1, 0, 0));
  add("1 x 5", random_entries<Scalar>(1, 5, 1, 0));
  add("empty rows", random_entries<Scalar>(37, 37, 0, 0));
  add("dense", random_entries<Scalar>(45, 45, 1, 3));
  add("random, thin", random_entries<Scalar>(301, 301, 0.004, 4));
  add("random, nonsymmetric", random_entries<Scalar>(257, 257, 0.02, 5));
  add("random, columns of other ranks", random_entries<Scalar>(131, 197, 0.02, 6));
  std::vector<std::vector<Scalar>> dense(70, std::vector<Scalar>(70, 0));
  for (int i = 0; i < 70; ++i) dense[i][i] = Scalar(i + 1);
  add("diagonal", sparse(dense));
  for (int j = 0; j < 70; ++j) dense[41][j] = Scalar(1 + j % 5);
  add("one dense row", sparse(dense));
  for (int i = 0; i < 70; ++i) dense[i][23] = Scalar(-2);
  add("a dense row and a dense column", sparse(dense));
  // Two parts without an edge between them, one a cycle in one direction.
  dense.assign(67, std::vector<Scalar>(67, 0));
  for (int i = 0; i < 31; ++i) dense[i][(i + 1) % 31] = 3;
  for (int i = 31; i < 67; ++i) dense[i][31 + (5 * i) % 36] = dense[31 + (5 * i) % 36][i] = 4;
  add("disconnected", sparse(dense));
  const Kokkos::DefaultHostExecutionSpace space;
  for (const char* name :
       {"tridiagonal:97", "poisson2d:9", "elasticity3d:4", "circuit:9", "convection_diffusion3d:5"})
    add(name, to_host(generate<Scalar, Kokkos::DefaultHostExecutionSpace>(space, name)));
  return all;
}

}  // namespace prekond::testing
