// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/precond/impl/incomplete_kind.hpp>
#include <prekond/precond/setup_options.hpp>
#include <prekond/precond/triangular_solver.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace prekond {

/// What is done about bad pivots.
struct ShiftOptions {
  double shift = 0;
  bool raise_shift = true;

 protected:
  template <class Visitor>
  void describe_shift(Visitor& visit) {
    visit("shift", shift, 0.0, 1e6, "alpha: A + alpha diag|A| is factored");
    visit("raise_shift", raise_shift,
          "as long as pivots break down: the larger ones of 0.001, 0.01, 0.1 and 1 in turn");
  }
};

/// What all methods M = (I + L) D (I + U) let choose: what is done about bad pivots, and the solves.
struct FactorOptions : ShiftOptions {
  TriangularOptions solve;

  /// Those of a symmetric positive definite matrix, and of a general one.
  Properties properties(IncompleteKind kind) const {
    if (kind == IncompleteKind::ilu) return {.symmetry = Symmetry::nonsymmetric, .factors_in_order = true};
    return {.needs_spd = true, .symmetry = Symmetry::symmetric, .factors_in_order = true};
  }

 protected:
  template <class Visitor>
  void describe_solve(Visitor& visit) {
    visit("solve.method", solve.method, triangular_methods(),
          "how the triangles are solved: exactly, by levels or sync_free (auto: by the device), or on the "
          "host, or "
          "nearly, by sweeps of Jacobi's method or approximate inverses");
    visit("solve.sweeps", solve.sweeps, 0, 1000000, "of solve.method jacobi");
    visit(
        "solve.tolerance", solve.tolerance, 0.0, 1.0,
        "of solve.method jacobi: numeric fixes the sweeps, the least number up to solve.sweeps of which the "
        "last changes a vector by this part of what the first changes; 0: all solve.sweeps");
    visit("solve.isai_power", solve.isai_power, 1, 1000,
          "of solve.method isai: the power of the triangle's pattern that the inverse has");
    visit("solve.max_polls", solve.max_polls, 0, std::int64_t(1) << 60,
          "of solve.method sync_free: how often a row looks for a value before one team solves the system");
    visit("storage", solve.storage, storage_choices(),
          "precision in which the factors are kept and applied; full: the matrix's");
  }
};

/// When the rows of a factorisation are worked on: level by level, or in one launch, each row once those that
/// it needs are done.
enum class FactorSchedule { automatic, levels, sync_free };

inline std::vector<std::pair<std::string, FactorSchedule>> factor_schedules() {
  return {{"auto", FactorSchedule::automatic},
          {"levels", FactorSchedule::levels},
          {"sync_free", FactorSchedule::sync_free}};
}

/// What incomplete factorisations on a given pattern let choose.
struct IncompleteOptions : FactorOptions {
  FactorSchedule schedule = FactorSchedule::automatic;
  Reuse reuse = Reuse::pattern;
  std::int64_t memory_budget = std::int64_t(16) << 30;

  template <class Visitor>
  void describe(Visitor& visit) {
    describe_shift(visit);
    visit("schedule", schedule, factor_schedules(),
          "of numeric: a launch a level of rows, or one launch, each row once those that it needs are done; "
          "auto: on a host levels, on a device sync_free");
    describe_solve(visit);
    visit("reuse", reuse, reuse_choices(),
          "what a second numeric phase does: factors on the pattern that there is, or finds it anew");
    visit("memory_budget", memory_budget, std::int64_t(1) << 10, std::int64_t(1) << 50,
          "bytes that the pattern of the factors may take; the setup refuses to take more");
    visit.formerly("pattern_bytes");
  }
};

}  // namespace prekond
