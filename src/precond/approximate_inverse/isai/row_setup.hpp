// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The parts that the setups of the ISAI share: the place of a row's result, its launch, its breakdown.
#include "precond/approximate_inverse/fsai/setup.hpp"
#include "precond/approximate_inverse/row_lu/lu_rows.hpp"
#include "precond/setup/breakdown_counter.hpp"

#include <string>

namespace prekond::impl::isai {

using fsai::RowResult;
using fsai::Unit;

/// The place of the rows' results.
template <class Scalar, class Space>
struct InverseRows {
  CsrGraphView<Space> pattern;
  VectorView<Scalar, Space> values;
  VectorView<BreakdownCounter, Space> outcome;

  KOKKOS_FORCEINLINE_FUNCTION std::size_t begin(int i) const { return pattern.row_ptrs(i); }
  KOKKOS_FORCEINLINE_FUNCTION int length(int i) const {
    return static_cast<int>(pattern.row_ptrs(i + 1) - pattern.row_ptrs(i));
  }
  KOKKOS_FORCEINLINE_FUNCTION const int* cols(int i) const { return pattern.col_idxs.data() + begin(i); }

  /// Writes row i as it was solved or, where its result is `last`, only the diagonal, at the place `own`.
  template <class LaneGroup, class SolvedRow>
  KOKKOS_FUNCTION void write(const LaneGroup& lane_group, int i, int own, const SolvedRow& row,
                             const RowResult& result, double diagonal) const {
    const Scalar alone = static_cast<Scalar>(diagonal);
    const std::size_t first = begin(i);
    const int n = length(i);
    lane_group.region([&](int lane) {
      for (int k = lane; k < n; k += lane_group.size()) {
        if (!result.last)
          values(first + k) = static_cast<Scalar>(row.value(k));
        else
          values(first + k) = k != own ? Scalar(0) : (Kokkos::isfinite(alone) ? alone : Scalar(1));
      }
    });
    if (result.dropped)
      lane_group.once([&] { BreakdownCounter::count(outcome(0), i, result.last, result.pivot); });
  }
};

/// The setup of M's rows, which are solved bin by bin.
template <class Scalar, class Space, class Matrix = CsrView<Scalar, Space>>
class RowSetup {
 public:
  /// `name` is the preconditioner's. `wanted`: see MatrixSource.
  RowSetup(const Space& space, const Matrix& a, const VectorView<const unsigned char, Space>& wanted,
           const WorkspaceLimits& limits, const std::string& name)
      : m_space(space),
        m_a(a),
        m_outcome(make_breakdown_counter(space, "prekond::isai::numeric::outcome", wanted)),
        m_next(allocate<Vector<int, Space>>(space, "prekond::isai::numeric::next", 1)),
        m_limits(limits),
        m_name(name) {}

  BreakdownCounter outcome() const { return fetch(m_space, m_outcome); }

 protected:
  /// `bytes(length)` is the size of a row's workspace. \throws InputError where it is more than
  /// `memory_budget`
  template <class Bytes>
  LongestRow check_longest(const CsrGraphView<Space>& pattern, const Bytes& bytes) {
    const LongestRow longest = longest_row<Space>(m_space, pattern.row_ptrs);
    check_slab(m_name, longest, bytes(static_cast<int>(longest.length)), m_limits.system);
    return longest;
  }

  /// See lu::solve_bins.
  template <class Real, class Systems>
  void solve_bins(const Systems& systems, VectorView<const std::size_t, Space> row_ptrs,
                  VectorView<const unsigned char, Space> chosen, Real floor, Pivoting pivoting) {
    lu::solve_bins<Real, Space>(m_space, systems, row_ptrs, chosen, floor, pivoting, m_next, m_limits.slab,
                                "prekond::isai::numeric::solve_rows");
  }

  template <class Kernel>
  void launch(const Kernel& kernel, VectorView<const int, Space> rows, int longest, std::size_t bytes) {
    fsai::launch_rows(m_space, kernel, static_cast<std::int64_t>(rows.extent(0)), longest, bytes,
                      m_limits.slab, "prekond::isai::numeric::solve_rows");
  }

  Space m_space;
  Matrix m_a;
  Vector<BreakdownCounter, Space> m_outcome;
  Vector<int, Space> m_next;

 private:
  WorkspaceLimits m_limits;
  std::string m_name;
};

}  // namespace prekond::impl::isai
