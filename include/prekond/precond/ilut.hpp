// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/impl/threshold_factorization.hpp>

namespace prekond {

/// Parameters of ILUT(p, tau).
struct IlutOptions : ThresholdOptions {
  static constexpr const char* name = "ilut";
  static constexpr const char* summary =
      "ILUT(p, tau): incomplete L D U on a pattern found by the sizes of its entries";
  static constexpr const char* paper = "Saad, Numer. Linear Algebra Appl. 1 (1994)";

  Properties properties() const { return FactorOptions::properties(IncompleteKind::ilu); }

  template <class Visitor>
  void describe(Visitor& visit) {
    ThresholdOptions::describe(visit);
  }
};

/// ILUT(p, tau): M = (I + L) D (I + U), of which a row of L and one of U keep the p entries that are largest
/// and above tau times the norm of A's row. Formula, cost, memory, breakdown: see ThresholdFactorization.
///
/// Source: Saad, Numer. Linear Algebra Appl. 1 (1994); Saad, Iterative Methods for Sparse Linear Systems, 2nd
/// ed., section 10.4.
template <class Scalar, class Space>
class Ilut : public ThresholdFactorization<Scalar, Space> {
 public:
  using options_type = IlutOptions;
  explicit Ilut(const IlutOptions& options = {});

  std::string name() const override { return IlutOptions::name; }
  Properties properties() const override { return m_options.properties(); }
  const IlutOptions& options() const { return m_options; }

 private:
  IlutOptions m_options;
};

}  // namespace prekond
