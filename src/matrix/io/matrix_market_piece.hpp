// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// The entries of a text, parsed by several threads, before it is known what stands before them.
#include <Kokkos_Core.hpp>
#include <prekond/core/scalar.hpp>

#include "matrix/io/matrix_market_header.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace prekond::impl {

template <class Scalar>
struct MarketEntry {
  int row;  // from 0
  int col;
  Scalar value;
};

/// The entry that a file with symmetric storage leaves out for this one.
template <class Scalar>
MarketEntry<Scalar> mirrored_entry(const MarketHeader& header, const MarketEntry<Scalar>& entry) {
  const Scalar value =
      header.is_hermitian() ? conjugate(entry.value) : Scalar(header.is_skew() ? -1 : 1) * entry.value;
  return {entry.col, entry.row, value};
}

/// f(0), ..., f(n - 1) in parallel, each being much work; a single one without waking the other threads.
template <class Function>
void parallel_each(const char* label, std::size_t n, const Function& f) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  using Policy = Kokkos::RangePolicy<Host, Kokkos::Schedule<Kokkos::Dynamic>, std::size_t>;
  if (n == 1) return f(0);
  Kokkos::parallel_for(label, Policy(Host(), 0, n, Kokkos::ChunkSize(1)), f);
  Host().fence();
}

/// A part of a block that one thread parses, up to its first error.
template <class Scalar>
struct MarketPiece {
  std::string_view text;
  std::int64_t num_lines = 0;
  std::vector<MarketEntry<Scalar>> entries;  // those of an array have no place yet
  std::int64_t num_data_lines = 0;           // = entries that were read, without the one of `error`
  std::int64_t first_lower = -1;             // the first data line with an entry below the diagonal, from 0
  std::int64_t first_upper = -1;
  std::string error;  // empty: none
  std::int64_t error_line = 0;
  bool error_in_entry = false;

  /// The line of the text, from 0, that is the data line of this number. Where it has fewer, its last.
  std::int64_t line_of(std::int64_t data_line) const;
};

/// A block of whole lines in pieces of about 64 kB, so that threads of different speed end together.
template <class Scalar>
std::vector<MarketPiece<Scalar>> parse_block(std::string_view text, const MarketHeader& header);

/// Puts the values of an array where they belong, the next one at (row, col), which is moved on: by columns,
/// with symmetric storage those of the lower triangle. Zeros are dropped. \returns what is wrong with the
/// diagonal, and the number of the entry in `wrong`; empty: nothing
template <class Scalar>
std::string place_array_values(const MarketHeader& header, std::vector<MarketEntry<Scalar>>& entries,
                               std::int64_t& row, std::int64_t& col, std::int64_t& wrong);

/// Memory that the matrix in a text may take: 4 MB less than promised, for what is not counted.
inline std::int64_t memory_budget(std::int64_t text_bytes) {
  return 60'000'000 + 40 * text_bytes;
}

/// What is wrong with a header that announces far more rows than there are entries: memory for the matrix, in
/// all `bytes`, is spent by the length of the text, so that a size line alone makes nobody allocate. Empty:
/// nothing.
std::string budget_error(const MarketHeader& header, std::int64_t num_lines, std::int64_t text_bytes,
                         std::int64_t bytes);

/// What is wrong with an entry in one triangle of a file that holds the other.
std::string both_triangles_text(const MarketHeader& header, std::int64_t row, std::int64_t col);
/// With an entry behind the last.
std::string more_entries_text(const MarketHeader& header);
/// With a file of so many entries.
std::string fewer_entries_text(const MarketHeader& header, std::int64_t num_lines);

}  // namespace prekond::impl
