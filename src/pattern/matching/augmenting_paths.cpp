// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "pattern/matching/costs.hpp"

namespace prekond::matching {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Duff and Koster's method. Reduced costs cost_ij - u_i - v_j are 0 or larger; an entry that is matched
/// counts as 0, though it may be larger where an auction was content with it.
class AugmentingPaths {
 public:
  AugmentingPaths(const HostCosts& costs, HostPartners& partners)
      : m_costs(costs),
        m_partners(partners),
        m_u(rows(), 0.0),
        m_distance(rows(), infinity),
        m_row_before(rows(), -1),
        m_state(rows(), open),
        m_dead_set(rows(), -1) {}

  std::int64_t operator()() {
    for (std::int64_t i = 0; i < m_costs.num_rows; ++i) m_u[at(i)] = least_reduced(i);
    std::vector<int> roots;
    for (std::int64_t i = 0; i < m_costs.num_rows; ++i)
      if (m_partners.column_of_row[at(i)] < 0) roots.push_back(static_cast<int>(i));
    for (const int i : roots) take_diagonal(i);
    for (const int i : roots)
      if (!has_column(i)) take_free_column(i);
    for (const int i : roots)
      if (!has_column(i)) take_column_of_another(i);
    for (const int i : roots)
      if (!has_column(i)) search_from(i);
    if (!m_dead_columns.empty()) shift_dead_sets();
    return static_cast<std::int64_t>(roots.size());
  }

 private:
  enum State : char { open, reached, settled };
  using Place = std::pair<double, int>;
  using Heap = std::priority_queue<Place, std::vector<Place>, std::greater<Place>>;

  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::size_t rows() const { return at(m_costs.num_rows); }
  bool has_column(int i) const { return m_partners.column_of_row[at(i)] >= 0; }
  bool is_free(int j) const { return m_partners.row_of_column[at(j)] < 0; }
  double& v(int j) const { return m_partners.column_dual[at(j)]; }

  /// Calls body(column, cost) for the entries of a row until it returns true.
  template <class Body>
  bool any_entry(std::int64_t i, const Body& body) const {
    for (std::size_t k = m_costs.row_ptrs[i]; k < m_costs.row_ptrs[i + 1]; ++k)
      if (m_costs.cost[k] < infinity && body(m_costs.col_idxs[k], m_costs.cost[k])) return true;
    return false;
  }

  /// u_i, as large as it may be; 0 for a row without entries.
  double least_reduced(std::int64_t i) const {
    double least = infinity;
    any_entry(i, [&](int j, double cost) {
      least = std::min(least, cost - v(j));
      return false;
    });
    return least < infinity ? least : 0;
  }
  double reduced(int i, int j, double cost) const { return std::max(0.0, cost - m_u[at(i)] - v(j)); }

  void match(int i, int j) {
    m_partners.column_of_row[at(i)] = j;
    m_partners.row_of_column[at(j)] = i;
  }

  // The cheap assignment: columns of reduced cost 0.
  void take_diagonal(int i) {
    any_entry(i, [&](int j, double cost) {
      if (j != i || !is_free(j) || reduced(i, j, cost) > 0) return j >= i;
      match(i, j);
      return true;
    });
  }
  bool take_free_column(int i) {
    return any_entry(i, [&](int j, double cost) {
      if (!is_free(j) || reduced(i, j, cost) > 0) return false;
      match(i, j);
      return true;
    });
  }
  void take_column_of_another(int i) {
    any_entry(i, [&](int j, double cost) {
      if (reduced(i, j, cost) > 0) return false;
      if (!is_free(j) && !take_free_column(m_partners.row_of_column[at(j)])) return false;
      match(i, j);
      return true;
    });
  }

  /// A shortest path from a row without a column to a column without a row. Columns of which it is known that
  /// none follows are left out.
  void search_from(int root) {
    m_touched.clear();
    m_settled.clear();
    Heap heap;
    double shortest = infinity;
    int end = -1;
    double distance = 0;
    for (int i = root; i >= 0;) {
      any_entry(i, [&](int j, double cost) {
        if (m_state[at(j)] == settled || m_dead_set[at(j)] >= 0) return false;
        const double there = distance + reduced(i, j, cost);
        if (there >= shortest || there >= m_distance[at(j)]) return false;
        if (m_state[at(j)] == open) m_touched.push_back(j);
        m_state[at(j)] = reached;
        m_distance[at(j)] = there;
        m_row_before[at(j)] = i;
        if (is_free(j)) {
          shortest = there;
          end = j;
        } else {
          heap.emplace(there, j);
        }
        return false;
      });
      i = -1;
      while (!heap.empty() && i < 0) {
        const auto [there, j] = heap.top();
        if (there >= shortest) break;
        heap.pop();
        if (m_state[at(j)] == settled) continue;
        m_state[at(j)] = settled;
        m_settled.push_back(j);
        distance = there;
        i = m_partners.row_of_column[at(j)];
      }
    }
    if (end >= 0)
      augment(root, end, shortest);
    else
      bury(root);
    for (const int j : m_touched) {
      m_state[at(j)] = open;
      m_distance[at(j)] = infinity;
    }
  }

  void augment(int root, int end, double shortest) {
    m_u[at(root)] += shortest;
    for (const int j : m_settled) {
      const double change = shortest - m_distance[at(j)];
      m_u[at(m_partners.row_of_column[at(j)])] += change;
      v(j) -= change;
    }
    for (int j = end, i = -1; i != root;) {
      i = m_row_before[at(j)];
      const int next = m_partners.column_of_row[at(i)];
      match(i, j);
      j = next;
    }
  }

  /// No free column can be reached: not from these columns either, whatever else is matched.
  void bury(int root) {
    const int set = static_cast<int>(m_dead_columns.size());
    m_dead_columns.push_back(m_settled);
    m_roots.push_back(root);
    for (const int j : m_settled) m_dead_set[at(j)] = set;
  }

  /// Paths passed by the dead columns, whose entries in other rows may therefore have become too large. The
  /// rows of a dead set have entries in it and in older sets only, so that its v may fall and its u rise.
  void shift_dead_sets() {
    std::vector<double> shift(m_dead_columns.size(), 0);
    std::vector<char> dead(rows(), 0);
    for (const auto& columns : m_dead_columns)
      for (const int j : columns) dead[at(m_partners.row_of_column[at(j)])] = 1;
    for (const int root : m_roots) dead[at(root)] = 1;
    const auto look = [&](std::int64_t i, int limit) {
      any_entry(i, [&](int j, double cost) {
        const int set = m_dead_set[at(j)];
        if (set >= 0 && set < limit) shift[at(set)] = std::max(shift[at(set)], m_u[at(i)] + v(j) - cost);
        return false;
      });
    };
    const int sets = static_cast<int>(m_dead_columns.size());
    for (std::int64_t i = 0; i < m_costs.num_rows; ++i)
      if (!dead[at(i)]) look(i, sets);
    for (int set = sets - 1; set >= 0; --set) {
      for (const int j : m_dead_columns[at(set)]) {
        v(j) -= shift[at(set)];
        m_u[at(m_partners.row_of_column[at(j)])] += shift[at(set)];
      }
      for (const int j : m_dead_columns[at(set)]) look(m_partners.row_of_column[at(j)], set);
    }
  }

  const HostCosts& m_costs;
  HostPartners& m_partners;
  std::vector<double> m_u;
  std::vector<double> m_distance;  ///< of the columns that a search has reached
  std::vector<int> m_row_before;   ///< on the way to a column
  std::vector<char> m_state;
  std::vector<int> m_dead_set;  ///< of a column, -1 where it is in none
  std::vector<int> m_touched, m_settled;
  std::vector<std::vector<int>> m_dead_columns;
  std::vector<int> m_roots;  ///< the rows whose searches found them
};

}  // namespace

std::int64_t augment(const HostCosts& costs, HostPartners& partners) {
  return AugmentingPaths(costs, partners)();
}

}  // namespace prekond::matching
