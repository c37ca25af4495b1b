// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "matrix/io/matrix_market_header.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace prekond::impl {

/// What is wrong with text of so many bytes for so many entries, or with so many entries for the matrix;
/// empty: nothing.
std::string length_error(const MarketHeader& header, std::int64_t bytes, std::int64_t num_entries);

/// A Matrix Market file whose header has been read, and whose entries come next.
///
/// The text may be no longer than its entries justify, 64 MB and 1 kB an entry: a small gzip file can inflate
/// to any length of blanks and comments. Nor may there be more than 2^22 entries and 64 for each of the
/// matrix's cells.
class MarketInput {
 public:
  static constexpr std::size_t default_block_size = std::size_t(4) << 20;

  /// Reads the header. \throws InputError
  MarketInput(const std::string& path, std::size_t block_size);

  const std::string& path() const { return m_input.path(); }
  const MarketHeader& header() const { return m_header; }

  /// Lines of the header, the last one being the size line.
  std::int64_t line() const { return m_header.size_line; }

  /// The next lines behind the header; empty at the end of the file. \throws InputError
  std::string_view next();

  /// Refuses text that is too long for `num_entries`, what the entries up to `line` are. \throws InputError
  void check_length(std::int64_t line, std::int64_t num_entries) const;

  bool compressed() const { return m_input.compressed(); }

  /// Length of the text up to the end of the size line. \pre next() was not called
  std::int64_t header_bytes() const { return m_bytes - static_cast<std::int64_t>(m_rest.size()); }

  /// Length of the text up to here.
  std::int64_t bytes() const { return m_bytes; }

 private:
  void read_header();
  std::optional<std::string_view> next_header_line();
  std::string_view next_block();

  TextInput m_input;
  MarketHeader m_header;
  std::string_view m_rest;   // of the block that holds the size line
  std::int64_t m_line = 0;   // lines of the header read
  std::int64_t m_bytes = 0;  // of the blocks taken
};

}  // namespace prekond::impl
