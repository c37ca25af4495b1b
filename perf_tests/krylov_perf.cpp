// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"
#include "krylov_problem.hpp"

#include <prekond/krylov/solver.hpp>
#include <prekond/precond/registry.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

/// Time of an iteration of every solver against the bytes that it must move, and whole solves:
/// perf_krylov --matrix=convection_diffusion3d:100 [--preconds=none,jacobi] [--restart=30] [--s=4]
/// [--columns=1]
/// An iteration is what the solver counts as one: two products with A for bicgstab, one for the others.
/// GMRES's are means over whole cycles. `bandwidth_of_copy` is the bytes a second over what a copy reaches in
/// this run. With --columns=k the solver has k right-hand sides, and the time is that of an iteration of all
/// of them.
namespace {

using namespace prekond;
using perf::Problem;
using perf::Space;

struct Case {
  std::string name, solver;
  OptionMap options;
  double passes;    ///< over vectors, of an iteration without a preconditioner
  double products;  ///< of an iteration
};

/// Means over a cycle of m steps from j = 0: the basis is read three times (cgs2) or twice (dcgs2), the
/// correction of x once.
double gmres_passes(int restart, bool delayed) {
  const double mean = (restart - 1) / 2.0;
  const double of_a_cycle = 10 + restart;
  return (delayed ? 2 * mean + 8 : 3 * mean + 10) + of_a_cycle / restart;
}

/// The same in blocks of s: four passes over the basis a block, two over its vectors, and the shifts.
double gmres_block_passes(int restart, int s) {
  const double mean = (restart - 1) / 2.0;
  const double of_a_cycle = 10 + restart;
  return 4 * (mean + 1) / s + 9 + of_a_cycle / restart;
}

std::vector<Case> cases(int restart, int s) {
  const auto steps = [=](int size) {
    return Case{"gmres/steps" + std::to_string(size),
                "gmres",
                {{"restart", std::int64_t(restart)}, {"step_size", std::int64_t(size)}},
                gmres_block_passes(restart, size),
                1};
  };
  const OptionValue m = std::int64_t(restart), delayed = std::string("dcgs2");
  return {{"cg", "cg", {}, 13, 1},
          {"bicgstab", "bicgstab", {}, 22, 2},
          {"gmres/cgs2", "gmres", {{"restart", m}}, gmres_passes(restart, false), 1},
          {"gmres/dcgs2",
           "gmres",
           {{"restart", m}, {"orthogonalization", delayed}},
           gmres_passes(restart, true),
           1},
          steps(2),
          steps(4),
          steps(6),
          steps(8),
          {"fgmres/cgs2", "fgmres", {{"restart", m}}, gmres_passes(restart, false), 1},
          {"fgmres/dcgs2",
           "fgmres",
           {{"restart", m}, {"orthogonalization", delayed}},
           gmres_passes(restart, true),
           1},
          {"idr", "idr", {{"s", OptionValue(std::int64_t(s))}}, (s * (3.0 * s + 15) + s + 11) / (s + 1), 1},
          {"richardson", "richardson", {}, 8, 1}};
}

/// The problem's right-hand side, k times.
struct Columns {
  MultiVector<double, Space> b, x;
};

SolveResult solve(const Case& the_case, const Problem& problem, const Columns& columns,
                  const Preconditioner<double, Space>* m, double rtol, std::int64_t iterations) {
  const Space space;
  Kokkos::deep_copy(columns.x, 0.0);
  StoppingOptions stopping;
  stopping.rtol = rtol;
  stopping.max_iters = iterations;
  const auto solver = create_solver<double, Space>(the_case.solver, the_case.options);
  return solver->solve(space, CsrOperator<double, Space>(problem.a), m, columns.b, columns.x, stopping)
      .front();
}

double iteration_time(benchmark::State& state, const Case& the_case, const Problem& problem,
                      const Columns& columns, const Preconditioner<double, Space>* m, std::int64_t m_bytes,
                      int cycle) {
  const SolveResult few = solve(the_case, problem, columns, m, 0, cycle),
                    many = solve(the_case, problem, columns, m, 0, 3 * cycle);
  const double time =
      (many.seconds - few.seconds) / double(std::max<std::int64_t>(1, many.iterations - few.iterations));
  const double k = double(columns.x.extent(1)), groups = double((columns.x.extent(1) + 3) / 4);
  const double bytes =
      the_case.products * (groups * double(problem.a.bytes()) + k * double(m_bytes)) +
      8 * k * (the_case.passes + (m ? 2 * the_case.products : 0)) * double(problem.a.num_rows);
  state.counters["iterations"] = double(many.iterations);
  state.counters["bytes"] = bytes;
  state.counters["bytes_per_second"] = bytes / time;
  state.counters["bandwidth_of_copy"] = bytes / time / perf::copy_bandwidth();
  return time;
}

double solve_time(benchmark::State& state, const Case& the_case, const Problem& problem,
                  const Columns& columns, const Preconditioner<double, Space>* m) {
  const SolveResult result = solve(the_case, problem, columns, m, 1e-6, 10000);
  state.counters["iterations"] = double(result.iterations);
  state.counters["products"] = double(result.matrix_products);
  state.counters["converged"] = result.converged;
  state.counters["true_relative_residual"] = result.true_relative_residual;
  return result.seconds;
}

std::shared_ptr<Columns> make_columns(const Problem& problem, int count) {
  const auto columns = std::make_shared<Columns>();
  Kokkos::push_finalize_hook([columns] { *columns = {}; });
  columns->b = MultiVector<double, Space>("b", problem.a.num_rows, count);
  columns->x = MultiVector<double, Space>("x", problem.a.num_rows, count);
  for (int c = 0; c < count; ++c) Kokkos::deep_copy(column(columns->b, c), problem.b);
  return columns;
}

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "convection_diffusion3d:50");
  const std::string names = perf::take_flag(argc, argv, "preconds", "none,jacobi");
  const int restart = std::stoi(perf::take_flag(argc, argv, "restart", "30"));
  const int s = std::stoi(perf::take_flag(argc, argv, "s", "4"));
  const int count = std::stoi(perf::take_flag(argc, argv, "columns", "1"));
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  const Space space;
  const auto problem = perf::make_problem(spec);
  const auto columns = make_columns(*problem, count);
  for (const std::string& name : perf::words(names)) {
    std::shared_ptr<MatrixPreconditioner<double, Space>> m;
    if (name != "none") {
      m = create_preconditioner<double, Space>(name);
      m->symbolic(space, problem->a);
      m->numeric(space, problem->a);
    }
    const auto kept = std::make_shared<std::shared_ptr<MatrixPreconditioner<double, Space>>>(m);
    Kokkos::push_finalize_hook([kept] { kept->reset(); });
    const std::int64_t bytes = m ? m->report().bytes : 0;
    for (const Case& the_case : cases(restart, s)) {
      perf::add("iteration/" + the_case.name + "/" + name + "/" + spec, repetitions,
                [=](benchmark::State& state) {
                  return iteration_time(state, the_case, *problem, *columns, kept->get(), bytes, restart);
                });
      if (the_case.solver == "cg") continue;  // for matrices that are symmetric
      perf::add("solve/" + the_case.name + "/" + name + "/" + spec, 3, [=](benchmark::State& state) {
        return solve_time(state, the_case, *problem, *columns, kept->get());
      });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
