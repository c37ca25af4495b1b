// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The pattern of the factors as sweeps over their entries need it.
#include <prekond/pattern/fill.hpp>

#include <cstdint>

namespace prekond::impl::par_ilu {

/// U by its columns. Where the pattern is symmetric these are the rows of L, which are shared.
template <class Space>
struct SweepPattern {
  CsrGraph<Space> columns;    ///< row j: the rows i < j of U's entries (i, j), ascending
  Vector<int, Space> places;  ///< places of U's entries, which are in the order of rows, in their columns
  bool shared = false;        ///< `columns` are L's rows

  std::int64_t bytes() const {
    return (shared ? 0 : columns.bytes()) + static_cast<std::int64_t>(places.span() * sizeof(int));
  }
};

/// Fences.
template <class Space>
SweepPattern<Space> make_sweep_pattern(const Space& space, const FillPattern<Space>& pattern);

}  // namespace prekond::impl::par_ilu
