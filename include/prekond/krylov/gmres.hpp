// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/krylov/impl/orthogonalization.hpp>
#include <prekond/krylov/solver.hpp>

namespace prekond {

struct GmresOptions {
  static constexpr const char* name = "gmres";
  static constexpr const char* summary = "restarted generalised minimal residuals, for general matrices";
  static constexpr const char* paper =
      "Saad, Schultz 1986; dcgs2: Bielich et al. 2022; s steps: Hoemmen 2010";

  int restart = 30;
  Side side = Side::right;
  Orthogonalization orthogonalization = Orthogonalization::cgs2;
  int step_size = 1;

  /// \throws OptionError for step_size > 1 with the delayed form
  void resolve() {
    if (step_size > 1 && orthogonalization != Orthogonalization::cgs2)
      throw OptionError("gmres: step_size > 1 needs orthogonalization = cgs2");
  }

  Properties properties() const { return {}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("restart", restart, 1, 10000,
          "Steps m until the basis of m + 1 vectors starts anew. Raise it where convergence stalls, lower it "
          "where memory is scarce. Default: 30");
    visit("side", side, side_choices(),
          "Side of the preconditioner: A M^-1, whose residual is the true one, or M^-1 A. Default: right");
    visit("orthogonalization", orthogonalization,
          {{"cgs2", Orthogonalization::cgs2}, {"dcgs2", Orthogonalization::dcgs2}},
          "Gram-Schmidt process: classical twice with two reductions a step, or its delayed form with one. "
          "Choose dcgs2 where reductions or passes over the basis are slow. Default: cgs2");
    visit(
        "step_size", step_size, 1, 16,
        "Products s between two orthogonalisations; above 1 it selects the s-step form. Raise it to 4 where "
        "products and preconditioner are cheap compared with the basis. Default: 1");
  }
};

/// GMRES(m): the x of least ||b - A x|| in x_0 + M^-1 span{r_0, K r_0, ..., K^(j-1) r_0}, K = A M^-1, with a
/// new start after m steps.
///
/// Each of several right-hand sides has its own basis; they start anew together. On a device the product of
/// the next step starts before the host tests this one, unless the last reduction of the residual suggests
/// that this step is the last; a solve that ends otherwise has made one product more.
///
/// With the preconditioner on the left the method minimises ||M^-1 (b - A x)||. The monitor and the test
/// scale it by the ratio of both norms at the start of the cycle, and the true residual confirms a success.
///
/// The s-step form (`step_size` = s > 1) makes s vectors by products only, in a Newton basis whose shifts are
/// the Ritz values of the first s steps in Leja's order, and orthogonalises them together: block classical
/// Gram-Schmidt with a Cholesky QR by Pythagoras, twice. Iterations are counted, tested and shown one by one.
/// A vector that depends on those before it (a pivot below 10^4 eps times the vector's own square) is left
/// out, and this block and the others of the cycle become shorter; an ordinary step follows where no vector
/// is left. A solve that ends within a block has made up to s - 1 products more.
///
/// Cost of an iteration: one product with A, one application of M^-1, and for a basis of j vectors about 3 j
/// vectors read in four kernels with two global reductions (`cgs2`), 2 j in two kernels with one reduction
/// (`dcgs2`). s steps of the s-step form take two reductions, 4 j vectors read for four of them (and for two,
/// and for one, that are left), and j^2 / 2 products on the host each. The host waits once a step, rotates
/// the Hessenberg matrix in double precision and tests.
///
/// Memory: m + 2 vectors a right-hand side, 1 more with a preconditioner, and its workspace, allocated once;
/// 30 vectors of 10^7 doubles are 2.4 GB.
///
/// Breakdown: where the Krylov space ends (the new vector is 0 but for rounding) x is the solution, or, with
/// A singular on that space, the method starts again once and then ends as `breakdown_arnoldi`.
///
/// \throws as Solver
///
/// Source: Saad, Schultz, SIAM J. Sci. Stat. Comput. 7 (1986), 856. The s-step form: Hoemmen,
/// Communication-avoiding Krylov subspace methods (2010), chapter 3; Bai, Hu, Reichel, IMA J. Numer. Anal. 14
/// (1994), 563; Carson, Lund, Rozloznik, Thomas, Linear Algebra Appl. 638 (2022), 150.
template <class Scalar, class Space>
class Gmres : public Solver<Scalar, Space> {
 public:
  using options_type = GmresOptions;
  explicit Gmres(const GmresOptions& options = {}) : m_options(resolved(options)) {}

  std::string name() const override { return GmresOptions::name; }

 protected:
  std::vector<SolveResult> run(const LinearProblem<Scalar, Space>& problem) const override;

 private:
  GmresOptions m_options;
};

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
/// Memory: 2 m + 2 vectors a right-hand side (m + 2 without a preconditioner).
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
