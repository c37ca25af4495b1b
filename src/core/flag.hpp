// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/views.hpp>
#include "core/concurrent_words.hpp"

#include <string>

namespace prekond::impl {

/// Whether any thread of a kernel has found something. A reduction by teams takes several times as long on a
/// device where rows are short.
template <class Space>
class Flag {
 public:
  Flag(const Space& space, const std::string& label)
      : m_word(allocate_zero<Vector<int, Space>>(space, label, 1)) {}

  KOKKOS_FORCEINLINE_FUNCTION void raise() const { raise_flag(m_word(0), 1); }

  /// Fences.
  bool is_raised(const Space& space) const {
    int word = 0;
    Kokkos::deep_copy(space,
                      Kokkos::View<int, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(&word),
                      Kokkos::subview(m_word, 0));
    space.fence("prekond::flag");
    return word != 0;
  }

 private:
  Vector<int, Space> m_word;
};

}  // namespace prekond::impl
