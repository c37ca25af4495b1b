// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// When a solve is to end, and how it did. Needs no Kokkos.
#include <cstdint>
#include <string>
#include <vector>

namespace prekond {

/// Why a solver ended. The first three are success.
enum class StopReason {
  rtol,                              ///< ||b - A x|| <= rtol ||b||
  atol,                              ///< ||b - A x|| <= atol
  zero_rhs,                          ///< b = 0, so x = 0
  max_iters,                         ///< not converged within max_iters
  breakdown_not_spd,                 ///< p . A p <= 0: A is not positive definite
  breakdown_preconditioner_not_spd,  ///< r . M^-1 r <= 0: the preconditioner is not positive definite
  breakdown_rho,                     ///< bicgstab: the residual is orthogonal to the shadow residual
  breakdown_pivot,    ///< bicgstab, idr: the product of a direction is orthogonal to the shadow vector, so no
                      ///< step is defined
  breakdown_omega,    ///< bicgstab, idr: A M^-1 r is orthogonal to r (as with skew-symmetric A), or zero
  breakdown_arnoldi,  ///< gmres, fgmres: the Krylov space ends and A is singular on it
  breakdown_singular,  ///< no further, and A is singular to its precision: ||A v|| is negligible against
                       ///< ||A||
                       ///< ||v|| for a v
  divergence,          ///< the residual has become 1 / eps times as large as b
  out_of_range,        ///< the solution has entries that are too large or too small for its type
  stagnation,  ///< the recursive residual converged, the true one did not, and did not fall in another try
  nan,         ///< a value that is not finite appeared
};

std::string to_string(StopReason reason);

struct StoppingOptions {
  double rtol = 1e-6;
  double atol = 0;
  std::int64_t max_iters = 10000;

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("rtol", rtol, 0.0, 1.0, "stop at ||b - A x|| <= max(rtol ||b||, atol)");
    visit("atol", atol, 0.0, 1e300, "absolute part of the stopping test");
    visit("max_iters", max_iters, std::int64_t(0), std::int64_t(1) << 40, "iterations at most");
  }
};

/// The result of a solve. Norms are 2-norms over all processes of the reducer. They neither under- nor
/// overflow where the ratio does not.
struct SolveResult {
  StopReason reason = StopReason::max_iters;
  bool converged = false;  ///< ||b - A x|| <= max(rtol ||b||, atol), the residual computed from x at the end
  /// Without success: whether the least of ||A v|| / ||v|| for v = x, b and b - A x is below eps^(3/4) times
  /// the largest, or below sqrt(eps) times the largest for a relative residual above eps^(1/4).
  bool looks_singular = false;
  /// Without success: whether x is the one that a former cycle, or the solve, began with, because the
  /// residual had grown since.
  bool went_back = false;
  std::int64_t iterations = 0;
  std::int64_t matrix_products = 0;
  double relative_residual = 0;       ///< the solver's own ||r|| / ||b|| at the end
  double true_relative_residual = 0;  ///< ||b - A x|| / ||b||, computed at the end
  double seconds = 0;                 ///< fenced wall time
  /// Remarks of LinearSolver or HostSolver on the matrix, such as that its rows were sorted.
  std::vector<std::string> notes = {};
};

}  // namespace prekond
