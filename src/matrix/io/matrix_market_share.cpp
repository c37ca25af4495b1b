// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/io/matrix_market_share.hpp"

#include <prekond/core/error.hpp>
#include <prekond/core/scalar.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "matrix/io/matrix_market_input.hpp"

namespace prekond::impl {
namespace {

/// "PATH:LINE: MESSAGE", without a line where that is 0.
MarketError error_at(const std::string& path, std::int64_t line, const std::string& message,
                     std::int64_t rank_of_line) {
  try {
    fail_in_file(path, line, message);
  } catch (const InputError& error) {
    return {rank_of_line, error.what()};
  }
}
MarketError error_at(const std::string& path, std::int64_t line, const std::string& message) {
  return error_at(path, line, message, line);
}

/// Lines of the section up to the piece's error that hold no entry.
template <class Scalar>
void note_lines_without_data(const MarketPiece<Scalar>& piece, MarketSection<Scalar>& section) {
  if (piece.num_lines == piece.num_data_lines) return;
  std::int64_t line = section.facts.num_lines;
  const std::int64_t end = line + (piece.error.empty() ? piece.num_lines : piece.error_line);
  for (std::string_view rest = piece.text; line < end; ++line)
    if (has_no_data(take_line(rest))) section.lines_without_data.push_back(line);
}

/// The entries of a block up to its first error.
template <class Scalar>
MarketSection<Scalar> parse_section(std::string_view text, const MarketHeader& header, std::int64_t number) {
  MarketSection<Scalar> section;
  MarketSectionFacts& facts = section.facts;
  facts.number = number;
  facts.num_bytes = static_cast<std::int64_t>(text.size());
  const auto behind = [&](std::int64_t& first, std::int64_t in_piece) {
    if (first < 0 && in_piece >= 0) first = facts.num_data_lines + in_piece;
  };
  for (auto& piece : parse_block<Scalar>(text, header)) {
    behind(facts.first_lower, piece.first_lower);
    behind(facts.first_upper, piece.first_upper);
    note_lines_without_data(piece, section);
    section.error = piece.error;
    section.error_line = facts.num_lines + piece.error_line;
    section.error_in_entry = piece.error_in_entry;
    facts.num_lines += piece.num_lines;
    facts.num_data_lines += piece.num_data_lines;
    auto& entries = piece.entries;
    if (entries.size() < entries.capacity() / 8 * 7) entries.shrink_to_fit();
    if (!entries.empty()) section.pieces.push_back(std::move(entries));
    if (!section.error.empty()) break;
  }
  return section;
}

/// The line, from 0, of an entry of the section.
template <class Scalar>
std::int64_t line_of(const MarketSection<Scalar>& section, std::int64_t data_line) {
  std::int64_t line = data_line;
  for (const std::int64_t without : section.lines_without_data) {
    if (without > line) break;
    ++line;
  }
  return line;
}

template <class Scalar>
const MarketEntry<Scalar>& entry_of(const MarketSection<Scalar>& section, std::int64_t data_line) {
  auto k = static_cast<std::size_t>(data_line);
  auto piece = section.pieces.begin();
  for (; k >= piece->size(); ++piece) k -= piece->size();
  return (*piece)[k];
}

/// Where the first line begins that does not begin before `offset`. A line that is longer than any may be is
/// not looked for the end of: who reads its beginning refuses it.
std::int64_t begin_of_line(const std::string& path, std::int64_t offset, std::int64_t body,
                           std::int64_t size) {
  if (offset <= body) return body;
  if (offset >= size) return size;
  constexpr std::size_t most = 65536;
  std::vector<char> buffer(most);
  ByteInput input(path, offset - 1, size);
  std::int64_t begin = offset - 1;
  while (begin < offset + static_cast<std::int64_t>(max_comment_length)) {
    const std::size_t got = input.read(buffer.data(), most);
    if (got == 0) break;
    const auto* end = static_cast<const char*>(std::memchr(buffer.data(), '\n', got));
    if (end != nullptr) return begin + (end - buffer.data()) + 1;
    begin += static_cast<std::int64_t>(got);
  }
  return std::min(begin, size);
}

std::int64_t size_of(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) fail_in_file(path, 0, "cannot be read in parts: " + error.message());
  return static_cast<std::int64_t>(size);
}

/// Consecutive bytes, those of the file behind its header in equal parts.
template <class Scalar>
void read_plain(MarketShare<Scalar>& share, int part, int num_parts, std::size_t block_size) {
  const std::int64_t body = share.header_bytes, size = size_of(share.path);
  const auto cut = [&](int p) {
    const std::int64_t bytes = size - body;
    const std::int64_t at = body + p * (bytes / num_parts) + std::min<std::int64_t>(p, bytes % num_parts);
    return p == num_parts ? size : begin_of_line(share.path, at, body, size);
  };
  const std::int64_t begin = cut(part), end = cut(part + 1);
  if (begin >= end) return;
  TextInput input(share.path, begin, end, block_size);
  std::int64_t number = std::int64_t(part) << 32;
  for (std::string_view text; !(text = input.next()).empty(); ++number) {
    share.sections.push_back(parse_section<Scalar>(text, share.header, number));
    if (!share.sections.back().error.empty()) return;
  }
}

/// Every num_parts-th block. The whole text is counted, so that none is inflated that its entries do not
/// justify.
template <class Scalar>
void read_compressed(MarketShare<Scalar>& share, MarketInput& input, int part, int num_parts) {
  std::int64_t line = share.header.size_line, num_entries = 0, number = 0;
  for (std::string_view text; !(text = input.next()).empty(); ++number) {
    if (number % num_parts == part) {
      share.sections.push_back(parse_section<Scalar>(text, share.header, number));
      if (!share.sections.back().error.empty()) return;
      line += share.sections.back().facts.num_lines;
      num_entries += share.sections.back().facts.num_data_lines;
    } else {
      for (; !text.empty(); ++line) num_entries += has_no_data(take_line(text)) ? 0 : 1;
    }
    const std::string error = length_error(share.header, input.bytes(), num_entries);
    if (error.empty()) continue;
    share.error = error_at(share.path, line, error);
    return;
  }
}

/// What stands before a section, and which triangle the file holds.
struct Before {
  std::int64_t num_bytes = 0;
  std::int64_t num_lines = 0;
  std::int64_t num_data_lines = 0;
};

/// Of the first entry that is not on the diagonal: below it 1, above it -1, 0 where there is none.
int triangle_of(std::span<const MarketSectionFacts> all) {
  for (const auto& facts : all) {
    const std::int64_t lower = facts.first_lower, upper = facts.first_upper;
    if (lower >= 0 || upper >= 0) return upper < 0 || (lower >= 0 && lower < upper) ? 1 : -1;
  }
  return 0;
}

/// The place in an array of its value number k.
std::pair<std::int64_t, std::int64_t> place_in_array(const MarketHeader& header, std::int64_t k) {
  const std::int64_t rows = std::max<std::int64_t>(header.num_rows, 1);
  if (header.is_general()) return {k % rows, k / rows};
  const int below = header.is_skew() ? 1 : 0;
  std::int64_t col = 0;
  for (; col < rows && k >= rows - col - below; ++col) k -= rows - col - below;
  return {col + below + k, col};
}

template <class Scalar>
class ShareCheck {
 public:
  ShareCheck(MarketShare<Scalar>& share, int triangle) : m_share(share), m_triangle(triangle) {}

  /// As the reader that has the whole file, in its order: at one line, too many entries before what is wrong
  /// with it.
  std::optional<MarketError> operator()(MarketSection<Scalar>& section, const Before& before) {
    const MarketHeader& header = m_share.header;
    const MarketSectionFacts& facts = section.facts;
    const auto at = [&](std::int64_t line, const std::string& text) {
      return error_at(m_share.path, header.size_line + before.num_lines + line + 1, text);
    };
    const std::int64_t left = std::max<std::int64_t>(0, header.num_entries - before.num_data_lines);
    const std::int64_t wrong = m_triangle > 0 ? facts.first_upper : m_triangle < 0 ? facts.first_lower : -1;
    if (header.coordinate && !header.is_general() && wrong >= 0 && wrong < left) {
      const auto& entry = entry_of(section, wrong);
      return at(line_of(section, wrong), both_triangles_text(header, entry.row, entry.col));
    }
    if (facts.num_data_lines + (section.error_in_entry ? 1 : 0) > left)
      return at(line_of(section, left), more_entries_text(header));
    if (!header.coordinate) {
      std::int64_t number = 0;
      const std::string error = place_values(section, before, number);
      if (!error.empty()) return at(line_of(section, number), error);
    }
    if (!section.error.empty()) return at(section.error_line, section.error);
    const std::string error = length_error(header, before.num_bytes + facts.num_bytes,
                                           before.num_data_lines + facts.num_data_lines);
    if (!error.empty()) return at(facts.num_lines - 1, error);
    return std::nullopt;
  }

 private:
  /// `number`: of the entry that is wrong.
  std::string place_values(MarketSection<Scalar>& section, const Before& before, std::int64_t& number) const {
    auto [row, col] = place_in_array(m_share.header, before.num_data_lines);
    std::int64_t done = 0;
    for (auto& piece : section.pieces) {
      const auto size = static_cast<std::int64_t>(piece.size());
      const std::string error = place_array_values(m_share.header, piece, row, col, number);
      number += done;
      if (!error.empty()) return error;
      done += size;
    }
    return "";
  }

  MarketShare<Scalar>& m_share;
  int m_triangle;
};

}  // namespace

template <class Scalar>
std::int64_t MarketShare<Scalar>::num_entries() const {
  std::size_t sum = 0;
  for (const auto& section : sections)
    for (const auto& piece : section.pieces) sum += piece.size();
  return static_cast<std::int64_t>(sum);
}

template <class Scalar>
std::int64_t MarketShare<Scalar>::entry_bytes() const {
  std::size_t sum = 0;
  for (const auto& section : sections)
    for (const auto& piece : section.pieces)
      sum += sizeof(piece) + piece.capacity() * sizeof(MarketEntry<Scalar>);
  return static_cast<std::int64_t>(sum);
}

template <class Scalar>
MarketShare<Scalar> read_market_share(const std::string& path, int part, int num_parts,
                                      std::size_t block_size) {
  MarketInput input(path, block_size);
  MarketShare<Scalar> share;
  share.path = path;
  share.header = input.header();
  share.header_bytes = input.header_bytes();
  if (share.header.field == "complex" && !is_complex<Scalar>)
    fail_in_file(path, 1, "complex matrices are not supported here: a real one is wanted");
  try {
    if (input.compressed())
      read_compressed(share, input, part, num_parts);
    else
      read_plain(share, part, num_parts, block_size);
  } catch (const InputError& error) {
    share.error = MarketError{MarketError::of_text, error.what()};
  }
  return share;
}

template <class Scalar>
std::optional<MarketError> check_market_share(MarketShare<Scalar>& share,
                                              std::span<const MarketSectionFacts> all) {
  ShareCheck<Scalar> check(share, triangle_of(all));
  Before before{share.header_bytes, 0, 0};
  auto own = share.sections.begin();
  for (const auto& facts : all) {
    if (own != share.sections.end() && own->facts.number == facts.number) {
      if (auto error = check(*own, before)) return error;
      ++own;
    }
    before.num_bytes += facts.num_bytes;
    before.num_lines += facts.num_lines;
    before.num_data_lines += facts.num_data_lines;
  }
  if (share.error) return share.error;
  if (before.num_data_lines < share.header.num_entries)
    return error_at(share.path, 0, fewer_entries_text(share.header, before.num_data_lines),
                    MarketError::of_count);
  return std::nullopt;
}

template <class Scalar>
std::optional<MarketError> check_market_budget(const MarketShare<Scalar>& share,
                                               std::span<const MarketSectionFacts> all,
                                               std::int64_t num_entries, std::int64_t entry_bytes) {
  const MarketHeader& header = share.header;
  std::int64_t text_bytes = share.header_bytes, num_lines = 0;
  for (const auto& facts : all) {
    text_bytes += facts.num_bytes;
    num_lines += facts.num_data_lines;
  }
  const std::int64_t nnz = header.is_general() ? num_entries : 2 * num_entries;
  const std::int64_t per_entry = sizeof(int) + sizeof(Scalar), per_row = sizeof(std::size_t);
  const std::string error = budget_error(header, num_lines, text_bytes,
                                         entry_bytes + nnz * per_entry + (header.num_rows + 1) * per_row);
  if (error.empty()) return std::nullopt;
  return error_at(share.path, header.size_line, error, MarketError::of_count);
}

#define PREKOND_MARKET_SHARE(Scalar)                                                                   \
  template struct MarketShare<Scalar>;                                                                 \
  template MarketShare<Scalar> read_market_share<Scalar>(const std::string&, int, int, std::size_t);   \
  template std::optional<MarketError> check_market_share<Scalar>(MarketShare<Scalar>&,                 \
                                                                 std::span<const MarketSectionFacts>); \
  template std::optional<MarketError> check_market_budget<Scalar>(                                     \
      const MarketShare<Scalar>&, std::span<const MarketSectionFacts>, std::int64_t, std::int64_t);
PREKOND_MARKET_SHARE(double)
PREKOND_MARKET_SHARE(Kokkos::complex<double>)

}  // namespace prekond::impl
