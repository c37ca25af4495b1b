// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The Cuthill-McKee order a level at a time. The rows of a level stand in the order in which the sequential
/// search numbers them; each of their neighbours without a number belongs to the first of them that has it,
/// and stands in the next level by the place of that one and then by rank. So the order is the sequential
/// one.
#include <Kokkos_Core.hpp>

#include "core/concurrent_words.hpp"
#include "core/row_teams.hpp"
#include "pattern/reordering/cuthill_mckee.hpp"

#include <limits>

namespace prekond::reordering {

/// Where a device gives up for the host: where levels have so few rows that their four kernels and the wait
/// for a count take longer than a host thread does with the rows. Estimates, not measured.
struct LevelSearchTuning {
  static constexpr std::int64_t trial_levels = 256;
  static constexpr std::int64_t least_rows = 1000;  ///< of a level, in the mean
};

/// A row is claimed by the number of a search and, in it, the place of the row that it was reached from.
/// Later searches have smaller claims, and earlier places too; a claim of `unclaimed` is none.
struct Claim {
  static constexpr std::uint64_t unclaimed = ~std::uint64_t(0);
  KOKKOS_FUNCTION static std::uint64_t of_root(std::uint32_t search) { return std::uint64_t(~search) << 32; }
  KOKKOS_FUNCTION static std::uint64_t from(std::uint32_t search, std::int64_t place) {
    return of_root(search) | static_cast<std::uint64_t>(place + 1);
  }
};

/// One level of a search: the rows `order(begin)` to `order(end - 1)`.
template <class Space>
struct Level {
  CsrGraphView<Space> graph;
  VectorView<int, Space> order;
  VectorView<std::uint64_t, Space> claims;
  VectorView<int, Space> children;  ///< of the rows of the level; then where they begin
  std::uint32_t search;
  std::int64_t begin, end;

  using Rows = impl::RowTeams<Space>;

  /// Calls body(place in the level, row, first entry, entries).
  template <class Body>
  KOKKOS_FUNCTION void for_each_row(const typename Rows::Member& team, const Body& body) const {
    Rows{end - begin}.for_each_row(team, [&](std::int64_t q) {
      const int row = order(begin + q);
      const std::size_t first = graph.row_ptrs(row);
      body(q, first, static_cast<int>(graph.row_ptrs(row + 1) - first));
    });
  }
  KOKKOS_FUNCTION std::uint64_t claim(std::int64_t q) const { return Claim::from(search, begin + q); }
};

template <class Space>
struct ClaimNeighbours {
  Level<Space> level;
  KOKKOS_FUNCTION void operator()(const typename Level<Space>::Rows::Member& team) const {
    level.for_each_row(team, [&](std::int64_t q, std::size_t first, int length) {
      const std::uint64_t mine = level.claim(q);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, length), [&](int k) {
        std::uint64_t& claim = level.claims(level.graph.col_idxs(first + static_cast<std::size_t>(k)));
        if (impl::concurrent_load(claim) > mine) Kokkos::atomic_min(&claim, mine);
      });
    });
  }
};

template <class Space>
struct CountChildren {
  Level<Space> level;
  KOKKOS_FUNCTION void operator()(const typename Level<Space>::Rows::Member& team) const {
    level.for_each_row(team, [&](std::int64_t q, std::size_t first, int length) {
      const std::uint64_t mine = level.claim(q);
      int count = 0;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, length),
          [&](int k, int& sum) {
            sum += level.claims(level.graph.col_idxs(first + static_cast<std::size_t>(k))) == mine;
          },
          count);
      Kokkos::single(Kokkos::PerThread(team), [&] { level.children(q) = count; });
    });
  }
};

template <class Space>
struct ScanChildren {
  using value_type = std::int64_t;
  VectorView<int, Space> children;
  KOKKOS_FUNCTION void operator()(std::int64_t q, std::int64_t& sum, bool final) const {
    const int count = children(q);
    if (final) children(q) = static_cast<int>(sum);
    sum += count;
  }
};

template <class Space>
struct ListChildren {
  Level<Space> level;
  KOKKOS_FUNCTION void operator()(const typename Level<Space>::Rows::Member& team) const {
    level.for_each_row(team, [&](std::int64_t q, std::size_t first, int length) {
      const std::uint64_t mine = level.claim(q);
      const std::int64_t begin = level.end + level.children(q);
      Kokkos::parallel_scan(Kokkos::ThreadVectorRange(team, length), [&](int k, int& place, bool final) {
        const int col = level.graph.col_idxs(first + static_cast<std::size_t>(k));
        if (level.claims(col) != mine) return;
        if (final) level.order(begin + place) = col;
        ++place;
      });
    });
  }
};

template <class Space>
struct PlaceRoot {
  VectorView<int, Space> order;
  VectorView<std::uint64_t, Space> claims;
  std::uint32_t search;
  std::int64_t first;
  int root;
  KOKKOS_FUNCTION void operator()(int) const {
    order(first) = root;
    claims(root) = Claim::of_root(search);
  }
};

/// The least row that no search has claimed.
template <class Space>
struct FirstUnclaimed {
  VectorView<const std::uint64_t, Space> claims;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& least) const {
    if (claims(i) == Claim::unclaimed && i < least) least = i;
  }
};

/// Rank and row of that of least rank.
template <class Space>
struct LeastRank {
  VectorView<const int, Space> order;
  VectorView<const int, Space> rank;
  KOKKOS_FUNCTION void operator()(std::int64_t q, std::uint64_t& least) const {
    const int row = order(q);
    const std::uint64_t mine =
        std::uint64_t(static_cast<unsigned>(rank(row))) << 32 | static_cast<unsigned>(row);
    if (mine < least) least = mine;
  }
};

/// The searches of all components.
template <class Space>
class LevelSearch {
 public:
  /// `order`: num_rows, what is filled
  LevelSearch(const Space& space, const RankedGraph<Space>& ranked, const Vector<int, Space>& order)
      : m_space(space),
        m_ranked(ranked),
        m_order(order),
        m_claims(
            allocate<Vector<std::uint64_t, Space>>(space, "prekond::reordering::claims", order.extent(0))),
        m_children(allocate<Vector<int, Space>>(space, "prekond::reordering::children", order.extent(0))) {}

  /// Fills the order, not reversed. Where it may give up: false as soon as the levels turn out to be narrow.
  bool operator()(bool may_give_up) {
    m_may_give_up = may_give_up;
    Kokkos::deep_copy(m_space, m_claims, Claim::unclaimed);
    const std::int64_t n = m_ranked.graph.num_rows;
    for (std::int64_t start = 0; m_first < n; ++start) {
      start = first_unclaimed(start);
      add_component(static_cast<int>(start));
      if (gives_up()) return false;
    }
    return true;
  }

 private:
  using Range = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  struct Levels {
    std::int64_t count, last, end;
  };

  bool gives_up() const {
    return m_may_give_up && m_levels >= LevelSearchTuning::trial_levels &&
           m_rows < LevelSearchTuning::least_rows * m_levels;
  }

  void add_component(int start) {
    Levels found = search(start);
    for (bool deeper = found.count > 1; deeper;) {
      const Levels next = search(of_least_rank(found));
      deeper = next.count > found.count;
      found = next;
    }
    m_first = found.end;
  }

  Levels search(int root);
  std::int64_t next_level(const Level<Space>& level);

  std::int64_t first_unclaimed(std::int64_t from) const {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    Kokkos::parallel_reduce("prekond::reordering::first_unclaimed", Range(m_space, from, m_order.extent(0)),
                            FirstUnclaimed<Space>{m_claims}, Kokkos::Min<std::int64_t>(least));
    return least;
  }

  int of_least_rank(const Levels& levels) const {
    std::uint64_t least = 0;
    Kokkos::parallel_reduce("prekond::reordering::least_rank", Range(m_space, levels.last, levels.end),
                            LeastRank<Space>{m_order, m_ranked.rank}, Kokkos::Min<std::uint64_t>(least));
    return static_cast<int>(least & 0xffffffffu);
  }

  Space m_space;
  RankedGraph<Space> m_ranked;
  Vector<int, Space> m_order;
  Vector<std::uint64_t, Space> m_claims;
  Vector<int, Space> m_children;
  std::uint32_t m_search = 0;
  std::int64_t m_first = 0;               ///< rows of the components before
  std::int64_t m_levels = 0, m_rows = 0;  ///< of all searches
  bool m_may_give_up = false;
};

/// The rows of the next level.
template <class Space>
std::int64_t LevelSearch<Space>::next_level(const Level<Space>& level) {
  const std::int64_t size = level.end - level.begin;
  const std::int64_t entries = size * (level.graph.nnz() / level.graph.num_rows + 1);
  const auto policy = impl::RowTeams<Space>::policy(m_space, size, entries);
  Kokkos::parallel_for("prekond::reordering::claim_neighbours", policy, ClaimNeighbours<Space>{level});
  Kokkos::parallel_for("prekond::reordering::count_children", policy, CountChildren<Space>{level});
  std::int64_t count = 0;
  Kokkos::parallel_scan("prekond::reordering::scan_children", Range(m_space, 0, size),
                        ScanChildren<Space>{level.children}, count);
  if (count > 0)
    Kokkos::parallel_for("prekond::reordering::list_children", policy, ListChildren<Space>{level});
  return count;
}

template <class Space>
typename LevelSearch<Space>::Levels LevelSearch<Space>::search(int root) {
  ++m_search;
  Kokkos::parallel_for("prekond::reordering::place_root", Kokkos::RangePolicy<Space>(m_space, 0, 1),
                       PlaceRoot<Space>{m_order, m_claims, m_search, m_first, root});
  Level<Space> level{m_ranked.graph, m_order, m_claims, m_children, m_search, m_first, m_first + 1};
  for (std::int64_t count = 1;; ++count) {
    m_rows += level.end - level.begin;
    ++m_levels;
    if (gives_up()) return {0, level.begin, level.end};
    const std::int64_t next = next_level(level);
    if (next == 0) return {count, level.begin, level.end};
    level.begin = level.end;
    level.end += next;
  }
}

}  // namespace prekond::reordering
