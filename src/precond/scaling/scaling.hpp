// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Scalings by powers of two, by their exponents: see Scaled.
#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/csr_matrix.hpp>

#include <string>

#include "core/row_teams.hpp"
#include "matrix/find_entry.hpp"

namespace prekond::impl::scaled {

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// The exponent of what is 0 or not finite.
constexpr int no_exponent = -100000;

/// floor(log2 |x|), of a number below the normal ones -1022.
KOKKOS_INLINE_FUNCTION int exponent_of(double x) {
  const int biased = static_cast<int>(Kokkos::bit_cast<std::uint64_t>(x) >> 52 & 0x7ffu);
  if (biased == 0x7ff || x == 0) return no_exponent;
  return biased > 0 ? biased - 1023 : -1022;
}
template <class Scalar>
KOKKOS_INLINE_FUNCTION int exponent_of_entry(const Scalar& x) {
  const int real = exponent_of(static_cast<double>(real_part(x)));
  const int imaginary = exponent_of(static_cast<double>(imaginary_part(x)));
  return real > imaginary ? real : imaginary;
}

/// 2^e of a normal number.
KOKKOS_INLINE_FUNCTION double two_to(int e) {
  return Kokkos::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
}

/// 2^exponent x. An exponent that is the sum of two scales' may be out of range where the entry that it
/// scales is not.
template <class Scalar>
KOKKOS_INLINE_FUNCTION Scalar times_power(const Scalar& x, int exponent) {
  const double half = two_to(exponent / 2), other = two_to(exponent - exponent / 2);
  using Wide = in_precision_t<Scalar, double>;
  return static_cast<Scalar>(Wide(x) * half * other);
}

/// A scale's exponent, kept within the range of its type.
template <class Real>
constexpr int most_exponent = sizeof(Real) == sizeof(double) ? 1000 : 120;

/// Scales, by their exponents.
template <class Space>
struct Exponents {
  Vector<int, Space> row;
  Vector<int, Space> column;
};

template <class Scalar, class Space>
struct FromDiagonal {
  CsrView<Scalar, Space> a;
  VectorView<int, Space> exponent;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::size_t place = 0;
    const int found = exponent_of_entry(find_entry(a, i, i, place));
    exponent(i) = found == no_exponent ? 0 : -(found >> 1);
  }
};

/// The nearest power of two of a number, by its logarithm.
template <class Real, class Space>
struct FromGiven {
  VectorView<const double, Space> scale;
  VectorView<int, Space> exponent;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    constexpr int most = most_exponent<Real>;
    const int found = exponent_of(scale(i) * 1.4142135623730951);
    if (found == no_exponent)
      exponent(i) = 0;
    else
      exponent(i) = found > most ? most : (found < -most ? -most : found);
  }
};

/// The exponents of the largest entries of R A C, by rows and, unless `of_column` is empty, by columns:
/// integers, so that the order of the atomic maxima does not matter. Columns without a scale are left out.
template <class Scalar, class Space>
struct LargestEntries {
  using Teams = RowTeams<Space>;
  CsrView<Scalar, Space> a;
  VectorView<const int, Space> row, column;
  VectorView<int, Space> of_row, of_column;

  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    Teams{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t begin = a.row_ptrs(i);
      int largest = no_exponent;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, static_cast<int>(a.row_ptrs(i + 1) - begin)),
          [&](int k, int& most) {
            const int col = a.col_idxs(begin + static_cast<std::size_t>(k));
            const int found = exponent_of_entry(a.values(begin + static_cast<std::size_t>(k)));
            if (static_cast<std::size_t>(col) >= column.extent(0) || found == no_exponent) return;
            const int scaled = found + row(i) + column(col);
            if (of_column.extent(0) > 0) Kokkos::atomic_max(&of_column(col), scaled);
            if (scaled > most) most = scaled;
          },
          Kokkos::Max<int>(largest));
      Kokkos::single(Kokkos::PerThread(team), [&] { of_row(i) = largest; });
    });
  }
};

/// One step of Ruiz's iteration; counts what changes.
template <class Real, class Space>
struct HalveExponents {
  VectorView<int, Space> row, column;
  VectorView<const int, Space> of_row, of_column;

  KOKKOS_FUNCTION static int halved(int exponent, int largest, int& changes) {
    if (largest <= no_exponent || largest >> 1 == 0) return exponent;
    const int wanted = exponent - (largest >> 1);
    const int clipped = wanted > most_exponent<Real>
                            ? most_exponent<Real>
                            : (wanted < -most_exponent<Real> ? -most_exponent<Real> : wanted);
    changes += clipped != exponent;
    return clipped;
  }
  KOKKOS_FUNCTION void operator()(std::int64_t i, int& changes) const {
    row(i) = halved(row(i), of_row(i), changes);
    column(i) = halved(column(i), of_column(i), changes);
  }
};

/// R A C; columns without a scale are scaled by R only.
template <class Scalar, class Space>
struct ScaleEntries {
  using Teams = RowTeams<Space>;
  CsrView<Scalar, Space> a;
  VectorView<const int, Space> row, column;
  VectorView<Scalar, Space> values;

  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    Teams{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t begin = a.row_ptrs(i);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, static_cast<int>(a.row_ptrs(i + 1) - begin)),
                           [&](int k) { scale(i, begin + static_cast<std::size_t>(k)); });
    });
  }

  KOKKOS_FUNCTION void scale(std::int64_t i, std::size_t k) const {
    const auto col = static_cast<std::size_t>(a.col_idxs(k));
    values(k) = times_power(a.values(k), row(i) + (col < column.extent(0) ? column(col) : 0));
  }
};

template <class Real, class Space>
struct ToScale {
  VectorView<const int, Space> exponent;
  VectorView<Real, Space> scale;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { scale(i) = static_cast<Real>(two_to(exponent(i))); }
};

/// y_i = scale_i x_i; x and y may be the same.
template <class Scalar, class Space>
struct ScaleVectors {
  VectorView<const real_type_t<Scalar>, Space> scale;
  MultiVectorView<const Scalar, Space> x;
  MultiVectorView<Scalar, Space> y;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    for (std::size_t v = 0; v < x.extent(1); ++v) y(i, v) = scale(i) * x(i, v);
  }
};

/// R = C of the diagonal.
template <class Scalar, class Space>
Exponents<Space> of_diagonal(const Space& space, const CsrView<Scalar, Space>& a) {
  const auto exponent = allocate<Vector<int, Space>>(space, "prekond::scaled::numeric::exponent", a.num_rows);
  Kokkos::parallel_for("prekond::scaled::numeric::from_diagonal", Rows<Space>(space, 0, a.num_rows),
                       FromDiagonal<Scalar, Space>{a, exponent});
  return {exponent, exponent};
}

/// R and C of scales that are given.
template <class Real, class Space>
Exponents<Space> of_given(const Space& space, std::int64_t n, const Vector<double, Space>& row,
                          const Vector<double, Space>& column) {
  for (const auto& scale : {row, column})
    if (scale.extent(0) != static_cast<std::size_t>(n))
      throw InputError("prekond::Scaled: there are " + std::to_string(scale.extent(0)) +
                       " scales for a matrix of " + std::to_string(n) + " rows; make them of this matrix");
  const auto exponents_of = [&](const char* label, const Vector<double, Space>& scale) {
    const auto exponent = allocate<Vector<int, Space>>(space, label, n);
    Kokkos::parallel_for("prekond::scaled::numeric::from_given", Rows<Space>(space, 0, n),
                         FromGiven<Real, Space>{scale, exponent});
    return exponent;
  };
  return {exponents_of("prekond::scaled::numeric::row", row),
          exponents_of("prekond::scaled::numeric::column", column)};
}

/// Sweeps of Ruiz's iteration at most.
constexpr int most_sweeps = 20;

/// One step of it. \returns how many scales have changed
template <class Scalar, class Space>
int halve(const Space& space, const Exponents<Space>& scale, const Vector<int, Space>& of_row,
          const Vector<int, Space>& of_column) {
  int changes = 0;
  Kokkos::parallel_reduce(
      "prekond::scaled::numeric::halve_exponents", Rows<Space>(space, 0, scale.row.extent(0)),
      HalveExponents<real_type_t<Scalar>, Space>{scale.row, scale.column, of_row, of_column}, changes);
  return changes;
}

/// Ruiz's iteration.
template <class Scalar, class Space>
Exponents<Space> equilibrated(const Space& space, const CsrView<Scalar, Space>& a) {
  const std::int64_t n = a.num_rows;
  const auto vector = [&](const char* label) { return allocate_zero<Vector<int, Space>>(space, label, n); };
  const Exponents<Space> scale{vector("prekond::scaled::numeric::row"),
                               vector("prekond::scaled::numeric::column")};
  const auto of_row = vector("prekond::scaled::numeric::of_row");
  const auto of_column = vector("prekond::scaled::numeric::of_column");
  int changes = 1;
  for (int sweep = 0; sweep < most_sweeps && changes > 0; ++sweep) {
    Kokkos::deep_copy(space, of_column, no_exponent);
    Kokkos::parallel_for("prekond::scaled::numeric::largest_entries",
                         RowTeams<Space>::policy(space, n, a.nnz()),
                         LargestEntries<Scalar, Space>{a, scale.row, scale.column, of_row, of_column});
    changes = halve<Scalar, Space>(space, scale, of_row, of_column);
  }
  return scale;
}

/// The values of R A C; columns after the list's end have those of R A.
template <class Scalar, class Space>
Vector<Scalar, Space> scaled_values(const Space& space, const CsrView<Scalar, Space>& a,
                                    const Vector<int, Space>& row, const Vector<int, Space>& column) {
  const auto values = allocate<Vector<Scalar, Space>>(space, "prekond::scaled::numeric::values", a.nnz());
  if (a.num_rows > 0)
    Kokkos::parallel_for("prekond::scaled::numeric::scale_entries",
                         RowTeams<Space>::policy(space, a.num_rows, a.nnz()),
                         ScaleEntries<Scalar, Space>{a, row, column, values});
  return values;
}

/// 2^exponent_i
template <class Real, class Space>
Vector<Real, Space> scale_of(const Space& space, const char* label, const Vector<int, Space>& exponent) {
  const auto scale = allocate<Vector<Real, Space>>(space, label, exponent.extent(0));
  Kokkos::parallel_for("prekond::scaled::numeric::to_scale", Rows<Space>(space, 0, exponent.extent(0)),
                       ToScale<Real, Space>{exponent, scale});
  return scale;
}

}  // namespace prekond::impl::scaled
