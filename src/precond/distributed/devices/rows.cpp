// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/distributed/devices/rows.hpp"

#include <prekond/distributed/impl/message_memory.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/instantiate.hpp"
#include "matrix/filter_entries.hpp"

namespace prekond::impl::devices {
namespace {

template <class Space>
using Places = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

template <class T>
using HostView =
    Kokkos::View<T*, Kokkos::LayoutLeft, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// ends(k): where the k-th range ends, as near as can be to its part of the work. On entry it is the sum of
/// the first k + 1 speeds; `speed` is that of all.
template <class Space>
void end_ranges(const Space& space, const CsrGraphView<Space>& a, std::int64_t block_rows, std::int64_t speed,
                const Vector<std::int64_t, Space>& ends) {
  const std::int64_t n = a.num_rows, count = static_cast<std::int64_t>(ends.extent(0));
  Kokkos::parallel_for(
      "prekond::devices::end_ranges", Places<Space>(space, 0, count), KOKKOS_LAMBDA(std::int64_t k) {
        const auto work = [&](std::int64_t rows) {  // of the first ones
          return rows + static_cast<std::int64_t>(a.row_ptrs(rows));
        };
        // work(n) ends(k) / speed without a product that overflows.
        const std::int64_t target = work(n) / speed * ends(k) + work(n) % speed * ends(k) / speed;
        std::int64_t rows = 0, most = n;  // the least with at least this work
        while (rows < most) {
          const std::int64_t middle = rows + (most - rows) / 2;
          if (work(middle) < target)
            rows = middle + 1;
          else
            most = middle;
        }
        if (rows > 0 && target - work(rows - 1) <= work(rows) - target) --rows;
        const std::int64_t whole = (rows + block_rows / 2) / block_rows * block_rows;
        ends(k) = whole < n && k + 1 < count ? whole : n;
      });
}

/// The most that an own column of a row is before the row, and after it.
template <class Space>
std::pair<std::int64_t, std::int64_t> bandwidths(const Space& space, const CsrGraphView<Space>& a) {
  std::int64_t lower = 0, upper = 0;
  Kokkos::parallel_reduce(
      "prekond::devices::bandwidths", Places<Space>(space, 0, a.num_rows),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t & before, std::int64_t & after) {
        const std::size_t begin = a.row_ptrs(i), end = a.first_from(i, a.num_rows);
        if (begin == end) return;
        const std::int64_t first = i - a.col_idxs(begin), last = a.col_idxs(end - 1) - i;
        if (first > before) before = first;
        if (last > after) after = last;
      },
      Kokkos::Max<std::int64_t>(lower), Kokkos::Max<std::int64_t>(upper));
  return {std::max<std::int64_t>(lower, 0), std::max<std::int64_t>(upper, 0)};
}

/// Elements begin .. end - 1 of a vector.
template <class T, class Space, class Index>
VectorView<T, Space> part_of(const VectorView<T, Space>& vector, Index begin, Index end) {
  return Kokkos::subview(vector,
                         std::make_pair(static_cast<std::size_t>(begin), static_cast<std::size_t>(end)));
}

/// Elements begin .. end - 1, copied to the device of `space`.
template <class T, class Space, class Index>
Vector<T, Space> copied(const Space& space, const VectorView<const T, Space>& vector, Index begin,
                        Index end) {
  const auto part = part_of<const T, Space>(vector, begin, end);
  const auto copy = allocate<Vector<T, Space>>(space, "prekond::devices::copy", part.extent(0));
  Kokkos::deep_copy(space, copy, part);
  return copy;
}

template <class Space>
std::size_t element(const Space& space, const VectorView<const std::size_t, Space>& vector,
                    std::int64_t place) {
  std::size_t result = 0;
  Kokkos::deep_copy(
      space, Kokkos::View<std::size_t, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(&result),
      Kokkos::subview(vector, static_cast<std::size_t>(place)));
  space.fence("prekond::devices::element");
  return result;
}

template <class T, class Space>
void add(const Space& space, T term, const VectorView<T, Space>& vector) {
  Kokkos::parallel_for(
      "prekond::devices::add", Places<Space>(space, 0, vector.extent(0)),
      KOKKOS_LAMBDA(std::int64_t k) { vector(k) += term; });
}

}  // namespace

template <class Space>
std::vector<RowRange> ranges_of_work(const Space& space, const CsrGraphView<Space>& a,
                                     const std::vector<std::int64_t>& speeds, int block_rows) {
  std::vector<RowRange> ranges(speeds.size());
  if (a.num_rows == 0) return ranges;
  std::vector<std::int64_t> host(speeds.size());
  std::partial_sum(speeds.begin(), speeds.end(), host.begin());
  const auto ends = copied_to(space, host, "prekond::devices::ends");
  end_ranges<Space>(space, a, block_rows, host.back(), ends);
  Kokkos::deep_copy(space, HostView<std::int64_t>(host.data(), host.size()), ends);
  space.fence("prekond::devices::ranges");
  for (std::size_t k = 0; k < ranges.size(); ++k) ranges[k] = {k > 0 ? host[k - 1] : 0, host[k]};
  return ranges;
}

template <class Space>
std::vector<RowRange> ranges_read(const Space& space, const CsrGraphView<Space>& a,
                                  const std::vector<RowRange>& own, const RowReach& reach) {
  auto [before, after] = bandwidths<Space>(space, a);
  if (reach.both_ways) before = after = std::max(before, after);
  const std::int64_t n = a.num_rows, block = reach.block_rows;
  const auto steps = [&](std::int64_t width) {  // a step ends at whole blocks
    return std::min(n, std::min<std::int64_t>(reach.levels, n) * (width + block - 1));
  };
  std::vector<RowRange> read;
  for (const RowRange& range : own) {
    const std::int64_t begin = std::max<std::int64_t>(0, range.begin - steps(before)) / block * block;
    const std::int64_t end = (range.end + steps(after) + block - 1) / block * block;
    read.push_back(range.size() > 0 ? RowRange{begin, std::min(n, end)} : range);
  }
  return read;
}

template <class Scalar, class Space>
MatrixOn<Scalar, Space> rows_on_device(const Space& space, const CsrView<Scalar, Space>& a, RowRange range,
                                       bool on_first) {
  const std::int64_t n = range.size(), begin = range.begin, end = range.end;
  CsrView<Scalar, Space> rows(n, a.num_cols, part_of<const std::size_t, Space>(a.row_ptrs, begin, end + 1),
                              a.col_idxs, a.values);
  MatrixOn<Scalar, Space> copy;
  if (!on_first) {
    const auto row_ptrs = copied<std::size_t, Space>(space, a.row_ptrs, begin, end + 1);
    const std::size_t first = element<Space>(space, row_ptrs, 0), last = element<Space>(space, row_ptrs, n);
    add<std::size_t, Space>(space, -first, row_ptrs);
    rows = copy = {n, a.num_cols, row_ptrs, copied<int, Space>(space, a.col_idxs, first, last),
                   copied<Scalar, Space>(space, a.values, first, last)};
  }
  if (on_first || n < a.num_cols) {
    const VectorView<const int, Space> cols = rows.col_idxs;
    auto own = filter_entries<Scalar, Space>(
        space, rows,
        KOKKOS_LAMBDA(std::int64_t, std::size_t k) { return cols(k) >= begin && cols(k) < end; });
    add<int, Space>(space, -static_cast<int>(begin), own.col_idxs);
    space.fence("prekond::devices::rows");  // the copy goes away
    own.num_cols = n;
    return own;
  }
  space.fence("prekond::devices::rows");
  return copy;
}

template <class Scalar, class Space>
FoundRows<Scalar, Space> found_rows(const Space& space, const MatrixOn<Scalar, Space>& matrix, RowRange read,
                                    RowRange own) {
  return {matrix, read, own, element<Space>(space, matrix.row_ptrs, own.begin - read.begin),
          element<Space>(space, matrix.row_ptrs, own.end - read.begin)};
}

template <class Scalar, class Space>
MatrixOn<Scalar, Space> gathered(const Space& space, std::int64_t n,
                                 const std::vector<FoundRows<Scalar, Space>>& parts) {
  std::size_t nnz = 0;
  for (const auto& part : parts) nnz += part.last - part.first;
  const MatrixOn<Scalar, Space> whole(
      n, n, allocate<Vector<std::size_t, Space>>(space, "prekond::devices::gathered_row_ptrs", n + 1),
      allocate<Vector<int, Space>>(space, "prekond::devices::gathered_col_idxs", nnz),
      allocate<Vector<Scalar, Space>>(space, "prekond::devices::gathered_values", nnz));
  std::size_t to = 0;
  for (const auto& part : parts) {
    if (part.own.size() == 0) continue;
    const std::size_t count = part.last - part.first;
    const auto ptrs = part_of<std::size_t, Space>(whole.row_ptrs, part.own.begin, part.own.end + 1);
    const auto cols = part_of<int, Space>(whole.col_idxs, to, to + count);
    Kokkos::deep_copy(
        space, ptrs,
        part_of<const std::size_t, Space>(part.matrix.row_ptrs, part.own.begin - part.read.begin,
                                          part.own.end - part.read.begin + 1));
    add<std::size_t, Space>(space, to - part.first, ptrs);
    Kokkos::deep_copy(space, cols, part_of<const int, Space>(part.matrix.col_idxs, part.first, part.last));
    add<int, Space>(space, static_cast<int>(part.read.begin), cols);
    Kokkos::deep_copy(space, part_of<Scalar, Space>(whole.values, to, to + count),
                      part_of<const Scalar, Space>(part.matrix.values, part.first, part.last));
    to += count;
  }
  space.fence("prekond::devices::gathered");
  return whole;
}

template <class Space>
Vector<unsigned char, Space> marks_of(const Space& space, RowRange read, RowRange own) {
  const auto marks =
      allocate_zero<Vector<unsigned char, Space>>(space, "prekond::devices::marks", read.size());
  Kokkos::deep_copy(space, part_of<unsigned char, Space>(marks, own.begin - read.begin, own.end - read.begin),
                    1);
  return marks;
}

#define PREKOND_ROWS_OF_DEVICES(Scalar, Space)                                                           \
  template MatrixOn<Scalar, Space> rows_on_device(const Space&, const CsrView<Scalar, Space>&, RowRange, \
                                                  bool);                                                 \
  template FoundRows<Scalar, Space> found_rows(const Space&, const MatrixOn<Scalar, Space>&, RowRange,   \
                                               RowRange);                                                \
  template MatrixOn<Scalar, Space> gathered(const Space&, std::int64_t,                                  \
                                            const std::vector<FoundRows<Scalar, Space>>&);
PREKOND_INSTANTIATE(PREKOND_ROWS_OF_DEVICES)
PREKOND_INSTANTIATE_COMPLEX(PREKOND_ROWS_OF_DEVICES)
#define PREKOND_RANGES_OF_DEVICES(Space)                                                     \
  template std::vector<RowRange> ranges_of_work(const Space&, const CsrGraphView<Space>&,    \
                                                const std::vector<std::int64_t>&, int);      \
  template std::vector<RowRange> ranges_read(const Space&, const CsrGraphView<Space>&,       \
                                             const std::vector<RowRange>&, const RowReach&); \
  template Vector<unsigned char, Space> marks_of(const Space&, RowRange, RowRange);
PREKOND_INSTANTIATE_SPACES(PREKOND_RANGES_OF_DEVICES)

}  // namespace prekond::impl::devices
