// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// Patterns whose rows are found once, on a host with memory for a bound of their lengths.
#include <prekond/matrix/csr_graph.hpp>
#include <prekond/matrix/csr_matrix.hpp>
#include "core/concurrency.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

namespace prekond::impl {

/// Rows in chunks, which threads take one after another.
template <class Space>
struct HostChunks {
  static constexpr std::int64_t rows_of_chunk = 256;
  std::int64_t num_rows;

  std::int64_t count() const { return (num_rows + rows_of_chunk - 1) / rows_of_chunk; }
  std::int64_t begin(std::int64_t chunk) const { return chunk * rows_of_chunk; }
  std::int64_t end(std::int64_t chunk) const { return std::min(begin(chunk + 1), num_rows); }
  /// Threads that there is work for.
  int threads(const Space& space) const {
    return static_cast<int>(std::min<std::int64_t>(concurrency(space), count()));
  }
};

/// Calls body(thread, chunk) for all chunks.
template <class Space, class Body>
struct EachHostChunk {
  using Policy = Kokkos::TeamPolicy<Space>;
  HostChunks<Space> chunks;
  Body body;
  VectorView<std::int64_t, Space> next;

  void operator()(const typename Policy::member_type& team) const {
    while (true) {
      const std::int64_t chunk = Kokkos::atomic_fetch_add(&next(0), std::int64_t(1));
      if (chunk >= chunks.count()) return;
      body(team.league_rank(), chunk);
    }
  }
};

/// Fences.
template <class Space, class Body>
void for_chunks(const Space& space, const std::string& label, const HostChunks<Space>& chunks,
                const Body& body) {
  if (chunks.num_rows == 0) return;
  const auto next = allocate_zero<Vector<std::int64_t, Space>>(space, label + "::next", 1);
  using Kernel = EachHostChunk<Space, Body>;
  Kokkos::parallel_for(label, typename Kernel::Policy(space, chunks.threads(space), 1),
                       Kernel{chunks, body, next});
  space.fence(label);
}

/// Each of `count` numbers becomes the sum of those before it, and one more number that of all.
template <class Space>
std::size_t begin_each(const VectorView<std::size_t, Space>& numbers, std::int64_t count) {
  std::size_t sum = 0;
  for (std::int64_t k = 0; k <= count; ++k) {
    const std::size_t mine = k < count ? numbers(k) : 0;
    numbers(k) = sum;
    sum += mine;
  }
  return sum;
}

/// In place of a type of values: a pattern has none.
struct NoValues {};

/// The findings of collect_host_rows before their places are known: `cols` and `values` of the rows of chunk
/// c from bounds(c) on, one after the other.
template <class Scalar, class Space>
struct FoundHostRows {
  HostChunks<Space> chunks;
  Vector<std::size_t, Space> bounds, begins;
  Vector<int, Space> length, cols;
  Vector<Scalar, Space> values;

  template <class Find>
  void find(int thread, std::int64_t chunk, const Find& find_row) const {
    std::size_t to = bounds(chunk);
    for (std::int64_t i = chunks.begin(chunk); i < chunks.end(chunk); ++i) {
      if constexpr (std::is_same_v<Scalar, NoValues>)
        length(i) = find_row(thread, i, cols.data() + to);
      else
        length(i) = find_row(thread, i, to, cols.data() + to, values.data() + to);
      to += static_cast<std::size_t>(length(i));
    }
    begins(chunk) = to - bounds(chunk);
  }
  /// \pre begins(c) is the number of entries before chunk c
  void copy(std::int64_t chunk,
            const CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space>& to) const {
    std::size_t place = begins(chunk);
    const std::size_t from = bounds(chunk), count = begins(chunk + 1) - place;
    std::copy_n(cols.data() + from, count, to.col_idxs.data() + place);
    if constexpr (!std::is_same_v<Scalar, NoValues>)
      std::copy_n(values.data() + from, count, to.values.data() + place);
    for (std::int64_t i = chunks.begin(chunk); i < chunks.end(chunk); ++i) {
      to.row_ptrs(i) = place;
      place += static_cast<std::size_t>(length(i));
    }
    if (chunks.end(chunk) == chunks.num_rows) to.row_ptrs(chunks.num_rows) = place;
  }
};

/// The matrix with the rows that find(thread, row, place, cols, values) writes to `cols`, sorted, and
/// `values`, and returns the lengths of; `place` grows from row to row of a thread. A pattern with Scalar =
/// NoValues, of find(thread, row, cols). bounds(c): where there is room for the rows of chunk c, and with c =
/// chunks.count() the room of all. `check(nnz)` throws where the result would be too large.
///
/// Memory: the result, the room, of which as much is touched as the rows have entries, and an int a row.
/// Fences.
template <class Scalar, class Space, class Find, class Check>
CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> collect_host_rows(
    const Space& space, const std::string& name, const HostChunks<Space>& chunks, std::int64_t num_cols,
    const Vector<std::size_t, Space>& bounds, const Find& find, const Check& check) {
  const std::int64_t n = chunks.num_rows, count = chunks.count();
  constexpr bool has_values = !std::is_same_v<Scalar, NoValues>;
  FoundHostRows<Scalar, Space> found{
      chunks,
      bounds,
      allocate<Vector<std::size_t, Space>>(space, name + "::begins", count + 1),
      allocate<Vector<int, Space>>(space, name + "::length", n),
      allocate<Vector<int, Space>>(space, name + "::found", bounds(count)),
      {}};
  if constexpr (has_values)
    found.values = allocate<Vector<Scalar, Space>>(space, name + "::found_values", bounds(count));
  for_chunks(space, name + "::find_rows", chunks,
             [=](int thread, std::int64_t chunk) { found.find(thread, chunk, find); });
  const std::size_t nnz = begin_each<Space>(found.begins, count);
  check(nnz);
  CsrMatrix<Scalar, int, std::size_t, typename Space::memory_space> result(
      n, num_cols, allocate<Vector<std::size_t, Space>>(space, name + "::row_ptrs", n + 1),
      allocate<Vector<int, Space>>(space, name + "::col_idxs", nnz), {});
  if constexpr (has_values) result.values = allocate<Vector<Scalar, Space>>(space, name + "::values", nnz);
  if (n == 0) result.row_ptrs(0) = 0;
  for_chunks(space, name + "::copy_rows", chunks,
             [=](int, std::int64_t chunk) { found.copy(chunk, result); });
  return result;
}

/// A pattern.
template <class Space, class Find, class Check>
CsrGraph<Space> collect_host_pattern(const Space& space, const std::string& name,
                                     const HostChunks<Space>& chunks, std::int64_t num_cols,
                                     const Vector<std::size_t, Space>& bounds, const Find& find,
                                     const Check& check) {
  const auto found = collect_host_rows<NoValues, Space>(space, name, chunks, num_cols, bounds, find, check);
  return {found.num_rows, found.num_cols, found.row_ptrs, found.col_idxs};
}

}  // namespace prekond::impl
