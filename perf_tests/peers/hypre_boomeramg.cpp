// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../benchmark_main.hpp"
#include "../krylov_problem.hpp"

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>

#include <cstdio>
#include <string>
#include <vector>

/// hypre's BoomerAMG and its CG on one of our generated matrices, in this process and on the device that both
/// libraries were built for, as a row of JSON a setting:
/// peer_hypre_boomeramg --matrix=elasticity3d:100 [--functions=1: unknowns a node] [--filter=0|1]
///   [--settings=pmis,aggressive,mm_ext_i] [--theta=0.25] [--relax=18: l1-Jacobi; 16: Chebyshev]
///   [--rhs=random|a_ones] [--rtol=1e-6] [--repetitions=3]
/// pmis: PMIS and extended+i; mm_ext_i: the same interpolation as products of matrices; aggressive: one level
/// of aggressive coarsening before it. `first_setup_seconds`: of this process's first.
namespace {

using prekond::perf::Space;

#ifdef HYPRE_SEQUENTIAL
constexpr int world = 0;
#else
const MPI_Comm world = MPI_COMM_WORLD;
#endif

struct Settings {
  std::string name;
  int functions = 1;
  bool filter = false;
  double theta = 0.25;
  int relax = 18;
  double rtol = 1e-6;
  std::string rhs = "random";
};

template <class T>
using Device = Kokkos::View<T*, Space::memory_space>;

struct System {
  HYPRE_ParCSRMatrix a = nullptr;
  HYPRE_ParVector b = nullptr, x = nullptr;
};

System make_system(const prekond::perf::Problem& problem) {
  const Space space;
  const auto n = static_cast<HYPRE_Int>(problem.a.num_rows);
  const auto nnz = static_cast<HYPRE_Int>(problem.a.nnz());
  const Device<HYPRE_BigInt> rows("rows", n), cols("cols", nnz);
  const Device<HYPRE_Int> lengths("lengths", n);
  const auto a = problem.a;
  Kokkos::parallel_for(
      "peer::rows", Kokkos::RangePolicy<Space>(space, 0, n), KOKKOS_LAMBDA(HYPRE_Int i) {
        rows(i) = i;
        lengths(i) = static_cast<HYPRE_Int>(a.row_ptrs(i + 1) - a.row_ptrs(i));
      });
  Kokkos::parallel_for(
      "peer::cols", Kokkos::RangePolicy<Space>(space, 0, nnz),
      KOKKOS_LAMBDA(HYPRE_Int k) { cols(k) = a.col_idxs(k); });
  space.fence();
  HYPRE_IJMatrix matrix = nullptr;
  HYPRE_IJMatrixCreate(world, 0, n - 1, 0, n - 1, &matrix);
  HYPRE_IJMatrixSetObjectType(matrix, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(matrix);
  HYPRE_IJMatrixSetValues(matrix, n, lengths.data(), rows.data(), cols.data(), a.values.data());
  HYPRE_IJMatrixAssemble(matrix);
  System system;
  HYPRE_IJMatrixGetObject(matrix, reinterpret_cast<void**>(&system.a));
  const auto vector = [&](HYPRE_ParVector& result, const prekond::Vector<double, Space>& values) {
    HYPRE_IJVector v = nullptr;
    HYPRE_IJVectorCreate(world, 0, n - 1, &v);
    HYPRE_IJVectorSetObjectType(v, HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(v);
    HYPRE_IJVectorSetValues(v, n, rows.data(), values.data());
    HYPRE_IJVectorAssemble(v);
    HYPRE_IJVectorGetObject(v, reinterpret_cast<void**>(&result));
  };
  vector(system.b, problem.b);
  vector(system.x, problem.x);
  return system;
}

HYPRE_Solver make_amg(const Settings& settings) {
  HYPRE_Solver amg = nullptr;
  HYPRE_BoomerAMGCreate(&amg);
  HYPRE_BoomerAMGSetMaxIter(amg, 1);
  HYPRE_BoomerAMGSetTol(amg, 0);
  HYPRE_BoomerAMGSetCoarsenType(amg, 8);
  HYPRE_BoomerAMGSetInterpType(amg, settings.name == "pmis" ? 6 : 17);
  if (settings.name == "aggressive") {
    HYPRE_BoomerAMGSetAggNumLevels(amg, 1);
    HYPRE_BoomerAMGSetAggInterpType(amg, 5);
  }
  HYPRE_BoomerAMGSetPMaxElmts(amg, 4);
  HYPRE_BoomerAMGSetStrongThreshold(amg, settings.theta);
  HYPRE_BoomerAMGSetRelaxType(amg, settings.relax);
  HYPRE_BoomerAMGSetRelaxOrder(amg, 0);
  HYPRE_BoomerAMGSetKeepTranspose(amg, 1);
  if (settings.functions > 1) HYPRE_BoomerAMGSetNumFunctions(amg, settings.functions);
  if (settings.filter) HYPRE_BoomerAMGSetFilterFunctions(amg, 1);
  return amg;
}

struct Times {
  double setup = 0, solve = 0;
  HYPRE_Int iterations = 0;
  double residual = 0;
};

Times measure(const System& system, const Settings& settings) {
  const Space space;
  Times times;
  const HYPRE_Solver amg = make_amg(settings);
  HYPRE_Solver cg = nullptr;
  HYPRE_ParCSRPCGCreate(world, &cg);
  HYPRE_PCGSetTol(cg, settings.rtol);
  HYPRE_PCGSetMaxIter(cg, 1000);
  HYPRE_PCGSetTwoNorm(cg, 1);
  HYPRE_PCGSetPrecond(cg, reinterpret_cast<HYPRE_PtrToSolverFcn>(HYPRE_BoomerAMGSolve),
                      reinterpret_cast<HYPRE_PtrToSolverFcn>(HYPRE_BoomerAMGSetup), amg);
  HYPRE_ParVectorSetConstantValues(system.x, 0.0);
  times.setup =
      prekond::perf::seconds(space, [&] { HYPRE_ParCSRPCGSetup(cg, system.a, system.b, system.x); });
  times.solve =
      prekond::perf::seconds(space, [&] { HYPRE_ParCSRPCGSolve(cg, system.a, system.b, system.x); });
  HYPRE_PCGGetNumIterations(cg, &times.iterations);
  HYPRE_PCGGetFinalRelativeResidualNorm(cg, &times.residual);
  HYPRE_ParCSRPCGDestroy(cg);
  HYPRE_BoomerAMGDestroy(amg);
  HYPRE_ClearAllErrors();
  return times;
}

void run(int& argc, char** argv) {
  using namespace prekond::perf;
  const std::string spec = take_flag(argc, argv, "matrix", "poisson3d:64");
  Settings settings;
  settings.functions = std::stoi(take_flag(argc, argv, "functions", "1"));
  settings.filter = take_flag(argc, argv, "filter", "0") == "1";
  settings.theta = std::stod(take_flag(argc, argv, "theta", "0.25"));
  settings.relax = std::stoi(take_flag(argc, argv, "relax", "18"));
  settings.rtol = std::stod(take_flag(argc, argv, "rtol", "1e-6"));
  const std::string names = take_flag(argc, argv, "settings", "pmis,aggressive,mm_ext_i");
  const int repetitions = std::stoi(take_flag(argc, argv, "repetitions", "3"));
  const auto problem = make_problem(spec);
  settings.rhs = take_flag(argc, argv, "rhs", settings.rhs);
  if (settings.rhs == "random") fill_random(problem->b);
  const System system = make_system(*problem);
  for (const std::string& name : words(names)) {
    settings.name = name;
    const Times first = measure(system, settings);
    std::vector<double> setups, solves;
    Times last;
    for (int k = 0; k < repetitions; ++k) {
      last = measure(system, settings);
      setups.push_back(last.setup);
      solves.push_back(last.solve);
    }
    std::printf(
        "{\"peer\": \"hypre\", \"method\": \"boomeramg\", \"matrix\": \"%s\", \"rhs\": \"%s\", \"setting\": "
        "\"%s\", "
        "\"functions\": %d, \"filter\": %d, \"theta\": %g, \"relax\": %d, \"first_setup_seconds\": %.6f, "
        "\"setup_seconds\": %.6f, \"solve_seconds\": %.6f, \"iterations\": %d, \"residual\": %.3e}\n",
        spec.c_str(), settings.rhs.c_str(), name.c_str(), settings.functions, int(settings.filter),
        settings.theta, settings.relax, first.setup, median(setups), median(solves), int(last.iterations),
        last.residual);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
#ifndef HYPRE_SEQUENTIAL
  MPI_Init(&argc, &argv);
#endif
  {
    Kokkos::ScopeGuard guard(argc, argv);
    HYPRE_Initialize();
#if defined(HYPRE_USING_GPU)
    HYPRE_SetMemoryLocation(HYPRE_MEMORY_DEVICE);
    HYPRE_SetExecutionPolicy(HYPRE_EXEC_DEVICE);
    HYPRE_SetSpGemmUseVendor(0);
    HYPRE_SetUseGpuRand(1);
#endif
    run(argc, argv);
    HYPRE_Finalize();
  }
#ifndef HYPRE_SEQUENTIAL
  MPI_Finalize();
#endif
  return 0;
}
