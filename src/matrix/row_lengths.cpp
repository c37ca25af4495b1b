// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/longest_row.hpp"

#include "core/instantiate.hpp"

namespace prekond::impl {
namespace {

/// Length and row in one number, so that a maximum finds both.
template <class Space>
struct MaxRowLength {
  VectorView<const std::size_t, Space> row_ptrs;
  static constexpr std::uint64_t low = 0xffffffffu;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::uint64_t& most) const {
    const auto length = static_cast<std::uint64_t>(row_ptrs(i + 1) - row_ptrs(i));
    const std::uint64_t key = length << 32 | (low - static_cast<std::uint64_t>(i));
    if (key > most) most = key;
  }
};

}  // namespace

template <class Space>
LongestRow longest_row(const Space& space, const VectorView<const std::size_t, Space>& row_ptrs) {
  if (row_ptrs.extent(0) < 2) return {};
  std::uint64_t most = 0;
  Kokkos::parallel_reduce("prekond::longest_row",
                          Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(
                              space, 0, static_cast<std::int64_t>(row_ptrs.extent(0)) - 1),
                          MaxRowLength<Space>{row_ptrs}, Kokkos::Max<std::uint64_t>(most));
  const std::uint64_t low = MaxRowLength<Space>::low;
  return {static_cast<std::int64_t>(most >> 32), static_cast<std::int64_t>(low - (most & low))};
}

#define PREKOND_ROW_LENGTHS(Space)                                                                   \
  template LongestRow longest_row<Space>(const Space&, const VectorView<const std::size_t, Space>&); \
  PREKOND_SCAN_ROW_LENGTHS(, Space)
PREKOND_INSTANTIATE_SPACES(PREKOND_ROW_LENGTHS)

}  // namespace prekond::impl
