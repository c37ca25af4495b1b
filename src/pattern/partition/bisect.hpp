// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Cuts all pieces of a graph in two, at once: each by breadth-first search.
#include "core/concurrent_words.hpp"
#include "pattern/partition/pieces.hpp"
#include "pattern/sorted_rows.hpp"

#include <utility>

namespace prekond::impl::partition {

/// The place of the first vertex of a component in the high half, and the distance from where its search
/// began in the low one.
using Word = std::uint64_t;
inline constexpr Word unreached = 0x7fffffff;
KOKKOS_FORCEINLINE_FUNCTION Word search_word(Word place, Word distance) {
  return place << 32 | distance;
}
KOKKOS_FORCEINLINE_FUNCTION int place_of(Word word) {
  return static_cast<int>(word >> 32);
}
KOKKOS_FORCEINLINE_FUNCTION int distance_of(Word word) {
  return static_cast<int>(word & 0xffffffffu);
}

template <class Space>
struct KeyOfPiece {
  VectorView<const int, Space> piece;
  VectorView<std::uint64_t, Space> keys;
  KOKKOS_FUNCTION void operator()(std::int64_t v) const {
    keys(v) = sort_key(static_cast<std::uint64_t>(piece(v)), static_cast<std::uint64_t>(v));
  }
};

/// Each vertex a component by itself.
template <class Space>
struct BeginSearch {
  VectorView<const int, Space> order;
  VectorView<Word, Space> words;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    words(order(k)) = search_word(static_cast<Word>(k), 0);
  }
};

/// The least word of a vertex and its neighbours in the piece, one step further: their words may be of this
/// sweep or of the one before, since those that nothing changes are the same.
template <class Space>
struct Sweep {
  using Teams = RowTeams<Space>;
  CsrGraphView<Space> graph;
  VectorView<const int, Space> piece, parts;
  VectorView<Word, Space> words;
  VectorView<int, Space> changes;

  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    Teams{graph.num_rows}.for_each_row(team, [&](std::int64_t v) {
      const int own = piece(v);
      if (parts(own) <= 1) return;
      const Word before = words(v);
      const std::size_t begin = graph.row_ptrs(v);
      Word least = before;
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, static_cast<int>(graph.row_ptrs(v + 1) - begin)),
          [&](int k, Word& sofar) {
            const int w = graph.col_idxs(begin + static_cast<std::size_t>(k));
            if (piece(w) != own) return;
            const Word reached = concurrent_load(words(w)) + 1;
            if (reached < sofar) sofar = reached;
          },
          Kokkos::Min<Word>(least));
      if (least >= before) return;
      Kokkos::single(Kokkos::PerThread(team), [&] {
        concurrent_store(words(v), least);
        raise_flag(changes(0), 1);
      });
    });
  }
};

/// The vertex of a component with the largest distance; of several the first.
template <class Space>
struct FindFarthest {
  VectorView<const int, Space> order;
  VectorView<const Word, Space> words;
  VectorView<Word, Space> farthest;  ///< by the component: distance, and the complement of the place

  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const Word word = words(order(k));
    const Word mine = search_word(static_cast<Word>(distance_of(word)), ~static_cast<Word>(k) & 0xffffffffu);
    Word& most = farthest(place_of(word));
    if (concurrent_load(most) < mine) Kokkos::atomic_max(&most, mine);
  }
};

/// The next search begins there. Counts the vertices of components.
template <class Space>
struct RestartSearch {
  VectorView<const int, Space> order;
  VectorView<const Word, Space> farthest;
  VectorView<Word, Space> words;
  VectorView<int, Space> size;

  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const int v = order(k), component = place_of(words(v));
    const bool begins = (~farthest(component) & 0xffffffffu) == static_cast<Word>(k);
    words(v) = search_word(static_cast<Word>(component), begins ? 0 : unreached);
    Kokkos::atomic_inc(&size(component));
  }
};

/// Components one after another, in each by distance, at equal distances by place.
template <class Space>
struct KeyOfDistance {
  VectorView<const int, Space> order;
  VectorView<const Word, Space> words;
  VectorView<const std::size_t, Space> component_ptrs;
  VectorView<std::uint64_t, Space> keys;

  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const Word word = words(order(k));
    keys(k) = sort_key(component_ptrs(place_of(word)) + static_cast<Word>(distance_of(word)),
                       static_cast<std::uint64_t>(k));
  }
};

template <class Space>
struct Reorder {
  VectorView<const int, Space> places, before;
  VectorView<int, Space> order;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { order(k) = before(places(k)); }
};

template <class Space>
struct WeightInOrder {
  VectorView<const int, Space> order, weight;
  KOKKOS_FUNCTION int operator()(std::int64_t k) const { return weight(order(k)); }
};

/// Where a piece is in the order.
template <class Space>
struct FindPieces {
  VectorView<const int, Space> order, piece;
  VectorView<int, Space> begins, ends;

  KOKKOS_FUNCTION int piece_at(std::int64_t k) const { return piece(order(k)); }
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const int own = piece_at(k);
    if (k == 0 || piece_at(k - 1) != own) begins(own) = static_cast<int>(k);
    if (k + 1 == static_cast<std::int64_t>(order.extent(0)) || piece_at(k + 1) != own)
      ends(own) = static_cast<int>(k + 1);
  }
};

/// Where a piece is cut, by a binary search in the weights before each place, so that each half has its share
/// of the parts. In a graph of sets of rows only where that brings both halves within the bounds; the piece
/// waits for a finer graph elsewhere. Counts the pieces that are cut.
template <class Space>
struct CutPiece {
  Bounds bounds;
  bool is_finest;
  VectorView<const int, Space> parts;
  VectorView<const std::size_t, Space> before;  ///< weight
  VectorView<const int, Space> begins, ends;
  VectorView<int, Space> cuts, left_weight;  ///< cut 0: none

  KOKKOS_FUNCTION void operator()(std::int64_t p, std::int64_t& count) const {
    cuts(p) = 0;
    if (parts(p) <= 1 || ends(p) - begins(p) < 2) return;
    const int left_parts = parts(p) / 2;
    const auto first = static_cast<std::int64_t>(before(begins(p)));
    const std::int64_t weight = static_cast<std::int64_t>(before(ends(p))) - first;
    const int cut = find(begins(p) + 1, ends(p) - 1, 2 * (first + weight * left_parts / parts(p)));
    const std::int64_t left = static_cast<std::int64_t>(before(cut)) - first;
    if (!is_finest && !(fits(left, left_parts) && fits(weight - left, parts(p) - left_parts))) return;
    cuts(p) = cut;
    left_weight(p) = static_cast<int>(left);
    ++count;
  }
  KOKKOS_FUNCTION bool fits(std::int64_t weight, int of_parts) const {
    return weight >= bounds.least(of_parts) && weight <= bounds.most(of_parts);
  }
  /// The first place in [begin, end] whose vertex has its middle at half of `twice` or beyond, or `end`.
  KOKKOS_FUNCTION int find(int begin, int end, std::int64_t twice) const {
    while (begin < end) {
      const int middle = begin + (end - begin) / 2;
      if (static_cast<std::int64_t>(before(middle) + before(middle + 1)) < twice)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }
};

template <class Space>
struct MoveAfterCut {
  VectorView<const int, Space> order, cuts, parts;
  VectorView<int, Space> piece;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const int v = order(k), own = piece(v);
    if (cuts(own) > 0 && k >= cuts(own)) piece(v) = own + parts(own) / 2;
  }
};

template <class Space>
struct NumberHalves {
  VectorView<const int, Space> cuts, left_weight;
  VectorView<int, Space> parts, weight;

  KOKKOS_FUNCTION void operator()(std::int64_t p) const {
    if (cuts(p) == 0) return;
    const int left_parts = parts(p) / 2;
    parts(p + left_parts) = parts(p) - left_parts;
    weight(p + left_parts) = weight(p) - left_weight(p);
    parts(p) = left_parts;
    weight(p) = left_weight(p);
  }
};

/// Cuts of all pieces, again and again, with the same memory.
template <class Space>
class Bisection {
 public:
  Bisection(const Space& space, const Pieces<Space>& pieces)
      : m_words(allocate<Vector<Word, Space>>(space, "prekond::partition::words", pieces.num_rows)),
        m_farthest(allocate<Vector<Word, Space>>(space, "prekond::partition::farthest", pieces.num_rows)),
        m_keys(allocate<Vector<std::uint64_t, Space>>(space, "prekond::partition::keys", pieces.num_rows)),
        m_size(allocate<Vector<int, Space>>(space, "prekond::partition::size", pieces.num_rows)),
        m_order(allocate<Vector<int, Space>>(space, "prekond::partition::order", pieces.num_rows)),
        m_changes(allocate<Vector<int, Space>>(space, "prekond::partition::changes", 1)),
        m_of_pieces(
            allocate<MultiVector<int, Space>>(space, "prekond::partition::cuts", pieces.num_parts, 4)) {}

  /// Cuts each piece of two parts or more that has two vertices or more, see CutPiece. \returns how many
  std::int64_t cut(const Space& space, const WeightedGraph<Space>& level, bool is_finest,
                   Pieces<Space>& pieces, const Vector<int, Space>& piece) const {
    const std::int64_t n = level.size();
    order_by_distance(space, level.graph, pieces, piece);
    const auto order = part_of(m_order, n);
    const auto before =
        scan_row_lengths(space, "prekond::partition::weights", n, WeightInOrder<Space>{order, level.weight})
            .first;
    set_zero(space, m_of_pieces);
    const auto begins = of_pieces(0), ends = of_pieces(1), cuts = of_pieces(2), left_weight = of_pieces(3);
    const Rows<Space> all_pieces(space, 0, pieces.num_parts), all(space, 0, n);
    Kokkos::parallel_for("prekond::partition::find_pieces", all,
                         FindPieces<Space>{order, piece, begins, ends});
    std::int64_t count = 0;
    Kokkos::parallel_reduce(
        "prekond::partition::cut_piece", all_pieces,
        CutPiece<Space>{pieces.bounds(), is_finest, pieces.parts, before, begins, ends, cuts, left_weight},
        count);
    Kokkos::parallel_for("prekond::partition::move_after_cut", all,
                         MoveAfterCut<Space>{order, cuts, pieces.parts, piece});
    Kokkos::parallel_for("prekond::partition::number_halves", all_pieces,
                         NumberHalves<Space>{cuts, left_weight, pieces.parts, pieces.weight});
    pieces.count += count;
    return count;
  }

 private:
  /// The vertices piece by piece, in each in the order of a search from the vertex that is farthest from the
  /// first.
  void order_by_distance(const Space& space, const CsrGraphView<Space>& graph, const Pieces<Space>& pieces,
                         const Vector<int, Space>& piece) const {
    const std::int64_t n = graph.num_rows;
    const Rows<Space> all(space, 0, n);
    const auto keys = part_of(m_keys, n);
    Kokkos::parallel_for("prekond::partition::key_of_piece", all, KeyOfPiece<Space>{piece, keys});
    const auto first = sorted_rows<Space>(space, keys);
    Kokkos::parallel_for("prekond::partition::begin_search", all, BeginSearch<Space>{first, m_words});
    search(space, graph, pieces, piece);
    set_zero(space, part_of(m_farthest, n));
    Kokkos::parallel_for("prekond::partition::find_farthest", all,
                         FindFarthest<Space>{first, m_words, m_farthest});
    set_zero(space, part_of(m_size, n));
    Kokkos::parallel_for("prekond::partition::restart_search", all,
                         RestartSearch<Space>{first, m_farthest, m_words, m_size});
    search(space, graph, pieces, piece);
    const auto ptrs =
        scan_row_lengths(space, "prekond::partition::components", n, VectorView<const int, Space>(m_size))
            .first;
    Kokkos::parallel_for("prekond::partition::key_of_distance", all,
                         KeyOfDistance<Space>{first, m_words, ptrs, keys});
    const auto places = sorted_rows<Space>(space, keys);
    Kokkos::parallel_for("prekond::partition::reorder", all, Reorder<Space>{places, first, m_order});
    space.fence("prekond::partition::ordered");  // the lists go away
  }

  void search(const Space& space, const CsrGraphView<Space>& graph, const Pieces<Space>& pieces,
              const Vector<int, Space>& piece) const {
    for (int changed = 1; changed != 0;) {
      set_zero(space, m_changes);
      for (int k = 0; k < 2; ++k)  // a wait is as long as a sweep
        Kokkos::parallel_for("prekond::partition::sweep",
                             RowTeams<Space>::policy(space, graph.num_rows, graph.nnz()),
                             Sweep<Space>{graph, piece, pieces.parts, m_words, m_changes});
      Kokkos::deep_copy(space, changed, Kokkos::subview(m_changes, 0));
      space.fence("prekond::partition::swept");
    }
  }

  template <class T>
  static Vector<T, Space> part_of(const Vector<T, Space>& whole, std::int64_t n) {
    return Kokkos::subview(whole, std::pair<std::int64_t, std::int64_t>(0, n));
  }
  VectorView<int, Space> of_pieces(std::size_t k) const {
    return VectorView<int, Space>(m_of_pieces.data() + k * m_of_pieces.stride(1), m_of_pieces.extent(0));
  }

  Vector<Word, Space> m_words, m_farthest;
  Vector<std::uint64_t, Space> m_keys;
  Vector<int, Space> m_size, m_order, m_changes;
  MultiVector<int, Space> m_of_pieces;
};

}  // namespace prekond::impl::partition
