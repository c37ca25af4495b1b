// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/incomplete_factorization.hpp>

namespace prekond {

/// Parameters of MIC(0).
struct Mic0Options : IncompleteOptions {
  static constexpr const char* name = "mic0";
  static constexpr const char* summary =
      "MIC(0): IC(0) with what is dropped added to the diagonal, so that row sums are kept";
  static constexpr const char* paper = "Gustafsson, BIT 18 (1978)";

  Properties properties() const { return IncompleteOptions::properties(IncompleteKind::mic); }

  template <class Visitor>
  void describe(Visitor& visit) {
    IncompleteOptions::describe(visit);
  }
};

/// MIC(0): M = (I + L) D (I + L)^T on A's own pattern with M e = A e, e = (1, ..., 1)^T: what falls off the
/// pattern in a row is added to its diagonal. For M-matrices of elliptic problems on meshes of width h the
/// condition of M^-1 A is O(1 / h), of IC(0) O(1 / h^2). Without dominance pivots break down more often than
/// IC(0)'s. Cost, memory, breakdown: see IncompleteFactorization.
///
/// \throws InputError for a diagonal entry that is missing or not positive, and a pattern that is not
/// symmetric
///
/// Source: Gustafsson, BIT 18 (1978); Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section
/// 10.3.5.
template <class Scalar, class Space>
class Mic0 : public IncompleteFactorization<Scalar, Space> {
 public:
  using options_type = Mic0Options;
  explicit Mic0(const Mic0Options& options = {});

  std::string name() const override { return Mic0Options::name; }
  Properties properties() const override { return m_options.properties(); }
  const Mic0Options& options() const { return m_options; }

 private:
  Mic0Options m_options;
};

}  // namespace prekond
