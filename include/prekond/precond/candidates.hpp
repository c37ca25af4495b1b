// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The methods that fit a matrix, and the work that is expected of each.
#include <prekond/core/options.hpp>
#include <prekond/matrix/statistics.hpp>
#include <prekond/precond/linear_solver_options.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace prekond {

/// A preconditioner with a solver, and what a solve with them is expected to cost. The unit of work is a
/// product with A.
struct Candidate {
  MethodChoice preconditioner;
  MethodChoice solver;
  bool needs_spd = false;
  bool is_last_resort = false;  ///< a factorisation with nearly all of its fill
  double setup = 0;             ///< work of the setup
  double application = 0;       ///< work of an application of M^-1
  double iteration = 0;         ///< work of an iteration, with its application and its vectors
  double jacobis = 100;         ///< iterations with Jacobi, as expected of the matrix before any is done
  double of_jacobis = 1;        ///< iterations over those with Jacobi, by experience
  double least = 1;             ///< iterations at least, by experience
  double iterations = 0;        ///< still expected
  bool is_out = false;          ///< it failed, or does not fit the matrix
  bool was_tried = false;
  std::string outcome = {};  ///< why it was taken, left or not tried, for a person

  /// The expected work from now to the end of a solve, with the part of the setup that each of `solves`
  /// solves bears.
  double work(double solves = 1) const {
    return is_out ? std::numeric_limits<double>::infinity() : setup / solves + iterations * iteration;
  }
};

/// The candidates for a matrix, by rules on the facts that one pass over it finds. They depend on whether the
/// setup is on a device, where triangular solves are expensive. `is_complex`: fewer methods.
/// `has_near_null_space`: vectors are given, with which multigrid takes fewer iterations on systems.
std::vector<Candidate> candidates_for(const MatrixStatistics& facts, bool on_device, bool is_complex,
                                      bool has_near_null_space = false);

/// The candidates with the preconditioner and the solver that somebody has named in place of their own;
/// `auto` names none. With both named there is one candidate. The first candidate with a preconditioner that
/// is named says what is expected of it.
std::vector<Candidate> with_named(std::vector<Candidate> candidates, const MethodChoice& preconditioner,
                                  const MethodChoice& solver);

/// Iterations until the norm is `target`, from the mean rate of the last half of `norms`; infinity where they
/// do not fall.
double iterations_left(const std::vector<double>& norms, double target);

/// The same as far as it is believed: the rate of the first iterations is too good, and that of a Krylov
/// method grows. More than three times those done are no less than were `expected` in all before the first,
/// and no more than 4 times those done where that is farther.
double believed_iterations_left(const std::vector<double>& norms, double target, double expected);

/// Sets the iterations that are expected of all candidates that were not tried: by the iterations that Jacobi
/// takes with the same kind of solver, or those expected of the matrix where these are not known. No system
/// is taken to need more than 1500 iterations of Jacobi, or 10,000 with cg, so that in the end each candidate
/// has its try.
void expect_iterations(std::vector<Candidate>& candidates, std::optional<double> of_jacobi = {});

/// The candidates that are not out, but for the last resort, the least expected work first, before any is
/// tried. Jacobi takes `jacobis` iterations, where they are known.
std::vector<Candidate> by_expected_work(std::vector<Candidate> candidates,
                                        std::optional<double> jacobis = {});

/// After a breakdown that shows A not to be positive definite: takes those out that need it and were not
/// tried, and the others in, but for the preconditioner that failed where another one
/// is left.
void leave_definite(std::vector<Candidate>& candidates, const std::string& failed);

/// The preconditioner with its options and the solver, for a person.
std::string to_string(const Candidate& candidate);

}  // namespace prekond
