// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/krylov/solver.hpp>

namespace prekond {

struct RichardsonOptions {
  static constexpr const char* name = "richardson";
  static constexpr const char* summary = "Richardson's iteration x += omega M^-1 (b - A x)";
  static constexpr const char* paper = "Richardson 1911; Saad, Iterative Methods, section 4.1";

  double omega = 1;

  Properties properties() const { return {.is_flexible = true}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("omega", omega, -1e6, 1e6, "Relaxation factor. Lower it where the iteration diverges. Default: 1");
  }
};

/// Richardson's iteration, x += omega M^-1 r, r -= omega A M^-1 r.
///
/// It converges where the eigenvalues of I - omega M^-1 A are inside the unit circle; with Jacobi as M it is
/// the damped Jacobi method. It has no inner products, and shows the effect of a preconditioner without
/// acceleration.
///
/// Cost of an iteration: one product with A, one application of M^-1, one other kernel and one global
/// reduction, for the stopping test.
///
/// Memory: 3 vectors a right-hand side (4 with a preconditioner) and the preconditioner's workspace.
///
/// Breakdown: a divergent iteration ends as `divergence` or at max_iters, or as `nan` when the residual
/// overflows.
///
/// \throws as Solver
///
/// Source: Saad, Iterative Methods, section 4.1.
template <class Scalar, class Space>
class Richardson : public Solver<Scalar, Space> {
 public:
  using options_type = RichardsonOptions;
  explicit Richardson(const RichardsonOptions& options = {}) : m_options(resolved(options)) {}

  std::string name() const override { return RichardsonOptions::name; }
  bool is_flexible() const override { return m_options.properties().is_flexible; }

 protected:
  std::vector<SolveResult> run(const LinearProblem<Scalar, Space>& problem) const override;

 private:
  RichardsonOptions m_options;
};

}  // namespace prekond
