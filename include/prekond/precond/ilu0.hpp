// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/incomplete_factorization.hpp>

namespace prekond {

/// Parameters of ILU(0).
struct Ilu0Options : IncompleteOptions {
  static constexpr const char* name = "ilu0";
  static constexpr const char* summary = "ILU(0): incomplete L D U on A's own pattern";
  static constexpr const char* paper =
      "Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section 10.3";

  Properties properties() const { return IncompleteOptions::properties(IncompleteKind::ilu); }

  template <class Visitor>
  void describe(Visitor& visit) {
    IncompleteOptions::describe(visit);
  }
};

/// ILU(0): M = (I + L) D (I + U) = A on A's own pattern, in A's own order. Cost, memory, breakdown, source:
/// see IncompleteFactorization. Fewer iterations than MulticolorIlu0's, whose order drops more fill, and less
/// parallel.
template <class Scalar, class Space>
class Ilu0 : public IncompleteFactorization<Scalar, Space> {
 public:
  using options_type = Ilu0Options;
  explicit Ilu0(const Ilu0Options& options = {});

  std::string name() const override { return Ilu0Options::name; }
  Properties properties() const override { return m_options.properties(); }
  const Ilu0Options& options() const { return m_options; }

 private:
  Ilu0Options m_options;
};

}  // namespace prekond
