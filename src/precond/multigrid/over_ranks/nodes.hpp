// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The nodes of a rank's overlap, and words of 64 bits that ranks tell each other of theirs.
#include <prekond/core/impl/list_rows.hpp>
#include <prekond/distributed/distributed_matrix.hpp>

#include <cstdint>
#include <memory>

#include "distributed/number_sets.hpp"
#include "precond/distributed/overlap.hpp"
#include "precond/multigrid/aggregation/priority_words.hpp"

namespace prekond::impl::amg {

using aggregation::Word;
using distributed::FlatPolicy;
using distributed::Numbers;
using distributed::NumbersView;

/// A word as numbers of a message, whose bits nobody reads: a double, or two floats.
template <class Scalar>
struct WordParts {
  static constexpr int count = sizeof(Word) / sizeof(Scalar);
  using Bits = std::conditional_t<count == 1, std::uint64_t, std::uint32_t>;
  KOKKOS_FUNCTION static Scalar part(Word word, int k) {
    return Kokkos::bit_cast<Scalar>(static_cast<Bits>(word >> (k * 8 * sizeof(Scalar))));
  }
  template <class Block>
  KOKKOS_FUNCTION static Word word(const Block& block, std::int64_t row) {
    Word word = 0;
    for (int k = 0; k < count; ++k)
      word |= static_cast<Word>(Kokkos::bit_cast<Bits>(block(row, k))) << (k * 8 * sizeof(Scalar));
    return word;
  }
};

/// Entry rows(k) of x becomes word from(k) of `words`, or word k where that list is empty.
template <class Scalar, class T, class Space>
struct PutWords {
  VectorView<const T, Space> words;
  VectorView<const int, Space> from, rows;
  MultiVectorView<Scalar, Space> x;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    for (int part = 0; part < WordParts<Scalar>::count; ++part)
      x(rows(k), part) =
          WordParts<Scalar>::part(static_cast<Word>(words(from.extent(0) > 0 ? from(k) : k)), part);
  }
};

template <class Scalar, class T, class Space>
struct TakeWords {
  MultiVectorView<const Scalar, Space> x;
  VectorView<const int, Space> to;  ///< empty: k
  VectorView<T, Space> words;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    words(to.extent(0) > 0 ? to(k) : k) = static_cast<T>(WordParts<Scalar>::word(x, k));
  }
};

template <class Scalar, class Space>
MultiVector<Scalar, Space> room_for_words(const Space& space, std::int64_t size) {
  return allocate_zero<MultiVector<Scalar, Space>>(space, "prekond::amg::words", size,
                                                   WordParts<Scalar>::count);
}

/// Collective. The words that the owners of the rows `numbers` have for them: each gives mine(k) for its row
/// rows(k).
template <class T, class Scalar, class Space>
Vector<T, Space> words_of_rows(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                               const Vector<T, Space>& mine, const Vector<int, Space>& rows,
                               const Numbers<Space>& numbers) {
  const auto brought = a.make_import(space, numbers);
  const auto x = room_for_words<Scalar, Space>(space, a.num_rows()),
             remote = room_for_words<Scalar, Space>(space, brought->num_remote());
  Kokkos::parallel_for("prekond::amg::put_words", FlatPolicy<Space>(space, 0, rows.extent(0)),
                       PutWords<Scalar, T, Space>{mine, {}, rows, x});
  brought->start(space, x);
  brought->finish(space, remote);
  const auto words = allocate<Vector<T, Space>>(space, "prekond::amg::words", numbers.extent(0));
  Kokkos::parallel_for("prekond::amg::take_words", FlatPolicy<Space>(space, 0, numbers.extent(0)),
                       TakeWords<Scalar, T, Space>{remote, {}, words});
  space.fence("prekond::amg::words_of_rows");  // the import goes away
  return words;
}

template <class T, class Space>
struct TakeListed {
  VectorView<const int, Space> list;
  VectorView<const T, Space> from;
  VectorView<T, Space> to;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { to(k) = from(list(k)); }
};

/// from(list(k)) for all k.
template <class T, class Space>
Vector<T, Space> listed(const Space& space, const Vector<int, Space>& list, const Vector<T, Space>& from) {
  const auto to = allocate<Vector<T, Space>>(space, "prekond::amg::listed", list.extent(0));
  Kokkos::parallel_for("prekond::amg::listed", FlatPolicy<Space>(space, 0, list.extent(0)),
                       TakeListed<T, Space>{list, from, to});
  return to;
}

template <class Scalar, class Space>
struct TakeRowsAt {
  VectorView<const int, Space> places;
  MultiVectorView<const Scalar, Space> from;
  MultiVectorView<Scalar, Space> to;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    for (std::size_t c = 0; c < to.extent(1); ++c) to(k, c) = from(places(k), c);
  }
};

/// Columns by their numbers: the own ones, and after them the others.
template <class Space>
struct ColumnsByNumber {
  NumbersView<Space> numbers;
  distributed::FindNumber<Space> own, others;
  int num_own;
  VectorView<int, Space> columns;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const int place = own(numbers(k)), other = place < 0 ? others(numbers(k)) : -1;
    columns(k) = other < 0 ? place : num_own + other;
  }
};

template <class Space>
Vector<int, Space> columns_by_number(const Space& space, const NumbersView<Space>& numbers,
                                     const Numbers<Space>& own, const Numbers<Space>& others) {
  const auto columns = allocate<Vector<int, Space>>(space, "prekond::amg::columns", numbers.extent(0));
  Kokkos::parallel_for(
      "prekond::amg::columns_by_number", FlatPolicy<Space>(space, 0, numbers.extent(0)),
      ColumnsByNumber<Space>{numbers, {own}, {others}, static_cast<int>(own.extent(0)), columns});
  return columns;
}

/// 0, 1, ..., num_own - 1, ~0, ~1, ...
template <class Space>
struct OwnThenOthers {
  int num_own;
  VectorView<int, Space> sources;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    sources(k) = k < num_own ? static_cast<int>(k) : ~static_cast<int>(k - num_own);
  }
};

template <class Space>
Vector<int, Space> own_then_others(const Space& space, std::int64_t num_own, std::int64_t num_others) {
  const auto sources = allocate<Vector<int, Space>>(space, "prekond::amg::sources", num_own + num_others);
  Kokkos::parallel_for("prekond::amg::own_then_others", FlatPolicy<Space>(space, 0, num_own + num_others),
                       OwnThenOthers<Space>{static_cast<int>(num_own), sources});
  return sources;
}

/// The numbers of aggregates of nodes that are in none.
template <class Space>
Numbers<Space> minus_one(const Space& space) {
  const auto list = allocate<Numbers<Space>>(space, "prekond::amg::minus_one", 1);
  Kokkos::deep_copy(space, list, -1);
  return list;
}

/// The first `rows` rows of each node.
template <class Space>
struct RowsOfNodes {
  NumbersView<Space> nodes;
  int unknowns, rows;
  VectorView<std::int64_t, Space> numbers;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    numbers(k) = nodes(k / rows) * unknowns + k % rows;
  }
};

template <class Space>
Numbers<Space> rows_of_nodes(const Space& space, const Numbers<Space>& nodes, int unknowns, int rows) {
  const auto numbers = allocate<Numbers<Space>>(space, "prekond::amg::rows_of_nodes", nodes.extent(0) * rows);
  Kokkos::parallel_for("prekond::amg::rows_of_nodes", FlatPolicy<Space>(space, 0, numbers.extent(0)),
                       RowsOfNodes<Space>{nodes, unknowns, rows, numbers});
  return numbers;
}

/// Is the first row of the place's node the rank's own, or another one's?
template <class Space>
struct IsNodeOf {
  VectorView<const int, Space> sources;
  int unknowns;
  bool own;
  KOKKOS_FUNCTION bool operator()(std::int64_t node) const { return (sources(node * unknowns) >= 0) == own; }
};

template <class Space>
struct NumberNodes {
  NumbersView<Space> rows;
  int unknowns;
  VectorView<std::int64_t, Space> nodes;
  KOKKOS_FUNCTION void operator()(std::int64_t node) const { nodes(node) = rows(node * unknowns) / unknowns; }
};

/// Where the list's nodes have their first rows: the numbers, and of own ones the places among the rank's
/// rows.
template <class Space>
struct FirstRows {
  VectorView<const int, Space> list, sources;
  NumbersView<Space> numbers;
  int unknowns;
  VectorView<std::int64_t, Space> first;
  VectorView<int, Space> rows;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const std::int64_t place = std::int64_t(list(k)) * unknowns;
    first(k) = numbers(place);
    if (rows.extent(0) > 0) rows(k) = sources(place);
  }
};

/// The nodes of S, which has whole ones, in the order of their global numbers. A node is the rank's that has
/// its first row.
template <class Scalar, class Space>
class RankNodes {
 public:
  /// Collective.
  RankNodes(const Space& space, const DistributedMatrix<Scalar, Space>& a,
            const distributed::Overlap<Scalar, Space>& overlap, int unknowns_per_node)
      : unknowns(unknowns_per_node) {
    Numbers<Space> first_of_others;
    a.together([&] {
      const std::int64_t n = overlap.num_rows() / unknowns;
      numbers = allocate<Numbers<Space>>(space, "prekond::amg::nodes", n);
      Kokkos::parallel_for("prekond::amg::number_nodes", FlatPolicy<Space>(space, 0, n),
                           NumberNodes<Space>{overlap.numbers(), unknowns, numbers});
      const auto list = [&](bool is_own, Vector<int, Space>& nodes, Vector<int, Space>* rows) {
        nodes = list_rows(space, "prekond::amg::rank_nodes", n,
                          IsNodeOf<Space>{overlap.sources(), unknowns, is_own});
        const auto first = allocate<Numbers<Space>>(space, "prekond::amg::first_rows", nodes.extent(0));
        if (rows) *rows = allocate<Vector<int, Space>>(space, "prekond::amg::rows_of_nodes", nodes.extent(0));
        Kokkos::parallel_for("prekond::amg::first_rows", FlatPolicy<Space>(space, 0, nodes.extent(0)),
                             FirstRows<Space>{nodes, overlap.sources(), overlap.numbers(), unknowns, first,
                                              rows ? *rows : Vector<int, Space>()});
        return first;
      };
      list(true, own, &own_rows);
      first_of_others = list(false, others, nullptr);
    });
    m_import = a.make_import(space, first_of_others);
    m_mine = room_for_words<Scalar, Space>(space, a.num_rows());
    m_received = room_for_words<Scalar, Space>(space, m_import->num_remote());
  }

  std::int64_t count() const { return static_cast<std::int64_t>(numbers.extent(0)); }

  /// Collective. The words of other ranks' nodes become what these ranks have for them.
  template <class T>
  void exchange(const Space& space, const Vector<T, Space>& words) const {
    Kokkos::parallel_for("prekond::amg::put_words", FlatPolicy<Space>(space, 0, own.extent(0)),
                         PutWords<Scalar, T, Space>{words, own, own_rows, m_mine});
    m_import->start(space, m_mine);
    m_import->finish(space, m_received);
    Kokkos::parallel_for("prekond::amg::take_words", FlatPolicy<Space>(space, 0, others.extent(0)),
                         TakeWords<Scalar, T, Space>{m_received, others, words});
  }

  int unknowns;
  Numbers<Space> numbers;       ///< of all nodes
  Vector<int, Space> own;       ///< places of the rank's own
  Vector<int, Space> own_rows;  ///< the rank's row that is the first of each of them
  Vector<int, Space> others;    ///< places of the others

 private:
  std::unique_ptr<const VectorImport<Scalar, Space>> m_import;  ///< of the first rows of `others`
  MultiVector<Scalar, Space> m_mine, m_received;
};

}  // namespace prekond::impl::amg
