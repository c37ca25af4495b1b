// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows that broke down in a setup.
#include <prekond/core/report.hpp>
#include <prekond/core/views.hpp>

#include <cstdint>
#include <string>
#include <type_traits>

namespace prekond::impl {

/// Rows that broke down, counted on the device.
struct BreakdownCounter {
  long long pivots;     ///< rows with fewer entries than they were to have, because of a pivot
  long long diagonals;  ///< rows that fell back to the diagonal
  unsigned long long
      first;  ///< all ones minus the first such row and its pivot's bits, packed; 0 without one
  const unsigned char* wanted;  ///< 1 for each row that is counted; null: all are

  KOKKOS_FUNCTION static bool counts(const BreakdownCounter& outcome, int i) {
    return outcome.wanted == nullptr || outcome.wanted[i] != 0;
  }
  /// Counts row i. `pivot` is relative to the diagonal entry.
  KOKKOS_FUNCTION static void count(BreakdownCounter& outcome, int i, bool diagonal, float pivot) {
    if (!counts(outcome, i)) return;
    Kokkos::atomic_inc(diagonal ? &outcome.diagonals : &outcome.pivots);
    note_first(outcome, i, pivot);
  }
  /// Row i may be the first, and is counted when it is known how it ends.
  KOKKOS_FUNCTION static void note_first(BreakdownCounter& outcome, int i, float pivot) {
    if (!counts(outcome, i)) return;
    const unsigned long long packed =
        static_cast<unsigned long long>(i) << 32 | Kokkos::bit_cast<unsigned>(pivot);
    Kokkos::atomic_max(&outcome.first, ~packed);
  }
};

/// A counter at zero that counts only the wanted rows (see MatrixSource), which have to outlive
/// it; all where there are none.
template <class Space>
Vector<BreakdownCounter, Space> make_breakdown_counter(
    const Space& space, const std::string& label,
    const std::type_identity_t<VectorView<const unsigned char, Space>>& wanted = {});

/// The counts. Fences.
template <class Space>
BreakdownCounter fetch(const Space& space, const Vector<BreakdownCounter, Space>& outcome);

/// `kept` names the entries that rows with a bad pivot kept.
inline Breakdowns breakdowns_of(const BreakdownCounter& outcome, const std::string& kept) {
  Breakdowns breakdowns;
  breakdowns.count = outcome.pivots + outcome.diagonals;
  if (breakdowns.count == 0) return breakdowns;
  const unsigned long long first = ~outcome.first;
  breakdowns.first_row = static_cast<std::int64_t>(first >> 32);
  breakdowns.first_pivot = Kokkos::bit_cast<float>(static_cast<unsigned>(first));
  breakdowns.action = std::to_string(outcome.pivots) + " rows kept " + kept + ", " +
                      std::to_string(outcome.diagonals) + " fell back to the diagonal";
  return breakdowns;
}

/// Adds what another step counted. A row may be counted by both.
inline void add_breakdowns(const Breakdowns& own, Breakdowns& sum) {
  if (own.count == 0) return;
  if (sum.count == 0) {
    sum = own;
    return;
  }
  if (own.first_row < sum.first_row) {
    sum.first_row = own.first_row;
    sum.first_pivot = own.first_pivot;
  }
  sum.count += own.count;
  sum.action += "; " + own.action;
}

}  // namespace prekond::impl
