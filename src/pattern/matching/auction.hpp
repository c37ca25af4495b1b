// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>

#include "core/concurrent_words.hpp"
#include "core/row_teams.hpp"
#include "pattern/matching/costs.hpp"

namespace prekond::matching {

/// The state that the kernels of an auction share. Prices are those of columns, in units of 1 /
/// units_per_one.
template <class Space>
struct AuctionState {
  static constexpr double units_per_one = 1 << 20;
  static constexpr int missing = 2147483647;
  static constexpr int nobody = 2147483647;
  static constexpr std::int64_t nothing = 9223372036854775807;

  CsrGraphView<Space> graph;
  VectorView<int, Space> cost;  ///< of each entry, `missing` for one that is not there
  VectorView<std::int64_t, Space> price;
  VectorView<std::int64_t, Space> highest;  ///< the highest bid for a column, -1 between rounds
  VectorView<int, Space> winner;            ///< its smallest row, `nobody` between rounds
  VectorView<int, Space> column_of_row;
  VectorView<int, Space> row_of_column;
};

/// The least cost and price of a row, that of the next column, and the column: of equal ones that which comes
/// first on the way round from the diagonal.
struct Offer {
  std::int64_t least;
  std::int64_t next;
  int steps;  ///< from the diagonal, to the right and round
};

/// Joins offers of parts of a row.
template <class Space>
struct BestOffer {
  using reducer = BestOffer;
  using value_type = Offer;
  using result_view_type = Kokkos::View<Offer, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  KOKKOS_FUNCTION explicit BestOffer(Offer& result) : m_result(&result) {}

  KOKKOS_FUNCTION static void add(Offer& mine, const Offer& other) {
    const bool better = other.least < mine.least || (other.least == mine.least && other.steps < mine.steps);
    const std::int64_t passed = better ? mine.least : other.least;
    const std::int64_t next = better ? other.next : mine.next;
    mine.next = passed < next ? passed : next;
    if (!better) return;
    mine.least = other.least;
    mine.steps = other.steps;
  }
  KOKKOS_FUNCTION void join(Offer& mine, const Offer& other) const { add(mine, other); }
  KOKKOS_FUNCTION void init(Offer& offer) const {
    const std::int64_t nothing = AuctionState<Space>::nothing;
    offer = {nothing, nothing, AuctionState<Space>::nobody};
  }
  KOKKOS_FUNCTION Offer& reference() const { return *m_result; }
  KOKKOS_FUNCTION result_view_type view() const { return result_view_type(m_result); }

 private:
  Offer* m_result;
};

/// The column that row i would take, by the lanes of a vector.
template <class Space, class Member>
KOKKOS_FUNCTION Offer best_offer(const Member& team, const AuctionState<Space>& state, std::int64_t i) {
  const CsrGraphView<Space>& a = state.graph;
  const std::size_t begin = a.row_ptrs(i);
  Offer result{};
  Kokkos::parallel_reduce(
      Kokkos::ThreadVectorRange(team, static_cast<int>(a.row_ptrs(i + 1) - begin)),
      [&](int k, Offer& best) {
        const int cost = state.cost(begin + static_cast<std::size_t>(k));
        if (cost == AuctionState<Space>::missing) return;
        const int col = a.col_idxs(begin + static_cast<std::size_t>(k));
        const int steps = static_cast<int>(col >= i ? col - i : col - i + a.num_rows);
        BestOffer<Space>::add(best, {cost + state.price(col), AuctionState<Space>::nothing, steps});
      },
      BestOffer<Space>(result));
  return result;
}

template <class Space>
KOKKOS_FUNCTION int column_of(const Offer& offer, std::int64_t i, std::int64_t num_rows) {
  const std::int64_t col = i + offer.steps;
  return static_cast<int>(col < num_rows ? col : col - num_rows);
}

/// The rows without a column, in any order, and how many: of this round and of the next.
template <class Space>
struct Queue {
  VectorView<int, Space> rows;
  VectorView<int, Space> count;  ///< one element
};

/// Begins a phase of smaller epsilon: rows that could do better by more give their columns back, and all
/// without one queue.
template <class Space>
struct Release {
  using Rows = impl::RowTeams<Space>;
  AuctionState<Space> state;
  std::int64_t epsilon;
  Queue<Space> queue;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{state.graph.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const Offer offer = best_offer<Space>(team, state, i);
      Kokkos::single(Kokkos::PerThread(team), [&] { release(i, offer); });
    });
  }
  KOKKOS_FUNCTION void release(std::int64_t i, const Offer& offer) const {
    if (offer.least == AuctionState<Space>::nothing) return;
    const int col = state.column_of_row(i);
    if (col >= 0) {
      const std::size_t k = state.graph.first_from(i, col);
      if (state.cost(k) + state.price(col) <= offer.least + epsilon) return;
      state.column_of_row(i) = -1;
      state.row_of_column(col) = -1;
    }
    queue.rows(Kokkos::atomic_fetch_add(&queue.count(0), 1)) = static_cast<int>(i);
  }
};

/// A round's first step: bids of the rows that queue. A price rises so far that another column is as good,
/// and by epsilon; of the only column of a row by epsilon. Empties the next queue.
template <class Space>
struct Bid {
  using Rows = impl::RowTeams<Space>;
  AuctionState<Space> state;
  std::int64_t most;  ///< rows in the queue, at most
  std::int64_t epsilon;
  Queue<Space> queue;
  VectorView<int, Space> next_count;
  VectorView<int, Space> column;
  VectorView<std::int64_t, Space> bid;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{most}.for_each_row(team, [&](std::int64_t place) {
      if (place < queue.count(0)) bid_for_row(team, place);
      if (place == 0) Kokkos::single(Kokkos::PerThread(team), [&] { next_count(0) = 0; });
    });
  }
  KOKKOS_FUNCTION void bid_for_row(const typename Rows::Member& team, std::int64_t place) const {
    const std::int64_t i = queue.rows(place);
    const Offer offer = best_offer<Space>(team, state, i);
    Kokkos::single(Kokkos::PerThread(team), [&] {
      const int col = column_of<Space>(offer, i, state.graph.num_rows);
      const std::int64_t margin = offer.next == AuctionState<Space>::nothing ? 0 : offer.next - offer.least;
      column(place) = col;
      bid(place) = state.price(col) + margin + epsilon;
      Kokkos::atomic_max(&state.highest(col), bid(place));
    });
  }
};

/// The second step: of equal bids the smallest row's counts.
template <class Space>
struct ChooseWinners {
  AuctionState<Space> state;
  Queue<Space> queue;
  VectorView<const int, Space> column;
  VectorView<const std::int64_t, Space> bid;

  KOKKOS_FUNCTION void operator()(std::int64_t place) const {
    if (place >= queue.count(0)) return;
    const int col = column(place);
    if (bid(place) == state.highest(col)) Kokkos::atomic_min(&state.winner(col), queue.rows(place));
  }
};

/// The third step: winners take their columns, those who had them or lost queue for the next round.
template <class Space>
struct HandOver {
  AuctionState<Space> state;
  Queue<Space> queue;
  Queue<Space> next;
  VectorView<const int, Space> column;
  VectorView<const std::int64_t, Space> bid;

  KOKKOS_FUNCTION void operator()(std::int64_t place) const {
    if (place >= queue.count(0)) return;
    const int col = column(place), row = queue.rows(place);
    int left = row;
    // A loser may read it when the winner has cleared it: it is not the loser's row in either case.
    if (impl::concurrent_load(state.winner(col)) == row) {
      left = state.row_of_column(col);
      state.row_of_column(col) = row;
      state.column_of_row(row) = col;
      state.price(col) = bid(place);
      state.highest(col) = -1;
      impl::concurrent_store(state.winner(col), int(AuctionState<Space>::nobody));
      if (left >= 0) state.column_of_row(left) = -1;
    }
    if (left >= 0) next.rows(Kokkos::atomic_fetch_add(&next.count(0), 1)) = left;
  }
};

}  // namespace prekond::matching
