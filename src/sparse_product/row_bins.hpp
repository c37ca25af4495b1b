// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>

#include <cstdint>
#include <vector>

namespace prekond {

/// Rows listed by their length, so that a launch has rows of one size class.
template <class Space>
struct RowBins {
  struct Bin {
    int limit = 0;  ///< rows of this bin have at most this number of entries, and more than the limit of the
                    ///< one before
    int longest = 0;  ///< the length of its longest row
    std::int64_t first = 0;
    std::int64_t count = 0;
  };
  Vector<int, Space> rows;  ///< bin after bin, ascending in each
  std::vector<Bin> bins;    ///< those that are not empty, the shortest rows first

  VectorView<const int, Space> rows_of(const Bin& bin) const {
    return VectorView<const int, Space>(rows.data() + bin.first, bin.count);
  }
};

/// Bins with the given ascending limits; beyond the last one limits double until all rows are in one. With
/// `chosen`, only the rows i where chosen(i) is not zero. Cost: a reading of the row pointers a bin,
/// and one for eight limits. Memory: an int a row. Fences once for eight limits, and once for `chosen`.
///
/// \pre limits is not empty, and no row has more than 2^31 - 1 entries
template <class Space>
RowBins<Space> bin_rows(const Space& space, VectorView<const std::size_t, Space> row_ptrs,
                        const std::vector<int>& limits, VectorView<const unsigned char, Space> chosen = {});

}  // namespace prekond
