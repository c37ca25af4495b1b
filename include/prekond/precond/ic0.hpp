// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/incomplete_factorization.hpp>

namespace prekond {

/// Parameters of IC(0).
struct Ic0Options : IncompleteOptions {
  static constexpr const char* name = "ic0";
  static constexpr const char* summary =
      "IC(0): incomplete L D L^T of a symmetric positive definite matrix on its own pattern";
  static constexpr const char* paper = "Meijerink, van der Vorst, Math. Comp. 31 (1977)";

  Properties properties() const { return IncompleteOptions::properties(IncompleteKind::ic); }

  template <class Visitor>
  void describe(Visitor& visit) {
    IncompleteOptions::describe(visit);
  }
};

/// IC(0): M = (I + L) D (I + L)^T = A on A's own pattern, from its lower triangle alone; symmetric positive
/// definite. Cost, memory, breakdown: see IncompleteFactorization.
///
/// \throws InputError for a diagonal entry that is missing or not positive, and a pattern that is not
/// symmetric
///
/// Source: Meijerink, van der Vorst, Math. Comp. 31 (1977).
template <class Scalar, class Space>
class Ic0 : public IncompleteFactorization<Scalar, Space> {
 public:
  using options_type = Ic0Options;
  explicit Ic0(const Ic0Options& options = {});

  std::string name() const override { return Ic0Options::name; }
  Properties properties() const override { return m_options.properties(); }
  const Ic0Options& options() const { return m_options; }

 private:
  Ic0Options m_options;
};

}  // namespace prekond
