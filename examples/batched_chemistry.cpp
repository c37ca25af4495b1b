// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Implicit chemistry in the cells of a grid: every cell has its own stiff system of ordinary differential
// equations. Implicit Euler with Newton's method needs a linear system a cell and iteration: all cells' are
// solved in one kernel. The same source runs on CPUs and GPUs.
#include <prekond/batched/solver.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

using Space = Kokkos::DefaultExecutionSpace;
using Batch = prekond::BatchedCsr<double, Space>;
using prekond::MultiVector;
using prekond::Vector;

// A chain of reversible reactions X_j <-> X_{j+1} with Arrhenius' rates, which heat the cell:
//   r_j = A_j (exp(-E_j / T) y_j - exp(-(E_j + q_j) / T) y_{j+1})
//   dy_j/dt = r_{j-1} - r_j,   dT/dt = sum_j q_j r_j
// The unknowns of a cell are y_0 .. y_7 and T.
constexpr int num_species = 8, num_unknowns = num_species + 1;

struct Reaction {
  double factor, energy, heat;
};
KOKKOS_INLINE_FUNCTION Reaction reaction(int j) {
  return {Kokkos::pow(10.0, 2 + 2 * (j % 3)), 8.0 - j % 4, 0.1 + 0.05 * (j % 2)};
}

// The pattern that all cells share: y_j depends on its neighbours and on T, T on everything. T comes last, so
// that ILU(0) has no fill to leave out.
struct Pattern {
  Vector<std::size_t, Space> row_ptrs{"row_ptrs", num_unknowns + 1};
  Vector<int, Space> col_idxs;

  Pattern() {
    std::vector<int> columns;
    const auto ends = Kokkos::create_mirror_view(row_ptrs);
    for (int i = 0; i < num_unknowns; ++i) {
      for (int j = 0; j < num_unknowns; ++j)
        if (i == num_species || j == num_species || std::abs(i - j) <= 1) columns.push_back(j);
      ends(i + 1) = columns.size();
    }
    Kokkos::deep_copy(row_ptrs, ends);
    col_idxs = Vector<int, Space>("col_idxs", columns.size());
    Kokkos::deep_copy(col_idxs, Kokkos::View<int*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                                    columns.data(), columns.size()));
  }
};

// Writes the Jacobian I - dt f'(u) and the right-hand side F(u) = u - u_old - dt f(u) of every cell, a thread
// each.
struct Linearize {
  double dt;
  Vector<std::size_t, Space> row_ptrs;
  Vector<int, Space> col_idxs;
  MultiVector<double, Space> u, u_old, values, b;

  KOKKOS_FUNCTION void operator()(int cell) const {
    const double t = u(num_species, cell);
    double f[num_unknowns] = {};
    double derivative[num_unknowns][num_unknowns] = {};
    for (int j = 0; j + 1 < num_species; ++j) {
      const Reaction r = reaction(j);
      const double forward = r.factor * Kokkos::exp(-r.energy / t);
      const double backward = r.factor * Kokkos::exp(-(r.energy + r.heat) / t);
      const double y = u(j, cell), next = u(j + 1, cell);
      const double rate = forward * y - backward * next;
      const double by_t = (r.energy * forward * y - (r.energy + r.heat) * backward * next) / (t * t);
      const int rows[3] = {j, j + 1, num_species};
      const double weights[3] = {-1, 1, r.heat};
      for (int k = 0; k < 3; ++k) {
        f[rows[k]] += weights[k] * rate;
        derivative[rows[k]][j] += weights[k] * forward;
        derivative[rows[k]][j + 1] -= weights[k] * backward;
        derivative[rows[k]][num_species] += weights[k] * by_t;
      }
    }
    for (int i = 0; i < num_unknowns; ++i) {
      b(i, cell) = u(i, cell) - u_old(i, cell) - dt * f[i];
      for (std::size_t k = row_ptrs(i); k < row_ptrs(i + 1); ++k) {
        const int j = col_idxs(k);
        values(k, cell) = (i == j ? 1 : 0) - dt * derivative[i][j];
      }
    }
  }
};

// u -= delta, and the largest change.
double update(const Space& space, const MultiVector<double, Space>& u,
              const MultiVector<double, Space>& delta) {
  double largest = 0;
  Kokkos::parallel_reduce(
      "update", Kokkos::RangePolicy<Space>(space, 0, u.extent(1)),
      KOKKOS_LAMBDA(int cell, double& most) {
        for (int i = 0; i < num_unknowns; ++i) {
          u(i, cell) -= delta(i, cell);
          // A NaN is the largest, too.
          if (!(Kokkos::abs(delta(i, cell)) <= most)) most = Kokkos::abs(delta(i, cell));
        }
      },
      Kokkos::Max<double>(largest));
  return largest;
}

// Reactions do not change the sum of all species, and the heat T - sum_j (q_0 + .. + q_{j-1}) y_j. The
// largest change over the cells.
double drift(const Space& space, const MultiVector<double, Space>& u,
             const MultiVector<double, Space>& start) {
  double largest = 0;
  Kokkos::parallel_reduce(
      "drift", Kokkos::RangePolicy<Space>(space, 0, u.extent(1)),
      KOKKOS_LAMBDA(int cell, double& most) {
        double mass = 0, heat = u(num_species, cell) - start(num_species, cell), released = 0;
        for (int j = 0; j < num_species; ++j) {
          const double change = u(j, cell) - start(j, cell);
          mass += change;
          heat -= released * change;
          released += reaction(j).heat;
        }
        most = Kokkos::max(most, Kokkos::max(Kokkos::abs(mass), Kokkos::abs(heat)));
      },
      Kokkos::Max<double>(largest));
  return largest;
}

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard guard(argc, argv);
  const Space space;
  const int num_cells = argc > 1 ? std::atoi(argv[1]) : 2000;

  // All of X_0, at temperatures of 0.8 to 1.6
  const MultiVector<double, Space> u("u", num_unknowns, num_cells), old("old", num_unknowns, num_cells),
      start("start", num_unknowns, num_cells), delta("delta", num_unknowns, num_cells),
      b("b", num_unknowns, num_cells);
  Kokkos::parallel_for(
      "start", Kokkos::RangePolicy<Space>(space, 0, num_cells), KOKKOS_LAMBDA(int cell) {
        u(0, cell) = 1;
        u(num_species, cell) = 0.8 + 0.8 * cell / num_cells;
      });
  Kokkos::deep_copy(space, start, u);

  const Pattern pattern;
  const MultiVector<double, Space> values("values", pattern.col_idxs.extent(0), num_cells);
  const Batch jacobians{num_unknowns, pattern.row_ptrs, pattern.col_idxs, values};

  prekond::BatchedOptions options;
  options.solver = prekond::BatchedMethod::bicgstab;
  options.precond = prekond::BatchedPreconditioner::ilu0;
  options.stopping.rtol = 1e-10;
  options.stopping.atol = 1e-13;  // cells that Newton's method is done with cost no iteration
  prekond::BatchedSolver<double, Batch> solver(options);
  solver.symbolic(space, jacobians);  // once: the pattern stays
  prekond::BatchedResult<Space> result;

  double time = 0;
  int newton_iterations = 0, most_iterations = 0, steps = 0;
  for (double dt = 1e-5; time < 10; dt *= 1.3, ++steps) {
    Kokkos::deep_copy(space, old, u);
    double change = 1;
    for (int k = 0; change > 1e-10; ++k, ++newton_iterations) {
      if (k == 25 || !std::isfinite(change)) {
        std::printf("Newton's method does not converge at t = %g\n", time);
        return 1;
      }
      Kokkos::parallel_for("linearize", Kokkos::RangePolicy<Space>(space, 0, num_cells),
                           Linearize{dt, pattern.row_ptrs, pattern.col_idxs, u, old, values, b});
      Kokkos::deep_copy(space, delta, 0.0);
      solver.solve(space, jacobians, b, delta, result);
      change = update(space, u, delta);
      const prekond::BatchedReport report = summarize(space, result);
      most_iterations = std::max(most_iterations, report.max_iterations);
      if (report.num_converged < report.num_systems) {
        std::printf("%s", report.text().c_str());  // which cells, and why
        return 1;
      }
    }
    time += dt;
  }

  const double error = drift(space, u, start);
  std::printf(
      "%d cells, %d steps to t = %.3g: %d iterations of Newton's method, at most %d of the solver; mass and "
      "heat "
      "kept to %.1e\n",
      num_cells, steps, time, newton_iterations, most_iterations, error);
  return error < 1e-8 ? 0 : 1;
}
