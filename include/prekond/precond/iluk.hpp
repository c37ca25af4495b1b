// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/precond/incomplete_factorization.hpp>

namespace prekond {

/// Parameters of ILU(k).
struct IlukOptions : IncompleteOptions {
  static constexpr const char* name = "iluk";
  static constexpr const char* summary = "ILU(k): incomplete L D U with fill up to level k";
  static constexpr const char* paper =
      "Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section 10.3.3";

  int level = 1;

  Properties properties() const { return IncompleteOptions::properties(IncompleteKind::ilu); }

  template <class Visitor>
  void describe(Visitor& visit) {
    visit("level", level, 0, 1000, "k: the most level of fill that an entry may have; 0: A's own pattern");
    IncompleteOptions::describe(visit);
  }
};

/// ILU(k): M = (I + L) D (I + U) = A on the pattern of the entries whose level of fill is at most k (see
/// fill_pattern). Cost, memory, breakdown, source: see IncompleteFactorization. \throws InputError for a
/// pattern that takes more than `memory_budget`
template <class Scalar, class Space>
class Iluk : public IncompleteFactorization<Scalar, Space> {
 public:
  using options_type = IlukOptions;
  explicit Iluk(const IlukOptions& options = {});

  std::string name() const override { return IlukOptions::name; }
  Properties properties() const override { return m_options.properties(); }
  const IlukOptions& options() const { return m_options; }

 private:
  IlukOptions m_options;
};

}  // namespace prekond
