// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/impl/incomplete_factorization.hpp>

namespace prekond {

/// Parameters of ILU(k). The registry also knows it as `iluk`, with level 1.
struct IluOptions : PatternOptions {
  static constexpr const char* name = "ilu0";
  static constexpr const char* summary = "ILU(k), by default ILU(0): incomplete L D U on a pattern by levels";
  static constexpr const char* paper =
      "Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., sections 10.3 and 10.3.3";

  Properties properties() const { return PatternOptions::properties(IncompleteKind::ilu); }

  template <class Visitor>
  void describe(Visitor& visit) {
    describe_level(visit, "0, of iluk 1");
    describe_rest(visit);
  }
};

/// ILU(k) of a general matrix, in the order of its rows.
///
/// Formula: M = (I + L) D (I + U) with M_ij = a_ij on the pattern of the entries whose level of fill is at
/// most k (see fill_pattern), for k = 0 A's own pattern.
/// Cost, memory, breakdown: see IncompleteFactorization. It takes fewer iterations than MulticolorIlu0, whose
/// order of the rows drops more fill, and has less parallelism.
/// \throws InputError for a pattern that takes more than `memory_budget`
/// Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., sections 10.3.2 and 10.3.3.
template <class Scalar, class Space>
class Ilu : public IncompleteFactorization<Scalar, Space> {
 public:
  using options_type = IluOptions;
  explicit Ilu(const IluOptions& options = {});

  std::string name() const override { return m_options.level == 0 ? "ilu0" : "iluk"; }
  Properties properties() const override { return m_options.properties(); }
  const IluOptions& options() const { return m_options; }

 private:
  IluOptions m_options;
};

}  // namespace prekond
