// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/io/matrix_market_header.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace prekond::impl {
namespace {

std::string lower_case(std::string_view word) {
  std::string result(word);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

void check_combination(const MarketHeader& header) {
  if (header.field == "pattern" && !header.coordinate) {
    throw LineError("an array has values: the field 'pattern' is for coordinate files only");
  }
  if (header.field == "pattern" && (header.is_skew() || header.is_hermitian())) {
    throw LineError("a pattern cannot be " + header.symmetry + ": it is 'general' or 'symmetric'");
  }
  if (header.is_hermitian() && header.field != "complex") {
    throw LineError("only complex matrices are hermitian: write 'symmetric' for the field '" + header.field +
                    "'");
  }
}

std::int64_t num_array_entries(const MarketHeader& header) {
  // Both sizes are below 2^31, so that nothing here overflows.
  const std::int64_t n = header.num_rows;
  if (header.is_general()) return n * header.num_cols;
  return header.is_skew() ? n * (n - 1) / 2 : n * (n + 1) / 2;
}

}  // namespace

MarketHeader parse_banner(std::string_view line) {
  const std::string_view whole = line;
  std::array<std::string, 5> words;
  for (std::string& word : words) word = lower_case(take_token(line));
  const auto& [banner, object, format, field, symmetry] = words;
  if (banner != "%%matrixmarket") {
    throw LineError("not a Matrix Market file: it begins with " + quoted(whole) +
                    " instead of '%%MatrixMarket'");
  }
  if (object != "matrix")
    throw LineError("holds the object " + quoted(object) + "; only 'matrix' can be read");
  if (format != "coordinate" && format != "array") {
    throw LineError("unknown format " + quoted(format) + ": it is 'coordinate' or 'array'");
  }
  MarketHeader header;
  header.coordinate = format == "coordinate";
  header.field = field == "double" ? "real" : field;
  const std::array fields = {"real", "integer", "pattern", "complex"};
  if (std::find(fields.begin(), fields.end(), header.field) == fields.end()) {
    throw LineError("unknown field " + quoted(field) +
                    ": it is 'real', 'double', 'integer', 'pattern' or 'complex'");
  }
  header.symmetry = symmetry;
  const std::array symmetries = {"general", "symmetric", "skew-symmetric", "hermitian"};
  if (std::find(symmetries.begin(), symmetries.end(), symmetry) == symmetries.end()) {
    throw LineError("unknown symmetry " + quoted(symmetry) +
                    ": it is 'general', 'symmetric', 'skew-symmetric' or 'hermitian'");
  }
  const std::string_view junk = take_token(line);
  if (!junk.empty()) throw LineError("unexpected " + quoted(junk) + " at the end of the banner");
  check_combination(header);
  return header;
}

void parse_size_line(std::string_view line, MarketHeader& header) {
  const std::string_view whole = line;
  const std::string wanted = header.coordinate ? "'ROWS COLUMNS ENTRIES'" : "'ROWS COLUMNS'";
  const auto take_size = [&] {
    std::int64_t size = 0;
    if (!parse_whole(take_token(line), size)) {
      throw LineError("bad size line " + quoted(whole) + ": it has to be " + wanted);
    }
    if (size < 0) throw LineError("negative number in the size line " + quoted(whole));
    return size;
  };
  header.num_rows = take_size();
  header.num_cols = take_size();
  if (header.coordinate) header.num_entries = take_size();
  if (!take_token(line).empty())
    throw LineError("bad size line " + quoted(whole) + ": it has to be " + wanted);
  constexpr int max = std::numeric_limits<int>::max();
  if (header.num_rows > max || header.num_cols > max) {
    throw LineError("a matrix of " + header.size_text() + " is too large: at most " + std::to_string(max) +
                    " rows and columns are supported");
  }
  if (!header.is_general() && header.num_rows != header.num_cols) {
    throw LineError("a " + header.symmetry + " matrix must be square, this one is " + header.size_text());
  }
  if (!header.coordinate) header.num_entries = num_array_entries(header);
}

}  // namespace prekond::impl
