// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/io/matrix_market_input.hpp"

#include <utility>

namespace prekond::impl {
namespace {

constexpr std::int64_t free_bytes = std::int64_t(64) << 20;
constexpr std::int64_t bytes_per_entry = 1024;
constexpr std::int64_t free_entries = std::int64_t(1) << 22;
constexpr std::int64_t entries_per_cell = 64;

}  // namespace

std::string length_error(const MarketHeader& header, std::int64_t bytes, std::int64_t num_entries) {
  if ((bytes - free_bytes) / bytes_per_entry > num_entries)
    return std::to_string(bytes) + " bytes of text up to here hold " + std::to_string(num_entries) +
           " entries: nearly all is blank or comment; leave that out";
  // Sizes are below 2^31.
  if ((num_entries - free_entries) / entries_per_cell > header.num_rows * header.num_cols)
    return std::to_string(num_entries) + " entries up to here, more than " +
           std::to_string(entries_per_cell) + " for each cell of the " + header.size_text() +
           " matrix: sum those of the same row and column";
  return "";
}

MarketInput::MarketInput(const std::string& path, std::size_t block_size) : m_input(path, block_size) {
  try {
    read_header();
  } catch (const LineError& e) {
    fail_in_file(this->path(), m_line, e.what());
  }
}

std::string_view MarketInput::next_block() {
  const std::string_view block = m_input.next();
  m_bytes += static_cast<std::int64_t>(block.size());
  return block;
}

/// The next line, or nothing at the end of the file; afterwards m_line is its number.
std::optional<std::string_view> MarketInput::next_header_line() {
  if (m_rest.empty()) {
    check_length(m_line, 0);
    m_rest = next_block();
  }
  if (m_rest.empty()) return std::nullopt;
  const std::string_view line = take_line(m_rest);
  ++m_line;
  if (is_overlong(line)) throw LineError(overlong_text(line));
  return line;
}

void MarketInput::read_header() {
  const auto banner = next_header_line();
  if (!banner) fail_in_file(path(), 0, "the file is empty");
  m_header = parse_banner(*banner);
  for (;;) {
    const auto line = next_header_line();
    if (!line) fail_in_file(path(), 0, "the file ends before its size line");
    if (line->find('\0') != line->npos)
      throw LineError("a NUL byte: this is not a text file, or it is damaged");
    if (has_no_data(*line)) continue;
    parse_size_line(*line, m_header);
    m_header.size_line = m_line;
    return;
  }
}

std::string_view MarketInput::next() {
  const std::string_view rest = std::exchange(m_rest, {});
  return rest.empty() ? next_block() : rest;
}

void MarketInput::check_length(std::int64_t line, std::int64_t num_entries) const {
  const std::string error = length_error(m_header, m_bytes, num_entries);
  if (!error.empty()) fail_in_file(path(), line, error);
}

}  // namespace prekond::impl
