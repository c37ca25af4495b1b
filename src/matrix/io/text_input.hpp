// SPDX-FileCopyrightText: Prekond contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "matrix/io/byte_input.hpp"

namespace prekond::impl {

/// Longer lines are refused, unless they are comments.
inline constexpr std::size_t max_line_length = 65536;
inline constexpr std::size_t max_comment_length = std::size_t(1) << 20;

/// \throws InputError "PATH:LINE: MESSAGE", or "PATH: MESSAGE" for line 0
[[noreturn]] void fail_in_file(const std::string& path, std::int64_t line, const std::string& message);

/// 'text', unprintable bytes as \xNN, cut off after 40 bytes.
std::string quoted(std::string_view text);

inline bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// Takes the first line, without its end, off `text`.
std::string_view take_line(std::string_view& text);

/// Takes the next run of other characters than blanks off `line`; empty at its end.
std::string_view take_token(std::string_view& line);

/// Is `line` blank, or a comment (its first character is '%')?
bool has_no_data(std::string_view line);

/// Longer than its kind may be, `line` being a whole line or its beginning.
bool is_overlong(std::string_view line);

/// What is wrong with such a line.
std::string overlong_text(std::string_view line);

enum class NumberStatus { ok, not_a_number, not_finite, overflow };

/// The real number in all of `token`: decimal, with an optional '+' and with e, E, d or D before the
/// exponent. What is too small for `Real` becomes zero.
template <class Real>
NumberStatus parse_real(std::string_view token, Real& value);

/// The whole number in all of `token`; numbers beyond 64 bits become the nearest of 64 bits.
bool parse_whole(std::string_view token, std::int64_t& value);

/// A text file, plain or gzip, in blocks of whole lines. The next block is read while the caller works on
/// one.
class TextInput {
 public:
  /// \throws InputError
  TextInput(std::string path, std::size_t block_size);
  /// Of a plain file, the lines from the byte `begin` to `end`.
  TextInput(std::string path, std::int64_t begin, std::int64_t end, std::size_t block_size);

  /// The next lines; empty at the end of the file. Valid until the next call. Each line is whole, but of an
  /// overlong one it may be the beginning. \throws InputError as ByteInput
  std::string_view next();

  const std::string& path() const { return m_bytes.path(); }
  /// \pre something was read
  bool compressed() const { return m_bytes.compressed(); }

 private:
  struct Buffer {
    std::unique_ptr<char[]> data;
    std::size_t capacity = 0;
    std::size_t size = 0;
    std::size_t lines_end = 0;  // behind the last whole line
  };

  static void make_room(Buffer& buffer, std::size_t bytes);
  void fill(Buffer& buffer);

  ByteInput m_bytes;
  std::size_t m_block_size;
  Buffer m_front;
  Buffer m_back;
  bool m_at_end = false;
  std::future<void> m_reading;  // last: its destructor waits for the thread that uses the others
};

}  // namespace prekond::impl
