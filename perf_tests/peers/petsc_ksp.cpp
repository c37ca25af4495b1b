// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond_petsc.h>
#include <prekond/matrix/generate.hpp>
#include <prekond/matrix/io/matrix_market.hpp>

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

/// KSP CG on the ranks of mpirun, by the PC of type prekond and by PETSc's own, in one run: setup and solve
/// of A x = b, b = A (1, ..., 1)^T or random, of a generated matrix or FILE.mtx[.gz], whose rows are split
/// evenly.
///
///   mpirun -np 2 peer_petsc_ksp MATRIX [-repeat 3] [-rtol 1e-6] [-max_iters 20000] [-rhs a_ones|random]
///       [-json FILE] [-methods a,b,...] [-mat_type aijcusparse]
///
/// Times are those of the slowest rank, medians of the repetitions; each begins with a new KSP, the first is
/// left out, and with a matrix on a device all is there before it. The setup has the blocks'
/// (KSPSetUpOnBlocks) and our product too. elasticity3d gets its rigid body modes as near null space, which
/// gamg uses, and three unknowns a node. Standard output: a Markdown table.
namespace {

using HostSpace = Kokkos::DefaultHostExecutionSpace;

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
      {"prekond amg and product", ours + "amg", true}};
  const std::string boomeramg = "-pc_type hypre -pc_hypre_type boomeramg",
                    pmis = boomeramg +
                           " -pc_hypre_boomeramg_coarsen_type PMIS -pc_hypre_boomeramg_interp_type ext+i"
                           " -pc_hypre_boomeramg_P_max 4";
  if (PetscDefined(HAVE_HYPRE))
    methods.insert(methods.begin() + 4, {{"hypre boomeramg", boomeramg},
                                         {"hypre pmis", pmis},
                                         {"hypre aggressive", pmis + " -pc_hypre_boomeramg_agg_nl 1"}});
  return methods;
}

/// The matrix, its right-hand side.
class Problem {
 public:
  Problem(const std::string& spec, bool is_rhs_random) {
    using Matrix = prekond::CsrMatrix<double, int, std::size_t, Kokkos::HostSpace>;
    const auto whole = spec.find(".mtx") == std::string::npos
                           ? Matrix(prekond::generate<double>(HostSpace(), spec))
                           : Matrix(prekond::read_matrix_market<double>(spec));
    const auto n = static_cast<PetscInt>(whole.num_rows);
    const PetscInt b = spec.starts_with("elasticity3d") ? 3 : 1;
    PetscInt nodes = PETSC_DECIDE, all_nodes = n / b;
    check(PetscSplitOwnership(PETSC_COMM_WORLD, &nodes, &all_nodes));
    PetscInt end = 0, mine = nodes * b;
    MPI_Scan(&mine, &end, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD);
    const PetscInt begin = end - mine;
    std::vector<PetscInt> row_ptrs(1, 0), cols;
    std::vector<PetscScalar> values;
    for (PetscInt i = begin; i < end; ++i) {
      for (std::size_t k = whole.row_ptrs(i); k < whole.row_ptrs(i + 1); ++k) {
        cols.push_back(whole.col_idxs(k));
        values.push_back(whole.values(k));
      }
      row_ptrs.push_back(static_cast<PetscInt>(cols.size()));
    }
    check(MatCreate(PETSC_COMM_WORLD, &m_a));
    check(MatSetSizes(m_a, mine, mine, n, n));
    check(MatSetBlockSize(m_a, b));
    check(MatSetType(m_a, MATAIJ));
    check(MatSetFromOptions(m_a));
    check(MatSeqAIJSetPreallocationCSR(m_a, row_ptrs.data(), cols.data(), values.data()));
    check(MatMPIAIJSetPreallocationCSR(m_a, row_ptrs.data(), cols.data(), values.data()));
    check(MatSetOption(m_a, MAT_SPD, PETSC_TRUE));
    check(MatCreateVecs(m_a, &m_x, &m_b));
    check(VecSet(m_x, 1));
    if (is_rhs_random)
      check(VecSetRandom(m_b, nullptr));
    else
      check(MatMult(m_a, m_x, m_b));
    if (b == 3) set_rigid_body_modes(spec, begin / b, end / b);
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
  /// Node k stands at (x, y, z), x the fastest; those with z = 0 are eliminated.
  void set_rigid_body_modes(const std::string& spec, PetscInt begin, PetscInt end) {
    const int edge = std::stoi(spec.substr(spec.find(':') + 1));
    Vec coordinates = nullptr;
    MatNullSpace modes = nullptr;
    check(VecDuplicate(m_b, &coordinates));
    check(VecSetBlockSize(coordinates, 3));
    PetscScalar* data = nullptr;
    check(VecGetArray(coordinates, &data));
    for (PetscInt k = begin; k < end; ++k) {
      data[3 * (k - begin)] = k % edge;
      data[3 * (k - begin) + 1] = k / edge % edge;
      data[3 * (k - begin) + 2] = k / edge / edge + 1;
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
  double setup = 0, solve = 0;
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

Outcome run(const Problem& problem, const Method& method, double rtol, int max_iters) {
  KSP ksp = nullptr;
  Mat product = nullptr;
  check(KSPCreate(PETSC_COMM_WORLD, &ksp));
  check(KSPSetType(ksp, KSPCG));
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
  check(KSPDestroy(&ksp));
  check(MatDestroy(&product));
  return outcome;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Outcome measure(const Problem& problem, const Method& method, double rtol, int max_iters, int repeat) {
  check(PetscOptionsClear(nullptr));
  check(PetscOptionsInsertString(nullptr, method.options.c_str()));
  run(problem, method, rtol, max_iters);
  std::vector<double> setups, solves;
  Outcome last;
  for (int k = 0; k < repeat; ++k) {
    last = run(problem, method, rtol, max_iters);
    setups.push_back(last.setup);
    solves.push_back(last.solve);
  }
  check(PetscOptionsClear(nullptr));
  last.setup = median(setups);
  last.solve = median(solves);
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
  const std::string json_file = option("-json", ""), wanted = option("-methods", "");
  int rank = 0, size = 1;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  MPI_Comm_size(PETSC_COMM_WORLD, &size);
  const Problem problem(spec, option("-rhs", "a_ones") == "random");
  MatType type = nullptr;
  check(MatGetType(problem.a(), &type));
  const std::string space = Kokkos::DefaultExecutionSpace::name();
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  if (rank == 0)
    std::printf(
        "\n%s, %d ranks, a matrix of type %s, prekond on %s\n\n| method | iterations | setup s | solve s | "
        "total s "
        "|\n|---|---:|---:|---:|---:|\n",
        spec.c_str(), size, type, space.c_str());
  for (const Method& method : all_methods()) {
    if (!is_wanted(wanted, method.name)) continue;
    const Outcome outcome = measure(problem, method, rtol, max_iters, repeat);
    if (rank > 0) continue;
    std::printf("| %s | %lld%s | %.4f | %.4f | %.4f |\n", method.name.c_str(),
                static_cast<long long>(outcome.iterations), outcome.converged ? "" : " (not converged)",
                outcome.setup, outcome.solve, outcome.setup + outcome.solve);
    std::fflush(stdout);
    runs.push_back({{"method", method.name},
                    {"options", method.options},
                    {"iterations", outcome.iterations},
                    {"converged", outcome.converged},
                    {"setup_seconds", outcome.setup},
                    {"solve_seconds", outcome.solve}});
    if (json_file.empty()) continue;
    // After each, so that it stays where the next one fails.
    const nlohmann::ordered_json all = {{"matrix", spec},   {"ranks", size}, {"matrix_type", type},
                                        {"backend", space}, {"rtol", rtol},  {"repeat", repeat},
                                        {"runs", runs}};
    std::ofstream(json_file) << all.dump(1) << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(
        stderr,
        "usage: mpirun -np N peer_petsc_ksp MATRIX [-repeat 3] [-rtol 1e-6] [-max_iters 20000] [-rhs random] "
        "[-json FILE] [-methods a,b] [-mat_type TYPE]\n");
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
