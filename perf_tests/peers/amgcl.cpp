// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../benchmark_main.hpp"
#include "../krylov_problem.hpp"

#include <amgcl/adapter/crs_tuple.hpp>
#include <amgcl/amg.hpp>
#include <amgcl/backend/builtin.hpp>
#include <amgcl/coarsening/smoothed_aggregation.hpp>
#include <amgcl/make_solver.hpp>
#include <amgcl/relaxation/chebyshev.hpp>
#include <amgcl/relaxation/spai0.hpp>
#include <amgcl/solver/cg.hpp>

#include <cmath>
#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

/// amgcl's smoothed aggregation and its CG on a matrix of ours, on the host with OpenMP, as a row of JSON a
/// smoother: peer_amgcl --matrix=poisson3d:64 [--unknowns=1] [--rhs=random|a_ones] [--rtol=1e-6]
/// [--repetitions=3]. Constants are the near null space.
namespace {

using prekond::perf::median;
using Backend = amgcl::backend::builtin<double>;

struct Data {
  std::ptrdiff_t n = 0;
  std::vector<std::ptrdiff_t> row_ptrs, col_idxs;
  std::vector<double> values, b;
};

template <template <class> class Relaxation>
void measure(const std::string& spec, const std::string& rhs, const char* smoother, const Data& data,
             int unknowns, double rtol, int repetitions) {
  using Solver = amgcl::make_solver<amgcl::amg<Backend, amgcl::coarsening::smoothed_aggregation, Relaxation>,
                                    amgcl::solver::cg<Backend>>;
  typename Solver::params params;
  params.solver.tol = rtol;
  params.solver.maxiter = 10000;
  params.precond.coarsening.aggr.block_size = unknowns;
  std::vector<double> setups, solves;
  std::size_t iterations = 0;
  double residual = 0;
  for (int k = 0; k <= repetitions; ++k) {  // the first one is not counted
    const Kokkos::Timer timer;
    Solver solver(std::tie(data.n, data.row_ptrs, data.col_idxs, data.values), params);
    const double setup = timer.seconds();
    std::vector<double> x(data.n, 0.0);
    std::tie(iterations, residual) = solver(data.b, x);
    if (k == 0) continue;
    setups.push_back(setup);
    solves.push_back(timer.seconds() - setup);
  }
  std::printf(
      "{\"peer\": \"amgcl\", \"matrix\": \"%s\", \"rhs\": \"%s\", \"smoother\": \"%s\", \"setup_seconds\": "
      "%.6f, "
      "\"solve_seconds\": %.6f, \"iterations\": %zu, \"residual\": %.3e}\n",
      spec.c_str(), rhs.c_str(), smoother, median(setups), median(solves), iterations, residual);
}

void run(int& argc, char** argv) {
  using namespace prekond::perf;
  const std::string spec = take_flag(argc, argv, "matrix", "poisson3d:64");
  const std::string rhs = take_flag(argc, argv, "rhs", "random");
  const int unknowns = std::stoi(take_flag(argc, argv, "unknowns", "1"));
  const double rtol = std::stod(take_flag(argc, argv, "rtol", "1e-6"));
  const int repetitions = std::stoi(take_flag(argc, argv, "repetitions", "3"));
  const auto problem = make_problem(spec);
  Data data;
  data.n = problem->a.num_rows;
  data.row_ptrs.assign(problem->a.row_ptrs.data(), problem->a.row_ptrs.data() + data.n + 1);
  data.col_idxs.assign(problem->a.col_idxs.data(), problem->a.col_idxs.data() + problem->a.nnz());
  data.values.assign(problem->a.values.data(), problem->a.values.data() + problem->a.nnz());
  if (rhs == "random") fill_random(problem->b);
  Space().fence();
  data.b.assign(problem->b.data(), problem->b.data() + data.n);
  measure<amgcl::relaxation::spai0>(spec, rhs, "spai0", data, unknowns, rtol, repetitions);
  measure<amgcl::relaxation::chebyshev>(spec, rhs, "chebyshev", data, unknowns, rtol, repetitions);
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard guard(argc, argv);
  run(argc, argv);
  return 0;
}
