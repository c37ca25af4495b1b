// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched/placement.hpp"

#include <stdexcept>

namespace prekond::impl::batched {

Placement place_pieces(const std::vector<std::int64_t>& lengths, std::int64_t capacity, unsigned elsewhere) {
  if (lengths.size() > Placement::most_pieces)
    throw std::logic_error("prekond: a batched method has more vectors than a placement has pieces");
  Placement placement;
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    const std::int64_t length = (lengths[k] + piece_alignment - 1) / piece_alignment * piece_alignment;
    const bool fits = placement.scratch_length + length <= capacity;
    if (fits)
      placement.in_scratch |= 1u << k;
    else if (elsewhere >> k & 1u)
      continue;
    std::int64_t& end = fits ? placement.scratch_length : placement.spilled_length;
    placement.offset[k] = end;
    end += length;
  }
  return placement;
}

}  // namespace prekond::impl::batched
