// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The largest entries of a list.
#include <prekond/core/views.hpp>

#include <cstdint>

namespace prekond::impl::par_ilu {

/// The entries of a list that are kept.
template <class Space>
struct Selection {
  Vector<char, Space> keep;  ///< 1 or 0
  double threshold = 0;      ///< the least size that is kept; 0 where all are
};

/// The `count` entries of the largest size, of equal ones the first: all of them where there are no more.
/// Exact: four bits of the sizes after four, from the highest on, each by a pass that counts how many have
/// which. Cost: 16 passes over doubles, 8 over floats, and one. Fences.
///
/// \pre all entries are finite
template <class Scalar, class Space>
Selection<Space> select_largest(const Space& space, const VectorView<const Scalar, Space>& values,
                                std::int64_t count);

}  // namespace prekond::impl::par_ilu
