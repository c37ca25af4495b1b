// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// What the ISAI's setups have in common: where rows go, how they are launched, what broke down.
#include "precond/approximate_inverse/fsai/setup.hpp"
#include "precond/setup/breakdown_counter.hpp"

#include <string>

namespace prekond::impl::isai {

using fsai::RowResult;
using fsai::Unit;

/// Where the rows go.
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

  /// Row i as it was solved or, where its result is `last`, the diagonal alone, at the place `own`.
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

/// What is kept while M's rows are solved bin by bin.
template <class Scalar, class Space, class Matrix = CsrView<Scalar, Space>>
class RowSetup {
 public:
  BreakdownCounter outcome() const { return fetch(m_space, m_outcome); }

 protected:
  /// `name` is the preconditioner's. `wanted`: see MatrixSource.
  RowSetup(const Space& space, const Matrix& a, const VectorView<const unsigned char, Space>& wanted,
           std::int64_t slab_bytes, const std::string& name, MemoryMeter& meter)
      : m_space(space),
        m_a(a),
        m_meter(meter),
        m_outcome(make_breakdown_counter(space, "prekond::isai::numeric::outcome", wanted)),
        m_next(allocate<Vector<int, Space>>(space, "prekond::isai::numeric::next", 1)),
        m_slab_bytes(slab_bytes),
        m_name(name),
        m_held(meter.hold(m_outcome, m_next)) {}

  /// `bytes(length)` are those of a row's workspace. \throws InputError where they are more than `slab_bytes`
  template <class Bytes>
  LongestRow check_longest(const CsrGraphView<Space>& pattern, const Bytes& bytes) {
    const LongestRow longest = longest_row<Space>(m_space, pattern.row_ptrs);
    check_slab(m_name, longest, bytes(static_cast<int>(longest.length)), m_slab_bytes);
    return longest;
  }

  template <class Kernel>
  void launch(const Kernel& kernel, VectorView<const int, Space> rows, int longest, std::size_t bytes) {
    fsai::launch_rows(m_space, kernel, static_cast<std::int64_t>(rows.extent(0)), longest, bytes,
                      m_slab_bytes, "prekond::isai::numeric::solve_rows", m_meter);
  }

  Space m_space;
  Matrix m_a;
  MemoryMeter& m_meter;
  Vector<BreakdownCounter, Space> m_outcome;
  Vector<int, Space> m_next;

 private:
  std::int64_t m_slab_bytes;
  std::string m_name;
  MemoryMeter::Holding m_held;
};

}  // namespace prekond::impl::isai
