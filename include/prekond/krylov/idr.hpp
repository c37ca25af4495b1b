// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/krylov/solver.hpp>

namespace prekond {

struct IdrOptions {
  static constexpr const char* name = "idr";
  static constexpr const char* summary = "induced dimension reduction IDR(s), for general matrices";
  static constexpr const char* paper = "van Gijzen, Sonneveld 2011 (ACM Algorithm 913)";

  int s = 4;
  double kappa = 0.7;
  Side side = Side::right;

  Properties properties() const { return {}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("s", s, 1, 64,
          "Dimension of the shadow space. A larger s converges in fewer products and takes 3 s vectors. "
          "Default: 4");
    visit("kappa", kappa, 0.0, 1.0,
          "Cosine of A M^-1 r and r below which omega is enlarged; 0 never enlarges it. Default: 0.7");
    visit("side", side, side_choices(),
          "Side of the preconditioner: A M^-1, whose residual is the true one, or M^-1 A. Default: right");
  }
};

/// IDR(s), the variant with biorthogonal vectors: residuals in a sequence of shrinking spaces G_j, each
/// (I - omega_j K) (G_(j-1) intersected with the orthogonal complement of s shadow vectors P), K = A M^-1.
///
/// A cycle is s steps along directions U with G = K U biorthogonal to P, and one step that reduces the
/// dimension, with the omega that minimises the residual, enlarged by kappa / cosine where the cosine of K r
/// and r is below kappa; a cosine of 0 gives omega = kappa ||r|| / ||K r||. In exact arithmetic the method
/// ends after n + n / s products at most; s = 1 is mathematically BiCGSTAB. With the preconditioner on the
/// left the recursive residual is M^-1 (b - A x), scaled by the ratio of both norms at the start; the true
/// residual confirms a success.
///
/// P consists of s vectors of random numbers (functions of a fixed seed and the row's global number),
/// orthonormalised; where fewer are independent, as with n < s, s is their number.
///
/// Cost of an iteration, which is one of the s + 1 steps: one product with A, one application of M^-1, two
/// global reductions and about 3 s + 12 passes over a vector. One message has all projections P^H g of a
/// step, which a recurrence makes biorthogonal. The scalars stay on the device, and the host waits once, for
/// the stopping test.
///
/// Memory: s vectors, and 2 s + 4 a right-hand side (1 more with a preconditioner), allocated once.
///
/// Breakdown: `breakdown_pivot` where p_k^H g_k = 0, `breakdown_omega` where K r = 0, or with kappa = 0 (K r,
/// r) = 0. The method starts again once, from the true residual with another P; it reports a second
/// breakdown.
///
/// \throws as Solver
///
/// Source: van Gijzen, Sonneveld, ACM Trans. Math. Softw. 38 (2011), 5; one message for the projections of a
/// step: Collignon, van Gijzen, Numer. Linear Algebra Appl. 18 (2011), 805.
template <class Scalar, class Space>
class Idr : public Solver<Scalar, Space> {
 public:
  using options_type = IdrOptions;
  explicit Idr(const IdrOptions& options = {}) : m_options(resolved(options)) {}

  std::string name() const override { return IdrOptions::name; }

 protected:
  std::vector<SolveResult> run(const LinearProblem<Scalar, Space>& problem) const override;

 private:
  IdrOptions m_options;
};

}  // namespace prekond
