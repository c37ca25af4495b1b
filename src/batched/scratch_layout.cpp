// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched/scratch_layout.hpp"

#include <stdexcept>

namespace prekond::impl::batched {

ScratchLayout make_scratch_layout(const std::vector<std::int64_t>& lengths, std::int64_t capacity,
                                  unsigned elsewhere) {
  if (lengths.size() > ScratchLayout::most_pieces)
    throw std::logic_error("prekond: a batched method has more vectors than a scratch layout has pieces");
  ScratchLayout layout;
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    const std::int64_t length = (lengths[k] + piece_alignment - 1) / piece_alignment * piece_alignment;
    const bool fits = layout.scratch_length + length <= capacity;
    if (fits)
      layout.in_scratch |= 1u << k;
    else if (elsewhere >> k & 1u)
      continue;
    std::int64_t& end = fits ? layout.scratch_length : layout.spilled_length;
    layout.offset[k] = end;
    end += length;
  }
  return layout;
}

}  // namespace prekond::impl::batched
