// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The steps of ParILUT: factors whose patterns grow, and are cut.
#include <prekond/precond/par_ilut.hpp>

#include "precond/factorization/ilu/row_breakdowns.hpp"
#include "precond/factorization/par_ilu/candidates.hpp"
#include "precond/factorization/par_ilu/sweeps.hpp"

#include <functional>
#include <string>

namespace prekond::impl::par_ilu {

/// L, U and D^-1 of U's diagonal D, all by rows, on a pattern.
template <class Scalar, class Space>
struct ThresholdFactors {
  FillPattern<Space> pattern;
  Vector<Scalar, Space> lower, upper, pivots;
};

/// The result of a try: M's factors on their pattern.
template <class Scalar, class Space>
struct ThresholdTry {
  FillPattern<Space> pattern;
  Factors<Scalar, Space> factors;
};

/// Who is told that the steps will be long; an empty text says nothing.
using Listener = std::function<void(const std::string&)>;

/// All steps for one shift, see ParIlut. `known`: A's own pattern. `report` gets the breakdowns of the
/// scaling. Fences.
template <class Scalar, class Space>
ThresholdTry<Scalar, Space> threshold_factors(const Space& space, const CsrView<Scalar, Space>& a,
                                              const FillPattern<Space>& known, const ParIlutOptions& options,
                                              double alpha, Report& report, ilu::Outcome& outcome,
                                              const Listener& tell);

}  // namespace prekond::impl::par_ilu
