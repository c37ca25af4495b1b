// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Options that incomplete factorisations share.
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/precond/setup_options.hpp>
#include <prekond/precond/triangular_solver.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace prekond {

/// L D U of a general matrix; L D L^T of a symmetric positive definite one; L D L^T whose dropped entries are
/// added to the diagonal.
enum class IncompleteKind { ilu, ic, mic };

/// The two kinds that options let choose between.
inline std::vector<std::pair<std::string, IncompleteKind>> incomplete_kinds() {
  return {{"ilu", IncompleteKind::ilu}, {"ic", IncompleteKind::ic}};
}

/// How pivots that break down are treated.
struct ShiftOptions {
  double shift = 0;
  bool raise_shift = true;

 protected:
  template <class Visitor>
  void describe_shift(Visitor& visit) {
    visit("shift", shift, 0.0, 1e6,
          "alpha of the shifted matrix A + alpha diag|A|, which is factored; raise it where pivots break "
          "down; default 0");
    visit("raise_shift", raise_shift,
          "further tries with the larger ones of the shifts 0.001, 0.01, 0.1 and 1, until no pivot breaks "
          "down; default true");
  }
};

/// Options of all methods M = (I + L) D (I + U): the treatment of bad pivots, and the solves.
struct FactorOptions : ShiftOptions {
  TriangularOptions solve;

  Properties properties(IncompleteKind kind) const {
    if (kind == IncompleteKind::ilu) return {.symmetry = Symmetry::nonsymmetric, .factors_in_order = true};
    return {.needs_spd = true, .symmetry = Symmetry::symmetric, .factors_in_order = true};
  }

 protected:
  /// `by_blocks`: without what solves with blocks do not have.
  template <class Visitor>
  void describe_solve(Visitor& visit, bool by_blocks = false) {
    if (by_blocks)
      visit("solve.method", solve.method, block_triangular_methods(),
            "method of the triangular solves: levels and sync_free are exact, sweeps of jacobi are not, and "
            "need more iterations that cost less; default auto, levels on a host and sync_free on a device");
    else
      visit("solve.method", solve.method, triangular_methods(),
            "method of the triangular solves: levels, sync_free and host are exact, sweeps of jacobi and "
            "approximate inverses (isai) are not, and need more iterations that cost less; default auto, the "
            "exact method of the device");
    visit("solve.sweeps", solve.sweeps, 0, 1000000,
          "sweeps of solve.method jacobi; raise it where the solver needs too many iterations; default 3");
    visit("solve.tolerance", solve.tolerance, 0.0, 1.0,
          "tolerance by which the numeric phase fixes the number of sweeps of solve.method jacobi: the last "
          "sweep changes a vector by this part of the change of the first; solve.sweeps bounds the number; "
          "default 0, all solve.sweeps");
    if (!by_blocks)
      visit("solve.isai_power", solve.isai_power, 1, 1000,
            "power of the triangle's pattern that the inverse of solve.method isai has; raise it where the "
            "solver needs too many iterations; default 1");
    visit("solve.max_polls", solve.max_polls, 0, std::int64_t(1) << 60,
          "polls of a row of solve.method sync_free for a value, after which one team solves the system; "
          "default 16777216");
    if (!by_blocks)
      visit("storage", solve.storage, storage_choices(),
            "precision in which the factors are kept and applied; lower it where memory is short; default "
            "full, the matrix's");
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

/// Options of factorisations on the pattern of ILU(k).
struct PatternOptions : FactorOptions {
  int level = 0;
  Reuse reuse = Reuse::pattern;
  std::int64_t memory_budget = std::int64_t(16) << 30;

 protected:
  template <class Visitor>
  void describe_level(Visitor& visit, const std::string& defaults) {
    visit("level", level, 0, 1000,
          "level k up to which entries of fill are kept, where 0 keeps A's own pattern; raise it where the "
          "solver needs too many iterations; default " +
              defaults);
  }
  template <class Visitor>
  void describe_pattern(Visitor& visit) {
    visit("reuse", reuse, reuse_choices(),
          "use of the pattern in a second numeric phase: pattern keeps it, none finds it anew; default "
          "pattern");
    visit("memory_budget", memory_budget, std::int64_t(1) << 10, std::int64_t(1) << 50,
          "bound of the memory that the pattern of the factors may take; default 16 GiB");
    visit.formerly("pattern_bytes");
  }
};

/// Options of factorisations by rows.
struct IncompleteOptions : PatternOptions {
  FactorSchedule schedule = FactorSchedule::automatic;

 protected:
  template <class Visitor>
  void describe_rows(Visitor& visit) {
    describe_shift(visit);
    visit(
        "schedule", schedule, factor_schedules(),
        "schedule of the rows in the numeric phase: a launch for each level of rows (levels), or one launch "
        "in which each row waits for those that it needs (sync_free); default auto, on a host levels, on a "
        "device sync_free");
    describe_solve(visit);
    describe_pattern(visit);
  }
};

}  // namespace prekond
