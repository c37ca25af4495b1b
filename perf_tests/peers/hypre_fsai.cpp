// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/io/matrix_market.hpp>

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>
#include <_hypre_parcsr_ls.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

/// hypre's adaptive FSAI and its CG on one of our matrices, as a row of JSON:
/// mpirun -np P peer_hypre_fsai MATRIX steps step_size kap_tolerance [repetitions]
/// MATRIX is NAME:SIZE of a generator or a Matrix Market file. Rows are distributed in equal blocks; b = A 1,
/// x0 = 0, relative tolerance 1e-6. With several processes hypre's FSAI works on the diagonal blocks.
namespace {

using HostMatrix = prekond::CsrMatrix<const double, const int, const std::size_t, Kokkos::HostSpace>;

struct Settings {
  int max_steps;
  int step_size;
  double kap_tolerance;
};

struct System {
  HYPRE_IJMatrix a;
  HYPRE_IJVector b, x;
  HYPRE_ParCSRMatrix par_a;
  HYPRE_ParVector par_b, par_x;
};

System distribute(const HostMatrix& a, int rank, int size) {
  System system{};
  const HYPRE_BigInt first = a.num_rows * rank / size;
  const HYPRE_BigInt last = a.num_rows * (rank + 1) / size - 1;
  const HYPRE_Int count = static_cast<HYPRE_Int>(last - first + 1);
  HYPRE_IJMatrixCreate(MPI_COMM_WORLD, first, last, first, last, &system.a);
  HYPRE_IJMatrixSetObjectType(system.a, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(system.a);
  std::vector<HYPRE_BigInt> rows(count), cols;
  std::vector<double> sums(count, 0), zeros(count, 0);
  for (HYPRE_Int k = 0; k < count; ++k) {
    const HYPRE_BigInt row = rows[k] = first + k;
    const std::size_t begin = a.row_ptrs(row);
    HYPRE_Int length = static_cast<HYPRE_Int>(a.row_ptrs(row + 1) - begin);
    cols.assign(a.col_idxs.data() + begin, a.col_idxs.data() + begin + length);
    for (HYPRE_Int e = 0; e < length; ++e) sums[k] += a.values(begin + e);
    HYPRE_IJMatrixSetValues(system.a, 1, &length, &row, cols.data(), a.values.data() + begin);
  }
  HYPRE_IJMatrixAssemble(system.a);
  HYPRE_IJMatrixGetObject(system.a, reinterpret_cast<void**>(&system.par_a));
  const auto vector = [&](HYPRE_IJVector& v, HYPRE_ParVector& par, const std::vector<double>& values) {
    HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, last, &v);
    HYPRE_IJVectorSetObjectType(v, HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(v);
    HYPRE_IJVectorSetValues(v, count, rows.data(), values.data());
    HYPRE_IJVectorAssemble(v);
    HYPRE_IJVectorGetObject(v, reinterpret_cast<void**>(&par));
  };
  vector(system.b, system.par_b, sums);
  vector(system.x, system.par_x, zeros);
  return system;
}

struct Times {
  double setup;
  double solve;
  HYPRE_Int iterations;
  double nnz_g;
};

/// Entries of the factor that hypre found, over all processes; its public interface does not tell.
double count_entries(HYPRE_Solver fsai) {
  hypre_ParCSRMatrix* const g = hypre_ParFSAIDataGmat(reinterpret_cast<hypre_ParFSAIData*>(fsai));
  hypre_ParCSRMatrixSetDNumNonzeros(g);
  return hypre_ParCSRMatrixDNumNonzeros(g);
}

/// One setup of the preconditioner (inside PCG's) and one solve. The PCG's own set-up is vectors only.
Times measure(System& system, const Settings& settings) {
  HYPRE_Solver fsai, cg;
  HYPRE_FSAICreate(&fsai);
  HYPRE_FSAISetAlgoType(fsai, 1);
  HYPRE_FSAISetMaxSteps(fsai, settings.max_steps);
  HYPRE_FSAISetMaxStepSize(fsai, settings.step_size);
  HYPRE_FSAISetKapTolerance(fsai, settings.kap_tolerance);
  HYPRE_FSAISetMaxIterations(fsai, 1);
  HYPRE_FSAISetTolerance(fsai, 0);
  HYPRE_FSAISetZeroGuess(fsai, 1);
  HYPRE_FSAISetEigMaxIters(fsai, 0);
  HYPRE_FSAISetOmega(fsai, 1.0);
  HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &cg);
  HYPRE_PCGSetTol(cg, 1e-6);
  HYPRE_PCGSetMaxIter(cg, 10000);
  HYPRE_PCGSetTwoNorm(cg, 1);
  HYPRE_PCGSetPrecond(cg, reinterpret_cast<HYPRE_PtrToSolverFcn>(HYPRE_FSAISolve),
                      reinterpret_cast<HYPRE_PtrToSolverFcn>(HYPRE_FSAISetup), fsai);
  HYPRE_ParVectorSetConstantValues(system.par_x, 0.0);
  Times times{};
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  HYPRE_ParCSRPCGSetup(cg, system.par_a, system.par_b, system.par_x);
  MPI_Barrier(MPI_COMM_WORLD);
  const double middle = MPI_Wtime();
  HYPRE_ParCSRPCGSolve(cg, system.par_a, system.par_b, system.par_x);
  MPI_Barrier(MPI_COMM_WORLD);
  times.setup = middle - start;
  times.solve = MPI_Wtime() - middle;
  HYPRE_PCGGetNumIterations(cg, &times.iterations);
  times.nnz_g = count_entries(fsai);
  HYPRE_ParCSRPCGDestroy(cg);
  HYPRE_FSAIDestroy(fsai);
  return times;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int run(int argc, char** argv, int rank, int size) {
  if (argc < 5) {
    if (rank == 0)
      std::fprintf(stderr, "usage: %s MATRIX max_steps step_size kap_tolerance [repetitions]\n", argv[0]);
    return 2;
  }
  const std::string name = argv[1];
  const Settings settings{std::atoi(argv[2]), std::atoi(argv[3]), std::atof(argv[4])};
  const int repetitions = argc > 5 ? std::atoi(argv[5]) : 3;
  const Kokkos::DefaultHostExecutionSpace host;
  const HostMatrix a = name.find(".mtx") == std::string::npos
                           ? HostMatrix(prekond::generate<double>(host, name))
                           : HostMatrix(prekond::read_matrix_market<double>(name));
  System system = distribute(a, rank, size);
  std::vector<double> setups, solves;
  Times last{};
  for (int k = 0; k < repetitions; ++k) {
    last = measure(system, settings);
    setups.push_back(last.setup);
    solves.push_back(last.solve);
  }
  if (rank == 0) {
    std::printf(
        "{\"peer\": \"hypre\", \"matrix\": \"%s\", \"processes\": %d, \"max_steps\": %d, \"step_size\": %d, "
        "\"kap_tolerance\": %g, \"density\": %.4f, \"setup_seconds\": %.6f, \"solve_seconds\": %.6f, "
        "\"iterations\": %d}\n",
        name.c_str(), size, settings.max_steps, settings.step_size, settings.kap_tolerance,
        last.nnz_g / double(a.nnz()), median(setups), median(solves), int(last.iterations));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int code = 1;
  {
    Kokkos::ScopeGuard guard(argc, argv);
    HYPRE_Initialize();
    code = run(argc, argv, rank, size);
    HYPRE_Finalize();
  }
  MPI_Finalize();
  return code;
}
