// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <prekond/core/scalar.hpp>
#include <prekond/matrix/validate.hpp>

#include "core/concurrent_words.hpp"
#include "core/flag.hpp"
#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "matrix/row_search.hpp"
#include "matrix/spd_text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

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

/// Elements of a view, on the host.
template <class Space, class View>
auto fetch(const Space& space, const View& from, std::size_t begin, std::size_t end) {
  using Value = typename View::non_const_value_type;
  std::vector<Value> to(end - begin);
  Kokkos::deep_copy(space, VectorView<Value, Kokkos::DefaultHostExecutionSpace>(to.data(), to.size()),
                    Kokkos::subview(from, Kokkos::make_pair(begin, end)));
  space.fence("prekond::validate::fetch");
  return to;
}

template <class Space>
Place fetch(const Space& space, const FirstPlace<Space>& first) {
  return fetch(space, first, 0, 1)[0];
}

/// A row of a matrix, on the host.
template <class Scalar>
struct HostRow {
  std::size_t begin;
  std::vector<int> cols;
  std::vector<Scalar> values;

  /// The value in a column, as text; `if_missing` where it is not stored.
  std::string text(std::int64_t col, const char* if_missing) const {
    const auto place = std::find(cols.begin(), cols.end(), col);
    return place == cols.end() ? if_missing : text_of(values[place - cols.begin()]);
  }
  static std::string text_of(const Scalar& value) {
    return impl::number_text<Scalar>(static_cast<double>(real_part(value)),
                                     static_cast<double>(imaginary_part(value)));
  }
};

template <class Scalar, class Space>
HostRow<Scalar> fetch_row(const Space& space, const CsrView<Scalar, Space>& a, std::int64_t row) {
  const auto ptrs = fetch(space, a.row_ptrs, row, row + 2);
  return {ptrs[0], fetch(space, a.col_idxs, ptrs[0], ptrs[1]), fetch(space, a.values, ptrs[0], ptrs[1])};
}

/// The row of an entry.
template <class Scalar, class Space>
std::int64_t row_of(const Space& space, const CsrView<Scalar, Space>& a, Place k) {
  std::int64_t low = 0;
  std::int64_t high = a.num_rows;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fetch(space, a.row_ptrs, middle, middle + 1)[0] <= k ? low : high) = middle;
  }
  return low;
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

/// Finds the first entry with a column out of range or, but for `any_order`, not above the one before, or a
/// value that is not finite.
template <class Scalar, class Space>
struct CheckEntries {
  using Rows = impl::RowTeams<Space>;
  CsrView<Scalar, Space> a;
  FirstPlace<Space> first;
  bool any_order;

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
    const bool descends = !any_order && k > begin && a.col_idxs(k - 1) >= col;
    return col < 0 || col >= a.num_cols || descends || !is_finite(a.values(k));
  }
};

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
  const std::size_t before = fetch(space, a.row_ptrs, at > 0 ? at - 1 : at, at + 1)[0];
  const std::size_t here = fetch(space, a.row_ptrs, at, at + 1)[0];
  const std::string value = std::to_string(here);
  const std::string nnz = std::to_string(a.nnz());
  if (place == none && here == a.col_idxs.extent(0)) return;
  if (place == none)
    throw InputError("the last of row_ptrs is " + value + ", but the matrix has " + nnz + " entries");
  if (place == 0) throw InputError("row_ptrs starts at " + value + "; it must start at 0");
  if (here < before)
    throw InputError("row_ptrs decreases from " + std::to_string(before) + " to " + value +
                     " at the end of row " + std::to_string(at));
  throw InputError("row " + std::to_string(at) + " ends at entry " + value + ", but the matrix has " + nnz +
                   " entries");
}

template <class Scalar>
std::string describe(const HostRow<Scalar>& in, std::int64_t i, Place k, std::int64_t num_cols,
                     bool any_order) {
  const std::size_t at = k - in.begin;
  const int j = in.cols[at], previous = at > 0 ? in.cols[at - 1] : -1;
  const std::string row = "row " + std::to_string(i + 1);
  const std::string position = "position " + std::to_string(at + 1);
  const std::string col = std::to_string(j + 1);
  if (j < 0 || j >= num_cols)
    return row + ", " + position + ": column " + col + " is out of the range 1 .. " +
           std::to_string(num_cols);
  if (!any_order && previous == j)
    return row + ", " + position + ": column " + col + " is there twice; add the entries up";
  if (!any_order && previous > j)
    return row + ", " + position + ": column " + col + " follows column " + std::to_string(previous + 1) +
           "; sort each row by column (prekond::sort_rows)";
  const auto value = to_double(in.values[at]);
  return "entry " + impl::entry_text(i, j) + " is " +
         (std::isnan(real_part(value)) || std::isnan(imaginary_part(value)) ? "NaN"
                                                                            : in.text_of(in.values[at])) +
         "; all values must be finite";
}

/// Raises the flag where the columns of a row do not ascend.
template <class Scalar, class Space>
struct FindDescents {
  using Rows = impl::RowTeams<Space>;
  CsrView<Scalar, Space> a;
  typename impl::Flag<Space>::Raise found;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{a.num_rows}.for_each_row(team, [&](std::int64_t i) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, a.row_ptrs(i) + 1, a.row_ptrs(i + 1)),
                           [&](std::size_t k) {
                             if (a.col_idxs(k - 1) >= a.col_idxs(k)) found();
                           });
    });
  }
};

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
  const std::int64_t row = static_cast<std::int64_t>(place);
  throw InputError(impl::bad_diagonal_text<Scalar>(row, fetch_row(space, a, row).text(row, "missing")), row);
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
  const std::int64_t i = row_of(space, a, place);
  const HostRow<Scalar> row = fetch_row(space, a, i);
  const int j = row.cols[place - row.begin];
  throw InputError(
      impl::asymmetry_text<Scalar>(i, j, row.text(j, ""), fetch_row(space, a, j).text(i, "missing (0)")), i);
}

}  // namespace

template <class Scalar, class Space>
void validate(const Space& space, const CsrView<Scalar, Space>& a, bool any_order) {
  check_sizes<Scalar, Space>(a);
  check_row_ptrs(space, a);
  if (a.nnz() == 0) return;
  const auto first = no_offender(space);
  Kokkos::parallel_for("prekond::validate::entries",
                       impl::RowTeams<Space>::policy(space, a.num_rows, a.nnz()),
                       CheckEntries<Scalar, Space>{a, first, any_order});
  const Place place = fetch(space, first);
  if (place == none) return;
  const std::int64_t row = row_of(space, a, place);
  throw InputError(describe(fetch_row(space, a, row), row, place, a.num_cols, any_order), row);
}

template <class Scalar, class Space>
bool rows_ascend(const Space& space, const CsrView<Scalar, Space>& a) {
  if (a.nnz() == 0) return true;
  impl::Flag<Space> found(space, "prekond::rows_ascend");
  Kokkos::parallel_for("prekond::rows_ascend", impl::RowTeams<Space>::policy(space, a.num_rows, a.nnz()),
                       FindDescents<Scalar, Space>{a, found.raise()});
  return !found.is_raised(space);
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
  template void validate<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&, bool);  \
  template bool rows_ascend<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&);     \
  template void check_spd_input<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&); \
  template void check_local_spd_input<Scalar, Space>(const Space&, const CsrView<Scalar, Space>&);
PREKOND_INSTANTIATE(PREKOND_VALIDATE)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_VALIDATE)

}  // namespace prekond
