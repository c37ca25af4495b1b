// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <utility>

#include "core/concurrent_words.hpp"
#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "pattern/matching/auction.hpp"

namespace prekond::matching {
namespace {

/// Sweeps before the prices of the auction stay as they are, and sweeps without a wait.
constexpr int most_sweeps = 1000;
constexpr int sweeps_at_once = 8;

template <class Space>
using Elements = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// The cost of each row's matched entry.
template <class Space>
struct MatchedCosts {
  CsrGraphView<Space> graph;
  VectorView<const double, Space> cost;
  VectorView<const int, Space> column_of_row;
  VectorView<double, Space> matched;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const int col = column_of_row(i);
    if (col >= 0) matched(i) = cost(graph.first_from(i, col));
  }
};

/// The least prices of the columns of a row, so that the row is content with its own to `slack`.
template <class Space>
struct RaisePrices {
  using Rows = impl::RowTeams<Space>;
  CsrGraphView<Space> graph;
  VectorView<const double, Space> cost, matched;
  VectorView<const int, Space> column_of_row;
  VectorView<const std::int64_t, Space> price;
  VectorView<std::int64_t, Space> raised;  ///< begins as `price`
  std::int64_t slack;
  VectorView<int, Space> changed;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{graph.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const int own = column_of_row(i);
      if (own < 0 || (matched(i) == 0 && price(own) == 0)) return;
      const std::size_t begin = graph.row_ptrs(i);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, static_cast<int>(graph.row_ptrs(i + 1) - begin)),
                           [&](int k) { raise(i, own, begin + static_cast<std::size_t>(k)); });
    });
  }
  KOKKOS_FUNCTION void raise(std::int64_t i, int own, std::size_t k) const {
    if (cost(k) == Kokkos::Experimental::infinity_v<double>) return;
    const double more = (cost(k) - matched(i)) * AuctionState<Space>::units_per_one;
    const std::int64_t least = price(own) - static_cast<std::int64_t>(Kokkos::floor(more)) - slack;
    const int col = graph.col_idxs(k);
    if (least <= price(col)) return;
    Kokkos::atomic_max(&raised(col), least);
    impl::raise_flag(changed(0), 1);
  }
};

template <class Space>
struct PricesToDuals {
  VectorView<const std::int64_t, Space> price;
  VectorView<double, Space> dual;
  KOKKOS_FUNCTION void operator()(std::int64_t j) const {
    dual(j) = -static_cast<double>(price(j)) / AuctionState<Space>::units_per_one;
  }
};

template <class Space>
bool flag_of(const Space& space, const Vector<int, Space>& flag) {
  int value = 0;
  Kokkos::deep_copy(space, value, Kokkos::subview(flag, 0));
  space.fence("prekond::matching::least_prices");
  return value != 0;
}

}  // namespace

template <class Space>
void least_prices(const Space& space, const Costs<Space>& costs, double epsilon,
                  const Partners<Space>& partners) {
  const std::int64_t n = costs.graph.num_rows;
  const auto matched = allocate<Vector<double, Space>>(space, "prekond::matching::matched_cost", n);
  auto price = allocate_zero<Vector<std::int64_t, Space>>(space, "prekond::matching::least_price", n);
  auto raised = allocate<Vector<std::int64_t, Space>>(space, "prekond::matching::raised_price", n);
  const auto changed = allocate_zero<Vector<int, Space>>(space, "prekond::matching::changed", 1);
  Kokkos::parallel_for("prekond::matching::matched_costs", Elements<Space>(space, 0, n),
                       MatchedCosts<Space>{costs.graph, costs.cost, partners.column_of_row, matched});
  // The auction's costs were rounded, and so are these.
  const auto slack = static_cast<std::int64_t>(epsilon * AuctionState<Space>::units_per_one) + 4;
  bool ended = n == 0;
  for (int sweep = 0; sweep < most_sweeps && !ended; ++sweep) {
    Kokkos::deep_copy(space, raised, price);
    if (sweep % sweeps_at_once == 0) set_zero(space, changed);
    Kokkos::parallel_for("prekond::matching::raise_prices",
                         impl::RowTeams<Space>::policy(space, n, costs.graph.nnz()),
                         RaisePrices<Space>{costs.graph, costs.cost, matched, partners.column_of_row, price,
                                            raised, slack, changed});
    std::swap(price, raised);
    if (sweep % sweeps_at_once == 0) ended = !flag_of(space, changed);
  }
  if (ended)
    Kokkos::parallel_for("prekond::matching::prices_to_duals", Elements<Space>(space, 0, n),
                         PricesToDuals<Space>{price, partners.column_dual});
  space.fence("prekond::matching::least_prices");  // before the prices go away
}

#define PREKOND_LEAST_PRICES(Space) \
  template void least_prices<Space>(const Space&, const Costs<Space>&, double, const Partners<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_LEAST_PRICES)

}  // namespace prekond::matching
