// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A host's row in work by its columns.
#include <prekond/core/views.hpp>
#include "core/packed.hpp"

#include <cstdint>
#include <thread>

namespace prekond::impl::ilu {

/// One word per column, owned by one thread of a host while the object lives: the value that the row in work
/// has there, or the place of that value. All words are 0 between two rows. The thread then finds the columns
/// of other rows without searches, whose mispredicted branches take most of the time on a host. Without words
/// it searches.
template <class Scalar>
class ColumnTable {
  static_assert(sizeof(Scalar) <= sizeof(std::uint64_t) && sizeof(Scalar*) <= sizeof(std::uint64_t));

 public:
  ColumnTable() = default;
  KOKKOS_FUNCTION ColumnTable(std::uint64_t* words, int* taken) : m_words(words), m_taken(taken) {}
  KOKKOS_FUNCTION ~ColumnTable() {
    if (m_taken == nullptr) return;
    Kokkos::memory_fence();  // the next owner sees zeros
    Kokkos::atomic_exchange(m_taken, 0);
  }
  ColumnTable(const ColumnTable&) = delete;
  ColumnTable& operator=(const ColumnTable&) = delete;

  KOKKOS_FUNCTION bool is_empty() const { return m_words == nullptr; }
  KOKKOS_FUNCTION Scalar* values() const { return reinterpret_cast<Scalar*>(m_words); }
  KOKKOS_FUNCTION Scalar** places() const { return reinterpret_cast<Scalar**>(m_words); }

 private:
  std::uint64_t* m_words = nullptr;
  int* m_taken = nullptr;
};

/// The tables of the threads of a host. A thread takes one for some rows, the one that it had last where that
/// is free.
struct ColumnTables {
  /// The largest table. The bound depends on the matrix and not on the number of threads, because factors by
  /// tables and by searches may differ in their last bits: compilers fuse the products of one loop into sums
  /// and not those of the other.
  static constexpr std::int64_t most_bytes = std::int64_t(32) << 20;
  /// The bytes of all tables. Threads without one wait.
  static constexpr std::int64_t most_bytes_of_all = std::int64_t(512) << 20;
  static constexpr int stride = 16;  ///< of `taken`: a cache line for each

  PackedVector<std::uint64_t> words;  ///< empty: there are none
  PackedVector<int> taken;
  std::int64_t num_columns = 0;
  int count = 0;

  template <class Scalar>
  KOKKOS_FUNCTION ColumnTable<Scalar> take() const {
    KOKKOS_IF_ON_HOST((return take_on_host<Scalar>();))
    KOKKOS_IF_ON_DEVICE((return {};))
  }

 private:
  template <class Scalar>
  ColumnTable<Scalar> take_on_host() const {
    if (words.is_empty()) return {};
    static thread_local int last = 0;
    int t = last % count;
    for (int tries = 1; Kokkos::atomic_compare_exchange(&taken(t * stride), 0, 1) != 0; ++tries) {
      t = (t + 1) % count;
      if (tries % count == 0) std::this_thread::yield();
    }
    Kokkos::memory_fence();  // its words are read after it was taken
    last = t;
    return {words.data() + t * num_columns, &taken(t * stride)};
  }
};

}  // namespace prekond::impl::ilu
