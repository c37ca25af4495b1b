// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Columns listed by the sizes of their local systems, so that a launch has systems of nearly one size.
#include <prekond/core/views.hpp>
#include <prekond/precond/impl/memory_meter.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace prekond::impl::spai {

/// n1 and n2 of each column.
template <class Space>
struct ColumnSizes {
  VectorView<const int, Space> counts;
  VectorView<const std::size_t, Space> list_ptrs;
  int more = 0;  ///< columns beside those of J
  KOKKOS_FORCEINLINE_FUNCTION int n1(std::int64_t k) const { return counts(k); }
  KOKKOS_FORCEINLINE_FUNCTION int n2(std::int64_t k) const {
    return static_cast<int>(list_ptrs(k + 1) - list_ptrs(k)) + more;
  }
};

/// Classes of sizes up to 8, 16, 24, 32, and from there 3/2 and 4/3 times the one before by turns.
inline constexpr int num_size_classes = 64;
KOKKOS_INLINE_FUNCTION constexpr int size_class(int n) {
  const std::int64_t eighths = (std::int64_t(n) + 7) / 8;
  if (eighths <= 4) return eighths > 0 ? static_cast<int>(eighths) - 1 : 0;
  int c = 3;
  for (std::int64_t limit = 4; limit < eighths;) {
    ++c;
    limit = c % 2 == 0 ? limit * 3 / 2 : limit / 3 * 4;
  }
  return c;
}

struct Bin {
  int group = 0;
  int n1 = 0;  ///< of its largest systems
  int n2 = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

template <class Space>
struct ColumnBins {
  Vector<int, Space> columns;  ///< bin after bin, ascending in each
  std::vector<Bin> bins;       ///< by groups, the largest systems first

  VectorView<const int, Space> columns_of(const Bin& bin) const {
    return VectorView<const int, Space>(columns.data() + bin.first, bin.count);
  }
};

/// The bins of a group in as few launches as a slab for all teams at work allows: a launch ends with some
/// teams that those of the next one would wait for. `bytes(bin)` is a team's part of the slab, `most` what it
/// may be.
template <class Space, class Bytes>
std::vector<Bin> joined_bins(const ColumnBins<Space>& bins, int group, std::int64_t teams,
                             std::int64_t slab_bytes, std::int64_t most, const Bytes& bytes) {
  std::vector<Bin> joined;
  for (const Bin& bin : bins.bins) {
    if (bin.group != group) continue;
    if (!joined.empty()) {
      Bin both = joined.back();
      both.n1 = std::max(both.n1, bin.n1);
      both.n2 = std::max(both.n2, bin.n2);
      both.count += bin.count;
      const auto of_team = static_cast<std::int64_t>(bytes(both));
      if (of_team <= most && of_team * std::min(both.count, teams) <= slab_bytes) {
        joined.back() = both;
        continue;
      }
    }
    joined.push_back(bin);
  }
  return joined;
}

/// Sizes that no bin has on both sides of them.
struct Limits {
  static constexpr int most = 4;
  int n2[most] = {};
  int count = 0;
  /// How many of them are below.
  KOKKOS_FORCEINLINE_FUNCTION int group(int size) const {
    int group = 0;
    for (int k = 0; k < count; ++k) group += size > n2[k];
    return group;
  }
};

struct BinTotals {
  int count;
  int n1;
  int n2;
};

/// The classes of some columns that follow each other, and what the classes have. Neighbours are often of one
/// class: they are counted together.
template <class Space>
struct MeasureBins {
  static constexpr unsigned short none = 0xffff;
  static constexpr int at_once = 32;
  ColumnSizes<Space> sizes;
  VectorView<const unsigned char, Space> chosen;
  unsigned char wanted;
  Limits limits;
  VectorView<unsigned short, Space> classes;
  VectorView<BinTotals, Space> totals;

  KOKKOS_FUNCTION void operator()(std::int64_t strip) const {
    const auto n = static_cast<std::int64_t>(classes.extent(0));
    const std::int64_t end = (strip + 1) * at_once < n ? (strip + 1) * at_once : n;
    unsigned short last = none;
    BinTotals counted{0, 0, 0};
    for (std::int64_t k = strip * at_once; k < end; ++k) {
      if (chosen.extent(0) > 0 && chosen(k) != wanted) {
        classes(k) = none;
        continue;
      }
      const int n1 = sizes.n1(k), n2 = sizes.n2(k);
      const auto c = static_cast<unsigned short>(
          (limits.group(n2) * num_size_classes + size_class(n2)) * num_size_classes + size_class(n1));
      classes(k) = c;
      if (c != last) add(last, counted);
      last = c;
      ++counted.count;
      counted.n1 = counted.n1 < n1 ? n1 : counted.n1;
      counted.n2 = counted.n2 < n2 ? n2 : counted.n2;
    }
    add(last, counted);
  }

  KOKKOS_FUNCTION void add(unsigned short c, BinTotals& counted) const {
    if (counted.count > 0) {
      Kokkos::atomic_add(&totals(c).count, counted.count);
      if (totals(c).n1 < counted.n1) Kokkos::atomic_max(&totals(c).n1, counted.n1);
      if (totals(c).n2 < counted.n2) Kokkos::atomic_max(&totals(c).n2, counted.n2);
    }
    counted = {0, 0, 0};
  }
};

template <class Space>
struct ListClass {
  VectorView<const unsigned short, Space> classes;
  VectorView<int, Space> columns;
  unsigned short wanted;

  KOKKOS_FUNCTION void operator()(std::int64_t k, std::int64_t& position, bool final) const {
    if (classes(k) != wanted) return;
    if (final) columns(position) = static_cast<int>(k);
    ++position;
  }
};

/// Bins by n1 and n2; with `chosen`, of the columns k with chosen(k) == wanted. Group g has the bins whose n2
/// exceeds g of the limits, the last group comes first. Cost: a reading of two bytes a column for each bin
/// that is not empty. Memory: an int and two bytes a column. Fences once.
template <class Space>
ColumnBins<Space> bin_columns(const Space& space, const ColumnSizes<Space>& sizes,
                              VectorView<const unsigned char, Space> chosen, unsigned char wanted,
                              const Limits& limits, MemoryMeter& meter) {
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;
  const auto n = static_cast<std::int64_t>(sizes.list_ptrs.extent(0)) - 1;
  constexpr int in_group = num_size_classes * num_size_classes;
  static_assert((Limits::most + 1) * in_group <= MeasureBins<Space>::none);
  const int num_classes = (limits.count + 1) * in_group;
  const auto classes = allocate<Vector<unsigned short, Space>>(space, "prekond::spai::numeric::classes", n);
  const auto totals =
      allocate_zero<Vector<BinTotals, Space>>(space, "prekond::spai::numeric::bins", num_classes);
  constexpr int at_once = MeasureBins<Space>::at_once;
  Kokkos::parallel_for("prekond::spai::numeric::measure_bins", Policy(space, 0, (n + at_once - 1) / at_once),
                       MeasureBins<Space>{sizes, chosen, wanted, limits, classes, totals});
  std::vector<BinTotals> found(num_classes);
  Kokkos::deep_copy(space,
                    Kokkos::View<BinTotals*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
                        found.data(), found.size()),
                    totals);
  space.fence("prekond::spai::numeric::bins");
  std::vector<int> order;
  std::int64_t total = 0;
  for (int c = 0; c < num_classes; ++c)
    if (found[c].count > 0) {
      order.push_back(c);
      total += found[c].count;
    }
  const auto work = [&](int c) { return (1 + double(found[c].n1)) * found[c].n2 * found[c].n2; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return a / in_group != b / in_group ? a > b : work(a) > work(b); });
  ColumnBins<Space> result;
  result.columns = allocate<Vector<int, Space>>(space, "prekond::spai::numeric::columns", total);
  meter.pass(MemoryMeter::bytes_of(classes) + MemoryMeter::bytes_of(totals) +
             MemoryMeter::bytes_of(result.columns));
  std::int64_t first = 0;
  for (const int c : order) {
    result.bins.push_back({c / in_group, found[c].n1, found[c].n2, first, found[c].count});
    const VectorView<int, Space> columns(result.columns.data() + first, found[c].count);
    Kokkos::parallel_scan("prekond::spai::numeric::list_bin", Policy(space, 0, n),
                          ListClass<Space>{classes, columns, static_cast<unsigned short>(c)});
    first += found[c].count;
  }
  return result;
}

}  // namespace prekond::impl::spai
