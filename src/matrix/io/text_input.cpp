// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "matrix/io/text_input.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

namespace prekond::impl {
namespace {

constexpr std::size_t raw_size = std::size_t(1) << 17;
constexpr int gzip_format = 15 + 16;  // the largest window, and a gzip header instead of zlib's own
constexpr std::size_t max_comment_length = std::size_t(1) << 20;

/// zlib does not say how much it wanted.
class NoMemoryToInflate : public std::bad_alloc {
 public:
  const char* what() const noexcept override { return "zlib failed to allocate its window of 32768 bytes"; }
};

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

/// Ends lines that end in CR by LF. The last byte stays: its LF may follow.
void end_lines_by_lf(char* begin, const char* end) {
  while (auto* cr = static_cast<char*>(std::memchr(begin, '\r', static_cast<std::size_t>(end - begin)))) {
    begin = cr + 1;
    if (begin != end && *begin != '\n') *cr = '\n';
  }
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

TextInput::TextInput(std::string path, std::size_t block_size)
    : m_path(std::move(path)),
      m_block_size(std::min(block_size, std::size_t(1) << 30)),
      m_file(open_file(m_path)),
      m_raw_data(std::make_unique_for_overwrite<char[]>(raw_size)) {
  m_compressed = has_bytes() && m_raw.avail_in > 1 && std::memcmp(m_raw.next_in, "\x1f\x8b", 2) == 0;
  m_in_member = m_compressed;
  if (m_compressed && inflateInit2(&m_raw, gzip_format) != Z_OK) throw NoMemoryToInflate();
  read_ahead(std::launch::deferred, "");
}

/// Bytes of the file itself, fewer than wanted only at its end, or that of the range.
std::size_t TextInput::read_file(char* to, std::size_t bytes) {
  bytes = static_cast<std::size_t>(std::min(static_cast<std::int64_t>(bytes), m_end - m_place));
  for (std::size_t done = 0;;) {
    const std::size_t got = std::fread(to + done, 1, bytes - done, m_file.get());
    done += got;
    m_place += static_cast<std::int64_t>(got);
    if (done == bytes || !std::ferror(m_file.get())) return done;
    if (errno != EINTR) fail_in_file(m_path, 0, "cannot be read: ", std::strerror(errno));
    std::clearerr(m_file.get());
  }
}

void TextInput::seek(std::int64_t offset) {
  if (fseeko(m_file.get(), offset, SEEK_SET) != 0)
    fail_in_file(m_path, 0, "cannot be read from the middle: ", std::strerror(errno));
  m_place = offset;
}

/// The beginning of the first line that begins at a byte of a plain file, or after it.
std::int64_t TextInput::line_start(std::int64_t offset) {
  char* const data = m_raw_data.get();
  seek(offset - 1);
  for (bool after_cr = false;;) {
    const std::size_t got = read_file(data, raw_size);
    const std::int64_t begin = m_place - static_cast<std::int64_t>(got);
    if (got == 0 || (after_cr && data[0] != '\n')) return begin;
    end_lines_by_lf(data, data + got);
    if (const void* const end = std::memchr(data, '\n', got))
      return begin + (static_cast<const char*>(end) - data) + 1;
    after_cr = data[got - 1] == '\r';
  }
}

void TextInput::restrict_to(int part, int num_parts) {
  if (m_reading.valid()) m_reading.wait();
  std::error_code error;
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(m_path, error));
  if (error) fail_in_file(m_path, 0, "cannot be read in parts: ", error.message());
  const std::int64_t first = offset(), bytes = std::max<std::int64_t>(0, size - first);
  const auto begin_of = [&](int p) {
    return line_start(first + p * (bytes / num_parts) + std::min<std::int64_t>(p, bytes % num_parts));
  };
  const std::int64_t end = begin_of(part + 1);
  m_offset = begin_of(part);
  m_end = end;
  seek(m_offset);
  m_raw.avail_in = 0;
  m_lines = {};
  read_ahead(std::launch::deferred, "");
}

/// Does the file have more bytes? Afterwards some are at hand.
bool TextInput::has_bytes() {
  if (m_raw.avail_in > 0) return true;
  m_raw.next_in = reinterpret_cast<Bytef*>(m_raw_data.get());
  m_raw.avail_in = static_cast<uInt>(read_file(m_raw_data.get(), raw_size));
  return m_raw.avail_in > 0;
}

/// After a member: zeros, and nothing else, up to the end of the file.
void TextInput::skip_padding() {
  for (; has_bytes(); ++m_raw.next_in, --m_raw.avail_in)
    if (*m_raw.next_in != 0)
      fail_in_file(m_path, 0,
                   "other bytes follow the end of the gzip stream: the file is damaged; fetch or compress it "
                   "again");
}

/// Inflates the bytes at hand, at most to the end of a member.
void TextInput::inflate_some() {
  const int error = inflate(&m_raw, Z_NO_FLUSH);
  m_in_member = error != Z_STREAM_END;
  if (error == Z_STREAM_END) inflateReset(&m_raw);
  if (error == Z_MEM_ERROR) throw NoMemoryToInflate();
  if (error != Z_OK && error != Z_STREAM_END && error != Z_BUF_ERROR)
    fail_in_file(m_path, 0, "the gzip file is corrupt (", m_raw.msg ? m_raw.msg : "not a gzip stream",
                 "): fetch or compress it again");
}

/// Bytes of the text, fewer than wanted only at its end.
std::size_t TextInput::read(char* to, std::size_t bytes) {
  if (!m_compressed) {
    const std::size_t at_hand = std::min<std::size_t>(bytes, m_raw.avail_in);
    std::copy_n(m_raw.next_in, at_hand, to);
    m_raw.next_in += at_hand;
    m_raw.avail_in -= static_cast<uInt>(at_hand);
    return at_hand + read_file(to + at_hand, bytes - at_hand);
  }
  m_raw.next_out = reinterpret_cast<Bytef*>(to);
  m_raw.avail_out = static_cast<uInt>(bytes);
  while (m_raw.avail_out > 0 && has_bytes())
    if (!m_in_member && *m_raw.next_in != 0x1f)
      skip_padding();
    else
      inflate_some();
  if (m_raw.avail_out > 0 && m_in_member)
    fail_in_file(m_path, 0, "the gzip file is truncated: fetch or compress it again");
  return bytes - m_raw.avail_out;
}

/// Appends text until it has a whole line, or a line that whoever reads it refuses as too long.
std::string TextInput::read_block(std::string text) {
  for (;;) {
    const std::size_t old_size = text.size(), first_new = old_size - (old_size > 0 ? 1 : 0);
    text.resize(old_size + m_block_size);
    const std::size_t got = read(text.data() + old_size, m_block_size);
    m_at_end = got < m_block_size;
    text.resize(old_size + got);
    end_lines_by_lf(text.data() + first_new, text.data() + text.size());
    if (m_at_end || text.find('\n', first_new) != text.npos || !length_error(text).empty()) return text;
  }
}

void TextInput::read_ahead(std::launch when, std::string begin) {
  auto work = [this, begin = std::move(begin)] { return read_block(begin); };
  try {
    m_reading = std::async(when, work);
  } catch (const std::system_error&) {  // the system gives no thread
    m_reading = std::async(std::launch::deferred, std::move(work));
  }
}

std::string_view TextInput::next() {
  if (!m_lines.empty()) return std::exchange(m_lines, {});
  if (!m_reading.valid()) return {};
  m_block = m_reading.get();
  const std::size_t last = m_at_end ? m_block.npos : m_block.rfind('\n');
  auto lines = std::string_view(m_block).substr(0, last == m_block.npos ? last : last + 1);
  const bool is_first = m_offset == 0;
  m_offset += static_cast<std::int64_t>(lines.size());
  if (!m_at_end) read_ahead(std::launch::async, m_block.substr(lines.size()));
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (is_first && lines.starts_with(byte_order_mark)) lines.remove_prefix(byte_order_mark.size());
  return lines;
}

std::string_view TextInput::head() {
  if (m_lines.empty()) m_lines = next();
  if (m_lines.empty()) return {};
  return {m_lines.data(), static_cast<std::size_t>(m_block.data() + m_block.size() - m_lines.data())};
}

std::optional<std::string_view> TextInput::next_line() {
  if (m_lines.empty()) m_lines = next();
  if (m_lines.empty()) return std::nullopt;
  return take_line(m_lines);
}

}  // namespace prekond::impl
