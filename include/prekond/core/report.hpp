// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace prekond {

/// Rows whose computation broke down, and what was done about them.
struct Breakdowns {
  std::int64_t count = 0;       ///< rows concerned
  std::int64_t first_row = -1;  ///< the smallest of them, -1 where there is none
  double first_pivot = 0;       ///< the pivot of that row that was too small, relative to its diagonal entry
  std::string action;           ///< what the setup did instead
};

/// A level of a multigrid hierarchy, the finest first.
struct LevelReport {
  std::int64_t num_rows = 0;
  std::int64_t nnz = 0;              ///< of its matrix
  std::int64_t prolongator_nnz = 0;  ///< to it from the next coarser one; 0 of the coarsest
  std::string method;                ///< its smoother; of the coarsest level what solves it
  std::int64_t method_nnz = 0;       ///< entries that this stores
  double damping = 1;                ///< omega of its sweeps
  double setup_seconds = 0;          ///< of this level, and of making the next coarser one's matrix
};

/// The part of one of several devices in a setup (SeveralDevices).
struct DeviceReport {
  std::int64_t first_row = 0;  ///< its own rows are first_row .. first_row + num_rows - 1
  std::int64_t num_rows = 0;
  std::int64_t rows_read = 0;   ///< of A, for them; its own included
  std::int64_t nnz = 0;         ///< entries found in its own rows (of a right inverse columns)
  std::int64_t bytes = 0;       ///< memory that it keeps for a next numeric phase
  double copy_seconds = 0;      ///< to bring A's rows to the device
  double symbolic_seconds = 0;  ///< the method's phases, without the copies
  double numeric_seconds = 0;
  int fences = 0;  ///< host synchronisations of the method's numeric phase
};

/// The result of the phases of a preconditioner. Times are fenced wall seconds, sizes are bytes.
struct Report {
  double symbolic_seconds = 0;
  double numeric_seconds = 0;
  /// The time of one thread of the host at a matching of the last setup or at the partition in use, which an
  /// earlier setup may have made, with the copies.
  double host_seconds = 0;
  std::int64_t nnz = 0;  ///< entries the preconditioner stores once (G for FSAI)
  /// The memory that it keeps between applications, without the rest of arrays of up to 4 MB that small
  /// vectors of a device's setup are parts of.
  std::int64_t bytes = 0;
  /// The peak of the temporary memory of the last numeric phase: views that it frees again, and those that
  /// the symbolic phase made for it. Its result is not counted, nor scratch that Kokkos keeps (up to some 20
  /// MB on a GPU). A device's vectors of up to 256 kB count with the arrays of up to 4 MB that they are parts
  /// of (SmallViews), the result's too.
  std::int64_t setup_bytes = 0;
  double numeric_flops =
      0;  ///< floating-point operations of the last numeric phase; an estimate where rows grow adaptively
  double apply_flops = 0;  ///< floating-point operations of an application to one vector
  int fences = 0;          ///< host synchronisations of the last numeric phase: Kokkos's events of that kind
  std::int64_t foreign_columns = 0;  ///< columns of other ranks that a rank's setup left out
  std::int64_t foreign_entries = 0;  ///< and entries that it left out, in these or others, see left_out
  bool pattern_kept = false;         ///< the last numeric phase worked on the pattern found before
  Breakdowns breakdowns;
  std::vector<LevelReport> levels;    ///< of multigrid
  std::vector<DeviceReport> devices;  ///< of a setup over several devices, else none
  double gather_seconds = 0;          ///< of the numeric phase, to bring what devices found to the first one
  std::vector<std::string> notes;     ///< anything else a user should know, a sentence each
};

/// sum_l nnz(A_l) / nnz(A_0): the entries of all levels' matrices over those of the finest. 0 of no levels,
/// and where A_0 has no entries.
inline double operator_complexity(const std::vector<LevelReport>& levels) {
  double entries = 0;
  for (const LevelReport& level : levels) entries += static_cast<double>(level.nnz);
  return entries > 0 && levels[0].nnz > 0 ? entries / static_cast<double>(levels[0].nnz) : 0;
}

/// sum_l n_l / n_0, of the rows. 0 of no levels.
inline double grid_complexity(const std::vector<LevelReport>& levels) {
  double rows = 0;
  for (const LevelReport& level : levels) rows += static_cast<double>(level.num_rows);
  return rows > 0 && levels[0].num_rows > 0 ? rows / static_cast<double>(levels[0].num_rows) : 0;
}

}  // namespace prekond
