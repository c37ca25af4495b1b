// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/error.hpp>

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <future>
#include <limits>
#include <locale>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

namespace prekond::impl {

/// The strings and whole numbers, one after the other.
template <class... Parts>
std::string joined(const Parts&... parts) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  (text << ... << parts);
  return text.str();
}

/// "PATH:LINE: MESSAGE", or "PATH: MESSAGE" for line 0.
inline std::string text_in_file(const std::string& path, std::int64_t line, const std::string& message) {
  return line > 0 ? joined(path, ":", line, ": ", message) : joined(path, ": ", message);
}

/// \throws InputError with the text of the parts in this file
template <class... Parts>
[[noreturn]] void fail_in_file(const std::string& path, std::int64_t line, const Parts&... parts) {
  throw InputError(text_in_file(path, line, joined(parts...)));
}

inline bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// Takes the first line, without its end, off `text`.
std::string_view take_line(std::string_view& text);

/// The number of blanks at the beginning.
inline std::size_t first_of_data(std::string_view line) {
  std::size_t begin = 0;
  while (begin < line.size() && is_blank(line[begin])) ++begin;
  return begin;
}

/// Is `line` blank, or a comment (its first character is '%')?
inline bool has_no_data(std::string_view line) {
  const std::size_t begin = first_of_data(line);
  return begin == line.size() || line[begin] == '%';
}

inline constexpr std::size_t max_line_length = 65536;

/// The fault of the length of a line, which may be the beginning of a longer one; empty: nothing. Only
/// a comment may be longer than max_line_length.
std::string length_error(std::string_view line);

/// A text file, plain or gzip (told by its first two bytes), in blocks of whole lines. The next block is read
/// and inflated while the caller works on one. The file is read forward, so that it may be a pipe. Lines may
/// end in LF, CR LF or CR; a CR without LF is returned as LF. A byte order mark of UTF-8 is left out.
///
/// A gzip file may have several members, and zeros after the last one, as tapes leave them. Any other byte
/// after a member is damage, and refused.
class TextInput {
 public:
  /// \throws InputError when the file cannot be opened
  TextInput(std::string path, std::size_t block_size);
  TextInput(const TextInput&) = delete;

  /// The next lines; empty at the end of the file. Valid until the next call. Each line is whole, except that
  /// a line which is too long may be cut. \throws InputError for a file that cannot be read, and for a gzip
  /// stream that is truncated, corrupt or followed by other bytes
  std::string_view next();

  /// The first of them, without its end; nothing at the end of the file.
  std::optional<std::string_view> next_line();

  /// The beginning of the text, of which nothing has been taken, or all of a short one.
  std::string_view head();

  /// Goes on with the lines that begin in one of `num_parts` equal ranges of the bytes to come. \pre the file
  /// is plain, and a line has been read
  void restrict_to(int part, int num_parts);

  const std::string& path() const { return m_path; }
  bool compressed() const { return m_compressed; }

  /// The length of the text up to the end of the lines that were returned.
  std::int64_t offset() const { return m_offset - static_cast<std::int64_t>(m_lines.size()); }

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  struct Inflater : z_stream {
    Inflater() : z_stream{} {}
    Inflater(const Inflater&) = delete;
    ~Inflater() { inflateEnd(this); }
  };

  std::size_t read_file(char* to, std::size_t bytes);
  void seek(std::int64_t offset);
  std::int64_t line_start(std::int64_t offset);
  bool has_bytes();
  void skip_padding();
  void inflate_some();
  std::size_t read(char* to, std::size_t bytes);
  void read_ahead(std::launch when, std::string begin);
  std::string read_block(std::string text);

  std::string m_path;
  std::size_t m_block_size;
  std::unique_ptr<std::FILE, CloseFile> m_file;
  std::int64_t m_place = 0;  ///< in the file
  std::int64_t m_end = std::numeric_limits<std::int64_t>::max();
  std::unique_ptr<char[]> m_raw_data;
  Inflater m_raw;  ///< its input: bytes of the file that are read and not used yet
  bool m_compressed = false;
  bool m_in_member = false;
  std::string m_block;
  std::string_view m_lines;  ///< the rest of a block of which next_line() returned the beginning
  std::int64_t m_offset = 0;
  bool m_at_end = false;
  std::future<std::string> m_reading;  ///< last: its destructor waits for the thread that uses the others
};

}  // namespace prekond::impl
