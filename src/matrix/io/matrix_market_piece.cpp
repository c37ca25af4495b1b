// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/io/matrix_market_piece.hpp"

#include <prekond/core/scalar.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace prekond::impl {
namespace {

/// Parses the line of one entry. Its errors have neither path nor line.
template <class Scalar>
class EntryParser {
 public:
  using Real = real_type_t<Scalar>;

  explicit EntryParser(const MarketHeader& header)
      : m_header(header),
        m_num_values(header.field == "complex"   ? 2
                     : header.field == "pattern" ? 0
                                                 : 1),
        m_whole(header.field == "integer"),
        m_skew(header.is_skew()),
        m_hermitian(header.is_hermitian()) {}

  MarketEntry<Scalar> operator()(std::string_view line) const {
    MarketEntry<Scalar> entry{0, 0, Scalar(1)};
    if (m_header.coordinate) parse_indices(line, entry);
    if (m_num_values > 0) parse_value(line, entry.value);
    const std::string_view junk = take_token(line);
    if (!junk.empty())
      throw LineError("unexpected " + quoted(junk) + " behind the entry: a line holds " + wanted());
    if (m_header.coordinate && entry.row == entry.col) check_diagonal(entry);
    return entry;
  }

  /// A hermitian matrix has a real diagonal, a skew-symmetric one a zero diagonal.
  void check_diagonal(const MarketEntry<Scalar>& entry) const {
    const std::string where =
        "entry (" + std::to_string(entry.row + 1) + ", " + std::to_string(entry.row + 1) + ")";
    if (m_skew && entry.value != Scalar(0)) {
      throw LineError(where + " of a skew-symmetric matrix must be zero");
    }
    if constexpr (is_complex<Scalar>) {
      if (m_hermitian && entry.value.imag() != 0) {
        throw LineError(where + " of a hermitian matrix must be real");
      }
    }
  }
  bool checks_diagonal() const { return m_skew || m_hermitian; }

 private:
  std::string wanted() const {
    const std::string value = m_num_values == 2   ? "real part, imaginary part"
                              : m_num_values == 1 ? "value"
                                                  : "";
    if (!m_header.coordinate) return value;
    return value.empty() ? "row, column" : "row, column, " + value;
  }

  std::string_view token(std::string_view& line) const {
    const std::string_view result = take_token(line);
    if (result.empty()) throw LineError("too few numbers for an entry: a line holds " + wanted());
    return result;
  }

  void parse_indices(std::string_view& line, MarketEntry<Scalar>& entry) const {
    const std::string_view row_text = token(line), col_text = token(line);
    std::int64_t row = 0, col = 0;
    if (!parse_whole(row_text, row))
      throw LineError(quoted(row_text) + " is not a whole number (a row is wanted)");
    if (!parse_whole(col_text, col))
      throw LineError(quoted(col_text) + " is not a whole number (a column is wanted)");
    if (row < 1 || row > m_header.num_rows || col < 1 || col > m_header.num_cols) {
      throw LineError("entry (" + std::to_string(row) + ", " + std::to_string(col) +
                      ") lies outside of the " + m_header.size_text() + " matrix: rows are 1 to " +
                      std::to_string(m_header.num_rows) + ", columns 1 to " +
                      std::to_string(m_header.num_cols));
    }
    entry.row = static_cast<int>(row - 1);
    entry.col = static_cast<int>(col - 1);
  }

  void parse_value(std::string_view& line, Scalar& value) const {
    if constexpr (is_complex<Scalar>) {
      value.real() = parse_number(token(line));
      value.imag() = m_num_values == 2 ? parse_number(token(line)) : Real(0);
    } else {
      value = parse_number(token(line));
    }
  }

  Real parse_number(std::string_view text) const {
    Real value = 0;
    std::int64_t ignored = 0;
    if (m_whole && !parse_whole(text, ignored)) {
      throw LineError(quoted(text) + " is not a whole number, but the field of the file is 'integer'");
    }
    switch (parse_real(text, value)) {
      case NumberStatus::ok:
        break;
      case NumberStatus::not_a_number:
        throw LineError(quoted(text) + " is not a number");
      case NumberStatus::not_finite:
        throw LineError("the value " + quoted(text) + " is not finite");
      case NumberStatus::overflow:
        throw LineError("the number " + quoted(text) + " is too large" + precision());
    }
    return value;
  }

  static std::string precision() {
    return sizeof(Real) == 4 ? " for single precision" : " for double precision";
  }

  const MarketHeader& m_header;
  int m_num_values;
  bool m_whole, m_skew, m_hermitian;
};

void check_nul(std::string_view line) {
  if (line.find('\0') != line.npos) throw LineError("a NUL byte: this is not a text file, or it is damaged");
}

template <class Scalar>
void parse(MarketPiece<Scalar>& piece, const EntryParser<Scalar>& parse_entry, bool coordinate) {
  std::string_view rest = piece.text;
  std::int64_t line_number = 0;
  try {
    const bool has_nul = std::memchr(piece.text.data(), '\0', piece.text.size()) != nullptr;
    for (; !rest.empty(); ++line_number) {
      const std::string_view line = take_line(rest);
      if (has_nul) check_nul(line);
      if (is_overlong(line)) throw LineError(overlong_text(line));
      if (has_no_data(line)) continue;
      piece.error_in_entry = true;
      const auto entry = parse_entry(line);
      piece.error_in_entry = false;
      if (coordinate && entry.row > entry.col && piece.first_lower < 0)
        piece.first_lower = piece.num_data_lines;
      if (coordinate && entry.row < entry.col && piece.first_upper < 0)
        piece.first_upper = piece.num_data_lines;
      piece.entries.push_back(entry);
      ++piece.num_data_lines;
    }
  } catch (const std::exception& e) {
    piece.error = e.what();
    piece.error_line = line_number;
  }
}

template <class Scalar>
std::vector<MarketPiece<Scalar>> split(std::string_view text) {
  constexpr std::size_t piece_size = 65536;
  std::vector<MarketPiece<Scalar>> pieces;
  while (!text.empty()) {
    std::size_t size = std::min(piece_size, text.size());
    const auto end = text.find('\n', size - 1);
    size = end == text.npos ? text.size() : end + 1;
    pieces.emplace_back().text = text.substr(0, size);
    text.remove_prefix(size);
  }
  return pieces;
}

}  // namespace

template <class Scalar>
std::int64_t MarketPiece<Scalar>::line_of(std::int64_t data_line) const {
  std::int64_t line = -1;
  for (std::string_view rest = text; !rest.empty();) {
    ++line;
    if (!has_no_data(take_line(rest)) && data_line-- == 0) break;
  }
  return line;
}

template <class Scalar>
std::vector<MarketPiece<Scalar>> parse_block(std::string_view text, const MarketHeader& header) {
  auto pieces = split<Scalar>(text);
  parallel_each("prekond::matrix_market::count_lines", pieces.size(), [&pieces](std::size_t p) {
    const std::string_view piece = pieces[p].text;
    pieces[p].num_lines = std::count(piece.begin(), piece.end(), '\n') + (piece.back() != '\n');
  });
  // An entry has at least "1 1" or "1" and its line end, whatever the number of lines. Memory is asked for
  // here, where an exception can be thrown.
  for (auto& piece : pieces) {
    const std::size_t most = piece.text.size() / (header.coordinate ? 4 : 2) + 1;
    piece.entries.reserve(std::min(most, static_cast<std::size_t>(piece.num_lines)));
  }
  const EntryParser<Scalar> parser(header);
  const bool coordinate = header.coordinate;
  parallel_each("prekond::matrix_market::parse", pieces.size(),
                [&, coordinate](std::size_t p) { parse(pieces[p], parser, coordinate); });
  return pieces;
}

template <class Scalar>
std::string place_array_values(const MarketHeader& header, std::vector<MarketEntry<Scalar>>& entries,
                               std::int64_t& row, std::int64_t& col, std::int64_t& wrong) {
  const EntryParser<Scalar> parser(header);
  const int below = header.is_skew() ? 1 : 0;
  std::size_t kept = 0;
  for (std::size_t k = 0; k < entries.size(); ++k) {
    const MarketEntry<Scalar> entry{static_cast<int>(row), static_cast<int>(col), entries[k].value};
    if (entry.row == entry.col && parser.checks_diagonal()) {
      try {
        parser.check_diagonal(entry);
      } catch (const LineError& e) {
        wrong = static_cast<std::int64_t>(k);
        return e.what();
      }
    }
    if (entry.value != Scalar(0)) entries[kept++] = entry;
    if (++row == header.num_rows) {
      ++col;
      row = header.is_general() ? 0 : col + below;
    }
  }
  entries.resize(kept);
  return "";
}

std::string budget_error(const MarketHeader& header, std::int64_t num_lines, std::int64_t text_bytes,
                         std::int64_t bytes) {
  if (bytes <= memory_budget(text_bytes)) return "";
  return "the header announces " + std::to_string(header.num_rows) + " rows while the file holds only " +
         std::to_string(num_lines) + " entries: no memory is spent on so many empty rows";
}

std::string both_triangles_text(const MarketHeader& header, std::int64_t row, std::int64_t col) {
  const bool is_lower = row < col;  // the earlier ones are
  return "entry (" + std::to_string(row + 1) + ", " + std::to_string(col + 1) + ") lies " +
         (is_lower ? "above" : "below") + " the diagonal and an earlier one " +
         (is_lower ? "below" : "above") + " it: a " + header.symmetry +
         " file holds one triangle; leave the other out, or say 'general'";
}

std::string more_entries_text(const MarketHeader& header) {
  return "more entries than the " + std::to_string(header.num_entries) + " that line " +
         std::to_string(header.size_line) + " announces";
}

std::string fewer_entries_text(const MarketHeader& header, std::int64_t num_lines) {
  return "line " + std::to_string(header.size_line) + " announces " + std::to_string(header.num_entries) +
         " entries" + (header.coordinate ? "" : " (" + header.size_text() + ")") +
         ", but the file holds only " + std::to_string(num_lines) + ": it is cut off, or that line is wrong";
}

#define PREKOND_MARKET_PIECE(Scalar)                                                                      \
  template struct MarketPiece<Scalar>;                                                                    \
  template std::vector<MarketPiece<Scalar>> parse_block<Scalar>(std::string_view, const MarketHeader&);   \
  template std::string place_array_values<Scalar>(const MarketHeader&, std::vector<MarketEntry<Scalar>>&, \
                                                  std::int64_t&, std::int64_t&, std::int64_t&);
PREKOND_MARKET_PIECE(double)
PREKOND_MARKET_PIECE(float)
PREKOND_MARKET_PIECE(Kokkos::complex<double>)
PREKOND_MARKET_PIECE(Kokkos::complex<float>)

}  // namespace prekond::impl
