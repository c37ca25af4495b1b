// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Where the numbers of a system stand: in scratch memory of a team as far as it goes, the others in a
/// workspace.
#include <Kokkos_Core.hpp>

#include <cstdint>
#include <vector>

namespace prekond::impl::batched {

/// Pieces of memory in order of priority. Offsets are numbers of the vectors' type.
struct Placement {
  static constexpr int most_pieces = 12;

  std::int64_t offset[most_pieces] = {};
  unsigned in_scratch = 0;          ///< bit k: piece k
  std::int64_t scratch_length = 0;  ///< of a system
  std::int64_t spilled_length = 0;  ///< of a system on its way

  KOKKOS_FORCEINLINE_FUNCTION bool is_in_scratch(int piece) const { return (in_scratch >> piece & 1u) != 0; }
};

/// Pieces start at multiples of so many numbers: 16 bytes or more.
inline constexpr std::int64_t piece_alignment = 4;

/// A piece after the other goes to scratch where there is room for it. Pieces of the bits `elsewhere` that
/// do not fit have a place of their own already, and take none of the workspace.
/// \throws std::logic_error for more pieces than there can be
Placement place_pieces(const std::vector<std::int64_t>& lengths, std::int64_t capacity,
                       unsigned elsewhere = 0);

/// The pieces of one system.
template <class Scalar>
struct SystemMemory {
  Scalar* scratch;
  Scalar* spilled;
  const Placement& placement;

  KOKKOS_FORCEINLINE_FUNCTION Scalar* piece(int k) const {
    return (placement.is_in_scratch(k) ? scratch : spilled) + placement.offset[k];
  }
};

}  // namespace prekond::impl::batched
