// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sparse_product/wanted_rows.hpp"

#include "core/instantiate.hpp"
#include "matrix/filter_entries.hpp"

namespace prekond {
namespace {

/// Which entries stay.
template <class Space>
struct IsWanted {
  CsrGraphView<Space> pattern;
  VectorView<const unsigned char, Space> wanted;
  bool by_columns;
  KOKKOS_FUNCTION bool operator()(std::int64_t row, std::size_t k) const {
    const int col = pattern.col_idxs(k);
    return col == row || wanted(by_columns ? col : static_cast<int>(row)) != 0;
  }
};

template <class Space>
CsrGraph<Space> keep(const Space& space, const CsrGraph<Space>& pattern,
                     const VectorView<const unsigned char, Space>& wanted, bool by_columns) {
  if (wanted.extent(0) == 0) return pattern;
  const CsrView<float, Space> entries(pattern.num_rows, pattern.num_cols, pattern.row_ptrs, pattern.col_idxs,
                                      {});
  return filter_pattern<float, Space>(space, entries, IsWanted<Space>{pattern, wanted, by_columns});
}

}  // namespace

template <class Space>
CsrGraph<Space> keep_wanted_rows(const Space& space, const CsrGraph<Space>& pattern,
                                 const VectorView<const unsigned char, Space>& wanted) {
  return keep(space, pattern, wanted, false);
}

template <class Space>
CsrGraph<Space> keep_wanted_columns(const Space& space, const CsrGraph<Space>& pattern,
                                    const VectorView<const unsigned char, Space>& wanted) {
  return keep(space, pattern, wanted, true);
}

#define PREKOND_WANTED_ROWS(Space)                                                          \
  template CsrGraph<Space> keep_wanted_rows(const Space&, const CsrGraph<Space>&,           \
                                            const VectorView<const unsigned char, Space>&); \
  template CsrGraph<Space> keep_wanted_columns(const Space&, const CsrGraph<Space>&,        \
                                               const VectorView<const unsigned char, Space>&);
PREKOND_INSTANTIATE_SPACES(PREKOND_WANTED_ROWS)

}  // namespace prekond
