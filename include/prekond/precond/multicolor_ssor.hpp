// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/properties.hpp>
#include <prekond/precond/multicolor_gs.hpp>

namespace prekond {

/// Parameters of the multicolour SSOR.
struct MulticolorSsorOptions : MulticolorOptions {
  static constexpr const char* name = "multicolor_ssor";
  static constexpr const char* summary = "symmetric over-relaxation over the colours, MC-SSOR(k)";
  static constexpr const char* paper = "Li, Saad, J. Supercomput. 63 (2013)";

  int sweeps = 1;
  double omega = 1;

  /// \throws OptionError for omega = 0 or 2
  void resolve() const { MulticolorGsOptions::check_omega(name, omega); }
  Properties properties() const { return {.symmetry = Symmetry::symmetric}; }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("sweeps", sweeps, 1, 1000000, "k: pairs of a forward and a backward sweep");
    visit("omega", omega, 0.0, 2.0, "relaxation of the sweeps, between 0 and 2");
    MulticolorOptions::describe(visit);
  }
};

/// k symmetric sweeps from zero: MulticolorGs of direction `symmetric`. For k = 1 it is M^-1 of
///
///   M = 1 / (omega (2 - omega)) (D + omega L) D^-1 (D + omega U),
///
/// symmetric positive definite for SPD A and every k; cg accepts it. An application reads each triangle k
/// times, as k products with A do, colour by colour.
///
/// With sparsified colouring, or colours of the user's, entries W between two rows of one colour are left out
/// of the residual: it is the relaxation of A - W. Algorithm 2 of the source multiplies by A's whole rows, so
/// that these entries act on the iterate before the colour: M of one sweep is then positive definite only
/// where (2 / omega - 1) D - W is, while without W it is so for every SPD A and every k.
///
/// Cost, memory, breakdown, source: see MulticolorGs and Multicolor. \throws OptionError for omega = 0 or 2
template <class Scalar, class Space>
class MulticolorSsor : public MulticolorGs<Scalar, Space> {
 public:
  using options_type = MulticolorSsorOptions;
  explicit MulticolorSsor(const MulticolorSsorOptions& options = {});

  std::string name() const override { return MulticolorSsorOptions::name; }
  const MulticolorSsorOptions& options() const { return m_options; }

 private:
  MulticolorSsorOptions m_options;
};

}  // namespace prekond
