// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/matching/auction.hpp"

#include "core/instantiate.hpp"

#include <algorithm>
#include <cmath>

namespace prekond::matching {
namespace {

/// Epsilon begins at `first`, and is divided by `divisor`; a phase ends where the rows in the queue are no
/// fewer after `patience` rounds, or after `most_rounds`. Each row that is left costs a search for an
/// augmenting path: 24 ms of an H200's host for 216000 rows, the time of some n / 128 rounds
/// (perf_tests/results/h200/orders.md). A phase waits as long for a gain.
struct Tuning {
  static constexpr double first = 1;
  static constexpr double divisor = 10;
  static constexpr std::int64_t patience = 64;          ///< at least
  static constexpr std::int64_t rows_of_a_round = 128;  ///< for more patience
  static constexpr int most_rounds = 20000;
  static constexpr int rounds_at_once = 8;  ///< of a device, without a wait
};

template <class Space>
using Elements = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

template <class Space>
struct ToUnits {
  VectorView<const double, Space> cost;
  VectorView<int, Space> units;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const double x = cost(k) * AuctionState<Space>::units_per_one;
    units(k) =
        x < AuctionState<Space>::missing ? static_cast<int>(Kokkos::round(x)) : AuctionState<Space>::missing;
  }
};

template <class Space>
struct ToDuals {
  VectorView<const std::int64_t, Space> price;
  VectorView<double, Space> dual;
  KOKKOS_FUNCTION void operator()(std::int64_t j) const {
    dual(j) = -static_cast<double>(price(j)) / AuctionState<Space>::units_per_one;
  }
};

/// The phases of an auction, with what they allocate.
template <class Space>
class Auction {
 public:
  Auction(const Space& space, const Costs<Space>& costs, const Partners<Space>& partners)
      : m_space(space), m_rows(costs.graph.num_rows), m_nnz(costs.graph.nnz()) {
    m_cost = allocate<Vector<int, Space>>(space, "prekond::matching::units", m_nnz);
    m_price = allocate_zero<Vector<std::int64_t, Space>>(space, "prekond::matching::price", m_rows);
    m_highest = allocate<Vector<std::int64_t, Space>>(space, "prekond::matching::highest", m_rows);
    m_winner = allocate<Vector<int, Space>>(space, "prekond::matching::winner", m_rows);
    m_column = allocate<Vector<int, Space>>(space, "prekond::matching::bid_column", m_rows);
    m_bid = allocate<Vector<std::int64_t, Space>>(space, "prekond::matching::bid", m_rows);
    for (auto& rows : m_queue) rows = allocate<Vector<int, Space>>(space, "prekond::matching::queue", m_rows);
    for (auto& count : m_count)
      count = allocate_zero<Vector<int, Space>>(space, "prekond::matching::count", 1);
    Kokkos::deep_copy(space, m_highest, std::int64_t(-1));
    Kokkos::deep_copy(space, m_winner, int(AuctionState<Space>::nobody));
    Kokkos::parallel_for("prekond::matching::to_units", Elements<Space>(space, 0, m_nnz),
                         ToUnits<Space>{costs.cost, m_cost});
    m_state = {costs.graph,           m_cost, m_price, m_highest, m_winner, partners.column_of_row,
               partners.row_of_column};
  }

  /// Returns the rows that are left; counts the rounds.
  std::int64_t phase(double epsilon, std::int64_t& rounds) {
    const auto units =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(epsilon * AuctionState<Space>::units_per_one));
    set_zero(m_space, m_count[0]);
    Kokkos::parallel_for("prekond::matching::release", impl::RowTeams<Space>::policy(m_space, m_rows, m_nnz),
                         Release<Space>{m_state, units, queue(0)});
    const int at_once = is_host_space<Space> ? 1 : int(Tuning::rounds_at_once);
    std::int64_t left = length(0);
    const std::int64_t patience = std::max(Tuning::patience, m_rows / Tuning::rows_of_a_round);
    int last_gain = 0;
    for (int round = 0; left > 0 && round - last_gain < patience && round < Tuning::most_rounds;) {
      for (int k = 0; k < at_once; ++k) bid(round++ % 2, left, units);
      rounds += at_once;
      const std::int64_t before = left;
      left = length(round % 2);
      if (left < before) last_gain = round;
    }
    return left;
  }

  void store_duals(const VectorView<double, Space>& dual) const {
    Kokkos::parallel_for("prekond::matching::to_duals", Elements<Space>(m_space, 0, m_rows),
                         ToDuals<Space>{m_price, dual});
    m_space.fence("prekond::matching::auction");  // before the prices go away
  }

 private:
  Queue<Space> queue(int which) const { return {m_queue[which], m_count[which]}; }

  std::int64_t length(int which) const {
    int count = 0;
    Kokkos::deep_copy(m_space, count, Kokkos::subview(m_count[which], 0));
    m_space.fence("prekond::matching::count");
    return count;
  }

  void bid(int which, std::int64_t most, std::int64_t units) const {
    const std::int64_t entries = m_nnz / m_rows * most;
    Kokkos::parallel_for("prekond::matching::bid", impl::RowTeams<Space>::policy(m_space, most, entries),
                         Bid<Space>{m_state, most, units, queue(which), m_count[1 - which], m_column, m_bid});
    Kokkos::parallel_for("prekond::matching::choose_winners", Elements<Space>(m_space, 0, most),
                         ChooseWinners<Space>{m_state, queue(which), m_column, m_bid});
    Kokkos::parallel_for("prekond::matching::hand_over", Elements<Space>(m_space, 0, most),
                         HandOver<Space>{m_state, queue(which), queue(1 - which), m_column, m_bid});
  }

  const Space& m_space;
  std::int64_t m_rows, m_nnz;
  Vector<int, Space> m_cost, m_winner, m_column;
  Vector<std::int64_t, Space> m_price, m_highest, m_bid;
  Vector<int, Space> m_queue[2], m_count[2];
  AuctionState<Space> m_state;
};

}  // namespace

template <class Space>
std::int64_t auction(const Space& space, const Costs<Space>& costs, double epsilon,
                     const Partners<Space>& partners, std::int64_t& rounds) {
  if (costs.graph.num_rows == 0) return 0;
  Auction<Space> auction(space, costs, partners);
  std::int64_t left = 0;
  for (double step = std::max(epsilon, Tuning::first);; step = std::max(epsilon, step / Tuning::divisor)) {
    left = auction.phase(step, rounds);
    if (step <= epsilon) break;
  }
  auction.store_duals(partners.column_dual);
  return left;
}

#define PREKOND_AUCTION(Space)                                                                            \
  template std::int64_t auction<Space>(const Space&, const Costs<Space>&, double, const Partners<Space>&, \
                                       std::int64_t&);
PREKOND_INSTANTIATE_SPACES(PREKOND_AUCTION)

}  // namespace prekond::matching
