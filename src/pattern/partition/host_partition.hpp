// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Partitions of a graph on the host.
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace prekond::impl {

/// A symmetric pattern; diagonal entries are not edges.
struct HostGraph {
  std::int64_t num_rows;
  const std::size_t* row_ptrs;
  const int* col_idxs;
};

/// The part of each row, below num_parts. Parts may be empty.
std::vector<int> partition_by_bisection(const HostGraph& graph, std::int64_t num_parts);

/// Held while METIS works: its random numbers are rand()'s, which all threads of a program have in common.
/// They begin with METIS's seed in each call, so that a result does not depend on who called rand or srand
/// before; afterwards rand() goes on from where METIS left it.
inline std::mutex& metis_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// METIS writes lines of its own where memory ends. So as much as it takes for such a graph at most is
/// asked for before.
inline void check_memory_for_metis(std::size_t bytes_of_index, std::size_t rows, std::size_t entries) {
  // Measured: up to 6.5 times the indices of the graph, for a partition into 256 parts.
  ::operator delete(::operator new(bytes_of_index*(8 * entries + 32 * rows)));
}

/// Likewise, from any thread, see metis_mutex. \throws InputError in a build without METIS, or for a graph
/// that it cannot count
std::vector<int> partition_by_metis(const HostGraph& graph, std::int64_t num_parts);

}  // namespace prekond::impl
