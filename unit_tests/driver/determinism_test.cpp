// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/krylov/solver.hpp>
#include <prekond/precond/registry.hpp>

#include "testing/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace prekond::testing {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// History and solution of a run, byte by byte.
std::string run(const TemporaryFolder& folder, const std::string& problem, int threads) {
  const std::string history = folder / "history.csv";
  const std::string solution = folder / "solution.mtx";
  const std::string command = std::string("OMP_PROC_BIND=false '") + PREKOND_DRIVER_PATH + "' solve " +
                              problem + " --quiet --history '" + history + "' --solution '" + solution +
                              "' --kokkos-num-threads=" + std::to_string(threads);
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command;
  return contents(history) + contents(solution);
}

TEST(Determinism, SameBitsOnRepeatsAndOnAnyNumberOfThreads) {
  const TemporaryFolder folder("determinism");
  for (const std::string problem :
       {"--generate elasticity3d:9 --precond adaptive_fsai",
        "--generate elasticity3d:9 --precond adaptive_fsai -p setup_scalar=double",
        "--generate circuit:60 --precond adaptive_fsai -p max_steps=8 step_size=3",
        "--generate circuit:60 --precond adaptive_fsai -p max_steps=8 gradient=merge",
        "--generate elasticity3d:9 --precond adaptive_fsai -p gradient=marker workspace_budget=65536",
        "--generate poisson3d:21 --precond jacobi --solver cg -s single_reduction=true",
        "--generate irregular3d:12 --precond block_jacobi -p partition=multilevel",
        "--generate elasticity3d:9 --precond fsai -p block_size=3",
        "--generate elasticity3d:9 --precond fsai -p block_size=0",
        "--generate elasticity3d:9 --precond isai -p kind=spd power=2 relaxation_steps=2",
        "--generate magnetic3d:14 --precond adaptive_fsai -p step_size=3 initial_power=1 --rhs random",
        "--generate magnetic3d:14 --precond fsai -p power=2 storage=half --rhs random",
        "--generate convection_diffusion3d:13 --solver bicgstab --precond nonsymmetric_fsai",
        "--generate convection_diffusion3d:13 --solver gmres --precond jacobi -s restart=20",
        "--generate convection_diffusion3d:13 --solver gmres -s orthogonalization=dcgs2 side=left --precond "
        "jacobi",
        "--generate convection_diffusion3d:13 --solver fgmres --precond jacobi",
        "--generate convection_diffusion3d:13 --solver idr --precond nonsymmetric_fsai --rhs random",
        "--generate magnetic3d:11 --solver idr -s s=3 --rhs random",
        "--generate convection_diffusion3d:9 --solver richardson --precond nonsymmetric_fsai",
        "--generate poisson2d:50 --precond adaptive_fsai --rhs random --x0 precond"}) {
    const std::string once = run(folder, problem, 1);
    EXPECT_GT(once.size(), 1000u);
    EXPECT_EQ(once, run(folder, problem, 1)) << problem << ": a repeat differs";
    for (int threads : {2, 3})
      EXPECT_EQ(once, run(folder, problem, threads)) << problem << " on " << threads << " threads";
  }
}

/// Runs on one thread, twice, and on 2, 3 and 8, end with the same bits.
void expect_same_bits(const TemporaryFolder& folder, const std::string& problem) {
  const std::string once = run(folder, problem, 1);
  EXPECT_GT(once.size(), 1000u) << problem;
  for (const int threads : {1, 2, 3, 8})
    EXPECT_EQ(once, run(folder, problem, threads)) << problem << " on " << threads << " threads";
}

TEST(Determinism, EveryPreconditionerHasTheSameBitsOnAnyNumberOfThreads) {
  const TemporaryFolder folder("determinism");
  const auto& registry = preconditioner_registry<double, Kokkos::DefaultExecutionSpace>();
  EXPECT_GT(registry.size(), 20u);
  for (const auto& entry : registry) {
    const std::string matrix = entry.properties.needs_spd ? "elasticity3d:8" : "convection_diffusion3d:12";
    expect_same_bits(folder,
                     "--rhs random --generate " + matrix + " --solver fgmres --precond " + entry.name);
  }
}

TEST(Determinism, EverySolverHasTheSameBitsOnAnyNumberOfThreads) {
  const TemporaryFolder folder("determinism");
  for (const auto& entry : solver_registry<double, Kokkos::DefaultExecutionSpace>()) {
    const std::string matrix = entry.properties.needs_spd ? "elasticity3d:8" : "convection_diffusion3d:12";
    const std::string precond = entry.properties.needs_spd ? "amg" : "ilu0";
    expect_same_bits(
        folder, "--rhs random --generate " + matrix + " --precond " + precond + " --solver " + entry.name);
  }
}

}  // namespace
}  // namespace prekond::testing
