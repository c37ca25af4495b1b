// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/io/matrix_market.hpp>

#include "matrix_market_input.hpp"

#include <memory>
#include <vector>

namespace prekond::impl {

template <class Scalar>
struct MarketEntry {
  int row;  // from 0
  int col;
  Scalar value;
};

/// Which part of the matrix a file with symmetric storage holds.
enum class Triangle { unknown, lower, upper };

/// Entries in the order of the file, in pieces.
template <class Scalar>
struct MarketEntries {
  using Piece = std::vector<MarketEntry<Scalar>>;
  std::vector<Piece> pieces;
  Triangle triangle = Triangle::unknown;
  std::int64_t num_lines = 0;       // entries in the file
  std::int64_t num_entries = 0;     // in the pieces: without the zeros of an array
  std::int64_t inflated_bytes = 0;  // length of the text

  std::int64_t bytes() const {
    std::size_t sum = pieces.capacity() * sizeof(Piece);
    for (const Piece& piece : pieces) sum += piece.capacity() * sizeof(MarketEntry<Scalar>);
    return static_cast<std::int64_t>(sum);
  }
};

/// f(0), ..., f(n - 1) in parallel, each being much work; a single one without waking the other threads.
template <class Function>
void parallel_each(const char* label, std::size_t n, const Function& f) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  using Policy = Kokkos::RangePolicy<Host, Kokkos::Schedule<Kokkos::Dynamic>, std::size_t>;
  if (n == 1) return f(0);
  Kokkos::parallel_for(label, Policy(Host(), 0, n, Kokkos::ChunkSize(1)), f);
  Host().fence();
}

/// Reads and checks the entries of a file.
template <class Scalar>
class MarketReader {
 public:
  /// \throws InputError for a complex file where the scalar is real
  explicit MarketReader(std::unique_ptr<MarketInput> input);

  const MarketHeader& header() const { return m_input->header(); }

  /// \throws InputError
  MarketEntries<Scalar> read_entries();

 private:
  struct Piece;

  std::vector<Piece> split(std::string_view text) const;
  void read_block(std::string_view text);
  void accept(Piece& piece);
  void accept_triangle(const Piece& piece);
  void place_array_values(Piece& piece);
  std::int64_t line_of(const Piece& piece, std::int64_t data_line) const;
  [[noreturn]] void fail(std::int64_t line, const std::string& message) const;

  std::unique_ptr<MarketInput> m_input;
  const MarketHeader& m_header;
  MarketEntries<Scalar> m_entries;
  std::int64_t m_line;           // lines read before the text at hand
  std::int64_t m_array_row = 0;  // where the next value of an array belongs
  std::int64_t m_array_col = 0;
};

}  // namespace prekond::impl
