// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/distributed/devices/row_ranges.hpp"

#include "core/concurrency.hpp"

#include <algorithm>

#include "core/instantiate.hpp"

namespace prekond::impl::devices {
namespace {

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// work(i) = that of rows 0 .. i.
template <class Space>
struct SumWork {
  using value_type = std::int64_t;
  CsrGraphView<Space> a;
  VectorView<std::int64_t, Space> work;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& sum, bool final) const {
    sum += 1 + static_cast<std::int64_t>(a.first_from(i, a.num_rows) - a.row_ptrs(i));
    if (final) work(i) = sum;
  }
};

/// Where the k-th range ends: as near as can be to its part of the work.
template <class Space>
struct EndRanges {
  VectorView<const std::int64_t, Space> work;
  std::int64_t count, block_rows;
  VectorView<std::int64_t, Space> ends;
  KOKKOS_FUNCTION void operator()(std::int64_t k) const {
    const auto n = static_cast<std::int64_t>(work.extent(0));
    const std::int64_t all = work(n - 1);
    // all (k + 1) / count without a product that overflows.
    const std::int64_t target = all / count * (k + 1) + all % count * (k + 1) / count;
    std::int64_t begin = 0, end = n;  // the first row that the sum reaches it with
    while (begin < end) {
      const std::int64_t middle = begin + (end - begin) / 2;
      if (work(middle) < target)
        begin = middle + 1;
      else
        end = middle;
    }
    const std::int64_t before = begin > 0 ? work(begin - 1) : 0;
    const std::int64_t rows = begin < n && target - before > work(begin) - target ? begin + 1 : begin;
    const std::int64_t whole = (rows + block_rows / 2) / block_rows * block_rows;
    ends(k) = whole < n && k + 1 < count ? whole : n;
  }
};

/// The columns, own ones, that rows have entries in.
template <class Space>
struct ColumnsOfRows {
  CsrGraphView<Space> a;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& least, std::int64_t& most) const {
    const std::size_t begin = a.row_ptrs(i), end = a.first_from(i, a.num_rows);
    if (begin == end) return;
    if (a.col_idxs(begin) < least) least = a.col_idxs(begin);
    if (a.col_idxs(end - 1) > most) most = a.col_idxs(end - 1);
  }
};

/// The rows that have entries in some columns.
template <class Space>
struct RowsOfColumns {
  CsrGraphView<Space> a;
  RowRange columns;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& least, std::int64_t& most) const {
    const std::size_t k = a.first_from(i, columns.begin);
    if (k == a.row_ptrs(i + 1) || a.col_idxs(k) >= columns.end) return;
    if (i < least) least = i;
    if (i > most) most = i;
  }
};

KOKKOS_INLINE_FUNCTION RowRange whole_blocks(RowRange range, std::int64_t block_rows, std::int64_t num_rows) {
  const std::int64_t end = (range.end + block_rows - 1) / block_rows * block_rows;
  return {range.begin / block_rows * block_rows, end < num_rows ? end : num_rows};
}

/// A range while it grows: of its rows, those of `done` were looked at.
struct Growing {
  RowRange range, done;
  std::int64_t least = 0, most = 0;  ///< columns
};

/// The columns of the rows that are new, each by one of a number of threads a range.
template <class Space>
struct ColumnsOfNewRows {
  static constexpr int threads_on_device = 8192;
  CsrGraphView<Space> a;
  VectorView<Growing, Space> ranges;
  std::int64_t threads;

  KOKKOS_FUNCTION void operator()(std::int64_t thread) const {
    Growing& mine = ranges(thread / threads);
    const RowRange range = mine.range, done = mine.done;
    const std::int64_t before = done.begin - range.begin, all = range.size() - done.size();
    std::int64_t least = a.num_rows, most = -1;
    const ColumnsOfRows<Space> columns{a};
    for (std::int64_t t = thread % threads; t < all; t += threads)
      columns(t < before ? range.begin + t : done.end + (t - before), least, most);
    if (least < range.begin) Kokkos::atomic_min(&mine.least, least);
    if (most >= range.end) Kokkos::atomic_max(&mine.most, most);
  }
};

/// The next step. Counts the ranges that it has made larger.
template <class Space>
struct Grow {
  std::int64_t block_rows, num_rows;
  VectorView<Growing, Space> ranges;
  KOKKOS_FUNCTION void operator()(std::int64_t k, int& count) const {
    Growing& mine = ranges(k);
    mine.done = mine.range;
    mine.range = whole_blocks({mine.least, mine.most + 1}, block_rows, num_rows);
    mine.least = mine.range.begin;
    mine.most = mine.range.end - 1;
    count += mine.range == mine.done ? 0 : 1;
  }
};

/// The ends of steps along A's entries: all ranges at a time.
template <class Space>
std::vector<RowRange> ranges_along_rows(const Space& space, const CsrGraphView<Space>& a,
                                        const std::vector<RowRange>& own, const RowReach& reach) {
  std::vector<Growing> host;
  for (const RowRange& range : own) {
    const RowRange whole =
        range.size() > 0 ? whole_blocks(range, reach.block_rows, a.num_rows) : RowRange{0, 0};
    host.push_back({whole, {whole.begin, whole.begin}, whole.begin, whole.end - 1});
  }
  const auto count = static_cast<std::int64_t>(host.size());
  const auto ranges = allocate<Vector<Growing, Space>>(space, "prekond::devices::growing", count);
  const Kokkos::View<Growing*, Kokkos::LayoutLeft, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>
      of_host(host.data(), host.size());
  Kokkos::deep_copy(space, ranges, of_host);
  const std::int64_t threads =
      is_host_space<Space> ? 16 * concurrency(space) : ColumnsOfNewRows<Space>::threads_on_device;
  int larger = 1;
  for (int level = 0; level < reach.levels && larger > 0; ++level) {
    Kokkos::parallel_for("prekond::devices::columns_of_new_rows", Rows<Space>(space, 0, count * threads),
                         ColumnsOfNewRows<Space>{a, ranges, threads});
    Kokkos::parallel_reduce("prekond::devices::grow", Rows<Space>(space, 0, count),
                            Grow<Space>{reach.block_rows, a.num_rows, ranges}, larger);
  }
  Kokkos::deep_copy(space, of_host, ranges);
  space.fence("prekond::devices::ranges_read");
  std::vector<RowRange> result;
  for (std::size_t k = 0; k < host.size(); ++k) result.push_back(own[k].size() > 0 ? host[k].range : own[k]);
  return result;
}

/// Where they lead along A^T's too: a range by itself.
template <class Space>
RowRange range_both_ways(const Space& space, const CsrGraphView<Space>& a, RowRange own,
                         const RowReach& reach) {
  if (own.size() == 0) return own;
  const RowRange all{0, a.num_rows};
  RowRange range = whole_blocks(own, reach.block_rows, a.num_rows);
  for (int level = 0; level < reach.levels && range != all; ++level) {
    std::int64_t least = range.begin, most = range.end - 1, first = least, last = most;
    Kokkos::parallel_reduce("prekond::devices::columns_of_rows", Rows<Space>(space, range.begin, range.end),
                            ColumnsOfRows<Space>{a}, Kokkos::Min<std::int64_t>(least),
                            Kokkos::Max<std::int64_t>(most));
    Kokkos::parallel_reduce("prekond::devices::rows_of_columns", Rows<Space>(space, 0, a.num_rows),
                            RowsOfColumns<Space>{a, range}, Kokkos::Min<std::int64_t>(first),
                            Kokkos::Max<std::int64_t>(last));
    const RowRange next{std::min({range.begin, least, first}), std::max({range.end - 1, most, last}) + 1};
    const RowRange whole = whole_blocks(next, reach.block_rows, a.num_rows);
    if (whole == range) break;
    range = whole;
  }
  return range;
}

}  // namespace

template <class Space>
std::vector<RowRange> ranges_of_equal_work(const Space& space, const CsrGraphView<Space>& a, int count,
                                           int block_rows) {
  std::vector<RowRange> ranges(static_cast<std::size_t>(count));
  if (a.num_rows == 0) return ranges;
  const auto work = allocate<Vector<std::int64_t, Space>>(space, "prekond::devices::work", a.num_rows);
  const auto ends = allocate<Vector<std::int64_t, Space>>(space, "prekond::devices::ends", count);
  Kokkos::parallel_scan("prekond::devices::sum_work", Rows<Space>(space, 0, a.num_rows),
                        SumWork<Space>{a, work});
  Kokkos::parallel_for("prekond::devices::end_ranges", Rows<Space>(space, 0, count),
                       EndRanges<Space>{work, count, block_rows, ends});
  std::vector<std::int64_t> host(ranges.size());
  Kokkos::deep_copy(space,
                    Kokkos::View<std::int64_t*, Kokkos::LayoutLeft, Kokkos::HostSpace,
                                 Kokkos::MemoryTraits<Kokkos::Unmanaged>>(host.data(), host.size()),
                    ends);
  space.fence("prekond::devices::ranges");
  for (std::size_t k = 0; k < ranges.size(); ++k) ranges[k] = {k > 0 ? host[k - 1] : 0, host[k]};
  return ranges;
}

template <class Space>
std::vector<RowRange> ranges_read(const Space& space, const CsrGraphView<Space>& a,
                                  const std::vector<RowRange>& own, const RowReach& reach) {
  if (!reach.both_ways) return ranges_along_rows<Space>(space, a, own, reach);
  std::vector<RowRange> result;
  for (const RowRange& range : own) result.push_back(range_both_ways<Space>(space, a, range, reach));
  return result;
}

#define PREKOND_ROW_RANGES(Space)                                                                          \
  template std::vector<RowRange> ranges_of_equal_work(const Space&, const CsrGraphView<Space>&, int, int); \
  template std::vector<RowRange> ranges_read(const Space&, const CsrGraphView<Space>&,                     \
                                             const std::vector<RowRange>&, const RowReach&);
PREKOND_INSTANTIATE_SPACES(PREKOND_ROW_RANGES)

}  // namespace prekond::impl::devices
