// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Steps on a row that one thread works on in scratch.
#include "precond/factorization/ilu/other_rows.hpp"
#include "precond/factorization/ilu/row_memory.hpp"
#include "precond/factorization/ilu/triangles.hpp"

namespace prekond::impl::ilu {

/// The steps values[target] -= values[source] * entry, in the order in which they are added. The pattern
/// gives their list before the entries of other rows are there; these are then read a batch at a time.
template <class Scalar, class Space, class Values>
class LaneSteps {
 public:
  static constexpr int batch = 4;
  static constexpr int lumped = 255;  ///< the target of products outside of the pattern

  /// `first`: no entry comes before it, and none 2^32 or more entries after it.
  KOKKOS_FUNCTION LaneSteps(const LaneMemory<Scalar>& memory, const PackedVector<Scalar>& finished,
                            const Values& others, std::size_t first)
      : m_memory(memory), m_finished(finished), m_others(others), m_first(first) {}

  KOKKOS_FORCEINLINE_FUNCTION bool is_full() const { return m_count == m_memory.steps; }
  KOKKOS_FORCEINLINE_FUNCTION void add(std::size_t entry, int target, int source) {
    m_memory.entry(m_count) = static_cast<unsigned>(entry - m_first);
    m_memory.operand(m_count) = static_cast<unsigned short>(target | source << 8);
    ++m_count;
  }
  /// Does the steps; calls lump(entry, product) for those without a place.
  template <class Lump>
  KOKKOS_FUNCTION void run(const Lump& lump) {
    for (int k = 0; k < m_count; k += batch) {
      const auto address = [&](int p) -> const Scalar* {
        return k + p < m_count ? &m_finished(m_first + m_memory.entry(k + p)) : nullptr;
      };
      Scalar values[batch];
      m_others.begin(values, address);
      m_others.finish(values, address);
#pragma unroll
      for (int p = 0; p < batch; ++p) {
        if (k + p >= m_count) break;
        const int operand = m_memory.operand(k + p), target = operand & 255;
        const Scalar product = m_memory.value(operand >> 8) * values[p];
        if (target == lumped)
          lump(m_first + m_memory.entry(k + p), product);
        else
          m_memory.value(target) -= product;
      }
    }
    m_count = 0;
  }

 private:
  const LaneMemory<Scalar>& m_memory;
  const PackedVector<Scalar>& m_finished;
  const Values& m_others;
  std::size_t m_first;
  int m_count = 0;
};

}  // namespace prekond::impl::ilu
