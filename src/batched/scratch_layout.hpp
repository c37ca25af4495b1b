// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

#include <cstdint>
#include <vector>

namespace prekond::impl::batched {

/// The memory of a system by pieces, in order of priority: the first ones in the scratch memory of a team,
/// the others in a workspace. Offsets are numbers of the vectors' type.
struct ScratchLayout {
  static constexpr int most_pieces = 12;

  std::int64_t offset[most_pieces] = {};
  unsigned in_scratch = 0;          ///< bit k: piece k
  std::int64_t scratch_length = 0;  ///< numbers of a system in scratch memory
  std::int64_t spilled_length = 0;  ///< and in the workspace

  KOKKOS_FORCEINLINE_FUNCTION bool is_in_scratch(int piece) const { return (in_scratch >> piece & 1u) != 0; }
};

/// Pieces start at multiples of this number of elements: 16 bytes or more.
inline constexpr std::int64_t piece_alignment = 4;

/// Places each piece in scratch memory where it still fits. Pieces of the bits `elsewhere` that do not fit
/// have memory already, and take none of the workspace. \throws std::logic_error for more than most_pieces
/// pieces
ScratchLayout make_scratch_layout(const std::vector<std::int64_t>& lengths, std::int64_t capacity,
                                  unsigned elsewhere = 0);

/// Adds piece `k` to the workspace. \throws std::logic_error for more than most_pieces pieces
void append_spilled(ScratchLayout& layout, int k, std::int64_t length);

/// The pieces of one system.
template <class Scalar>
struct SystemMemory {
  Scalar* scratch;
  Scalar* spilled;
  const ScratchLayout& layout;

  KOKKOS_FORCEINLINE_FUNCTION Scalar* piece(int k) const {
    return (layout.is_in_scratch(k) ? scratch : spilled) + layout.offset[k];
  }
};

}  // namespace prekond::impl::batched
