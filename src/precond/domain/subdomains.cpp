// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/domain/subdomains.hpp"

#include <prekond/core/error.hpp>
#include <prekond/pattern/impl/threshold.hpp>
#include <prekond/sparse_product/spgemm.hpp>

#include "core/concurrent_words.hpp"
#include "core/instantiate.hpp"
#include "core/row_teams.hpp"
#include "pattern/sorted_rows.hpp"

#include <algorithm>
#include <limits>

namespace prekond::impl::block {
namespace {

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// The part of each place of disjoint sets.
template <class Space>
struct PartOfPlace {
  VectorView<const int, Space> rows;
  VectorView<const int, Space> part;
  VectorView<int, Space> subdomain;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { subdomain(k) = part(rows(k)); }
};

/// Are all sets but the last of the same size? \returns it, or 0
template <class Space>
struct HaveSize {
  VectorView<const int, Space> ptrs;
  int size;
  KOKKOS_FUNCTION void operator()(std::int64_t d, int& others) const {
    others += ptrs(d + 1) - ptrs(d) != size;
  }
};

template <class Space>
struct WidenPtrs {
  VectorView<const int, Space> from;
  VectorView<std::size_t, Space> to;
  KOKKOS_FUNCTION void operator()(std::int64_t d) const { to(d) = static_cast<std::size_t>(from(d)); }
};

/// The set of each place.
template <class Space>
struct NumberPlaces {
  using Teams = RowTeams<Space>;
  std::int64_t count;
  VectorView<const std::size_t, Space> set_ptrs;
  VectorView<int, Space> subdomain, ptrs;

  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    Teams{count}.for_each_row(team, [&](std::int64_t d) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, set_ptrs(d), set_ptrs(d + 1)),
                           [&](std::size_t k) { subdomain(k) = static_cast<int>(d); });
      Kokkos::single(Kokkos::PerThread(team), [&] {
        ptrs(d) = static_cast<int>(set_ptrs(d));
        if (d + 1 == count) ptrs(count) = static_cast<int>(set_ptrs(count));
      });
    });
  }
};

/// The longest row of the graph in each set.
template <class Space>
struct LongestRows {
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<const int, Space> rows, subdomain;
  VectorView<int, Space> longest;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const auto length = static_cast<int>(row_ptrs(rows(k) + 1) - row_ptrs(rows(k)));
    int& most = longest(subdomain(k));
    if (concurrent_load(most) < length) Kokkos::atomic_max(&most, length);
  }
};

/// The sizes that sets will have at least: each is joined by all neighbours of each of its rows.
template <class Space>
struct LeastGrowth {
  VectorView<const int, Space> ptrs, longest;
  KOKKOS_FUNCTION void operator()(std::int64_t d, std::size_t& rows, std::size_t& squares,
                                  std::size_t& largest) const {
    const int before = ptrs(d + 1) - ptrs(d);
    const auto size = static_cast<std::size_t>(before < longest(d) ? longest(d) : before);
    rows += size;
    squares += size * size;
    if (size > largest) largest = size;
  }
};

/// Entries in the rows and columns of the sets, at most; squares of the sets' sizes; the largest size.
template <class Space>
struct MeasureSets {
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<const int, Space> rows, subdomain, ptrs;

  KOKKOS_FUNCTION void operator()(std::int64_t k, std::size_t& entries, std::size_t& squares,
                                  std::size_t& largest) const {
    const std::size_t length = row_ptrs(rows(k) + 1) - row_ptrs(rows(k));
    const auto size = static_cast<std::size_t>(ptrs(subdomain(k) + 1) - ptrs(subdomain(k)));
    entries += length < size ? length : size;
    squares += size;
    if (size > largest) largest = size;
  }
};

template <class Space>
struct OwnedPlaces {
  VectorView<const int, Space> rows, subdomain, part;
  VectorView<int, Space> owned;
  VectorView<std::uint64_t, Space> keys;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    owned(k) = part(rows(k)) == subdomain(k) ? rows(k) : -1;
    keys(k) = sort_key(static_cast<std::uint64_t>(rows(k)), static_cast<std::uint64_t>(k));
  }
};

/// Where the places of each row begin: it has one at least, its own.
template <class Space>
struct BeginCopies {
  VectorView<const int, Space> rows, copies;
  VectorView<int, Space> copy_ptrs;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const auto n = static_cast<std::int64_t>(copies.extent(0));
    const int row = rows(copies(k));
    if (k == 0 || rows(copies(k - 1)) != row) copy_ptrs(row) = static_cast<int>(k);
    if (k + 1 == n) copy_ptrs(row + 1) = static_cast<int>(n);
  }
};

/// A's entries in the rows and columns of a set: counts them, or writes them where there is a pattern.
template <class Space>
struct ExtractRows {
  using Teams = RowTeams<Space>;
  CsrGraphView<Space> a;
  VectorView<const int, Space> ptrs;
  VectorView<const int, Space> rows;
  VectorView<const int, Space> subdomain;
  VectorView<int, Space> length;
  VectorView<const std::size_t, Space> row_ptrs;
  VectorView<int, Space> col_idxs;
  VectorView<std::size_t, Space> source;

  KOKKOS_FUNCTION void operator()(const typename Teams::Member& team) const {
    Teams{static_cast<std::int64_t>(rows.extent(0))}.for_each_row(team, [&](std::int64_t k) {
      if (row_ptrs.extent(0) == 0)
        count(team, k);
      else
        copy(team, k);
    });
  }

  /// The place of row `col` in a set, or -1.
  KOKKOS_FUNCTION int find(int set, int col) const {
    if (col >= a.num_rows) return -1;
    int begin = ptrs(set);
    const int behind = ptrs(set + 1);
    int end = behind;
    while (begin < end) {
      const int middle = begin + (end - begin) / 2;
      if (rows(middle) < col)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin < behind && rows(begin) == col ? begin : -1;
  }

  KOKKOS_FUNCTION void count(const typename Teams::Member& team, std::int64_t k) const {
    const int row = rows(k), set = subdomain(k);
    int found = 0;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(team, a.row_ptrs(row), a.row_ptrs(row + 1)),
        [&](std::size_t e, int& sum) { sum += find(set, a.col_idxs(e)) >= 0; }, found);
    Kokkos::single(Kokkos::PerThread(team), [&] { length(k) = found; });
  }

  KOKKOS_FUNCTION void copy(const typename Teams::Member& team, std::int64_t k) const {
    const int row = rows(k), set = subdomain(k);
    const std::size_t from = a.row_ptrs(row), to = row_ptrs(k);
    const int n = static_cast<int>(a.row_ptrs(row + 1) - from);
    // Ranges of a vector's scan start at 0: CUDA's ignores another start.
    Kokkos::parallel_scan(Kokkos::ThreadVectorRange(team, n), [&](int e, int& rank, bool final) {
      const int place = find(set, a.col_idxs(from + static_cast<std::size_t>(e)));
      if (place < 0) return;
      if (final) {
        col_idxs(to + static_cast<std::size_t>(rank)) = place;
        source(to + static_cast<std::size_t>(rank)) = from + static_cast<std::size_t>(e);
      }
      ++rank;
    });
  }
};

}  // namespace

template <class Space>
Subdomains<Space> disjoint_subdomains(const Space& space, const Partition<Space>& partition) {
  Subdomains<Space> result;
  result.num_rows = result.num_places = partition.num_rows;
  result.largest = partition.largest;
  result.is_identity = partition.is_consecutive;
  result.ptrs = partition.ptrs;
  result.rows = result.owned = partition.rows;
  if (!partition.is_consecutive) {
    // `part` is of rows, this is of places.
    result.subdomain =
        allocate<Vector<int, Space>>(space, "prekond::block::symbolic::subdomain", partition.num_rows);
    Kokkos::parallel_for("prekond::block::symbolic::subdomain", Rows<Space>(space, 0, partition.num_rows),
                         PartOfPlace<Space>{partition.rows, partition.part, result.subdomain});
    return result;
  }
  result.subdomain = partition.part;
  const std::int64_t full = std::max<std::int64_t>(result.count() - 1, 0);
  int others = 0;
  Kokkos::parallel_reduce("prekond::block::symbolic::have_size", Rows<Space>(space, 0, full),
                          HaveSize<Space>{result.ptrs, result.largest}, others);
  if (others == 0) result.uniform = result.largest;
  return result;
}

namespace {

/// Row d has the rows of part d.
template <class Space>
CsrGraph<Space> sets_of_parts(const Space& space, const Partition<Space>& partition) {
  const std::int64_t count = partition.count();
  const auto ptrs =
      allocate<Vector<std::size_t, Space>>(space, "prekond::block::symbolic::set_ptrs", count + 1);
  Kokkos::parallel_for("prekond::block::symbolic::widen_ptrs", Rows<Space>(space, 0, count + 1),
                       WidenPtrs<Space>{partition.ptrs, ptrs});
  return {count, partition.num_rows, ptrs, partition.rows};
}

template <class Space>
CsrGraph<Space> with_neighbours(const Space& space, const CsrGraph<Space>& sets,
                                const CsrGraph<Space>& neighbours, const std::string& name) {
  const std::int64_t most_bytes_of_sets =
      (sets.num_rows + 1) * std::int64_t(sizeof(std::size_t)) +
      std::int64_t(std::numeric_limits<int>::max()) * std::int64_t(sizeof(int));
  try {
    return product_pattern<Space>(space, sets, neighbours, most_bytes_of_sets, SpgemmOptions().slab_bytes);
  } catch (const InputError&) {
    throw InputError(name +
                     ": the overlapping subdomains have 2^31 rows or more together; choose fewer "
                     "blocks or less overlap");
  }
}

/// Lays the sets out one after the other.
template <class Space>
void lay_out(const Space& space, const CsrGraph<Space>& sets, Subdomains<Space>& to) {
  to.num_places = sets.nnz();
  to.rows = sets.col_idxs;
  to.ptrs = allocate_zero<Vector<int, Space>>(space, "prekond::block::symbolic::ptrs", sets.num_rows + 1);
  to.subdomain = allocate<Vector<int, Space>>(space, "prekond::block::symbolic::subdomain", sets.nnz());
  Kokkos::parallel_for("prekond::block::symbolic::number_places",
                       RowTeams<Space>::policy(space, sets.num_rows, sets.nnz()),
                       NumberPlaces<Space>{sets.num_rows, sets.row_ptrs, to.subdomain, to.ptrs});
}

/// Before the next level is made, which a row with many entries makes large.
template <class Space>
GrownSubdomains least_growth(const Space& space, const CsrGraphView<Space>& neighbours,
                             const Subdomains<Space>& subdomains) {
  const auto longest =
      allocate_zero<Vector<int, Space>>(space, "prekond::block::symbolic::longest", subdomains.count());
  Kokkos::parallel_for(
      "prekond::block::symbolic::longest_rows", Rows<Space>(space, 0, subdomains.num_places),
      LongestRows<Space>{neighbours.row_ptrs, subdomains.rows, subdomains.subdomain, longest});
  std::size_t rows = 0, squares = 0, largest = 0;
  Kokkos::parallel_reduce("prekond::block::symbolic::least_growth", Rows<Space>(space, 0, subdomains.count()),
                          LeastGrowth<Space>{subdomains.ptrs, longest}, Kokkos::Sum<std::size_t>(rows),
                          Kokkos::Sum<std::size_t>(squares), Kokkos::Max<std::size_t>(largest));
  return {double(rows), 0, double(squares), largest};
}

template <class Space>
GrownSubdomains measure(const Space& space, const CsrGraphView<Space>& graph,
                        const Subdomains<Space>& subdomains) {
  std::size_t entries = 0, squares = 0, largest = 0;
  Kokkos::parallel_reduce(
      "prekond::block::symbolic::measure_sets", Rows<Space>(space, 0, subdomains.num_places),
      MeasureSets<Space>{graph.row_ptrs, subdomains.rows, subdomains.subdomain, subdomains.ptrs},
      Kokkos::Sum<std::size_t>(entries), Kokkos::Sum<std::size_t>(squares),
      Kokkos::Max<std::size_t>(largest));
  return {double(subdomains.num_places), double(entries), double(squares), largest};
}

template <class Space>
void list_copies(const Space& space, const Partition<Space>& partition, Subdomains<Space>& to) {
  const Rows<Space> places(space, 0, to.num_places);
  const auto keys =
      allocate<Vector<std::uint64_t, Space>>(space, "prekond::block::symbolic::keys", to.num_places);
  to.owned = allocate<Vector<int, Space>>(space, "prekond::block::symbolic::owned", to.num_places);
  Kokkos::parallel_for("prekond::block::symbolic::owned_places", places,
                       OwnedPlaces<Space>{to.rows, to.subdomain, partition.part, to.owned, keys});
  to.copies = sorted_rows<Space>(space, keys);
  to.copy_ptrs =
      allocate_zero<Vector<int, Space>>(space, "prekond::block::symbolic::copy_ptrs", to.num_rows + 1);
  Kokkos::parallel_for("prekond::block::symbolic::begin_copies", places,
                       BeginCopies<Space>{to.rows, to.copies, to.copy_ptrs});
}

}  // namespace

template <class Space>
Subdomains<Space> overlapping_subdomains(const Space& space, const CsrGraphView<Space>& graph,
                                         const Partition<Space>& partition, int levels,
                                         const std::string& name,
                                         const std::function<void(const GrownSubdomains&)>& check) {
  Subdomains<Space> result;
  result.num_rows = graph.num_rows;
  result.is_identity = false;
  CsrGraph<Space> sets = sets_of_parts<Space>(space, partition);
  lay_out<Space>(space, sets, result);
  if (graph.num_rows > 0) {
    const auto neighbours = with_diagonal<Space>(space, graph);
    for (int level = 0; level < levels; ++level) {
      const std::int64_t before = sets.nnz();
      check(least_growth<Space>(space, neighbours, result));
      sets = with_neighbours<Space>(space, sets, neighbours, name);
      lay_out<Space>(space, sets, result);
      const GrownSubdomains grown = measure<Space>(space, graph, result);
      check(grown);
      result.largest = static_cast<int>(grown.largest);
      if (sets.nnz() == before) break;  // no set has further neighbours
    }
  }
  list_copies<Space>(space, partition, result);
  space.fence("prekond::block::symbolic::overlap");  // the lists go away
  return result;
}

template <class Space>
DiagonalBlocks<Space> extract_blocks(const Space& space, const CsrGraphView<Space>& a,
                                     const Subdomains<Space>& subdomains) {
  const std::int64_t n = subdomains.num_places;
  DiagonalBlocks<Space> result;
  result.subdomains = subdomains;
  result.nnz_of_a = a.nnz();
  const auto length = allocate<Vector<int, Space>>(space, "prekond::block::symbolic::length", n);
  ExtractRows<Space> kernel{a, subdomains.ptrs, subdomains.rows, subdomains.subdomain, length, {}, {}, {}};
  const auto policy = RowTeams<Space>::policy(space, n, a.nnz());
  Kokkos::parallel_for("prekond::block::symbolic::count", policy, kernel);
  const auto [row_ptrs, nnz] =
      scan_row_lengths(space, "prekond::block::symbolic", n, VectorView<const int, Space>(length));
  result.pattern = {n, n, row_ptrs,
                    allocate<Vector<int, Space>>(space, "prekond::block::symbolic::col_idxs", nnz)};
  result.source = allocate<Vector<std::size_t, Space>>(space, "prekond::block::symbolic::source", nnz);
  kernel.row_ptrs = row_ptrs;
  kernel.col_idxs = result.pattern.col_idxs;
  kernel.source = result.source;
  Kokkos::parallel_for("prekond::block::symbolic::extract", policy, kernel);
  return result;
}

namespace {
template <class Scalar, class Space>
struct CopyValues {
  VectorView<const std::size_t, Space> source;
  VectorView<const Scalar, Space> a;
  VectorView<Scalar, Space> values;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const { values(k) = a(source(k)); }
};
}  // namespace

template <class Scalar, class Space>
void copy_values(const Space& space, VectorView<const std::size_t, Space> source,
                 VectorView<const Scalar, Space> a, VectorView<Scalar, Space> values) {
  Kokkos::parallel_for("prekond::block::numeric::copy_values",
                       Rows<Space>(space, 0, static_cast<std::int64_t>(source.extent(0))),
                       CopyValues<Scalar, Space>{source, a, values});
}

#define PREKOND_SUBDOMAINS(Space)                                                                 \
  template Subdomains<Space> disjoint_subdomains<Space>(const Space&, const Partition<Space>&);   \
  template Subdomains<Space> overlapping_subdomains<Space>(                                       \
      const Space&, const CsrGraphView<Space>&, const Partition<Space>&, int, const std::string&, \
      const std::function<void(const GrownSubdomains&)>&);                                        \
  template DiagonalBlocks<Space> extract_blocks<Space>(const Space&, const CsrGraphView<Space>&,  \
                                                       const Subdomains<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_SUBDOMAINS)
#define PREKOND_COPY_VALUES(Scalar, Space)                                                     \
  template void copy_values<Scalar, Space>(const Space&, VectorView<const std::size_t, Space>, \
                                           VectorView<const Scalar, Space>, VectorView<Scalar, Space>);
PREKOND_INSTANTIATE(PREKOND_COPY_VALUES)

}  // namespace prekond::impl::block
