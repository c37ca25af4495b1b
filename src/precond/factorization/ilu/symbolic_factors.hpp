// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <memory>

#include "precond/factorization/ilu/factor_solves.hpp"
#include "precond/factorization/ilu/numeric.hpp"
#include "precond/factorization/ilu/sweep_pattern.hpp"

namespace prekond::impl::ilu {

/// The data that a factorisation derives from the pattern.
template <class Scalar, class Space>
struct SymbolicFactors {
  FillPattern<Space> pattern;
  CsrGraph<Space> mirrored;     ///< that of A + A^T, which it is of; without rows: A's own
  RowSchedule<Space> schedule;  ///< for a factorisation by rows
  std::shared_ptr<const par_ilu::SweepPattern<Space>> sweeps;  ///< for one by sweeps
  FactorSolves<Scalar, Space> solves;                          ///< without values
};

}  // namespace prekond::impl::ilu
