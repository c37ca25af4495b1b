// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/validate.hpp>

#include "core/concurrent_words.hpp"
#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "matrix/row_search.hpp"
#include "matrix/spd_text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace prekond {
namespace {

using Place = unsigned long long;
constexpr Place none = ~0ull;

template <class Space>
using RowPolicy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

template <class Space>
using FirstPlace = VectorView<Place, Space>;

/// The smallest place so far; the order of the calls does not matter. Reads first: a matrix may be bad
/// everywhere.
template <class Space>
KOKKOS_INLINE_FUNCTION void report(const FirstPlace<Space>& first, Place place) {
  if (place < impl::concurrent_load(first(0))) Kokkos::atomic_min(&first(0), place);
}

/// Everything that a message says about one entry.
struct Offender {
  long long row;
  long long col;
  long long previous_col;  // -1 at the beginning of a row
  long long begin, end;    // of the row
  double value, imaginary_value;
  double mirror, imaginary_mirror;
  int has_mirror;
};

template <class T, class Space>
T fetch(const Space& space, const Vector<T, Space>& one) {
  T value;
  Kokkos::deep_copy(space, VectorView<T, Kokkos::DefaultHostExecutionSpace>(&value, 1), one);
  space.fence("prekond::validate::fetch");
  return value;
}

template <class Space>
Vector<Place, Space> no_offender(const Space& space) {
  const auto first = allocate<Vector<Place, Space>>(space, "prekond::validate::first", 1);
  Kokkos::deep_copy(space, first, none);
  return first;
}

/// Finds the first row pointer that is smaller than the one before, or larger than nnz.
template <class Scalar, class Space>
struct CheckRowPtrs {
  CsrView<Scalar, Space> a;
  FirstPlace<Space> first;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const std::size_t here = a.row_ptrs(i);
    const bool bad = i == 0 ? here != 0 : here < a.row_ptrs(i - 1);
    if (bad || here > a.col_idxs.extent(0)) report<Space>(first, static_cast<Place>(i));
  }
};

/// Finds the first entry with a column out of range or not above the one before, or a value that is not
/// finite.
template <class Scalar, class Space>
struct CheckEntries {
  using Rows = impl::RowTeams<Space>;
  CsrView<Scalar, Space> a;
  FirstPlace<Space> first;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t begin = a.row_ptrs(i);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, begin, a.row_ptrs(i + 1)), [&](std::size_t k) {
        if (is_bad(begin, k)) report<Space>(first, k);
      });
    });
  }
  KOKKOS_FUNCTION bool is_bad(std::size_t begin, std::size_t k) const {
    const int col = a.col_idxs(k);
    return col < 0 || col >= a.num_cols || (k > begin && a.col_idxs(k - 1) >= col) || !is_finite(a.values(k));
  }
};

/// Reads one entry, and its mirror image where the matrix is known to be sound.
template <class Scalar, class Space>
struct ReadOffender {
  CsrView<Scalar, Space> a;
  std::size_t k;
  bool with_mirror;
  Vector<Offender, Space> offender;

  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    std::int64_t low = 0;
    std::int64_t high = a.num_rows;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (a.row_ptrs(middle) <= k ? low : high) = middle;
    }
    Offender& found = offender(0);
    found.row = low;
    found.col = a.col_idxs(k);
    found.begin = static_cast<long long>(a.row_ptrs(low));
    found.end = static_cast<long long>(a.row_ptrs(low + 1));
    found.previous_col = k > a.row_ptrs(low) ? a.col_idxs(k - 1) : -1;
    found.value = static_cast<double>(real_part(a.values(k)));
    found.imaginary_value = static_cast<double>(imaginary_part(a.values(k)));
    if (!with_mirror) return;
    std::size_t place = 0;
    const Scalar mirror = find_entry(a, found.col, low, place);
    found.mirror = static_cast<double>(real_part(mirror));
    found.imaginary_mirror = static_cast<double>(imaginary_part(mirror));
    found.has_mirror = place < a.row_ptrs(found.col + 1);
  }
};

template <class Scalar, class Space>
Offender read_offender(const Space& space, const CsrView<Scalar, Space>& a, Place k, bool with_mirror) {
  const auto offender = allocate_zero<Vector<Offender, Space>>(space, "prekond::validate::offender", 1);
  Kokkos::parallel_for("prekond::validate::read_offender", RowPolicy<Space>(space, 0, 1),
                       ReadOffender<Scalar, Space>{a, static_cast<std::size_t>(k), with_mirror, offender});
  return fetch(space, offender);
}

template <class Scalar, class Space>
void check_sizes(const CsrView<Scalar, Space>& a) {
  if (a.num_rows < 0 || a.num_cols < 0)
    throw InputError("the matrix has " + std::to_string(a.num_rows) + " rows and " +
                     std::to_string(a.num_cols) + " columns; neither may be negative");
  if (std::max(a.num_rows, a.num_cols) > std::numeric_limits<int>::max())
    throw InputError("the matrix has " + std::to_string(a.num_rows) + " rows and " +
                     std::to_string(a.num_cols) + " columns; int numbers at most 2147483647");
  if (static_cast<std::int64_t>(a.row_ptrs.extent(0)) != a.num_rows + 1)
    throw InputError("row_ptrs has " + std::to_string(a.row_ptrs.extent(0)) + " elements; a matrix of " +
                     std::to_string(a.num_rows) + " rows needs " + std::to_string(a.num_rows + 1));
  if (a.values.extent(0) != a.col_idxs.extent(0))
    throw InputError("col_idxs has " + std::to_string(a.col_idxs.extent(0)) + " elements and values has " +
                     std::to_string(a.values.extent(0)) + "; they must have one for each entry");
  if (a.row_ptrs.data() == nullptr ||
      (a.nnz() > 0 && (a.col_idxs.data() == nullptr || a.values.data() == nullptr)))
    throw InputError("the matrix has a null array: allocate row_ptrs, col_idxs and values before it is used");
}

template <class Scalar, class Space>
void check_row_ptrs(const Space& space, const CsrView<Scalar, Space>& a) {
  const auto first = no_offender(space);
  Kokkos::parallel_for("prekond::validate::row_ptrs", RowPolicy<Space>(space, 0, a.num_rows + 1),
                       CheckRowPtrs<Scalar, Space>{a, first});
  const Place place = fetch(space, first);
  const std::size_t at =
      place == none ? static_cast<std::size_t>(a.num_rows) : static_cast<std::size_t>(place);
  // The message needs the pointer at `at` and the one before.
  const std::size_t before = at > 0 ? at - 1 : at;
  std::size_t ptrs[2] = {};
  for (int p = 0; p < 2; ++p)
    Kokkos::deep_copy(space, VectorView<std::size_t, Kokkos::DefaultHostExecutionSpace>(ptrs + p, 1),
                      Kokkos::subview(a.row_ptrs, Kokkos::make_pair(p ? at : before, (p ? at : before) + 1)));
  space.fence("prekond::validate::fetch");
  const std::string value = std::to_string(ptrs[1]);
  const std::string nnz = std::to_string(a.nnz());
  if (place == none && ptrs[1] == a.col_idxs.extent(0)) return;
  if (place == none)
    throw InputError("the last of row_ptrs is " + value + ", but the matrix has " + nnz + " entries");
  if (place == 0) throw InputError("row_ptrs starts at " + value + "; it must start at 0");
  if (ptrs[1] < ptrs[0])
    throw InputError("row_ptrs decreases from " + std::to_string(ptrs[0]) + " to " + value +
                     " at the end of row " + std::to_string(at));
  throw InputError("row " + std::to_string(at) + " ends at entry " + value + ", but the matrix has " + nnz +
                   " entries");
}

template <class Scalar>
std::string describe(const Offender& bad, Place k, std::int64_t num_cols) {
  const std::string row = "row " + std::to_string(bad.row + 1);
  const std::string position = "position " + std::to_string(k - static_cast<Place>(bad.begin) + 1);
  const std::string col = std::to_string(bad.col + 1);
  if (bad.col < 0 || bad.col >= num_cols)
    return row + ", " + position + ": column " + col + " is out of the range 1 .. " +
           std::to_string(num_cols);
  if (bad.previous_col == bad.col)
    return row + ", " + position + ": column " + col + " is there twice; add the entries up";
  if (bad.previous_col > bad.col)
    return row + ", " + position + ": column " + col + " follows column " +
           std::to_string(bad.previous_col + 1) + "; sort each row by column (prekond::sort_rows)";
  return "entry " + impl::entry_text(bad.row, bad.col) + " is " +
         (std::isnan(bad.value) || std::isnan(bad.imaginary_value)
              ? "NaN"
              : impl::number_text<Scalar>(bad.value, bad.imaginary_value)) +
         "; all values must be finite";
}

/// Copies the diagonal and finds the first row whose diagonal entry is missing, not positive or not real.
template <class Scalar, class Space>
struct CheckDiagonal {
  CsrView<Scalar, Space> a;
  VectorView<double, Space> diagonal;
  FirstPlace<Space> first;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::size_t place = 0;
    const Scalar entry = find_entry(a, i, i, place);
    const double value = static_cast<double>(real_part(entry));
    diagonal(i) = value;
    if (!(value > 0) || !impl::is_real(entry, symmetry_tolerance<Scalar>))
      report<Space>(first, static_cast<Place>(i));
  }
};

/// Reads a diagonal entry: NaN where it is not stored.
template <class Scalar, class Space>
struct ReadDiagonal {
  CsrView<Scalar, Space> a;
  std::int64_t row;
  Vector<double, Space> value;  ///< and its imaginary part

  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    std::size_t place = 0;
    const Scalar entry = find_entry(a, row, row, place);
    value(0) = static_cast<double>(real_part(entry));
    value(1) = static_cast<double>(imaginary_part(entry));
    if (place == a.row_ptrs(row + 1)) value(0) = Kokkos::Experimental::quiet_NaN_v<double>;
  }
};

/// Finds the first entry that differs from its mirror image, which is the conjugate.
template <class Scalar, class Space>
struct CheckSymmetry {
  using Rows = impl::RowTeams<Space>;
  CsrView<Scalar, Space> a;
  VectorView<const double, Space> diagonal;
  FirstPlace<Space> first;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, a.row_ptrs(i), a.row_ptrs(i + 1)),
                           [&](std::size_t k) {
                             if (!is_symmetric(i, k)) report<Space>(first, k);
                           });
    });
  }
  KOKKOS_FUNCTION bool is_symmetric(std::int64_t i, std::size_t k) const {
    const int j = a.col_idxs(k);
    if (j == i || j >= a.num_rows) return true;
    std::size_t place = 0;
    const auto mirror = to_double(conjugate(find_entry(a, j, i, place)));
    return impl::is_symmetric_pair(to_double(a.values(k)), mirror,
                                   impl::diagonal_scale(diagonal(i), diagonal(j)),
                                   symmetry_tolerance<Scalar>);
  }
};

template <class Scalar, class Space>
void check_diagonal(const Space& space, const CsrView<Scalar, Space>& a,
                    const Vector<double, Space>& diagonal) {
  const auto first = no_offender(space);
  Kokkos::parallel_for("prekond::check_spd_input::diagonal", RowPolicy<Space>(space, 0, a.num_rows),
                       CheckDiagonal<Scalar, Space>{a, diagonal, first});
  const Place place = fetch(space, first);
  if (place == none) return;
  const auto value = allocate<Vector<double, Space>>(space, "prekond::check_spd_input::value", 2);
  const std::int64_t row = static_cast<std::int64_t>(place);
  Kokkos::parallel_for("prekond::check_spd_input::read_diagonal", RowPolicy<Space>(space, 0, 1),
                       ReadDiagonal<Scalar, Space>{a, row, value});
  double a_ii[2];
  Kokkos::deep_copy(space, VectorView<double, Kokkos::DefaultHostExecutionSpace>(a_ii, 2), value);
  space.fence("prekond::validate::fetch");
  throw InputError(impl::bad_diagonal_text<Scalar>(
                       row, a_ii[0] != a_ii[0] ? "missing" : impl::number_text<Scalar>(a_ii[0], a_ii[1])),
                   row);
}

template <class Scalar, class Space>
void check_symmetry(const Space& space, const CsrView<Scalar, Space>& a,
                    const Vector<double, Space>& diagonal) {
  const auto first = no_offender(space);
  Kokkos::parallel_for("prekond::check_spd_input::symmetry",
                       impl::RowTeams<Space>::policy(space, a.num_rows, a.nnz()),
                       CheckSymmetry<Scalar, Space>{a, diagonal, first});
  const Place place = fetch(space, first);
  if (place == none) return;
  const Offender bad = read_offender(space, a, place, true);
  throw InputError(
      impl::asymmetry_text<Scalar>(
          bad.row, bad.col, impl::number_text<Scalar>(bad.value, bad.imaginary_value),
          bad.has_mirror ? impl::number_text<Scalar>(bad.mirror, bad.imaginary_mirror) : "missing (0)"),
      bad.row);
}

}  // namespace

template <class Scalar, class Space>
void validate(const Space& space, const CsrView<Scalar, Space>& a) {
  check_sizes<Scalar, Space>(a);
  check_row_ptrs(space, a);
  if (a.nnz() == 0) return;
  const auto first = no_offender(space);
  Kokkos::parallel_for("prekond::validate::entries",
                       impl::RowTeams<Space>::policy(space, a.num_rows, a.nnz()),
                       CheckEntries<Scalar, Space>{a, first});
  const Place place = fetch(space, first);
  if (place == none) return;
  const Offender bad = read_offender(space, a, place, false);
  throw InputError(describe<Scalar>(bad, place, a.num_cols), bad.row);
}

template <class Scalar, class Space>
void check_spd_input(const Space& space, const CsrView<Scalar, Space>& a) {
  if (a.num_rows != a.num_cols)
    throw InputError("CG needs a square matrix, this one has " + std::to_string(a.num_rows) + " rows and " +
                     std::to_string(a.num_cols) + " columns");
  if (a.num_rows == 0) throw InputError("the matrix is empty: it has no rows");
  check_local_spd_input<Scalar, Space>(space, a);
}

template <class Scalar, class Space>
void check_local_spd_input(const Space& space, const CsrView<Scalar, Space>& a) {
  if (a.num_cols < a.num_rows)
    throw InputError("a rank's part of a square matrix has at least as many columns as rows, this one has " +
                     std::to_string(a.num_rows) + " rows and " + std::to_string(a.num_cols) + " columns");
  if (a.num_rows == 0) return;
  const auto diagonal =
      allocate<Vector<double, Space>>(space, "prekond::check_spd_input::diagonal", a.num_rows);
  check_diagonal(space, a, diagonal);
  check_symmetry(space, a, diagonal);
}

#define PREKOND_VALIDATE(Scalar, Space)                                                      \
  template void validate<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&);        \
  template void check_spd_input<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&); \
  template void check_local_spd_input<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&);
PREKOND_INSTANTIATE(PREKOND_VALIDATE)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_VALIDATE)

}  // namespace prekond
