// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../benchmark_main.hpp"

#include <prekond/matrix/bcsr_matrix.hpp>
#include <prekond/matrix/generate.hpp>

#include <petscksp.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

/// PETSc's BAIJ, its ILU(0) and its GMRES(30) from the right, on one process: peer_petsc_baij
/// --matrices=elasticity3d:30@3;... [--rtol=1e-5] [--repetitions=3]. Cases, each NAME/MATRIX@BLOCK_SIZE, as
/// those of perf_block_ilu:
///
/// product        y = A x
/// numeric        PCSetUp
/// apply          PCApply
/// gmres          a whole solve of A x = (1, ..., 1)^T; `iterations`, `converged`
namespace {

using namespace prekond;
using HostSpace = Kokkos::DefaultHostExecutionSpace;

void check(PetscErrorCode error) {
  if (error) throw std::runtime_error("PETSc's error " + std::to_string(error));
}

/// A, and a solver with its preconditioner set up.
class Problem {
 public:
  Problem(const std::string& spec, int b, double rtol) {
    const HostSpace space;
    const auto csr = generate<double>(space, spec);
    m_blocks = to_bcsr<double, HostSpace>(space, csr, b, BlockOrder::by_rows);  // PETSc reorders them
    m_ptrs.assign(m_blocks.row_ptrs.data(), m_blocks.row_ptrs.data() + m_blocks.row_ptrs.extent(0));
    m_cols.assign(m_blocks.col_idxs.data(), m_blocks.col_idxs.data() + m_blocks.col_idxs.extent(0));
    if (m_blocks.padding > 0) throw std::runtime_error(spec + ": blocks of another size do not divide it");
    const auto n = static_cast<PetscInt>(m_blocks.num_rows());
    check(MatCreate(PETSC_COMM_SELF, &m_a));
    check(MatSetSizes(m_a, n, n, n, n));
    check(MatSetType(m_a, MATSEQBAIJ));
    check(MatSeqBAIJSetPreallocationCSR(m_a, b, m_ptrs.data(), m_cols.data(), m_blocks.values.data()));
    check(MatCreateVecs(m_a, &m_x, &m_b));
    check(VecSet(m_b, 1));
    check(KSPCreate(PETSC_COMM_SELF, &m_ksp));
    check(KSPSetOperators(m_ksp, m_a, m_a));
    check(KSPSetType(m_ksp, KSPGMRES));
    check(KSPGMRESSetRestart(m_ksp, 30));
    check(KSPSetPCSide(m_ksp, PC_RIGHT));
    check(KSPSetTolerances(m_ksp, rtol, 0, 1e50, 3000));
    PC pc = nullptr;
    check(KSPGetPC(m_ksp, &pc));
    check(PCSetType(pc, PCILU));
    check(PCFactorSetLevels(pc, 0));
  }
  ~Problem() {
    KSPDestroy(&m_ksp);
    MatDestroy(&m_a);
    VecDestroy(&m_x);
    VecDestroy(&m_b);
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  void set_up() {
    check(MatAssemblyBegin(m_a, MAT_FINAL_ASSEMBLY));  // as new values ask for
    check(MatAssemblyEnd(m_a, MAT_FINAL_ASSEMBLY));
    check(KSPSetOperators(m_ksp, m_a, m_a));
    check(KSPSetUp(m_ksp));
  }
  void multiply() { check(MatMult(m_a, m_b, m_x)); }
  void apply() {
    PC pc = nullptr;
    check(KSPGetPC(m_ksp, &pc));
    check(PCApply(pc, m_b, m_x));
  }
  void solve(benchmark::State& state) {
    check(KSPSolve(m_ksp, m_b, m_x));
    PetscInt iterations = 0;
    KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
    check(KSPGetIterationNumber(m_ksp, &iterations));
    check(KSPGetConvergedReason(m_ksp, &reason));
    state.counters["iterations"] = double(iterations);
    state.counters["converged"] = reason > 0;
  }

 private:
  BcsrMatrix<double, int, std::size_t, HostSpace::memory_space> m_blocks;
  std::vector<PetscInt> m_ptrs, m_cols;
  Mat m_a = nullptr;
  Vec m_x = nullptr, m_b = nullptr;
  KSP m_ksp = nullptr;
};

void register_all(int& argc, char** argv) {
  std::istringstream matrices(perf::take_flag(argc, argv, "matrices", "elasticity3d:30@3"));
  const double rtol = std::stod(perf::take_flag(argc, argv, "rtol", "1e-5"));
  const int repetitions = std::stoi(perf::take_flag(argc, argv, "repetitions", "3"));
  for (std::string spec; std::getline(matrices, spec, ';');) {
    const auto at = spec.find('@');
    const std::string name = spec.substr(0, at);
    const int b = std::stoi(spec.substr(at + 1));
    const auto add = [&](const std::string& what, const auto& measure) {
      perf::add(what + "/" + spec, repetitions, [=](benchmark::State& state) {
        Problem problem(name, b, rtol);
        problem.set_up();
        return measure(problem, state);
      });
    };
    add("product", [](Problem& p, benchmark::State&) { return perf::mean_seconds([&] { p.multiply(); }); });
    add("numeric", [](Problem& p, benchmark::State&) { return perf::mean_seconds([&] { p.set_up(); }); });
    add("apply", [](Problem& p, benchmark::State&) { return perf::mean_seconds([&] { p.apply(); }); });
    add("gmres", [](Problem& p, benchmark::State& state) {
      return perf::seconds(perf::Space(), [&] { p.solve(state); });
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  check(PetscInitializeNoArguments());
  const int result = prekond::perf::run(argc, argv, register_all);
  check(PetscFinalize());
  return result;
}
