// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batched/scratch_layout.hpp"

#include <stdexcept>

namespace prekond::impl::batched {
namespace {

std::int64_t aligned(std::int64_t length) {
  return (length + piece_alignment - 1) / piece_alignment * piece_alignment;
}

void check_pieces(std::size_t count) {
  if (count > ScratchLayout::most_pieces)
    throw std::logic_error("prekond: a batched method has more vectors than a scratch layout has pieces");
}

}  // namespace

ScratchLayout make_scratch_layout(const std::vector<std::int64_t>& lengths, std::int64_t capacity,
                                  unsigned elsewhere) {
  check_pieces(lengths.size());
  ScratchLayout layout;
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    const std::int64_t length = aligned(lengths[k]);
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

void append_spilled(ScratchLayout& layout, int k, std::int64_t length) {
  check_pieces(static_cast<std::size_t>(k) + 1);
  layout.offset[k] = layout.spilled_length;
  layout.spilled_length += aligned(length);
}

}  // namespace prekond::impl::batched
