// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/stopping.hpp>

#include <cstdint>

namespace prekond {

enum class BatchedMethod { cg, bicgstab, gmres, idr, richardson };

enum class BatchedPreconditioner { none, jacobi, block_jacobi, ilu0, ic0, par_ilu, isai, fsai, ilu_isai };

/// The lanes that work on one system on a device: a vector of 8 or 32 lanes that shares a team with others,
/// or a whole team. On a host it is always one thread.
enum class BatchedLanes { automatic, few, vector, team };

/// The options of a batched solve. Convergence of a system is ||b - A x|| <= max(rtol ||b||, atol).
struct BatchedOptions {
  static constexpr const char* name = "batched";

  BatchedMethod solver = BatchedMethod::bicgstab;
  BatchedPreconditioner precond = BatchedPreconditioner::jacobi;
  StoppingOptions stopping{1e-6, 0, 1000};
  double omega = 1;
  int restart = 30;
  int s = 4;
  double kappa = 0.7;
  int sweeps = 1000;
  int block_size = 4;
  int power = 1;
  bool stored = false;
  int history = 0;
  BatchedLanes lanes = BatchedLanes::automatic;
  int scratch = 40000;
  std::int64_t workspace_budget = 256000000;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("solver", solver,
          {{"cg", BatchedMethod::cg},
           {"bicgstab", BatchedMethod::bicgstab},
           {"gmres", BatchedMethod::gmres},
           {"idr", BatchedMethod::idr},
           {"richardson", BatchedMethod::richardson}},
          "Method that solves all systems. Default: bicgstab");
    visit("precond", precond,
          {{"none", BatchedPreconditioner::none},
           {"jacobi", BatchedPreconditioner::jacobi},
           {"block_jacobi", BatchedPreconditioner::block_jacobi},
           {"ilu0", BatchedPreconditioner::ilu0},
           {"ic0", BatchedPreconditioner::ic0},
           {"par_ilu", BatchedPreconditioner::par_ilu},
           {"isai", BatchedPreconditioner::isai},
           {"fsai", BatchedPreconditioner::fsai},
           {"ilu_isai", BatchedPreconditioner::ilu_isai}},
          "Preconditioner of each system; cg needs a symmetric one (none, jacobi, block_jacobi, ic0, fsai). "
          "Default: jacobi");
    stopping.describe(visit);
    visit("omega", omega, -1e6, 1e6,
          "Relaxation factor of richardson. Lower it where the iteration diverges. Default: 1");
    visit("restart", restart, 1, 10000,
          "Steps of gmres until the basis starts anew. Raise it where convergence stalls. Default: 30");
    visit("s", s, 1, 64,
          "Dimension of the shadow space of idr. Raise it where convergence is slow. Default: 4");
    visit("kappa", kappa, 0.0, 1.0,
          "Cosine of A M^-1 r and r below which idr enlarges omega; 0 never enlarges it. Default: 0.7");
    visit(
        "sweeps", sweeps, 0, 1000000,
        "Most sweeps of par_ilu over all entries; a system ends earlier where no entry changes by more than "
        "1 %. Raise it where the report names systems that met it. Default: 1000");
    visit("block_size", block_size, 1, 64,
          "Rows of a block of block_jacobi. Raise it for a stronger preconditioner. Default: 4");
    visit("power", power, 1, 8,
          "Power of the pattern of isai and fsai, |A|^power, and of ilu_isai, |L|^power and |U|^power. Raise "
          "it "
          "for a stronger preconditioner. Default: 1");
    visit("stored", stored,
          "Storage of the preconditioner between solves, which otherwise is made in each. Choose it for "
          "several solves "
          "with one matrix. Default: false");
    visit("history", history, 0, 1000000,
          "Number of iterations whose residual norms are kept for each system. Default: 0");
    visit("lanes", lanes,
          {{"auto", BatchedLanes::automatic},
           {"few", BatchedLanes::few},
           {"vector", BatchedLanes::vector},
           {"team", BatchedLanes::team}},
          "Lanes of a device for one system: 8, 32, or a team of up to 256. Default: auto, by the rows");
    visit(
        "scratch", scratch, 0, 200000,
        "Limit in bytes of a team's fast memory for vectors and factors. Lower it for more teams at a time. "
        "Default: 40000");
    visit("workspace_budget", workspace_budget, std::int64_t(1000000), std::int64_t(1) << 40,
          "Limit in bytes of the workspace for vectors and factors that do not fit in fast memory; one "
          "system is always "
          "worked on. Default: 256000000");
    visit.formerly("spill_budget");
  }
};

}  // namespace prekond
