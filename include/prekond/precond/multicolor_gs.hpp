// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/error.hpp>
#include <prekond/core/properties.hpp>
#include <prekond/precond/impl/multicolor.hpp>

namespace prekond {

/// The order of a sweep's colours.
enum class SweepDirection { forward, backward, symmetric };

inline std::vector<std::pair<std::string, SweepDirection>> sweep_directions() {
  return {{"forward", SweepDirection::forward},
          {"backward", SweepDirection::backward},
          {"symmetric", SweepDirection::symmetric}};
}

/// Parameters of the multicolour Gauss-Seidel relaxation.
struct MulticolorGsOptions : MulticolorOptions {
  static constexpr const char* name = "multicolor_gs";
  static constexpr const char* summary = "Gauss-Seidel sweeps over the colours of the matrix's graph";
  static constexpr const char* paper = "Li, Saad, J. Supercomput. 63 (2013)";

  int sweeps = 1;
  double omega = 1;
  SweepDirection direction = SweepDirection::forward;

  /// \throws OptionError for omega = 0 or 2
  void resolve() const { check_omega(name, omega); }
  static void check_omega(const std::string& method, double omega) {
    if (!(omega > 0 && omega < 2)) throw OptionError(method + ": omega has to be between 0 and 2, exclusive");
  }

  Properties properties() const {
    return {.symmetry =
                direction == SweepDirection::symmetric ? Symmetry::symmetric : Symmetry::nonsymmetric};
  }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("sweeps", sweeps, 1, 1000000, "k; a symmetric one is a forward and a backward one");
    visit("omega", omega, 0.0, 2.0, "relaxation of the sweeps, between 0 and 2");
    visit("direction", direction, sweep_directions(), "the order of the colours; cg needs symmetric");
    MulticolorOptions::describe(visit);
  }
};

/// y = x_k of k sweeps of successive over-relaxation for A x = b, from x_0 = 0. With the triangles of
/// Multicolor a forward sweep is, colour by colour,
///
///   x_i <- (1 - omega) x_i + omega (b_i - (L x)_i - (U x)_i) / a_ii,
///
/// a backward one goes from the last colour to the first, a symmetric one is both. The first forward
/// half multiplies by L alone. A symmetric sweep keeps what each half has summed: b - L x of the forward one
/// is what the backward one, which multiplies by U, begins with, and the other way round.
///
/// M is symmetric for `symmetric` and symmetric A, and then positive definite for SPD A; cg refuses the other
/// directions. Whether A is symmetric is not looked at: after `numeric` neither `is_symmetric` nor
/// `is_nonsymmetric` holds for `symmetric`, and adapters refuse transposed applications.
///
/// Cost of an application: 2 nnz operations a sweep, and those of one triangle less in the first of one
/// direction; a symmetric sweep is one product's. Memory and breakdown: see Multicolor.
///
/// Source: Li, Saad, J. Supercomput. 63 (2013), section 5.3; of half the work Conrad, Wallach, Numer. Math.
/// 32 (1979). \throws OptionError for omega = 0 or 2
template <class Scalar, class Space>
class MulticolorGs : public Multicolor<Scalar, Space> {
 public:
  using options_type = MulticolorGsOptions;
  explicit MulticolorGs(const MulticolorGsOptions& options = {});

  std::string name() const override { return MulticolorGsOptions::name; }
  /// Not known to be symmetric once there is a matrix, which is not looked at for that.
  Properties properties() const override {
    Properties result = m_options.properties();
    if (this->has_values() && result.symmetry == Symmetry::symmetric) result.symmetry = Symmetry::unknown;
    return result;
  }
  const MulticolorGsOptions& options() const { return m_options; }

 protected:
  using typename Multicolor<Scalar, Space>::matrix_view;
  using typename Multicolor<Scalar, Space>::Pattern;
  using typename Multicolor<Scalar, Space>::Factors;
  Factors find_factors(const Space& space, const matrix_view& a, const Pattern& pattern,
                       Report& report) const override;
  std::vector<impl::relaxation::HalfSweep> half_sweeps() const override;

 private:
  MulticolorGsOptions m_options;
};

}  // namespace prekond
