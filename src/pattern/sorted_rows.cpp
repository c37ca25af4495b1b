// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/sorted_rows.hpp"

#include <Kokkos_Sort.hpp>
#include <prekond/pattern/reordering.hpp>
#include "matrix/counter_hash.hpp"

#include "core/instantiate.hpp"

#include <algorithm>

namespace prekond {
namespace {

template <class Space>
using Rows = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>;

/// Kokkos's own sort takes a host's keys into bins, which equal numbers would fill.
template <class Space>
void sort_keys(const Space& space, const Vector<std::uint64_t, Space>& keys) {
  if constexpr (is_host_space<Space>) {
    space.fence("prekond::sorted_rows::sort");
    std::sort(keys.data(), keys.data() + keys.extent(0));
  } else {
    Kokkos::sort(space, keys);
  }
}

template <class Space>
struct TakeRows {
  VectorView<const std::uint64_t, Space> keys;
  VectorView<int, Space> rows;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { rows(i) = static_cast<int>(keys(i) & 0xffffffffu); }
};

template <class Space>
struct KeyOfHash {
  std::uint64_t seed;
  VectorView<std::uint64_t, Space> keys;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const auto row = static_cast<std::uint64_t>(i);
    keys(i) = sort_key(impl::counter_hash(seed, row) >> 32, row);
  }
};

}  // namespace

template <class Space>
Vector<int, Space> sorted_rows(const Space& space, const Vector<std::uint64_t, Space>& keys) {
  sort_keys<Space>(space, keys);
  const auto rows = allocate<Vector<int, Space>>(space, "prekond::sorted_rows::rows", keys.extent(0));
  Kokkos::parallel_for("prekond::sorted_rows::take", Rows<Space>(space, 0, keys.extent(0)),
                       TakeRows<Space>{keys, rows});
  return rows;
}

template <class Space>
Ordering<Space> random_order(const Space& space, std::int64_t num_rows, std::uint64_t seed) {
  const auto keys = allocate<Vector<std::uint64_t, Space>>(space, "prekond::random_order::keys", num_rows);
  Kokkos::parallel_for("prekond::random_order::key_of_hash", Rows<Space>(space, 0, num_rows),
                       KeyOfHash<Space>{seed, keys});
  return make_ordering<Space>(space, sorted_rows<Space>(space, keys));
}

#define PREKOND_SORTED_ROWS(Space)                                                                   \
  template Vector<int, Space> sorted_rows<Space>(const Space&, const Vector<std::uint64_t, Space>&); \
  template Ordering<Space> random_order<Space>(const Space&, std::int64_t, std::uint64_t);
PREKOND_INSTANTIATE_SPACES(PREKOND_SORTED_ROWS)

}  // namespace prekond
