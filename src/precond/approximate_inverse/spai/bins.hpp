// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Columns listed by the sizes of their local systems, so that a launch has systems of nearly one size.
#include <prekond/core/views.hpp>

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
  int more = 0;  ///< columns in addition to those of J
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
                             std::int64_t workspace_budget, std::int64_t most, const Bytes& bytes) {
  std::vector<Bin> joined;
  for (const Bin& bin : bins.bins) {
    if (bin.group != group) continue;
    if (!joined.empty()) {
      Bin both = joined.back();
      both.n1 = std::max(both.n1, bin.n1);
      both.n2 = std::max(both.n2, bin.n2);
      both.count += bin.count;
      const auto of_team = static_cast<std::int64_t>(bytes(both));
      if (of_team <= most && of_team * std::min(both.count, teams) <= workspace_budget) {
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
  static constexpr int most = 5;
  int n2[most] = {};
  int count = 0;
  /// How many of them are below.
  KOKKOS_FORCEINLINE_FUNCTION int group(int size) const {
    int group = 0;
    for (int k = 0; k < count; ++k) group += size > n2[k];
    return group;
  }
};

/// Bins by n1 and n2; with `chosen`, of the columns k with chosen(k) == wanted. Group g has the bins whose n2
/// exceeds g of the limits, the last group comes first. Cost: a reading of two bytes a column for each bin
/// that is not empty. Memory: an int and two bytes a column. Fences once.
template <class Space>
ColumnBins<Space> bin_columns(const Space& space, const ColumnSizes<Space>& sizes,
                              VectorView<const unsigned char, Space> chosen, unsigned char wanted,
                              const Limits& limits);

}  // namespace prekond::impl::spai
