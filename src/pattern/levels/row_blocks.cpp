// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/levels/row_blocks.hpp"

#include "core/instantiate.hpp"

#include <algorithm>
#include <vector>

namespace prekond::impl::levels {
namespace {

/// For each row i whether a block begins there: no row from i on needs one before i (lower), or the reverse.
template <class Space>
std::vector<char> find_beginnings(const CsrGraph<Space>& triangle, Triangle which) {
  const int n = static_cast<int>(triangle.num_rows);
  std::vector<char> begins(static_cast<std::size_t>(n), 0);
  if (which == Triangle::lower) {
    int first = n;
    for (int i = n - 1; i >= 0; --i) {
      const std::size_t k = triangle.row_ptrs(i);
      if (k < triangle.row_ptrs(i + 1)) first = std::min(first, triangle.col_idxs(k));
      begins[static_cast<std::size_t>(i)] = first >= i;
    }
    return begins;
  }
  int last = -1;
  for (int i = 0; i < n; ++i) {
    begins[static_cast<std::size_t>(i)] = last < i;
    std::size_t k = triangle.row_ptrs(i + 1);
    while (k > triangle.row_ptrs(i) && triangle.col_idxs(k - 1) >= n) --k;  // columns of other ranks
    if (k > triangle.row_ptrs(i)) last = std::max(last, triangle.col_idxs(k - 1));
  }
  return begins;
}

}  // namespace

template <class Space>
RowBlocks<Space> find_row_blocks(const Space& space, const CsrGraph<Space>& triangle, Triangle which) {
  if constexpr (!is_host_space<Space>) {
    return {};
  } else {
    if (triangle.num_rows == 0) return {};
    space.fence("prekond::levels::find_row_blocks");
    const std::vector<char> begins = find_beginnings(triangle, which);
    const auto work = [&](int i) {
      return std::int64_t(i) + static_cast<std::int64_t>(triangle.row_ptrs(i));
    };
    const int n = static_cast<int>(triangle.num_rows);
    const std::int64_t small = work(n) / RowBlockTuning::most_blocks;
    std::vector<int> bounds{0};
    std::int64_t largest = 0;
    for (int i = 1, begin = 0; i <= n; ++i) {
      if (i < n && !begins[static_cast<std::size_t>(i)]) continue;
      largest = std::max(largest, work(i) - work(begin));
      begin = i;
      if (i == n || work(i) - work(bounds.back()) >= small) bounds.push_back(i);
    }
    if (3 * largest > 2 * work(n)) return {};
    RowBlocks<Space> result;
    result.count = static_cast<int>(bounds.size()) - 1;
    result.bounds = allocate<Vector<int, Space>>(space, "prekond::levels::block_bounds", bounds.size());
    std::copy(bounds.begin(), bounds.end(), result.bounds.data());
    return result;
  }
}

#define PREKOND_ROW_BLOCKS(Space) \
  template RowBlocks<Space> find_row_blocks<Space>(const Space&, const CsrGraph<Space>&, Triangle);
PREKOND_INSTANTIATE_SPACES(PREKOND_ROW_BLOCKS)

}  // namespace prekond::impl::levels
