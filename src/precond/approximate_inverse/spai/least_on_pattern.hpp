// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The static SPAI's setup as its own phases and the dynamic one's call it. It is compiled in a unit of its
/// own.
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/precond/spai.hpp>

#include "precond/setup/breakdown_counter.hpp"

#include <functional>
#include <string>

namespace prekond::impl::spai {

/// Who is told what a setup costs, where it is long.
using CostListener = std::function<void(const std::string&)>;

/// `found`: what columns of rank-deficient systems got.
inline Breakdowns breakdowns_of(const BreakdownCounter& outcome, const std::string& found) {
  Breakdowns breakdowns = prekond::impl::breakdowns_of(outcome, "");
  if (breakdowns.count > 0)
    breakdowns.action = std::to_string(outcome.pivots) + " columns " + found + ", " +
                        std::to_string(outcome.diagonals) + " fell back to the diagonal";
  return breakdowns;
}

/// M on a pattern, and what the report says of it. `listener` is told before, where it takes long.
/// Breakdowns of columns that are not wanted (see MatrixSource) are not counted.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> least_on_pattern(
    const Space& space, const CsrView<Scalar, Space>& a, const CsrGraph<Space>& pattern,
    const VectorView<const unsigned char, Space>& wanted, const SpaiOptions& options, const std::string& name,
    const CostListener& listener, Report& report);

}  // namespace prekond::impl::spai
