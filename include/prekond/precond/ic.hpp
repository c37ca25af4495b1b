// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/impl/incomplete_factorization.hpp>

namespace prekond {

/// Parameters of IC(k) and MIC(k). The registry also knows it as `ick`, with level 1, and as `mic0`, with
/// modified = true.
struct IcOptions : PatternOptions {
  static constexpr const char* name = "ic0";
  static constexpr const char* summary =
      "IC(k), by default IC(0): incomplete L D L^T of a symmetric positive definite matrix";
  static constexpr const char* paper =
      "Meijerink, van der Vorst, Math. Comp. 31 (1977); modified: Gustafsson, BIT 18 (1978)";

  bool modified = false;

  IncompleteKind kind() const { return modified ? IncompleteKind::mic : IncompleteKind::ic; }
  Properties properties() const { return PatternOptions::properties(kind()); }

  template <class Visitor>
  void describe(Visitor& visit) {
    describe_level(visit, "0, of ick 1");
    visit("modified", modified,
          "addition of dropped entries to the diagonal, so that row sums are kept; choose it for M-matrices "
          "of elliptic problems on meshes; default false, of mic0 true");
    describe_rest(visit);
  }
};

/// IC(k) of a symmetric positive definite matrix, in the order of its rows; symmetric positive definite.
///
/// Formula: M = (I + L) D (I + L)^T with M_ij = a_ij on the pattern of the entries whose level of fill is at
/// most k (see fill_pattern), from A's lower triangle. With `modified`, the MIC factorisation: what falls off
/// the pattern in a row is added to its diagonal, so that M e = A e for e = (1, ..., 1)^T.
/// Convergence: for M-matrices of elliptic problems on meshes of width h the condition of M^-1 A is O(1 /
/// h^2), with `modified` O(1 / h). Cost, memory: see IncompleteFactorization. Breakdown: see
/// IncompleteFactorization; without dominance pivots break down more often with `modified`. \throws
/// InputError for a diagonal entry that is missing or not positive, a pattern that is not symmetric, or one
/// that takes more than `memory_budget` Source: Meijerink, van der Vorst, Math. Comp. 31 (1977); Gustafsson,
/// BIT 18 (1978); Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., sections 10.3.3 and 10.3.5.
template <class Scalar, class Space>
class Ic : public IncompleteFactorization<Scalar, Space> {
 public:
  using options_type = IcOptions;
  explicit Ic(const IcOptions& options = {});

  std::string name() const override {
    return m_options.modified ? "mic0" : m_options.level == 0 ? "ic0" : "ick";
  }
  Properties properties() const override { return m_options.properties(); }
  const IcOptions& options() const { return m_options; }

 private:
  IcOptions m_options;
};

}  // namespace prekond
