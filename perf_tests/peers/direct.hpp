// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The part that the programs of direct solvers share.
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/io/matrix_market.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace prekond::peers {

using DirectMatrix = CsrMatrix<double, int, std::size_t, Kokkos::HostSpace>;

inline DirectMatrix read_or_generate(const std::string& name) {
  if (name.find(".mtx") != std::string::npos) return DirectMatrix(read_matrix_market<double>(name));
  const Kokkos::DefaultHostExecutionSpace host;
  return DirectMatrix(generate<double>(host, name));
}

/// The lower triangle of a symmetric matrix by rows, which is the upper one by columns.
struct LowerTriangle {
  std::vector<std::int64_t> ptrs{0};
  std::vector<int> columns;
  std::vector<double> values;

  explicit LowerTriangle(const DirectMatrix& a) {
    for (std::int64_t i = 0; i < a.num_rows; ++i) {
      for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1) && a.col_idxs(k) <= i; ++k) {
        columns.push_back(a.col_idxs(k));
        values.push_back(a.values(k));
      }
      ptrs.push_back(static_cast<std::int64_t>(columns.size()));
    }
  }
  std::int64_t num_rows() const { return static_cast<std::int64_t>(ptrs.size()) - 1; }
};

/// b = A 1, and ||b - A x|| / ||b||.
inline std::vector<double> product(const DirectMatrix& a, const std::vector<double>& x) {
  std::vector<double> y(a.num_rows, 0.0);
  for (std::int64_t i = 0; i < a.num_rows; ++i)
    for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k) y[i] += a.values(k) * x[a.col_idxs(k)];
  return y;
}

inline double relative_residual(const DirectMatrix& a, const std::vector<double>& x,
                                const std::vector<double>& b) {
  const std::vector<double> ax = product(a, x);
  double residual = 0, size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    residual += (b[i] - ax[i]) * (b[i] - ax[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(residual / size);
}

/// Solves A x = A 1 by a class with `analyze`, `factor`, `solve` and `factor_entries`, and prints the row of
/// JSON that the programs say they print. An exception of the class becomes {"error": ...} and exit code 1.
template <class Solver>
int run_direct(const char* peer, int argc, char** argv) {
  const Kokkos::ScopeGuard guard(argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "peer_%s NAME:SIZE | FILE.mtx[.gz]\n", peer);
    return 2;
  }
  try {
    const DirectMatrix a = read_or_generate(argv[1]);
    const std::vector<double> b = product(a, std::vector<double>(a.num_rows, 1.0));
    Solver solver((LowerTriangle(a)));
    Kokkos::Timer timer;
    solver.analyze();
    const double analysis = timer.seconds();
    timer.reset();
    solver.factor();
    const double factorization = timer.seconds();
    timer.reset();
    const std::vector<double> x = solver.solve(b);
    const double solution = timer.seconds();
    std::printf(
        "{\"peer\": \"%s\", \"nnz\": %zu, \"factor_nnz\": %lld, \"analysis_seconds\": %.6f, "
        "\"factor_seconds\": %.6f, \"solve_seconds\": %.6f, \"residual\": %.3e}\n",
        peer, static_cast<std::size_t>(a.nnz()), static_cast<long long>(solver.factor_entries()), analysis,
        factorization, solution, relative_residual(a, x, b));
  } catch (const std::exception& error) {
    std::printf("{\"peer\": \"%s\", \"error\": \"%s\"}\n", peer, error.what());
    return 1;
  }
  return 0;
}

}  // namespace prekond::peers
