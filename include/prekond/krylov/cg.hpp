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
  static constexpr const char* paper =
      "Hestenes, Stiefel 1952; single_reduction: Chronopoulos, Gear 1989; flexible: Notay 2000";

  bool single_reduction = false;
  bool flexible = false;

  /// \throws OptionError for both forms at once
  void resolve() {
    if (flexible && single_reduction)
      throw OptionError("cg: flexible needs two reductions an iteration; leave it out, or single_reduction");
  }

  Properties properties() const { return {.needs_spd = true, .is_flexible = flexible}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit(
        "single_reduction", single_reduction,
        "Chronopoulos and Gear's form with one global reduction an iteration instead of two. Choose it where "
        "reductions over many processes or threads are slow; it is a little less stable. Default: false");
    visit("flexible", flexible,
          "Orthogonalisation of each direction against the one before, by one more inner product. Choose it "
          "for a "
          "preconditioner that changes between applications (amg with cycle = k). Default: false");
  }
};

/// Preconditioned conjugate gradients.
///
/// With `flexible` each direction is made A-orthogonal to the one before for any change of M,
/// p = z - (A p, z) / (A p, p) p; the classic beta = (r, z) / (r, z)_old assumes the same M in both. The
/// inner product joins the reduction of (r, z) and (r, r). The step is (p, r) / (p, A p), of which (p, r)
/// joins (p, A p) in a kernel of its own.
///
/// Complex scalars: A and M are Hermitian positive definite. The inner products r^H z, r^H r and p^H A p are
/// real in exact arithmetic; the method uses and tests their real parts.
///
/// Cost of an iteration: one product with A, one application of M^-1, three other kernels (two with
/// `single_reduction`) and two global reductions (one). The scalars stay on the device, and the host waits
/// once, for the stopping test.
///
/// Memory: 5 vectors a right-hand side (6 with `single_reduction`), of which one is a copy of x, and the
/// preconditioner's workspace, allocated once.
///
/// Breakdown: (r, z) <= 0 ends as `breakdown_preconditioner_not_spd`, (p, A p) <= 0 as `breakdown_not_spd`.
///
/// \throws InputError for a preconditioner with `is_nonsymmetric()`
///
/// Source: Hestenes, Stiefel 1952; Chronopoulos, Gear, J. Comput. Appl. Math. 25 (1989), 153; Notay, SIAM J.
/// Sci. Comput. 22 (2000), 1444, with m_i = 1.
template <class Scalar, class Space>
class Cg : public Solver<Scalar, Space> {
 public:
  using options_type = CgOptions;
  explicit Cg(const CgOptions& options = {}) : m_options(resolved(options)) {}

  std::string name() const override { return CgOptions::name; }
  bool is_flexible() const override { return m_options.flexible; }

 protected:
  std::vector<SolveResult> run(const LinearProblem<Scalar, Space>& problem) const override;

 private:
  CgOptions m_options;
};

}  // namespace prekond
