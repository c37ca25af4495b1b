// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/impl/fixed_point_factorization.hpp>

namespace prekond {

/// Parameters of ParILU.
struct ParIluOptions : FixedPointOptions {
  static constexpr const char* name = "par_ilu";
  static constexpr const char* summary =
      "ParILU: incomplete L D U on the pattern of ILU(k), by sweeps over all entries at once";
  static constexpr const char* paper = "Chow, Patel, SIAM J. Sci. Comput. 37 (2015)";

  Properties properties() const { return FixedPointOptions::properties(IncompleteKind::ilu); }

  template <class Visitor>
  void describe(Visitor& visit) {
    FixedPointOptions::describe(visit);
  }
};

/// ParILU: M = (I + L) D (I + U), nearly A on the pattern of ILU(k), by a few sweeps over all entries at the
/// same time. Formulas, cost, memory, breakdown: see FixedPointFactorization. It has the parallelism of the
/// entries where Ilu0 has that of its levels. \throws InputError for a pattern that takes more than
/// `memory_budget`
///
/// Source: Chow, Patel, SIAM J. Sci. Comput. 37 (2015).
template <class Scalar, class Space>
class ParIlu : public FixedPointFactorization<Scalar, Space> {
 public:
  using options_type = ParIluOptions;
  explicit ParIlu(const ParIluOptions& options = {});

  std::string name() const override { return ParIluOptions::name; }
  Properties properties() const override { return m_options.properties(); }
  const ParIluOptions& options() const { return m_options; }

 private:
  ParIluOptions m_options;
};

}  // namespace prekond
