// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "symmetry_of_parts.hpp"

#include <prekond/matrix/validate.hpp>
#include "matrix/find_entry.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "matrix/row_search.hpp"
#include "matrix/spd_text.hpp"

namespace prekond::driver {
namespace {

using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
using First = Kokkos::Min<std::int64_t>;
constexpr std::int64_t none = Processes::no_key;

/// The diagonal of the rows, 0 where it is not stored, and the first row where it is not positive.
struct CopyDiagonal {
  CsrView<double, Space> a;
  VectorView<double, Space> diagonal;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& first) const {
    std::size_t place = 0;
    diagonal(i) = find_entry(a, i, i, place);
    if (!(diagonal(i) > 0) && i < first) first = i;
  }
};

/// Some rows of others: those of the columns [begin, end).
struct Mirrors {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<const std::int64_t, Space> col_idxs;
  VectorView<const double, Space> values;

  KOKKOS_FUNCTION double find(std::int64_t col, std::int64_t number, bool& found) const {
    std::size_t k = row_ptrs(col - begin), last = row_ptrs(col - begin + 1);
    const std::size_t row_end = last;
    while (k < last) {
      const std::size_t middle = k + (last - k) / 2;
      if (col_idxs(middle) < number)
        k = middle + 1;
      else
        last = middle;
    }
    found = k < row_end && col_idxs(k) == number;
    return found ? values(k) : 0;
  }
};

/// An entry that differs from its mirror, and the mirror.
struct Pair {
  double value = 0;
  double mirror = 0;
  bool has_mirror = false;
};

/// The first entry, by row and then by the number of the column, that differs from its mirror: row 2^31 +
/// number. In the first turn entries between own rows are looked at too.
struct ComparePairs {
  CsrView<double, Space> a;
  VectorView<const std::int64_t, Space> numbers;
  VectorView<const double, Space> diagonal;  // of all columns
  Mirrors mirrors;
  bool with_own = false;

  KOKKOS_FUNCTION static std::int64_t key(std::int64_t row, std::int64_t number) {
    return row << 31 | number;
  }
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& first) const {
    for (std::size_t k = a.row_ptrs(i); k < a.row_ptrs(i + 1); ++k) {
      const std::int64_t place = key(i, numbers(a.col_idxs(k)));
      if (place < first && is_looked_at(a.col_idxs(k)) && !is_symmetric(i, k)) first = place;
    }
  }
  KOKKOS_FUNCTION bool is_looked_at(std::int64_t col) const {
    return col < a.num_rows ? with_own : col >= mirrors.begin && col < mirrors.end;
  }
  KOKKOS_FUNCTION bool is_symmetric(std::int64_t i, std::size_t k) const {
    const Pair pair = pair_of(i, k);
    return impl::is_symmetric_pair(pair.value, pair.mirror,
                                   impl::diagonal_scale(diagonal(i), diagonal(a.col_idxs(k))),
                                   symmetry_tolerance<double>);
  }
  KOKKOS_FUNCTION Pair pair_of(std::int64_t i, std::size_t k) const {
    const std::int64_t col = a.col_idxs(k);
    Pair pair;
    pair.value = a.values(k);
    if (col < a.num_rows) {
      std::size_t place = 0;
      pair.mirror = find_entry(a, col, i, place);
      pair.has_mirror = place < a.row_ptrs(col + 1);
    } else {
      pair.mirror = mirrors.find(col, numbers(i), pair.has_mirror);
    }
    return pair;
  }
};

/// Reads a pair whose key is known.
struct ReadPair {
  ComparePairs compare;
  std::int64_t key;
  Vector<Pair, Space> pair;
  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    const std::int64_t i = key >> 31;
    for (std::size_t k = compare.a.row_ptrs(i); k < compare.a.row_ptrs(i + 1); ++k)
      if (ComparePairs::key(i, compare.numbers(compare.a.col_idxs(k))) == key)
        pair(0) = compare.pair_of(i, k);
  }
};

/// What a process finds in its rows.
struct Found {
  std::int64_t row = none;  ///< its number in the whole matrix
  std::string text;
};

std::string value_text(double value) {
  return impl::number_text<double>(value, 0);
}

class SymmetryOfParts {
 public:
  SymmetryOfParts(const Space& space, const Processes& processes, const ProblemMatrix<double>& a)
      : m_space(space), m_processes(processes), m_rows(a.rows), m_matrix(*a.distributed) {}

  SymmetryFacts operator()(std::int64_t rows_at_a_time) {
    m_processes.together([&] {
      m_numbers = m_matrix.global_numbers(m_space);
      m_diagonal = allocate<Vector<double, Space>>(m_space, "prekond::driver::diagonal", m_rows.num_cols);
    });
    const Found diagonal = check_diagonal();
    const std::int64_t others = m_rows.num_cols - m_rows.num_rows;
    const std::int64_t own_turns = (others + rows_at_a_time - 1) / rows_at_a_time;
    const auto turns = static_cast<std::int64_t>(m_processes.max(static_cast<double>(own_turns)));
    for (std::int64_t turn = 0; turn < std::max<std::int64_t>(1, turns); ++turn)
      compare(std::min(others, turn * rows_at_a_time), std::min(others, (turn + 1) * rows_at_a_time),
              turn == 0);
    const Found pair = first_pair();
    SymmetryFacts facts;
    const std::string asymmetry = m_processes.text_of_least(pair.row, pair.text);
    facts.symmetric = asymmetry.empty();
    facts.not_spd = m_processes.text_of_least(diagonal.row, diagonal.text);
    if (facts.not_spd.empty()) facts.not_spd = asymmetry;
    return facts;
  }

 private:
  /// All: copies the diagonal of all columns.
  Found check_diagonal() {
    Found found;
    Vector<double, Space> own;
    m_processes.together([&] {
      own = allocate<Vector<double, Space>>(m_space, "prekond::driver::diagonal", m_rows.num_rows);
      std::int64_t first = none;
      Kokkos::parallel_reduce("prekond::driver::copy_diagonal", Rows(m_space, 0, m_rows.num_rows),
                              CopyDiagonal{m_rows, own}, First(first));
      if (m_rows.num_rows == 0 || first == none) return;
      found.row = m_matrix.global_number(first);
      found.text = impl::bad_diagonal_text<double>(found.row, diagonal_text(first));
    });
    m_matrix.column_import().apply(m_space, as_multivector(Vector<const double, Space>(own)),
                                   as_multivector(m_diagonal));
    return found;
  }

  std::string diagonal_text(std::int64_t row) const {
    const auto row_ptrs = Kokkos::create_mirror_view_and_copy(
        Kokkos::HostSpace{}, Kokkos::subview(m_rows.row_ptrs, Kokkos::make_pair(row, row + 2)));
    const auto entries = Kokkos::make_pair(row_ptrs(0), row_ptrs(1));
    const auto cols =
        Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, Kokkos::subview(m_rows.col_idxs, entries));
    const auto values =
        Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, Kokkos::subview(m_rows.values, entries));
    for (std::size_t k = 0; k < cols.extent(0); ++k)
      if (cols(k) == row) return value_text(values(k));
    return "missing";
  }

  /// All: with the mirrors in the rows of the others [begin, end).
  void compare(std::int64_t begin, std::int64_t end, bool with_own) {
    const std::int64_t first_other = m_rows.num_rows;
    const auto remote = m_matrix.remote_rows(
        m_space, Kokkos::subview(m_numbers, Kokkos::make_pair(first_other + begin, first_other + end)));
    m_processes.together([&] {
      const ComparePairs pairs{
          m_rows, m_numbers, m_diagonal,
          Mirrors{first_other + begin, first_other + end, remote.row_ptrs, remote.col_idxs, remote.values},
          with_own};
      std::int64_t key = none;
      Kokkos::parallel_reduce("prekond::driver::compare_pairs", Rows(m_space, 0, m_rows.num_rows), pairs,
                              First(key));
      if (m_rows.num_rows == 0 || key >= m_key) return;
      m_key = key;
      m_pair = read(pairs, key);
    });
  }

  Pair read(const ComparePairs& pairs, std::int64_t key) const {
    const auto pair = allocate_zero<Vector<Pair, Space>>(m_space, "prekond::driver::pair", 1);
    Kokkos::parallel_for("prekond::driver::read_pair", Rows(m_space, 0, 1), ReadPair{pairs, key, pair});
    m_space.fence("prekond::driver::read_pair");
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, pair)(0);
  }

  Found first_pair() const {
    if (m_key == none) return {};
    const std::int64_t row = m_matrix.global_number(m_key >> 31), col = m_key & ((std::int64_t(1) << 31) - 1);
    return {row, impl::asymmetry_text<double>(row, col, value_text(m_pair.value),
                                              m_pair.has_mirror ? value_text(m_pair.mirror) : "missing (0)")};
  }

  const Space& m_space;
  const Processes& m_processes;
  CsrView<double, Space> m_rows;
  const DistributedMatrix<double, Space>& m_matrix;
  Vector<const std::int64_t, Space> m_numbers;
  Vector<double, Space> m_diagonal;  ///< of all columns
  std::int64_t m_key = none;         ///< of the first pair so far
  Pair m_pair;
};

}  // namespace

SymmetryFacts symmetry_of_parts(const Space& space, const Processes& processes,
                                const ProblemMatrix<double>& a, std::int64_t rows_at_a_time) {
  return SymmetryOfParts(space, processes, a)(rows_at_a_time);
}

}  // namespace prekond::driver
