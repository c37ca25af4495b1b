// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/io/text_input.hpp"

#include <prekond/core/error.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>

namespace prekond::impl {

void fail_in_file(const std::string& path, std::int64_t line, const std::string& message) {
  throw InputError(path + (line > 0 ? ":" + std::to_string(line) : std::string()) + ": " + message);
}

std::string quoted(std::string_view text) {
  constexpr std::size_t limit = 40;
  std::string result = "'";
  for (const char c : text.substr(0, limit)) {
    if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      char escaped[5];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      result += escaped;
    }
  }
  return result + (text.size() > limit ? "...'" : "'");
}

std::string_view take_line(std::string_view& text) {
  const auto* end = static_cast<const char*>(std::memchr(text.data(), '\n', text.size()));
  const std::size_t length = end == nullptr ? text.size() : static_cast<std::size_t>(end - text.data());
  const std::string_view line = text.substr(0, length);
  text.remove_prefix(end == nullptr ? length : length + 1);
  return line;
}

std::string_view take_token(std::string_view& line) {
  std::size_t begin = 0;
  while (begin < line.size() && is_blank(line[begin])) ++begin;
  std::size_t end = begin;
  while (end < line.size() && !is_blank(line[end])) ++end;
  const std::string_view token = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return token;
}

bool has_no_data(std::string_view line) {
  std::size_t begin = 0;
  while (begin < line.size() && is_blank(line[begin])) ++begin;
  return begin == line.size() || line[begin] == '%';
}

namespace {

/// Of a line that is longer than max_line_length.
bool is_long_comment(std::string_view line) {
  std::size_t begin = 0;
  while (begin < max_line_length && is_blank(line[begin])) ++begin;
  return begin < max_line_length && line[begin] == '%';
}

}  // namespace

bool is_overlong(std::string_view line) {
  if (line.size() <= max_line_length) return false;
  return line.size() > max_comment_length || !is_long_comment(line);
}

std::string overlong_text(std::string_view line) {
  const bool comment = is_long_comment(line);
  return std::string(comment ? "the comment" : "the line") + " has more than " +
         std::to_string(comment ? max_comment_length : max_line_length) + " bytes";
}

// -----------------------------------------------------------------------------------------------------
// numbers

namespace {

std::string_view without_plus(std::string_view token) {
  if (token.size() > 1 && token[0] == '+' && token[1] != '-' && token[1] != '+') token.remove_prefix(1);
  return token;
}

/// For a number that from_chars found out of range: is it too large, rather than too small?
bool is_large(std::string_view number) {
  std::int64_t magnitude = 0;
  bool behind_point = false, nonzero = false;
  std::size_t k = 0;
  for (; k < number.size() && number[k] != 'e' && number[k] != 'E'; ++k) {
    const char c = number[k];
    if (c == '.') behind_point = true;
    if (c < '0' || c > '9') continue;
    nonzero = nonzero || c != '0';
    if (nonzero && !behind_point) ++magnitude;
    if (!nonzero && behind_point) --magnitude;
  }
  std::int64_t exponent = 0;
  if (k < number.size()) parse_whole(number.substr(k + 1), exponent);
  // A line is too short for a mantissa to make up for an exponent of a million.
  return nonzero && magnitude + std::clamp<std::int64_t>(exponent, -1000000, 1000000) > 0;
}

template <class Real>
NumberStatus parse_plain_real(std::string_view token, Real& value, const char*& rest) {
  const char* const end = token.data() + token.size();
  const auto [stop, error] = std::from_chars(token.data(), end, value);
  rest = stop;
  if (error == std::errc::invalid_argument || stop != end) return NumberStatus::not_a_number;
  if (error == std::errc::result_out_of_range) {
    if (is_large(token)) return NumberStatus::overflow;
    value = token[0] == '-' ? -Real(0) : Real(0);
  }
  return std::isfinite(value) ? NumberStatus::ok : NumberStatus::not_finite;
}

}  // namespace

template <class Real>
NumberStatus parse_real(std::string_view token, Real& value) {
  token = without_plus(token);
  const char* rest = nullptr;
  const NumberStatus status = parse_plain_real(token, value, rest);
  if (status != NumberStatus::not_a_number) return status;
  const auto used = static_cast<std::size_t>(rest - token.data());
  if (used == 0 || used == token.size() || (*rest != 'd' && *rest != 'D')) return status;
  // Fortran's double precision exponent; rare, so it may cost a copy.
  std::string copy(token);
  copy[used] = 'e';
  return parse_plain_real(std::string_view(copy), value, rest);
}

template NumberStatus parse_real<double>(std::string_view, double&);
template NumberStatus parse_real<float>(std::string_view, float&);

bool parse_whole(std::string_view token, std::int64_t& value) {
  token = without_plus(token);
  const char* const end = token.data() + token.size();
  const auto [stop, error] = std::from_chars(token.data(), end, value);
  if (error == std::errc::invalid_argument || stop != end) return false;
  if (error == std::errc::result_out_of_range) {
    value =
        token[0] == '-' ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
  }
  return true;
}

// -----------------------------------------------------------------------------------------------------
// blocks

TextInput::TextInput(std::string path, std::size_t block_size)
    : m_bytes(std::move(path)), m_block_size(block_size) {}

TextInput::TextInput(std::string path, std::int64_t begin, std::int64_t end, std::size_t block_size)
    : m_bytes(std::move(path), begin, end), m_block_size(block_size) {}

void TextInput::make_room(Buffer& buffer, std::size_t bytes) {
  if (buffer.capacity - buffer.size >= bytes) return;
  const std::size_t capacity = buffer.size + bytes + max_line_length;
  auto data = std::make_unique_for_overwrite<char[]>(capacity);
  if (buffer.size > 0) std::memcpy(data.get(), buffer.data.get(), buffer.size);
  buffer.data = std::move(data);
  buffer.capacity = capacity;
}

/// Reads behind what the buffer holds until it holds a whole line.
void TextInput::fill(Buffer& buffer) {
  for (;;) {
    make_room(buffer, m_block_size);
    char* const text = buffer.data.get();
    const std::size_t old_size = buffer.size;
    const std::size_t got = m_bytes.read(text + old_size, m_block_size);
    m_at_end = got < m_block_size;
    buffer.size += got;
    buffer.lines_end = buffer.size;
    if (m_at_end) return;
    while (buffer.lines_end > old_size && text[buffer.lines_end - 1] != '\n') --buffer.lines_end;
    if (buffer.lines_end > old_size) return;
    buffer.lines_end = buffer.size;
    if (is_overlong({text, buffer.size})) return;  // whoever reads the block refuses it, and knows its number
  }
}

std::string_view TextInput::next() {
  if (m_reading.valid()) {
    m_reading.get();
  } else if (m_at_end) {
    return {};
  } else {
    fill(m_back);
  }
  std::swap(m_front, m_back);
  m_back.size = 0;
  if (!m_at_end) {
    const std::size_t tail = m_front.size - m_front.lines_end;
    make_room(m_back, tail + m_block_size);
    if (tail > 0) std::memcpy(m_back.data.get(), m_front.data.get() + m_front.lines_end, tail);
    m_back.size = tail;
    m_reading = std::async(std::launch::async, [this] { fill(m_back); });
  }
  return {m_front.data.get(), m_front.lines_end};
}

}  // namespace prekond::impl
