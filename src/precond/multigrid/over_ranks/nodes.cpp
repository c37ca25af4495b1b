// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/multigrid/over_ranks/nodes.hpp"

#include "core/instantiate.hpp"

namespace prekond::impl::amg {
namespace {

/// A word as numbers of a message, whose bits nobody reads: a double, or two floats.
template <class Scalar>
struct WordParts {
  static constexpr int count = sizeof(std::uint64_t) / sizeof(Scalar);
  using Bits = std::conditional_t<count == 1, std::uint64_t, std::uint32_t>;
  KOKKOS_FUNCTION static Scalar part(std::uint64_t word, int k) {
    return Kokkos::bit_cast<Scalar>(static_cast<Bits>(word >> (k * 8 * sizeof(Scalar))));
  }
  template <class Block>
  KOKKOS_FUNCTION static std::uint64_t word(const Block& block, std::int64_t row) {
    std::uint64_t word = 0;
    for (int k = 0; k < count; ++k)
      word |= static_cast<std::uint64_t>(Kokkos::bit_cast<Bits>(block(row, k))) << (k * 8 * sizeof(Scalar));
    return word;
  }
};

template <class Scalar, class Space>
MultiVector<Scalar, Space> room_for_words(const Space& space, std::int64_t size) {
  return allocate_zero<MultiVector<Scalar, Space>>(space, "prekond::amg::words", size,
                                                   WordParts<Scalar>::count);
}

/// Row rows(k) of x becomes word from(k).
template <class Scalar, class T, class Space, class From>
void put_words(const Space& space, const Vector<T, Space>& words, const From& from,
               const Vector<int, Space>& rows, const MultiVector<Scalar, Space>& x) {
  Kokkos::parallel_for(
      "prekond::amg::put_words", FlatPolicy<Space>(space, 0, rows.extent(0)), KOKKOS_LAMBDA(std::int64_t k) {
        for (int part = 0; part < WordParts<Scalar>::count; ++part)
          x(rows(k), part) = WordParts<Scalar>::part(static_cast<std::uint64_t>(words(from(k))), part);
      });
}

/// The places in S of the nodes whose first rows are the rank's own, or other ones'.
template <class Space>
Vector<int, Space> places_of_nodes(const Space& space, const Vector<int, Space>& sources, std::int64_t count,
                                   int unknowns, bool own) {
  return list_rows(
      space, "prekond::amg::rank_nodes", count,
      KOKKOS_LAMBDA(std::int64_t node) { return (sources(node * unknowns) >= 0) == own; });
}

template <class Space>
Numbers<Space> numbers_of_nodes(const Space& space, const Numbers<Space>& rows, int unknowns) {
  return vector_of<std::int64_t>(
      space, "prekond::amg::nodes", rows.extent(0) / unknowns,
      KOKKOS_LAMBDA(std::int64_t node) { return rows(node * unknowns) / unknowns; });
}

/// The own row that the first row of a node of S is.
template <class Space>
Vector<int, Space> first_rows(const Space& space, const Vector<int, Space>& sources,
                              const Vector<int, Space>& nodes, int unknowns) {
  return vector_of<int>(
      space, "prekond::amg::first_rows", nodes.extent(0),
      KOKKOS_LAMBDA(std::int64_t k) { return sources(std::int64_t(nodes(k)) * unknowns); });
}

}  // namespace

template <class Scalar, class Space>
Numbers<Space> numbers_of_rows(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                               const Numbers<Space>& mine, const Vector<int, Space>& rows,
                               const Numbers<Space>& wanted) {
  const auto brought = a.make_import(space, wanted);
  const auto x = room_for_words<Scalar, Space>(space, a.num_rows()),
             remote = room_for_words<Scalar, Space>(space, brought->num_remote());
  put_words<Scalar>(space, mine, RowNumbers<Space>{}, rows, x);
  brought->start(space, x);
  brought->finish(space, remote);
  const auto numbers = vector_of<std::int64_t>(
      space, "prekond::amg::take_words", wanted.extent(0),
      KOKKOS_LAMBDA(std::int64_t k) { return WordParts<Scalar>::word(remote, k); });
  space.fence("prekond::amg::numbers_of_rows");  // the import goes away
  return numbers;
}

template <class Scalar, class Space>
MultiVector<Scalar, Space> rows_at(const Space& space, const Vector<int, Space>& places,
                                   const MultiVector<Scalar, Space>& x) {
  const auto rows =
      allocate<MultiVector<Scalar, Space>>(space, "prekond::amg::rows_at", places.extent(0), x.extent(1));
  Kokkos::parallel_for(
      "prekond::amg::rows_at", FlatPolicy<Space>(space, 0, places.extent(0)), KOKKOS_LAMBDA(std::int64_t k) {
        for (std::size_t c = 0; c < rows.extent(1); ++c) rows(k, c) = x(places(k), c);
      });
  space.fence("prekond::amg::rows_at");
  return rows;
}

template <class Scalar, class Space>
RankNodes<Scalar, Space>::RankNodes(const Space& space, const DistributedMatrix<Scalar, Space>& a,
                                    const distributed::Overlap<Scalar, Space>& overlap, int unknowns_per_node)
    : unknowns(unknowns_per_node) {
  Numbers<Space> first_of_others;
  a.together([&] {
    numbers = numbers_of_nodes<Space>(space, overlap.numbers(), unknowns);
    own = places_of_nodes<Space>(space, overlap.sources(), count(), unknowns, true);
    others = places_of_nodes<Space>(space, overlap.sources(), count(), unknowns, false);
    own_numbers = listed<std::int64_t, Space>(space, own, numbers);
    own_rows = first_rows<Space>(space, overlap.sources(), own, unknowns);
    const auto numbers_of_others = listed<std::int64_t, Space>(space, others, numbers);
    first_of_others = rows_of_blocks<Space>(space, numbers_of_others, unknowns, 1);
    space.fence("prekond::amg::rank_nodes");  // the list goes away
  });
  m_import = a.make_import(space, first_of_others);
  m_mine = room_for_words<Scalar, Space>(space, a.num_rows());
  m_received = room_for_words<Scalar, Space>(space, m_import->num_remote());
}

template <class Scalar, class Space>
template <class T>
void RankNodes<Scalar, Space>::exchange(const Space& space, const Vector<T, Space>& words) const {
  put_words<Scalar>(space, words, own, own_rows, m_mine);
  m_import->start(space, m_mine);
  m_import->finish(space, m_received);
  const auto received = m_received;
  const auto places = others;
  Kokkos::parallel_for(
      "prekond::amg::take_words", FlatPolicy<Space>(space, 0, places.extent(0)),
      KOKKOS_LAMBDA(std::int64_t k) {
        words(places(k)) = static_cast<T>(WordParts<Scalar>::word(received, k));
      });
}

#define PREKOND_AMG_NODES(Scalar, Space)                                                                     \
  template class RankNodes<Scalar, Space>;                                                                   \
  template void RankNodes<Scalar, Space>::exchange(const Space&, const Vector<std::uint64_t, Space>&) const; \
  template void RankNodes<Scalar, Space>::exchange(const Space&, const Vector<std::int64_t, Space>&) const;  \
  template MultiVector<Scalar, Space> rows_at(const Space&, const Vector<int, Space>&,                       \
                                              const MultiVector<Scalar, Space>&);                            \
  template Numbers<Space> numbers_of_rows(const Space&, const DistributedMatrix<Scalar, Space>&,             \
                                          const Numbers<Space>&, const Vector<int, Space>&,                  \
                                          const Numbers<Space>&);
PREKOND_INSTANTIATE(PREKOND_AMG_NODES)

}  // namespace prekond::impl::amg
