// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <prekond/core/error.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <future>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

struct z_stream_s;

namespace prekond::impl {

inline void append_to(std::string& text, std::string_view part) {
  text += part;
}
template <std::integral Number>
void append_to(std::string& text, Number number) {
  text += std::to_string(number);
}

/// The strings and whole numbers, one after the other.
template <class... Parts>
std::string joined(const Parts&... parts) {
  std::string text;
  (append_to(text, parts), ...);
  return text;
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
/// and inflated while the caller works on one. The file is read forward, so that it may be a pipe.
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

  /// Gives the last lines of the block back: next() returns them again.
  void give_back(std::string_view lines);

  /// Goes on with the lines that begin at the bytes [begin, end) of the text. \pre the file is plain, begin >
  /// 0
  void restrict_to(std::int64_t begin, std::int64_t end);

  const std::string& path() const { return m_path; }
  bool compressed() const { return m_inflate != nullptr; }

  /// The length of the text up to the end of what next() returned.
  std::int64_t offset() const { return m_offset; }

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  struct EndInflate {
    void operator()(z_stream_s* stream) const;
  };

  std::size_t read_file(char* to, std::size_t bytes);
  bool hold(std::size_t bytes);
  bool holds_member();
  bool next_member();
  std::size_t inflate_some(char* to, std::size_t bytes);
  std::size_t read(char* to, std::size_t bytes);
  void read_ahead(std::launch when, std::string begin);
  std::string read_block(std::string text);
  std::string_view lines_in_range(std::string_view lines);

  std::string m_path;
  std::size_t m_block_size;
  std::unique_ptr<std::FILE, CloseFile> m_file;
  std::unique_ptr<char[]> m_raw_data;
  std::string_view m_raw;  ///< bytes of the file that are read and not used yet
  std::unique_ptr<z_stream_s, EndInflate> m_inflate;
  bool m_between_members = false;
  std::string m_block;
  std::string_view m_given_back;
  std::int64_t m_offset = 0;
  std::int64_t m_end = std::numeric_limits<std::int64_t>::max();
  bool m_in_line = false;  ///< the next block begins in a line of another range
  bool m_at_end = false;
  std::future<std::string> m_reading;  ///< last: its destructor waits for the thread that uses the others
};

}  // namespace prekond::impl
