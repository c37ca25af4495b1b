// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond_petsc.h>

#include "rows_of_rank.hpp"

#include <petscksp.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// KSP on the ranks of mpirun, by the PC of type prekond and by PETSc's own, in one run: setup and solve of
/// A x = b, b = A (1, ..., 1)^T, all ones or random, of a matrix that rows_of_rank takes.
///
///   mpirun -np 2 peer_petsc_ksp MATRIX [-solver cg|gmres] [-repeat 3] [-rtol 1e-6] [-max_iters 20000]
///       [-rhs a_ones|ones|random] [-json FILE] [-methods a,b,...] [-mat_type aijcusparse]
///
/// gmres: GMRES(30) with preconditioning from the right. Times are those of the slowest rank, medians of the
/// repetitions; each begins with a new KSP, the first is left out, and with a matrix on a device all is there
/// before it. The setup has the blocks' (KSPSetUpOnBlocks) and our product too; `again` is that of the PC for
/// a matrix of the same pattern whose values are said to be others. elasticity3d gets its rigid body modes as
/// near null space, which gamg uses, and three unknowns a node. Standard output: a Markdown table.
namespace {

void check(PetscErrorCode error) {
  if (error) throw std::runtime_error("PETSc's error " + std::to_string(error));
}

/// A name, and what PETSc's options database is given for it.
struct Method {
  std::string name, options;
  bool by_our_product = false;  ///< KSP multiplies by MatCreatePrekondProduct
};

/// Without those of packages that this PETSc has not.
std::vector<Method> all_methods() {
  const std::string ours = "-pc_type prekond -pc_prekond_check_input 0 -pc_prekond_name ";
  std::vector<Method> methods = {
      {"none", "-pc_type none"},
      {"jacobi", "-pc_type jacobi"},
      {"bjacobi+icc", "-pc_type bjacobi -sub_pc_type icc"},
      {"bjacobi+ilu", "-pc_type bjacobi -sub_pc_type ilu"},
      {"gamg", "-pc_type gamg"},
      {"prekond jacobi", ours + "jacobi"},
      {"prekond fsai", ours + "fsai"},
      {"prekond fsai, own rows", ours + "fsai -pc_prekond_rank_overlap 0"},
      {"prekond adaptive_fsai", ours + "adaptive_fsai"},
      {"prekond adaptive_fsai, all levels", ours + "adaptive_fsai -pc_prekond_rank_overlap 1000"},
      {"prekond adaptive_fsai, own rows", ours + "adaptive_fsai -pc_prekond_rank_overlap 0"},
      {"prekond ic0", ours + "ic0"},
      {"prekond amg", ours + "amg"},
      {"jacobi and prekond product", "-pc_type jacobi", true},
      {"prekond fsai and product", ours + "fsai", true},
      {"prekond adaptive_fsai and product", ours + "adaptive_fsai", true},
      {"prekond amg and product", ours + "amg", true},
      {"prekond block_ilu0", ours + "block_ilu0"}};
  const std::string boomeramg = "-pc_type hypre -pc_hypre_type boomeramg",
                    pmis = boomeramg +
                           " -pc_hypre_boomeramg_coarsen_type PMIS -pc_hypre_boomeramg_interp_type ext+i"
                           " -pc_hypre_boomeramg_P_max 4";
  if (PetscDefined(HAVE_HYPRE))
    methods.insert(methods.begin() + 5, {{"hypre boomeramg", boomeramg},
                                         {"hypre pmis", pmis},
                                         {"hypre aggressive", pmis + " -pc_hypre_boomeramg_agg_nl 1"}});
  return methods;
}

/// The matrix, its right-hand side.
class Problem {
 public:
  Problem(const std::string& spec, const std::string& rhs, bool is_spd) {
    int rank = 0, size = 1;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &size);
    const prekond::perf::RowsOfRank mine = prekond::perf::rows_of_rank(spec, rank, size);
    const auto& rows = mine.rows;
    const auto n = static_cast<PetscInt>(mine.num_rows()), all = static_cast<PetscInt>(mine.num_global_rows);
    const PetscInt b = mine.block_size;
    const std::vector<PetscInt> row_ptrs(rows.row_ptrs.data(), rows.row_ptrs.data() + n + 1),
        cols(rows.col_idxs.data(), rows.col_idxs.data() + rows.nnz());
    check(MatCreate(PETSC_COMM_WORLD, &m_a));
    check(MatSetSizes(m_a, n, n, all, all));
    check(MatSetBlockSize(m_a, b));
    check(MatSetType(m_a, MATAIJ));
    check(MatSetFromOptions(m_a));
    check(MatSeqAIJSetPreallocationCSR(m_a, row_ptrs.data(), cols.data(), rows.values.data()));
    check(MatMPIAIJSetPreallocationCSR(m_a, row_ptrs.data(), cols.data(), rows.values.data()));
    PetscBool is_baij = PETSC_FALSE;
    check(PetscObjectBaseTypeCompareAny(reinterpret_cast<PetscObject>(m_a), &is_baij, MATSEQBAIJ, MATMPIBAIJ,
                                        ""));
    if (is_baij) {
      check(MatSetUp(m_a));
      for (PetscInt i = 0; i < n; ++i) {
        const auto row = static_cast<PetscInt>(mine.first) + i;
        check(MatSetValues(m_a, 1, &row, row_ptrs[i + 1] - row_ptrs[i], cols.data() + row_ptrs[i],
                           rows.values.data() + row_ptrs[i], INSERT_VALUES));
      }
      check(MatAssemblyBegin(m_a, MAT_FINAL_ASSEMBLY));
      check(MatAssemblyEnd(m_a, MAT_FINAL_ASSEMBLY));
    }
    if (is_spd)  // also after later assemblies
      for (const MatOption fact : {MAT_SPD, MAT_SYMMETRY_ETERNAL, MAT_SPD_ETERNAL})
        check(MatSetOption(m_a, fact, PETSC_TRUE));
    check(MatCreateVecs(m_a, &m_x, &m_b));
    check(VecSet(m_x, 1));
    if (rhs == "random")
      check(VecSetRandom(m_b, nullptr));
    else if (rhs == "ones")
      check(VecSet(m_b, 1));
    else
      check(MatMult(m_a, m_x, m_b));
    if (spec.starts_with("elasticity3d")) set_rigid_body_modes(spec, mine.first / 3, n / 3);
  }
  ~Problem() {
    MatDestroy(&m_a);
    VecDestroy(&m_x);
    VecDestroy(&m_b);
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  Mat a() const { return m_a; }
  Vec x() const { return m_x; }
  Vec b() const { return m_b; }

 private:
  void set_rigid_body_modes(const std::string& spec, std::int64_t first, PetscInt count) {
    Vec coordinates = nullptr;
    MatNullSpace modes = nullptr;
    check(VecDuplicate(m_b, &coordinates));
    check(VecSetBlockSize(coordinates, 3));
    PetscScalar* data = nullptr;
    check(VecGetArray(coordinates, &data));
    for (PetscInt k = 0; k < count; ++k) {
      const auto place = prekond::perf::coordinates_of_elasticity(spec, first + k);
      std::copy(place.begin(), place.end(), data + 3 * k);
    }
    check(VecRestoreArray(coordinates, &data));
    check(MatNullSpaceCreateRigidBody(coordinates, &modes));
    check(MatSetNearNullSpace(m_a, modes));
    check(MatNullSpaceDestroy(&modes));
    check(VecDestroy(&coordinates));
  }

  Mat m_a = nullptr;
  Vec m_x = nullptr, m_b = nullptr;
};

struct Outcome {
  double setup = 0, solve = 0, again = 0;
  PetscInt iterations = 0;
  bool converged = false;
};

double slowest(double seconds) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD);
  return seconds;
}

/// To the end of what a device computes.
template <class Work>
double timed(const Work& work) {
  Kokkos::fence();
  MPI_Barrier(PETSC_COMM_WORLD);
  const double begin = MPI_Wtime();
  work();
  Kokkos::fence();
  return slowest(MPI_Wtime() - begin);
}

Outcome run(const Problem& problem, const Method& method, const std::string& solver, double rtol,
            int max_iters) {
  KSP ksp = nullptr;
  Mat product = nullptr;
  check(KSPCreate(PETSC_COMM_WORLD, &ksp));
  check(KSPSetType(ksp, solver.c_str()));
  if (solver != KSPCG) check(KSPSetPCSide(ksp, PC_RIGHT));
  check(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  check(KSPSetTolerances(ksp, rtol, 0, 1e50, max_iters));
  check(KSPSetFromOptions(ksp));
  Outcome outcome;
  outcome.setup = timed([&] {
    if (method.by_our_product) check(MatCreatePrekondProduct(problem.a(), &product));
    check(KSPSetOperators(ksp, product ? product : problem.a(), problem.a()));
    check(KSPSetUp(ksp));
    check(KSPSetUpOnBlocks(ksp));
  });
  check(VecSet(problem.x(), 0));
  outcome.solve = timed([&] { check(KSPSolve(ksp, problem.b(), problem.x())); });
  check(KSPGetIterationNumber(ksp, &outcome.iterations));
  KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
  check(KSPGetConvergedReason(ksp, &reason));
  outcome.converged = reason > 0;
  check(MatAssemblyBegin(problem.a(), MAT_FINAL_ASSEMBLY));  // counts as other values
  check(MatAssemblyEnd(problem.a(), MAT_FINAL_ASSEMBLY));
  PC pc = nullptr;
  check(KSPGetPC(ksp, &pc));
  outcome.again = timed([&] {
    check(PCSetOperators(pc, product ? product : problem.a(), problem.a()));
    check(PCSetUp(pc));
    check(PCSetUpOnBlocks(pc));
  });
  check(KSPDestroy(&ksp));
  check(MatDestroy(&product));
  return outcome;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Outcome measure(const Problem& problem, const Method& method, const std::string& solver, double rtol,
                int max_iters, int repeat) {
  check(PetscOptionsClear(nullptr));
  check(PetscOptionsInsertString(nullptr, method.options.c_str()));
  run(problem, method, solver, rtol, max_iters);
  std::vector<double> setups, solves, agains;
  Outcome last;
  for (int k = 0; k < repeat; ++k) {
    last = run(problem, method, solver, rtol, max_iters);
    setups.push_back(last.setup);
    solves.push_back(last.solve);
    agains.push_back(last.again);
  }
  check(PetscOptionsClear(nullptr));
  last.setup = median(setups);
  last.solve = median(solves);
  last.again = median(agains);
  return last;
}

std::string option(const char* name, const std::string& otherwise) {
  char text[1024] = "";
  PetscBool is_set = PETSC_FALSE;
  check(PetscOptionsGetString(nullptr, nullptr, name, text, sizeof(text), &is_set));
  return is_set ? text : otherwise;
}

bool is_wanted(const std::string& list, const std::string& name) {
  std::istringstream names(list);
  for (std::string one; std::getline(names, one, ',');)
    if (one == name || list.empty()) return true;
  return list.empty();
}

void measure_all(const std::string& spec) {
  const double rtol = std::stod(option("-rtol", "1e-6"));
  const int repeat = std::stoi(option("-repeat", "3")), max_iters = std::stoi(option("-max_iters", "20000"));
  const std::string json_file = option("-json", ""), wanted = option("-methods", ""),
                    solver = option("-solver", KSPCG), rhs = option("-rhs", "a_ones");
  int rank = 0, size = 1;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  MPI_Comm_size(PETSC_COMM_WORLD, &size);
  const Problem problem(spec, rhs, solver == KSPCG);
  MatType type = nullptr;
  check(MatGetType(problem.a(), &type));
  const std::string space = Kokkos::DefaultExecutionSpace::name();
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  if (rank == 0)
    std::printf(
        "\n%s, %s, %d ranks, a matrix of type %s, prekond on %s\n\n| method | iterations | setup s | again s "
        "| solve s | setup + solve s |\n|---|---:|---:|---:|---:|---:|\n",
        spec.c_str(), solver.c_str(), size, type, space.c_str());
  for (const Method& method : all_methods()) {
    if (!is_wanted(wanted, method.name)) continue;
    const Outcome outcome = measure(problem, method, solver, rtol, max_iters, repeat);
    if (rank > 0) continue;
    std::printf("| %s | %lld%s | %.4f | %.4f | %.4f | %.4f |\n", method.name.c_str(),
                static_cast<long long>(outcome.iterations), outcome.converged ? "" : " (not converged)",
                outcome.setup, outcome.again, outcome.solve, outcome.setup + outcome.solve);
    std::fflush(stdout);
    runs.push_back({{"method", method.name},
                    {"options", method.options},
                    {"iterations", outcome.iterations},
                    {"converged", outcome.converged},
                    {"setup_seconds", outcome.setup},
                    {"again_seconds", outcome.again},
                    {"solve_seconds", outcome.solve}});
    if (json_file.empty()) continue;
    // After each, so that it stays where the next one fails.
    const nlohmann::ordered_json all = {{"matrix", spec}, {"solver", solver},    {"rhs", rhs},
                                        {"ranks", size},  {"matrix_type", type}, {"backend", space},
                                        {"rtol", rtol},   {"repeat", repeat},    {"runs", runs}};
    std::ofstream(json_file) << all.dump(1) << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: mpirun -np N peer_petsc_ksp MATRIX [-solver cg|gmres] [-repeat 3] [-rtol 1e-6] "
                 "[-max_iters 20000] "
                 "[-rhs a_ones|ones|random] [-json FILE] [-methods a,b] [-mat_type TYPE]\n");
    return 2;
  }
  if (PetscInitialize(&argc, &argv, nullptr, nullptr)) return 1;
  if (PCRegister_Prekond()) return 1;
  {
    // The registered type starts Kokkos where a PC is made; the generator needs it before.
    Kokkos::InitializationSettings settings;
    int size = 1;
    MPI_Comm_size(PETSC_COMM_WORLD, &size);
    if (size > 1 && prekond::is_host_space<Kokkos::DefaultExecutionSpace>) settings.set_num_threads(1);
    Kokkos::ScopeGuard kokkos(settings);
    try {
      measure_all(argv[1]);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "peer_petsc_ksp: %s\n", error.what());
      MPI_Abort(PETSC_COMM_WORLD, 1);
    }
  }
  return PetscFinalize() ? 1 : 0;
}
