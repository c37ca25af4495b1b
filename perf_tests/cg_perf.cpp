// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "benchmark_main.hpp"
#include "krylov_problem.hpp"
#include "peers/cusparse.hpp"

#include <prekond/krylov/cg.hpp>
#include <prekond/matrix/matrix_format.hpp>
#include <prekond/matrix/spmv.hpp>
#include <prekond/precond/impl/factored_inverse.hpp>
#include <prekond/precond/registry.hpp>
#include "matrix/format_operator.hpp"

#include <algorithm>
#include <memory>
#include <vector>

/// Time of a CG iteration against the bytes that it must move, and whole solves: perf_cg
/// --matrix=elasticity3d:100
/// [--preconds=none,jacobi,adaptive_fsai] [--storages=full,single,half,bfloat16: how the FSAI is kept]
/// [--spmv=csr,auto: formats of A; other than csr they are part of the case's name]. An
/// iteration reads A and the preconditioner once and passes 13 times over a vector (the products read x and
/// write y; three kernels: 6, 2 and 3 passes). `bandwidth_of_copy` is that over what a copy of the same bytes
/// reaches in this run. On CUDA, the same CG on cuSPARSE's products is compared with it (`cusparse`), by each
/// of its two algorithms.
namespace {

using namespace prekond;
using perf::Space;
using Matrix = CsrMatrix<double, int, std::size_t, Space::memory_space>;

using perf::Problem;

/// Passes over vectors besides the matrices' own: A's product 2, the updates 11, the preconditioner's.
double vector_passes(const std::string& name) {
  if (name == "adaptive_fsai" || name == "cusparse") return 13 + 4;
  return name == "jacobi" ? 13 + 3 : 13 + 2;
}

using Solvable = std::shared_ptr<const Operator<double, Space>>;

SolveResult solve(const Problem& problem, const Operator<double, Space>& a,
                  const Preconditioner<double, Space>& m, bool single, double rtol, std::int64_t iterations) {
  const Space space;
  Kokkos::deep_copy(problem.x, 0.0);
  StoppingOptions stopping;
  stopping.rtol = rtol;
  stopping.max_iters = iterations;
  CgOptions options;
  options.single_reduction = single;
  return Cg<double, Space>(options).solve(space, a, &m, problem.b, problem.x, stopping);
}

double bytes_of(const Problem& problem, const Operator<double, Space>& a) {
  if (const auto* sell = dynamic_cast<const SellOperator<double, Space>*>(&a))
    return double(sell->matrix().bytes());
  if (const auto* dia = dynamic_cast<const DiaOperator<double, Space>*>(&a))
    return double(dia->matrix().bytes());
  return double(problem.a.bytes());
}

double iteration_time(benchmark::State& state, const Problem& problem, const Operator<double, Space>& a,
                      const Preconditioner<double, Space>& m, std::int64_t m_bytes, bool single) {
  const double few = solve(problem, a, m, single, 0, 10).seconds;
  const double many = solve(problem, a, m, single, 0, 60).seconds;
  const double time = (many - few) / 50;
  const double bytes =
      bytes_of(problem, a) + double(m_bytes) + 8 * vector_passes(m.name()) * double(problem.a.num_rows);
  state.counters["bytes"] = bytes;
  state.counters["bytes_per_second"] = bytes / time;
  state.counters["bandwidth_of_copy"] = bytes / time / perf::copy_bandwidth();
  return time;
}

double solve_time(benchmark::State& state, const Problem& problem, const Operator<double, Space>& a,
                  const Preconditioner<double, Space>& m, bool single) {
  const SolveResult result = solve(problem, a, m, single, 1e-6, 10000);
  state.counters["iterations"] = double(result.iterations);
  state.counters["converged"] = result.converged;
  state.counters["true_relative_residual"] = result.true_relative_residual;
  return result.seconds;
}

/// The matrix, preconditioner and vectors of a solve, until Kokkos ends.
struct Case {
  Solvable a;
  std::shared_ptr<const Preconditioner<double, Space>> m;
  std::int64_t m_bytes = 0;
};

void add_cases(const std::string& name, const std::string& spec, const std::shared_ptr<Problem>& problem,
               const Case& made, int repetitions) {
  const auto kept = std::make_shared<Case>(made);
  Kokkos::push_finalize_hook([kept] { *kept = {}; });
  for (const bool single : {false, true}) {
    const std::string form = single ? "single_reduction" : "two_reductions";
    perf::add("iteration/" + name + "/" + form + "/" + spec, repetitions, [=](benchmark::State& state) {
      return iteration_time(state, *problem, *kept->a, *kept->m, kept->m_bytes, single);
    });
    if (name != "none")
      perf::add("solve/" + name + "/" + form + "/" + spec, 3, [=](benchmark::State& state) {
        return solve_time(state, *problem, *kept->a, *kept->m, single);
      });
  }
}

void add_peers([[maybe_unused]] const std::string& name, [[maybe_unused]] const std::string& spec,
               [[maybe_unused]] const std::shared_ptr<Problem>& problem,
               [[maybe_unused]] const MatrixPreconditioner<double, Space>& m,
               [[maybe_unused]] int repetitions) {
#ifdef KOKKOS_ENABLE_CUDA
  const auto* fsai = dynamic_cast<const FactoredInverse<double, Space>*>(&m);
  if (fsai == nullptr) return;
  const Space space;
  for (const auto algorithm : {CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2}) {
    const auto by_cusparse = [&](const Matrix& a) {
      return std::make_shared<perf::CusparseMatrix>(space, a, algorithm);
    };
    const auto inverse = std::make_shared<perf::CusparseFactoredInverse>(
        by_cusparse(fsai->factor()), by_cusparse(fsai->factor_transposed()));
    add_cases(name + (algorithm == CUSPARSE_SPMV_CSR_ALG1 ? "/cusparse_alg1" : "/cusparse_alg2"), spec,
              problem,
              {std::make_shared<perf::CusparseOperator>(by_cusparse(problem->a)), inverse, m.report().bytes},
              repetitions);
  }
#endif
}

void register_all(int& argc, char** argv) {
  const std::string spec = perf::take_flag(argc, argv, "matrix", "elasticity3d:30");
  const std::string names = perf::take_flag(argc, argv, "preconds", "none,jacobi,adaptive_fsai");
  const std::string storages = perf::take_flag(argc, argv, "storages", "full");
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "5"));
  const Space space;
  const auto problem = perf::make_problem(spec);
  const std::string formats = perf::take_flag(argc, argv, "spmv", "csr");
  for (const std::string& format : perf::words(formats))
    for (const std::string& name : perf::words(names)) {
      const std::shared_ptr<Operator<double, Space>> a = make_operator<double, Space>(
          space, problem->a, format == "csr" ? MatrixFormat::csr : MatrixFormat::automatic);
      const bool adaptive = name == "adaptive_fsai";
      for (const std::string& storage : adaptive ? perf::words(storages) : std::vector<std::string>{"full"}) {
        // The adaptive FSAI as published: the defaults stop rows earlier.
        OptionMap options;
        if (adaptive)
          options = {{"max_steps", std::int64_t(30)},
                     {"step_size", std::int64_t(1)},
                     {"step_tolerance", 0.0},
                     {"storage", storage}};
        const std::shared_ptr<MatrixPreconditioner<double, Space>> m =
            create_preconditioner<double, Space>(name, options);
        m->symbolic(space, problem->a);
        m->numeric(space, problem->a);
        add_cases((format == "csr" ? "" : format + "/") + (storage == "full" ? name : name + "/" + storage),
                  spec, problem, {a, m, m->report().bytes}, repetitions);
        if (storage == "full" && format == "csr") add_peers(name, spec, problem, *m, repetitions);
      }
    }
}

}  // namespace

int main(int argc, char** argv) {
  return prekond::perf::run(argc, argv, register_all);
}
