// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/impl/polynomial_preconditioner.hpp>

namespace prekond {

/// Parameters of the Neumann series.
struct NeumannOptions {
  static constexpr const char* name = "neumann";
  static constexpr const char* summary = "Neumann series, sum of (I - omega D^-1 A)^j omega D^-1 for j <= k";
  static constexpr const char* paper = "Dubois, Greenbaum, Rodrigue, Computing 22 (1979)";

  int degree = 2;
  double omega = 0;
  PolynomialScaling scaling = PolynomialScaling::diagonal;
  SpectrumBounds bounds = SpectrumBounds::lanczos;
  int lanczos_steps = 10;
  double lambda_max = 0;
  Storage storage = Storage::full;
  MatrixFormat storage_format = MatrixFormat::automatic;

  void resolve() const;
  /// A given omega needs no spectrum, and takes any matrix.
  Properties properties() const {
    return omega > 0 ? Properties{.symmetry = Symmetry::unknown} : impl::polynomial_properties(*this);
  }
  /// With omega the spectrum is not looked at: as if it were given.
  PolynomialSetup setup() const {
    PolynomialSetup setup = impl::polynomial_setup(*this);
    if (omega > 0) setup.lambda_max = 1 / omega;
    return setup;
  }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("degree", degree, 0, 100, "k: products with A in an application");
    visit("omega", omega, 0.0, 1e300, "the damping; 0: 1.5 / lambda_max");
    impl::describe_polynomial(*this, visit);
  }
};

/// M^-1 = sum_(j <= k) (I - omega D^-1 A)^j omega D^-1, the Neumann series of A^-1: k + 1 steps of damped
/// Jacobi from zero.
///
/// The error's factor for an eigenvalue t of D^-1 A is (1 - omega t)^(k + 1): M^-1 is positive definite where
/// 0 < omega t < 2, and for even k for every t > 0. omega = 1.5 / lambda_max makes the eigenvalues of M^-1 A
/// more alike than 1 / lambda_max, and holds for eigenvalues up to 4/3 of the estimate.
///
/// Cost, memory and breakdowns: see PolynomialPreconditioner; with a given omega the setup has no product.
/// Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section 12.3.1.
template <class Scalar, class Space>
class Neumann : public PolynomialMethod<NeumannOptions, Scalar, Space> {
 public:
  using PolynomialMethod<NeumannOptions, Scalar, Space>::PolynomialMethod;
  ~Neumann() override;

 protected:
  using PolynomialMethod<NeumannOptions, Scalar, Space>::m_options;
  Polynomial make_polynomial(const Spectrum& spectrum, std::vector<std::string>& notes) const override;
};

}  // namespace prekond
