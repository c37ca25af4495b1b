// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/stopping.hpp>

#include <cstdint>

namespace prekond {

enum class BatchedMethod { cg, bicgstab, gmres, idr, richardson };

enum class BatchedPreconditioner { none, jacobi, block_jacobi, ilu0, ic0, par_ilu, isai, fsai, ilu_isai };

/// Who works on a system on a device: a vector of lanes with others of its kind in a team, or a team. On a
/// host it is always one thread.
enum class BatchedLanes { automatic, few, vector, team };

/// How a batch is solved. Convergence of a system is ||b - A x|| <= max(rtol ||b||, atol).
struct BatchedOptions {
  static constexpr const char* name = "batched";

  BatchedMethod solver = BatchedMethod::bicgstab;
  BatchedPreconditioner precond = BatchedPreconditioner::jacobi;
  StoppingOptions stopping{1e-6, 0, 1000};
  double omega = 1;
  int restart = 30;
  int s = 4;
  double kappa = 0.7;
  int sweeps = 5;
  int block_size = 4;
  int power = 1;
  bool stored = false;
  int history = 0;
  BatchedLanes lanes = BatchedLanes::automatic;
  int scratch = 40000;
  std::int64_t spill_budget = 256000000;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("solver", solver,
          {{"cg", BatchedMethod::cg},
           {"bicgstab", BatchedMethod::bicgstab},
           {"gmres", BatchedMethod::gmres},
           {"idr", BatchedMethod::idr},
           {"richardson", BatchedMethod::richardson}},
          "the method that all systems are solved with");
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
          "the preconditioner of each system; cg needs a symmetric one (none, jacobi, block_jacobi, ic0, "
          "fsai)");
    stopping.describe(visit);
    visit("omega", omega, -1e6, 1e6, "richardson: the relaxation factor");
    visit("restart", restart, 1, 10000, "gmres: steps until the basis starts anew");
    visit("s", s, 1, 64, "idr: the dimension of the shadow space");
    visit("kappa", kappa, 0.0, 1.0,
          "idr: omega is enlarged where the cosine of A M^-1 r and r is below kappa; 0: never");
    visit("sweeps", sweeps, 0, 1000000, "par_ilu: sweeps over all entries");
    visit("block_size", block_size, 1, 64, "block_jacobi: rows of a block");
    visit("power", power, 1, 8,
          "isai, fsai, ilu_isai: the pattern is that of |A|^power, or of |L|^power and |U|^power");
    visit("stored", stored, "keep the preconditioner between solves, instead of making it in each");
    visit("history", history, 0, 1000000, "residual norms kept of each system: of its first iterations");
    visit("lanes", lanes,
          {{"auto", BatchedLanes::automatic},
           {"few", BatchedLanes::few},
           {"vector", BatchedLanes::vector},
           {"team", BatchedLanes::team}},
          "of a device, for one system: 8, 32, or a team of up to 256");
    visit("scratch", scratch, 0, 200000, "bytes of fast memory of a team, at most, for vectors and factors");
    visit("spill_budget", spill_budget, std::int64_t(1000000), std::int64_t(1) << 40,
          "bytes for what does not fit in it; at least one system is on its way");
  }
};

}  // namespace prekond
