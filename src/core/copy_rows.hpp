// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "core/row_teams.hpp"

#include <cstddef>
#include <cstdint>

namespace prekond::impl {

/// Rows to where they belong, from where they begin at `begins`: one number of each entry.
template <class T, class Space>
struct CopyRows {
  VectorView<const std::size_t, Space> begins, row_ptrs;
  VectorView<const T, Space> from;
  VectorView<T, Space> to;
  RowTeams<Space> rows;

  KOKKOS_FUNCTION void operator()(const typename RowTeams<Space>::Member& team) const {
    rows.for_each_row(team, [&](std::int64_t i) {
      const std::size_t source = begins(i), begin = row_ptrs(i);
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, begin, row_ptrs(i + 1)),
                           [&](std::size_t k) { to(k) = from(source + (k - begin)); });
    });
  }
};

}  // namespace prekond::impl
