// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/krylov/solver.hpp>

namespace prekond {

struct CgOptions {
  static constexpr const char* name = "cg";
  static constexpr const char* summary = "preconditioned conjugate gradients (SPD)";
  static constexpr const char* paper = "Hestenes, Stiefel 1952; single_reduction: Chronopoulos, Gear 1989";

  bool single_reduction = false;

  Properties properties() const { return {.needs_spd = true}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("single_reduction", single_reduction,
          "Chronopoulos and Gear's form: one global reduction an iteration instead of two, a little less "
          "stable");
  }
};

/// Preconditioned conjugate gradients.
///
/// An iteration is one product with A, one application of M^-1, three other kernels (two with
/// `single_reduction`) and two global reductions (one); the scalars stay on the device, and the host waits
/// once, for the stopping test. Memory: 4 vectors a right-hand side (5 with `single_reduction`) and the
/// preconditioner's workspace, allocated once. A preconditioner with `is_nonsymmetric()` is refused.
///
/// Complex scalars: for Hermitian positive definite A and M. The dots r^H z, r^H r and p^H A p are real in
/// exact arithmetic; their real parts make alpha and beta, and are what is tested.
template <class Scalar, class Space>
class Cg : public Solver<Scalar, Space> {
 public:
  using options_type = CgOptions;
  explicit Cg(const CgOptions& options = {}) : m_options(resolved(options)) {}

  std::string name() const override { return CgOptions::name; }

 protected:
  std::vector<SolveResult> run(const LinearProblem<Scalar, Space>& problem) const override;

 private:
  CgOptions m_options;
};

}  // namespace prekond
