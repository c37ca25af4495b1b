// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/io/text_input.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace prekond::impl {
namespace {

constexpr std::size_t raw_size = std::size_t(1) << 17;
/// Zeros that may follow the last gzip member: some blocks of a tape.
constexpr std::size_t max_padding = std::size_t(1) << 20;
constexpr int gzip_format = 15 + 16;  // the largest window, and a gzip header instead of zlib's own
constexpr std::size_t max_comment_length = std::size_t(1) << 20;

std::FILE* open_file(const std::string& path) {
  std::error_code ignored;  // a path that cannot be examined cannot be opened either, and that is reported
  if (std::filesystem::is_directory(path, ignored)) fail_in_file(path, 0, "is a directory, not a file");
  std::FILE* file = nullptr;
  do {
    file = std::fopen(path.c_str(), "rbe");
  } while (file == nullptr && errno == EINTR);
  if (file == nullptr) fail_in_file(path, 0, "cannot be opened: ", std::strerror(errno));
  std::setvbuf(file, nullptr, _IONBF, 0);
  return file;
}

}  // namespace

std::string_view take_line(std::string_view& text) {
  const auto* end = static_cast<const char*>(std::memchr(text.data(), '\n', text.size()));
  const std::size_t length = end == nullptr ? text.size() : static_cast<std::size_t>(end - text.data());
  const std::string_view line = text.substr(0, length);
  text.remove_prefix(end == nullptr ? length : length + 1);
  return line;
}

std::string length_error(std::string_view line) {
  const std::string_view head = line.substr(0, max_line_length);
  const std::size_t begin = first_of_data(head);
  const bool comment = begin < head.size() && head[begin] == '%';
  const std::size_t max = comment ? max_comment_length : max_line_length;
  return line.size() > max ? joined("the ", comment ? "comment" : "line", " has more than ", max, " bytes")
                           : "";
}

void TextInput::EndInflate::operator()(z_stream_s* stream) const {
  inflateEnd(stream);
  delete stream;
}

TextInput::TextInput(std::string path, std::size_t block_size)
    : m_path(std::move(path)),
      m_block_size(block_size),
      m_file(open_file(m_path)),
      m_raw_data(std::make_unique_for_overwrite<char[]>(raw_size)),
      m_raw(m_raw_data.get(), 0) {
  if (holds_member()) {
    m_inflate.reset(new z_stream{});
    if (inflateInit2(m_inflate.get(), gzip_format) != Z_OK)
      fail_in_file(m_path, 0, "cannot be read: not enough memory for zlib");
  }
  read_ahead(std::launch::deferred, "");
}

/// Bytes of the file itself, fewer than wanted only at its end.
std::size_t TextInput::read_file(char* to, std::size_t bytes) {
  for (std::size_t done = 0;;) {
    done += std::fread(to + done, 1, bytes - done, m_file.get());
    if (done == bytes || !std::ferror(m_file.get())) return done;
    if (errno != EINTR) fail_in_file(m_path, 0, "cannot be read: ", std::strerror(errno));
    std::clearerr(m_file.get());
  }
}

/// Does the file have 1 or 2 more bytes? Afterwards m_raw has them.
bool TextInput::hold(std::size_t bytes) {
  if (m_raw.size() >= bytes) return true;
  char* const data = m_raw_data.get();
  const std::size_t old_size = m_raw.size();
  std::memmove(data, m_raw.data(), old_size);
  m_raw = {data, old_size + read_file(data + old_size, raw_size - old_size)};
  return m_raw.size() >= bytes;
}

bool TextInput::holds_member() {
  return hold(2) && m_raw.starts_with("\x1f\x8b");
}

/// After a member: is there another one?
bool TextInput::next_member() {
  if (holds_member()) {
    inflateReset(m_inflate.get());
    return true;
  }
  for (std::size_t zeros = 0; hold(1) && m_raw[0] == '\0' && zeros < max_padding; ++zeros)
    m_raw.remove_prefix(1);
  if (!hold(1)) return false;
  fail_in_file(
      m_path, 0,
      "other bytes follow the end of the gzip stream: the file is damaged; fetch or compress it again");
}

/// Inflates the bytes at hand, at most to the end of a member.
std::size_t TextInput::inflate_some(char* to, std::size_t bytes) {
  if (!hold(1)) fail_in_file(m_path, 0, "the gzip file is truncated: fetch or compress it again");
  z_stream& stream = *m_inflate;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(m_raw.data()));
  stream.avail_in = static_cast<uInt>(m_raw.size());
  stream.next_out = reinterpret_cast<Bytef*>(to);
  const auto room = static_cast<uInt>(std::min(bytes, std::size_t(1) << 30));
  stream.avail_out = room;
  const int error = inflate(&stream, Z_NO_FLUSH);
  if (error == Z_MEM_ERROR) fail_in_file(m_path, 0, "cannot be read: not enough memory for zlib");
  if (error != Z_OK && error != Z_STREAM_END && error != Z_BUF_ERROR)
    fail_in_file(m_path, 0, "the gzip file is corrupt (", stream.msg ? stream.msg : "not a gzip stream",
                 "): fetch or compress it again");
  m_raw.remove_prefix(m_raw.size() - stream.avail_in);
  m_between_members = error == Z_STREAM_END;
  return room - stream.avail_out;
}

/// Bytes of the text, fewer than wanted only at its end.
std::size_t TextInput::read(char* to, std::size_t bytes) {
  std::size_t done = 0;
  if (m_inflate) {
    while (done < bytes && (!m_between_members || next_member()))
      done += inflate_some(to + done, bytes - done);
    return done;
  }
  done = m_raw.copy(to, bytes);
  m_raw.remove_prefix(done);
  return done + read_file(to + done, bytes - done);
}

/// Appends text until it has a whole line, or a line that whoever reads it refuses as too long.
std::string TextInput::read_block(std::string text) {
  for (;;) {
    const std::size_t old_size = text.size();
    text.resize(old_size + m_block_size);
    const std::size_t got = read(text.data() + old_size, m_block_size);
    m_at_end = got < m_block_size;
    text.resize(old_size + got);
    if (m_at_end || text.find('\n', old_size) != text.npos || !length_error(text).empty()) return text;
  }
}

void TextInput::read_ahead(std::launch when, std::string begin) {
  m_reading = std::async(when, [this, begin = std::move(begin)] { return read_block(begin); });
}

std::string_view TextInput::next() {
  m_offset += static_cast<std::int64_t>(m_given_back.size());
  if (!m_given_back.empty()) return std::exchange(m_given_back, {});
  while (m_reading.valid()) {
    m_block = m_reading.get();
    const std::size_t last = m_at_end ? m_block.npos : m_block.rfind('\n');
    const auto lines = std::string_view(m_block).substr(0, last == m_block.npos ? last : last + 1);
    const std::string_view wanted = lines_in_range(lines);
    if (!m_at_end) read_ahead(std::launch::async, m_block.substr(lines.size()));
    if (!wanted.empty()) return wanted;
  }
  return {};
}

/// The lines of a block that begin in the range. The block that passes the end of the range is the last one.
std::string_view TextInput::lines_in_range(std::string_view lines) {
  const std::int64_t begin = m_offset;
  m_offset += static_cast<std::int64_t>(lines.size());
  if (m_offset >= m_end) {
    const auto from = static_cast<std::size_t>(std::max<std::int64_t>(0, m_end - 1 - begin));
    const std::size_t last = lines.find('\n', from);
    if (last != lines.npos) lines = lines.substr(0, last + 1);
    m_at_end = true;
  }
  if (m_in_line) {
    const std::size_t line_end = lines.find('\n');
    m_in_line = line_end == lines.npos;
    lines.remove_prefix(m_in_line ? lines.size() : line_end + 1);
  }
  return lines;
}

void TextInput::give_back(std::string_view lines) {
  m_offset -= static_cast<std::int64_t>(lines.size());
  m_given_back = lines;
}

void TextInput::restrict_to(std::int64_t begin, std::int64_t end) {
  if (m_reading.valid()) m_reading.wait();
  if (fseeko(m_file.get(), begin - 1, SEEK_SET) != 0)
    fail_in_file(m_path, 0, "cannot be read from the middle: ", std::strerror(errno));
  m_raw = {m_raw_data.get(), 0};
  m_given_back = {};
  m_offset = begin - 1;
  m_end = end;
  m_in_line = true;
  m_at_end = false;
  read_ahead(std::launch::deferred, "");
}

}  // namespace prekond::impl
