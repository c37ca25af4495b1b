// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The common parts of the tests of triangular solves.
#include "testing/multicolor_cases.hpp"
#include "testing/reference_triangular.hpp"

#include <gtest/gtest.h>
#include <prekond/precond/triangular_solver.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace prekond::testing {

inline constexpr Triangle triangles[] = {Triangle::lower, Triangle::upper};

inline TriangularOptions with(TriangularMethod method, Storage storage = Storage::full) {
  TriangularOptions options;
  options.method = method;
  options.storage = storage;
  return options;
}

inline std::string word_of(TriangularMethod method) {
  for (const auto& [word, value] : triangular_methods())
    if (value == method) return word;
  return "";
}

/// The strict triangle, with the columns of other ranks; a row's entries add up to `sum` of their size.
inline HostMatrix<double> strict_triangle(const HostMatrix<double>& a, Triangle which, double sum = 0.9) {
  HostMatrix<double> n;
  n.num_rows = a.num_rows;
  n.num_cols = a.num_cols;
  for (std::int64_t i = 0; i < a.num_rows; ++i) {
    double size = 0;
    const std::size_t first = n.nnz();
    for (std::size_t k = a.row_ptrs[i]; k < a.row_ptrs[i + 1]; ++k) {
      const int j = a.col_idxs[k];
      if (j < a.num_rows && (which == Triangle::lower ? j >= i : j <= i)) continue;
      n.col_idxs.push_back(j);
      n.values.push_back(a.values[k]);
      size += std::abs(a.values[k]);
    }
    for (std::size_t k = first; k < n.nnz(); ++k) n.values[k] *= size > 0 ? sum / size : 1;
    n.row_ptrs.push_back(n.nnz());
  }
  return n;
}

/// The transpose of a square matrix.
inline HostMatrix<double> transposed(const HostMatrix<double>& n) {
  HostMatrix<double> t;
  t.num_rows = t.num_cols = n.num_rows;
  for (int j = 0; j < static_cast<int>(n.num_rows); ++j) {
    for (int i = 0; i < static_cast<int>(n.num_rows); ++i)
      for (std::size_t k = n.row_ptrs[i]; k < n.row_ptrs[i + 1]; ++k)
        if (n.col_idxs[k] == j) {
          t.col_idxs.push_back(i);
          t.values.push_back(n.values[k]);
        }
    t.row_ptrs.push_back(t.nnz());
  }
  return t;
}

template <class Space, class Scalar>
CsrGraph<Space> graph_of(const HostMatrix<Scalar>& n) {
  return {n.num_rows, n.num_cols, to_device<Space>(n.row_ptrs), to_device<Space>(n.col_idxs)};
}

template <class Scalar>
std::vector<Scalar> scales_of(std::int64_t n) {
  std::vector<Scalar> s(n);
  for (std::int64_t i = 0; i < n; ++i) s[i] = Scalar((i % 3 == 1 ? -1 : 1) * (0.5 + double(i % 7)));
  return s;
}

template <class Scalar>
std::vector<std::vector<Scalar>> right_sides(std::int64_t n, int count) {
  std::vector<std::vector<Scalar>> b;
  for (int v = 0; v < count; ++v) {
    const auto wave = waves_of(n, v);
    b.emplace_back(wave.begin(), wave.end());
  }
  return b;
}

/// A solver that has seen a factor.
template <class Scalar, class Space>
struct Solver {
  TriangularSolver<Scalar, Space> solver;
  Report report;
  Space space;

  Solver(const HostMatrix<Scalar>& n, Triangle which, const TriangularOptions& options,
         const std::vector<Scalar>& s = {}, const Space& on = Space())
      : solver("test", which, options), space(on) {
    solver.symbolic(space, graph_of<Space>(n));
    numeric(n, s);
  }
  void numeric(const HostMatrix<Scalar>& n, const std::vector<Scalar>& s = {}) {
    report = {};
    solver.numeric(space, to_device<Space>(n.values), to_device<Space>(s), report);
  }
  /// Solves for several columns, with a workspace for one more.
  std::vector<std::vector<Scalar>> operator()(const std::vector<std::vector<Scalar>>& x) const {
    const auto n = static_cast<std::size_t>(solver.num_rows());
    const MultiVector<Scalar, Space> from("from", n, x.size()), to("to", n, x.size());
    const auto host = Kokkos::create_mirror_view(from);
    const auto workspace = solver.make_workspace(space, static_cast<int>(x.size()) + 1);
    Kokkos::deep_copy(from, Scalar(1));  // what a workspace has from before does not matter
    solver.apply(space, from, to, *workspace);
    for (std::size_t v = 0; v < x.size(); ++v)
      for (std::size_t i = 0; i < n; ++i) host(i, v) = x[v][i];
    space.fence();
    Kokkos::deep_copy(from, host);
    Kokkos::deep_copy(to, Scalar(std::nan("")));
    solver.apply(space, from, to, *workspace);
    space.fence();
    std::vector<std::vector<Scalar>> y(x.size());
    for (std::size_t v = 0; v < x.size(); ++v) y[v] = to_vector(column(to, v));
    return y;
  }
  std::vector<Scalar> operator()(const std::vector<Scalar>& x) const {
    return (*this)(std::vector<std::vector<Scalar>>{x})[0];
  }
};

template <class Scalar>
void expect_solution(const HostMatrix<Scalar>& n, Triangle which, const std::vector<Scalar>& s,
                     const std::vector<Scalar>& x, const std::vector<Scalar>& y, double tolerance) {
  const Substitution expected = substitute(n, which, s, x);
  for (std::size_t i = 0; i < y.size(); ++i)
    ASSERT_LE(std::abs(y[i] - expected.y[i]), tolerance * expected.magnitudes[i]) << "row " << i;
}

}  // namespace prekond::testing
