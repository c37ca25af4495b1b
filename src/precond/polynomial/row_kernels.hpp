// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The kernels that scale the rows of a polynomial's matrix.
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include "matrix/find_entry.hpp"

#include "core/row_teams.hpp"

#include <cstdint>

namespace prekond::impl::polynomial {

/// A rank's rows in two parts: the entries in its own columns, and those in other ranks' columns, which are
/// counted from 0; on one rank the second part has no rows.
template <class Scalar, class Space>
struct RowParts {
  CsrView<Scalar, Space> own, remote;
  VectorView<Scalar, Space> own_values, remote_values;  ///< theirs

  /// Calls body(part, values, is_own).
  template <class Body>
  KOKKOS_FUNCTION void for_each_part(const Body& body) const {
    body(own, own_values, true);
    if (remote.num_rows > 0) body(remote, remote_values, false);
  }
};

/// diagonal_i = Re a_ii and reach_i = max_j |a_ij|. A row with an entry that is not finite becomes one of a
/// multiple of the identity, the largest finite |a_ij|, so that it is like its neighbours whatever A's size;
/// or of zeros where its diagonal is not stored; it stays where there are no values to be written to. It has
/// that multiple for its diagonal, and reach -1.
template <class Scalar, class Space>
struct MeasureRows {
  using Real = real_type_t<Scalar>;
  using Member = typename RowTeams<Space>::Member;
  using Part = CsrView<Scalar, Space>;
  using Values = VectorView<Scalar, Space>;
  RowParts<Scalar, Space> rows;
  VectorView<Real, Space> diagonal, reach;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    RowTeams<Space>{rows.own.num_rows}.for_each_row(team, [&](std::int64_t i) { measure(team, i); });
  }
  KOKKOS_FUNCTION void measure(const Member& team, std::int64_t i) const {
    Real largest = 0;
    int bad = 0;
    rows.for_each_part([&](const Part& part, const Values&, bool) {
      const auto row = Kokkos::ThreadVectorRange(team, part.row_ptrs(i), part.row_ptrs(i + 1));
      Real largest_here = 0;
      Kokkos::parallel_reduce(
          row,
          [&](std::size_t k, Real& most) {
            const Scalar value = part.values(k);
            const Real size = is_finite(value) ? Real(Kokkos::abs(value)) : Real(0);
            if (size > most) most = size;
          },
          Kokkos::Max<Real>(largest_here));
      int bad_here = 0;
      Kokkos::parallel_reduce(
          row, [&](std::size_t k, int& count) { count += is_finite(part.values(k)) ? 0 : 1; }, bad_here);
      if (largest_here > largest) largest = largest_here;
      bad += bad_here;
    });
    std::size_t place = 0;
    const Real own = real_part(find_entry(rows.own, i, i, place));
    const Real multiple = largest > Real(0) && Kokkos::isfinite(largest) ? largest : Real(1);
    Kokkos::single(Kokkos::PerThread(team), [&] {
      diagonal(i) = bad > 0 ? multiple : own;
      reach(i) = bad > 0 ? Real(-1) : largest;
    });
    if (bad > 0 && rows.own_values.extent(0) > 0) replace(team, i, multiple);
  }
  KOKKOS_FUNCTION void replace(const Member& team, std::int64_t i, Real multiple) const {
    rows.for_each_part([&](const Part& part, const Values& values, bool is_own) {
      Kokkos::parallel_for(
          Kokkos::ThreadVectorRange(team, part.row_ptrs(i), part.row_ptrs(i + 1)),
          [&](std::size_t k) { values(k) = is_own && part.col_idxs(k) == i ? Scalar(multiple) : Scalar(0); });
    });
  }
};

/// inverse_i = 1 / d_i: d_i = a_ii where that is positive and has an inverse, else the row's largest
/// magnitude, else 1. A replaced row has its multiple for a_ii. Counts those rows and the ones that have no
/// such a_ii; `first` is the smallest.
template <class Real, class Space>
struct InvertDiagonal {
  VectorView<const Real, Space> diagonal, reach;
  VectorView<Real, Space> inverse;

  KOKKOS_FUNCTION static bool is_usable(Real value) {
    return value > Real(0) && Kokkos::isfinite(value) && Kokkos::isfinite(Real(1) / value);
  }
  KOKKOS_FUNCTION void operator()(int i, std::int64_t& first, std::int64_t& count) const {
    const bool sound = is_usable(diagonal(i)) && reach(i) >= Real(0);
    const Real other = is_usable(reach(i)) ? Real(1) / reach(i) : Real(1);
    inverse(i) = is_usable(diagonal(i)) ? Real(1) / diagonal(i) : other;
    if (sound) return;
    ++count;
    if (i < first) first = i;
  }
};

/// root_i = sqrt(inverse_i)
template <class Real, class Space>
struct Roots {
  VectorView<const Real, Space> inverse;
  VectorView<Real, Space> root;
  KOKKOS_FUNCTION void operator()(int i) const { root(i) = Kokkos::sqrt(inverse(i)); }
};

/// The rows that were replaced, and the largest reach.
template <class Real, class Space>
struct CountReplaced {
  VectorView<const Real, Space> reach;
  KOKKOS_FUNCTION void operator()(int i, std::int64_t& first, std::int64_t& count, Real& largest) const {
    if (reach(i) > largest) largest = reach(i);
    if (reach(i) >= Real(0)) return;
    ++count;
    if (i < first) first = i;
  }
};

/// The least and the largest reach that is positive.
template <class Real, class Space>
struct RangeOfReach {
  VectorView<const Real, Space> reach;
  KOKKOS_FUNCTION void operator()(int i, Real& least, Real& most) const {
    if (!(reach(i) > Real(0))) return;
    if (reach(i) < least) least = reach(i);
    if (reach(i) > most) most = reach(i);
  }
};

/// x_k = factor x_k
template <class Scalar, class Space>
struct TimesFactor {
  VectorView<Scalar, Space> x;
  real_type_t<Scalar> factor;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { x(k) = factor * x(k); }
};

/// The ends of Gershgorin's disc of each row of D^-1 A.
template <class Scalar, class Space>
struct GershgorinDiscs {
  using Real = real_type_t<Scalar>;
  using Member = typename RowTeams<Space>::Member;
  RowParts<Scalar, Space> rows;
  VectorView<const Real, Space> inverse;
  VectorView<Real, Space> low, high;
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    RowTeams<Space>{rows.own.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const Real scale = inverse(i);
      Real radius = 0;
      rows.for_each_part([&](const CsrView<Scalar, Space>& part, const auto&, bool is_own) {
        Real radius_here = 0;
        Kokkos::parallel_reduce(
            Kokkos::ThreadVectorRange(team, part.row_ptrs(i), part.row_ptrs(i + 1)),
            [&](std::size_t k, Real& sum) {
              sum += is_own && part.col_idxs(k) == i ? Real(0) : scale * Kokkos::abs(part.values(k));
            },
            radius_here);
        radius += radius_here;
      });
      std::size_t place = 0;
      const Real center = scale * real_part(find_entry(rows.own, i, i, place));
      Kokkos::single(Kokkos::PerThread(team), [&] {
        low(i) = center - radius;
        high(i) = center + radius;
      });
    });
  }
};

template <class Real, class Space>
struct RangeOfDiscs {
  VectorView<const Real, Space> low, high;
  KOKKOS_FUNCTION void operator()(int i, Real& least, Real& most) const {
    if (low(i) < least) least = low(i);
    if (high(i) > most) most = high(i);
  }
};

/// a_ij = a_ij / d_i
template <class Scalar, class Space>
struct ScaleRows {
  using Real = real_type_t<Scalar>;
  using Member = typename RowTeams<Space>::Member;
  std::int64_t num_rows;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<Scalar, Space> values;
  VectorView<const Real, Space> inverse;
  KOKKOS_FUNCTION void operator()(const Member& team) const {
    RowTeams<Space>{num_rows}.for_each_row(team, [&](std::int64_t i) {
      const Real factor = inverse(i);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, row_ptrs(i), row_ptrs(i + 1)),
                           [&](std::size_t k) { values(k) = factor * values(k); });
    });
  }
};

/// y = factor D^-1 x, for k columns
template <class Scalar, class Space>
struct ApplyDiagonal {
  using Real = real_type_t<Scalar>;
  VectorView<const Real, Space> inverse;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;
  Real factor;
  KOKKOS_FUNCTION void operator()(int i) const {
    const Real scale = factor * inverse(i);
    for (std::size_t v = 0; v < y.extent(1); ++v) y(i, v) = scale * x(i, v);
  }
};

}  // namespace prekond::impl::polynomial
