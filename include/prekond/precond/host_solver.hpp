// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A x = b in one call, for matrices and vectors in arrays of the host. Needs no Kokkos in the caller's
/// source, which is compiled in a second.
#include <prekond/core/error.hpp>
#include <prekond/precond/linear_solver_options.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace prekond {

/// A square matrix of n rows by rows, in arrays of the host: row i has the entries `row_ptrs[i] <= k <
/// row_ptrs[i + 1]` in columns `col_idxs[k]`, from 0, in any order. It owns nothing.
///
/// Shapes: row_ptrs n + 1, int or std::size_t; col_idxs and values as many as entries.
struct CsrArrays {
  CsrArrays(std::span<const int> ptrs, std::span<const int> columns, std::span<const double> entries)
      : int_ptrs(ptrs), col_idxs(columns), values(entries) {}
  CsrArrays(std::span<const std::size_t> ptrs, std::span<const int> columns, std::span<const double> entries)
      : long_ptrs(ptrs), col_idxs(columns), values(entries) {}

  std::span<const int> int_ptrs;  ///< the row pointers are these, or
  std::span<const std::size_t> long_ptrs;
  std::span<const int> col_idxs;
  std::span<const double> values;
};

/// Solves A x = b for matrices and right-hand sides that come one after another, see LinearSolver, on
/// Kokkos's default execution space.
///
/// It starts Kokkos where that does not run, and Kokkos then ends with the program: objects end before `main`
/// does.
///
/// ```
/// prekond::HostSolver solver;                       // methods chosen by the matrix
/// solver.set_matrix({row_ptrs, col_idxs, values});  // copied to the device
/// const prekond::SolveResult result = solver.solve(b, x);
/// ```
///
/// Memory: A on the device, and where its rows had to be sorted a second time, with 8 bytes an entry.
class HostSolver {
 public:
  /// \throws OptionError for a value out of its range, or an unknown name
  explicit HostSolver(const LinearSolverOptions& options = {});
  ~HostSolver();
  HostSolver(const HostSolver&) = delete;
  HostSolver& operator=(const HostSolver&) = delete;

  /// For elasticity, and the matrices that are set afterwards: the coordinates of the nodes, node after node,
  /// whose displacements are as many rows each. Multigrid then has the rigid body modes as near null space;
  /// other methods do without. An empty span: none, as at first.
  ///
  /// Shapes: coordinates nodes * dimensions, dimensions 2 or 3; A nodes * dimensions rows.
  /// \throws InputError for another shape
  void set_coordinates(std::span<const double> coordinates, int dimensions);
  /// Copies A. Rows whose columns do not ascend are sorted, with a note.
  /// \throws InputError where the arrays do not fit each other or the coordinates, or are no square matrix;
  /// it names the first fault
  void set_matrix(const CsrArrays& a);
  /// Other values of the same entries, in the caller's order. \throws InputError for another number of them
  /// \throws std::logic_error before set_matrix
  void set_values(std::span<const double> values);
  /// x is the initial vector, and the solution. \throws InputError for vectors of another length, and where
  /// no method can be set up \throws std::logic_error before set_matrix
  SolveResult solve(std::span<const double> b, std::span<double> x);

  /// The methods of the last solve, such as "ick (level=1) with cg". Empty before the first.
  std::string methods() const;
  /// Remarks on the matrix, which a solve's result has too: rows that were sorted.
  const std::vector<std::string>& notes() const;
  /// Numeric phases of preconditioners so far.
  std::int64_t setups() const;

 private:
  struct State;
  std::unique_ptr<State> m_state;
};

/// Solves A x = b once. x is the initial vector, and the solution.
/// \throws as HostSolver
SolveResult solve(const CsrArrays& a, std::span<const double> b, std::span<double> x,
                  const LinearSolverOptions& options = {});

}  // namespace prekond
