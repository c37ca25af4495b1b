// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/partition/host_partition.hpp"

#include <algorithm>
#include <numeric>

namespace prekond::impl {
namespace {

/// Vertices in parts that are cut in two, again and again. `order` has the vertices of a part one after the
/// other.
class Bisection {
 public:
  explicit Bisection(const HostGraph& graph)
      : m_graph(graph),
        m_part(static_cast<std::size_t>(graph.num_rows), 0),
        m_order(static_cast<std::size_t>(graph.num_rows)),
        m_found(m_part.size(), 0) {
    std::iota(m_order.begin(), m_order.end(), 0);
  }

  std::vector<int> run(std::int64_t num_parts) {
    // A stack, not a recursion: parts may be as many as vertices.
    std::vector<Piece> pieces{{0, m_graph.num_rows, 0, num_parts}};
    while (!pieces.empty()) {
      const Piece piece = pieces.back();
      pieces.pop_back();
      if (piece.parts <= 1 || piece.end - piece.begin <= 1) continue;
      const std::int64_t left_parts = piece.parts / 2;
      const std::int64_t middle = piece.begin + (piece.end - piece.begin) * left_parts / piece.parts;
      const int right = piece.part + static_cast<int>(left_parts);
      const std::int64_t cut = bisect(piece, middle, right);
      pieces.push_back({cut, piece.end, right, piece.parts - left_parts});
      pieces.push_back({piece.begin, cut, piece.part, left_parts});
    }
    return m_part;
  }

 private:
  /// order[begin .. end), of the part with this number, to be cut into `parts`.
  struct Piece {
    std::int64_t begin, end;
    int part;
    std::int64_t parts;
  };

  int& part(int vertex) { return m_part[static_cast<std::size_t>(vertex)]; }
  int& order(std::int64_t k) { return m_order[static_cast<std::size_t>(k)]; }

  template <class F>
  void for_each_neighbour(int vertex, const F& f) const {
    for (std::size_t k = m_graph.row_ptrs[vertex]; k < m_graph.row_ptrs[vertex + 1]; ++k)
      if (m_graph.col_idxs[k] != vertex && m_graph.col_idxs[k] < m_graph.num_rows) f(m_graph.col_idxs[k]);
  }

  /// Puts the vertices of a component of the piece that `first` is in at place `at` and after it, as a
  /// breadth-first search finds them. \returns the place after the last
  std::int64_t search(int number, int first, std::int64_t at, std::vector<int>& to) {
    ++m_searches;
    to[static_cast<std::size_t>(at)] = first;
    m_found[static_cast<std::size_t>(first)] = m_searches;
    std::int64_t end = at + 1;
    for (std::int64_t k = at; k < end; ++k)
      for_each_neighbour(to[static_cast<std::size_t>(k)], [&](int j) {
        if (part(j) != number || m_found[static_cast<std::size_t>(j)] == m_searches) return;
        m_found[static_cast<std::size_t>(j)] = m_searches;
        to[static_cast<std::size_t>(end++)] = j;
      });
    return end;
  }

  /// Brings the piece into the order of searches that begin at a pseudo-peripheral vertex of each component:
  /// the last that a search from the component's first vertex finds.
  void order_by_distance(const Piece& piece) {
    m_vertices.assign(m_order.begin() + piece.begin, m_order.begin() + piece.end);
    std::vector<int>& to = m_order;
    std::int64_t at = piece.begin;
    for (const int vertex : m_vertices) {
      if (part(vertex) != piece.part) continue;  // found
      const std::int64_t end = search(piece.part, vertex, at, to);
      search(piece.part, to[static_cast<std::size_t>(end - 1)], at, to);
      for (std::int64_t k = at; k < end; ++k) part(order(k)) = ordered;
      at = end;
    }
    for (std::int64_t k = piece.begin; k < piece.end; ++k) part(order(k)) = piece.part;
  }

  /// \returns where the right part, of the number `right`, begins
  std::int64_t bisect(const Piece& piece, std::int64_t middle, int right) {
    order_by_distance(piece);
    for (std::int64_t k = middle; k < piece.end; ++k) part(order(k)) = right;
    smooth(piece, middle - piece.begin, right);
    const auto begin = m_order.begin() + piece.begin, end = m_order.begin() + piece.end;
    // Both sides keep the order of the search: the next begins near a border.
    return std::stable_partition(begin, end, [&](int vertex) { return part(vertex) == piece.part; }) -
           m_order.begin();
  }

  /// Moves vertices with more neighbours on the other side there, as long as the left side's size stays
  /// within 3 % of its share.
  void smooth(const Piece& piece, std::int64_t share, int right) {
    const std::int64_t slack = std::min(share, piece.end - piece.begin - share) * 3 / 100;
    std::int64_t left = share;
    for (int pass = 0; pass < passes; ++pass) {
      bool moved = false;
      for (std::int64_t k = piece.begin; k < piece.end; ++k) {
        const int vertex = order(k), own = part(vertex), other = own == right ? piece.part : right;
        std::int64_t gain = 0;
        for_each_neighbour(vertex, [&](int j) { gain += (part(j) == other) - (part(j) == own); });
        const std::int64_t next = own == right ? left + 1 : left - 1;
        if (gain <= 0 || next < share - slack || next > share + slack) continue;
        part(vertex) = other;
        left = next;
        moved = true;
      }
      if (!moved) return;
    }
  }

  static constexpr int ordered = -1;
  static constexpr int passes = 4;  // the first two find nearly all

  HostGraph m_graph;
  std::vector<int> m_part;
  std::vector<int> m_order;
  std::vector<std::int64_t> m_found;  ///< the last search that found a vertex
  std::int64_t m_searches = 0;
  std::vector<int> m_vertices;
};

}  // namespace

std::vector<int> partition_by_bisection(const HostGraph& graph, std::int64_t num_parts) {
  return Bisection(graph).run(num_parts);
}

}  // namespace prekond::impl
