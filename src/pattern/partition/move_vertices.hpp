// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Moves vertices to pieces in which they have more neighbours.
#include "matrix/counter_hash.hpp"

#include "pattern/partition/pieces.hpp"
#include "pattern/sorted_rows.hpp"

namespace prekond::impl::partition {

/// The weights that the vertices of a round would bring to a piece, and take from it.
template <class Space>
struct Flows {
  VectorView<int, Space> in, out;  ///< by piece
  KOKKOS_FUNCTION void add(int from, int to, int weight) const {
    Kokkos::atomic_add(&in(to), weight);
    Kokkos::atomic_add(&out(from), weight);
  }
};

/// Pieces have ranks, by a hash of the round. A vertex is for the piece of the highest rank among its own and
/// its neighbours', where it has more neighbours than in its own: no two vertices change places.
template <class Space>
struct Propose {
  using Teams = RowTeams<Space>;
  CsrGraphView<Space> graph;
  VectorView<const int, Space> weight, piece;
  std::uint64_t round;
  VectorView<int, Space> target;  ///< of a vertex, its own piece where it stays
  Flows<Space> flows;

  KOKKOS_FUNCTION std::uint64_t rank(int p) const {
    const auto number = static_cast<std::uint64_t>(p);
    return sort_key(counter_hash(round, number) >> 32, number);
  }
  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    Teams{graph.num_rows}.for_each_row(team, [&](std::int64_t v) { propose(team, v); });
  }
  KOKKOS_FUNCTION void propose(const typename Teams::Member& team, std::int64_t v) const {
    const std::size_t begin = graph.row_ptrs(v);
    const int entries = static_cast<int>(graph.row_ptrs(v + 1) - begin), own = piece(v);
    const auto piece_of = [&](int k) { return piece(graph.col_idxs(begin + static_cast<std::size_t>(k))); };
    std::uint64_t highest = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, entries),
        [&](int k, std::uint64_t& sofar) {
          const std::uint64_t other = rank(piece_of(k));
          if (other > sofar) sofar = other;
        },
        Kokkos::Max<std::uint64_t>(highest));
    const int best = static_cast<int>(highest & 0xffffffffu);
    int gain = 0;
    if (highest > rank(own))
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, entries),
          [&](int k, int& sum) {
            const bool is_itself = graph.col_idxs(begin + static_cast<std::size_t>(k)) == v;
            sum += (piece_of(k) == best) - (piece_of(k) == own && !is_itself);
          },
          gain);
    Kokkos::single(Kokkos::PerThread(team), [&] {
      target(v) = gain > 0 ? best : own;
      if (gain > 0) flows.add(own, best, weight(v));
    });
  }
};

/// Lets as many of them go, by a hash, as there is room for.
template <class Space>
struct Thin {
  Bounds bounds;
  VectorView<const int, Space> weight, piece, parts, of_piece;
  std::uint64_t round;
  Flows<Space> wanted, flows;
  VectorView<int, Space> target;

  KOKKOS_FUNCTION void operator()(std::int64_t v) const {
    const int own = piece(v), to = target(v);
    if (to == own) return;
    const auto draw = static_cast<std::int64_t>(counter_hash(round, ~static_cast<std::uint64_t>(v)) >> 33);
    if (draw % wanted.in(to) < bounds.most(parts(to)) - of_piece(to) &&
        draw % wanted.out(own) < of_piece(own) - bounds.least(parts(own)))
      flows.add(own, to, weight(v));
    else
      target(v) = own;
  }
};

/// All that would enter a piece do, and leave one, or none: so pieces stay within their bounds.
template <class Space>
struct Move {
  Bounds bounds;
  VectorView<const int, Space> weight, target, parts, of_piece;
  Flows<Space> flows;
  VectorView<int, Space> piece, change;

  KOKKOS_FUNCTION void operator()(std::int64_t v) const {
    const int own = piece(v), to = target(v);
    if (to == own || of_piece(to) + flows.in(to) > bounds.most(parts(to)) ||
        of_piece(own) - flows.out(own) < bounds.least(parts(own)))
      return;
    piece(v) = to;
    Kokkos::atomic_add(&change(to), weight(v));
    Kokkos::atomic_sub(&change(own), weight(v));
  }
};

template <class Space>
struct AddChanges {
  VectorView<const int, Space> change;
  VectorView<int, Space> of_piece;
  KOKKOS_FUNCTION void operator()(std::int64_t p) const { of_piece(p) += change(p); }
};

/// Rounds of moves, with the same memory.
template <class Space>
class VertexMoves {
 public:
  VertexMoves(const Space& space, const Pieces<Space>& pieces)
      : m_target(allocate<Vector<int, Space>>(space, "prekond::partition::target", pieces.num_rows)),
        m_sums(allocate<MultiVector<int, Space>>(space, "prekond::partition::sums", pieces.num_parts, 5)) {}

  void move(const Space& space, const WeightedGraph<Space>& level, const Pieces<Space>& pieces,
            const Vector<int, Space>& piece) {
    for (int k = 0; k < MultilevelTuning::rounds; ++k) move_once(space, level, pieces, piece);
  }

 private:
  void move_once(const Space& space, const WeightedGraph<Space>& level, const Pieces<Space>& pieces,
                 const Vector<int, Space>& piece) {
    set_zero(space, m_sums);
    ++m_round;
    const Bounds bounds = pieces.bounds();
    const Flows<Space> wanted{sum(0), sum(1)}, flows{sum(2), sum(3)};
    const Rows<Space> all(space, 0, level.size());
    Kokkos::parallel_for("prekond::partition::propose",
                         RowTeams<Space>::policy(space, level.size(), level.graph.nnz()),
                         Propose<Space>{level.graph, level.weight, piece, m_round, m_target, wanted});
    Kokkos::parallel_for("prekond::partition::thin", all,
                         Thin<Space>{bounds, level.weight, piece, pieces.parts, pieces.weight, m_round,
                                     wanted, flows, m_target});
    Kokkos::parallel_for(
        "prekond::partition::move", all,
        Move<Space>{bounds, level.weight, m_target, pieces.parts, pieces.weight, flows, piece, sum(4)});
    Kokkos::parallel_for("prekond::partition::add_changes", Rows<Space>(space, 0, pieces.num_parts),
                         AddChanges<Space>{sum(4), pieces.weight});
  }
  VectorView<int, Space> sum(std::size_t k) const {
    return VectorView<int, Space>(m_sums.data() + k * m_sums.stride(1), m_sums.extent(0));
  }

  Vector<int, Space> m_target;
  MultiVector<int, Space> m_sums;
  std::uint64_t m_round = 0;
};

}  // namespace prekond::impl::partition
