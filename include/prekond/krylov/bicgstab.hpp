// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/krylov/solver.hpp>

namespace prekond {

struct BicgstabOptions {
  static constexpr const char* name = "bicgstab";
  static constexpr const char* summary = "stabilised bi-conjugate gradients, for general matrices";
  static constexpr const char* paper = "van der Vorst 1992";

  Side side = Side::right;

  Properties properties() const { return {}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("side", side, side_choices(),
          "Side of the preconditioner: A M^-1, whose residual is the true one, or M^-1 A. Default: right");
  }
};

/// BiCGSTAB: short recurrences for general matrices.
///
/// With the residual r, the shadow residual r^ = r_0 and the direction p (K = A M^-1):
/// ```
/// alpha = (r^, r) / (r^, K p)      s = r - alpha K p      omega = (K s, s) / (K s, K s)
/// x += M^-1 (alpha p + omega s)    r = s - omega K s
/// beta = (r^, r) / (r^, r)_old alpha / omega              p = r + beta (p - omega K p)
/// ```
/// Where ||s|| has converged, omega = 0. With the preconditioner on the left the recursive residual is M^-1
/// (b - A x), scaled by the ratio of both norms at the start of the iteration; the true residual confirms a
/// success.
///
/// Cost of an iteration: two products with A, two applications of M^-1, five other kernels and three global
/// reductions. The scalars stay on the device, and the host waits once, for the stopping test.
///
/// Memory: 6 vectors a right-hand side (8 with a preconditioner on the right, 7 on the left) and the
/// preconditioner's workspace, allocated once.
///
/// Breakdown: `breakdown_rho` where |(r^, r)| <= epsilon ||r^|| ||r||, `breakdown_pivot` where (r^, K p) = 0,
/// `breakdown_omega` where K s = 0 or |(K s, s)| <= 4 epsilon ||K s|| ||s||. The method starts again once,
/// from the true residual and with a shadow residual of random numbers (functions of a fixed seed and the
/// row's global number); it reports a second breakdown.
///
/// \throws as Solver
///
/// Source: van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992), 631; Saad, Iterative Methods, algorithm 7.7.
template <class Scalar, class Space>
class Bicgstab : public Solver<Scalar, Space> {
 public:
  using options_type = BicgstabOptions;
  explicit Bicgstab(const BicgstabOptions& options = {}) : m_options(resolved(options)) {}

  std::string name() const override { return BicgstabOptions::name; }

 protected:
  std::vector<SolveResult> run(const LinearProblem<Scalar, Space>& problem) const override;

 private:
  BicgstabOptions m_options;
};

}  // namespace prekond
