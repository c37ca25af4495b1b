// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// A host's row in work by its columns.
#include <prekond/core/views.hpp>
#include "core/concurrency.hpp"
#include "core/packed.hpp"

#include <algorithm>
#include <cstdint>

namespace prekond::impl::ilu {

/// A word for each column, of one thread of a host for as long as the object lives: the value that the row in
/// work has there, or the place of that value. All words are 0 between two rows. A row that is gone through
/// then finds its columns without a search, whose branches are what takes the time of a host. Without words a
/// row is worked on by searches.
template <class Scalar>
class ColumnTable {
 public:
  ColumnTable() = default;
  ColumnTable(std::uint64_t* words, int* taken) : m_words(words), m_taken(taken) {}
  ~ColumnTable() {
    if (m_taken != nullptr) Kokkos::atomic_exchange(m_taken, 0);
  }
  ColumnTable(const ColumnTable&) = delete;
  ColumnTable& operator=(const ColumnTable&) = delete;

  bool is_empty() const { return m_words == nullptr; }
  Scalar* values() const { return reinterpret_cast<Scalar*>(m_words); }
  Scalar** places() const { return reinterpret_cast<Scalar**>(m_words); }

 private:
  std::uint64_t* m_words = nullptr;
  int* m_taken = nullptr;
};

/// The tables of all threads of a host. Threads take one for some rows.
struct ColumnTables {
  /// Of a table: that there are tables does not depend on the number of threads, as last bits may depend on
  /// it (compilers fuse the products of one loop into its sums, and not those of the other).
  static constexpr std::int64_t most_bytes = std::int64_t(32) << 20;

  PackedVector<std::uint64_t> words;  ///< empty: there are none
  PackedVector<int> taken;            ///< by table
  std::int64_t num_columns = 0;
  int count = 0;

  template <class Scalar>
  ColumnTable<Scalar> take(int first) const {
    if (words.is_empty()) return {};
    int t = first % count;
    while (Kokkos::atomic_compare_exchange(&taken(t), 0, 1) != 0) t = (t + 1) % count;
    return {words.data() + t * num_columns, &taken(t)};
  }
};

}  // namespace prekond::impl::ilu
