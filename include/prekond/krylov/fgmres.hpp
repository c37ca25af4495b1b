// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/krylov/orthogonalization.hpp>
#include <prekond/krylov/solver.hpp>

namespace prekond {

struct FgmresOptions {
  static constexpr const char* name = "fgmres";
  static constexpr const char* summary = "flexible GMRES: the preconditioner may change from step to step";
  static constexpr const char* paper = "Saad 1993; dcgs2: Bielich et al. 2022";

  int restart = 30;
  Orthogonalization orthogonalization = Orthogonalization::cgs2;

  Properties properties() const { return {.is_flexible = true}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit(
        "restart", restart, 1, 10000,
        "Steps m until the bases of m + 1 and m vectors start anew. Raise it where convergence stalls, lower "
        "it where memory is scarce. Default: 30");
    visit("orthogonalization", orthogonalization,
          {{"cgs2", Orthogonalization::cgs2}, {"dcgs2", Orthogonalization::dcgs2}},
          "Gram-Schmidt process: classical twice with two reductions a step, or its delayed form with one. "
          "Choose dcgs2 where reductions or passes over the basis are slow. Default: cgs2");
  }
};

/// Flexible GMRES(m): Gmres with the preconditioner on the right, which keeps z_j = M_j^-1 v_j of each basis
/// vector and makes x = x_0 + sum y_j z_j. M may differ from step to step: an inner iteration, or an operator
/// that is not linear.
///
/// Cost: as Gmres, without the application of M^-1 at the end of a cycle. With `dcgs2` the preconditioner is
/// applied to a vector that has been orthogonalised once and is not normalised; z_j is then corrected along
/// with v_j, by one more pass over the kept vectors.
///
/// Memory: 2 m + 1 vectors a right-hand side (m + 1 without a preconditioner).
///
/// \throws as Solver
///
/// Source: Saad, SIAM J. Sci. Comput. 14 (1993), 461.
template <class Scalar, class Space>
class Fgmres : public Solver<Scalar, Space> {
 public:
  using options_type = FgmresOptions;
  explicit Fgmres(const FgmresOptions& options = {}) : m_options(resolved(options)) {}

  std::string name() const override { return FgmresOptions::name; }
  bool is_flexible() const override { return m_options.properties().is_flexible; }

 protected:
  std::vector<SolveResult> run(const LinearProblem<Scalar, Space>& problem) const override;

 private:
  FgmresOptions m_options;
};

}  // namespace prekond
