// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/options.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/krylov/solver.hpp>

namespace prekond {

/// How an iteration of CG is arranged. In exact arithmetic all forms make the same iterates.
enum class CgVariant {
  classic,    ///< Hestenes and Stiefel's
  pipelined,  ///< Ghysels and Vanroose's: the reduction goes on during the product
};

struct CgOptions {
  static constexpr const char* name = "cg";
  static constexpr const char* summary = "preconditioned conjugate gradients (SPD)";
  static constexpr const char* paper =
      "Hestenes, Stiefel 1952; single_reduction: Chronopoulos, Gear 1989; pipelined: Ghysels, Vanroose 2014; "
      "flexible: Notay 2000";

  CgVariant variant = CgVariant::classic;
  bool single_reduction = false;
  bool flexible = false;

  /// \throws OptionError for two forms at once
  void resolve() {
    if (variant == CgVariant::pipelined && single_reduction)
      throw OptionError(
          "cg: single_reduction is a form of variant = classic; pipelined has one reduction too");
    if (flexible && (single_reduction || variant == CgVariant::pipelined))
      throw OptionError(
          "cg: flexible is a form of variant = classic with two reductions; leave it out, or variant and "
          "single_reduction");
  }

  Properties properties() const { return {.needs_spd = true, .is_flexible = flexible}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("variant", variant, {{"classic", CgVariant::classic}, {"pipelined", CgVariant::pipelined}},
          "pipelined: one global reduction an iteration, which goes on during the product and the "
          "preconditioner; more vectors, less accurate");
    visit("single_reduction", single_reduction,
          "Chronopoulos and Gear's form: one global reduction an iteration instead of two, a little less "
          "stable");
    visit("flexible", flexible,
          "for a preconditioner that is another operator for another vector (amg with cycle=k): each "
          "direction is made A-orthogonal to the one before; one inner product more");
  }
};

/// Preconditioned conjugate gradients.
///
/// An iteration is one product with A, one application of M^-1, three other kernels (two with
/// `single_reduction`) and two global reductions (one); the scalars stay on the device, and the host waits
/// once, for the stopping test. Memory: 4 vectors a right-hand side (5 with `single_reduction`) and the
/// preconditioner's workspace, allocated once. A preconditioner with `is_nonsymmetric()` is refused.
///
/// With `variant = pipelined` one reduction an iteration is started before the product and the application
/// and finished behind them, so that it costs nothing where these take longer: for many processes. The
/// vectors u = M^-1 r, w = A u, q = M^-1 s, s = A p and z = A q are recurrences of their own (with m = M^-1 w
/// and n = A m):
/// ```
/// alpha = (r, u) / ((w, u) - beta (r, u) / alpha_old)       beta = (r, u) / (r, u)_old
/// z = n + beta z    q = m + beta q    s = w + beta s    p = u + beta p
/// x += alpha p      r -= alpha s      u -= alpha q      w -= alpha z
/// ```
/// which are one kernel with the three dots of the next step, and (s, p). Rounding errors of these
/// recurrences grow faster than the classic form's: they are replaced by what they stand for, four products
/// and two applications, where ||r|| has fallen to a hundredth or (s, p) is not (p, A p) of the scalars, and
/// before a breakdown is reported. Where that does not help (a fall of ||r|| or a breakdown that the vectors
/// do not have, or (s, p) wrong for the eleventh time) the classic form goes on from x. Memory: 9 vectors a
/// right-hand side, 6 without a preconditioner. A product more than iterations is made, and two to begin
/// with. Source: Ghysels, Vanroose, Parallel Computing 40 (2014), 224, algorithm 4; replacement: Sleijpen,
/// van der Vorst, Computing 56 (1996), 141.
///
/// With `flexible` the new direction is made A-orthogonal to the one before whatever M has become,
/// p = z - (A p, z) / (A p, p) p, where the classic beta = (r, z) / (r, z)_old supposes the same M in both.
/// The inner product is one of the reduction that (r, z) and (r, r) have anyway. Source: Notay, SIAM J. Sci.
/// Comput. 22 (2000), 1444, with m_i = 1.
///
/// Complex scalars: for Hermitian positive definite A and M. The dots r^H z, r^H r and p^H A p are real in
/// exact arithmetic; their real parts make alpha and beta, and are what is tested.
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
