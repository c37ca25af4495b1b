// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/longest_row_length.hpp"

#include "core/instantiate.hpp"

namespace prekond {
namespace {

template <class Space>
struct LongestRow {
  CsrGraphView<Space> pattern;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& longest) const {
    const auto length = static_cast<std::int64_t>(pattern.row_ptrs(i + 1) - pattern.row_ptrs(i));
    if (length > longest) longest = length;
  }
};

}  // namespace

template <class Space>
std::int64_t longest_row_length(const Space& space, const CsrGraphView<Space>& pattern) {
  std::int64_t longest = 0;
  Kokkos::parallel_reduce(
      "prekond::longest_row_length",
      Kokkos::RangePolicy<Space, Kokkos::IndexType<std::int64_t>>(space, 0, pattern.num_rows),
      LongestRow<Space>{pattern}, Kokkos::Max<std::int64_t>(longest));
  return pattern.num_rows > 0 ? longest : 0;
}

#define PREKOND_LONGEST_ROW_LENGTH(Space) \
  template std::int64_t longest_row_length<Space>(const Space&, const CsrGraphView<Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_LONGEST_ROW_LENGTH)

}  // namespace prekond
