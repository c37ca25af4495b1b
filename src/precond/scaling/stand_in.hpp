// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Entries in the place of diagonal ones that are missing, zero or not finite.
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include "matrix/find_entry.hpp"

#include "precond/setup/breakdown_counter.hpp"

#include <cstdint>

namespace prekond::impl {

/// The largest entry of the row, for one that has no usable diagonal; 1 where that is not usable either. It
/// has the sign of -sum_j a_ij a_ji / a_jj, which the elimination of the other rows makes of a zero: what
/// they add and the entry do not cancel. A saddle-point matrix then has factors like those of
/// [A, B^T; B, -C], which exist in any order where A and C are definite. A row j < i without a usable
/// diagonal counts with |a_ji| for a_jj, so that in a pair of such rows, as [0, 1; 1, 0], the two do not
/// get the same sign, with which the pair is singular.
///
/// Source: Vanderbei, SIAM J. Optim. 5 (1995), on quasidefinite matrices.
template <class Scalar, class Space>
struct StandIn {
  CsrView<Scalar, Space> a;

  KOKKOS_FUNCTION static bool is_usable(Scalar value) {
    return is_finite(value) && is_finite(Scalar(1) / value);
  }
  /// Whether row i has a usable diagonal entry, and the place of its entry or the end of the row.
  KOKKOS_FUNCTION bool has_usable(std::int64_t i, std::size_t& place) const {
    return is_usable(find_entry(a, i, i, place));
  }
  KOKKOS_FUNCTION Scalar operator()(int own) const {
    Scalar largest = 0, update = 0;
    for (std::size_t k = a.row_ptrs(own); k < a.row_ptrs(own + 1); ++k) {
      const int col = a.col_idxs(k);
      const Scalar size = Kokkos::abs(a.values(k));
      if (col >= a.num_rows || !is_finite(size)) continue;
      if (size > largest) largest = size;
      const Scalar part = update_by(own, col, a.values(k));
      if (is_finite(part)) update -= part;
    }
    if (!is_usable(largest)) return Scalar(1);
    return update < 0 ? -largest : largest;
  }

 private:
  /// a_ij a_ji / a_jj, 0 where there is none.
  KOKKOS_FUNCTION Scalar update_by(int i, int j, Scalar a_ij) const {
    std::size_t place = 0;
    const Scalar pivot = find_entry(a, j, j, place), mirror = find_entry(a, j, i, place);
    if (j != i && is_usable(pivot)) return a_ij * (mirror / pivot);
    return j < i && mirror != Scalar(0) ? (mirror < 0 ? -a_ij : a_ij) : Scalar(0);
  }
};

template <class Scalar, class Space>
struct CountUnusable {
  CsrView<Scalar, Space> a;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& count) const {
    std::size_t place = 0;
    count += StandIn<Scalar, Space>{a}.has_usable(i, place) ? 0 : 1;
  }
};

/// The length of a row with a diagonal entry.
template <class Scalar, class Space>
struct FullLength {
  CsrView<Scalar, Space> a;
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t i) const {
    std::size_t place = 0;
    find_entry(a, i, i, place);
    const std::size_t end = a.row_ptrs(i + 1);
    return end - a.row_ptrs(i) + (place == end ? 1 : 0);
  }
};

/// Copies a row, with a stand-in where there is no usable diagonal entry. Counts such rows.
template <class Scalar, class Space>
struct FillDiagonal {
  CsrView<Scalar, Space> a;
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> filled;
  VectorView<BreakdownCounter, Space> outcome;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::size_t diagonal = 0, to = filled.row_ptrs(i);
    const StandIn<Scalar, Space> stand_in{a};
    const bool is_usable = stand_in.has_usable(i, diagonal);
    const int own = static_cast<int>(i);
    const std::size_t end = a.row_ptrs(i + 1);
    bool is_missing = diagonal == end;
    for (std::size_t k = a.row_ptrs(i); k < end; ++k) {
      if (is_missing && a.col_idxs(k) > own) {
        to = put(to, own, stand_in(own));
        is_missing = false;
      }
      const bool replaced = k == diagonal && !is_usable;
      to = put(to, a.col_idxs(k), replaced ? stand_in(own) : a.values(k));
    }
    if (is_missing) put(to, own, stand_in(own));
    if (!is_usable) BreakdownCounter::count(outcome(0), own, false, 0.0f);
  }
  KOKKOS_FUNCTION std::size_t put(std::size_t to, int col, Scalar value) const {
    filled.col_idxs(to) = col;
    filled.values(to) = value;
    return to + 1;
  }
};

/// A with stand-ins on its diagonal, counted in `found`; 0 x 0 where no row needs one. Fences.
template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> fill_diagonal(
    const Space& space, const CsrView<Scalar, Space>& a, const VectorView<const unsigned char, Space>& wanted,
    BreakdownCounter& found) {
  using Matrix = CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>;
  const Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>> rows(space, 0, a.num_rows);
  std::int64_t count = 0;
  Kokkos::parallel_reduce("prekond::fill_diagonal::count", rows, CountUnusable<Scalar, Space>{a}, count);
  if (count == 0) return {};
  const auto [row_ptrs, nnz] =
      scan_row_lengths(space, "prekond::fill_diagonal", a.num_rows, FullLength<Scalar, Space>{a});
  const Matrix filled(a.num_rows, a.num_cols, row_ptrs,
                      allocate<Vector<int, Space>>(space, "prekond::fill_diagonal::col_idxs", nnz),
                      allocate<Vector<Scalar, Space>>(space, "prekond::fill_diagonal::values", nnz));
  const auto outcome = make_breakdown_counter<Space>(space, "prekond::fill_diagonal::rows", wanted);
  Kokkos::parallel_for("prekond::fill_diagonal::fill", rows, FillDiagonal<Scalar, Space>{a, filled, outcome});
  found = fetch(space, outcome);
  return filled;
}

}  // namespace prekond::impl
