// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/statistics.hpp>
#include <prekond/matrix/validate.hpp>

#include "core/instantiate.hpp"
#include "core/norm.hpp"
#include "core/row_teams.hpp"
#include "matrix/row_search.hpp"

#include <algorithm>
#include <cmath>

namespace prekond {
namespace {

template <class Space>
using RowPolicy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// The facts that take a look at every entry of a row.
struct RowFacts {
  double off_diagonal = 0;  // sum of |a_ij|, j != i
  double same_sign = 0;     // of those that do not have the sign opposite to a_ii's
  double max_abs = 0;
  double asymmetry = 0;
  int unmatched = 0;   // entries whose mirror is not stored
  int surplus = 0;     // entries above the diagonal, less those below whose mirror is stored
  int asymmetric = 0;  // entries that differ from their mirror

  KOKKOS_FUNCTION RowFacts& operator+=(const RowFacts& other) {
    off_diagonal += other.off_diagonal;
    same_sign += other.same_sign;
    max_abs = max_abs < other.max_abs ? other.max_abs : max_abs;
    asymmetry = asymmetry < other.asymmetry ? other.asymmetry : asymmetry;
    unmatched += other.unmatched;
    surplus += other.surplus;
    asymmetric += other.asymmetric;
    return *this;
  }
};

template <class Scalar, class Space>
struct CopyDiagonal {
  CsrView<Scalar, Space> a;
  VectorView<double, Space> diagonal;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::size_t place = 0;
    diagonal(i) = static_cast<double>(real_part(find_entry(a, i, i, place)));
  }
};

/// Compares each entry below the diagonal with its mirror image; or, `again`, each one above it, which has
/// something to add only where some of these have none.
template <class Scalar, class Space>
struct ScanRows {
  using Rows = impl::RowTeams<Space>;
  CsrView<Scalar, Space> a;
  VectorView<const double, Space> diagonal;
  VectorView<RowFacts, Space> facts;
  bool again = false;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      RowFacts row;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, a.row_ptrs(i), a.row_ptrs(i + 1)),
          [&](std::size_t k, RowFacts& sum) { sum += look_at(i, k); }, row);
      Kokkos::single(Kokkos::PerThread(team), [&] {
        if (again) row += facts(i);
        facts(i) = row;
      });
    });
  }

  KOKKOS_FUNCTION RowFacts look_at(std::int64_t i, std::size_t k) const {
    const auto value = to_double(a.values(k));
    const int j = a.col_idxs(k);
    RowFacts entry;
    // A complex diagonal entry is its own mirror image where it is real.
    const bool has_mirror = again ? j > i : j < i || (is_complex<Scalar> && j == i);
    if (has_mirror && a.num_rows == a.num_cols) compare_with_mirror(i, j, value, entry);
    if (again) return entry;
    entry.max_abs = Kokkos::abs(value);
    entry.surplus += j > i;
    if (j != i) entry.off_diagonal = entry.max_abs;
    if (j != i && !(diagonal(i) * static_cast<double>(real_part(value)) < 0)) entry.same_sign = entry.max_abs;
    return entry;
  }

  template <class Number>
  KOKKOS_FUNCTION void compare_with_mirror(std::int64_t i, int j, Number value, RowFacts& entry) const {
    std::size_t place = 0;
    const auto mirror = to_double(conjugate(find_entry(a, j, i, place)));
    entry.unmatched = place == a.row_ptrs(j + 1);
    if (j < i && entry.unmatched == 0) --entry.surplus;
    if (value == mirror) return;
    const double scale = impl::diagonal_scale(diagonal(i), diagonal(j));
    entry.asymmetric = !impl::is_symmetric_pair(value, mirror, scale, symmetry_tolerance<Scalar>);
    const double larger = Kokkos::fmax(Kokkos::abs(value), Kokkos::abs(mirror));
    entry.asymmetry = Kokkos::abs(value - mirror) / Kokkos::fmax(scale, larger);
  }
};

template <class Space>
struct AddSurplus {
  VectorView<const RowFacts, Space> facts;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& sum) const { sum += facts(i).surplus; }
};

template <class T>
KOKKOS_INLINE_FUNCTION void raise(T& largest, T value) {
  if (largest < value) largest = value;
}
template <class T>
KOKKOS_INLINE_FUNCTION void lower_to(T& smallest, T value) {
  if (value < smallest) smallest = value;
}

/// Counts and extrema, in which the order of the rows does not matter. While the rows are passed through, the
/// flags of symmetry say whether no entry was found that breaks it.
template <class Scalar, class Space>
struct Summarise {
  using value_type = MatrixStatistics;
  CsrView<Scalar, Space> a;
  VectorView<const RowFacts, Space> facts;

  KOKKOS_FUNCTION void init(MatrixStatistics& sum) const {
    sum = MatrixStatistics{};
    sum.row_length_min = Kokkos::Experimental::finite_max_v<std::int64_t>;
    sum.diagonal_min_abs = Kokkos::Experimental::infinity_v<double>;
    sum.symmetric_pattern = sum.symmetric_values = a.num_rows == a.num_cols;
  }

  KOKKOS_FUNCTION void join(MatrixStatistics& sum, const MatrixStatistics& other) const {
    lower_to(sum.row_length_min, other.row_length_min);
    lower_to(sum.diagonal_min_abs, other.diagonal_min_abs);
    raise(sum.row_length_max, other.row_length_max);
    raise(sum.lower_bandwidth, other.lower_bandwidth);
    raise(sum.upper_bandwidth, other.upper_bandwidth);
    raise(sum.max_asymmetry, other.max_asymmetry);
    raise(sum.diagonal_max_abs, other.diagonal_max_abs);
    raise(sum.max_abs, other.max_abs);
    raise(sum.jacobi_norm, other.jacobi_norm);
    sum.symmetric_pattern = sum.symmetric_pattern && other.symmetric_pattern;
    sum.symmetric_values = sum.symmetric_values && other.symmetric_values;
    sum.empty_rows += other.empty_rows;
    sum.diagonal_missing += other.diagonal_missing;
    sum.diagonal_zero += other.diagonal_zero;
    sum.diagonal_negative += other.diagonal_negative;
    sum.diagonal_positive += other.diagonal_positive;
    sum.diagonally_dominant_rows += other.diagonally_dominant_rows;
    sum.m_matrix_rows += other.m_matrix_rows;
  }

  KOKKOS_FUNCTION void operator()(std::int64_t i, MatrixStatistics& sum) const {
    const std::size_t begin = a.row_ptrs(i);
    const std::size_t end = a.row_ptrs(i + 1);
    const std::int64_t length = static_cast<std::int64_t>(end - begin);
    lower_to(sum.row_length_min, length);
    raise(sum.row_length_max, length);
    sum.empty_rows += length == 0;
    if (length > 0) {
      raise(sum.lower_bandwidth, i - a.col_idxs(begin));
      raise(sum.upper_bandwidth, a.col_idxs(end - 1) - i);
    }
    const RowFacts row = facts(i);
    raise(sum.max_abs, row.max_abs);
    raise(sum.max_asymmetry, row.asymmetry);
    if (row.unmatched > 0) sum.symmetric_pattern = false;
    if (row.asymmetric > 0) sum.symmetric_values = false;
    if (i < a.num_cols) add_diagonal(i, row, sum);
  }

  KOKKOS_FUNCTION void add_diagonal(std::int64_t i, const RowFacts& row, MatrixStatistics& sum) const {
    std::size_t place = 0;
    const Scalar entry = find_entry(a, i, i, place);
    const double value = static_cast<double>(real_part(entry));
    const double magnitude = Kokkos::abs(to_double(entry));
    sum.diagonally_dominant_rows += magnitude >= row.off_diagonal;
    sum.m_matrix_rows += row.same_sign <= 0.1 * row.off_diagonal;
    raise(sum.jacobi_norm,
          magnitude > 0 ? row.off_diagonal / magnitude : Kokkos::Experimental::infinity_v<double>);
    if (place == a.row_ptrs(i + 1)) {
      ++sum.diagonal_missing;
      return;
    }
    sum.diagonal_zero += magnitude == 0;
    sum.diagonal_negative += value < 0;
    sum.diagonal_positive += value > 0;
    lower_to(sum.diagonal_min_abs, magnitude);
    raise(sum.diagonal_max_abs, magnitude);
  }
};

template <class Scalar, class Space>
MatrixStatistics of_rows(const Space& space, const CsrView<Scalar, Space>& a) {
  const auto diagonal = allocate<Vector<double, Space>>(space, "prekond::statistics::diagonal", a.num_rows);
  const auto facts = allocate<Vector<RowFacts, Space>>(space, "prekond::statistics::facts", a.num_rows);
  Kokkos::parallel_for("prekond::statistics::copy_diagonal", RowPolicy<Space>(space, 0, a.num_rows),
                       CopyDiagonal<Scalar, Space>{a, diagonal});
  const auto teams = impl::RowTeams<Space>::policy(space, a.num_rows, a.nnz());
  ScanRows<Scalar, Space> scan{a, diagonal, facts};
  Kokkos::parallel_for("prekond::statistics::scan_rows", teams, scan);
  std::int64_t surplus = 0;  // 0: each entry above the diagonal is the mirror of one below
  Kokkos::parallel_reduce("prekond::statistics::surplus", RowPolicy<Space>(space, 0, a.num_rows),
                          AddSurplus<Space>{facts}, surplus);
  scan.again = surplus != 0 && a.num_rows == a.num_cols;
  if (scan.again) Kokkos::parallel_for("prekond::statistics::scan_rows", teams, scan);
  MatrixStatistics result;
  Kokkos::parallel_reduce("prekond::statistics::summarise", RowPolicy<Space>(space, 0, a.num_rows),
                          Summarise<Scalar, Space>{a, facts}, result);
  if (!std::isfinite(result.diagonal_min_abs)) result.diagonal_min_abs = 0;
  result.row_length_mean = static_cast<double>(a.nnz()) / static_cast<double>(a.num_rows);
  result.frobenius_norm = norm<Scalar, Space>(space, a.values).value();
  return result;
}

}  // namespace

template <class Scalar, class Space>
MatrixStatistics statistics(const Space& space, const CsrView<Scalar, Space>& a) {
  MatrixStatistics result;
  result.symmetric_pattern = result.symmetric_values = a.num_cols == 0;
  if (a.num_rows > 0) result = of_rows(space, a);
  result.num_rows = a.num_rows;
  result.num_cols = a.num_cols;
  result.nnz = a.nnz();
  return result;
}

#define PREKOND_STATISTICS(Scalar, Space) \
  template MatrixStatistics statistics<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&);
PREKOND_INSTANTIATE(PREKOND_STATISTICS)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_STATISTICS)

}  // namespace prekond
