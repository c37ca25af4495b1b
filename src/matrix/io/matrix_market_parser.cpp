// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix_market_share.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>

#include "foreign_file.hpp"
#include "text_input.hpp"

namespace prekond::impl {
namespace {

/// \throws InputError without path and line
template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw InputError(joined(parts...));
}

void refuse_if_any(const std::string& error) {
  if (!error.empty()) refuse(error);
}

/// 'text', unprintable bytes as \xNN, cut off after 40 bytes.
std::string in_quotes(std::string_view text) {
  constexpr std::size_t limit = 40;
  std::string result = "'";
  for (const char c : text.substr(0, limit)) {
    char escaped[5];
    const bool printable = c >= ' ' && c <= '~';
    std::snprintf(escaped, sizeof escaped, printable ? "%c" : "\\x%02x", static_cast<unsigned char>(c));
    result += escaped;
  }
  return result + (text.size() > limit ? "...'" : "'");
}

/// Takes the next word off `line`; empty at its end.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(first_of_data(line));
  std::size_t end = 0;
  while (end < line.size() && !is_blank(line[end])) ++end;
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

/// Is there something in the line to parse?
bool holds_data(std::string_view line, bool has_nul) {
  if (has_nul && line.find('\0') != line.npos)
    refuse("a NUL byte: this is not a text file, or it is damaged");
  if (line.size() > max_line_length) refuse_if_any(length_error(line));
  return !has_no_data(line);
}

std::string_view without_plus(std::string_view word) {
  if (word.size() > 1 && word[0] == '+' && word[1] != '-' && word[1] != '+') word.remove_prefix(1);
  return word;
}

/// The whole number in all of `word`; a number beyond 64 bits becomes the nearest one of 64 bits.
std::optional<std::int64_t> parse_whole(std::string_view word) {
  word = without_plus(word);
  const char* const end = word.data() + word.size();
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  if (error == std::errc::invalid_argument || stop != end) return std::nullopt;
  if (error == std::errc()) return value;
  return word[0] == '-' ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

/// Is a number that from_chars found out of range too large, rather than too small?
bool is_large(std::string_view number) {
  std::istringstream text{std::string(number)};
  text.imbue(std::locale::classic());
  double value = 0;
  text >> value;  // the largest number where it is too large for double, too
  return std::abs(value) > 1;
}

/// Fortran leaves the letter out before an exponent of three digits, as in "1.5-100".
bool is_exponent_of_three_digits(std::string_view number, std::size_t sign) {
  return (number[sign] == '-' || number[sign] == '+') && number.size() == sign + 4 &&
         number.substr(0, sign).find_first_of("eE") == number.npos && number.find('.') < sign;
}

/// The real number in all of `word`: decimal, with an optional '+' and with e, E, d or D before the exponent.
/// A number that is too small for `Real` becomes zero.
template <class Real>
Real parse_real(std::string_view word) {
  std::string_view number = without_plus(word);
  std::string copy;
  Real value = 0;
  const auto parse = [&] { return std::from_chars(number.data(), number.data() + number.size(), value); };
  auto result = parse();
  const auto used = static_cast<std::size_t>(result.ptr - number.data());
  if (used > 0 && used < number.size() && (*result.ptr == 'd' || *result.ptr == 'D')) {
    // Fortran's exponent of double precision is rare, so it may cost a copy.
    number = copy = std::string(number).replace(used, 1, "e");
    result = parse();
  } else if (used < number.size() && is_exponent_of_three_digits(number, used)) {
    number = copy = std::string(number).insert(used, "e");
    result = parse();
  }
  if (result.ec == std::errc::invalid_argument || result.ptr != number.data() + number.size())
    refuse(in_quotes(word), " is not a number",
           word.find(',') == word.npos ? "" : ": one has a decimal point, and blanks follow it, no commas");
  if (result.ec == std::errc::result_out_of_range) {
    if (!is_large(number)) return number[0] == '-' ? -Real(0) : Real(0);
    refuse("the number ", in_quotes(word), " is too large for ", sizeof(Real) == 4 ? "single" : "double",
           " precision");
  }
  if (!std::isfinite(value)) refuse("the value ", in_quotes(word), " is not finite");
  return value;
}

/// Has the line two or three numbers, and nothing else?
bool is_entry(std::string_view line) {
  const bool has_place = parse_whole(take_word(line)) && parse_whole(take_word(line));
  return has_place && line.find_first_not_of("0123456789.+-eEdD \t\r") == line.npos;
}

MarketHeader parse_banner(std::string_view line) {
  const std::string_view whole = line;
  const bool is_spaced = line.substr(first_of_data(line)).starts_with("%% ");
  if (is_spaced) line.remove_prefix(first_of_data(line) + 2);
  std::array<std::string, 5> words;
  for (std::string& word : words) {
    word = take_word(line);
    for (char& c : word)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  auto& [banner, object, format, field, symmetry] = words;
  if (field == "unsigned-integer") field = "integer";
  const auto is_in = [](const std::string& word, std::initializer_list<const char*> known) {
    return std::find(known.begin(), known.end(), word) != known.end();
  };
  if (banner != (is_spaced ? "matrixmarket" : "%%matrixmarket"))
    refuse("not a Matrix Market file: it begins with ", in_quotes(whole), " instead of '%%MatrixMarket'",
           is_entry(whole)
               ? "; if each line is ROW COLUMN VALUE, from 1 on, put the line '%%MatrixMarket matrix "
                 "coordinate real general' and one with ROWS COLUMNS ENTRIES before them"
               : "");
  if (object != "matrix") refuse("holds the object ", in_quotes(object), "; only 'matrix' can be read");
  if (!is_in(format, {"coordinate", "array"}))
    refuse("unknown format ", in_quotes(format), ": it is 'coordinate' or 'array'");
  if (!is_in(field, {"real", "double", "integer", "pattern", "complex"}))
    refuse("unknown field ", in_quotes(field), ": it is 'real', 'double', 'integer', 'pattern' or 'complex'");
  if (!is_in(symmetry, {"general", "symmetric", "skew-symmetric", "hermitian"}))
    refuse("unknown symmetry ", in_quotes(symmetry),
           ": it is 'general', 'symmetric', 'skew-symmetric' or 'hermitian'");
  const std::string_view junk = take_word(line);
  if (!junk.empty()) refuse("unexpected ", in_quotes(junk), " at the end of the banner");
  MarketHeader header;
  header.coordinate = format == "coordinate";
  header.format = format;
  header.field = field == "double" ? "real" : field;
  header.symmetry = symmetry;
  header.numbers_of_value = field == "complex" ? 2 : field == "pattern" ? 0 : 1;
  if (field == "pattern" && !header.coordinate)
    refuse("an array has values: the field 'pattern' is for coordinate files only");
  if (field == "pattern" && (header.is_skew() || header.is_hermitian()))
    refuse("a pattern cannot be ", symmetry, ": it is 'general' or 'symmetric'");
  if (header.is_hermitian() && field != "complex")
    refuse("only complex matrices are hermitian: write 'symmetric' for the field '", header.field, "'");
  return header;
}

void parse_size_line(std::string_view line, MarketHeader& header) {
  const std::string whole = in_quotes(line);
  const auto check = [&](bool good) {
    if (!good)
      refuse("bad size line ", whole, ": it has to be ",
             header.coordinate ? "'ROWS COLUMNS ENTRIES'" : "'ROWS COLUMNS'");
  };
  const auto take_size = [&] {
    const auto size = parse_whole(take_word(line));
    check(size.has_value());
    if (*size < 0) refuse("negative number in the size line ", whole);
    return *size;
  };
  const std::int64_t rows = header.num_rows = take_size();
  header.num_cols = take_size();
  if (header.coordinate) header.entries_in_file = take_size();
  check(take_word(line).empty());
  constexpr int max = std::numeric_limits<int>::max();
  if (rows > max || header.num_cols > max)
    refuse("a matrix of ", header.size_text(), " is too large: at most ", max,
           " rows and columns are supported");
  if (!header.is_general() && rows != header.num_cols)
    refuse("a ", header.symmetry, " matrix must be square, this one is ", header.size_text());
  if (header.coordinate) return;
  // Both sizes are below 2^31, so that nothing here overflows.
  header.entries_in_file = header.is_general() ? rows * header.num_cols
                           : header.is_skew()  ? rows * (rows - 1) / 2
                                               : rows * (rows + 1) / 2;
}

template <class Scalar>
MarketEntry<Scalar> parse_entry(std::string_view line, const MarketHeader& header, bool whole) {
  using Real = real_type_t<Scalar>;
  MarketEntry<Scalar> entry{0, 0, Scalar(1)};
  const auto refuse_line = [&](const std::string& error) {
    const std::array values = {"", "value", "real part, imaginary part"};
    refuse(error, ": a line holds ", header.coordinate ? "row, column" : "",
           header.coordinate && header.numbers_of_value > 0 ? ", " : "",
           values[static_cast<std::size_t>(header.numbers_of_value)]);
  };
  const auto take = [&] {
    const std::string_view word = take_word(line);
    if (word.empty()) refuse_line("too few numbers for an entry");
    return word;
  };
  const auto take_real = [&] {
    const std::string_view word = take();
    if (whole && !parse_whole(word))
      refuse(in_quotes(word), " is not a whole number, but the field of the file is 'integer'");
    return parse_real<Real>(word);
  };
  if (header.coordinate) {
    const std::string_view row_word = take(), col_word = take();
    const auto row = parse_whole(row_word), col = parse_whole(col_word);
    if (!row) refuse(in_quotes(row_word), " is not a whole number (a row is wanted)");
    if (!col) refuse(in_quotes(col_word), " is not a whole number (a column is wanted)");
    if (*row < 1 || *row > header.num_rows || *col < 1 || *col > header.num_cols)
      refuse("entry (", *row, ", ", *col, ") lies outside of the ", header.size_text(),
             " matrix: rows are 1 to ", header.num_rows, ", columns 1 to ", header.num_cols);
    entry.row = static_cast<int>(*row - 1);
    entry.col = static_cast<int>(*col - 1);
  }
  if constexpr (is_complex<Scalar>) {
    if (header.numbers_of_value > 0) entry.value.real() = take_real();
    if (header.numbers_of_value > 1) entry.value.imag() = take_real();
  } else {
    if (header.numbers_of_value > 0) entry.value = take_real();
  }
  const std::string_view junk = take_word(line);
  if (!junk.empty()) refuse_line(joined("unexpected ", in_quotes(junk), " after the entry"));
  if (header.coordinate && entry.row == entry.col)
    refuse_if_any(diagonal_error(header, entry.row, entry.value));
  return entry;
}

template <class Scalar>
MarketPiece<Scalar> parse_piece(std::string_view text, const MarketHeader& header) {
  MarketPiece<Scalar> piece;
  auto& [facts, entries, gaps, error, error_in_entry] = piece;
  facts.num_bytes = static_cast<std::int64_t>(text.size());
  // An entry has at least "1 1" or "1" and its line end, for any number of lines.
  const auto most_lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n') + 1);
  entries.reserve(std::min(text.size() / (header.coordinate ? 4 : 2) + 1, most_lines));
  const bool whole = header.field == "integer";
  bool has_data = true;
  const bool has_nul = std::memchr(text.data(), '\0', text.size()) != nullptr;
  try {
    while (!text.empty()) {
      const std::string_view line = take_line(text);
      const auto line_number = static_cast<int>(facts.num_lines++);
      const bool after_gap = !has_data;
      has_data = holds_data(line, has_nul);
      if (!has_data) continue;
      const std::int64_t number = facts.num_data_lines;
      if (after_gap) gaps.emplace_back(number, line_number);
      error_in_entry = true;
      entries.push_back(parse_entry<Scalar>(line, header, whole));
      error_in_entry = false;
      ++facts.num_data_lines;
      const std::int64_t below = entries.back().row - entries.back().col;
      if (below > 0 && facts.first_lower < 0) facts.first_lower = number;
      if (below < 0 && facts.first_upper < 0) facts.first_upper = number;
    }
  } catch (const InputError& refusal) {
    error = refusal.what();
  }
  if (entries.size() < entries.capacity() / 8 * 7) entries.shrink_to_fit();
  return piece;
}

}  // namespace

void MarketSectionFacts::append(const MarketSectionFacts& next) {
  if (first_lower < 0 && next.first_lower >= 0) first_lower = num_data_lines + next.first_lower;
  if (first_upper < 0 && next.first_upper >= 0) first_upper = num_data_lines + next.first_upper;
  num_bytes += next.num_bytes;
  num_lines += next.num_lines;
  num_data_lines += next.num_data_lines;
}

MarketHeader read_header(TextInput& text) {
  MarketHeader header;
  std::int64_t line_number = 0;
  const std::string foreign = foreign_file(text.path(), text.head(), text.compressed());
  if (!foreign.empty()) fail_in_file(text.path(), 0, foreign);
  while (const auto line = text.next_line()) {
    try {
      const bool has_banner = !header.format.empty(), has_data = holds_data(*line, ++line_number > 1);
      if (!has_banner && first_of_data(*line) < line->size()) {
        header = parse_banner(*line);
      } else if (has_data) {
        parse_size_line(*line, header);
        header.lines.num_lines = line_number;
        header.lines.num_bytes = text.offset();
        return header;
      }
      refuse_if_any(amount_error(header, text.offset(), 0));
    } catch (const InputError& error) {
      fail_in_file(text.path(), line_number, error.what());
    }
  }
  fail_in_file(text.path(), 0, line_number == 0 ? "the file is empty" : "the file ends before its size line");
}

std::string amount_error(const MarketHeader& header, std::int64_t bytes, std::int64_t num_entries) {
  constexpr std::int64_t free_bytes = std::int64_t(64) << 20, bytes_per_entry = 1024;
  constexpr std::int64_t free_entries = std::int64_t(1) << 22, entries_per_cell = 64;
  if ((bytes - free_bytes) / bytes_per_entry > num_entries)
    return joined(bytes, " bytes of text up to here hold ", num_entries,
                  " entries: nearly all is blank or comment; leave that out");
  // Sizes are below 2^31.
  if ((num_entries - free_entries) / entries_per_cell > header.num_rows * header.num_cols)
    return joined(num_entries, " entries up to here, more than ", entries_per_cell, " for each cell of the ",
                  header.size_text(), " matrix: sum those of the same row and column");
  return "";
}

template <class Scalar>
MarketSection<Scalar> parse_section(std::string_view text, const MarketHeader& header, std::int64_t number) {
  constexpr std::size_t piece_size = 65536;
  std::vector<std::string_view> texts;
  while (!text.empty()) {
    const std::size_t end = text.find('\n', std::min(piece_size, text.size()) - 1);
    texts.push_back(text.substr(0, end == text.npos ? end : end + 1));
    text.remove_prefix(texts.back().size());
  }
  MarketSection<Scalar> section;
  auto& pieces = section.pieces;
  pieces.resize(texts.size());
  parallel_each("prekond::matrix_market::parse", texts.size(),
                [&](std::size_t p) { pieces[p] = parse_piece<Scalar>(texts[p], header); });
  const auto bad =
      std::find_if(pieces.begin(), pieces.end(), [](const auto& piece) { return !piece.error.empty(); });
  if (bad != pieces.end()) pieces.erase(bad + 1, pieces.end());
  for (const auto& piece : pieces) section.facts.append(piece.facts);
  section.facts.number = number;
  return section;
}

#define PREKOND_PARSE_SECTION(Scalar) \
  template MarketSection<Scalar> parse_section(std::string_view, const MarketHeader&, std::int64_t);
PREKOND_PARSE_SECTION(double)
PREKOND_PARSE_SECTION(float)
PREKOND_PARSE_SECTION(Kokkos::complex<double>)
PREKOND_PARSE_SECTION(Kokkos::complex<float>)

}  // namespace prekond::impl
