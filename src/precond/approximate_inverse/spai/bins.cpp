// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "precond/approximate_inverse/spai/bins.hpp"

#include "core/instantiate.hpp"

#include <algorithm>
#include <string>

namespace prekond::impl::spai {

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

template <class Space>
ColumnBins<Space> bin_columns(const Space& space, const ColumnSizes<Space>& sizes,
                              VectorView<const unsigned char, Space> chosen, unsigned char wanted,
                              const Limits& limits) {
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

#define PREKOND_BIN_COLUMNS(Space)                                                                     \
  template ColumnBins<Space> bin_columns<Space>(const Space&, const ColumnSizes<Space>&,               \
                                                VectorView<const unsigned char, Space>, unsigned char, \
                                                const Limits&);
PREKOND_INSTANTIATE_SPACES(PREKOND_BIN_COLUMNS)

}  // namespace prekond::impl::spai
