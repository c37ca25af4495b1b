// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/impl/polynomial_preconditioner.hpp>

namespace prekond {

/// Of which kind the Chebyshev polynomials are.
enum class ChebyshevKind { first, fourth, fourth_optimized };

/// Parameters of Chebyshev's iteration.
struct ChebyshevOptions {
  static constexpr const char* name = "chebyshev";
  static constexpr const char* summary =
      "Chebyshev iteration in D^-1 A, of the first or the fourth kind: a smoother, or a preconditioner (SPD)";
  static constexpr const char* paper =
      "Golub, Varga 1961; fourth kind: Lottes, Numer. Linear Algebra Appl. 30 (2023)";

  static constexpr double default_ratio = 30;

  ChebyshevKind kind = ChebyshevKind::first;
  int degree = 3;
  PolynomialScaling scaling = PolynomialScaling::diagonal;
  SpectrumBounds bounds = SpectrumBounds::lanczos;
  int lanczos_steps = 10;
  double lambda_min = 0;
  double lambda_max = 0;
  double eigenvalue_ratio = default_ratio;
  double boost = 1.1;
  Storage storage = Storage::full;
  MatrixFormat storage_format = MatrixFormat::automatic;

  /// A lower end is the first kind's.
  void resolve() const;
  Properties properties() const { return impl::polynomial_properties(*this); }
  PolynomialSetup setup() const { return impl::polynomial_setup(*this); }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("kind", kind,
          {{"first", ChebyshevKind::first},
           {"fourth", ChebyshevKind::fourth},
           {"fourth_optimized", ChebyshevKind::fourth_optimized}},
          "first: the least maximum on an interval; fourth: smoothers without a lower bound, plain or with "
          "Lottes's optimal weights");
    visit("degree", degree, 0, 100, "k: products with A in an application");
    impl::describe_polynomial(*this, visit);
    visit("eigenvalue_ratio", eigenvalue_ratio, 1.0001, 1e16,
          "kind first: the interval's upper over its lower end, where lambda_min is not given");
    visit("boost", boost, 1.0, 100.0, "factor on the largest eigenvalue, where it is estimated");
  }
};

/// M^-1 = p(D^-1 A) D^-1: k + 1 steps of Chebyshev's iteration for A y = x from y = 0, the first of which
/// needs no product.
///
/// Kinds, by the residual polynomial r(t) = 1 - t p(t) of degree k + 1:
/// - `first`: r(t) = T(x(t)) / T(x(0)) with the interval [l, u] mapped to [-1, 1]: the least maximum on it.
///   u is lambda_max, Gershgorin's bound, or the largest Ritz value times `boost`; l is lambda_min, or u
///   before the boost over `eigenvalue_ratio`, at most 0.9 u. So Ifpack2 has them (whose degree is this one
///   and 1).
/// - `fourth`: r(t) = W(1 - 2 t / u) / (2 k + 3), with W = sin((k + 3/2) phi) / sin(phi / 2): the least
///   maximum of sqrt(t) |r(t)| on [0, u], the bound of a V-cycle with one step of smoothing.
/// - `fourth_optimized`: the sum of its steps with weights beta_j that minimise the maximum of
///   t r^2 / (1 - r^2), the bound of V-cycles with any number. The weights are computed by the symbolic
///   phase, by Newton's method on the equioscillation, for any degree; where it does not converge the kind
///   is `fourth`, which a note says.
///
/// On (0, u] -1 < r < 1, so that M^-1 is positive definite where u bounds the spectrum; `first` and `fourth`
/// with even k also where it does not.
///
/// Cost, memory and breakdowns: see PolynomialPreconditioner. Source: Saad, Iterative Methods for Sparse
/// Linear Systems, 2nd ed., algorithm 12.1; Lottes, Numer. Linear Algebra Appl. 30 (2023), e2518.
template <class Scalar, class Space>
class Chebyshev : public PolynomialMethod<ChebyshevOptions, Scalar, Space> {
 public:
  using PolynomialMethod<ChebyshevOptions, Scalar, Space>::PolynomialMethod;
  ~Chebyshev() override;

 protected:
  using PolynomialMethod<ChebyshevOptions, Scalar, Space>::m_options;
  using typename PolynomialPreconditioner<Scalar, Space>::matrix_source;
  void symbolic_step(const Space& space, const matrix_source& source) override;
  Polynomial make_polynomial(const Spectrum& spectrum, std::vector<std::string>& notes) const override;

 private:
  std::vector<double> m_weights;  ///< of the kind fourth_optimized; empty where they were not found
};

}  // namespace prekond
