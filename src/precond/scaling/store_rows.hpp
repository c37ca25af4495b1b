// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows of a matrix in a lower precision, each scaled by a power of two: A = D H.
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include <prekond/precond/impl/stored_matrix.hpp>
#include "core/half.hpp"

#include "precond/scaling/power_of_two.hpp"

namespace prekond::impl {

/// Rows are scaled so that their largest entries lie in [top, 2 top): small ones may then be 2^-28 of them in
/// half.
template <class Value>
inline constexpr float top = 1;
template <>
inline constexpr float top<Half> = 0x1p14f;
/// The smallest normal number.
template <class Value>
inline constexpr float least = 0x1p-126f;
template <>
inline constexpr float least<Half> = 0x1p-14f;

template <>
inline constexpr float top<ComplexPair<Half>> = top<Half>;
template <>
inline constexpr float least<ComplexPair<Half>> = least<Half>;

/// The type that stores a complex factor's values where a real one's are stored as `Part`.
template <class Part, class Scalar>
struct stored_value {
  using type = Part;
};
template <class Part, class Real>
struct stored_value<Part, Kokkos::complex<Real>> {
  using type = ComplexPair<Part>;
};
template <class Real>
struct stored_value<float, Kokkos::complex<Real>> {
  using type = Kokkos::complex<float>;
};
template <class Part, class Scalar>
using stored_value_t = typename stored_value<Part, Scalar>::type;

/// `nonzero`: not to zero. A diagonal entry far below the others of its row must not vanish: M^-1 would be
/// singular.
template <class Value, class Scalar>
KOKKOS_FUNCTION Value rounded(Scalar value, bool nonzero) {
  using Real = real_type_t<Scalar>;
  constexpr Real smallest = least<Value>;
  if (!nonzero || !(Kokkos::abs(value) < smallest)) return static_cast<Value>(value);
  return static_cast<Value>(Scalar(real_part(value) < 0 ? -smallest : smallest));
}

/// Row by row: D_ii and row i of H.
template <class Value, class Scalar, class Space>
struct StoreRows {
  using Real = real_type_t<Scalar>;
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  static constexpr int rows_per_team = is_host_space<Space> ? 256 : 32;

  CsrView<Scalar, Space> a;
  VectorView<Value, Space> values;  ///< empty where only D is wanted
  VectorView<Real, Space> scale;    ///< D_ii
  Nonzero nonzero;

  static Policy policy(const Space& space, std::int64_t num_rows) {
    const int teams = static_cast<int>((num_rows + rows_per_team - 1) / rows_per_team);
    return is_host_space<Space> ? Policy(space, teams, 1, 1) : Policy(space, teams, 16, 16);
  }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const std::int64_t begin = std::int64_t(team.league_rank()) * rows_per_team;
    const std::int64_t end = begin + rows_per_team < a.num_rows ? begin + rows_per_team : a.num_rows;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, begin, end),
                         [&](std::int64_t i) { store_row(team, i); });
  }

  KOKKOS_FUNCTION void store_row(const Member& team, std::int64_t i) const {
    const std::size_t first = a.row_ptrs(i), end = a.row_ptrs(i + 1);
    const std::size_t kept = nonzero == Nonzero::first  ? first
                             : nonzero == Nonzero::last ? end - 1
                                                        : static_cast<std::size_t>(-1);
    Real largest = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, first, end),
        [&](std::size_t k, Real& most) {
          const Real size = Kokkos::abs(a.values(k));
          if (size > most) most = size;
        },
        Kokkos::Max<Real>(largest));
    constexpr Real target = top<Value>;
    const Real inverse = inverse_of(largest > 0 ? largest : Real(0)) * target;  // of no entries it is not 0
    if (values.extent(0) > 0)
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, first, end), [&](std::size_t k) {
        values(k) = rounded<Value, Scalar>(a.values(k) * inverse, k == kept);
      });
    Kokkos::single(Kokkos::PerThread(team), [&] { scale(i) = 1 / inverse; });
  }

  /// Not what would leave the range, of a row of zeros or of the least numbers.
  KOKKOS_FUNCTION static Real inverse_of(Real largest) {
    constexpr Real most = (sizeof(Real) == 4 ? Real(0x1p125) : Real(0x1p1021)) / top<Value>;
    const Real inverse = inverse_power_of_two(largest);
    return inverse < most ? inverse : most;
  }
};

/// A C^-1, entry by entry.
template <class Value, class Scalar, class Space>
struct StoreDivided {
  CsrView<Scalar, Space> a;
  VectorView<Value, Space> values;
  VectorView<const real_type_t<Scalar>, Space> column_scale;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    values(k) = static_cast<Value>(a.values(k) * (1 / column_scale(a.col_idxs(k))));
  }
};

/// The same of each row's entry that is not to vanish.
template <class Value, class Scalar, class Space>
struct StoreDividedNonzero {
  CsrView<Scalar, Space> a;
  VectorView<Value, Space> values;
  VectorView<const real_type_t<Scalar>, Space> column_scale;
  bool first;
  KOKKOS_FUNCTION void operator()(int i) const {
    if (a.row_ptrs(i) == a.row_ptrs(i + 1)) return;
    const std::size_t k = first ? a.row_ptrs(i) : a.row_ptrs(i + 1) - 1;
    values(k) = rounded<Value, Scalar>(a.values(k) * (1 / column_scale(a.col_idxs(k))), true);
  }
};

template <class Real, class Space>
struct MultiplyScales {
  VectorView<const Real, Space> by;
  VectorView<Real, Space> scale;
  KOKKOS_FUNCTION void operator()(int i) const { scale(i) *= by(i); }
};

}  // namespace prekond::impl
