// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/krylov/orthogonalization.hpp>
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

  /// \throws OptionError for several products a step with the delayed form
  void resolve() {
    if (step_size > 1 && orthogonalization != Orthogonalization::cgs2)
      throw OptionError("gmres: step_size > 1 is for orthogonalization = cgs2");
  }

  Properties properties() const { return {}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("restart", restart, 1, 10000, "m: steps until the basis, of m + 1 vectors, starts anew");
    visit("side", side, side_choices(),
          "where the preconditioner stands: A M^-1 (the residual is the true one) or M^-1 A");
    visit("orthogonalization", orthogonalization,
          {{"cgs2", Orthogonalization::cgs2}, {"dcgs2", Orthogonalization::dcgs2}},
          "classical Gram-Schmidt twice, two reductions a step; or its delayed form, one reduction");
    visit("step_size", step_size, 1, 16,
          "s: products between two orthogonalisations; above 1 the s-step form, cgs2 by blocks of s vectors");
  }
};

/// GMRES(m): the x of least ||b - A x|| in x_0 + M^-1 span{r_0, K r_0, ..., K^(j-1) r_0}, K = A M^-1,
/// starting anew after m steps.
///
/// An iteration is one step of the Arnoldi process: one product with A, one application of M^-1, and for a
/// basis of j vectors about 3 j vectors read in four kernels with `cgs2`, 2 j in two with `dcgs2` (see
/// Orthogonalization), two global reductions or one. The host waits once a step, rotates the Hessenberg
/// matrix (in double precision) and tests. Several right-hand sides have a basis each, and start anew
/// together. Memory: m + 1 vectors a right-hand side, 1 more with a preconditioner, and its workspace,
/// allocated once. Choose m by that: 30 vectors of 10^7 doubles are 2.4 GB.
///
/// On a device the product of the next step is started before the host looks at this one; where the last
/// reduction of the residual lets expect the end it is not, and a solve that ends otherwise has made one
/// product more.
///
/// With `step_size` s > 1 (the s-step, communication-avoiding form) s vectors are made by products alone, a
/// Newton basis with the Ritz values of the first s steps as shifts in Leja's order, and orthogonalised
/// together: block classical Gram-Schmidt with a Cholesky QR by Pythagoras, twice. That is two reductions for
/// s steps, 4 j vectors read for four of them (and for two, and for one, that are left), and j^2 / 2 products
/// on the host for each. Iterations are counted, tested and shown one by one; vectors that depend on those
/// before them (a pivot below 10^4 eps times the vector's own square) are left out, the block is shorter, as
/// are the others of the cycle, or, with none left, an ordinary step. A solve that ends within a block has
/// made up to s - 1 products more. Sources: Hoemmen, Communication-avoiding Krylov subspace methods (2010),
/// chapter 3; Bai, Hu, Reichel, IMA J. Numer. Anal. 14 (1994), 563; Carson, Lund, Rozloznik, Thomas, Linear
/// Algebra Appl. 638 (2022), 150.
///
/// Where the Krylov space ends (the new vector is 0 but for rounding) x is the solution, or, with A singular
/// on that space, `breakdown_arnoldi`: started again once, then reported. With the preconditioner on the left
/// what is minimised is ||M^-1 (b - A x)||; the monitor and the test see it in the ratio of both norms where
/// the cycle started, and a success is one of the true residual.
///
/// Source: Saad, Schultz, SIAM J. Sci. Stat. Comput. 7 (1986), 856.
///
/// \throws as Solver
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

}  // namespace prekond
