// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/domain/subdomains.hpp"

#include <prekond/core/error.hpp>

#include "core/instantiate.hpp"
#include "core/row_teams.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace prekond::impl::block {
namespace {

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

template <class Space>
Vector<int, Space> to_space(const Space& space, const char* label, const std::vector<int>& from) {
  const auto to = allocate<Vector<int, Space>>(space, label, from.size());
  Kokkos::deep_copy(space, to,
                    Kokkos::View<const int*, Kokkos::LayoutLeft, Kokkos::HostSpace,
                                 Kokkos::MemoryTraits<Kokkos::Unmanaged>>(from.data(), from.size()));
  space.fence("prekond::block::symbolic::copy");  // `from` goes away
  return to;
}

/// The sets of rows on the host, and how they grow.
class GrowingSets {
 public:
  GrowingSets(std::int64_t num_rows, const std::size_t* row_ptrs, const int* col_idxs)
      : m_row_ptrs(row_ptrs), m_col_idxs(col_idxs), m_set(static_cast<std::size_t>(num_rows), -1) {}

  /// rows = S_d, ascending, from a part's rows.
  void grow(int number, int levels, std::vector<int>& rows) {
    for (const int i : rows) m_set[static_cast<std::size_t>(i)] = number;
    std::size_t begin = 0;
    for (int level = 0; level < levels; ++level) {
      const std::size_t end = rows.size();
      for (std::size_t k = begin; k < end; ++k) add_neighbours(number, rows[k], rows);
      begin = end;
    }
    std::sort(rows.begin(), rows.end());
  }

  /// The entries in these rows and their columns, at most.
  std::size_t most_entries(const std::vector<int>& rows) const {
    std::size_t sum = 0;
    for (const int i : rows) sum += std::min(m_row_ptrs[i + 1] - m_row_ptrs[i], rows.size());
    return sum;
  }

 private:
  void add_neighbours(int number, int row, std::vector<int>& rows) {
    for (std::size_t k = m_row_ptrs[row]; k < m_row_ptrs[row + 1]; ++k) {
      const int j = m_col_idxs[k];
      if (static_cast<std::size_t>(j) >= m_set.size() || m_set[static_cast<std::size_t>(j)] == number)
        continue;
      m_set[static_cast<std::size_t>(j)] = number;
      rows.push_back(j);
    }
  }

  const std::size_t* m_row_ptrs;
  const int* m_col_idxs;
  std::vector<int> m_set;  ///< the last that has a row
};

/// The places of each row: a counting sort, which keeps their order.
[[maybe_unused]] void list_copies(std::int64_t num_rows, const std::vector<int>& rows, std::vector<int>& ptrs,
                                  std::vector<int>& copies) {
  ptrs.assign(static_cast<std::size_t>(num_rows) + 1, 0);
  for (const int i : rows) ++ptrs[static_cast<std::size_t>(i) + 1];
  for (std::size_t i = 0; i < static_cast<std::size_t>(num_rows); ++i) ptrs[i + 1] += ptrs[i];
  std::vector<int> next(ptrs.begin(), ptrs.end() - 1);
  copies.resize(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k)
    copies[static_cast<std::size_t>(next[static_cast<std::size_t>(rows[k])]++)] = static_cast<int>(k);
}

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

template <class Space>
Subdomains<Space> overlapping_subdomains(const Space& space, const CsrGraphView<Space>& graph,
                                         const Partition<Space>& partition, int levels,
                                         const std::string& name,
                                         const std::function<void(std::size_t, std::size_t)>& check) {
  space.fence("prekond::block::symbolic::copy");
  const Kokkos::Timer timer;
  const auto host = [](const auto& view) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
  };
  const auto row_ptrs = host(graph.row_ptrs);
  const auto col_idxs = host(graph.col_idxs), part_ptrs = host(VectorView<const int, Space>(partition.ptrs)),
             part_rows = host(VectorView<const int, Space>(partition.rows)),
             part = host(VectorView<const int, Space>(partition.part));
  GrowingSets sets(graph.num_rows, row_ptrs.data(), col_idxs.data());
  Subdomains<Space> result;
  std::vector<int> ptrs{0}, rows, subdomain, owned, set;
  for (int d = 0; d < static_cast<int>(partition.count()); ++d) {
    set.assign(part_rows.data() + part_ptrs(d), part_rows.data() + part_ptrs(d + 1));
    sets.grow(d, levels, set);
    check(set.size(), sets.most_entries(set));
    if (rows.size() + set.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw InputError(name +
                       ": the overlapping subdomains have 2^31 rows or more together; choose fewer "
                       "blocks or less overlap");
    result.largest = std::max(result.largest, static_cast<int>(set.size()));
    for (const int i : set) {
      rows.push_back(i);
      subdomain.push_back(d);
      owned.push_back(part(i) == d ? i : -1);
    }
    ptrs.push_back(static_cast<int>(rows.size()));
  }
  std::vector<int> copy_ptrs, copies;
  list_copies(graph.num_rows, rows, copy_ptrs, copies);
  result.num_rows = graph.num_rows;
  result.num_places = static_cast<std::int64_t>(rows.size());
  result.is_identity = false;
  result.ptrs = to_space<Space>(space, "prekond::block::symbolic::ptrs", ptrs);
  result.rows = to_space<Space>(space, "prekond::block::symbolic::rows", rows);
  result.subdomain = to_space<Space>(space, "prekond::block::symbolic::subdomain", subdomain);
  result.owned = to_space<Space>(space, "prekond::block::symbolic::owned", owned);
  result.copy_ptrs = to_space<Space>(space, "prekond::block::symbolic::copy_ptrs", copy_ptrs);
  result.copies = to_space<Space>(space, "prekond::block::symbolic::copies", copies);
  result.host_seconds = timer.seconds();
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
      const std::function<void(std::size_t, std::size_t)>&);                                      \
  template DiagonalBlocks<Space> extract_blocks<Space>(const Space&, const CsrGraphView<Space>&,  \
                                                       const Subdomains<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_SUBDOMAINS)
#define PREKOND_COPY_VALUES(Scalar, Space)                                                     \
  template void copy_values<Scalar, Space>(const Space&, VectorView<const std::size_t, Space>, \
                                           VectorView<const Scalar, Space>, VectorView<Scalar, Space>);
PREKOND_INSTANTIATE(PREKOND_COPY_VALUES)

}  // namespace prekond::impl::block
