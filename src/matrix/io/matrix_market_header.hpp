// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "matrix/io/text_input.hpp"

#include <stdexcept>

namespace prekond::impl {

/// What is wrong with the line at hand. Who knows the path and the line's number makes an InputError of it.
class LineError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The first lines of a Matrix Market file. Sizes are what the file says: nothing is allocated by them.
struct MarketHeader {
  bool coordinate = true;
  std::string field;     // as in MatrixMarketInfo
  std::string symmetry;  // likewise
  std::int64_t num_rows = 0;
  std::int64_t num_cols = 0;
  std::int64_t num_entries = 0;  // lines to come
  std::int64_t size_line = 0;    // its number

  bool is_general() const { return symmetry == "general"; }
  bool is_skew() const { return symmetry == "skew-symmetric"; }
  bool is_hermitian() const { return symmetry == "hermitian"; }
  std::string size_text() const { return std::to_string(num_rows) + " x " + std::to_string(num_cols); }
};

/// The banner, `line` being the first one of the file. \throws LineError
MarketHeader parse_banner(std::string_view line);

/// Adds what the size line says. \throws LineError
void parse_size_line(std::string_view line, MarketHeader& header);

}  // namespace prekond::impl
