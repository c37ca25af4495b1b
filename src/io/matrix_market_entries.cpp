// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix_market_entries.hpp"

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

}  // namespace

/// A part of a block that one thread parses.
template <class Scalar>
struct MarketReader<Scalar>::Piece {
  std::string_view text;
  std::int64_t num_lines = 0;
  std::vector<MarketEntry<Scalar>> entries;
  std::int64_t num_data_lines = 0;  // = entries that were read, without the one of `error`
  std::int64_t first_lower = -1;    // the first data line with an entry below the diagonal, from 0
  std::int64_t first_upper = -1;
  std::string error;  // empty: none
  std::int64_t error_line = 0;
  bool error_in_entry = false;

  void parse(const EntryParser<Scalar>& parse_entry, bool coordinate) {
    std::string_view rest = text;
    std::int64_t line_number = 0;
    try {
      const bool has_nul = std::memchr(text.data(), '\0', text.size()) != nullptr;
      for (; !rest.empty(); ++line_number) {
        const std::string_view line = take_line(rest);
        if (has_nul) check_nul(line);
        if (is_overlong(line)) throw LineError(overlong_text(line));
        if (has_no_data(line)) continue;
        error_in_entry = true;
        const auto entry = parse_entry(line);
        error_in_entry = false;
        if (coordinate && entry.row > entry.col && first_lower < 0) first_lower = num_data_lines;
        if (coordinate && entry.row < entry.col && first_upper < 0) first_upper = num_data_lines;
        entries.push_back(entry);
        ++num_data_lines;
      }
    } catch (const std::exception& e) {
      error = e.what();
      error_line = line_number;
    }
  }

  static void check_nul(std::string_view line) {
    if (line.find('\0') != line.npos)
      throw LineError("a NUL byte: this is not a text file, or it is damaged");
  }
};

template <class Scalar>
MarketReader<Scalar>::MarketReader(std::unique_ptr<MarketInput> input)
    : m_input(std::move(input)), m_header(m_input->header()), m_line(m_input->line()) {
  if (m_header.field == "complex" && !is_complex<Scalar>)
    fail(1, "complex matrices are not supported here: a real one is wanted");
}

template <class Scalar>
void MarketReader<Scalar>::fail(std::int64_t line, const std::string& message) const {
  fail_in_file(m_input->path(), line, message);
}

template <class Scalar>
MarketEntries<Scalar> MarketReader<Scalar>::read_entries() {
  if (m_header.is_skew() && !m_header.coordinate) m_array_row = 1;
  if (!m_header.coordinate && !m_header.is_general()) m_entries.triangle = Triangle::lower;
  for (std::string_view text; !(text = m_input->next()).empty();) {
    read_block(text);
    m_input->check_length(m_line, m_entries.num_lines);
  }
  if (m_entries.num_lines < m_header.num_entries) {
    fail(0, "line " + std::to_string(m_header.size_line) + " announces " +
                std::to_string(m_header.num_entries) + " entries" +
                (m_header.coordinate ? "" : " (" + m_header.size_text() + ")") +
                ", but the file holds only " + std::to_string(m_entries.num_lines) +
                ": it is cut off, or that line is wrong");
  }
  m_entries.inflated_bytes = m_input->bytes();
  return std::move(m_entries);
}

/// Pieces of about 64 kB, so that threads of different speed end together.
template <class Scalar>
auto MarketReader<Scalar>::split(std::string_view text) const -> std::vector<Piece> {
  constexpr std::size_t piece_size = 65536;
  std::vector<Piece> pieces;
  while (!text.empty()) {
    std::size_t size = std::min(piece_size, text.size());
    const auto end = text.find('\n', size - 1);
    size = end == text.npos ? text.size() : end + 1;
    pieces.emplace_back().text = text.substr(0, size);
    text.remove_prefix(size);
  }
  return pieces;
}

template <class Scalar>
void MarketReader<Scalar>::read_block(std::string_view text) {
  std::vector<Piece> pieces = split(text);
  parallel_each("prekond::matrix_market::count_lines", pieces.size(), [&pieces](std::size_t p) {
    const std::string_view piece = pieces[p].text;
    pieces[p].num_lines = std::count(piece.begin(), piece.end(), '\n') + (piece.back() != '\n');
  });
  // An entry has at least "1 1" or "1" and its line end, whatever the number of lines. Memory is asked for
  // here, where an exception can be thrown.
  for (Piece& piece : pieces) {
    const std::size_t most = piece.text.size() / (m_header.coordinate ? 4 : 2) + 1;
    piece.entries.reserve(std::min(most, static_cast<std::size_t>(piece.num_lines)));
  }
  const EntryParser<Scalar> parser(m_header);
  const bool coordinate = m_header.coordinate;
  parallel_each("prekond::matrix_market::parse", pieces.size(),
                [&, coordinate](std::size_t p) { pieces[p].parse(parser, coordinate); });
  for (Piece& piece : pieces) accept(piece);
}

/// Takes the entries of a piece, or throws the first error in it.
template <class Scalar>
void MarketReader<Scalar>::accept(Piece& piece) {
  const std::int64_t left = m_header.num_entries - m_entries.num_lines;
  if (m_header.coordinate && !m_header.is_general()) accept_triangle(piece);
  if (piece.num_data_lines + (piece.error_in_entry ? 1 : 0) > left) {
    fail(line_of(piece, left), "more entries than the " + std::to_string(m_header.num_entries) +
                                   " that line " + std::to_string(m_header.size_line) + " announces");
  }
  if (!m_header.coordinate) place_array_values(piece);
  if (!piece.error.empty()) fail(m_line + piece.error_line + 1, piece.error);
  m_line += piece.num_lines;
  m_entries.num_lines += piece.num_data_lines;
  auto& entries = piece.entries;
  m_entries.num_entries += static_cast<std::int64_t>(entries.size());
  if (entries.size() < entries.capacity() / 8 * 7) entries.shrink_to_fit();
  if (!entries.empty()) m_entries.pieces.push_back(std::move(entries));
}

/// A file that holds both triangles would be counted twice.
template <class Scalar>
void MarketReader<Scalar>::accept_triangle(const Piece& piece) {
  const std::int64_t lower = piece.first_lower, upper = piece.first_upper;
  Triangle& triangle = m_entries.triangle;
  if (triangle == Triangle::unknown && (lower >= 0 || upper >= 0)) {
    triangle = upper < 0 || (lower >= 0 && lower < upper) ? Triangle::lower : Triangle::upper;
  }
  const std::int64_t wrong = triangle == Triangle::lower ? upper : triangle == Triangle::upper ? lower : -1;
  if (wrong < 0 || wrong >= m_header.num_entries - m_entries.num_lines) return;
  const auto& entry = piece.entries[static_cast<std::size_t>(wrong)];
  const bool is_lower = triangle == Triangle::lower;
  fail(line_of(piece, wrong), "entry (" + std::to_string(entry.row + 1) + ", " +
                                  std::to_string(entry.col + 1) + ") lies " + (is_lower ? "above" : "below") +
                                  " the diagonal and an earlier one " + (is_lower ? "below" : "above") +
                                  " it: a " + m_header.symmetry +
                                  " file holds one triangle; leave the other out, or say 'general'");
}

/// Values come by columns, with symmetric storage those of the lower triangle. Zeros are dropped.
template <class Scalar>
void MarketReader<Scalar>::place_array_values(Piece& piece) {
  const EntryParser<Scalar> parser(m_header);
  const int below = m_header.is_skew() ? 1 : 0;
  std::size_t kept = 0;
  for (std::size_t k = 0; k < piece.entries.size(); ++k) {
    const MarketEntry<Scalar> entry{static_cast<int>(m_array_row), static_cast<int>(m_array_col),
                                    piece.entries[k].value};
    if (entry.row == entry.col && parser.checks_diagonal()) {
      try {
        parser.check_diagonal(entry);
      } catch (const LineError& e) {
        fail(line_of(piece, static_cast<std::int64_t>(k)), e.what());
      }
    }
    if (entry.value != Scalar(0)) piece.entries[kept++] = entry;
    if (++m_array_row == m_header.num_rows) {
      ++m_array_col;
      m_array_row = m_header.is_general() ? 0 : m_array_col + below;
    }
  }
  piece.entries.resize(kept);
}

/// The number of a line that holds data, these lines being counted from 0 in the piece.
template <class Scalar>
std::int64_t MarketReader<Scalar>::line_of(const Piece& piece, std::int64_t data_line) const {
  std::int64_t line = m_line;
  std::string_view rest = piece.text;
  while (!rest.empty()) {
    ++line;
    if (!has_no_data(take_line(rest)) && data_line-- == 0) break;
  }
  return line;
}

template class MarketReader<double>;
template class MarketReader<float>;
template class MarketReader<Kokkos::complex<double>>;
template class MarketReader<Kokkos::complex<float>>;

}  // namespace prekond::impl
