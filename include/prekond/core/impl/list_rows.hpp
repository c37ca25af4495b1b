// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

#include <cstdint>
#include <string>

namespace prekond::impl {

template <class Space, class Holds, class Index>
struct RowsWhere {
  struct Count {};
  struct List {};
  Holds holds;
  VectorView<Index, Space> list;
  KOKKOS_FUNCTION void operator()(Count, std::int64_t i, std::int64_t& count) const { count += holds(i); }
  KOKKOS_FUNCTION void operator()(List, std::int64_t i, std::int64_t& place, bool final) const {
    if (!holds(i)) return;
    if (final) list(place) = static_cast<Index>(i);
    ++place;
  }
};

/// The rows i < num_rows for which `holds(i)`, ascending. A scan: rows that ask one
/// counter for their places would wait for each other. Fences once, to count them.
template <class Index = int, class Space, class Holds>
Vector<Index, Space> list_rows(const Space& space, const std::string& label, std::int64_t num_rows,
                               const Holds& holds) {
  using Rows = RowsWhere<Space, Holds, Index>;
  using Wide = Kokkos::IndexType<std::int64_t>;
  std::int64_t count = 0;
  Kokkos::parallel_reduce(label + "::count",
                          Kokkos::RangePolicy<Space, typename Rows::Count, Wide>(space, 0, num_rows),
                          Rows{holds, {}}, count);
  const auto list = allocate<Vector<Index, Space>>(space, label, count);
  if (count > 0)
    Kokkos::parallel_scan(label + "::list",
                          Kokkos::RangePolicy<Space, typename Rows::List, Wide>(space, 0, num_rows),
                          Rows{holds, list});
  return list;
}

}  // namespace prekond::impl
