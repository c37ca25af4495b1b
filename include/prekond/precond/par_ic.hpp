// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/impl/fixed_point_factorization.hpp>

namespace prekond {

/// Parameters of ParIC.
struct ParIcOptions : FixedPointOptions {
  static constexpr const char* name = "par_ic";
  static constexpr const char* summary =
      "ParIC: incomplete L D L^T of a symmetric positive definite matrix, by sweeps over all entries at once";
  static constexpr const char* paper = "Chow, Patel, SIAM J. Sci. Comput. 37 (2015)";

  Properties properties() const { return FixedPointOptions::properties(IncompleteKind::ic); }

  template <class Visitor>
  void describe(Visitor& visit) {
    FixedPointOptions::describe(visit);
  }
};

/// ParIC: M = (I + L) D (I + L)^T, nearly A on the pattern of IC(k), from its lower triangle alone, by a few
/// sweeps over all entries at the same time; symmetric positive definite however few the sweeps are.
/// Formulas, cost, memory, breakdown: see FixedPointFactorization.
///
/// \throws InputError for a diagonal entry that is missing or not positive, a pattern that is not symmetric,
/// and one that takes more than `memory_budget`
///
/// Source: Chow, Patel, SIAM J. Sci. Comput. 37 (2015), section 2.4.
template <class Scalar, class Space>
class ParIc : public FixedPointFactorization<Scalar, Space> {
 public:
  using options_type = ParIcOptions;
  explicit ParIc(const ParIcOptions& options = {});

  std::string name() const override { return ParIcOptions::name; }
  Properties properties() const override { return m_options.properties(); }
  const ParIcOptions& options() const { return m_options; }

 private:
  ParIcOptions m_options;
};

}  // namespace prekond
