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

  /// The options of the registry's alias `multicolor_ssor`.
  static MulticolorGsOptions symmetric() {
    MulticolorGsOptions options;
    options.direction = SweepDirection::symmetric;
    return options;
  }
  /// The name that messages and reports give these sweeps: the alias's for symmetric ones.
  const char* name_of_direction() const {
    return direction == SweepDirection::symmetric ? "multicolor_ssor" : name;
  }

  /// \throws OptionError for omega = 0 or 2
  void resolve() const {
    if (!(omega > 0 && omega < 2))
      throw OptionError(std::string(name_of_direction()) + ": omega has to be between 0 and 2, exclusive");
  }
  Properties properties() const {
    return {.symmetry =
                direction == SweepDirection::symmetric ? Symmetry::symmetric : Symmetry::nonsymmetric};
  }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("sweeps", sweeps, 1, 1000000,
          "number of sweeps k, where a symmetric one is a forward and a backward one; raise it where "
          "iterations are dear");
    visit("omega", omega, 0.0, 2.0, "relaxation factor, between 0 and 2; above 1 it over-relaxes");
    visit("direction", direction, sweep_directions(), "order of the colours; cg needs symmetric");
    MulticolorOptions::describe(visit);
  }
};

/// The preconditioner of k sweeps of successive over-relaxation for A x = b from x_0 = 0; y is x_k. With
/// direction `symmetric` it is SSOR, MC-SSOR(k).
///
/// Formula: with the triangles of Multicolor a forward sweep is, colour by colour,
///
///   x_i <- (1 - omega) x_i + omega (b_i - (L x)_i - (U x)_i) / a_ii.
///
/// A backward sweep goes from the last colour to the first, a symmetric one is a forward and a backward one.
/// One forward sweep has M = D / omega + L, one symmetric sweep
///
///   M = 1 / (omega (2 - omega)) (D + omega L) D^-1 (D + omega U).
///
/// The first forward half multiplies by L only. A symmetric sweep keeps the sum of each half: the backward
/// half, which multiplies by U, begins with b - L x of the forward one, and the other way round.
///
/// Symmetry: M is symmetric for `symmetric` and symmetric A, and positive definite for SPD A and every k; cg
/// refuses the other directions. Whether A is symmetric is not looked at: after `numeric` neither
/// `is_symmetric` nor `is_nonsymmetric` holds for `symmetric`, and adapters refuse transposed applications.
///
/// With sparsified colouring, or colours of the user's, entries W between two rows of one colour are left out
/// of the residual: the sweeps relax A - W. Algorithm 2 of the source multiplies by A's whole rows, so that
/// these entries act on the iterate before the colour. M of one symmetric sweep is then positive definite
/// only where (2 / omega - 1) D - W is; without W it is so for every SPD A and every k.
///
/// Cost: 2 nnz operations a sweep, less those of one triangle in the first sweep of one direction; a
/// symmetric sweep takes one product's operations. Memory and breakdown: see Multicolor.
///
/// \throws OptionError for omega = 0 or 2
/// Source: Li, Saad, J. Supercomput. 63 (2013), section 5.3; the sums that are kept: Conrad, Wallach, Numer.
/// Math. 32 (1979).
template <class Scalar, class Space>
class MulticolorGs : public Multicolor<Scalar, Space> {
 public:
  using options_type = MulticolorGsOptions;
  explicit MulticolorGs(const MulticolorGsOptions& options = {});

  std::string name() const override { return m_options.name_of_direction(); }
  /// Once there is a matrix, M is not known to be symmetric, as the matrix is not looked at for that.
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
  std::vector<impl::sweeps::HalfSweep> half_sweeps() const override;

 private:
  MulticolorGsOptions m_options;
};

}  // namespace prekond
