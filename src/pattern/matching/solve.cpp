// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "pattern/matching/costs.hpp"

#include <algorithm>

namespace prekond::matching {
namespace {

template <class Space>
using Elements = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// exp(x), in [1e-300, 1e300].
KOKKOS_INLINE_FUNCTION double bounded_exp(double x) {
  const double limit = 690.77552789821371;
  return Kokkos::exp(x > limit ? limit : (x < -limit ? -limit : x));
}

/// u_i, so that the matched entry becomes 1, or the largest one where none is matched; and log |a_i,c(i)|.
template <class Space>
struct RowScales {
  using Rows = impl::RowTeams<Space>;
  CsrGraphView<Space> graph;
  VectorView<const double, Space> cost, column_max, column_dual;
  VectorView<const int, Space> column_of_row;
  VectorView<double, Space> scale, log_abs;

  KOKKOS_FUNCTION void operator()(const typename Rows::Member& team) const {
    Rows{graph.num_rows}.for_each_row(team, [&](std::int64_t i) {
      const std::size_t begin = graph.row_ptrs(i);
      const int match = column_of_row(i);
      double least = Kokkos::Experimental::infinity_v<double>;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, static_cast<int>(graph.row_ptrs(i + 1) - begin)),
          [&](int k, double& smallest) {
            const double c = cost(begin + static_cast<std::size_t>(k));
            const int col = graph.col_idxs(begin + static_cast<std::size_t>(k));
            if (c == Kokkos::Experimental::infinity_v<double> || (match >= 0 && col != match)) return;
            const double u = c - column_dual(col);
            if (u < smallest) smallest = u;
          },
          Kokkos::Min<double>(least));
      Kokkos::single(Kokkos::PerThread(team), [&] { store(i, match, least); });
    });
  }
  KOKKOS_FUNCTION void store(std::int64_t i, int match, double u) const {
    // Without an entry Kokkos's minimum is infinite, or the largest number there is.
    scale(i) = u < Kokkos::Experimental::finite_max_v<double> ? bounded_exp(u) : 1.0;
    log_abs(i) = match >= 0 ? column_max(match) - u - column_dual(match) : 0.0;
  }
};

template <class Space>
struct ColumnScales {
  VectorView<const double, Space> column_max, column_dual;
  VectorView<double, Space> scale;
  KOKKOS_FUNCTION void operator()(std::int64_t j) const {
    scale(j) = bounded_exp(column_dual(j) - column_max(j));
  }
};

/// Sums of blocks of fixed size, in their order.
template <class Space>
struct BlockSums {
  static constexpr std::int64_t block = 1024;
  VectorView<const double, Space> x;
  VectorView<double, Space> sum;
  KOKKOS_FUNCTION void operator()(std::int64_t b) const {
    const std::int64_t n = static_cast<std::int64_t>(x.extent(0));
    const std::int64_t end = (b + 1) * block < n ? (b + 1) * block : n;
    double total = 0;
    for (std::int64_t i = b * block; i < end; ++i) total += x(i);
    sum(b) = total;
  }
};

template <class Space>
double sum_of(const Space& space, const Vector<double, Space>& x) {
  const std::int64_t blocks =
      (static_cast<std::int64_t>(x.extent(0)) + BlockSums<Space>::block - 1) / BlockSums<Space>::block;
  const auto sums = allocate<Vector<double, Space>>(space, "prekond::matching::sums", blocks);
  Kokkos::parallel_for("prekond::matching::block_sums", Elements<Space>(space, 0, blocks),
                       BlockSums<Space>{x, sums});
  const auto host = Kokkos::create_mirror_view(Kokkos::HostSpace(), sums);
  Kokkos::deep_copy(space, host, sums);
  space.fence("prekond::matching::sums");
  double total = 0;
  for (std::int64_t b = 0; b < blocks; ++b) total += host(b);
  return total;
}

template <class View>
auto to_host(const View& x) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), x);
}

/// A copy of the problem on the host, and augmenting paths there. \returns the seconds of it
template <class Space>
double augment_on_host(const Space& space, const Costs<Space>& costs, const Partners<Space>& partners) {
  space.fence("prekond::matching::augment");
  const Kokkos::Timer timer;
  const CsrGraphView<Space>& graph = costs.graph;
  const auto row_ptrs = to_host(graph.row_ptrs);
  const auto col_idxs = to_host(graph.col_idxs);
  const auto cost = to_host(costs.cost);
  const auto columns = to_host(partners.column_of_row), rows = to_host(partners.row_of_column);
  const auto duals = to_host(partners.column_dual);
  const auto n = static_cast<std::size_t>(graph.num_rows);
  HostPartners found{
      {columns.data(), columns.data() + n}, {rows.data(), rows.data() + n}, {duals.data(), duals.data() + n}};
  augment({graph.num_rows, row_ptrs.data(), col_idxs.data(), cost.data()}, found);
  std::copy(found.column_of_row.begin(), found.column_of_row.end(), columns.data());
  std::copy(found.row_of_column.begin(), found.row_of_column.end(), rows.data());
  std::copy(found.column_dual.begin(), found.column_dual.end(), duals.data());
  Kokkos::deep_copy(space, partners.column_of_row, columns);
  Kokkos::deep_copy(space, partners.row_of_column, rows);
  Kokkos::deep_copy(space, partners.column_dual, duals);
  space.fence("prekond::matching::augmented");  // before the copies go away
  return timer.seconds();
}

/// Marks of the rows, and of the columns, that have no partner, as their places among them after a scan.
template <class Space>
struct CountSingle {
  VectorView<const int, Space> partner;
  VectorView<int, Space> single;
  KOKKOS_FUNCTION void operator()(std::int64_t i, int& count, bool final) const {
    if (partner(i) >= 0) return;
    if (final) single(count) = static_cast<int>(i);
    ++count;
  }
};

template <class Space>
struct PairSingles {
  VectorView<const int, Space> rows, columns;
  VectorView<int, Space> column_of_row;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { column_of_row(rows(k)) = columns(k); }
};

/// The rows without a column get the columns without a row, both ascending; returns the number of others.
template <class Space>
std::int64_t complete(const Space& space, const Partners<Space>& partners) {
  const std::int64_t n = static_cast<std::int64_t>(partners.column_of_row.extent(0));
  const auto list = [&](const char* label, const VectorView<const int, Space>& partner, int& count) {
    const auto single = allocate<Vector<int, Space>>(space, label, n);
    Kokkos::parallel_scan(label, Elements<Space>(space, 0, n), CountSingle<Space>{partner, single}, count);
    space.fence("prekond::matching::complete");
    return single;
  };
  int rows_left = 0, columns_left = 0;
  const auto rows = list("prekond::matching::single_rows", partners.column_of_row, rows_left);
  if (rows_left == 0) return n;
  const auto columns = list("prekond::matching::single_columns", partners.row_of_column, columns_left);
  Kokkos::parallel_for("prekond::matching::pair_singles", Elements<Space>(space, 0, rows_left),
                       PairSingles<Space>{rows, columns, partners.column_of_row});
  space.fence("prekond::matching::complete");
  return n - rows_left;
}

template <class Space>
Partners<Space> no_partners(const Space& space, std::int64_t n) {
  const Partners<Space> partners{
      allocate<Vector<int, Space>>(space, "prekond::matching::column_of_row", n),
      allocate<Vector<int, Space>>(space, "prekond::matching::row_of_column", n),
      allocate_zero<Vector<double, Space>>(space, "prekond::matching::column_dual", n)};
  Kokkos::deep_copy(space, partners.column_of_row, -1);
  Kokkos::deep_copy(space, partners.row_of_column, -1);
  return partners;
}

}  // namespace

template <class Space>
Matching<Space> solve(const Space& space, const Costs<Space>& costs, const MatchingOptions& options) {
  const std::int64_t n = costs.graph.num_rows;
  const bool bids = options.method == MatchingMethod::auction ||
                    (options.method == MatchingMethod::automatic && !is_host_space<Space>);
  const Partners<Space> partners = no_partners<Space>(space, n);
  Matching<Space> result;
  std::int64_t left = n;
  if (bids) left = auction<Space>(space, costs, options.epsilon, partners, result.rounds);
  if (left > 0) {
    result.host_seconds = augment_on_host<Space>(space, costs, partners);
    result.rows_on_host = left;
  }
  if (bids) least_prices<Space>(space, costs, options.epsilon, partners);
  result.row_scale = allocate<Vector<double, Space>>(space, "prekond::matching::row_scale", n);
  result.column_scale = allocate<Vector<double, Space>>(space, "prekond::matching::column_scale", n);
  const auto log_abs = allocate<Vector<double, Space>>(space, "prekond::matching::log_abs", n);
  Kokkos::parallel_for("prekond::matching::row_scales",
                       impl::RowTeams<Space>::policy(space, n, costs.graph.nnz()),
                       RowScales<Space>{costs.graph, costs.cost, costs.column_max, partners.column_dual,
                                        partners.column_of_row, result.row_scale, log_abs});
  Kokkos::parallel_for("prekond::matching::column_scales", Elements<Space>(space, 0, n),
                       ColumnScales<Space>{costs.column_max, partners.column_dual, result.column_scale});
  result.log_product = sum_of<Space>(space, log_abs);
  result.rank = complete<Space>(space, partners);
  result.column_of_row = partners.column_of_row;
  return result;
}

#define PREKOND_MATCHING_SOLVE(Space) \
  template Matching<Space> solve<Space>(const Space&, const Costs<Space>&, const MatchingOptions&);
PREKOND_INSTANTIATE_SPACES(PREKOND_MATCHING_SOLVE)

}  // namespace prekond::matching
