// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <Kokkos_Core.hpp>

#include "core/packed.hpp"

#include <cstddef>
#include <cstdint>

namespace prekond::impl::products {

/// Calls work(deltas) with a pointer to the deltas of chunk c, of their type.
template <class Work>
KOKKOS_FORCEINLINE_FUNCTION void with_deltas(const PackedVector<const std::size_t>& delta_ptrs,
                                             const PackedVector<const unsigned char>& all, std::int64_t c,
                                             const Work& work) {
  const std::size_t code = delta_ptrs(c);
  const unsigned char* deltas = all.data() + (code & ~std::size_t(7));
  switch (code & 7) {
    case 1:
      return work(deltas);
    case 2:
      return work(reinterpret_cast<const unsigned short*>(deltas));
    default:
      return work(reinterpret_cast<const unsigned*>(deltas));
  }
}

}  // namespace prekond::impl::products
