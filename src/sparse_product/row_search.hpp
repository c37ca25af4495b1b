// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Rows of a pattern, each by its own breadth-first search: those of a power, of the fill of an incomplete
/// factorisation, and of a product.
#include <prekond/matrix/sort_rows.hpp>
#include "core/concurrency.hpp"
#include "core/concurrent_words.hpp"
#include "core/lane_group.hpp"
#include "sparse_product/column_set.hpp"

#include "sparse_product/listed_rows.hpp"

#include <algorithm>
#include <string>
#include <type_traits>

namespace prekond::impl::row_search {

struct Tuning {
  static constexpr int lanes_of_short_rows = 8;
  static constexpr int lanes_of_long_rows = 32;
  static constexpr int mean_length_of_long_rows = 12;  // below, half of 32 lanes idle, as in sort_rows
  static constexpr int team_lanes = 128;
  static constexpr int rows_per_fetch = 16;    // host threads take rows in groups
  static constexpr int bytes_per_column = 16;  // of a workspace: the column and up to three buckets
  static constexpr std::int64_t min_capacity = 16;
  static constexpr std::int64_t max_first_capacity = 4096;
};

/// Sizes of a search's workspace and where its arrays begin, in ints.
struct Layout {
  int capacity;  ///< columns it holds
  std::size_t cols, buckets, num_buckets, ints;

  static constexpr std::size_t count = 0;    ///< columns in the set
  static constexpr std::size_t written = 1;  ///< columns that went to the result
  static constexpr std::size_t fresh = 2;    ///< by lane, a column that is not in the set yet

  Layout(int columns, int lanes, bool hashed) : capacity(columns) {
    cols = fresh + static_cast<std::size_t>(lanes);
    buckets = cols + static_cast<std::size_t>(capacity);
    num_buckets = hashed ? HashedColumnSet<unsigned>::num_buckets(capacity) : 0;
    // Whole lines of a cache: threads do not share one.
    ints = (buckets + num_buckets + 31) / 32 * 32;
  }
};

/// The choice among the columns that k steps reach from row i: all; those up to i; or those above i, by ways
/// whose inner columns are all below i. For a product: those that one step along another pattern's row i and
/// one along S's rows reach.
enum class Part { lower, whole, fill, product };

/// Rows of the pattern by breadth-first search. Each vector of lanes owns a workspace and fetches row after
/// row: counts its columns or, where there is a result, writes them there, in any order.

template <class Space, int Lanes>
struct SearchRows {
  using Policy = Kokkos::TeamPolicy<Space>;
  using Member = typename Policy::member_type;
  using LaneGroup = NativeLaneGroup<Space, Member, Lanes>;
  using Set = std::conditional_t<is_host_space<Space>, MarkerColumnSet, HashedColumnSet<unsigned>>;

  CsrGraphView<Space> s;
  CsrGraphView<Space> first;  ///< of a product, the pattern of its left factor; else s
  int k;
  Part part;
  Layout layout;
  int num_rows;                            ///< to do
  VectorView<const int, Space> list;       ///< of them; none: all rows
  VectorView<int, Space> length;           ///< negative: the row outgrew its workspace
  std::size_t most = 0;                    ///< counting ends where `counted` is above it
  VectorView<std::size_t, Space> counted;  ///< of a count
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  VectorView<int, Space> workspaces;
  VectorView<int, Space> markers;    ///< num_columns() a workspace, zero
  VectorView<unsigned, Space> next;  ///< the next row to fetch

  KOKKOS_FUNCTION std::int64_t num_columns() const { return part == Part::product ? s.num_cols : s.num_rows; }

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const LaneGroup lane_group(team);
    const std::size_t unit =
        static_cast<std::size_t>(team.league_rank()) * team.team_size() + team.team_rank();
    int* base = workspaces.data() + layout.ints * unit;
    const Set set = make_set(base, unit);
    constexpr unsigned group = is_host_space<Space> ? Tuning::rows_per_fetch : 1;
    const unsigned rows = static_cast<unsigned>(num_rows);
    while (true) {
      unsigned r = 0;
      Kokkos::single(
          Kokkos::PerThread(team),
          [&](unsigned& mine) {
            mine = has_counted_enough() ? rows : Kokkos::atomic_fetch_add(&next(0), group);
          },
          r);
      if (r >= rows) break;
      for (const unsigned end = r + group; r < end && r < rows; ++r) {
        do_row(lane_group, set, base, list.extent(0) > 0 ? list(r) : static_cast<int>(r));
      }
    }
  }

  KOKKOS_FUNCTION bool has_counted_enough() const {
    return counted.extent(0) > 0 && concurrent_load(counted(0)) > most;
  }

  KOKKOS_FUNCTION Set make_set(int* base, std::size_t unit) const {
    const impl::ColumnList columns{base + layout.cols, nullptr, base + Layout::count, layout.capacity};
    if constexpr (Set::shared_insertion) {
      return Set(columns, reinterpret_cast<unsigned*>(base + layout.buckets), layout.num_buckets);
    } else {
      return Set(columns, markers.data() + unit * static_cast<std::size_t>(num_columns()));
    }
  }

  KOKKOS_FUNCTION void do_row(const LaneGroup& lane_group, const Set& set, int* base, int i) const {
    if (!search(lane_group, set, base + Layout::fresh, i)) {
      lane_group.once([&] { length(i) = -1; });
    } else if (col_idxs.extent(0) == 0) {
      count(lane_group, set, i);
    } else {
      write(lane_group, set, base + Layout::written, i);
    }
    set.release(lane_group);
  }

  /// Fills the set with the columns that k steps reach; false where there are more than it holds.
  KOKKOS_FUNCTION bool search(const LaneGroup& lane_group, const Set& set, int* fresh, int i) const {
    set.clear(lane_group);
    if (part == Part::product) return search_product(lane_group, set, fresh, i);
    lane_group.once([&] { set.insert(i); });
    // The set's list is in the order of insertion: what one step added is the next one's frontier.
    int begin = 0;
    int end = 1;
    for (int step = 1; step <= k && begin < end; ++step) {
      // Nothing follows the last step: of a lower triangle, columns above the diagonal are useless
      // now, and those below it for fill.
      const int limit = step == k && part == Part::lower ? i : static_cast<int>(s.num_rows);
      for (int slot = begin; slot < end; ++slot) {
        const int j = set.cols[slot];
        if (part == Part::fill && j > i) continue;
        if (!visit(lane_group, set, fresh, j, step == k && part == Part::fill ? i + 1 : 0, limit))
          return false;
      }
      begin = end;
      end = set.size();
    }
    return true;
  }

  KOKKOS_FUNCTION bool search_product(const LaneGroup& lane_group, const Set& set, int* fresh, int i) const {
    const int limit = static_cast<int>(s.num_cols);
    for (std::size_t entry = first.row_ptrs(i); entry < first.row_ptrs(i + 1); ++entry)
      if (!visit(lane_group, set, fresh, first.col_idxs(entry), 0, limit)) return false;
    return true;
  }

  /// Adds the columns of row j from `begin` on below `limit`. They are distinct: once all lanes have looked
  /// theirs up, all insert.
  KOKKOS_FUNCTION bool visit(const LaneGroup& lane_group, const Set& set, int* fresh, int j, int begin,
                             int limit) const {
    const std::size_t end = s.row_ptrs(j + 1);
    for (std::size_t from = begin > 0 ? s.first_from(j, begin) : s.row_ptrs(j);
         from < end && s.col_idxs(from) < limit; from += LaneGroup::width) {
      lane_group.region([&](int lane) {
        const int col = from + lane < end ? s.col_idxs(from + lane) : limit;
        fresh[lane] = col < limit && set.find(col).slot < 0 ? col : -1;
      });
      lane_group.region([&](int lane) {
        if (fresh[lane] >= 0) set.insert(fresh[lane]);
      });
      if (set.overflowed()) return false;
    }
    return true;
  }

  KOKKOS_FORCEINLINE_FUNCTION bool has(int col, int i) const {
    if (part == Part::whole || part == Part::product) return true;
    return part == Part::lower ? col <= i : col > i;
  }

  KOKKOS_FUNCTION void count(const LaneGroup& lane_group, const Set& set, int i) const {
    const int wanted = lane_group.template sum<int>([&](int lane) {
      int mine = 0;
      for (int slot = lane; slot < set.size(); slot += LaneGroup::width) mine += has(set.cols[slot], i);
      return mine;
    });
    lane_group.once([&] {
      length(i) = wanted;
      if (counted.extent(0) > 0) Kokkos::atomic_add(&counted(0), static_cast<std::size_t>(wanted));
    });
  }

  KOKKOS_FUNCTION void write(const LaneGroup& lane_group, const Set& set, int* written, int i) const {
    const std::size_t begin = row_ptrs(i);
    lane_group.once([&] {
      *written = 0;
      length(i) = 0;
    });
    lane_group.region([&](int lane) {
      for (int slot = lane; slot < set.size(); slot += LaneGroup::width) {
        if (!has(set.cols[slot], i)) continue;
        int place = 0;
        if constexpr (Set::shared_insertion) {
          place = Kokkos::atomic_fetch_add(written, 1);
        } else {
          place = (*written)++;
        }
        col_idxs(begin + place) = set.cols[slot];
      }
    });
  }
};

/// The launches of both passes.
template <class Space, int Lanes>
class Search {
 public:
  using Kernel = SearchRows<Space, Lanes>;
  static constexpr bool host = is_host_space<Space>;

  /// `name` begins the labels.
  Search(const Space& space, const std::string& name, std::int64_t slab_bytes)
      : m_space(space),
        m_name(name),
        m_slab_bytes(slab_bytes),
        m_next(allocate<Vector<unsigned, Space>>(space, name + "::next", 1)) {}

  static Layout layout(int capacity) { return Layout(capacity, Lanes, Kernel::Set::shared_insertion); }

  /// A first guess of what most rows reach: 252 where 180 are reached for k = 5 on a 7-point mesh, 448 where
  /// 234 are for k = 3 on a 27-point one. Random graphs grow faster.
  int first_capacity(const Kernel& kernel) const {
    const CsrGraphView<Space>&s = kernel.s, &left = kernel.first;
    const std::int64_t mean = s.nnz() / std::max<std::int64_t>(1, s.num_rows) + 1;
    const std::int64_t reach = std::min(kernel.k, 63) + 1;
    const std::int64_t wanted =
        kernel.part == Part::product ? mean * (left.nnz() / left.num_rows + 1) : mean * reach * reach;
    const std::int64_t affordable = m_slab_bytes / Tuning::bytes_per_column;
    const std::int64_t first =
        std::clamp(std::min(wanted, affordable), Tuning::min_capacity, Tuning::max_first_capacity);
    return static_cast<int>(std::min(first, std::max<std::int64_t>(1, kernel.num_columns())));
  }

  /// All rows, and then those that outgrew their workspace in larger ones, until none is left, or enough
  /// entries are counted.
  void run(Kernel kernel, const std::string& label) {
    const std::int64_t n = kernel.first.num_rows;
    kernel.layout = layout(first_capacity(kernel));
    kernel.num_rows = static_cast<int>(n);
    run_in_slab(kernel, label);
    while (counted(kernel) <= kernel.most) {
      const auto list = list_rows(m_space, m_name + "::outgrown", n, HasNoLength<Space>{kernel.length});
      const int left = static_cast<int>(list.extent(0));
      if (left == 0) break;
      kernel.layout = layout(
          static_cast<int>(std::min<std::int64_t>(4ll * kernel.layout.capacity, kernel.num_columns())));
      kernel.num_rows = left;
      kernel.list = list;
      run_in_slab(kernel, label);
    }
  }

  /// The entries of the rows that are counted. Fences.
  std::size_t counted(const Kernel& kernel) const {
    std::size_t result = 0;
    if (kernel.counted.extent(0) == 0) return result;
    Kokkos::deep_copy(m_space, Kokkos::View<std::size_t, Kokkos::HostSpace>(&result),
                      Kokkos::subview(kernel.counted, 0));
    m_space.fence(m_name + "::counted");
    return result;
  }

  /// Each vector of lanes has its own workspace; on a device there are as many as the budget allows.
  void run_in_slab(Kernel kernel, const std::string& label) {
    const std::int64_t bytes = static_cast<std::int64_t>(kernel.layout.ints * sizeof(int));
    const std::int64_t busy = std::max<std::int64_t>(1, concurrency(m_space) / (host ? 1 : Lanes));
    const std::int64_t affordable = host ? busy : std::max<std::int64_t>(1, m_slab_bytes / bytes);
    const std::int64_t wanted = std::min({busy, affordable, static_cast<std::int64_t>(kernel.num_rows)});
    const int team = host ? 1 : static_cast<int>(std::min<std::int64_t>(wanted, Tuning::team_lanes / Lanes));
    const int league = static_cast<int>(wanted / team);
    const std::size_t units = static_cast<std::size_t>(league) * team;
    auto workspaces =
        allocate<Vector<int, Space>>(m_space, m_name + "::workspaces", kernel.layout.ints * units);
    if constexpr (host) {
      const std::size_t markers = units * static_cast<std::size_t>(kernel.num_columns());
      if (m_markers.extent(0) < markers)
        m_markers = allocate_zero<Vector<int, Space>>(m_space, m_name + "::markers", markers);
    }
    kernel.workspaces = workspaces;
    kernel.markers = m_markers;
    kernel.next = m_next;
    Kokkos::deep_copy(m_space, m_next, 0u);
    Kokkos::parallel_for(m_name + label, typename Kernel::Policy(m_space, league, team, Lanes), kernel);
  }

 private:
  Space m_space;
  std::string m_name;
  std::int64_t m_slab_bytes;
  Vector<unsigned, Space> m_next;
  Vector<int, Space> m_markers;
};

/// The rows that `check(nnz, is_all)` has allowed: it throws where the result would be too large. Above
/// `most` entries the count ends, and `check(most, false)` throws. (The number that was counted until then
/// depends on the threads.)
template <int Lanes, class Space, class Check>
CsrGraph<Space> search_by_lanes(const Space& space, const std::string& name, const CsrGraphView<Space>& first,
                                const CsrGraphView<Space>& s, Part part, int k, std::int64_t slab_bytes,
                                std::size_t most, const Check& check) {
  const std::int64_t n = first.num_rows;
  Search<Space, Lanes> search(space, name, slab_bytes);
  auto length = allocate<Vector<int, Space>>(space, name + "::length", n);
  const auto counted = allocate_zero<Vector<std::size_t, Space>>(space, name + "::counted", 1);
  SearchRows<Space, Lanes> kernel{s,  first, k,  part, search.layout(0), 0, {}, length, most, counted, {},
                                  {}, {},    {}, {}};
  search.run(kernel, "::count_rows");
  if (search.counted(kernel) > most) check(most, false);
  const auto [row_ptrs, nnz] = scan_row_lengths(space, name, n, VectorView<const int, Space>(length));
  check(nnz, true);
  auto col_idxs = allocate<Vector<int, Space>>(space, name + "::col_idxs", nnz);
  kernel.row_ptrs = row_ptrs;
  kernel.col_idxs = col_idxs;
  kernel.counted = {};
  search.run(kernel, "::fill_rows");
  sort_columns<Space>(space, n, row_ptrs, col_idxs);
  return {n, kernel.num_columns(), row_ptrs, col_idxs};
}

/// For a product `first` is its left factor and s its right one. \pre s and `first` have rows; `check` throws
/// for more than `most` entries
template <class Space, class Check>
CsrGraph<Space> search_rows(const Space& space, const std::string& name, const CsrGraphView<Space>& first,
                            const CsrGraphView<Space>& s, Part part, int k, std::int64_t slab_bytes,
                            std::size_t most, const Check& check) {
  if constexpr (is_host_space<Space>) {
    return search_by_lanes<1>(space, name, first, s, part, k, slab_bytes, most, check);
  } else {
    constexpr int few = Tuning::lanes_of_short_rows, many = Tuning::lanes_of_long_rows;
    return s.nnz() / s.num_rows < Tuning::mean_length_of_long_rows
               ? search_by_lanes<few>(space, name, first, s, part, k, slab_bytes, most, check)
               : search_by_lanes<many>(space, name, first, s, part, k, slab_bytes, most, check);
  }
}
template <class Space, class Check>
CsrGraph<Space> search_rows(const Space& space, const std::string& name, const CsrGraphView<Space>& s,
                            Part part, int k, std::int64_t slab_bytes, std::size_t most, const Check& check) {
  return search_rows(space, name, s, s, part, k, slab_bytes, most, check);
}

}  // namespace prekond::impl::row_search
