// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/statistics.hpp>
#include <prekond/matrix/validate.hpp>

#include "core/flag.hpp"
#include "core/instantiate.hpp"
#include "core/norm.hpp"
#include "core/row_teams.hpp"
#include "matrix/pair_numbers.hpp"
#include "matrix/row_search.hpp"

#include <algorithm>
#include <cmath>

namespace prekond {
namespace {

template <class Space>
using RowPolicy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// Facts of one look at the entries of a row.
struct RowFacts {
  double diagonal = 0;      // the real part of a_ii
  double magnitude = 0;     // |a_ii|
  double off_diagonal = 0;  // sum of |a_ij|, j != i
  double same_sign = 0;     // of those that do not have the sign opposite to a_ii's
  double max_abs = 0;
  std::uint64_t pairs = 0;  // the sum of the numbers of its entries
  bool has_diagonal = false;

  KOKKOS_FUNCTION RowFacts& operator+=(const RowFacts& other) {
    off_diagonal += other.off_diagonal;
    same_sign += other.same_sign;
    max_abs = max_abs < other.max_abs ? other.max_abs : max_abs;
    pairs += other.pairs;
    return *this;
  }
};

/// Facts of a comparison of the entries of a row with their mirror images.
struct MirrorFacts {
  double asymmetry = 0;
  std::int64_t unmatched = 0;   // entries whose mirror is not stored
  std::int64_t surplus = 0;     // entries above the diagonal, less those below whose mirror is stored
  std::int64_t asymmetric = 0;  // entries that differ from their mirror

  KOKKOS_FUNCTION MirrorFacts& operator+=(const MirrorFacts& other) {
    asymmetry = asymmetry < other.asymmetry ? other.asymmetry : asymmetry;
    unmatched += other.unmatched;
    surplus += other.surplus;
    asymmetric += other.asymmetric;
    return *this;
  }
};

template <class Scalar, class Space>
struct ScanRows {
  using Rows = impl::RowTeams<Space>;
  CsrView<Scalar, Space> a;
  VectorView<RowFacts, Space> facts;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      std::size_t place = 0;
      const auto diagonal = to_double(find_entry(a, i, i, place));
      RowFacts row;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, a.row_ptrs(i), a.row_ptrs(i + 1)),
          [&](std::size_t k, RowFacts& sum) { sum += look_at(i, k, real_part(diagonal)); }, row);
      Kokkos::single(Kokkos::PerThread(team), [&] {
        row.diagonal = real_part(diagonal);
        row.magnitude = Kokkos::abs(diagonal);
        row.has_diagonal = place != a.row_ptrs(i + 1);
        facts(i) = row;
      });
    });
  }

  KOKKOS_FUNCTION RowFacts look_at(std::int64_t i, std::size_t k, double diagonal) const {
    const auto value = to_double(a.values(k));
    const int j = a.col_idxs(k);
    RowFacts entry;
    entry.max_abs = Kokkos::abs(value);
    entry.pairs = impl::entry_number(i, j, value);
    if (j != i) entry.off_diagonal = entry.max_abs;
    if (j != i && !(diagonal * real_part(value) < 0)) entry.same_sign = entry.max_abs;
    return entry;
  }
};

/// Compares entries with their mirror images.
template <class Scalar, class Space>
struct Mirrors {
  CsrView<Scalar, Space> a;
  VectorView<const RowFacts, Space> rows;

  KOKKOS_FUNCTION MirrorFacts compare(std::int64_t i, std::size_t k) const {
    const int j = a.col_idxs(k);
    const auto value = to_double(a.values(k));
    std::size_t place = 0;
    const auto mirror = to_double(conjugate(find_entry(a, j, i, place)));
    MirrorFacts entry;
    entry.unmatched = place == a.row_ptrs(j + 1);
    if (value == mirror) return entry;
    const double scale = impl::diagonal_scale(rows(i).diagonal, rows(j).diagonal);
    entry.asymmetric = !impl::is_symmetric_pair(value, mirror, scale, symmetry_tolerance<Scalar>);
    const double larger = Kokkos::fmax(Kokkos::abs(value), Kokkos::abs(mirror));
    entry.asymmetry = Kokkos::abs(value - mirror) / Kokkos::fmax(scale, larger);
    return entry;
  }
};

/// Compares each entry below the diagonal with its mirror image; or, `again`, each one above it, which has
/// something to add only where some of these have none.
template <class Scalar, class Space>
struct CompareWithMirrors {
  using Rows = impl::RowTeams<Space>;
  Mirrors<Scalar, Space> mirrors;
  VectorView<MirrorFacts, Space> facts;
  bool again = false;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    const auto& a = mirrors.a;
    Rows{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      MirrorFacts row;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, a.row_ptrs(i), a.row_ptrs(i + 1)),
          [&](std::size_t k, MirrorFacts& sum) { sum += look_at(i, k); }, row);
      Kokkos::single(Kokkos::PerThread(team), [&] {
        if (again) row += facts(i);
        facts(i) = row;
      });
    });
  }

  KOKKOS_FUNCTION MirrorFacts look_at(std::int64_t i, std::size_t k) const {
    const int j = mirrors.a.col_idxs(k);
    // A complex diagonal entry is its own mirror image where it is real.
    const bool has_mirror = again ? j > i : j < i || (is_complex<Scalar> && j == i);
    MirrorFacts entry;
    if (has_mirror) entry = mirrors.compare(i, k);
    if (!again) entry.surplus = j > i ? 1 : j < i ? entry.unmatched - 1 : 0;
    return entry;
  }
};

template <class Space>
struct AddMirrors {
  using value_type = MirrorFacts;
  VectorView<const MirrorFacts, Space> facts;

  KOKKOS_FUNCTION void init(MirrorFacts& sum) const { sum = MirrorFacts{}; }
  KOKKOS_FUNCTION void join(MirrorFacts& sum, const MirrorFacts& other) const { sum += other; }
  KOKKOS_FUNCTION void operator()(std::int64_t i, MirrorFacts& sum) const { sum += facts(i); }
};

/// Raises the flag where an entry differs from its mirror image; entries that come later are left out.
template <class Scalar, class Space>
struct FindAsymmetry {
  using Rows = impl::RowTeams<Space>;
  Mirrors<Scalar, Space> mirrors;
  bool every_entry_has_one;  ///< a mirror image, so that those above the diagonal need no look
  typename impl::Flag<Space>::Raise found;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    const auto& a = mirrors.a;
    Rows{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, a.row_ptrs(i), a.row_ptrs(i + 1)),
                           [&](std::size_t k) {
                             if ((every_entry_has_one && a.col_idxs(k) > i) || found.is_raised()) return;
                             if (mirrors.compare(i, k).asymmetric > 0) found();
                           });
    });
  }
};

template <class T>
KOKKOS_INLINE_FUNCTION void raise(T& largest, T value) {
  if (largest < value) largest = value;
}
template <class T>
KOKKOS_INLINE_FUNCTION void lower_to(T& smallest, T value) {
  if (value < smallest) smallest = value;
}

struct Summary : MatrixStatistics {
  std::uint64_t pairs = 0;
};

/// Counts and extrema, in which the order of the rows does not matter.
template <class Scalar, class Space>
struct Summarise {
  using value_type = Summary;
  CsrView<Scalar, Space> a;
  VectorView<const RowFacts, Space> facts;

  KOKKOS_FUNCTION void init(Summary& sum) const {
    sum = Summary{};
    sum.row_length_min = Kokkos::Experimental::finite_max_v<std::int64_t>;
    sum.diagonal_min_abs = Kokkos::Experimental::infinity_v<double>;
  }

  KOKKOS_FUNCTION void join(Summary& sum, const Summary& other) const {
    lower_to(sum.row_length_min, other.row_length_min);
    lower_to(sum.diagonal_min_abs, other.diagonal_min_abs);
    raise(sum.row_length_max, other.row_length_max);
    raise(sum.lower_bandwidth, other.lower_bandwidth);
    raise(sum.upper_bandwidth, other.upper_bandwidth);
    raise(sum.diagonal_max_abs, other.diagonal_max_abs);
    raise(sum.max_abs, other.max_abs);
    raise(sum.jacobi_norm, other.jacobi_norm);
    sum.pairs += other.pairs;
    sum.empty_rows += other.empty_rows;
    sum.diagonal_missing += other.diagonal_missing;
    sum.diagonal_zero += other.diagonal_zero;
    sum.diagonal_negative += other.diagonal_negative;
    sum.diagonal_positive += other.diagonal_positive;
    sum.diagonally_dominant_rows += other.diagonally_dominant_rows;
    sum.m_matrix_rows += other.m_matrix_rows;
  }

  KOKKOS_FUNCTION void operator()(std::int64_t i, Summary& sum) const {
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
    sum.pairs += row.pairs;
    if (i < a.num_cols) add_diagonal(row, sum);
  }

  KOKKOS_FUNCTION void add_diagonal(const RowFacts& row, MatrixStatistics& sum) const {
    sum.diagonally_dominant_rows += row.magnitude >= row.off_diagonal;
    sum.m_matrix_rows += row.same_sign <= 0.1 * row.off_diagonal;
    raise(sum.jacobi_norm,
          row.magnitude > 0 ? row.off_diagonal / row.magnitude : Kokkos::Experimental::infinity_v<double>);
    if (!row.has_diagonal) {
      ++sum.diagonal_missing;
      return;
    }
    sum.diagonal_zero += row.magnitude == 0;
    sum.diagonal_negative += row.diagonal < 0;
    sum.diagonal_positive += row.diagonal > 0;
    lower_to(sum.diagonal_min_abs, row.magnitude);
    raise(sum.diagonal_max_abs, row.magnitude);
  }
};

/// The symmetry of a square matrix, some of whose entries have no equal mirror image.
template <class Scalar, class Space>
void measure_symmetry(const Space& space, const Mirrors<Scalar, Space>& mirrors, MatrixStatistics& result) {
  const auto& a = mirrors.a;
  const auto facts = allocate<Vector<MirrorFacts, Space>>(space, "prekond::statistics::mirrors", a.num_rows);
  const auto teams = impl::RowTeams<Space>::policy(space, a.num_rows, a.nnz());
  CompareWithMirrors<Scalar, Space> compare{mirrors, facts};
  MirrorFacts sum;
  const auto pass = [&] {
    Kokkos::parallel_for("prekond::statistics::compare_with_mirrors", teams, compare);
    Kokkos::parallel_reduce("prekond::statistics::add_mirrors", RowPolicy<Space>(space, 0, a.num_rows),
                            AddMirrors<Space>{facts}, sum);
  };
  pass();
  compare.again = sum.surplus != 0;  // 0: each entry above the diagonal is the mirror of one below
  if (compare.again) pass();
  result.symmetric_pattern = sum.unmatched == 0;
  result.symmetric_values = sum.asymmetric == 0;
  result.max_asymmetry = sum.asymmetry;
}

/// The symmetry without the largest asymmetry.
template <class Scalar, class Space>
void look_for_symmetry(const Space& space, const Mirrors<Scalar, Space>& mirrors, MatrixStatistics& result) {
  const auto& a = mirrors.a;
  const auto teams = impl::RowTeams<Space>::policy(space, a.num_rows, a.nnz());
  std::uint64_t places = 0;
  Kokkos::parallel_reduce("prekond::statistics::sum_of_pairs", teams, impl::SumOfPairs<Space>{a}, places);
  result.symmetric_pattern = places == 0;
  impl::Flag<Space> found(space, "prekond::statistics::find_asymmetry");
  Kokkos::parallel_for("prekond::statistics::find_asymmetry", teams,
                       FindAsymmetry<Scalar, Space>{mirrors, places == 0, found.raise()});
  result.symmetric_values = !found.is_raised(space);
}

template <class Scalar, class Space>
MatrixStatistics of_rows(const Space& space, const CsrView<Scalar, Space>& a, bool with_norms) {
  const auto facts = allocate<Vector<RowFacts, Space>>(space, "prekond::statistics::facts", a.num_rows);
  Kokkos::parallel_for("prekond::statistics::scan_rows",
                       impl::RowTeams<Space>::policy(space, a.num_rows, a.nnz()),
                       ScanRows<Scalar, Space>{a, facts});
  Summary result;
  Kokkos::parallel_reduce("prekond::statistics::summarise", RowPolicy<Space>(space, 0, a.num_rows),
                          Summarise<Scalar, Space>{a, facts}, result);
  result.symmetric_pattern = result.symmetric_values = a.num_rows == a.num_cols;
  if (result.pairs != 0 && result.symmetric_values)
    (with_norms ? measure_symmetry<Scalar, Space> : look_for_symmetry<Scalar, Space>)(space, {a, facts},
                                                                                      result);
  if (!std::isfinite(result.diagonal_min_abs)) result.diagonal_min_abs = 0;
  result.row_length_mean = static_cast<double>(a.nnz()) / static_cast<double>(a.num_rows);
  if (with_norms) result.frobenius_norm = norm<Scalar, Space>(space, a.values).value();
  return result;
}

}  // namespace

template <class Scalar, class Space>
MatrixStatistics statistics(const Space& space, const CsrView<Scalar, Space>& a, bool with_norms) {
  MatrixStatistics result;
  result.symmetric_pattern = result.symmetric_values = a.num_cols == 0;
  if (a.num_rows > 0) result = of_rows(space, a, with_norms);
  result.num_rows = a.num_rows;
  result.num_cols = a.num_cols;
  result.nnz = a.nnz();
  return result;
}

#define PREKOND_STATISTICS(Scalar, Space) \
  template MatrixStatistics statistics<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&, bool);
PREKOND_INSTANTIATE(PREKOND_STATISTICS)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_STATISTICS)

}  // namespace prekond
