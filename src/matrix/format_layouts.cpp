// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/format_layouts.hpp"

#include <Kokkos_Sort.hpp>
#include <prekond/core/error.hpp>
#include <prekond/core/options.hpp>

#include "core/concurrent_words.hpp"
#include "core/instantiate.hpp"
#include "core/row_teams.hpp"

#include <string>

namespace prekond {
namespace impl::formats {
namespace {

template <class Space>
using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// marks(j - i + num_rows) = 1 of each entry that does not go on from (i - 1, j - 1): all rows of a stencil
/// would write to the same few places. A host's thread passes through two rows side by side; a device's lanes
/// look at the same place of the row above, and search where that is another one.
template <class Space>
struct MarkDiagonals {
  CsrGraphView<Space> pattern;
  VectorView<int, Space> marks;
  RowTeams<Space> rows;

  KOKKOS_FUNCTION void operator()(const typename RowTeams<Space>::Member& team) const {
    rows.for_each_row(team, [&](std::int64_t i) {
      if constexpr (is_host_space<Space>)
        pass(i);
      else
        search(team, i);
    });
  }

  KOKKOS_FUNCTION void mark(std::int64_t i, int col) const {
    raise_flag(marks(col - i + pattern.num_rows), 1);
  }
  KOKKOS_FUNCTION void pass(std::int64_t i) const {
    std::size_t above = i > 0 ? pattern.row_ptrs(i - 1) : 0;
    const std::size_t end_above = i > 0 ? pattern.row_ptrs(i) : 0;
    for (std::size_t k = pattern.row_ptrs(i); k < pattern.row_ptrs(i + 1); ++k) {
      const int col = pattern.col_idxs(k);
      while (above < end_above && pattern.col_idxs(above) < col - 1) ++above;
      if (above == end_above || pattern.col_idxs(above) != col - 1) mark(i, col);
    }
  }
  KOKKOS_FUNCTION void search(const typename RowTeams<Space>::Member& team, std::int64_t i) const {
    Kokkos::parallel_for(
        Kokkos::ThreadVectorRange(team, pattern.row_ptrs(i), pattern.row_ptrs(i + 1)), [&](std::size_t k) {
          if (i == 0 ||
              !is_there(i - 1, pattern.col_idxs(k) - 1, pattern.row_ptrs(i - 1) + k - pattern.row_ptrs(i)))
            mark(i, pattern.col_idxs(k));
        });
  }
  /// Has row i an entry in the column, at `guess` or elsewhere?
  KOKKOS_FUNCTION bool is_there(std::int64_t i, int col, std::size_t guess) const {
    const std::size_t begin = pattern.row_ptrs(i), end = pattern.row_ptrs(i + 1);
    if (guess < end && pattern.col_idxs(guess) >= col) {
      if (pattern.col_idxs(guess) == col) return true;
      if (guess == begin || pattern.col_idxs(guess - 1) < col) return false;
      if (pattern.col_idxs(guess - 1) == col) return true;
    }
    const std::size_t place = pattern.first_from(i, col);
    return place < end && pattern.col_idxs(place) == col;
  }
};

template <class Space>
struct ListDiagonals {
  VectorView<const int, Space> marks;
  VectorView<const std::size_t, Space> places;
  VectorView<int, Space> offsets;
  std::int64_t num_rows;
  KOKKOS_FUNCTION void operator()(std::int64_t d) const {
    if (marks(d) != 0) offsets(places(d)) = static_cast<int>(d - num_rows);
  }
};

/// The sorted key: entries that the row lacks of 2^32, then the row.
using Key = unsigned long long;

template <class Space>
struct MakeKeys {
  CsrGraphView<Space> pattern;
  VectorView<Key, Space> keys;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const Key length = pattern.row_ptrs(i + 1) - pattern.row_ptrs(i);
    keys(i) = (Key(0xffffffffu) - length) << 32 | Key(i);
  }
};

/// rows and, of diagonals that end between two positions, their lengths: diagonal k has the rows of more than
/// k entries.
template <class Space>
struct ReadKeys {
  VectorView<const Key, Space> keys;
  VectorView<int, Space> rows;
  VectorView<int, Space> diagonal_lengths;
  KOKKOS_FUNCTION int length(std::int64_t position) const {
    return static_cast<int>(0xffffffffu - static_cast<unsigned>(keys(position) >> 32));
  }
  KOKKOS_FUNCTION void operator()(std::int64_t p) const {
    rows(p) = static_cast<int>(keys(p) & 0xffffffffu);
    const int next = p + 1 < static_cast<std::int64_t>(keys.extent(0)) ? length(p + 1) : 0;
    for (int k = next; k < length(p); ++k) diagonal_lengths(k) = static_cast<int>(p + 1);
  }
};

}  // namespace

template <class Space>
Diagonals<Space> mark_diagonals(const Space& space, const CsrGraphView<Space>& pattern) {
  const std::int64_t possible = pattern.num_rows + pattern.num_cols;
  const auto marks = allocate_zero<Vector<int, Space>>(space, "prekond::dia::marks", possible);
  Kokkos::parallel_for("prekond::dia::mark_diagonals",
                       RowTeams<Space>::policy(space, pattern.num_rows, pattern.nnz()),
                       MarkDiagonals<Space>{pattern, marks, {pattern.num_rows}});
  const auto [places, count] =
      scan_row_lengths(space, "prekond::dia::places", possible, VectorView<const int, Space>(marks));
  return {marks, places, count};
}

template <class Space>
Vector<int, Space> diagonal_offsets(const Space& space, const CsrGraphView<Space>& pattern,
                                    const Diagonals<Space>& diagonals, std::size_t value_bytes,
                                    const DiaOptions& options) {
  if (!(options.max_padding >= 1))
    throw OptionError("make_dia: max_padding = " + to_string(OptionValue(options.max_padding)) +
                      "; it is at least 1");
  const double places = double(diagonals.count) * double(pattern.num_rows);
  if (!fits_padding(places, pattern.nnz(), pattern.num_rows, options.max_padding))
    throw InputError("make_dia: " + std::to_string(diagonals.count) + " diagonals of " +
                     std::to_string(pattern.num_rows) + " rows take " +
                     to_string(OptionValue(places * double(value_bytes))) + " bytes, " +
                     to_string(OptionValue(places)) + " places for " + std::to_string(pattern.nnz()) +
                     " entries; take SELL or CSR, or raise max_padding (" +
                     to_string(OptionValue(options.max_padding)) + " places an entry and row)");
  const auto offsets = allocate<Vector<int, Space>>(space, "prekond::dia::offsets", diagonals.count);
  Kokkos::parallel_for("prekond::dia::list_diagonals", Range<Space>(space, 0, diagonals.marks.extent(0)),
                       ListDiagonals<Space>{diagonals.marks, diagonals.places, offsets, pattern.num_rows});
  space.fence("prekond::dia::offsets");  // before the marks go away
  return offsets;
}

template <class Space>
JaggedDiagonals<Space> jagged_diagonals(const Space& space, const CsrGraphView<Space>& pattern) {
  const std::int64_t n = pattern.num_rows;
  const auto keys = allocate<Vector<Key, Space>>(space, "prekond::jad::keys", n);
  Kokkos::parallel_for("prekond::jad::keys", Range<Space>(space, 0, n), MakeKeys<Space>{pattern, keys});
  Kokkos::sort(space, keys);
  JaggedDiagonals<Space> result;
  result.rows = allocate<Vector<int, Space>>(space, "prekond::jad::rows", n);
  Key first = Key(0xffffffffu) << 32;
  if (n > 0) Kokkos::deep_copy(space, first, Kokkos::subview(keys, 0));
  space.fence("prekond::jad::longest");
  const std::int64_t longest = 0xffffffffu - static_cast<unsigned>(first >> 32);
  const auto lengths = allocate<Vector<int, Space>>(space, "prekond::jad::lengths", longest);
  Kokkos::parallel_for("prekond::jad::read_keys", Range<Space>(space, 0, n),
                       ReadKeys<Space>{keys, result.rows, lengths});
  result.diagonal_ptrs =
      scan_row_lengths(space, "prekond::jad::diagonals", longest, VectorView<const int, Space>(lengths))
          .first;
  space.fence("prekond::jad::layout");
  return result;
}

#define PREKOND_FORMAT_LAYOUTS(Space)                                                                    \
  template Diagonals<Space> mark_diagonals(const Space&, const CsrGraphView<Space>&);                    \
  template Vector<int, Space> diagonal_offsets(const Space&, const CsrGraphView<Space>&,                 \
                                               const Diagonals<Space>&, std::size_t, const DiaOptions&); \
  template JaggedDiagonals<Space> jagged_diagonals(const Space&, const CsrGraphView<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_FORMAT_LAYOUTS)

}  // namespace impl::formats

template <class Space>
std::int64_t count_diagonals(const Space& space, const CsrGraphView<Space>& pattern) {
  return static_cast<std::int64_t>(impl::formats::mark_diagonals(space, pattern).count);
}

#define PREKOND_COUNT_DIAGONALS(Space) \
  template std::int64_t count_diagonals(const Space&, const CsrGraphView<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_COUNT_DIAGONALS)

}  // namespace prekond
