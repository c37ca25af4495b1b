// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Options that incomplete factorisations share.
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/precond/setup_options.hpp>
#include <prekond/precond/triangular_solver.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace prekond {

/// L D U of a general matrix; L D L^T of a symmetric positive definite one; L D L^T whose dropped entries are
/// added to the diagonal, so that row sums are kept (Gustafsson), or so that it exists for every such matrix
/// (Robert).
enum class IncompleteKind { ilu, ic, mic_gustafsson, mic_robert };

/// The two kinds that every method lets choose between.
inline std::vector<std::pair<std::string, IncompleteKind>> incomplete_kinds() {
  return {{"ilu", IncompleteKind::ilu}, {"ic", IncompleteKind::ic}};
}

/// When the rows of a factorisation are worked on: level by level, or in one launch, each row once those that
/// it needs are done. `automatic` is the first on a host, the second on a device.
enum class FactorSchedule { automatic, levels, sync_free };

/// The schedule that goes with a method of triangular solves.
template <class Method>
FactorSchedule schedule_of(Method method) {
  if (method == Method::levels) return FactorSchedule::levels;
  return method == Method::sync_free ? FactorSchedule::sync_free : FactorSchedule::automatic;
}

/// How pivots that break down are treated.
struct ShiftOptions {
  std::optional<double> shift;

 protected:
  template <class Visitor>
  void describe_shift(Visitor& visit) {
    visit("shift", shift, 0.0, 1e6,
          "alpha of the shifted matrix A + alpha diag(A), which is factored; default auto, the first of 0, "
          "0.001, 0.01, 0.1 and 1 with which no pivot breaks down; a given one is the only try");
  }
};

/// Options of all methods M = (I + L) D (I + U): the treatment of bad pivots, and the solves.
struct FactorOptions : ShiftOptions {
  TriangularOptions solve;

  /// The factorisation's rows have the schedule of the solves.
  FactorSchedule schedule() const { return schedule_of(solve.method); }

  Properties properties(IncompleteKind kind) const {
    if (kind == IncompleteKind::ilu) return {.symmetry = Symmetry::nonsymmetric, .factors_in_order = true};
    return {.needs_spd = true, .symmetry = Symmetry::symmetric, .factors_in_order = true};
  }

 protected:
  /// `by_blocks`: without what solves with blocks do not have.
  template <class Visitor>
  void describe_solve(Visitor& visit, bool by_blocks = false) {
    if (by_blocks)
      visit(
          "solve.method", solve.method, block_triangular_methods(),
          "solver of the triangles: levels and sync_free are exact, jacobi approximates by sweeps, isai by a "
          "product with an approximate inverse, which reads as much as one sweep; auto is "
          "levels on a host and sync_free on a device. Rows are factored by levels where solve.method is "
          "levels, in one launch where it is sync_free, else as auto does (on one or two threads of a host "
          "one "
          "thread has the rows in their order)");
    else
      visit("solve.method", solve.method, triangular_methods(),
            "method of the triangular solves: levels, sync_free and host are exact, sweeps of jacobi and "
            "approximate inverses (isai) are not, and need more iterations that cost less; default auto, the "
            "exact method of the device. Rows are factored by levels where solve.method is levels, in one "
            "launch "
            "where it is sync_free, else as the device's exact method does");
    visit("solve.sweeps", solve.sweeps, 0, 1000000,
          "sweeps of solve.method jacobi; raise it where the solver needs too many iterations; default 3");
    if (by_blocks) return;
    visit("solve.isai_power", solve.isai_power, 1, 1000,
          "power of the triangle's pattern that the inverse of solve.method isai has; raise it where the "
          "solver needs too many iterations; default 1");
    visit(
        "storage", solve.storage, storage_choices(),
        "precision in which the factors are kept and applied; lower it where memory is short; default full, "
        "the matrix's");
  }
};

/// Options of factorisations on the pattern of ILU(k).
struct PatternOptions : FactorOptions {
  int level = 0;
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
  void describe_rest(Visitor& visit) {
    describe_shift(visit);
    describe_solve(visit);
    visit("memory_budget", memory_budget, std::int64_t(1) << 10, std::int64_t(1) << 50,
          "bound of the memory that the pattern of the factors may take; default 16 GiB");
    visit.formerly("pattern_bytes");
  }
};

}  // namespace prekond
