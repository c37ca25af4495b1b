// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/pattern/matching.hpp>

#include <vector>

namespace prekond::matching {

/// The assignment problem of a matrix: cost_ij = log(max_i |a_ij|) - log |a_ij|, infinite where an entry is
/// missing.
template <class Space>
struct Costs {
  CsrGraphView<Space> graph;
  Vector<double, Space> cost;        ///< of each entry
  Vector<double, Space> column_max;  ///< log(max_i |a_ij|); 0 of a column without entries
};

/// The matching as it grows: -1 for none.
template <class Space>
struct Partners {
  Vector<int, Space> column_of_row;
  Vector<int, Space> row_of_column;
  Vector<double, Space> column_dual;  ///< v; u is what it has to be
};

/// Ascending bids of all rows without a column; returns the number of rows that have entries and are left.
/// The column duals are minus the prices. Rounds are counted.
template <class Space>
std::int64_t auction(const Space& space, const Costs<Space>& costs, double epsilon,
                     const Partners<Space>& partners, std::int64_t& rounds);

/// The least prices with which the rows are content with what they have, to epsilon: an auction's are as high
/// as the bidders would go, which makes other entries of a row as large as the matched one. The matching
/// stays, and the old prices do where this takes too many sweeps.
template <class Space>
void least_prices(const Space& space, const Costs<Space>& costs, double epsilon,
                  const Partners<Space>& partners);

/// The same in host memory.
struct HostCosts {
  std::int64_t num_rows = 0;
  const std::size_t* row_ptrs = nullptr;
  const int* col_idxs = nullptr;
  const double* cost = nullptr;
};
struct HostPartners {
  std::vector<int> column_of_row;
  std::vector<int> row_of_column;
  std::vector<double> column_dual;
};

/// Finds columns for the rows that have none, by shortest augmenting paths; returns the number of rows it was
/// given. \pre v is feasible: there are u with u_i + v_j <= cost_ij
std::int64_t augment(const HostCosts& costs, HostPartners& partners);

/// The whole of it, for costs that are there.
template <class Space>
Matching<Space> solve(const Space& space, const Costs<Space>& costs, const MatchingOptions& options);

}  // namespace prekond::matching
