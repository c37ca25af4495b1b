// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The values of the triangles: A, scaled from both sides so that its diagonal is 1.
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include "core/row_teams.hpp"
#include "precond/scaling/stand_in.hpp"
#include "precond/scaling/weak_diagonal.hpp"
#include "precond/setup/breakdown_counter.hpp"
#include "precond/triangular/grouped_triangles.hpp"

namespace prekond::impl::sweeps {

/// R A C = I + L + U with r_i = sign(a_ii) / sqrt|a_ii|, c_j = 1 / sqrt|a_jj|. Symmetric where A is and has a
/// positive diagonal; of a positive definite one all entries are below 1, so that any precision holds them.
template <class Scalar, class Space>
struct Factors {
  Vector<Scalar, Space> lower, upper;  ///< of GroupedTriangles's triangles, times `factor`; U may be left out
  Vector<Scalar, Space> row_scale;     ///< r_i times `factor`, by place; empty: 1
  Vector<Scalar, Space> pivots;        ///< inverses of D's entries; empty: D = I
  Scalar factor = 1;                   ///< omega
};

/// The diagonal entry of the row at a place, or its substitute.
template <class Scalar, class Space>
struct DiagonalOf {
  CsrView<Scalar, Space> a;
  VectorView<const int, Space> permutation;  ///< empty: the places are A's rows
  VectorView<const int, Space> diagonal;

  KOKKOS_FORCEINLINE_FUNCTION int row(std::int64_t at) const {
    return permutation.extent(0) > 0 ? permutation(at) : static_cast<int>(at);
  }
  KOKKOS_FUNCTION Scalar stored(std::int64_t at) const {
    return diagonal(at) < 0 ? Scalar(0) : a.values(a.row_ptrs(row(at)) + diagonal(at));
  }
  KOKKOS_FUNCTION static bool is_usable(Scalar value) { return StandIn<Scalar, Space>::is_usable(value); }
  KOKKOS_FUNCTION Scalar stand_in(std::int64_t at) const { return StandIn<Scalar, Space>{a}(row(at)); }
};

template <class Scalar, class Space>
struct ScaleRows {
  DiagonalOf<Scalar, Space> diagonal;
  VectorView<Scalar, Space> row_scale;
  KOKKOS_FUNCTION void operator()(std::int64_t at) const {
    const Scalar stored = diagonal.stored(at);
    const Scalar value = diagonal.is_usable(stored) ? stored : diagonal.stand_in(at);
    const Scalar size = Scalar(1) / Kokkos::sqrt(Kokkos::abs(value));
    row_scale(at) = value < 0 ? -size : size;
  }
};

/// factor c_i a_ij c_j, with the sign of a_ii; 0 where that is not finite. The bits of (i, j) and (j, i) are
/// the same where a_ij = a_ji. Fill, which A does not have, is 0. Counts rows with such entries and those
/// without a usable diagonal, and in outcome(1) those with entries that a weak diagonal makes so large. An
/// empty list `upper_values` leaves U out.
template <class Scalar, class Space>
struct FillTriangles {
  using Rows = RowTeams<Space>;
  static constexpr unsigned not_finite = 1, large = 2;  ///< entries of a row
  DiagonalOf<Scalar, Space> diagonal;
  CsrGraphView<Space> lower, upper;
  VectorView<const int, Space> lower_source, upper_source;  ///< empty: see FillPattern
  VectorView<const Scalar, Space> row_scale;
  VectorView<Scalar, Space> lower_values, upper_values;
  Scalar factor;
  VectorView<BreakdownCounter, Space> outcome;  ///< 2
  Scalar largest_ordinary = 0;                  ///< of entries, times |factor|

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{lower.num_rows}.for_each_row(team, [&](std::int64_t at) {
      const int of_lower = static_cast<int>(lower.row_ptrs(at + 1) - lower.row_ptrs(at));
      const int before_upper = of_lower + (diagonal.diagonal(at) < 0 ? 0 : 1);
      unsigned found = fill(team, at, lower, lower_source, 0, lower_values);
      if (upper_values.extent(0) > 0)
        found |= fill(team, at, upper, upper_source, before_upper, upper_values);
      Kokkos::single(Kokkos::PerThread(team), [&] {
        const bool usable = diagonal.is_usable(diagonal.stored(at));
        if ((found & not_finite) != 0 || !usable)
          BreakdownCounter::count(outcome(0), diagonal.row(at), usable, usable ? 1.0f : 0.0f);
        if (usable && found != 0) BreakdownCounter::count(outcome(1), diagonal.row(at), true, 0.0f);
      });
    });
  }

  /// The larger factor first, whichever it is: the product of both may be below the normal numbers.
  KOKKOS_FORCEINLINE_FUNCTION static Scalar scaled(Scalar a_ij, Scalar own, Scalar column) {
    const Scalar larger = own > column ? own : column, smaller = own > column ? column : own;
    const Scalar value = (a_ij * larger) * smaller;
    return is_finite(value) ? value : (a_ij * smaller) * larger;
  }

  KOKKOS_FUNCTION unsigned fill(const typename Rows::Member& team, std::int64_t at,
                                const CsrGraphView<Space>& triangle,
                                const VectorView<const int, Space>& source, int before,
                                const VectorView<Scalar, Space>& values) const {
    const std::size_t first = triangle.row_ptrs(at);
    const std::size_t row = diagonal.a.row_ptrs(diagonal.row(at));
    const Scalar own = Kokkos::abs(row_scale(at));
    const Scalar signed_factor = row_scale(at) < 0 ? -factor : factor;
    unsigned found = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, static_cast<int>(triangle.row_ptrs(at + 1) - first)),
        [&](int k, unsigned& mine) {
          const Scalar column = Kokkos::abs(row_scale(triangle.col_idxs(first + k)));
          const int place = source.extent(0) > 0 ? source(first + k) : before + k;
          const Scalar value =
              place < 0 ? Scalar(0) : signed_factor * scaled(diagonal.a.values(row + place), own, column);
          const bool finite = is_finite(value);
          values(first + k) = finite ? value : Scalar(0);
          if (!finite)
            mine |= not_finite;
          else if (Kokkos::abs(value) > largest_ordinary)
            mine |= large;
        },
        Kokkos::BOr<unsigned>(found));
    return found;
  }
};

template <class Scalar, class Space>
struct MultiplyAll {
  VectorView<Scalar, Space> x;
  Scalar factor;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { x(i) *= factor; }
};

/// Whether entries of the diagonal may be weak: not in methods for positive definite matrices.
enum class DiagonalUse { general, definite };

enum class Triangles { both, lower };

/// The outcomes of FillTriangles.
struct FillOutcome {
  BreakdownCounter breakdowns, with_large_entries;
};

/// Fences.
template <class Space>
FillOutcome fetch_outcome(const Space& space, const Vector<BreakdownCounter, Space>& outcome) {
  BreakdownCounter found[2];
  Kokkos::deep_copy(
      space,
      Kokkos::View<BreakdownCounter*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(found, 2),
      outcome);
  space.fence("prekond::relaxation::outcome");
  return {found[0], found[1]};
}

inline std::string text_of_breakdowns(const BreakdownCounter& counted, std::int64_t num_weak) {
  return std::to_string(counted.pivots) + " rows without a usable diagonal entry" +
         (num_weak > 0 ? " (in " + std::to_string(num_weak) +
                             " it is zero but for rounding, compared with the row and the column)"
                       : "") +
         " took their largest entry in its place, " + std::to_string(counted.diagonals) +
         " with entries that are not finite lost those";
}

template <class Scalar, class Space, class Pattern>
Factors<Scalar, Space> fill_triangles_of(const Space& space, const CsrView<Scalar, Space>& a,
                                         const Pattern& pattern, Scalar factor, FillOutcome& found,
                                         Triangles which) {
  const std::int64_t n = a.num_rows;
  const Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>> rows(space, 0, n);
  const auto list = [&](const char* label, std::int64_t size) {
    return allocate<Vector<Scalar, Space>>(space, label, size);
  };
  Factors<Scalar, Space> result;
  result.factor = factor;
  result.lower = list("prekond::relaxation::lower", pattern.lower.nnz());
  if (which == Triangles::both) result.upper = list("prekond::relaxation::upper", pattern.upper.nnz());
  result.row_scale = list("prekond::relaxation::row_scale", n);
  const auto outcome =
      allocate_zero<Vector<BreakdownCounter, Space>>(space, "prekond::relaxation::breakdowns", 2);
  DiagonalOf<Scalar, Space> diagonal{a, {}, pattern.diagonal};
  if constexpr (requires { pattern.permutation; }) diagonal.permutation = pattern.permutation;
  Kokkos::parallel_for("prekond::relaxation::numeric::scale_rows", rows,
                       ScaleRows<Scalar, Space>{diagonal, result.row_scale});
  Kokkos::parallel_for(
      "prekond::relaxation::numeric::fill", RowTeams<Space>::policy(space, n, a.nnz()),
      FillTriangles<Scalar, Space>{diagonal, pattern.lower, pattern.upper, pattern.lower_source,
                                   pattern.upper_source, result.row_scale, result.lower, result.upper, factor,
                                   outcome, Kokkos::abs(factor) * WeakRule<Scalar>::least_scaled_entry()});
  if (factor != Scalar(1))
    Kokkos::parallel_for("prekond::relaxation::numeric::scale", rows,
                         MultiplyAll<Scalar, Space>{result.row_scale, factor});
  found = fetch_outcome(space, outcome);
  return result;
}

/// The triangles of a GroupedTriangles or, in A's own order, a FillPattern, without the weak entries of the
/// diagonal (see WeakRule); `which` may leave U out. `report` gets the breakdowns. Fences. Cost: a pass over
/// A, which is looked at again only where scaled entries are as large as a weak diagonal makes them.
template <class Scalar, class Space, class Pattern>
Factors<Scalar, Space> fill_triangles(const Space& space, const CsrView<Scalar, Space>& a,
                                      const Pattern& pattern, Scalar factor, Report& report,
                                      DiagonalUse use = DiagonalUse::general,
                                      Triangles which = Triangles::both) {
  FillOutcome found;
  auto result = fill_triangles_of<Scalar, Space>(space, a, pattern, factor, found, which);
  std::int64_t num_weak = 0;
  if (found.with_large_entries.diagonals > 0 && use != DiagonalUse::definite) {
    const auto strong = zero_weak_diagonal<Scalar, Space>(space, a);
    num_weak = strong.num_weak;
    if (num_weak > 0)
      result = fill_triangles_of<Scalar, Space>(space, strong.matrix, pattern, factor, found, which);
  }
  report.breakdowns = breakdowns_of(found.breakdowns, "");
  if (report.breakdowns.count > 0) report.breakdowns.action = text_of_breakdowns(found.breakdowns, num_weak);
  return result;
}

}  // namespace prekond::impl::sweeps
