// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"

#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/registry.hpp>

#include <memory>

/// Time of a CG iteration against the bytes that it must move, and whole solves: perf_cg --matrix=elasticity3d:100
/// [--preconds=none,jacobi,adaptive_fsai]. An iteration reads A and the preconditioner once and passes 13 times over a
/// vector (the products read x and write y; three kernels: 6, 2 and 3 passes).
namespace {

using namespace prekond;
using perf::Space;
using Matrix = CsrMatrix<double, int, std::size_t, Space::memory_space>;

struct Problem {
  Matrix a;
  Vector<double, Space> b, x;
};

/// Passes over vectors besides the matrices' own: A's product 2, the updates 11, the preconditioner's.
double vector_passes(const std::string& name) {
  if (name == "adaptive_fsai") return 13 + 4;
  return name == "jacobi" ? 13 + 3 : 13 + 2;
}

SolveResult solve(const Problem& problem, const Preconditioner<double, Space>& m, bool single, double rtol, std::int64_t iterations) {
  const Space space;
  Kokkos::deep_copy(problem.x, 0.0);
  StoppingOptions stopping;
  stopping.rtol = rtol;
  stopping.max_iters = iterations;
  CgOptions options;
  options.single_reduction = single;
  return Cg<double, Space>(options).solve(space, CsrOperator<double, Space>(problem.a), &m, problem.b, problem.x, stopping);
}

double iteration_time(benchmark::State& state, const Problem& problem, const Preconditioner<double, Space>& m, bool single) {
  const double few = solve(problem, m, single, 0, 10).seconds;
  const double many = solve(problem, m, single, 0, 60).seconds;
  const double time = (many - few) / 50;
  const double bytes = double(problem.a.bytes()) + double(m.report().bytes) + 8 * vector_passes(m.name()) * double(problem.a.num_rows);
  state.counters["bytes"] = bytes;
  state.counters["bytes_per_second"] = bytes / time;
  return time;
}

double solve_time(benchmark::State& state, const Problem& problem, const Preconditioner<double, Space>& m, bool single) {
  const SolveResult result = solve(problem, m, single, 1e-6, 10000);
  state.counters["iterations"] = double(result.iterations);
  state.counters["converged"] = result.converged;
  state.counters["true_relative_residual"] = result.true_relative_residual;
  return result.seconds;
}

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "elasticity3d:30");
  const std::string names = perf::take_flag(argc, argv, "preconds", "none,jacobi,adaptive_fsai");
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  const Space space;
  const auto problem = std::make_shared<Problem>();
  Kokkos::push_finalize_hook([problem] { *problem = {}; });
  problem->a = generate<double>(space, spec);
  problem->b = Vector<double, Space>("b", problem->a.num_rows);
  problem->x = Vector<double, Space>("x", problem->a.num_rows);
  Kokkos::deep_copy(problem->x, 1.0);
  spmv<double, Space>(space, 1.0, problem->a, as_multivector(VectorView<const double, Space>(problem->x)), 0.0, as_multivector(problem->b));
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(',', at), names.size());
    const std::string name = names.substr(at, end - at);
    at = end + 1;
    // The adaptive FSAI as published: the defaults stop rows earlier.
    const OptionMap published = {{"max_steps", std::int64_t(30)}, {"step_size", std::int64_t(1)}, {"step_tolerance", 0.0}};
    const std::shared_ptr<MatrixPreconditioner<double, Space>> m =
        create_preconditioner<double, Space>(name, name == "adaptive_fsai" ? published : OptionMap{});
    m->symbolic(space, problem->a);
    m->numeric(space, problem->a);
    const auto holder = std::make_shared<std::shared_ptr<MatrixPreconditioner<double, Space>>>(m);
    Kokkos::push_finalize_hook([holder] { holder->reset(); });
    for (const bool single : {false, true}) {
      const std::string form = single ? "single_reduction" : "two_reductions";
      perf::add("iteration/" + name + "/" + form + "/" + spec, repetitions,
                [=](benchmark::State& state) { return iteration_time(state, *problem, **holder, single); });
      if (name != "none")
        perf::add("solve/" + name + "/" + form + "/" + spec, 3,
                  [=](benchmark::State& state) { return solve_time(state, *problem, **holder, single); });
    }
  }
}

}  // namespace

int main(int argc, char** argv) { return prekond::perf::run(argc, argv, register_all); }
