// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/impl/threshold_factorization.hpp>

namespace prekond {

/// Parameters of ICT(p, tau).
struct IctOptions : ThresholdOptions {
  static constexpr const char* name = "ict";
  static constexpr const char* summary =
      "ICT(p, tau): incomplete L D L^T of a symmetric positive definite matrix, with entries found by their "
      "sizes";
  static constexpr const char* paper =
      "Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section 10.4";

  Properties properties() const { return FactorOptions::properties(IncompleteKind::ic); }

  template <class Visitor>
  void describe(Visitor& visit) {
    ThresholdOptions::describe(visit);
  }
};

/// ICT(p, tau): M = (I + L) D (I + L)^T, of which a column of L keeps the p entries that are largest and
/// above tau times the norm of A's row; symmetric positive definite. Formula, cost, memory, breakdown: see
/// ThresholdFactorization.
///
/// \throws InputError for a diagonal entry that is missing or not positive, and a pattern that is not
/// symmetric
///
/// Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section 10.4.
template <class Scalar, class Space>
class Ict : public ThresholdFactorization<Scalar, Space> {
 public:
  using options_type = IctOptions;
  explicit Ict(const IctOptions& options = {});

  std::string name() const override { return IctOptions::name; }
  Properties properties() const override { return m_options.properties(); }
  const IctOptions& options() const { return m_options; }

 private:
  IctOptions m_options;
};

}  // namespace prekond
