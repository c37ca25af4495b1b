// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/matrix/io/matrix_market.hpp>

#include "matrix/io/matrix_market_input.hpp"
#include "matrix/io/matrix_market_piece.hpp"

#include <memory>
#include <vector>

namespace prekond::impl {

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
  void accept(MarketPiece<Scalar>& piece);
  void accept_triangle(const MarketPiece<Scalar>& piece);
  [[noreturn]] void fail(std::int64_t line, const std::string& message) const;

  std::unique_ptr<MarketInput> m_input;
  const MarketHeader& m_header;
  MarketEntries<Scalar> m_entries;
  std::int64_t m_line;           // lines read before the text at hand
  std::int64_t m_array_row = 0;  // where the next value of an array belongs
  std::int64_t m_array_col = 0;
};

}  // namespace prekond::impl
