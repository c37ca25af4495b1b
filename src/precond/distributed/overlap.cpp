// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/distributed/overlap.hpp"

#include <prekond/core/error.hpp>
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/sort_rows.hpp>
#include <prekond/precond/distributed_transpose.hpp>

#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"

namespace prekond::impl::distributed {
namespace {

/// sources(places(k)) = k, or ~k.
template <class Space>
void note_sources(const Space& space, const Vector<int, Space>& places, bool own,
                  const Vector<int, Space>& sources) {
  Kokkos::parallel_for(
      "prekond::distributed::note_sources", FlatPolicy<Space>(space, 0, places.extent(0)),
      KOKKOS_LAMBDA(std::int64_t k) { sources(places(k)) = static_cast<int>(own ? k : ~k); });
}

/// Is a row of the place's block of b rows this rank's? The rows of a block stand side by side.
template <class Space>
Vector<unsigned char, Space> wanted_places(const Space& space, const Numbers<Space>& numbers,
                                           const Vector<int, Space>& sources, int b) {
  const auto n = static_cast<std::int64_t>(numbers.extent(0));
  return vector_of<unsigned char>(
      space, "prekond::distributed::is_wanted", numbers.extent(0), KOKKOS_LAMBDA(std::int64_t place) {
        if (b == 1) return sources(place) >= 0;
        const std::int64_t block = numbers(place) / b;
        bool found = false;
        for (std::int64_t p = place; p >= 0 && numbers(p) / b == block; --p) found = found || sources(p) >= 0;
        for (std::int64_t p = place; p < n && numbers(p) / b == block; ++p) found = found || sources(p) >= 0;
        return found;
      });
}

/// The rows of S: own ones, and those fetched. The place of every entry's column is known.
template <class Scalar, class Space>
struct OverlapRows {
  VectorView<const int, Space> sources;
  CsrView<Scalar, Space> own;
  VectorView<const int, Space> own_columns;  ///< the place of each column of `own`
  VectorView<const int, Space> fetched;      ///< where a row of another rank stands among those fetched
  VectorView<const std::size_t, Space> remote_ptrs;
  VectorView<const int, Space> remote_columns;  ///< that of each entry
  VectorView<const Scalar, Space> remote_values;
  std::int64_t num_entries;  ///< of `own`
  bool has_all;              ///< columns of `own`

  KOKKOS_FUNCTION std::size_t begin(int source) const {
    return source >= 0 ? own.row_ptrs(source) : remote_ptrs(fetched(~source));
  }
  KOKKOS_FUNCTION std::size_t end(int source) const {
    return source >= 0 ? own.row_ptrs(source + 1) : remote_ptrs(fetched(~source) + 1);
  }
  KOKKOS_FUNCTION int column(int source, std::size_t k) const {  ///< negative: it is left out
    return source >= 0 ? own_columns(own.col_idxs(k)) : remote_columns(k);
  }
  /// The entry's value, or its origin, see GatherValues.
  template <class Payload>
  KOKKOS_FUNCTION Payload payload(int source, std::size_t k) const {
    if constexpr (std::is_same_v<Payload, Scalar>)
      return source >= 0 ? own.values(k) : remote_values(k);
    else
      return (source >= 0 ? 0 : num_entries) + static_cast<std::int64_t>(k);
  }
  KOKKOS_FUNCTION std::size_t operator()(std::int64_t place) const {  ///< the row's length in S
    const int source = sources(place);
    if (source >= 0 && has_all) return own.row_ptrs(source + 1) - own.row_ptrs(source);
    std::size_t length = 0;
    for (std::size_t k = begin(source); k < end(source); ++k) length += column(source, k) >= 0;
    return length;
  }
};

/// The entries of S, and of each `Payload` what `rows` says: its value, or where it comes from, see
/// GatherValues. A vector of lanes for a row of which none are left out, one lane for others.
template <class Scalar, class Space, class Payload>
struct FillOverlap {
  OverlapRows<Scalar, Space> rows;
  std::int64_t num_rows;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  VectorView<Payload, Space> payloads;
  KOKKOS_FUNCTION void operator()(const typename RowTeams<Space>::Member& team) const {
    RowTeams<Space>{num_rows}.for_each_row(team, [&](std::int64_t place) {
      const int source = rows.sources(place);
      const std::size_t begin = rows.begin(source), length = rows.end(source) - begin, to = row_ptrs(place);
      if (row_ptrs(place + 1) - to == length) {
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, length), [&](std::size_t k) {
          col_idxs(to + k) = rows.column(source, begin + k);
          payloads(to + k) = rows.template payload<Payload>(source, begin + k);
        });
        return;
      }
      Kokkos::single(Kokkos::PerThread(team), [&] {
        std::size_t at = to;
        for (std::size_t k = begin; k < begin + length; ++k) {
          const int column = rows.column(source, k);
          if (column < 0) continue;
          col_idxs(at) = column;
          payloads(at++) = rows.template payload<Payload>(source, k);
        }
      });
    });
  }
};

/// Fills the rows of S in the order of their columns.
template <class Scalar, class Space, class Payload>
void fill_overlap(const Space& space, const OverlapRows<Scalar, Space>& rows,
                  const CsrMatrix<Payload, int, std::size_t, typename Space::memory_space>& to) {
  if (to.num_rows > 0)
    Kokkos::parallel_for(
        "prekond::distributed::fill_overlap", RowTeams<Space>::policy(space, to.num_rows, to.nnz()),
        FillOverlap<Scalar, Space, Payload>{rows, to.num_rows, to.row_ptrs, to.col_idxs, to.values});
  sort_rows(space, to);
}

/// One after the other.
template <class T, class Space>
Vector<T, Space> joined(const Space& space, const std::vector<Vector<T, Space>>& lists) {
  if (lists.size() == 1) return lists.front();
  std::size_t size = 0;
  for (const auto& list : lists) size += list.extent(0);
  const auto all = allocate<Vector<T, Space>>(space, "prekond::distributed::joined", size);
  std::size_t begin = 0;
  for (const auto& list : lists) {
    Kokkos::deep_copy(space, Kokkos::subview(all, std::make_pair(begin, begin + list.extent(0))), list);
    begin += list.extent(0);
  }
  return all;
}

/// The row pointers of a list of rows after others, which have `rows` rows and `entries` entries.
template <class Space>
void shift_pointers(const Space& space, const Vector<std::size_t, Space>& from, std::size_t rows,
                    std::size_t entries, const Vector<std::size_t, Space>& to) {
  Kokkos::parallel_for(
      "prekond::distributed::shift_pointers", FlatPolicy<Space>(space, 0, from.extent(0)),
      KOKKOS_LAMBDA(std::int64_t i) { to(rows + i) = from(i) + entries; });
}

template <class Scalar, class Space>
RemoteRows<Scalar, Space> joined(const Space& space, const std::vector<RemoteRows<Scalar, Space>>& lists) {
  if (lists.size() == 1) return lists.front();
  RemoteRows<Scalar, Space> all;
  all.entry_size = lists.front().entry_size;
  std::vector<Numbers<Space>> columns;
  std::vector<Vector<Scalar, Space>> values;
  for (const auto& list : lists) {
    all.num_rows += list.num_rows;
    columns.push_back(list.col_idxs);
    values.push_back(list.values);
  }
  all.row_ptrs =
      allocate<Vector<std::size_t, Space>>(space, "prekond::distributed::joined::row_ptrs", all.num_rows + 1);
  std::size_t rows = 0, entries = 0;
  for (const auto& list : lists) {
    shift_pointers<Space>(space, list.row_ptrs, rows, entries, all.row_ptrs);
    rows += static_cast<std::size_t>(list.num_rows);
    entries += list.col_idxs.extent(0);
  }
  all.col_idxs = joined<std::int64_t, Space>(space, columns);
  all.values = joined<Scalar, Space>(space, values);
  space.fence("prekond::distributed::joined");  // the lists go away
  return all;
}

template <class T>
KOKKOS_FUNCTION bool has_bits_of(const T& x, const T& y) {
  if constexpr (is_complex<T>)
    return has_bits_of(x.real(), y.real()) && has_bits_of(x.imag(), y.imag());
  else if constexpr (sizeof(T) == sizeof(std::uint64_t))
    return Kokkos::bit_cast<std::uint64_t>(x) == Kokkos::bit_cast<std::uint64_t>(y);
  else
    return Kokkos::bit_cast<std::uint32_t>(x) == Kokkos::bit_cast<std::uint32_t>(y);
}

/// Own rows that are not the same in A[S, S].
template <class Scalar, class Space>
struct CountChangedRows {
  CsrView<Scalar, Space> own;
  VectorView<const int, Space> own_columns;  ///< the place of each column of `own`
  VectorView<const int, Space> own_places;
  CsrGraphView<Space> overlap;
  VectorView<const Scalar, Space> values;
  int size;  ///< values of an entry
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& count) const {
    const int place = own_places(i);
    const std::size_t end = overlap.row_ptrs(place + 1);
    std::size_t at = overlap.row_ptrs(place);
    bool is_same = own.row_ptrs(i + 1) - own.row_ptrs(i) == end - at;
    for (std::size_t k = own.row_ptrs(i); is_same && k < own.row_ptrs(i + 1); ++k, ++at) {
      const int column = own_columns(own.col_idxs(k));
      // Most entries stand in the same order.
      if (at >= end || overlap.col_idxs(at) != column)
        at = column < 0 ? end : overlap.first_from(place, column);
      is_same = at < end && overlap.col_idxs(at) == column;
      for (int e = 0; is_same && e < size; ++e)
        is_same = has_bits_of(own.values(k * size + e), values(at * size + e));
    }
    count += !is_same;
  }
};

/// The numbers of the columns, or of blocks of b of them.
template <class Scalar, class Space>
Vector<const std::int64_t, Space> numbers_of(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                                             int b) {
  const Vector<const std::int64_t, Space> numbers = a.global_numbers(space);
  if (b == 1) return numbers;
  const auto blocks = allocate<Numbers<Space>>(space, "prekond::distributed::blocks", numbers.extent(0) / b);
  Kokkos::parallel_for(
      "prekond::distributed::number_blocks", FlatPolicy<Space>(space, 0, blocks.extent(0)),
      KOKKOS_LAMBDA(std::int64_t k) { blocks(k) = numbers(k * b) / b; });
  space.fence("prekond::distributed::number_blocks");  // the columns' numbers go away
  return blocks;
}

/// Own rows, or block rows, whose entries have b^2 values.
template <class Scalar, class Space>
CsrView<Scalar, Space> own_of(const DistributedMatrix<Scalar, Space>& a, int b) {
  return b == 1 ? a.own_rows() : impl::rows_of<Scalar, Space>(a.own_blocks());
}
template <class Scalar, class Space>
RemoteRows<Scalar, Space> fetched_from(const Space& space, const DistributedMatrix<Scalar, Space>& a, int b,
                                       const Numbers<Space>& numbers) {
  return b == 1 ? a.remote_rows(space, numbers) : a.remote_blocks(space, numbers);
}

/// A copy of the numbers begin ... end - 1.
template <class Space>
Numbers<Space> part_of(const Space& space, const NumbersView<Space>& numbers, std::int64_t begin,
                       std::int64_t end) {
  const auto part = allocate<Numbers<Space>>(space, "prekond::distributed::numbers", end - begin);
  Kokkos::deep_copy(space, part, Kokkos::subview(numbers, std::make_pair(begin, end)));
  return part;
}

}  // namespace

template <class Scalar, class Space>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> rows_at_places(
    const Space& space, const Vector<int, Space>& sources, const CsrView<Scalar, Space>& own,
    const Vector<int, Space>& columns_of_own, const Vector<int, Space>& rows_at,
    const RemoteRows<Scalar, Space>& fetched, const Vector<int, Space>& columns_of_fetched,
    std::int64_t num_cols) {
  const auto num_rows = static_cast<std::int64_t>(sources.extent(0));
  int least = 0;
  Kokkos::parallel_reduce(
      "prekond::distributed::least_column", FlatPolicy<Space>(space, 0, columns_of_own.extent(0)),
      KOKKOS_LAMBDA(std::int64_t k, int& sofar) {
        sofar = columns_of_own(k) < sofar ? columns_of_own(k) : sofar;
      },
      Kokkos::Min<int>(least));
  const OverlapRows<Scalar, Space> rows{
      sources,        own,       columns_of_own, rows_at, fetched.row_ptrs, columns_of_fetched,
      fetched.values, own.nnz(), least >= 0};
  const auto [row_ptrs, nnz] = scan_row_lengths(space, "prekond::distributed::overlap", num_rows, rows);
  const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> result(
      num_rows, num_cols, row_ptrs,
      allocate<Vector<int, Space>>(space, "prekond::distributed::overlap::col_idxs", nnz),
      allocate<Vector<Scalar, Space>>(space, "prekond::distributed::overlap::values",
                                      nnz * fetched.entry_size));
  if (fetched.entry_size == 1) {
    fill_overlap<Scalar, Space, Scalar>(space, rows, result);
  } else {
    const auto origins =
        allocate<Vector<std::int64_t, Space>>(space, "prekond::distributed::overlap::origins", nnz);
    fill_overlap<Scalar, Space, std::int64_t>(space, rows,
                                              {num_rows, num_cols, row_ptrs, result.col_idxs, origins});
    Kokkos::parallel_for("prekond::distributed::overlap::values",
                         FlatPolicy<Space>(space, 0, result.values.extent(0)),
                         GatherValues<Scalar, Space>{origins, own.values, fetched.values, own.nnz(),
                                                     fetched.entry_size, result.values});
  }
  space.fence("prekond::distributed::overlap");  // what was fetched goes away
  return result;
}

template <class Scalar, class Space>
bool numbers_from_zero(const Space& space, const DistributedMatrix<Scalar, Space>& a) {
  const auto numbers = a.global_numbers(space);
  const auto [least, most] =
      extremes_of<Space>(space, Kokkos::subview(numbers, std::make_pair(std::int64_t(0), a.num_rows())));
  const bool fits = a.num_rows() == 0 || (least >= 0 && most < a.num_global_rows());
  return a.largest(fits ? 0 : 1) == 0;
}

template <class Scalar, class Space>
Overlap<Scalar, Space>::Overlap(const Space& space, const Distributed& a, const RowReach& reach, int levels,
                                bool by_blocks)
    : m_block_size(by_blocks ? a.block_size() : 1) {
  if (reach.block_rows > 1 && !numbers_from_zero<Scalar, Space>(space, a))
    throw InputError("blocks of rows over several ranks need rows that are numbered 0, 1, ...");
  take(space, a, find_rows(space, a, reach, levels), reach.block_rows);
}

template <class Scalar, class Space>
Overlap<Scalar, Space>::Overlap(const Space& space, const Distributed& a) {
  a.together([&] {
    m_numbers = vector_of<std::int64_t>(space, "prekond::distributed::numbers", a.num_global_rows(),
                                        RowNumbers<Space>{});
    const auto own = part_of<Space>(space, a.global_numbers(space), 0, a.num_rows());
    sort_numbers(space, own);
    m_remote = new_numbers<Space>(space, m_numbers, own);
  });
  take(space, a, {{m_remote}, {a.remote_rows(space, m_remote)}}, 1);
}

template <class Scalar, class Space>
void Overlap<Scalar, Space>::take(const Space& space, const Distributed& a, const Fetched& fetched,
                                  int block_rows) {
  a.together([&] {
    if (num_rows() * m_block_size > std::numeric_limits<int>::max())
      throw InputError("this rank's rows and those of other ranks that its setup needs are " +
                       std::to_string(num_rows() * m_block_size) +
                       ", more than 31 bits count; use more ranks, or rank_overlap");
    const auto all = numbers_of<Scalar, Space>(space, a, m_block_size);
    number_places(space, part_of<Space>(space, all, 0, a.num_rows() / m_block_size), block_rows);
    assemble(space, a, fetched);
  });
}

/// \returns all rows of other ranks in S, level by level
template <class Scalar, class Space>
auto Overlap<Scalar, Space>::find_rows(const Space& space, const Distributed& a, const RowReach& reach,
                                       int levels) -> Fetched {
  const auto columns = numbers_of<Scalar, Space>(space, a, m_block_size);
  const int b = reach.block_rows;
  const auto blocks = [&](const Numbers<Space>& list) {
    return b > 1 ? whole_blocks<Space>(space, list, b, a.num_global_rows()) : list;
  };
  std::vector<std::unique_ptr<const Distributed>> transposed;
  if (reach.both_ways && levels > 0) transposed.push_back(distributed_transpose<Scalar, Space>(space, a));

  Numbers<Space> own, last;
  a.together([&] {
    own = part_of<Space>(space, columns, 0, a.num_rows() / m_block_size);
    sort_numbers(space, own);
    m_numbers = own;
    if (b > 1) last = new_numbers<Space>(space, blocks(own), own);
    if (last.extent(0) > 0) m_numbers = united<Space>(space, own, last);
  });
  Fetched fetched;
  const auto fetch_last = [&] {
    fetched.numbers.push_back(last);
    fetched.rows.push_back(fetched_from<Scalar, Space>(space, a, m_block_size, last));
  };
  for (int level = 1; level <= levels; ++level) {
    std::vector<Numbers<Space>> lists;
    const auto add_columns = [&](const Distributed& matrix, const auto& numbers, int size) {
      lists.push_back(part_of<Space>(space, numbers, matrix.num_rows() / size, matrix.num_cols() / size));
    };
    if (level == 1) add_columns(a, columns, m_block_size);
    if (level > 1 || b > 1) {
      fetch_last();
      lists.push_back(fetched.rows.back().col_idxs);
    }
    for (const auto& matrix : transposed) {
      if (level == 1) add_columns(*matrix, matrix->global_numbers(space), 1);
      if (level > 1 || b > 1) lists.push_back(matrix->remote_rows(space, last).col_idxs);
    }
    a.together([&] {
      last = new_numbers<Space>(space, blocks(joined<std::int64_t, Space>(space, lists)), m_numbers);
      m_numbers = united<Space>(space, m_numbers, last);
    });
    if (level < levels && a.largest(static_cast<double>(last.extent(0))) == 0) break;
  }
  fetch_last();
  a.together([&] { m_remote = new_numbers<Space>(space, m_numbers, own); });
  return fetched;
}

template <class Scalar, class Space>
void Overlap<Scalar, Space>::number_places(const Space& space, const NumbersView<Space>& own,
                                           int block_rows) {
  m_own_places = places_of<Space>(space, own, m_numbers);
  m_remote_places = places_of<Space>(space, m_remote, m_numbers);
  m_sources = allocate<Vector<int, Space>>(space, "prekond::distributed::sources", num_rows());
  note_sources<Space>(space, m_own_places, true, m_sources);
  note_sources<Space>(space, m_remote_places, false, m_sources);
  m_is_wanted = wanted_places<Space>(space, m_numbers, m_sources, block_rows);
}

template <class Scalar, class Space>
void Overlap<Scalar, Space>::fetch(const Space& space, const Distributed& a) {
  forget_matrix();  // where this fails there are no old values
  const Fetched fetched{{m_remote}, {fetched_from<Scalar, Space>(space, a, m_block_size, m_remote)}};
  a.together([&] { assemble(space, a, fetched); });
}

template <class Scalar, class Space>
void Overlap<Scalar, Space>::fetch_values(const Space& space, const Distributed& a) {
  forget_matrix();
  const bool is_first = m_came.row_ptrs.extent(0) == 0;
  if (!m_exchange) m_exchange = a.make_row_exchange(space, m_remote);
  m_came =
      m_exchange->fetch(space, {a.own_rows(), a.global_numbers(space)}, {}, is_first ? nullptr : &m_came);
  a.together([&] { assemble(space, a, {{m_remote}, {m_came}}); });
  m_came.values = {};
}

template <class Scalar, class Space>
bool Overlap<Scalar, Space>::is_up_to_date(const Space& space, const Distributed& a) const {
  bool is_same = false;
  a.together([&] { is_same = has_own_rows_of(space, a); });
  return a.largest(is_same ? 0 : 1) == 0;
}

template <class Scalar, class Space>
bool Overlap<Scalar, Space>::has_own_rows_of(const Space& space, const Distributed& a) const {
  const bool is_fetched = m_matrix.row_ptrs.extent(0) > 0;
  const CsrView<Scalar, Space> own = own_of<Scalar, Space>(a, m_block_size);
  if (!is_fetched || m_own_places.extent(0) != static_cast<std::size_t>(own.num_rows)) return false;
  const auto own_columns =
      places_of<Space>(space, numbers_of<Scalar, Space>(space, a, m_block_size), m_numbers);
  std::int64_t changed = 0;
  Kokkos::parallel_reduce("prekond::distributed::count_changed_rows",
                          FlatPolicy<Space>(space, 0, own.num_rows),
                          CountChangedRows<Scalar, Space>{own, own_columns, m_own_places, m_matrix,
                                                          m_matrix.values, m_block_size * m_block_size},
                          changed);
  return changed == 0;
}

template <class Scalar, class Space>
void Overlap<Scalar, Space>::assemble(const Space& space, const Distributed& a, const Fetched& fetched) {
  const RemoteRows<Scalar, Space> remote = joined<Scalar, Space>(space, fetched.rows);
  const auto rows_at = allocate<Vector<int, Space>>(space, "prekond::distributed::fetched", num_remote());
  const auto ranks = places_of<Space>(space, joined<std::int64_t, Space>(space, fetched.numbers), m_remote);
  note_sources<Space>(space, ranks, true, rows_at);
  const CsrView<Scalar, Space> own = own_of<Scalar, Space>(a, m_block_size);
  const auto columns = numbers_of<Scalar, Space>(space, a, m_block_size);
  const auto find = find_from<Space>(
      space, m_numbers,
      Kokkos::subview(columns, std::make_pair(std::int64_t(0), a.num_rows() / m_block_size)));
  const auto own_columns = places_by<Space>(space, columns, find),
             remote_columns = places_by<Space>(space, remote.col_idxs, find);
  m_matrix = rows_at_places<Scalar, Space>(space, m_sources, own, own_columns, rows_at, remote,
                                           remote_columns, num_rows());
  m_num_cut =
      (own.nnz() + static_cast<std::int64_t>(remote.col_idxs.extent(0)) - m_matrix.nnz()) * remote.entry_size;
  if (m_block_size > 1) m_order = a.own_blocks().order;
}

template <class Scalar, class Space>
std::pair<std::int64_t, std::int64_t> Overlap<Scalar, Space>::row_at(std::int64_t row) const {
  const std::int64_t b = m_block_size, within = row % b;
  int source = 0;
  std::int64_t number = 0;
  Kokkos::deep_copy(source, Kokkos::subview(m_sources, row / b));
  Kokkos::deep_copy(number, Kokkos::subview(m_numbers, row / b));
  return {source >= 0 ? source * b + within : ~(~source * b + within), number * b + within};
}

#define PREKOND_OVERLAP(Scalar, Space)                                                                       \
  template bool numbers_from_zero<Scalar, Space>(const Space&, const DistributedMatrix<Scalar, Space>&);     \
  template CsrMatrix<Scalar, int, std::size_t, Space::memory_space> rows_at_places(                          \
      const Space&, const Vector<int, Space>&, const CsrView<Scalar, Space>&, const Vector<int, Space>&,     \
      const Vector<int, Space>&, const RemoteRows<Scalar, Space>&, const Vector<int, Space>&, std::int64_t); \
  template class Overlap<Scalar, Space>;
PREKOND_INSTANTIATE(PREKOND_OVERLAP)

}  // namespace prekond::impl::distributed
