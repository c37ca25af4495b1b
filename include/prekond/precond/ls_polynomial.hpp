// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/impl/polynomial_preconditioner.hpp>

namespace prekond {

/// Parameters of the least-squares polynomial.
struct LsPolynomialOptions {
  static constexpr const char* name = "ls_polynomial";
  static constexpr const char* summary =
      "least-squares polynomial in D^-1 A on an interval from a few Lanczos steps (SPD)";
  static constexpr const char* paper = "Li, Saad, J. Supercomput. 63 (2013), section 5.4";

  int degree = 10;
  PolynomialScaling scaling = PolynomialScaling::diagonal;
  SpectrumBounds bounds = SpectrumBounds::lanczos;
  int lanczos_steps = 15;
  double lambda_min = 0;
  double lambda_max = 0;
  double lower_fraction = 0.5;
  Storage storage = Storage::full;
  MatrixFormat storage_format = MatrixFormat::automatic;

  void resolve() const { impl::check_bounds(name, lambda_min, lambda_max); }
  Properties properties() const { return impl::polynomial_properties(*this); }
  PolynomialSetup setup() const { return impl::polynomial_setup(*this); }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("degree", degree, 1, 100, "k: products with A in an application");
    impl::describe_polynomial(*this, visit);
    visit("lower_fraction", lower_fraction, 1e-6, 1e6,
          "f: the interval's lower end is at most f / (k + 1)^2 of the upper end, unless Lanczos has found "
          "the smallest eigenvalue or lambda_min is given");
  }
};

/// M^-1 = s(D^-1 A) D^-1 with the polynomial s of degree k that minimises
///   || 1 - t s(t) ||_omega,  omega(t) = 1 / sqrt((t - l)(u - t)),
/// on an interval [l, u] that is to hold the spectrum of D^-1 A.
///
/// This is what the paper's Stieltjes procedure finds for phi = 1 with S_0 = t. With omega it has a closed
/// form, the kernel polynomial, whose expansion in the Chebyshev polynomials of [l, u] has coefficients that
/// are sums of positive terms: exact to rounding for any degree, and below l too. So s is applied, by
/// Clenshaw's recurrence.
///
/// The interval, where it is not given: u is the largest Ritz value of a few Lanczos steps and its residual
/// bound |beta s_k|, the paper's safeguard. l is the smallest one less its bound, where that bound is below a
/// tenth of it; else the smaller of the Ritz value and f u / (k + 1)^2: a polynomial of degree k resolves
/// nothing below that, and a larger l costs iterations.
///
/// 1 - t s(t) is below 1 for 0 < t < l + u, and for even k for all t > 0: M^-1 is then positive definite
/// whatever the estimate of u was worth. For odd k and an eigenvalue above l + u it may be indefinite, and CG
/// ends as `breakdown_preconditioner_not_spd`.
///
/// For matrices that are not symmetric but have a positive real spectrum give lambda_max, or bounds =
/// gershgorin; solvers for general matrices take it then.
///
/// Cost, memory and breakdowns: see PolynomialPreconditioner. Source: Li and Saad, J. Supercomput. 63 (2013),
/// section 5.4, algorithms 3 and 4; Erhel, Guyomarc'h, Saad, report umsi-2001-32 (2001).
template <class Scalar, class Space>
class LsPolynomial : public PolynomialMethod<LsPolynomialOptions, Scalar, Space> {
 public:
  using PolynomialMethod<LsPolynomialOptions, Scalar, Space>::PolynomialMethod;
  ~LsPolynomial() override;

 protected:
  using PolynomialMethod<LsPolynomialOptions, Scalar, Space>::m_options;
  Polynomial make_polynomial(const Spectrum& spectrum, std::vector<std::string>& notes) const override;
};

}  // namespace prekond
