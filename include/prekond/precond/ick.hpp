// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/incomplete_factorization.hpp>

namespace prekond {

/// Parameters of IC(k).
struct IckOptions : IncompleteOptions {
  static constexpr const char* name = "ick";
  static constexpr const char* summary = "IC(k): incomplete L D L^T with fill up to level k";
  static constexpr const char* paper =
      "Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section 10.3.3";

  int level = 1;

  Properties properties() const { return IncompleteOptions::properties(IncompleteKind::ic); }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("level", level, 0, 1000, "k: the most level of fill that an entry may have; 0: A's own pattern");
    IncompleteOptions::describe(visit);
  }
};

/// IC(k): M = (I + L) D (I + L)^T = A on the pattern of the entries whose level of fill is at most k (see
/// fill_pattern); symmetric positive definite. Cost, memory, breakdown: see IncompleteFactorization.
///
/// \throws InputError for a diagonal entry that is missing or not positive, a pattern that is not symmetric,
/// or one that takes more than `memory_budget`
template <class Scalar, class Space>
class Ick : public IncompleteFactorization<Scalar, Space> {
 public:
  using options_type = IckOptions;
  explicit Ick(const IckOptions& options = {});

  std::string name() const override { return IckOptions::name; }
  Properties properties() const override { return m_options.properties(); }
  const IckOptions& options() const { return m_options; }

 private:
  IckOptions m_options;
};

}  // namespace prekond
