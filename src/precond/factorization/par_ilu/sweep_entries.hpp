// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The equations that sweeps solve for the entries of the factors, one each.
#include <prekond/core/scalar.hpp>
#include <prekond/core/views.hpp>
#include <prekond/matrix/csr_graph.hpp>

#include "core/pivot_policy.hpp"
#include "precond/factorization/par_ilu/sparse_dot.hpp"

namespace prekond::impl::par_ilu {

/// The entries of the factors in work.
template <class Scalar, class Space>
struct SweepValues {
  VectorView<Scalar, Space> lower;    ///< by rows
  VectorView<Scalar, Space> columns;  ///< those of U, by columns
  VectorView<Scalar, Space> pivots;   ///< inverses of the diagonal's
};

/// A on the pattern of the factors.
template <class Scalar, class Space>
struct SweepMatrix {
  CsrGraphView<Space> lower, upper;
  CsrGraphView<Space> columns;              ///< see SweepPattern
  VectorView<const int, Space> places;      ///< likewise
  VectorView<const Scalar, Space> a_lower;  ///< by rows
  VectorView<const Scalar, Space> a_upper;
  Scalar diagonal = 1;  ///< of every row
};

/// Rows of L, which both kinds share.
template <class Scalar, class Space>
struct SweepRowsOfL {
  using List = SparseList<Scalar>;
  SweepMatrix<Scalar, Space> a;

  KOKKOS_FORCEINLINE_FUNCTION int length(std::int64_t i) const {
    return static_cast<int>(a.lower.row_ptrs(i + 1) - a.lower.row_ptrs(i));
  }
  KOKKOS_FORCEINLINE_FUNCTION List row(std::int64_t i, int count,
                                       const SweepValues<Scalar, Space>& of) const {
    const std::size_t first = a.lower.row_ptrs(i);
    return {a.lower.col_idxs.data() + first, of.lower.data() + first, count};
  }
};

/// A = L U with L's diagonal of 1: l_ij = (a_ij - sum_{k < j} l_ik u_kj) / u_jj, u_ij = a_ij - sum_{k < i}
/// l_ik u_kj.
template <class Scalar, class Space>
struct IluEntries : SweepRowsOfL<Scalar, Space> {
  using Base = SweepRowsOfL<Scalar, Space>;
  using Values = SweepValues<Scalar, Space>;
  using List = typename Base::List;
  using Base::a;
  static constexpr bool has_upper = true;

  KOKKOS_FORCEINLINE_FUNCTION List column(int j, int count, const Values& of) const {
    const std::size_t first = a.columns.row_ptrs(j);
    return {a.columns.col_idxs.data() + first, of.columns.data() + first, count};
  }
  KOKKOS_FORCEINLINE_FUNCTION int column_length(std::int64_t j) const {
    return static_cast<int>(a.columns.row_ptrs(j + 1) - a.columns.row_ptrs(j));
  }

  /// The k-th entry of row i of L.
  KOKKOS_FUNCTION Scalar lower(std::int64_t i, int k, const Values& of) const {
    const std::size_t place = a.lower.row_ptrs(i) + k;
    const int j = a.lower.col_idxs(place);
    const Scalar sum = sparse_dot(this->row(i, k, of), column(j, column_length(j), of));
    return (a.a_lower(place) - sum) * of.pivots(j);
  }
  /// The entry of U at a place of its rows, from row i of L in `own`.
  KOKKOS_FUNCTION Scalar upper(std::int64_t i, std::size_t place, const Values& own, const Values& of) const {
    const int j = a.upper.col_idxs(place);
    return a.a_upper(place) - sparse_dot(this->row(i, this->length(i), own), column(j, a.places(place), of));
  }
  KOKKOS_FORCEINLINE_FUNCTION std::size_t place_in_columns(std::size_t place) const {
    return a.columns.row_ptrs(a.upper.col_idxs(place)) + a.places(place);
  }
  /// The part of the k-th entry of row i of L that is subtracted from the diagonal.
  KOKKOS_FUNCTION Scalar diagonal_step(std::int64_t i, int k, const Values& own, const Values& of) const {
    const std::size_t place = a.lower.row_ptrs(i) + k;
    const int col = a.lower.col_idxs(place);
    const std::size_t first = a.columns.row_ptrs(i), end = a.columns.row_ptrs(i + 1);
    std::size_t found = first + k;  // its place in a symmetric pattern
    if (found >= end || a.columns.col_idxs(found) != col) found = a.columns.first_from(i, col);
    if (found >= end || a.columns.col_idxs(found) != col) return 0;
    return own.lower(place) * of.columns(found);
  }
  KOKKOS_FORCEINLINE_FUNCTION static bool is_sound(Scalar pivot) {
    return PivotPolicy<Scalar>::with_shifts(false).accepts(pivot);
  }
  KOKKOS_FORCEINLINE_FUNCTION static Scalar inverse(Scalar pivot) { return Scalar(1) / pivot; }
  KOKKOS_FORCEINLINE_FUNCTION static Scalar pivot(Scalar inverse) { return Scalar(1) / inverse; }
};

/// A = C C^T: c_ij = (a_ij - sum_{k < j} c_ik c_jk) / c_jj, c_ii^2 = a_ii - sum_{k < i} c_ik^2. `pivots` are
/// 1 / c_ii, and what is called a pivot c_ii^2.
template <class Scalar, class Space>
struct IcEntries : SweepRowsOfL<Scalar, Space> {
  using Base = SweepRowsOfL<Scalar, Space>;
  using Values = SweepValues<Scalar, Space>;
  using Base::a;
  static constexpr bool has_upper = false;

  KOKKOS_FUNCTION Scalar lower(std::int64_t i, int k, const Values& of) const {
    const std::size_t place = a.lower.row_ptrs(i) + k;
    const int j = a.lower.col_idxs(place);
    const Scalar sum = sparse_dot(this->row(i, k, of), this->row(j, this->length(j), of));
    return (a.a_lower(place) - sum) * of.pivots(j);
  }
  KOKKOS_FUNCTION Scalar diagonal_step(std::int64_t i, int k, const Values& own, const Values&) const {
    const Scalar c = own.lower(a.lower.row_ptrs(i) + k);
    return c * c;
  }
  KOKKOS_FORCEINLINE_FUNCTION static bool is_sound(Scalar pivot) {
    return PivotPolicy<Scalar>::with_shifts(true).accepts(pivot);
  }
  KOKKOS_FORCEINLINE_FUNCTION static Scalar inverse(Scalar pivot) { return Scalar(1) / Kokkos::sqrt(pivot); }
  KOKKOS_FORCEINLINE_FUNCTION static Scalar pivot(Scalar inverse) { return Scalar(1) / (inverse * inverse); }
};

}  // namespace prekond::impl::par_ilu
