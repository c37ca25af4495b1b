// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Solves the Poisson equation on the unit square: a matrix in Views of one's own, methods chosen by the
// matrix. The same source runs on CPUs and GPUs.
#include <prekond/precond/linear_solver.hpp>

#include <cstdio>

using Space = Kokkos::DefaultExecutionSpace;
using Matrix = prekond::CsrMatrix<double, int, std::size_t, Space::memory_space>;

// The 5-point Laplacian on size x size nodes. Any code that fills three Views in this form will do.
Matrix assemble(const Space& space, int size) {
  const int num_rows = size * size;
  const Matrix::view<std::size_t> row_ptrs("row_ptrs", num_rows + 1);
  const auto row_length = KOKKOS_LAMBDA(int i) {
    const int x = i % size, y = i / size;
    return 1 + (x > 0) + (x < size - 1) + (y > 0) + (y < size - 1);
  };
  std::size_t nnz = 0;
  Kokkos::parallel_scan(
      Kokkos::RangePolicy<Space>(space, 0, num_rows),
      KOKKOS_LAMBDA(int i, std::size_t& sum, bool final) {
        sum += row_length(i);
        if (final) row_ptrs(i + 1) = sum;
      },
      nnz);
  const Matrix::view<int> col_idxs("col_idxs", nnz);
  const Matrix::view<double> values("values", nnz);
  Kokkos::parallel_for(
      Kokkos::RangePolicy<Space>(space, 0, num_rows), KOKKOS_LAMBDA(int i) {
        const int x = i % size, y = i / size;
        std::size_t k = row_ptrs(i);
        const auto add = [&](bool there, int column, double value) {
          if (!there) return;
          col_idxs(k) = column;
          values(k++) = value;
        };
        add(y > 0, i - size, -1);
        add(x > 0, i - 1, -1);
        add(true, i, 4);
        add(x < size - 1, i + 1, -1);
        add(y < size - 1, i + size, -1);
      });
  return Matrix(num_rows, num_rows, row_ptrs, col_idxs, values);
}

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard guard(argc, argv);
  const Space space;

  const Matrix a = assemble(space, 200);
  const prekond::Vector<double, Space> b("b", a.num_rows), x("x", a.num_rows);
  Kokkos::deep_copy(b, 1.0);  // the load; x = 0 is the first guess
  prekond::LinearSolverOptions options;
  options.stopping.rtol = 1e-8;
  prekond::LinearSolver<double, Space> solver(options);  // or prekond::solve(space, a, b, x, options)
  solver.set_matrix(space, a);  // an InputError names the first bad entry; set_values after a change
  const auto result = solver.solve(space, b, x);

  std::printf("%s on %lld unknowns: %s after %lld iterations, ||b - A x|| / ||b|| = %.2e\n",
              prekond::to_string(solver.chosen()).c_str(), static_cast<long long>(a.num_rows),
              prekond::to_string(result.reason).c_str(), static_cast<long long>(result.iterations),
              result.true_relative_residual);
  return result.converged ? 0 : 1;
}
