// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/levels/row_blocks.hpp"

#include "core/instantiate.hpp"

#include <algorithm>
#include <vector>

namespace prekond::impl::levels {
namespace {

/// For each row i whether a block of L may begin there: no row from i on needs one before i.
template <class Space>
std::vector<char> find_beginnings(const CsrGraph<Space>& lower) {
  const int n = static_cast<int>(lower.num_rows);
  std::vector<char> begins(static_cast<std::size_t>(n), 0);
  for (int i = n - 1, first = n; i >= 0; --i) {
    const std::size_t k = lower.row_ptrs(i);
    if (k < lower.row_ptrs(i + 1)) first = std::min(first, lower.col_idxs(k));
    begins[static_cast<std::size_t>(i)] = first >= i;
  }
  return begins;
}

/// Keeps the beginnings that are such for U, too: no row before i needs one from i on.
template <class Space>
void keep_beginnings(const CsrGraph<Space>& upper, std::vector<char>& begins) {
  for (int i = 0, last = -1; i < static_cast<int>(upper.num_rows); ++i) {
    if (last >= i) begins[static_cast<std::size_t>(i)] = 0;
    const std::size_t k = upper.row_ptrs(i + 1);
    if (k > upper.row_ptrs(i)) last = std::max(last, upper.col_idxs(k - 1));
  }
}

}  // namespace

template <class Space>
RowBlocks<Space> find_row_blocks(const Space& space, const CsrGraph<Space>& lower,
                                 const CsrGraph<Space>& upper) {
  if constexpr (!is_host_space<Space>) {
    return {};
  } else {
    if (lower.num_rows == 0) return {};
    space.fence("prekond::levels::find_row_blocks");
    std::vector<char> begins = find_beginnings(lower);
    keep_beginnings(upper, begins);
    const auto work = [&](int i) { return std::int64_t(i) + static_cast<std::int64_t>(lower.row_ptrs(i)); };
    const int n = static_cast<int>(lower.num_rows);
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

#define PREKOND_ROW_BLOCKS(Space)                                                        \
  template RowBlocks<Space> find_row_blocks<Space>(const Space&, const CsrGraph<Space>&, \
                                                   const CsrGraph<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_ROW_BLOCKS)

}  // namespace prekond::impl::levels
