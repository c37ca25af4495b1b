// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The diagonal of the matrix as the FSAI setups need it.
#include <prekond/core/error.hpp>
#include <prekond/core/report.hpp>
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/find_entry.hpp>
#include <prekond/matrix/validate.hpp>

#include <cstdint>
#include <limits>
#include <string>

namespace prekond::impl {

/// Extremes of the diagonal; `bad_row` is the first row without a positive (and real) entry, or -1.
template <class Scalar>
struct DiagonalRange {
  real_type_t<Scalar> min;
  real_type_t<Scalar> max;
  std::int64_t bad_row;
};

template <class Scalar, class Space>
struct ExtractDiagonal {
  using Real = real_type_t<Scalar>;
  CsrView<Scalar, Space> a;
  VectorView<Real, Space> diagonal;
  KOKKOS_FUNCTION void operator()(int i, Real& min, Real& max, std::int64_t& bad) const {
    std::size_t place = 0;
    const Scalar entry = find_entry(a, i, i, place);
    const Real value = real_part(entry);
    diagonal(i) = value;
    if (!(value > 0) || !Kokkos::isfinite(value) ||
        !(Kokkos::abs(imaginary_part(entry)) <= Real(symmetry_tolerance<Scalar>) * value)) {
      if (i < bad) bad = i;
    } else {
      if (value < min) min = value;
      if (value > max) max = value;
    }
  }
};

/// Copies the diagonal, its real parts. Fences.
template <class Scalar, class Space>
DiagonalRange<Scalar> extract_diagonal(const Space& space, const CsrView<Scalar, Space>& a,
                                       VectorView<real_type_t<Scalar>, Space> diagonal) {
  using Real = real_type_t<Scalar>;
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  DiagonalRange<Scalar> range{};
  Kokkos::parallel_reduce("prekond::fsai::numeric::diagonal",
                          Kokkos::RangePolicy<Space>(space, 0, a.num_rows),
                          ExtractDiagonal<Scalar, Space>{a, diagonal}, Kokkos::Min<Real>(range.min),
                          Kokkos::Max<Real>(range.max), Kokkos::Min<std::int64_t>(range.bad_row));
  if (range.bad_row == none) range.bad_row = -1;
  return range;
}

/// \throws InputError for a row without a positive (and real) diagonal entry
template <class Scalar>
void check_diagonal(const DiagonalRange<Scalar>& range, const std::string& name) {
  if (range.bad_row < 0) return;
  throw InputError(
      name + ": the diagonal entry of row " + std::to_string(range.bad_row + 1) +
          (is_complex<Scalar>
               ? " is missing, not positive or not real; the matrix has to be Hermitian positive definite"
               : " is missing or not positive; the matrix has to be symmetric positive definite"),
      range.bad_row);
}

template <class Space>
struct RangeOfColumns {
  CsrGraphView<Space> pattern;
  KOKKOS_FUNCTION void operator()(std::int64_t k, int& min, int& max) const {
    if (pattern.col_idxs(k) < min) min = pattern.col_idxs(k);
    if (pattern.col_idxs(k) > max) max = pattern.col_idxs(k);
  }
};

/// Fences. \throws InputError for a pattern that is not square, or has a column out of range
template <class Space>
void check_graph(const Space& space, const CsrGraphView<Space>& pattern, const std::string& name) {
  if (pattern.num_rows != pattern.num_cols)
    throw InputError(name + ": the pattern is " + std::to_string(pattern.num_rows) + " x " +
                     std::to_string(pattern.num_cols) + "; it has to be square");
  int least = 0, most = -1;
  Kokkos::parallel_reduce(
      "prekond::fsai::check_graph",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, pattern.nnz()),
      RangeOfColumns<Space>{pattern}, Kokkos::Min<int>(least), Kokkos::Max<int>(most));
  if (pattern.nnz() == 0 || (least >= 0 && most < pattern.num_cols)) return;
  throw InputError(name + ": the pattern has the column " +
                   std::to_string(std::int64_t(least < 0 ? least : most) + 1) +
                   ", counted from 1, and its size is " + std::to_string(pattern.num_cols));
}

/// \throws InputError for a pattern of another size than the matrix
template <class Graph>
void check_pattern_rows(const Graph& pattern, std::int64_t num_rows, const std::string& name) {
  if (pattern.num_rows == num_rows) return;
  throw InputError(name + ": the pattern has " + std::to_string(pattern.num_rows) + " rows, the matrix " +
                   std::to_string(num_rows));
}

/// 2^-k with x 2^-k in [1, 2): scaling by it is exact.
KOKKOS_INLINE_FUNCTION float inverse_power_of_two(float x) {
  unsigned exponent = (Kokkos::bit_cast<unsigned>(x) >> 23) & 0xffu;
  exponent = exponent < 1 ? 1 : (exponent > 253 ? 253 : exponent);
  return Kokkos::bit_cast<float>((254u - exponent) << 23);
}
KOKKOS_INLINE_FUNCTION double inverse_power_of_two(double x) {
  std::uint64_t exponent = (Kokkos::bit_cast<std::uint64_t>(x) >> 52) & 0x7ffu;
  exponent = exponent < 1 ? 1 : (exponent > 2045 ? 2045 : exponent);
  return Kokkos::bit_cast<double>((2046ull - exponent) << 52);
}

/// Rows that broke down, counted on the device.
struct Outcome {
  long long pivots;          ///< rows with fewer entries than they were to have, because of a pivot
  long long diagonals;       ///< rows that fell back to the diagonal
  unsigned long long first;  ///< the first such row and its pivot's bits, packed

  /// Counts row i. `pivot` is relative to the diagonal entry.
  KOKKOS_FUNCTION static void count(Outcome& outcome, int i, bool diagonal, float pivot) {
    Kokkos::atomic_inc(diagonal ? &outcome.diagonals : &outcome.pivots);
    meet(outcome, i, pivot);
  }
  /// Row i may be the first, and is counted when it is known how it ends.
  KOKKOS_FUNCTION static void meet(Outcome& outcome, int i, float pivot) {
    const unsigned long long packed =
        static_cast<unsigned long long>(i) << 32 | Kokkos::bit_cast<unsigned>(pivot);
    Kokkos::atomic_min(&outcome.first, packed);
  }
};
inline constexpr Outcome no_outcome{0, 0, ~0ull};

template <class Space>
Outcome fetch(const Space& space, const Vector<Outcome, Space>& outcome) {
  Outcome result;
  Kokkos::deep_copy(
      space, Kokkos::View<Outcome, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(&result),
      Kokkos::subview(outcome, 0));
  space.fence("prekond::fsai::numeric::outcome");
  return result;
}

/// `kept`: what rows with a bad pivot kept.
inline Breakdowns breakdowns_of(const Outcome& outcome, const std::string& kept) {
  Breakdowns breakdowns;
  breakdowns.count = outcome.pivots + outcome.diagonals;
  if (breakdowns.count == 0) return breakdowns;
  breakdowns.first_row = static_cast<std::int64_t>(outcome.first >> 32);
  breakdowns.first_pivot = Kokkos::bit_cast<float>(static_cast<unsigned>(outcome.first));
  breakdowns.action = std::to_string(outcome.pivots) + " rows kept " + kept + ", " +
                      std::to_string(outcome.diagonals) + " fell back to the diagonal";
  return breakdowns;
}

}  // namespace prekond::impl
